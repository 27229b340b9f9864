"""A decoder alone in PyTorch, as GPT has it: our layers under a causal mask."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from tested_transformer.checks import checked
from tested_transformer.config import Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.attention import CAUSAL
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.parts import PAPER, Parts
from tested_transformer.model.positions import LearnedPositions

GPT = PAPER._replace(
    positions=lambda c: LearnedPositions(c.max_len, c.d_model, c.dropout)
)
"""The parts of a GPT."""


class Gpt(nn.Module):
    """A decoder without a source: it goes on with what it has read (GPT-2, 2019).

    A layer without cross-attention is an encoder layer, so the stack is our `Encoder`
    under a causal mask. GPT-2 puts norms first and one at the end (`norm_first`).
    """

    def __init__(self, config: Config, parts: Parts = GPT) -> None:
        super().__init__()
        self.config = config
        self.tokens = parts.embedding(config)
        self.positions = parts.positions(config)
        self.decoder = Encoder(config, parts)

    @checked(rules.gpt)
    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits for the token after each token, from that one and those before it.

        Padding is on the right, where no token looks, so it needs no mask. (Its id could
        not mark it, since the first token of a text has the same id in GPT-2.)
        """
        return self.tokens.logits(self.decoder(self.embed(ids), CAUSAL))

    def embed(
        self, ids: Int[Tensor, "B T"], offset: int | Int[Tensor, "B #T"] = 0
    ) -> Float[Tensor, "B T D"]:
        """The rows of the tokens, at the positions offset, offset + 1 …"""
        return self.positions(self.tokens.rows(ids), offset)


GPT_2 = Config(
    vocab_size=50_257,
    d_model=768,
    d_ff=3072,
    n_heads=12,
    n_layers=12,
    pad_id=50_256,  # <|endoftext|>, the one special token, has all roles
    bos_id=50_256,
    eos_id=50_256,
    unk_id=50_256,
    activation="gelu_tanh",
    attention_bias=True,
    norm_first=True,
)
"""The smallest of the four published models."""
