"""Thinks of sentences: one clause, or two and a conjunction."""

from tested_transformer.phrasebook.clauses import MOVABLE, Speaker, kind, qualities
from tested_transformer.phrasebook.words import (
    ADJECTIVES,
    ADVERBS,
    ASKING,
    BAD,
    BE,
    GOOD,
    MOODS,
    PEOPLE,
    REASONS,
    SAYING,
    STATES,
    TIMELESS,
    VERBS,
    WEATHER,
    Clause,
    Meaning,
    Part,
    Phrase,
    Verb,
    is_new,
)

WHO, WHAT = Phrase(pronoun="who"), Phrase(pronoun="what")
PERSONAL = [v for v in VERBS if "adult" in v.objects.get("acc", [])]
USUAL = [v for v in VERBS if v.english[0] not in TIMELESS]
Asked = tuple[str, Part, list[Verb]]
ASKED: dict[str, Asked] = {  # the part asked for, the word for it, and the verbs
    "what": (
        "acc",
        WHAT,
        [v for v in VERBS if "acc" in v.objects and v not in PERSONAL],
    ),
    "whom": ("acc", WHO, PERSONAL),
    "to whom": ("dat", WHO, [v for v in VERBS if "dat" in v.objects]),
    "where": ("in", ASKING["in"], [v for v in VERBS if "in" in v.extras]),
    "where to": ("into", ASKING["into"], [v for v in VERBS if "into" in v.objects]),
    "when": ("time", ASKING["time"], USUAL),
    "why": ("reason", ASKING["reason"], VERBS),
}
ACTIONS = [v for v in VERBS if v.english[0] not in STATES and "relative" in v.subjects]


def these(words: str) -> list[Verb]:
    """The verbs with an accusative object among these words."""
    return [v for v in VERBS if v.english[0] in words.split() and "acc" in v.objects]


SEEKING = these("buy look need")
USING = these("read translate eat drink cook make sell repair use need love")
LIKING = these("buy eat drink read write cook make love show sell throw")
NEUTRAL = these("need use look see find translate repair")  # for good reasons and bad
AWAY = ["sell", "throw"]
SIMPLE = [v for v in VERBS if not v.objects.keys() & {"acc", "dat"}]


def think(s: Speaker) -> Meaning:
    """A statement or a question, of one clause or two."""
    kinds = 8 * [plain] + 3 * [yes_no] + 4 * [asked] + [that] + 3 * [reason]
    return s.pick([*kinds, condition])(s)


def plain(s: Speaker) -> Meaning:
    """A statement. First stands the subject, or the time, the place, an object."""
    if s.chance(0.2):
        return [("", s.state())]
    c = s.clause()
    fronts = {"time", "in"} & (c.parts.keys() - c.verb.objects.keys())
    if getattr(c.parts.get("frequency"), "german", "") == "manchmal":
        fronts.add("frequency")
    pointed = getattr(c.parts.get("acc"), "determiner", "") == "this"
    if pointed and c.subject.pronoun in (
        "I",
        "you",
        "he",
        "we",
    ):  # who else, is unclear
        fronts.add("acc")
    first = s.pick(sorted(fronts)) if fronts and s.chance(0.8) else "subject"
    return [("", c._replace(front=first))]


def yes_no(s: Speaker) -> Meaning:
    """A question that begins with the verb."""
    c = s.state() if s.chance(0.2) else s.clause(known=True, deny=0)
    if c.subject.pronoun == "I":  # nobody asks that
        return yes_no(s)
    return [("", c._replace(front="", question=True, negated=False))]


def asked(s: Speaker) -> Meaning:
    """A question that begins with a question word."""
    word = s.pick(["who", "which", "where is", *ASKED])
    if word == "who":
        return [("", s.clause(WHO, deny=0)._replace(question=True))]
    if word == "where is":
        subject = s.somebody() if s.chance(0.4) else s.noun(MOVABLE, known=True)
        c = Clause(subject, BE, s.pick(["now", "now", "past"]), {"in": ASKING["in"]})
        return [("", c._replace(front="in", question=True))]
    slot, part, verbs = ASKED["what" if word == "which" else word]
    verb = s.pick(verbs)
    if word == "which":
        part = s.noun(verb.objects["acc"], fixed="which")
    deny = 0.3 if word == "why" else 0
    c = s.clause(verbs=[verb], given={slot: part}, known=True, deny=deny)
    return [("", c._replace(front=slot, question=True))]


def that(s: Speaker) -> Meaning:
    """Somebody knows or says something."""
    verb, subject = s.pick(SAYING), s.somebody(PEOPLE)
    we = subject.pronoun in ("I", "we")
    deniable = ["believe"] if we else ["believe", "know"]
    deny = verb.english[0] in deniable and s.chance(0.3)
    main = Clause(subject, verb, "habit", {}, deny)
    if not deny and not we and s.chance(0.3):
        main = main._replace(front="", question=True)
    return [("", main), ("that", s.state() if s.chance(0.2) else s.clause())]


def reason(s: Speaker) -> Meaning:
    """Because or although: of a mood, the weather, a thing, or what another does."""
    conjunction = s.pick(["because", "because", "although"])
    way = s.pick([feeling, feeling, quality, quality, purpose, other])
    return way(s, conjunction) or reason(s)


def feeling(s: Speaker, conjunction: str) -> Meaning | None:
    """One sleeps because one is tired, or because it rains."""
    why = s.pick([*MOODS, "weather", "weather"])
    first = explained(s, why, conjunction == "because")
    they, tense = again(first), "past" if first.tense == "past" else "now"
    if why in MOODS and they is None:
        return None
    second = cause(s, why, they, tense)
    if why == "weather" and s.chance(0.5):
        return [(conjunction, second), ("", first._replace(front=""))]
    return [("", first), (conjunction, second)]


def other(s: Speaker, conjunction: str) -> Meaning:
    """One does something because somebody else does something."""
    first = s.clause(verbs=ACTIONS, known=True)
    second = s.state() if s.chance(0.3) else s.clause(verbs=SIMPLE)
    return [("", first), (conjunction, second)]


def condition(s: Speaker) -> Meaning:
    """If: first or last. Who stands first is named, and later "he" or "she"."""
    named, why = s.somebody(PEOPLE), s.pick([*MOODS, *["weather", "action"] * 3])
    they = again(Clause(named, BE, "now", {}))
    if they is None:
        return condition(s)
    early = s.chance(0.6)
    who, doer = (named, they) if early and why != "weather" else (they, named)
    tense = s.pick(["will", "can", "have", "may", "habit", "habit"])
    if why == "action":
        second = s.clause(who, ACTIONS, tense="habit")
        main = s.clause(doer, ACTIONS, tense=tense)
    else:
        second, main = cause(s, why, who, "habit"), explained(s, why, True, doer, tense)
    if early:
        return [("if", second), ("", main._replace(front=""))]
    return [("", main), ("if", second)]


def explained(
    s: Speaker, why: str, yes: bool, who: Phrase | None = None, tense: str = ""
) -> Clause:
    """What one does in a mood or a weather, or else what one would not expect."""
    negated = not yes if why in ("hungry", "happy") else s.chance(0.4)
    expected = yes != negated
    verbs = [v for v in ACTIONS if (v.english[0] in REASONS[why]) == expected]
    c = s.clause(who, verbs, tense=tense, known=True, deny=float(negated))
    if getattr(c.parts.get("frequency"), "german", "") == "nie":
        del c.parts["frequency"]  # as good as "not"
    if c.subject.adjective and c.subject.adjective.english == why:
        c = c._replace(subject=c.subject._replace(adjective=None))
    if why == "weather" and "in" in c.parts:
        c.parts["in"] = ADVERBS["in"][0 if expected else 2]  # at home, or outside
    return c


def cause(s: Speaker, why: str, who: Phrase | None, tense: str) -> Clause:
    """Somebody is in a mood, or there is rain or snow."""
    if why == "weather" or who is None:
        return Clause(Phrase(pronoun="n"), s.pick(WEATHER), tense, {})
    mood = next(a for a in ADJECTIVES if a.english == why)
    return Clause(who._replace(adjective=None), BE, tense, {"predicate": mood})


def quality(s: Speaker, conjunction: str) -> Meaning | None:
    """One buys a thing because it is new, or although it is old."""
    first = s.clause(verbs=LIKING + NEUTRAL, known=True)
    it, away = the_thing(first), first.verb.english[0] in AWAY
    if it is None or it.noun == first.subject.noun or "frequency" in first.parts:
        return None
    liked = (conjunction == "because") != (first.negated != away)
    told = GOOD + BAD if first.verb in NEUTRAL else GOOD if liked else BAD
    fitting = [a for a in qualities(it) if a.english in told]
    fitting = [a for a in fitting if a != it.adjective]
    if not fitting:
        return None
    tense = "past" if first.tense == "past" else "now"
    second = Clause(it, BE, tense, {"predicate": s.pick(fitting)})
    return [("", first), (conjunction, second)]


def purpose(s: Speaker, conjunction: str) -> Meaning | None:
    """One looks for a thing because one needs it, or wants to use it."""
    first = s.clause(verbs=SEEKING, known=True, deny=0)
    they, it = again(first), the_thing(first)
    if they is None or it is None or "frequency" in first.parts:
        return None
    if first.tense == "past" and first.verb.english[0] == "need":
        return None
    fits = [v for v in USING if v != first.verb and kind(they) in v.subjects]
    fits = [v for v in fits if kind(it) in v.objects["acc"]]
    if not fits:
        return None
    verb = s.pick(fits)
    tense = "now" if verb.english[0] in STATES else s.pick(["want", "have"])
    second = s.clause(they, [verb], {"acc": it}, tense, deny=0)
    return [("", first), ("because", second)]


def again(c: Clause) -> Phrase | None:
    """The pronoun for the subject in a second clause, if it is clear."""
    p, it = c.subject, the_thing(c)
    if p.pronoun:
        return Phrase(pronoun={"Anna": "she", "Paul": "he"}.get(p.pronoun, p.pronoun))
    if p.plural or p.noun is None:
        return Phrase(p.noun, "", True, None, "they")
    if kind(p) in PEOPLE:  # a girl is "she", but her noun is neuter
        pronoun = {"m": "he", "f": "she"}.get(p.noun.gender)
        return Phrase(pronoun=pronoun) if pronoun else None
    return it if it and it.noun == p.noun else None


def the_thing(c: Clause) -> Phrase | None:
    """The pronoun for the only thing or animal in a clause, if there is one."""
    phrases = [p for p in (c.subject, *c.parts.values()) if isinstance(p, Phrase)]
    things = [(p, p.noun) for p in phrases if p.noun and kind(p) not in PEOPLE]
    if len(things) != 1 or (c.negated and is_new(things[0][0])):
        return None
    ((p, noun),) = things
    return p._replace(pronoun="they" if p.plural else noun.gender)
