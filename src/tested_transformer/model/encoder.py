"""The encoder in PyTorch: a layer and the stack."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.config import Config
from tested_transformer.model.attention import Mask
from tested_transformer.model.parts import PAPER, Parts


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside `AddNorm` (paper, Section 3.1)."""

    def __init__(self, config: Config, parts: Parts = PAPER) -> None:
        super().__init__()
        self.self_attention = parts.attention(config)
        self.addnorm_1 = parts.addnorm(config)
        self.feed_forward = parts.feed_forward(config)
        self.addnorm_2 = parts.addnorm(config)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Mask = None
    ) -> Float[Tensor, "B S D"]:
        """One vector for each token; mask says which keys a query may look at."""
        return self.steps(x, lambda x: self.self_attention(x, x, x, mask)[0])

    def steps(
        self, x: Float[Tensor, "B S D"], self_attention: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B S D"]:
        """Both sub-layers. The attention is a function of the rows that ask."""
        return self.addnorm_2(self.addnorm_1(x, self_attention), self.feed_forward)


class Encoder(nn.Module):
    """n_layers encoder layers, each with its own parameters.

    The paper ends there; with `final_norm` one more norm follows (norm-first needs it).
    """

    def __init__(self, config: Config, parts: Parts = PAPER) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(config, parts) for _ in range(config.n_layers)
        )
        self.norm = parts.final_norm(config)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Mask = None
    ) -> Float[Tensor, "B S D"]:
        """All layers one after the other, under the same mask."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
