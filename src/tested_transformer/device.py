"""Where tensors are calculated: on the processor, or on a GPU."""

import re

import torch


def choose_device(name: str = "auto", local_rank: int = 0) -> torch.device:
    """The device of that name: "cpu", "cuda:1", "cuda", or "auto": a GPU if there is one.

    Of several processes on one machine, each gets the GPU of its local_rank, unless the
    name has a number. Another name, or a GPU that is not there, is a ValueError.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError(f"device ({name}) must be auto, cpu, cuda or cuda:NUMBER")
    found = torch.cuda.is_available()
    if name == "auto":
        name = "cuda" if found else "cpu"
    if name.startswith("cuda") and not found:
        raise ValueError(f"device ({name}) needs a GPU, and none was found")
    chosen = torch.device("cuda", local_rank) if name == "cuda" else torch.device(name)
    if chosen.type == "cuda" and chosen.index >= (n := torch.cuda.device_count()):
        raise ValueError(f"device ({chosen}) is not there: {n} GPUs were found")
    return chosen
