"""Attention between a large slow memory and a small fast one: which numbers have to be carried across."""

from collections.abc import Mapping

import numpy as np

from tested_transformer.byhand.attention import mixture, take_block
from tested_transformer.byhand.softmax import softmax

ALL = slice(None)


class SlowMemory:
    """Arrays by name. What is read from it or written to it is counted, number by number.

    No more than `room` numbers fit into the fast memory at once.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], room: int) -> None:
        self.arrays, self.room, self.carried = dict(arrays), room, 0

    def read(self, name: str, rows: slice = ALL, columns: slice = ALL) -> np.ndarray:
        """A part of an array."""
        return self._carry(self.arrays[name][rows, columns])

    def write(
        self, name: str, x: np.ndarray, rows: slice = ALL, columns: slice = ALL
    ) -> None:
        """A part of an array that is there."""
        self.arrays[name][rows, columns] = self._carry(x)

    def _carry(self, x: np.ndarray) -> np.ndarray:
        if x.size > self.room:
            raise ValueError(
                f"{x.size:,} numbers don't fit into a room for {self.room:,}"
            )
        self.carried += x.size
        return x


def in_three_steps(memory: SlowMemory, tile: int) -> None:
    """Scores, softmax and mixture one after the other; each result is put back."""
    n, d = memory.arrays["q"].shape
    parts = [slice(start, start + tile) for start in range(0, n, tile)]
    for name, shape in {"scores": (n, n), "weights": (n, n), "out": (n, d)}.items():
        memory.arrays[name] = np.zeros(shape)
    for part in parts:
        q = memory.read("q", part) / np.sqrt(d)
        for keys in parts:
            memory.write("scores", q @ memory.read("k", keys).T, part, keys)
    for row in range(n):
        one = slice(row, row + 1)
        memory.write("weights", softmax(memory.read("scores", one)), one)
    for part in parts:
        mixed = (
            memory.read("weights", part, some) @ memory.read("v", some)
            for some in parts
        )
        memory.write("out", sum(mixed), part)


def in_one_step(memory: SlowMemory, tile: int) -> None:
    """Some queries at a time meet all keys and values, in blocks.

    Scores and weights never leave the fast memory.
    """
    n, d = memory.arrays["q"].shape
    parts = [slice(start, start + tile) for start in range(0, n, tile)]
    memory.arrays["out"] = np.zeros((n, d))
    for part in parts:
        q = memory.read("q", part)
        empty = np.zeros((len(q), 1))
        so_far = empty - np.inf, empty, np.zeros(q.shape)
        for some in parts:
            k, v = memory.read("k", some), memory.read("v", some)
            so_far = take_block(so_far, q, k, v)
        memory.write("out", mixture(so_far), part)
