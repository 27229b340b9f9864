"""Multi-head attention, forward and backward."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tested_transformer.byhand import _checks as rules
from tested_transformer.byhand.attention import attention, attention_backward
from tested_transformer.byhand.linear import linear, linear_backward
from tested_transformer.checks import checked, divisible
from tested_transformer.params import Params


@checked(divisible)
def split_heads(
    x: Float[np.ndarray, "B T W"], n_heads: int
) -> Float[np.ndarray, "B H T W/H"]:
    """Cut each row into one piece for each head; the heads become the second axis."""
    batch, length, width = x.shape
    pieces = x.reshape(batch, length, n_heads, width // n_heads)
    return pieces.swapaxes(1, 2)  # (B, T, H, W/H) -> (B, H, T, W/H)


def join_heads(x: Float[np.ndarray, "B H T W"]) -> Float[np.ndarray, "B T H*W"]:
    """Undo `split_heads`: put the pieces of each row side by side again."""
    batch, n_heads, length, width = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, n_heads * width)


@checked(rules.multi_head_attention)
def multi_head_attention(
    query: Float[np.ndarray, "B Tq D"],
    key: Float[np.ndarray, "B Tk D"],
    value: Float[np.ndarray, "B Tk D"],
    params: Params,
    n_heads: int,
    mask: Bool[np.ndarray, "..."] | None = None,
) -> tuple[Float[np.ndarray, "B Tq D"], dict[str, Any]]:
    """Project, split, attend in every head, join, project (paper, Section 3.2.2).

    params has w_q, w_k, w_v and w_o, each with .weight and, if wanted, .bias. mask is
    (Tq, Tk), or has four axes that broadcast to (B, H, Tq, Tk).
    """
    inputs = {"query": query, "key": key, "value": value}
    q = split_heads(linear(query, *_map(params, "w_q")), n_heads)
    k = split_heads(linear(key, *_map(params, "w_k")), n_heads)
    v = split_heads(linear(value, *_map(params, "w_v")), n_heads)
    out, weights = attention(q, k, v, mask)  # (B, H, Tq, Dk) -> (B, H, Tq, Dv)
    joined = join_heads(out)
    saved = inputs | {"q": q, "k": k, "v": v, "weights": weights, "joined": joined}
    return linear(joined, *_map(params, "w_o")), saved | {"params": params}


def multi_head_attention_backward(
    d_out: Float[np.ndarray, "B Tq D"], saved: dict[str, Any]
) -> tuple[
    Float[np.ndarray, "B Tq D"],
    Float[np.ndarray, "B Tk D"],
    Float[np.ndarray, "B Tk D"],
    Params,
]:
    """From the gradient of out: (d_query, d_key, d_value, d_params)."""
    params, q, k, v = (saved[name] for name in ("params", "q", "k", "v"))
    d_params: Params = {}
    d_joined = _map_backward("w_o", d_out, saved["joined"], params, d_params)
    d_heads: Any = split_heads(d_joined, q.shape[1])
    d_heads = attention_backward(d_heads, q, k, v, saved["weights"])
    d_q, d_k, d_v = (join_heads(d) for d in d_heads)
    d_query = _map_backward("w_q", d_q, saved["query"], params, d_params)
    d_key = _map_backward("w_k", d_k, saved["key"], params, d_params)
    d_value = _map_backward("w_v", d_v, saved["value"], params, d_params)
    return d_query, d_key, d_value, d_params


def _map(params: Params, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The weight of a linear map, and its bias or None."""
    return params[f"{name}.weight"], params.get(f"{name}.bias")


def _map_backward(
    name: str, d_y: np.ndarray, x: np.ndarray, params: Params, d_params: Params
) -> np.ndarray:
    """The gradient of x; those of the weight and the bias are entered in d_params."""
    d_x, d_w, d_b = linear_backward(d_y, x, params[f"{name}.weight"])
    d_params[f"{name}.weight"] = d_w
    if f"{name}.bias" in params:
        d_params[f"{name}.bias"] = d_b
    return d_x
