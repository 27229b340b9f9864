"""Pictures of the feed-forward network."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic


@pic.styled
def kinks(
    x: ArrayLike, target: ArrayLike, parts: ArrayLike, total: ArrayLike
) -> pic.Picture:
    """Above what each ReLU adds (parts: points × units), below their sum and the target."""
    figure, panels = pic.picture(6, 5.2, rows=2, sharex=True)
    upper, lower = panels[:, 0]
    for j, part in enumerate(np.asarray(parts).T):
        style = ("-", "--", ":", "-.")[j % 4]
        upper.plot(x, part, color=pic.SERIES[j % len(pic.SERIES)], linestyle=style)
    upper.set_title("one line for each hidden unit")
    lower.plot(x, target, color=pic.FAINT, linewidth=5, label="wanted")
    lower.plot(x, total, color=pic.QUERY, label="sum of the lines above")
    lower.set_xlabel("x")
    lower.legend()
    for axes in (upper, lower):
        axes.axhline(0, color=pic.FAINT, linewidth=1, zorder=0)
    return figure


@pic.styled
def firing(inner: ArrayLike, hidden: ArrayLike, words: Sequence[str]) -> pic.Picture:
    """The hidden layer before and after the activation: a row for each word."""
    units = np.shape(inner)[1]
    limit = max(np.abs(inner).max(), np.abs(hidden).max())
    figure, (panels,) = pic.picture(7.0, 3.3, columns=2)
    names = ("before", "after: what is negative is off")
    for axes, x, name in zip(panels, (inner, hidden), names, strict=True):
        pic.tiles(axes, x, pic.SIGNED, (-1.3 * limit, 1.3 * limit), decimals=1)
        axes.set_xticks(range(units), range(1, units + 1))
        axes.set_yticks(range(len(words)), words if axes is panels[0] else [])
        axes.set_xlabel("hidden unit")
        axes.set_title(name, loc="center")
    return figure


@pic.styled
def activations(
    x: ArrayLike, values: Mapping[str, ArrayLike], slopes: Mapping[str, ArrayLike]
) -> pic.Picture:
    """Some activation functions by name, left their values, right their slopes."""
    figure, (panels,) = pic.picture(6.8, 3.3, columns=2)
    titles = ("value", "slope")
    for axes, curves, title in zip(panels, (values, slopes), titles, strict=True):
        axes.axhline(0, color=pic.FAINT, linewidth=1)
        axes.axvline(0, color=pic.FAINT, linewidth=1)
        for j, (name, y) in enumerate(curves.items()):
            colour = (pic.KEY, pic.QUERY, pic.OUT, pic.INK)[j]
            axes.plot(x, y, ("-", "--")[j % 2], color=colour, label=name)
        axes.set_title(title)
        axes.set_xlabel("x")
    panels[0].legend(loc="upper left")
    return figure
