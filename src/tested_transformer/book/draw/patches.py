"""Pictures of small pictures: their patches, what was learned of them, and who looks where."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from tested_transformer.book.draw import picture as pic


@pic.styled
def pictures(images: ArrayLike, titles: Sequence[str], size: int) -> pic.Picture:
    """Images (B, H, W) side by side, each with a title and cut by lines into patches."""
    figure, (row,) = pic.picture(7.2, 2.2, columns=len(titles))
    for axes, image, title in zip(row, np.asarray(images), titles, strict=True):
        _image(axes, image, size)
        axes.set_title(title, loc="center")
    return figure


@pic.styled
def learning(losses: Sequence[float], shares: Mapping[str, float]) -> pic.Picture:
    """The loss of each step, and bars: who answers what share of new pictures."""
    figure, ((left, right),) = pic.picture(7.2, 2.8, columns=2, width_ratios=[3, 2])
    left.plot(range(1, len(losses) + 1), losses, color=pic.QUERY, linewidth=0.8)
    left.set(xlabel="step", ylabel="loss per picture", ylim=(0, None))
    names = list(shares)[::-1]
    right.barh(names, [shares[name] for name in names], color=pic.QUERY)
    for i, name in enumerate(names):
        right.text(0.04, i, f"{shares[name]:.0%}", color="white", va="center")
    right.axvline(0.5, color=pic.KEY, linestyle="--", linewidth=1.5)
    right.set_xlim(0, 1.02)
    right.set(xlabel="answered right", xticks=[])
    right.tick_params(left=False)
    right.spines[["left", "bottom"]].set_color(pic.FAINT)
    return figure


@pic.styled
def looks(
    images: ArrayLike, weights: ArrayLike, asking: Sequence[int], size: int
) -> pic.Picture:
    """Above, images (B, H, W) with the asking patch framed; below, its weights (B, N)."""
    images, weights = np.asarray(images), np.asarray(weights)
    figure, (above, below) = pic.picture(7.2, 4.0, rows=2, columns=len(images))
    across = images.shape[-1] // size
    for axes, image, patch in zip(above, images, asking, strict=True):
        _image(axes, image, size)
        corner = size * (patch % across) - 0.5, size * (patch // across) - 0.5
        frame = Rectangle(corner, size, size, fill=False, color=pic.KEY, lw=3, zorder=5)
        axes.add_patch(frame)
    for axes, row in zip(below, weights, strict=True):
        grid, limits = row.reshape(-1, across), (0, weights.max())
        pic.tiles(axes, grid, pic.WEIGHTS, limits, decimals=2)
        axes.set(xticks=[], yticks=[])
    return figure


def _image(axes: Axes, image: np.ndarray, size: int) -> None:
    """Bright pixels are full of colour, and lines part the patches."""
    axes.imshow(image, cmap=pic.WEIGHTS, vmin=0, vmax=1.3)
    height, width = image.shape
    for edge in range(size, width, size):
        axes.axvline(edge - 0.5, color=pic.FAINT, linewidth=1)
    for edge in range(size, height, size):
        axes.axhline(edge - 0.5, color=pic.FAINT, linewidth=1)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color=pic.FAINT)
