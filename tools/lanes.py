"""The two lanes of a chapter, and what a page shows of each code cell: the build folds by this, the guards count by it.

A chapter tells its idea first. Below the heading "Going deeper" stands what waits for a second reading; its sections
have headings of the third level. Exercises and a summary follow. Jupyter shows everything in this order.
"""

import ast
import functools
import json
import re
from typing import NamedTuple

DEEPER = "Going deeper"
GUESS = re.compile(r"\W*(Before you look|Guess first)\b")  # so a question begins whose answer waits
QUESTIONS = "Five questions on this part"
LANES = {DEEPER: "deeper", "Exercises": "exercises", QUESTIONS: "exercises", "Summary": "summary"}
SHORT = 12  # so many lines of source stay open in the idea lane
SUMS = {"product", "softmax_terms"}  # they write out every term
DISPLAYS = {"matrix", "beside", "table"} | SUMS
READ = {"show", "figures", "example"}  # the rooms of `book` whose names a reader has learned to read
SETTINGS = {
    "set_printoptions",
    "simplefilter",
    "set_num_threads",
    "manual_seed",
    "default_rng",
    "use_deterministic_algorithms",
}

UNTOUCHED = {"remove-cell", "hide-cell", "raises-exception"}

WORDS_A_MINUTE, SECONDS_A_LINE, SECONDS_A_PICTURE, SECONDS_A_SIGHT = 200, 2, 20, 10


class Part(NamedTuple):
    """A cell, or the piece of a Markdown cell between two headings, with its lane and its section."""

    lane: str
    section: str
    cell: dict


def cells(path):
    """The cells of a notebook, their sources as strings."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in found]


def parts(path):
    """The cells of a chapter in order; Markdown is cut at its headings, deeper at those of level three, too."""
    lane, section = "idea", ""
    for cell in cells(path):
        if cell["cell_type"] != "markdown":
            yield Part(lane, section, cell)
            continue
        for piece in re.split(r"^(?=###? )", cell["source"], flags=re.M):
            if heading := re.match(r"(##) (.+)" if lane != "deeper" else r"(###?) (.+)", piece):
                section = heading[2].strip()
                lane = LANES.get(section, lane) if heading[1] == "##" else lane
            if piece.strip():
                yield Part(lane, section, cell | {"source": piece})


@functools.cache
def parsed(source):
    """The code of a cell as a tree, made once; lines that only Jupyter understands are passed over."""
    return ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", source, flags=re.M))


@functools.cache
def claims(source):
    """How many assertions stand in the code of a cell."""
    return sum(isinstance(node, ast.Assert) for node in ast.walk(parsed(source)))


def named(node, how):
    """The names that a piece of code asks for (ast.Load), or binds (ast.Store)."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, how)}


def needed(body, later):
    """The names that must be there before these statements, if those of `later` are asked for after them."""
    for statement in reversed(body):
        asked = named(statement, ast.Load)
        match statement:
            case ast.Assign(targets=targets):
                later = later - {name for target in targets for name in named(target, ast.Store)}
            case ast.For(target=target, iter=over, body=inner, orelse=[]):
                asked = named(over, ast.Load) | (needed(inner, later) - named(target, ast.Store))
            case ast.Import() | ast.ImportFrom():
                later = later - bound(statement)
        later = later | asked
    return later


def kind(cell, later=frozenset()):
    """What a page does with a code cell.

    Returns:
        "set-up": it only imports and sets up; "checked": it only asserts (what it makes for that is used nowhere
        later); "source": it shows a function of the package; "call": it only displays something, so that its output
        is enough; "": it is code to be read. (`kinds` has one more, "sum": see `seen_before`.)

    Args:
        cell: a code cell of a notebook.
        later: the names that later cells ask for.

    """
    body = parsed(cell["source"]).body
    if not body:
        return ""
    if any(output["output_type"] != "error" for output in cell["outputs"]):
        *before, last = body
        called = _called(last)
        if not all(
            isinstance(s, ast.Import | ast.ImportFrom) or _called(s) in DISPLAYS | SETTINGS | {"show"} for s in before
        ):
            quiet = all(isinstance(s, ast.Assign | ast.Import | ast.ImportFrom | ast.For) for s in before)
            return "call" if quiet and (called.startswith("figures.") or called == "table") else ""
        if called == "show":
            return "source"
        return "call" if called in DISPLAYS or called.startswith("figures.") else ""
    if claims(cell["source"]):
        return "checked" if all(_serves(statement, later) for statement in body) else ""
    imports = any(isinstance(s, ast.Import | ast.ImportFrom) for s in body)
    return "set-up" if all(_sets_up(s, imports) for s in body) else ""


def _called(statement):
    """The function that a statement calls, by its name; those of `figures` with their room."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name = ast.unparse(statement.value.func)
        return name if name.startswith("figures.") else name.rpartition(".")[2]
    return ""


def _serves(statement, later):
    """Does a statement claim something, or make something that nothing else needs?"""
    if isinstance(statement, ast.Assert):
        return True
    if isinstance(statement, ast.For | ast.With | ast.If):
        return all(_serves(inner, later) for inner in statement.body)
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.FunctionDef | ast.Import | ast.ImportFrom):
        return not bound(statement) & later
    return _called(statement) in SETTINGS


def bound(statement):
    """The names that a statement binds or changes."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _sets_up(statement, imports):
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.Assign):
        value = statement.value
        return imports or (isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in SETTINGS)
    return _called(statement) in SETTINGS


def scenery(code):
    """The names that a chapter imports from `tested_transformer.book`: they serve an experiment, and teach nothing."""
    for part in code:
        for statement in parsed(part.cell["source"]).body:
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("tested_transformer.book"):
                room = statement.module.split(".")[2:]
                yield from (alias.asname or alias.name for alias in statement.names if not {*room, alias.name} & READ)


def kinds(path):
    """What a page does with each code cell of a chapter, by the cell's id; exercises stay as they are.

    In the idea lane, code that reads the scenery of an experiment is folded: what it prints is enough. A function
    stays.
    """
    told = list(parts(path))
    code = [part for part in told if part.cell["cell_type"] == "code"]
    hidden = {*scenery(code)} if any(part.lane == "deeper" for part in told) else set()
    found, later = {}, set()
    for lane, _, cell in reversed(code):
        body = parsed(cell["source"]).body
        if lane != "exercises" and not tags(cell) & UNTOUCHED:
            made = kind(cell, later)
            defined = len(body) == 1 and isinstance(body[0], ast.FunctionDef)
            if not made and lane == "idea" and not defined and named(parsed(cell["source"]), ast.Load) & hidden:
                made = "call" if cell["outputs"] else "set-up"
            found[cell["id"]] = made
        later = needed(body, later)
    return dict(reversed(found.items())) | dict.fromkeys(seen_before(code, found), "sum")


def seen_before(code, found):
    """The cells of a chapter that write out a kind of sum which its section has written out already.

    Where the idea writes out products of single rows, those of whole matrices wait, too.

    Args:
        code: the parts of the chapter with its code cells.
        found: what the page does with each.

    """
    calls = [part for part in code if found.get(part.cell["id"]) == "call" and sums(part.cell)]
    by_row = any(lane == "idea" and "product" in sums(cell) and not whole(cell) for lane, _, cell in calls)
    shown = set()
    for part in code:
        lane, section, cell = part
        names = sums(cell)
        if part in calls and (lane == "deeper" or (section, *names) in shown or (by_row and whole(cell))):
            yield cell["id"]
        shown |= {(section, name) for name in names}


def sums(cell):
    """The kinds of sums that a cell writes out with every term."""
    return {_called(statement) for statement in parsed(cell["source"]).body} & SUMS


def whole(cell):
    """Is this the product of a matrix of more than one row, by its output?"""
    return any("row 2, column" in "".join(o.get("data", {}).get("text/plain", "")) for o in cell["outputs"])


def tags(cell):
    """The tags of a cell."""
    return set(cell["metadata"].get("tags", ()))


def failed(cell):
    """Is an error stored as what this cell puts out, and was not meant to be?"""
    return "raises-exception" not in tags(cell) and any(o["output_type"] == "error" for o in cell["outputs"])


def multiplies(cell):
    """Does a cell show a product with every term?"""
    return any(_called(statement) == "product" for statement in parsed(cell["source"]).body)


def shown(cell):
    """The functions and classes that a cell shows: how many lines each has without its signature and its docstring."""
    found = {}
    for output in cell["outputs"]:
        text = "".join(output.get("data", {}).get("text/markdown", "")) + "\n"
        for name, source in re.findall(r"^\*\*`(?:[a-z_\d]+\.)*([^`]+)`\*\*\s+```python\n(.*?)^```", text, re.M | re.S):
            (made,) = ast.parse(source).body
            inner = made.body[1:] if ast.get_docstring(made) and len(made.body) > 1 else made.body
            found[name] = inner[-1].end_lineno - inner[0].lineno + 1
    return found


def lines_of(cell):
    """How many lines the longest function or class has that a cell shows."""
    return max(shown(cell).values(), default=0)


def is_open(cell, kind, lane):
    """Does the page show the code of this cell (or, of source, what it shows) without a click?"""
    short = lane == "idea" and lines_of(cell) <= SHORT and "hide-output" not in tags(cell)
    return not kind or (kind == "source" and short)


def words(text):
    """How many words a piece of Markdown has; a formula is one, code is none."""
    text = re.sub(
        r"^ *(`{3,}|:{3,}).*?$|^\$\$(.|\n)*?^\$\$[^\n]*$|\]\([^)]*\)|<!--.*?-->", " ", text, flags=re.M | re.S
    )
    return len(re.findall(r"\$[^$]+\$|[^\W_][\w'’-]*", re.sub(r"(\{[\w:-]+\})?`[^`\n]*`", " ", text)))


def seconds(parts, kinds):
    """How long a reader takes for these parts of a chapter: words, open code, and what is to be looked at.

    Args:
        parts: what `parts` gave.
        kinds: what `kinds` gave for the chapter.

    """
    found = 0.0
    for lane, _, cell in parts:
        if cell["cell_type"] == "markdown":
            found += 60 * words(cell["source"]) / WORDS_A_MINUTE
            continue
        if tags(cell) & {"remove-cell", "hide-cell"}:
            continue
        what = kinds.get(cell["id"], "")
        lines = len(cell["source"].splitlines()) if what == "" else lines_of(cell) if what == "source" else 0
        found += SECONDS_A_LINE * lines * is_open(cell, what, lane)
        if cell["outputs"] and what in ("", "call"):
            found += SECONDS_A_PICTURE if draws(cell) else SECONDS_A_SIGHT
    return found


def draws(cell):
    """Does a cell put out a picture, or a figure to change?"""
    data = [output.get("data", {}) for output in cell["outputs"]]
    return any("image/svg+xml" in kinds or "-figure>" in "".join(kinds.get("text/html", "")) for kinds in data)
