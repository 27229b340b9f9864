"""A causal mask that need not be made."""

import torch
from torch import Tensor


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


def mask_tensor(mask: Mask, n: int, n_keys: int, device: torch.device) -> Tensor | None:
    """The mask of n queries and n_keys keys that CAUSAL stands for; others as they are."""
    if not isinstance(mask, Causal):
        return mask
    every = torch.ones(n, n_keys, dtype=torch.bool, device=device)
    return every.tril(n_keys - n)


def needs_no_check(mask: object) -> bool:
    """Whether a mask fits whatever it is for: none, or one without a shape.

    PyTorch's own `CausalBias` is known by name, because its module loads a compiler.
    """
    named = type(mask).__name__ == "CausalBias"
    return mask is None or isinstance(mask, Causal) or named
