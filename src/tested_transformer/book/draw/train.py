"""Pictures of training: what is asked, what padding costs, and how losses fall."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import tile

LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


@pic.styled
def questions(
    read: Sequence[str], asked: Sequence[str], visible: ArrayLike
) -> pic.Picture:
    """A row for each place: the tokens it sees, hatched those it does not, its answer."""
    n = len(read)
    figure, ((axes,),) = pic.picture(min(7.2, 1.05 * (n + 1.6)), 0.52 * n + 0.7)
    for (i, j), seen in np.ndenumerate(np.asarray(visible)):
        look = {"edgecolor": pic.QUERY} if seen else {"hatch": "////"}
        place, text = (j + 0.04, i + 0.1, 0.92, 0.8), read[j] if seen else ""
        tile(axes, place, "none", text, linewidth=1.2, **look)
    style = {"arrowstyle": "->"}
    for i, token in enumerate(asked):
        axes.annotate("", (n + 0.55, i + 0.5), (n + 0.05, i + 0.5), arrowprops=style)
        axes.text(n + 0.62, i + 0.5, token, color=pic.KEY, va="center", weight="bold")
    axes.text(0.04, -0.25, "the decoder reads", color=pic.QUERY)
    axes.text(n + 0.62, -0.25, "asked for", color=pic.KEY)
    axes.set(xlim=(0, n + 1.6), ylim=(n, -0.6))
    axes.set_axis_off()
    return figure


@pic.styled
def grids(panels: Mapping[str, ArrayLike]) -> pic.Picture:
    """Batches side by side, a row for each sentence: filled tiles are real tokens."""
    figure, (row,) = pic.picture(7.0, 3.4, columns=len(panels))
    most = max(np.asarray(real).shape[1] for real in panels.values())
    for axes, (title, real) in zip(row, panels.items(), strict=True):
        real = np.asarray(real, dtype=bool)
        for (i, j), filled in np.ndenumerate(real):
            place = j + 0.08, i + 0.08, 0.84, 0.84
            tile(axes, place, pic.QUERY if filled else "white", linewidth=0.6)
        axes.set(xlim=(0, most), ylim=(len(real), 0), title=title)
        axes.set_xlabel("place in the sentence")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    return figure


@pic.styled
def losses(
    runs: Mapping[str, ArrayLike], levels: Mapping[str, float] | None = None
) -> pic.Picture:
    """A curve from step 1 for each run, and named levels as thin lines."""
    figure, ((axes,),) = pic.picture(6.6, 3.8)
    looks = zip(runs.items(), pic.SERIES, LINES, strict=False)
    for (name, loss), colour, line in looks:
        steps = np.arange(1, len(np.asarray(loss)) + 1)
        axes.plot(steps, loss, color=colour, linestyle=line, linewidth=1.6, label=name)
    for name, level in (levels or {}).items():
        axes.axhline(level, color=pic.INK, linewidth=1)
        place = {"xytext": (4, -4), "textcoords": "offset points", "va": "top"}
        axes.annotate(name, (1, level), **place)
    axes.set_xlim(1, None)
    axes.set_ylim(0, None)
    axes.set_xlabel("step")
    axes.set_ylabel("loss for each token (nats)")
    axes.legend()
    return figure


@pic.styled
def overfitting(
    train: ArrayLike, valid: Mapping[int, float], knowing_nothing: float
) -> pic.Picture:
    """The loss on one batch in every step, and that on other sentences in some steps."""
    figure, ((axes,),) = pic.picture(6.4, 3.6)
    steps = np.arange(1, len(np.asarray(train)) + 1)
    axes.plot(steps, train, color=pic.QUERY, label="the batch it learns")
    points = list(valid), list(valid.values())
    axes.plot(*points, "o--", color=pic.OUT, markersize=5, label="other sentences")
    axes.axhline(knowing_nothing, color=pic.INK, linewidth=1)
    place = {"xytext": (0, -4), "textcoords": "offset points", "va": "top"}
    axes.annotate("knowing nothing", (len(steps), knowing_nothing), ha="right", **place)
    axes.set_xlim(1, None)
    axes.set_ylim(0, None)
    axes.set_xlabel("step")
    axes.set_ylabel("loss for each token (nats)")
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.4))
    return figure
