"""Positions in PyTorch: fixed sinusoids or learned rows, added to embedded tokens."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tested_transformer.checks import at_least, checked, probability
from tested_transformer.model import _checks as rules


def sinusoids(
    n: int, d_model: int, dtype: torch.dtype | None = None
) -> Float[Tensor, "{n} {d_model}"]:
    """Row pos holds the sine and the cosine of pos · ω, pair after pair.

    Pair i, columns 2i and 2i+1, has ω = 10000^(-2i / d_model) (paper, Section 3.5).
    Positions are 0 … n-1. An odd width ends with a lone sine.
    Calculated in float64, then rounded once to dtype (PyTorch's default if not given).
    """
    at_least(1, n=n, d_model=d_model)
    position = torch.arange(n, dtype=torch.float64, device="cpu")
    column = torch.arange(d_model, dtype=torch.float64, device="cpu")
    omega = 10000.0 ** (-2 * (column // 2) / d_model)
    angles = position[:, None] * omega  # (n, 1) and (d_model,) -> (n, d_model)
    table = torch.where(column % 2 == 0, angles.sin(), angles.cos())
    return table.to(torch.get_default_device(), dtype or torch.get_default_dtype())


def skip_padding(ids: Int[Tensor, "*B T"], pad_id: int) -> Int[Tensor, "*B T"]:
    """The offset of each token that keeps padding from taking a position.

    For a word it is minus the number of padding tokens before it, so only words are
    counted. Padding itself stays where it is.
    """
    padding = ids == pad_id
    return -padding.cumsum(-1) * ~padding


class SinusoidalPositions(nn.Module):
    """Add sinusoids to embedded tokens, then drop out (paper, Sections 3.5 and 5.4).

    max_len is the number of positions. The table is not learned and not saved.
    """

    def __init__(self, max_len: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)
        self.dropout = _dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*B T D"], offset: int | Int[Tensor, "*B T"] = 0
    ) -> Float[Tensor, "*B T D"]:
        """Token t of each sentence gets row offset + t.

        offset is above 0 where earlier tokens are cached, and each token has its own
        where padding is left out of the count (`skip_padding`).
        """
        return self.dropout(x + _rows(self.table, x, offset))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        # Behind .to(), .double() and the like: made afresh, rounded once from float64.
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call] # PyTorch's
        fresh = sinusoids(len(self.table), self.table.size(1), self.table.dtype)
        self.table = fresh.to(self.table.device)
        return self


class LearnedPositions(nn.Module):
    """Add one learned row per position, then drop out (paper, Table 3, row E).

    Rows begin as normal numbers with standard deviation 1 / √d_model; the paper names
    no start.
    """

    def __init__(self, max_len: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        at_least(1, max_len=max_len, d_model=d_model)
        rows = torch.empty(max_len, d_model)
        if not rows.is_meta:  # to draw there, PyTorch loads its compiler, for a second
            rows = torch.randn(max_len, d_model) * d_model**-0.5
        self.table = nn.Parameter(rows)
        self.dropout = _dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*B T D"], offset: int | Int[Tensor, "*B T"] = 0
    ) -> Float[Tensor, "*B T D"]:
        """Token t of each sentence gets row offset + t.

        offset is above 0 where earlier tokens are cached, and each token has its own
        where padding is left out of the count (`skip_padding`).
        """
        return self.dropout(x + _rows(self.table, x, offset))


@checked(rules.positions)
def _rows(table: Tensor, x: Tensor, offset: int | Tensor) -> Tensor:
    """The rows for the tokens of x. (A slice beyond the end would come back short.)"""
    length = x.size(-2)
    if isinstance(offset, Tensor):
        return table[torch.arange(length, device=table.device) + offset]
    return table[offset : offset + length]


def _dropout(p: float) -> nn.Dropout:
    probability(dropout=p)
    return nn.Dropout(p)
