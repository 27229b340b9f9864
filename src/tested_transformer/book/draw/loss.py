"""Pictures of the loss."""

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic


@pic.styled
def surprise(
    p: ArrayLike,
    nats: ArrayLike,
    token_p: ArrayLike,
    token_nats: ArrayLike,
    tokens: Sequence[str],
) -> pic.Picture:
    """The curve of surprise against probability, with some tokens on it."""
    figure, ((axes,),) = pic.picture(5.6, 3.6)
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
def smoothing(
    gaps: ArrayLike, curves: Mapping[float, ArrayLike], lowest: tuple[float, float]
) -> pic.Picture:
    """The loss against the gap between logits, one curve for each share of smoothing.

    A mark at the lowest point of the smoothed one.
    """
    figure, ((axes,),) = pic.picture(5.6, 3.6)
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
