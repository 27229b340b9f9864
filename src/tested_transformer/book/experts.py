"""A mixture of experts in small: a router sends each row through a few of several feed-forward networks."""

from collections.abc import Sequence

import numpy as np

from tested_transformer.byhand.llama import swiglu
from tested_transformer.byhand.softmax import softmax


def mixture(
    x: np.ndarray, router: np.ndarray, networks: Sequence[dict[str, np.ndarray]], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each row goes through the k networks for which the router has the highest scores.

    x is (N, D), the router (E, D), a row for each network; the networks are params of
    `swiglu`. A softmax over its k scores says how a row weights its networks. Returns
    the output (N, D) and the weights (N, E).
    """
    scores = x @ router.T  # (N, D) @ (D, E) -> (N, E)
    chosen = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    hidden = np.full_like(scores, -np.inf)
    np.put_along_axis(hidden, chosen, np.take_along_axis(scores, chosen, 1), 1)
    weights, out = softmax(hidden), np.zeros_like(x)
    for e, params in enumerate(networks):
        rows = np.flatnonzero(weights[:, e])  # the others do not go through it
        if len(rows):
            out[rows] += weights[rows, e, None] * swiglu(x[rows], params)[0]
    return out, weights


def create(
    n: int, width: int, hidden: int, rng: np.random.Generator
) -> tuple[np.ndarray, list[dict[str, np.ndarray]]]:
    """A router and n networks with random numbers."""
    shapes = {
        "w_1.weight": (hidden, width),
        "w_3.weight": (hidden, width),
        "w_2.weight": (width, hidden),
    }
    networks = [
        {name: rng.normal(size=shape) for name, shape in shapes.items()}
        for _ in range(n)
    ]
    return rng.normal(size=(n, width)), networks
