"""Pictures of the loss."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book import logit_descent
from tested_transformer.book.figures import kit
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import blank, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import beside, chart, write
from tested_transformer.byhand.softmax import softmax

ROW, NAMES = 0.27, 0.66
"""How high the line of a token is, and how wide the column of their names, in inches."""

STEPS = (*(n * 10**k for k in range(4) for n in (1, 2, 5)), 10_000)
"""After so many steps one looks, at nearly equal distances where each is a multiple of the last."""


@pic.styled
def tokens(answers: Mapping[str, tuple[Sequence[str], ArrayLike]], decimals: int = 1) -> pic.Picture:
    """Bars side by side, a column for each case: the surprise at each token, which are below each other.

    Each case has its tokens and their surprises in nats. Where a token is not that of the
    first case, it is written at its bar, and the bar has another colour.
    """
    first = next(iter(answers.values()))[0]
    for title, (names, nats) in answers.items():
        if not len(first) == len(names) == len(nats):
            rest = f"{len(nats)} surprises in a picture of {len(first)} tokens"
            raise ValueError(f"{title}: {len(names)} tokens and {rest}")
    high, column = ROW * len(first), (pic.PHONE - NAMES) / len(answers)
    figure, frame = blank(pic.PHONE, high + 0.4)
    scale = (column - 0.5) / max(np.max(nats) for _, nats in answers.values())
    for n, name in enumerate(first):
        write(frame, 0.05, high - ROW * (n + 0.5), name, ha="left")
    for place, (title, (names, nats)) in enumerate(answers.items()):
        left = NAMES + column * place
        frame.plot([left, left], [0.02, high], color=pic.INK, linewidth=1)
        frame.text(left, high + 0.12, title, va="bottom", weight="bold")
        for n, (name, one) in enumerate(zip(names, nats, strict=True)):
            other, y = name != first[n], high - ROW * (n + 0.5)
            colour = pic.KEY if other else pic.QUERY
            tile(frame, (left, y - 0.09, scale * one, 0.18), colour, edgecolor="none")
            ink = colour if other else pic.INK
            write(frame, left + scale * one + 0.05, y, f"{one:z.{decimals}f}", ha="left", color=ink)
            if other:
                write(frame, left + 0.06, y, name, ha="left", color="white", weight="bold")
    return figure


@pic.styled
def surprise(
    p: ArrayLike,
    nats: ArrayLike,
    token_p: ArrayLike,
    token_nats: ArrayLike,
    tokens: Sequence[str],
    marks: Mapping[str, float],
) -> pic.Picture:
    """The curve of surprise against probability with some tokens on it, and the line of 1 - p.

    At each marked probability a guide joins the two, with both heights at its ends.
    """
    figure, axes = chart(4.2)
    axes.plot(p, nats, color=pic.QUERY)
    axes.plot([0, 1], [1, 0], color=pic.INK, linestyle="--")
    for x, y, token in zip(token_p, token_nats, tokens, strict=True):
        axes.plot(x, y, "o", color=pic.KEY)
        beside(axes, token, (x, y), (3, 7), color=pic.KEY)
    for name, x in marks.items():
        ends = -np.log(x), 1 - x
        axes.plot([x, x], ends, color=pic.FAINT, linewidth=1, zorder=1)
        axes.plot(x, ends[0], "o", color=pic.QUERY, clip_on=False)
        axes.plot(x, ends[1], "o", color=pic.INK, markersize=4, clip_on=False)
        words = f"{name}: surprise {ends[0]:.1f}, 1 − p is {ends[1]:.1f}"
        beside(axes, words, (x, ends[0]), (12, 4 if x < 0.01 else 24), color=pic.INK, va="center_baseline")
    axes.text(0.03, 7.5, "surprise, −ln p", color=pic.QUERY)
    axes.text(0.19, 0.13, "1 − p")
    axes.set(xlim=(0, 1.02), ylim=(0, None), xlabel="probability given to the right token", ylabel="surprise in nats")
    return figure


def goals(
    logits: ArrayLike,
    right: int,
    tokens: Sequence[str],
    shares: pic.Arrays,
    plain: pic.Picture,
    start: int = 100,
    steps: Sequence[int] = STEPS,
) -> Interactive:
    """A row of logits on its way towards a target, with the target, its smoothing and the steps to change.

    `shares` are the targets to choose from, before smoothing; the first is shown first,
    after `start` steps. `plain` is the picture for paper.
    """
    logits = np.asarray(logits, dtype=float)
    for name, share in shares.items():
        if np.shape(share) != logits.shape or len(tokens) != len(logits):
            found = f"{np.shape(share)} for logits {logits.shape} of {len(tokens)} tokens"
            raise ValueError(f"{name}: the shares must have one number each, not {found}")
    if start not in steps:
        raise ValueError(f"start ({start}) must be one of the steps {list(steps)}")
    (kind, q), *_ = shares.items()
    p = softmax(logit_descent.towards(logits, np.asarray(q, dtype=float), start)[-1])
    data = {"logits": logits, "right": right, "tokens": tuple(tokens), "epsilon": 0}
    targets = {name: [*map(float, x)] for name, x in shares.items()}
    data |= {"shares": targets, "steps": tuple(steps), "start": start}
    columns = "target", "model", "surprise"
    table = tokens, columns, np.column_stack([q, p, -np.log(p)])
    title = f"{kind}, not smoothed, after {start} steps"
    return Interactive("smoothing", data, {title: table}, plain, pictured=True, shares=columns[:2])


@pic.styled
def gaps(steps: ArrayLike, cases: pic.Arrays) -> pic.Picture:
    """How far the right logit gets above the others, after so many steps, with a line for each kind of target.

    The first line is the one that never ends. Steps are drawn at equal distances where one is ten times another.
    """
    figure, axes = chart(3.4)
    looks = zip((pic.KEY, pic.INK, pic.QUERY), ("-", "--", "-"), strict=True)
    for (name, heights), (colour, dashes) in zip(cases.items(), looks, strict=False):
        axes.plot(steps, heights, color=colour, linestyle=dashes)
        under = heights[-1] == min(line[-1] for line in cases.values())
        beside(axes, name, (steps[-1], heights[-1]), (-2, -15 if under else 6), color=colour, ha="right")
    axes.set(xscale="log", xlim=(1, steps[-1]), ylim=(0, None), xlabel="steps", ylabel="gap between the logits")
    axes.xaxis.set_major_formatter("{x:.0f}")
    return figure


@pic.styled
def smoothing(gaps: ArrayLike, curves: Mapping[float, ArrayLike], lowest: pic.Pair) -> pic.Picture:
    """The loss against the gap between logits, one curve for each share of smoothing.

    A mark at the lowest point of the smoothed one.
    """
    figure, axes = chart(3.2)
    lines = {f"smoothing {share:g}": losses for share, losses in curves.items()}
    kit.curves(axes, gaps, lines, (pic.INK, pic.QUERY), ("--", "-"))
    axes.plot(*lowest, "o", color=pic.KEY)
    beside(axes, "lowest point", lowest, (0, 12), color=pic.KEY, ha="center")
    axes.axhline(0, color=pic.FAINT, linewidth=1)
    axes.set(xlim=(0, max(gaps)), xlabel="the right logit minus the others", ylabel="loss in nats")
    kit.at_ends(axes)
    return figure
