"""Token embeddings in PyTorch, for the input and for the output."""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F


def create_embedding_layer(vocab_size: int, d_model: int) -> nn.Embedding:
    """PyTorch's lookup table, vocab_size rows of d_model numbers, drawn with mean 0 and standard deviation 1/√d_model.

    So a row has a length of about 1, whatever its width.
    """
    for name, size in (("vocab_size", vocab_size), ("d_model", d_model)):
        if size < 1:
            raise ValueError(f"{name} ({size}) must be at least 1")
    layer = nn.Embedding(vocab_size, d_model)
    nn.init.normal_(layer.weight, mean=0.0, std=1 / math.sqrt(d_model))
    return layer


class Embedding(nn.Module):
    """One table for both ends of the model (paper, Section 3.4): ids to vectors by calling it, vectors to `logits`.

    On the way in a row is multiplied by √d_model. An id outside the table is an IndexError; ids are int64 or int32.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = create_embedding_layer(vocab_size, d_model).weight

    def forward(self, ids: Shaped[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """For each id its row, times √d_model."""
        vocab_size, d_model = self.weight.shape
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"ids must be whole numbers (int64 or int32), not {ids.dtype}")
        try:
            rows = F.embedding(ids, self.weight)  # (*B, T) -> (*B, T, D)
        except IndexError:  # asked only now, so that good ids cost nothing; a GPU stops with a message of its own
            wrong = ids[(ids < 0) | (ids >= vocab_size)][0].item()
            raise IndexError(f"id ({wrong}) must be at least 0 and below vocab_size ({vocab_size})") from None
        return rows * math.sqrt(d_model)

    def logits(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """How well each vector fits each row of the same table: x E^T, without scaling and without bias."""
        return F.linear(x, self.weight)

    def extra_repr(self) -> str:
        """The two sizes, for `print(model)`."""
        return "{}, {}".format(*self.weight.shape)
