"""Pictures of searches."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import CENTRE, DASHES, beside, chart
from tested_transformer.shares import as_share, written

Words = tuple[str, ...]
Following = Mapping[Words, Mapping[str, float]]
"""After each beginning the tokens that may follow, with their log-probabilities."""


@pic.styled
def tree(paths: Mapping[Words, float], marked: Mapping[str, Collection[Words]], start: str = "<bos>") -> pic.Picture:
    """Beginnings of sentences as a tree from left to right, each with its probability, which a line below explains.

    marked has names, and the beginnings that stand in the colour of each; of two names
    the first counts. Others are faint. At the root stands `start`.
    """
    leaves = [p for p in paths if not any(q[:-1] == p for q in paths)]
    depth = max(map(len, paths))
    figure, axes = chart(1.0 + 0.46 * len(leaves), pic.WIDE)
    height = {leaf: float(-i) for i, leaf in enumerate(leaves)}
    for path in sorted((p for p in paths if p not in height), key=len, reverse=True):
        below = [height[p] for p in paths if p[:-1] == path]
        height[path] = (max(below) + min(below)) / 2
    height[()] = float(np.mean([height[p] for p in paths if len(p) == 1]))
    axes.text(0, height[()], start, **CENTRE)
    looks = dict(zip(marked, ((pic.KEY, "-"), (pic.QUERY, "--")), strict=False))
    for path, p in paths.items():
        name = next((name for name, some in marked.items() if path in some), None)
        colour, line = looks.get(name, (pic.FAINT, ":"))
        x, y = (len(path) - 0.68, len(path) - 0.34), (height[path[:-1]], height[path])
        axes.plot(x, y, color=colour, linestyle=line)
        ink = colour if name else pic.INK
        axes.text(len(path), height[path], f"{path[-1]}\n{as_share(p, 3, signs=True)}", color=ink, **CENTRE)
    for name, (colour, line) in looks.items():
        axes.plot([], [], color=colour, linestyle=line, label=name)
    figure.legend(loc="outside upper center", ncols=len(marked))
    figure.supxlabel("below each token: the probability of the path so far")
    axes.set(xlim=(-0.4, depth + 0.45), ylim=(0.6 - len(leaves), 0.6))
    axes.set_axis_off()
    return figure


def searches(
    tables: Mapping[str, Following],
    most: int,
    first: tuple[int, float],
    found: Mapping[str, tuple[str, float, float]],
    plain: pic.Picture,
    languages: Mapping[str, str] | None = None,
) -> Interactive:
    """Greedy, beam and exhaustive search on some tables, with width and alpha to change.

    A sentence has most tokens at most, or ends with <eos>. `first` is the width and the alpha to start with. `found` is
    what searches find in the first table: the sentence, its log-probability and its score. Tables go to the page with
    six decimals. `languages` has the language of a table's tokens ("de"), for readers who hear the page.
    """
    rows = [(name, text, written(p, 4), written(s, 4)) for name, (text, p, s) in found.items()]
    columns = ("search", "best sentence", "log-probability", "score")
    title = f"{next(iter(tables))}: what each search finds, with α = {first[1]}"
    data = {
        "tables": [
            _numbered(text, table, most) | {"language": (languages or {}).get(text)} for text, table in tables.items()
        ]
    }
    data |= {"width": first[0], "alpha": first[1], "widest": 5}
    return Interactive("beam", data, {}, plain, words={title: (columns, rows)})


def _numbered(text: str, table: Following, most: int) -> dict[str, Any]:
    """A table as the page needs it: tokens by number, in the order they appear."""
    ids = {token: 0 for row in table.values() for token in row}
    ids = {token: n for n, token in enumerate(ids)}
    rows = {
        " ".join(str(ids[token]) for token in begun): [[ids[token], _six(p)] for token, p in row.items()]
        for begun, row in table.items()
    }
    return {"text": text, "tokens": list(ids), "end": ids["<eos>"], "most": most, "rows": rows}


def _six(log_p: float) -> float:
    """A log-probability with six decimals; it is 0 only where the probability is 1."""
    return min(round(log_p, 6), -1e-6) if log_p < 0 else round(log_p, 6)


@pic.styled
def penalties(lengths: ArrayLike, curves: pic.Arrays) -> pic.Picture:
    """Length penalties against the length, one curve for each alpha."""
    figure, axes = chart(3.4, pic.WIDE)
    for (name, curve), colour, line in zip(curves.items(), pic.SERIES, DASHES, strict=False):
        axes.plot(lengths, curve, color=colour, linestyle=line)
        beside(axes, name, (np.asarray(lengths)[-1], np.asarray(curve)[-1]), (6, 0), color=colour, va="center")
    axes.set(xlabel="tokens written", ylabel="the log-probability is divided by", xlim=(0, 1.12 * np.max(lengths)))
    axes.set_ylim(0, None)
    return figure
