"""Pictures of the decoder: one layer with its numbers, and what its outputs depend on."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import above, arrow, below, blank, box, residual


@pic.styled
def layer(
    steps: Mapping[str, ArrayLike], target: Sequence[str], source: Sequence[str]
) -> pic.Picture:
    """One decoder layer from top to bottom, with its numbers.

    `steps` names them: y, self (weights), normed 1, memory, cross (weights), normed 2, hidden, out.
    """
    figure, frame = blank(5.9, 12.1)
    boxes = {}
    for name, centre, top, title in (
        ("y", 3.75, 11.8, "$Y$"),
        ("self", 3.75, 10.15, "self-attention: weights, times $V W^O$"),
        ("normed 1", 3.75, 8.2, "add & norm"),
        ("memory", 1.35, 6.28, "memory $M$"),
        ("cross", 3.75, 6.55, "cross-attention: weights, times $V W^O$"),
        ("normed 2", 3.75, 4.6, "add & norm"),
        ("hidden", 3.75, 2.95, "feed-forward: hidden, times $W_2$"),
        ("out", 3.75, 1.13, "add & norm: the output"),
    ):
        words = source if name == "memory" else target
        whole = pic.WEIGHTS if name in ("self", "cross") else pic.SIGNED
        boxes[name] = box(figure, steps[name], (centre, top), title, words, whole)
    for start, end in (("y", "self"), ("normed 1", "cross"), ("normed 2", "hidden")):
        arrow(frame, below(boxes[start]), above(boxes[end]))
    for start, before, after in (
        ("y", "self", "normed 1"),
        ("normed 1", "cross", "normed 2"),
        ("normed 2", "hidden", "out"),
    ):
        residual(frame, boxes[start], boxes[before], boxes[after], 5.65)
    middle = boxes["cross"].get_position()
    y = (middle.y0 + middle.y1) / 2 * figure.get_figheight()
    arrow(frame, (2.2, y), (2.4, y), pic.KEY)
    return figure


@pic.styled
def reach(
    words: ArrayLike, memory: ArrayLike, target: Sequence[str], source: Sequence[str]
) -> pic.Picture:
    """How far each output row moves with each row that goes in: of the target (T, T), of the memory (T, S)."""
    figure, panels = pic.picture(4.4, 5.0, rows=2)
    top = 0.3 * max(np.max(words), np.max(memory))  # what is larger has the last colour
    for axes, x, names, title in (
        (panels[0, 0], words, target, "words so far"),
        (panels[1, 0], memory, source, "memory"),
    ):
        pic.tiles(axes, x, pic.WEIGHTS, (0, top), decimals=2)
        axes.set_aspect("auto")
        axes.set_xticks(range(len(names)), names)
        axes.set_yticks(range(len(target)), target)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(title, color=pic.KEY)
        axes.set_ylabel("output row")
    return figure
