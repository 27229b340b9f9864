"""A row of logits on its way towards a target, step by step."""

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.softmax import softmax


def towards(
    logits: Float[np.ndarray, "V"], q: Float[np.ndarray, "V"], n_steps: int
) -> Float[np.ndarray, "N V"]:
    """The logits after each step: every one goes against the slope of the loss, p - q."""
    if n_steps < 1:
        raise ValueError(f"n_steps ({n_steps}) must be at least 1")
    rows = [logits]
    for _ in range(n_steps):
        rows.append(rows[-1] - (softmax(rows[-1]) - q))
    return np.array(rows[1:])


def gap(
    logits: Float[np.ndarray, "*N V"], right: int
) -> Float[np.ndarray, "*N"] | float:
    """How far the right logit is above the mean of the others."""
    return logits[..., right] - np.delete(logits, right, axis=-1).mean(axis=-1)
