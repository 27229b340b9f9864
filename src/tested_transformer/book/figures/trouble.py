"""Pictures of trainings that go wrong, each beside the one that goes right."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import beside


@pic.styled
def losses(
    faults: Mapping[str, Sequence[float]], right: Sequence[float], levels: Mapping[str, tuple[str, float]]
) -> pic.Picture:
    """A panel for each fault, three in a row, the right run in grey; some have a level, named and dotted."""
    columns = 3
    rows = -(-len(faults) // columns)
    figure, grid = pic.picture(pic.WIDE, 2.1 * rows + 0.4, rows=rows, columns=columns)
    for place, (axes, (fault, run)) in enumerate(zip(grid.flat, faults.items(), strict=False)):
        axes.plot(range(1, len(right) + 1), right, color=pic.FAINT, linewidth=3)
        axes.plot(range(1, len(run) + 1), run, color=pic.KEY, linewidth=1.8)
        if fault in levels:
            _level(axes, *levels[fault], len(right))
        axes.set(xlim=(1, len(right)), ylim=(0, 4), title=fault)
        if place % columns:
            axes.set_yticklabels([])
        else:
            axes.set_ylabel("loss (nats)")
        if place + columns >= len(faults):
            axes.set_xlabel("step")
    for axes in grid.flat[len(faults) :]:
        axes.set_axis_off()
    return figure


def _level(axes: Axes, name: str, level: float, n_steps: int) -> None:
    """A dotted line; its name below it, where the curves are not."""
    axes.axhline(level, color=pic.INK, linewidth=1, linestyle=":")
    at, side = (n_steps, "right") if level > 1 else (1, "left")
    beside(axes, name, (at, level), (-3 if at > 1 else 3, -3), ha=side, va="top")


@pic.styled
def held_out(panels: Mapping[str, tuple[ArrayLike, Mapping[int, float]]]) -> pic.Picture:
    """The loss of each training in every step, and in some steps that of new pairs."""
    figure, (row,) = pic.picture(pic.WIDE, 3.0, columns=len(panels))
    for axes, (name, (trained, others)) in zip(row, panels.items(), strict=True):
        axes.plot(np.arange(1, len(np.asarray(trained)) + 1), trained, color=pic.QUERY, label="trained")
        axes.plot(list(others), list(others.values()), "o--", color=pic.KEY, markersize=4, label="new pairs")
        axes.set(xlim=(1, None), ylim=(0, 4), title=name, xlabel="step")
    row[0].set_ylabel("loss (nats)")
    row[0].legend()
    return figure
