"""Pictures of a model that learns in NumPy: its loss and what it writes, and faults that a curve hides or shows."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.kit import curves, write


@pic.styled
def learns(losses: ArrayLike, answers: Mapping[int, Sequence[str]], words: Sequence[str]) -> pic.Picture:
    """A falling loss, and below some of its steps what is written there for each word; what is right is bold."""
    losses = np.asarray(losses)
    last = max(answers) + min(answers) // 2
    ratios = [2.2, 0.36 * len(words)]
    figure, ((curve,), (told,)) = pic.picture(pic.PHONE, 4.2, rows=2, sharex=True, height_ratios=ratios)
    curve.plot(range(1, last + 1), losses[:last], color=pic.QUERY)
    curve.set(xlim=(0, last), ylim=(0, None), ylabel="loss for each token", xticks=list(answers))
    curve.set_xlabel("after this many steps it writes")
    curve.tick_params(axis="x", labelbottom=True)
    for step, written in answers.items():
        curve.plot(step, losses[step - 1], "o", color=pic.OUT)
        curve.plot([step, step], [0, losses[step - 1]], color=pic.FAINT, linewidth=1, linestyle=":")
        for row, (word, text) in enumerate(zip(words, written, strict=True), start=1):
            write(told, step, row, text, **{"weight": "bold", "color": pic.VALUE} if text == word[::-1] else {})
    # the words that are read stand left of the axis, level with what is written
    told.set(ylim=(len(words) + 0.5, 0.5), yticks=range(1, len(words) + 1), yticklabels=words)
    told.tick_params(length=0, labelbottom=False)
    told.spines[:].set_visible(False)
    return figure


@pic.styled
def faults(panels: Mapping[str, pic.Arrays]) -> pic.Picture:
    """Losses in a panel for each rule: the right run as a wide band, those with a fault as lines above it."""
    figure, (row,) = pic.picture(pic.PHONE, 3.3, columns=len(panels), sharey=True)
    for axes, (title, runs) in zip(row, panels.items(), strict=True):
        (name, right), *wrong = runs.items()
        steps = range(1, len(right) + 1)
        axes.plot(steps, right, color=pic.FAINT, linewidth=7, alpha=0.6, label=name)
        curves(axes, steps, dict(wrong), (pic.KEY, pic.QUERY, pic.OUT), ("--", ":", "-."))
        axes.set(title=title, xlabel="step", ylim=(0, None), xlim=(1, len(right)))
    row[0].set_ylabel("loss for each token")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=1)
    return figure
