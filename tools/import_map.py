"""Draw which room of the package imports which, floor by floor, into tools/import_map.svg.

    python tools/import_map.py

A room is a folder or a module right under src/tested_transformer. It imports rooms of lower floors only: a test says
so, and that the picture is the one that this draws.
"""

import ast
import pathlib
from html import escape

PACKAGE = pathlib.Path(__file__).parents[1] / "src" / "tested_transformer"
PICTURE = pathlib.Path(__file__).with_name("import_map.svg")

# From the ground up: each floor with its rooms, and where they stand from left to right. Only chapters, tools and tests
# import `book`. `__init__` is what the package itself has, for people outside it.
FLOORS = [
    {"checks": 0, "params": 0.9, "shares": 1.8, "files": 2.7, "device": 3.6},
    {"config": 1.3},
    {"byhand": 0, "model": 1.3},
    {"exchange": 0.8, "text": 2.6},
    {"data": 2.6, "phrasebook": 3.6},
    {"training": 2.1},
    {"decoding": 2.1},
    {"__init__": 1.3, "command": 2.6},
    {"__main__": 2.6},
    {"book": 0},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

WIDE, HIGH, ACROSS, UP, EDGE = 118, 30, 148, 58, 24
STYLE = (
    "text{font:15px ui-monospace,monospace;fill:#1d2530;text-anchor:middle}"
    ".note{font:13px system-ui,sans-serif;text-anchor:start;fill:#55606c}"
    "rect{fill:#eef4f8;stroke:#0b5f94}.sheet{fill:#fff;stroke:none}"
    "path{stroke:#55606c;stroke-width:1.4;fill:none;marker-end:url(#tip)}"
)


def imports(source):
    """The full names of all modules that a piece of code imports; of a package's, with what is taken from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name):
    """The room of a full name, or nothing if it is none of ours. What is no room has been taken from the package."""
    package, _, inside = name.partition(".")
    if package != "tested_transformer":
        return ""
    first = inside.partition(".")[0]
    return first if first in FLOOR else "__init__"


def arrows(folder=PACKAGE):
    """For each room the other rooms that its modules import."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        names = imports(path.read_text(encoding="utf-8"))
        found.setdefault(own, set()).update({room(name) for name in names} - {"", own})
    return found


def reach(start, found):
    """All rooms that one needs, by others too."""
    seen, waiting = set(), list(found[start])
    while waiting:
        seen.add(one := waiting.pop())
        waiting += found[one] - seen
    return seen


def shown(found):
    """The arrows that say something new: not those to the ground floor, nor those that follow from others."""
    for start, ends in sorted(found.items()):
        for end in sorted(ends):
            if FLOOR[end] and not any(end in reach(other, found) for other in ends - {end}):
                yield start, end


def picture(found):
    """The rooms as an SVG."""
    top = len(FLOORS) - 1

    def middle(name):
        return EDGE + WIDE / 2 + ACROSS * FLOORS[FLOOR[name]][name], EDGE + UP * (top - FLOOR[name]) + HIGH / 2

    width, height = 2 * EDGE + WIDE + ACROSS * 3.6, 2 * EDGE + UP * top + HIGH + 26
    drawn = [f'<rect class="sheet" width="{width:g}" height="{height:g}"/>']
    for start, end in shown(found):
        (x, y), (to_x, to_y) = middle(start), middle(end)
        drawn.append(f'<path d="M{x:g} {y + HIGH / 2:g}L{to_x:g} {to_y - HIGH / 2 - 2:g}"/>')
    for name in FLOOR:
        x, y = middle(name)
        label = f"{name}/" if (PACKAGE / name).is_dir() else f"{name}.py"
        box = f'x="{x - WIDE / 2:g}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="6"'
        drawn.append(f'<rect {box}/><text x="{x:g}" y="{y + 5:g}">{escape(label)}</text>')
    note = "An arrow means: imports. Arrows to the ground floor, and those that follow from others, are left out."
    drawn.append(f'<text class="note" x="{EDGE}" y="{height - 14:g}">{note}</text>')
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    tip += '<path d="M0 0L8 4L0 8z" style="fill:#55606c;stroke:none;marker-end:none"/></marker>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    return "\n".join([f"{head}><style>{STYLE}</style><defs>{tip}</defs>", *drawn, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(arrows()), encoding="utf-8", newline="\n")
