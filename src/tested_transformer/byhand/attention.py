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


SoFar = tuple[
    Float[np.ndarray, "*B Tq 1"],
    Float[np.ndarray, "*B Tq 1"],
    Float[np.ndarray, "*B Tq Dv"],
]
"""Of each query: the largest score so far, and with it taken off, the sum and the mixture."""


@checked(rules.attention_in_blocks)
def attention_in_blocks(
    q: Float[np.ndarray, "*B Tq Dk"],
    k: Float[np.ndarray, "*B Tk Dk"],
    v: Float[np.ndarray, "*B Tk Dv"],
    block: int,
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*B Tq Dv"]:
    """The out of `attention`, from keys and values that come a block at a time.

    No row of scores is ever there as a whole (Milakov and Gimelshein, 2018; Rabe and
    Staats, 2021; Dao et al., 2022). block is how many keys come at once.
    """
    shape = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2])
    so_far = (
        np.full((*shape, 1), -np.inf),
        np.zeros((*shape, 1)),
        np.zeros((*shape, v.shape[-1])),
    )
    for start in range(0, k.shape[-2], block):
        some = slice(start, start + block)
        allowed = None if mask is None else mask[..., some]
        so_far = take_block(so_far, q, k[..., some, :], v[..., some, :], allowed)
    return mixture(so_far)


@checked(rules.take_block)
def take_block(
    so_far: SoFar,
    q: Float[np.ndarray, "*B Tq Dk"],
    k: Float[np.ndarray, "*B Tk Dk"],
    v: Float[np.ndarray, "*B Tk Dv"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> SoFar:
    """Some more keys and values: with a larger maximum, what was added up shrinks."""
    before, total, out = so_far
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    most = np.maximum(before, scores.max(-1, keepdims=True))
    top = np.where(most == -np.inf, 0, most)  # of a query with nothing to look at
    shrink, exps = np.exp(before - top), np.exp(scores - top)
    return most, total * shrink + exps.sum(-1, keepdims=True), out * shrink + exps @ v


def mixture(so_far: SoFar) -> Float[np.ndarray, "*B Tq Dv"]:
    """What attention gives, when all keys have come."""
    _, total, out = so_far
    return out / np.where(total == 0, 1, total)


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
