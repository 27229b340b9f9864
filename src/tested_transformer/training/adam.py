"""The optimiser of the paper in PyTorch."""

from collections.abc import Iterable

from torch import nn, optim


def create_adam(parameters: Iterable[nn.Parameter], lr: float = 1.0) -> optim.Adam:
    """PyTorch's Adam with the constants of the paper (Section 5.3).

    β₁ = 0.9, β₂ = 0.98, ε = 1e-9. An lr of 1 leaves the rate to a schedule.
    """
    return optim.Adam(parameters, lr=lr, betas=(0.9, 0.98), eps=1e-9, fused=True)
