"""Fine-tuning: a pre-trained model learns a task from labelled texts."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.model.bert import Classifier
from tested_transformer.training.loop import train
from tested_transformer.training.schedule import ramp


def fine_tune(
    model: Classifier,
    texts: Int[Tensor, "N S"] | Int[np.ndarray, "N S"],
    labels: Int[Tensor, "N"] | Int[np.ndarray, "N"],
    steps: int,
    lr: float,
    size: int = 32,
    seed: int = 0,
) -> list[float]:
    """Train all of the model on framed texts, size of them a step; returns the losses.

    The rate rises to lr in the first tenth of the steps, then falls to 0 in a line.
    """
    if not 1 <= size <= len(texts):
        rule = f"must be at least 1 and at most the number of texts ({len(texts)})"
        raise ValueError(f"size ({size}) {rule}")
    if len(labels) != len(texts):
        rule = "there must be a label for each text"
        raise ValueError(f"{rule}: {len(texts)} texts, {len(labels)} labels")
    texts, labels = torch.as_tensor(texts), torch.as_tensor(labels)
    if labels.is_floating_point():
        raise TypeError(f"labels must be the numbers of classes, not {labels.dtype}")
    labels = labels.to(torch.int64)
    model.train()
    rng = np.random.default_rng(seed)

    def loss_at(step: int) -> Tensor:
        batch = rng.choice(len(texts), size, replace=False)
        return F.cross_entropy(model(texts[batch]), labels[batch])

    def rate_at(step: int) -> float:
        return lr * ramp(step, steps, 0.1 * steps, 0.9 * steps)

    return train(model, loss_at, rate_at, steps)
