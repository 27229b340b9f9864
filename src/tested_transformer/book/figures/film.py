"""A training to play through: the loss, the sentences and the maps of the heads at each stop."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.snapshots import Reel, right_words
from tested_transformer.shares import as_share

MOST = 16
"""So many rows or columns a map may have, to be seen on a phone."""

LONGEST = 60
"""So many letters of a wrong sentence are shown at least: an untrained model finds no end."""


def learning(
    reel: Reel,
    losses: ArrayLike,
    valid: Mapping[int, float],
    first: tuple[int, int] = (0, 0),
    languages: tuple[str, str] = ("en", "de"),
    opens: int | None = None,
) -> Interactive:
    """A slider over the stops of a training, with what the model writes and looks at.

    `losses` has the training loss of each step, from the first; `valid` the validation loss at each stop. `first` is
    the layer and the head that are enlarged at first, counted from 0. The slider stands at the step `opens` at first,
    or at the first stop. Losses and weights have two decimals on the page.
    """
    losses = np.asarray(losses)
    _check(reel, losses, valid, first)
    if opens is not None and opens not in reel.stops:
        steps = ", ".join(map(str, reel.stops))
        raise ValueError(f"opens ({opens}) must be one of the stops: {steps}")
    rows = [_row(step, losses, valid[step], reel) for step in reel.stops]
    stops = list(reel.stops)
    middle = stops[len(stops) // 2] if opens is None else opens
    some = sorted({stops[0], middle, stops[-1]})
    heads = ("step", "training loss", "validation loss", "sentences right")
    written = [line for i in range(len(reel.pairs)) for line in _lines(reel, i, some)]
    words = {"The loss at each stop": (heads, rows), "What the model writes": (("when", "sentence"), written)}
    data = {
        "languages": languages,
        "first": first,
        "opens": 0 if opens is None else stops.index(opens),
        "losses": _short(losses),
        "sentences": [_sentence(reel, i) for i in range(len(reel.pairs))],
        "stops": [{"step": step, "valid": _short(valid[step])} for step in reel.stops],
    }
    cross = {f"step {step}": reel.stops[step].cross[0] for step in some}
    return Interactive("film", data, {}, maps(cross), words=words, pictured=True)


@pic.styled
def maps(stops: pic.Arrays) -> pic.Picture:
    """For each stop the weights (layers, heads, T, S) as small maps without words."""
    layers, heads, *_ = np.shape(next(iter(stops.values())))
    rows = [(title, layer) for title in stops for layer in range(layers)]
    figure, grid = pic.picture(5.1, 0.3 + 0.85 * len(rows), len(rows), heads)
    for (title, layer), line in zip(rows, grid, strict=True):
        for axes, weights in zip(line, np.asarray(stops[title])[layer], strict=True):
            axes.imshow(weights, aspect="auto", cmap=pic.WEIGHTS, vmin=0, vmax=1, interpolation="none")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            axes.patch.set(edgecolor=pic.FAINT, linewidth=1.5)
        line[0].set_ylabel(f"{title}\nlayer {layer + 1}", rotation=0, ha="right", va="center")
    for head, axes in enumerate(grid[0]):
        axes.set_title(f"head {head + 1}", loc="center")
    return figure


def _check(reel: Reel, losses: np.ndarray, valid: Mapping[int, float], first: tuple[int, int]) -> None:
    if len(reel.stops) < 2:
        raise ValueError(f"{len(reel.stops)} stop: a film needs two at least")
    missing = sorted(reel.stops.keys() - valid.keys())
    if missing:
        raise ValueError(f"valid has no loss for step {missing[0]}, where the film stops")
    if losses.ndim != 1 or not 0 <= min(reel.stops) <= max(reel.stops) <= losses.size:
        raise ValueError(f"losses (shape {losses.shape}) must have one number for each step up to {max(reel.stops)}")
    layers, heads, *_ = next(iter(reel.stops.values())).cross[0].shape
    if not (0 <= first[0] < layers and 0 <= first[1] < heads):
        raise ValueError(f"first {first} must be one of {layers} layers and one of {heads} heads, from 0")
    for (source, _), tokens in zip(reel.pairs, reel.tokens, strict=True):
        if (most := max(map(len, tokens))) > MOST:
            rule = f"{most} tokens, and a map has room for {MOST}"
            raise ValueError(f"{source!r} or its translation has {rule}: take a shorter one")


def _row(step: int, losses: np.ndarray, valid: float, reel: Reel) -> list[str]:
    """A line of the table; before the first step nothing was asked yet."""
    both = zip(reel.stops[step].written, reel.pairs, strict=True)
    right = sum(written == target for written, (_, target) in both)
    return [str(step), f"{losses[step - 1]:.2f}" if step else "–", f"{valid:.2f}", f"{right} of {len(reel.pairs)}"]


def _lines(reel: Reel, i: int, steps: Sequence[int]) -> list[tuple[str, str]]:
    """A sentence, what is written at these steps, and what is right."""
    source, target = reel.pairs[i]
    texts = [(f"step {n}", _cut(reel.stops[n].written[i], target)) for n in steps]
    return [("read", source), *texts, ("right", target)]


def _sentence(reel: Reel, i: int) -> dict:
    """One sentence at all stops. A head is its hundredths, row by row; zeros are left out."""
    source, target = reel.pairs[i]
    read, write = ([token.strip() or token for token in side] for side in reel.tokens[i])
    stops = []
    for stop in reel.stops.values():
        written = _cut(stop.written[i], target)
        heads = [[_hundredths(w) for w in layer] for layer in stop.cross[i]]
        stops.append({"written": written, "marks": _marks(stop.written[i], written, target), "heads": heads})
    return {"source": source, "target": target, "read": read, "write": write, "stops": stops}


def _cut(text: str, target: str) -> str:
    text, most = " ".join(text.split()), max(LONGEST, len(target))
    return text if len(text) <= most else text[:most].rstrip() + "…"


def _marks(written: str, shown: str, target: str) -> str:
    """A 1 for each word that is right, a 0 for each other and for one that was cut."""
    right = zip(written.split(), right_words(written, target), strict=True)
    pairs = zip(shown.split(), right, strict=False)
    return "".join("01"[word == whole and yes] for word, (whole, yes) in pairs)


def _hundredths(weights: np.ndarray) -> str:
    texts = (as_share(100 * w, 0, 100) for w in np.ravel(weights))
    return ",".join("" if text == "0" else text for text in texts)


def _short(x: ArrayLike) -> ArrayLike | Sequence:
    return np.round(np.asarray(x, dtype=float), 2)
