"""Averages of weights: the moving one, and the plain mean of checkpoints."""

import pytest
import torch

from tested_transformer.training.average import ExponentialMovingAverage, mean


def test_a_mean_needs_checkpoints_of_one_kind():
    with pytest.raises(ValueError, match="at least one checkpoint"):
        mean([])
    with pytest.raises(ValueError, match="checkpoint 2 has other tensors: b"):
        mean([{"a": torch.zeros(1)}, {"a": torch.zeros(1), "b": torch.zeros(1)}])


def test_the_average_follows_fast_at_first_and_slowly_later():
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(0.0)
    ema = ExponentialMovingAverage(model, 0.999)
    model.weight.data.fill_(1.0)
    ema.update(model, 1)
    assert ema.weights["weight"].item() == pytest.approx(1 - 2 / 11)
    before = ema.weights["weight"].item()
    ema.update(model, 1_000_000)
    assert ema.weights["weight"].item() == pytest.approx(before + 0.001 * (1 - before))
    with pytest.raises(ValueError, match=r"decay \(1\) must be above 0 and below 1"):
        ExponentialMovingAverage(model, 1)
