"""Pictures of a model that writes: what there is to draw from, and what comes of it."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, part, tile
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import CENTRE, chart
from tested_transformer.shares import as_share


def sampler(panels: Mapping[str, tuple[ArrayLike, Sequence[str]]], k: int, nucleus: float = 0.9) -> Interactive:
    """What temperature, top-k and top-p leave of real probabilities, with words to draw; at first the k likeliest.

    For each beginning the probabilities of all next words, the likeliest first, and
    these words. Before that, and on paper, `likeliest` with the words that fill `nucleus`.
    """
    rows, stills, texts = [], {}, []
    known = sorted({word for _, words in panels.values() for word in words})
    ids = {word: i for i, word in enumerate(known)}
    for text, (p, words) in panels.items():
        p = _falling(text, p, words)
        fill = int((p.cumsum() < nucleus).sum()) + 1
        stills[text] = p, words, fill
        all_of_them = k >= len(p)  # a sum may lack the last bit
        rows.append((text, ", ".join(words[:k]), as_share(1 if all_of_them else p[:k].sum(), 3, signs=True), str(fill)))
        drawn = p > 0
        logs, order = np.log(p[drawn]).round(6), [ids[word] for word in words]
        texts.append({"text": text, "z": logs.tolist(), "words": order[: drawn.sum()]})
    tables = {"Next words": (("beginning", f"the {k} likeliest", "together", f"words to fill {nucleus}"), rows)}
    data, still = {"words": known, "texts": texts, "k": k}, likeliest(stills, k)
    return Interactive("sampler", data, {}, still, words=tables, pictured=True)


def _falling(text: str, p: ArrayLike, words: Sequence[str]) -> np.ndarray:
    """The probabilities as an array, if they fall, add up to one and have a word each."""
    p = np.asarray(p, dtype=float)
    if len(p) != len(words):
        raise ValueError(f"{text!r} has {len(p)} probabilities, but {len(words)} words")
    if not (p >= 0).all() or (np.diff(p) > 0).any() or abs(p.sum() - 1) > 1e-6:
        rule = "must fall from the likeliest word on and add up to 1"
        raise ValueError(f"the probabilities after {text!r} {rule}")
    return p


@pic.styled
def likeliest(panels: Mapping[str, tuple[ArrayLike, Sequence[str], int]], k: int, most: int = 16) -> pic.Picture:
    """For each text its likeliest next words, `most` of them, on a scale of its own.

    A text has (probabilities, words, how many fill the nucleus). A dashed line with its name
    marks where the k likeliest end, bars outside the nucleus are faint, and the title counts it.
    """
    figure, (row,) = pic.picture(pic.WIDE, 4.8, columns=len(panels))
    for axes, (title, (p, words, nucleus)) in zip(row, panels.items(), strict=True):
        p, words = np.asarray(p)[:most], words[:most]
        places, inside = np.arange(len(p)), min(nucleus, len(p))
        axes.barh(places[:inside], p[:inside], 0.75, color=pic.QUERY)
        axes.barh(places[inside:], p[inside:], 0.75, color=pic.QUERY, alpha=0.3)
        axes.axhline(k - 0.5, color=pic.KEY, linestyle="--", linewidth=1.5)
        axes.text(1, k - 0.55, f"k = {k}", transform=axes.get_yaxis_transform(), color=pic.KEY, ha="right", va="bottom")
        axes.set_yticks(places, words)
        axes.invert_yaxis()
        axes.tick_params(left=False)
        some = f", {most} shown" if nucleus > most else ""
        count = f"{nucleus} word{'s' * (nucleus > 1)}{some}"
        axes.set_title(f"{title}\n{count}", loc="center", color=pic.INK)
        axes.set_xlabel("probability")
        axes.locator_params(axis="x", nbins=3)
    return figure


GROUPS = (0, 5, 20), ("5 likeliest", "next 15", "the tail:\nall others")
"""Where the groups of a line begin, and what they are called."""

LETTER = 0.022
"""So much of a line is as wide as a letter."""


@pic.styled
def lines(rows: pic.Arrays, words: Sequence[str]) -> pic.Picture:
    """For each name a line of length 1 in pieces as long as their probabilities, the likeliest first.

    The words stand above the first pieces of the top line. Thin lines lead from the ends of
    the groups to where these end in the next line; below the last line stand their names.
    """
    starts, names = GROUPS
    figure, axes = chart(1.0 * len(rows) + 1.3)
    before = []
    for y, p in enumerate(map(np.asarray, rows.values())):
        cuts = [p[:start].sum() for start in (*starts, len(p))]
        for n, colour in enumerate((pic.WEIGHTS(0.62), pic.WEIGHTS(0.3))):
            group = p[starts[n] : starts[n + 1]]
            # edges so thin that of each piece something is left to be seen
            look = {"color": colour, "edgecolor": "white", "linewidth": np.minimum(1, 100 * group)}
            axes.barh(y, group, 0.44, left=cuts[n] + group.cumsum() - group, **look)
        tail = p[starts[-1] :].sum()  # whose pieces are too short to see
        axes.barh(y, tail, 0.44, left=cuts[-2], color=pic.KEY, edgecolor="none", linewidth=0)
        for old, new in zip(before, cuts[1:-1], strict=False):
            axes.plot([old, new], [y - 0.76, y - 0.24], color=pic.INK, linewidth=0.8)
        before = cuts[1:-1]
    first = np.asarray(next(iter(rows.values())))
    middles = first.cumsum()[: len(words)] - first[: len(words)] / 2
    wide = [LETTER * (len(word) + 1.5) for word in words]
    spots = [middles[-1]]
    for n in range(len(words) - 2, -1, -1):  # above its piece, or left of the next word
        spots.insert(0, min(middles[n], spots[0] - (wide[n] + wide[n + 1]) / 2))
    for word, x, spot in zip(words, middles, spots, strict=True):
        axes.text(spot, -0.56, word, ha="center", va="bottom")
        axes.plot([spot, x], [-0.52, -0.24], color=pic.INK, linewidth=0.8)
    for n, (name, ink) in enumerate(zip(names, (pic.INK, pic.INK, pic.KEY), strict=True)):
        axes.text((cuts[n] + cuts[n + 1]) / 2, len(rows) - 0.7, name, ha="center", va="top", color=ink)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.15, -0.85), xticks=[0, 0.5, 1])
    axes.tick_params(left=False)
    axes.spines.left.set_visible(False)
    return figure


@pic.styled
def hit(p: ArrayLike, names: Sequence[str], point: float) -> pic.Picture:
    """Probabilities laid end to end on a line of length 1, each named; the point hits one, which is dark."""
    p = np.asarray(p, dtype=float)
    if not 0 <= point < p.sum():
        raise ValueError(f"the point ({point}) must be on the line, which ends at {p.sum():g}")
    ends = p.cumsum()
    chosen = int((ends <= point).sum())
    figure, axes = chart(1.6)
    for i, (name, end, share) in enumerate(zip(names, ends, p, strict=True)):
        tile(axes, (end - share, 0, share, 1), pic.WEIGHTS(0.62 if i == chosen else 0.15), edgecolor=pic.INK)
        weight = "bold" if i == chosen else "normal"
        axes.text(end - share / 2, 1.12, f"{name}\n{share:g}", ha="center", va="bottom", weight=weight)
    marks, near = np.array([0, *ends]), 0.08
    gaps = np.diff(marks, prepend=-1) < near, np.diff(marks, append=2) < near
    for end, back, on in zip(marks, *map(np.int64, gaps), strict=True):
        aside = on - back  # where two are near, their numbers step apart
        axes.text(end + 0.012 * aside, -0.12, f"{end:g}", ha=("center", "right", "left")[aside], va="top")
    arrow(axes, (point, -1.1), (point, 0.02), pic.KEY)
    axes.text(point, -1.15, f"the point {point:g}", ha="center", va="top", color=pic.KEY)
    axes.set(xlim=(-0.01, 1.03), ylim=(-1.9, 2.3))
    axes.set_axis_off()
    return figure


@pic.styled
def trade(
    points: Mapping[str, Sequence[pic.Pair]], families: Mapping[str, Sequence[str]], goal: str = ""
) -> pic.Picture:
    """For each way to draw: different words across, the share of sound triples up; its name stands beside.

    A way has a small point for each draw and a large one in their middle. Ways of a family, in order, have a colour
    and a line, which may run through ways of none. Names of the first family and of none stand at the right, the
    others at the left. The goal, what all are measured by, has open stars in ink.
    """
    figure, axes = chart(3.9)
    middles, own = {}, {}
    low = min(sound for drawn in points.values() for _, sound in drawn)
    for (family, names), colour, mark in zip(families.items(), pic.SERIES, "os^", strict=False):
        own |= {name: (colour, mark) for name in names if name.startswith(family)}
    for name, drawn in points.items():
        words, sound = np.transpose(drawn)
        colour, mark = own.get(name, (pic.INK, "D"))
        middles[name] = words.mean(), sound.mean(), colour
        if name == goal:
            axes.scatter(words, sound, 90, marker="*", edgecolor=colour, facecolor="none", linewidth=1.4)
            top = sound.argmax()  # its name stands beside the highest star
            middles[name] = words[top], sound[top], colour
        else:
            axes.scatter(words, sound, s=7, color=colour, alpha=0.6, linewidth=0)
            axes.scatter(words.mean(), sound.mean(), s=44, color=colour, marker=mark, zorder=3)
    for names in families.values():
        across, up, colours = zip(*(middles[name] for name in names), strict=True)
        axes.plot(across, up, color=next(c for c in colours if c != pic.INK), linewidth=1.6, alpha=0.7)
    most, step = max(x for x, _, _ in middles.values()), (1.02 - low) / 11
    at_left = {n for n, (colour, _) in own.items() if colour != pic.SERIES[0]}
    for names, side, way in ((at_left, "right", -1), (middles.keys() - at_left, "left", 1)):
        level = np.inf
        for name in sorted(names, key=lambda name: -middles[name][1]):
            x, y, colour = middles[name]
            level = min(y, level - step)
            # in a column at the right, unless it is far
            end = 1.12 * most if way > 0 and x > most / 2 else x + way * 0.13 * most
            axes.plot([x, end], [y, level], color=pic.FAINT, linewidth=0.7, zorder=0)
            look = {"color": colour, "va": "center", "ha": side, "weight": "bold" if name == goal else "normal"}
            axes.text(end + way * 0.02 * most, level, name, **look)
    axes.set(xlim=(0, 1.85 * most), ylim=(low - 2.5 * step, 1.03))
    axes.set_xticks([n for n in axes.get_xticks() if 0 <= n <= 1.1 * most])
    axes.spines.bottom.set_bounds(0, 1.1 * most)
    axes.set_xlabel("different words in a hundred texts", loc="left")
    axes.set_ylabel("share of known word triples")
    return figure


@pic.styled
def doubts(given: ArrayLike, came: ArrayLike, cases: ArrayLike, low: float) -> pic.Picture:
    """How often what a model gave a probability came: a point for each group of cases, both axes logarithmic.

    given and came are counts, so many as should have come and as came among the cases, (N,) each. Whoever is right
    about all doubts has all points on the dashed diagonal; groups that are given less than `low` are marked.
    """
    if not (np.shape(given) == np.shape(came) == np.shape(cases)) or np.min(came) <= 0:
        rule = "one of each for every group, and what came more than 0 times"
        raise ValueError(f"given {given}, came {came}, cases {cases}: {rule}")
    given, came = np.asarray(given) / cases, np.asarray(came) / cases
    figure, axes = chart(3.6)
    ends = 0.5 * min(given.min(), came.min()), 1.4
    axes.plot(ends, ends, color=pic.FAINT, linestyle="--", linewidth=1.2)
    axes.text(0.02, 0.035, "as often as given", color=pic.INK, ha="right")
    small = given < low
    for here, colour, mark in ((~small, pic.QUERY, "o"), (small, pic.KEY, "s")):
        axes.scatter(given[here], came[here], 40, color=colour, marker=mark, zorder=3)
    for x, y in zip(given[small], came[small], strict=True):
        axes.text(1.6 * x, y, f"came {y / x:.2f} times as often", color=pic.KEY, va="center")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda x, _: np.format_float_positional(x, 9, trim="-"))
        axis.set_minor_locator(NullLocator())
    axes.set(xlabel="probability given, on average", ylabel="share that came")
    return figure


STACK, GAP, SIDE = 1.08, 0.156, 0.56
"""Width of a stack of boxes, what lies between two, and the side of a mask, in inches."""

STACKS = (
    ("BERT", "I need\n[MASK] chair", ("attention", "feed-\nforward"), "the"),
    ("GPT", "<bos> I\nneed the", ("attention", "feed-\nforward"), "chair"),
    ("encoder", "I need\nthe chair", ("attention", "feed-\nforward"), ""),
    ("decoder", "<bos> Ich\nbrauche", ("attention", "cross-\nattention", "feed-\nforward"), "den"),
)
"""For each stack its name, what it reads, its boxes in order, and what it answers."""


@pic.styled
def three(bert: ArrayLike, gpt: ArrayLike, encoder: ArrayLike, decoder: ArrayLike, cross: ArrayLike) -> pic.Picture:
    """BERT, GPT and the translator side by side, from above to below; each attention has its mask inside.

    A mask has a row for each word that is read and a column for each that may be looked at: filled is what may be
    looked at, hatched is hidden. The squares of all masks are equally large.
    """
    masks, high = ((bert,), (gpt,), (encoder,), (decoder, cross)), (0.5, 0.95, 1.13)
    side = SIDE / max(n for own in masks for mask in own for n in np.shape(mask))
    top = 4.58
    figure, frame = blank(pic.PHONE, top + 0.2)
    ends = []
    for n, (name, given, boxes, answer) in enumerate(STACKS):
        left, y, own = GAP + n * (STACK + GAP), top - 1.1, iter(masks[n])
        x, weight = left + STACK / 2, "bold" if name.isupper() else "normal"
        frame.text(x, top - (0 if name.isupper() else 0.3), name, weight=weight, **CENTRE)
        frame.text(x, y + 0.47, given, **CENTRE)
        arrow(frame, (x, y + 0.25), (x, y))
        for box in boxes:
            looks = "attention" in box
            height = high[looks + ("\n" in box) * looks]
            y -= height
            part(frame, (left, y, STACK, height), box, zorder=1)
            lines = 0.2 + 0.18 * ("\n" in box)
            frame.text(x, y + height - lines / 2 - 0.07, box, linespacing=1, **CENTRE)
            if looks:
                _mask(frame, next(own), (x, y + 0.08), side)
            if box != boxes[-1]:
                arrow(frame, (x, y), (x, y - 0.2))
                y -= 0.2
        ends.append((x, y))
        if answer:
            arrow(frame, (x, y), (x, y - 0.24))
            frame.text(x, y - 0.36, answer, color=pic.OUT, **CENTRE)
    (start, level), across = ends[2], top - 1.1 - 0.95 - 0.2 - 1.13 / 2
    corner = start + STACK / 2 + GAP / 2
    frame.plot([start, start, corner, corner], [level, *[level - 0.14] * 2, across], color=pic.KEY, linewidth=1.6)
    arrow(frame, (corner - 0.01, across), (corner + GAP / 2, across), pic.KEY, size=9)
    sides = GAP + 2 * (STACK + GAP), pic.PHONE - GAP
    frame.plot(sides, [top - 0.15] * 2, color=pic.INK, linewidth=1.4)
    frame.text(sum(sides) / 2, top, "translator", weight="bold", **CENTRE)
    return figure


def _mask(frame: Axes, mask: ArrayLike, middle: pic.Pair, side: float) -> None:
    """A mask as squares with this side, its first row on top, around the middle of a space as high as SIDE."""
    mask = np.asarray(mask, dtype=bool)
    rows, columns = mask.shape
    left, top = middle[0] - side * columns / 2, middle[1] + (SIDE + side * rows) / 2
    for (row, column), seen in np.ndenumerate(mask):
        place = left + side * column, top - side * (row + 1)
        face, look = (pic.QUERY, {"edgecolor": "white"}) if seen else ("white", {"hatch": "////////"})
        tile(frame, (*place, side, side), face, **look)
