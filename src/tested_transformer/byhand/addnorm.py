"""Layer normalisation, and the residual connection before it, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Float


def layer_norm(
    x: Float[np.ndarray, "*B D"],
    weight: Float[np.ndarray, "D"],
    bias: Float[np.ndarray, "D"],
    eps: float = 1e-5,
) -> Float[np.ndarray, "*B D"]:
    """Each row brought to mean 0 and variance 1, then times weight, plus bias.

    The variance divides by D (Ba et al., 2016); eps is inside the root, as in their program.
    """
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * weight + bias


def layer_norm_backward(
    d_y: Float[np.ndarray, "*B D"],
    x: Float[np.ndarray, "*B D"],
    weight: Float[np.ndarray, "D"],
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "*B D"], Float[np.ndarray, "D"], Float[np.ndarray, "D"]]:
    """From the gradient of y, the gradients of x, weight and bias.

    What would shift or stretch a whole row is taken out of d_x: the norm undoes it.
    """
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    normed, d_normed = centred / scale, d_y * weight
    shift = d_normed.mean(axis=-1, keepdims=True)
    stretch = normed * (d_normed * normed).mean(axis=-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    d_x = (d_normed - shift - stretch) / scale
    return d_x, (d_y * normed).sum(axis=rows), d_y.sum(axis=rows)


def add_norm(
    x: Float[np.ndarray, "*B D"],
    sublayer: Float[np.ndarray, "*B D"],
    params: dict[str, np.ndarray],
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "*B D"], dict[str, Any]]:
    """LayerNorm(x + sublayer), where sublayer was computed from x (paper, Section 3.1).

    params has norm.weight and norm.bias.
    """
    added = x + sublayer
    y = layer_norm(added, params["norm.weight"], params["norm.bias"], eps)
    return y, {"added": added, "params": params, "eps": eps}


def add_norm_backward(
    d_y: Float[np.ndarray, "*B D"], saved: dict[str, Any]
) -> tuple[Float[np.ndarray, "*B D"], Float[np.ndarray, "*B D"], dict[str, np.ndarray]]:
    """From the gradient of y: (d_x, d_sublayer, d_params). A sum passes it to both."""
    weight = saved["params"]["norm.weight"]
    d_added, d_weight, d_bias = layer_norm_backward(
        d_y, saved["added"], weight, saved["eps"]
    )
    return d_added, d_added, {"norm.weight": d_weight, "norm.bias": d_bias}
