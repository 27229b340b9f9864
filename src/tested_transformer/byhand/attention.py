"""Scaled dot-product attention, forward and backward."""

import numpy as np
from jaxtyping import Bool, Float

from tested_transformer.byhand import _checks as rules
from tested_transformer.byhand.softmax import softmax, softmax_backward
from tested_transformer.checks import checked


@checked(rules.attention)
def attention(
    q: Float[np.ndarray, "*B Tq Dk"],
    k: Float[np.ndarray, "*B Tk Dk"],
    v: Float[np.ndarray, "*B Tk Dv"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> tuple[Float[np.ndarray, "*B Tq Dv"], Float[np.ndarray, "*B Tq Tk"]]:
    """softmax(Q K^T / sqrt(d_k)) V (paper, equation 1): returns (out, weights).

    Where mask, broadcast to the scores, is True, a query may look. A query with nothing
    to look at gets zeros. A mask of numbers, or a list, is a TypeError.
    """
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    return weights @ v, weights


def attention_backward(
    d_out: Float[np.ndarray, "*B Tq Dv"],
    q: Float[np.ndarray, "*B Tq Dk"],
    k: Float[np.ndarray, "*B Tk Dk"],
    v: Float[np.ndarray, "*B Tk Dv"],
    weights: Float[np.ndarray, "*B Tq Tk"],
) -> tuple[
    Float[np.ndarray, "*B Tq Dk"],
    Float[np.ndarray, "*B Tk Dk"],
    Float[np.ndarray, "*B Tk Dv"],
]:
    """From the gradient of out, the gradients of q, k and v.

    A masked pair has weight zero and passes nothing on.
    """
    d_weights = d_out @ v.swapaxes(-1, -2)
    d_scores = softmax_backward(d_weights, weights) / np.sqrt(q.shape[-1])
    return d_scores @ k, d_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ d_out
