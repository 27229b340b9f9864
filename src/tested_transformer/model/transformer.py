"""The whole Transformer in PyTorch: token ids in, logits out."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from tested_transformer.checks import checked
from tested_transformer.config import Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.decoder import Decoder
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.parts import PAPER, Parts
from tested_transformer.model.positions import skip_padding


class Transformer(nn.Module):
    """The encoder-decoder of "Attention Is All You Need" (paper, Figure 1).

    One table of embeddings serves source, target and output (Section 3.4), so both
    languages share one vocabulary. All sizes and settings are in config.
    """

    def __init__(self, config: Config, parts: Parts = PAPER) -> None:
        super().__init__()
        config.check_padding()
        self.config = config
        self.embedding = parts.embedding(config)
        self.positions = parts.positions(config)
        self.encoder = Encoder(config, parts)
        self.decoder = Decoder(config, parts)

    @checked(rules.transformer)
    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Logits for the token after each token of target, which begins with bos_id.

        Sentences are filled up with pad_id, on either side: positions count words
        only. Ids are int64 or int32.
        """
        return self.embedding.logits(self.decode(target, self.encode(source), source))

    @checked(rules.encode)
    def encode(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """One vector for each token of source: the memory."""
        mask = padding_mask(source, self.config.pad_id)
        return self.encoder(self._embed(source), mask)

    @checked(rules.decode)
    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        source: Int[Tensor, "B S"],
    ) -> Float[Tensor, "B T D"]:
        """One vector for each token of target; `embedding.logits` makes logits of them.

        memory is `encode(source)`; source tells which of its rows are padding.
        """
        pad, n = self.config.pad_id, target.size(1)
        self_mask = causal_mask(n, target.device) & padding_mask(target, pad)
        x = self._embed(target)
        return self.decoder(x, memory, self_mask, padding_mask(source, pad))

    def _embed(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Rows of the table, with their positions; padding takes none."""
        offset = skip_padding(ids, self.config.pad_id)
        return self.positions(self.embedding(ids), offset)
