"""A small GPT that learns to answer: four tasks on the phrasebook's sentences, a judge who knows the grammar, and what is measured."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tested_transformer.phrasebook import english, german
from tested_transformer.phrasebook.clauses import Speaker
from tested_transformer.phrasebook.corpus import held_out
from tested_transformer.phrasebook.sentences import plain, purpose, quality
from tested_transformer.phrasebook.tags import combinations
from tested_transformer.phrasebook.words import Clause, Meaning, Phrase
from tested_transformer.text.tokens import WORDS

PRONOUNS = ("er", "sie", "es", "ihn")
EXTRAS = ("time", "frequency", "manner", "in", "mit", "für")
LONGEST = 11  # words of an English sentence
ARROW = "→"
"""Where the question ends and the answer begins."""


class Example(NamedTuple):
    """A question in words, the answer that somebody wrote, and all answers that are right."""

    task: str
    question: list[str]
    answer: list[str]
    right: frozenset[str]


def words(text: str) -> list[str]:
    """The words of a text in lower case, each full stop and comma one of them."""
    return WORDS.findall(text.lower())


# The judge


def translations(meaning: Meaning) -> frozenset[str]:
    """All that the grammar accepts as German for it: the subject may come first, or the time, or the place."""
    found = {german.sentence(meaning)}
    if meaning[0][0] or meaning[0][1].question:
        return frozenset(found)
    (_, main), *others = meaning
    free = {"time", "in"} & (main.parts.keys() - main.verb.objects.keys())
    for front in ("subject", *free):
        found.add(german.sentence([("", main._replace(front=front)), *others]))
    return frozenset(found)


def has_it(meaning: Meaning) -> bool:
    """Does "it" stand for a noun in the last clause?"""
    return len(meaning) > 1 and any(map(_is_it, _phrases(meaning[-1][1])))


def carelessly(meaning: Meaning) -> str:
    """The German of somebody who writes *es* for every "it"."""

    def neuter(p: object) -> object:
        return p._replace(pronoun="n") if isinstance(p, Phrase) and _is_it(p) else p

    changed = [
        (
            word,
            c._replace(
                subject=neuter(c.subject),
                parts={k: neuter(p) for k, p in c.parts.items()},
            ),
        )
        for word, c in meaning
    ]
    return german.sentence(changed)


def _phrases(c: Clause) -> list[Phrase]:
    return [p for p in (c.subject, *c.parts.values()) if isinstance(p, Phrase)]


def _is_it(p: Phrase) -> bool:
    return p.noun is not None and p.pronoun in ("m", "f", "n")


# The tasks


def translate(meaning: Meaning) -> Example:
    """An English sentence; its German."""
    right = frozenset(" ".join(words(g)) for g in translations(meaning))
    told = words(english.sentence(meaning))
    return Example(
        "translate",
        ["translate", ":", *told, ARROW],
        words(german.sentence(meaning)),
        right,
    )


def past(meaning: Meaning) -> Example | None:
    """A sentence in the present; the same in the past."""
    if any(c.tense not in ("now", "habit") or "time" in c.parts for _, c in meaning):
        return None
    then = [(word, c._replace(tense="past")) for word, c in meaning]
    told, answer = (words(english.sentence(m)) for m in (meaning, then))
    return _english("past", ["past", "tense", ":", *told, ARROW], answer, told)


def shorter(meaning: Meaning) -> Example | None:
    """A sentence; who does what in it, without adjectives and all that can be left out."""
    (_, main), *_ = meaning
    parts = {
        slot: _bare(p)
        for slot, p in main.parts.items()
        if slot in main.verb.objects or slot not in EXTRAS
    }
    short = main._replace(subject=_bare(main.subject), parts=parts, front="subject")
    told, answer = (words(english.sentence(m)) for m in (meaning, [("", short)]))
    return _english("shorter", ["shorter", ":", *told, ARROW], answer, told)


def who(meaning: Meaning) -> Example | None:
    """A sentence, and a question about who does it; the subject of the sentence."""
    (_, main), *_ = meaning
    if main.front != "subject" or english.phrase(main.subject, 0) in ("I", "you", "we"):
        return None
    asked = main._replace(subject=Phrase(pronoun="who"), question=True)
    told = [*words(english.sentence(meaning)), *words(english.clause(asked)), "?"]
    answer = [*words(english.phrase(main.subject, 0)), "."]
    return _english("who", [*told, ARROW], answer, told)


def _bare(p: object) -> object:
    return p._replace(adjective=None) if isinstance(p, Phrase) else p


def _english(
    task: str, question: list[str], answer: list[str], told: list[str]
) -> Example | None:
    if answer == told:
        return None
    return Example(task, question, answer, frozenset([" ".join(answer)]))


TASKS: dict[str, Callable[[Meaning], Example | None]] = {
    "translate": translate,
    "past": past,
    "shorter": shorter,
    "who": who,
}


# The sentences


def meanings(seed: int, it: bool) -> Iterator[Meaning]:
    """Different statements of few words, all of them with "it" or none."""
    speaker, seen = Speaker(seed), set()
    while True:
        if it:
            conjunction = speaker.pick(["because", "although"])
            way = speaker.pick([quality, quality, purpose])
            meaning = way(speaker, conjunction)
        else:
            meaning = plain(speaker)
        if not meaning or has_it(meaning) != it:
            continue
        said = english.sentence(meaning)
        if said not in seen and len(words(said)) <= LONGEST:
            seen.add(said)
            yield meaning


def is_held_out(meaning: Meaning) -> bool:
    """Has it a pair of words that no sentence to learn from has?"""
    return any(map(held_out, combinations(meaning)))
