"""The linear map that every box of the Transformer is built from."""

import numpy as np
from jaxtyping import Float

from tested_transformer.checks import instance


def linear(
    x: Float[np.ndarray, "*B I"],
    w: Float[np.ndarray, "O I"],
    b: Float[np.ndarray, "O"] | None = None,
) -> Float[np.ndarray, "*B O"]:
    """Multiply each row of x by the transpose of w and add b.

    Weights are stored as PyTorch stores them: (out, in).
    """
    _check(x, w, b)
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


def _check(x: np.ndarray, w: np.ndarray, b: np.ndarray | None) -> None:
    """What NumPy would take silently, or refuse in words that name nothing."""
    instance(np.ndarray, x=x, w=w)
    if x.shape[-1:] != w.shape[1:]:
        rule = f"x of shape {x.shape} must be as wide as w of shape {w.shape}"
        raise ValueError(f"{rule}, which is (out, in)")
    if b is not None:
        instance(np.ndarray, b=b)
        if b.shape != w.shape[:1]:
            rule = f"must be {w.shape[:1]}: a number for each row of w"
            raise ValueError(f"b of shape {b.shape} {rule}")
