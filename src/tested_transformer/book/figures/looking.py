"""Pictures of what a trained model looks at, and of what follows from it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import outline
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import bare, chart, named, upright
from tested_transformer.shares import as_share

Panels = Mapping[str, tuple[ArrayLike, Sequence[str], Sequence[str]]]
"""For each kind of attention the weights, and the words that read and are read."""

MARKS = "os^Dv*"
"""Shapes of points, so that a group is told by more than its colour."""


@pic.styled
def kinds(panels: Panels) -> pic.Picture:
    """Small pictures of weights one below the other, each with the words of its sides."""
    sizes = [np.shape(a)[0] for a, _, _ in panels.values()]
    figure, grid = pic.picture(4.4, 1.0 * len(sizes) + 0.26 * sum(sizes), len(sizes), height_ratios=sizes)
    figure.get_layout_engine().set(h_pad=0.15)
    for (axes,), (title, (a, queries, keys)) in zip(grid, panels.items(), strict=True):
        axes.imshow(a, cmap=pic.WEIGHTS, vmin=0, vmax=1, aspect="auto")
        named(axes, queries, keys)
        axes.tick_params(length=0)
        axes.set_title(title, loc="center")
        axes.spines[:].set(visible=True, color=pic.FAINT)
    return figure


@pic.styled
def heads(
    a: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    framed: tuple[int, int, int, int] | None = None,
    marked: tuple[int, int] | None = None,
) -> pic.Picture:
    """Weights (layers, heads, Tq, Tk): a row of pictures for each layer.

    A frame marks one of them: its layer, head, row and column, counted from 0. A dashed
    frame marks so many first rows in all heads of a layer: the layer, and how many.
    """
    a = np.asarray(a)
    layers, n_heads, rows, _ = a.shape
    figure, grid = pic.picture(pic.WIDE, 0.3 + layers * (0.55 + 0.26 * rows), layers, n_heads, sharex=True, sharey=True)
    for (layer, head), axes in np.ndenumerate(grid):
        axes.imshow(a[layer, head], cmap=pic.WEIGHTS, vmin=0, vmax=1, aspect="auto")
        axes.set_title(f"layer {layer + 1}, head {head + 1}", loc="center")
        axes.set_yticks(range(rows), queries)
        axes.set_xticks(range(len(keys)), keys, rotation=90)
        upright(axes)
        axes.tick_params(length=0, labelbottom=layer == layers - 1)
        axes.spines[:].set(visible=True, color=pic.FAINT)
        if framed is not None and framed[:2] == (layer, head):
            row, column = framed[2:]
            outline(axes, (column - 0.5, row - 0.5, 1, 1), pic.KEY, 2.5)
        if marked is not None and marked[0] == layer:
            outline(axes, (-0.42, -0.42, len(keys) - 0.16, marked[1] - 0.16), pic.INK, 1.4, linestyle=(0, (4, 2)))
    return figure


@pic.styled
def links(source: Sequence[str], target: Sequence[str], a: ArrayLike) -> pic.Picture:
    """Source above, target below, and a line from each target token to what it looked at.

    a has a row for each target token. The widest line of each is the largest weight,
    and in colour; others above a tenth are faint.
    """
    a = np.asarray(a)
    figure, axes = chart(2.6, pic.WIDE)
    above, below = (np.linspace(0, 1, len(side)) for side in (source, target))
    for (i, j), weight in np.ndenumerate(a):
        best = j == a[i].argmax()
        look = {"linewidth": 3.5 * weight, "color": pic.QUERY if best else pic.FAINT}
        if best or weight > 0.1:
            axes.plot([above[j], below[i]], [1, 0], zorder=2 if best else 1, **look)
    for x, y, words in ((above, 1.06, source), (below, -0.06, target)):
        for place, word in zip(x, words, strict=True):
            axes.text(place, y, word.strip(), ha="center", va="bottom" if y > 0 else "top")
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.3, 1.3))
    axes.set_axis_off()
    return figure


def choices(
    sentences: Mapping[str, Panels],
    says: Mapping[str, str],
    first: tuple[str, int, int],
    languages: Mapping[str, tuple[str, str]] | None = None,
) -> Interactive:
    """All heads for some sentences, to choose from: weights (layers, heads, Tq, Tk).

    `says` tells what each kind looks at. `first` is the kind, the layer and the head that are shown at first, counted
    from 0. The page has three decimals, and 0.999 for what is less than one and would be rounded to it. `languages` has
    for each kind the language that reads and that which is read ("de", "en"), for readers who hear the page.
    """
    kind, layer, head = first
    shown = next(iter(sentences.values()))
    place = f"layer {layer + 1}, head {head + 1}: the strongest link of each word"
    columns = ("word", "reads most", "with the weight")
    tables = {
        f"{name}, {place}": (columns, _strongest(np.asarray(a)[layer, head], *sides))
        for name, (a, *sides) in shown.items()
    }
    told = [
        {"text": text, "panels": {name: _panel(*p) for name, p in panels.items()}} for text, panels in sentences.items()
    ]
    data = {"sentences": told, "kinds": dict(says), "languages": dict(languages or {})}
    data |= {"kind": kind, "layer": layer, "head": head}
    weights, queries, keys = shown[kind]
    below = [query.replace(" → ", "\n→ ") for query in _stripped(queries)]
    plain = links(keys, below, np.asarray(weights)[layer, head])
    return Interactive("heads", data, {}, plain, words=tables)


def _stripped(words: Sequence[str]) -> list[str]:
    return [word.strip() or word for word in words]


def _thousandths(weights: ArrayLike) -> list | float:
    """Weights with three decimals, as nested lists."""
    if np.ndim(weights):
        return [*map(_thousandths, weights)]
    return float(as_share(weights, 3))


def _panel(weights: ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> dict:
    return {"rows": _stripped(rows), "columns": _stripped(columns), "weights": _thousandths(weights)}


def _strongest(weights: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> list[tuple[str, str, str]]:
    """For each row its word, the word with the largest weight, and the weight."""
    columns = _stripped(columns)
    most = zip(_stripped(rows), weights.argmax(-1), weights.max(-1), strict=True)
    return [(row, columns[j], as_share(weight, 3)) for row, j, weight in most]


@pic.styled
def traces(panels: Mapping[str, tuple[ArrayLike, Sequence[str]]], depths: Sequence[str]) -> pic.Picture:
    """For each panel probabilities (depths, tokens): what changing one vector does."""
    figure, grid = pic.picture(5.6, 2.15 * len(panels), len(panels))
    figure.get_layout_engine().set(h_pad=0.12)
    for (axes,), (title, (a, words)) in zip(grid, panels.items(), strict=True):
        pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=2, whole=1)
        named(axes, depths, words)
        axes.set_aspect("auto")
        axes.set_title(title, loc="center")
    return figure


@pic.styled
def points(groups: pic.Arrays, labels: Sequence[str] = ("", "")) -> pic.Picture:
    """Groups of points (n, 2), each with its colour, its mark and its name."""
    figure, axes = chart(4.2, 5.6)
    for i, ((name, places), mark) in enumerate(zip(groups.items(), MARKS, strict=False)):
        x, y = np.transpose(places)
        axes.scatter(x, y, color=pic.colour_of(name, i), marker=mark, label=name, s=34, alpha=0.8)
    axes.set(xlabel=labels[0], ylabel=labels[1], xticks=[], yticks=[])
    figure.legend(loc="outside upper center", ncols=min(len(groups), 3))
    return figure


@pic.styled
def each_link(links: Mapping[str, tuple[ArrayLike, ArrayLike]], unit: str, quiet: float) -> pic.Picture:
    """Weights and what cutting each does: a row for each name's last word, with a bar for the largest effect.

    Each weight is a fine grey line; those with an effect above `quiet` are thick and in colour,
    and an arrow points at each.
    """
    figure, ((left, right),) = pic.picture(pic.WIDE, 0.95 + 0.46 * len(links), 1, 2, sharey=True, width_ratios=(1.7, 1))
    for n, (name, (weights, effects)) in enumerate(links.items()):
        x, y, colour = np.ravel(weights), np.ravel(effects), pic.colour_of(name.split()[-1], n)
        loud = abs(y) > quiet
        left.vlines(x[~loud], n - 0.34, n + 0.34, color=pic.FAINT, alpha=0.6, linewidth=0.8)
        left.vlines(x[loud], n - 0.34, n + 0.34, color=colour, linewidth=4, clip_on=False, zorder=3)
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2}
        for place in x[loud]:
            left.annotate("", (place + 0.01, n), (place + 0.13, n), arrowprops=look)
        right.barh(n, y.max(), 0.5, color=colour)
        right.text(y.max() + 0.15, n, f"{y.max():.2f}", va="center")
    left.set_yticks(range(len(links)), [name.split()[-1] for name in links])
    left.set(xlim=(-0.01, 1.16), xticks=np.linspace(0, 1, 6), xlabel="weight", title="the weight of each link")
    right.set(xlim=(0, 1.25 * max(np.max(y) for _, y in links.values())), xlabel=unit, title="cutting the thick one")
    right.set_ylim(len(links) - 0.5, -0.5)
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
    return figure


@pic.styled
def cuts(followed: Mapping[str, Sequence[tuple[str, float]]], columns: Sequence[str]) -> pic.Picture:
    """A row for each cut, and in each column the word that follows; its probability is the length of the bar.

    Another word than in the first row has another colour, and is hatched.
    """
    figure, axes = chart(0.55 + 0.42 * len(followed), 5.1)
    usual = next(iter(followed.values()))
    for row, words in enumerate(followed.values()):
        for column, (word, p) in enumerate(words):
            same = word == usual[column][0]
            tint = {"color": "#b9d7ea"} if same else {"color": "#f3c9a4", "hatch": "//"}
            axes.barh(row, 0.92 * p, 0.76, column, edgecolor="white", **tint)
            outline(axes, (column, row - 0.38, 0.92, 0.76), pic.FAINT, 0.8)
            axes.text(column + 0.05, row, f"{word} {as_share(p, 2)}", va="center")
    axes.set_yticks(range(len(followed)), followed)
    axes.set_xticks(np.arange(len(columns)) + 0.46, columns)
    axes.xaxis.tick_top()
    axes.set(xlim=(-0.02, len(columns)), ylim=(len(followed) - 0.5, -0.5))
    bare(axes)
    return figure


@pic.styled
def effects(edges: Sequence[float], shares: pic.Arrays) -> pic.Picture:
    """For each range of weights the share of cases that had an effect, for each kind."""
    figure, axes = chart(3.4, pic.WIDE)
    places, width = np.arange(len(edges) - 1), 0.8 / len(shares)
    for n, ((name, share), colour, hatch) in enumerate(zip(shares.items(), pic.SERIES, ("", "///"), strict=False)):
        look = {"color": colour, "hatch": hatch, "edgecolor": "white", "label": name}
        axes.bar(places + (n - (len(shares) - 1) / 2) * width, share, width, **look)
    axes.set_xticks(places, [f"{a:g} to {b:g}" for a, b in pairwise(edges)], rotation=20)
    axes.set(ylim=(0, 1), xlabel="weight", ylabel="share of cases with an effect")
    axes.legend()
    return figure


@pic.styled
def removed(right: pic.Arrays, whole: float) -> pic.Picture:
    """The share of right sentences without each head; a line marks the whole model."""
    figure, grid = pic.picture(pic.WIDE, 4.2, 2, (len(right) + 1) // 2, sharey=True, sharex=True)
    for axes, (name, shares) in zip(grid.flat, right.items(), strict=True):
        numbers = np.arange(1, len(np.asarray(shares)) + 1)
        axes.bar(numbers, shares, color=pic.QUERY, width=0.7)
        axes.axhline(whole, color=pic.INK, linewidth=1, linestyle="--")
        axes.set_title(name, loc="center")
        axes.set(xticks=numbers, ylim=(0, 1.05))
    figure.supxlabel("the head that was taken out")
    figure.supylabel("sentences that are still right")
    return figure
