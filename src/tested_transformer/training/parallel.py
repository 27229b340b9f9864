"""One process or several: who am I, and sums over all of us."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed


@dataclass(frozen=True)
class Ranks:
    """This process among those that `torchrun` started. Rank 0 speaks and writes."""

    rank: int = 0
    count: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009

    def sum(self, *numbers: float) -> list[float]:
        """Each number summed over all processes, the same everywhere."""
        if self.count == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()


@contextmanager
def ranks(device: str = "auto") -> Iterator[Ranks]:
    """Join the other processes, if `torchrun` started several, and part at the end.

    device is "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:1".
    """
    rank, count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    chosen = pick(device, int(os.environ.get("LOCAL_RANK", 0)))
    if count == 1:
        yield Ranks(device=chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Ranks(rank, count, chosen)
    finally:
        distributed.destroy_process_group()


def pick(device: str, local_rank: int) -> torch.device:
    """The device of that name; "auto" and "cuda" give each process its own GPU."""
    found = torch.cuda.is_available()
    if device == "auto":
        device = "cuda" if found else "cpu"
    if device.startswith("cuda") and not found:
        raise ValueError(f"device ({device}) needs a GPU, and none was found")
    return (
        torch.device("cuda", local_rank) if device == "cuda" else torch.device(device)
    )
