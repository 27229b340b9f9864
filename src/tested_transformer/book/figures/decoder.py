"""Pictures of the decoder: where it looks, one layer with its numbers, a row exchanged, what its outputs depend on."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import (
    above,
    arrow,
    below,
    blank,
    box,
    residual,
)
from tested_transformer.book.figures.running import COLOURS
from tested_transformer.shares import as_share


@pic.styled
def writes(
    read: Sequence[str],
    written: Sequence[str],
    looks: Mapping[str, ArrayLike],
    word: str,
) -> pic.Picture:
    """Where the last written token looks in one head of each attention, and the word that follows.

    `looks` has the weights on what was read, drawn from above, and then those on what was
    written, drawn from below. The wider a line, the larger the weight; the largest is written.
    """
    (across, over), (back, behind) = looks.items()
    figure, frame = blank(pic.PHONE, 2.1)
    frame.set(xlim=(-7, 41), ylim=(-1.0, 1.2))
    above, below = _middles(read), _middles(written)
    here, turn = below[-1], np.linspace(0, 1, 40)
    bend = (1 - np.cos(np.pi * turn)) / 2
    for x, weight in zip(above, over, strict=True):
        line = {"color": FROM_THERE, "linewidth": 6 * weight}
        way = x + (here - x) * bend, 0.84 - 0.68 * turn
        frame.plot(*way, solid_capstyle="butt", **line)
    for x, weight in zip(below[:-1], behind[:-1], strict=True):
        line = {"color": FROM_HERE, "linewidth": 6 * weight}
        way = x + (here - x) * bend, -0.17 - 0.4 * np.sin(np.pi * turn)
        frame.plot(*way, solid_capstyle="butt", **line)
    for height, middles, tokens, weights, colour in (
        (1.0, above, read, over, FROM_THERE),
        (0.0, below, written, behind, FROM_HERE),
    ):
        most = int(np.argmax(weights))
        for n, (x, token) in enumerate(zip(middles, tokens, strict=True)):
            ink = {"color": colour, "weight": "bold"} if n == most else {}
            if tokens is written and n == len(written) - 1:
                ink = {"weight": "bold"}
            frame.text(x, height, token.strip(), **MIDDLE, **ink)
    text = f"{across}: {as_share(np.max(over), 3)}"
    frame.text(-7, 0.5, text, color=FROM_THERE, ha="left", va="center_baseline")
    text = f"{back}: {as_share(np.max(behind), 3)}"
    frame.text(-7, -0.86, text, color=FROM_HERE, ha="left", va="center_baseline")
    for height, text in ((1.0, "original"), (0.0, "draft")):
        frame.text(-7, height, text, style="italic", ha="left", va="center_baseline")
    arrow(frame, (here + 2.4, 0), (here + 4.6, 0))
    frame.text(here + 6.2, 0, word, weight="bold", **MIDDLE)
    return figure


FROM_THERE, FROM_HERE = pic.SERIES[4:]
"""What comes from the other sentence, and what from the own one: no colours of queries, keys, values, outputs."""

MIDDLE = {"ha": "center", "va": "center_baseline", "size": 12}


def _middles(tokens: Sequence[str]) -> np.ndarray:
    """Where the tokens of a sentence stand in one line, in letters."""
    ends = np.cumsum([len(token) + 0.1 for token in tokens])
    return ends - np.array([len(token.strip()) for token in tokens]) / 2


@pic.styled
def layer(
    steps: Mapping[str, ArrayLike],
    target: Sequence[str],
    source: Sequence[str],
    row: int | None = None,
    word: str = "",
) -> pic.Picture:
    """One decoder layer from top to bottom, with its numbers.

    `steps` names them: y, self (weights), normed 1, memory, cross (weights), normed 2, hidden, out.
    A row of the target may be framed in all boxes; the word is what its output predicts.
    """
    figure, frame = blank(pic.PHONE, 11.75)
    boxes = {}
    for name, centre, top, title in (
        ("y", 3.55, 11.45, "$Y$"),
        ("self", 3.55, 9.85, "self-attention, weights"),
        ("normed 1", 3.55, 7.95, "add & norm: $Z_1$"),
        ("memory", 1.23, 6.2, "memory $M$"),
        ("cross", 3.55, 6.35, "cross-attention, weights"),
        ("normed 2", 3.55, 4.45, "add & norm: $Z_2$"),
        ("hidden", 3.55, 2.85, "feed-forward, hidden"),
        ("out", 3.55, 1.13, "add & norm: the output"),
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
        residual(frame, boxes[start], boxes[before], boxes[after], 4.95)
    middle = boxes["memory"].get_position()
    y = (middle.y0 + middle.y1) / 2 * figure.get_figheight()
    arrow(frame, (2.07, y), (2.3, y), pic.KEY)
    if row is not None:
        for name in boxes.keys() - {"memory"}:
            size = np.shape(steps[name])[1], 1
            look = {"fill": False, "edgecolor": pic.OUT, "linewidth": 2.5}
            edge = Rectangle((-0.5, row - 0.5), *size, clip_on=False, zorder=5, **look)
            boxes[name].add_patch(edge)
        at = boxes["out"].get_position()
        right, top = at.x1 * pic.PHONE, at.y1 * figure.get_figheight()
        y = top - (row + 0.5) * (at.height * figure.get_figheight()) / len(target)
        arrow(frame, (right + 0.05, y), (right + 0.25, y), pic.OUT)
        ink = {"color": pic.OUT, "weight": "bold", "va": "center_baseline"}
        frame.text(right + 0.29, y, word, **ink)
    return figure


@pic.styled
def exchanged(
    english: Mapping[str, Sequence[str]],
    word: int,
    german: str,
    pronouns: Mapping[str, str],
) -> pic.Picture:
    """The row of one word in the memory replaced by that of another sentence, and the pronoun that follows.

    english has the tokens of both sentences under their things, the one that is translated
    first; pronouns has the usual one and the one that follows, with their genders.
    """
    figure, frame = blank(pic.PHONE, 2.95)
    (usual, _), (other, gender) = pronouns.items()
    colour, heights, places = COLOURS[gender], (1.45, 0.35), []
    for (thing, tokens), y in zip(english.items(), heights, strict=True):
        texts = [token.strip() for token in tokens]
        widths = np.array(
            [TextPath((0, 0), t, size=11).get_extents().width / 72 for t in texts]
        )
        gap = (pic.PHONE - 0.1 - widths.sum()) / len(texts)
        centres = 0.05 + np.cumsum(widths + gap) - (widths + gap) / 2
        places.append((centres[word], y))
        frame.text(
            0.07, y + 0.36, f"memory, with the {thing}", va="center", style="italic"
        )
        for n, (x, text) in enumerate(zip(centres, texts, strict=True)):
            edge = colour if n == word else pic.FAINT
            face = colour if n == word else "white"
            bbox = {"boxstyle": "round,pad=0.22", "facecolor": face, "edgecolor": edge}
            ink = (
                {"color": "white", "weight": "bold"}
                if n == word
                else {"color": pic.INK}
            )
            frame.text(x, y, text, ha="center", va="center_baseline", bbox=bbox, **ink)
    (x, y), (start, low) = places
    arrow(frame, (start, low + 0.18), (x, y - 0.18), colour)
    arrow(frame, (x, y + 0.18), (x, 2.25), colour)
    middle = {"ha": "center", "va": "center_baseline"}
    frame.text(
        x + 0.1, 2.42, f"{usual} → {other}", color=colour, weight="bold", **middle
    )
    frame.text(x - 0.5, 2.42, german, ha="right", va="center_baseline")
    frame.text(0.07, 2.78, "draft, and the next word", va="center", style="italic")
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
