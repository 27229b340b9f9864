"""The feed-forward network of a layer, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.linear import linear, linear_backward


def relu(x: Float[np.ndarray, "*B N"]) -> Float[np.ndarray, "*B N"]:
    """Keep what is positive, put 0 for the rest."""
    return np.maximum(x, 0.0)


def relu_backward(
    d_y: Float[np.ndarray, "*B N"], x: Float[np.ndarray, "*B N"]
) -> Float[np.ndarray, "*B N"]:
    """The gradient passes where x was positive. At exactly 0 it is taken as 0."""
    return d_y * (x > 0)


def feed_forward(
    x: Float[np.ndarray, "*B D"], params: dict[str, np.ndarray]
) -> tuple[Float[np.ndarray, "*B D"], dict[str, Any]]:
    """max(0, x W_1 + b_1) W_2 + b_2, each row by itself (paper, equation 2).

    params has w_1.weight (F, D), w_1.bias, w_2.weight (D, F) and w_2.bias.
    """
    inner = linear(x, params["w_1.weight"], params["w_1.bias"])  # (*B, D) -> (*B, F)
    hidden = relu(inner)
    y = linear(hidden, params["w_2.weight"], params["w_2.bias"])
    return y, {"x": x, "inner": inner, "hidden": hidden, "params": params}


def feed_forward_backward(
    d_y: Float[np.ndarray, "*B D"], saved: dict[str, Any]
) -> tuple[Float[np.ndarray, "*B D"], dict[str, np.ndarray]]:
    """From the gradient of y: (d_x, d_params)."""
    x, inner, hidden = (saved[name] for name in ("x", "inner", "hidden"))
    params = saved["params"]
    d_hidden, d_w_2, d_b_2 = linear_backward(d_y, hidden, params["w_2.weight"])
    d_inner = relu_backward(d_hidden, inner)
    d_x, d_w_1, d_b_1 = linear_backward(d_inner, x, params["w_1.weight"])
    return d_x, {
        "w_1.weight": d_w_1,
        "w_1.bias": d_b_1,
        "w_2.weight": d_w_2,
        "w_2.bias": d_b_2,
    }
