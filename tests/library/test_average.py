"""Averages of weights: the moving one, and the plain mean of checkpoints."""

import pytest
import torch

from tested_transformer.training.average import ExponentialMovingAverage, mean


def test_a_mean_needs_checkpoints_of_one_kind():
    with pytest.raises(ValueError, match="at least one checkpoint"):
        mean([])
    with pytest.raises(ValueError, match="checkpoint 2 has other tensors: b"):
        mean([{"a": torch.zeros(1)}, {"a": torch.zeros(1), "b": torch.zeros(1)}])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_mean_is_added_up_in_double_precision_and_changes_nothing_that_it_was_given(dtype):
    large, small = torch.tensor([3e4], dtype=dtype), torch.tensor([1.0], dtype=dtype)
    given = [{"a": x.clone()} for x in (large * large if dtype != torch.float16 else large, small, small, small)]
    given.append({"a": -given[0]["a"]})
    found = mean(given)["a"]
    assert (found.item(), found.dtype) == (pytest.approx(0.6, rel=1e-3), dtype)
    assert given[0]["a"] == -given[4]["a"]


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
