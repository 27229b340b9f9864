"""Attention between a large slow memory and a small fast one: which numbers have to be carried across."""

from collections.abc import Mapping

import numpy as np

from tested_transformer.byhand.attention import attention_in_blocks
from tested_transformer.byhand.softmax import softmax


class SlowMemory:
    """Arrays by name. What is read from it or written to it is counted, number by number."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays, self.carried = dict(arrays), 0

    def read(self, name: str, rows: slice = slice(None)) -> np.ndarray:
        """Some rows of an array."""
        x = self.arrays[name][rows]
        self.carried += x.size
        return x

    def write(self, name: str, x: np.ndarray) -> None:
        """A new array, or more rows of one that is there."""
        before = [self.arrays[name]] if name in self.arrays else []
        self.arrays[name] = np.concatenate([*before, x])
        self.carried += x.size


def in_three_steps(memory: SlowMemory, rows: int) -> None:
    """Scores, softmax and mixture one after the other, some queries at a time; each result is put back."""
    n, d = memory.arrays["q"].shape
    parts = [slice(start, start + rows) for start in range(0, n, rows)]
    for part in parts:
        memory.write("scores", memory.read("q", part) @ memory.read("k").T / np.sqrt(d))
    for part in parts:
        memory.write("weights", softmax(memory.read("scores", part)))
    for part in parts:
        memory.write("out", memory.read("weights", part) @ memory.read("v"))


def in_one_step(memory: SlowMemory, rows: int, block: int) -> None:
    """Some queries at a time meet all keys and values, in blocks.

    Scores and weights never leave the fast memory.
    """
    for start in range(0, len(memory.arrays["q"]), rows):
        q = memory.read("q", slice(start, start + rows))
        memory.write(
            "out", attention_in_blocks(q, memory.read("k"), memory.read("v"), block)
        )
