"""Averages of weights: a moving one while training (EMA), or of the last checkpoints."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn


class ExponentialMovingAverage:
    """A slowly following copy of a model's weights, in short EMA.

    After each step it moves by 1 - decay of the way to the weights. In the first steps
    it moves faster, so it soon forgets the start.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        if not 0 < decay < 1:
            raise ValueError(f"decay ({decay}) must be above 0 and below 1")
        self.decay = decay
        self.weights = {
            name: tensor.detach().clone() for name, tensor in model.state_dict().items()
        }

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Follow the model; step counts from 1."""
        move = 1 - min(self.decay, (1 + step) / (10 + step))
        now = model.state_dict()
        torch._foreach_lerp_(
            list(self.weights.values()), [now[name] for name in self.weights], move
        )


def mean(checkpoints: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The plain mean of several sets of weights (paper, Section 6.1)."""
    total: dict[str, Tensor] = {}
    count = 0
    for count, weights in enumerate(checkpoints, start=1):
        if count == 1:
            total = {name: tensor.to(torch.float64) for name, tensor in weights.items()}
            dtypes = {name: tensor.dtype for name, tensor in weights.items()}
        elif weights.keys() != total.keys():
            different = sorted(weights.keys() ^ total.keys())
            raise ValueError(f"checkpoint {count} has other tensors: {different[0]}")
        else:
            for name, tensor in weights.items():
                total[name] = total[name] + tensor
    if not count:
        raise ValueError("there must be at least one checkpoint to average")
    return {name: (t / count).to(dtypes[name]) for name, t in total.items()}
