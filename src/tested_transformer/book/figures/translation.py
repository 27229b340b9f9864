"""Pictures of a translator: how it learns, what it reads, where it fails."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import arc, chart, listed, middles
from tested_transformer.shares import as_share


@pic.styled
def learning(
    loss: ArrayLike, valid: Mapping[int, float], foreign: Mapping[int, float], right: Mapping[int, float]
) -> pic.Picture:
    """Above the loss, on validation also with a foreign source; below, the share right."""
    figure, ((above,), (below,)) = pic.picture(pic.WIDE, 4.8, rows=2, sharex=True, height_ratios=(1.7, 1))
    above.plot(np.arange(1, np.size(loss) + 1), loss, color=pic.FAINT, linewidth=1, label="training, each step")
    for points, look, colour, name in (
        (foreign, "^:", pic.QUERY, "validation, wrong English"),
        (valid, "o--", pic.KEY, "validation"),
    ):
        above.plot(list(points), list(points.values()), look, color=colour, label=name)
    below.plot(list(right), list(right.values()), "s-", color=pic.VALUE)
    above.set(ylabel="loss for each token", ylim=(0, None))
    above.legend()
    below.set(ylabel="sentences right, %", xlabel="step", ylim=(-3, 100))
    return figure


@pic.styled
def shares(names: Sequence[str], counts: Sequence[int], models: pic.Arrays) -> pic.Picture:
    """A row for each name with its count, and a mark for each model, in percent."""
    figure, axes = chart(1.2 + 0.3 * len(names), pic.WIDE)
    rows = np.arange(len(names))
    marks = zip(models.items(), (pic.KEY, pic.QUERY, pic.VALUE), ("o", "s", "^"), strict=False)
    for (model, values), colour, mark in marks:
        axes.plot(values, rows, mark, color=colour, label=model, markersize=7)
    axes.hlines(rows, 0, 100, color=pic.FAINT, linewidth=0.6, zorder=0)
    axes.set_yticks(rows, [f"{n}  ({k})" for n, k in zip(names, counts, strict=True)])
    axes.set(xlim=(-2, 103), ylim=(len(names) - 0.5, -0.5), xlabel="sentences right, %")
    listed(axes)
    figure.legend(loc="outside upper center", ncols=len(models))
    return figure


@pic.styled
def reading(sentences: Sequence[tuple[Sequence[str], ArrayLike, int, str, str]]) -> pic.Picture:
    """What one word of each sentence reads: an arc to each token, as wide as its weight.

    A sentence is its tokens, the weights of one row, the place of this row, its
    translation, and the word there that hangs on it.
    """
    figure, axes = pic.picture(4.4, 1.05 * len(sentences), rows=len(sentences))
    widest = max(max(len("".join(s[0])), len(s[3])) for s in sentences)
    for (tokens, weights, row, german, word), (ax,) in zip(sentences, axes, strict=True):
        colour = pic.colour_of(word)
        places, most, at = middles(tokens), int(np.argmax(weights)), 0.0
        for x, weight in zip(places, weights, strict=True):
            arc(ax, x, places[row], 1.5, 1.3, solid_capstyle="round", color=colour, linewidth=3.5 * weight)
        ax.text((places[row] + places[most]) / 2, 3.0, as_share(weights[most], 3), ha="center", va="bottom")
        for place, (token, x) in enumerate(zip(tokens, places, strict=True)):
            ax.text(x, 0.6, token.strip(), ha="center", weight="bold" if place in (row, most) else "normal")
        for token in german.split():
            ink = {"color": colour, "weight": "bold"} if token == word else {"color": pic.INK}
            ax.text(at + len(token) / 2, -0.9, token, ha="center", **ink)
            at += len(token) + 1
        ax.set(xlim=(-0.5, widest + 0.5), ylim=(-1.2, 4.2))
        ax.set_axis_off()
    return figure


@pic.styled
def cut(models: Mapping[str, Mapping[str, int]], most: int) -> pic.Picture:
    """For each model, under its name, how many of `most` are right with some links cut: a bar and its number each."""
    figure, axes = chart(0.28 * sum(len(rows) + 1.3 for rows in models.values()))
    names, line = {}, 0.0
    for model, rows in models.items():
        axes.text(0, line, model, weight="bold", va="center")
        for place, (name, count) in enumerate(rows.items(), start=1):
            y = line + place
            axes.barh(y, most, 0.62, color=pic.FAINT, alpha=0.22)
            axes.barh(y, count, 0.62, color=pic.QUERY)
            axes.text(most * 1.03, y, str(count), va="center")
            names[y] = name
        line += len(rows) + 1.3
    axes.set(yticks=[*names], yticklabels=[*names.values()], xlim=(0, 1.15 * most), ylim=(line - 0.8, -0.5), xticks=[])
    axes.tick_params(axis="y", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    return figure
