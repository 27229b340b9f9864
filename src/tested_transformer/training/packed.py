"""The same model without calculating padding: only for speed, and tested to be equal.

Everything but attention treats each token by itself. So all real tokens of a batch are
put into one long list, (N, D), and only attention lays them out in sentences again.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from tested_transformer.model.attention import fused_attention
from tested_transformer.model.heads import MultiHeadAttention, join_heads, split_heads
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.transformer import Transformer


@dataclass(frozen=True)
class Layout:
    """Where the real tokens of a batch stand."""

    batch: int
    length: int
    places: Int[Tensor, "N"]  # in the batch laid out as one row of sentences

    @property
    def full(self) -> bool:
        """Whether there is no padding, as in most batches of about equal lengths."""
        return len(self.places) == self.batch * self.length

    @classmethod
    def of(cls, real: Bool[Tensor, "B T"]) -> "Layout":
        """The layout of a batch, from where it is no padding."""
        return cls(*real.shape, real.flatten().nonzero().squeeze(1))

    def pack(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "N D"]:
        """The rows of real tokens."""
        rows = x.flatten(0, 1)
        return rows if self.full else rows.index_select(0, self.places)

    def unpack(self, rows: Float[Tensor, "N D"]) -> Float[Tensor, "B T D"]:
        """Rows back in their sentences, with zeros for padding."""
        if self.full:
            return rows.unflatten(0, (self.batch, -1))
        empty = rows.new_zeros(self.batch * self.length, rows.size(-1))
        return empty.index_copy(0, self.places, rows).unflatten(0, (self.batch, -1))


def decode_packed(
    model: Transformer, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> Float[Tensor, "N D"]:
    """The rows of `model.decode(target, model.encode(source), source)` that are real.

    They come sentence by sentence, as `rows[target != pad_id]` would.
    """
    pad = model.config.pad_id
    here, there = Layout.of(target != pad), Layout.of(source != pad)
    source_mask = padding_mask(source, pad)
    target_mask = causal_mask(target.size(1), target.device) & padding_mask(target, pad)
    x = there.pack(model.positions(model.embedding(source)))
    for layer in model.encoder.layers:
        x = layer.addnorm_1(
            x,
            lambda x, heads=layer.self_attention: attend(
                heads, x, x, there, there, source_mask
            ),
        )
        x = layer.addnorm_2(x, layer.feed_forward)
    memory = model.encoder.norm(x)
    x = here.pack(model.positions(model.embedding(target)))
    for layer in model.decoder.layers:
        x = layer.addnorm_1(
            x,
            lambda x, heads=layer.self_attention: attend(
                heads, x, x, here, here, target_mask
            ),
        )
        x = layer.addnorm_2(
            x,
            lambda x, heads=layer.cross_attention: attend(
                heads, x, memory, here, there, source_mask
            ),
        )
        x = layer.addnorm_3(x, layer.feed_forward)
    return model.decoder.norm(x)


def attend(
    heads: MultiHeadAttention,
    x: Float[Tensor, "N D"],
    memory: Float[Tensor, "M D"],
    here: Layout,
    there: Layout,
    mask: Bool[Tensor, "..."],
) -> Float[Tensor, "N D"]:
    """Multi-head attention from rows x, laid out as `here`, to rows memory."""
    q, k, v = (
        split_heads(layout.unpack(project(rows)), heads.n_heads)
        for project, rows, layout in (
            (heads.w_q, x, here),
            (heads.w_k, memory, there),
            (heads.w_v, memory, there),
        )
    )
    dropout = heads.dropout if heads.training else 0.0
    out = fused_attention(q, k, v, mask, dropout)
    return heads.w_o(here.pack(join_heads(out)))
