"""How far two pictures are apart, for all who compare what a cell draws with what is stored."""

import re
import xml.etree.ElementTree as ET
from itertools import zip_longest

MIME = "image/svg+xml"
LIMIT = 0.05
"""Pixels: no eye sees it. A number that is drawn moves further as soon as its curve does."""

SHADES = 3
"""How far a colour may move, of 255: to the next shade of a scale."""

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
COLOUR = re.compile(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
TILE = re.compile(r"M(\S+) (\S+?)h(\S+?)v(\S+?)h-\S+?z")


def pictures(outputs):
    """The SVG pictures among a cell's outputs, in order."""
    return ["".join(output["data"][MIME]) for output in outputs if MIME in output.get("data", {})]


def elements(svg):
    """The elements of a drawing: the tag and, by name, the attributes and the text.

    Tiles that have one colour share an element. Here each stands for itself, with its colour, wherever it comes: the
    last bit of a number may give it the next of 256 shades.
    """
    tiles = []
    for element in ET.fromstring(svg).iter():
        tag, has = element.tag.rpartition("}")[2], dict(element.attrib)
        if "shape-rendering" in has:
            places = TILE.findall(has.pop("d"))
            tiles += [("tile", has | dict(zip("yxhw", (y, x, h, w), strict=True))) for x, y, w, h in places]
            continue
        yield from sorted(tiles, key=lambda tile: (float(tile[1]["y"]), float(tile[1]["x"])))
        tiles = []
        yield tag, has | {"words": (element.text or "").strip()}
    yield from sorted(tiles, key=lambda tile: (float(tile[1]["y"]), float(tile[1]["x"])))


def apart(one, other):
    """How far two values are apart, in pixels; without end where they are not the same but for their numbers."""
    if one == other:
        return 0.0
    colours = [[int(part, 16) for c in COLOUR.findall(value) for part in c] for value in (one, other)]
    one, other = (COLOUR.sub("#", value) for value in (one, other))
    numbers = [[float(number) for number in NUMBER.findall(value)] for value in (one, other)]
    if NUMBER.sub("0", one) != NUMBER.sub("0", other):
        return float("inf")
    shades = max((abs(a - b) for a, b in zip(*colours, strict=True)), default=0)
    moved = max((abs(a - b) for a, b in zip(*numbers, strict=True)), default=0.0)
    return max(moved, LIMIT * (shades / SHADES))


def distance(one, other):
    """How far two drawings are apart where they differ most, and what differs there."""
    far, where = 0.0, ""
    for a, b in zip_longest(elements(one), elements(other)):
        if a is None or b is None or a[0] != b[0] or a[1].keys() != b[1].keys():
            return float("inf"), f"{_said(b)} in the notebook, {_said(a)} now"
        for name, value in a[1].items():
            # words are compared as they are
            new = (0.0 if value == b[1][name] else float("inf")) if name == "words" else apart(value, b[1][name])
            if new > far:
                far, where = new, f"the {name} of {_said(b)}: {b[1][name][:60]!r} in the notebook, {value[:60]!r} now"
    return far, where


def _said(element):
    return "nothing" if element is None else f"<{element[0]}> {element[1].get('words', '')}".strip()


def picture_difference(new, stored):
    """What differs between two lists of pictures, in words; an empty string where nothing does."""
    if len(new) != len(stored):
        return f"{len(stored)} stored pictures, {len(new)} new ones"
    for i, (a, b) in enumerate(zip(new, stored, strict=True), start=1):
        far, where = distance(a, b)
        if far > LIMIT:
            return f"picture {i} differs by {far:.2f} pixels, {LIMIT} is the limit: {where}"
    return ""
