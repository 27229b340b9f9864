"""A model that answers and does not learn."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
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
