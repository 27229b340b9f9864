"""How German says a clause."""

from tested_transformer.phrasebook.words import (
    CONJUNCTIONS,
    FORMS,
    MODALS,
    NAMES,
    NUMBERS,
    POSSESSIVES,
    PREPOSITIONS,
    Clause,
    Meaning,
    Noun,
    Phrase,
    Verb,
    is_new,
    punctuated,
)

CASES = ["nom", "acc", "dat"]
PERSONS = ["1", "2", "3", "plural"]
THE = {  # masculine, feminine, neuter, plural
    "nom": ["der", "die", "das", "die"],
    "acc": ["den", "die", "das", "die"],
    "dat": ["dem", "der", "dem", "den"],
}
STRONG = {
    "nom": ["er", "e", "es", "e"],
    "acc": ["en", "e", "es", "e"],
    "dat": ["em", "er", "em", "en"],
}
SHORT = {"in dem": "im", "in das": "ins", "zu dem": "zum", "zu der": "zur"}
PRESENT = {  # ich, du, er, wir
    "sein": "bin bist ist sind",
    "haben": "habe hast hat haben",
    "werden": "werde wirst wird werden",
    "können": "kann kannst kann können",
    "wollen": "will willst will wollen",
    "dürfen": "darf darfst darf dürfen",
    "müssen": "muss musst muss müssen",
    "wissen": "weiß weißt weiß wissen",
}
PAST = {"sein": "war warst war waren", "haben": "hatte hattest hatte hatten"}


AROUND = ["manner", "mit", "für", "in"]
LATE = ["auf", "über", "into", "zu", "predicate"]


def sentence(meaning: Meaning) -> str:
    """A comma parts the clauses."""
    clauses = [
        f"{CONJUNCTIONS.get(word, '')} {clause(c, main=not word)}".strip()
        for word, c in meaning
    ]
    return punctuated(", ".join(clauses), meaning)


def clause(c: Clause, *, main: bool = True) -> str:
    """The words of a clause.

    The finite verb of a main clause stands second, or first where a question begins
    with it. In a subordinate clause it stands last.
    """
    finite, last = _verbs(c)
    if main:
        middle = [_part(slot, c) for slot in _order(c) if slot != c.front]
        first = _part(c.front, c) if c.front else ""
        words = [first, finite, *middle, last or c.verb.prefix]
    else:
        middle = [_part(slot, c) for slot in _order(c)]
        words = [*middle, last, finite if last else c.verb.prefix + finite]
    return " ".join(filter(None, words))


def _order(c: Clause) -> list[str]:
    """The parts between the verbs, from what is known to what is new."""
    objects = {s: p for s in ("dat", "acc") if isinstance(p := c.parts.get(s), Phrase)}
    pronouns = [slot for slot, p in objects.items() if p.pronoun]
    new = [slot for slot, p in objects.items() if is_new(p)]
    known = [slot for slot in objects if slot not in pronouns + new]
    nicht = c.negated and not is_denied(c, "acc")
    never = getattr(c.parts.get("frequency"), "german", "") == "nie"
    early = known if nicht or never else []
    if len(objects) == 2 and "dat" in known and not early:
        early = ["dat"]
    late = [slot for slot in known if slot not in early]
    first = [slot for slot in pronouns if _goes_first(objects[slot], slot, c)]
    pronouns = [slot for slot in pronouns if slot not in first]
    order = [*first, "subject", *pronouns, *early, "time", "frequency", *late]
    order += ["nicht"] * nicht + [*AROUND, *new, *LATE]
    return [slot for slot in order if slot in c.parts or slot in ("subject", "nicht")]


def _goes_first(p: Phrase, slot: str, c: Clause) -> bool:
    """A pronoun goes before a noun, also before the subject: heute hilft ihr Anna.

    Not before another pronoun, and not where it could itself be the subject.
    """
    named = c.subject.pronoun in ("", *NAMES)
    return named and p.pronoun not in NAMES and _phrase(p, slot) != "sie"


def _verbs(c: Clause) -> tuple[str, str]:
    """The finite verb, and the participle or infinitive, if there is one."""
    infinitive = c.verb.german[0]
    if c.tense in MODALS:
        modal = _present([MODALS[c.tense]], c.subject)
        return modal, c.verb.prefix + infinitive
    if c.tense != "past":
        return _present(c.verb.german, c.subject), ""
    if infinitive in PAST:
        return PAST[infinitive].split()[_person(c.subject)], ""
    return _present([c.verb.auxiliary], c.subject), c.verb.prefix + _participle(c.verb)


def _present(forms: list[str], subject: Phrase) -> str:
    infinitive, person = forms[0], _person(subject)
    if infinitive in PRESENT:
        return PRESENT[infinitive].split()[person]
    stem = infinitive.removesuffix("en")
    third = "".join(forms[1:2]).strip("-") or _with_t(stem)
    root = third.removesuffix("t")
    second = root + ("t" if root.endswith(("s", "ß", "z")) else "st")
    return [stem + "e", second, third, infinitive][person]


def _participle(verb: Verb) -> str:
    return "".join(verb.german[2:]) or "ge" + _with_t(verb.german[0].removesuffix("en"))


def _with_t(stem: str) -> str:
    """With an e between where one could not say it: arbeitet, öffnet."""
    hard = stem.endswith(("t", "d", "ffn", "gn"))
    return stem + ("et" if hard else "t")


def _person(p: Phrase) -> int:
    """Which of the forms for ich, du, er and wir goes with a subject."""
    if not p.pronoun:
        return 3 if p.plural else 2
    return PERSONS.index(FORMS[p.pronoun][2])


def is_denied(c: Clause, slot: str) -> bool:
    """Is it this part that says "kein"?"""
    p = c.parts.get(slot) if slot == "acc" and c.negated else None
    return isinstance(p, Phrase) and is_new(p) and p.determiner not in NUMBERS


def _part(slot: str, c: Clause) -> str:
    if slot in ("subject", "nicht"):
        return slot if slot == "nicht" else _phrase(c.subject, "nom")
    part = c.parts[slot]
    if not isinstance(part, Phrase):
        return part.german
    if slot not in PREPOSITIONS:
        denied = is_denied(c, slot)
        return _phrase(part._replace(determiner="no") if denied else part, slot)
    preposition = "in" if slot == "into" else slot
    words = f"{preposition} {_phrase(part, PREPOSITIONS[slot][1])}"
    for long, short in SHORT.items():
        if words.startswith(long + " "):
            words = words.replace(long, short, 1)
    return words


def _phrase(p: Phrase, case: str) -> str:
    if p.pronoun or p.noun is None:
        return FORMS[p.pronoun][1][CASES.index(case)]
    i = 3 if p.plural else "mfn".index(p.noun.gender)
    article, shows_case = _article(p.determiner, case, i)
    ending = STRONG[case][i]
    if shows_case:  # then the adjective need not
        plain = i < 3 and (case == "nom" or (case == "acc" and i > 0))
        ending = "e" if plain else "en"
    adjective = _stem(p.adjective.german) + ending if p.adjective else ""
    return " ".join(filter(None, [article, adjective, _noun(p.noun, p.plural, case)]))


def _article(determiner: str, case: str, i: int) -> tuple[str, bool]:
    """The German determiner, and whether it shows the case."""
    if determiner == "the":
        return THE[case][i], True
    if not determiner or determiner in NUMBERS:
        return NUMBERS.get(determiner, ""), False
    ending = STRONG[case][i]
    if determiner in ("this", "which"):
        return {"this": "dies", "which": "welch"}[determiner] + ending, True
    if ending in ("er", "es") and case != "dat":  # ein Hund, ein Kind
        ending = ""
    word = {"a": "ein", "no": "kein"}.get(determiner) or POSSESSIVES[determiner]
    return word + ending, ending != ""


def _stem(adjective: str) -> str:
    if adjective.endswith(("el", "uer")):  # dunkel, der dunkle; teuer, der teure
        return adjective[:-2] + adjective[-1]
    return adjective.removesuffix("e")


def _noun(noun: Noun, plural: bool, case: str) -> str:
    if not plural:
        weak = noun.weak and case != "nom"
        return noun.german_plural if weak else noun.german
    n = "" if case != "dat" or noun.german_plural.endswith(("n", "s")) else "n"
    return noun.german_plural + n
