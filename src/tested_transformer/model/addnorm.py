"""Layer normalisation and the residual connection in PyTorch."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.checks import at_least, checked, positive, probability
from tested_transformer.model import _checks as rules


def layer_norm(
    x: Float[Tensor, "*B D"],
    weight: Float[Tensor, "D"],
    bias: Float[Tensor, "D"],
    eps: float = 1e-5,
) -> Float[Tensor, "*B D"]:
    """Each row brought to mean 0 and variance 1, then times weight, plus bias.

    The variance divides by D (Ba et al., 2016); eps is inside the root, as in their program.
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias


class LayerNorm(nn.Module):
    """Layer normalisation over rows of width d_model, its scale and shift learned.

    With fused, PyTorch's kernel computes `layer_norm`.
    """

    def __init__(self, d_model: int, eps: float = 1e-5, fused: bool = True) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        positive(eps=eps)
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps, self.fused = eps, fused

    @checked(rules.layer_norm)
    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Each row by itself."""
        if self.fused:
            return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        return layer_norm(x, self.weight, self.bias, self.eps)


class AddNorm(nn.Module):
    """The frame around each sub-layer: dropout, residual, norm (paper, 3.1 and 5.4).

    The paper's order is norm(x + dropout(sublayer(x))). With norm_first it is
    x + dropout(sublayer(norm(x))).
    """

    def __init__(
        self,
        d_model: int,
        dropout: float = 0.0,
        norm_first: bool = False,
        eps: float = 1e-5,
        fused: bool = True,
    ) -> None:
        super().__init__()
        probability(dropout=dropout)
        self.norm: nn.Module = LayerNorm(d_model, eps, fused)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self,
        x: Float[Tensor, "*B D"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "*B D"]:
        """Run sublayer, a function of one tensor that keeps its shape, in the frame."""
        if self.norm_first:
            return x + self.dropout(_run(sublayer, self.norm(x)))
        return self.norm(x + self.dropout(_run(sublayer, x)))


def _run(sublayer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    y = sublayer(x)
    if not isinstance(y, Tensor):
        raise TypeError(f"sublayer must return a tensor, not a {type(y).__name__}")
    if y.shape != x.shape:  # it would be broadcast silently
        shapes = f"{tuple(y.shape)} and {tuple(x.shape)}"
        raise ValueError(f"what sublayer returns must have the shape of x: {shapes}")
    return y
