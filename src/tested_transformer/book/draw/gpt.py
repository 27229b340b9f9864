"""Pictures of a model that writes: what there is to draw from, and what comes of it."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic


@pic.styled
def likeliest(
    panels: Mapping[str, tuple[ArrayLike, Sequence[str], int]], k: int
) -> pic.Picture:
    """For each text its likeliest next words: (probabilities, words, how many the nucleus has).

    A dashed line marks where the k likeliest end, bars outside the nucleus are faint.
    """
    figure, (row,) = pic.picture(7.2, 4.6, columns=len(panels), sharex=True)
    for axes, (title, (p, words, nucleus)) in zip(row, panels.items(), strict=True):
        places = np.arange(len(words))
        look = {"color": pic.QUERY, "height": 0.75}
        axes.barh(places[:nucleus], p[:nucleus], **look)
        axes.barh(places[nucleus:], p[nucleus:], alpha=0.3, **look)
        axes.axhline(k - 0.5, color=pic.KEY, linestyle="--", linewidth=1.5)
        axes.set_yticks(places, words)
        axes.invert_yaxis()
        axes.tick_params(left=False)
        axes.set_title(title, loc="center", color=pic.INK)
        axes.set_xlabel("probability")
    return figure


@pic.styled
def trade(points: Mapping[str, tuple[int, float]]) -> pic.Picture:
    """For each way to draw: different words across, the share of sound triples up."""
    figure, ((axes,),) = pic.picture(5.8, 3.8)
    looks = zip(points.items(), cycle(pic.SERIES), cycle("os^DvP*"), strict=False)
    for (name, (words, sound)), colour, mark in looks:
        axes.scatter(words, sound, s=60, label=name, color=colour, marker=mark)
    axes.set(xlim=(0, None), ylim=(0, 1.03))
    axes.set_xlabel("different words in a hundred texts")
    axes.set_ylabel("share of known word triples")
    figure.legend(loc="outside right center")
    return figure
