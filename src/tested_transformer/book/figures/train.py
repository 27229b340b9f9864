"""Pictures of training: what is asked, what padding costs, and how losses fall."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, tile
from tested_transformer.book.figures.kit import at_ends, beside, chart, curves

LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


@pic.styled
def questions(read: Sequence[str], asked: Sequence[str], visible: ArrayLike) -> pic.Picture:
    """A row for each place: the tokens it sees, hatched those it does not, its answer."""
    figure, axes = chart(0.46 * len(read) + 0.7)
    _asked(axes, read, asked, visible)
    return figure


@pic.styled
def given_away(panels: Mapping[str, tuple[Sequence[str], Sequence[str], ArrayLike]]) -> pic.Picture:
    """Questions below each other, each as in `questions`; filled is the answer where a place can see it."""
    height = sum(0.42 * len(read) + 1.0 for read, _, _ in panels.values())
    figure, rows = pic.picture(pic.PHONE, height, rows=len(panels))
    for (axes,), (title, (read, asked, visible)) in zip(rows, panels.items(), strict=True):
        _asked(axes, read, asked, visible)
        for i, j in zip(*np.nonzero(np.equal.outer(asked, read) & np.asarray(visible, dtype=bool)), strict=True):
            tile(axes, (j + 0.04, i + 0.1, 0.92, 0.8), pic.KEY, read[j], "white", edgecolor=pic.KEY)
        axes.set_title(title)
    return figure


def _asked(axes: Axes, read: Sequence[str], asked: Sequence[str], visible: ArrayLike) -> None:
    n = len(read)
    for (i, j), seen in np.ndenumerate(np.asarray(visible)):
        look = {"text": read[j], "edgecolor": pic.QUERY} if seen else {"hatch": "////"}
        tile(axes, (j + 0.04, i + 0.1, 0.92, 0.8), "none", linewidth=1.2, **look)
    for i, token in enumerate(asked):
        axes.annotate("", (n + 0.55, i + 0.5), (n + 0.05, i + 0.5), arrowprops={"arrowstyle": "->"})
        axes.text(n + 0.62, i + 0.5, token, color=pic.KEY, va="center", weight="bold")
    axes.text(0.04, -0.25, "the decoder reads", color=pic.QUERY)
    axes.text(n + 0.62, -0.25, "asked for", color=pic.KEY)
    axes.set(xlim=(0, n + 1.6), ylim=(n, -0.6))
    axes.set_axis_off()


@pic.styled
def grids(panels: pic.Arrays) -> pic.Picture:
    """Batches side by side, a row for each sentence: filled tiles are real tokens."""
    figure, (row,) = pic.picture(pic.WIDE, 3.4, columns=len(panels))
    most = max(np.asarray(real).shape[1] for real in panels.values())
    for axes, (title, real) in zip(row, panels.items(), strict=True):
        real = np.asarray(real, dtype=bool)
        for (i, j), filled in np.ndenumerate(real):
            tile(axes, (j + 0.08, i + 0.08, 0.84, 0.84), pic.QUERY if filled else "white", linewidth=0.6)
        axes.set(xlim=(0, most), ylim=(len(real), 0), title=title, xlabel="position in the sentence", yticks=[])
        axes.spines["left"].set_visible(False)
    return figure


@pic.styled
def losses(
    runs: pic.Arrays, levels: Mapping[str, float] | None = None, every: int = 1, logarithmic: bool = False
) -> pic.Picture:
    """A curve for each run, a value for so many steps, and named levels as thin lines.

    On a logarithmic axis two curves can be told apart where both are nearly zero.
    """
    figure, axes = chart(3.6)
    for (name, loss), colour, line in zip(runs.items(), pic.SERIES, LINES, strict=False):
        steps = every * np.arange(1, len(np.asarray(loss)) + 1)
        axes.plot(steps, loss, color=colour, linestyle=line, linewidth=1.6, label=name)
    last = every * max(len(np.asarray(loss)) for loss in runs.values())
    for name, level in (levels or {}).items():
        axes.axhline(level, color=pic.INK, linewidth=1)
        beside(axes, name, (last, level), (0, -4), ha="right", va="top")
    axes.set(xlim=(1, last), xlabel="step", ylabel="loss for each token (nats)")
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(0, None)
    at_ends(axes)
    return figure


@pic.styled
def apart(runs: pic.Arrays, gap: str, at: int, every: int = 1) -> pic.Picture:
    """Two curves, the upper one first, each with its name; the area between them is coloured and named at a step."""
    figure, axes = chart(3.2)
    (above, upper), (below, lower) = ((name, np.asarray(loss)) for name, loss in runs.items())
    steps, n = every * np.arange(1, len(upper) + 1), at // every - 1
    axes.plot(steps, upper, color=pic.QUERY)
    axes.plot(steps, lower, color=pic.KEY, linestyle="--")
    axes.fill_between(steps, lower, upper, where=upper > lower, color="#f0c9a8")
    beside(axes, above, (steps[n], upper[n]), (10, 8), color=pic.QUERY, weight="bold")
    beside(axes, below, (steps[n], lower[n]), (12, -30), color=pic.KEY, weight="bold", ha="right", va="top")
    middle = steps[n], (upper[n] + lower[n]) / 2
    beside(axes, gap, middle, (48, 0), arrowprops={"arrowstyle": "->"}, va="center")
    beside(axes, f"both {lower[-1]:.2f}", (steps[-1], upper[-1]), (0, 6), ha="right")
    axes.set(xlim=(1, None), ylim=(0, None), xlabel="step", ylabel="loss for each token (nats)")
    return figure


@pic.styled
def written(title: str, rows: Mapping[str, Sequence[tuple[str, bool]]]) -> pic.Picture:
    """A sentence in each row, its words in boxes: filled are those that are right."""
    high, letter, space = 0.42, 0.09, 0.15
    figure, axes = blank(pic.PHONE, high * len(rows) + 0.4)
    axes.text(0.82, high * len(rows) + 0.2, title, va="center", weight="bold")
    for n, (name, words) in enumerate(rows.items(), 1):
        x, y = 0.82, high * (len(rows) - n) + 0.04
        axes.text(0.02, y + 0.17, name, va="center")
        for word, right in words:
            face, ink = (pic.QUERY, "white") if right else ("none", pic.INK)
            tile(axes, (x, y, letter * len(word) + space - 0.04, 0.34), face, word, ink)
            x += letter * len(word) + space
    return figure


@pic.styled
def chances(panels: Mapping[str, pic.Arrays]) -> pic.Picture:
    """The probability of the right token after each step: below each other a panel for each token.

    In each there is a line for each sentence.
    """
    figure, rows = pic.picture(pic.PHONE, 2.1 * len(panels) + 0.3, rows=len(panels), sharex=True)
    for (axes,), (title, lines) in zip(rows, panels.items(), strict=True):
        curves(axes, None, lines, dashes=LINES)
        axes.set(xlim=(1, None), ylim=(0, 1.03), title=title)
    rows[0, 0].legend(loc="lower right")
    rows[-1, 0].set_xlabel("step")
    figure.supylabel("probability of the right token", fontsize=11)
    return figure
