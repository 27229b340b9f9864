"""The picture of the whole Transformer on the first page: its boxes lead to the chapters that exist."""

from html import escape

WIDTH, HEIGHT = 480, 636
LEFT, RIGHT, BOX = 36, 262, 182  # the two columns, and the width of a box

# label, column, top, height, colour class, the chapters that may explain it (the first that exists)
BOXES = [
    ("Input embedding", LEFT, 540, 38, "embed", ("embedding",)),
    ("Output embedding", RIGHT, 540, 38, "embed", ("embedding",)),
    ("Multi-head attention", LEFT, 408, 38, "attend", ("heads", "attention")),
    ("Add & norm", LEFT, 372, 28, "norm", ("addnorm",)),
    ("Feed forward", LEFT, 310, 38, "feed", ("feedforward",)),
    ("Add & norm", LEFT, 274, 28, "norm", ("addnorm",)),
    ("Masked attention", RIGHT, 408, 38, "attend", ("masks", "attention")),
    ("Add & norm", RIGHT, 372, 28, "norm", ("addnorm",)),
    (
        "Multi-head attention",
        RIGHT,
        310,
        38,
        "attend",
        ("decoder", "heads", "attention"),
    ),
    ("Add & norm", RIGHT, 274, 28, "norm", ("addnorm",)),
    ("Feed forward", RIGHT, 212, 38, "feed", ("feedforward",)),
    ("Add & norm", RIGHT, 176, 28, "norm", ("addnorm",)),
    ("Linear", RIGHT, 92, 30, "feed", ("transformer",)),
    ("Softmax", RIGHT, 48, 30, "feed", ("attention",)),
]
PLUS = 498  # where positions are added
ENCODER, DECODER = (262, 464), (164, 464)  # top and bottom of the two frames


def svg(chapters, link):
    """The picture as SVG. `chapters` are the names that exist, `link(name)` is the address of one."""
    out = [f'<svg class="architecture" viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg" '
           'role="group" aria-label="The Transformer, from the input at the bottom to the probabilities at the top">',
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0 8 4 0 8z"/></marker></defs>']  # fmt: skip
    for left, (top, bottom), name in (
        (LEFT, ENCODER, "encoder"),
        (RIGHT, DECODER, "decoder"),
    ):
        out.append(
            f'<rect class="frame" x="{left - 16}" y="{top}" width="{BOX + 32}" height="{bottom - top}" rx="12"/>'
        )
        words = f'<text class="side" x="{left - 14}" y="{top - 7}" text-anchor="start">{name.title()} N×</text>'
        out.append(_linked(words, f"{name.title()}, N layers", name, chapters, link))
    out += [_line(path) for path in _paths()]
    for column, side, anchor in ((LEFT, 22, "start"), (RIGHT, WIDTH - 22, "end")):
        middle = column + BOX / 2
        out.append(f'<circle class="plus" cx="{middle}" cy="{PLUS}" r="11"/>')
        out.append(
            f'<path class="plus" d="M{middle - 6} {PLUS}h12M{middle} {PLUS - 6}v12"/>'
        )
        second = f'<tspan x="{side}" dy="14">encoding</tspan>'
        words = f'<text class="side" x="{side}" y="{PLUS - 2}" text-anchor="{anchor}">Positional {second}</text>'
        out.append(_linked(words, "Positional encoding", "positions", chapters, link))
    for label, x, y, height, colour, names in BOXES:
        name = next((n for n in names if n in chapters), None)
        box = (f'<rect class="{colour}" x="{x}" y="{y}" width="{BOX}" height="{height}" rx="7"/>'
               f'<text x="{x + BOX / 2}" y="{y + height / 2 + 5}">{escape(label)}</text>')  # fmt: skip
        out.append(_linked(box, label, name, chapters, link))
    for x, y, words in (
        (LEFT, 622, "source sentence"),
        (RIGHT, 622, "target so far"),
        (RIGHT, 14, "probabilities of the next token"),
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
    """The arrows, drawn before the boxes: up each column, around each box into its norm, and across."""
    e, d = LEFT + BOX / 2, RIGHT + BOX / 2
    for x in (e, d):
        yield f"M{x} 606V582"
        yield f"M{x} 540V{PLUS + 13}"
        yield f"M{x} {PLUS - 11}V450"
        yield f"M{x} 372V352"
        yield f"M{x} 456H{x - BOX / 2 - 9}V386H{x - BOX / 2 - 1}"
        yield f"M{x} 362H{x - BOX / 2 - 9}V288H{x - BOX / 2 - 1}"
    yield f"M{d} 274V254"
    yield f"M{d} 264H{d - BOX / 2 - 9}V190H{d - BOX / 2 - 1}"
    yield f"M{d} 176V126"
    yield f"M{d} 92V82"
    yield f"M{d} 48V22"
    yield f"M{e} 274V236H{(LEFT + BOX + RIGHT) / 2}V329H{RIGHT - 1}"
