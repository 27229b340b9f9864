"""Wrong gradients, and what becomes of a training with them: faults that a curve of losses hides, and others."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import numpy as np

from tested_transformer.byhand import addnorm, transformer
from tested_transformer.byhand.adam import adam, update
from tested_transformer.byhand.adam import create_state as nothing_yet
from tested_transformer.byhand.training import (
    SIZES,
    SYMBOLS,
    answers,
    backwards,
    gradients,
    random_words,
)
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
    pairs = zip(asked, answers(asked, params), strict=True)
    return sum(word[::-1] == answer for word, answer in pairs)


def on_words(factor: float, eps: float) -> np.ndarray:
    """Sixty losses of the model that writes words backwards, if its gradients have a factor."""
    rng = np.random.default_rng(0)
    params, losses = create_params(SIZES, rng, gain=1.0), []
    state = nothing_yet(params)
    for _ in range(60):
        loss, d_params = gradients(*backwards(random_words(64, rng)), params, SIZES)
        params, state = update(
            params, times(factor)(d_params), state, rate=0.003, eps=eps
        )
        losses.append(loss)
    return np.array(losses)


Run = tuple[np.ndarray, Params]
"""Sixty losses under Adam, and the gradients at the start."""


def run(fault: Fault) -> Run:
    """Sixty losses with a fault, and the gradients at the start."""
    at_start = gradients(COPIED, COPIES, START, TINY, smoothing=0.1)[1]
    return sixty(fault, by_adam()), fault(at_start)


exchanged = patch.object
"""`exchanged(module, name, other)`: while this lasts, a module has another function."""


def lookups_forgotten() -> Run:
    """As `run`, if the table gets its gradient from the output alone."""
    with exchanged(transformer, "embedding_backward", lambda *given: 0.0):
        return run(times(1))


def forgetful_norms() -> AbstractContextManager[object]:
    """As long as it lasts, the gradient of a norm's input forgets the norm's own factors."""
    right = addnorm.layer_norm_backward

    def forgetful(
        d_y: np.ndarray, x: np.ndarray, weight: np.ndarray, eps: float = 1e-5
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return right(d_y, x, np.ones_like(weight), eps)

    return exchanged(addnorm, "layer_norm_backward", forgetful)


def factors_forgotten() -> Run:
    """As `run`, with `forgetful_norms`."""
    with forgetful_norms():
        return run(times(1))


def verdict(tried: Run, right: np.ndarray, found: Params) -> tuple[str, str, str]:
    """The last loss; whether all losses agree to a millionth; whether the gradients agree."""
    losses, d_params = tried
    near = (abs(losses / right - 1) < 1e-6).tolist()
    since = "agree" if all(near) else f"differ from loss {near.index(False) + 1} on"
    same = all(
        np.allclose(d_params[name], d, rtol=1e-9, atol=1e-14)
        for name, d in found.items()
    )
    return f"{losses[-1]:.4f}", since, "agree" if same else "differ"
