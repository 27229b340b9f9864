"""The key-value cache: what the decoder has computed once, kept for the next token."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tested_transformer.decoding.recompute import (
    Recompute,
    check_step,
    passed_by,
    warn_uncached,
)
from tested_transformer.model.attention import CAUSAL, Mask
from tested_transformer.model.decoder import DecoderLayer
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import MultiHeadAttention
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
    """A GPT at work: of texts that grow, it reads what is new and no token twice.

    It gives what the model gives. The model should be in evaluation mode.
    """

    def __init__(self, model: Gpt) -> None:
        if other := passed_by(model):
            raise ValueError(f"{other} may need the whole text: take `reader`")
        self.model, self.length = model, 0
        n_layers = len(model.decoder.layers)
        self.layers = [KeysAndValues(model.config.max_len) for _ in range(n_layers)]

    def read(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, "B"] | None = None
    ) -> Float[Tensor, "B N V"]:
        """Logits for the token after each new token; ids begin with the earlier ones.

        With lengths, rows are texts of unequal length, filled up on the right. Logits
        then follow the last token of each row (N is 1), and after the first call one
        token of each row is new.
        """
        model, length = self.model, ids.size(1)
        last = None if lengths is None else lengths[:, None] - 1
        ids, offset, mask = self._new(ids, last)
        x = model.embed(ids, offset)
        layers: list[Any] = [*model.decoder.layers]
        for layer, cached in zip(layers, self.layers, strict=True):
            heads = layer.self_attention
            x = layer.steps(x, partial(cached.attend, heads, offset, mask, length))
        self.length = length  # after a Ctrl-C amid the layers, the same is read anew
        if last is not None and x.size(1) > 1:
            x = x.take_along_dim(last[..., None], 1)
        return model.tokens.logits(model.decoder.norm(x))

    def _new(
        self, ids: Tensor, last: Tensor | None
    ) -> tuple[Tensor, int | Tensor, Mask]:
        """The new tokens, where they are, and what they may look at."""
        start, end = self.length, ids.size(1)
        if last is None or not start or len(ids) == 1:
            return ids[:, start:], start, CAUSAL
        if start == end - 1 and (last == start).all():  # all are equally long
            return ids[:, start:], start, CAUSAL
        slots = torch.arange(end, device=ids.device)
        return ids.gather(1, last), last, (slots <= last)[:, None, None]


class KeysAndValues:
    """What one self-attention has computed of earlier tokens, in slots by position."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.keys = self.values = torch.empty(0, 0, 0, 0)

    def attend(
        self,
        heads: MultiHeadAttention,
        offset: int | Int[Tensor, "B 1"],
        mask: Mask,
        length: int,
        x: Float[Tensor, "B N D"],
    ) -> Float[Tensor, "B N D"]:
        """Self-attention of new tokens, to themselves and to those in the slots."""
        new = heads.keys(x, offset=offset), heads.values(x)
        if length > self.keys.size(2):
            self.keys, self.values = map(self._longer, (self.keys, self.values), new)
        for kept, more in zip((self.keys, self.values), new, strict=True):
            if isinstance(offset, Tensor):
                kept[torch.arange(len(x)), :, offset[:, 0]] = more[:, :, 0]
            else:
                kept[:, :, offset : offset + x.size(1)] = more
        k, v = self.keys[:, :, :length], self.values[:, :, :length]
        return heads.attend(heads.queries(x, offset=offset), k, v, mask)[0]

    def _longer(self, old: Tensor, new: Tensor) -> Tensor:
        """Twice the room, so that few tokens have to wait until it is copied."""
        (batch, heads, n, width), used = new.shape, old.size(2)
        slots = min(max(2 * used, used + n), self.most)
        room = new.new_zeros(batch, heads, slots, width)  # no NaN where nobody looks
        if used:
            room[:, :, :used] = old
        return room


def reader(model: Gpt) -> Callable[..., Float[Tensor, "B N V"]]:
    """`GptCache.read`; or, where a module may need the whole text, one that reads it anew.

    That is said once, in a warning.
    """
    if other := passed_by(model):
        warn_uncached(other)
        return partial(read_anew, model)
    return GptCache(model).read


def read_anew(
    model: Gpt, ids: Int[Tensor, "B T"], lengths: Int[Tensor, "B"] | None = None
) -> Float[Tensor, "B N V"]:
    """As `GptCache.read`, with all tokens of ids new each time."""
    logits = model(ids)
    if lengths is None:
        return logits
    return logits.take_along_dim(lengths[:, None, None] - 1, 1)


def stepper(
    model: Transformer,
    memory: Float[Tensor, "B S D"],
    source: Int[Tensor, "B S"],
    max_len: int,
    width: int = 1,
) -> Cache | Recompute:
    """A `Cache`; or, where a module may need more than a token, a `Recompute`.

    That one calls the model, which makes the memory anew; a warning says so once.
    """
    if other := passed_by(model):
        warn_uncached(other)
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
