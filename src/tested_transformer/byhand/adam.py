"""Adam, the optimiser of the paper, for one array and for all of a model."""

from typing import Any

import numpy as np
from jaxtyping import Float

from tested_transformer.params import Params


def adam(
    w: Float[np.ndarray, "*S"],
    d_w: Float[np.ndarray, "*S"],
    m: Float[np.ndarray, "*S"],
    v: Float[np.ndarray, "*S"],
    step: int,
    rate: float,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
) -> tuple[Float[np.ndarray, "*S"], Float[np.ndarray, "*S"], Float[np.ndarray, "*S"]]:
    """One step for one array: the new (w, m, v) (paper, Section 5.3).

    m and v remember gradients and squared gradients; both begin at zero. step counts
    from 1.
    """
    if step < 1:
        raise ValueError(f"step ({step}) must be at least 1: steps count from 1")
    m = betas[0] * m + (1 - betas[0]) * d_w
    v = betas[1] * v + (1 - betas[1]) * d_w**2
    mean = m / (1 - betas[0] ** step)
    square = v / (1 - betas[1] ** step)
    return w - rate * mean / (np.sqrt(square) + eps), m, v


def create_state(params: Params) -> dict[str, Any]:
    """What Adam remembers before the first step: nothing."""
    zeros = {name: np.zeros_like(w) for name, w in params.items()}
    return {"step": 0, "m": zeros, "v": zeros}


def update(
    params: Params,
    d_params: Params,
    state: dict[str, Any],
    rate: float,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
) -> tuple[Params, dict[str, Any]]:
    """One step for all parameters: the new ones, and the new state.

    Nothing is changed in place.
    """
    new: Params = {}
    after: dict[str, Any] = {"step": state["step"] + 1, "m": {}, "v": {}}
    for name, w in params.items():
        m, v = state["m"][name], state["v"][name]
        new[name], after["m"][name], after["v"][name] = adam(
            w, d_params[name], m, v, after["step"], rate, betas, eps
        )
    return new, after
