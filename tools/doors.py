"""Where each number of a sentence leads: to the cell that printed it, asserts it or has it, or to its source.

Which numbers have been traced is said by tools/tracing.py. Here stands which of the cells that have a number its
sentence speaks of: one that printed it before one that asserts it, and that before one in whose code it is; the nearest
before the sentence, or else after it. Where only the page is known, and several of its cells have the number, the door
leads to a section, and says so.

Where none of this finds what is meant, the cell in which the sentence stands says it, in its metadata: the words from
the number on, and the cell and the line that they lead to, as in `"doors": {"45 validation": "train-compare: of 45"}`.
A source is named in the same way; `linked` is the section that the paragraph leads to, and what a question presupposes
is `given`. A mark that meets no number, or no such line, is an error.

The cells of an exercise prove nothing outside of it. What its text says is given by it, unless a source or the page has
it: then it leads there, and never into a solution. What stands in a solution leads to its own cells.
"""

import ast
import functools
import html
import re
import tokenize
from collections import Counter
from typing import NamedTuple

import build
import lanes
import tracing

KINDS = ("printed", "asserted", "in code")
NONE = frozenset()
SENTENCE = re.compile(r"(?<=[.!?:])\**\s+(?=[^a-z\s])|\n(?=\s*(?:\||[>-]\s|\d+\.\s))")
NAMES_SOURCE = re.compile(r"\{cite|\bThe paper\b|\bthe paper \w+s\b|Table|Section")
THE_PAPER = re.compile(r"\b(?:The|the|Transformer's) paper\b|\b(?:Section|Table) [\d.]+ (?:says|has)\b")
LONGEST = 160
BESIDE = 2
CHANCE = 3  # with more digits than these a printed number is the same wherever it is found
ORDINAL = re.compile(r"[a-z]{3}th$")  # every fiftieth is pulled: what is fifty times as large is no such thing
BEGINS = re.compile(r"^\*\*\d+\.", re.M)  # so an exercise does
DUMP = 16  # in a line with so many numbers each of them may be found
NARROW = re.compile(r"[\u00a0\u202f]")
EMPTY = re.compile(
    "all|and|any|are|array|assert|but|can|does|each|for|from|has|have|int|its|len|more|most|not|ones?|only|our|out|"
    "print|range|section|such|table|than|that|the|their|then|there|these|they|this|two|was|were|when|which|will|with|you"
)


class Door(NamedTuple):
    """Where a number leads. It stands in the cell `at`, in a sentence, a caption or the alt text of a picture.

    `kind` is one of KINDS, "published" or "linked", and "section" where several cells of the page have the number. The
    place is a cell by its id, a key of the bibliography, or (page, anchor) of a section; `line` is what is found there.
    What an exercise gives has the kind "given", and leads nowhere.
    """

    number: tracing.Number
    at: str
    where: str
    section: str
    anchor: str
    sentence: str
    kind: str
    place: object
    line: str = ""
    proof: str = ""

    @property
    def key(self):
        """What tells numbers apart in a cell: 0.50 is no 0.5."""
        return identity(self.number)


def identity(number):
    """A number without the way in which it is written."""
    return (number.value, number.half, number.percent)


def short(text):
    """A line without what is too much of it."""
    text = clean(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def near(text, place):
    """The line of what a cell printed in which a number stands; of a long one, what is beside the number."""
    begin = text.rfind("\n", 0, place) + 1
    line = text[begin:].partition("\n")[0]
    first = max(0, place - begin - LONGEST // 2)
    return short(("… " if first else "") + line[first:])


@functools.cache
def asserts(source):
    """The assertions of a cell, each as it is written."""
    found = (node for node in ast.walk(lanes.parsed(source)) if isinstance(node, ast.Assert))
    return [ast.get_source_segment(source, node) or "" for node in sorted(found, key=lambda node: node.lineno)]


class Find(NamedTuple):
    """A number in a cell, of one of KINDS; the place of the cell, the headings before it, and the words it prints."""

    at: int
    section: tracing.Section
    heading: int
    cell: dict
    strings: frozenset
    kind: str
    number: tracing.Number
    line: str

    @property
    def words(self):
        """The beginnings of the words of the line."""
        return stems(self.line)

    @property
    def says(self):
        """They, and the numbers of the line."""
        return spoken(self.line)

    @property
    def equal(self):
        """Is it asserted that something is this number?"""
        written, line = re.escape(f"{abs(self.number.value):f}"), re.sub(r"(?<=\d)_(?=\d)", "", self.line)
        return self.kind == "asserted" and re.search(rf"== -?{written}(?![\w.])|(?<![\w.]){written} ==", line)


@functools.cache
def evidence(path):
    """All numbers of the cells of a page, and the place of each of its cells, with the headings before it."""
    found, places, heading = [], {}, 0
    for section in tracing.sections(path):
        for cell in section.cells:
            at = len(places)
            places[id(cell)] = at, heading
            if cell["cell_type"] == "code":
                texts = stems(" ".join(tracing.tokens(cell["source"], tokenize.STRING)))
                strings = {"printed": texts}
                found += [
                    Find(at, section, heading, cell, strings.get(held[0], NONE), *held) for held in numbers_of(cell)
                ]
            else:
                heading += len(tracing.HEADING.findall(cell["source"]))
    return found, places


def numbers_of(cell):
    """The numbers of a cell, each with its kind and its line."""
    for text in map(html.unescape, tracing.printed(cell)):
        written = tracing.plain(text)
        yield from (("printed", number, near(written, place)) for place, number in tracing.placed(written))
    for line in asserts(cell["source"]):
        yield from (("asserted", number, short(line)) for number in tracing.constants(line))
    for source in tracing.sources(cell):
        lines = source.splitlines()
        for row, token in tracing.placed_tokens(tracing.EXPONENT.sub("", source)):
            yield from (("in code", number, short(lines[row - 1])) for number in tracing.constants(token))


@functools.cache
def stems(text):
    """The beginnings of the words of a text or of a line of code: "losses" and "the_loss" have one in common."""
    return frozenset(word[:5] for word in re.findall(r"[^\W\d_]{3,}", text.lower()) if not EMPTY.fullmatch(word))


@functools.cache
def spoken(line):
    """What a line has in common with a sentence that is about it: the beginnings of its words, and its numbers."""
    found = [number.value.normalize() for _, number in tracing.placed_quoted(tracing.plain(line))]
    return stems(line) | frozenset(map(str, found if len(found) < DUMP else ()))


def said_in(quote):
    """The words of the sentence of a number, and its other numbers."""
    return spoken(sentence(quote)) - {str(quote.number.value.normalize())}


def weak(number):
    """Can a number be found in many places by chance? A small whole one can, and one with a single decimal."""
    return not number.only_printed and abs(number.value) < 1000


@functools.cache
def doors(path):
    """The doors of a page: one for each number that was traced, but not for those in comments of code."""
    found = [quote for quote in tracing.quotes(path) if quote.kind != "comment" and quote.traced]
    marks = {words for cell in lanes.cells(path) for words in cell["metadata"].get("doors", {})}
    if missed := marks - set(map(mark, found)):
        raise ValueError(f"{path.name}: the doors {sorted(missed)} are marked, and no such number was traced")
    return [door(path, quote) for quote in found]


def mark(quote):
    """The words from a number on by which its cell marks where it leads, or None."""
    text, words = (NARROW.sub(" ", part) for part in (quote.number.text.strip(), quote.words[quote.place :]))
    marks = quote.cell["metadata"].get("doors", {})
    return next((said for said in marks if said.startswith(text) and words.startswith(said)), None)


def at_mark(path, quote, made, words):
    """The door that is marked: to a line of a cell, or to what a source says."""
    target = quote.cell["metadata"]["doors"][words]
    if target == "given":
        return made("given", "")
    name, _, line = target.partition(": ")
    if target == "linked":
        return at_section(made, led(path, quote, quote.around, strict=False)[0])
    for find in evidence(path)[0]:
        if find.cell["id"] == name and line in find.line:
            return at_cell(path, made, find)
    for cell in (cell for section in tracing.sections(path) for cell in section.cells if cell["id"] == name):
        for row in cell["source"].splitlines():
            if line in row:  # the number is in no line of its own kind: it is 1e-9 in a name, or a product
                return made("in code", name, short(row), proof(path, cell))
    for source in quote.cited:
        if source[0] == name and line in source[1]:
            return made("published", *source)
    raise ValueError(f"{path.name}: {words!r} is marked to lead to {target!r}, and no cell or source has that")


def door(path, quote):
    """Where a number leads."""
    number, words = quote.number, sentence(quote)
    here = (quote.cell.get("id", ""), quote.kind, quote.section.title, start(quote.section))
    made = functools.partial(Door, number, *here, words)
    if marked := mark(quote):
        return at_mark(path, quote, made, marked)
    found = [find for find in evidence(path)[0] if number.within([find.number]) and allowed(path, quote, find)]
    inside = within(quote, words)
    links = led(path, quote, inside)
    if quote.section.title == tracing.EXERCISES and quote.cell["cell_type"] == "markdown":
        return in_question(path, quote, made, found, inside, links)
    near_by = [find for find in found if find.section.title == quote.section.title]
    if not near_by and quote.wide:
        mine = {section.title for page, section, *_ in links if page == path}
        near_by = [find for find in found if not mine or find.section.title in mine]
    return in_text(path, quote, made, near_by, inside, links)


def in_text(path, quote, made, near_by, inside, links):
    """The door of a number in a sentence: what its cells have, what it cites and where it links to, in this order."""
    best, source = chosen(path, quote, near_by), cited(quote, inside, bool(near_by))
    if paper := in_paper(path, quote, best, inside):
        return made("published", *paper)
    if best and best.kind != "in code" and not (source and weak(quote.number) and not best.says & said_in(quote)):
        return at_cell(path, made, best)
    if source:
        return made("published", *source)
    if links and (links[0][2] or not near_by):
        return at_section(made, links[0])
    if best:
        return at_cell(path, made, best)
    if last := sole(find for find in near_by if find.section.title == quote.section.title):
        return at_cell(path, made, min(last, key=lambda find: KINDS.index(find.kind)))
    if not near_by:  # all that is left is what its paragraph cites or leads to, or an exponent
        if source := cited(quote, inside, known=False, strict=False):
            return made("published", *source)
        links = led(path, quote, inside, strict=False)
    return at_section(made, links[0]) if links else in_section(path, quote, made, near_by)


def in_paper(path, quote, best, inside):
    """What a sentence that names the paper has from there, whatever the page has calculated; not what is announced."""
    words = column(quote, sentence(quote))
    if not THE_PAPER.search(words) or announced(quote, [best] * bool(best), place(path, quote), said_in(quote)):
        return None
    return cited(quote, inside, known=False, strict=len(quote.cited) > 1 or "the paper's" in inside)


def at_cell(path, made, find):
    """The door to a cell."""
    return made(find.kind, find.cell["id"], find.line, proof(path, find.cell))


def at_section(made, link):
    """The door to a section that is linked to."""
    page, section, _, anchor = link
    return made("linked", (page.stem, anchor), section.title)


def within(quote, words):
    """The sentence of a number as it was written, with its links and sources."""
    rows = quote.around.split("\n")
    parts = rows if words.startswith("|") else SENTENCE.split(quote.around)
    return next((part for part in parts if clean(tracing.worded(part)) == words), "")


def column(quote, words):
    """The sentence of a number, or its cell in the row of a table."""
    if not words.startswith("|"):
        return words
    begin, end = quote.words.rfind("|", 0, quote.place), quote.words.find("|", quote.place)
    return quote.words[begin:end]


def in_section(path, quote, made, found):
    """The door to a section where several cells have a number: to the one that speaks most of its sentence."""
    n_cells = len({id(find.cell) for find in found})
    line = f"{n_cells} cells have it" if n_cells > 1 else "somewhere in this section"
    section = max(found, key=lambda find: (akin(path, quote, find), -find.at)).section if found else quote.section
    return made("section", (path.stem, start(section)), line)


def akin(path, quote, find):
    """How many other numbers of a sentence the section of a cell has, and how many words its line and that have.

    A larger number tells as much as two words; a single word, or small number, tells nothing.
    """
    has = {one.number.value for one in evidence(path)[0] if one.section is find.section}
    others = {number.value: 1 + number.counts for number in tracing.numbers(sentence(quote))}
    numbers = sum(weight for value, weight in others.items() if value in has - {quote.number.value})
    shared = numbers + len((find.says | find.strings) & stems(sentence(quote)))
    return shared if shared > 1 else 0


def in_question(path, quote, made, found, inside, links):
    """The door of a number in the text of an exercise, or that it is given.

    A source that is named goes first. A cell of the page must assert it in two words of the sentence, or have one of
    them where no cell of the exercise has the number.
    """
    said, mine = said_in(quote), any(quote.number.within([find.number]) for find in exercise(path, quote))
    if source := cited(quote, inside, known=True):
        return made("published", *source)
    sure = [find for find in found if find.equal and len(find.says & said) > 1]
    if not mine:
        sure = sure or [find for find in found if (find.kind == "printed" or find.equal) and find.says & said]
    if sure:
        here = place(path, quote)
        return at_cell(path, made, min(sure, key=lambda find: order(find, quote.number, here, said)))
    if links and not mine:
        return at_section(made, links[0])
    if not mine and any(not weak(quote.number) or (find.says | find.strings) & said for find in found):
        return in_section(path, quote, made, found)
    return made("given", "")


def exercise(path, quote):
    """The numbers in the cells of the exercise in which a number is."""
    here, _ = evidence(path)[1][id(quote.cell)]
    return [find for find in evidence(path)[0] if here <= find.at < after(path, here)]


def led(path, quote, inside, strict=True):
    """The sections that a sentence leads to, or else its paragraph, which have its number; and is it printed there?

    What was printed goes first. The rows of a table lead each for itself. By chance alone, no section is meant, unless
    this is all that there is.
    """
    alone = inside.lstrip().startswith("|") and tracing.LINK.search(inside)
    number, said = quote.number, said_in(quote)
    sure = not strict or not weak(number)
    for text in (inside,) if alone else (inside, quote.around):
        found = []
        anchors = {link.partition("#")[2] for link in tracing.LINK.findall(text)}
        for page, section, (out, code) in tracing.linked(path, text):
            printed = number.within(out)
            meant = text is inside or sure or spoken_of(page, section, number, said)
            if meant and (printed or (not number.only_printed and number.within(code))):
                anchor = next((anchor for anchor in section.anchors if anchor in anchors), start(section))
                found.append((page, section, printed, anchor))
        if found:
            return sorted(found, key=lambda one: not one[2])
    return []


def spoken_of(path, section, number, said):
    """Has a line with this number, in a section, a word of a sentence?"""
    finds = (find for find in evidence(path)[0] if find.section is section and number.within([find.number]))
    return any(find.says & said for find in finds)


def cited(quote, inside, known, strict=True):
    """The figure of a source that a number is: its key and the place in it, or None.

    One that can be found by chance shares a word with what the source says of it, and where the section has it, too,
    its own sentence names the source.
    """
    row, found = inside.lstrip().startswith("|"), quote.cited
    said = stems(tracing.worded(inside) if row else quote.words)
    if strict and weak(quote.number):
        found = [source for source in found if stems(source[1]) & said]
        if known and not row and not NAMES_SOURCE.search(inside):
            return None
    return max(found, key=lambda source: len(stems(source[1]) & said), default=None)


def allowed(path, quote, find):
    """May a sentence lead to this? A rounded number must have been printed.

    The cells of an exercise are for its own numbers, and its solution only for those that stand in the solution.
    """
    if find.kind != "printed" and quote.number.only_printed:
        return False
    if tracing.EXERCISES not in (quote.section.title, find.section.title):
        return True
    if quote.section.title != tracing.EXERCISES or find.section.title != tracing.EXERCISES:
        return quote.section.title == tracing.EXERCISES and quote.cell["cell_type"] == "markdown"
    here, _ = evidence(path)[1][id(quote.cell)]
    own = start_of(path, here) <= find.at < after(path, here)
    return own and (quote.cell["cell_type"] == "code" or "hide-cell" not in lanes.tags(find.cell))


def start(section):
    """The anchor of a section."""
    return next(iter(section.anchors), "")


def chosen(path, quote, found):
    """Of what was found for a number, what its sentence speaks of, or None where nothing tells it from the rest.

    A number that can be found by chance needs a word that the sentence and the line have in common, or its cell is one
    of the next two. Where a text looks back on the page, two such words must tell the cell from all others.
    """
    here, said = place(path, quote), said_in(quote)
    own = [find for find in found if find.section.title == quote.section.title]
    if own:
        if weak(quote.number):
            own = [find for find in own if find.kind != "printed" or len(re.findall(r"\d+", find.line)) < DUMP] or own
            shared = [find for find in own if (find.says | find.strings) & said]
            beside = [find for find in own if abs(find.at - here[0]) <= BESIDE]
            own = announced(quote, own, here, said) or shared or beside or sole(find for find in own if find.equal)
        return min(own, key=lambda find: order(find, quote.number, here, said), default=None)
    exact = quote.number.value.normalize().as_tuple().digits[CHANCE:] and quote.number.only_printed
    if weak(quote.number):
        several = len({id(find.cell) for find in found}) > 1
        found = [find for find in found if len(find.says & said) > several]
    if exact or len({id(find.cell) for find in found}) == 1:
        return min(found, key=lambda find: order(find, quote.number, here, said), default=None)
    return None


def place(path, quote):
    """The place of a number on its page: its cell, and the headings before it."""
    at, heading = evidence(path)[1][id(quote.cell)]
    if quote.cell["cell_type"] == "markdown":
        source = quote.cell["source"]
        before = source.partition(quote.around)[0]
        heading += len(tracing.HEADING.findall(before + quote.around))
    return at, heading


def announced(quote, found, here, said):
    """What the next cell has, if the sentence before it ends with a colon, and no line near by speaks more of it."""
    last = quote.cell["source"].rstrip()
    ends = last.endswith(":") and last.endswith(quote.around.rstrip()) and clean(quote.words).endswith(sentence(quote))
    spoken = any(find.heading == here[1] and len(find.says & said) > 1 for find in found)
    return [find for find in found if ends and not spoken and find.at == here[0] + 1]


def sole(found):
    """What was found, if it is all in one cell, and not among numbers alone."""
    found = list(found)
    spoken = any(find.words or find.equal for find in found)
    return found if spoken and len({id(find.cell) for find in found}) == 1 else []


def order(find, number, here, said):
    """What makes one of several finds the better one, the most important first."""
    at, heading = here
    rounded = find.number.half != number.half and find.kind == "printed"
    in_line, shared = len(find.says & said), len((find.says | find.strings) & said)
    by_words = (-in_line, -shared) if weak(number) else ()
    far, by_line = find.heading != heading, -shared if ORDINAL.search(number.text) else 0
    nearest = find.at > at, abs(find.at - at)
    return far, by_line, KINDS.index(find.kind), by_words, *nearest, rounded, not find.equal, -shared


def start_of(path, here):
    """Where an exercise begins."""
    cells = [cell for section in tracing.sections(path) for cell in section.cells]
    return max((n for n, cell in enumerate(cells[: here + 1]) if BEGINS.search(cell["source"])), default=here)


def after(path, here):
    """Where the next exercise begins."""
    cells = [cell for section in tracing.sections(path) for cell in section.cells]
    begins = (n for n, cell in enumerate(cells) if n > here and BEGINS.search(cell["source"]))
    return next(begins, len(cells))


def proof(path, cell):
    """The assertion near a cell: its own last one, or the first one of the next three cells."""
    cells = [one for section in tracing.sections(path) for one in section.cells if one["cell_type"] == "code"]
    (n,) = (n for n, other in enumerate(cells) if other is cell)
    own = asserts(cell["source"])[-1:]
    return short(next(iter(own or [line for other in cells[n + 1 : n + 4] for line in asserts(other["source"])]), ""))


def sentence(quote):
    """The sentence, the row of a table or the item of a list in which a number is."""
    line = quote.words.rfind("\n", 0, quote.place) + 1
    if quote.words.startswith("|", line):
        return clean(quote.words[line:].partition("\n")[0])
    ends = [0, *(m.end() for m in SENTENCE.finditer(quote.words)), len(quote.words)]
    begin = max(end for end in ends[:-1] if end <= quote.place)
    return clean(quote.words[begin : min(end for end in ends if end > quote.place)])


def clean(text):
    """A text in a line."""
    return re.sub(r"\s+", " ", text).strip()


def counted(found):
    """How many doors of each kind there are."""
    return Counter(one.kind for one in found)


def pages():
    """The notebooks of the book, in its order."""
    names = (f"{name}.ipynb" for part in [["book/index"], *build.contents().values()] for name in part)
    return [path for name in names if (path := tracing.ROOT / name).is_file()]


if __name__ == "__main__":
    print(counted(one for path in pages() for one in doors(path)))
