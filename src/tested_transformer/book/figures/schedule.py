"""Pictures of learning rates."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import beside, chart
from tested_transformer.training.schedule import rate

WARMUPS = 1, 2, 5, 10, 20, 40, 100, 200, 400, 1000, 2000, 4000, 8000, 16_000
WIDTHS = 64, 128, 256, 512, 1024, 2048
TOTALS = 60, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000
"""What the sliders of a schedule can be set to."""


@pic.styled
def hover(distances: pic.Arrays, places: Mapping[str, pic.Pair]) -> pic.Picture:
    """How far from the lowest point, step by step, one curve for each rate, with its name at a place."""
    figure, axes = chart(3.4)
    looks = zip(distances.items(), pic.SERIES, ("--", ":", "-", "-."), strict=False)
    for n, ((name, distance), colour, line) in enumerate(looks):
        steps = np.arange(1, len(np.asarray(distance)) + 1)
        # The first on top: its gaps show the others where they run together
        axes.plot(steps, distance, color=colour, linestyle=line, zorder=3 - n / 10)
        axes.text(*places[name], name, color=colour, gid="halo")
    axes.set(xscale="log", yscale="log", xlim=(1, None), xlabel="step", ylabel="distance from the lowest point")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    return figure


@pic.styled
def noise(measured: ArrayLike, expected: ArrayLike, limit: float) -> pic.Picture:
    """The size of Adam's steps on pure noise, from step 1, and the limit that they approach."""
    figure, axes = chart(3.0)
    steps = np.arange(1, len(np.asarray(measured)) + 1)
    axes.plot(steps, expected, color=pic.FAINT, linewidth=5, label="by the formula")
    axes.plot(steps, measured, ".", color=pic.QUERY, label="measured")
    axes.axhline(limit, color=pic.KEY, linewidth=1.5, linestyle=":")
    axes.set(ylim=(0, 1.05), xlabel="step", ylabel="size of the step, in rates")
    axes.legend()
    return figure


@pic.styled
def rates(steps: ArrayLike, curves: pic.Arrays, warmup: int) -> pic.Picture:
    """The learning rate at each step, one curve for each model, and the warm-up."""
    figure, axes = chart(3.2)
    kit.curves(axes, steps, curves, dashes=("-", "--"))
    axes.axvline(warmup, color=pic.FAINT, linewidth=1.5, linestyle=":")
    beside(axes, f"step {warmup:,}", (warmup, 0), (4, 0), color=pic.INK, va="bottom")
    axes.set_ylim(0, None)
    ticks = [tick for tick in axes.get_xticks() if 0 <= tick <= np.max(steps)]
    axes.set(xticks=ticks, xticklabels=[f"{tick:,.0f}" for tick in ticks], xlim=(0, np.max(steps)), xlabel="step")
    axes.set_ylabel("learning rate")
    kit.at_ends(axes)
    return figure


@pic.styled
def training(runs: Mapping[str, Sequence[ArrayLike]], level: float, name: str) -> pic.Picture:
    """Losses step by step, several runs in one colour, and a named level."""
    figure, axes = chart(3.6)
    for (label, losses), colour, line in zip(runs.items(), pic.SERIES, ("-", "--", ":", "-."), strict=False):
        for i, loss in enumerate(losses):
            steps = np.arange(1, len(np.asarray(loss)) + 1)
            axes.plot(steps, loss, label=None if i else label, color=colour, linestyle=line, linewidth=1.5)
    axes.axhline(level, color=pic.INK, linewidth=1)
    beside(axes, name, (len(np.asarray(loss)), level), (0, -4), ha="right", va="top")
    axes.set(xlim=(1, len(np.asarray(loss))), xlabel="step", ylabel="loss in nats")
    kit.at_ends(axes)
    return figure


def tries(starts: Mapping[str, tuple[int, int, int, float]], measured: pic.Pair, plain: pic.Picture) -> Interactive:
    """The paper's schedule with its warm-up, its width and the length of the training to change.

    `starts` are schedules by name: warm-up, width, steps and factor; the first stays as a guide. `measured` are how far
    ten steps could go in models that still saw, and in models that were blind. `plain` is the picture for paper.
    """
    choices = {"warmup": WARMUPS, "width": WIDTHS, "total": TOTALS}
    found, rows = [], []
    for name, values in starts.items():
        how = dict(zip(("warmup", "width", "total", "factor"), values, strict=True))
        for what, some in choices.items():
            if how[what] not in some:
                raise ValueError(f"{name}: {what} ({how[what]}) must be one of {some}")
        found.append({"name": name} | how)
        k, d, total, factor = values
        steps = 1, k, total
        rates = (f"{rate(step, d, k, factor):.4e}" for step in steps)
        rows.append((name, *(f"{r} in step {s:,}" for r, s in zip(rates, steps, strict=True))))
    saw, blind = measured
    if not 0 < saw < blind:
        raise ValueError(f"measured ({measured}) must rise from above 0: saw, blind")
    data = {"starts": found, "saw": saw, "blind": blind} | {f"{what}s": some for what, some in choices.items()}
    words = {"Rates of three schedules": (("schedule", "first rate", "peak", "last rate"), rows)}
    return Interactive("schedule", data, {}, plain, words=words, pictured=True)
