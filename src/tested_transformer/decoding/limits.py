"""What every search keeps to: how long an output may become, and what is never in it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tested_transformer.checks import integer
from tested_transformer.config import Config

MORE = 50
"""By how many tokens an output may be longer than its source (paper, Section 6.1)."""


def max_lengths(
    source: Int[Tensor, "B S"], max_len: int | None, config: Config
) -> Int[Tensor, "B"]:
    """The most tokens that each output may have, eos_id counted, bos_id not.

    Without max_len these are 50 more than the source has (paper, Section 6.1), but
    never more than config.max_len.
    """
    if max_len is None:
        lengths = (source != config.pad_id).sum(1)
        return (lengths + MORE).clamp(max=config.max_len)
    integer(max_len=max_len)
    if not 1 <= max_len <= config.max_len:
        rule = f"must be at least 1 and at most the model's max_len ({config.max_len})"
        raise ValueError(f"max_len ({max_len}) {rule}")
    return torch.full_like(source[:, 0], max_len)


def suppressed(config: Config) -> list[int]:
    """Ids that no search writes: padding is not a word, and bos_id only begins.

    An id that is also eos_id is written, since a sentence has to end.
    """
    return [i for i in (config.pad_id, config.bos_id) if i != config.eos_id]


def check_finite(best: Float[Tensor, "..."]) -> None:
    """Refuse to choose a token where the largest logit is NaN or infinite."""
    if not best.isfinite().all():
        raise FloatingPointError("the logits of the model hold NaN or infinity")
