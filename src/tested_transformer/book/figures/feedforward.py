"""Pictures of the feed-forward network."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import Normalize, PowerNorm
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank
from tested_transformer.book.figures.kit import beside
from tested_transformer.shares import as_share

LINE = 32
"""So many numbers of a row stand side by side; the rest of the row is below them."""


BETWEEN = ("a matrix, then no negatives", "a second matrix")


@pic.styled
def network(row: ArrayLike, hidden: ArrayLike, added: ArrayLike, names: Sequence[str]) -> pic.Picture:
    """One row on its way down: as it comes in, its hidden units, what is added to it; a name above each.

    Each number is a tile, in lines of 32. Hidden units that are off are white; the colour of
    the others grows with the square root, so that the weakest are seen, too.
    """
    side, left = 0.145, 0.2
    steps = [np.asarray(x) for x in (row, hidden, added)]
    tall = [side * len(x) / LINE for x in steps]
    height = sum(tall) + 3 * 0.27 + 2 * 0.3 + 0.05
    figure, frame = blank(left + side * LINE + 0.2, height)
    width, top = figure.get_size_inches()[0], height
    for n, (x, name, size) in enumerate(zip(steps, names, tall, strict=True)):
        frame.text(left, top - 0.15, name, va="center_baseline")
        axes = figure.add_axes(np.divide((left, top - 0.27 - size, side * LINE, size), (width, height) * 2))
        limit, lines = np.abs(x).max(), x.reshape(-1, LINE)
        cmap, norm = (pic.WEIGHTS, PowerNorm(0.5, 0, limit)) if n == 1 else (pic.SIGNED, Normalize(-limit, limit))
        axes.imshow(lines, aspect="auto", cmap=cmap, norm=norm)  # hidden units start at zero
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color=pic.FAINT)
        top -= 0.27 + size
        if n < 2:
            middle = width / 2
            arrow(frame, (middle, top - 0.04), (middle, top - 0.27))
            frame.text(middle + 0.15, top - 0.155, BETWEEN[n], va="center")
            top -= 0.3
    return figure


@pic.styled
def separated(facts: ArrayLike, hidden: ArrayLike, wanted: ArrayLike, names: Sequence[str]) -> pic.Picture:
    """Cases as points in the plane of two inputs, and in that of two hidden units, where a line parts them.

    The cases that are wanted are filled. Points that fall together get one name.
    """
    figure, (panels,) = pic.picture(pic.PHONE, 2.85, columns=2)
    sides = (facts, ("“not”?", "a bad word?")), (hidden, ("unit 1", "unit 2"))
    for axes, (points, labels) in zip(panels, sides, strict=True):
        at: dict[tuple, list[int]] = {}
        for n, point in enumerate(np.asarray(points)):
            at.setdefault(tuple(point.tolist()), []).append(n)
        for (x, y), cases in at.items():
            face = pic.INK if wanted[cases[0]] else "white"
            axes.scatter([x], [y], s=90, zorder=3, clip_on=False, facecolor=face, edgecolor=pic.INK, linewidth=2)
            beside(axes, ",\n".join(f"“{names[n]}”" for n in cases), (x, y), (0, 9), ha="center")
        axes.set(xlim=(-0.45, 1.45), ylim=(-0.3, 1.45), xticks=[0, 1], yticks=[0, 1], xlabel=labels[0])
        axes.set_ylabel(labels[1], labelpad=0)
    panels[1].plot([-0.2, 0.9], [0.87, -0.23], color=pic.FAINT, linestyle="--")
    panels[0].set_title("what comes in", loc="center")
    panels[1].set_title("hidden units", loc="center")
    return figure


@pic.styled
def kinks(x: ArrayLike, target: ArrayLike, parts: ArrayLike, total: ArrayLike) -> pic.Picture:
    """Above what each ReLU adds (parts: points × units), below their sum and the target."""
    figure, panels = pic.picture(pic.PHONE, 4.6, rows=2, sharex=True)
    upper, lower = panels[:, 0]
    for j, part in enumerate(np.asarray(parts).T):
        upper.plot(x, part, color=pic.SERIES[j % len(pic.SERIES)], linestyle=("-", "--", ":", "-.")[j % 4])
    upper.set_title("one line for each hidden unit")
    lower.plot(x, target, color=pic.FAINT, linewidth=5, label="wanted")
    lower.plot(x, total, color=pic.QUERY, label="sum of the lines above")
    lower.set_xlabel("x")
    lower.legend()
    for axes in (upper, lower):
        axes.axhline(0, color=pic.FAINT, linewidth=1, zorder=0)
    return figure


@pic.styled
def firing(inner: ArrayLike, hidden: ArrayLike, words: Sequence[str], questions: Sequence[str] = ()) -> pic.Picture:
    """The hidden layer before and after the activation: a row for each word, over each unit what it asks."""
    units = np.shape(inner)[1]
    limit = max(np.abs(inner).max(), np.abs(hidden).max())
    figure, panels = pic.picture(pic.PHONE, 3.2, rows=2)
    for axes, x, name in zip(panels[:, 0], (inner, hidden), ("before", "after ReLU"), strict=True):
        pic.tiles(axes, x, pic.SIGNED, (-1.3 * limit, 1.3 * limit), decimals=1)
        axes.set(aspect="auto", xticks=[], yticks=range(len(words)), yticklabels=words, ylabel=name)
        axes.yaxis.set_label_position("right")
    upper, lower = panels[:, 0]
    if questions:
        upper.xaxis.tick_top()
        upper.set_xticks(range(units), questions)
    lower.set(xticks=range(units), xticklabels=range(1, units + 1), xlabel="hidden unit")
    return figure


@pic.styled
def told(
    inner: ArrayLike, groups: Sequence[str], names: Mapping[str, str], units: ArrayLike, shares: ArrayLike
) -> pic.Picture:
    """Some units before the ReLU (cases × units), a panel for each: the cases by group, filled where the unit fires.

    names has a name for each group, in the order of the rows. shares (units × groups) stand right of the points: in
    how many of its cases the unit fires.
    """
    inner, of = np.asarray(inner), np.asarray(groups)
    figure, (panels,) = pic.picture(pic.PHONE, 2.5, columns=inner.shape[1], sharex=True)
    for axes, values, unit, fires in zip(panels, inner.T, units, shares, strict=True):
        axes.axvline(0, color=pic.FAINT, linewidth=1, zorder=0)
        for at, group in enumerate(names):
            x = values[of == group]
            y = at + np.linspace(-0.3, 0.3, len(x))
            axes.scatter(x, y, c=np.where(x > 0, pic.INK, "white"), s=11, edgecolor=pic.INK, linewidth=0.7)
            share = as_share(100 * fires[at], 0, 100, signs=True)
            axes.text(1.03, at, f"{share}%", transform=axes.get_yaxis_transform(), va="center")
        axes.set_yticks(range(len(names)), names.values() if axes is panels[0] else [])
        axes.set(ylim=(len(names) - 0.5, -0.5))
        axes.tick_params(axis="y", length=0)
        axes.set_title(f"unit {unit}", loc="center")
    figure.supxlabel("before the ReLU; to the right of 0 the unit fires", fontsize=11)
    return figure


@pic.styled
def activations(x: ArrayLike, values: pic.Arrays, slopes: pic.Arrays) -> pic.Picture:
    """Some activation functions by name, left their values, right their slopes."""
    figure, (panels,) = pic.picture(pic.PHONE, 2.9, columns=2)
    for axes, curves, title in zip(panels, (values, slopes), ("value", "slope"), strict=True):
        axes.axhline(0, color=pic.FAINT, linewidth=1)
        axes.axvline(0, color=pic.FAINT, linewidth=1)
        for j, (name, y) in enumerate(curves.items()):
            axes.plot(x, y, ("-", "--")[j % 2], color=(pic.KEY, pic.QUERY, pic.OUT, pic.INK)[j], label=name)
        axes.set(title=title, xlabel="x")
    panels[0].legend(loc="upper left")
    return figure
