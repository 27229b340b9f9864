"""English sentences and their German translations, from a grammar of our own.

Each English sentence has one German translation. "You" is always du, the present stays
present, the past becomes the perfect (but "was" is war, and "had" is hatte), and "it"
stands for the only thing or animal that was spoken of. Music and AI have no article,
and count as known: "Ich brauche KI nicht". (With an adjective, people say "keine".)
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tested_transformer.checks import at_least
from tested_transformer.phrasebook import english, german
from tested_transformer.phrasebook.clauses import Speaker
from tested_transformer.phrasebook.sentences import think
from tested_transformer.phrasebook.tags import ROLES, combinations, phenomena
from tested_transformer.phrasebook.words import Meaning

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


def say(meaning: Meaning) -> Sentence:
    """What a sentence means, said in both languages."""
    return _with_german(english.sentence(meaning), meaning)


def sentences(n: int, seed: int = 0) -> list[Sentence]:
    """N different sentences. The same seed gives the same ones, on every machine."""
    at_least(0, n=n)
    return list(islice(_all(seed), n))


def held_out(combination: tuple[str, str, str], seed: int = 0) -> bool:
    """Is this pair of words kept from training? One in eight is.

    The pairs are spread like diagonals over a table, so that each word keeps partners.
    """
    role, *words = combination
    tables = ROLES.get(role, ([], []))
    if not all(word in table for word, table in zip(words, tables, strict=True)):
        raise ValueError(f"{combination!r} is no combination of the phrasebook")
    places = [table.index(word) for word, table in zip(words, tables, strict=True)]
    return (sum(places) + seed) % ONE_IN == 0


def split(
    n_train: int = 20_000, n_test: int = 1_000, seed: int = 0
) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Sentences to train on, to validate with and to test, the last two equally many.

    Each test sentence has a pair of words that is held out; in validation only the
    sentence is new. But every word is trained, and in every role that it has there.
    """
    at_least(1, n_train=n_train, n_test=n_test)
    new = _all(seed)
    train = list(islice((s for s in new if not _is_held_out(s, seed)), n_train))
    trained = {word for sentence in train for word in _words(sentence)}
    valid: list[Sentence] = []
    test: list[Sentence] = []
    for sentence in islice(new, 1000 + 100 * n_test):
        if trained.issuperset(_words(sentence)):
            (test if _is_held_out(sentence, seed) else valid).append(sentence)
        if len(valid) >= n_test and len(test) >= n_test:
            return train, valid[:n_test], test[:n_test]
    rule = f"have too few words for {n_test} to test with"
    raise ValueError(f"n_train ({n_train}) sentences {rule}")


def _with_german(said: str, meaning: Meaning) -> Sentence:
    tags = frozenset(phenomena(meaning)), frozenset(combinations(meaning))
    return Sentence(said, german.sentence(meaning), *tags)


def _is_held_out(sentence: Sentence, seed: int) -> bool:
    return any(held_out(combination, seed) for combination in sentence.combinations)


def _words(sentence: Sentence) -> list[str | tuple[str, int, str]]:
    """The words as they are written, and those of combinations with their roles."""
    found: list[str | tuple[str, int, str]] = []
    found += re.findall(r"\w+", f"{sentence.english} {sentence.german}")
    for role, first, second in sentence.combinations:
        found += (role, 0, first), (role, 1, second)
    return found


def _all(seed: int) -> Iterator[Sentence]:
    speaker, seen = Speaker(seed), set()
    while True:
        meaning = think(speaker)
        said = english.sentence(meaning)
        if said not in seen:
            seen.add(said)
            yield _with_german(said, meaning)
