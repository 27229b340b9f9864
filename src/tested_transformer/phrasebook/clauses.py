"""Thinks of clauses, before they are said in a language."""

import random
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from tested_transformer.phrasebook.words import (
    ADJECTIVES,
    ADVERBS,
    BARE,
    BE,
    INSTANTS,
    LIVING,
    MODALS,
    MOODS,
    NAMES,
    NOUNS,
    NUMBERS,
    PEOPLE,
    POSSESSIVES,
    STATES,
    TIMELESS,
    VERBS,
    Adjective,
    Adverb,
    Clause,
    Parts,
    Phrase,
    Verb,
    is_new,
)

T = TypeVar("T")
OWN = ["animal", "text", "letter", "food", "soup", "milk", "tea", "clothes", "vehicle"]
OWN += ["machine", "thing", "room"]
LARGE = ["place", "room", "door", "train"]  # nobody sees a forest in a kitchen
MOVABLE = [*LIVING, "text", "letter", "food", "clothes", "machine", "thing"]
PERSONS = ["I", "I", "you", "you", "he", "she", "we", "they"]
SELF = {"I": ["I", "we"], "we": ["I", "we"], "you": ["you"], "they": ["they"]}


def kind(p: Phrase) -> str:
    """What a phrase speaks of."""
    return p.noun.kind if p.noun else "adult"


def qualities(p: Phrase) -> list[Adjective]:
    """The adjectives that suit it."""
    return ADJECTIVES_OF[kind(p)]


NOUNS_OF = {n.kind: [m for m in NOUNS if m.kind == n.kind] for n in NOUNS}
ADJECTIVES_OF = {k: [a for a in ADJECTIVES if k in a.kinds] for k in NOUNS_OF}


@cache
def _each(*weights: tuple[str, int]) -> list[str]:
    """Each name as many times as its weight says."""
    return [name for name, n in weights for _ in range(n)]


class Speaker:
    """Thinks of clauses. The same seed thinks the same, on every machine."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random  # no other method promises that

    def chance(self, p: float) -> bool:
        """True in a share p of all calls."""
        return self.random() < p

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely as the others."""
        return options[int(self.random() * len(options))]

    def pick_by(self, **weights: int) -> str:
        """One of the names, each as often as its weight says."""
        return self.pick(_each(*weights.items()))

    # Clauses

    def clause(
        self,
        subject: Phrase | None = None,
        verbs: Sequence[Verb] = VERBS,
        given: Parts | None = None,
        tense: str = "",
        known: bool = False,
        deny: float = 0.2,
    ) -> Clause:
        """Somebody does something. A known subject is not "a" or "two" of its kind."""
        if subject:
            verbs = [v for v in verbs if kind(subject) in v.subjects]
        verb = self.pick(verbs)
        subject = subject or self.doer(verb, known)
        negated = not is_new(subject) and self.chance(deny)
        parts = dict(given or {})
        parts |= self.objects(verb, subject, negated, parts)
        parts |= self.extra(verb, subject, parts)
        if not tense:
            tense = self.tense(verb, subject, negated or "time" in parts)
            when = {} if "time" in parts else self.when(verb, tense, negated)
            if tense == "now" and any("now" not in a.tenses for a in when.values()):
                tense = "habit"
            parts |= when
        return Clause(subject, verb, tense, parts, negated)

    def state(self, subject: Phrase | None = None) -> Clause:
        """Somebody or something is somehow, or somewhere."""
        subject = subject or self.pick([self.somebody, self.something])()
        quality = self.pick(qualities(subject))
        parts: Parts = {"predicate": quality}
        if kind(subject) in MOVABLE and self.chance(0.3):
            parts = {"in": self.place("in", ["room", "place"])}
        passing = "in" in parts or quality.english in MOODS
        lasting = not passing and kind(subject) in LIVING
        tense = self.pick_by(now=3, past=2 - 2 * lasting, will=int(passing))
        negated = self.chance(0.2)
        parts |= self.when(BE, tense, negated) if passing else {}
        return Clause(subject._replace(adjective=None), BE, tense, parts, negated)

    # Subjects and objects

    def doer(self, verb: Verb, known: bool) -> Phrase:
        """A subject that fits the verb."""
        if "relative" in verb.subjects:
            return self.somebody(verb.subjects, known)
        return self.noun(verb.subjects, self.pick(["the", "this"]))

    def somebody(self, kinds: list[str] = LIVING, known: bool = True) -> Phrase:
        """A pronoun, a name, or a noun of these kinds."""
        who = self.pick_by(pronoun=5, name=1, noun=5)
        if who != "noun":
            return Phrase(pronoun=self.pick(PERSONS if who == "pronoun" else NAMES))
        p = self.noun(kinds, known=known)
        many = p.plural and p.determiner == ""  # dogs: as a subject, two dogs
        return p._replace(determiner=self.pick(list(NUMBERS))) if many else p

    def something(self) -> Phrase:
        """A noun for what does not live."""
        return self.noun([k for k in NOUNS_OF if k not in LIVING], known=True)

    def noun(
        self, kinds: list[str], fixed: str = "", known: bool = False, new: bool = False
    ) -> Phrase:
        """A noun of one of the kinds, its determiner and perhaps an adjective."""
        noun = self.pick([n for kind in kinds for n in NOUNS_OF[kind]])
        plural = noun.plural != "" and self.chance(0.3)
        relative = noun.kind == "relative"
        determiner = fixed or self.pick_by(
            the=0 if new else 2 if relative else 4,
            this=0 if new or relative else 1,
            own=0 if new else 5 if relative else 2 if noun.kind in OWN else 0,
            new=0 if known or relative else 3,
            number=1 if plural and not known else 0,
        )
        if determiner == "own":
            determiner = self.pick(list(POSSESSIVES))
        elif determiner == "number":
            determiner = self.pick(list(NUMBERS))
        elif determiner == "new":
            determiner = "" if plural or not noun.plural else "a"
        if noun.kind in BARE and determiner != "which":
            determiner = ""
        p = Phrase(noun, determiner, plural)
        return p._replace(adjective=self.pick(qualities(p))) if self.chance(0.3) else p

    def objects(
        self, verb: Verb, subject: Phrase, negated: bool, given: Parts
    ) -> Parts:
        """The objects that the verb needs and that are not given."""
        parts: Parts = {}
        for slot in [slot for slot in verb.objects if slot not in given]:
            kinds, others = (
                verb.objects[slot],
                [subject, *given.values(), *parts.values()],
            )
            if slot in ("in", "into"):
                parts[slot] = self.place(slot, kinds)
                continue
            base = verb.english[0]
            known = base in TIMELESS or slot == "zu"
            known |= slot == "dat" and (negated or "acc" in verb.objects)
            one = subject.noun is not None and not subject.plural
            names = [] if one and slot in ("acc", "dat") else NAMES  # not: the man Paul
            new = base == "have"
            p = self.other(others, kinds, known and not new, new, names)
            if negated and p.determiner in NUMBERS:
                p = p._replace(determiner="the")
            parts[slot] = p
        return parts

    def other(
        self,
        said: Sequence[object],
        kinds: list[str],
        known: bool = False,
        new: bool = False,
        names: Sequence[str] = NAMES,
    ) -> Phrase:
        """Somebody or something that is not spoken of already."""
        p = self.noun(kinds, known=known, new=new)
        if kind(p) in PEOPLE and self.chance(0.4):
            p = Phrase(pronoun=self.pick([*PERSONS, *names]))
        for q in said:
            if isinstance(q, Phrase) and (
                p.noun == q.noun
                if p.noun
                else q.pronoun in SELF.get(p.pronoun, [p.pronoun])
            ):
                return self.other(said, kinds, known, new, names)
        return p

    def place(self, slot: str, kinds: list[str]) -> Phrase | Adverb:
        """Where it happens: an adverb, or a noun behind a preposition."""
        if slot == "in" and self.chance(0.3):
            return self.pick(ADVERBS["in"])
        p = self.noun(kinds, self.pick(["the"] * 4 + ["this"]))
        return p._replace(plural=False)

    # Adverbs and tenses

    def extra(self, verb: Verb, subject: Phrase, parts: Parts) -> Parts:
        """Where, with whom, for whom or how."""
        slot = self.pick(verb.extras) if verb.extras and self.chance(0.4) else ""
        objects = [p for p in parts.values() if isinstance(p, Phrase)]
        if slot in parts or "reason" in parts:
            return {}
        if slot == "in" and not any(kind(p) in LARGE for p in objects):
            return {"in": self.place("in", ["room", "place"])}
        if slot in ("mit", "für"):
            return {slot: self.other([subject, *objects], PEOPLE, known=True)}
        if slot == "manner" and not any(is_new(p) for p in objects):
            return {"manner": self.pick(ADVERBS["manner"])}
        return {}

    def tense(self, verb: Verb, subject: Phrase, once: bool) -> str:
        """When it happens, or the modal verb that goes with it."""
        base = verb.english[0]
        modals = STATES.get(base, " ".join(MODALS)).split()
        if kind(subject) not in PEOPLE:
            living = ["can", "want", "will"] if kind(subject) in LIVING else ["will"]
            modals = [m for m in modals if m in living]
        tense = self.pick_by(now=8, past=4, modal=3 if modals else 0)
        if tense == "now" and base in INSTANTS:
            return "past" if once else "habit"
        return self.pick(modals) if tense == "modal" else tense

    def when(self, verb: Verb, tense: str, negated: bool) -> dict[str, Adverb]:
        """When, or how often."""
        base, *forms = verb.english
        if tense == "past" and base in forms[:1]:  # without it, "I read" is not past
            return {"time": next(a for a in ADVERBS["time"] if a.tenses == "past")}
        if base in TIMELESS or not (tense == "habit" or self.chance(0.45)):
            return {}
        slot = "time" if negated else self.pick_by(time=2, frequency=1)
        tags = {"now": ["now", "habit"]}.get(
            tense, ["modal" if tense in MODALS else tense]
        )
        fitting = [a for a in ADVERBS[slot] if set(tags) & set(a.tenses.split())]
        if negated:
            fitting = [a for a in fitting if a.english != "every day"]
        return {slot: self.pick(fitting)}
