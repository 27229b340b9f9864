"""Pictures of the loss."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import blank, tile

ROW, NAMES = 0.27, 0.66
"""How high the line of a token is, and how wide the column of their names, in inches."""


@pic.styled
def tokens(
    answers: Mapping[str, tuple[Sequence[str], ArrayLike]], decimals: int = 1
) -> pic.Picture:
    """Bars side by side, a column for each case: the surprise at each token, which are below each other.

    Each case has its tokens and their surprises in nats. Where a token is not that of the
    first case, it is written at its bar, and the bar has another colour.
    """
    first = next(iter(answers.values()))[0]
    for title, (names, nats) in answers.items():
        if not len(first) == len(names) == len(nats):
            found = f"{len(names)} tokens and {len(nats)} surprises"
            raise ValueError(f"{title}: {found} in a picture of {len(first)} tokens")
    high, column = ROW * len(first), (pic.PHONE - NAMES) / len(answers)
    figure, frame = blank(pic.PHONE, high + 0.4)
    scale = (column - 0.5) / max(np.max(nats) for _, nats in answers.values())
    middle = {"va": "center_baseline"}
    for n, name in enumerate(first):
        frame.text(0.05, high - ROW * (n + 0.5), name, **middle)
    for place, (title, (names, nats)) in enumerate(answers.items()):
        left = NAMES + column * place
        frame.plot([left, left], [0.02, high], color=pic.INK, linewidth=1)
        frame.text(left, high + 0.12, title, va="bottom", weight="bold")
        for n, (name, one) in enumerate(zip(names, nats, strict=True)):
            other, y = name != first[n], high - ROW * (n + 0.5)
            colour = pic.KEY if other else pic.QUERY
            bar = left, y - 0.09, scale * one, 0.18
            tile(frame, bar, colour, edgecolor="none")
            number = f"{one:z.{decimals}f}"
            look = {"color": colour if other else pic.INK} | middle
            frame.text(left + scale * one + 0.05, y, number, **look)
            if other:
                frame.text(left + 0.06, y, name, color="white", weight="bold", **middle)
    return figure


@pic.styled
def surprise(
    p: ArrayLike,
    nats: ArrayLike,
    token_p: ArrayLike,
    token_nats: ArrayLike,
    tokens: Sequence[str],
) -> pic.Picture:
    """The curve of surprise against probability, with some tokens on it."""
    figure, ((axes,),) = pic.picture(pic.PHONE, 3.2)
    axes.plot(p, nats, color=pic.QUERY)
    for x, y, token in zip(token_p, token_nats, tokens, strict=True):
        axes.plot(x, y, "o", color=pic.KEY)
        place = {"xytext": (7, 5), "textcoords": "offset points"}
        axes.annotate(token, (x, y), color=pic.KEY, **place)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, None)
    axes.set_xlabel("probability given to the right token")
    axes.set_ylabel("surprise in nats")
    return figure


@pic.styled
def gaps(steps: ArrayLike, cases: Mapping[str, ArrayLike]) -> pic.Picture:
    """How far the right logit gets above the others, after so many steps, with a line for each kind of target.

    The first line is the one that never ends. Steps are drawn at equal distances where one
    is ten times another.
    """
    figure, ((axes,),) = pic.picture(pic.PHONE, 3.4)
    looks = zip((pic.KEY, pic.INK, pic.QUERY), ("-", "--", "-"), strict=True)
    for (name, heights), (colour, dashes) in zip(cases.items(), looks, strict=False):
        axes.plot(steps, heights, color=colour, linestyle=dashes)
        under = heights[-1] == min(line[-1] for line in cases.values())
        place = {"xytext": (-2, -15 if under else 6), "textcoords": "offset points"}
        end = steps[-1], heights[-1]
        axes.annotate(name, end, color=colour, ha="right", **place)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlim(1, steps[-1])
    axes.set_ylim(0, None)
    axes.set_xlabel("steps")
    axes.set_ylabel("gap between the logits")
    return figure


@pic.styled
def smoothing(
    gaps: ArrayLike, curves: Mapping[float, ArrayLike], lowest: tuple[float, float]
) -> pic.Picture:
    """The loss against the gap between logits, one curve for each share of smoothing.

    A mark at the lowest point of the smoothed one.
    """
    figure, ((axes,),) = pic.picture(pic.PHONE, 3.2)
    looks = zip(curves.items(), (pic.INK, pic.QUERY), ("--", "-"), strict=False)
    for (share, losses), colour, line in looks:
        name = f"smoothing {share:g}"
        axes.plot(gaps, losses, color=colour, linestyle=line, label=name)
    axes.plot(*lowest, "o", color=pic.KEY)
    place = {"xytext": (0, 12), "textcoords": "offset points", "ha": "center"}
    axes.annotate("lowest point", lowest, color=pic.KEY, **place)
    axes.axhline(0, color=pic.FAINT, linewidth=1)
    axes.set_xlim(0, max(gaps))
    axes.set_xlabel("the right logit minus the others")
    axes.set_ylabel("loss in nats")
    axes.legend()
    return figure
