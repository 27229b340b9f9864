"""Many boxes in a row: how large signal and gradient are after each, and whether the rows can still be told apart."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.addnorm import layer_norm, layer_norm_backward
from tested_transformer.byhand.feedforward import feed_forward, feed_forward_backward

Params = dict[str, np.ndarray]


class Run(NamedTuple):
    """The sizes of the rows before the first box and behind each, those of the gradient in the same places."""

    signal: list[float]
    gradient: list[float]
    alike: float  # the mean cosine of two rows in the end


def box_params(
    rng: np.random.Generator, times: float = 1.0, d: int = 32, f: int = 128
) -> Params:
    """A feed-forward network as this book's layers begin, its weights times a factor.

    Uniform within half of Glorot and Bengio's limits, biases zero, as `create_linear_layer` draws them.
    """
    limit = times * 0.5 * np.sqrt(6 / (d + f))
    w_1, w_2 = (rng.uniform(-limit, limit, shape) for shape in ((f, d), (d, f)))
    weights = {"w_1.weight": w_1, "w_2.weight": w_2}
    return weights | {"w_1.bias": np.zeros(f), "w_2.bias": np.zeros(d)}


def stack(
    add: bool, norm: bool, times: float = 1.0, boxes: int = 24, seed: int = 0
) -> Run:
    """Random rows through a stack of random feed-forward networks, and a random gradient back.

    With add, what goes into a box is added to what comes out; with norm, the rows are normalised behind each box.
    """
    rng, ones, zeros = np.random.default_rng(seed), np.ones(32), np.zeros(32)
    x, saved = rng.normal(size=(16, 32)), []
    signal = [size(x)]
    for _ in range(boxes):
        y, kept = feed_forward(x, box_params(rng, times))
        y = x + y if add else y
        x = layer_norm(y, ones, zeros) if norm else y
        saved.append((kept, y))
        signal.append(size(x))
    d = rng.normal(size=x.shape)
    gradient = [size(d)]
    for kept, y in reversed(saved):
        d = layer_norm_backward(d, y, ones)[0] if norm else d
        d = add * d + feed_forward_backward(d, kept)[0]
        gradient.append(size(d))
    return Run(signal, gradient[::-1], alike(x))


def size(x: Float[np.ndarray, "*S"]) -> float:
    """The root of the mean square of all numbers."""
    return float(np.sqrt(np.mean(np.square(x))))


def alike(x: Float[np.ndarray, "N D"]) -> float:
    """The mean cosine of two different rows: 1 if all point the same way."""
    arrows = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = arrows @ arrows.T
    return float((cosines.sum() - len(x)) / (len(x) * (len(x) - 1)))
