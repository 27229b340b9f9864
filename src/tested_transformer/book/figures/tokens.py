"""Pictures of how text becomes tokens."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import bare, beside, chart

LETTER, SPACE, GAP = 0.093, 0.08, 0.09
"""Inches: a character, what surrounds the text of a tile, and what parts two words."""


@pic.styled
def read(lines: Sequence[tuple[str, Sequence[tuple[str, int]]]]) -> pic.Picture:
    """Sentences as tiles, a tile for each token with its id below, under what they are.

    A token that goes on with a word touches the one before it, and both are filled.
    """
    figure, frame = blank(pic.PHONE, 0.95 * len(lines) + 0.05)
    top = 0.95 * len(lines) + 0.02
    for name, tokens in lines:
        frame.text(0.05, top - 0.2, name)
        goes_on = [text[:1].isalpha() for text, _ in tokens[1:]]
        x = 0.05
        for (text, i), joins, joined in zip(tokens, [False, *goes_on], [*goes_on, False], strict=True):
            x += 0 if joins or not text[:1].isspace() else GAP
            width = SPACE + LETTER * max(len(text.strip()), len(str(i)))
            tile(frame, (x, top - 0.58, width, 0.29), pic.WEIGHTS(0.4 if joins or joined else 0.08), text.strip())
            frame.text(x + width / 2, top - 0.76, i, ha="center", color="#5b6570")
            x += width
        top -= 0.95
    return figure


def bench(pieces: Mapping[str, int], learned: Mapping[tuple[str, str], int], plain: pic.Picture) -> Interactive:
    """Byte-pair encoding at work on a small text, one merge at a time.

    `pieces` are the pieces of the text with the times that they occur, `learned` the
    merges with the times that the pair occurred; `plain` stands on paper.
    """
    rows = [(f"{a} + {b}", str(times), a + b) for (a, b), times in list(learned.items())[:8]]
    data = {
        "pieces": [list(piece) for piece in pieces],
        "times": list(pieces.values()),
        "merges": [list(pair) for pair in learned],
    }
    first = {"The first merges": (("pair", "times", "token"), rows)}
    return Interactive("merges", data, {}, plain, words=first, pictured=True)


def encoding(
    merges: Sequence[tuple[int, int]], tokens: Sequence[bytes], texts: Mapping[str, Sequence[int]], plain: pic.Picture
) -> Interactive:
    """A reader's own text on its way through a tokenizer's merges, to its tokens and their ids.

    `merges` are pairs of ids, `tokens` the bytes of each id. The first text stands there
    at first; the table has the ids of each. `plain` stands before it, and on paper.
    """
    if not texts:
        raise ValueError("texts (none) must be one text at least")
    rows = []
    for text, ids in texts.items():
        cut = [tokens[i].decode(errors="backslashreplace") for i in ids]
        rows.append((text, " · ".join(token.replace(" ", "␣") for token in cut), ", ".join(map(str, ids))))
    data = {"merges": [list(pair) for pair in merges], "texts": list(texts)}
    words = {"Texts and their tokens": (("text", "tokens", "ids"), rows)}
    return Interactive("encoding", data, {}, plain, words=words, pictured=True)


@pic.styled
def merges(steps: Sequence[Sequence[str]], names: Sequence[str]) -> pic.Picture:
    """One word in ever fewer pieces: a row for each step, a box for each piece.

    A box is as wide as its piece has characters.
    """
    figure, axes = chart(0.5 + 0.5 * len(steps), pic.WIDE)
    width = sum(map(len, steps[0]))
    for y, pieces in enumerate(steps):
        x = 0
        for piece in pieces:
            new = y > 0 and piece not in steps[y - 1]
            tile(axes, (x + 0.04, y + 0.1, len(piece) - 0.08, 0.8), pic.WEIGHTS(0.45 if new else 0.08), piece)
            x += len(piece)
    _bare(axes, width, len(steps))
    axes.set_yticks(np.arange(len(names)) + 0.5, names)
    return figure


@pic.styled
def lengths(n_merges: ArrayLike, curves: pic.Arrays, levels: Mapping[str, float]) -> pic.Picture:
    """Tokens to a word against the number of merges, one curve for each text.

    There are dotted lines at the named levels.
    """
    figure, axes = chart(3.6, pic.WIDE)
    kit.curves(axes, n_merges, curves, dashes=("-", "--", "-."))
    for name, level in levels.items():
        axes.axhline(level, color=pic.FAINT, linewidth=1.5, linestyle=":")
        beside(axes, name, (np.max(n_merges), level), (0, -3), ha="right", va="top")
    axes.set(ylim=(0, None), xlim=(0, np.max(n_merges)), xlabel="merges learned", ylabel="tokens to a word")
    figure.legend(loc="outside upper center", ncols=len(curves))
    return figure


@pic.styled
def padded(rows: Sequence[Sequence[str]], real: ArrayLike) -> pic.Picture:
    """A batch as a grid of tokens, one row a sentence; hatched where not `real`."""
    real = np.asarray(real)
    figure, axes = chart(0.5 + 0.6 * len(rows), pic.WIDE)
    for (y, x), is_real in np.ndenumerate(real):
        face, text, hatch = (pic.WEIGHTS(0.2), rows[y][x], None) if is_real else ("white", "", "////")
        tile(axes, (x + 0.04, y + 0.1, 0.92, 0.8), face, text, hatch=hatch)
    _bare(axes, real.shape[1], real.shape[0])
    axes.set_yticks(np.arange(len(rows)) + 0.5, [f"sentence {y + 1}" for y in range(len(rows))])
    return figure


def _bare(axes: Axes, width: float, height: float) -> None:
    """Room for the boxes, the first row on top, and nothing around them."""
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[])
    bare(axes)
