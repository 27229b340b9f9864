"""The learning rate of the paper: up in a line, down with the root of the step."""

from torch import optim
from torch.optim.lr_scheduler import LambdaLR


def rate(step: int, d_model: int, warmup: int = 4000, factor: float = 1.0) -> float:
    """The learning rate of one step (paper, equation 3), times factor.

    It rises in a line for `warmup` steps, then falls with 1/√step. step counts from 1.
    """
    for name, number in (("step", step), ("d_model", d_model), ("warmup", warmup)):
        if number < 1:
            raise ValueError(f"{name} ({number}) must be at least 1")
    if factor <= 0:
        raise ValueError(f"factor ({factor}) must be positive")
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def create_schedule(
    optimizer: optim.Optimizer, d_model: int, warmup: int = 4000, factor: float = 1.0
) -> LambdaLR:
    """`rate` as a PyTorch scheduler, to be stepped after each step of the optimiser.

    PyTorch counts from 0 and multiplies the optimiser's own lr, so that must be 1.
    """
    for group in optimizer.param_groups:
        if group["lr"] != 1:
            what = "the schedule would multiply it"
            raise ValueError(f"lr ({group['lr']}) must be 1: {what}")
    return LambdaLR(optimizer, lambda done: rate(done + 1, d_model, warmup, factor))
