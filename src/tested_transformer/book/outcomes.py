"""All that a program may do which draws by lot, each with its probability."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from types import ModuleType
from unittest.mock import patch

import torch
from torch import Tensor


def outcomes(run: Callable[[], Hashable], where: ModuleType) -> dict[Hashable, float]:
    """Every result of run, and how likely it is; `draw` of a module draws all lots.

    It runs once for each way that the lots can fall.
    """
    found: dict[Hashable, float] = defaultdict(float)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        lots = Lots(waiting.pop(), waiting)
        with patch.object(where, "draw", lots.draw):
            found[run()] += lots.likely
    return dict(found)


class Lots:
    """What falls where a program draws: first what a path says, then the first thing that can fall.

    The other things that could fall there wait with their paths.
    """

    def __init__(self, path: tuple[int, ...], waiting: list[tuple[int, ...]]) -> None:
        self.path, self.waiting = path, waiting
        self.taken: list[int] = []
        self.likely = 1.0

    def draw(self, p: Tensor, generator: object = None) -> Tensor:
        """As `draw` of one row, without chance."""
        if len(self.taken) < len(self.path):
            way = self.path[len(self.taken)]
        else:
            way, *others = p[0].nonzero()[:, 0].tolist()
            self.waiting += ((*self.taken, other) for other in others)
        self.taken.append(way)
        self.likely *= p[0, way].item()
        return torch.tensor([way])
