"""Pictures of optimisers."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import beside, chart, curves, listed

PARTS = {
    "encoder": {"color": pic.QUERY, "marker": "o"},
    "decoder": {"color": pic.KEY, "marker": "D"},
    "shared table": {"color": pic.VALUE, "marker": "s"},
}


@pic.styled
def sizes(typical: Mapping[str, Sequence[tuple[str, float]]]) -> pic.Picture:
    """For each kind of arrays a line with a mark for each, its part of the model and its size, on one scale."""
    figure, axes = chart(3.6)
    named = {}
    for line, marks in enumerate(typical.values()):
        for part, size in marks:
            (mark,) = axes.plot(size, line, linestyle="", alpha=0.75, **PARTS[part])
            named.setdefault(part, mark)
    axes.set(xscale="log", yticks=range(len(typical)), yticklabels=typical, ylim=(len(typical) - 0.5, -0.5))
    axes.set_xlabel("typical size of a gradient")
    axes.grid(axis="x", color=pic.FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    listed(axes)
    axes.xaxis.set_major_formatter("{x:g}")
    parts = [part for part in PARTS if part in named]
    figure.legend([named[part] for part in parts], parts, loc="outside upper center", ncols=3, handletextpad=0.1)
    return figure


@pic.styled
def rates(tried: Mapping[str, Mapping[float, float]], low: float, high: float) -> pic.Picture:
    """The loss by the rate, a curve for each part of a model; what is above leaves the picture.

    The best rate of each has a ring.
    """
    figure, axes = chart(3.5)
    for (name, losses), colour, look in zip(tried.items(), pic.SERIES, ("o-", "s--", "D-.", "^:"), strict=False):
        axes.plot([*losses], [*losses.values()], look, color=colour, label=name)
        best = min(losses, key=losses.get)
        axes.plot(best, losses[best], "o", color=colour, markersize=14, markerfacecolor="none", markeredgewidth=1.5)
    axes.set_xscale("log")
    every = sorted({rate for losses in tried.values() for rate in losses})
    axes.set_xticks(every, [f"{rate:g}" for rate in every])
    axes.set_xticks([], minor=True)
    axes.set(ylim=(low, high), xlabel="rate", ylabel="mean loss, steps 6 to 10")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@pic.styled
def across(paths: pic.Arrays, curvature: float) -> pic.Picture:
    """Steps of one number in a parabola of this curvature, a panel for each path."""
    figure, (panels,) = pic.picture(pic.PHONE, 2.6, columns=len(paths), sharex=True, sharey=True)
    widest = 1.1 * max(abs(np.asarray(path)).max() for path in paths.values())
    places = np.linspace(-widest, widest, 81)
    for axes, (name, path) in zip(panels, paths.items(), strict=True):
        w = np.asarray(path)
        axes.plot(places, curvature / 2 * places**2, color=pic.FAINT, linewidth=1.5)
        axes.plot(w, curvature / 2 * w**2, "o-", color=pic.QUERY, markersize=4)
        axes.plot(w[0], curvature / 2 * w[0] ** 2, "o", color=pic.INK, markersize=7)
        axes.set(title=name, xlabel="$w_2$")
    panels[0].set_ylabel("loss")
    return figure


@pic.styled
def valley(paths: pic.Arrays, along: ArrayLike, across: ArrayLike, heights: ArrayLike) -> pic.Picture:
    """Paths (points × 2) on contour lines of heights (across × along), a panel each, below each other.

    The heights are the same for all panels, or one more axis has a map for each.
    """
    maps = np.broadcast_to(heights, (len(paths), len(across), len(along)))
    # a hundred points make a smooth line
    every = slice(None, None, max(1, len(along) // 100)), slice(None, None, max(1, len(across) // 100))
    figure, panels = pic.picture(pic.PHONE, 0.6 + 1.35 * len(paths), rows=len(paths), sharex=True, sharey=True)
    for axes, below, (name, path) in zip(panels.flat, maps, paths.items(), strict=True):
        levels = {"levels": [1, 4, 12, 30, 60, 100], "colors": pic.FAINT, "linewidths": 1}
        axes.contour(along[every[0]], across[every[1]], below[every[::-1]], **levels)
        points = np.asarray(path)
        axes.plot(*points.T, "o-", color=pic.QUERY, linewidth=1.2, markersize=3)
        axes.plot(0, 0, "+", color=pic.KEY, markersize=14, markeredgewidth=2.5)
        axes.plot(*points[0], "o", color=pic.INK, markersize=6)
        axes.plot(*points[-1], "o", color=pic.INK, markersize=11, markerfacecolor="none", markeredgewidth=1.5)
        axes.set(title=name, ylabel="$w_2$")
    panels[-1, 0].set_xlabel("$w_1$, along the valley")
    return figure


@pic.styled
def starts(lengths: pic.Arrays) -> pic.Picture:
    """How long each step of a rule is, in learning rates, from the first step on."""
    figure, axes = chart(3.2)
    curves(axes, None, lengths, dashes=("--", "-.", "-"))
    axes.set(xlim=(1, max(map(len, lengths.values()))), ylim=(0, None), xlabel="step")
    axes.set_ylabel("length, in learning rates")
    axes.legend(loc="upper right")
    return figure


@pic.styled
def rare(moved: pic.Arrays) -> pic.Picture:
    """How far two numbers moved (steps × 2: frequent, rare), a panel for each rule."""
    figure, (panels,) = pic.picture(pic.PHONE, 3.2, columns=len(moved), sharey=True)
    for axes, (name, path) in zip(panels, moved.items(), strict=True):
        path = np.asarray(path)
        axes.plot(path[:, 0], color=pic.QUERY, label="pulled in every step")
        axes.plot(path[:, 1], color=pic.KEY, linestyle="--", label="in every fiftieth")
        axes.set(title=name, xlabel="step")
    panels[0].set_ylabel("moved")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


@pic.styled
def memory(ages: ArrayLike, shares: Mapping[float, ArrayLike], level: float) -> pic.Picture:
    """The weight of the last steps in a mean, one curve for each β, and a level."""
    figure, axes = chart(3.2)
    curves(axes, ages, {f"β = {beta:g}": share for beta, share in shares.items()}, dashes=("-", "--", "-."))
    axes.axhline(level, color=pic.FAINT, linewidth=1.5, linestyle=":")
    beside(axes, f"{level:.2f}", (ages[0], level), (4, 4), color=pic.INK)
    axes.set(xscale="log", xlim=(ages[0], ages[-1]), ylim=(0, 1.02), xlabel="the last k steps", ylabel="their share")
    for line in axes.lines[: len(shares)]:
        x, y = line.get_xydata()[np.argmax(line.get_ydata() > 0.8)]
        beside(axes, line.get_label(), (x, y), (7, -12), color=line.get_color())
    return figure
