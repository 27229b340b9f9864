"""The optimiser of the paper in PyTorch."""

from collections.abc import Iterable
from typing import Any

from torch import nn, optim


def create_adam(
    parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
    lr: float = 1.0,
    fused: bool = True,
) -> optim.Adam:
    """PyTorch's Adam with the constants of the paper (Section 5.3).

    β₁ = 0.9, β₂ = 0.98, ε = 1e-9. An lr of 1 leaves the rate to a schedule. With fused,
    one kernel does a whole step; few devices lack it.
    """
    return optim.Adam(parameters, lr=lr, betas=(0.9, 0.98), eps=1e-9, fused=fused)


def create_adamw(
    model: nn.Module, weight_decay: float, lr: float = 1.0, fused: bool = True
) -> optim.Adam:
    """The same Adam, and all matrices of a model drawn towards zero at each step.

    lr times weight_decay is the part that they lose (AdamW, Loshchilov & Hutter, 2019).
    Biases and the weights of norms, which have one axis, lose nothing.
    """
    every = [*model.parameters()]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in every if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in every if p.dim() < 2], "weight_decay": 0.0},
    ]
    return optim.AdamW(groups, lr=lr, betas=(0.9, 0.98), eps=1e-9, fused=fused)
