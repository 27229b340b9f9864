"""The embedding: a table with one row for each token, and its gradient."""

import numpy as np
from jaxtyping import Float, Int


def embedding(
    ids: Int[np.ndarray, "*B T"], table: Float[np.ndarray, "V D"]
) -> Float[np.ndarray, "*B T D"]:
    """For each id the row of the table with that index (paper, Section 3.4).

    Ids count from 0. The paper's factor √d_model is left to the caller.
    """
    return table[ids]


def embedding_backward(
    d_y: Float[np.ndarray, "*B T D"], ids: Int[np.ndarray, "*B T"], vocab_size: int
) -> Float[np.ndarray, "V D"]:
    """From the gradient of the rows that were taken, the gradient of the table.

    A row that was taken twice gets the sum of both gradients, a row that was not
    taken gets zeros.
    """
    d_table = np.zeros((vocab_size, d_y.shape[-1]))
    np.add.at(d_table, ids, d_y)
    return d_table
