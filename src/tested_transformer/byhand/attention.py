"""Scaled dot-product attention, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tested_transformer.byhand.softmax import softmax, softmax_backward
from tested_transformer.checks import instance


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
    _check(q, k, v, mask)
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


def _check(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any) -> None:
    """What NumPy would take silently, or refuse in words that name nothing."""
    instance(np.ndarray, q=q, k=k, v=v)
    if q.shape[-1:] != k.shape[-1:]:
        rule = "queries and keys must be equally wide"
        raise ValueError(f"{rule}: queries {q.shape}, keys {k.shape}")
    if k.shape[-2:-1] != v.shape[-2:-1]:
        found = f"keys {k.shape}, values {v.shape}"
        raise ValueError(f"there must be one value for each key: {found}")
    if mask is None:
        return
    instance(np.ndarray, mask=mask)
    if mask.dtype != bool:
        raise TypeError(f"mask must be bool (True = may look), not {mask.dtype}")
    scores = (*q.shape[:-1], k.shape[-2])
    sizes = zip(reversed(mask.shape), reversed(scores), strict=False)
    if mask.ndim > len(scores) or any(m not in (1, s) for m, s in sizes):
        found = f"mask of shape {mask.shape}"
        raise ValueError(f"{found} does not broadcast to the scores {scores}")
