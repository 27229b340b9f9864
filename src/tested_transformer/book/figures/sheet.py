"""The whole machine on one sheet of paper."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from numpy.typing import ArrayLike

from tested_transformer.book.data_flow import n_layers
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, column, kind, outline, part, tile
from tested_transformer.book.figures.transformer import BOXES, PARTS
from tested_transformer.shares import as_share

PAPER = (8.27, 11.69)
"""A4, in inches."""

SMALL, TEXT, FORMULA = 7, 8, 10.5
"""Sizes of letters, in points; 7 is the smallest that can be read on paper."""

CELL, LINE = 0.37, 0.158
"""Width and height of a number, in inches."""

BOX, GAP, WIDE = 0.25, 0.12, 1.42
"""A box and the arrow to it, in inches downwards; and how wide a box is."""

SIDES = {"encoder": 0.62, "decoder": 4.7}
"""Where the boxes begin on the left and on the right."""

NUMBERS, ADDED = 6, 4
"""So many numbers of each row that goes in, and of the row that is followed from box to box."""

FORMULAS = {
    "attention": (
        r"$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}"
        r"\left(\dfrac{Q\,K^{\mathsf{T}}}{\sqrt{d_k}}\right) V$",
    ),
    "heads": (
        r"$\mathrm{MultiHead}(X) = [\,\mathrm{head}_1\;\;\cdots\;\;\mathrm{head}_h\,]\;W^O$",
        r"$\mathrm{head}_i = \mathrm{Attention}(X W_i^Q,\; X W_i^K,\; X W_i^V)$",
    ),
    "feed-forward": (r"$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\,W_2 + b_2$",),
    "add & norm": (
        r"$\mathrm{LayerNorm}(x + f(x)):\;\; \hat z_j ="
        r" \dfrac{z_j - \mu}{\sqrt{\sigma^2 + \varepsilon}}$",
    ),
    "loss": (r"$p = \mathrm{softmax}(z)$", r"$L = -\ln\, p_y$"),
}
"""The formulas of the chapters, in their letters."""

PANELS = {
    "attention": (0.38, 1.28, 3.7, 0.8),
    "heads": (4.19, 1.28, 3.7, 0.8),
    "feed-forward": (0.38, 0.32, 2.62, 0.88),
    "add & norm": (3.09, 0.32, 2.8, 0.88),
    "loss": (5.98, 0.32, 1.91, 0.88),
}
"""Where each formula stands: a corner, the width and the height."""

LETTERS = (
    "X rows, x one of them · Q, K, V queries, keys, values · W, b learned numbers · "
    "h heads · y the right token · the learned factors after the norms are left out"
)


@pic.styled
def sheet(
    run: pic.Arrays, vocabulary: Sequence[str], followed: tuple[int, int], head: tuple[int, int], size: int
) -> pic.Picture:
    """The whole model on a sheet of A4, from top to bottom, with the numbers of a run.

    Args:
        run: tensors by the names of `byhand.transformer.tensors`, of two layers.
        vocabulary: the tokens by their ids.
        followed: the row of the encoder and the row of the decoder whose numbers stand
            beside each box.
        head: the layer and the head of the encoder whose weights are shown, from 0.
        size: how many numbers the model has.

    """
    figure, frame = blank(*PAPER)
    words = {side: [vocabulary[i].strip() for i in run[f"{side}.ids"]] for side in SIDES}
    rows = dict(zip(SIDES, followed, strict=True))
    _head(frame, size, (len(vocabulary), np.shape(run["encoder.sum"])[1]))
    ends = {}
    for side, left in SIDES.items():
        low = _rows(frame, run, side, words[side], rows[side], left)
        ends[side] = _layers(frame, run, side, rows[side], f"“{words[side][rows[side]]}”", left, low)
    (memory, _), (out, crossings) = ends["encoder"], ends["decoder"]
    _memory(frame, memory, crossings, np.shape(run["encoder.sum"]))
    _looks(frame, run, words["encoder"], rows["encoder"], head, memory)
    _ends(frame, run, words, rows["decoder"], vocabulary, out)
    _formulas(frame, run, words, rows, head, vocabulary)
    return figure


def _write(frame: Axes, x: float, y: float, words: str, size: float = SMALL, **look: object) -> None:
    frame.text(x, y, words, **{"va": "center_baseline", "fontsize": size, "ha": "left"} | look)


def _cells(
    frame: Axes, x: float, y: float, values: ArrayLike, cmap: Colormap, limits: pic.Pair, wide: float = CELL
) -> None:
    """A row of coloured tiles with their numbers, which are shares in the colours of weights.

    x and y are the corner below on the left.
    """
    low, high = limits
    for n, value in enumerate(np.asarray(values)):
        face = cmap(np.clip((value - low) / (high - low), 0, 1))
        tile(frame, (x + n * wide, y, wide, LINE), face, edgecolor="white", linewidth=0.6)
        text = as_share(value, 2) if cmap is pic.WEIGHTS else number(value)
        _write(frame, x + (n + 0.5) * wide, y + LINE / 2 - 0.005, text, ha="center", color=pic.ink_on(face))


def _signed(frame: Axes, x: float, y: float, values: ArrayLike) -> None:
    _cells(frame, x, y, values, pic.SIGNED, (-3, 3))


def _box(frame: Axes, place: Sequence[float], name: str, words: str) -> None:
    x, y, width, height = place
    part(frame, place, name, linewidth=1)
    _write(frame, x + width / 2, y + height / 2, words, TEXT, ha="center", weight="bold", zorder=6)


def _head(frame: Axes, size: int, table: tuple[int, int]) -> None:
    _write(frame, 0.38, 11.3, "The whole Transformer on one sheet", 20, weight="bold")
    said = (
        f"A trained translator of {size:,} numbers reads an English sentence and is asked for the next German word.",
        "Every number on this sheet is the model’s own, rounded; but no weight below 1 is rounded up to it.",
    )
    for n, line in enumerate(said):
        _write(frame, 0.38, 11.06 - 0.15 * n, line, TEXT)
    takes = f"each token takes its row of the table E, {table[0]} × {table[1]}, times √{table[1]}"
    _box(frame, (0.38, 10.52, 7.51, 0.27), "table", f"{takes}, and the pattern of its position is added")


def _rows(frame: Axes, run: pic.Arrays, side: str, words: Sequence[str], followed: int, left: float) -> float:
    """The tokens, their ids and the first numbers of their rows; the height where that ends."""
    ids, vectors = run[f"{side}.ids"], np.asarray(run[f"{side}.sum"])
    x, top = left - 0.24, 10.2
    does = {"encoder": "The encoder reads", "decoder": "The decoder has written"}[side]
    _write(frame, x, 10.4, f"{does} {len(words)} tokens: {' × '.join(map(str, vectors.shape))}", 9, weight="bold")
    for across, title in ((0.0, "token"), (0.72, "id"), (1.07, "first numbers of its row")):
        _write(frame, x + across, top, title, style="italic")
    for n, (word, place, vector) in enumerate(zip(words, ids, vectors, strict=True)):
        y = top - 0.1 - LINE * (n + 1)
        look = {"weight": "bold"} | ({"color": pic.KEY} if n == followed else {})
        _write(frame, x, y + LINE / 2, word, TEXT, **look)
        _write(frame, x + 0.98, y + LINE / 2, str(place), ha="right")
        _signed(frame, x + 1.07, y, vector[:NUMBERS])
        _write(frame, x + 1.07 + CELL * NUMBERS + 0.04, y + LINE / 2, "…")
        if n == followed:
            outline(frame, (x + 1.07, y, CELL * NUMBERS, LINE), pic.KEY, 1.3, zorder=3)
    return 10.2 - 0.1 - LINE * max(len(run[f"{s}.ids"]) for s in SIDES)


def _layers(
    frame: Axes, run: pic.Arrays, side: str, followed: int, name: str, left: float, top: float
) -> tuple[float, list[float]]:
    """All layers of one half; the height where they end, and that of each cross-attention."""
    first = side == "encoder"
    way, numbers = ((left - 0.14 if first else left + WIDE + 0.1), left + WIDE + (0.16 if first else 0.28))
    middle, crossings = left + WIDE / 2, []
    x, side_of_it = (numbers, "left") if first else (7.89, "right")
    _write(frame, x, top - 0.12, f"{name}: what is added (+), and its row", style="italic", ha=side_of_it)
    low = top - 0.02

    def draw(place: pic.Place, box: str) -> None:
        _box(frame, place, box, box)

    for layer in range(n_layers(run)):
        _write(frame, middle - 0.08, low - 0.1, f"layer {layer + 1}", TEXT, weight="bold", ha="right")
        arrow(frame, (middle, low), (middle, low - 0.23), size=8, width=1.1)
        boxes = column(frame, PARTS[side], (left, WIDE), (low - 0.23, BOX, GAP), (way, 0.07), draw, 8, (1.1, 1.0))
        for (title, low), box in zip(boxes, BOXES[side], strict=True):
            values = np.asarray(run[f"{side}.layers.{layer}.{box}.out"])[followed]
            _signed(frame, numbers, low + (BOX - LINE) / 2, values[:ADDED])
            if title != "add & norm":
                _write(frame, numbers - 0.04, low + BOX / 2, "+", TEXT, ha="right", weight="bold")
            if title == "cross-attention":
                crossings.append(low + BOX / 2)
    return low, crossings


def _memory(frame: Axes, low: float, crossings: Sequence[float], shape: tuple[int, ...]) -> None:
    """What the encoder ends with, and its way into each cross-attention."""
    middle, between, y = SIDES["encoder"] + WIDE / 2, 4.36, low - 0.3
    arrow(frame, (middle, low), (middle, low - 0.18), size=8, width=1.1)
    _write(frame, middle, y, f"memory {' × '.join(map(str, shape))}", TEXT, weight="bold", ha="center")
    frame.plot([middle + 0.62, between, between], [y, y, max(crossings)], color=pic.KEY, linewidth=1.6)
    if min(crossings) < y:
        frame.plot((between, between), (y, min(crossings)), color=pic.KEY, linewidth=1.6)
    for level in crossings:
        arrow(frame, (between, level), (SIDES["decoder"], level), pic.KEY, 9, width=1.6)


def _looks(
    frame: Axes, run: pic.Arrays, words: Sequence[str], followed: int, head: tuple[int, int], low: float
) -> None:
    """The weights of one head of the encoder: a row for each token that asks."""
    layer, which = head
    weights = np.asarray(run[f"encoder.layers.{layer}.self_attention.weights"])[which]
    wide, left, top = 0.3, 1.06, low - 1.2
    _write(frame, 0.38, low - 0.56, f"Self-attention, layer {layer + 1}, head {which + 1}", 9, weight="bold")
    most = int(weights[followed].argmax())
    said = f"“{words[followed]}” takes {as_share(weights[followed, most], 2, signs=True)} from “{words[most]}”."
    _write(frame, 0.38, low - 0.72, f"A row asks, and takes this much from each column: {said}")
    for n, word in enumerate(words):
        _write(frame, left + (n + 0.3) * wide, top + 0.02, word, rotation=55, va="bottom", ha="left")
        y = top - LINE * (n + 1)
        look = {"weight": "bold", "color": pic.KEY} if n == followed else {}
        _write(frame, left - 0.06, y + LINE / 2, word, ha="right", **look)
        _cells(frame, left, y, weights[n], pic.WEIGHTS, (0, 1), wide)
    y = top - LINE * (followed + 1)
    outline(frame, (left, y, wide * len(words), LINE), pic.KEY, 1.3, zorder=3)


def _ends(
    frame: Axes,
    run: pic.Arrays,
    words: Mapping[str, Sequence[str]],
    followed: int,
    vocabulary: Sequence[str],
    low: float,
) -> None:
    """What comes next, and where the last cross-attention looks."""
    left, last = SIDES["decoder"], n_layers(run) - 1
    x, wide, middle = left - 0.24, 0.335, left + WIDE / 2
    arrow(frame, (middle, low), (middle, low - 0.16), size=8, width=1.1)
    _box(frame, (x, low - 0.43, 3.43, 0.27), "table", "compared with all rows of E, then softmax")
    arrow(frame, (x + 0.57, low - 0.43), (x + 0.57, low - 0.53), size=8, width=1.1)
    logits, p = (np.asarray(run[name])[followed] for name in ("logits", "probabilities"))
    for n, i in enumerate(np.argsort(-logits, kind="stable")[:3]):
        place = x + 1.145 * n, low - 0.86, 1.14, 0.33
        first = pic.tint(pic.EMBEDDING)(0.5), pic.EMBEDDING, 12, "bold"
        face, rim, size, weight = ("white", pic.FAINT, 10, "normal") if n else first
        tile(frame, place, face, edgecolor=rim)
        _write(frame, place[0] + 0.06, low - 0.695, vocabulary[i].strip(), size, weight=weight)
        _write(frame, place[0] + 1.1, low - 0.63, percent(p[i]), TEXT, ha="right", weight=weight)
        _write(frame, place[0] + 1.1, low - 0.77, f"logit {number(logits[i])}", ha="right")
    looks = np.asarray(run[f"decoder.layers.{last}.cross_attention.weights"])
    most, name = int(looks[:, followed].max(-1).argmax()), words["decoder"][followed]
    _write(frame, x, low - 1.05, f"Cross-attention, layer {last + 1}, head {most + 1}: “{name}” asks", 9, weight="bold")
    for n, word in enumerate(words["encoder"]):
        _write(frame, x + (n + 0.3) * wide, low - 1.52, word, rotation=55, va="bottom")
    y = low - 1.54 - LINE
    _cells(frame, x, y, looks[most, followed], pic.WEIGHTS, (0, 1), wide)
    outline(frame, (x, y, wide * len(words["encoder"]), LINE), pic.KEY, 1.3, zorder=3)


def number(value: float) -> str:
    """A number with two decimals and a true minus."""
    return f"{value:z.2f}".replace("-", "−")


def percent(share: float) -> str:
    """A share in percent: two digits of what it is, or of what it lacks to the whole."""
    part = 100 * min(share, 1 - share)
    digits = max(0, 1 - int(np.floor(np.log10(part)))) if part else 0
    return f"{100 * share:.{digits}f} %"


def _formulas(
    frame: Axes,
    run: pic.Arrays,
    words: Mapping[str, Sequence[str]],
    followed: Mapping[str, int],
    head: tuple[int, int],
    vocabulary: Sequence[str],
) -> None:
    """The formulas of the boxes, each with what it makes of these numbers."""
    layer, which = head
    parts = f"encoder.layers.{layer}"
    row, asks = followed["encoder"], words["encoder"][followed["encoder"]]
    weights, scores = (np.asarray(run[f"{parts}.self_attention.{name}"])[which, row] for name in ("weights", "scores"))
    heads, _, width = np.shape(run[f"{parts}.self_attention.q"])
    most, hidden = (int(weights.argmax()), np.asarray(run[f"{parts}.feed_forward.hidden"]))
    added = np.asarray(run[f"{parts}.addnorm_1.added"])[row]
    logits, p = (np.asarray(run[name])[followed["decoder"]] for name in ("logits", "probabilities"))
    best = int(logits.argmax())
    surprise = np.format_float_positional(-np.log(p[best]), 2, fractional=False)
    said = {
        "attention": f"“{asks}” and “{words['encoder'][most]}”, keys {width} wide: "
        f"score {number(scores[most])}, softmax {as_share(weights[most], 2, signs=True)}.",
        "heads": f"{heads} heads of {width} columns, side by side: {heads * width} again.",
        "feed-forward": f"{added.size} columns become {hidden.shape[1]}, of which\n"
        f"{(hidden[row] > 0).sum()} are above 0 for “{asks}” (layer {layer + 1}).",
        "add & norm": f"Here $z = x + f(x)$. “{asks}”, layer {layer + 1}, first sum:\n"
        rf"mean $\mu$ {number(added.mean())}, standard deviation $\sigma$ {added.std():.2f}.",
        "loss": rf"Here $z$ are the logits. If “{vocabulary[best].strip()}” is"
        "\n"
        f"right, the loss is {surprise}.",
    }
    for name, (x, y, wide, high) in PANELS.items():
        colour = kind("attention" if name == "heads" else name)
        outline(frame, (x, y, wide, high), colour, 1.3, zorder=3)
        _write(frame, x + 0.08, y + high - 0.11, name, TEXT, color=colour, weight="bold")
        lines = FORMULAS[name]
        for n, line in enumerate(lines):
            low = y + (0.32 if "\n" in said[name] else 0.16)
            room = y + high - low - 0.2 * (len(lines) == 1)  # below its name
            level = low + room * (len(lines) - n - 0.5) / len(lines)
            _write(frame, x + wide / 2, level, line, FORMULA, ha="center", va="center", math_fontfamily="stix")
        _write(frame, x + 0.08, y + 0.05, said[name], va="bottom", linespacing=1.25)
    _write(frame, 0.38, 0.2, LETTERS)
