"""What must hold for every chapter, as functions that name what does not. test_guards.py plants each fault."""

import json
import pathlib
import pkgutil
import re
import statistics
from decimal import Decimal

import yaml

from tested_transformer.show import show

ROOT = pathlib.Path(__file__).parents[1]
BOOK = ROOT / "book"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
ORDER = [pathlib.Path(c["file"]).name for part in TOC["parts"] for c in part["chapters"]]

# Figures that others published, quoted with their source in the sentence: the only numbers that no cell has printed.
PUBLISHED: dict[str, str] = {}

NUMBER = re.compile(r"(?<![\w.])[-−–]?\d[\d\u202f ]*(?:\.\d+)?(?:\s?%)?(?![\w.]*\d)")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.M | re.S)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.M)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def cells(path):
    """The cells of a notebook; a Markdown page counts as one Markdown cell."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [{"cell_type": "markdown", "metadata": {}, "source": text}]
    found = json.loads(text)["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in found]


def outputs(path, *mimes):
    """Everything the chapter's cells have put out, as text of these kinds ("stream" for what was printed)."""
    for cell in cells(path):
        for output in cell.get("outputs", []):
            if "text" in output and "stream" in mimes:
                yield "".join(output["text"])
            for mime in mimes:
                if mime in output.get("data", {}):
                    yield "".join(output["data"][mime])


def prose(path):
    """Sentences of a chapter: its Markdown without code and link targets, and the words that describe its figures."""
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", cell["source"]))
            yield re.sub(r"\]\([^)]*\)|<[^>]*>|\{[a-z:]+\}", "", text)
        figure = cell["metadata"].get("mystnb", {})
        yield figure.get("image", {}).get("alt", "")
        yield figure.get("figure", {}).get("caption", "")


def quoted_numbers(text):
    """Numbers that must have been calculated: percentages, and those with two or more decimals."""
    for match in NUMBER.findall(text):
        number = re.sub(r"[\s\u202f]", "", match).lstrip("-−–")
        if number.endswith("%") or len(number.partition(".")[2]) >= 2:
            yield number


def untraced_numbers(path):
    """Numbers in sentences that no cell of the chapter has printed, to the precision quoted."""
    printed = " ".join(outputs(path, "stream", "text/plain", "text/latex"))
    have = [Decimal(number) for number in re.findall(r"\d+(?:\.\d+)?", printed)]
    percentages = [Decimal(number) for number in re.findall(r"(\d+(?:\.\d+)?)\s?\\?%", printed)]
    found = []
    for text in prose(path):
        for number in quoted_numbers(text):
            value = Decimal(number.rstrip("%"))
            half = Decimal(1).scaleb(value.as_tuple().exponent) / 2
            places = -value.as_tuple().exponent
            pool = percentages if number.endswith("%") else [x for x in have if -x.as_tuple().exponent >= places]
            if number not in PUBLISHED and not any(abs(x - value) <= half for x in pool):
                found.append(f"{path.name}: {number} stands in a sentence, and no cell printed it")
    return found


def typed_matrices(path):
    """Matrices of numbers written into Markdown instead of being shown by `matrix`."""
    grids = re.compile(r"\\begin\{([bpv]?matrix|array)\}.*?\\end\{\1\}", re.S)
    typed = [m[0] for text in prose(path) for m in grids.finditer(text) if re.search(r"\d", m[0].partition("}")[2])]
    return [f"{path.name}: a matrix typed by hand: {grid[:60]}" for grid in typed]


def pictures_without_words(path):
    """Pictures without alternative text that says what is to be seen."""
    found = []
    for cell in cells(path):
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        if any("image/png" in o.get("data", {}) for o in cell.get("outputs", [])) and len(alt.split()) < 8:
            found.append(f"{path.name}: a picture without alt text (8 words at least): {alt!r}")
    return found


def shown(path):
    """Full names of all functions and classes whose source the chapter shows, with the Markdown it shows."""
    for text in outputs(path, "text/markdown"):
        match = re.match(r"\*\*`([\w.]+)`\*\*\n", text)
        if match:
            yield match[1], text


def source_that_is_not_real(path):
    """Shown source that differs from the package, and functions pasted into the text."""
    found = []
    for name, text in shown(path):
        try:
            if show(pkgutil.resolve_name(name)).markdown != text:
                found.append(f"{path.name}: {name} is shown as it no longer is")
        except (ImportError, AttributeError):
            found.append(f"{path.name}: {name} is shown, but does not exist")
    for cell in cells(path):
        if cell["cell_type"] == "markdown" and re.search(r"^\s*(def|class) \w+.*:", cell["source"], re.M):
            found.append(f"{path.name}: code pasted into the text: {cell['source'][:60]!r}")
    return found


def slugs(path):
    """The anchors of a page's headings, as the book builder makes them."""
    found = set()
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            for heading in HEADING.findall(FENCE.sub("", cell["source"])):
                plain = re.sub(r"[`*$\\]", "", heading).lower()
                found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def broken_links(path):
    """Links inside the book to pages or headings that do not exist."""
    found = []
    for cell in cells(path):
        if cell["cell_type"] != "markdown":
            continue
        for link in LINK.findall(FENCE.sub("", cell["source"])):
            if re.match(r"\w+:", link):
                continue
            page, _, anchor = link.partition("#")
            target = (path.parent / page) if page else path
            if not target.is_file():
                found.append(f"{path.name}: {link} leads to no file")
            elif anchor and anchor not in slugs(target):
                found.append(f"{path.name}: {link} leads to no heading")
    return found


def too_wide(path):
    """Lines of code that do not fit on the page: of cells, and of shown source."""
    code = [cell["source"] for cell in cells(path) if cell["cell_type"] == "code"]
    lines = "\n".join([*code, *(text for _, text in shown(path))]).splitlines()
    return [f"{path.name}: {len(line)} signs, 88 fit on the page: {line}" for line in lines if len(line) > 88]


def hard_to_read(path):
    """Chapters whose code crowds out the prose."""
    code = [c["source"] for c in cells(path) if c["cell_type"] == "code" and "importlib" not in c["source"]]
    lengths = [len(source.splitlines()) for source in code]
    words = sum(len(text.split()) for text in prose(path))
    found = [
        f"{path.name}: a class in a chapter; it belongs into the package"
        for c in code
        if re.search(r"^class ", c, re.M)
    ]
    if statistics.median(lengths) > 4:
        found.append(f"{path.name}: the middle code cell has {statistics.median(lengths)} lines; 4 is our limit")
    long = [n for n in lengths if n > 12]
    if len(long) > len(lengths) / 10:
        found.append(
            f"{path.name}: {len(long)} of {len(lengths)} code cells have more than 12 lines; can they be functions?"
        )
    if words < 8 * sum(lengths):
        found.append(f"{path.name}: {words} words for {sum(lengths)} lines of code; 8 words a line are our least")
    return found
