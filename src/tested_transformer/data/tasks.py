"""Two tasks that need no text: write a sequence again, as it was or backwards."""

import numpy as np
from jaxtyping import Int

from tested_transformer.checks import at_least
from tested_transformer.config import SpecialIds

PAD, BOS, EOS, _ = SpecialIds()
FIRST = 1 + max(SpecialIds())
"""The smallest id with no special meaning."""


def copy(
    n: int, length: int, vocab_size: int, seed: int, shortest: int | None = None
) -> tuple[Int[np.ndarray, "{n} {length}"], Int[np.ndarray, "{n} {length}+2"]]:
    """Some random sources (n), and the same ids as targets, between BOS and EOS.

    Each source has `length` ids; with `shortest`, a random number from there to
    `length`, and padding behind. The same seed gives the same numbers.
    """
    sources = _sources(n, length, vocab_size, seed, shortest)
    return sources, _framed(sources)


def reverse(
    n: int, length: int, vocab_size: int, seed: int, shortest: int | None = None
) -> tuple[Int[np.ndarray, "{n} {length}"], Int[np.ndarray, "{n} {length}+2"]]:
    """As `copy`, with the same sources; the targets have their ids backwards."""
    sources = _sources(n, length, vocab_size, seed, shortest)
    ends = (sources != PAD).sum(axis=1, keepdims=True)
    places = ends - 1 - np.arange(length)  # from the last id down; below 0 is padding
    backwards = np.take_along_axis(sources, np.maximum(places, 0), axis=1)
    return sources, _framed(np.where(places >= 0, backwards, PAD))


def pairs(
    sources: Int[np.ndarray, "N S"], targets: Int[np.ndarray, "N T"]
) -> list[tuple[list[int], list[int]]]:
    """Row beside row, without padding: a list as `batches` and `Trainer` read it.

    `pairs(*copy(500, length=5, vocab_size=12, seed=0))` is a set to train on.
    """
    rows = zip(sources, targets, strict=True)
    return [(s[s != PAD].tolist(), t[t != PAD].tolist()) for s, t in rows]


def _sources(
    n: int, length: int, vocab_size: int, seed: int, shortest: int | None
) -> np.ndarray:
    shortest = length if shortest is None else shortest
    at_least(1, n=n, length=length)
    if vocab_size <= FIRST:
        rule = f"must be above {FIRST}, the number of special ids"
        raise ValueError(f"vocab_size ({vocab_size}) {rule}")
    if not 1 <= shortest <= length:
        rule = f"must be at least 1 and at most length ({length})"
        raise ValueError(f"shortest ({shortest}) {rule}")
    rng = np.random.default_rng(seed)
    ids = rng.integers(FIRST, vocab_size, size=(n, length))
    lengths = rng.integers(shortest, length + 1, size=(n, 1))
    return np.where(np.arange(length) < lengths, ids, PAD)


def _framed(rows: np.ndarray) -> np.ndarray:
    """BOS before each row, EOS behind its last id, padding after that."""
    framed = np.pad(rows, ((0, 0), (1, 1)), constant_values=PAD)
    framed[:, 0] = BOS
    framed[np.arange(len(rows)), (rows != PAD).sum(axis=1) + 1] = EOS
    return framed
