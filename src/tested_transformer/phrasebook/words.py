"""The words of the phrasebook, which of them fit together, and what a clause is."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun in both languages. Its kind says what it can be and do."""

    kind: str
    english: str
    plural: str  # empty where there is none
    german: str
    gender: str  # m, f or n
    german_plural: str
    weak: bool  # der Junge, den Jungen


class Adjective(NamedTuple):
    """An adjective in both languages, and the kinds of nouns that can be so."""

    english: str
    german: str
    kinds: list[str]


class Adverb(NamedTuple):
    """An adverb, or several words that serve as one, and the tenses it goes with."""

    english: str
    german: str
    tenses: str = ""


class Verb(NamedTuple):
    """A verb in both languages, who does it, and what goes with it."""

    english: list[str]  # [write, wrote], [swim, swam, swimming]: where irregular
    particle: str  # the "up" of "get up", the "for" of "look for"
    prefix: str  # the "auf" of "aufstehen"
    german: list[str]  # [lesen, (er) liest, gelesen], where irregular
    auxiliary: str  # of the perfect: haben or sein
    subjects: list[str]
    objects: dict[str, list[str]]  # case or preposition: kinds of nouns
    extras: list[str]


class Phrase(NamedTuple):
    """A noun with what stands before it, or a pronoun, which may stand for a noun."""

    noun: Noun | None = None
    determiner: str = ""
    plural: bool = False
    adjective: Adjective | None = None
    pronoun: str = ""  # or a name


Part = Phrase | Adverb | Adjective
Parts = dict[str, Part]


class Clause(NamedTuple):
    """What a sentence says, before it is said in a language."""

    subject: Phrase
    verb: Verb
    tense: str  # "now", "habit", "past" or a modal
    parts: Parts  # all but subject and verb
    negated: bool = False
    front: str = "subject"  # the part that stands first
    question: bool = False


Meaning = list[tuple[str, Clause]]
"""Clauses in their order, each with its conjunction. The main clause has none."""

# English[/plural] German gender[* where weak] [plural]
# The order of nouns, adjectives and verbs decides which pairs are held out: those of
# the book's thread are (corpus.held_out).
_NOUNS = {
    "adult": """man/men Mann m Männer, woman/women Frau f Frauen,
        student Student m* Studenten, doctor Arzt m Ärzte,
        teacher Lehrerin f Lehrerinnen""",
    "child": """child/children Kind n Kinder, boy Junge m* Jungen,
        girl Mädchen n Mädchen""",
    "relative": """mother Mutter f, father Vater m, brother Bruder m Brüder,
        sister Schwester f Schwestern, friend Freund m Freunde,
        neighbour Nachbar m* Nachbarn""",
    "animal": """dog Hund m Hunde, cat Katze f Katzen, horse Pferd n Pferde,
        bird Vogel m Vögel, bear Bär m* Bären""",
    "music": "music Musik f",
    "word": "word Wort n Wörter, sentence Satz m Sätze",
    "text": "book Buch n Bücher, newspaper Zeitung f Zeitungen",
    "letter": "letter Brief m Briefe, poem Gedicht n Gedichte",
    "soup": "soup Suppe f Suppen",
    "AI": "AI KI f",
    "food": """apple Apfel m Äpfel, cake Kuchen m Kuchen, egg Ei n Eier""",
    "milk": "water Wasser n, milk Milch f",
    "tea": "tea Tee m, coffee Kaffee m",
    "clothes": """coat Mantel m Mäntel, shirt Hemd n Hemden, jacket Jacke f Jacken,
        shoe Schuh m Schuhe""",
    "vehicle": "car Auto n Autos, bicycle Fahrrad n Fahrräder",
    "train": "train Zug m Züge, bus Bus m Busse",
    "machine": """machine Maschine f Maschinen, computer Computer m Computer,
        model Modell n Modelle""",
    "thing": """picture Bild n Bilder, lamp Lampe f Lampen, chair Stuhl m Stühle,
        suitcase Koffer m Koffer""",
    "door": "door Tür f Türen, window Fenster n Fenster",
    "room": "room Zimmer n Zimmer, kitchen Küche f Küchen, office Büro n Büros",
    "place": """garden Garten m Gärten, forest Wald m Wälder, city Stadt f Städte,
        hotel Hotel n Hotels""",
}
PEOPLE = ["adult", "child", "relative"]
LIVING = [*PEOPLE, "animal"]
BARE = ["music", "AI"]  # in the singular without an article: I love music
THINGS = [kind for kind in _NOUNS if kind not in (*LIVING, *BARE)]
_GROUPS = {
    "people": PEOPLE,
    "grown": ["adult", "relative"],
    "living": LIVING,
    "things": THINGS,
    "anything": ["animal", *THINGS, *BARE],
    "texts": ["text", "letter"],
    "drinks": ["milk", "tea"],
    "goods": ["text", "letter", "clothes", "vehicle", "machine", "thing"],
}

# English | German | kinds of nouns
_ADJECTIVES = """
big       | groß       | animal clothes vehicle machine food thing door room place
small     | klein      | child animal clothes vehicle machine food thing door room place
red       | rot        | clothes vehicle door
new       | neu        | anything
young     | jung       | grown animal
good      | gut        | anything
old       | alt        | grown anything
beautiful | schön      | anything
expensive | teuer      | anything
long      | lang       | word texts clothes train
short     | kurz       | word texts clothes train
fresh     | frisch     | food drinks
hot       | heiß       | soup drinks
cold      | kalt       | soup drinks room
friendly  | freundlich | living
tired     | müde       | living
hungry    | hungrig    | living
happy     | glücklich  | people
sick      | krank      | living
boring    | langweilig | word texts music
heavy     | schwer     | machine thing
dark      | dunkel     | room place
"""
GOOD = ["beautiful", "good", "fresh", "new", "friendly", "short"]
BAD = ["old", "expensive", "boring", "heavy", "cold", "dark", "sick", "long"]
REASONS = {  # what one does for it
    "tired": ["sleep", "stay"], "sick": ["sleep", "stay"],
    "hungry": ["eat", "cook", "shop"], "happy": ["sing", "dance", "play"],
    "weather": ["sleep", "stay"],
}  # fmt: skip
MOODS = ["tired", "sick", "hungry", "happy"]

# English [past] [with -ing] | German [er ...] [participle] [sein] | who | what | extras
_VERBS = """
sleep slept | schlafen schläft geschlafen | living | | in
sing sang | singen - gesungen | people | | in mit manner
work | arbeiten | grown | | in mit manner
dance | tanzen | people | | in mit manner
play | spielen | living | | in mit
swim swam swimming | schwimmen - geschwommen sein | living | | mit manner
shop shopped shopping | ein-kaufen | people | | mit
come-back came | zurück-kommen - gekommen sein | living | | mit
get-up got getting | auf-stehen - gestanden sein | people | | manner
go went | gehen - gegangen sein | people | into place | mit
drive drove | fahren fährt gefahren sein | grown | zu people | mit manner
live | wohnen | people | in place | mit
stay | bleiben - geblieben sein | living | in place room | mit
read read | lesen liest gelesen | people | acc word texts | in manner
write wrote | schreiben - geschrieben | people | acc word letter music | in für manner
translate | übersetzen - übersetzt | people machine | acc word texts | in für manner
buy bought | kaufen | people | acc anything | in für
sell sold | verkaufen - verkauft | grown | acc anything |
see saw | sehen sieht gesehen | living | acc living things | in
find found | finden - gefunden | people | acc things animal | in
eat ate | essen isst gegessen | people | acc food soup | in manner
eat ate | fressen frisst gefressen | animal | acc food | in manner
drink drank | trinken - getrunken | people | acc drinks | in manner
drink drank | trinken - getrunken | animal | acc milk | in manner
cook | kochen | people | acc soup | in für mit
make made | kochen | people | acc tea | in für mit
need | brauchen | people | acc anything |
use | benutzen - benutzt | people | acc vehicle machine thing AI | in
have had | haben hat | people | acc clothes vehicle thing animal |
love | lieben | people | acc people anything |
know knew | kennen - gekannt | people | acc people word texts place music |
visit | besuchen - besucht | people | acc people place | mit
look-for | suchen | people | acc anything | in
understand understood | verstehen - verstanden | people | acc people word texts machine AI |
forget forgot forgetting | vergessen vergisst vergessen | people | acc word texts clothes thing |
open | öffnen | people | acc door | manner
close | zu-machen | people | acc door | manner
repair | reparieren - repariert | grown | acc vehicle machine thing door | in manner
call | an-rufen - gerufen | people | acc people |
pick-up | ab-holen | people | acc people vehicle |
tidy-up | auf-räumen | people | acc room | mit
throw-away threw | weg-werfen wirft geworfen | people | acc texts clothes thing |
help | helfen hilft geholfen | people | dat people | in
follow | folgen - gefolgt sein | living | dat living |
listen-to | zu-hören | people | dat people | in
belong-to | gehören - gehört | goods | dat people |
give gave | geben gibt gegeben | people | dat people, acc texts food clothes |
show | zeigen | people | dat people, acc texts thing vehicle animal |
bring brought | bringen - gebracht | people | dat people, acc food soup drinks |
wait | warten | people | auf people train | in mit
talk | sprechen spricht gesprochen | people | über living anything | mit
"""
_BE = "be | sein - gewesen sein | | |"
_WEATHER = """
rain | regnen | | |
snow | schneien | | |
"""
_SAYING = """
know knew | wissen - gewusst | people | |
believe | glauben | people | |
say said | sagen | people | |
hope | hoffen | people | |
"""

# Verbs whose present has no -ing in English, and the modals that suit them
STATES = {
    "see": "can will", "find": "can will", "forget": "will", "need": "will",
    "understand": "can will", "have": "want will", "live": "want can will",
    "love": "", "know": "", "belong": "", "be": "will",
}  # fmt: skip
TIMELESS = ["have", "love", "know", "understand", "belong", "live"]
INSTANTS = ["find", "forget"]  # over before one can say that they happen

ADVERBS = {
    "time": [
        Adverb("today", "heute", "now past modal"),
        Adverb("now", "jetzt", "now modal"),
        Adverb("yesterday", "gestern", "past"),
        Adverb("tomorrow", "morgen", "modal"),
        Adverb("on Monday", "am Montag", "past modal"),
        Adverb("on Sunday", "am Sonntag", "past modal"),
        Adverb("in the morning", "am Morgen", "habit past modal"),
        Adverb("in the evening", "am Abend", "habit past modal"),
        Adverb("every day", "jeden Tag", "habit past modal"),
    ],
    "frequency": [
        Adverb("often", "oft", "habit past modal"),
        Adverb("always", "immer", "habit past modal"),
        Adverb("sometimes", "manchmal", "habit past modal"),
        Adverb("never", "nie", "habit past modal"),
    ],
    "manner": [
        Adverb("quickly", "schnell"),
        Adverb("slowly", "langsam"),
        Adverb("carefully", "vorsichtig"),
    ],
    "in": [
        Adverb("at home", "zu Hause"),
        Adverb("here", "hier"),
        Adverb("outside", "draußen"),
    ],
}
ASKING = {
    "in": Adverb("where", "wo"), "into": Adverb("where", "wohin"),
    "time": Adverb("when", "wann"), "reason": Adverb("why", "warum"),
}  # fmt: skip

POSSESSIVES = {
    "my": "mein", "your": "dein", "his": "sein",
    "her": "ihr", "our": "unser", "their": "ihr",
}  # fmt: skip
NUMBERS = {"two": "zwei", "three": "drei", "four": "vier", "ten": "zehn"}
PREPOSITIONS = {  # German (into: in): English, case
    "mit": ("with", "dat"), "für": ("for", "acc"), "in": ("in", "dat"),
    "into": ("to", "acc"), "zu": ("to", "dat"), "auf": ("for", "acc"),
    "über": ("about", "acc"),
}  # fmt: skip
CONJUNCTIONS = {
    "that": "dass", "because": "weil", "although": "obwohl", "if": "wenn",
}  # fmt: skip
MODALS = {
    "can": "können", "want": "wollen", "may": "dürfen",
    "have": "müssen", "will": "werden",
}  # fmt: skip
# English subject, object | German nominative, accusative, dative | person
PRONOUNS = {
    "I": "I me | ich mich mir | 1", "you": "you you | du dich dir | 2",
    "he": "he him | er ihn ihm | 3", "she": "she her | sie sie ihr | 3",
    "we": "we us | wir uns uns | plural", "they": "they them | sie sie ihnen | plural",
    "m": "it it | er ihn ihm | 3", "f": "it it | sie sie ihr | 3",
    "n": "it it | es es ihm | 3",
    "who": "who who | wer wen wem | 3", "what": "what what | was was was | 3",
    "Anna": "Anna Anna | Anna Anna Anna | 3", "Paul": "Paul Paul | Paul Paul Paul | 3",
}  # fmt: skip
FORMS = {
    pronoun: (english.split(), german.split(), person.strip())
    for pronoun, row in PRONOUNS.items()
    for english, german, person in [row.split("|")]
}
"""The same, cut into the English words, the German ones and the person of the verb."""
NAMES = ["Anna", "Paul"]
_NEW = "", "a", *NUMBERS


def is_new(p: Phrase) -> bool:
    """Is it a dog, two dogs, dogs, not the dog, my dog or music?"""
    bare = p.noun is not None and p.noun.kind in BARE
    return not p.pronoun and not bare and p.determiner in _NEW


def with_s(word: str) -> str:
    """The plural of an English noun, or the third person of a verb."""
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch", "o")) else "s")


def punctuated(words: str, meaning: Meaning) -> str:
    """With a capital at the start and a sign at the end."""
    asks = any(c.question for _, c in meaning)
    return words[0].upper() + words[1:] + ("?" if asks else ".")


def _noun(kind: str, row: str) -> Noun:
    english, german, gender, *german_plural = row.split()
    english, _, plural = english.partition("/")
    plural = (plural or with_s(english)) if german_plural else ""
    weak = gender.endswith("*")
    return Noun(kind, english, plural, german, gender[0], "".join(german_plural), weak)


def _kinds(names: str) -> list[str]:
    return [kind for name in names.split() for kind in _GROUPS.get(name, [name])]


def _rows(table: str) -> list[list[str]]:
    rows = [line.split("|") for line in table.strip().splitlines()]
    return [[field.strip() for field in row] for row in rows]


def _verbs(table: str) -> list[Verb]:
    return [_verb(*row) for row in _rows(table)]


def _verb(english: str, german: str, who: str, what: str, extras: str) -> Verb:
    first, *forms = english.split()
    base, _, particle = first.partition("-")
    infinitive, *german_forms = german.split()
    prefix, _, infinitive = infinitive.rpartition("-")
    auxiliary = "haben"
    if german_forms[-1:] == ["sein"]:
        auxiliary = german_forms.pop()
    objects = {}
    for part in filter(None, what.split(", ")):
        case, _, kinds = part.partition(" ")
        objects[case] = _kinds(kinds)
    return Verb(
        [base, *forms],
        particle,
        prefix,
        [infinitive, *german_forms],
        auxiliary,
        _kinds(who),
        objects,
        extras.split(),
    )


NOUNS = [_noun(kind, row) for kind, rows in _NOUNS.items() for row in rows.split(",")]
ADJECTIVES = [Adjective(e, g, _kinds(kinds)) for e, g, kinds in _rows(_ADJECTIVES)]
VERBS, WEATHER, SAYING = _verbs(_VERBS), _verbs(_WEATHER), _verbs(_SAYING)
(BE,) = _verbs(_BE)
