"""Pictures of optimisers."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic


@pic.styled
def valley(
    paths: Mapping[str, ArrayLike],
    along: ArrayLike,
    across: ArrayLike,
    heights: ArrayLike,
) -> pic.Picture:
    """Paths (points × 2) on contour lines of heights (across × along), a panel each."""
    figure, panels = pic.picture(5.6, 4.8, rows=2, columns=2, sharex=True, sharey=True)
    lines = {"levels": [1, 4, 12, 30, 60, 100], "colors": pic.FAINT, "linewidths": 1}
    for axes, (name, path) in zip(panels.flat, paths.items(), strict=True):
        axes.contour(along, across, heights, **lines)
        points = np.asarray(path)
        axes.plot(*points.T, "o-", color=pic.QUERY, linewidth=1.2, markersize=3)
        axes.plot(0, 0, "+", color=pic.KEY, markersize=14, markeredgewidth=2.5)
        axes.set_title(name)
    for axes in panels[-1]:
        axes.set_xlabel("$w_1$, along the valley")
    for axes in panels[:, 0]:
        axes.set_ylabel("$w_2$, across")
    return figure


@pic.styled
def rare(moved: Mapping[str, ArrayLike]) -> pic.Picture:
    """How far two numbers moved (steps × 2: frequent, rare), a panel for each rule."""
    figure, (panels,) = pic.picture(6.8, 3.2, columns=len(moved), sharey=True)
    for axes, (name, path) in zip(panels, moved.items(), strict=True):
        path = np.asarray(path)
        axes.plot(path[:, 0], color=pic.QUERY, label="pulled in every step")
        axes.plot(path[:, 1], color=pic.KEY, linestyle="--", label="in every fiftieth")
        axes.set_title(name)
        axes.set_xlabel("step")
    panels[0].set_ylabel("moved")
    labels = panels[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside upper center", ncols=2)
    return figure


@pic.styled
def memory(
    ages: ArrayLike, shares: Mapping[float, ArrayLike], level: float
) -> pic.Picture:
    """The weight of the last steps in a mean, one curve for each β, and a level."""
    figure, ((axes,),) = pic.picture(6.0, 3.4)
    looks = zip(shares.items(), pic.SERIES, ("-", "--", "-."), strict=False)
    for (beta, share), colour, line in looks:
        axes.plot(ages, share, color=colour, linestyle=line, label=f"β = {beta:g}")
    axes.axhline(level, color=pic.FAINT, linewidth=1.5, linestyle=":")
    place = {"xytext": (4, 4), "textcoords": "offset points"}
    axes.annotate(f"{level:.2f}", (ages[0], level), color=pic.INK, **place)
    axes.set_xscale("log")
    axes.set_xlim(ages[0], ages[-1])
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("the last k steps")
    axes.set_ylabel("their share")
    axes.legend(loc="lower right")
    return figure
