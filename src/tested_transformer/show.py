"""What a chapter displays with: real source, matrices, and worked derivations with every term.

Everything here takes objects and arrays and gives back a `Shown`: LaTeX or Markdown for a page, plain text for a
terminal. Nothing is typed by hand, so nothing can disagree with the code.
"""

import inspect
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tested_transformer.byhand.softmax import softmax


class Shown:
    """Something to look at: plain text everywhere, LaTeX or Markdown where a notebook or a page can draw it."""

    def __init__(self, text: str, latex: str | None = None, markdown: str | None = None) -> None:
        self.text, self.latex, self.markdown = text, latex, markdown

    def __repr__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str | None:
        return self.latex

    def _repr_markdown_(self) -> str | None:
        return self.markdown


def show(obj: Any) -> Shown:
    """The source of a function, method or class as it stands in the package, headed by its full name."""
    obj = inspect.unwrap(obj)
    try:
        source = inspect.getsource(obj).rstrip()
    except (TypeError, OSError):
        raise TypeError(f"show needs a function, method or class written in Python, not {obj!r}") from None
    name = f"{obj.__module__}.{obj.__qualname__}"
    return Shown(f"# {name}\n{source}", markdown=f"**`{name}`**\n\n```python\n{source}\n```")


def matrix(
    name: str, x: Any, rows: Sequence[str] = (), columns: Sequence[str] = (), decimals: int | None = None
) -> Shown:
    """A number, vector or matrix under its name (LaTeX). `rows` and `columns` label it, with words for example.

    Whole numbers are written whole, others with `decimals` places (4 if not given).
    """
    cells = _cells(name, x, decimals)
    for what, labels, size in (("rows", rows, len(cells)), ("columns", columns, len(cells[0]))):
        if len(labels) not in (0, size):
            raise ValueError(f"{name} has {size} {what} but {len(labels)} labels: {list(labels)}")
    text = "\n".join(_aligned(cells, rows, columns, opening=f"{_plain(name)} = "))
    if np.ndim(x) == 0:
        return Shown(text, rf"$\displaystyle {name} = {cells[0][0]}$")
    return Shown(text, f"$$\n{name} = {_grid(cells, rows, columns)}\n$$")


def product(name: str, a: Any, b: Any, decimals: int | None = None) -> Shown:
    """The matrix product a b with every term: the factors, each entry as a sum of products, the result."""
    a, b = _array(a), _array(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"{name}: shapes {a.shape} and {b.shape} do not multiply; the inner sizes must agree")
    left, right, result = (_cells(name, x, decimals) for x in (a, b, a @ b))
    terms = [[list(zip(row, column, strict=True)) for column in zip(*right, strict=True)] for row in left]
    sums = [[" + ".join(rf"{_bracketed(p)} \cdot {_bracketed(q)}" for p, q in cell) for cell in row] for row in terms]
    lines = [f"{_plain(name)}, row by row:"]
    for i, row in enumerate(terms):
        for j, cell in enumerate(row):
            written = " + ".join(f"{_bracketed(p)}·{_bracketed(q)}" for p, q in cell)
            lines.append(f"  row {i + 1}, column {j + 1}: {written} = {result[i][j]}")
    steps = [f"{name} &= {_grid(left)} {_grid(right)}", f"&= {_grid(sums)}", f"&= {_grid(result)}"]
    return Shown("\n".join(lines), _steps(steps))


def softmax_terms(name: str, x: Any, decimals: int | None = None) -> Shown:
    """The softmax of one row of scores with every term: the exponentials, their sum, and the quotients."""
    x = _array(x)
    if x.ndim != 1:
        raise ValueError(f"{name}: softmax_terms takes one row of scores, not an array of shape {x.shape}")
    scores, exps, weights = (_cells(name, row, decimals)[0] for row in (x, np.exp(x), softmax(x)))
    total = _cells(name, np.exp(x).sum(), decimals)[0][0]
    powers = [f"e^{{{s}}}" for s in scores]
    lines = [
        f"{_plain(name)}:",
        *(f"  exp({s}) = {e}, divided by {total}: {w}" for s, e, w in zip(scores, exps, weights, strict=True)),
    ]
    steps = [
        rf"{name} &= \frac{{({', '.join(powers)})}}{{{' + '.join(powers)}}}",
        rf"&= \frac{{({', '.join(exps)})}}{{{' + '.join(exps)}}}",
        rf"&= \frac{{({', '.join(exps)})}}{{{total}}}",
        f"&= ({', '.join(weights)})",
    ]
    return Shown("\n".join(lines), _steps(steps))


def _array(x: Any) -> np.ndarray:
    """Numbers as a float array; a tensor is taken out of its graph first."""
    return np.asarray(x.detach() if hasattr(x, "detach") else x, dtype=float)


def _cells(name: str, x: Any, decimals: int | None) -> list[list[str]]:
    x = _array(x)
    if x.ndim > 2 or x.size == 0:
        raise ValueError(f"{name}: shape {x.shape} cannot be written out; it takes a number, a vector or a matrix")
    if decimals is None:
        decimals = 0 if np.all(x == np.round(x)) else 4
    return [[_number(value, decimals) for value in row] for row in np.atleast_2d(x)]


def _number(value: float, decimals: int) -> str:
    if not np.isfinite(value):
        return {np.inf: r"\infty", -np.inf: r"-\infty"}.get(value, r"\text{NaN}")
    written = f"{value:.{decimals}f}"
    return written.removeprefix("-") if float(written) == 0 else written


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number


def _grid(cells: list[list[str]], rows: Sequence[str] = (), columns: Sequence[str] = ()) -> str:
    """LaTeX of a matrix: in brackets, or as a ruled table where its columns are labelled."""
    body = [" & ".join(row) for row in cells]
    if not rows and not columns:
        return r"\begin{bmatrix} " + r" \\ ".join(body) + r" \end{bmatrix}"
    if rows:
        body = [rf"\text{{{_escaped(label)}}} & {row}" for label, row in zip(rows, body, strict=True)]
    rule = "r|" if rows else ""
    head = ""
    if columns:
        head = " & ".join(([""] if rows else []) + [rf"\text{{{_escaped(label)}}}" for label in columns])
        head += r" \\ \hline "
    return rf"\begin{{array}}{{{rule}{'r' * len(cells[0])}}} {head}" + r" \\ ".join(body) + r" \end{array}"


def _steps(lines: list[str]) -> str:
    return "$$\n\\begin{aligned}\n" + " \\\\[0.6em]\n".join(lines) + "\n\\end{aligned}\n$$"


def _escaped(label: str) -> str:
    """A word as LaTeX text: its special characters are shown, not obeyed."""
    special = {"\\": r"\backslash", "^": r"\wedge", "~": r"\sim"}
    return re.sub(r"[\\{}$&#%_^~]", lambda m: f"${special[m[0]]}$" if m[0] in special else f"\\{m[0]}", label)


def _plain(name: str) -> str:
    """A LaTeX name as it reads in a terminal."""
    name = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1 / \2", name.replace(r"\sqrt{d_k}", "√d_k"))
    name = name.replace(r"^{\mathsf T}", "ᵀ").replace(r"\partial ", "∂")
    name = re.sub(r"\\(?:operatorname|text|mathrm|mathbf)\{([^{}]*)\}", r"\1", name)
    return re.sub(r"\\[,;! ]", " ", name).replace("\\", "").replace("{", "").replace("}", "")


def _aligned(cells: list[list[str]], rows: Sequence[str], columns: Sequence[str], opening: str) -> list[str]:
    """Plain-text lines of a matrix, its columns under each other, behind the opening."""
    table = [[*([""] if rows else []), *columns]] if columns else []
    table += [[*([label] if rows else []), *row] for label, row in zip(rows or [""] * len(cells), cells, strict=True)]
    table = [[cell.replace(r"\infty", "inf").replace(r"\text{NaN}", "nan") for cell in row] for row in table]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    return [(opening if i == 0 else " " * len(opening)) + line.rstrip() for i, line in enumerate(lines)]
