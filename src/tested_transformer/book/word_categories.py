"""Words of six kinds in sentences of the phrasebook, and what a table of word vectors has found out about them."""

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.phrasebook.corpus import sentences
from tested_transformer.phrasebook.words import VERBS
from tested_transformer.text.vectors import nearest, train_skip_gram

KINDS = {
    "people": """man woman student doctor teacher child boy girl mother father brother
        sister friend neighbour""",
    "animals": "dog cat horse bird bear",
    "food and drink": "apple cake egg soup water milk tea coffee",
    "things": """coat shirt jacket shoe picture lamp chair suitcase car bicycle book
        newspaper letter poem""",
    "places": "room kitchen office garden forest city hotel",
    "verbs": """sleep sing work dance play swim shop read write buy sell eat drink cook
        visit open close repair call help follow give show bring wait talk""",
}
"""Lists of our own: no training sees them."""

LISTED = [word for names in KINDS.values() for word in names.split()]
KIND = np.repeat(
    np.arange(len(KINDS)), [len(names.split()) for names in KINDS.values()]
)
"""The number of the kind of each listed word."""

MANY = "dog cat horse bird bear student doctor teacher boy girl apple egg book letter"
DOING = "sing work play read buy sell eat drink cook visit open call help follow"
MEN, WOMEN = "man father brother boy he", "woman mother sister girl she"
PAIRS = {
    "dog : dogs": [(word, word + "s") for word in MANY.split()],
    "sing : singing": [(word, word + "ing") for word in DOING.split()],
    "man : woman": list(zip(MEN.split(), WOMEN.split(), strict=True)),
}
"""Pairs between which there should be one arrow."""

SIX = [
    "the dog sees the cat",
    "the cat sees the dog",
    "the dog drinks the water",
    "the cat drinks the milk",
    "the woman drinks the tea",
    "a lady sips coffee",
]
"""Sentences that are short enough to count in by hand."""


def verb_forms() -> set[str]:
    """The verbs of the phrasebook in all their English forms, and some that no sentence has."""
    forms = set()
    for verb in VERBS:
        base, *irregular = verb.english
        forms |= {base, *irregular, f"{base}s", f"{base}es", f"{base}d", f"{base}ed"}
        forms |= {f"{base}ing", f"{base[:-1]}ing", f"{base}{base[-1]}ing"}
        forms |= {f"{base}{base[-1]}ed", f"{base[:-1]}ies", f"{base[:-1]}ied"}
    return forms


def english(n: int) -> list[list[str]]:
    """The words of n English sentences of the phrasebook, in lower case."""
    return [re.findall(r"\w+", pair.english.lower()) for pair in sentences(n)]


def numbered(
    texts: Sequence[Sequence[str]],
) -> tuple[list[str], dict[str, int], list[Int[np.ndarray, " _"]]]:
    """All words of the texts in the order of the alphabet, the number of each, and the texts in numbers."""
    words = sorted({word for text in texts for word in text})
    ids = {word: i for i, word in enumerate(words)}
    return words, ids, [np.array([ids[word] for word in text]) for text in texts]


def in_order(
    texts: Sequence[str],
) -> tuple[list[list[str]], list[str], list[Int[np.ndarray, " _"]]]:
    """The texts cut into words, all words in the order in which they come, and the texts in numbers."""
    cut = [text.split() for text in texts]
    known = list(dict.fromkeys(word for text in cut for word in text))
    return cut, known, [np.array([known.index(word) for word in text]) for text in cut]


def company_of(
    words: Sequence[str], word: str, rows: Float[np.ndarray, "V D"], n: int = 4
) -> str:
    """The n words whose rows are nearest to that of a word, in one line."""
    return " ".join(words[i] for i in nearest(rows, words.index(word), n))


def own_kind(rows: Float[np.ndarray, "V D"], n: int = 5) -> float:
    """The share of the n nearest listed words that are of a word's own kind.

    rows are the vectors of the listed words.
    """
    found = [KIND[nearest(rows, i, n)] == KIND[i] for i in range(len(LISTED))]
    return float(np.mean(found))


def drawn_kind(points: Float[np.ndarray, "V 2"], n: int = 5) -> Float[np.ndarray, " V"]:
    """For each listed word, the share of the n points nearest to its own that are of its kind."""
    gap = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(gap, np.inf)
    return np.mean(KIND[gap.argsort(axis=1)[:, :n]] == KIND[:, None], axis=1)


def widest(rows: Float[np.ndarray, "V D"]) -> tuple[Float[np.ndarray, "V 2"], float]:
    """The listed words in the two widest directions of their unit vectors.

    They are turned until verbs are on the right and rooms at the top. The second
    result is the share of the squares that the two directions hold.
    """
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    left, stretch, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    points, squares = left[:, :2] * stretch[:2], stretch**2
    to_the_right, up = LISTED.index("sleep"), LISTED.index("kitchen")
    turn = np.sign([points[to_the_right, 0], points[up, 1]])
    return points * turn, float(squares[:2].sum() / squares.sum())


def analogies(
    table: Float[np.ndarray, "V D"],
    ids: dict[str, int],
    pairs: Sequence[tuple[str, str]],
    arrow: float = 1,
) -> float:
    """How often the arrow from a to b, added to c, ends nearest to d.

    It is tried with all pairs (a, b) and all other pairs (c, d). The three words that
    go in are no answers.
    """
    unit, hits = table / np.linalg.norm(table, axis=1, keepdims=True), []
    for a, b in pairs:
        for c, d in pairs:
            if (a, b) != (c, d):
                aim = unit[ids[c]] + arrow * (unit[ids[b]] - unit[ids[a]])
                near = unit @ aim
                near[[ids[a], ids[b], ids[c]]] = -np.inf
                hits.append(near.argmax() == ids[d])
    return float(np.mean(hits))


def trained(
    texts: Sequence[Sequence[str]], seed: int = 0
) -> tuple[Float[np.ndarray, "V 16"], dict[str, int]]:
    """Sixteen numbers for each word, as the chapter learns them, and the row of each word."""
    words, ids, coded = numbered(texts)
    return train_skip_gram(coded, len(words), d_model=16, epochs=4, seed=seed)[0], ids


def things_near_food(
    texts: Sequence[Sequence[str]], own: set[str], seed: int = 0
) -> int:
    """Things among the five nearest of all food, after a training in which food has words of its own.

    In texts with a food, the words in `own` get another name.
    """
    food = {*KINDS["food and drink"].split()}
    marked = [
        [word + "_" * (word in own and not food.isdisjoint(text)) for word in text]
        for text in texts
    ]
    table, ids = trained(marked, seed)
    rows = table[[ids[word] for word in LISTED]]
    found = [KIND[nearest(rows, i)] for i, word in enumerate(LISTED) if word in food]
    return int(np.sum(np.array(found) == list(KINDS).index("things")))


def moved(texts: Sequence[Sequence[str]], movers: Sequence[str]) -> list[list[str]]:
    """The texts with a new name for each word that shares a text with one of the movers.

    The movers keep their names.
    """
    return [
        [
            word + "_" * (word not in movers and not {*movers}.isdisjoint(text))
            for word in text
        ]
        for text in texts
    ]


def with_die(texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """The texts with "die" in the place of "the" before each of the women."""
    women = {*WOMEN.split()}
    return [
        [
            "die" if word == "the" and after in women else word
            for word, after in zip(text, [*text[1:], ""], strict=True)
        ]
        for text in texts
    ]


def turned(
    table: Float[np.ndarray, "V D"], onto: Float[np.ndarray, "V D"], rows: Sequence[int]
) -> Float[np.ndarray, "V D"]:
    """The table, turned so that its other rows come as near as possible to those of another; `rows` have no say."""
    rest = np.setdiff1d(np.arange(len(table)), rows)
    left, _, right = np.linalg.svd(table[rest].T @ onto[rest])
    return table @ left @ right
