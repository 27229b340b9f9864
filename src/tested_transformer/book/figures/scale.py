"""Pictures of costs: what is counted against a size, who holds what, what was measured."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from tested_transformer.book.cost import price
from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import outline, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import CENTRE, bare, beside, chart, listed, named
from tested_transformer.config import Config

LETTER = 0.092
"""About how wide a letter is, in inches."""

LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


@pic.styled
def curves(
    x: ArrayLike, lines: pic.Arrays, labels: tuple[str, str], levels: Mapping[str, float] | None = None
) -> pic.Picture:
    """Lines over x on logarithmic scales.

    labels name the two axes; levels are heights with a name, dotted.
    """
    figure, axes = chart(4.2, pic.WIDE)
    for name, height in (levels or {}).items():
        axes.axhline(height, color=pic.FAINT, linestyle=":", linewidth=1.5)
        beside(axes, name, (1, height), (4, 0), va="center", xycoords=("axes fraction", "data"))
    for i, (name, y) in enumerate(lines.items()):
        axes.plot(x, y, color=pic.SERIES[i], linestyle=LINES[i], label=name)
    axes.set(xscale="log", yscale="log", xlabel=labels[0], ylabel=labels[1])
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@pic.styled
def bills(parts: Mapping[str, Mapping[str, float]], unit: str) -> pic.Picture:
    """A bar for each name, made of parts that lie end to end, the sum beside it.

    The parts have no borders, which would cover a thin one; a line leads from each to its name.
    """
    figure, axes = chart(0.75 + 0.95 * len(parts), pic.WIDE)
    figure.set_layout_engine("none")
    start = 0.2 + LETTER * max(map(len, parts))
    width, high = 6.65 - start, figure.get_figheight()
    axes.set_position((start / 6.8, 0.6 / high, width / 6.8, 1 - 0.65 / high))
    kinds = list(dict.fromkeys(kind for bar in parts.values() for kind in bar))
    most = 1.14 * max(sum(bar.values()) for bar in parts.values())
    for row, bar in enumerate(parts.values()):
        ends = np.cumsum([0.0, *bar.values()])
        middles = (ends[:-1] + ends[1:]) / 2
        words = _spread(middles, [LETTER * len(kind) * most / width for kind in bar], most)
        for kind, left, middle, word in zip(bar, ends[:-1], middles, words, strict=True):
            i = kinds.index(kind)
            look = {"color": pic.colour_of(kind, i), "hatch": ("", "//")[i % 2], "edgecolor": "white", "linewidth": 0}
            axes.barh(row, bar[kind], left=left, height=0.4, **look)
            axes.plot((middle, word), (row + 0.2, row + 0.36), color=look["color"], linewidth=1)
            axes.text(word, row + 0.37, kind, ha="center", va="top", color=look["color"])
        beside(axes, f"{ends[-1]:.2f}", (ends[-1], row), (4, 0), va="center")
    axes.set_yticks(range(len(parts)), list(parts))
    listed(axes)
    axes.set(xlim=(0, most), ylim=(len(parts) - 0.3, -0.25), xlabel=unit)
    return figure


def _spread(middles: ArrayLike, widths: Sequence[float], most: float) -> np.ndarray:
    """The middles of words of these widths, near those wanted, apart, and between 0 and most."""
    places, gap = np.array(middles, dtype=float), most / 60
    half = np.array(widths) / 2
    for i in range(len(places)):
        least = places[i - 1] + half[i - 1] + gap if i else 0.0
        places[i] = max(places[i], least + half[i])
    for i in reversed(range(len(places))):
        last = i + 1 == len(places)
        places[i] = min(places[i], (most if last else places[i + 1] - half[i + 1] - gap) - half[i])
    return places


def cost(models: Mapping[str, Config], start: tuple[str, int, int], plain: pic.Picture) -> Interactive:
    """What models cost, to change: start names one, its tokens on a side, its sentences.

    The plain picture is for where no script runs; its table has `counting.price`.
    """
    first, n, sentences = start
    told = price(models[first], n, sentences)
    sizes = ("d_model", "d_ff", "n_heads", "n_layers", "vocab_size")
    data = {
        "models": [{"name": name} | {size: getattr(config, size) for size in sizes} for name, config in models.items()],
        "start": {"model": first, "n": n, "sentences": sentences},
    }
    title = f"{first}, {sentences} sentences of {n} tokens"
    table = (list(told), ["how much"], [[value] for value in told.values()])
    return Interactive("cost", data, {title: table}, plain, decimals=0, pictured=True)


@pic.styled
def areas(panels: Mapping[str, pic.Pair]) -> pic.Picture:
    """What an encoder layer multiplies for one token, as areas; d_ff is 4 d.

    Each panel has a number of tokens n and a width d, all on one scale: twelve squares of
    d by d for the matrices, and below them two strips of n by d for the attention.
    """
    unit = min(d for _, d in panels.values())
    kinds = [("projections", 4, ""), ("feed-forward", 8, "//"), ("attention", 0, "..")]
    look = {name: {"facecolor": pic.colour_of(name), "edgecolor": "white", "hatch": hatch} for name, _, hatch in kinds}
    squares = [name for name, n, _ in kinds for _ in range(n)]
    ends = [max(6 * d, n) / unit for n, d in panels.values()]
    wide = max(sum(ends) + len(ends) - 1, 12)
    tallest, left = max(4 * d for _, d in panels.values()) / unit + 0.4, 0.0
    figure, axes = chart(7.2 / wide * (tallest + 1.0) + 0.4, pic.WIDE)
    for (title, (n, d)), end in zip(panels.items(), ends, strict=True):
        side = d / unit
        for i, name in enumerate(squares):
            axes.add_patch(Rectangle((left + i % 6 * side, i // 6 * side), side, side, **look[name]))
        for i in (2, 3):
            axes.add_patch(Rectangle((left, i * side + 0.4), n / unit, side, **look["attention"]))
        axes.text(left, -0.25, title, ha="left", va="bottom", color=pic.INK)
        left += end + 1
    shown = [Rectangle((0, 0), 1, 1, label=name, **look[name]) for name in look]
    figure.legend(handles=shown, loc="outside lower center", ncols=3)
    axes.set(xlim=(-0.1, wide + 0.1), ylim=(tallest + 0.1, -0.9), aspect="equal")
    axes.set_axis_off()
    return figure


@pic.styled
def shares(rows: pic.Arrays, across: str, decimals: int = 2) -> pic.Picture:
    """Numbers of a gradient as tiles, a row for each process and for what is made of them.

    The columns are numbered from 1; across says what they are.
    """
    x = np.array(list(rows.values()))
    most = abs(x).max()
    figure, axes = chart(0.62 * len(x) + 0.9, pic.WIDE)
    pic.tiles(axes, x, pic.SIGNED, (-most, most), decimals)
    named(axes, list(rows), [f"{i + 1}" for i in range(x.shape[1])])
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(across)
    return figure


@pic.styled
def sums(n: ArrayLike, totals: pic.Arrays, true: ArrayLike) -> pic.Picture:
    """What a running sum reaches in each number format, and the true sum."""
    figure, axes = chart(3.6, pic.WIDE)
    axes.plot(n, true, color=pic.FAINT, linewidth=5, label="true")
    kit.curves(axes, n, totals, dashes=LINES)
    axes.set(xlabel="numbers added", ylabel="sum")
    axes.legend()
    return figure


@pic.styled
def ring(counts: Sequence[ArrayLike], names: Sequence[str]) -> pic.Picture:
    """In each process (row) and piece (column), how many gradients are added up; both count from 0.

    What has just changed, because it arrived, is framed.

    The first panel has the processes in their ring: an arrow says who sends to whom.
    """
    columns = 4
    rows = -(-(len(counts) + 1) // columns)
    figure, grid = pic.picture(pic.WIDE, 1.9 * rows + 0.2, rows, columns)
    first, *blocks = grid.flat
    k = len(counts[0])
    turn = np.pi / 2 - 2 * np.pi * np.arange(k + 1) / k
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    circle = {"boxstyle": "circle", "facecolor": "none", "edgecolor": pic.FAINT}
    way = {"arrowstyle": "-|>", "color": pic.INK, "shrinkA": 13, "shrinkB": 13}
    for i, (x, y) in enumerate(around[:k]):
        first.text(x, y, f"{i}", color=pic.INK, bbox=circle, **CENTRE)
        first.annotate("", around[i + 1], (x, y), arrowprops=way)
    first.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), title="who sends to whom", aspect="equal")
    first.set_axis_off()
    for axes in blocks[len(counts) :]:
        axes.set_visible(False)
    before = counts[0]
    for axes, name, x in zip(blocks, names, counts, strict=False):
        pic.tiles(axes, x, pic.WEIGHTS, (0, len(x)), decimals=0)
        for process, piece in np.argwhere(np.not_equal(x, before)):
            outline(axes, (piece - 0.46, process - 0.46, 0.92, 0.92), pic.KEY, 2.5, zorder=3)
        axes.set(title=name, xticks=[], yticks=range(len(x)))
        before = x
    return figure


@pic.styled
def held(schemes: Mapping[str, pic.Arrays]) -> pic.Picture:
    """Which pieces each process holds: a block for each scheme, a strip for each kind.

    The arrays are True where a process (row) holds a piece (column).
    """
    figure, (panels,) = pic.picture(pic.WIDE, 3.0, columns=len(schemes))
    for axes, (scheme, kinds) in zip(panels, schemes.items(), strict=True):
        for k, (kind, has) in enumerate(kinds.items()):
            n, pieces = np.shape(has)
            for (row, piece), here in np.ndenumerate(has):
                tile(axes, (k * 1.12 + piece / pieces, row + 0.1, 1 / pieces, 0.8), pic.SERIES[k] if here else "white")
            middle = k * 1.12 + 0.5
            axes.text(middle, -0.15, kind, ha="center", va="bottom", color=pic.INK)
        axes.set(xlim=(-0.05, len(kinds) * 1.12), ylim=(n, -0.7))
        axes.set(yticks=np.arange(n) + 0.5, yticklabels=[f"{i + 1}" for i in range(n)], xticks=[], title=scheme)
        bare(axes)
    return figure


@pic.styled
def measured(cases: Mapping[str, Mapping[str, float]], unit: str) -> pic.Picture:
    """For each case a group of bars, one for each program; 1 is dotted."""
    counts = [len(sides) for sides in cases.values()]
    height = 0.5 + sum(0.32 * n + 0.45 for n in counts)
    figure, grid = pic.picture(pic.WIDE, height, len(cases), sharex=True, height_ratios=[n + 1 for n in counts])
    for axes, (case, sides) in zip(grid[:, 0], cases.items(), strict=True):
        axes.axvline(1, color=pic.FAINT, linestyle=":")
        bars = axes.barh(
            list(sides),
            list(sides.values()),
            color=[pic.colour_of(name, i) for i, name in enumerate(sides)],
            height=0.7,
        )
        axes.bar_label(bars, fmt="{:.2f}", padding=4)
        axes.invert_yaxis()
        axes.set_title(case)
        axes.margins(x=0.12)
    axes.set_xlabel(unit)
    return figure
