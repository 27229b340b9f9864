"""Token embeddings in PyTorch, for the input and for the output."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


def create_embedding_layer(vocab_size: int, d_model: int) -> nn.Embedding:
    """PyTorch's lookup table: vocab_size rows of d_model numbers.

    They are drawn around 0 with standard deviation 1/√d_model, so that a row
    has a length of about 1, whatever its width.
    """
    for name, size in (("vocab_size", vocab_size), ("d_model", d_model)):
        if size < 1:
            raise ValueError(f"{name} ({size}) must be at least 1")
    layer = nn.Embedding(vocab_size, d_model)
    nn.init.normal_(layer.weight, mean=0.0, std=1 / math.sqrt(d_model))
    return layer


class Embedding(nn.Module):
    """One table for both ends of the model (paper, Section 3.4).

    Called with ids it gives their rows times √d_model; `logits` compares vectors
    with all rows. Ids are int64 or int32; one outside the table is an IndexError.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = create_embedding_layer(vocab_size, d_model).weight

    def forward(self, ids: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """For each id its row, times √d_model."""
        vocab_size, d_model = self.weight.shape
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"ids must be int64 or int32, not {ids.dtype}")
        try:
            rows = F.embedding(ids, self.weight)  # (*B, T) -> (*B, T, D)
        except IndexError:  # looked for only now, so that good ids cost nothing
            wrong = ids[(ids < 0) | (ids >= vocab_size)][0].item()
            rule = f"must be at least 0 and below vocab_size ({vocab_size})"
            raise IndexError(f"id ({wrong}) {rule}") from None
        return rows * math.sqrt(d_model)

    def logits(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """How well each vector fits each row of the table, unscaled: x Eᵀ."""
        return F.linear(x, self.weight)

    def extra_repr(self) -> str:
        """Both sizes, for `print(model)`."""
        return "{}, {}".format(*self.weight.shape)
