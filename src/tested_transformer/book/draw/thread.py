"""The sentence of the book: the thing that "it" reads, changed and switched off; and the way of one row."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from tested_transformer.book import thread
from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import blank
from tested_transformer.book.draw.interactive import Interactive
from tested_transformer.book.thread import FRAMES, THINGS, Answer

GENDERS = {"m": "der", "f": "die", "n": "das"}
COLOURS = {"m": pic.QUERY, "f": pic.KEY, "n": pic.VALUE}
LARGE, SMALL = 13, 10.5


def sentence(
    layer: int, head: int, answers: Sequence[Answer], first: Sequence[str]
) -> Interactive:
    """All sentences to choose from, with a head that can be switched off; before that, three of them."""
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
             a.without, np.round(a.weights, 3).tolist())
            for a in answers
        ],
    }  # fmt: skip
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
        english = _words(
            frame, answer.sentence.english, bottom + 0.76, {thing: colour, it: colour}
        )
        _arc(frame, english[it], english[thing], bottom + 0.98, weight, colour)
        words = [word.strip(",.") for word in answer.german.split()]
        noun = words.index(THINGS[answer.thing].german)
        pronoun = words.index(thread.pronoun(answer.german))
        german = _words(
            frame, answer.german, bottom + 0.33, {noun: colour, pronoun: colour}
        )
        look = {"ha": "center", "color": colour, "size": SMALL}
        frame.text(german[noun], bottom + 0.11, GENDERS[gender], **look)
    return figure


def _words(frame: Axes, text: str, y: float, marked: Mapping[int, str]) -> list[float]:
    """Words in a line, some bold and in a colour; the middle of each, in inches."""
    x, middles = 0.1, []
    for n, word in enumerate(text.split()):
        weight = "bold" if n in marked else "normal"
        bare = word.rstrip(",.") if n in marked else word
        width, rest = _width(bare, weight), _width(word, weight) - _width(bare, weight)
        look = {"weight": weight, "color": marked.get(n, pic.INK), "size": LARGE}
        frame.text(x + width / 2, y, bare, ha="center", **look)
        if bare != word:
            frame.text(
                x + width + rest / 2, y, word[len(bare) :], ha="center", size=LARGE
            )
        middles.append(x + width / 2)
        x += width + rest + 0.065
    return middles


def _width(word: str, weight: str) -> float:
    """The width of a word, in inches."""
    extents = TextPath((0, 0), word, size=LARGE, prop={"weight": weight}).get_extents()
    return extents.x1 / 72 + 0.012


def _arc(
    frame: Axes, start: float, end: float, y: float, weight: float, colour: str
) -> None:
    """An arc over the words with its weight on top."""
    top, middle = y + 0.32, (start + end) / 2
    path = Path([(start, y), (start, top), (end, top), (end, y)], [1, 4, 4, 4])
    look = {"edgecolor": colour, "linewidth": 5 * weight, "capstyle": "round"}
    frame.add_patch(PathPatch(path, fill=False, clip_on=False, **look))
    frame.text(middle, y + 0.3, f"{weight:.3f}", ha="center", color=colour, size=SMALL)
