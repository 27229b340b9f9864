"""The small models of the chapters, and the loop that trains them."""

import numpy as np
import pytest
import torch

from tested_transformer.book.small import training
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import TINY
from tested_transformer.training.loss import smoothed_loss

BATCH = torch.tensor([[3, 4, 5, 1], [5, 3, 1, 0]]), torch.tensor([[2, 4, 3, 1], [2, 3, 1, 0]])


def test_a_small_model_starts_with_the_whole_limit_and_from_its_seed():
    a, again, other = (dict(training.create(TINY, seed).named_parameters()) for seed in (0, 0, 1))
    whole = create_params(TINY, np.random.default_rng(0), gain=1.0)
    assert a.keys() == whole.keys()
    for name, w in a.items():
        assert w.dtype == torch.float64
        assert np.array_equal(w.detach(), whole[name])
        assert torch.equal(w, again[name])
    assert any(not torch.equal(w, other[name]) for name, w in a.items())


def test_only_the_last_norms_of_a_norm_first_model_have_no_start_of_their_own():
    model, usual = training.create(TINY.replace(norm_first=True, final_norm=True)), training.create(TINY)
    drawn = dict(usual.named_parameters())
    for name, w in model.named_parameters():
        if name in drawn:
            assert torch.equal(w, drawn[name])
        else:
            assert w.unique().item() == (1 if name.endswith("weight") else 0)


def test_a_triangle_rises_to_its_peak_and_falls_to_one_step_above_nothing():
    rates = np.array([training.triangle(100, peak=0.5, warmup=20)(step) for step in range(1, 101)])
    assert rates.max() == rates[19] == 0.5
    assert rates[:20] == pytest.approx(0.5 * np.arange(1, 21) / 20)
    assert rates[20:] == pytest.approx(0.5 * np.arange(80, 0, -1) / 80)


def test_forcing_asks_for_each_token_after_those_before_it():
    model = training.create(TINY)
    logits, wanted = training.ask(model, *BATCH)
    assert torch.equal(wanted, BATCH[1][:, 1:])
    assert torch.equal(logits, model(BATCH[0], BATCH[1][:, :-1]))
    for smoothing in (0.0, 0.1):
        loss = training.forced(model, lambda step: BATCH, smoothing)(1)
        assert loss == smoothed_loss(logits, wanted, TINY.pad_id, smoothing)


def test_training_takes_the_steps_of_adam_one_by_one():
    model, twin, seen = training.create(TINY), training.create(TINY), []
    losses = training.train(model, training.forced(model, lambda step: BATCH), training.triangle(30), 8, seen.append)
    optimizer = torch.optim.Adam(twin.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, before in enumerate(losses, 1):
        loss = smoothed_loss(*training.ask(twin, *BATCH), TINY.pad_id, 0.0)
        assert loss.item() == pytest.approx(before, rel=1e-9)
        optimizer.param_groups[0]["lr"] = training.triangle(30)(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert seen == list(range(1, 9))
    assert losses[-1] < losses[0]
    for w, v in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(w, v, rtol=1e-9)
