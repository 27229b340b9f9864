"""The Vision Transformer in PyTorch: our encoder on the patches of a picture."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.checks import at_least, checked, integer
from tested_transformer.config import BASE, Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.linear import create_linear_layer
from tested_transformer.model.positions import LearnedPositions


@checked(rules.patches)
def patches(images: Float[Tensor, "B C H W"], size: int) -> Float[Tensor, "B N P"]:
    """Cut images into squares, row by row, and lay the numbers of each in one row.

    size, the side of a square in pixels, must divide height and width.
    """
    batch, channels, height, width = images.shape
    down, across = height // size, width // size
    x = images.reshape(batch, channels, down, size, across, size)
    x = x.permute(0, 2, 4, 1, 3, 5)  # (B, C, R, s, K, s) -> (B, R, K, C, s, s)
    return x.reshape(batch, down * across, channels * size * size)


class VisionTransformer(nn.Module):
    """The encoder on patches, after a class token (Dosovitskiy et al., 2021).

    config.max_len counts the patches and the class token: pictures are squares of
    max_len - 1 patches, unless each call says by grid that they are not. There is no
    table of tokens, so config.vocab_size and the special ids have no part in it.
    """

    def __init__(
        self, config: Config, size: int, n_classes: int, channels: int = 3
    ) -> None:
        super().__init__()
        integer(size=size, channels=channels, n_classes=n_classes)
        at_least(1, size=size, channels=channels)
        at_least(2, n_classes=n_classes)
        c = self.config = config
        self.size, self.n_classes, self.channels = size, n_classes, channels
        self.embedding = create_linear_layer(channels * size * size, c.d_model)
        self.class_token = nn.Parameter(torch.zeros(c.d_model))
        self.positions = LearnedPositions(c.max_len, c.d_model, c.dropout)
        self.encoder = Encoder(config)
        self.head = create_linear_layer(c.d_model, n_classes)

    def forward(
        self, images: Float[Tensor, "B C H W"], grid: tuple[int, int] | None = None
    ) -> Float[Tensor, "B K"]:
        """A logit for each class, from the vector of the class token; see `embed`."""
        return self.head(self.encoder(self.embed(images, grid))[:, 0])

    @checked(rules.patches_embed)
    def embed(
        self, images: Float[Tensor, "B C H W"], grid: tuple[int, int] | None = None
    ) -> Float[Tensor, "B T D"]:
        """The class token, then a vector for each patch; positions are added to all.

        Images of another size or shape would get positions of other places: they are
        refused unless grid, their (rows, columns) of patches, says that they are meant.
        """
        x = patches(images, self.size)
        first = self.class_token.expand(x.size(0), 1, -1)
        return self.positions(torch.cat([first, self.embedding(x)], dim=1))


VIT_BASE = BASE.replace(
    d_model=768,
    d_ff=3072,
    n_heads=12,
    n_layers=12,
    max_len=14 * 14 + 1,
    activation="gelu",
    attention_bias=True,
    norm_first=True,
    norm_eps=1e-6,
)
"""ViT-Base for 224 × 224 pixels and size=16."""
