"""The key-value cache: what the decoder has computed once, kept for the next token."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.decoding.recompute import Recompute, check_step, passed_by
from tested_transformer.model.decoder import DecoderLayer
from tested_transformer.model.embedding import look_up
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.masks import causal_mask, padding_mask
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
        if other := passed_by(model):
            rule = "its class must say cacheable = True; or take `stepper`"
            raise ValueError(f"{other} may need more than a token: {rule}")
        self.model, self.length = model, 0
        self.source_mask = padding_mask(source, model.config.pad_id)
        self.max_len, self.width, slots = max_len, width, max_len * width
        layers: list[Any] = [*model.decoder.layers]
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
        check_step(
            tokens, (len(self.source_mask), self.width), self.length, self.max_len
        )
        model = self.model
        x = apart(model.embedding(tokens))  # (B, W, D) -> (B*W, 1, D)
        x = model.positions(x, offset=self.length).reshape(*tokens.shape, -1)
        for layer in self.layers:
            x = layer.step(x, self.length, mask, self.source_mask)
        self.length += 1
        return model.embedding.logits(model.decoder.norm(x))

    def keep(self, rows: Int[Tensor, "K"]) -> None:
        """Go on with these sentences of the batch only, in this order."""
        self.source_mask = self.source_mask[rows]
        for layer in self.layers:
            layer.keep(rows)


class LayerCache:
    """Keys and values of one decoder layer: of the memory, and of tokens so far."""

    def __init__(
        self, layer: DecoderLayer, memory: Float[Tensor, "B S D"], slots: int
    ) -> None:
        self.layer, self.slots, self.used = layer, slots, 0
        heads = layer.cross_attention
        # Contiguous, because every step reads all of them
        self.memory_keys = heads.keys(memory).contiguous()
        self.memory_values = heads.values(memory).contiguous()
        self.keys = self.values = memory.new_empty(len(memory), 0, 0, 0)

    def step(
        self,
        x: Float[Tensor, "B W D"],
        place: int,
        mask: Tensor | None,
        source_mask: Tensor,
    ) -> Float[Tensor, "B W D"]:
        """The layer for new tokens only, all of them at one place of their sentences."""
        return self.layer.steps(
            x,
            lambda x: self.self_attention(x, place, mask),
            lambda x: self.cross_attention(x, place, source_mask),
        )

    def self_attention(
        self, x: Float[Tensor, "B W D"], place: int, mask: Tensor | None
    ) -> Float[Tensor, "B W D"]:
        """Self-attention: put the new keys and values into slots, then look at them."""
        heads, start, end = self.layer.self_attention, self.used, self.used + x.size(1)
        alone = apart(x)
        keys = side_by_side(heads.keys(alone, offset=place), x)
        values = side_by_side(heads.values(alone), x)
        if not start:  # the first tokens tell the sizes
            self.keys, self.values = (_room(new, self.slots) for new in (keys, values))
        self.keys[:, :, start:end], self.values[:, :, start:end] = keys, values
        self.used = end
        queries = side_by_side(heads.queries(alone, offset=place), x)
        keys, values = self.keys[:, :, :end], self.values[:, :, :end]
        return heads.attend(queries, keys, values, mask)[0]

    def cross_attention(
        self, x: Float[Tensor, "B W D"], place: int, source_mask: Tensor
    ) -> Float[Tensor, "B W D"]:
        """Attention to the memory, whose keys and values never change."""
        heads = self.layer.cross_attention
        queries = side_by_side(heads.queries(apart(x), offset=place), x)
        keys, values = self.memory_keys, self.memory_values
        return heads.attend(queries, keys, values, source_mask)[0]

    def keep(self, rows: Int[Tensor, "K"]) -> None:
        """Go on with these sentences only; what is not yet written is not copied."""
        self.memory_keys = self.memory_keys[rows]
        self.memory_values = self.memory_values[rows]
        self.keys, self.values = (
            _kept(x, rows, self.used) for x in (self.keys, self.values)
        )


class GptCache:
    """A GPT at work: of a text that grows, it reads what is new and no token twice.

    It gives what the model gives. The model should be in evaluation mode.
    """

    def __init__(self, model: Gpt) -> None:
        if other := passed_by(model):
            raise ValueError(f"{other} may need the whole text: take `reader`")
        self.model, self.length = model, 0
        self.layers: list[Any] = [*model.decoder.layers]
        self.keys_values: list[tuple[Tensor, Tensor] | None] = [None] * len(self.layers)

    def read(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B N V"]:
        """Logits for the token after each new token; ids begin with the earlier ones."""
        model, start, end = self.model, self.length, ids.size(1)
        mask = causal_mask(end, ids.device)[start:]
        size = model.config.vocab_size
        x = look_up(model.tokens, ids[:, start:], size, "id", "vocab_size")
        x = model.positions(x, offset=start)
        for place, layer in enumerate(self.layers):
            heads = layer.self_attention
            x = layer.steps(x, partial(self.self_attention, place, heads, mask))
        self.length = end
        return F.linear(model.decoder.norm(x), model.tokens.weight)

    def self_attention(
        self,
        place: int,
        heads: MultiHeadAttention,
        mask: Bool[Tensor, "N T"],
        x: Float[Tensor, "B N D"],
    ) -> Float[Tensor, "B N D"]:
        """Self-attention of the layer at this place: only new tokens ask."""
        start = self.length
        k, v = heads.keys(x, offset=start), heads.values(x)
        if earlier := self.keys_values[place]:
            k, v = (torch.cat(both, 2) for both in zip(earlier, (k, v), strict=True))
        self.keys_values[place] = k, v
        return heads.attend(heads.queries(x, offset=start), k, v, mask)[0]


def reader(model: Gpt) -> Callable[[Int[Tensor, "B T"]], Float[Tensor, "B N V"]]:
    """What gives logits for a text that grows: a `GptCache` those after new tokens.

    Where a module may need more than the new tokens, it is the model itself, which
    reads all of them anew.
    """
    return model if passed_by(model) else GptCache(model).read


def stepper(
    model: Transformer,
    memory: Float[Tensor, "B S D"],
    source: Int[Tensor, "B S"],
    max_len: int,
    width: int = 1,
) -> Cache | Recompute:
    """A `Cache`; or, where a module may need more than a token, a `Recompute`.

    That one calls the model, which makes the memory anew.
    """
    if passed_by(model):
        return Recompute(model, source, max_len, width)
    return Cache(model, memory, source, max_len, width)


def apart(x: Float[Tensor, "B W D"]) -> Float[Tensor, "B*W 1 D"]:
    """Tokens side by side as sentences of one token, all at the same position."""
    return x.reshape(-1, 1, x.size(-1))


def side_by_side(
    rows: Float[Tensor, "N H 1 Dk"], x: Float[Tensor, "B W D"]
) -> Float[Tensor, "B H W Dk"]:
    """Back from `apart`: what the heads made of the tokens of x, by sentence."""
    (batch, width, _), (_, n_heads, _, d_k) = x.shape, rows.shape
    return rows.reshape(batch, width, n_heads, d_k).transpose(1, 2)


def _room(new: Tensor, slots: int) -> Tensor:
    return new.new_empty(*new.shape[:2], slots, new.size(-1))


def _kept(x: Tensor, rows: Tensor, used: int) -> Tensor:
    fresh = x.new_empty(len(rows), *x.shape[1:])
    fresh[:, :, :used] = x[rows, :, :used]
    return fresh
