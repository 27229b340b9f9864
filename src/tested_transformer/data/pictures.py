"""Small pictures of nine cells: an arrow in the middle, crosses and rings around it."""

from itertools import permutations

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.checks import at_least

GRID, SIDE = 3, 4
"""Cells in a row of a picture, and pixels in a row of a cell."""

EMPTY, CROSS, RING, ARROW = 0, 1, 2, 3
"""What a cell holds. ARROW points up; 4, 5 and 6 point right, down and left."""

MARKS = ("    |    |    |    ", "#  #| ## | ## |#  #", "####|#  #|#  #|####")
UP = " ## |####| ## | ## "


def marks() -> Float[np.ndarray, "7 4 4"]:
    """All that a cell can hold, as pixels: 1 is bright."""
    drawn = [[[p == "#" for p in row] for row in m.split("|")] for m in (*MARKS, UP)]
    turned = [np.rot90(drawn[ARROW], -turns) for turns in (1, 2, 3)]
    return np.array([*drawn, *turned], dtype=float)


def scenes() -> tuple[Int[np.ndarray, "N 9"], Int[np.ndarray, "N"]]:
    """All pictures as cells, and what the arrow points at: a cross (0) or a ring (1).

    Of the four cells beside the arrow two hold crosses and two rings; of the four
    corners one holds a cross and one a ring.
    """
    beside, corners = [1, 5, 7, 3], [0, 2, 6, 8]
    cells, answers = [], []
    for arrow in range(4):
        for sides in sorted(set(permutations([CROSS, CROSS, RING, RING]))):
            for rest in sorted(set(permutations([EMPTY, EMPTY, CROSS, RING]))):
                cell = np.empty(GRID * GRID, dtype=int)
                cell[beside], cell[corners], cell[4] = sides, rest, ARROW + arrow
                cells.append(cell)
                answers.append(sides[arrow] == RING)
    return np.array(cells), np.array(answers, dtype=int)


def paint(
    cells: Int[np.ndarray, "N 9"], noise: float, rng: np.random.Generator
) -> Float[np.ndarray, "N 1 H W"]:
    """Pictures of one channel, with noise on every pixel."""
    at_least(0, noise=noise)
    x = marks()[cells].reshape(-1, GRID, GRID, SIDE, SIDE)
    x = x.swapaxes(2, 3)  # (N, R, K, s, s) -> (N, R, s, K, s)
    x = x.reshape(-1, 1, GRID * SIDE, GRID * SIDE)
    return x + rng.normal(0, noise, size=x.shape)
