"""What a chapter claims: its asserts, and the solutions that it hands to check and check_test.

    python tools/claims.py

writes how many each chapter has into tests/book/claims.yml. It raises numbers; to lower one is for people.
"""

import ast
import json
import pathlib
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import yaml

ROOT = pathlib.Path(__file__).parents[1]
RECORD = ROOT / "tests" / "book" / "claims.yml"
HEAD = "# Claims of each chapter. `make fix` raises a number; lower one only if a claim is meant to go.\n"

ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
FULL = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.GeneratorExp, ast.Lambda, ast.JoinedStr)  # true, whatever is inside
EQUAL = {"allclose", "array_equal", "equal", "isclose"}


def trees(path, text=None):
    """The code of a file: a tree for each code cell of a notebook, by the cell's number, or one for a module."""
    text = path.read_text(encoding="utf-8") if text is None else text
    if path.suffix == ".py":
        return {0: ast.parse(text)}
    cells = {i: "".join(c["source"]) for i, c in enumerate(json.loads(text)["cells"]) if c["cell_type"] == "code"}
    return {i: ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", code, flags=re.M)) for i, code in cells.items()}


def claims(path, text=None):
    """All claims of a chapter, as code. Two that say the same are one."""
    for node in (node for tree in trees(path, text).values() for node in ast.walk(tree)):
        if isinstance(node, ast.Assert):
            yield f"assert {ast.unparse(node.test)}"
        elif isinstance(node, ast.Call) and name(node.func) in ("check", "check_test"):
            yield ast.unparse(node)


def count(path, text=None):
    """How many different claims a chapter makes."""
    return len(set(claims(path, text)))


# Asserts that hold whatever the code does


def idle(test):
    """Why an assert of this always holds; None if it can fail."""
    if fixed(test):
        return "reads no name and calls nothing"
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return idle(inner)
        case ast.BoolOp(values=inner):
            return next(filter(None, map(idle, inner)), None)
        case ast.Call(func=ast.Name("all" | "any"), args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]):
            if why := idle(inner):
                return why
        case _ if isinstance(test, FULL):
            return "is true, whatever is in it"
    for node in ast.walk(test):
        if isinstance(node, ast.comprehension) and empty(node.iter):
            return "looks at nothing"
        if isinstance(node, ast.Compare):
            sides = pairwise([node.left, *node.comparators])
            if any(same(*two) for two, op in zip(sides, node.ops, strict=True) if isinstance(op, ast.Eq | ast.Is)):
                return "compares a thing with itself"
        if isinstance(node, ast.Call) and name(node.func) in EQUAL and len(node.args) > 1 and same(*node.args[:2]):
            return "compares a thing with itself"
    return None


def fixed(node):
    """Is this made of literals alone?"""
    return not any(isinstance(n, ast.Call) or (isinstance(n, ast.Name) and reads(n)) for n in ast.walk(node))


def reads(node):
    """Is this name read, and not set?"""
    return isinstance(node.ctx, ast.Load)


def same(one, other):
    """Is this the same twice? A call may answer differently the second time."""
    return ast.dump(one) == ast.dump(other) and not any(isinstance(node, ast.Call) for node in ast.walk(one))


def empty(node):
    """Is this a literal with nothing in it?"""
    return fixed(node) and not evaluated(node)


def evaluated(node):
    """The value of literals."""
    return eval(compile(ast.Expression(node), "a literal", "eval"), {})


def name(node):
    """The last name of what is called: allclose of np.allclose."""
    return getattr(node, "id", getattr(node, "attr", None))


# Asserts that never run


def unreached(found, called):
    """Statements that no run comes to, in a list of trees. `called`: by others, so that no function is left alone."""
    nodes = [node for tree in found for node in ast.walk(tree)]
    used = loaded(nodes)
    methods = {id(method) for node in nodes if isinstance(node, ast.ClassDef) for method in node.body}
    for node in nodes:
        for block in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(block, list):
                ends = next((i for i, statement in enumerate(block) if isinstance(statement, ENDS)), len(block))
                yield from block[ends + 1 :]
        if isinstance(node, ast.If | ast.While) and fixed(node.test):
            yield from node.orelse if evaluated(node.test) else node.body
        if isinstance(node, ast.For) and empty(node.iter):
            yield from node.body
        if isinstance(node, ast.FunctionDef) and not (called or node.decorator_list or id(node) in methods):
            inside = loaded(ast.walk(node))
            yield from node.body if used[node.name] == inside[node.name] else ()


def loaded(nodes):
    """How often each name is read."""
    return Counter(name(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute) and reads(n))


def faults(path):
    """The asserts of a file that claim nothing, or never run, in words."""
    found = trees(path)
    called = path.suffix == ".py"  # pytest calls what no test names
    lost = {id(node) for statement in unreached(found.values(), called) for node in ast.walk(statement)}
    for i, tree in found.items():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Assert)):
            if why := "never runs" if id(node) in lost else idle(node.test):
                place = f"line {node.lineno}" if called else f"cell {i}"
                yield f"{path.name}, {place}: assert {ast.unparse(node.test)[:60]}: {why}"


# The record


def recorded():
    """The numbers on record, by chapter."""
    return yaml.safe_load(RECORD.read_text(encoding="utf-8"))


def change(path, known):
    """What is to be said of a chapter whose claims are not as many as the number known; nothing if they are."""
    missing = known - count(path)
    if missing < 0:
        return f"{path.stem} makes {-missing} more claims than recorded: run `make fix`"
    if missing == 0:
        return ""
    old = before(path)
    gone = sorted(set(claims(path, old)) - set(claims(path))) if old else []
    listed = "".join(f"\n  {claim}" for claim in gone)
    return (
        f"{path.stem}: {missing} of {known} claims are gone. If it is meant, lower the number in {RECORD.name}.{listed}"
    )


def before(path):
    """The chapter when the numbers were last written, if Git knows it."""

    def git(*what):
        try:
            return subprocess.run(["git", *what], cwd=path.parent, capture_output=True, check=True).stdout.decode()
        except (OSError, subprocess.CalledProcessError):
            return ""

    commit = git("log", "-1", "--format=%H", "--", str(RECORD)).strip()
    return commit and git("show", f"{commit}:./{path.name}")


def main():
    """Raise what is too low; the exit status is 1 if a chapter claims less than it did."""
    known, now = recorded() or {}, {path.stem: count(path) for path in sorted((ROOT / "book").glob("*.ipynb"))}
    lines = [f"{chapter}: {max(number, known.get(chapter, 0))}\n" for chapter, number in now.items()]
    RECORD.write_text(HEAD + "".join(lines), encoding="utf-8", newline="\n")
    said = [change(ROOT / "book" / f"{chapter}.ipynb", number) for chapter, number in recorded().items()]
    print("\n".join(filter(None, said)), end="")
    return int(any(said))


if __name__ == "__main__":
    sys.exit(main())
