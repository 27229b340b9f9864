"""Pictures of what a decoder keeps: what changes from step to step, who sees which slot, what a step costs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, outline, tile
from tested_transformer.book.figures.kit import bare, chart, named


@pic.styled
def changes(tokens: Sequence[str], panels: pic.Arrays) -> pic.Picture:
    """A row for each step, a tile for each token so far: dark where it is new, else whether it changed in this step.

    Each panel, by its title, has booleans (T, T): row for the step, column for the token.
    """
    figure, (grid,) = pic.picture(pic.PHONE, 3.1, 1, len(panels), sharey=True)
    names, n = [token.strip() for token in tokens], len(tokens)
    for axes, (title, changed) in zip(grid, panels.items(), strict=True):
        changed = np.asarray(changed)
        if changed.shape != (n, n):
            raise ValueError(f"{n} tokens need as many steps and tokens, not {changed.shape}")
        for i, j in np.argwhere(np.tri(n, dtype=bool)):
            face, sign = (pic.WEIGHTS(0.35), "≠") if changed[i, j] else ("white", "=")
            face, sign = (pic.WEIGHTS(0.95), "") if i == j else (face, sign)
            tile(axes, (j - 0.45, i - 0.45, 0.9, 0.9), face, sign)
        axes.set(xlim=(-0.6, n - 0.4), ylim=(n - 0.4, -0.6), aspect="equal")
        named(axes, names, names, rotation=90)
        bare(axes)
        axes.set_xlabel(title)
    return figure


@pic.styled
def kept(
    words: Sequence[str], query: ArrayLike, keys: ArrayLike, values: ArrayLike, weights: ArrayLike, out: ArrayLike
) -> pic.Picture:
    """A step with a cache: pale what is kept of the words before, full what the last word brings.

    Its query, (D,), meets all keys, (T, D); their weights, (T,), mix all values into out.
    """
    keys, values, weights = map(np.asarray, (keys, values, weights))
    n, d = keys.shape
    wide, high, left, gap = 0.4, 0.32, 1.12, 0.42
    frame_width = left + (2 * d + 1.5) * wide + 2 * gap + 0.1
    foot = 0.5  # free: where the picture can be enlarged, the sign for it lies in this corner
    figure, axes = blank(frame_width, foot + (n + 2) * high + 1.85)
    bottom = foot + 0.52 + high
    ground = bottom + n * high

    def row(numbers: ArrayLike, x: float, y: float, colour: str, full: bool) -> None:
        face = to_rgba(colour, 0.45 if full else 0.1)
        width = wide * (1.5 if np.size(numbers) == 1 else 1)
        for i, number in enumerate(np.ravel(numbers)):
            said = f"{number:g}" if number == round(number) else f"{number:.2f}"
            tile(axes, (x + i * width, y, width, high), face, said)

    middle, last = left + d * wide + gap, left + (d + 1.5) * wide + 2 * gap
    sides = {"keys": (left, d), "weights": (middle, 1.5), "values": (last, d)}
    for i in range(n):
        y, new = ground - (i + 1) * high, i == n - 1
        row(keys[i], left, y, pic.KEY, new)
        row(weights[i], middle, y, pic.QUERY, True)
        row(values[i], last, y, pic.VALUE, new)
        said = f"{words[i]}, {'new' if new else 'kept'}"
        axes.text(left - 0.12, y + high / 2, said, ha="right", va="center", weight="bold" if new else "normal")
    for name, (x, columns) in sides.items():
        outline(axes, (x, bottom, columns * wide, n * high), pic.INK, 1.6, zorder=3)
        axes.text(x + columns * wide / 2, ground + 0.08, name, ha="center", va="bottom")
    top = ground + 0.72
    row(query, left, top, pic.QUERY, True)
    axes.text(left + d * wide / 2, top + high + 0.08, f"query of {words[-1]}", ha="center", va="bottom")
    arrow(axes, (left + d * wide / 2, top), (left + d * wide / 2, ground + 0.32))
    for start, end in ((left + d * wide, middle), (middle + 1.5 * wide, last)):
        across = (ground + bottom) / 2
        arrow(axes, (start + 0.06, across), (end - 0.06, across))
    row(out, last, foot, pic.OUT, full=True)
    axes.text(last - 0.12, foot + high / 2, f"output of {words[-1]}", ha="right", va="center")
    arrow(axes, (last + d * wide / 2, bottom), (last + d * wide / 2, foot + high))
    return figure


@pic.styled
def ancestors(
    sees: ArrayLike, rows: Sequence[str], columns: Sequence[str], width: int, keys: ArrayLike, values: ArrayLike
) -> pic.Picture:
    """What stands in each slot, and which slots each hypothesis sees: filled where it may look; a line after a step.

    A slot has its word, and a key and a value of (N, D), unless it is empty: no word, or "–". A word that no
    hypothesis sees is hatched, and said to be dropped.
    """
    sees, dropped = np.asarray(sees), "seen by none: dropped"
    held, n = {"key": (keys, pic.KEY), "value": (values, pic.VALUE)}, sees.shape[1]
    for name, (x, _) in held.items():
        if len(columns) != n or np.ndim(x) != 2 or len(x) != n:
            raise ValueError(
                f"{len(columns)} words, {name}s {np.shape(x)} must be for {n} slots, as what is seen of them"
            )
    figure, axes = chart(1.95 + 0.5 * len(rows), 5.8)
    figure.set_layout_engine("none")  # so that pictures before and after line up
    axes.set_position((0.17, 0.15, 0.82, 0.75))
    low, high = 0.6, -0.42  # slots lie above the hypotheses, whose first stands at 0
    levels = {name: high - 0.25 - low * (len(held) - i) for i, name in enumerate(held)}
    for name, (numbers, colour) in held.items():
        for j, row in enumerate(np.asarray(numbers)):
            there, place = (columns[j] not in ("", "–"), (j - 0.45, levels[name], 0.9, low))
            tile(axes, place, to_rgba(colour, 0.25) if there else "white", " ".join(f"{x:g}" for x in row) * there)
    lost = {j for j, word in enumerate(columns) if word not in ("", "–")}
    lost -= set(np.flatnonzero(sees.any(axis=0)))
    looks = {"sees": (pic.WEIGHTS(0.6), None), "does not see": ("white", None), dropped: ("white", "////")}
    for (i, j), may in np.ndenumerate(sees):
        face, hatch = looks["sees" if may else dropped if j in lost else "does not see"]
        tile(axes, (j - 0.45, i - 0.42, 0.9, 0.84), face, hatch=hatch)
    for step in range(1, sees.shape[1] // width):
        axes.axvline(step * width - 0.5, color=pic.INK, linewidth=1)
    said = [
        Patch(label=name, facecolor=face, edgecolor=pic.FAINT, hatch=hatch)
        for name, (face, hatch) in looks.items()
        if lost or name != dropped
    ]
    where = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.14), "bbox_transform": figure.transFigure}
    axes.legend(handles=said, ncols=3, frameon=False, **where)
    top = min(levels.values()) - 0.08
    axes.set(xlim=(-0.5, n - 0.5), ylim=(len(rows) - 0.5, top), xticks=range(n), xticklabels=columns)
    axes.xaxis.tick_top()
    middles = [level + low / 2 for level in levels.values()]
    axes.set_yticks([*middles, *range(len(rows))], [*levels, *rows])
    bare(axes)
    return figure


@pic.styled
def work(steps: ArrayLike, curves: pic.Arrays, what: str, marked: Mapping[str, int]) -> pic.Picture:
    """What was calculated until each step, a dearer way and a cheaper one, by their names; `what` is counted.

    marked has names of steps: there a line joins the two, with how many times the one is the other.
    """
    figure, axes = chart(3.2)
    steps, counts = np.asarray(steps), [np.asarray(c) for c in curves.values()]
    dear, cheap = counts
    axes.fill_between(steps, cheap, dear, color=pic.KEY, alpha=0.12, linewidth=0)
    middle, top = int(0.7 * len(steps)), float(dear.max())
    sides = ((-1.5, 0.02 * top, "right"), (0, 0.05 * top, "center"))
    looks = zip(curves, counts, (pic.KEY, pic.QUERY), ("--", "-"), sides, strict=True)
    for name, curve, colour, line, (across, up, side) in looks:
        axes.plot(steps, curve, color=colour, linestyle=line)
        axes.text(steps[middle] + across, curve[middle] + up, name, color=colour, ha=side, va="bottom")
    for name, step in marked.items():
        (at,) = np.flatnonzero(steps == step)
        axes.vlines(step, cheap[at], dear[at], color=pic.INK, linewidth=1.5)
        said = f"{name}:\n{dear[at] / cheap[at]:.1f} times"
        axes.text(step, dear[at] + 0.04 * top, said, ha="right", va="bottom", linespacing=1.3)
    axes.set(xlabel="tokens written", ylabel=what, xlim=(0, None), ylim=(0, 1.2 * top))
    return figure


@pic.styled
def bill(parts: Mapping[str, Sequence[float]], ways: Sequence[str], what: str) -> pic.Picture:
    """What each way is spent on: a bar for each, a piece for each part, and the sum at its end; `what` is counted."""
    if len(parts) > len(pic.SERIES):
        raise ValueError(f"{len(parts)} parts, colours for {len(pic.SERIES)}")
    figure, axes = chart(1.5 + 0.45 * len(ways))
    rows, ends = np.arange(len(ways)), np.zeros(len(ways))
    for i, (part, counts) in enumerate(parts.items()):
        axes.barh(rows, counts, 0.62, left=ends, color=pic.colour_of(part, i), edgecolor="white", label=part)
        ends = ends + np.asarray(counts)
    for row, end in zip(rows, ends, strict=True):
        axes.text(end + 0.015 * ends.max(), row, f"{end:.1f}", va="center")
    axes.set_yticks(rows, ways)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.12 * ends.max()), xlabel=what)
    # On top: where the picture can be enlarged, the sign for it lies in the corner below.
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure
