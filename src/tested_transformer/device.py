"""Where tensors are calculated: on the processor, or on a GPU."""

import torch


def choose_device(name: str = "auto", local_rank: int = 0) -> torch.device:
    """The device of that name: "cpu", "cuda:1", "cuda", or "auto": a GPU if there is one.

    Of several processes on one machine, each gets the GPU of its local_rank, unless the
    name has a number. A GPU that is not there is a ValueError.
    """
    found = torch.cuda.is_available()
    if name == "auto":
        name = "cuda" if found else "cpu"
    if name.startswith("cuda") and not found:
        raise ValueError(f"device ({name}) needs a GPU, and none was found")
    return torch.device("cuda", local_rank) if name == "cuda" else torch.device(name)
