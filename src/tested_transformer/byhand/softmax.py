"""Softmax: from scores to weights that sum to one."""

import numpy as np
from jaxtyping import Float


def softmax(x: Float[np.ndarray, "*B N"]) -> Float[np.ndarray, "*B N"]:
    """Exponentials over the last axis, divided by their sum (paper, Section 3.2.1).

    The largest entry is subtracted first, which changes nothing but avoids overflow.
    A row of nothing but -inf has nothing to share out: it becomes zeros.
    """
    top = x.max(axis=-1, keepdims=True)
    exps = np.exp(x - np.where(top == -np.inf, 0.0, top))
    total = exps.sum(axis=-1, keepdims=True)
    return exps / np.where(total == 0, 1.0, total)


def softmax_backward(
    d_y: Float[np.ndarray, "*B N"], y: Float[np.ndarray, "*B N"]
) -> Float[np.ndarray, "*B N"]:
    """From the gradient of y = softmax(x), the gradient of x.

    Each entry gets what its weight is worth above the weighted mean.
    """
    return y * (d_y - (d_y * y).sum(axis=-1, keepdims=True))
