"""Scaled dot-product attention in PyTorch."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.checks import checked
from tested_transformer.model import _checks as rules
from tested_transformer.model._causal import CAUSAL, Causal, Mask, mask_tensor

__all__ = ["CAUSAL", "Mask", "attention", "fused_attention", "kernel"]


@checked(rules.attention)
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
    mask = mask_tensor(mask, q.size(-2), k.size(-2), q.device)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # -> (*B, Tq, Tk)
    if mask is None:
        weights = scores.softmax(-1)
    else:  # lowest, not -inf: no NaN where a row is hidden whole, forward or backward
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)
    return F.dropout(weights, dropout) @ v, weights


@checked(rules.attention)
def fused_attention(
    q: Float[Tensor, "*B Tq Dk"],
    k: Float[Tensor, "*B Tk Dk"],
    v: Float[Tensor, "*B Tk Dv"],
    mask: Mask = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*B Tq Dv"]:
    """The out of `attention` from PyTorch's kernels; most of them store no weights.

    With many tokens this saves time and memory; at sentence length it hardly matters.
    """
    return kernel(q, k, v, mask, dropout)


def kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, dropout: float = 0.0
) -> Tensor:
    """PyTorch's kernel. Keys and values may have fewer heads, each for a group of q's.

    A causal mask is made only where the kernel needs it: for a few queries after many
    keys. The queries of a group that have one place ask side by side, so keys and
    values are read once and not once for each head.
    """
    n, n_keys, grouped = q.size(-2), k.size(-2), q.shape[:-2] != k.shape[:-2]
    causal = isinstance(mask, Causal) and n == n_keys
    if causal or (isinstance(mask, Causal) and n == 1):
        mask = None
    given = mask_tensor(mask, n, n_keys, q.device)
    if grouped and n == 1 and (given is None or given.dim() == 4):
        heads, rows = q.shape[:-1], (*k.shape[:-2], -1)  # (B, H, 1), (B, G, H/G)
        if given is not None:
            given = given.expand(*heads, n_keys).reshape(*rows, n_keys)
        q = q.reshape(*rows, q.size(-1))
        out = F.scaled_dot_product_attention(q, k, v, given, dropout)
        return out.reshape(*heads, v.size(-1))
    return F.scaled_dot_product_attention(
        q, k, v, given, dropout, causal, enable_gqa=grouped
    )
