"""The running sentences of the book, in which "it" stands for a noun, and its German pronoun for the noun's gender.

One English word changes, and a German pronoun some words later changes with it: the chair … it, der Stuhl … er; the
lamp … it, die Lampe … sie; the picture … it, das Bild … es. No sentence of this module is in the training split: what
is done with the thing and what is said of it ("need", "old") are a pair that the phrasebook holds out, and so are
"love" and what is loved.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence, held_out, say
from tested_transformer.phrasebook.tags import name
from tested_transformer.phrasebook.words import (
    ADJECTIVES,
    BARE,
    BE,
    NOUNS,
    PEOPLE,
    VERBS,
    Clause,
    Noun,
    Phrase,
    Verb,
)

THINGS = {n.english: n for n in NOUNS if n.kind not in PEOPLE}
"""All nouns that "it" can stand for."""

PRONOUNS = ("er", "sie", "es", "ihn")


class Frame(NamedTuple):
    """A sentence with a gap for a thing, and "it" for the same thing in its second clause."""

    subject: Phrase
    does: str
    tense: str
    conjunction: str
    second: Callable[[Phrase], Clause]  # what it says of "it"
    negated: bool = False

    def say(self, thing: str) -> Sentence:
        """The sentence about this thing, in both languages."""
        if thing not in THINGS:
            raise ValueError(
                f"thing ({thing!r}) is none that the phrasebook has a word for"
            )
        noun = THINGS[thing]
        first = Clause(
            self.subject,
            _verb(self.does),
            self.tense,
            {"acc": _the(noun)},
            self.negated,
        )
        return say(
            [
                ("", first),
                (self.conjunction, self.second(Phrase(noun, pronoun=noun.gender))),
            ]
        )


def _verb(english: str) -> Verb:
    return next(verb for verb in VERBS if name(verb) == english)


def _the(noun: Noun) -> Phrase:
    return Phrase(noun, "" if noun.kind in BARE else "the")


def _is(adjective: str, tense: str = "now") -> Callable[[Phrase], Clause]:
    quality = next(a for a in ADJECTIVES if a.english == adjective)
    return lambda it: Clause(it, BE, tense, {"predicate": quality})


def _person(english: str, determiner: str) -> Phrase:
    return Phrase(next(n for n in NOUNS if n.english == english), determiner)


ME, SHE, HE = (Phrase(pronoun=word) for word in ("I", "she", "he"))
FRAMES = (
    Frame(ME, "need", "now", "because", _is("old")),
    Frame(_person("woman", "the"), "love", "now", "because", _is("new")),
    Frame(SHE, "sell", "past", "although", _is("beautiful", "past")),
    Frame(HE, "buy", "now", "although", _is("expensive")),
    Frame(
        ME,
        "look for",
        "now",
        "because",
        lambda it: Clause(ME, _verb("need"), "now", {"acc": it}),
    ),
    Frame(_person("father", "my"), "need", "now", "because", _is("old"), negated=True),
)
"""Six sentences with a gap. In four of them somebody else of some gender is named before "it"."""

SENTENCES = tuple(frame.say(thing) for frame in FRAMES for thing in THINGS)
"""Every frame about every thing."""

RUNNING = tuple(FRAMES[0].say(thing) for thing in ("chair", "lamp", "picture"))
"""The first frame, once for each gender."""

LOVED = tuple(thing for thing in THINGS if held_out(("object", "love", thing)))


def love(thing: str) -> Sentence:
    """I love music, the window or another of those that the model has not read of as loved."""
    if thing not in LOVED:
        raise ValueError(
            f"thing ({thing!r}) must be one of {', '.join(LOVED)}: others are loved in training"
        )
    return say([("", Clause(ME, _verb("love"), "now", {"acc": _the(THINGS[thing])}))])


def pronoun(german: str) -> str:
    """The German word for "it" in a translated frame, or nothing where its second clause has none."""
    second = german.partition(",")[2].strip(" .").split()
    return next((word for word in second if word in PRONOUNS), "")


def count_right(written: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """How many translated frames have the right pronoun, and how many are right in every word."""
    pairs = [*zip(written, wanted, strict=True)]
    pronouns = sum(pronoun(german) == pronoun(right) for german, right in pairs)
    return pronouns, sum(german == right for german, right in pairs)


def before_pronoun(german: str) -> str:
    """What stands before the word for "it" in a translated frame."""
    return german.rpartition(f" {pronoun(german)} ")[0]


def so_far(frame: Frame, thing: str, other: str, only: str = "") -> str:
    """The German of the other thing up to the word for "it"; or of a thing, with only the other's article or noun.

    That is empty where one of the two has no article.
    """
    if only not in ("", "article", "noun"):
        raise ValueError(f"only ({only!r}) must be article or noun, or be left out")
    german = {name: before_pronoun(frame.say(name).german) for name in (thing, other)}
    if not only:
        return german[other]
    stays, gives = (thing, other) if only == "article" else (other, thing)
    old, new = (_article(german[name]) for name in (stays, gives))
    if not (old and new):
        return ""
    before, _, after = german[stays].rpartition(f" {old} ")
    return f"{before} {new} {after}"


def _article(german: str) -> str:
    """The article of the thing, which is the last in the first clause, or nothing if it has none."""
    words = german.partition(",")[0].split()
    return next((word for word in reversed(words) if word in ("den", "die", "das")), "")


def another(thing: str) -> str:
    """The next thing of another gender in the list of all."""
    names = list(THINGS)
    after = names[names.index(thing) :] + names
    return next(name for name in after if THINGS[name].gender != THINGS[thing].gender)


def sides(
    translator: Translator, test: Callable[[Translator, Frame, str, str], str]
) -> tuple[int, int]:
    """How often a test with two things ends with the pronoun of the first, and how often with that of the second.

    It is made with every thing in every frame; the second is `another`.
    """
    found = [0, 0]
    for frame, thing in ((frame, thing) for frame in FRAMES for thing in THINGS):
        both = thing, another(thing)
        came = test(translator, frame, *both)
        for n, one in enumerate(both):
            found[n] += came == pronoun(frame.say(one).german)
    return found[0], found[1]
