"""The encoder in PyTorch: a layer and the stack."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.config import Config
from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.heads import MultiHeadAttention


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside `AddNorm` (paper, Section 3.1)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attention = create_attention(config)
        self.addnorm_1 = create_addnorm(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation)
        self.addnorm_2 = create_addnorm(config)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Tensor | None = None
    ) -> Float[Tensor, "B S D"]:
        """One vector for each token; mask says which keys a query may look at."""
        return self.steps(x, lambda x: self.self_attention(x, x, x, mask)[0])

    def steps(
        self, x: Float[Tensor, "B S D"], look: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B S D"]:
        """Both sub-layers. The attention is a function of the rows that ask."""
        return self.addnorm_2(self.addnorm_1(x, look), self.feed_forward)


class Encoder(nn.Module):
    """n_layers encoder layers, each with its own parameters.

    The paper ends there; with `final_norm` one more norm follows (norm-first needs it).
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(config) for _ in range(config.n_layers)
        )
        self.norm = create_final_norm(config)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Tensor | None = None
    ) -> Float[Tensor, "B S D"]:
        """All layers one after the other, under the same mask."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


def create_attention(config: Config) -> MultiHeadAttention:
    """Multi-head attention of the sizes in config."""
    c = config
    return MultiHeadAttention(
        c.d_model, c.n_heads, c.d_k, c.d_v, c.attention_bias, fused=c.fused
    )


def create_addnorm(config: Config) -> AddNorm:
    """The frame around a sub-layer as config wants it."""
    c = config
    return AddNorm(c.d_model, c.dropout, c.norm_first, c.norm_eps, c.fused)


def create_final_norm(config: Config) -> nn.Module:
    """The norm after the last layer, or nothing (nn.Identity, without parameters)."""
    if not config.final_norm:
        return nn.Identity()
    return LayerNorm(config.d_model, config.norm_eps, config.fused)
