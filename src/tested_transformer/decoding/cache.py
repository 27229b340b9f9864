"""The key-value cache: what the decoder has calculated once, kept for the next token."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from tested_transformer.model.attention import attention, fused_attention
from tested_transformer.model.decoder import DecoderLayer
from tested_transformer.model.heads import MultiHeadAttention, join_heads, split_heads
from tested_transformer.model.masks import padding_mask
from tested_transformer.model.transformer import Transformer


class Cache:
    """A decoder at work, one token after the other: a step costs one token, not all.

    It gives what `model.decode` gives, for up to max_len tokens. With width above 1,
    that many tokens are written side by side for each sentence. memory is
    `model.encode(source)`; the model should be in evaluation mode.
    """

    def __init__(
        self,
        model: Transformer,
        memory: Float[Tensor, "B S D"],
        source: Int[Tensor, "B S"],
        max_len: int,
        width: int = 1,
    ) -> None:
        self.model, self.length = model, 0
        self.source_mask = padding_mask(source, model.config.pad_id)
        self.max_len, self.width, slots = max_len, width, max_len * width
        layers = model.decoder.layers
        self.layers = [LayerCache(layer, memory, slots) for layer in layers]

    def step(
        self,
        tokens: Int[Tensor, "B W"],
        mask: Bool[Tensor, "B 1 W N"] | None = None,
    ) -> Float[Tensor, "B W V"]:
        """Logits for the token after each of tokens, all at the next position.

        They take the next W slots; mask says which of the N slots so far each may see,
        its own included. Without it, all: right where W is 1. A pad_id is not hidden.
        """
        self._check(tokens)
        model = self.model
        x = model.embedding(tokens).unsqueeze(2)  # (B, W, D) -> (B, W, 1, D)
        x = model.positions(x, offset=self.length).squeeze(2)
        for layer in self.layers:
            x = layer.step(x, mask, self.source_mask)
        self.length += 1
        return model.embedding.logits(model.decoder.norm(x))

    def keep(self, rows: Int[Tensor, "K"]) -> None:
        """Go on with these sentences of the batch only, in this order."""
        self.source_mask = self.source_mask[rows]
        for layer in self.layers:
            layer.keep(rows)

    def _check(self, tokens: Tensor) -> None:
        expected = (len(self.source_mask), self.width)
        if tokens.shape != expected:
            rule = f"{expected}: sentences, and tokens side by side"
            raise ValueError(f"tokens of shape {tuple(tokens.shape)} must be {rule}")
        if self.length == self.max_len:
            raise ValueError(f"the cache is full: max_len ({self.max_len}) tokens")


class LayerCache:
    """Keys and values of one decoder layer: of the memory, and of tokens so far."""

    def __init__(
        self, layer: DecoderLayer, memory: Float[Tensor, "B S D"], slots: int
    ) -> None:
        heads = layer.cross_attention
        self.layer, self.used = layer, 0
        keys, values = heads.w_k(memory), heads.w_v(memory)
        # Contiguous, because every step reads all of them
        self.memory_keys = split_heads(keys, heads.n_heads).contiguous()
        self.memory_values = split_heads(values, heads.n_heads).contiguous()
        batch, n_heads, _, d_k = self.memory_keys.shape
        d_v = self.memory_values.size(-1)
        self.keys = self.memory_keys.new_empty(batch, n_heads, slots, d_k)
        self.values = self.memory_values.new_empty(batch, n_heads, slots, d_v)

    def step(
        self, x: Float[Tensor, "B W D"], mask: Tensor | None, source_mask: Tensor
    ) -> Float[Tensor, "B W D"]:
        """The layer for new tokens only. What they see of the others lies here."""
        layer = self.layer
        x = layer.addnorm_1(x, lambda x: self.look_back(x, mask))
        x = layer.addnorm_2(x, lambda x: self.look_across(x, source_mask))
        return layer.addnorm_3(x, layer.feed_forward)

    def look_back(
        self, x: Float[Tensor, "B W D"], mask: Tensor | None
    ) -> Float[Tensor, "B W D"]:
        """Self-attention: put the new keys and values into slots, then look at them."""
        heads, start, end = self.layer.self_attention, self.used, self.used + x.size(1)
        self.keys[:, :, start:end] = split_heads(heads.w_k(x), heads.n_heads)
        self.values[:, :, start:end] = split_heads(heads.w_v(x), heads.n_heads)
        self.used = end
        return attend(heads, x, self.keys[:, :, :end], self.values[:, :, :end], mask)

    def look_across(
        self, x: Float[Tensor, "B W D"], source_mask: Tensor
    ) -> Float[Tensor, "B W D"]:
        """Attention to the memory, whose keys and values never change."""
        heads = self.layer.cross_attention
        return attend(heads, x, self.memory_keys, self.memory_values, source_mask)

    def keep(self, rows: Int[Tensor, "K"]) -> None:
        """Go on with these sentences only; what is not yet written is not copied."""
        self.memory_keys = self.memory_keys[rows]
        self.memory_values = self.memory_values[rows]
        self.keys, self.values = (
            _kept(x, rows, self.used) for x in (self.keys, self.values)
        )


def attend(
    heads: MultiHeadAttention,
    x: Float[Tensor, "B W D"],
    k: Float[Tensor, "B H N Dk"],
    v: Float[Tensor, "B H N Dv"],
    mask: Tensor | None,
) -> Float[Tensor, "B W D"]:
    """Multi-head attention whose keys and values are split into heads already."""
    q = split_heads(heads.w_q(x), heads.n_heads)
    if heads.fused:
        return heads.w_o(join_heads(fused_attention(q, k, v, mask)))
    return heads.w_o(join_heads(attention(q, k, v, mask)[0]))


def _kept(x: Tensor, rows: Tensor, used: int) -> Tensor:
    fresh = x.new_empty(len(rows), *x.shape[1:])
    fresh[:, :, :used] = x[rows, :, :used]
    return fresh
