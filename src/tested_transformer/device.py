"""Where tensors are calculated: on the processor, or on a GPU."""

import re

import torch


def choose_device(name: str = "auto", local_rank: int = 0) -> torch.device:
    """The device of that name: "cpu", "cuda:1", "cuda", "mps" or "auto".

    "auto" is an NVIDIA or AMD GPU if there is one, else "cpu"; the GPU of a Mac
    ("mps") is taken only by name. Of several processes on one machine, each gets the
    GPU of its local_rank, unless the name has a number. Another name, or a GPU that is
    not there, is a ValueError.
    """
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", name):
        rule = "must be auto, cpu, cuda, cuda:NUMBER or mps"
        raise ValueError(f"device ({name}) {rule}")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    chosen = torch.device("cuda", local_rank) if name == "cuda" else torch.device(name)
    check_found(chosen, name)
    return chosen


def given_device(device: torch.device | str) -> torch.device:
    """The device that was given or named; one that is not there is a ValueError.

    For names see `choose_device`. "cuda" is the GPU that PyTorch works on now.
    """
    if isinstance(device, str):
        now = torch.cuda.current_device() if torch.cuda.is_available() else 0
        return choose_device(device, now)
    check_found(device, str(device))
    return device


def check_found(device: torch.device, name: str) -> None:
    """Refuse a GPU that is not there, in other words than PyTorch's."""
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError(f"device ({name}) needs the GPU of a Mac, and none was found")
    if device.type != "cuda":
        return
    if not torch.cuda.is_available():
        raise ValueError(f"device ({name}) needs a GPU, and none was found")
    if (device.index or 0) >= (n := torch.cuda.device_count()):
        raise ValueError(f"device ({device}) is not there: {n} GPUs were found")
