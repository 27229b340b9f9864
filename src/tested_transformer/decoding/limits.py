"""What every search needs: a model at rest, and how long a sentence may become."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor, nn

from tested_transformer.config import Config

MORE = 50
"""By how many tokens an output may be longer than its source (paper, Section 6.1)."""


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients; afterwards the model is as it was.

    A search has one right answer, so a model in training mode is no error: it is put
    into evaluation mode for as long as the search lasts.
    """
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True


def limits(
    source: Int[Tensor, "B S"], max_len: int | None, config: Config
) -> Int[Tensor, "B"]:
    """The most tokens that each output may have, eos_id counted, bos_id not.

    Without max_len these are 50 more than the source has (paper, Section 6.1), but
    never more than config.max_len.
    """
    if max_len is None:
        lengths = (source != config.pad_id).sum(1)
        return (lengths + MORE).clamp(max=config.max_len)
    if not isinstance(max_len, int) or isinstance(max_len, bool):
        raise TypeError(f"max_len ({max_len!r}) must be a whole number, or None")
    if not 1 <= max_len <= config.max_len:
        rule = f"must be at least 1 and at most that of the model ({config.max_len})"
        raise ValueError(f"max_len ({max_len}) {rule}")
    return torch.full_like(source[:, 0], max_len)


def never_written(config: Config) -> list[int]:
    """Ids that no search writes: padding is not a word, and bos_id only begins."""
    return [config.pad_id, config.bos_id]
