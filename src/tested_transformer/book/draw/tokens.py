"""Pictures of how text becomes tokens."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import tile


@pic.styled
def merges(steps: Sequence[Sequence[str]], names: Sequence[str]) -> pic.Picture:
    """One word in ever fewer pieces: a row for each step, a box for each piece.

    A box is as wide as its piece has characters.
    """
    figure, ((axes,),) = pic.picture(6.2, 0.5 + 0.5 * len(steps))
    width = sum(map(len, steps[0]))
    for y, pieces in enumerate(steps):
        x = 0
        for piece in pieces:
            new = y > 0 and piece not in steps[y - 1]
            place = x + 0.04, y + 0.1, len(piece) - 0.08, 0.8
            tile(axes, place, pic.WEIGHTS(0.45 if new else 0.08), piece)
            x += len(piece)
    _bare(axes, width, len(steps))
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    return figure


@pic.styled
def lengths(
    n_merges: ArrayLike, curves: Mapping[str, ArrayLike], levels: Mapping[str, float]
) -> pic.Picture:
    """Tokens to a word against the number of merges, one curve for each text.

    There are dotted lines at the named levels.
    """
    figure, ((axes,),) = pic.picture(6.2, 3.6)
    looks = zip(curves.items(), pic.SERIES, ("-", "--", "-."), strict=False)
    for (name, curve), colour, style in looks:
        axes.plot(n_merges, curve, color=colour, linestyle=style, label=name)
    under = {"xytext": (0, -3), "textcoords": "offset points", "va": "top"}
    for name, level in levels.items():
        axes.axhline(level, color=pic.FAINT, linewidth=1.5, linestyle=":")
        axes.annotate(name, (np.max(n_merges), level), ha="right", **under)
    axes.set_ylim(0, None)
    axes.set_xlim(0, np.max(n_merges))
    axes.set_xlabel("merges learned")
    axes.set_ylabel("tokens to a word")
    figure.legend(loc="outside upper center", ncols=len(curves))
    return figure


@pic.styled
def padded(rows: Sequence[Sequence[str]], real: ArrayLike) -> pic.Picture:
    """A batch as a grid of tokens, one row a sentence; hatched where not `real`."""
    real = np.asarray(real)
    figure, ((axes,),) = pic.picture(7.2, 0.5 + 0.6 * len(rows))
    for (y, x), is_real in np.ndenumerate(real):
        place = x + 0.04, y + 0.1, 0.92, 0.8
        if is_real:
            tile(axes, place, pic.WEIGHTS(0.2), rows[y][x])
        else:
            tile(axes, place, "white", hatch="////")
    _bare(axes, real.shape[1], real.shape[0])
    names = [f"sentence {y + 1}" for y in range(len(rows))]
    axes.set_yticks(np.arange(len(rows)) + 0.5, names)
    return figure


def _bare(axes: Axes, width: float, height: float) -> None:
    """Room for the boxes, the first row on top, and nothing around them."""
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
