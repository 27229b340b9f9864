"""Learning rates: the paper's, and ramps for runs whose end is known."""

from math import cos, pi

from torch import optim
from torch.optim.lr_scheduler import LambdaLR

from tested_transformer.checks import at_least, positive


def rate(step: int, d_model: int, warmup: int = 4000, factor: float = 1.0) -> float:
    """The learning rate of one step (paper, equation 3), times factor.

    It rises in a line for `warmup` steps, then falls with 1/√step. step counts from 1.
    """
    at_least(1, step=step, d_model=d_model, warmup=warmup)
    positive(factor=factor)
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def ramp(step: int, steps: int, rise: float, fall: float) -> float:
    """A share of the rate: up in a line for rise steps, down in the last fall steps.

    In between it is 1. step counts from 1 to steps.
    """
    return min(step / rise if rise else 1.0, (steps - step + 1) / fall, 1.0)


def cosine(step: int, steps: int, warmup: int) -> float:
    """A share of the rate: up in a line for warmup steps, then down half a cosine.

    It reaches 1 at the step warmup and 0 after the last of steps (Loshchilov & Hutter,
    2017). step counts from 1.
    """
    if step <= warmup:
        return step / warmup
    return (1 + cos(pi * (step - warmup) / (steps + 1 - warmup))) / 2


def create_schedule(
    optimizer: optim.Optimizer, d_model: int, warmup: int = 4000, factor: float = 1.0
) -> LambdaLR:
    """`rate` as a PyTorch scheduler, to be stepped after each step of the optimiser.

    PyTorch counts from 0 and multiplies the optimiser's own lr, which must be 1.
    """
    for group in optimizer.param_groups:
        if group["lr"] != 1:
            what = "the schedule would multiply it"
            raise ValueError(f"lr ({group['lr']}) must be 1: {what}")
    return LambdaLR(optimizer, lambda done: rate(done + 1, d_model, warmup, factor))
