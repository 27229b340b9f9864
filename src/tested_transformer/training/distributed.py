"""One process or several: who am I, and sums over all of us."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from tested_transformer.device import choose_device


@dataclass(frozen=True)
class World:
    """This process among those that `torchrun` started. Rank 0 speaks and writes."""

    rank: int = 0
    world_size: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009

    def sum(self, *numbers: float) -> list[float]:
        """Each number summed over all processes, the same everywhere."""
        if self.world_size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, its gradients averaged over all processes.

        One whose `unused` is True has weights that may have no part in its loss.
        """
        if self.world_size == 1:
            return module
        unused = bool(getattr(module, "unused", False))
        return DistributedDataParallel(module, find_unused_parameters=unused)


@contextmanager
def join(device: str = "auto") -> Iterator[World]:
    """Join the other processes, if `torchrun` started several, and part at the end.

    For device see `choose_device`.
    """
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", 0)))
    if size == 1:
        yield World(device=chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield World(rank, size, chosen)
    finally:
        distributed.destroy_process_group()


def no_sync(module: nn.Module, wait: bool) -> AbstractContextManager[None]:
    """While `wait`, gradients are added up here and not sent to the other processes.

    They travel once a step, with its last batch.
    """
    if wait and isinstance(module, DistributedDataParallel):
        return module.no_sync()
    return nullcontext()
