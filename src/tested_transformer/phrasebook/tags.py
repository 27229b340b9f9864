"""What is in a sentence: points of German grammar, and pairs of words."""

from collections.abc import Iterator

from tested_transformer.phrasebook.german import PAST, is_denied
from tested_transformer.phrasebook.words import (
    ADJECTIVES,
    ADVERBS,
    CONJUNCTIONS,
    MODALS,
    NOUNS,
    NUMBERS,
    POSSESSIVES,
    PREPOSITIONS,
    VERBS,
    Adjective,
    Clause,
    Meaning,
    Phrase,
    Verb,
)


def name(verb: Verb) -> str:
    """The verb with what belongs to it: look for."""
    return " ".join([verb.english[0], verb.particle]).strip()


_ADJECTIVES, _NOUNS = [a.english for a in ADJECTIVES], [n.english for n in NOUNS]
_WHEN = [a.english for slot in ("time", "frequency") for a in ADVERBS[slot]]
_VERBS = [name(verb) for verb in VERBS]
ROLES = {
    "adjective": (_ADJECTIVES, _NOUNS),
    "object": (_VERBS, _NOUNS),
    "adverb": (_WHEN, _VERBS),
    "conjunction": (list(CONJUNCTIONS), _VERBS),
    "reason": (_VERBS, _ADJECTIVES + _VERBS),
}
"""For each kind of pair, the words that can be its first and its second."""


def combinations(meaning: Meaning) -> Iterator[tuple[str, str, str]]:
    """The pairs of words that belong together, each with its kind."""
    for conjunction, c in meaning:
        verb, listed = name(c.verb), c.verb in VERBS
        for slot, part in {"subject": c.subject, **c.parts}.items():
            if isinstance(part, Adjective) and c.subject.noun:
                yield "adjective", part.english, c.subject.noun.english
            if isinstance(part, Phrase) and part.noun:
                if part.adjective:
                    yield "adjective", part.adjective.english, part.noun.english
                if slot in c.verb.objects:
                    yield "object", verb, part.noun.english
            if listed and slot in ("time", "frequency") and part in ADVERBS[slot]:
                yield "adverb", part.english, verb
        if conjunction and listed:
            yield "conjunction", conjunction, verb
    yield from _reasons(*(c for _, c in meaning))


def _reasons(main: Clause, *others: Clause) -> Iterator[tuple[str, str, str]]:
    """What one does with a thing, and how "it" is, or what else one does with it."""
    for c in others:
        its = [p for p in (c.subject, c.parts.get("acc")) if isinstance(p, Phrase)]
        things = [p.noun for p in its if p.pronoun and p.noun]
        done = main.parts.get("acc")
        if isinstance(done, Phrase) and done.noun in things:
            why = c.parts.get("predicate")
            told = why.english if isinstance(why, Adjective) else name(c.verb)
            yield "reason", name(main.verb), told


def phenomena(meaning: Meaning) -> Iterator[str]:
    """The points of grammar that a sentence is an example of."""
    if len(meaning) > 1:
        yield "clause first" if meaning[0][0] else "clause last"
    for _, c in meaning:
        yield from _in_clause(c)
        for slot, part in {"subject": c.subject, **c.parts}.items():
            if isinstance(part, Phrase):
                yield from _in_phrase(slot, part)


def _in_clause(c: Clause) -> Iterator[str]:
    if c.question:
        yield "question word" if c.front else "yes/no question"
    elif c.front not in ("", "subject"):
        yield "inversion"
    if c.tense in MODALS:
        yield "modal"
    if c.tense == "past":
        yield "preterite" if c.verb.german[0] in PAST else "perfect"
    if c.verb.prefix:
        yield "separable verb"
    if c.negated:
        yield "kein" if is_denied(c, "acc") else "nicht"


def _in_phrase(slot: str, p: Phrase) -> Iterator[str]:
    case = PREPOSITIONS[slot][1] if slot in PREPOSITIONS else slot
    if slot in PREPOSITIONS:
        yield "preposition"
    if case == "dat":
        yield "dative"
    if p.pronoun:
        yield "it" if p.noun and not p.plural else "pronoun"
        return
    if p.adjective:
        yield "adjective"
    if p.determiner in POSSESSIVES:
        yield "possessive"
    if p.plural:
        yield "plural"
    if p.determiner in NUMBERS:
        yield "number"
    if p.noun and p.noun.weak and not p.plural and case != "subject":
        yield "weak noun"
