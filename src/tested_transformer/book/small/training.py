"""Small models as the chapters train them: one start, one loop, one shape of the learning rate."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import Config
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.loop import train
from tested_transformer.training.loss import smoothed_loss

__all__ = ["Batch", "ask", "create", "forced", "train", "triangle"]

Batch = tuple[Tensor, Tensor]
"""Source and target ids; the target has its `bos_id`, and whatever ends it."""


def create(config: Config, seed: int = 0) -> Transformer:
    """A model in float64 whose start is the same on every machine.

    It begins with the whole of Glorot's limit, from which one layer on each side learns sooner than from the
    half: the chapter on training compares them.
    """
    model = Transformer(config).double()
    paper = config.replace(norm_first=False, final_norm=False)
    params = create_params(paper, np.random.default_rng(seed), gain=1.0)
    start = {name: torch.tensor(w) for name, w in params.items()}
    # Norms at the end of the stacks, which the paper has not, keep their ones and zeros.
    model.load_state_dict(start, strict=config == paper)
    return model


def ask(model: Transformer, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Teacher forcing: the logits for each target token after those before it, and these tokens."""
    return model(source, target[:, :-1]), target[:, 1:]


def forced(
    model: Transformer,
    batch_at: Callable[[int], Batch],
    smoothing: float = 0.0,
    ask: Callable[[Transformer, Tensor, Tensor], tuple[Tensor, Tensor]] = ask,
) -> Callable[[int], Tensor]:
    """The loss of a step: that of the batch which the step gets, for each token."""
    pad = model.config.pad_id
    return lambda step: smoothed_loss(*ask(model, *batch_at(step)), pad, smoothing)


def triangle(
    n_steps: int, peak: float = 0.015, warmup: int = 20
) -> Callable[[int], float]:
    """A rate that rises in a straight line for `warmup` steps, and falls in one to almost 0 at the last."""

    def rate_at(step: int) -> float:
        return peak * min(step / warmup, (n_steps + 1 - step) / (n_steps - warmup))

    return rate_at
