"""Figures that readers can change: an element of the page, with the data that its script starts from."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.draw.picture import Picture
from tested_transformer.show import matrix

Table = tuple[Sequence[str], Sequence[str], ArrayLike]
"""The names of the rows, the names of the columns, and numbers or words."""


class Interactive:
    """A figure to change on the page, as `<NAME-figure>`; its script is book/_static/figures/NAME.js.

    `data` is what it starts from. The tables hold what it shows at first: they are seen
    where no script runs. On paper stands the picture, if there is one.
    """

    def __init__(
        self,
        name: str,
        data: Mapping[str, Any],
        tables: Mapping[str, Table],
        picture: Picture | None = None,
        decimals: int = 4,
    ) -> None:
        if not (name.isascii() and name.isalpha() and name.islower()):
            raise ValueError(f"name ({name!r}) must be one word in small letters")
        self.name, self.picture, self.decimals = name, picture, decimals
        self.data = {key: _plain(key, value) for key, value in data.items()}
        self.tables = {title: _table(title, *t) for title, t in tables.items()}

    def __repr__(self) -> str:
        return "\n".join(
            f"{title}\n{self._text(rows, columns, x)}"
            for title, (rows, columns, x) in self.tables.items()
        )

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        return self.picture and self.picture._repr_png_()

    def _repr_html_(self) -> str:
        data = json.dumps(self.data, allow_nan=False)
        for sign in "<>&":  # no data can end the script or begin another element
            data = data.replace(sign, f"\\u{ord(sign):04x}")
        tables = "".join(self._html(title, *t) for title, t in self.tables.items())
        return (
            f'<{self.name}-figure>\n<script type="application/json">{data}</script>\n'
            f'<div class="fallback">\n{tables}</div>\n</{self.name}-figure>'
        )

    def _text(self, rows: Any, columns: Any, x: np.ndarray) -> str:
        if _words(x):
            lines = zip(rows, x, strict=True)
            return "\n".join(f"{row}: {', '.join(line)}" for row, line in lines)
        return matrix("", x, rows, columns, self.decimals).text

    def _html(self, title: str, rows: Any, columns: Any, x: np.ndarray) -> str:
        places = 0 if _words(x) else places_of(x, self.decimals)
        head = "".join(f'<th scope="col">{escape(word)}</th>' for word in columns)
        body = "".join(
            f'<tr><th scope="row">{escape(word)}</th>'
            + "".join(f"<td>{_cell(value, places)}</td>" for value in row)
            + "</tr>\n"
            for word, row in zip(rows, x, strict=True)
        )
        return (
            f"<table><caption>{escape(title)}</caption>\n<thead><tr><td></td>{head}</tr>"
            f"</thead>\n<tbody>\n{body}</tbody></table>\n"
        )


def places_of(x: np.ndarray, most: int) -> int:
    """As few decimals as write a table without rounding it, and no more than `most`."""
    fits = (
        n for n in range(most) if np.allclose(x, np.round(x, n), rtol=0, atol=1e-10)
    )
    return next(fits, most)


def written(value: float, places: int) -> str:
    """A number in a table; a zero is seen at once among numbers that have decimals."""
    return "0" if abs(value) <= 1e-10 else f"{value:z.{places}f}".replace("-", "−")


def _table(title: str, rows: Any, columns: Any, x: ArrayLike) -> Table:
    x = np.asarray(x)
    x = x if _words(x) else x.astype(float)
    if x.shape != (len(rows), len(columns)):
        raise ValueError(
            f"{title} has shape {x.shape}, but {len(rows)} rows and {len(columns)} columns are named"
        )
    return rows, columns, x


def _words(x: np.ndarray) -> bool:
    return x.dtype.kind == "U"


def _cell(value: Any, places: int) -> str:
    return escape(value) if isinstance(value, str) else written(value, places)


def _plain(key: str, value: Any) -> Any:
    """Arrays and tuples as lists; a number that JSON does not know is refused."""
    if isinstance(value, np.ndarray | np.generic):
        if not np.isfinite(value).all():
            raise ValueError(f"{key} must be finite, not {value.tolist()}")
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
