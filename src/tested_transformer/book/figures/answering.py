"""Pictures of a model that learns to answer: its questions and answers, and what a judge makes of it."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, tile
from tested_transformer.book.figures.kit import DASHES, chart, curves, width, write

READ, ASKED = pic.KEY, pic.QUERY
"""The colours of what is only read, and of what the loss asks for."""


@pic.styled
def tasks(rows: Mapping[str, tuple[str, str]]) -> pic.Picture:
    """For each task a question in plain words, and below it the answer, a filled tile for each word."""
    high, step, left = 0.3, 0.86, 0.98
    figure, frame = blank(pic.WIDE, step * len(rows) + 0.05)
    for n, (task, (question, answer)) in enumerate(rows.items()):
        y = step * (len(rows) - n) - 0.25
        write(frame, 0.02, y, task, ha="left", weight="bold")
        write(frame, left, y, question, ha="left", color=READ)
        x = left
        for word in answer.split():
            room = width(word, 12) + 0.16
            tile(frame, (x, y - 0.5, room, high), pic.tint(ASKED)(0.3), edgecolor=ASKED)
            write(frame, x + room / 2, y - 0.5 + high / 2, word)
            x += room + 0.05
    return figure


@pic.styled
def ways(steps: Sequence[int], lines: Mapping[str, ArrayLike], ylabel: str) -> pic.Picture:
    """For each way the runs as thin lines over the steps, (seeds, steps), and their mean as a thick one."""
    figure, axes = chart(3.6, pic.WIDE)
    colours, marks = (pic.QUERY, pic.KEY, pic.VALUE), ("o", "s", "^")
    for runs, colour in zip(lines.values(), colours, strict=False):
        axes.plot(steps, np.asarray(runs).T, color=colour, linewidth=0.8, alpha=0.5)
    means = {name: np.mean(runs, axis=0) for name, runs in lines.items()}
    curves(axes, steps, means, colours, DASHES, marks, linewidth=2.6, markersize=6, clip_on=False)
    axes.set(xlim=(0, max(steps)), ylim=(0, 1), yticks=[0, 0.5, 1])
    axes.set(xlabel="steps after the first training", ylabel=ylabel)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.02), ncols=len(lines))
    return figure


@pic.styled
def fooled(steps: Sequence[int], panels: Mapping[str, Mapping[str, ArrayLike]]) -> pic.Picture:
    """Panels side by side: over the steps, a line for each name."""
    figure, (row,) = pic.picture(pic.WIDE, 3.2, columns=len(panels), sharey=True)
    look = {"linewidth": 2.4, "markersize": 6, "clip_on": False, "marks": ("s", "o")}
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        curves(axes, steps, lines, colours=(pic.OUT, pic.QUERY), dashes=DASHES[1::-1], **look)
        axes.set(xlim=(0, max(steps)), ylim=(0, 1), yticks=[0, 0.5, 1], title=title)
        axes.set(xticks=[0, 100, 200], xlabel="steps")
    row[0].set_ylabel("share of the answers")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure
