"""Masks in PyTorch: who may look at whom. True = may look."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tested_transformer.checks import at_least, checked, two_axes


def causal_mask(
    n: int, device: torch.device | str | None = None
) -> Bool[Tensor, "{n} {n}"]:
    """Each of n tokens may look at itself and at those before it (paper, 3.2.3)."""
    at_least(1, n=n)
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


@checked(two_axes)
def padding_mask(ids: Int[Tensor, "B S"], pad_id: int) -> Bool[Tensor, "B 1 1 S"]:
    """Nobody may look at padding.

    The two axes of length 1 stand for the heads and the queries: all see the same keys.
    """
    return (ids != pad_id)[:, None, None, :]
