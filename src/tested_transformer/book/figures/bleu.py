"""Pictures of a score: what it counts, how sure it is, and what it says of a training."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import CENTRE, chart

LOOKS = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))


@pic.styled
def pieces(words: Sequence[str], found: Mapping[int, Sequence[bool]]) -> pic.Picture:
    """Under a translation its pieces of one word and more: a full bar was found, an empty one was not.

    For each length, found has a truth value for every piece, from left to right.
    """
    return compared({"": (words, found)})


@pic.styled
def compared(lines: Mapping[str, tuple[Sequence[str], Mapping[int, Sequence[bool]]]]) -> pic.Picture:
    """Several translations, one below the other, as `pieces` has one; each with a name, or its score."""
    high = [1.6 + sum(n + 0.8 for n in found) for _, found in lines.values()]
    figure, grid = pic.picture(pic.WIDE, 0.24 * sum(high) + 0.2 * len(high), rows=len(high))
    wide = max(_ends(words)[-1] for words, _ in lines.values())
    for (ax,), (name, (words, found)) in zip(grid, lines.items(), strict=True):
        ax.text(-1, 0.9, name, ha="right", va="center", weight="bold")
        y = _bars(ax, words, found)
        ax.set(xlim=(-15, wide + 0.5), ylim=(y - 0.2, 1.6))
        ax.set_axis_off()
    return figure


def _ends(words: Sequence[str]) -> np.ndarray:
    return np.cumsum([len(word) + 1.4 for word in words])


def _bars(ax: Axes, words: Sequence[str], found: Mapping[int, Sequence[bool]]) -> float:
    ends = _ends(words)
    starts = ends - [len(word) + 1.4 for word in words]
    for word, left, right in zip(words, starts, ends, strict=True):
        ax.text((left + right) / 2, 0.9, word, **CENTRE)
    y = 0.0
    for n, hits in found.items():
        y -= 0.8
        ax.text(-1, y - n / 2, f"{n} word{'s' * (n > 1)}: {sum(hits)} of {len(hits)}", ha="right", va="center")
        for i, hit in enumerate(hits):
            left, right = starts[i] + 0.3, ends[i + n - 1] - 0.3
            look = {"color": pic.QUERY} if hit else {"color": "white", "linestyle": ":"}
            ax.barh(y - i % n - 0.5, right - left, 0.62, left=left, linewidth=0.9, edgecolor=pic.INK, **look)
        y -= n
    return y


@pic.styled
def apart(scores: Mapping[str, Mapping[str, float]]) -> pic.Picture:
    """For each name, from top to bottom, a line with a mark for each of its scores, at most three."""
    figure, axes = chart(0.6 * len(scores) + 1.3, 5.4)
    for y, each in enumerate(scores.values()):
        axes.plot([min(each.values()), max(each.values())], [y, y], color=pic.FAINT)
        for (kind, score), mark, colour, lower in zip(each.items(), "os^", pic.SERIES, (-0.18, 0.18, 0), strict=False):
            axes.plot(score, y + lower, mark, color=colour, markersize=9, label=kind if y == 0 else None)
    axes.set(yticks=range(len(scores)), yticklabels=scores, ylim=(len(scores) - 0.5, -0.5), xlabel="BLEU")
    figure.legend(loc="outside upper center", ncols=3, handletextpad=0.1)
    return figure


@pic.styled
def interval(scores: ArrayLike, low: float, high: float, measured: float) -> pic.Picture:
    """How often each score came out of drawing again, and the middle 95 in 100."""
    figure, axes = chart(3.2, pic.WIDE)
    axes.axvspan(low, high, color=pic.FAINT, alpha=0.3, linewidth=0, label="95 of 100")
    axes.hist(scores, bins=24, color=pic.QUERY, edgecolor="white", linewidth=0.6)
    axes.axvline(measured, color=pic.KEY, linestyle="--", label="all sentences once")
    axes.set(xlabel="BLEU", ylabel="how often")
    axes.legend()
    return figure


@pic.styled
def minutes(
    runs: Mapping[str, tuple[ArrayLike, ArrayLike]], losses: Mapping[str, tuple[ArrayLike, ArrayLike]]
) -> pic.Picture:
    """Against minutes of training: above BLEU, below the validation loss."""
    figure, ((above,), (below,)) = pic.picture(pic.WIDE, 5.4, rows=2, sharex=True)
    for axes, curves, palette in ((above, runs, pic.SERIES), (below, losses, (pic.INK, pic.OUT))):
        for i, (name, (x, y)) in enumerate(curves.items()):
            line, mark = LOOKS[i % len(LOOKS)]
            axes.plot(x, y, marker=mark, markersize=5, label=name, color=palette[i % len(palette)], linestyle=line)
        axes.legend()
    above.set(ylabel="BLEU", ylim=(0, None))
    below.set(ylabel="validation loss", xlabel="minutes of training", xlim=(0, None))
    return figure
