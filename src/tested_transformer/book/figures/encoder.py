"""Pictures of the encoder: where the noun is read, one layer, two hops, and rows that grow alike."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import flow, kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank
from tested_transformer.book.figures.kit import CENTRE, chart, spread, write
from tested_transformer.book.figures.running import COLOURS

GENDERS = {"er": "m", "ihn": "m", "sie": "f", "es": "n"}


@pic.styled
def traced(tokens: Sequence[str], found: Sequence[Sequence[str]], usual: str) -> pic.Picture:
    """The sentence before the first layer and after each, from top to bottom.

    found has for each stage the pronouns that follow if the vectors of the tokens are
    exchanged, one at a time. Those that change the usual one are filled, with what follows.
    """
    levels, step = len(found), 1.05
    figure, frame = blank(pic.PHONE, step * levels - 0.05)
    texts = [token.strip() for token in tokens]
    centres = 0.05 + spread(texts, pic.PHONE - 0.1)
    names = ["vectors in", *(f"after layer {n}" for n in range(1, levels))]
    before: list[pic.Pair] = []
    for n, (name, pronouns) in enumerate(zip(names, found, strict=True)):
        y, marked = step * (levels - n) - 0.55, []
        frame.text(0.07, y + 0.35, name, va="center", style="italic")
        for x, text, pronoun in zip(centres, texts, pronouns, strict=True):
            changed = pronoun != usual
            colour = COLOURS[GENDERS[pronoun]] if changed else pic.INK
            box = {"boxstyle": "round,pad=0.22", "facecolor": colour if changed else "white"}
            ink = {"color": "white", "weight": "bold"} if changed else {"color": pic.INK}
            write(frame, x, y, text, bbox=box | {"edgecolor": colour if changed else pic.FAINT}, **ink)
            if changed:
                marked.append((x, y))
                note = {"color": colour, "weight": "bold", "ha": "right", "va": "center"}
                frame.text(x - 0.12, y - 0.35, f"{usual} → {pronoun}", **note)
        for (x0, y0), (x1, y1) in zip(before, marked, strict=False):
            arrow(frame, (x0, y0 - 0.18), (x1, y1 + 0.18))
        before = marked
    return figure


@pic.styled
def layer(steps: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """One encoder layer from top to bottom, with its numbers.

    `steps` names them: x, head 1, head 2 (weights), attended, normed, hidden, fed, out.
    """
    figure, frame = blank(pic.PHONE, 9.45)
    places = (
        ("x", 2.5, 9.15, "$X$", words),
        ("head 1", 1.55, 7.85, "exchange: head 1", words),
        ("head 2", 3.62, 7.85, "exchange: head 2", ()),
        ("attended", 2.5, 6.55, "joined, times $W^O$", words),
        ("normed", 2.5, 4.95, "add & norm: $Z$", words),
        ("hidden", 2.5, 3.68, "work on it: hidden", words),
        ("fed", 2.5, 2.42, "and back to width 3", words),
        ("out", 2.5, 0.87, "add & norm: the output", words),
    )
    heads = "head 1", "head 2"
    links = [*(("x", head) for head in heads), *((head, "attended") for head in heads)]
    sums = ("x", "attended", "normed"), ("normed", "fed", "out")
    flow.layer(frame, steps, places, heads, [*links, ("normed", "hidden"), ("hidden", "fed")], sums, 4.85)
    return figure


@pic.styled
def hops(looks: ArrayLike, knows: Sequence[Sequence[str]]) -> pic.Picture:
    """What each word knows after each layer, from top to bottom; an arrow where one looks at another.

    looks (words, words) holds the attention weights; knows has a list of labels for each layer.
    """
    looks, levels, step = np.asarray(looks), len(knows), 1.1
    figure, frame = blank(pic.PHONE, step * levels - 0.45)
    names = ["vectors in", *(f"after layer {n}" for n in range(1, levels))]
    places = (1.45, 2.55, 4.22)
    heights = [step * (levels - n) - 0.8 for n in range(levels)]
    edge = {"boxstyle": "round,pad=0.35", "facecolor": "white"}
    for y, name, labels in zip(heights, names, knows, strict=True):
        frame.text(0.05, y, name, color=pic.INK, va="center", style="italic")
        for x, label in zip(places, labels, strict=True):
            frame.text(x, y, label, bbox=edge | {"edgecolor": pic.OUT if label == knows[-1][-1] else pic.INK}, **CENTRE)
    for y in heights[:-1]:
        for i, j in np.argwhere(looks > 0.5):
            arrow(frame, (places[j], y - 0.22), (places[i], y - step + 0.24), pic.VALUE)
    return figure


@pic.styled
def alike(curves: pic.Arrays) -> pic.Picture:
    """How alike the rows are after each layer (from 0, the input): a curve for each kind of layer."""
    figure, axes = chart(3.5)
    passed = range(len(next(iter(curves.values()))))
    kit.curves(axes, passed, curves, marks="os^d")
    axes.axhline(1, color=pic.FAINT, linewidth=1)
    axes.set(xlim=(0, passed[-1]), ylim=(-0.1, 1.05), xticks=passed)
    axes.set(xlabel="layers passed", ylabel="mean cosine of two rows")
    kit.at_ends(axes, 17)
    return figure
