"""What an editor wants to know of the pages, and no test forbids: form, lengths, words, letters, assertions gone.

make report                                             # all pages
make report CHAPTERS=book/heads.ipynb SINCE=HEAD~3      # one, and what it has asserted no more since a commit
"""

import argparse
import ast
import builtins
import pathlib
import re
import signal
import subprocess
import sys
from collections import Counter

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("tools", "book/_ext")]

import build
import claims
import glossary
import guards
import lanes
import notebooks
import numpy as np
import routes
import terms
import torch
import tracing
import yaml

FRONT = "index"
THREE_LINES = "In three lines"
END = lanes.LANES  # how the headings of the second level end, the questions only where a part does

ANSWER = re.compile(r"^<details><summary>Show the answer</summary>\n\n.+\]\(.+\)\n\n</details>$", re.M)

WORDS, PAGE_WORDS, OPEN_CELLS = 1200, 2500, 20
LONG, NUMBERS = 35, 20
MINUTES, ON_AVERAGE = 8, 7
LONGER = dict.fromkeys(("attention", "transformer", "translation"), 12)
FIRST_SCREEN = 120  # so many words end at 420 px of a window that is 1280 px wide, so a picture below them is seen
LISTS = yaml.safe_load((guards.ROOT / "tests" / "book" / "words.yml").read_text(encoding="utf-8"))


def headings(path):
    """The headings of the second level, in order."""
    texts = (guards.FENCE.sub("", cell["source"]) for cell in guards.cells(path) if cell["cell_type"] == "markdown")
    return [heading.strip() for text in texts for heading in re.findall(r"^## (.+)$", text, re.M)]


def earlier(path):
    """The pages before a page in the order of the table of contents, the front page first."""
    order = [FRONT, *guards.ORDER]
    names = [f"{stem}{suffix}" for stem in order[: order.index(path.stem)] for suffix in (".ipynb", ".md")]
    return [page for page in map(path.with_name, names) if page.exists()]


def folded(cell):
    """Is this code cell taken off the page, or folded by its tag?"""
    return bool(set(cell["metadata"].get("tags", ())) & {"remove-cell", "hide-cell"})


def open_cells(path):
    """The code cells of the idea lane whose code, or what they show of the package, is read without a click."""
    kinds = lanes.kinds(path)
    for lane, _, cell in lanes.parts(path):
        code = cell["cell_type"] == "code" and not folded(cell)
        if lane == "idea" and code and lanes.is_open(cell, kinds.get(cell["id"], ""), lane):
            yield cell


# The lanes


def over_budget(path):
    """What a chapter has too much of: words, open cells, minutes. The list of letters is looked up, not read."""
    parts = list(lanes.parts(path))
    idea = [part for part in parts if part.lane == "idea"]

    def words(parts):
        texts = (part.cell["source"] for part in parts if part.cell["cell_type"] == "markdown")
        return sum(lanes.words(without_list(path, text)) for text in texts)

    found = [
        ("words in the idea lane", words(idea), WORDS),
        ("open cells in the idea lane", len(list(open_cells(path))), OPEN_CELLS),
        ("minutes in the idea lane", lanes.seconds(idea, lanes.kinds(path)) / 60, LONGER.get(path.stem, MINUTES)),
        ("words without exercises", words(part for part in parts if part.lane != "exercises"), PAGE_WORDS),
    ]
    return [f"{path.name}: {round(n, 1):g} {what}; {most} are the most" for what, n, most in found if n > most]


def ends_a_part(path):
    """Is this the last page of a part of the story?"""
    last = {names[-1] for names in build.contents().values()}
    return f"book/{path.stem}" in last and routes.route(path.stem) != "reference"


def out_of_form(path):
    """What the two lanes of a chapter lack, or have in another order."""
    titles, parts = headings(path), list(lanes.parts(path))
    end = [title for title in END if title != lanes.QUESTIONS or ends_a_part(path)]
    ideas = titles[: -len(end)]
    if not ideas or titles != ideas + end or set(ideas) & set(END):
        yield f"{path.name}: its sections are not ideas and then {', '.join(end)}, but {', '.join(titles)}"
    if not any(re.match("### ", part.cell["source"]) for part in parts if part.lane == "deeper"):
        yield f"{path.name}: no section of the third level below {lanes.DEEPER}"
    if any(part.cell["cell_type"] == "code" for part in parts if part.section == lanes.DEEPER):
        yield f"{path.name}: a cell between {lanes.DEEPER} and its first section: it would belong to none"
    text = "".join(part.cell["source"] for part in parts if part.section == THREE_LINES)
    if text and (items := len(re.findall(r"^(?:[-*]|\d\.) ", text, re.M))) != 3:
        yield f"{path.name}: {THREE_LINES}: a list of {items}"
    text = "".join(part.cell["source"] for part in parts if part.section == lanes.QUESTIONS)
    asked, answered = re.findall(r"^\*\*\d\.\*\* .*\?$", text, re.M), ANSWER.findall(text)
    if ends_a_part(path) and (len(asked), len(answered)) != (5, 5):
        yield f"{path.name}: {len(asked)} questions, {len(answered)} answers that say where; five and five"


def late_picture(path):
    """Says what stands before the first picture, if it is more than the first screen holds."""
    kinds, words = lanes.kinds(path), 0
    for lane, _, cell in lanes.parts(path):
        if cell["cell_type"] == "markdown":
            words += lanes.words(cell["source"])
        elif not folded(cell):
            if lanes.draws(cell):
                too_many = words > FIRST_SCREEN
                return [f"{path.name}: {words} words before the first picture; {FIRST_SCREEN} fit"] * too_many
            if cell["outputs"] or lanes.is_open(cell, kinds.get(cell["id"], ""), lane):
                return [f"{path.name}: before the first picture stands {cell['source'][:60]!r}"]
    return [f"{path.name}: no picture"]


def unheld_guess(path):
    """Says which guess of the idea lane no sight and no assert follow."""
    code, guesses = [], []
    for lane, _, cell in lanes.parts(path):
        if lane == "idea" and cell["cell_type"] == "code":
            code.append(cell)
        elif lane == "idea":
            paragraphs = re.split(r"\n\s*\n", cell["source"])
            guesses += [(text, len(code)) for text in paragraphs if lanes.GUESS.match(text)]
    for text, n in guesses:
        near = code[n : n + 3]
        if not any(cell["outputs"] for cell in near) or not any(lanes.claims(cell["source"]) for cell in near):
            yield f"{path.name}: no sight, or no assert, in the three cells after the guess {text[:60]!r}"


def open_claims(path):
    """Says which open cells of the idea lane assert more than one thing: checks are for those who open their mark."""
    kinds = lanes.kinds(path)
    for lane, _, cell in lanes.parts(path):
        if lane == "idea" and kinds.get(cell["id"]) == "" and lanes.claims(cell["source"]) > 1:
            why = "its cell is not folded, as it does more than assert or binds a name that a later cell reads"
            yield f"{path.name}, {cell['id']}: {lanes.claims(cell['source'])} claims stand open; {why}"


# The list of letters

LIST = re.compile(r"^### Letters$.*?(?=^##|\Z)", re.M | re.S)


def without_list(path, text):
    """Text of a page; in Notation without the list of letters, which has letters and words of later chapters."""
    return LIST.sub("", text) if path.stem == "notation" else text


# The words

PYTHON = set(dir(builtins)).union(*map(dir, (bytes, dict, float, int, list, set, str, tuple)))
ARRAYS = set(dir(np.ndarray)) | set(dir(torch.Tensor))
LIBRARIES = {"np", "torch", "nn", "F"}


def called(source):
    """The names of NumPy and PyTorch that code calls, and the methods of their arrays, but for Python's own names."""
    for node in ast.walk(lanes.parsed(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            library, name = ast.unparse(node.func).partition(".")[0], node.func.attr
            if name not in PYTHON and (library in LIBRARIES or name in ARRAYS):
                yield name


def code_in(cell):
    """The code of a cell, and what it shows of the package."""
    yield cell["source"]
    for output in cell["outputs"]:
        for block in guards.FENCE.finditer("".join(output.get("data", {}).get("text/markdown", ""))):
            yield block["body"]


def unnamed(path):
    """Names of NumPy and PyTorch called in open cells of the idea lane that no sentence has named up to this page."""
    cells = (cell for page in [*earlier(path), path] for cell in guards.cells(page))
    text = "\n\n".join(tracing.unfenced(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    inline = " ".join(guards.INLINE.findall(text))
    names = {name for cell in open_cells(path) for code in code_in(cell) for name in called(code)}
    for name in sorted(names):
        in_words = name in LISTS["names"] and re.search(rf"\b(?:{LISTS['names'][name]})", text, re.I)
        if not in_words and not re.search(rf"\b{name}\b", inline):
            yield f"{path.name}: {name} is called, and no sentence has named it, neither here nor earlier"


def homes(page):
    """The names of each term of a glossary, and its home: the first page of the book that its entry links to."""
    for title, meaning in (entry for block in glossary.blocks(page) for entry in block):
        links = {link.partition("#")[0].removesuffix(".ipynb") for link in guards.LINK.findall(meaning)}
        home = next((stem for stem in guards.ORDER if stem in links), None)
        if home:
            yield from ((name, home) for name in terms.names(title))


def early_terms(path, page=guards.BOOK / "glossary.md"):
    """Terms of the glossary that a chapter uses behind its opening, before their home page; a list excuses some."""
    if path.stem == FRONT:
        return
    parts = [part for part in lanes.parts(path) if part.section and part.cell["cell_type"] == "markdown"]
    text = without_list(path, "\n\n".join(part.cell["source"] for part in parts))
    text = guards.LINK.sub("", guards.without_code(text))
    for name, home in sorted(homes(page), key=lambda term: -len(term[0])):
        term = terms.Term(name, "", "", frozenset())
        found = terms.occurrence(term, text)
        if found and name not in LISTS["early"] and guards.ORDER.index(home) > guards.ORDER.index(path.stem):
            words = " ".join(text[max(0, found.start() - 40) : found.end() + 20].split())
            yield f"{path.name}: {name} is explained later, in {home} ({words})"
        while found := terms.occurrence(term, text):  # what is left may be part of no longer term
            text = f"{text[: found.start()]} {text[found.end() :]}"


def house_words(path):
    """Private expressions in sentences for which the field has a word, and "nobody" more than once in a chapter."""
    text = re.sub(r"\s+", " ", " ".join(guards.prose(path)))
    for private, word in LISTS["house"].items():
        if found := [*re.finditer(rf"(?<![\w-]){private}(?![\w-])", text, re.I)]:
            first, times = found[0], f", {len(found)} times" if len(found) > 1 else ""
            near = text[max(0, first.start() - 40) : first.end() + 20]
            yield f'{path.name}: "{first[0]}"{times}: say {word} ({near})'
    found = re.findall(r"\b(?:nobody|whoever)\b", text, re.I)
    if path.suffix == ".ipynb" and len(found) > 1:  # the README quotes the questions of all chapters
        yield f"{path.name}: {' and '.join(found)}: once in a page is enough"


# The letters

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi"
GREEK = {*GREEK.split(), "omega", "ell"}
NO_LETTERS = re.compile(
    r"\\(?:begin|end)\{\w+\*?\}(?:\{[lcr|]+\})?|\\(?:math[a-z]+|operatorname\*?|text[a-z]*)\s*(?:\{[^{}]*\}|\w)|\\\\\[[^]]*\]"
)
EVERYWHERE = "everywhere"


def formulas(path):
    """Everything between dollars in sentences and captions, and the formulas that cells display."""
    texts = [*(without_list(path, text) for text in guards.prose(path)), *guards.outputs(path, "text/latex")]
    return [inner for text in texts for two in re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.S) for inner in two]


def letters_in(formula):
    """The letters of a formula; words, names of functions and the sign of the transpose are none."""
    for command, letter in re.findall(r"\\([A-Za-z]+)|([A-Za-z])", NO_LETTERS.sub(" ", formula)):
        if letter or command.removeprefix("var").lower() in GREEK:
            yield letter or f"\\{command}"


def listed(page=guards.BOOK / "notation.ipynb"):
    """The list of letters: for each letter the chapters where it has this meaning, or EVERYWHERE."""
    texts = [cell["source"] for s in tracing.sections(page) if s.title == "Letters" for cell in s.cells]
    for letters, where in re.findall(r"^\|([^|]+)\|[^|]+\|([^|]+)\|$", "\n".join(texts), re.M):
        chapters = re.findall(r"\]\((\w+)\.ipynb\)", where) or [where.strip()]
        yield from ((letter, chapter) for letter in re.findall(r"\$([^$]+)\$", letters) for chapter in chapters)


def letters_with_two_meanings(page):
    """Letters that the list has twice for one chapter."""
    found = Counter(listed(page))
    for letter, chapter in found:
        if found[letter, chapter] + (chapter != EVERYWHERE and found[letter, EVERYWHERE]) > 1:
            yield f"{page.name}: {letter} has two meanings in {chapter}"


def letters_without_a_meaning(path, page=guards.BOOK / "notation.ipynb"):
    """Letters in the formulas of a chapter that the list does not have; what has a subscript there is one letter."""
    given = {letter for letter, chapter in listed(page) if chapter in (EVERYWHERE, path.stem)}
    found = {}
    for formula in formulas(path):
        rest = formula
        for letter in sorted(given, key=len, reverse=True):
            if not re.fullmatch(r"\\?[A-Za-z]+", letter):
                rest = rest.replace(letter, " ")
        found |= {letter: formula for letter in letters_in(rest) if letter not in given}
    return [
        f"{path.name}: no row of {letter} in the list of letters names this page ({found[letter].strip()[:60]})"
        for letter in sorted(found)
    ]


# The sentences


def long_sentences(path):
    """Sentences of more than 35 words, and an idea lane with more than 20 numbers in 1,000 words."""
    for text in guards.prose(path):
        lines = re.sub(r"^[|#].*$", "", re.sub(r"(?s)\$\$.*?\$\$", "", text), flags=re.M)
        for sentence in re.split(r"(?<=[.?!:])\s+|\n\s*\n", lines):
            if (n := len(sentence.split())) > LONG:
                yield f"{path.name}: a sentence of {n} words: {' '.join(sentence.split())[:60]}"
    if path.suffix != ".ipynb":
        return
    words = found = 0
    for lane, _, cell in lanes.parts(path):
        if lane == "idea" and cell["cell_type"] == "markdown":
            text = guards.without_code(cell["source"])
            words += lanes.words(cell["source"])
            found += len([*tracing.numbers(text), *tracing.spelt(text)])
    if words > 100 and (n := 1000 * found / words) > NUMBERS:
        yield f"{path.name}: {n:.0f} numbers in 1,000 words of the idea lane, spelt-out ones too; {NUMBERS} are enough"


# The assertions


def gone(path, commit):
    """What a chapter asserted in a commit and asserts no more."""
    at = f"{commit}:./{path.name}"
    done = subprocess.run(["git", "show", at], cwd=path.parent, capture_output=True, check=False)
    if done.returncode:
        if b"invalid object name" in done.stderr:
            sys.exit(f"Git knows no commit {commit}")
        return  # the chapter is new
    for claim in sorted(claims.claims(path, done.stdout.decode()) - claims.claims(path)):
        yield f"{path.name}: gone since {commit}: {claim}"


ALL = (house_words, long_sentences)
CODE = (guards.hard_to_read, guards.too_wide)
STORY = (over_budget, late_picture, unnamed, early_terms, letters_without_a_meaning, open_claims)
LANES = (out_of_form, unheld_guess, guards.exercises_that_lack)


def report(path, commit):
    """All that is to be said of a page."""
    if path.parent == guards.BOOK and path.stem not in (FRONT, *guards.ORDER):
        yield f"{path.name}: not in _toc.yml, where its place among the chapters has to stand"
        return
    story = path.suffix == ".ipynb" and routes.route(path.stem) != "reference"
    checks = [*ALL, *(CODE if path.suffix == ".ipynb" else ()), *(STORY if story else ())]
    checks += LANES if story and path.stem != FRONT else ()
    for check in checks:
        yield from check(path)
    if path.stem == "notation":
        yield from letters_with_two_meanings(path)
    if commit and path.suffix == ".ipynb":
        yield from gone(path, commit)


def main():
    """Say it. The exit status is 0: an editor decides."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "pages", nargs="*", type=pathlib.Path, metavar="PAGE", help="such as book/attention.ipynb; all without one"
    )
    parser.add_argument("--since", metavar="COMMIT", help="name what is asserted no more")
    given = parser.parse_args()
    documents = [guards.ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    everything = [*notebooks.chapters(), *sorted(guards.BOOK.glob("*.md")), *documents]
    try:
        pages = [path if path.suffix == ".md" and path.is_file() else notebooks.chapter(path) for path in given.pages]
    except FileNotFoundError as error:
        parser.error(str(error))
    for page in pages or everything:
        for line in report(page.resolve(), given.since):
            print(line)
    if not given.pages:
        minutes = [routes.times(name).idea for name in routes.pages() if routes.route(name) == "story"]
        print(f"an idea takes {sum(minutes) / len(minutes):.1f} minutes on average; {ON_AVERAGE} are enough")


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `make report | head` is no accident
    main()
