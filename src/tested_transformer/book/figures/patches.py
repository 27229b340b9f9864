"""Pictures of small pictures: their patches, what was learned of them, and who looks where."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.flow import arrow, blank, outline, tile
from tested_transformer.book.figures.kit import CENTRE, chart

AHEAD = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""Where a way leads: so many patches across and down."""


@pic.styled
def sentence(image: ArrayLike, size: int, answer: str, way: int) -> pic.Picture:
    """An image (H, W) in patches; beside it a row of pixels for each, behind that of a class token; and the encoder.

    The patches have their numbers, and an arrow over that in the middle goes its way: 0 is up, 1 right, 2 down, 3 left.
    """
    image = np.asarray(image)
    rows = [patch.ravel() for patch in _cut(image, size)]
    step, side, pixel = 0.3, 2.0, 0.13
    figure, frame = blank(pic.PHONE, step * len(rows) + 1.45)
    top = step * len(rows) + 1.17
    width, height = figure.get_size_inches()
    axes = figure.add_axes((0.06 / width, (top - side) / height, side / width, side / height))
    _image(axes, image, size)
    _point(axes, image.shape, size, way)
    across = image.shape[1] // size
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    for n in range(len(rows)):
        corner = (1.1 + (size + 1) * place for place in (n % across, n // across))
        axes.text(*corner, str(n + 1), bbox=ground, **CENTRE)
    frame.text(0.06, top + 0.05, "a picture")
    left = width - 0.1 - pixel * len(rows[0])
    frame.text(left, top + 0.05, "its rows")
    arrow(frame, (side + 0.14, top - side / 2), (left - 0.55, top - side / 2))
    tile(frame, (left, top - step + 0.06, pixel * len(rows[0]), step - 0.1), "white", "class token", linestyle="--")
    for n, row in enumerate(rows, 1):
        y = top - step * (n + 1) + 0.06
        frame.text(left - 0.12, y + (step - 0.1) / 2, str(n), ha="right", va="center")
        for i, number in enumerate(row):
            tile(frame, (left + pixel * i, y, pixel, step - 0.1), pic.WEIGHTS(float(number) / 1.3))
    low = top - step * (len(rows) + 1)
    middle = left + pixel * len(rows[0]) / 2
    arrow(frame, (middle, low), (middle, low - 0.3))
    tile(frame, (left, low - 0.75, pixel * len(rows[0]), 0.42), "white", "encoder")
    arrow(frame, (left - 0.02, low - 0.54), (left - 0.5, low - 0.54))
    frame.text(left - 0.58, low - 0.54, answer, ha="right", va="center", weight="bold")
    return figure


@pic.styled
def pictures(
    images: ArrayLike, titles: Sequence[str], size: int, ways: Sequence[int], rows: Sequence[str]
) -> pic.Picture:
    """Images (B, H, W) in lines with names, each with a title, its patches apart, and the way of its arrow.

    The last of each line is the sum of the others, no fuller of colour than one of them.
    """
    images = np.asarray(images).reshape(len(rows), -1, *np.shape(images)[1:])
    figure, axes = pic.picture(pic.PHONE, 1.75 * len(rows), len(rows), images.shape[1] + 1)
    told = iter(zip(titles, ways, strict=True))
    for line, of_line, name in zip(axes, images, rows, strict=True):
        for n, (one, image) in enumerate(zip(line, [*of_line, of_line.mean(axis=0)], strict=True)):
            last = n == len(of_line)
            title, way = ("sum", None) if last else next(told)
            _image(one, image, size)
            if way is not None:
                _point(one, image.shape, size, way)
            one.set_title(title, loc="center")
            if n:  # a sign between an image and the one on its left
                sign = "=" if last else "+"
                one.text(-0.02, 0.5, sign, transform=one.transAxes, ha="right", va="center", fontsize=18)
        line[0].set_ylabel(name, weight="bold")
    return figure


@pic.styled
def learning(losses: Sequence[float]) -> pic.Picture:
    """The loss of each step, and that of a coin."""
    figure, axes = chart(2.6)
    axes.plot(range(1, len(losses) + 1), losses, color=pic.QUERY, linewidth=0.8)
    axes.axhline(np.log(2), color=pic.KEY, linestyle="--", linewidth=1.5)
    axes.set(xlabel="step", ylabel="loss per picture", ylim=(0, None))
    return figure


@pic.styled
def looks(lines: pic.Arrays, ways: Sequence[str], decimals: int = 1) -> pic.Picture:
    """Weights as grids of patches (4, 3, 3), a line of them for each name and a column for each way of the arrow.

    The ways are up, right, down, left; the aim of each is framed. What would be written as zero is left out.
    """
    figure, axes = pic.picture(pic.PHONE, 1.26 * len(lines) + 0.25, len(lines), len(ways))
    for line, (name, grids) in zip(axes, lines.items(), strict=True):
        line[0].set_ylabel(name)
        for one, grid, way in zip(line, grids, AHEAD, strict=True):
            pic.tiles(one, grid, pic.WEIGHTS, (0, 2.2), decimals)  # black reads on all
            for text in one.texts:
                if not float(text.get_text()):
                    text.set_text("")
            for x, y in np.ndindex(3, 3):
                outline(one, (x - 0.5, y - 0.5, 1, 1), pic.FAINT, 0.8, zorder=2.8)
            outline(one, (0.5 + way[0], 0.5 + way[1], 1, 1), pic.KEY, 2.5, zorder=3, clip_on=False)
            one.set(xticks=[], yticks=[])
    for one, title in zip(axes[0], ways, strict=True):
        one.set_title(title, loc="center")
    return figure


def _point(axes: Axes, shape: tuple[int, ...], size: int, way: int) -> None:
    """An arrow over the patch in the middle of an image, on its way to the next."""
    x, y = (1 + (size + 1) * (n // size // 2) + size / 2 for n in shape[::-1])
    across, down = ((size / 2 + 1.2) * step for step in AHEAD[way])
    tail, head = (x - 0.6 * across, y - 0.6 * down), (x + across, y + down)
    arrow(axes, tail, head, pic.KEY, 18, 3, zorder=4)


def _cut(image: np.ndarray, size: int) -> list[np.ndarray]:
    """The patches of an image, row by row."""
    height, width = image.shape
    return [image[y : y + size, x : x + size] for y in range(0, height, size) for x in range(0, width, size)]


def _image(axes: Axes, image: np.ndarray, size: int) -> None:
    """Bright pixels are full of colour; the patches stand a pixel apart, each in a frame."""
    height, width = (side + side // size + 1 for side in image.shape)
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    across = image.shape[1] // size
    for n, patch in enumerate(_cut(image, size)):
        x, y = (1 + (size + 1) * place for place in (n % across, n // across))
        axes.imshow(patch, cmap=pic.WEIGHTS, vmin=0, vmax=1.3, extent=(x, x + size, y + size, y))
        outline(axes, (x, y, size, size), pic.FAINT, 1)
    axes.set(xlim=(0, width), ylim=(height, 0))
