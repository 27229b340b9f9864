"""Pictures of the whole Transformer."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import arrow, tile
from tested_transformer.book.draw.interactive import Interactive, written
from tested_transformer.book.walk import AXES, CHAPTERS, Step, Table, steps

STEP, TILE = 1.05, (0.2, 0.16)
"""Inches from one stop to the next, and of one number."""

KINDS = {
    "table": pic.OUT,
    "attention": pic.QUERY,
    "feed-forward": pic.VALUE,
    "norms": pic.KEY,
}
"""Colours of the kinds of boxes."""


@pic.styled
def journey(
    source: Mapping[str, ArrayLike],
    target: Mapping[str, ArrayLike],
    across: str,
    words: Sequence[Sequence[str]],
) -> pic.Picture:
    """Tensors (length, width) on their way through the model, from the bottom up.

    The last of the source's column enters the target's at the stop named `across`.
    """
    figure = pic.Picture(figsize=(5.3, STEP * len(target) + 0.1))
    columns = [
        [_stop(figure, *stop, x, level) for level, stop in enumerate(stops.items())]
        for stops, x in ((source, 0.55), (target, 3.15))
    ]
    title = 0.24 / figure.get_size_inches()[1]
    for stops in columns:
        for start, end in pairwise(stops):
            low, high = start.get_position(), end.get_position()
            middle = low.x0 + 0.1
            ends = (middle, low.y1 + title), (middle, high.y0)
            arrow(figure, *ends, size=11, width=1.5)
    for stops, sentence in zip(columns, words, strict=True):
        stops[0].set_yticks(range(len(sentence)), sentence)
        stops[0].tick_params(length=0, pad=2)
    memory, goal = columns[0][-1], columns[1][list(target).index(across)]
    start, end = memory.get_position(), goal.get_position()
    level, aim = (start.y0 + start.y1) / 2, (end.y0 + end.y1) / 2
    bend = (start.x1 + end.x0) / 2
    way = (start.x1, level), (bend, level), (bend, aim), (end.x0, aim)
    for ends, style in zip(pairwise(way), ("-", "-", "-|>"), strict=True):
        arrow(figure, *ends, pic.KEY, 11, 1.5, arrowstyle=style)
    return figure


def _stop(
    figure: pic.Picture, name: str, values: ArrayLike, x: float, level: int
) -> Axes:
    """One tensor as coloured tiles, its name and shape above."""
    rows, columns = np.shape(values)
    wide, high = figure.get_size_inches()
    size = TILE[0] * columns / wide, TILE[1] * rows / high
    axes = figure.add_axes((x / wide, (0.1 + STEP * level) / high, *size))
    largest = np.abs(values).max()
    axes.imshow(values, cmap=pic.SIGNED, vmin=-largest, vmax=largest, aspect="auto")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color=pic.FAINT)
    axes.set_title(f"{name}  {rows} × {columns}", pad=3)
    return axes


@pic.styled
def areas(parts: Mapping[str, Mapping[str, int]]) -> pic.Picture:
    """Numbers of parameters as areas: a column for each part, cut into its boxes.

    The whole rectangle is the whole model.
    """
    figure, ((axes,),) = pic.picture(5.6, 4.2)
    whole = sum(sum(boxes.values()) for boxes in parts.values())
    left = 0.0
    for part, boxes in parts.items():
        width, bottom = sum(boxes.values()) / whole, 0.0
        for box, number in boxes.items():
            height = number / whole / width
            kind = next(kind for kind in KINDS if kind in box)
            # a thin one has no room for words
            words = f"{box}\n{number / 1e6:.1f} M" if height > 0.05 else ""
            place, look = (left, bottom, width, height), {"edgecolor": "white"}
            tile(axes, place, KINDS[kind], words, "white", linewidth=2, **look)
            bottom += height
        axes.text(left + width / 2, 1.015, part, ha="center", va="bottom")
        left += width
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    return figure


@pic.styled
def uses(parts: Mapping[str, ArrayLike], words: Sequence[str]) -> pic.Picture:
    """How much each use adds to each row of the table: a bar for a use and a word."""
    figure, ((axes,),) = pic.picture(5.6, 3.4)
    places, thick = np.arange(len(words)), 0.8 / len(parts)
    colours = (pic.QUERY, pic.KEY, pic.VALUE)
    for i, (use, sizes) in enumerate(parts.items()):
        look = {"height": thick, "color": colours[i], "label": use}
        axes.barh(places + (i - (len(parts) - 1) / 2) * thick, sizes, **look)
    axes.set_yticks(places, words)
    axes.invert_yaxis()
    axes.set_xlabel("length of the gradient of the row")
    figure.legend(loc="outside upper center", ncols=len(parts))
    return figure


@pic.styled
def guesses(
    percent: ArrayLike, read: Sequence[str], candidates: Sequence[str]
) -> pic.Picture:
    """Probabilities in percent (length, vocabulary) of the next token, as tiles."""
    figure, ((axes,),) = pic.picture(5.2, 0.9 + 0.45 * len(read))
    pic.tiles(axes, np.round(percent), pic.WEIGHTS, (0, 100), decimals=0)
    axes.set_aspect("auto")
    axes.set_xticks(range(len(candidates)), candidates, rotation=45, ha="left")
    axes.set_yticks(range(len(read)), read)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_ylabel("read last")
    axes.set_xlabel("next token, percent")
    return figure


def walk(
    runs: Mapping[str, Mapping[str, ArrayLike]],
    source: Sequence[str],
    target: Sequence[str],
    vocabulary: Sequence[str],
    wanted: Sequence[int],
    languages: tuple[str, str] | None = None,
) -> Interactive:
    """The whole model as a map, with every tensor of one or several runs to look at.

    A run has the names of `byhand.transformer.tensors`, and "answers": probability and
    loss of each wanted token. `languages` are those of source and target ("en", "de"),
    for readers who hear the page.
    """
    first = next(iter(runs.values()))
    encoder = [name for name in first if name.startswith("encoder.")]
    layers = sum(name.endswith("addnorm_1.out") for name in encoder)
    path = list(steps(layers))
    data = {
        "words": {"S": source, "T": target, "V": vocabulary},
        "languages": dict(zip("ST", languages or (), strict=False)),
        "wanted": wanted,
        "best": [np.argmax(run["probabilities"], -1).tolist() for run in runs.values()],
        "runs": list(runs),
        "axes": AXES,
        "steps": [_step(step, runs) for step in path],
    }
    rows = [
        (str(n), *_named(step, layers), shapes, (CHAPTERS[page], f"{page}.ipynb{at}"))
        for n, step in enumerate(path, start=1)
        for shapes in ["; ".join(_shape(table, first) for table in step.tables)]
        for page, at in [_place(step)]
    ]
    words = {"The steps": (("", "where", "what happens", "shapes", "chapter"), rows)}
    chances = np.asarray(first["probabilities"]).T
    title = "Probability of the next token, after each token of the target"
    tables = {title: (vocabulary, target, chances)}
    return Interactive("walk", data, tables, decimals=2, words=words)


def _named(step: Step, layers: int) -> tuple[str, str]:
    layer = f" layer {step.layer + 1}" if step.layer is not None and layers > 1 else ""
    part = f": {step.part}" if step.part else ""
    return f"{step.side}{layer}, {step.box}{part}", step.about


def _place(step: Step) -> tuple[str, str]:
    page, sign, anchor = step.place.partition("#")
    return page, sign + anchor


def _shape(table: Table, run: Mapping[str, ArrayLike]) -> str:
    letters, numbers = table.axes, np.shape(run[table.name])
    return f"{table.title} ({', '.join(letters)}) = ({', '.join(map(str, numbers))})"


def _step(step: Step, runs: Mapping[str, Mapping[str, ArrayLike]]) -> dict:
    """A step as its script takes it, with the numbers of every run, written."""
    found = step._asdict() | {"chapter": CHAPTERS[_place(step)[0]], "tables": []}
    for table in step.tables:
        values = [np.asarray(run[table.name]) for run in runs.values()]
        numbers = {"shape": values[0].shape, "values": [_texts(x) for x in values]}
        found["tables"].append(table._asdict() | numbers)
    return found


def _texts(x: np.ndarray) -> list:
    """An array as nested lists of written numbers; whole ones without decimals."""
    if x.ndim > 1:
        return [_texts(row) for row in x]
    places = 0 if np.issubdtype(x.dtype, np.integer) else 2
    return ["−∞" if value == -np.inf else written(float(value), places) for value in x]
