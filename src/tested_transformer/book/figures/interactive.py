"""Figures that readers can change: an element of the page, with the data that its script starts from."""

import json
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.show import matrix
from tested_transformer.shares import as_share, written

Numbers = tuple[Sequence[str], Sequence[str], ArrayLike]
"""The names of the rows, the names of the columns, the numbers."""

Words = tuple[Sequence[str], Sequence[Sequence[str | tuple[str, str]]]]
"""The names of the columns, and rows of cells: words, or words and the page they lead to."""


class Interactive:
    """A figure to change on the page, as `<NAME-figure>`; its script is book/_static/figures/NAME.js.

    `data` is what it starts from. The tables, and before them those of words, hold what it shows at first: they are
    seen where no script runs. The picture, if there is one, is for whoever shows no pages; `pictured` puts it over the
    tables, too. `shares` has the titles of the tables, or the names of the columns, whose numbers are shares of 1.
    """

    def __init__(
        self,
        name: str,
        data: Mapping[str, Any],
        tables: Mapping[str, Numbers],
        picture: pic.Picture | None = None,
        decimals: int = 4,
        words: Mapping[str, Words] | None = None,
        pictured: bool = False,
        shares: Collection[str] = (),
    ) -> None:
        if not (name.isascii() and name.isalpha() and name.islower()):
            raise ValueError(f"name ({name!r}) must be one word in small letters")
        self.name, self.picture, self.decimals = name, picture, decimals
        self.data = {key: _as_json(key, value) for key, value in data.items()}
        self.tables = {title: _numbers(title, *t) for title, t in tables.items()}
        self.words = dict(words or {})
        self.pictured, self.shares = pictured, shares

    def __repr__(self) -> str:
        lists = [
            "\n".join([title, *(" | ".join(map(_said, row)) for row in rows)])
            for title, (_, rows) in self.words.items()
        ]
        numbers = [
            f"{title}\n{matrix('', x, rows, columns, self.decimals).text}"
            for title, (rows, columns, x) in self.tables.items()
        ]
        return "\n".join(lists + numbers)

    def _repr_svg_(self) -> str | None:
        return self.picture and self.picture.svg()

    def _repr_html_(self) -> str:
        data = json.dumps(self.data, allow_nan=False)
        for sign in "<>&":  # no data can end the script or begin another element
            data = data.replace(sign, f"\\u{ord(sign):04x}")
        tables = self.picture.svg() if self.pictured and self.picture else ""
        tables += "".join(_listed(title, *w) for title, w in self.words.items())
        tables += "".join(self._html(title, *t) for title, t in self.tables.items())
        return (
            f'<{self.name}-figure>\n<script type="application/json">{data}</script>\n'
            f'<div class="fallback">\n{tables}</div>\n</{self.name}-figure>'
        )

    def _html(self, title: str, rows: Any, columns: Any, x: np.ndarray) -> str:
        places = places_of(x, self.decimals)
        ways = [
            # a zero and a one are exact among shares, and have no decimals
            (as_share, places or self.decimals) if {title, column} & {*self.shares} else (written, places)
            for column in columns
        ]
        lines = []
        for word, row in zip(rows, x, strict=True):
            cells = (f"<td>{way(value, digits)}</td>" for (way, digits), value in zip(ways, row, strict=True))
            lines.append(f'<th scope="row">{escape(word)}</th>{"".join(cells)}')
        return _framed(title, "<td></td>" + _head(columns), lines)


def _listed(title: str, columns: Sequence[str], rows: Any) -> str:
    """A table of words; the first cell of a row is its name."""
    lines = [
        f'<th scope="row">{_linked(first)}</th>' + "".join(f"<td>{_linked(cell)}</td>" for cell in cells)
        for first, *cells in rows
    ]
    return _framed(title, _head(columns), lines, ' class="words"')


def _head(columns: Sequence[str]) -> str:
    return "".join(f'<th scope="col">{escape(word)}</th>' for word in columns)


def _framed(title: str, head: str, lines: Sequence[str], kind: str = "") -> str:
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return (
        f"<table{kind}><caption>{escape(title)}</caption>\n<thead><tr>{head}</tr>"
        f"</thead>\n<tbody>\n{body}</tbody></table>\n"
    )


def _linked(cell: str | tuple[str, str]) -> str:
    return escape(cell) if isinstance(cell, str) else f'<a href="{escape(cell[1])}">{escape(cell[0])}</a>'


def _said(cell: str | tuple[str, str]) -> str:
    return cell if isinstance(cell, str) else cell[0]


def places_of(x: np.ndarray, most: int) -> int:
    """As few decimals as write a table without rounding it, and no more than `most`."""
    for places in range(most):
        if np.allclose(x, np.round(x, places), rtol=0, atol=1e-10):
            return places
    return most


def _numbers(title: str, rows: Any, columns: Any, x: ArrayLike) -> Numbers:
    x = np.asarray(x, dtype=float)
    if x.shape != (len(rows), len(columns)):
        raise ValueError(f"{title} has shape {x.shape}, but {len(rows)} rows and {len(columns)} columns are named")
    return rows, columns, x


def _as_json(key: str, value: Any) -> Any:
    """Arrays and tuples as lists; a number that JSON does not know is refused."""
    if isinstance(value, np.ndarray | np.generic):
        if not np.isfinite(value).all():
            raise ValueError(f"{key} must be finite, not {value.tolist()}")
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
