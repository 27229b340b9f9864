"""The whole machine in one file, put together from the functions of `byhand`: see the chapter of that name."""

import ast
import dataclasses
import importlib
import inspect
import re
from itertools import pairwise
from typing import Any

from tested_transformer.config import Config

ROOMS = (
    "softmax", "linear", "attention", "masks", "heads", "addnorm", "feedforward", "embedding", "positions",
    "encoder", "decoder", "transformer", "loss", "adam", "gradient", "training",
)  # fmt: skip
"""The modules of `byhand` in the order of the file: each needs only what stands above it."""

ENTRY = "main"
CHECKS = {"at_least", "positive"}  # what only looks at the input
WIDTH = 120

HEAD = '''\
"""A Transformer, encoder and decoder, with all of its gradients, in NumPy alone.

`python transformer.py` nudges every number of a small model, lets another learn to write words backwards, and asks
for 200 random words. "Paper" is "Attention Is All You Need". Shapes: B sentences, S source and T target tokens,
Tq queries, Tk keys, D numbers for each token, Dk and Dv of them in a query and a value, H heads, F hidden units,
V ids, I in, O out, W any width, … any axes. To read it, begin with `loss_of`, near its end. Its functions are those of
https://tested-transformer.github.io/tested-transformer/, without their checks of the input. MIT licence.
"""

from typing import NamedTuple

import numpy as np'''


def defined(text: str) -> dict[str, Any]:
    """What a text of the file defines, by name; it is not run as a program."""
    names: dict[str, Any] = {"__name__": "transformer"}
    exec(compile(text, "transformer.py", "exec"), names)
    return names


def source() -> str:
    """The text of the file."""
    names = "params", *(f"byhand.{room}" for room in ROOMS)
    modules = [importlib.import_module(f"tested_transformer.{name}") for name in names]
    texts = [inspect.getsource(module) for module in modules]
    trees = [ast.parse(text) for text in texts]
    needed = _needed([statement for tree in trees for statement in tree.body])
    pieces = [HEAD, _config(needed)]
    for text, tree in zip(texts, trees, strict=True):
        kept = [_cut(s, text.splitlines()) for s in tree.body if s in needed]
        title = ast.get_docstring(tree).splitlines()[0]
        if kept and not title.startswith("Positions"):
            pieces.append(f"# {title} ".ljust(WIDTH, "-"))
        pieces += kept
    return _joined(pieces) + f'\n\nif __name__ == "__main__":\n    {ENTRY}()\n'


def _needed(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The functions and constants that the program needs."""
    defined = {name: s for s in statements for name in _defines(s)}
    waiting, found = [ENTRY], []
    while waiting:
        statement = defined.get(waiting.pop())
        if statement and statement not in found:
            found.append(statement)
            waiting += _asked(statement)
    return found


def _defines(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name):
            return [name]
        case ast.Assign([ast.Name(name)]):
            return [name]
    return []


def _asked(statement: ast.stmt) -> set[str]:
    """The names that a statement takes from outside, but for those that only its checks and annotations ask for."""
    names = [node for node in _nodes(statement) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - own


def _nodes(statement: ast.stmt) -> list[ast.AST]:
    """What of a statement stands in the file, node by node: of a function its defaults and its body."""
    parts = [statement]
    if isinstance(statement, ast.FunctionDef):
        body = [s for s in statement.body if not _checks(s)]
        values = [s.value if isinstance(s, ast.AnnAssign) else s for s in body]
        parts = [*statement.args.defaults, *values]
    return [node for part in parts for node in ast.walk(part)]


def _checks(statement: ast.stmt) -> bool:
    """Does a statement only look at the input?"""
    match statement:
        case ast.Expr(ast.Call(ast.Name(name))):
            return name in CHECKS
        case ast.If(_, [*_, ast.Raise()], []):
            return True
    return False


def _cut(statement: ast.stmt, lines: list[str]) -> str:
    """A statement as it stands in the file: without checks and annotations, the shapes beside the signature."""
    if not isinstance(statement, ast.FunctionDef):
        return "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
    text = ast.get_docstring(statement)
    first = statement.body[1 if text else 0].lineno
    kept = {
        n: re.sub("  # type: ignore.*", "", lines[n - 1]).replace("(*B,", "(…,")
        for n in range(first, statement.end_lineno + 1)
    }
    for s in ast.walk(statement):
        if isinstance(s, ast.stmt) and s.lineno in kept and not hasattr(s, "body"):
            own = range(s.lineno, s.end_lineno + 1)
            new = zip(own, _rows([kept[n] for n in own]), strict=False)
            kept |= dict.fromkeys(own) | dict(new)
        if isinstance(s, ast.AnnAssign):
            kept[s.lineno] = re.sub(r": .+? = ", " = ", kept[s.lineno], count=1)
    for s in filter(_checks, statement.body):
        kept |= dict.fromkeys(range(s.lineno, s.end_lineno + 1))
    body = (row for row in kept.values() if row is not None)
    return "\n".join([_signature(statement), *_docstring(text), *body])


def _rows(rows: list[str]) -> list[str]:
    """The rows of one statement, on one line if it is not too long, or on three."""
    if len(rows) == 1 or any("#" in row.removesuffix("# fmt: skip") for row in rows):
        return rows
    indent = rows[0][: len(rows[0]) - len(rows[0].lstrip())]
    first, *inner, last = (row.strip().removesuffix("  # fmt: skip") for row in rows)
    inner = re.sub(r"([(\[{]) ", r"\1", " ".join(inner))
    inner = re.sub(r",? ([)\]}])", r"\1", inner).removesuffix(",")
    for choice in ([first + inner + last], [first, f"    {inner}", last]):
        if max(map(len, choice)) + len(indent) <= WIDTH:
            return [indent + row for row in choice]
    return rows


def _docstring(text: str | None) -> list[str]:
    """Its sentences, without those about errors that only the package raises; the first one alone if they are long."""
    if not text:
        return []
    first, *others = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    whole = " ".join([first, *others])
    whole = re.sub(r"[^.]*\b[A-Z]\w+Error\b[^.]*\.", "", whole).strip()
    return [f'    """{whole if len(whole) <= WIDTH - 10 else first}"""']


def _signature(f: ast.FunctionDef) -> str:
    """One line, and behind it the shapes of arrays, or below it if they are too long."""
    names = [a.arg for a in f.args.args]
    defaults = dict(zip(names[::-1], f.args.defaults[::-1], strict=False))
    values = {name: f"={ast.unparse(value)}" for name, value in defaults.items()}
    args = [name + values.get(name, "") for name in names]
    args += [f"**{f.args.kwarg.arg}"] if f.args.kwarg else []
    line, back = f"def {f.name}({', '.join(args)}):", _shape(f.returns)
    if "backward" in f.name or f.name == "gradients":
        back = back.replace("params", "d_params")
    shapes = {a.arg: _shape(a.annotation) for a in f.args.args}
    given = {name: shape for name, shape in shapes.items() if "(" in shape}
    named = ", ".join(f"{name} {shape}" for name, shape in given.items())
    comments = [
        f"{said} -> {back}" if said and back else said or f"-> {back}"
        for said in (named, ", ".join(given.values()))
    ]
    if "(" not in comments[0].replace("(…)", ""):
        return line
    choices = [f"{line}{gap}# {said}" for gap in ("  ", "\n    ") for said in comments]
    return next(c for c in choices if max(map(len, c.splitlines())) <= WIDTH)


def _shape(annotation: ast.expr | None) -> str:
    """The shapes that an annotation has, as mathematicians write them."""
    match annotation:
        case ast.Subscript(
            ast.Name("Float" | "Int" | "Bool"), ast.Tuple([_, ast.Constant(axes)])
        ):
            names = [
                "…" if axis.startswith(("*", "...")) else axis.strip("{}")
                for axis in axes.split()
            ]
            return "" if axes == "..." else f"({', '.join(names)})"
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(parts)):
            return ", ".join(filter(None, map(_shape, parts)))
        case ast.BinOp(left):
            return _shape(left)
        case ast.Name("float"):
            return "float"
        case ast.Name("Params"):
            return "params"
        case ast.Subscript(ast.Name("dict" | "list")):
            kind = ast.unparse(annotation)
            if "Any" in kind:
                return "saved"
            return "params" if "np.ndarray" in kind else ""
    return ""


def _config(needed: list[ast.stmt]) -> str:
    """The sizes of a model: the fields of `Config` that the functions ask for."""
    nodes = [node for statement in needed for node in _nodes(statement)]
    asked = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    lines = ["class Config(NamedTuple):"]
    lines += ['    """The sizes of a model (paper, Table 3)."""', ""]
    for field in dataclasses.fields(Config):
        if field.name in asked - {"d_k", "d_v"}:
            kind = getattr(field.type, "__name__", field.type)
            given = field.default is not dataclasses.MISSING
            default = f" = {field.default!r}" if given else ""
            lines.append(f"    {field.name}: {kind}{default}")
    heads = "    d_k = d_v = property(lambda self: self.d_model // self.n_heads)"
    return "\n".join([*lines, heads])


def _joined(pieces: list[str]) -> str:
    """An empty line around each function, none between constants."""
    text = pieces[0]
    for before, piece in pairwise(pieces):
        apart = before.startswith("def") or (
            piece.startswith(("#", "class", "def")) and not before.startswith("#")
        )
        text += f"\n\n{piece}" if apart else f"\n{piece}"
    return text
