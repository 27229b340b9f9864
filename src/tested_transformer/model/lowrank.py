"""Two thin matrices beside a linear layer that stays as it is (LoRA)."""

from collections.abc import Sequence
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.checks import at_least, instance, integer, positive


class LowRank(nn.Module):
    """A linear layer plus scale · B A, of which only A and B learn (Hu et al., 2022).

    For W of (d_out, d_in), A is (rank, d_in) and B (d_out, rank): rank · (d_in + d_out)
    numbers instead of d_in · d_out. B begins at zero, so at first nothing changes.
    scale is alpha / rank, and 1 unless alpha is given.
    """

    cacheable = True

    def __init__(
        self, linear: nn.Linear, rank: int, alpha: float | None = None
    ) -> None:
        super().__init__()
        instance(nn.Linear, linear=linear)
        integer(rank=rank)
        at_least(1, rank=rank)
        if rank > min(linear.weight.shape):
            rule = f"must not exceed the smaller side of {tuple(linear.weight.shape)}"
            raise ValueError(f"rank ({rank}) {rule}")
        self.scale = 1.0 if alpha is None else alpha / rank
        positive(scale=self.scale)
        self.linear = linear.requires_grad_(False)
        a = torch.empty(rank, linear.in_features).uniform_(-1, 1)
        a = a * sqrt(3 / linear.in_features)
        self.a = nn.Parameter(a.to(linear.weight))
        self.b = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))

    def forward(self, x: Float[Tensor, "*B Din"]) -> Float[Tensor, "*B Dout"]:
        """The layer, and on top of it x through the two thin matrices."""
        return self.linear(x) + self.scale * (x @ self.a.T) @ self.b.T

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """A plain linear layer that gives the same: its weight is W + scale · B A."""
        w, bias = self.linear.weight, self.linear.bias
        layer = nn.Linear(w.size(1), w.size(0), bias is not None, w.device, w.dtype)
        layer.weight.copy_(w + self.scale * self.b @ self.a)
        if bias is not None:
            layer.bias.copy_(bias)
        return layer


def add_low_rank(
    model: nn.Module,
    rank: int,
    names: Sequence[str] = ("w_q", "w_v"),
    alpha: float | None = None,
) -> list[LowRank]:
    """Put a `LowRank` on each linear layer with one of these names; only they learn.

    Hu et al. chose the matrices of queries and values. Returns those put on.
    """
    found = [
        (parent, name)
        for parent in model.modules()
        for name, child in parent.named_children()
        if name in names and isinstance(child, nn.Linear)
    ]
    lost = sorted(set(names) - {name for _, name in found})
    if lost:
        raise ValueError(f"the model has no linear layer named {', '.join(lost)}")
    model.requires_grad_(False)
    made = [LowRank(getattr(parent, name), rank, alpha) for parent, name in found]
    for (parent, name), layer in zip(found, made, strict=True):
        setattr(parent, name, layer)
    return made


def merge_low_rank(model: nn.Module) -> None:
    """Put a plain linear layer in place of each `LowRank`; the model gives the same.

    All parameters learn from then on.
    """
    for parent in [*model.modules()]:
        for name, child in [*parent.named_children()]:
            if isinstance(child, LowRank):
                setattr(parent, name, child.merged())
    model.requires_grad_(True)


def low_rank_state(model: nn.Module) -> dict[str, Tensor]:
    """The thin matrices alone, by name: all that has to be kept of what was learned."""
    return {
        f"{name}.{letter}": getattr(layer, letter).detach()
        for name, layer in model.named_modules()
        if isinstance(layer, LowRank)
        for letter in ("a", "b")
    }
