"""Pictures of the decoder: where it looks, one layer with its numbers, a row exchanged, what its outputs depend on."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import flow
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, outline
from tested_transformer.book.figures.kit import arc, middles, spread, write
from tested_transformer.book.figures.running import COLOURS
from tested_transformer.shares import as_share


@pic.styled
def writes(read: Sequence[str], written: Sequence[str], looks: pic.Arrays, word: str) -> pic.Picture:
    """Where the last written token looks in one head of each attention, and the word that follows.

    `looks` has the weights on what was read, drawn from above, and then those on what was
    written, drawn from below. The wider a line, the larger the weight; the largest is written.
    """
    (across, over), (back, behind) = looks.items()
    figure, frame = blank(pic.PHONE, 2.1)
    frame.set(xlim=(-7, 41), ylim=(-1.0, 1.2))
    above, below = middles(read, 0.1), middles(written, 0.1)
    here, turn = below[-1], np.linspace(0, 1, 40)
    bend = (1 - np.cos(np.pi * turn)) / 2
    for x, weight in zip(above, over, strict=True):
        way = x + (here - x) * bend, 0.84 - 0.68 * turn
        frame.plot(*way, solid_capstyle="butt", color=FROM_THERE, linewidth=6 * weight)
    for x, weight in zip(below[:-1], behind[:-1], strict=True):
        arc(frame, x, here, -0.17, -0.4, solid_capstyle="butt", color=FROM_HERE, linewidth=6 * weight)
    lines = (1.0, above, read, over, FROM_THERE), (0.0, below, written, behind, FROM_HERE)
    for height, places, tokens, weights, colour in lines:
        most = int(np.argmax(weights))
        for n, (x, token) in enumerate(zip(places, tokens, strict=True)):
            ink = {"color": colour, "weight": "bold"} if n == most else {}
            if tokens is written and n == len(written) - 1:
                ink = {"weight": "bold"}
            write(frame, x, height, token.strip(), size=12, **ink)
    write(frame, -7, 0.5, f"{across}: {as_share(np.max(over), 3)}", color=FROM_THERE, ha="left")
    write(frame, -7, -0.86, f"{back}: {as_share(np.max(behind), 3)}", color=FROM_HERE, ha="left")
    write(frame, -7, 1.0, "original", style="italic", ha="left")
    write(frame, -7, 0.0, "draft", style="italic", ha="left")
    arrow(frame, (here + 2.4, 0), (here + 4.6, 0))
    write(frame, here + 6.2, 0, word, weight="bold", size=12)
    return figure


FROM_THERE, FROM_HERE = pic.SERIES[4:]
"""What comes from the other sentence, and what from the own one: no colours of queries, keys, values, outputs."""


@pic.styled
def layer(
    steps: pic.Arrays, target: Sequence[str], source: Sequence[str], row: int | None = None, word: str = ""
) -> pic.Picture:
    """One decoder layer from top to bottom, with its numbers.

    `steps` names them: y, self (weights), normed 1, memory, cross (weights), normed 2, hidden, out.
    A row of the target may be framed in all boxes; the word is what its output predicts.
    """
    figure, frame = blank(pic.PHONE, 11.75)
    places = (
        ("y", 3.55, 11.45, "$Y$", target),
        ("self", 3.55, 9.85, "self-attention, weights", target),
        ("normed 1", 3.55, 7.95, "add & norm: $Z_1$", target),
        ("memory", 1.23, 6.2, "memory $M$", source),
        ("cross", 3.55, 6.35, "cross-attention, weights", target),
        ("normed 2", 3.55, 4.45, "add & norm: $Z_2$", target),
        ("hidden", 3.55, 2.85, "feed-forward, hidden", target),
        ("out", 3.55, 1.13, "add & norm: the output", target),
    )
    links = ("y", "self"), ("normed 1", "cross"), ("normed 2", "hidden")
    sums = [(*link, after) for link, after in zip(links, ("normed 1", "normed 2", "out"), strict=True)]
    boxes = flow.layer(frame, steps, places, ("self", "cross"), links, sums, 4.95)
    middle = boxes["memory"].get_position()
    y = (middle.y0 + middle.y1) / 2 * figure.get_figheight()
    arrow(frame, (2.07, y), (2.3, y), pic.KEY)
    if row is not None:
        for name in boxes.keys() - {"memory"}:
            place = -0.5, row - 0.5, np.shape(steps[name])[1], 1
            outline(boxes[name], place, pic.OUT, 2.5, clip_on=False, zorder=5)
        at = boxes["out"].get_position()
        right, top = at.x1 * pic.PHONE, at.y1 * figure.get_figheight()
        y = top - (row + 0.5) * (at.height * figure.get_figheight()) / len(target)
        arrow(frame, (right + 0.05, y), (right + 0.25, y), pic.OUT)
        frame.text(right + 0.29, y, word, color=pic.OUT, weight="bold", va="center_baseline")
    return figure


@pic.styled
def exchanged(english: Mapping[str, Sequence[str]], word: int, german: str, pronouns: Mapping[str, str]) -> pic.Picture:
    """The row of one word in the memory replaced by that of another sentence, and the pronoun that follows.

    english has the tokens of both sentences under their things, the one that is translated
    first; pronouns has the usual one and the one that follows, with their genders.
    """
    figure, frame = blank(pic.PHONE, 2.95)
    (usual, _), (other, gender) = pronouns.items()
    colour, heights, places = COLOURS[gender], (1.45, 0.35), []
    for (thing, tokens), y in zip(english.items(), heights, strict=True):
        texts = [token.strip() for token in tokens]
        centres = 0.05 + spread(texts, pic.PHONE - 0.1)
        places.append((centres[word], y))
        frame.text(0.07, y + 0.36, f"memory, with the {thing}", va="center", style="italic")
        for n, (x, text) in enumerate(zip(centres, texts, strict=True)):
            edge = colour if n == word else pic.FAINT
            face = colour if n == word else "white"
            ink = {"color": "white", "weight": "bold"} if n == word else {"color": pic.INK}
            write(frame, x, y, text, bbox={"boxstyle": "round,pad=0.22", "facecolor": face, "edgecolor": edge}, **ink)
    (x, y), (start, low) = places
    arrow(frame, (start, low + 0.18), (x, y - 0.18), colour)
    arrow(frame, (x, y + 0.18), (x, 2.25), colour)
    write(frame, x + 0.1, 2.42, f"{usual} → {other}", color=colour, weight="bold")
    frame.text(x - 0.5, 2.42, german, ha="right", va="center_baseline")
    frame.text(0.07, 2.78, "draft, and the next word", va="center", style="italic")
    return figure


@pic.styled
def reach(words: ArrayLike, memory: ArrayLike, target: Sequence[str], source: Sequence[str]) -> pic.Picture:
    """How far each output row moves with each row that goes in: of the target (T, T), of the memory (T, S)."""
    figure, panels = pic.picture(4.4, 5.0, rows=2)
    top = 0.3 * max(np.max(words), np.max(memory))  # what is larger has the last colour
    for axes, x, names, title in (
        (panels[0, 0], words, target, "words so far"),
        (panels[1, 0], memory, source, "memory"),
    ):
        pic.tiles(axes, x, pic.WEIGHTS, (0, top), decimals=2)
        axes.set(aspect="auto", xticks=range(len(names)), xticklabels=names)
        axes.set_yticks(range(len(target)), target)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(title, color=pic.KEY)
        axes.set_ylabel("output row")
    return figure
