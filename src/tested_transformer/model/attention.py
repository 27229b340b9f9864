"""Scaled dot-product attention in PyTorch."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.checks import instance, probability


class Causal:
    """Stands for a causal mask: each query may look no further than its own place.

    The last query has the place of the last key. No mask is made of it where PyTorch's
    kernel can do without one.
    """

    def __repr__(self) -> str:
        return "CAUSAL"


CAUSAL = Causal()
Mask = Tensor | Causal | None
"""Where True, a query may look; CAUSAL; or None, where nothing is hidden."""


def attention(
    q: Float[Tensor, "*B Tq Dk"],
    k: Float[Tensor, "*B Tk Dk"],
    v: Float[Tensor, "*B Tk Dv"],
    mask: Mask = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*B Tq Dv"], Float[Tensor, "*B Tq Tk"]]:
    """softmax(Q K^T / sqrt(d_k)) V (paper, equation 1): returns (out, weights).

    Where mask, broadcast to the scores, is True, a query may look. A query with nothing
    to look at gets zeros. The weights returned are those before dropout.
    """
    _check(q, k, v, mask, dropout)
    mask = mask_tensor(mask, q.size(-2), k.size(-2), q.device)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # -> (*B, Tq, Tk)
    if mask is None:
        weights = scores.softmax(-1)
    else:  # lowest, not -inf: no NaN where a row is hidden whole, forward or backward
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)
    return F.dropout(weights, dropout) @ v, weights


def fused_attention(
    q: Float[Tensor, "*B Tq Dk"],
    k: Float[Tensor, "*B Tk Dk"],
    v: Float[Tensor, "*B Tk Dv"],
    mask: Mask = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*B Tq Dv"]:
    """The out of `attention` from PyTorch's kernel, which never stores the weights.

    With many tokens this saves time and memory; at sentence length it hardly matters.
    """
    _check(q, k, v, mask, dropout)
    return kernel(q, k, v, mask, dropout)


def kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, dropout: float = 0.0
) -> Tensor:
    """PyTorch's kernel. Keys and values may have fewer heads, each for a group of q's.

    A causal mask is made only where the kernel needs it: for a few queries after many
    keys.
    """
    (n, n_keys), grouped = (q.size(-2), k.size(-2)), q.shape[:-2] != k.shape[:-2]
    causal = isinstance(mask, Causal) and n == n_keys
    if causal or (isinstance(mask, Causal) and n == 1):
        mask = None
    mask = mask_tensor(mask, n, n_keys, q.device)
    return F.scaled_dot_product_attention(
        q, k, v, mask, dropout, causal, enable_gqa=grouped
    )


def mask_tensor(mask: Mask, n: int, n_keys: int, device: torch.device) -> Tensor | None:
    """The mask of n queries and n_keys keys that CAUSAL stands for; others as they are."""
    if not isinstance(mask, Causal):
        return mask
    every = torch.ones(n, n_keys, dtype=torch.bool, device=device)
    return every.tril(n_keys - n)


def is_causal_bias(mask: Tensor) -> bool:
    """Whether it is PyTorch's own `CausalBias`, whose module loads a compiler."""
    return type(mask).__name__ == "CausalBias"


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout: float) -> None:
    """What PyTorch would take silently, or refuse in words that name nothing."""
    probability(dropout=dropout)
    instance(Tensor, q=q, k=k, v=v)
    if q.shape[-1:] != k.shape[-1:]:
        found = f"queries {tuple(q.shape)}, keys {tuple(k.shape)}"
        raise ValueError(f"queries and keys must be equally wide: {found}")
    if k.shape[-2:-1] != v.shape[-2:-1]:
        found = f"keys {tuple(k.shape)}, values {tuple(v.shape)}"
        raise ValueError(f"there must be one value for each key: {found}")
    if mask is None or isinstance(mask, Causal) or is_causal_bias(mask):
        return
    instance(Tensor, mask=mask)
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be bool (True = may look), not {mask.dtype}")
    scores = (*q.shape[:-1], k.size(-2))
    sizes = zip(reversed(mask.shape), reversed(scores), strict=False)
    if mask.dim() > len(scores) or any(m not in (1, s) for m, s in sizes):
        found = f"mask of shape {tuple(mask.shape)}"
        raise ValueError(f"{found} does not broadcast to the scores {scores}")
