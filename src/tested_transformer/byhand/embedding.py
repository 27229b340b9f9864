"""The embedding: a table with one row for each token, and its gradient."""

import numpy as np
from jaxtyping import Float, Integer


def embedding(ids: Integer[np.ndarray, "*B T"], table: Float[np.ndarray, "V D"]) -> Float[np.ndarray, "*B T D"]:
    """For each id the row of the table with that index, the first being 0 (paper, Section 3.4, before its scaling)."""
    return table[ids]


def embedding_backward(
    d_y: Float[np.ndarray, "*B T D"], ids: Integer[np.ndarray, "*B T"], vocab_size: int
) -> Float[np.ndarray, "V D"]:
    """From the gradient of the rows that were taken, the gradient of the table (vocab_size rows).

    A row that was taken twice gets the sum of both gradients, a row that was not taken gets zeros.
    """
    d_table = np.zeros((vocab_size, d_y.shape[-1]))
    np.add.at(d_table, ids, d_y)
    return d_table
