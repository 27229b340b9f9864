"""English sentences and their German translations, from a grammar of our own.

Each English sentence has one German translation. "You" is always du, the present stays
present, the past becomes the perfect (but "was" is war, and "had" is hatte), and "it"
stands for the only thing or animal that was spoken of.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tested_transformer.data import _english, _german
from tested_transformer.data._clauses import Speaker
from tested_transformer.data._sentences import think
from tested_transformer.data._tags import ROLES, combinations, phenomena

ONE_IN = 8


class Sentence(NamedTuple):
    """A sentence in both languages, and what is to be learned from it.

    `phenomena` names points of German grammar, `combinations` pairs of words in their
    roles: ("adjective", "old", "dog").
    """

    english: str
    german: str
    phenomena: frozenset[str]
    combinations: frozenset[tuple[str, str, str]]


def sentences(n: int, seed: int = 0) -> list[Sentence]:
    """N different sentences. The same seed gives the same ones, on every machine."""
    if n < 0:
        raise ValueError(f"n ({n}) must be at least 0")
    return list(islice(_all(seed), n))


def held_out(combination: tuple[str, str, str], seed: int = 0) -> bool:
    """Is this pair of words kept from training? One in eight is.

    The pairs are spread like diagonals over a table, so that each word keeps partners.
    """
    role, *words = combination
    places = [names.index(w) for names, w in zip(ROLES[role], words, strict=True)]
    return (sum(places) + seed) % ONE_IN == 0


def split(
    n_train: int = 20_000, n_test: int = 1_000, seed: int = 0
) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Sentences to train on, to validate with and to test, the last two equally many.

    Every word of validation and test occurs in training. In validation only the
    sentence is new; each test sentence has a combination that is held out.
    """
    for name, n in (("n_train", n_train), ("n_test", n_test)):
        if n < 1:
            raise ValueError(f"{name} ({n}) must be at least 1")
    new = _all(seed)
    seen = (s for s in new if not _is_held_out(s, seed))
    train = list(islice(seen, n_train))
    words = {word for s in train for word in _words(s)}
    valid: list[Sentence] = []
    test: list[Sentence] = []
    while len(valid) < n_test or len(test) < n_test:
        sentence = next(new)
        if words.issuperset(_words(sentence)):
            (test if _is_held_out(sentence, seed) else valid).append(sentence)
    return train, valid[:n_test], test[:n_test]


def _is_held_out(sentence: Sentence, seed: int) -> bool:
    return any(held_out(combination, seed) for combination in sentence.combinations)


def _words(sentence: Sentence) -> list[str]:
    return re.findall(r"\w+", f"{sentence.english} {sentence.german}")


def _all(seed: int) -> Iterator[Sentence]:
    speaker, seen = Speaker(seed), set()
    while True:
        meaning = think(speaker)
        english = _english.sentence(meaning)
        if english not in seen:
            seen.add(english)
            tags = frozenset(phenomena(meaning)), frozenset(combinations(meaning))
            yield Sentence(english, _german.sentence(meaning), *tags)
