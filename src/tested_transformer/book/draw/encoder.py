"""Pictures of the encoder: one layer with its numbers, two hops, two orders, and rows that grow alike."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import above, arrow, below, blank, box, residual


@pic.styled
def layer(steps: Mapping[str, ArrayLike], words: Sequence[str]) -> pic.Picture:
    """One encoder layer from top to bottom, with its numbers.

    `steps` names them: x, head 1, head 2 (weights), attended, normed, hidden, fed, out.
    """
    figure, frame = blank(5.2, 9.85)
    boxes = {}
    for name, centre, top, title in (
        ("x", 2.5, 9.55, "$X$"),
        ("head 1", 1.55, 8.2, "head 1, weights"),
        ("head 2", 3.62, 8.2, "head 2, weights"),
        ("attended", 2.5, 6.85, "joined, times $W^O$"),
        ("normed", 2.5, 5.2, "add & norm"),
        ("hidden", 2.5, 3.85, "feed-forward, hidden"),
        ("fed", 2.5, 2.5, "feed-forward, result"),
        ("out", 2.5, 0.87, "add & norm: the output"),
    ):
        labels = () if name == "head 2" else words
        whole = pic.WEIGHTS if name.startswith("head") else pic.SIGNED
        boxes[name] = box(figure, steps[name], (centre, top), title, labels, whole)
    for start, end in (
        ("x", "head 1"),
        ("x", "head 2"),
        ("head 1", "attended"),
        ("head 2", "attended"),
        ("normed", "hidden"),
        ("hidden", "fed"),
    ):
        arrow(frame, below(boxes[start]), above(boxes[end]))
    for start, before, after in (("x", "attended", "normed"), ("normed", "fed", "out")):
        residual(frame, boxes[start], boxes[before], boxes[after], 4.9)
    return figure


@pic.styled
def hops(looks: ArrayLike, knows: Sequence[Sequence[str]]) -> pic.Picture:
    """What each word knows after each layer, from bottom to top; an arrow where one looks at another.

    looks (words, words) holds the attention weights; knows has a list of labels for each layer.
    """
    looks, levels = np.asarray(looks), len(knows)
    figure, frame = blank(5.9, 1.15 * levels - 0.45)
    names = ["vectors in", *(f"after layer {n}" for n in range(1, levels))]
    places, heights = (1.55, 3.0, 4.85), [0.35 + 1.15 * n for n in range(levels)]
    edge = {"boxstyle": "round,pad=0.35", "facecolor": "white"}
    for y, name, labels in zip(heights, names, knows, strict=True):
        frame.text(0.05, y, name, color=pic.INK, va="center", style="italic")
        for x, label in zip(places, labels, strict=True):
            bbox = edge | {"edgecolor": pic.OUT if label == knows[-1][-1] else pic.INK}
            frame.text(x, y, label, ha="center", va="center", bbox=bbox)
    for y in heights[:-1]:
        for i, j in np.argwhere(looks > 0.5):
            arrow(frame, (places[j], y + 0.22), (places[i], y + 0.92), pic.QUERY)
    return figure


@pic.styled
def orders(panels: Mapping[str, tuple[Sequence[str], ArrayLike]]) -> pic.Picture:
    """Outputs for two orders of the same words, with and without positions: title -> (words, output)."""
    figure, grid = pic.picture(5.6, 3.9, rows=2, columns=2)
    for axes, (title, (words, out)) in zip(grid.flat, panels.items(), strict=True):
        pic.tiles(axes, out, pic.SIGNED, (-2, 2), decimals=2)
        axes.set_aspect("auto")
        axes.set_title(title, loc="center")
        axes.set_xticks([])
        axes.set_yticks(range(len(words)), words)
    return figure


@pic.styled
def alike(curves: Mapping[str, ArrayLike]) -> pic.Picture:
    """How alike the rows are after each layer (from 0, the input): a curve for each kind of layer."""
    figure, ((axes,),) = pic.picture(6, 3.4)
    styles = ("o-", "s--", "^:", "d-.")
    looks = zip(curves.items(), pic.SERIES, styles, strict=False)
    for (name, curve), colour, style in looks:
        axes.plot(range(len(curve)), curve, style, color=colour, label=name)
    axes.axhline(1, color=pic.FAINT, linewidth=1)
    axes.set_ylim(-0.1, 1.05)
    axes.set_xticks(range(len(curve)))
    axes.set_xlabel("layers passed")
    axes.set_ylabel("mean cosine of two rows")
    axes.legend(loc="lower right")
    return figure
