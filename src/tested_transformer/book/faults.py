"""Wrong gradients, and what becomes of a training with them: faults that a curve of losses hides, and others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tested_transformer.byhand.adam import adam, update
from tested_transformer.byhand.adam import create_state as nothing_yet
from tested_transformer.byhand.training import SIZES, SYMBOLS, gradients, ids_of, write
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import TINY
from tested_transformer.params import Params

Fault = Callable[[Params], Params]
Step = Callable[[Params, Params, dict[str, Any]], tuple[Params, dict[str, Any]]]

_rng = np.random.default_rng(0)
COPIED = _rng.integers(4, TINY.vocab_size, size=(8, 5))
"""Eight sequences of five tokens, to be written down as they are read."""

COPIES = np.column_stack([np.full(8, TINY.bos_id), COPIED])
START = create_params(TINY, _rng)


def by_adam(eps: float = 1e-9) -> Step:
    """Steps of Adam."""
    return lambda params, d_params, state: update(
        params, d_params, state, rate=0.003, eps=eps
    )


def downhill(rate: float = 0.02) -> Step:
    """Steps of plain gradient descent."""
    return lambda params, d_params, state: (
        {name: w - rate * d_params[name] for name, w in params.items()},
        state,
    )


def sixty(fault: Fault, step: Step) -> np.ndarray:
    """Sixty losses, if a fault changes the gradients before each step."""
    params, state, losses = START, nothing_yet(START), []
    for _ in range(60):
        loss, d_params = gradients(COPIED, COPIES, params, TINY, smoothing=0.1)
        params, state = step(params, fault(d_params), state)
        losses.append(loss)
    return np.array(losses)


def times(factor: float, where: str = "") -> Fault:
    """All gradients times a factor, or those with a word in their name."""
    return lambda d: {name: g * factor if where in name else g for name, g in d.items()}


def means(d_params: Params) -> Params:
    """Gradients of biases and norms as means over the rows, where they should be sums."""
    return {name: g / COPIED.size if g.ndim == 1 else g for name, g in d_params.items()}


def transposed(name: str) -> Fault:
    """One gradient transposed."""
    return lambda d: d | {name: d[name].T}


def largest_share(losses: np.ndarray, right: np.ndarray) -> float:
    """The largest difference, as a share of the right number."""
    return float(abs(losses / right - 1).max())


def moves(gradients: Sequence[float]) -> list[float]:
    """How far Adam moves one number down in each step, at rate 1."""
    w, m, v, down = np.zeros(1), np.zeros(1), np.zeros(1), []
    for step, g in enumerate(gradients, start=1):
        moved, m, v = adam(w, np.array([float(g)]), m, v, step, rate=1)
        down.append(float(w[0] - moved[0]))
        w = moved
    return down


def right_of(length: int, params: Params) -> int:
    """How many of 200 random words of a length the model writes backwards."""
    draws = np.random.default_rng(3).choice([*SYMBOLS[4:]], (200, length))
    asked = ["".join(letters) for letters in draws]
    rows = write(ids_of(asked), params, SIZES, max_len=length + 3)
    said = ["".join(SYMBOLS[i] for i in row).partition(">")[0] for row in rows]
    return sum(a[::-1] == b for a, b in zip(asked, said, strict=True))
