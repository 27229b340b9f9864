"""The puzzle of the arrow: small models that learn it, where they look, and the fours that no sum can tell apart."""

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.book.small import training
from tested_transformer.config import Config
from tested_transformer.data.pictures import ARROW, CROSS, GRID, RING, SIDE, paint
from tested_transformer.model.patches import VisionTransformer

SIDES = [1, 5, 7, 3]
"""The cells beside the arrow, in the order of its directions: up, right, down, left."""


def create(config: Config, size: int, seed: int) -> VisionTransformer:
    """A model in float64 that begins alike on every machine: normal weights of standard deviation 1 / √d in rows of d.

    Biases begin at 0, norms at 1. There is a position for each patch of that size, whatever config says.
    """
    places = (GRID * SIDE // size) ** 2 + 1
    model = VisionTransformer(
        config.replace(max_len=places), size, n_classes=2, channels=1
    ).double()
    draws = np.random.default_rng(seed)
    for p in model.parameters():
        if p.dim() == 2:
            p.data = torch.tensor(draws.normal(0, p.shape[1] ** -0.5, p.shape))
    return model


def train(
    model: VisionTransformer,
    cells: Int[np.ndarray, "N 9"],
    answers: Int[np.ndarray, "N"],
    seed: int,
    rate: float = 0.002,
    after: Callable[[int], object] | None = None,
) -> list[float]:
    """600 steps of 32 pictures each, painted anew with a little noise; returns the losses."""
    lots, every = np.random.default_rng(seed), np.arange(len(cells))

    def loss_at(step: int) -> Tensor:
        batch = lots.choice(every, 32)
        logits = model(torch.tensor(paint(cells[batch], 0.1, lots)))
        return F.cross_entropy(logits, torch.tensor(answers[batch]))

    return training.train(model, loss_at, training.triangle(600, rate, 30), 600, after)


@torch.no_grad()
def read(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    may_look: Bool[Tensor, "T T"] | None = None,
) -> tuple[Float[Tensor, "B K"], Float[Tensor, "B L h T T"]]:
    """The logits, and the weights of all layers; may_look can forbid looks."""
    x, weights = model.embed(images), []
    for layer in model.encoder.layers:
        y = layer.addnorm_1.norm(x)
        weights.append(layer.self_attention(y, y, y, may_look, need_weights=True)[1])
        x = layer(x, may_look)
    return model.head(model.encoder.norm(x)[:, 0]), torch.stack(weights, dim=1)


def four(cells: Int[np.ndarray, "9"]) -> Int[np.ndarray, "4 9"]:
    """A scene, and three more: the first two of the four have the same answer and, added up, the pixels of the others.

    The second has crosses for rings beside its arrow, rings for crosses, and another arrow; the last two have
    exchanged these arrows.
    """
    way, marks = cells[4] - ARROW, cells[SIDES]
    crosses, rings = np.flatnonzero(marks == CROSS), np.flatnonzero(marks == RING)
    same, others = (crosses, rings) if marks[way] == CROSS else (rings, crosses)
    other_way = others[np.flatnonzero(same == way)[0]]
    found = np.tile(cells, (4, 1))
    found[1::2, SIDES] = CROSS + RING - marks
    found[:, 4] = ARROW + np.array([way, other_way, other_way, way])
    return found


def best_points(cells: Int[np.ndarray, "N 9"], answers: Int[np.ndarray, "N"]) -> float:
    """The largest share of all scenes that points for single cells, whatever they are, get right.

    Those of the sides make a, b, c and −a, −b, −c of the six lines of marks; what comes from the arrow is a border
    for each of its ways. So only the order of the six counts, and all orders are tried. A corner moves all borders
    alike, and stands with every line of marks and every arrow.
    """
    marks = np.where(cells[:, SIDES] == RING, 1, -1)
    points_of = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 4
    to, shares = cells[:, 4] - ARROW, []
    for order in permutations((1, 2, 3)):
        for signs in product((1, -1), repeat=3):
            points = marks @ points_of @ np.multiply(order, signs)
            by_way = (
                [
                    np.mean((points > border) == answers, where=to == way)
                    for border in np.arange(-3.5, 4)
                ]
                for way in range(4)
            )
            shares.append(np.mean([max(right) for right in by_way]))
    return float(max(shares))


def flat(images: Float[ArrayLike, "B C H W"]) -> Float[np.ndarray, "B P"]:
    """The pixels of each image in a row, and behind them a 1."""
    rows = np.asarray(images).reshape(len(images), -1)
    return np.hstack([rows, np.ones((len(rows), 1))])


def fitted(
    images: Float[ArrayLike, "B C H W"], answers: Int[np.ndarray, "B"]
) -> Float[np.ndarray, "P"]:
    """The weights of the pixels whose sum comes nearest to the answers, as −1 and 1, by least squares."""
    return np.linalg.lstsq(flat(images), 2 * answers - 1, rcond=None)[0]
