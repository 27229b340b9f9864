"""Token embeddings in PyTorch, for the input and for the output."""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.checks import at_least, ids_within, instance


def create_embedding_layer(vocab_size: int, d_model: int) -> nn.Embedding:
    """PyTorch's lookup table: vocab_size rows of d_model numbers.

    They are drawn around 0 with standard deviation 1/√d_model, so a row has a
    length of about 1, whatever its width.
    """
    at_least(1, vocab_size=vocab_size, d_model=d_model)
    blank = torch.empty(vocab_size, d_model)
    if blank.is_meta:  # to draw there, PyTorch loads its compiler, for a second
        return nn.Embedding(vocab_size, d_model, _weight=blank)
    layer = nn.Embedding(vocab_size, d_model)
    nn.init.normal_(layer.weight, mean=0.0, std=1 / math.sqrt(d_model))
    return layer


class Embedding(nn.Module):
    """One table for both ends of the model (paper, Section 3.4).

    Called with ids it gives their rows times √d_model; `logits` compares vectors
    with all rows. Ids are int64 or int32; on the CPU one outside is an IndexError.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = create_embedding_layer(vocab_size, d_model).weight

    def forward(self, ids: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """For each id its row, times √d_model."""
        return self.rows(ids) * math.sqrt(self.weight.size(1))  # (*B, T) -> (*B, T, D)

    def rows(self, ids: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """The rows as they are in the table."""
        table = partial(F.embedding, weight=self.weight)
        return look_up(table, ids, len(self.weight), "id", "vocab_size")

    def logits(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """How well each vector fits each row of the table, unscaled: x Eᵀ."""
        return F.linear(x, self.weight)  # (*B, D) and (V, D) -> (*B, V)

    def extra_repr(self) -> str:
        """Both sizes, for `print(model)`."""
        return "{}, {}".format(*self.weight.shape)


def look_up(
    table: Callable[[Tensor], Tensor],
    ids: Int[Tensor, "*B"],
    size: int,
    name: str,
    what: str,
) -> Float[Tensor, "*B D"]:
    """The rows that table gives for ids, which are called name in errors, size what."""
    instance(Tensor, **{f"{name}s": ids})
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name}s must be int64 or int32, not {ids.dtype}")
    try:
        return table(ids)
    except IndexError:
        ids_within(ids, size, name, what)
        raise
