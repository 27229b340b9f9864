"""The sentence of the book: the thing that "it" reads, changed and switched off; and the way of one row."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from tested_transformer.book import colours, coreference
from tested_transformer.book.coreference import FRAMES, THINGS
from tested_transformer.book.experiments import Answer
from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, joint, part, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.shares import as_share

GENDERS = {"m": "der", "f": "die", "n": "das"}
COLOURS = {gender: colours.GENDERS[article].light for gender, article in GENDERS.items()}
LARGE, SMALL = 13, 11


def sentence(
    layer: int, head: int, answers: Sequence[Answer], first: Sequence[str], opens: Mapping[str, Any] | None = None
) -> Interactive:
    """All sentences to choose from, with a head that can be switched off; before that, three of them.

    `opens`, the `sizes` of figures.cut, lets a reader open the whole model in its place.
    """
    shown = [next(a for a in answers if a.thing == thing) for thing in first]
    name = f"without head {head + 1} of layer {layer + 1}"
    columns = "English", "German", name
    rows = [(a.sentence.english, a.german, a.without) for a in shown]
    data = {
        "layer": layer,
        "head": head,
        "first": first[0],
        "frames": [frame.say("chair").english.replace("the chair", "…") for frame in FRAMES],
        "things": {t: (n.german, n.gender) for t, n in THINGS.items()},
        "genders": GENDERS,
        "answers": [
            (a.frame, a.thing, a.sentence.english, a.sentence.german, a.german,
             a.without, [float(as_share(weight, 3)) for weight in a.weights])
            for a in answers
        ],
    }  # fmt: skip
    data |= {"opens": opens} if opens else {}
    words = {"What the model writes": (columns, rows)}
    return Interactive("sentence", data, {}, three(shown), words=words, pictured=True)


def _places(answer: Answer) -> tuple[int, int, float]:
    """Where the thing stands among the English words, and "it"; and the weight between them."""
    words = answer.sentence.english.rstrip(".").split()
    thing = words.index(answer.thing)
    return thing, words.index("it"), answer.weights[thing]


@pic.styled
def three(answers: Sequence[Answer]) -> pic.Picture:
    """Sentences below each other: an arc from "it" to the noun, as wide as its weight, and the German.

    The article of the German noun is written below it. Noun, arc and pronoun have its colour.
    """
    height = 1.5
    figure, frame = blank(4.2, height * len(answers))
    for n, answer in enumerate(answers, start=1):
        bottom = height * (len(answers) - n)
        gender = THINGS[answer.thing].gender
        colour = COLOURS[gender]
        thing, it, weight = _places(answer)
        english = _words(frame, answer.sentence.english, bottom + 0.76, {thing: colour, it: colour})
        _arc(frame, english[it], english[thing], bottom + 0.98, weight, colour)
        words = [word.strip(",.") for word in answer.german.split()]
        noun = words.index(THINGS[answer.thing].german)
        pronoun = words.index(coreference.pronoun(answer.german))
        german = _words(frame, answer.german, bottom + 0.33, {noun: colour, pronoun: colour})
        frame.text(german[noun], bottom + 0.11, GENDERS[gender], ha="center", color=colour, size=SMALL)
    return figure


def _words(frame: Axes, text: str, y: float, marked: Mapping[int, str]) -> list[float]:
    """Words in a line, some bold and in a colour; the middle of each, in inches."""
    x, middles = 0.1, []
    for n, word in enumerate(text.split()):
        weight = "bold" if n in marked else "normal"
        bare = word.rstrip(",.") if n in marked else word
        width, rest = _width(bare, weight), _width(word, weight) - _width(bare, weight)
        colour = marked.get(n, pic.INK)
        frame.text(x + width / 2, y, bare, ha="center", weight=weight, color=colour, size=LARGE)
        if bare != word:
            frame.text(x + width + rest / 2, y, word[len(bare) :], ha="center", size=LARGE)
        middles.append(x + width / 2)
        x += width + rest + 0.065
    return middles


def _width(word: str, weight: str) -> float:
    """The width of a word, in inches."""
    return kit.width(word, LARGE, weight) + 0.012


def _arc(frame: Axes, start: float, end: float, y: float, weight: float, colour: str) -> None:
    """An arc over the words with its weight on top."""
    top, middle = y + 0.32, (start + end) / 2
    path = Path([(start, y), (start, top), (end, top), (end, y)], [1, 4, 4, 4])
    look = {"edgecolor": colour, "linewidth": 5 * weight, "capstyle": "round"}
    frame.add_patch(PathPatch(path, fill=False, clip_on=False, **look))
    frame.text(middle, y + 0.3, as_share(weight, 3), ha="center", color=colour, size=SMALL)


RIVER, GROUND = 0.55, "#eef2f6"
"""Points of width for each unit of length; behind a layer."""
WORK = ("4", "attention", "words\nexchange"), ("6", "feed-forward", "each word\nalone")


@pic.styled
def stream(
    tokens: Sequence[str],
    vectors: ArrayLike,
    row: int,
    lengths: tuple[Sequence[float], Sequence[float]],
    weights: tuple[ArrayLike, ArrayLike],
    german: tuple[str, str],
) -> pic.Picture:
    """One row on its way through the encoder, as a river: each box reads it and adds to it.

    lengths are those of the row and of what is added to it: so wide are river and arrows.
    weights are what the row takes from each token in each layer (L, T), and what the
    decoder then takes from each row (T); german is what was written, and the next word.
    """
    figure, frame = blank(4.2, 8.85)
    (rows, added), (taken, asked) = lengths, weights
    xs = _tokens(frame, tokens, row)
    for y, number, words in (
        (8.6, "1", "tokens"),
        (7.9, "2", "each becomes a vector"),
        (6.97, "3", "its position is added"),
    ):
        _numbered(frame, (0.18, y), number, words)
    levels = (7.33, 6.67, 5.53, 4.4, 2.96, 1.83, 1.16)  # where the length of the row changes
    for (top, bottom), length in zip(pairwise(levels), rows, strict=True):
        look = {"color": pic.FORWARD, "linewidth": RIVER * length, "zorder": 2}
        frame.plot([xs[row]] * 2, [top, bottom], solid_capstyle="butt", **look)
    _vectors(frame, xs, np.asarray(vectors))
    for place, x in enumerate(xs):
        ink = pic.FORWARD if place == row else pic.INK
        _over(frame, (x, 6.67), str(place), color=ink, ha="center")
    for layer, of_layer in enumerate(taken):
        first, second = levels[2 + 2 * layer : 4 + 2 * layer]
        _layer(frame, layer, first)
        _attention(frame, xs, row, first, of_layer)
        at = (xs[np.argmax(of_layer)] + 0.15, first + 0.62)
        _over(frame, at, "one head" if layer else "four heads", ground=GROUND)
        for box, plus in enumerate((first, second)):
            step = 1 + 2 * layer + box
            _box(frame, xs[row], plus, added[step], box)
        arrow(frame, (xs[row], second + 0.5), (xs[row] - 0.6, second + 0.2), pic.FEED_FORWARD, 9)
    _numbered(frame, (0.18, levels[2] - 0.44), "5", "added, not replaced", GROUND)
    _numbered(frame, (0.18, levels[4] + 0.96), "7", "the same again")
    _decoder(frame, xs, asked, german)
    return figure


def _tokens(frame: Axes, tokens: Sequence[str], row: int) -> list[float]:
    """Tokens with a line down from each; the middle of each, in inches."""
    widths = [_width(token.strip(), "normal") for token in tokens]
    gap, x, xs = (3.75 - sum(widths)) / (len(tokens) - 1), 0.22, []
    for place, (token, width) in enumerate(zip(tokens, widths, strict=True)):
        mine = place == row
        look = {"color": pic.FORWARD, "weight": "bold"} if mine else {"color": pic.INK}
        x_of = x + width / 2
        frame.text(x_of, 8.23, token.strip(), ha="center", size=LARGE - 1, **look)
        if not mine:
            frame.plot([x_of] * 2, [7.33, 1.16], color=pic.FAINT, linewidth=1, zorder=1)
        xs.append(x_of)
        x += width + gap
    return xs


def _numbered(frame: Axes, place: tuple[float, float], number: str, words: str, ground: str = "white") -> None:
    """A number in a disc and what it stands for."""
    x, y = place
    frame.add_patch(Circle((x, y), 0.115, color=pic.INK, zorder=6))
    kit.write(frame, x, y, number, color="white", size=SMALL, weight="bold", zorder=7)
    _over(frame, (x + 0.18, y), words, size=LARGE - 1, weight="bold", ground=ground)


def _over(frame: Axes, place: tuple[float, float], text: str, **look: object) -> None:
    """Words that hide what is behind them."""
    ground = {"facecolor": look.pop("ground", "white"), "edgecolor": "none", "pad": 1}
    look = {"va": "center_baseline", "size": SMALL, "zorder": 6, "bbox": ground} | look
    frame.text(*place, text, **look)


def _vectors(frame: Axes, xs: Sequence[float], vectors: np.ndarray) -> None:
    """The first numbers of each vector as tiles; strong colours are large numbers."""
    most = np.abs(vectors).max()
    for x, vector in zip(xs, vectors, strict=True):
        for n, number in enumerate(vector):
            face = pic.SIGNED(0.5 + number / (2 * most))
            tile(frame, (x - 0.08, 7.63 - 0.1 * n, 0.16, 0.1), face, linewidth=0.6, zorder=3)


def _layer(frame: Axes, layer: int, y: float) -> None:
    """The ground of a layer, with its name."""
    shape = FancyBboxPatch((0.06, y - 1.37), 4.08, 2.15, "round,pad=0,rounding_size=0.1")
    shape.set(facecolor=GROUND, edgecolor="none", zorder=0)
    frame.add_patch(shape)
    _over(frame, (4.1, y + 0.92), f"layer {layer + 1}", ha="right")


def _attention(frame: Axes, xs: Sequence[float], row: int, y: float, weights: ArrayLike) -> None:
    """From the line of each token into the box above the plus, as wide as its weight."""
    for place, (x, weight) in enumerate(zip(xs, weights, strict=True)):
        start, end = (x, y + 0.72), (xs[row] - 1.85 + 0.16 * place, y + 0.2)
        if place == row:
            start = x, y + 0.5
        path = Path([start, (x, y + 0.4), (end[0], y + 0.62), end], [1, 4, 4, 4])
        look = {"arrowstyle": "-|>,head_width=0.12,head_length=0.16", "mutation_scale": 14, "shrinkB": 0}
        look |= {"color": pic.ATTENTION, "linewidth": 0.6 + 9 * weight, "zorder": 3}
        frame.add_patch(FancyArrowPatch(path=path, **look))


def _box(frame: Axes, x: float, y: float, added: float, box: int) -> None:
    """A box beside the river: it reads from above, and adds at the plus."""
    number, name, words = WORK[box]
    part(frame, (x - 1.95, y - 0.18, 1.6, 0.36), name)
    _numbered(frame, (x - 1.77, y), number, name, "none")
    _over(frame, (0.12, y), words, va="center", ground=GROUND)
    look = {"color": (pic.ATTENTION, pic.FEED_FORWARD)[box], "linewidth": max(0.8, RIVER * added), "zorder": 3}
    frame.plot([x - 0.35, x], [y, y], solid_capstyle="butt", **look)
    joint(frame, (x, y))
    part(frame, (x - 0.27, y - 0.39, 0.54, 0.22), "norm", "norm")  # where the sum is centred and rescaled


def _decoder(frame: Axes, xs: Sequence[float], weights: ArrayLike, german: tuple[str, str]) -> None:
    """The decoder asks all rows, and writes the next word."""
    for x, weight in zip(xs, weights, strict=True):
        frame.plot([x, x], [1.16, 0.95], color=pic.ATTENTION, linewidth=0.5 + 9 * weight, zorder=3)
    part(frame, (0.1, 0.5, 4.0, 0.45), "decoder")
    _numbered(frame, (0.3, 0.72), "8", "decoder asks, writes the next word")
    begun, word = german
    frame.text(0.12, 0.15, begun, size=LARGE - 1)
    at = 0.24 + _width(begun, "normal") * (LARGE - 1) / LARGE
    frame.text(at, 0.15, word, size=LARGE - 1, weight="bold", color=pic.FORWARD)
    arrow(frame, (at + 0.08, 0.5), (at + 0.08, 0.3), pic.FORWARD)


TILE = 0.24, 0.11
"""Width and height of a number of a row, in inches."""


@pic.styled
def rows(
    sentences: Sequence[tuple[Sequence[str], Sequence[int], ArrayLike]], same: int, other: int, colours: Sequence[str]
) -> pic.Picture:
    """Sentences below each other: tokens, their ids, and below each the first numbers of its row.

    The token at `same` has one frame through all sentences, the one at `other` a frame
    in the colour of each sentence.
    """
    words = [[token.strip() for token in tokens] for tokens, _, _ in sentences]
    numbers = np.shape(sentences[0][2])[1]
    most = max(np.abs(vectors).max() for _, _, vectors in sentences)
    height = TILE[1] * numbers + 0.7  # of a sentence
    figure, frame = blank(4.2, height * len(sentences))
    xs, widths = _columns(words, [ids for _, ids, _ in sentences])
    for n, (_, ids, vectors) in enumerate(sentences):
        top = height * (len(sentences) - n) - 0.27
        for place, x in enumerate(xs):
            colour = colours[n] if place == other else pic.INK
            weight = "bold" if place in (same, other) else "normal"
            look = {"ha": "center", "color": colour}
            frame.text(x, top, words[n][place], size=LARGE - 1, weight=weight, **look)
            frame.text(x, top - 0.2, str(ids[place]), size=SMALL, **look)
            for m, number in enumerate(vectors[place]):
                face = pic.SIGNED(0.5 + number / (2 * most))
                corner = x - TILE[0] / 2, top - 0.38 - TILE[1] * m
                tile(frame, (*corner, *TILE), face, linewidth=0.6)
        bottom = top - 0.38 - TILE[1] * (numbers - 1) - 0.06
        _framed(frame, xs[other], widths[other], (bottom, top + 0.19), colours[n])
    ends = bottom, height * len(sentences) - 0.03
    _framed(frame, xs[same], widths[same], ends, pic.INK)
    return figure


def _columns(words: Sequence[Sequence[str]], ids: Sequence[Sequence[int]]) -> tuple[list[float], list[float]]:
    """The middle and the width of each column, as wide as the widest thing in it."""
    widths = [
        max(TILE[0], *(_width(str(text), "bold") * (LARGE - 1) / LARGE for text in column))
        for column in zip(*words, *ids, strict=True)
    ]
    gap, x, xs = (4.08 - sum(widths)) / len(widths), 0.06, []
    for width in widths:
        xs.append(x + (gap + width) / 2)
        x += gap + width
    return xs, widths


def _framed(frame: Axes, x: float, width: float, ends: tuple[float, float], colour: str) -> None:
    """A frame around a column of this width, between two heights."""
    bottom, top = ends
    corner = x - width / 2 - 0.03, bottom
    shape = FancyBboxPatch(corner, width + 0.06, top - bottom, "round,pad=0,rounding_size=0.05")
    shape.set(fill=False, edgecolor=colour, linewidth=1.6, zorder=5)
    frame.add_patch(shape)
