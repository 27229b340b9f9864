"""Pictures of positional encodings."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.coreference import THINGS
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, outline, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import CENTRE, bare, beside, chart, width, write
from tested_transformer.book.figures.running import GENDERS
from tested_transformer.shares import as_share

MARK = pic.SERIES[4]
"""What moves: no role of attention."""


@pic.styled
def orders(read: Sequence[tuple[str, str]], without: str, marked: tuple[str, str]) -> pic.Picture:
    """Orders of the same words with what is written for each, and what is written for all without positions.

    read are pairs of English and German. The word that moves is marked in English, its translation in German.
    """
    figure, frame = blank(4.2, 0.95 * len(read) + 1.0)
    y = 0.95 * len(read) + 0.75
    for english, german in read:
        _sentence(frame, (0.1, y), english, marked[0])
        arrow(frame, (0.2, y - 0.1), (0.2, y - 0.33), pic.INK, 10)
        _sentence(frame, (0.35, y - 0.4), german, marked[1])
        y -= 0.95
    frame.plot([0.1, 4.1], [y + 0.27, y + 0.27], color=pic.FAINT, linewidth=1)
    frame.text(0.1, y, "without positions, from both:", size=12, style="italic")
    arrow(frame, (0.2, y - 0.1), (0.2, y - 0.33), pic.INK, 10)
    _sentence(frame, (0.35, y - 0.4), without, marked[1])
    return figure


def _sentence(frame: Axes, place: pic.Pair, text: str, marked: str) -> None:
    """A sentence in one line; words that begin with the marked letters are bold."""
    x, y = place
    for word in text.split():
        weight = "bold" if word.startswith(marked) else "normal"
        frame.text(x, y, word, weight=weight, size=12)
        x += width(word, 12, weight) + 0.07


@pic.styled
def clocks(table: ArrayLike, words: Sequence[str]) -> pic.Picture:
    """For each word a row of clocks, one for each pair of its row of the table: the hand shows sine and cosine."""
    hands = np.reshape(table, (len(words), -1, 2))
    figure, frame = blank(4.2, 0.52 * len(words) + 0.35)
    top = 0.52 * len(words)
    circle = np.linspace(0, 2 * np.pi, 100)
    for position, (word, row) in enumerate(zip(words, hands, strict=True)):
        y = top - 0.52 * position - 0.24
        write(frame, 0.32, y, str(position), ha="right", color=MARK, size=12)
        write(frame, 0.45, y, word, ha="left", size=12)
        for pair, (sine, cosine) in enumerate(row):
            x = 1.72 + 2.1 / (len(row) - 1) * pair
            frame.plot(x + 0.21 * np.sin(circle), y + 0.21 * np.cos(circle), color=pic.FAINT, linewidth=1)
            end = x + 0.21 * sine, y + 0.21 * cosine
            frame.plot([x, end[0]], [y, end[1]], color=MARK, linewidth=2.5)
            frame.plot(*end, "o", color=MARK, markersize=4)
    for pair in range(hands.shape[1]):
        x = 1.72 + 2.1 / (hands.shape[1] - 1) * pair
        frame.text(x, top + 0.1, f"pair {pair}", ha="center", size=11)
    return figure


@pic.styled
def sums(parts: pic.Arrays, words: Sequence[str], limit: float) -> pic.Picture:
    """Tables with a row for each word below each other, in the same colours from -limit to limit."""
    n = len(parts)
    figure, panels = pic.picture(4.2, 0.5 + n * (0.3 + 0.19 * len(words)), rows=n)
    for axes, (name, table) in zip(panels[:, 0], parts.items(), strict=True):
        look = {"cmap": pic.SIGNED, "vmin": -limit, "vmax": limit, "interpolation": "none"}
        image = axes.imshow(table, aspect="auto", **look)
        axes.set(title=name, yticks=range(len(words)), yticklabels=words, xticks=[])
        bare(axes)
    figure.colorbar(image, ax=panels, ticks=[-limit, 0, limit], location="bottom", aspect=40, pad=0.02)
    return figure


@pic.styled
def heat(table: ArrayLike, name: str = "column") -> pic.Picture:
    """A table of positions as colours from -1 through 0 to 1, one row for each."""
    rows, columns = np.shape(table)
    figure, axes = chart(1.0 + 4.3 * rows / columns, 5.4)
    image = axes.imshow(table, cmap=pic.SIGNED, vmin=-1, vmax=1, aspect="equal", interpolation="none")
    axes.set(xlabel=name, ylabel="position")
    figure.colorbar(image, ax=axes, ticks=[-1, 0, 1], shrink=0.8, pad=0.02)
    return figure


@pic.styled
def curves(sines: ArrayLike, cosines: ArrayLike, names: Sequence[str]) -> pic.Picture:
    """Sine and cosine of some pairs, a panel for each (arrays: positions × pairs)."""
    sines, cosines = np.asarray(sines), np.asarray(cosines)
    n = len(names)
    figure, panels = pic.picture(5.4, 1.2 + 1.2 * n, rows=n, sharex=True)
    for i, (axes, name) in enumerate(zip(panels[:, 0], names, strict=True)):
        axes.axhline(0, color=pic.FAINT, linewidth=1)
        axes.plot(sines[:, i], color=pic.QUERY, label="sine")
        axes.plot(cosines[:, i], color=pic.KEY, linestyle="--", label="cosine")
        axes.set(ylim=(-1.15, 1.15), yticks=[-1, 0, 1], title=name)
    panels[-1, 0].set_xlabel("position")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


@pic.styled
def turning(pairs: pic.Arrays, start: int, k: int) -> pic.Picture:
    """Some pairs as hands of a clock, with arrows to position start and to start + k.

    Each pair is an array (positions × 2): the sine goes across, the cosine up.
    """
    figure, (panels,) = pic.picture(pic.WIDE, 3.2, columns=len(pairs))
    circle = np.linspace(0, 2 * np.pi, 200)
    for axes, (name, points) in zip(panels, pairs.items(), strict=True):
        points = np.asarray(points)
        axes.plot(np.sin(circle), np.cos(circle), color=pic.FAINT, linewidth=1)
        for position, (x, y) in enumerate(points):
            ends = position in (start, start + k)
            colour = {start: pic.QUERY, start + k: pic.KEY}.get(position, pic.INK)
            if ends:
                arrow(axes, (0, 0), (x, y), colour, 11, 2, zorder=3)
            axes.plot(x, y, "o", color=colour, markersize=6 if ends else 4)
            axes.annotate(str(position), (1.18 * x, 1.18 * y), color=colour, **CENTRE)
        axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        axes.set(xlabel="sine", title=name)
    panels[0].set_ylabel("cosine")
    return figure


@pic.styled
def wavelengths(lengths: ArrayLike, limit: float) -> pic.Picture:
    """The wavelength of each pair, with a line at a length of text."""
    lengths = np.asarray(lengths)
    figure, axes = chart(3.4, 5.4)
    axes.plot(lengths, color=pic.QUERY)
    axes.axhline(limit, color=pic.KEY, linestyle="--")
    beside(axes, f"{limit:g} positions", (0, limit), (0, 5), color=pic.KEY)
    for i, form, offset, side in ((0, ".2f", (10, -8), "left"), (len(lengths) - 1, ",.1f", (-10, 2), "right")):
        axes.plot(i, lengths[i], "o", color=pic.QUERY)
        beside(axes, f"{lengths[i]:{form}}", (i, lengths[i]), offset, ha=side)
    axes.set(ylim=(lengths[0] / 2, 2 * lengths[-1]), yscale="log", xlabel="pair", ylabel="positions for one full turn")
    return figure


@pic.styled
def offsets(dots: ArrayLike, reach: int) -> pic.Picture:
    """Dot products of one position with those up to `reach` before and after it."""
    figure, axes = chart(3.1, 5.4)
    axes.plot(np.arange(-reach, reach + 1), dots, color=pic.QUERY)
    axes.set(ylim=(0, None), xlabel="offset between the two positions", ylabel="dot product")
    return figure


@pic.styled
def lengths(squared: pic.Arrays) -> pic.Picture:
    """The squared length of every row, one curve for each table; the first on top."""
    figure, axes = chart(3.1, 5.4)
    for i, (name, values) in enumerate(squared.items()):
        axes.plot(values, color=pic.SERIES[i], label=name, linewidth=1 if i else 3, zorder=3 - i)
    axes.set(xlabel="position", ylabel="squared length of the row")
    axes.legend(loc="lower left")
    return figure


@pic.styled
def shares(a: ArrayLike, framed: bool = False) -> pic.Picture:
    """Attention weights between positions (queries × keys) as colours, from 0 to the largest, rounded up.

    framed marks the largest of each row.
    """
    a = np.asarray(a)
    figure, axes = chart(3.9, 4.6)
    top = np.ceil(10 * a.max()) / 10
    image = axes.imshow(a, cmap=pic.WEIGHTS, vmin=0, vmax=top, interpolation="none")
    if framed:
        for row, column in enumerate(a.argmax(axis=1)):
            tile(axes, (column - 0.5, row - 0.5, 1, 1), "none", edgecolor=pic.INK)
    axes.set(xlabel="takes from position", ylabel="position")
    ticks = range(0, len(a), 4)
    axes.set(xticks=ticks, yticks=ticks)
    figure.colorbar(image, ax=axes, ticks=[0, top / 2, top], shrink=0.8)
    return figure


@pic.styled
def swapped(panels: Mapping[str, tuple[Sequence[str], ArrayLike, int]]) -> pic.Picture:
    """What a token takes from one position, a panel of bars for each thing that is changed there.

    A panel is the name of each choice, its weight, and the choice that is in the sentence as it is.
    """
    figure, rows = pic.picture(pic.PHONE, 2.6 * len(panels), rows=len(panels))
    for axes, (title, panel) in zip(rows[:, 0], panels.items(), strict=True):
        names, weights, marked = panel
        for i, weight in enumerate(np.asarray(weights)):
            axes.bar(i, weight, color=MARK if i == marked else pic.FAINT, width=0.8)
            axes.text(i, weight + 0.03, as_share(weight, 2), ha="center")
        axes.set_title(title, pad=10)
        axes.set(ylim=(0, 1.08), xlim=(-0.6, len(names) - 0.4), yticks=[])
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        axes.get_xticklabels()[marked].set(color=MARK, weight="bold")
    return figure


@pic.styled
def parts(strips: pic.Arrays, weights: tuple[str, ArrayLike], words: Sequence[str], marked: int) -> pic.Picture:
    """Parts of one token's scores, a strip of tiles for each; then their sum and the weights, with their names.

    The tiles of the marked word are framed.
    """
    side, left, gap, top = 0.46, 0.38, 0.68, 1.05
    n, lines = len(words), [*strips.items(), weights]
    wide, height = left + side * n + 0.06, top + gap * len(lines) + 0.05
    figure = pic.Picture(figsize=(wide, height))
    limit = np.ceil(max(np.abs(strip).max() for strip in strips.values()))
    for line, (name, row) in enumerate(lines):
        y = height - top - gap * line - 0.22 - 0.4
        axes = figure.add_axes(np.divide((left, y, side * n, 0.4), (wide, height) * 2))
        if last := line == len(lines) - 1:
            pic.tiles(axes, [row], pic.WEIGHTS, (0, 1), decimals=2, whole=1)
        else:
            pic.tiles(axes, [row], pic.SIGNED, (-limit, limit), decimals=1)
        axes.set(aspect="auto", yticks=[])
        axes.spines[:].set(visible=True, color=pic.FAINT)
        axes.set_xticks(range(n), [] if line else words, rotation=90)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, pad=24)
        if not line:
            axes.get_xticklabels()[marked].set(color=MARK, weight="bold")
        outline(axes, (marked - 0.5, -0.5, 1, 1), MARK, 3, zorder=3, clip_on=False)
        weight = "bold" if line >= len(strips) - 1 else "normal"
        figure.text(left / wide, (y + 0.45) / height, name, va="bottom", weight=weight)
        sign = "" if last else "=" if line == len(strips) - 1 else "+" if line else ""
        figure.text(0.19 / wide, (y + 0.2) / height, sign, size=14, **CENTRE)
    return figure


def hands(table: ArrayLike, start: int, k: int, lengths: ArrayLike, dots: ArrayLike) -> Interactive:
    """Every pair of a table as a hand, at position start and k later, to change.

    `lengths` are the wavelengths of the pairs, `dots` the products of row start with the rows from there on.
    """
    table, dots = np.asarray(table), np.asarray(dots)
    names = [f"pair {i}" for i in range(table.shape[1] // 2)]
    columns = ["wavelength", "sine", "cosine", "sine, k later", "cosine, k later"]
    here, there = table[start].reshape(-1, 2), table[start + k].reshape(-1, 2)
    offsets = [n for n in sorted({0, 1, 2, k, 10, 50}) if n < len(dots)]
    pairs = f"The pairs at position {start} and at {start + k}, where k is {k}"
    headings = [f"offset {offset}" for offset in offsets]
    tables = {
        pairs: (names, columns, np.column_stack([lengths, here, there])),
        "Dot products": (["product"], headings, dots[None, offsets]),
    }
    data = {"position": start, "offset": k, "width": table.shape[1], "reach": len(dots) - 1, "widest": 32}
    plain = turning({names[i]: table[:10, 2 * i : 2 * i + 2] for i in (0, 1)}, start, k)
    return Interactive("positions", data, tables, plain)


def moving(
    strips: pic.Arrays,
    weights: ArrayLike,
    words: Sequence[str],
    pair: tuple[int, int],
    others: pic.Arrays,
    choices: Sequence[str],
) -> Interactive:
    """Parts of one token's scores, with one word to move or replace, and parts to take away.

    `strips` have a number for each word, `weights` are those of their sum, and `pair` is
    who asks and what may move. A part that asks for words has in `others` the numbers of
    the choices; any other asks for positions, and what moves gets the number found there.
    """
    asks, moves = pair
    if words[moves] not in choices:
        raise ValueError(f"choices {[*choices]} must include {words[moves]!r}")
    found = []
    for name, strip in strips.items():
        rows = {"strip": strip} | ({"words": others[name]} if name in others else {})
        for row, wanted in zip(rows.values(), (words, choices), strict=False):
            if np.shape(row) != (len(wanted),):
                raise ValueError(f"{name}: {np.shape(row)} numbers do not fit {[*wanted]}")
        found.append({"name": name} | {kind: np.round(row, 6).tolist() for kind, row in rows.items()})
    data = {"words": tuple(words), "asks": asks, "moves": moves, "choices": tuple(choices), "parts": found}
    data["genders"] = {word: GENDERS[THINGS[word].gender] for word in choices if word in THINGS}
    score = np.sum([*strips.values()], axis=0)
    seats = [f"{n} {word}" for n, word in enumerate(words)]
    still = parts({**strips, "score": score}, ("weight", weights), seats, moves)
    short = [name.partition(":")[0] for name in strips]
    table = seats, [*short, "score", "weight"], np.column_stack([*strips.values(), score, weights])
    title = f'What "{words[asks]}" gives each word'
    return Interactive("parts", data, {title: table}, still, decimals=2, shares=("weight",))
