"""The picture of the whole Transformer on the first page: its boxes lead to the chapters that exist."""

from html import escape

LATER = 84  # the decoder stands so much lower: it asks an encoder that has finished
WIDTH, HEIGHT = 480, 636 + LATER
LEFT, RIGHT, BOX = 36, 262, 182  # the two columns, and the width of a box

# label, column, top, height, part of the machine (its colour), the chapters that may explain it (the first that exists)
BOXES = [
    ("Input embedding", LEFT, 58, 38, "embedding", ("embedding",)),
    ("Multi-head attention", LEFT, 190, 38, "attention", ("heads", "attention")),
    ("Add & norm", LEFT, 236, 28, "norm", ("addnorm",)),
    ("Feed forward", LEFT, 288, 38, "feed-forward", ("feedforward",)),
    ("Add & norm", LEFT, 334, 28, "norm", ("addnorm",)),
    ("Output embedding", RIGHT, 58 + LATER, 38, "embedding", ("embedding",)),
    ("Masked attention", RIGHT, 190 + LATER, 38, "attention", ("masks", "attention")),
    ("Add & norm", RIGHT, 236 + LATER, 28, "norm", ("addnorm",)),
    (
        "Multi-head attention",
        RIGHT,
        288 + LATER,
        38,
        "attention",
        ("decoder", "heads", "attention"),
    ),
    ("Add & norm", RIGHT, 334 + LATER, 28, "norm", ("addnorm",)),
    ("Feed forward", RIGHT, 386 + LATER, 38, "feed-forward", ("feedforward",)),
    ("Add & norm", RIGHT, 432 + LATER, 28, "norm", ("addnorm",)),
    ("Linear", RIGHT, 514 + LATER, 30, "embedding", ("transformer",)),
    ("Softmax", RIGHT, 558 + LATER, 30, "embedding", ("attention",)),
]
PLUS = 138  # where positions are added, in the left column
ENCODER, DECODER = (
    (172, 374),
    (172 + LATER, 472 + LATER),
)  # top and bottom of the two frames


def svg(chapters, link):
    """The picture as SVG. `chapters` are the names that exist, `link(name)` is the address of one."""
    out = [f'<svg class="architecture" viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg" '
           'role="group" aria-label="The Transformer, from the input at the top to the probabilities at the bottom">',
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0 8 4 0 8z"/></marker></defs>']  # fmt: skip
    for (top, bottom), left, x, anchor, name in (
        (ENCODER, LEFT, LEFT + BOX + 14, "end", "encoder"),
        (DECODER, RIGHT, RIGHT - 14, "start", "decoder"),
    ):
        out.append(
            f'<rect class="frame" x="{left - 16}" y="{top}" width="{BOX + 32}" height="{bottom - top}" rx="12"/>'
        )
        words = f'<text class="side" x="{x}" y="{top - 7}" text-anchor="{anchor}">{name.title()} N×</text>'
        out.append(_linked(words, f"{name.title()}, N layers", name, chapters, link))
    out += [_line(path) for path in _paths()]
    for column, y, side in (
        (LEFT, PLUS, LEFT - 14),
        (RIGHT, PLUS + LATER, RIGHT + BOX / 2 + 22),
    ):
        middle = column + BOX / 2
        out.append(f'<circle class="plus" cx="{middle}" cy="{y}" r="11"/>')
        out.append(f'<path class="plus" d="M{middle - 6} {y}h12M{middle} {y - 6}v12"/>')
        second = f'<tspan x="{side}" dy="14">encoding</tspan>'
        words = f'<text class="side" x="{side}" y="{y - 2}" text-anchor="start">Positional {second}</text>'
        out.append(_linked(words, "Positional encoding", "positions", chapters, link))
    for label, x, y, height, colour, names in BOXES:
        name = next((n for n in names if n in chapters), None)
        box = (f'<rect class="{colour}" x="{x}" y="{y}" width="{BOX}" height="{height}" rx="7"/>'
               f'<text x="{x + BOX / 2}" y="{y + height / 2 + 5}">{escape(label)}</text>')  # fmt: skip
        out.append(_linked(box, label, name, chapters, link))
    for x, y, words in (
        (LEFT, 18, "source sentence"),
        (RIGHT, 18 + LATER, "target so far"),
        (RIGHT, HEIGHT - 8, "probabilities of the next token"),
    ):
        out.append(f'<text class="outside" x="{x + BOX / 2}" y="{y}">{words}</text>')
    return "\n".join([*out, "</svg>"])


def _linked(drawing, label, name, chapters, link):
    if name not in chapters:
        return f'<g class="planned">{drawing}</g>'
    return f'<a href="{escape(link(name))}" aria-label="{escape(label)}: chapter {name}">{drawing}</a>'


def _line(path):
    return f'<path class="flow" d="{path}"/>'


def _paths():
    """The arrows, drawn before the boxes: down each column, around each box into its norm, and across."""
    e, d = LEFT + BOX / 2, RIGHT + BOX / 2
    for x, y in ((e, 0), (d, LATER)):
        yield f"M{x} {y + 28}V{y + 55}"
        yield f"M{x} {y + 96}V{y + PLUS - 13}"
        yield f"M{x} {y + PLUS + 11}V{y + 187}"
        yield f"M{x} {y + 264}V{y + 285}"
        yield f"M{x} {y + 180}H{x - BOX / 2 - 9}V{y + 250}H{x - BOX / 2 - 1}"
        yield f"M{x} {y + 274}H{x - BOX / 2 - 9}V{y + 348}H{x - BOX / 2 - 1}"
    yield f"M{d} {362 + LATER}V{383 + LATER}"
    yield f"M{d} {372 + LATER}H{d - BOX / 2 - 9}V{446 + LATER}H{d - BOX / 2 - 1}"
    yield f"M{d} {460 + LATER}V{511 + LATER}"
    yield f"M{d} {544 + LATER}V{555 + LATER}"
    yield f"M{d} {588 + LATER}V{HEIGHT - 24}"
    yield f"M{e} 362V{307 + LATER}H{RIGHT - 1}"  # below the encoder's last box, into the decoder
