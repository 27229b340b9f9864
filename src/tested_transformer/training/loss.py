"""The loss of the paper in PyTorch."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tested_transformer.checks import ids_within, probability


def smoothed_loss(
    logits: Float[Tensor, "*B V"],
    targets: Int[Tensor, "*B"],
    pad_id: int,
    smoothing: float = 0.1,
    reduction: str = "mean",
) -> Float[Tensor, ""]:
    """Cross-entropy in nats with label smoothing, over real tokens (Section 5.4).

    reduction is "mean" or "sum"; targets that are pad_id do not count. Where batches
    or processes share a step, divide the sum by the tokens of all of them.
    """
    _check(targets, pad_id, smoothing, reduction)
    real = targets != pad_id
    dtype = torch.promote_types(logits.dtype, torch.float32)  # no half precision
    log_p = logits.log_softmax(-1, dtype=dtype)
    losses = -_pick(log_p, targets.masked_fill(~real, 0))
    if smoothing:  # 0 times an infinite mean would be NaN
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(-1)
    if not losses[~real].isfinite().all():  # so that no NaN comes back from padding
        return smoothed_loss(logits[real], targets[real], pad_id, smoothing, reduction)
    losses = losses[real]  # (*B) -> (N)
    return losses.mean() if reduction == "mean" else losses.sum()


def _pick(
    log_p: Float[Tensor, "*B V"], targets: Int[Tensor, "*B"]
) -> Float[Tensor, "*B"]:
    """The log-probability of each target."""
    if log_p.shape[:-1] != targets.shape:  # gather takes a part of the rows silently
        shapes = f"targets {tuple(targets.shape)}, logits {tuple(log_p.shape)}"
        raise ValueError(f"there must be a target for each row of logits: {shapes}")
    try:
        return log_p.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    except (IndexError, RuntimeError):
        ids_within(targets, log_p.size(-1), "target", "the size of the logits")
        raise


def _check(targets: Tensor, pad_id: int, smoothing: float, reduction: str) -> None:
    if targets.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"targets must be int64 or int32, not {targets.dtype}")
    probability(smoothing=smoothing)
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction ({reduction!r}) must be 'mean' or 'sum'")
    if reduction == "mean" and (targets == pad_id).all():
        raise ValueError(f"all targets are pad_id ({pad_id}): no token has a loss")
