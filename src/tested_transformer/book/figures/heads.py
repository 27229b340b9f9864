"""Pictures of multi-head attention: what heads look at, what one cannot do, the cut, and the whole path."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book import colours
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, link, outline, tile
from tested_transformer.book.figures.kit import arc, bare, chart, middles, named, write
from tested_transformer.shares import as_share

COLOURS = colours.GENDERS["der"].light, colours.OTHERS["grey"].light
"""What the head takes that looks at a masculine noun, as in all pictures of it, and what another one does."""


@pic.styled
def fetched(tokens: Sequence[str], row: int, heads: pic.Arrays) -> pic.Picture:
    """What one token takes from the others in two heads: arcs as wide as the weights, above and below the sentence.

    Only the largest weight of a head is written, with the name of the head.
    """
    if len(heads) != 2:
        raise ValueError(f"heads ({', '.join(heads)}) must be two: above and below")
    figure, frame = blank(4.2, 1.75)
    places = middles(tokens)
    frame.set(xlim=(-0.8, sum(map(len, tokens)) + 0.8), ylim=(-1, 1))
    for side, colour, (name, weights) in zip((1, -1), COLOURS, heads.items(), strict=True):
        most = int(np.argmax(weights))
        for x, weight in zip(places, weights, strict=True):
            look = {"solid_capstyle": "butt", "color": colour, "linewidth": 5 * weight}
            arc(frame, x, places[row], side * 0.17, side * 0.45, **look)
        label = f"{name}: {as_share(weights[most], 3)}"
        write(frame, (places[row] + places[most]) / 2, side * 0.8, label, color=colour)
        write(frame, places[most], 0, tokens[most].strip(), weight="bold", size=12)
    taken = {int(np.argmax(weights)) for weights in heads.values()}
    for place, (token, x) in enumerate(zip(tokens, places, strict=True)):
        if place not in taken:
            write(frame, x, 0, token.strip(), weight="bold" if place == row else "normal", size=12)
    return figure


@pic.styled
def row_of(weights: ArrayLike, tokens: Sequence[str], marked: tuple[int, int]) -> pic.Picture:
    """What one token takes from each token, a line for each head: weights (L, H, tokens), layers below each other.

    The line of the marked layer and head, counted from 0, is framed. Small weights are not written.
    """
    weights, side, left = np.asarray(weights), 0.45, 0.66
    layers, n_heads, n = weights.shape
    if n != len(tokens):
        raise ValueError(f"{n} weights in a line for {len(tokens)} tokens")
    width, tall = left + side * n + 0.05, side * n_heads
    height = 0.75 + layers * (tall + 0.32)
    figure, top = pic.Picture(figsize=(width, height)), height - 0.75
    for layer, of_layer in enumerate(weights):
        axes = figure.add_axes(np.divide((left, top - 0.27 - tall, side * n, tall), (width, height) * 2))
        pic.tiles(axes, of_layer, pic.WEIGHTS, (0, 1), decimals=2, whole=1)
        for text, weight in zip(axes.texts, of_layer.flat, strict=True):
            text.set_visible(bool(weight > LEAST))
            if 0.995 < weight < 1:  # how near to one it is
                text.set(text=as_share(weight, 3), size=9)
        axes.spines[:].set(visible=True, color=pic.FAINT)
        named(axes, [f"head {h + 1}" for h in range(n_heads)], [""] * n if layer else tokens, rotation=90)
        figure.text(0.02, (top - 0.16) / height, f"layer {layer + 1}", weight="bold")
        if layer == marked[0]:
            outline(axes, (-0.5, marked[1] - 0.5, n, 1), pic.QUERY, 2.5, zorder=3, clip_on=False)
        top -= tall + 0.32
    return figure


LEAST = 0.05
"""Smaller weights are not written."""


@pic.styled
def lost(share: ArrayLike, left: ArrayLike, right: ArrayLike) -> pic.Picture:
    """What a mixture of two neighbours loses of each, against the share of the left one.

    A mark at zero stands for two heads.
    """
    figure, axes = chart(3.2)
    left, right = np.asarray(left), np.asarray(right)
    axes.plot(share, left, color=pic.QUERY, linestyle="--", label="of the left word")
    axes.plot(share, right, color=pic.KEY, linestyle=":", label="of the right word")
    axes.plot(share, (left + right) / 2, color=pic.INK, label="of both")
    axes.axhline(0, color=pic.VALUE, linewidth=4, label="with two heads")
    axes.set(xlim=(np.min(share), np.max(share)), ylim=(-0.04, 1.04))
    axes.set(xlabel="share of the left word; the right word has the rest", ylabel="part that is lost")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@pic.styled
def weights(panels: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """The weights of several heads side by side, a title below each."""
    n = len(words)
    width = min(pic.PHONE, 0.5 + len(panels) * (0.2 + 0.7 * n))
    figure, (row,) = pic.picture(width, 1.0 + 0.62 * n, columns=len(panels))
    for axes, (title, a) in zip(row, panels.items(), strict=True):
        pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=4 if len(panels) < 3 else 2, whole=1)
        axes.set(xticks=range(n), xticklabels=words, yticks=range(n), yticklabels=words if axes is row[0] else [])
        axes.xaxis.tick_top()
        axes.set(aspect="auto", xlabel=title)
    return figure


@pic.styled
def cut(whole: ArrayLike, panels: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """A matrix (T, H*Dk), and below it the pieces (H, T, Dk) of each way to cut it.

    The tens digit of a number is its word, which also gives the colour.
    """
    whole, n = np.asarray(whole), len(words)
    figure, grid = pic.picture(pic.PHONE, 1.45 * (1 + len(panels)), 1 + len(panels), len(next(iter(panels.values()))))
    top = grid[0, 0].get_gridspec()
    for axes in grid[0]:
        axes.remove()
    _pieces(figure.add_subplot(top[0, :]), whole, "before the cut", words)
    for row, (name, pieces) in zip(grid[1:], panels.items(), strict=True):
        for h, (axes, piece) in enumerate(zip(row, pieces, strict=True)):
            _pieces(axes, piece, f"{name}: head {h + 1}", words if h == 0 else [""] * n)
    return figure


def _pieces(axes: Axes, x: np.ndarray, title: str, words: Sequence[str]) -> None:
    for (i, j), number in np.ndenumerate(x):
        colour = pic.SERIES[int(number) // 10 - 1]
        tile(axes, (j - 0.5, i - 0.5, 1, 1), colour, f"{number:.0f}", "white", edgecolor="white", linewidth=2)
    axes.set_title(title, loc="center")
    axes.set(xlim=(-0.5, x.shape[1] - 0.5), ylim=(len(x) - 0.5, -0.5), xticks=[], yticks=range(len(x)))
    axes.set_yticklabels(words)
    bare(axes)


@pic.styled
def path(
    x: ArrayLike, heads: Sequence[pic.Arrays], joined: ArrayLike, out: ArrayLike, words: Sequence[str]
) -> pic.Picture:
    """From X through two heads, each with Q, K, V, weights and out, to the output.

    The tint of a matrix is its role. Only weights are darker where they are larger.
    """
    figure = pic.Picture(figsize=(pic.PHONE, 8.2))
    look = {"gap": 0.006, "size": 13, "width": 1.5}
    start = _box(figure, (0.36, 0.875, 0.28), x, "$X$", pic.INK, words)
    end = _box(figure, (0.36, 0.03, 0.28), out, "joined $\\cdot\\ W^O$", pic.OUT, words)
    both = _box(figure, (0.2, 0.24, 0.6), joined, "side by side: joined", pic.OUT, words)
    link(both, end, pic.OUT, **look)
    for h, steps in enumerate(heads):  # the values of both stand in the middle
        left, side = 0.02 + 0.51 * h, 2 * h - 1
        place = 0.09 + 0.64 * h, 0.455, 0.25
        shares = _box(figure, place, steps["weights"], f"weights of head {h + 1}", pic.INK, words)
        link(shares, both, pic.INK, at=0.5 + 0.32 * side, **look)
        targets = ("Q", shares, 0.3), ("K", shares, 0.7), ("V", both, 0.5 + 0.18 * side)
        for c, (name, target, at) in enumerate(targets):
            place, colour = (left + 0.16 * ((c + h) % 3), 0.665, 0.145), pic.SERIES[c]
            box = _box(figure, place, steps[name], f"${name}_{h + 1}$", colour, ())
            link(start, box, pic.FAINT, **look)
            link(box, target, colour, at=at, **look)
    return figure


def _box(
    figure: pic.Picture, place: tuple[float, float, float], x: ArrayLike, title: str, colour: str, words: Sequence[str]
) -> Axes:
    """A matrix as tiles at (left, bottom, width) of the figure."""
    left, bottom, width = place
    axes = figure.add_axes((left, bottom, width, 0.095))
    cmap = pic.WEIGHTS if title.startswith("weights") else pic.tint(colour)
    pic.tiles(axes, x, cmap, (0, 1), decimals=2, whole=1 if cmap is pic.WEIGHTS else None)
    pic.alike(axes, x, decimals=2)
    axes.set_aspect("auto")
    axes.set_title(title, color=colour, loc="center", pad=4)
    axes.set(xticks=[], yticks=range(len(words)), yticklabels=words)
    return axes
