"""Pictures of residual connections and layer normalisation."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import tile

STYLES = ("-", "--", ":", "-.")


@pic.styled
def depth(
    signal: Mapping[str, ArrayLike], gradient: Mapping[str, ArrayLike]
) -> pic.Picture:
    """Typical sizes along a stack, a curve for each kind of stack.

    Left the signal, from the bottom up; right the gradient, which begins at the top.
    """
    figure, (panels,) = pic.picture(7.0, 4.0, columns=2, sharey=True)
    titles = ("signal, left to right", "gradient, right to left")
    for axes, curves, title in zip(panels, (signal, gradient), titles, strict=True):
        for j, (name, sizes) in enumerate(curves.items()):
            boxes = np.arange(len(sizes))
            place = boxes if axes is panels[0] else boxes[::-1]
            style = {"color": pic.SERIES[j], "linestyle": STYLES[j % 4]}
            axes.plot(place, sizes, label=name, **style)
        axes.set_yscale("log")
        axes.set_xticks(boxes[:: max(1, len(boxes) // 4)])
        axes.set_title(title)
        axes.set_xlabel("boxes below this place")
    panels[0].set_ylabel("size")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2)
    return figure


@pic.styled
def circle(
    centred: ArrayLike, normed: ArrayLike, words: Sequence[str], radius: float
) -> pic.Picture:
    """Rows of width three in the plane of mean 0: (words × 2) as centred and normed."""
    figure, ((axes,),) = pic.picture(5.2, 4.8)
    angle = np.linspace(0, 2 * np.pi, 200)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    axes.plot(x, y, color=pic.FAINT, linewidth=1)
    axes.plot(0, 0, "o", color=pic.FAINT)
    for j, (word, start, end) in enumerate(zip(words, centred, normed, strict=True)):
        axes.plot([0, end[0]], [0, end[1]], color=pic.FAINT, linewidth=1, linestyle=":")
        axes.plot(*start, "o", color=pic.SERIES[j], fillstyle="none", markersize=9)
        axes.plot(*end, "o", color=pic.SERIES[j], markersize=9)
        outer = max(start, end, key=np.linalg.norm)
        style = {"color": pic.SERIES[j], "ha": "center", "va": "center"}
        axes.annotate(word, 1.17 * np.asarray(outer), **style)
    for fill, name in (("none", "centred"), ("full", "normed")):
        axes.plot([], [], "o", color=pic.INK, fillstyle=fill, markersize=9, label=name)
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_axis_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@pic.styled
def groups(lengths: Sequence[int], longest: int, width: int) -> pic.Picture:
    """Which numbers share a mean, in sentences of those lengths, filled up to longest.

    Left by row (layer norm), right by column over all sentences (batch norm); padding
    has a cross.
    """
    height = 0.9 + 0.36 * (longest + 1) * len(lengths)
    figure, (panels,) = pic.picture(6.6, height, columns=2)
    for axes, title in zip(panels, ("layer norm", "batch norm"), strict=True):
        top = 0.0
        for s, length in enumerate(lengths):
            for t in range(longest):
                for c in range(width):
                    first = s == t == 0 if title == "layer norm" else c == 0
                    face, ink = (pic.KEY, "white") if first else ("white", pic.INK)
                    place, text = (c, top + t, 0.94, 0.94), "×" if t >= length else ""
                    tile(axes, place, face, text, ink, edgecolor=pic.INK)
            place = (-0.4, top + longest / 2)
            axes.text(*place, f"sentence {s + 1}", rotation=90, ha="right", va="center")
            top += longest + 0.7
        axes.set_xlim(-1.3, width + 0.2)
        axes.set_ylim(top - 0.5, -0.2)
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set_title(title, loc="center")
    return figure


@pic.styled
def layers(gradients: Mapping[int, Mapping[str, ArrayLike]]) -> pic.Picture:
    """Gradient sizes by layer, a panel for each depth and a curve for each order.

    Each curve holds (seeds × layers): every seed is drawn thin, their geometric mean
    thick.
    """
    figure, (panels,) = pic.picture(7.2, 3.7, columns=len(gradients), sharey=True)
    for axes, (n, orders) in zip(panels, gradients.items(), strict=True):
        x = np.arange(1, n + 1)
        for j, (name, sizes) in enumerate(orders.items()):
            colour = (pic.KEY, pic.QUERY)[j]
            axes.plot(x, np.transpose(sizes), color=colour, linewidth=0.5, alpha=0.25)
            style = {"color": colour, "linestyle": STYLES[j]}
            middle = np.exp(np.mean(np.log(sizes), axis=0))
            axes.plot(x, middle, label=name, linewidth=3, **style)
        axes.set_yscale("log")
        axes.set_title(f"{n} layers")
        axes.set_xlabel("layer")
        axes.set_xticks([1, n // 2, n])
    panels[0].set_ylabel("size of the gradient")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2)
    return figure
