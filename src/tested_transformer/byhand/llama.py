"""What today's layers have in place of the paper's parts, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.linear import linear, linear_backward


def rms_norm(
    x: Float[np.ndarray, "*B D"], weight: Float[np.ndarray, "D"], eps: float = 1e-5
) -> Float[np.ndarray, "*B D"]:
    """Each row divided by its root mean square, times weight (Zhang & Sennrich, 2019)."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * weight


def rms_norm_backward(
    d_y: Float[np.ndarray, "*B D"],
    x: Float[np.ndarray, "*B D"],
    weight: Float[np.ndarray, "D"],
    eps: float = 1e-5,
) -> tuple[Float[np.ndarray, "*B D"], Float[np.ndarray, "D"]]:
    """From the gradient of y, the gradients of x and weight.

    What would stretch a whole row is taken out of d_x: the norm undoes it.
    """
    scale = np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    normed, d_normed = x / scale, d_y * weight
    stretch = normed * (d_normed * normed).mean(axis=-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    return (d_normed - stretch) / scale, (d_y * normed).sum(axis=rows)


def rotate(
    x: Float[np.ndarray, "*B T Dk"], offset: int = 0, base: float = 10_000.0
) -> Float[np.ndarray, "*B T Dk"]:
    """Turn each row by angles that grow with its position (Su et al., 2021).

    Columns i and i + Dk/2 are a pair. At position t it is turned by t · base^(-2i/Dk).
    Row t of x is at position offset + t.
    """
    sin, cos = _turn(x, offset, base)
    first, second = np.split(x, 2, axis=-1)
    turned = first * cos - second * sin, second * cos + first * sin
    return np.concatenate(turned, axis=-1)


def rotate_backward(
    d_y: Float[np.ndarray, "*B T Dk"], offset: int = 0, base: float = 10_000.0
) -> Float[np.ndarray, "*B T Dk"]:
    """From the gradient of y, that of x: turned back by the same angles."""
    sin, cos = _turn(d_y, offset, base)
    first, second = np.split(d_y, 2, axis=-1)
    turned = first * cos + second * sin, second * cos - first * sin
    return np.concatenate(turned, axis=-1)


def silu(x: Float[np.ndarray, "*B N"]) -> Float[np.ndarray, "*B N"]:
    """X · sigmoid(x): nearly x where x is large, nearly 0 where it is very negative."""
    return x * _sigmoid(x)


def silu_backward(
    d_y: Float[np.ndarray, "*B N"], x: Float[np.ndarray, "*B N"]
) -> Float[np.ndarray, "*B N"]:
    """From the gradient of y, that of x."""
    s = _sigmoid(x)
    return d_y * s * (1 + x * (1 - s))


def swiglu(
    x: Float[np.ndarray, "*B D"], params: dict[str, np.ndarray]
) -> tuple[Float[np.ndarray, "*B D"], dict[str, Any]]:
    """(SiLU(x W_1) ⊙ x W_3) W_2, each row by itself (Shazeer, 2020).

    params has w_1.weight and w_3.weight (F, D), and w_2.weight (D, F).
    """
    gate = linear(x, params["w_1.weight"])  # (*B, D) -> (*B, F)
    value = linear(x, params["w_3.weight"])
    hidden = silu(gate) * value
    saved = {"x": x, "gate": gate, "value": value, "hidden": hidden, "params": params}
    return linear(hidden, params["w_2.weight"]), saved


def swiglu_backward(
    d_y: Float[np.ndarray, "*B D"], saved: dict[str, Any]
) -> tuple[Float[np.ndarray, "*B D"], dict[str, np.ndarray]]:
    """From the gradient of y: (d_x, d_params). Each branch scales the other's gradient."""
    x, gate, value, hidden = (saved[n] for n in ("x", "gate", "value", "hidden"))
    params = saved["params"]
    d_hidden, d_w_2, _ = linear_backward(d_y, hidden, params["w_2.weight"])
    d_gate = silu_backward(d_hidden * value, gate)
    d_x, d_w_1, _ = linear_backward(d_gate, x, params["w_1.weight"])
    more, d_w_3, _ = linear_backward(d_hidden * silu(gate), x, params["w_3.weight"])
    return d_x + more, {"w_1.weight": d_w_1, "w_3.weight": d_w_3, "w_2.weight": d_w_2}


def _turn(x: np.ndarray, offset: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    """The sine and the cosine of each angle: (T, Dk/2)."""
    length, width = x.shape[-2:]
    if width % 2:
        raise ValueError(f"the width of x ({width}) must be even: columns are pairs")
    omega = base ** (-2 * np.arange(width // 2) / width)
    angles = np.arange(offset, offset + length)[:, None] * omega
    return np.sin(angles), np.cos(angles)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
