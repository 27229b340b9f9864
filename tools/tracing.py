"""Every number in a sentence is traced to the cell that calculated it, or to the one list of published figures."""

import functools
import io
import json
import pathlib
import re
import tokenize
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import lanes
import yaml

from tested_transformer.book import paper

ROOT = pathlib.Path(__file__).parents[1]
FENCE = re.compile(r"^ *(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)\n(?P<body>.*?)^ *(?P=fence)[`~]* *$", re.M | re.S)
INLINE = re.compile(r"(?:\{[\w:-]+\})?`[^`\n]*`")
NO_WORDS = re.compile(r'\]\([^)]*\)|<!--.*?-->|</?[a-z][\w-]*(?:\s+[\w-]+(?:="[^"]*")?)*\s*/?>|https?://\S+', re.S)
HEADING = re.compile(r"^#{1,4}\s+(.+?)\s*$", re.M)
LINK = re.compile(r'!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)')
# A number as it is written: a sign (behind a word or a bracket it is a dash), thousands in groups, decimals, a power
# of ten, a percent sign. Not 3.2.1 or 13.05.2024, and no part of them.
NUMBER = re.compile(
    r"((?<![\w)\]}])[-–])?(?<![\w.])(\d{1,3}(?:(?:[,\u00a0\u202f]|\\,)\d{3})+(?:\.\d+)?|\d*\.\d+|\d+)(e[-+]?\d+)?"
    r"(?!\.?\d|_\d|[a-z]+\d)((?:\s|\\,)?(?:\\?%|per ?cent\b))?"
)
POWER = re.compile(r"\s*(?:\\cdot|\\times|·|×)\s*10\^\{?(-?\d+)\}?")
BARE = re.compile(r"(?<![\w.])10\^(?:(\d)|\{(-?\d+)\})")
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE = re.compile(rf"(?:\s|\\,|~)+({'|'.join(SCALES)})\b")
SMALLEST = 12  # whole numbers up to here are words of the language: two sentences, three heads
SMALL = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
WORDS = {word: i for i, word in enumerate([*SMALL.split(), "eighteen", "nineteen"], start=1)}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
UNIT = "|".join(list(WORDS)[:9])
# Ordinals count as well, and fractions by what stands below: every fiftieth.
WORDS |= {f"{word}th": i for word, i in WORDS.items() if i > SMALLEST} | {"hundredth": 100, "thousandth": 1000}
TENS |= {f"{word[:-1]}ieth": i for word, i in TENS.items()}
SPELT = re.compile(
    rf"\b(?:({'|'.join(TENS)})(?:-({UNIT}))?|({'|'.join(WORDS)}))((?:[ -](?:{'|'.join(SCALES)})\b)*)"
    r"(\sper ?cent\b)?(?!\w)(?!-\w)",
    re.I,
)
VAGUE = re.compile(r"\b(?:few|half|many|several|some)\s$")
# Places, names, the minutes that an exercise takes and the distance of two lines of a formula are no results.
NAMED = re.compile(
    r"(?:\b(?:arXiv|Chapter|Equation|Figure|NumPy|Python|PyTorch|Section|Table|version)|§)[\s:]*$"
    r"|\b(?:CUDA|Chrome|Chromium|Core|Debian|GTX|Gemma|IPv|Intel|Llama|Pythia|Qwen|RTX|Radeon|Ryzen|Sphinx|Ubuntu|WMT"
    r"|Windows|macOS)[\s-]$"
    r"|\b(?:Chapters|Equations|Figures|Sections|Tables)\s(?:[\d.]+(?:,\s|\s(?:and|to)\s))*$"
)
NO_RESULT = re.compile(r"\\\\\[[\d.]+em\]|^\**\d\. [^*]+\*\* \(\d+ minutes\)|\btakes about [\w-]+ minutes", re.M)
EXPONENT = re.compile(r"\*\* ?\d+\b(?!\.)")  # 2**16 is no 16
CITED = re.compile(r"\{cite(?::\w+)?\}`([\w, ]+)`")
YEAR = re.compile(r"(?:19|20)\d\d")
DATED = re.compile(r"(?:\b(?:[Ii]n|[Oo]f|[Ss]ince|[Bb]y)\s|\bal\.,?\s\(?|\b[A-Z][\w-]+(?:,\s|\s\())$")
"""What stands before a year that is one: in 2017, Vaswani et al. (2017), (Ruder, 2017)."""
COUNTED = re.compile(r"(?<=[Oo]f )\d{4}\s(?!(?:always|as|does|has|is|its|perhaps|sometimes|this|thus|was)\b)[a-z-]+s\b")
"""What looks like a year and is none: two thirds of 1998 sentences."""
FRACTION = re.compile(r"\b(?:an?|one)\s$")
FRACTIONS = {"hundredth": "0.01", "thousandth": "0.001"}  # a thousandth is one, the thousandth word is not

OTHERS = yaml.safe_load((ROOT / "tests" / "book" / "published.yml").read_text(encoding="utf-8"))
EXERCISES = "Exercises"
WIDE = {EXERCISES, "Summary", "Where people go wrong"}
"""Sections that look back on the whole chapter, as its beginning looks ahead."""


class Number(NamedTuple):
    """A number as it was written. `half` is half a unit of its last digit, `decimals` the digits behind its point."""

    text: str
    value: Decimal
    half: Decimal
    decimals: int = 0
    percent: bool = False

    @property
    def counts(self):
        """Must it have been calculated? A small whole number need not."""
        return self.percent or self.half != Decimal("0.5") or abs(self.value) > SMALLEST

    @property
    def only_printed(self):
        """Percentages, and numbers with two or more decimals: a cell must have printed them, its code is not enough."""
        return self.percent or self.decimals > 1

    def within(self, others):
        """Is it one of the others, rounded to as many digits as it has? What stands in code is never rounded.

        Nor is one with a single decimal: in the long numbers of a section, nearly each would be found.
        """
        exact = self.half == Decimal("0.05") and not self.percent
        return any(
            x.percent == self.percent
            and x.half <= self.half
            and abs(x.value - self.value) <= (self.half if x.half and not exact else 0)
            for x in others
        )


def plain(text):
    """A text whose powers of ten are written in one way."""
    return BARE.sub(r"1e\1\2", POWER.sub(r"e\1", text.replace("−", "-")))


def numbers(text) -> Iterator[Number]:
    """All numbers in digits: −0.5, 1,234.50, 1.2 · 10⁻⁵ in LaTeX, 70.7 %, 65 million."""
    return (number for _, number in placed(plain(text)))


def placed(text):
    """The numbers in digits of a plain text, each with the place where it begins."""
    for match in NUMBER.finditer(text):
        before = text[: match.start()]
        if NAMED.search(before) or (
            is_year(match[0]) and DATED.search(before) and not COUNTED.match(text, match.start())
        ):
            continue
        sign, digits, power, percent = match.groups("")
        value = Decimal(sign.replace("–", "-") + re.sub(r"[^\d.]", "", digits) + power)
        scale = SCALE.match(text, match.end())
        times = SCALES[scale[1]] if scale and not percent else 1
        half = Decimal(times).scaleb(value.as_tuple().exponent) / 2
        written = match[0] + (scale[0] if scale else "")
        yield match.start(), Number(written, value * times, half, len(digits.partition(".")[2]), bool(percent))


def is_year(text):
    """Is it a year of which this book may speak? A round 2000 is more often a number of something."""
    return bool(YEAR.fullmatch(text)) and 1940 <= int(text) <= 2040 and text != "2000"


def spelt(text) -> Iterator[Number]:
    """All numbers in words: sixteen, forty-two, ten thousand; no few hundred, no hundreds, nor a hundred, a saying."""
    return (number for _, number in placed_words(text))


def placed_words(text):
    """The numbers in words, each with the place where it begins."""
    for match in SPELT.finditer(text):
        tens, unit, word, scales, percent = match.groups("")
        before = text[: match.start()]
        if VAGUE.search(before):
            continue
        if word in FRACTIONS and FRACTION.search(before):
            part = Decimal(FRACTIONS[word])
            yield match.start(), Number(match[0], part, part / 2)
            continue
        value = TENS[tens.lower()] + (WORDS[unit.lower()] if unit else 0) if tens else WORDS[word.lower()]
        for scale in re.split("[ -]", scales)[1:]:
            value *= SCALES[scale.lower()]
        yield match.start(), Number(match[0], Decimal(value), Decimal("0.5"), percent=bool(percent))


def quoted(words) -> Iterator[Number]:
    """All numbers of a sentence that must have been calculated; a space may separate its thousands."""
    return (number for _, number in placed_quoted(plain(words)))


def placed_quoted(words):
    """They, with their places; first those in digits."""
    found = (*placed(re.sub(r"(?<=\d) (?=\d{3})", "\u202f", words)), *placed_words(words))
    return ((place, number) for place, number in found if number.counts)


def cells(path):
    """The cells of a notebook; a Markdown page counts as one Markdown cell."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [{"cell_type": "markdown", "metadata": {}, "source": text}]
    found = json.loads(text)["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in found]


def slugs(path):
    """The anchors of a page's headings, as the book builder makes them."""
    found = []
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            for heading in HEADING.findall(FENCE.sub("", cell["source"])):
                words = re.sub(r"\$[^$]*\$|\]\([^)]*\)", "", heading)  # mathematics leaves no trace in an anchor
                slug, i = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"), 1
                while slug in found:
                    slug, i = f"{slug}-{i}", i + 1
                found.append(slug)
    return found


class Section(NamedTuple):
    """A section of a page: its title, the anchors in it, its cells. Headings of the second level begin one.

    Below "Going deeper", where each section is folded by itself, those of the third level do, too.
    """

    title: str
    anchors: list[str]
    cells: list[dict]


@functools.cache
def sections(path):
    """The sections of a page; the first is what stands before any second-level heading."""
    found, anchors, level = [Section("", [], [])], iter(slugs(path)), 2
    for cell in cells(path):
        if cell["cell_type"] != "markdown":
            found[-1].cells.append(cell)
            continue
        for part in re.split(r"^(?=###? )", cell["source"], flags=re.M):
            if heading := re.match(r"(##) (.+)" if level == 2 else r"(###?) (.+)", part):
                title = heading[2].strip()
                found.append(Section(title, [], []))
                if heading[1] == "##":
                    level = 3 if title == lanes.DEEPER else 2
            count = len(HEADING.findall(FENCE.sub("", part)))
            found[-1].anchors.extend(next(anchors) for _ in range(count))
            found[-1].cells.append(cell | {"source": part})
    return found


def printed(cell):
    """What a code cell has put out, as text without tags, drawings and shown source."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        yield "".join(output.get("text", ""))
        yield from ("".join(data.get(kind, "")) for kind in ("text/plain", "text/latex"))
        yield FENCE.sub("", "".join(data.get("text/markdown", "")))
        html = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", "".join(data.get("text/html", "")), flags=re.S)
        yield re.sub("<[^>]*>", " ", html)


def tokens(source, kind):
    """The tokens of this kind in code; none in what is no Python."""
    return [string for _, string in placed_tokens(source, kind)]


def placed_tokens(source, kind=tokenize.NUMBER):
    """They, each with its line."""
    try:
        read = tokenize.generate_tokens(io.StringIO(source).readline)
        return [(t.start[0], t.string) for t in read if t.type == kind]
    except (tokenize.TokenError, SyntaxError):
        return []


def constants(source):
    """The numbers that stand in code, exact and of either sign; not those in comments and words, nor exponents."""
    for token in tokens(EXPONENT.sub("", source), tokenize.NUMBER):
        if not re.search("[xXjJ]", token):
            value = Decimal(token.replace("_", ""))
            yield from (Number(token, sign * value, Decimal(0)) for sign in (1, -1))


@functools.cache
def known(path, title, exercises=False):
    """The numbers of a section, or of the page for None: those that its cells printed, and those in their code.

    The cells of an exercise prove nothing outside of the exercises, so those of the page are without them.
    """
    out, code = set(), set()
    for section in sections(path):
        if section.title != title if title is not None else section.title == EXERCISES and not exercises:
            continue
        for cell in section.cells:
            if cell["cell_type"] == "code":
                out.update(n for text in printed(cell) for n in numbers(text))
                code.update(n for source in sources(cell) for n in constants(source))
    return out, code


def sources(cell):
    """The code of a cell, and the sources that it shows."""
    yield cell["source"]
    for output in cell.get("outputs", []):
        text = "".join(output.get("data", {}).get("text/markdown", ""))
        yield from (block["body"] for block in FENCE.finditer(text))


def linked(path, paragraph):
    """The sections that a paragraph links to, each with its page and its known numbers."""
    for link in LINK.findall(paragraph):
        page, _, anchor = link.partition("#")
        target = (path.parent / page) if page else path
        if "://" in link or not target.is_file() or target.suffix not in (".ipynb", ".md"):
            continue
        for section in sections(target):
            if not anchor or anchor in section.anchors:
                yield target, section, known(target, section.title)


def unfenced(text):
    """Markdown without blocks of code; a directive keeps its words."""

    def kept(block):
        return unfenced(block["body"]) if re.match(r"\{(?!code)", block["info"]) else ""

    return FENCE.sub(kept, text)


def paragraphs(section):
    """The paragraphs of a section: of each its kind, its cell, its text, and the text whose links and sources count.

    A comment is one, too, and so are a figure's caption and its alt text, which count together. What a cell shows of
    the package has comments as well, but its numbers stand there for other pages, too.
    """
    for cell in section.cells:
        if cell["cell_type"] == "markdown":
            yield from (("sentence", cell, text, text) for text in re.split(r"\n\s*\n", unfenced(cell["source"])))
        elif cell["cell_type"] == "code":
            yield from (("comment", cell, text, text) for text in tokens(cell["source"], tokenize.COMMENT))
        figure = cell["metadata"].get("mystnb", {})
        caption, alt = figure.get("figure", {}).get("caption", ""), figure.get("image", {}).get("alt", "")
        yield "caption", cell, caption, f"{caption}\n{alt}"
        yield "alt", cell, alt, f"{caption}\n{alt}"


def digits_of(key):
    """The figures of a source as it prints them, and where. Those of the paper are in book/paper.py, too."""
    yield from OTHERS.get(key, {}).items()
    if key == "vaswani2017":
        for name, figure in (paper.GIVEN | paper.PUBLISHED).items():
            yield figure.digits + (" million" if "million" in name else ""), f"{figure.where}: {name}"


def published(paragraph):
    """The figures of the sources that a paragraph cites, and their years: (figure, (key of the source, where)).

    "The paper" is a citation, too.
    """
    keys = {key.strip() for cited in CITED.findall(paragraph) for key in cited.split(",")}
    if not keys and re.search(r"\b[Tt]h(e|is) paper\b", paragraph):
        keys = {"vaswani2017"}
    for key in sorted(keys):
        yield from ((n, (key, where)) for digits, where in digits_of(key) for n in numbers(digits))
        yield from ((n, (key, "its year")) for n in numbers(YEAR.search(key)[0]))


class Quote(NamedTuple):
    """A number that must have been calculated, where it was written: the kind of its paragraph, its cell, its words.

    `own` are the numbers of its section, or of the page; `links` and `listed` are what its paragraph leads to, as it
    was written `around` the number. In `words` it begins at `place`.
    """

    number: Number
    place: int
    kind: str
    section: Section
    cell: dict
    words: str
    around: str
    own: tuple[set[Number], set[Number]]
    links: list
    listed: list[tuple[Number, tuple[str, str]]]

    @property
    def wide(self):
        """Does its section look back on the whole page, or ahead?"""
        return not self.section.title or self.section.title in WIDE

    @property
    def cited(self):
        """The key and the place in a source, for each figure there that is the number; what others printed is exact."""
        wanted = (self.number.value, self.number.percent)
        return [source for figure, source in self.listed if (figure.value, figure.percent) == wanted]

    @property
    def traced(self):
        """Has a cell or a source that number?"""
        if self.cited:
            return True
        pools = [self.own, *(pool for *_, pool in self.links)]
        has = [n for pool in pools for n in pool[0]]
        if not self.number.only_printed:
            has += [n for pool in pools for n in pool[1]]
        return self.number.within(has)


def worded(paragraph):
    """The words of a paragraph: without code, addresses, and what is no result."""
    return plain(NO_RESULT.sub("", NO_WORDS.sub("", INLINE.sub("", paragraph))))


def quotes(path) -> Iterator[Quote]:
    """All numbers of a page that must have been calculated."""
    for section in sections(path):
        wide = not section.title or section.title in WIDE
        own = known(path, None if wide else section.title, section.title == EXERCISES)
        for kind, cell, paragraph, around in paragraphs(section):
            words = worded(paragraph)
            if wanted := sorted(placed_quoted(words), key=lambda one: one[0]):
                links, listed = list(linked(path, around)), list(published(around))
                for place, number in wanted:
                    yield Quote(number, place, kind, section, cell, words, around, own, links, listed)


def untraced(path):
    """Numbers in sentences that neither a cell of the section has, nor one that is linked to, nor a source cited."""
    for quote in quotes(path):
        if not quote.traced:
            words = re.sub(r"\s+", " ", quote.words)
            place = words.find(quote.number.text.replace("\u202f", " "))
            context = words[max(0, place - 40) : place + 40].strip()
            kind = "an alt text" if quote.kind == "alt" else f"a {quote.kind}"
            drawn = "; what is drawn doesn't count, so print it or assert it" * (quote.kind in ("caption", "alt"))
            yield (
                f"{path.name}, {quote.section.title or 'beginning'}: {quote.number.text} stands in {kind} "
                f"({context}), and no cell there has it{drawn}"
            )
