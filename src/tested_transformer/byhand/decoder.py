"""The decoder: a layer and the stack, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tested_transformer.byhand import _checks as rules
from tested_transformer.byhand.addnorm import add_norm, add_norm_backward
from tested_transformer.byhand.feedforward import feed_forward, feed_forward_backward
from tested_transformer.byhand.heads import (
    multi_head_attention,
    multi_head_attention_backward,
)
from tested_transformer.checks import checked
from tested_transformer.params import Params, join, part


@checked(rules.decoder_layer)
def decoder_layer(
    x: Float[np.ndarray, "B T D"],
    memory: Float[np.ndarray, "B S D"],
    params: Params,
    n_heads: int,
    self_mask: Bool[np.ndarray, "..."] | None = None,
    memory_mask: Bool[np.ndarray, "..."] | None = None,
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "B T D"], dict[str, Any]]:
    """Masked self-attention, attention to the memory, feed-forward (Section 3.1).

    self_mask (hides the future) and memory_mask (hides padding of the source) are True
    where a query may look. memory is what the encoder returned.
    """
    saved: dict[str, Any] = {}
    attended, saved["self_attention"] = multi_head_attention(
        x, x, x, part(params, "self_attention"), n_heads, self_mask
    )
    x, saved["addnorm_1"] = add_norm(x, attended, part(params, "addnorm_1"), eps)
    attended, saved["cross_attention"] = multi_head_attention(
        x, memory, memory, part(params, "cross_attention"), n_heads, memory_mask
    )
    x, saved["addnorm_2"] = add_norm(x, attended, part(params, "addnorm_2"), eps)
    fed, saved["feed_forward"] = feed_forward(x, part(params, "feed_forward"))
    y, saved["addnorm_3"] = add_norm(x, fed, part(params, "addnorm_3"), eps)
    return y, saved


def decoder_layer_backward(
    d_y: Float[np.ndarray, "B T D"], saved: dict[str, Any]
) -> tuple[Float[np.ndarray, "B T D"], Float[np.ndarray, "B S D"], Params]:
    """From the gradient of y: (d_x, d_memory, d_params)."""
    d: dict[str, Params] = {}
    d_x, d_fed, d["addnorm_3"] = add_norm_backward(d_y, saved["addnorm_3"])
    d_in, d["feed_forward"] = feed_forward_backward(d_fed, saved["feed_forward"])
    d_x, d_attended, d["addnorm_2"] = add_norm_backward(d_x + d_in, saved["addnorm_2"])
    d_query, d_key, d_value, d["cross_attention"] = multi_head_attention_backward(
        d_attended, saved["cross_attention"]
    )
    d_memory = d_key + d_value
    d_x, d_attended, d["addnorm_1"] = add_norm_backward(
        d_x + d_query, saved["addnorm_1"]
    )
    d_query, d_key, d_value, d["self_attention"] = multi_head_attention_backward(
        d_attended, saved["self_attention"]
    )
    return d_x + d_query + d_key + d_value, d_memory, join(**d)


def decoder(
    x: Float[np.ndarray, "B T D"],
    memory: Float[np.ndarray, "B S D"],
    params: Params,
    n_layers: int,
    n_heads: int,
    self_mask: Bool[np.ndarray, "..."] | None = None,
    memory_mask: Bool[np.ndarray, "..."] | None = None,
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "B T D"], list[dict[str, Any]]]:
    """n_layers layers, all of them looking at the same memory.

    params has the parts layers.0, layers.1 and so on.
    """
    saved, masks = [], (self_mask, memory_mask)
    for i in range(n_layers):
        layer = part(params, f"layers.{i}")
        x, save = decoder_layer(x, memory, layer, n_heads, *masks, eps)
        saved.append(save)
    return x, saved


def decoder_backward(
    d_y: Float[np.ndarray, "B T D"], saved: list[dict[str, Any]]
) -> tuple[Float[np.ndarray, "B T D"], Float[np.ndarray, "B S D"], Params]:
    """From the gradient of the last layer's output: (d_x, d_memory, d_params).

    Every layer looked at the memory, so its gradient is a sum over the layers.
    """
    d: dict[str, Params] = {}
    d_memory = np.zeros_like(saved[0]["cross_attention"]["key"])
    for i, save in reversed(list(enumerate(saved))):
        d_y, d_here, d[f"layers.{i}"] = decoder_layer_backward(d_y, save)
        d_memory += d_here
    return d_y, d_memory, join(**d)
