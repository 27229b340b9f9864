"""Pictures of the way back through attention: a wrong word, and what its loss says to one head."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, tile
from tested_transformer.book.figures.kit import CENTRE, write
from tested_transformer.shares import as_share

BACK = (0, (2.2, 1.1))
"""The dashes of everything that runs backwards."""

LINE = 4.47
"""Where the sentence stands, in inches from below."""


@pic.styled
def blame(
    tokens: Sequence[str], it: int, slopes: ArrayLike, p: Mapping[str, float], right: str, least: float = 0.3
) -> pic.Picture:
    """A sentence on top, the probabilities of three words below, and dashed what the loss says to both.

    slopes are those of the scores of one token, `it`. An arc above the sentence is a look that a step makes stronger,
    one below it a look that it makes weaker; a slope is written where it is larger than `least`. What `it` gives itself
    is not drawn. An arrow beside a probability is the way of its logit.
    """
    slopes = np.asarray(slopes)
    if len(tokens) != len(slopes) or right not in p:
        found = f"{len(tokens)} tokens, {len(slopes)} slopes, {right!r} of {list(p)}"
        raise ValueError(f"each token needs a slope, and one word is right: {found}")
    figure, frame = blank(pic.PHONE, 5.4)
    letters = np.array([0.06 + 0.088 * len(token.strip()) for token in tokens])
    gap = (pic.PHONE - 0.1 - letters.sum()) / (len(tokens) - 1)
    places = 0.05 + np.cumsum(letters + gap) - gap - letters / 2  # so that all gaps are equal
    for n, (x, slope) in enumerate(zip(places, slopes, strict=True)):
        side = -1 if slope > 0 else 1  # weaker below, stronger above
        colour = pic.KEY if slope > 0 else pic.QUERY
        weight = "bold" if n in (it, np.abs(slopes).argmax()) else "normal"
        frame.text(x, LINE, tokens[n].strip(), weight=weight, **CENTRE)
        if abs(slope) > least and n != it:
            frame.text(x, LINE - side * 0.23, f"{slope:+.2f}".replace("-", "−"), color=colour, **CENTRE)
        if n != it:
            _arc(frame, places[it], x, side, colour, 5.5 * abs(slope))
    frame.text(0.05, LINE + 0.72, "look more", color=pic.QUERY, va="center")
    frame.text(0.05, LINE - 1.1, "look less", color=pic.KEY, va="center")
    _between(frame, places[it])
    for n, (word, share) in enumerate(p.items()):
        _share(frame, 0.95 + 1.6 * n, word, share, word == right)
    return figure


def _arc(frame: Axes, start: float, end: float, side: int, colour: str, width: float) -> None:
    """A dashed arc from one word of the line to another, above it (1) or below it (-1)."""
    turn, half = np.linspace(0, np.pi, 60), (end - start) / 2
    high = 0.3 + 0.22 * abs(end - start)
    line = start + half * (1 - np.cos(turn)), LINE + side * (0.16 + high * np.sin(turn))
    dashes = (0, (1.6, 0.6) if width > 2 else (4, 2))
    frame.plot(*line, linestyle=dashes, color=colour, linewidth=max(width, 0.8), dash_capstyle="butt")


def _between(frame: Axes, x: float) -> None:
    """From the word down to the probabilities and, dashed, back up: through everything between."""
    low, high, back = 1.95, 3.4, x + 0.2
    for start, end in ((high, 2.93), (2.47, low)):
        arrow(frame, (x - 0.2, start), (x - 0.2, end), pic.INK)
        arrow(frame, (back, end), (back, start), pic.GRADIENT, linestyle=BACK, width=2)
    frame.text(x - 0.32, 3.17, "forward", ha="right", va="center")
    frame.text(back + 0.12, 3.17, "backward", va="center", color=pic.GRADIENT)
    tile(frame, (0.5, 2.5, 4.1, 0.4), "#f1f3f5", "everything after the head")


def _share(frame: Axes, x: float, word: str, p: float, right: bool) -> None:
    """A word, its probability as a bar, and a dashed arrow that says where its logit is to go."""
    slope, foot, tall = p - right, 0.42, 1.1
    colour = pic.KEY if slope > 0 else pic.QUERY
    tile(frame, (x - 0.32, foot, 0.36, tall), "none", linestyle=":", edgecolor=pic.FAINT)
    tile(frame, (x - 0.32, foot, 0.36, tall * p), pic.FAINT, edgecolor=pic.INK)
    ends = foot + tall * max(slope, 0), foot + tall * max(-slope, 0)
    frame.plot([x + 0.22] * 2, ends, color=colour, linewidth=2.6, linestyle=BACK)
    start = ends[1] + 0.02 * np.sign(slope)
    arrow(frame, (x + 0.22, start), (x + 0.22, ends[1]), colour, linestyle="-", size=14, width=2.6)
    frame.text(x - 0.14, 0.2, word, weight="bold" if right else "normal", **CENTRE)
    frame.text(x + 0.33, foot + 0.55, f"{slope:+.2f}".replace("-", "−"), va="center", color=colour)
    frame.text(x - 0.14, foot + tall + 0.14, as_share(p, 2), **CENTRE)


PLACES = {"Q": (0, 0), "K": (0, 1), "V": (0, 2), "s": (1, 0.5), "a": (2, 0.5), "out": (3, 1.25)}
"""In which line, and how far to the right, the numbers of one word stand."""

NAMES = {"Q": "query", "K": "keys", "V": "values", "s": "scores", "a": "weights", "out": "output"}


@pic.styled
def there_and_back(forward: pic.Arrays, back: pic.Arrays, word: str) -> pic.Picture:
    """One word asks, in numbers: what it calculates on the way down and, in dashed frames below it, the slopes.

    Both name Q, K, V, s, a and out. Only keys and values have more than one row.
    """
    for name in PLACES:
        if np.shape(forward[name]) != np.shape(back[name]):
            shapes = f"{np.shape(forward[name])} and {np.shape(back[name])}"
            raise ValueError(f"{name} and its slopes must have one shape, not {shapes}")
    figure, frame = blank(pic.PHONE, 6.5)
    tops, ends = (6.22, 3.7, 2.26, 0.82), {}
    for name, (line, across) in PLACES.items():
        colour = COLOURS.get(name, pic.INK)
        x, top = 0.95 + 1.6 * across, tops[line]
        frame.text(x, top + 0.13, f"{NAMES[name]}{f' of “{word}”' if name == 'Q' else ''}", color=colour, **CENTRE)
        _numbers(frame, forward[name], (x, top), pic.tint(colour)(0), colour, "-")
        rows = np.shape(forward[name])[0]
        under = top - 0.3 * rows - 0.07
        _numbers(frame, back[name], (x, under), "white", pic.GRADIENT, "--")
        ends[name] = x, top + 0.25, under - 0.3 * rows - 0.04
    for a, b, at in (("Q", "s", -0.25), ("K", "s", 0.25), ("s", "a", 0), ("a", "out", -0.25), ("V", "out", 0.25)):
        (x, _, low), (x_b, high, _) = ends[a], ends[b]
        x_b += at
        arrow(frame, (x - 0.09, low), (x_b - 0.09, high), COLOURS.get(a, pic.INK))
        arrow(frame, (x_b + 0.09, high), (x + 0.09, low), pic.GRADIENT, linestyle=BACK, width=1.8)
    return figure


COLOURS = {"Q": pic.QUERY, "K": pic.KEY, "V": pic.VALUE}


def _numbers(frame: Axes, x: ArrayLike, place: pic.Pair, face: object, edge: str, line: str) -> None:
    """Rows of numbers in a frame; place is the middle of its upper edge."""
    x, (middle, top) = np.asarray(x), place
    wide, tall = 0.48, 0.3
    size = wide * x.shape[1], tall * len(x)
    tile(frame, (middle - size[0] / 2, top - size[1], *size), face, edgecolor=edge, linestyle=line, linewidth=1.4)
    for (i, j), number in np.ndenumerate(x):
        whole = np.isclose(number, np.round(number), rtol=0, atol=1e-10)
        text = f"{number:z.{0 if whole else 2}f}".replace("-", "−")
        write(frame, middle + wide * (j - (x.shape[1] - 1) / 2), top - tall * (i + 0.5), text, color=pic.INK)
