"""Masks: who may look at whom. True = may look."""

import numpy as np
from jaxtyping import Bool, Int

from tested_transformer.checks import at_least, checked, two_axes


def causal_mask(n: int) -> Bool[np.ndarray, "{n} {n}"]:
    """Each of n tokens may look at itself and at those before it (paper, 3.2.3)."""
    at_least(1, n=n)
    return np.tril(np.ones((n, n), dtype=bool))


@checked(two_axes)
def padding_mask(
    ids: Int[np.ndarray, "B S"], pad_id: int
) -> Bool[np.ndarray, "B 1 1 S"]:
    """Nobody may look at padding.

    The two axes of length 1 stand for the heads and the queries: all see the same keys.
    """
    return (ids != pad_id)[:, None, None, :]
