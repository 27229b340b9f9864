"""What must hold for every chapter, as functions that name what does not. test_guards.py plants each fault."""

import ast
import functools
import inspect
import pathlib
import pkgutil
import re
import statistics
from itertools import takewhile

import build
import lanes
import pytest
from tracing import FENCE, HEADING, INLINE, LINK, NO_WORDS, cells, slugs

from tested_transformer.book.show import show

ROOT = pathlib.Path(__file__).parents[1]
BOOK = ROOT / "book"
ORDER = [pathlib.Path(name).name for names in build.contents().values() for name in names]

PICTURE = re.compile(r"!\[([^\]]*)\]\(")


def nothing(faults):
    """Fails with the faults that were found, a line each, and without pytest's own lines around them."""
    if found := "\n".join(faults):
        pytest.fail(found, pytrace=False)


def outputs(path, *mimes):
    """Everything the chapter's cells have put out, as text of these kinds ("stream" for what was printed)."""
    for cell in cells(path):
        for output in cell.get("outputs", []):
            if "text" in output and "stream" in mimes:
                yield "".join(output["text"])
            for mime in mimes:
                if mime in output.get("data", {}):
                    yield "".join(output["data"][mime])


def without_code(text):
    """Markdown without fenced and inline code; a directive keeps its words."""

    def kept(block):
        return without_code(block["body"]) if re.match(r"\{(?!code)", block["info"]) else ""

    return INLINE.sub("", FENCE.sub(kept, text))


def prose(path):
    """Sentences of a chapter: its Markdown without code and link targets, and the words that describe its figures."""
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            yield NO_WORDS.sub("", without_code(cell["source"]))
        figure = cell["metadata"].get("mystnb", {})
        yield figure.get("image", {}).get("alt", "")
        yield figure.get("figure", {}).get("caption", "")


def typed_matrices(path):
    """Matrices of numbers written into Markdown instead of being shown by `matrix`; those of symbols are welcome."""
    grids = re.compile(r"\\begin\{([a-zA-Z]*matrix|array)\*?\}(.*?)\\end\{\1\*?\}", re.S)
    found = []
    for text in prose(path):
        for grid in grids.finditer(text):
            if re.search(r"\d", re.sub(r"[_^](\{[^}]*\}|\w)", "", grid[2])):
                found.append(f"{path.name}: a matrix typed by hand: {grid[0][:60]}")
    return found


def pictures_without_words(path):
    """Pictures without alternative text that says what is to be seen."""
    found = []
    for cell in cells(path):
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        if any("image/svg+xml" in o.get("data", {}) for o in cell.get("outputs", [])) and len(alt.split()) < 8:
            found.append(
                f"{path.name}, {cell['id']}: a picture whose metadata lack 8 words in mystnb.image.alt: {alt!r}"
            )
        if cell["cell_type"] == "markdown" and not all(map(str.strip, PICTURE.findall(without_code(cell["source"])))):
            found.append(f"{path.name}: a picture without alt text: {cell['source'][:60]!r}")
    return found


SCRIPTS = BOOK / "_static" / "figures"
FIGURE = re.compile(r"<(\w+)-figure>(.*?)</\1-figure>", re.S)


def figures_without_a_claim(path):
    """Figures that no assert follows: in the same code cell or the next three, and before the next figure."""
    found, code = [], [cell for cell in cells(path) if cell["cell_type"] == "code"]
    for i, cell in enumerate(code):
        if lanes.draws(cell):
            near = [cell, *takewhile(lambda other: not lanes.draws(other), code[i + 1 : i + 4])]
            if not any(re.search(r"^\s*assert ", other["source"], re.M) for other in near):
                rule = "no assert, here or in the next three code cells, holds what is said of the figure"
                found.append(f"{path.name}, {cell['id']}: {rule}: {cell['source'].splitlines()[-1]}")
    return found


def interactive_without_words(path):
    """Interactive figures that lack a caption, a name, tables for those without scripts, or their script."""
    found = []
    for cell in cells(path):
        settings = cell["metadata"].get("mystnb", {})
        html = "".join("".join(o.get("data", {}).get("text/html", "")) for o in cell.get("outputs", []))
        for name, content in FIGURE.findall(html):
            if not settings.get("figure", {}).get("caption"):
                found.append(f"{path.name}: {name}: an interactive figure without a caption")
            if not settings.get("figure", {}).get("name", "").startswith(f"fig-{path.stem}-"):
                found.append(f"{path.name}: {name}: the name of an interactive figure begins with fig-{path.stem}-")
            if not re.search("<table[^>]*><caption>", content):
                found.append(f"{path.name}: {name}: an interactive figure without a table for those without scripts")
            if re.sub(r'<script type="application/json">[^<]*</script>', "", content).count("<script"):
                found.append(f"{path.name}: {name}: a script in an output; only data may stand there")
            if "://" in re.sub(r' xmlns="[^"]*"', "", content):
                found.append(f"{path.name}: {name}: an interactive figure names another host")
            if not (SCRIPTS / f"{name}.js").is_file():
                found.append(f"{path.name}: {name}: there is no script figures/{name}.js")
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
        except (ImportError, AttributeError, TypeError):
            found.append(f"{path.name}: {name} is shown, but does not exist")
    for cell in cells(path):
        if cell["cell_type"] == "markdown" and re.search(r"^\s*(def \w+\(|class \w+[(:])", cell["source"], re.M):
            found.append(f"{path.name}: code pasted into the text: {cell['source'][:60]!r}")
    return found


def broken_links(path):
    """Links inside the book, also of captions, to pages or headings that do not exist."""
    found = []
    for cell in cells(path):
        caption = cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
        for link in LINK.findall(without_code(cell["source"] if cell["cell_type"] == "markdown" else caption)):
            if re.match(r"\w+:", link):
                continue
            page, _, anchor = link.partition("#")
            target = (path.parent / page) if page else path
            if not target.is_file():
                found.append(f"{path.name}: {link} leads to no file")
            elif anchor and anchor not in slugs(target):
                found.append(f"{path.name}: {link} leads to no heading")
    return found


@functools.cache
def names():
    """What pages are called, in small letters: by their files and by their titles."""
    pages = [*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")]
    titles = {HEADING.search(cells(page)[0]["source"])[1].lower(): page.name for page in pages}
    return {page.stem: page.name for page in pages} | titles


def misled_links(path):
    """Links to a page that are called as another page is: [heads](masks.ipynb). A part of the right name will do."""
    found = []
    for cell in (cell for cell in cells(path) if cell["cell_type"] == "markdown"):
        for words, link in re.findall(r"\[([^][]+)\]\((\w+\.(?:ipynb|md))\)", without_code(cell["source"])):
            other = names().get(words.lower(), link)
            if other != link and not any(words.lower() in name for name, page in names().items() if page == link):
                found.append(f"{path.name}: {words} is {other}, and the link leads to {link}")
    return found


def too_wide(path):
    """Lines of code that do not fit on the page: of cells, and of shown source."""
    code = [cell["source"] for cell in cells(path) if cell["cell_type"] == "code"]
    lines = "\n".join([*code, *(text for _, text in shown(path))]).splitlines()
    return [f"{path.name}: {len(line)} signs, 88 fit on the page: {line}" for line in lines if len(line) > 88]


PICTURED = re.compile(r"figures\.|(show|matrix|table|product|beside|softmax_terms)$")
"""Calls whose value a reader is to see."""


def shows_nothing(path):
    """Calls whose value nobody sees, because they are not the last thing in their cell."""
    for cell in (cell for cell in cells(path) if cell["cell_type"] == "code"):
        tree = ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", cell["source"], flags=re.M))
        tried = (node for each in ast.walk(tree) if isinstance(each, ast.Try) for node in ast.walk(each))
        excused = {tree.body[-1], *tried} if tree.body else set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node not in excused:
                name = ast.unparse(node.value.func)
                if PICTURED.match(name):
                    yield f"{path.name}: {name} is not the last thing in its cell, so it shows nothing"


OWN = {"reuse"}
"""Where readers write modules of their own, which are no part of the package."""


def hard_to_read(path):
    """Chapters whose code crowds out the prose."""
    shown = [c for c in cells(path) if c["cell_type"] == "code" and "importlib" not in c["source"]]
    if not shown:
        return []
    code = [c["source"] for c in shown]
    lengths = [len(source.splitlines()) for source in code]
    open_lines = sum(n for c, n in zip(shown, lengths, strict=True) if "hide-cell" not in c["metadata"].get("tags", []))
    words = sum(len(text.split()) for text in prose(path))
    found = [
        f"{path.name}: a class in a chapter; it belongs into the package"
        for c in code
        if re.search(r"^class ", c, re.M) and path.stem not in OWN
    ]
    if statistics.median(lengths) > 4:
        found.append(f"{path.name}: the middle code cell has {statistics.median(lengths)} lines; 4 is our limit")
    long = [n for n in lengths if n > 12]
    if len(long) > len(lengths) / 10:
        found.append(
            f"{path.name}: {len(long)} of {len(lengths)} code cells have more than 12 lines; can they be functions?"
        )
    if words < 8 * open_lines:  # a solution is folded
        found.append(f"{path.name}: {words} words for {open_lines} lines of code; 8 words a line are our least")
    return found


EXERCISE = re.compile(r"\*\*(\d)\. ([^*★]+)\*\* \(\d+ minutes\)\. ★{1,3} (?=[^★\s])")


def exercises_that_lack(path):
    """What every chapter that teaches has in the end: a few exercises, timed and rated, of three kinds at least."""
    text = "\n".join(cell["source"] for cell in cells(path) if cell["cell_type"] == "markdown")
    section = re.search(r"^## Exercises$(.*?)(?=^## |\Z)", text, re.M | re.S)
    lines = re.findall(r"^\*\*\d\. .*$", section[1] if section else "", re.M)
    form, name = "'**1. Predict** (5 minutes). ★ Text'", path.name
    yield from (f"{name}: an exercise begins like {form}, not {x[:40]}" for x in lines if not EXERCISE.match(x))
    found = [match.groups() for match in map(EXERCISE.match, lines) if match]
    if [int(number) for number, _ in found] != list(range(1, len(found) + 1)) or not 3 <= len(found) <= 5:
        yield f"{name}: {len(found)} exercises with a number, minutes and stars; three to five are usual"
    lacking = sorted({"Predict", "Implement", "Break it"} - {kind.partition(",")[0] for _, kind in found})
    yield from (f"{name}: no exercise of the kind {kind}" for kind in lacking)
    source = "\n".join(cell["source"] for cell in cells(path) if cell["cell_type"] == "code")
    for checker in ("check", "check_test"):
        if not re.search(rf"\b{checker}\(", source):
            yield f"{name}: no exercise calls {checker}(), which tells a reader what is wrong with an answer"


def public(package):
    """Full names of the public functions and classes that the modules of a package define."""
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "._" in info.name:  # a private module
            continue
        module = __import__(info.name, fromlist=["_"])
        for name, obj in vars(module).items():
            if (
                not name.startswith("_")
                and inspect.getmodule(obj) is module
                and (inspect.isfunction(obj) or inspect.isclass(obj))
            ):
                yield f"{info.name}.{name}"
