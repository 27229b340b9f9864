"""Pictures of the feed-forward network."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.draw.picture import (
    FAINT,
    INK,
    KEY,
    OUT,
    QUERY,
    SERIES,
    SIGNED,
    Picture,
    picture,
    styled,
    tiles,
)


@styled
def kinks(
    x: ArrayLike, target: ArrayLike, parts: ArrayLike, total: ArrayLike
) -> Picture:
    """Above what each ReLU adds (parts: points × units), below their sum and the target."""
    figure, panels = picture(6, 5.2, rows=2, sharex=True)
    upper, lower = panels[:, 0]
    for j, part in enumerate(np.asarray(parts).T):
        style = ("-", "--", ":", "-.")[j % 4]
        upper.plot(x, part, color=SERIES[j % len(SERIES)], linestyle=style)
    upper.set_title("one line for each hidden unit")
    lower.plot(x, target, color=FAINT, linewidth=5, label="wanted")
    lower.plot(x, total, color=QUERY, label="sum of the lines above")
    lower.set_xlabel("x")
    lower.legend()
    for axes in (upper, lower):
        axes.axhline(0, color=FAINT, linewidth=1, zorder=0)
    return figure


@styled
def firing(inner: ArrayLike, hidden: ArrayLike, words: Sequence[str]) -> Picture:
    """The hidden layer before and after the activation: a row for each word."""
    units = np.shape(inner)[1]
    limit = max(np.abs(inner).max(), np.abs(hidden).max())
    figure, (panels,) = picture(7.0, 3.3, columns=2)
    names = ("before", "after: what is negative is off")
    for axes, x, name in zip(panels, (inner, hidden), names, strict=True):
        tiles(axes, x, SIGNED, (-1.3 * limit, 1.3 * limit), decimals=1)
        axes.set_xticks(range(units), range(1, units + 1))
        axes.set_yticks(range(len(words)), words if axes is panels[0] else [])
        axes.set_xlabel("hidden unit")
        axes.set_title(name, loc="center")
    return figure


@styled
def activations(
    x: ArrayLike, values: Mapping[str, ArrayLike], slopes: Mapping[str, ArrayLike]
) -> Picture:
    """Some activation functions by name, left their values, right their slopes."""
    figure, (panels,) = picture(6.8, 3.3, columns=2)
    titles = ("value", "slope")
    for axes, curves, title in zip(panels, (values, slopes), titles, strict=True):
        axes.axhline(0, color=FAINT, linewidth=1)
        axes.axvline(0, color=FAINT, linewidth=1)
        for j, (name, y) in enumerate(curves.items()):
            style = {
                "color": (KEY, QUERY, OUT, INK)[j],
                "linestyle": ("-", "--")[j % 2],
            }
            axes.plot(x, y, label=name, **style)
        axes.set_title(title)
        axes.set_xlabel("x")
    panels[0].legend(loc="upper left")
    return figure
