"""The loss of the paper in PyTorch."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


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
    _check(logits, targets, smoothing, reduction)
    real = targets != pad_id
    if not real.all():  # a row of padding would cost as much as any other
        logits, targets = logits[real], targets[real]  # (*B, V) -> (N, V)
    if reduction == "mean" and not len(logits):
        raise ValueError(f"all targets are pad_id ({pad_id}): no token has a loss")
    dtype = torch.promote_types(logits.dtype, torch.float32)  # no half precision
    log_p = logits.log_softmax(-1, dtype=dtype)
    losses = -(1 - smoothing) * _pick(log_p, targets) - smoothing * log_p.mean(-1)
    return losses.mean() if reduction == "mean" else losses.sum()


def _pick(log_p: Tensor, targets: Tensor) -> Tensor:
    try:
        return log_p.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    except (IndexError, RuntimeError):  # looked for only now: good ids cost nothing
        wrong = targets[(targets < 0) | (targets >= log_p.size(-1))]
        if not len(wrong):
            raise
        rule = f"must be at least 0 and below the size of the logits ({log_p.size(-1)})"
        raise IndexError(f"target ({wrong[0].item()}) {rule}") from None


def _check(logits: Tensor, targets: Tensor, smoothing: float, reduction: str) -> None:
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"there must be a target for each row of logits: targets "
            f"{tuple(targets.shape)}, logits {tuple(logits.shape)}"
        )
    if targets.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"targets must be int64 or int32, not {targets.dtype}")
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing ({smoothing}) must be at least 0 and below 1")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction ({reduction!r}) must be 'mean' or 'sum'")
