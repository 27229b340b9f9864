"""What the functions of this folder refuse: rules for `checked`."""

from typing import Any

import numpy as np

from tested_transformer.checks import (
    at_least,
    attention_inputs,
    instance,
    integer,
    same_batch,
)
from tested_transformer.config import Config


def linear(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> None:
    """What NumPy would take silently, or refuse in words that name nothing."""
    instance(np.ndarray, x=x, w=w)
    if x.shape[-1:] != w.shape[1:]:
        rule = f"x of shape {x.shape} must be as wide as w of shape {w.shape}"
        raise ValueError(f"{rule}, which is (out, in)")
    if b is not None:
        instance(np.ndarray, b=b)
        if b.shape != w.shape[:1]:
            rule = f"must be {w.shape[:1]}: a number for each row of w"
            raise ValueError(f"b of shape {b.shape} {rule}")


def attention(q: Any, k: Any, v: Any, mask: Any = None) -> None:
    """Arrays that fit together."""
    attention_inputs(np.ndarray, np.dtype(bool), q, k, v, mask)


def attention_in_blocks(q: Any, k: Any, v: Any, block: int, mask: Any = None) -> None:
    """Blocks of at least one key, and a mask that has a column for each."""
    attention_inputs(np.ndarray, np.dtype(bool), q, k, v, mask)
    integer(block=block)
    at_least(1, block=block)
    if mask is not None and mask.shape[-1:] != k.shape[-2:-1]:
        rule = f"must have a column for each key ({k.shape[-2]})"
        raise ValueError(f"mask of shape {mask.shape} {rule}")


def take_block(so_far: Any, q: Any, k: Any, v: Any, mask: Any = None) -> None:
    """Arrays that fit together, as for all keys at once."""
    attention_inputs(np.ndarray, np.dtype(bool), q, k, v, mask)


def multi_head_attention(
    query: Any, key: Any, value: Any, params: Any, n_heads: int, mask: Any = None
) -> None:
    """A mask of three axes would be broadcast along the wrong ones."""
    if mask is not None and np.ndim(mask) not in (2, 4):
        raise ValueError(f"mask of shape {np.shape(mask)} must have two axes or four")


def decoder_layer(x: Any, memory: Any, *_: Any, **__: Any) -> None:
    """A memory for each sentence."""
    same_batch(x, memory)


def shift(k: int, d_model: int) -> None:
    """A lone sine has no partner to turn with."""
    if d_model < 1 or d_model % 2:
        rule = "must be even and at least 2: a lone sine cannot turn"
        raise ValueError(f"d_model ({d_model}) {rule}")


def add_positions(x: np.ndarray, table: np.ndarray, offset: int = 0) -> None:
    """A slice beyond the end of the table would come back short."""
    length = x.shape[-2]
    at_least(0, offset=offset)
    if offset + length > len(table):
        rule = f"must not exceed the rows of the table ({len(table)})"
        raise ValueError(f"offset ({offset}) + length ({length}) {rule}")


def transformer(source: Any, target: Any, params: Any, config: Config) -> None:
    """Arrays of ids, and the paper's layers."""
    shapes(config)
    instance(np.ndarray, source=source, target=target)


def shapes(config: Config) -> None:
    """The paper's layers only."""
    config.check_padding()
    c = config
    for name, value, wanted in (
        ("norm_first", c.norm_first, False),
        ("final_norm", c.final_norm, False),
        ("activation", c.activation, "relu"),
    ):
        if value != wanted:
            rule = f"must be {wanted!r} here, as in the paper"
            raise ValueError(f"{name} ({value!r}) {rule}")
