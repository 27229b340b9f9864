"""What a chapter displays with: real source, matrices, and worked derivations with every term.

Everything here takes objects and arrays and gives back a `Shown`: LaTeX or Markdown for a page, plain text for a
terminal. Nothing is typed by hand, so nothing can disagree with the code.
"""

import inspect
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tested_transformer.byhand.softmax import softmax

NOISE = 1e-10
"""What is nearer than this to a whole number is whole: the last bits of a float differ from machine to machine."""

WIDE = 64
"""So many signs of sums fit beside each other on a page; more are written below each other."""

SYMBOLS = {
    "cdot": "·",
    "times": "×",
    "approx": "≈",
    "partial": "∂",
    "infty": "inf",
    "lVert": "‖",
    "rVert": "‖",
}
"""How LaTeX commands read in a terminal."""


class Shown:
    """Something to look at: plain text everywhere, LaTeX or Markdown where a notebook or a page can draw it."""

    def __init__(
        self, text: str, latex: str | None = None, markdown: str | None = None
    ) -> None:
        self.text, self.latex, self.markdown = text, latex, markdown

    def __repr__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str | None:
        return self.latex

    def _repr_markdown_(self) -> str | None:
        return self.markdown


class Marked(str):
    """A line of text that is set in another way where a page can: its Markdown stands beside it."""

    __slots__ = ("markdown",)
    markdown: str


def show(obj: Any) -> Shown:
    """The source of a function, method or class as it stands in the package.

    Its full name stands above it.
    """
    try:
        source = textwrap.dedent(inspect.getsource(obj)).rstrip()
        name = f"{obj.__module__}.{obj.__qualname__}"
    except (TypeError, OSError, AttributeError):
        needs = "show needs a function, method or class written in Python"
        raise TypeError(f"{needs}, not {obj!r}") from None
    if "<" in name:
        needs = "show needs something that others can import by its name"
        raise TypeError(f"{needs}, not {name}")
    markdown = f"**`{name}`**\n\n```python\n{source}\n```"
    return Shown(f"# {name}\n{source}", markdown=markdown)


def matrix(
    name: str,
    x: Any,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    decimals: int | None = None,
) -> Shown:
    """A number, vector or matrix under its name (LaTeX). `rows` and `columns` label it, with the words for example.

    Whole numbers are written whole, others with `decimals` places (at most 4 if not given),
    and with ≈ where that rounds them. (A table has no room for =, and leaves it out.)
    """
    x = _array(x)
    cells, sign = _cells(name, x, decimals), _sign(decimals, x)
    labelled = {"rows": (rows, len(cells)), "columns": (columns, len(cells[0]))}
    for what, (labels, size) in labelled.items():
        if len(labels) not in (0, size):
            found = f"{len(labels)} labels: {list(labels)}"
            raise ValueError(f"{name} has {size} {what} but {found}")
    opening = f"{_plain(name)} {_plain(sign)} "
    text = "\n".join(_aligned(cells, rows, columns, opening))
    if x.ndim == 0:
        return Shown(text, rf"$\displaystyle {name} {sign} {cells[0][0]}$")
    if columns:
        corner = name if sign == "=" else rf"{name} \approx"
        latex = _table(corner, cells, rows, columns)
    else:
        latex = f"{name} {sign} {_grid(cells, rows)}"
    return Shown(text, f"$$\n{latex}\n$$")


_NUMBER = re.compile(r"[-−+]?\d[\d,]*(\.\d+)?(e[-+]\d+)?( ?%)?$|–$")


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    decimals: int | None = None,
    marked: Sequence[int] = (),
) -> Shown:
    """Words and numbers in a table with a head; the marked rows, counted from 0, are set in bold.

    In each column whole numbers are written whole, and all others with as many decimals (at
    most 4 if not given). A cell that is `Marked` is set as its Markdown says. Numbers stand
    at the right, those that come as text, too.
    """
    if not rows or {len(row) for row in rows} != {len(columns)}:
        sizes = [len(row) for row in rows]
        rule = f"needs rows of {len(columns)} cells, as many as columns"
        raise ValueError(f"a table {rule}, not {sizes}")
    if "" in columns:
        raise ValueError(f"a table needs a name for each column, not {[*columns]}")
    body, right = [], []
    for column in zip(*rows, strict=True):
        numbers = np.array([cell for cell in column if isinstance(cell, float)])
        places = _places(numbers, decimals) if numbers.size else 0
        form = f".{places}f"
        body.append(
            [f"{c:{form}}" if isinstance(c, float) else _text(c) for c in column]
        )
        plain = (c for c in column if not isinstance(c, int | float))
        right.append(all(_NUMBER.match(_text(c)) for c in plain))
    lines = []
    for name, column, to_the_right in zip(columns, body, right, strict=True):
        width = max(map(len, (name, *column)))
        sides = str.rjust if to_the_right else str.ljust
        lines.append([sides(cell, width) for cell in (name, *column)])
    text = "\n".join("  ".join(line).rstrip() for line in zip(*lines, strict=True))
    cells = [[_cell(cell) for cell in row] for row in zip(*body, strict=True)]
    for n in marked:
        cells[n] = [re.sub(r"\S(?:.*\S)?", r"**\g<0>**", cell) for cell in cells[n]]
    head = [_escaped(name) for name in columns]
    rule = ["--:" if to_the_right else ":--" for to_the_right in right]
    markdown = "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *cells])
    return Shown(text, markdown=markdown)


def differing(right: str, written: str) -> tuple[str, str]:
    """The words in which two lines differ, of each line in brackets, with a neighbour on each side."""
    before, middles, after = _parted(right, written)
    one, other = (" ".join([*before[-1:], f"[{part}]", *after[:1]]) for part in middles)
    return one, other


def compared(right: str, written: str) -> tuple[Marked, Marked]:
    """Two whole lines in which the words that differ are bold, for a table; in a terminal they stand in brackets.

    Where a line has nothing for them, the brackets are empty, and stand on a page, too.
    """
    before, middles, after = _parted(right, written)
    one, other = (_marked(before, part, after) for part in middles)
    return one, other


def _parted(right: str, written: str) -> tuple[list[str], tuple[str, str], list[str]]:
    """The words that two lines share at the beginning, what they have instead of each other, and those at the end."""
    a, b = right.split(), written.split()
    most = min(len(a), len(b))
    start = next((i for i in range(most) if a[i] != b[i]), most)
    end = next((i for i in range(most - start) if a[-1 - i] != b[-1 - i]), most - start)
    one, other = (" ".join(line[start : len(line) - end]) for line in (a, b))
    return a[:start], (one, other), a[len(a) - end :]


def _marked(before: list[str], part: str, after: list[str]) -> Marked:
    line = Marked(" ".join([*before, f"[{part}]", *after]))
    bold = f"**{_escaped(part or '[ ]')}**"
    words = [*map(_escaped, before), bold, *map(_escaped, after)]
    line.markdown = " ".join(words)
    return line


def _text(cell: Any) -> str:
    return cell if isinstance(cell, Marked) else str(cell)


def _cell(text: str) -> str:
    """A cell of a table as Markdown."""
    return text.markdown if isinstance(text, Marked) else _escaped(text)


def _escaped(text: str) -> str:
    """Text as Markdown: special characters are shown, not obeyed."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~&])", r"\\\1", text)


def product(name: str, a: Any, b: Any, decimals: int | None = None) -> Shown:
    """The matrix product a b with every term: the factors, each entry as a sum of products, the result."""
    a, b = _array(a), _array(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        rule = "do not multiply; the inner sizes must agree"
        raise ValueError(f"{name}: shapes {a.shape} and {b.shape} {rule}")
    left, right, result = (_cells(name, x, decimals) for x in (a, b, a @ b))
    sums = [[_sum(row, column) for column in zip(*right, strict=True)] for row in left]
    factors, last = _sign(decimals, a, b), _sign(decimals, a, b, a @ b)
    lines, entries = [f"{_plain(name)}, row by row:"], []
    left_side = name.partition("=")[0].strip()
    whole = left_side if "=" in name else f"({name})"
    for i, j in np.ndindex(len(left), len(right[0])):
        place = f"{i + 1},{j + 1}" if len(left) > 1 else f"{j + 1}"
        total, end = sums[i][j], f"{last} {result[i][j]}"
        written = f"{_plain(total).replace(' · ', '·')} {_plain(end)}"
        lines.append(f"  row {i + 1}, column {j + 1}: {written}")
        entries.append(rf"{{{whole}}}_{{{place}}} &{factors} {total} {end}")
    steps = [f"{name} &{factors} {_grid(left)} {_grid(right)}"]
    if max(sum(len(_plain(cell)) for cell in row) for row in sums) <= WIDE:
        steps += [f"&= {_result(sums)}", f"&{last} {_result(result)}"]
    else:
        steps += [*entries, f"{left_side} &{last} {_grid(result)}"]
    return Shown("\n".join(lines), _steps(steps))


def beside(*shown: Shown) -> Shown:
    """Several matrices in one row."""
    latex = r" \qquad ".join((one.latex or "").strip("$\n") for one in shown)
    return Shown("\n\n".join(one.text for one in shown), f"$$\n{latex}\n$$")


def softmax_terms(name: str, x: Any, decimals: int | None = None) -> Shown:
    """The softmax of one row of scores with every term: the exponentials, their sum, and the quotients."""
    x = _array(x)
    if x.ndim != 1:
        rule = "softmax_terms takes one row of scores"
        raise ValueError(f"{name}: {rule}, not an array of shape {x.shape}")
    with np.errstate(over="ignore"):
        raised = np.exp(x)
    if not 0 < raised.sum() < np.inf:
        found = f"add up to {raised.sum()}; that divides nothing"
        raise ValueError(f"{name}: the exponentials of {x.tolist()} {found}")
    p = softmax(x)
    scores, exps, weights = (_cells(name, row, decimals)[0] for row in (x, raised, p))
    total = _cells(name, raised.sum(), decimals)[0][0]
    powers = [f"e^{{{s}}}" for s in scores]
    stages = (x,), (x, raised), (raised, raised.sum()), (raised, p)
    signs = [_sign(decimals, *arrays) for arrays in stages]
    lines, by = [f"{_plain(name)}:"], f"divided by {_plain(total)}"
    for s, e, w in zip(*(map(_plain, c) for c in (scores, exps, weights)), strict=True):
        lines.append(f"  exp({s}) {_plain(signs[1])} {e}, {by}: {w}")
    steps = [
        rf"{name} &{signs[0]} \frac{{({', '.join(powers)})}}{{{' + '.join(powers)}}}",
        rf"&{signs[1]} \frac{{({', '.join(exps)})}}{{{' + '.join(exps)}}}",
        rf"&{signs[2]} \frac{{({', '.join(exps)})}}{{{total}}}",
        f"&{signs[3]} ({', '.join(weights)})",
    ]
    return Shown("\n".join(lines), _steps(steps))


def _array(x: Any) -> np.ndarray:
    """Numbers as a float array; a tensor is taken out of its graph first."""
    return np.asarray(x.detach().tolist() if hasattr(x, "detach") else x, dtype=float)


def _rounds(x: np.ndarray, places: int) -> bool:
    """Does writing with that many decimals change a number, by more than noise?"""
    finite = x[np.isfinite(x)]
    return not np.allclose(finite, np.round(finite, places), rtol=0, atol=NOISE)


def _places(x: np.ndarray, decimals: int | None) -> int:
    """Decimals to write: none for whole numbers, else those asked for, else as few as do no harm, at most 4."""
    if not _rounds(x, 0):
        return 0
    if decimals is not None:
        return decimals
    return next((places for places in (1, 2, 3) if not _rounds(x, places)), 4)


def _sign(decimals: int | None, *arrays: Any) -> str:
    """Equal, or about equal where not all digits of all arrays are written."""
    rounded = (_rounds(x, _places(x, decimals)) for x in map(_array, arrays))
    return r"\approx" if any(rounded) else "="


def _cells(name: str, x: Any, decimals: int | None) -> list[list[str]]:
    x = _array(x)
    if x.ndim > 2 or x.size == 0:
        rule = "it takes a number, a vector or a matrix"
        raise ValueError(f"{name}: shape {x.shape} cannot be written out; {rule}")
    places, tiny = _places(x, decimals), decimals is None
    return [[_number(value, places, tiny) for value in row] for row in np.atleast_2d(x)]


def _number(value: float, places: int, tiny: bool) -> str:
    """A number in LaTeX; a tiny one, which would look like zero, by its power of ten where that is wanted."""
    if not np.isfinite(value):
        return {np.inf: r"\infty", -np.inf: r"-\infty"}.get(value, r"\text{NaN}")
    if abs(value) <= NOISE:
        return "0"  # nothing at all is seen at once among numbers that have decimals
    written = f"{value:z.{places}f}"
    if tiny and float(written) == 0:
        digits, power = f"{value:.1e}".split("e")
        return rf"{digits} \cdot 10^{{{int(power)}}}"
    return written


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") or " " in number else number


def _result(cells: list[list[str]]) -> str:
    """A matrix; or the number, where there is only one."""
    return cells[0][0] if len(cells) == len(cells[0]) == 1 else _grid(cells)


def _sum(row: Sequence[str], column: Sequence[str]) -> str:
    """A row times a column, as it is written before it is added up."""
    pairs = zip(map(_bracketed, row), map(_bracketed, column), strict=True)
    return " + ".join(rf"{p} \cdot {q}" for p, q in pairs)


def _grid(cells: list[list[str]], rows: Sequence[str] = ()) -> str:
    """LaTeX of a matrix in brackets, with the labels of its rows before it."""
    body = r" \\ ".join(" & ".join(row) for row in cells)
    grid = rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"
    if not rows:
        return grid
    words = r" \\ ".join(_word(label) for label in rows)
    return rf"\begin{{array}}{{r}} {words} \end{{array}}\; {grid}"


def _table(
    name: str, cells: list[list[str]], rows: Sequence[str], columns: Sequence[str]
) -> str:
    """LaTeX of a matrix as a ruled table, its name in the corner, words above and beside it."""
    head = " & ".join([name, *map(_word, columns)])
    words = [*map(_word, rows)] or [""] * len(cells)
    lines = (" & ".join([w, *row]) for w, row in zip(words, cells, strict=True))
    body = rf"{head} \\ \hline " + r" \\ ".join(lines)
    return rf"\begin{{array}}{{r|{'r' * len(columns)}}} {body} \end{{array}}"


def _steps(lines: list[str]) -> str:
    body = " \\\\[0.6em]\n".join(lines)
    return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$"


def _word(label: str) -> str:
    r"""A word as LaTeX. Special characters are shown, not obeyed: outside \text, where all readers of LaTeX agree."""
    special = {c: f"\\{c}" for c in "{}$&#%_"}
    special |= {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}
    parts = re.split(r"([\\{}$&#%_^~])", label)
    return "".join(special.get(part, rf"\text{{{part}}}") for part in parts if part)


def _plain(latex: str) -> str:
    """LaTeX as it reads in a terminal."""
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", latex)
    text = text.replace(r"^{\mathsf T}", "ᵀ").replace(r"^\top", "ᵀ")
    text = text.replace(r"\partial ", "∂")
    for command, symbol in SYMBOLS.items():
        text = re.sub(rf"\\{command}(?![A-Za-z])", symbol, text)
    text = re.sub(r"\\(left|right|displaystyle)(?![A-Za-z])", "", text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    before = ""
    while text != before:  # from the innermost braces outwards
        before = text
        text = re.sub(r"\\(?:text|operatorname|math[a-z]+)\{([^{}]*)\}", r"\1", text)
        text = re.sub(r"([_^])\{([^{}]*)\}", lambda m: m[1] + _group(m[2]), text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", lambda m: "√" + _group(m[1]), text)
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", _quotient, text)
    text = re.sub(r"\\([A-Za-z]+)\{([^{}]*)\}", r"\1(\2)", text)
    return re.sub(r" +", " ", re.sub(r"[\\{}]", "", text)).strip()


def _quotient(found: re.Match) -> str:
    return f"{_group(found[1])} / {_group(found[2])}"


def _group(text: str) -> str:
    return text if re.fullmatch(r"[\w.√∂]*|\([^()]*\)", text) else f"({text})"


def _aligned(
    cells: list[list[str]], rows: Sequence[str], columns: Sequence[str], opening: str
) -> list[str]:
    """Plain-text lines of a matrix, its columns under each other, behind the opening."""
    table = [[*columns]] if columns else []
    table += [[*map(_plain, row)] for row in cells]
    if rows:
        labels = [*[""] * bool(columns), *rows]
        table = [[label, *row] for label, row in zip(labels, table, strict=True)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    )
    below = " " * len(opening)
    return [(below if i else opening) + line for i, line in enumerate(lines)]
