"""Fewer bits for each weight: a slider with what it changes, and how many translations stay right."""

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np

from tested_transformer.book.few_bits import Product, Setting
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import beside, chart, listed
from tested_transformer.shares import written

SHOWN = 100
"""So many characters of a translation are shown: at 2 bits, one goes on to the end."""


def rounding(
    product: Product, place: str, settings: Mapping[int, Setting], sentences: Mapping[str, Mapping[int, str]]
) -> Interactive:
    """A slider from 8 bits to 2, and what follows: one row's weights, one product with it, and a translation.

    `place` says which number of the model the product is. `sentences` have their translations at each number of bits,
    and the first of them is there at first. The page rounds and multiplies by itself.
    """
    bits = [*settings]
    if not sentences or any([*german] != bits for german in sentences.values()):
        raise ValueError(f"sentences ({len(sentences)}) must be one at least, each translated at all of {bits} bits")
    data = {
        "row": product.row,
        "x": product.x,
        "place": place,
        "sentences": [{"english": text, "written": dict(german)} for text, german in sentences.items()],
        "megabytes": {b: setting.megabytes for b, setting in settings.items()},
        "shown": SHOWN,
    }
    lines = [
        (str(b), str(2**b - 1), written(s.megabytes, 2), written(s.step, 4), written(s.product, 3), written(s.bound, 3))
        for b, s in settings.items()
    ]
    head = ("bits", "values", "megabytes", "one step", "the product", "moved by at most")
    words = {place: (head, lines)} | {
        f"“{text}” becomes": (("bits", "German"), [(str(b), shown(german[b])) for b in bits])
        for text, german in sentences.items()
    }
    return Interactive("bits", data, {}, words=words)


def shown(text: str) -> str:
    """A translation for people: its beginning, with a sign for each character that has none."""
    seen = "".join("�" if unicodedata.category(char) == "Cc" else char for char in text).strip()
    return seen if len(seen) <= SHOWN else f"{seen[:SHOWN]}…"


@pic.styled
def right(counts: Mapping[int, Sequence[int]], names: Sequence[str], of: int) -> pic.Picture:
    """For each number of bits so many of all that are right, a bar for each name, with the number at its end."""
    if len(names) != 2 or any(len(row) != len(names) for row in counts.values()):
        raise ValueError(f"names ({', '.join(names)}) must be two, and each number of bits needs a count for both")
    figure, axes = chart(0.9 + 0.46 * len(counts))
    looks = {"edgecolor": pic.QUERY, "linewidth": 1}
    for n, (name, colour) in enumerate(zip(names, (pic.tint(pic.QUERY)(0.3), pic.QUERY), strict=True)):
        places = np.arange(len(counts)) + 0.4 * n - 0.2
        found = [row[n] for row in counts.values()]
        axes.barh(places, found, 0.34, color=colour, label=name, **looks)
        for y, count in zip(places, found, strict=True):
            beside(axes, str(count), (count, y), (5, 0), va="center_baseline", fontsize=10.5)
    axes.set_yticks(range(len(counts)), [f"{b} bits" for b in counts])
    axes.set(xlim=(0, of), ylim=(len(counts) - 0.5, -0.5), xticks=[0, of // 2, of], xlabel=f"right, of {of} sentences")
    listed(axes)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(names))
    return figure
