"""The linear map that every box of the Transformer is built from."""

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand import _checks as rules
from tested_transformer.checks import checked


@checked(rules.linear)
def linear(
    x: Float[np.ndarray, "*B I"],
    w: Float[np.ndarray, "O I"],
    b: Float[np.ndarray, "O"] | None = None,
) -> Float[np.ndarray, "*B O"]:
    """Multiply each row of x by the transpose of w and add b.

    Weights are stored as PyTorch stores them: (out, in).
    """
    y = x @ w.T
    return y if b is None else y + b


def linear_backward(
    d_y: Float[np.ndarray, "*B O"],
    x: Float[np.ndarray, "*B I"],
    w: Float[np.ndarray, "O I"],
) -> tuple[Float[np.ndarray, "*B I"], Float[np.ndarray, "O I"], Float[np.ndarray, "O"]]:
    """From the gradient of y, the gradients of x, w and b: (d_x, d_w, d_b).

    All rows of all batches add up in d_w and d_b.
    """
    rows_x, rows_d_y = x.reshape(-1, x.shape[-1]), d_y.reshape(-1, d_y.shape[-1])
    return d_y @ w, rows_d_y.T @ rows_x, rows_d_y.sum(axis=0)
