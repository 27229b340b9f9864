"""Pictures of a model that fills gaps, and of one word in many sentences."""

from collections.abc import Mapping, Sequence

import numpy as np

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, tile
from tested_transformer.book.figures.kit import CENTRE, write
from tested_transformer.shares import as_share

ROW, NAMES = 0.34, 0.85
"""How high the line of a gap is, and how wide the column of hidden words, in inches."""


@pic.styled
def gaps(hidden: Sequence[str], guesses: Sequence[Sequence[tuple[str, float]]]) -> pic.Picture:
    """A line for each hidden word: the guesses for its gap, darker the likelier; the right one has a frame."""
    high = ROW * len(hidden)
    figure, frame = blank(pic.PHONE, high + 0.4)
    width = (pic.PHONE - NAMES) / max(map(len, guesses))
    for x, title in ((0.05, "hidden"), (NAMES + 0.03, "guessed, with its probability")):
        frame.text(x, high + 0.12, title, va="bottom", weight="bold")
    for n, (word, row) in enumerate(zip(hidden, guesses, strict=True)):
        y = high - ROW * (n + 0.5)
        write(frame, 0.05, y, word, ha="left")
        for place, (guess, p) in enumerate(row):
            box = NAMES + width * place + 0.03, y - 0.13, width - 0.08, 0.27
            edge, ink = pic.KEY if guess.lower() == word.lower() else "none", "white" if p > 0.5 else pic.INK
            tile(frame, box, pic.WEIGHTS(p), edgecolor=edge, linewidth=2)
            write(frame, box[0] + 0.06, y, guess, ha="left", color=ink)
            write(frame, box[0] + box[2] - 0.06, y, _percent(p), ha="right", color=ink)
    return figure


def _percent(share: float) -> str:
    return f"{as_share(100 * share, 0, 100, signs=True)}%"


@pic.styled
def learning(losses: Sequence[float], shares: Mapping[str, float], words: int) -> pic.Picture:
    """The loss of each step, and bars: who guesses what share of hidden words.

    A dotted line has the loss of a blind guess among so many words.
    """
    figure, ((left, right),) = pic.picture(pic.WIDE, 3.2, columns=2, width_ratios=[3, 2])
    left.plot(range(1, len(losses) + 1), losses, color=pic.QUERY, linewidth=0.8)
    left.set(xlabel="step", ylabel="loss per hidden word", ylim=(0, None))
    blind = np.log(words)
    left.axhline(blind, color=pic.INK, linewidth=1, linestyle=":")
    left.text(len(losses), blind + 0.08, f"a blind guess: ln {words}", ha="right", va="bottom")
    names = list(shares)[::-1]
    bars = right.barh(names, [shares[name] for name in names], color=pic.QUERY)
    right.bar_label(bars, [_percent(shares[name]) for name in names], padding=3)
    right.set(xlim=(0, 1.3 * max(shares.values())), xlabel="guessed right", xticks=[])
    right.tick_params(left=False)
    right.spines[["left", "bottom"]].set_color(pic.FAINT)
    return figure


STAGES = (
    ("learning from gaps", "body\nlearns from bare text", "head: which word?\nlearns, then is taken off"),
    ("fine-tuning", "the same body\nlearns a little further", "new head: yes or no?\nuntrained at first"),
)
"""For each stage its title, and what its body and its head do."""


@pic.styled
def fine_tuning(*read: tuple[Sequence[str], int, str]) -> pic.Picture:
    """Both stages side by side, from above to below: what is read, the body, its vectors, the head, the answer.

    For each stage the tokens, the place of the vector that its head takes, and the answer. The body goes over to the
    second stage, the head does not.
    """
    high, wide = 3.62, 2.28
    figure, frame = blank(pic.PHONE, high)
    for n, (stage, (tokens, place, answer)) in enumerate(zip(STAGES, read, strict=True)):
        (title, body, head), left = stage, 0.08 + n * (wide + 0.38)
        centre, rooms = left + wide / 2, [len(token) + 2.0 for token in tokens]
        ends = np.cumsum(rooms) * wide / sum(rooms)
        spots = left + ends - np.multiply(rooms, wide / sum(rooms) / 2)
        frame.text(centre, high - 0.18, title, weight="bold", **CENTRE)
        for spot, token in zip(spots, tokens, strict=True):
            frame.text(spot, high - 0.52, token, **CENTRE)
            arrow(frame, (spot, high - 0.66), (spot, high - 0.9), size=9)
        tile(frame, (left, high - 1.5, wide, 0.6), pic.tint(pic.QUERY)(0.5), edgecolor=pic.INK)
        frame.text(centre, high - 1.2, body, **CENTRE)
        for i, spot in enumerate(spots):
            edge = {"edgecolor": pic.INK} if i == place else {}
            tile(frame, (spot - 0.06, high - 2.04, 0.12, 0.4), pic.tint(pic.VALUE)(0.9 if i == place else 0.25), **edge)
        taken = spots[place]
        arrow(frame, (taken, high - 2.07), (taken, high - 2.36))
        colour = (pic.FAINT, pic.KEY)[n]
        tile(frame, (left, high - 2.96, wide, 0.6), "white", edgecolor=colour, linewidth=2, linestyle=("--", "-")[n])
        frame.text(centre, high - 2.66, head, **CENTRE)
        arrow(frame, (taken, high - 2.98), (taken, high - 3.26))
        frame.text(taken, high - 3.42, answer, color=pic.OUT, **CENTRE)
    arrow(frame, (0.1 + wide, high - 1.2), (0.44 + wide, high - 1.2), pic.KEY)
    frame.text(0.27 + wide, high - 1.02, "kept", color=pic.KEY, **CENTRE)
    return figure


@pic.styled
def rules(shares: Mapping[str, Sequence[float]], seen: Sequence[str], key: str) -> pic.Picture:
    """A panel for each thing that may be seen, with a bar for each rule; the bars of one rule have another colour."""
    figure, (row,) = pic.picture(pic.WIDE, 2.6, columns=len(seen), sharex=True)
    names, most = list(shares)[::-1], max(map(max, shares.values()))
    for n, (axes, title) in enumerate(zip(row, seen, strict=True)):
        values = [shares[name][n] for name in names]
        bars = axes.barh(names, values, color=[pic.KEY if name == key else pic.QUERY for name in names])
        axes.bar_label(bars, [_percent(x) for x in values], padding=3)
        axes.set(xlim=(0, 1.3 * most), xticks=[])
        axes.set_title(title, loc="center", color=pic.INK)
        axes.tick_params(left=False, labelleft=n == 0)
        axes.spines[["left", "bottom"]].set_color(pic.FAINT)
    return figure


@pic.styled
def roles(panels: pic.Arrays, kinds: Sequence[str], columns: int = 15) -> pic.Picture:
    """For each panel a dot for each word: how much nearer it lies to the mean of the second kind.

    Dots of the first kind are stacked up from the middle, those of the second down, in so
    many columns; rings lie on the wrong side of the dashed line that divides the two.
    """
    figure, (row,) = pic.picture(pic.WIDE, 3.6, columns=len(panels), sharey=True)
    kinds = np.asarray(kinds)
    names = list(zip(np.unique(kinds), pic.SERIES, (1, -1), strict=False))
    most = 0
    for axes, (title, x) in zip(row, panels.items(), strict=True):
        x = np.asarray(x) / max(abs(np.asarray(x)).max(), 1e-9)
        bins = np.floor((x + 1) / 2 * columns).clip(0, columns - 1)
        bins = np.where(x > 0, np.maximum(bins, columns // 2 + 1), bins)
        bins = np.where(x < 0, np.minimum(bins, columns // 2 - 1), bins)
        for kind, colour, way in names:
            own = bins[kinds == kind]
            ranks = np.array([np.sum(own[:n] == b) for n, b in enumerate(own)]) + 1
            most = max(most, ranks.max())
            wrong = (x[kinds == kind] > 0) == (way > 0)
            look = {"s": 38, "edgecolor": colour, "linewidth": 1.5, "zorder": 3}
            for group, face in ((wrong, "white"), (~wrong, colour)):
                axes.scatter(own[group], way * ranks[group], facecolor=face, **look)
        axes.axvline(linewidth=1, x=columns // 2, color=pic.INK, linestyle="--")
        axes.axhline(0, color=pic.INK, linewidth=1)
        axes.set(xlim=(-1, columns), xticks=[], yticks=[])
        axes.spines[["left", "bottom"]].set_visible(False)
        first, second = (name for name, *_ in names)
        axes.set_xlabel(f"← {first}\n{second} →", color=pic.INK)
        axes.set_title(title, loc="center", color=pic.INK)
    row[0].set_ylim(-most - 1, most + 1)
    for kind, colour, way in names:
        row[0].text(-1.2, way * (most + 1) / 2, f"{kind}s", color=colour, rotation=90, va="center", ha="right")
    return figure
