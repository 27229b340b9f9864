"""Pictures of scaled dot-product attention."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic
from tested_transformer.book.draw.flow import link
from tested_transformer.book.draw.interactive import Interactive


@pic.styled
def weights(a: ArrayLike, queries: Sequence[str], keys: Sequence[str]) -> pic.Picture:
    """Attention weights (Tq, Tk) as tiles: a row for each query, a column for each key."""
    rows, columns = np.shape(a)
    figure, ((axes,),) = pic.picture(1.4 + 0.9 * columns, 1.0 + 0.8 * rows)
    pic.tiles(axes, a, pic.WEIGHTS, (0, 1), decimals=4)
    axes.set_xticks(range(columns), keys)
    axes.set_yticks(range(rows), queries)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("takes from (keys)", color=pic.KEY)
    axes.set_ylabel("this word (queries)", color=pic.QUERY)
    return figure


@pic.styled
def path(steps: Mapping[str, ArrayLike], words: Sequence[str]) -> pic.Picture:
    """The whole computation as matrices and arrows; `steps` names them: X, Q, K, V, scores, weights, out."""
    places = {
        "X": (0, 2),
        "Q": (1, 1),
        "K": (1, 2),
        "V": (1, 3),
        "scores": (2, 1.5),
        "weights": (3, 1.5),
        "out": (4, 2.4),
    }
    colours = {"Q": pic.QUERY, "K": pic.KEY, "V": pic.VALUE, "out": pic.OUT}
    formulas = {
        "X": "$X$",
        "Q": "$Q = X\\,W^Q$",
        "K": "$K = X\\,W^K$",
        "V": "$V = X\\,W^V$",
        "scores": "$QK^T/\\sqrt{d_k}$",
        "weights": "softmax of each row",
        "out": "weights $\\cdot\\ V$",
    }
    figure, boxes = pic.Picture(figsize=(7.2, 9.0)), {}
    for name, (level, across) in places.items():
        left, bottom = 0.09 + 0.3 * (across - 1), 0.835 - 0.2 * level
        boxes[name] = axes = figure.add_axes((left, bottom, 0.26, 0.125))
        x, decimals = steps[name], 0 if name in "XQKV" else 2
        limits = min(0, np.min(x)), max(1, 1.25 * np.max(x))
        pic.tiles(axes, x, pic.WEIGHTS, limits, decimals)
        axes.set_aspect("auto")
        axes.set_title(formulas[name], color=colours.get(name, pic.INK), loc="center")
        axes.set_xticks([])
        axes.set_yticks(range(len(words)), [] if name in ("K", "V") else words)
    for start, end in (
        "XQ",
        "XK",
        "XV",
        ("Q", "scores"),
        ("K", "scores"),
        ("scores", "weights"),
        ("weights", "out"),
        ("V", "out"),
    ):
        colour = colours.get(start, pic.FAINT)
        link(boxes[start], boxes[end], colour, gap=0.008, size=14, width=1.6)
    return figure


@pic.styled
def mixture(shares: ArrayLike, words: Sequence[str]) -> pic.Picture:
    """What the outputs are made of. shares[i, j, c] is what query word i takes from word j for component c."""
    shares = np.asarray(shares)
    components = range(1, shares.shape[2] + 1)
    figure, (panels,) = pic.picture(6.4, 3.0, columns=len(words), sharey=True)
    for i, axes in enumerate(panels):
        base = np.zeros(len(components))
        for j, word in enumerate(words):
            look = {"color": pic.SERIES[j], "label": word, "width": 0.7}
            axes.bar(components, shares[i, j], bottom=base, **look)
            base += shares[i, j]
        for c, total in enumerate(base, start=1):
            axes.text(c, total + 0.03, f"{total:.2f}", ha="center", va="bottom")
        axes.set_title(f"output for “{words[i]}”")
        axes.set_xticks(components)
    panels[0].set_ylabel("value")
    figure.supxlabel("component of the output", fontsize=11)
    labels = panels[0].get_legend_handles_labels()
    above = {"loc": "outside upper center", "ncols": len(words)}
    figure.legend(*labels, title="taken from", **above)
    return figure


@pic.styled
def temperature(
    temperatures: ArrayLike, curves: ArrayLike, words: Sequence[str], marked: float
) -> pic.Picture:
    """Softmax weights, one curve for each word (curves: temperatures × words), and a mark at one temperature."""
    figure, ((axes,),) = pic.picture(6, 3.4)
    for j, word in enumerate(words):
        colour, line = pic.SERIES[j], ("-", "--", ":")[j % 3]
        axes.plot(temperatures, np.asarray(curves)[:, j], color=colour, linestyle=line)
        near = np.argmin(np.abs(np.log(np.asarray(temperatures) / marked)))
        point = temperatures[near], curves[near][j]
        place = {"xytext": (10, 6 if j == 0 else -14), "textcoords": "offset points"}
        axes.annotate(word, point, color=colour, **place)
    axes.axvline(marked, color=pic.FAINT, linewidth=1)
    axes.annotate(r"$\sqrt{d_k}$", (marked, 1.02), ha="center", va="bottom")
    axes.axhline(1 / len(words), color=pic.FAINT, linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_ylim(-0.09, 1.02)
    axes.set_xlabel("temperature: the scores are divided by it")
    axes.set_ylabel("weight")
    return figure


@pic.styled
def widths(
    d_k: ArrayLike, spread: ArrayLike, raw: ArrayLike, scaled: ArrayLike
) -> pic.Picture:
    """Against the key width: the spread of the scores, and the size of the softmax gradient, raw and scaled."""
    figure, ((left, right),) = pic.picture(6.8, 3.4, columns=2)
    left.plot(d_k, np.sqrt(d_k), color=pic.FAINT, linewidth=5, label=r"$\sqrt{d_k}$")
    left.plot(d_k, spread, "o", color=pic.QUERY, label="measured")
    left.set_yscale("log", base=2)
    left.set_yticks(np.sqrt(d_k), [f"{root:g}" for root in np.sqrt(d_k)])
    left.minorticks_off()
    left.set_title("standard deviation of $q\\cdot k$")
    right.plot(d_k, scaled, "o-", color=pic.VALUE, label=r"divided by $\sqrt{d_k}$")
    right.plot(d_k, raw, "s--", color=pic.KEY, label="as they are")
    right.set_ylim(0, None)
    right.set_title("size of the softmax gradient")
    for axes in (left, right):
        axes.set_xscale("log", base=4)
        axes.set_xticks(d_k, [str(width) for width in d_k])
        axes.set_xlabel("width of a key, $d_k$")
        axes.legend()
    return figure


def by_hand(
    steps: Mapping[str, ArrayLike],
    matrices: Sequence[ArrayLike],
    positions: ArrayLike,
    words: Sequence[str],
) -> Interactive:
    """The whole computation to change: `steps` as in `path`, and W_Q, W_K, W_V.

    `positions` are the rows that the reader may add to X.
    """
    w_q, w_k, w_v = matrices
    components = [str(c + 1) for c in range(np.shape(steps["out"])[1])]
    tables = {
        "Attention weights": (words, words, steps["weights"]),
        "Output": (words, components, steps["out"]),
    }
    data = {"words": words, "x": steps["X"], "w_q": w_q, "w_k": w_k, "w_v": w_v}
    plain = weights(steps["weights"], words, words)
    return Interactive("attention", data | {"positions": positions}, tables, plain)
