"""The loop in its shortest form: in memory, for whatever has a loss. `Trainer` is the one that keeps files."""

from collections.abc import Callable

from torch import Tensor, nn

from tested_transformer.training.adam import create_adam


def train(
    model: nn.Module,
    loss_at: Callable[[int], Tensor],
    rate_at: Callable[[int], float],
    n_steps: int,
    after: Callable[[int], object] | None = None,
) -> list[float]:
    """Adam for so many steps, counted from 1.

    loss_at gives the loss of a step, rate_at its learning rate; after is called
    when a step is done. Returns the loss of each, as it was before the step.
    """
    adam, losses = create_adam(model.parameters()), []
    for step in range(1, n_steps + 1):
        adam.param_groups[0]["lr"] = rate_at(step)
        loss = loss_at(step)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
        if after:
            after(step)
    return losses
