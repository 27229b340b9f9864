"""How a picture is written as SVG: text as text, in the face of the book, and tiles as rectangles.

Matplotlib's own writer would set half of that in pixels or outlines, with names that differ from run to run.
"""

import contextlib
import functools
import importlib.metadata
import itertools
import math
import re
import sys
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
from matplotlib import font_manager
from matplotlib.backend_bases import FigureCanvasBase, GraphicsContextBase, RendererBase
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform, Transform
from numpy.typing import ArrayLike

FACE = "Source Sans Pro"
FAMILY = f"'{FACE}', 'Source Sans 3', 'Helvetica Neue', Arial, sans-serif"
DPI = 96
"""Pixels of a page in an inch, which are the units of a drawing."""

CUT = 0.5
"""By so many pixels a part may reach out of its frame and is not cut off: the last bit of a number decides nothing."""

MINUS = re.compile(r"(?<![\w-])-(?=\d)")
"""What stands for a minus where a program has written a number."""

MANY = 1000
"""A curve of more points is thinned out, and so many dots are one element for each look."""

CIRCULAR = re.compile(r'<circle cx="(.*)" cy="(.*)" r="(.*)"')

LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
CIRCLE = Path.unit_circle()
CAPS = {"butt": "", "projecting": ' stroke-linecap="square"', "round": ' stroke-linecap="round"'}
JOINS = {"miter": "", "round": ' stroke-linejoin="round"', "bevel": ' stroke-linejoin="bevel"'}


@functools.cache
def register() -> None:
    """Tell Matplotlib of the book's face, of its three styles only; its bold is the semibold of the pages."""
    files = importlib.metadata.distribution("font-source-sans-pro").locate_file("font_source_sans_pro/files")
    for style, weight, slant in (("Regular", 400, "normal"), ("It", 400, "italic"), ("Semibold", 700, "normal")):
        entry = font_manager.FontEntry(
            fname=str(files / f"SourceSansPro-{style}.ttf"), name=FACE, weight=weight, style=slant, variant="normal",
            stretch="normal", size="scalable",
        )  # fmt: skip
        font_manager.fontManager.ttflist.append(entry)


def short(number: float) -> str:
    """A number of pixels with two decimals at most."""
    return f"{number:z.2f}".rstrip("0").rstrip(".")


def points(numbers: ArrayLike) -> str:
    """Places, one after the other."""
    return " ".join(map(short, np.ravel(numbers)))


class Canvas(FigureCanvasBase):
    """What a picture is laid out on: the lengths of words are those of its face, without a grid of pixels."""

    def get_renderer(self) -> "Drawing":
        """Something to measure with."""
        return Drawing(*self.figure.get_size_inches())


class Drawing(RendererBase):
    """Takes what Matplotlib draws, and keeps it as elements of SVG, in pixels of 1/96 inch, down from the top."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__()
        self.width, self.height = width * DPI, height * DPI
        self.elements: list[str] = []
        self.patterns: dict[str, str] = {}
        self._frame: tuple[float, ...] | None = None
        self._first, self._crowded = sys.maxsize, False
        self._down = Affine2D().scale(1, -1).translate(0, self.height)

    def written(self) -> str:
        """The drawing as one element."""
        self._within(None)
        size = f'width="{short(self.width)}" height="{short(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {points([self.width, self.height])}"'
        patterns = f"<defs>\n{''.join(self.patterns.values())}</defs>\n" if self.patterns else ""
        return f'{head} font-family="{FAMILY}">\n{patterns}{"".join(self.elements)}</svg>'

    def get_canvas_width_height(self) -> tuple[float, float]:
        """The size in pixels."""
        return self.width, self.height

    def points_to_pixels(self, points: float) -> float:
        """Of points, which are 1/72 inch, the pixels."""
        return points * DPI / 72

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: bool) -> tuple[float, float, float]:
        """How large words are, in pixels, and how far they reach below their line."""
        width, height, descent = self._text2path.get_text_width_height_descent(MINUS.sub("−", s), prop, ismath)
        scale = DPI / 72
        return width * scale, height * scale, descent * scale

    def option_scale_image(self) -> bool:
        """Tiles come as they are, one number a tile."""
        return True

    def option_image_nocomposite(self) -> bool:
        """No picture is laid over another before it is drawn."""
        return True

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: object | None = None
    ) -> None:
        """Any line or shape."""
        whole = transform + self._down
        shape = _shape(path, whole)
        if shape is None:
            return
        element, extents = shape
        if self._crowded and (circle := CIRCULAR.fullmatch(element)):
            x, y, r = map(float, circle.groups())
            arc = f"a{short(r)} {short(r)} 0 0 0"
            element = f'<path d="M{points([x - r, y])}{arc} {short(2 * r)} 0{arc} -{short(2 * r)} 0z"'
        stroke = self._stroke(gc)
        alpha = gc.get_alpha() if gc.get_forced_alpha() else None
        # a line of two points has no inside
        fill = self._fill(rgbFace if len(path.vertices) > 2 else None, alpha)
        self._within(gc, extents)
        if fill != ' fill="none"' or stroke:
            self._add(element + fill + ("" if gc.get_hatch() else stroke))
        if gc.get_hatch():
            self._add(element + f' fill="url(#{self._hatch(gc)})"' + stroke)

    def draw_path_collection(self, *args: Any, **kwargs: Any) -> None:
        """Many shapes."""
        with self._many(len(args[4])):
            super().draw_path_collection(*args, **kwargs)

    def draw_markers(self, *args: Any, **kwargs: Any) -> None:
        """The same mark in many places."""
        number = len(args[3].vertices)
        with self._many(number) if number > MANY else contextlib.nullcontext():
            super().draw_markers(*args, **kwargs)

    @contextlib.contextmanager
    def _many(self, number: int) -> Iterator[None]:
        """While so many shapes of a kind are drawn, those that look the same are joined."""
        self._first, self._crowded = len(self.elements), number > MANY
        yield
        self._first, self._crowded = sys.maxsize, False

    def draw_image(
        self, gc: GraphicsContextBase, x: float, y: float, im: np.ndarray, transform: Transform | None = None
    ) -> None:
        """A matrix, as rectangles: those of one colour are one element."""
        if transform is None:
            raise ValueError("a picture has tiles only: imshow(…, interpolation='none')")
        rows, columns = im.shape[:2]
        scaled = Affine2D().scale(1 / columns, 1 / rows) + transform + Affine2D().translate(x, y) + self._down
        frame = scaled.transform_bbox(Bbox([[0, 0], [columns, rows]]))
        self._within(gc, (frame.xmin, frame.ymin, frame.xmax, frame.ymax))
        places: dict[str, list[str]] = {}
        for (i, j), _ in np.ndenumerate(im[..., 0]):
            (left, top), (right, bottom) = np.sort(scaled.transform([[j, i], [j + 1, i + 1]]), axis=0)
            *colour, alpha = im[i, j] / 255
            if alpha:
                look = f'fill="{to_hex(colour)}"{_opacity(alpha, "fill-")}'
                wide, high = short(right - left), short(bottom - top)
                places.setdefault(look, []).append(f"M{points([left, top])}h{wide}v{high}h-{wide}z")
        for look, tiles in places.items():
            self._add(f'<path d="{"".join(tiles)}" {look} shape-rendering="crispEdges"')

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: bool = False,
        mtext: Text | None = None,
    ) -> None:
        """Words on one line, or a formula; words whose gid is "halo" get a rim in the colour of the ground."""
        s, size = MINUS.sub("−", s), prop.get_size_in_points() * DPI / 72
        look = self._fill(gc.get_rgb(), gc.get_alpha() if gc.get_forced_alpha() else None)
        turn = f' transform="rotate({short(-angle)} {points([x, y])})"' if angle else ""
        if mtext is not None and mtext.get_gid() == "halo":
            look += ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
        wide, high, _ = self.get_text_width_height_descent(s, prop, ismath)
        self._within(gc, (x, y - high, x + wide, y) if not angle else None)
        if ismath:
            self._formula(x, y, s, prop, look + turn)
            return
        style = ' font-style="italic"' if prop.get_style() in ("italic", "oblique") else ""
        weight = prop.get_weight()
        if font_manager.weight_dict.get(weight, weight) >= 600:
            style += ' font-weight="600"'
        # where the face is not there, as in JupyterLab, the words keep their lengths
        length = f' textLength="{short(wide)}" lengthAdjust="spacingAndGlyphs"' if len(s) > 1 else ""
        place = f'x="{short(x)}" y="{short(y)}" font-size="{short(size)}"'
        self.elements.append(f"<text {place}{style}{length}{look}{turn}>{escape(s)}</text>\n")

    def flipy(self) -> bool:
        """Words are placed from the top."""
        return True

    def _formula(self, x: float, y: float, s: str, prop: FontProperties, look: str) -> None:
        """Letters of the face as text, the signs that it lacks as outlines, rules as rectangles."""
        *_, glyphs, rules = self._text2path.mathtext_parser.parse(s, DPI, prop)
        spans, outlines = [], []

        def kind(glyph: tuple) -> tuple:
            font, size, _, _, _, up = glyph
            return font.family_name, font.style_name, short(size * DPI / 72), short(y - up)

        for (family, style, size, base), run in itertools.groupby(glyphs, kind):
            some = list(run)
            if not family.startswith(FACE):
                outlines += [_outline(glyph, x, y) for glyph in some]
                continue
            slant = ' font-style="italic"' if "It" in style else ""
            places = " ".join(short(x + across) for *_, across, _ in some)
            letters = "".join("\u00a0" if code == 32 else chr(code) for _, _, code, *_ in some)
            spans.append(f'<tspan x="{places}" y="{base}" font-size="{size}"{slant}>{escape(letters)}</tspan>')
        for across, up, wide, high in rules:
            place = f'x="{short(x + across)}" y="{short(y - up - high)}"'
            outlines.append(f'<rect {place} width="{short(wide)}" height="{short(high)}"/>')
        text = f"<text>{''.join(spans)}</text>" if spans else ""
        self.elements.append(f"<g{look}>{text}{''.join(outlines)}</g>\n")

    def _add(self, element: str) -> None:
        """Keep an element; lines of a collection that look the same are one."""
        end, path = '"' + element.partition('d="')[2].partition('"')[2] + "/>\n", '<path d="'
        before = self.elements[-1] if len(self.elements) > self._first else ""
        if element.startswith(path) and before.startswith(path) and before.endswith(end):
            self.elements[-1] = before.removesuffix(end) + element.removeprefix(path) + "/>\n"
        else:
            self.elements.append(f"{element}/>\n")

    def _within(self, gc: GraphicsContextBase | None, extents: tuple[float, ...] | None = None) -> None:
        """Open and shut the frames that cut off what is outside them."""
        frame = None
        clip = gc.get_clip_rectangle() if gc is not None else None
        if clip is not None and extents is not None:
            box = self._down.transform_bbox(clip.frozen())
            frame = (box.xmin, min(box.ymin, box.ymax), box.xmax, max(box.ymin, box.ymax))
            left, top, right, bottom = extents
            over = max(frame[0] - left, frame[1] - top, right - frame[2], bottom - frame[3])
            frame = frame if over > CUT else None
        if frame == self._frame:
            return
        if self._frame is not None:
            self.elements.append("</svg>\n")
        if frame is not None:
            left, top, right, bottom = frame
            size = f'width="{short(right - left)}" height="{short(bottom - top)}"'
            view = points([left, top, right - left, bottom - top])
            self.elements.append(f'<svg x="{short(left)}" y="{short(top)}" {size} viewBox="{view}">\n')
        self._frame = frame

    def _stroke(self, gc: GraphicsContextBase) -> str:
        width = self.points_to_pixels(gc.get_linewidth())
        red, green, blue, alpha = gc.get_rgb()
        alpha = gc.get_alpha() if gc.get_forced_alpha() else alpha
        if not width or not alpha:
            return ""
        out = f' stroke="{to_hex((red, green, blue))}"' + (f' stroke-width="{short(width)}"' if width != 1 else "")
        shift, dashes = gc.get_dashes()
        if dashes is not None and len(dashes):
            out += f' stroke-dasharray="{points(np.array(dashes) * DPI / 72)}"'
            if shift:
                out += f' stroke-dashoffset="{short(self.points_to_pixels(shift))}"'
        return out + _opacity(alpha, "stroke-") + CAPS[gc.get_capstyle()] + JOINS[gc.get_joinstyle()]

    @staticmethod
    def _fill(face: object | None, alpha: float | None) -> str:
        if face is None:
            return ' fill="none"'
        red, green, blue, *rest = face
        return f' fill="{to_hex((red, green, blue))}"' + _opacity(rest[0] if alpha is None and rest else alpha, "fill-")

    def _hatch(self, gc: GraphicsContextBase) -> str:
        """The name of a pattern; it is drawn once."""
        colour = to_hex(gc.get_hatch_color())
        name = f"hatch-{gc.get_hatch().encode().hex()}-{colour[1:]}"
        if name not in self.patterns:
            side = DPI
            path = gc.get_hatch_path()
            element, _ = _shape(path, Affine2D().scale(side))
            width = short(self.points_to_pixels(gc.get_hatch_linewidth()))
            self.patterns[name] = (
                f'<pattern id="{name}" width="{side}" height="{side}" patternUnits="userSpaceOnUse">'
                f'{element} fill="none" stroke="{colour}" stroke-width="{width}"/></pattern>\n'
            )
        return name


def _opacity(alpha: float | None, what: str = "") -> str:
    return "" if alpha is None or alpha == 1 else f' {what}opacity="{short(alpha)}"'


def _outline(glyph: tuple, x: float, y: float) -> str:
    """A sign as a path: one of a face that a page does not have."""
    font, size, _, index, across, up = glyph
    font.set_size(size, DPI)
    font.load_glyph(index)
    vertices, codes = font.get_path()
    where = Affine2D().scale(1, -1).translate(x + across, y - up)
    element, _ = _shape(Path(vertices, codes), where)
    return element + "/>"


def _shape(path: Path, transform: Transform) -> tuple[str, tuple[float, ...]] | None:
    """A path as the simplest element that has its form, still open, and its extents; None if there is nothing."""
    if path.codes is not None and np.array_equal(path.codes, CIRCLE.codes):
        low, high = path.vertices.min(axis=0), path.vertices.max(axis=0)
        middle, radius = (low + high) / 2, (high - low) / 2
        if np.allclose(path.vertices, middle + radius * CIRCLE.vertices, rtol=0, atol=1e-6 * radius.max()):
            (x, y), (right, _), (_, top) = transform.transform(middle + radius * [[0, 0], [1, 0], [0, 1]])
            wide, tall = abs(right - x), abs(top - y)
            extents = x - wide, y - tall, x + wide, y + tall
            if math.isclose(wide, tall, abs_tol=5e-3):
                return f'<circle cx="{short(x)}" cy="{short(y)}" r="{short(wide)}"', extents
            return f'<ellipse cx="{short(x)}" cy="{short(y)}" rx="{short(wide)}" ry="{short(tall)}"', extents
    parts = list(_segments(path, transform))
    if not parts:
        return None
    corners = np.concatenate([numbers.reshape(-1, 2) for _, numbers in parts if len(numbers)])
    low, high = corners.min(axis=0), corners.max(axis=0)
    extents = (*low, *high)
    if _is_rectangle(parts, low, high):
        wide, tall = high - low
        return f'<rect x="{short(low[0])}" y="{short(low[1])}" width="{short(wide)}" height="{short(tall)}"', extents
    path_data = "".join(
        letter + " ".join(points(numbers) for _, numbers in run)
        for letter, run in itertools.groupby(parts, lambda part: part[0])
    )
    return f'<path d="{path_data}"', extents


def _segments(path: Path, transform: Transform) -> Iterator[tuple[str, np.ndarray]]:
    """The moves of a pen; a move to where the pen is already is none."""
    if path.codes is None and len(path.vertices) > MANY:
        path, transform = Path(_thinned(transform.transform(path.vertices))), IdentityTransform()
    for numbers, code in path.iter_segments(transform, simplify=False, curves=True):
        letter = LETTERS[code]
        yield letter, np.array([]) if letter == "Z" else np.asarray(numbers, float)


def _thinned(places: np.ndarray) -> np.ndarray:
    """Of a curve of more points than pixels, the first in each pixel across, the lowest and highest, and the last.

    The two in the middle stand in the middle of the pixel, so where they were there decides nothing.
    """
    across = places[:, 0]
    if not (np.diff(across) >= 0).all():
        return places
    # a third of a pixel lies on no edge of a scale
    pixel = np.floor(across + 1 / 3)
    starts = np.flatnonzero(np.diff(pixel, prepend=-np.inf))
    ends = np.append(starts[1:], len(places)) - 1
    middle = pixel[starts] + 1 / 6
    low, high = (np.stack([middle, f.reduceat(places[:, 1], starts)], axis=1) for f in (np.minimum, np.maximum))
    return np.stack([places[starts], low, high, places[ends]], axis=1).reshape(-1, 2)


def _is_rectangle(parts: list[tuple[str, np.ndarray]], low: np.ndarray, high: np.ndarray) -> bool:
    letters = "".join(letter for letter, _ in parts)
    if letters not in ("MLLLZ", "MLLLLZ", "MLLLL"):
        return False
    corners = np.array([numbers for _, numbers in parts if len(numbers)])
    at = np.isclose(corners[:, None], [low, high], rtol=0, atol=5e-3)
    steps = np.abs(np.diff(corners[:4], axis=0)) > 5e-3
    closed = len(corners) == 4 or np.allclose(corners[0], corners[4], atol=5e-3)
    return bool(at.any(axis=1).all() and (steps.sum(axis=1) == 1).all() and closed)
