"""BERT and RoBERTa in PyTorch: our encoder alone, and what pre-trains it."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.checks import at_least, checked
from tested_transformer.config import Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.addnorm import LayerNorm
from tested_transformer.model.embedding import create_embedding_layer, look_up
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.feedforward import ACTIVATIONS
from tested_transformer.model.linear import create_linear_layer
from tested_transformer.model.masks import padding_mask
from tested_transformer.model.positions import LearnedPositions, skip_padding


class Bert(nn.Module):
    """The encoder alone, on tokens, positions and segments (Devlin et al., 2019).

    n_segments is 1 where there are no segments (RoBERTa). first_position is the row
    of the first token's position; RoBERTa's is pad_id + 1. Without pooled there is no
    `pool`, as in models that were published for their masked words only.
    """

    @checked(rules.bert)
    def __init__(
        self,
        config: Config,
        n_segments: int = 2,
        first_position: int = 0,
        pooled: bool = True,
    ) -> None:
        super().__init__()
        c = self.config = config
        self.first_position, self.n_segments = first_position, n_segments
        self.pooled = pooled
        self.tokens = create_embedding_layer(c.vocab_size, c.d_model)
        self.positions = LearnedPositions(c.max_len, c.d_model)
        self.segments = create_embedding_layer(n_segments, c.d_model)
        self.norm = LayerNorm(c.d_model, c.norm_eps, c.fused)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = Encoder(config)
        if pooled:
            self.pooler = create_linear_layer(c.d_model, c.d_model)

    def forward(
        self, ids: Int[Tensor, "B S"], segments: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S D"]:
        """One vector for each token, which may look left and right, but not at padding.

        segments says of each token whether it is of the first text (0) or the second
        (1); without it all are of the first. Padding takes no position.
        """
        mask = padding_mask(ids, self.config.pad_id)
        return self.encoder(self.embed(ids, segments), mask)

    @checked(rules.bert_embed)
    def embed(
        self, ids: Int[Tensor, "B S"], segments: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S D"]:
        """Three rows added, of token, position and segment; then norm and dropout."""
        segments = torch.zeros_like(ids) if segments is None else segments
        x = look_up(self.tokens, ids, self.config.vocab_size, "id", "vocab_size")
        x = x + look_up(
            self.segments, segments, self.n_segments, "segment", "n_segments"
        )
        offset = self.first_position + skip_padding(ids, self.config.pad_id)
        return self.dropout(self.norm(self.positions(x, offset)))

    def pool(
        self, x: Float[Tensor, "B S D"], ids: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B D"]:
        """One vector for each row of tokens, made from the vector of its first token, [CLS].

        With ids, this is the first token that is not padding; without them, the very first.
        """
        rules.pooled(self)
        if ids is None:
            return self.pooler(x[:, 0]).tanh()
        first = (ids != self.config.pad_id).int().argmax(-1)
        rows = torch.arange(x.size(0), device=x.device)
        return self.pooler(x[rows, first]).tanh()


class DistilBert(Bert):
    """A `Bert` without segments (Sanh et al., 2019), whose `pool` ends with ReLU.

    The ReLU belongs to Hugging Face's classifier; the model itself has no pooler.

    The two numbers say so to `save`, and have to be 0.
    """

    def __init__(
        self,
        config: Config,
        n_segments: int = 0,
        first_position: int = 0,
        pooled: bool = True,
    ) -> None:
        super().__init__(config, 1, first_position, pooled)
        if n_segments or first_position:
            found = f"n_segments ({n_segments}) and first_position ({first_position})"
            raise ValueError(f"{found} must be 0")
        self.n_segments = 0
        del self.segments

    @checked(rules.bert_embed)
    def embed(
        self, ids: Int[Tensor, "B S"], segments: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S D"]:
        """Two rows added, of token and position; then norm and dropout."""
        if segments is not None and segments.any():
            raise ValueError("segments must be None, or all 0: this model has none")
        x = look_up(self.tokens, ids, self.config.vocab_size, "id", "vocab_size")
        offset = skip_padding(ids, self.config.pad_id)
        return self.dropout(self.norm(self.positions(x, offset)))

    def pool(
        self, x: Float[Tensor, "B S D"], ids: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B D"]:
        """As `Bert.pool`, with ReLU instead of tanh."""
        rules.pooled(self)
        first = 0 if ids is None else (ids != self.config.pad_id).int().argmax(-1)
        rows = torch.arange(x.size(0), device=x.device)
        return self.pooler(x[rows, first]).relu()


class WordHead(nn.Module):
    """From a vector to logits: a layer, GELU, norm, then the rows of the token table.

    It shares the table of the input, and has a bias of its own.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.linear = create_linear_layer(config.d_model, config.d_model)
        self.activation = ACTIVATIONS[config.activation]()
        self.norm = LayerNorm(config.d_model, config.norm_eps, config.fused)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self, x: Float[Tensor, "*B D"], table: Float[Tensor, "V D"]
    ) -> Float[Tensor, "*B V"]:
        """How well each token of the table fits, at each vector."""
        x = self.norm(self.activation(self.linear(x)))
        return F.linear(x, table, self.bias)


class Pretraining(nn.Module):
    """A `Bert` with the two heads of its pre-training: masked words, next sentence."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        rules.pooled(bert)
        self.bert = bert
        self.word_head = WordHead(bert.config)
        self.next_head = create_linear_layer(bert.config.d_model, 2)

    @checked(rules.pretraining)
    def forward(
        self,
        ids: Int[Tensor, "B S"],
        chosen: Bool[Tensor, "B S"],
        segments: Int[Tensor, "B S"] | None = None,
    ) -> tuple[Float[Tensor, "N V"], Float[Tensor, "B 2"]]:
        """Logits for the N chosen places only, and for two cases of each row of ids.

        The two are, as published: the second text follows the first, or it does not.
        """
        x = self.bert(ids, segments)
        words = self.word_head(x[chosen], self.bert.tokens.weight)
        return words, self.next_head(self.bert.pool(x, ids))


class MaskedLM(nn.Module):
    """A `Bert` with the word head alone: what may stand at each place."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert
        self.word_head = WordHead(bert.config)

    def forward(
        self, ids: Int[Tensor, "B S"], segments: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S V"]:
        """Logits for the token at each place, of which some are masked."""
        return self.word_head(self.bert(ids, segments), self.bert.tokens.weight)


class SentenceBert(nn.Module):
    """A `Bert` that gives one vector for a text (Reimers & Gurevych, 2019).

    pooling is "mean" (of the vectors of all tokens), "cls" (the first one's) or "max"
    (the largest number in each column). With normalised its length is 1, and the
    product of two is their cosine. max_tokens is the length that it was made for:
    all positions unless given.
    """

    @checked(rules.sentence_bert)
    def __init__(
        self,
        bert: Bert,
        pooling: str = "mean",
        normalised: bool = True,
        max_tokens: int | None = None,
    ) -> None:
        super().__init__()
        self.bert, self.pooling, self.normalised = bert, pooling, normalised
        self.max_tokens = max_tokens or bert.config.max_len - bert.first_position

    def forward(
        self, ids: Int[Tensor, "B S"], segments: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B D"]:
        """A vector for each row of ids; padding has no part in it."""
        x, real = self.bert(ids, segments), (ids != self.bert.config.pad_id)[..., None]
        if self.pooling == "cls":
            out = x.take_along_dim(real.int().argmax(1, keepdim=True), 1)[:, 0]
        elif self.pooling == "max":
            out = x.masked_fill(~real, -torch.inf).amax(1)
        else:
            out = (x * real).sum(1) / real.sum(1)
        return F.normalize(out, dim=-1) if self.normalised else out


class Classifier(nn.Module):
    """A `Bert` with one linear map on its pooled vector, which begins at zero."""

    def __init__(self, bert: Bert, n_classes: int) -> None:
        super().__init__()
        at_least(2, n_classes=n_classes)
        rules.pooled(bert)
        self.bert = bert
        like = bert.pooler.weight
        self.head = nn.Linear(bert.config.d_model, n_classes).to(like)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(
        self, ids: Int[Tensor, "B S"], segments: Int[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B C"]:
        """A logit for each class."""
        return self.head(self.bert.pool(self.bert(ids, segments), ids))


BERT_BASE = Config(
    vocab_size=30_522,
    d_model=768,
    d_ff=3072,
    n_heads=12,
    n_layers=12,
    max_len=512,
    pad_id=0,
    bos_id=101,  # [CLS]
    eos_id=102,  # [SEP]
    unk_id=100,
    activation="gelu",
    attention_bias=True,
    norm_eps=1e-12,
)
"""The smaller of the two published models, for lower-case English."""

ROBERTA_BASE = BERT_BASE.replace(
    vocab_size=50_265,
    max_len=514,  # 512 tokens, and two rows before the first
    pad_id=1,
    bos_id=0,
    eos_id=2,
    unk_id=3,
    norm_eps=1e-5,
)
"""RoBERTa's counterpart, to be used with n_segments=1 and first_position=2."""
