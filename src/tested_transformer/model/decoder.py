"""The decoder in PyTorch: a layer and the stack."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.checks import checked
from tested_transformer.config import Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.parts import PAPER, Parts


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, feed-forward (Section 3.1).

    Each of the three is wrapped in an `AddNorm`.
    """

    def __init__(self, config: Config, parts: Parts = PAPER) -> None:
        super().__init__()
        self.d_model = config.d_model
        self.self_attention = parts.attention(config)
        self.addnorm_1 = parts.addnorm(config)
        self.cross_attention = parts.cross_attention(config)
        self.addnorm_2 = parts.addnorm(config)
        self.feed_forward = parts.feed_forward(config)
        self.addnorm_3 = parts.addnorm(config)

    @checked(rules.decoder_layer)
    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        self_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Float[Tensor, "B T D"]:
        """One vector for each token; memory is what the encoder returned.

        self_mask hides the future, memory_mask the padding of the source.
        """
        return self.steps(
            x,
            lambda x: self.self_attention(x, x, x, self_mask)[0],
            lambda x: self.cross_attention(x, memory, memory, memory_mask)[0],
        )

    def steps(
        self,
        x: Float[Tensor, "B T D"],
        self_attention: Callable[[Tensor], Tensor],
        cross_attention: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "B T D"]:
        """The three sub-layers. Both attentions are functions of the rows that ask.

        In `forward` they compute keys and values; in decoding a cache has them.
        """
        x = self.addnorm_1(x, self_attention)
        x = self.addnorm_2(x, cross_attention)
        return self.addnorm_3(x, self.feed_forward)


class Decoder(nn.Module):
    """n_layers decoder layers, all of them looking at the same memory.

    With `final_norm` one more norm follows the last layer.
    """

    def __init__(self, config: Config, parts: Parts = PAPER) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(config, parts) for _ in range(config.n_layers)
        )
        self.norm = parts.final_norm(config)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        self_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Float[Tensor, "B T D"]:
        """All layers one after the other, under the same masks."""
        for layer in self.layers:
            x = layer(x, memory, self_mask, memory_mask)
        return self.norm(x)
