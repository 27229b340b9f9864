"""The gradient without any derivation: nudge each number, and see what becomes of the result."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float


def numerical_gradient(
    f: Callable[[np.ndarray], float], x: Float[np.ndarray, "*S"], h: float = 1e-5
) -> Float[np.ndarray, "*S"]:
    """How fast f(x), one number, changes with each number of x: central differences.

    Its error goes with h squared, and what is lost to rounding with 1 / h.
    """
    slopes = np.zeros_like(x, dtype=float)
    for place in np.ndindex(x.shape):
        nudge = np.zeros_like(slopes)
        nudge[place] = h
        slopes[place] = (f(x + nudge) - f(x - nudge)) / (2 * h)
    return slopes
