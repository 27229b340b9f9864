"""Several processes train one model: the gradient of each, and the moves in which a ring adds them up."""

import numpy as np
import torch
from torch import Tensor, nn


def gradient(objective: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    """The gradient of a loss that is summed over all tokens, as one long row."""
    objective.zero_grad()
    objective(source, target)[0].backward()
    return torch.cat([p.grad.flatten() for p in objective.parameters()])


def ring_move(held: np.ndarray, piece: int, add: bool) -> np.ndarray:
    """Process p of n sends its piece p + piece to the next, which adds or replaces.

    The rows of held are the processes, its columns the pieces of what they hold.
    """
    n, new = len(held), held.copy()
    for p in range(n):
        i, to = (p + piece) % n, (p + 1) % n
        new[to, i] = held[p, i] + add * held[to, i]
    return new
