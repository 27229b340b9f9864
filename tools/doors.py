"""Where each number of a sentence leads: to the cell that printed it, asserts it or has it, or to its source.

Which numbers have been traced is said by tools/tracing.py. Here stands which of the cells that have a number its
sentence speaks of: one that printed it before one that asserts it, and that before one in whose code it is; the nearest
before the sentence, or else after it. Where only the page is known, and several of its cells have the number, the door
leads to a section, and says so.
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
SENTENCE = re.compile(r"(?<=[.!?:])\**\s+(?=[^a-z\s])|\n(?=\s*(?:\||[>-]\s|\d+\.\s))")
NAMES_SOURCE = re.compile(r"\{cite|\bThe paper\b|\bthe paper \w+s\b|Table|Section")
THE_PAPER = re.compile(r"\b(?:The|the|Transformer's) paper\b")
LONGEST = 160
BESIDE = 2
CHANCE = 3  # with more digits than these a printed number is the same wherever it is found
DUMP = 16  # in a line with so many numbers each of them may be found
EMPTY = re.compile(
    "all|and|any|are|array|assert|but|can|does|each|every|for|from|has|have|int|its|len|more|most|not|ones?|only|our|out|"
    "print|range|section|such|table|than|that|the|their|then|there|these|they|this|two|was|were|when|which|will|with|you"
)


class Door(NamedTuple):
    """Where a number leads. It stands in the cell `at`, in a sentence, a caption or the alt text of a picture.

    `kind` is one of KINDS, "published" or "linked", and "section" where several cells of the page have the number. The
    place is a cell by its id, a key of the bibliography, or (page, anchor) of a section; `line` is what is found there.
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
    """A number in a cell: the place of the cell on its page, its section, itself, of which of KINDS, and the line."""

    at: int
    section: tracing.Section
    cell: dict
    kind: str
    number: tracing.Number
    line: str
    words: frozenset
    strings: frozenset

    @property
    def equal(self):
        """Is it asserted that something is this number?"""
        written, line = re.escape(f"{abs(self.number.value):f}"), re.sub(r"(?<=\d)_(?=\d)", "", self.line)
        return self.kind == "asserted" and re.search(rf"== -?{written}(?![\w.])|(?<![\w.]){written} ==", line)


@functools.cache
def evidence(path):
    """All numbers of the cells of a page, and the place of each of its cells."""
    found, places = [], {}
    for section in tracing.sections(path):
        for cell in section.cells:
            at = places[id(cell)] = len(places)
            if cell["cell_type"] == "code":
                said = stems(" ".join(tracing.tokens(cell["source"], tokenize.STRING)))
                found += [
                    Find(at, section, cell, kind, number, line, stems(line), said if kind == "printed" else frozenset())
                    for kind, number, line in numbers_of(cell)
                ]
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


def weak(number):
    """Can a number be found in many places by chance? A small whole one can, and one with a single decimal."""
    return not number.only_printed and abs(number.value) < 1000


@functools.cache
def doors(path):
    """The doors of a page: one for each number that was traced, but not for those in comments of code."""
    return [door(path, quote) for quote in tracing.quotes(path) if quote.kind != "comment" and quote.traced]


def door(path, quote):
    """Where a number leads."""
    number, words = quote.number, sentence(quote)
    here = (quote.cell.get("id", ""), quote.kind, quote.section.title, start(quote.section))
    made = functools.partial(Door, number, *here, words)
    found = [find for find in evidence(path)[0] if number.within([find.number]) and allowed(number, find.kind)]
    near_by = [find for find in found if find.section.title == quote.section.title]
    inside = next((part for part in SENTENCE.split(quote.around) if clean(tracing.worded(part)) == words), "")
    links = led(path, quote, inside)
    if not near_by and quote.wide:
        mine = {section.title for page, section, _ in links if page == path}
        near_by = [find for find in found if not mine or find.section.title in mine]
    best = chosen(path, quote, near_by)
    in_paper = THE_PAPER.search(inside) and cited(
        quote, inside, known=False, strict=len(quote.cited) > 1 or "the paper's" in inside
    )
    if in_paper:  # it says what was published, whatever the page has calculated
        return made("published", *in_paper)
    if best and best.kind != "in code":
        return made(best.kind, best.cell["id"], best.line, proof(path, best.cell))
    if source := cited(quote, inside, bool(near_by)):
        return made("published", *source)
    if links and (links[0][2] or not near_by):
        page, section, _ = links[0]
        return made("linked", (page.stem, start(section)), section.title)
    if best:
        return made(best.kind, best.cell["id"], best.line, proof(path, best.cell))
    if last := sole(find for find in near_by if find.section.title == quote.section.title):
        best = min(last, key=lambda find: KINDS.index(find.kind))
        return made(best.kind, best.cell["id"], best.line, proof(path, best.cell))
    if not near_by:  # all that is left is what its paragraph cites or leads to, or an exponent
        if source := cited(quote, inside, known=False, strict=False):
            return made("published", *source)
        for page, section, _ in led(path, quote, inside, strict=False):
            return made("linked", (page.stem, start(section)), section.title)
    n_cells = len({id(find.cell) for find in near_by})
    said = f"{n_cells} cells have it" if n_cells > 1 else "somewhere in this section"
    return made("section", (path.stem, common(near_by) if near_by else start(quote.section)), said)


def led(path, quote, inside, strict=True):
    """The sections that a sentence leads to, or else its paragraph, which have its number; and is it printed there?

    What was printed goes first. The rows of a table lead each for itself. By chance alone, no section is meant, unless
    this is all that there is.
    """
    alone = inside.lstrip().startswith("|") and tracing.LINK.search(inside)
    number, said = quote.number, stems(sentence(quote))
    sure = not strict or not weak(number)
    for text in (inside,) if alone else (inside, quote.around):
        found = []
        for page, section, (out, code) in tracing.linked(path, text):
            printed = number.within(out)
            meant = text is inside or sure or spoken_of(page, section, number, said)
            if meant and (printed or (not number.only_printed and number.within(code))):
                found.append((page, section, printed))
        if found:
            return sorted(found, key=lambda one: not one[2])
    return []


def spoken_of(path, section, number, said):
    """Has a line with this number, in a section, a word of a sentence?"""
    finds = (find for find in evidence(path)[0] if find.section is section and number.within([find.number]))
    return any(find.words & said for find in finds)


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


def allowed(number, kind):
    """May a number of this kind be what a sentence has? A rounded one must have been printed."""
    return kind == "printed" or not number.only_printed


def start(section):
    """The anchor of a section."""
    return next(iter(section.anchors), "")


def chosen(path, quote, found):
    """Of what was found for a number, what its sentence speaks of, or None where nothing tells it from the rest.

    A number that can be found by chance needs a word that the sentence and the line have in common, or its cell is one
    of the next two; for an exercise, its own cells go first. Where a text looks back on the page, two such words must
    tell the cell from all others.
    """
    here, said = evidence(path)[1][id(quote.cell)], stems(sentence(quote))
    own = [find for find in found if find.section.title == quote.section.title]
    if quote.section.title == "Exercises":
        own = [find for find in own if here <= find.at < after(path, here)] or own
    if own:
        if weak(quote.number):
            own = [find for find in own if find.kind != "printed" or len(re.findall(r"\d+", find.line)) < DUMP] or own
            spoken = [find for find in own if (find.words | find.strings) & said]
            beside = [find for find in own if abs(find.at - here) <= BESIDE]
            own = spoken or beside or sole(find for find in own if find.equal)
        return min(own, key=lambda find: order(find, quote.number, here, said), default=None)
    exact = quote.number.value.normalize().as_tuple().digits[CHANCE:] and quote.number.only_printed
    if weak(quote.number):
        several = len({id(find.cell) for find in found}) > 1
        found = [find for find in found if len(find.words & said) > several]
    if exact or len({id(find.cell) for find in found}) == 1:
        return min(found, key=lambda find: order(find, quote.number, here, said), default=None)
    return None


def sole(found):
    """What was found, if it is all in one cell, and not among numbers alone."""
    found = list(found)
    spoken = any(find.words or find.equal for find in found)
    return found if spoken and len({id(find.cell) for find in found}) == 1 else []


def order(find, number, here, said):
    """What makes one of several finds the better one, the most important first."""
    rounded = find.number.half != number.half and find.kind == "printed"
    shared = len((find.words | find.strings) & said)
    spoken = -shared if weak(number) else 0
    return KINDS.index(find.kind), spoken, find.at > here, abs(find.at - here), rounded, -shared


def after(path, here):
    """Where the next exercise begins."""
    cells = [cell for section in tracing.sections(path) for cell in section.cells]
    begins = (n for n, cell in enumerate(cells) if n > here and re.match(r"\*\*\d+\.", cell["source"]))
    return next(begins, len(cells))


def common(found):
    """The section of several cells, or the first of their sections."""
    return start(min(found, key=lambda find: find.at).section)


def proof(path, cell):
    """The assertion near a cell: its own last one, or the first one of the next three cells."""
    cells = [one for section in tracing.sections(path) for one in section.cells if one["cell_type"] == "code"]
    (n,) = (n for n, other in enumerate(cells) if other is cell)
    own = asserts(cell["source"])[-1:]
    return short(next(iter(own or [line for other in cells[n + 1 : n + 4] for line in asserts(other["source"])]), ""))


def sentence(quote):
    """The sentence, the row of a table or the item of a list in which a number is."""
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
