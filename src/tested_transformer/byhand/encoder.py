"""The encoder: a layer and the stack, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tested_transformer.byhand.addnorm import add_norm, add_norm_backward
from tested_transformer.byhand.feedforward import feed_forward, feed_forward_backward
from tested_transformer.byhand.heads import (
    multi_head_attention,
    multi_head_attention_backward,
)
from tested_transformer.params import Params, join, part


def encoder_layer(
    x: Float[np.ndarray, "B S D"],
    params: Params,
    n_heads: int,
    mask: Bool[np.ndarray, "..."] | None = None,
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "B S D"], dict[str, Any]]:
    """Self-attention, then feed-forward, each with residual and norm (Section 3.1).

    params has the parts self_attention, addnorm_1, feed_forward and addnorm_2. Where
    mask is True, a query may look.
    """
    saved: dict[str, Any] = {}
    attended, saved["self_attention"] = multi_head_attention(
        x, x, x, part(params, "self_attention"), n_heads, mask
    )
    x, saved["addnorm_1"] = add_norm(x, attended, part(params, "addnorm_1"), eps)
    fed, saved["feed_forward"] = feed_forward(x, part(params, "feed_forward"))
    y, saved["addnorm_2"] = add_norm(x, fed, part(params, "addnorm_2"), eps)
    return y, saved


def encoder_layer_backward(
    d_y: Float[np.ndarray, "B S D"], saved: dict[str, Any]
) -> tuple[Float[np.ndarray, "B S D"], Params]:
    """From the gradient of y: (d_x, d_params).

    Where a path forked forwards, gradients add up backwards.
    """
    d: dict[str, Params] = {}
    d_x, d_fed, d["addnorm_2"] = add_norm_backward(d_y, saved["addnorm_2"])
    d_in, d["feed_forward"] = feed_forward_backward(d_fed, saved["feed_forward"])
    d_x, d_attended, d["addnorm_1"] = add_norm_backward(d_x + d_in, saved["addnorm_1"])
    d_query, d_key, d_value, d["self_attention"] = multi_head_attention_backward(
        d_attended, saved["self_attention"]
    )
    return d_x + d_query + d_key + d_value, join(**d)


def encoder(
    x: Float[np.ndarray, "B S D"],
    params: Params,
    n_layers: int,
    n_heads: int,
    mask: Bool[np.ndarray, "..."] | None = None,
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "B S D"], list[dict[str, Any]]]:
    """n_layers layers of the same shape, each with its own parameters.

    params has the parts layers.0, layers.1 and so on. All layers get the same mask.
    """
    saved = []
    for i in range(n_layers):
        x, save = encoder_layer(x, part(params, f"layers.{i}"), n_heads, mask, eps)
        saved.append(save)
    return x, saved


def encoder_backward(
    d_y: Float[np.ndarray, "B S D"], saved: list[dict[str, Any]]
) -> tuple[Float[np.ndarray, "B S D"], Params]:
    """From the gradient of the last layer's output: (d_x, d_params)."""
    d: dict[str, Params] = {}
    for i, save in reversed(list(enumerate(saved))):
        d_y, d[f"layers.{i}"] = encoder_layer_backward(d_y, save)
    return d_y, join(**d)
