"""Recurrence: a state that reads a sequence step by step, and its gradient."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.linear import linear, linear_backward


def recurrence(
    x: Float[np.ndarray, "*B T I"],
    start: Float[np.ndarray, "*B O"],
    params: Mapping[str, np.ndarray],
) -> tuple[Float[np.ndarray, "*B T O"], tuple[Any, ...]]:
    """h_t = tanh(x_t W^x + h_(t-1) W^h + b), from the first token to the last.

    `start` is the state before the first token. Returns the states after each token,
    and what the gradient needs. `params`: input.weight, input.bias, hidden.weight.
    """
    sums = linear(x, params["input.weight"], params["input.bias"])
    states, state = np.empty_like(sums), start
    for t in range(x.shape[-2]):
        state = np.tanh(sums[..., t, :] + linear(state, params["hidden.weight"]))
        states[..., t, :] = state
    return states, (x, start, states, params)


def recurrence_backward(
    d_states: Float[np.ndarray, "*B T O"], saved: tuple[Any, ...]
) -> tuple[
    Float[np.ndarray, "*B T I"], Float[np.ndarray, "*B O"], dict[str, np.ndarray]
]:
    """From the gradient of all states: (d_x, d_start, d_params), last token first.

    A state gets what its own loss says, and what the next state hands back.
    """
    x, start, states, params = saved
    d_sums, d_back = np.empty_like(states), np.zeros_like(start)
    for t in reversed(range(x.shape[-2])):
        d_state = d_states[..., t, :] + d_back
        d_sums[..., t, :] = d_state * (1 - states[..., t, :] ** 2)
        d_back = d_sums[..., t, :] @ params["hidden.weight"]
    before = np.concatenate([start[..., None, :], states], axis=-2)[..., :-1, :]
    d_x, d_w_x, d_b = linear_backward(d_sums, x, params["input.weight"])
    d_w_h = linear_backward(d_sums, before, params["hidden.weight"])[1]
    d_params = {"input.weight": d_w_x, "input.bias": d_b, "hidden.weight": d_w_h}
    return d_x, d_back, d_params


def linear_attention(
    q: Float[np.ndarray, "*B T Dk"],
    k: Float[np.ndarray, "*B T Dk"],
    v: Float[np.ndarray, "*B T Dv"],
) -> tuple[Float[np.ndarray, "*B T Dv"], Float[np.ndarray, "*B Dk Dv"]]:
    """Causal attention without the softmax, as a recurrence: (out, the last state).

    A token adds k^T v to a state of Dk x Dv numbers and reads q times the state
    (Katharopoulos et al., 2020, without their feature map and their divisor). So it is
    (Q K^T under a causal mask) V, and needs no old key or value.
    """
    out = np.empty((*q.shape[:-1], v.shape[-1]))
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    for t in range(q.shape[-2]):
        state = state + k[..., t, :, None] * v[..., t, None, :]
        out[..., t, :] = (q[..., t, None, :] @ state)[..., 0, :]
    return out, state
