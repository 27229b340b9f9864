"""What layers and models are put together from: the parts of the paper, or others."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from tested_transformer.config import Config
from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.positions import SinusoidalPositions


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


class Parts(NamedTuple):
    """A maker for each part of a model: it gets the config, and gives a module.

    The paper's are the default. Somebody who wants one part to be different takes
    `PAPER._replace(feed_forward=...)` and hands that to a layer, a stack or a model.
    """

    attention: Callable[[Any], MultiHeadAttention] = create_attention
    cross_attention: Callable[[Any], MultiHeadAttention] = create_attention
    addnorm: Callable[[Any], AddNorm] = create_addnorm
    feed_forward: Callable[[Any], nn.Module] = lambda c: FeedForward(
        c.d_model, c.d_ff, c.activation
    )
    final_norm: Callable[[Any], nn.Module] = create_final_norm
    embedding: Callable[[Any], Embedding] = lambda c: Embedding(c.vocab_size, c.d_model)
    positions: Callable[[Any], nn.Module] = lambda c: SinusoidalPositions(
        c.max_len, c.d_model, c.dropout
    )


PAPER = Parts()
"""The parts of "Attention Is All You Need"."""
