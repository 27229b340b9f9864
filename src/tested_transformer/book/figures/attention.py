"""Pictures of scaled dot-product attention."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike

from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, link, outline
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import CENTRE, DASHES, beside, chart, named, write
from tested_transformer.shares import as_share

GREYS = ("#30363f", "#8b929d", "#d3d7dd")
"""Words side by side in a bar: no colour, since colours are those of queries, keys, values and outputs."""


SHARES = ("Attention weights",)
"""The tables of figures that hold shares."""


@pic.styled
def weights(a: ArrayLike, queries: Sequence[str], keys: Sequence[str]) -> pic.Picture:
    """Attention weights (Tq, Tk) as tiles: a row for each query, a column for each key."""
    rows, columns = np.shape(a)
    figure, axes = chart(1.0 + 0.8 * rows, 1.4 + 0.9 * columns)
    pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=4, whole=1)
    named(axes, queries, keys)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("takes from (keys)", color=pic.KEY)
    axes.set_ylabel("this word (queries)", color=pic.QUERY)
    return figure


@pic.styled
def heads(
    panels: Mapping[str, tuple[ArrayLike, Sequence[str], Sequence[str]]], rows: Sequence[int], least: float = 0.05
) -> pic.Picture:
    """Heads one below the other: for each its weights and the words that read and are read.

    One row of each is framed. A weight is written where it is larger than `least`.
    """
    side = 0.41  # of a tile, in inches
    above = {title: 1.05 if len(p[2]) > 3 else 0.6 for title, p in panels.items()}
    height = sum(above[title] + side * len(p[1]) + 0.15 for title, p in panels.items())
    widest = max(len(keys) for _, _, keys in panels.values())
    figure, top = pic.Picture(figsize=(pic.PHONE, height)), height
    for (title, (a, queries, keys)), row in zip(panels.items(), rows, strict=True):
        figure.text(0.02, (top - 0.1) / height, title, va="top")
        size = side * len(keys), side * len(queries)
        top -= above[title] + size[1]
        axes = figure.add_axes(np.divide((pic.PHONE - side * widest - 0.05, top, *size), (pic.PHONE, height) * 2))
        pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=2, whole=1)
        for text, weight in zip(axes.texts, np.ravel(a), strict=True):
            text.set_visible(bool(weight > least))
            if 0.995 < weight < 1:  # how near to one it is
                text.set(text=as_share(weight, 3), size=9)
        axes.spines[:].set(visible=True, color=pic.FAINT)
        named(axes, queries, keys, rotation=90 if len(keys) > 3 else 0)
        outline(axes, (-0.5, row - 0.5, len(keys), 1), pic.QUERY, 2, clip_on=False, zorder=3)
        top -= 0.15
    return figure


@pic.styled
def film(frames: pic.Arrays, losses: Sequence[float], words: Sequence[str], row: int) -> pic.Picture:
    """Weights while they are learned: a frame under each title, its loss below, one row framed."""
    if len(losses) != len(frames):
        raise ValueError(f"{len(losses)} losses for {len(frames)} frames")
    columns, n = 3, len(words)
    lines = -(-len(frames) // columns)
    figure, grid = pic.picture(pic.PHONE, 2.35 * lines, lines, columns)
    figure.get_layout_engine().set(h_pad=0.1)
    for axes in grid.flat[len(frames) :]:
        axes.remove()
    for i, (axes, (title, a), loss) in enumerate(zip(grid.flat, frames.items(), losses, strict=False)):
        pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=2, whole=1)
        axes.set_aspect("auto")
        axes.set_title(title, loc="center")
        axes.set(xticks=range(n), xticklabels=words, yticks=range(n), yticklabels=[""] * n if i % columns else words)
        axes.set_xlabel(f"loss {loss:.3f}")
        outline(axes, (-0.5, row - 0.5, n, 1), pic.QUERY, 2, clip_on=False, zorder=3)
    return figure


@pic.styled
def path(steps: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """The whole computation as matrices and arrows; `steps` names them: X, Q, K, V, scores, weights, out.

    The tint of a matrix is its role. Only weights are darker where they are larger.
    """
    colours = {"Q": pic.QUERY, "K": pic.KEY, "V": pic.VALUE, "out": pic.OUT}
    figure, boxes = pic.Picture(figsize=(pic.PHONE, 8.2)), {}
    for name, level, across, formula in (
        ("X", 0, 2, "$X$"),
        ("Q", 1, 1, r"$Q = X\,W^Q$"),
        ("K", 1, 2, r"$K = X\,W^K$"),
        ("V", 1, 3, r"$V = X\,W^V$"),
        ("scores", 2, 1.5, r"$QK^T/\sqrt{d_k}$"),
        ("weights", 3, 1.5, "softmax of each row"),
        ("out", 4, 2.4, r"weights $\cdot\ V$"),
    ):
        left, bottom = 0.115 + 0.305 * (across - 1), 0.835 - 0.2 * level
        boxes[name] = axes = figure.add_axes((left, bottom, 0.27, 0.125))
        colour, x = colours.get(name, pic.INK), np.asarray(steps[name])
        cmap = pic.WEIGHTS if name == "weights" else pic.tint(colour)
        pic.tiles(axes, x, cmap, (0, 1), decimals=2, whole=1 if name == "weights" else None)
        pic.alike(axes, x, decimals=2)
        axes.set_aspect("auto")
        axes.set_title(formula, color=colour, loc="center", pad=3)
        axes.set(xticks=[], yticks=range(len(words)), yticklabels=[] if name in ("K", "V") else words)
    inner = ("Q", "scores"), ("K", "scores"), ("scores", "weights"), ("weights", "out"), ("V", "out")
    for start, end in ("XQ", "XK", "XV", *inner):
        link(boxes[start], boxes[end], colours.get(start, pic.FAINT), gap=0.008, size=14, width=1.6)
    return figure


@pic.styled
def mixture(shares: ArrayLike, words: Sequence[str]) -> pic.Picture:
    """What the outputs are made of. shares[i, j, c] is what query word i takes from word j for component c."""
    shares = np.asarray(shares)
    components = np.arange(1, shares.shape[2] + 1)
    figure, grid = pic.picture(pic.PHONE, 0.9 + len(words) * (0.5 + 0.27 * len(components)), len(words), sharex=True)
    for i, (axes,) in enumerate(grid):
        base = np.zeros(len(components))
        for j, word in enumerate(words):
            axes.barh(components, shares[i, j], left=base, color=GREYS[j], label=word, height=0.8, edgecolor="w")
            for c, share in zip(components, shares[i, j], strict=True):
                if share > 0.06 * len(word):  # there is room for it
                    write(axes, base[c - 1] + share / 2, c, word, color="wkk"[j])
            base += shares[i, j]
        for c, total in zip(components, base, strict=True):
            axes.text(total + 0.02, c, f"{total:.2f}", va="center_baseline")
        axes.set(title=f"output for “{words[i]}”", yticks=components)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
    grid[-1, 0].set_xlabel("value")
    figure.supylabel("component of the output", fontsize=11)
    labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(*labels, title="taken from", loc="outside upper center", ncols=len(words))
    return figure


@pic.styled
def temperature(temperatures: ArrayLike, curves: ArrayLike, words: Sequence[str], marked: float) -> pic.Picture:
    """Softmax weights, one curve for each word (curves: temperatures × words), and a mark at one temperature."""
    figure, axes = chart(3.4)
    curves = np.asarray(curves)
    near = np.argmin(np.abs(np.log(np.asarray(temperatures) / marked)))
    for j, word in enumerate(words):
        axes.plot(temperatures, curves[:, j], DASHES[j % 3], color=pic.INK)
        point = temperatures[near], curves[near, j]
        falls, lowest = curves[-1, j] < curves[0, j], j == curves[near].argmin()
        place = (10, -14) if lowest else (10, 6) if falls else (-8, 6)
        beside(axes, word, point, place, ha="left" if place[0] > 0 else "right")
    axes.axvline(marked, color=pic.FAINT, linewidth=1)
    axes.annotate(r"$\sqrt{d_k}$", (marked, 1.02), ha="center", va="bottom")
    axes.axhline(1 / len(words), color=pic.FAINT, linewidth=1, linestyle=":")
    axes.set(xscale="log", ylim=(-0.09, 1.02), xlabel="temperature: the scores are divided by it", ylabel="weight")
    return figure


@pic.styled
def widths(d_k: ArrayLike, spread: ArrayLike, raw: ArrayLike, scaled: ArrayLike) -> pic.Picture:
    """Against the key width: the spread of the scores, and the size of the softmax gradient, raw and scaled."""
    figure, ((above,), (below,)) = pic.picture(pic.PHONE, 5.6, rows=2)
    above.plot(d_k, np.sqrt(d_k), color=pic.FAINT, linewidth=5, label=r"$\sqrt{d_k}$")
    above.plot(d_k, spread, "o", color=pic.INK, label="measured")
    above.set_yscale("log", base=2)
    above.set_yticks(np.sqrt(d_k), [f"{root:g}" for root in np.sqrt(d_k)])
    above.minorticks_off()
    above.set_title("standard deviation of $q\\cdot k$")
    below.plot(d_k, scaled, "o-", color=pic.INK, label=r"divided by $\sqrt{d_k}$")
    below.plot(d_k, raw, "s--", color=GREYS[1], label="as they are")
    below.set(ylim=(0, None), title="size of the softmax gradient")
    for axes in (above, below):
        axes.set_xscale("log", base=4)
        axes.set(xticks=d_k, xticklabels=[str(width) for width in d_k], xlabel="width of a key, $d_k$")
        axes.legend()
    return figure


def by_hand(
    steps: pic.Arrays, matrices: Sequence[ArrayLike], positions: ArrayLike, words: Sequence[str]
) -> Interactive:
    """The whole computation to change: `steps` as in `path`, and W_Q, W_K, W_V.

    `positions` are the rows that the reader may add to X.
    """
    w_q, w_k, w_v = matrices
    components = [str(c + 1) for c in range(np.shape(steps["out"])[1])]
    tables = {"Attention weights": (words, words, steps["weights"]), "Output": (words, components, steps["out"])}
    data = {"words": words, "x": steps["X"], "w_q": w_q, "w_k": w_k, "w_v": w_v, "positions": positions}
    return Interactive("attention", data, tables, weights(steps["weights"], words, words), shares=SHARES)


def _shadow(axes: Axes, query: ArrayLike, key: ArrayLike, lane: ArrayLike) -> None:
    """The shadow of a key on a lane beside the line of the query; no line, no shadow."""
    query, key = np.asarray(query), np.asarray(key)
    if not np.any(query):
        return
    foot = (query @ key) / (query @ query) * query  # where the perpendicular from the key's tip meets the line
    axes.axline((0, 0), query, color=pic.QUERY, linewidth=1, linestyle=":")
    shadow = np.transpose([lane, foot + lane])
    axes.plot(*shadow, color=pic.KEY, alpha=0.4, linewidth=9, solid_capstyle="butt")
    axes.plot(*np.transpose([key, foot, foot + lane]), color=pic.INK, linewidth=1)


def _lanes(query: np.ndarray, keys: ArrayLike) -> np.ndarray:
    """Where the shadows of the keys begin, beside each other, away from most keys."""
    side = np.array([-query[1], query[0]]) / (np.hypot(*query) or 1)
    if np.sum(keys, axis=0) @ side > 0:
        side = -side
    return np.outer(0.24 + 0.2 * np.arange(len(keys)), side)


def _name_at_the_start(axes: Axes, text: str, place: ArrayLike, way: np.ndarray) -> None:
    """A text that runs from a place in one direction, and is read from the left or from below."""
    angle = np.degrees(np.arctan2(way[1], way[0]))
    turned = not -90 < angle <= 90
    x, y = np.asarray(place) + 0.06 * way / (np.hypot(*way) or 1)
    look = {"rotation": angle + 180 * turned, "rotation_mode": "anchor", "ha": "right" if turned else "left"}
    write(axes, x, y, text, color=pic.KEY, **look)


def _arrow(axes: Axes, tip: ArrayLike, colour: str, width: float = 2) -> None:
    """From the origin, over lines and beyond the frame."""
    x, y = np.asarray(tip, float)
    arrow(axes, (0, 0), (x, y), colour, 16, width, joinstyle="miter", zorder=3, clip_on=False)


def _name(axes: Axes, text: str, place: ArrayLike, way: ArrayLike, colour: str) -> None:
    """A text beside its place, a little way off in one direction."""
    kit.beside(axes, text, place, 15 * np.asarray(way) / np.hypot(*way), color=colour, **CENTRE)


def _plane(axes: Axes, points: ArrayLike, margin: float) -> None:
    """Room for the points and the origin, with the two axes and no numbers."""
    points = np.vstack([points, (0, 0)])
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    axes.axhline(0, color=pic.FAINT, linewidth=0.8, zorder=0)
    axes.axvline(0, color=pic.FAINT, linewidth=0.8, zorder=0)
    axes.spines[:].set_visible(False)


@pic.styled
def plane(steps: pic.Arrays, words: Sequence[str], start: int) -> pic.Picture:
    """Left, the shadows of the keys on the query of words[start]; right, the output among the values.

    `steps` names Q, K and V, each two columns wide, and weights and out.
    """
    query, keys, values = steps["Q"][start], steps["K"], np.asarray(steps["V"])
    weights, out = steps["weights"][start], steps["out"][start]
    figure, ((left, right),) = pic.picture(pic.WIDE, 3.8, columns=2)
    lanes = _lanes(query, keys)
    _plane(left, [query, *keys, *lanes], margin=0.5)
    for word, key, lane in zip(words, keys, lanes, strict=True):
        _arrow(left, key, pic.KEY, width=4)
        _shadow(left, query, key, lane)
        _name(left, word, key, key, pic.KEY)
        _name_at_the_start(left, word, lane, query if query @ key < 0 else -query)
    _arrow(left, query, pic.QUERY)
    left.set_title(f"the query of “{words[start]}” and the keys")
    _plane(right, values, margin=0.3)
    right.add_patch(Polygon(values, facecolor="none", edgecolor=pic.VALUE, linewidth=2))
    for word, value, weight in zip(words, values, weights, strict=True):
        right.plot(*zip(value, out, strict=True), color=pic.QUERY, linewidth=12 * weight, alpha=0.75)
        right.plot(*value, "o", color=pic.VALUE)
        _name(right, f"{word}  {as_share(weight, 4)}", value, value - values.mean(axis=0), pic.VALUE)
    right.plot(*out, "D", color=pic.OUT, markersize=11)
    right.set_title("the values and the output")
    return figure


def geometry(steps: pic.Arrays, words: Sequence[str], start: int, divisor: float) -> Interactive:
    """Attention in two planes, to change: a query to drag, the divisor, and what may be looked at.

    `steps` are those of `plane`. It starts with the query of words[start].
    """
    for name in "QKV":
        if np.shape(steps[name]) != (3, 2):
            raise ValueError(f"{name} must have three rows of two numbers, not shape {np.shape(steps[name])}")
    tables = {"Attention weights": (words, words, steps["weights"]), "Output": (words, ("1", "2"), steps["out"])}
    data = {"words": words, "q": steps["Q"], "k": steps["K"], "v": steps["V"], "start": start, "divisor": divisor}
    return Interactive("geometry", data, tables, plane(steps, words, start), shares=SHARES)
