"""Pictures of the paper's figures, recalculated."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import chart, curves

MARKERS = "os^Dv"


@pic.styled
def operations(n: ArrayLike, counts: pic.Arrays, d: int, lines: pic.Arrays) -> pic.Picture:
    """Counted multiplications as points over n, formulas as lines, n = d dotted."""
    figure, axes = chart(4.2, pic.WIDE)
    axes.axvline(d, color=pic.FAINT, linestyle=":")
    for i, (name, values) in enumerate(counts.items()):
        axes.plot(n, lines[name], color=pic.SERIES[i])
        axes.plot(n, values, MARKERS[i], color=pic.SERIES[i], label=name)
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", xticks=n, xticklabels=[f"{x:,}" for x in n], xlabel=f"words n (dotted: n = d = {d})")
    axes.set_ylabel("multiplications per layer")
    axes.legend(loc="upper left")
    return figure


@pic.styled
def paths(n: Sequence[int], lengths: pic.Arrays) -> pic.Picture:
    """How many steps lie between the first word and the last, a line for each layer."""
    figure, axes = chart(3.8, pic.WIDE)
    curves(axes, n, lengths, dashes=("-",), marks=MARKERS)
    axes.set(xscale="log", yscale="log", xticks=n, xticklabels=n, xlabel="words n", ylabel="steps from first to last")
    axes.minorticks_off()
    axes.set_ylim(0.7, 12 * max(map(np.max, lengths.values())))  # room for the names
    axes.legend(loc="upper left")
    return figure


@pic.styled
def shares(n: ArrayLike, parts: pic.Arrays, marks: Mapping[str, float]) -> pic.Picture:
    """Shares of one whole, stacked, against a length; `marks` are lengths with a name."""
    figure, axes = chart(3.8, pic.WIDE)
    bottom = np.zeros(len(np.asarray(n)))
    for i, (name, values) in enumerate(parts.items()):
        top = bottom + values
        axes.fill_between(n, bottom, top, color=pic.colour_of(name, i), label=name, linewidth=0)
        bottom = top
    for name, length in marks.items():
        axes.axvline(length, color="white", linestyle="--")
        axes.annotate(name, (length, 1.02), ha="center", annotation_clip=False)
    axes.set_xscale("log", base=2)
    ticks = [2**i for i in range(4, 15, 2)]
    axes.set(xticks=ticks, xticklabels=[f"{tick:,}" for tick in ticks], xlim=(np.min(n), np.max(n)), ylim=(0, 1))
    axes.set(xlabel="words n", ylabel="share of the multiplications")
    figure.legend(loc="outside lower center", ncols=1)
    return figure


@pic.styled
def boxes(counts: Mapping[str, float]) -> pic.Picture:
    """A bar for each part of a model, its million parameters beside it."""
    figure, axes = chart(0.8 + 0.42 * len(counts), pic.WIDE)
    axes.bar_label(axes.barh(list(counts), list(counts.values()), color=pic.QUERY, height=0.7), fmt="{:.2f}", padding=4)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.18 * max(counts.values())), xlabel="million parameters")
    return figure


@pic.styled
def intervals(sizes: Mapping[str, range], common: Sequence[int], marked: int) -> pic.Picture:
    """Vocabulary sizes as bars, those in common as a band, one size as a line."""
    figure, axes = chart(1.2 + 0.36 * len(sizes), pic.WIDE)
    axes.axvspan(common[0], common[-1], color=pic.FAINT, alpha=0.6, linewidth=0)
    axes.axvline(marked, color=pic.KEY, linestyle="--")
    place, name = (marked, 1.01), f"{marked:,} stated"
    axes.annotate(name, place, color=pic.KEY, ha="center", xycoords=("data", "axes fraction"), annotation_clip=False)
    for name, bar in sizes.items():
        axes.barh(name, len(bar), left=bar[0], color=pic.QUERY, height=0.6)
    axes.invert_yaxis()
    axes.use_sticky_edges = False
    axes.autoscale_view(scaley=False)
    axes.set_xticks(range(36_000, 44_000, 2000), [f"{x}\u202f000" for x in range(36, 44, 2)])
    axes.set_xlabel("tokens in the vocabulary")
    return figure
