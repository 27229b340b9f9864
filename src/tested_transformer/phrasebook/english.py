"""How English says a clause."""

from tested_transformer.phrasebook.words import (
    BE,
    FORMS,
    MODALS,
    PREPOSITIONS,
    STATES,
    Clause,
    Meaning,
    Phrase,
    Verb,
    punctuated,
    with_s,
)

PARTICLES = ["up", "away"]  # a pronoun stands before them, a noun after
LATE = [
    "auf",
    "über",
    "into",
    "zu",
    "manner",
    "mit",
    "für",
    "in",
    "predicate",
    "time",
]


def sentence(meaning: Meaning) -> str:
    """A comma stands only after a subordinate clause."""
    clauses = [f"{word} {clause(c, main=not word)}".strip() for word, c in meaning]
    return punctuated((", " if meaning[0][0] else " ").join(clauses), meaning)


def clause(c: Clause, *, main: bool = True) -> str:
    """The words of a clause. A subordinate one begins with its subject."""
    parts = {slot: _part(slot, c) for slot in c.parts}
    first = parts.pop(c.front) if main and c.front in parts else ""
    aux, verb = _verbs(c)
    subject, no = phrase(c.subject, 0), "not" if c.negated else ""
    if main and c.question and c.front != "subject":
        start = [aux, subject, no]
    else:
        start = [subject, "cannot" if aux == "can" and no else f"{aux} {no}".strip()]
    objects = [parts.get("dat", ""), parts.get("acc", "")]
    acc = c.parts.get("acc") if "acc" in parts else None
    pronoun = c.verb.particle in PARTICLES and isinstance(acc, Phrase) and acc.pronoun
    objects.insert(2 if pronoun else 0, c.verb.particle)
    if c.front == "dat" and objects[-1]:  # who am I giving it to?
        objects.append("to")
    rest = [parts.get(slot, "") for slot in LATE]
    words = [first, *start, parts.get("frequency", ""), *verb, *objects, *rest]
    return " ".join(filter(None, words))


def _verbs(c: Clause) -> tuple[str, list[str]]:
    """The auxiliary, if there is one, and the verbs after it."""
    base, third = c.verb.english[0], _is_third(c.subject)
    if c.tense in ("can", "may", "will"):
        return c.tense, [base]
    if c.verb == BE or (c.tense == "now" and base not in STATES):
        i = {"I": 0}.get(c.subject.pronoun, 1 if third else 2)
        forms = ("was", "was", "were") if c.tense == "past" else ("am", "is", "are")
        return forms[i], [] if c.verb == BE else [_ing(c.verb)]
    verb = [c.tense, "to", base] if c.tense in MODALS else [base]
    if c.negated or (c.question and c.front != "subject"):
        return "did" if c.tense == "past" else "does" if third else "do", verb
    if c.tense == "past":
        return "", [_past(c.verb)]
    if third:
        verb[0] = "has" if verb[0] == "have" else with_s(verb[0])
    return "", verb


def _part(slot: str, c: Clause) -> str:
    part = c.parts[slot]
    if not isinstance(part, Phrase):
        return part.english
    if slot in PREPOSITIONS:
        return f"{PREPOSITIONS[slot][0]} {phrase(part, 1)}"
    return phrase(part, 1)


def phrase(p: Phrase, case: int) -> str:
    """As a subject (case 0) or not (case 1)."""
    if p.pronoun or p.noun is None:
        return FORMS[p.pronoun][0][case]
    words = [p.adjective.english] if p.adjective else []
    words.append(p.noun.plural if p.plural else p.noun.english)
    determiner = p.determiner
    if determiner == "this" and p.plural:
        determiner = "these"
    elif determiner == "a" and words[0][0] in "aeiou":
        determiner = "an"
    return " ".join(filter(None, [determiner, *words]))


def _is_third(p: Phrase) -> bool:
    """Does its verb take an -s?"""
    return FORMS[p.pronoun][2] == "3" if p.pronoun else not p.plural


def _past(verb: Verb) -> str:
    base, *irregular = verb.english
    if irregular:
        return irregular[0]
    stem = with_s(base).removesuffix("s").removesuffix("e")  # carries: carri
    return stem + "ed"


def _ing(verb: Verb) -> str:
    base, *irregular = verb.english
    return irregular[1] if irregular[1:] else base.removesuffix("e") + "ing"
