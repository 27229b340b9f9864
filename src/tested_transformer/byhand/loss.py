"""The loss: how surprised a model is by the right tokens, and its gradient."""

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.byhand.softmax import softmax


def log_sum_exp(x: Float[np.ndarray, "*B N"]) -> Float[np.ndarray, "*B"]:
    """The logarithm of the sum of all e^x over the last axis.

    The largest entry is taken out first, so that nothing overflows.
    """
    top = np.nan_to_num(x.max(axis=-1, keepdims=True))  # infinity minus itself is NaN
    return np.log(np.exp(x - top).sum(axis=-1)) + top[..., 0]


def cross_entropy(
    logits: Float[np.ndarray, "*B V"],
    targets: Int[np.ndarray, "*B"],
    smoothing: float = 0.0,
) -> Float[np.ndarray, "*B"]:
    """The loss of each token, in nats.

    The target gives 1 - smoothing to the right token and smoothing to all V tokens
    in equal parts, the right one included (paper, Section 5.4). A logit of -inf forbids
    its token: this costs nothing if the target gives that token no share.
    """
    logits = logits - logits.max(axis=-1, keepdims=True)  # the loss stays the same
    right = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    mean = logits.mean(axis=-1) if smoothing else 0.0  # 0 times infinity is NaN
    return log_sum_exp(logits) - (1 - smoothing) * right - smoothing * mean


def cross_entropy_backward(
    d_losses: Float[np.ndarray, "*B"],
    logits: Float[np.ndarray, "*B V"],
    targets: Int[np.ndarray, "*B"],
    smoothing: float = 0.0,
) -> Float[np.ndarray, "*B V"]:
    """From the gradient of the losses, the gradient of the logits.

    It is what the model says minus what the target says.
    """
    logits = logits - logits.max(axis=-1, keepdims=True)  # NaN where the loss is
    right = targets[..., None] == np.arange(logits.shape[-1])
    d_logits = softmax(logits) - smoothing / logits.shape[-1] - (1 - smoothing) * right
    return d_losses[..., None] * d_logits


def smoothed_loss(
    logits: Float[np.ndarray, "*B V"],
    targets: Int[np.ndarray, "*B"],
    pad_id: int,
    smoothing: float = 0.1,
) -> float:
    """The mean loss of all tokens that are not padding."""
    real = targets != pad_id
    if not real.any():
        raise ValueError(f"all targets are pad_id ({pad_id}): no token has a loss")
    return float(cross_entropy(logits[real], targets[real], smoothing).mean())


def smoothed_loss_backward(
    logits: Float[np.ndarray, "*B V"],
    targets: Int[np.ndarray, "*B"],
    pad_id: int,
    smoothing: float = 0.1,
) -> Float[np.ndarray, "*B V"]:
    """The gradient of the mean loss with respect to the logits: zero at padding."""
    real = targets != pad_id
    return cross_entropy_backward(
        real / real.sum(),
        np.where(real[..., None], logits, 0.0),
        targets * real,
        smoothing,
    )
