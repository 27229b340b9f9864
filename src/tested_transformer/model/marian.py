"""The Transformer as Marian has it: sinusoids in two halves, a bias on each logit, padding as the begin."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.checks import checked, instance
from tested_transformer.config import Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.parts import PAPER
from tested_transformer.model.positions import SinusoidalPositions
from tested_transformer.model.transformer import Transformer


@dataclass(frozen=True)
class MarianConfig(Config):
    """Sizes and settings of a translator of Marian's (Junczys-Dowmunt et al., 2018).

    scaled says whether the rows of the table are multiplied by √d_model on the way in.
    bos_id may be pad_id: a translation begins with padding, which is not hidden there.
    """

    activation: str = "silu"
    attention_bias: bool = True
    scaled: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        instance(bool, scaled=self.scaled)

    def check_padding(self) -> None:
        """Refuse a pad_id that is also an eos_id or unk_id."""
        for name in ("eos_id", "unk_id"):
            if getattr(self, name) == self.pad_id:
                rule = f"must differ from {name}: this model hides tokens with that id"
                raise ValueError(f"pad_id ({self.pad_id}) {rule}")


def in_halves(table: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Columns 0, 2, 4 …, the sines, and then columns 1, 3, 5 …, the cosines."""
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


class HalvedPositions(SinusoidalPositions):
    """`SinusoidalPositions` with all sines first, and then all cosines."""

    cacheable = True

    def __init__(self, max_len: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__(max_len, d_model, dropout)
        self.table = in_halves(self.table)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        super()._apply(fn, recurse)
        self.table = in_halves(self.table)  # made afresh, pair after pair
        return self


class BiasedEmbedding(Embedding):
    """One table for both ends, with a bias on each logit; unscaled on request."""

    cacheable = True
    settings = ("scaled",)

    def __init__(self, vocab_size: int, d_model: int, scaled: bool = True) -> None:
        super().__init__(vocab_size, d_model)
        self.scaled = scaled
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, ids: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """For each id its row, times √d_model if scaled."""
        return super().forward(ids) if self.scaled else self.rows(ids)

    def logits(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """How well each vector fits each row of the table, plus the bias of the row."""
        return F.linear(x, self.weight, self.bias)


MARIAN = PAPER._replace(
    embedding=lambda c: BiasedEmbedding(c.vocab_size, c.d_model, c.scaled),
    positions=lambda c: HalvedPositions(c.max_len, c.d_model, c.dropout),
)
"""The parts of a Marian, made from a `MarianConfig`."""


class Marian(Transformer):
    """A `Transformer` of Marian's parts, which the translators of OPUS-MT are."""

    config_class = MarianConfig
    cacheable = True

    def __init__(self, config: MarianConfig) -> None:
        instance(MarianConfig, config=config)
        super().__init__(config, MARIAN)

    @checked(rules.decode)
    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        source: Int[Tensor, "B S"],
    ) -> Float[Tensor, "B T D"]:
        """As `Transformer.decode`; the first token of target is seen, padding or not.

        So targets are filled up on the right only.
        """
        pad, n = self.config.pad_id, target.size(1)
        begins = torch.arange(n, device=target.device) == 0
        real = padding_mask(target, pad) | begins
        self_mask = causal_mask(n, target.device) & real
        x = self.positions(self.embedding(target))
        return self.decoder(x, memory, self_mask, padding_mask(source, pad))
