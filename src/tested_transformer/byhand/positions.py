"""Positions: the sinusoids of the paper, their shift, and adding a table to tokens."""

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand import _checks as rules
from tested_transformer.checks import at_least, checked


def sinusoids(n: int, d_model: int) -> Float[np.ndarray, "{n} {d_model}"]:
    """Row pos holds the sine and the cosine of pos · ω, pair after pair.

    Pair i, columns 2i and 2i+1, has ω = 10000^(-2i / d_model) (paper, Section 3.5).
    Positions are 0 … n-1. An odd width ends with a lone sine.
    """
    at_least(1, n=n, d_model=d_model)
    column = np.arange(d_model)
    omega = 10000.0 ** (-2 * (column // 2) / d_model)
    angles = np.arange(n)[:, None] * omega  # (n, 1) and (d_model,) -> (n, d_model)
    return np.where(column % 2 == 0, np.sin(angles), np.cos(angles))


@checked(rules.shift)
def shift(k: int, d_model: int) -> Float[np.ndarray, "{d_model} {d_model}"]:
    """The matrix T_k that leads from any row of the sinusoids to the row k later.

    It turns each pair by its own k · ω; k may be negative. A lone sine has no partner
    to turn with, so d_model must be even.
    """
    turn = np.zeros((d_model, d_model))
    for even in range(0, d_model, 2):
        angle = k * 10000.0 ** (-even / d_model)
        sin, cos = np.sin(angle), np.cos(angle)
        turn[even : even + 2, even : even + 2] = [[cos, -sin], [sin, cos]]
    return turn


@checked(rules.add_positions)
def add_positions(
    x: Float[np.ndarray, "*B T D"], table: Float[np.ndarray, "L D"], offset: int = 0
) -> Float[np.ndarray, "*B T D"]:
    """Add row offset + t of the table to token t of each sentence.

    The table is fixed (sinusoids) or learned. It must have a row for every token.
    """
    return x + table[offset : offset + x.shape[-2]]


def add_positions_backward(
    d_y: Float[np.ndarray, "*B T D"], table: Float[np.ndarray, "L D"], offset: int = 0
) -> tuple[Float[np.ndarray, "*B T D"], Float[np.ndarray, "L D"]]:
    """From the gradient of the sum, the gradients of x and of the table.

    Rows of the table that no token used get zero.
    """
    d_table = np.zeros_like(table)
    batch = d_y.reshape(-1, *d_y.shape[-2:])  # (*B, T, D) -> (B, T, D)
    d_table[offset : offset + d_y.shape[-2]] = batch.sum(axis=0)
    return d_y, d_table
