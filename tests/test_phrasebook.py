"""The phrasebook: its German and English are right, and what is held out is held out.

The checkers below know German by themselves: genders, plurals and verb forms are typed here, not taken from the package.
"""

import re
from collections import Counter, defaultdict
from itertools import product

import pytest

from tested_transformer.data import _english, _german, _words
from tested_transformer.data._clauses import Speaker
from tested_transformer.data._sentences import think
from tested_transformer.data._tags import ROLES, name
from tested_transformer.data._words import Clause, Phrase
from tested_transformer.data.phrasebook import held_out, sentences, split

# German, once more: nominative singular, gender, other singular cases where they differ, plural, dative plural
NOUNS = """
Mann m - Männer Männern, Frau f - Frauen Frauen, Kind n - Kinder Kindern, Junge m Jungen Jungen Jungen,
Mädchen n - Mädchen Mädchen, Student m Studenten Studenten Studenten, Arzt m - Ärzte Ärzten,
Lehrerin f - Lehrerinnen Lehrerinnen, Mutter f - - -, Vater m - - -, Bruder m - Brüder Brüdern,
Schwester f - Schwestern Schwestern, Tante f - Tanten Tanten, Freund m - Freunde Freunden,
Nachbar m Nachbarn Nachbarn Nachbarn, Hund m - Hunde Hunden, Katze f - Katzen Katzen, Pferd n - Pferde Pferden,
Vogel m - Vögel Vögeln, Kuh f - Kühe Kühen, Bär m Bären Bären Bären, Buch n - Bücher Büchern,
Zeitung f - Zeitungen Zeitungen, Brief m - Briefe Briefen, Gedicht n - Gedichte Gedichten,
Apfel m - Äpfel Äpfeln, Kuchen m - Kuchen Kuchen, Ei n - Eier Eiern, Birne f - Birnen Birnen,
Suppe f - Suppen Suppen, Wasser n - - -, Milch f - - -, Tee m - - -, Kaffee m - - -,
Mantel m - Mäntel Mänteln, Hemd n - Hemden Hemden, Jacke f - Jacken Jacken, Hut m - Hüte Hüten,
Schuh m - Schuhe Schuhen, Auto n - Autos Autos, Fahrrad n - Fahrräder Fahrrädern, Zug m - Züge Zügen,
Bus m - Busse Bussen, Bild n - Bilder Bildern, Lampe f - Lampen Lampen, Uhr f - Uhren Uhren,
Stuhl m - Stühle Stühlen, Koffer m - Koffer Koffern, Schlüssel m - Schlüssel Schlüsseln, Tür f - Türen Türen,
Fenster n - Fenster Fenstern, Zimmer n - Zimmer Zimmern, Küche f - Küchen Küchen, Büro n - Büros Büros,
Garten m - Gärten Gärten, Park m - Parks Parks, Wald m - Wälder Wäldern, Stadt f - Städte Städten,
Schule f - Schulen Schulen, Hotel n - Hotels Hotels
"""
STEMS = """groß klein alt neu jung gut schön rot schwarz billig teur frisch heiß kalt freundlich müd hungrig glücklich
krank klug langweilig schwer dunkl ruhig""".split()
# ich, du, er, wir, participle, auxiliary; a stroke marks a prefix that can be parted
VERBS = """
schlafe schläfst schläft schlafen geschlafen haben, singe singst singt singen gesungen haben,
arbeite arbeitest arbeitet arbeiten gearbeitet haben, tanze tanzt tanzt tanzen getanzt haben,
spiele spielst spielt spielen gespielt haben, schwimme schwimmst schwimmt schwimmen geschwommen sein,
ein|kaufe ein|kaufst ein|kauft ein|kaufen eingekauft haben,
zurück|komme zurück|kommst zurück|kommt zurück|kommen zurückgekommen sein,
auf|stehe auf|stehst auf|steht auf|stehen aufgestanden sein, fern|sehe fern|siehst fern|sieht fern|sehen ferngesehen haben,
an|komme an|kommst an|kommt an|kommen angekommen sein, gehe gehst geht gehen gegangen sein,
fahre fährst fährt fahren gefahren sein, wohne wohnst wohnt wohnen gewohnt haben,
bleibe bleibst bleibt bleiben geblieben sein, lese liest liest lesen gelesen haben,
schreibe schreibst schreibt schreiben geschrieben haben, kaufe kaufst kauft kaufen gekauft haben,
verkaufe verkaufst verkauft verkaufen verkauft haben, sehe siehst sieht sehen gesehen haben,
finde findest findet finden gefunden haben, esse isst isst essen gegessen haben,
fresse frisst frisst fressen gefressen haben,
trinke trinkst trinkt trinken getrunken haben, koche kochst kocht kochen gekocht haben,
brauche brauchst braucht brauchen gebraucht haben, liebe liebst liebt lieben geliebt haben,
kenne kennst kennt kennen gekannt haben, besuche besuchst besucht besuchen besucht haben,
treffe triffst trifft treffen getroffen haben, suche suchst sucht suchen gesucht haben,
verstehe verstehst versteht verstehen verstanden haben, vergesse vergisst vergisst vergessen vergessen haben,
öffne öffnest öffnet öffnen geöffnet haben, zu|mache zu|machst zu|macht zu|machen zugemacht haben,
repariere reparierst repariert reparieren repariert haben, trage trägst trägt tragen getragen haben,
an|rufe an|rufst an|ruft an|rufen angerufen haben, ein|lade ein|lädst ein|lädt ein|laden eingeladen haben,
ab|hole ab|holst ab|holt ab|holen abgeholt haben, auf|räume auf|räumst auf|räumt auf|räumen aufgeräumt haben,
weg|werfe weg|wirfst weg|wirft weg|werfen weggeworfen haben,
an|probiere an|probierst an|probiert an|probieren anprobiert haben, helfe hilfst hilft helfen geholfen haben,
antworte antwortest antwortet antworten geantwortet haben, folge folgst folgt folgen gefolgt sein,
zu|höre zu|hörst zu|hört zu|hören zugehört haben, gehöre gehörst gehört gehören gehört haben,
gebe gibst gibt geben gegeben haben, zeige zeigst zeigt zeigen gezeigt haben, bringe bringst bringt bringen gebracht haben,
warte wartest wartet warten gewartet haben, spreche sprichst spricht sprechen gesprochen haben,
denke denkst denkt denken gedacht haben, regne regnest regnet regnen geregnet haben,
schneie schneist schneit schneien geschneit haben, weiß weißt weiß wissen gewusst haben,
glaube glaubst glaubt glauben geglaubt haben, sage sagst sagt sagen gesagt haben, hoffe hoffst hofft hoffen gehofft haben,
bin bist ist sind gewesen sein, habe hast hat haben gehabt haben, werde wirst wird werden geworden sein,
kann kannst kann können gekonnt haben, will willst will wollen gewollt haben, darf darfst darf dürfen gedurft haben,
muss musst muss müssen gemusst haben, war warst war waren - -, hatte hattest hatte hatten - -
"""
DATIVE_VERBS = {"helfen", "antworten", "folgen", "zuhören", "gehören"}
DATIVE_AND_ACCUSATIVE = {"geben", "zeigen", "bringen"}
PREPOSITIONS = {
    "mit": {"dat"}, "zu": {"dat"}, "für": {"acc"}, "auf": {"acc"}, "über": {"acc"}, "an": {"acc"},
    "in": {"dat", "acc"}, "im": {"dat"}, "ins": {"acc"}, "zum": {"dat"}, "zur": {"dat"}, "am": {"dat"},
}  # fmt: skip
PRONOUNS = {
    "ich": "nom", "du": "nom", "er": "nom", "wir": "nom", "es": "nom acc", "sie": "nom acc", "mich": "acc", "dich": "acc",
    "ihn": "acc", "uns": "acc dat", "mir": "dat", "dir": "dat", "ihm": "dat", "ihr": "dat", "ihnen": "dat",
    "wer": "nom", "wen": "acc", "wem": "dat", "was": "nom acc", "anna": "nom acc dat", "paul": "nom acc dat",
}  # fmt: skip
ADVERBS = """heute jetzt gestern morgen oft immer manchmal nie schnell langsam vorsichtig hier draußen wo wohin wann warum
nicht""".split()
FIXED = ["am Morgen", "am Abend", "am Montag", "am Sonntag", "jeden Tag", "zu Hause"]
CONJUNCTIONS = {"that": "dass", "because": "weil", "although": "obwohl", "if": "wenn"}
ACCUSATIVE_VERBS = set(
    """lesen schreiben kaufen verkaufen sehen finden essen fressen trinken kochen brauchen haben lieben kennen besuchen treffen
    suchen verstehen vergessen öffnen zumachen reparieren tragen anrufen einladen abholen aufräumen wegwerfen
    anprobieren""".split()
)
THE = {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den"}  # m f n plural
DIES = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"}
EIN = {"nom": "- e - e", "acc": "en e - e", "dat": "em er em en"}
WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"}
MIXED = {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en"}
STRONG = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"}
EIN_WORDS = ["ein", "kein", "mein", "dein", "sein", "ihr", "unser"]


def at(table, case, gender):
    return table[case].split()["mfnp".index(gender)].strip("-")


def noun_forms():
    """Each form of each noun: the cases and the gender, or plural, that it can be."""
    forms = defaultdict(set)
    for row in NOUNS.replace("\n", " ").split(","):
        singular, gender, weak, plural, dative = row.split()
        forms[singular].add(("nom", gender))
        for case in ("acc", "dat"):
            forms[singular if weak == "-" else weak].add((case, gender))
        for case, form in (("nom", plural), ("acc", plural), ("dat", dative)):
            if form != "-":
                forms[form].add((case, "p"))
    return forms


def verb_forms():
    """Finite forms as they stand in a main clause and joined, participles and infinitives."""
    main, joined, participles, infinitives = defaultdict(set), defaultdict(set), {}, {}
    for row in VERBS.replace("\n", " ").split(","):
        *finite, participle, auxiliary = row.split()
        lemma, prefix = finite[3].replace("|", "").replace("sind", "sein"), finite[3].rpartition("|")[0]
        for person, form in zip(("ich", "du", "er", "wir"), finite, strict=True):
            main[form.rpartition("|")[2]].add((person, lemma, prefix))
            joined[form.replace("|", "")].add((person, lemma))
        participles[participle] = (lemma, auxiliary)
        infinitives[lemma] = lemma
    return main, joined, participles, infinitives


NOUN_FORMS = noun_forms()
FINITE, JOINED, PARTICIPLES, INFINITIVES = verb_forms()
MODALS = {"können", "wollen", "dürfen", "müssen", "werden"}
PREFIXES = {prefix for readings in FINITE.values() for _, _, prefix in readings} - {""}


def noun_cases(determiner, adjective, noun):
    """The cases and genders that all words of "den alten Mann" agree on."""
    for case, gender in NOUN_FORMS[noun]:
        stem = next((s for s in ("dies", "welch") if determiner.startswith(s)), "")
        own = next((s for s in EIN_WORDS if determiner.startswith(s)), "")
        if determiner in ("", "zwei", "drei", "vier", "zehn"):
            right, table = determiner == "" or gender == "p", STRONG
        elif stem:
            right, table = determiner == stem + at(DIES, case, gender), WEAK
        elif own:
            right, table = determiner == own + at(EIN, case, gender) and (own != "ein" or gender != "p"), MIXED
        else:
            right, table = determiner == at(THE, case, gender), WEAK
        endings = [s for s in STEMS if adjective.startswith(s) and adjective == s + at(table, case, gender)]
        if right and (endings or not adjective):
            yield case, gender


def is_determiner(word):
    return bool(re.fullmatch(r"(dies|welch)(er|e|es|en|em)|(ein|kein|mein|dein|sein|ihr|unser)(e|en|em|er)?", word)) or (
        word in "der die das den dem zwei drei vier zehn".split()
    )


def phrases(words):
    """All ways to cut words into phrases, each as (kind, cases, person)."""
    if not words:
        yield []
        return
    first, text = words[0], " ".join(words[:2])
    if text in FIXED:
        yield from ([("adverb", set(), ""), *rest] for rest in phrases(words[2:]))
        return
    if first in ADVERBS or first in STEMS or first in ("müde", "teuer", "dunkel"):
        yield from ([("adverb", set(), ""), *rest] for rest in phrases(words[1:]))
        return
    if first in PREPOSITIONS:
        contracted = {"im": "dem", "ins": "das", "zum": "dem", "zur": "der"}.get(first)
        after = [contracted, *words[1:]] if contracted else words[1:]
        for cases, _, rest in noun_phrases(after):
            if cases & PREPOSITIONS[first]:
                yield from ([("preposition", set(), ""), *more] for more in phrases(rest))
        return
    for cases, person, rest in noun_phrases(words):
        yield from ([("noun", cases, person), *more] for more in phrases(rest))


def noun_phrases(words):
    """What can stand at the front: its cases, the person of a verb that it is subject of, and the words behind it."""
    first = words[0] if words else ""
    if first.lower() in PRONOUNS:
        person = {"ich": "ich", "du": "du", "wir": "wir", "sie": "er wir"}.get(first, "er")
        yield set(PRONOUNS[first.lower()].split()), person, words[1:]
    for n in range(min(3, len(words))):
        if words[n] in NOUN_FORMS and not any(word in NOUN_FORMS for word in words[:n]):
            determiner = words[0] if n and is_determiner(words[0]) else ""
            adjectives = words[bool(determiner) : n]
            if len(adjectives) <= 1:
                readings = set(noun_cases(determiner, "".join(adjectives), words[n]))
                for gender in {gender for _, gender in readings}:
                    person = "wir" if gender == "p" else "er"
                    yield {case for case, g in readings if g == gender}, person, words[n + 1 :]


def fits(cut, lemma, persons):
    """Is there one subject that agrees with the verb, and an object in each case that the verb wants?"""
    wanted = Counter(["nom"])
    wanted["acc"] += lemma in ACCUSATIVE_VERBS | DATIVE_AND_ACCUSATIVE
    wanted["dat"] += lemma in DATIVE_VERBS | DATIVE_AND_ACCUSATIVE
    nouns = [(cases, person) for kind, cases, person in cut if kind == "noun"]
    for cases in product(*(cases for cases, _ in nouns)):
        if Counter(cases) == +wanted:
            agrees = persons & set(nouns[cases.index("nom")][1].split())
            if agrees:
                return True
    return False


def verbs_of(words, main):
    """Takes the verbs out of a clause: (words before the finite verb, the others, lemma, persons)."""
    if main:
        at_finite = next(i for i, word in enumerate(words) if word in FINITE and word not in NOUN_FORMS)
        finite, before, after = FINITE[words[at_finite]], words[:at_finite], words[at_finite + 1 :]
        last = after[-1] if after else ""
    else:
        finite, before, after = {(*reading, "") for reading in JOINED[words[-1]]}, [], words[:-1]
        last = after[-1] if after else ""
    persons = {person for person, _, _ in finite}
    lemmas = {lemma for _, lemma, _ in finite}
    if last in PARTICIPLES and lemmas & {"haben", "sein"}:
        lemma, auxiliary = PARTICIPLES[last]
        assert auxiliary in lemmas, f"the perfect of {lemma} is made with {auxiliary}"
        return before, after[:-1], lemma, persons
    if last in INFINITIVES and lemmas & MODALS:
        return before, after[:-1], last, persons
    assert not lemmas & MODALS, "a modal without its infinitive"
    prefix = last if main and last in PREFIXES else ""
    (lemma,) = {lemma for _, lemma, p in finite if p == prefix}
    lemma = {"waren": "sein", "hatten": "haben"}.get(lemma, lemma)
    return before, after[:-1] if prefix else after, lemma, {person for person, found, p in finite if p == prefix}


def check_clause(words, main, follows):
    """The finite verb stands second (first in a question or behind a clause), or last; and everything agrees."""
    words = [words[0] if words[0] in NOUN_FORMS or words[0] in ("Anna", "Paul") else words[0].lower(), *words[1:]]
    before, after, lemma, persons = verbs_of(words, main)
    if follows:
        assert before == [], "the finite verb comes first after a clause"
    assert not (set(after) & (FINITE.keys() | JOINED.keys() | PARTICIPLES.keys()) - {"sein", "ein"} - set(EIN_WORDS))
    cuts = [a + b for a in phrases(before) for b in phrases(after) if len(a) == (1 if before else 0)]
    assert cuts, f"what stands before the verb is not one phrase, or words do not agree: {before} {after}"
    assert any(fits(cut, lemma, persons) for cut in cuts), f"cases or persons are wrong: {words}"


def check_german(text):
    """Raises an AssertionError where a sentence is not the German that the checker knows."""
    assert text[0].isupper(), "a capital at the start"
    assert text[-1] in ".?" and not re.search(r"[.?]", text[:-1])
    clauses = text[:-1].split(", ")
    for i, clause in enumerate(clauses):
        words = clause.split(" ")
        conjunction = words[0].lower() in CONJUNCTIONS.values()
        assert not set(words[1:]) & set(CONJUNCTIONS.values()), "a comma before a subordinate clause"
        assert conjunction or i == 0 or clauses[0].split(" ")[0].lower() in CONJUNCTIONS.values()
        for word in words[1:]:
            noun = word in NOUN_FORMS or word in ("Anna", "Paul", "Montag", "Sonntag", "Morgen", "Abend", "Tag", "Hause")
            assert noun == word[0].isupper(), f"nouns have capitals, other words do not: {word}"
        check_clause(words[conjunction:], not conjunction, follows=i == 1 and not conjunction)


# By hand


def noun(text):
    """A phrase from its English words: "my old dogs"; a pronoun or a name stands for itself."""
    if text in _words.PRONOUNS:
        return Phrase(pronoun=text)
    *before, last = text.split()
    found = next(n for n in _words.NOUNS if last in (n.english, n.plural))
    adjectives = [a for a in _words.ADJECTIVES if a.english in before]
    determiner = next((word for word in before if word not in [a.english for a in adjectives]), "")
    determiner = {"an": "a", "these": "this"}.get(determiner, determiner)
    return Phrase(found, determiner, last == found.plural, adjectives[0] if adjectives else None)


def say(subject, verb, tense="now", *, front="subject", question=False, negated=False, **parts):
    """The clause as both languages say it."""
    known = [*_words.VERBS, *_words.WEATHER, *_words.SAYING, _words.BE]
    adverbs = {a.english: a for group in _words.ADVERBS.values() for a in group}
    adverbs |= {a.english: a for a in _words.ADJECTIVES}
    asking = {slot: adverb for slot, adverb in _words.ASKING.items() if parts.get(slot) == adverb.english}
    found = {slot: adverbs[text] if text in adverbs else noun(text) for slot, text in parts.items() if slot not in asking}
    verb = next(v for v in known if name(v) == verb and found.keys() | asking.keys() >= v.objects.keys())
    c = Clause(noun(subject), verb, tense, found | asking, negated, front, question)
    return _english.sentence([("", c)]), _german.sentence([("", c)]), c


BY_HAND = [
    (("the old man", "read"), {"acc": "a good book"}, "The old man is reading a good book.", "Der alte Mann liest ein gutes Buch."),
    (("I", "read", "habit"), {"acc": "the newspaper", "frequency": "never"}, "I never read the newspaper.", "Ich lese die Zeitung nie."),
    (("you", "wait"), {"auf": "the small girl"}, "You are waiting for the small girl.", "Du wartest auf das kleine Mädchen."),
    (("he", "find", "past"), {"acc": "three old keys"}, "He found three old keys.", "Er hat drei alte Schlüssel gefunden."),
    (("they", "go", "past"), {"into": "the school"}, "They went to the school.", "Sie sind in die Schule gegangen."),
    (("we", "drive"), {"zu": "the doctor"}, "We are driving to the doctor.", "Wir fahren zum Arzt."),
    (("we", "drive"), {"zu": "my aunt"}, "We are driving to my aunt.", "Wir fahren zu meiner Tante."),
    (("I", "get up", "habit"), {"time": "in the morning", "front": "time"}, "In the morning I get up.", "Am Morgen stehe ich auf."),
    (("I", "get up", "past"), {"time": "today"}, "I got up today.", "Ich bin heute aufgestanden."),
    (("I", "get up", "want"), {"negated": True}, "I do not want to get up.", "Ich will nicht aufstehen."),
    (("she", "watch television", "past"), {}, "She watched television.", "Sie hat ferngesehen."),
    (("she", "give"), {"dat": "the boy", "acc": "an apple"}, "She is giving the boy an apple.", "Sie gibt dem Jungen einen Apfel."),
    (("Anna", "help"), {"dat": "our neighbour"}, "Anna is helping our neighbour.", "Anna hilft unserem Nachbarn."),
    (("the children", "sleep"), {"in": "the dark room"}, "The children are sleeping in the dark room.", "Die Kinder schlafen im dunklen Zimmer."),
    (("my brother", "buy"), {"acc": "a car", "negated": True}, "My brother is not buying a car.", "Mein Bruder kauft kein Auto."),
    (("my brother", "buy"), {"acc": "the car", "negated": True, "time": "today"}, "My brother is not buying the car today.", "Mein Bruder kauft das Auto heute nicht."),
    (("my brother", "buy"), {"acc": "pears", "negated": True}, "My brother is not buying pears.", "Mein Bruder kauft keine Birnen."),
    (("I", "drink"), {"acc": "fresh milk", "negated": True}, "I am not drinking fresh milk.", "Ich trinke keine frische Milch."),
    (("I", "drink"), {"acc": "cold water", "in": "here"}, "I am drinking cold water here.", "Ich trinke hier kaltes Wasser."),
    (("Paul", "be", "past"), {"predicate": "tired", "negated": True}, "Paul was not tired.", "Paul war nicht müde."),
    (("the tired teacher", "live", "past"), {"in": "this city"}, "The tired teacher lived in this city.", "Die müde Lehrerin hat in dieser Stadt gewohnt."),
    (("you", "eat", "may"), {"acc": "your soup", "negated": True}, "You may not eat your soup.", "Du darfst deine Suppe nicht essen."),
    (("the doctor", "work", "have"), {"time": "on Sunday"}, "The doctor has to work on Sunday.", "Der Arzt muss am Sonntag arbeiten."),
    (("you", "call", "will"), {"acc": "them", "front": "", "question": True}, None, None),
    (("he", "pick up"), {"acc": "she", "front": "", "question": True}, "Is he picking her up?", "Holt er sie ab?"),
    (("he", "pick up"), {"acc": "his sister"}, "He is picking up his sister.", "Er holt seine Schwester ab."),
    (("they", "throw away", "past"), {"acc": "the hats", "question": True, "front": ""}, "Did they throw away the hats?", "Haben sie die Hüte weggeworfen?"),
    (("the woman", "visit"), {"acc": "who", "question": True, "front": "acc"}, "Who is the woman visiting?", "Wen besucht die Frau?"),
    (("you", "help", "past"), {"dat": "who", "question": True, "front": "dat"}, "Who did you help?", "Wem hast du geholfen?"),
    (("who", "help"), {"dat": "you", "question": True}, "Who is helping you?", "Wer hilft dir?"),
    (("the bear", "eat", "habit"), {"acc": "what", "question": True, "front": "acc"}, "What does the bear eat?", "Was frisst der Bär?"),
]
