"""One process or several: who am I, and sums over all of us."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from tested_transformer.device import choose_device
from tested_transformer.training.memory import shard


@dataclass(frozen=True)
class World:
    """This process among those that `torchrun` started. Rank 0 speaks and writes.

    With shard each holds a part of the model, in place of a copy. Several processes can
    go on with what one began, and the other way round, in shards or not.
    """

    rank: int = 0
    world_size: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009
    shard: bool = False

    def sum(self, *numbers: float) -> list[float]:
        """Each number summed over all processes, the same everywhere."""
        if self.world_size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, its gradients averaged over all processes.

        One whose `unused` is True has weights that may have no part in its loss. With
        shard, its model is cut in place: what learns are the shards, from now on.
        """
        if self.world_size == 1:
            return module
        if self.shard:
            shard(getattr(module, "model", module), self.device, self.world_size)
            return module
        unused = bool(getattr(module, "unused", False))
        return DistributedDataParallel(module, find_unused_parameters=unused)


@contextmanager
def join(device: str = "auto", shard: bool = False) -> Iterator[World]:
    """Join the other processes, if `torchrun` started several, and part at the end.

    For device see `choose_device`; shard needs several processes.
    """
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", 0)))
    if size == 1:
        if shard:
            rule = "start several processes with torchrun, or leave --shard out"
            raise ValueError(f"one process has nobody to share a model with: {rule}")
        yield World(device=chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield World(rank, size, chosen, shard)
    finally:
        distributed.destroy_process_group()


def no_sync(module: nn.Module, wait: bool) -> AbstractContextManager[None]:
    """While `wait`, gradients are added up here and not sent to the other processes.

    They travel once a step, with its last batch.
    """
    if wait and isinstance(module, DistributedDataParallel):
        return module.no_sync()
    return nullcontext()
