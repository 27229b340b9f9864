"""Pictures of the whole Transformer."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.data_flow import AXES, CHAPTERS, Step, Table, n_layers, steps
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, bent, blank, column, kind, outline, part, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import chart, named, write
from tested_transformer.shares import as_share, written

STEP, TILE = 1.05, (0.2, 0.16)
"""Inches from one stop to the next, and of one number."""

LAYERS = ("self-attention", "add & norm", "feed-forward", "add & norm")
PARTS = {"encoder": LAYERS, "decoder": ("masked self-attention", "add & norm", "cross-attention", *LAYERS[1:])}
"""The boxes of a layer, in their order."""

BOXES = {
    "encoder": ("self_attention", "addnorm_1", "feed_forward", "addnorm_2"),
    "decoder": ("self_attention", "addnorm_1", "cross_attention", "addnorm_2", "feed_forward", "addnorm_3"),
}
"""Their names in a run."""

TITLES = {
    "encoder": ("self-attention", "add & norm", "feed-forward", "memory"),
    "decoder": ("masked attention", "add & norm 1", "cross-attention", "add & norm 2", "feed-forward", "add & norm 3"),
}
STOPS = tuple(
    {"embedding": f"{side}.scaled", "+ positions": f"{side}.sum"}
    | {title: f"{side}.layers.0.{box}.out" for title, box in zip(titles, BOXES[side], strict=True)}
    | ({"logits": "logits"} if side == "decoder" else {})
    for side, titles in TITLES.items()
)
"""The stops of the journey: title -> name of the tensor, of the source and of the target."""

WIDTHS = ("D", "F", "d_k", "d_v", "H·d_v")
WIDEST, COLUMNS, LIKELIEST = 12, 6, 10
"""So wide a table of the walk is shown whole, else so many of its columns; and so many tokens of a vocabulary."""


LEFT, RIGHT, HIGH = (0.3, 1.75), (2.75, 1.95), 0.3
"""The columns of the machine: where a box begins and how wide it is; and how high it is, in inches."""


@pic.styled
def machine(words: Sequence[Sequence[str]], run: pic.Arrays, vocabulary: Sequence[str]) -> pic.Picture:
    """The whole model from top to bottom with the sizes of a run, and the largest logits that it ends with.

    words are those that it reads, in lines, and those that it has written. The run has
    the names of `byhand.transformer.tensors`.
    """
    source, target, logits = (np.asarray(run[name]) for name in ("encoder.sum", "decoder.sum", "logits"))
    sizes = {"source": source.shape, "target": target.shape, "logits": logits.shape}
    sizes["table"] = logits.shape[1], target.shape[1]
    by = {name: " × ".join(map(str, size)) for name, size in sizes.items()}
    figure, frame = blank(5.1, 6.35)
    middles = [x + width / 2 for x, width in (LEFT, RIGHT)]
    for centre, lines in zip(middles, words, strict=True):
        for n, line in enumerate(lines):
            write(frame, centre, 6.18 - 0.2 * n, line, weight="bold")
        arrow(frame, (centre, 5.86), (centre, 5.68))
    wide = LEFT[0] - 0.15, 5.32, sum(RIGHT) - LEFT[0] + 0.3, 0.35
    part(frame, wide, "table", f"rows of the table E, {by['table']}")
    ends = []
    for x, centre, name, side in zip((LEFT, RIGHT), middles, ("source", "target"), PARTS, strict=True):
        write(frame, centre, 5.17, "+ positions")
        arrow(frame, (centre, 5.06), (centre, 4.78))
        write(frame, centre + 0.08, 4.93, by[name], ha="left")
        ends.append(_layer(frame, x, 4.61, side, n_layers(run)))
    (_, memory), (cross, out) = ends
    centre, between = middles[0], LEFT[0] + LEFT[1] + 0.5
    arrow(frame, (centre, memory), (centre, memory - 0.3))
    write(frame, centre, memory - 0.42, f"memory {by['source']}")
    way = ((centre + 0.82, memory - 0.42), (between, memory - 0.42), (between, cross), (RIGHT[0], cross))
    bent(frame, way, pic.KEY, 1.8)
    centre = middles[1]
    arrow(frame, (centre, out), (centre, out - 0.3))
    write(frame, centre + 0.08, out - 0.15, by["target"], ha="left")
    top = RIGHT[0] - 0.15, out - 0.65, RIGHT[1] + 0.3, 0.35
    part(frame, top, "table", "compared with all of E")
    arrow(frame, (centre, out - 0.65), (centre, out - 0.95))
    write(frame, centre + 0.08, out - 0.8, f"{by['logits']} logits", ha="left")
    for n, i in enumerate(np.argsort(-logits[-1], kind="stable")[:3]):
        said = f"{vocabulary[i].strip()}  {logits[-1, i]:.1f}"
        write(frame, centre, out - 1.06 - 0.2 * n, said, weight="normal" if n else "bold")
    return figure


def _layer(frame: Axes, x: pic.Pair, top: float, side: str, layers: int) -> pic.Pair:
    """A layer, its boxes below each other in a frame; the height of its cross-attention, and of its end."""
    (left, width), cross = x, 0.0
    around = left - 0.17 if side == "encoder" else left + width + 0.17

    def draw(place: pic.Place, name: str) -> None:
        part(frame, place, name, name)

    for name, low in column(frame, PARTS[side], x, (top, HIGH, 0.17), (around, 0.09), draw, 9, (1.4, 1.2)):
        cross = low + HIGH / 2 if name.startswith("cross") else cross
    arrow(frame, (left + width / 2, top + 0.17), (left + width / 2, top), size=9)
    outline(frame, (min(left, around) - 0.09, low - 0.3, width + 0.35, top - low + 0.47), pic.FAINT, 1)
    write(frame, left + width / 2, low - 0.16, f"{layers} such layers", style="italic")
    return cross, low - 0.3


@pic.styled
def looks(panels: Mapping[str, tuple[ArrayLike, Sequence[str], Sequence[str]]]) -> pic.Picture:
    """The weights of several attentions below each other: title -> (weights, rows, columns)."""
    heights = [0.72 + 0.34 * len(rows) for _, rows, _ in panels.values()]
    figure = pic.Picture(figsize=(4.2, sum(heights)), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
    for axes, (title, (a, rows, columns)) in zip(grid.flat, panels.items(), strict=True):
        pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=2, whole=1)
        named(axes, rows, columns)
        axes.set(aspect="auto", title=title)
    return figure


@pic.styled
def journey(run: pic.Arrays, words: Sequence[Sequence[str]]) -> pic.Picture:
    """The tensors of a run of one layer on their way, from top to bottom.

    The run has the names of `byhand.transformer.tensors`.
    """
    source, target = ({title: run[name] for title, name in stops.items()} for stops in STOPS)
    figure = pic.Picture(figsize=(5.1, STEP * len(target) + 0.1))
    columns = [
        [_stop(figure, *stop, x, level) for level, stop in enumerate(stops.items())]
        for stops, x in ((source, 0.55), (target, 2.95))
    ]
    title = 0.24 / figure.get_size_inches()[1]
    for stops in columns:
        for start, end in pairwise(stops):
            high, low = start.get_position(), end.get_position()
            middle = low.x0 + 0.1
            arrow(figure, (middle, high.y0), (middle, low.y1 + title), size=11, width=1.5)
    for stops, sentence in zip(columns, words, strict=True):
        stops[0].set_yticks(range(len(sentence)), sentence)
        stops[0].tick_params(length=0, pad=2)
    start = columns[0][-1].get_position()
    end = columns[1][list(target).index("cross-attention")].get_position()
    level, aim = (start.y0 + start.y1) / 2, (end.y0 + end.y1) / 2
    bend = (start.x1 + end.x0) / 2
    way = (start.x1, level), (bend, level), (bend, aim), (end.x0, aim)
    for ends, style in zip(pairwise(way), ("-", "-", "-|>"), strict=True):
        arrow(figure, *ends, pic.KEY, 11, 1.5, arrowstyle=style)
    return figure


def _stop(figure: pic.Picture, name: str, values: ArrayLike, x: float, level: int) -> Axes:
    """One tensor as coloured tiles, its name and shape above."""
    rows, columns = np.shape(values)
    wide, high = figure.get_size_inches()
    size = TILE[0] * columns / wide, TILE[1] * rows / high
    top = 1 - (0.3 + STEP * level) / high
    axes = figure.add_axes((x / wide, top - size[1], *size))
    largest = np.abs(values).max()
    axes.imshow(values, cmap=pic.SIGNED, vmin=-largest, vmax=largest, aspect="auto")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color=pic.FAINT)
    axes.set_title(f"{name}  {rows} × {columns}", pad=3)
    return axes


@pic.styled
def areas(parts: Mapping[str, Mapping[str, int]]) -> pic.Picture:
    """Numbers of parameters as areas: a column for each part, cut into its boxes.

    The whole rectangle is the whole model.
    """
    figure, axes = chart(4.2, 5.6)
    whole = sum(sum(boxes.values()) for boxes in parts.values())
    left = 0.0
    for side, boxes in parts.items():
        width, bottom = sum(boxes.values()) / whole, 0.0
        for box, number in boxes.items():
            height = number / whole / width
            # a thin one has no room for words
            words = f"{box}\n{number / 1e6:.1f} M" if height > 0.05 else ""
            tile(axes, (left, bottom, width, height), kind(box), words, "white", linewidth=2, edgecolor="white")
            bottom += height
        axes.text(left + width / 2, 1.015, side, ha="center", va="bottom")
        left += width
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    return figure


@pic.styled
def guesses(percent: ArrayLike, read: Sequence[str], candidates: Sequence[str]) -> pic.Picture:
    """Probabilities in percent (length, vocabulary) of the next token, as tiles."""
    figure, axes = chart(0.9 + 0.45 * len(read), 5.2)
    pic.tiles(axes, percent, pic.WEIGHTS, (0, 100), decimals=0, whole=100)
    axes.set_aspect("auto")
    named(axes, read, candidates, rotation=45, ha="left")
    axes.xaxis.set_label_position("top")
    axes.set(ylabel="read last", xlabel="next token, percent")
    return figure


class Runs(NamedTuple):
    """Runs of one model on one pair of sentences, by name, and the words for what they hold.

    A run has the names of `byhand.transformer.tensors`, and "answers": probability and
    loss of each wanted token. `asked` is the sentence that the source was made of, if the
    model is the package's: readers can then write another one, which the page calculates.
    """

    runs: Mapping[str, pic.Arrays]
    source: Sequence[str]
    target: Sequence[str]
    vocabulary: Sequence[str]
    wanted: Sequence[int]
    asked: str = ""


def walk(*models: Runs, languages: tuple[str, str] | None = None) -> Interactive:
    """The whole model as a map, with every tensor of its runs to look at; or several models, one of them deeper.

    Of a wide table the first columns are shown, of many tokens those that are most probable somewhere. `languages` are
    those of source and target ("en", "de"), for readers who hear the page.
    """
    first = models[0]
    run = next(iter(first.runs.values()))
    path = list(steps(n_layers(run)))
    data = {
        "languages": dict(zip("ST", languages or (), strict=False)),
        "axes": AXES,
        "likeliest": LIKELIEST,
        "models": [_model(model) for model in models],
    }
    rows = [
        (str(n), *_named(step, n_layers(run)), shapes, (CHAPTERS[page], f"{page}.ipynb{at}"))
        for n, step in enumerate(path, start=1)
        for shapes in ["; ".join(_shape(table, run) for table in step.tables)]
        for page, at in [_place(step)]
    ]  # fmt: skip
    words = {"The steps": (("", "where", "what happens", "shapes", "chapter"), rows)}
    chances = np.asarray(run["probabilities"]).T
    title = "Probability of the next token, after each token of the target"
    tables = {title: (first.vocabulary, first.target, chances)}
    return Interactive("walk", data, tables, decimals=2, words=words, shares=(title,))


def _model(model: Runs) -> dict:
    """A model as its script takes it."""
    runs = list(model.runs.values())
    chances = [np.asarray(run["probabilities"]) for run in runs]
    best = [x.argmax(-1).tolist() for x in chances]
    likely = np.max(chances, axis=(0, 1))
    sure = {*model.wanted, *np.ravel(best).tolist()}  # they are shown at any rate
    likely[[*sure]] = 2
    most = max(LIKELIEST, len(sure))
    tokens = sorted(np.argsort(-likely, kind="stable")[:most].tolist())
    return {
        "asked": model.asked,
        "words": {"S": model.source, "T": model.target, "V": [model.vocabulary[i] for i in tokens]},
        "wanted": [tokens.index(i) for i in model.wanted],
        "best": [[tokens.index(i) for i in row] for row in best],
        "runs": list(model.runs),
        "steps": [_step(step, runs, tokens) for step in steps(n_layers(runs[0]))],
    }


def _named(step: Step, layers: int) -> tuple[str, str]:
    layer = f" layer {step.layer + 1}" if step.layer is not None and layers > 1 else ""
    part = f": {step.part}" if step.part else ""
    return f"{step.side}{layer}, {step.box}{part}", step.about


def _place(step: Step) -> tuple[str, str]:
    page, sign, anchor = step.place.partition("#")
    return page, sign + anchor


def _shape(table: Table, run: pic.Arrays) -> str:
    letters, numbers = table.axes, np.shape(run[table.name])
    return f"{table.title} ({', '.join(letters)}) = ({', '.join(map(str, numbers))})"


def _step(step: Step, runs: Sequence[pic.Arrays], tokens: list) -> dict:
    """A step as its script takes it, with the numbers of every run, written."""
    found = step._asdict() | {"chapter": CHAPTERS[_place(step)[0]], "tables": []}
    for table in step.tables:
        values = [np.asarray(run[table.name]) for run in runs]
        places = 0 if np.issubdtype(values[0].dtype, np.integer) else 2
        shape, shown = values[0].shape, ""
        if table.axes[-1] == "V" and shape[-1] > len(tokens):
            shown = f"the {len(tokens)} likeliest"
            values = [x[..., tokens] for x in values]
        elif table.axes[-1] in WIDTHS and shape[-1] > WIDEST:
            shown = f"the first {COLUMNS}"
            values = [x[..., :COLUMNS] for x in values]
        written = [_texts(x, places, table.kind == "share", table.name == "answers") for x in values]
        numbers = {"shape": shape, "shown": shown, "places": places, "values": written}
        found["tables"].append(table._asdict() | numbers)
    return found


def _texts(x: np.ndarray, places: int, share: bool, first: bool) -> list:
    """An array as nested lists of written numbers; all are shares, or the first of each row is one."""
    if x.ndim > 1:
        return [_texts(row, places, share, first) for row in x]
    if places == 0:
        return [str(id_) for id_ in x.tolist()]
    return [as_share(v, places) if share or (first and n == 0) else written(v, places) for n, v in enumerate(x)]
