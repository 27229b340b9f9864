"""What schedules are tried on: each piece has the result that can be known beforehand."""

import numpy as np
import torch

from tested_transformer.book import warmup_runs
from tested_transformer.book.small import training


def test_without_its_warm_up_a_schedule_begins_at_the_peak_and_goes_on_as_before():
    usual = training.triangle(10, peak=1.0, warmup=4)
    cut = warmup_runs.without(usual, 4)
    assert [cut(step) for step in (1, 3, 4, 5, 10)] == [usual(step) for step in (4, 4, 4, 5, 10)]


def test_without_noise_a_falling_rate_arrives_and_with_noise_a_high_one_hovers():
    calm = warmup_runs.hovering(lambda step: 0.1 / step**0.5, noise=0, n_steps=300)
    assert len(calm) == 300
    assert np.isclose(calm[0], 0.9)  # the first step is as long as the rate
    assert calm[-1] < 0.01 < warmup_runs.hovering(lambda step: 0.1, n_steps=300)[-50:].mean()


def test_the_first_step_of_pure_noise_is_as_long_as_the_rate():
    sizes = warmup_runs.noisy_steps(3)
    assert np.isclose(sizes[0], 1)
    assert sizes[2] < sizes[1] < 0.75


def test_a_copy_is_its_source_behind_bos():
    source, target = warmup_runs.copies([0, 1])
    assert source.shape == (16, 4)
    assert target[:, 0].eq(warmup_runs.COPIER.bos_id).all()
    assert target[:, 1:].equal(source)
    assert not source.equal(warmup_runs.copies([0, 2])[0])


def test_the_three_differ_in_their_start_and_a_rate_of_zero_moves_none():
    models, losses = warmup_runs.three(lambda step: 0.0, n_steps=1)
    fresh = [warmup_runs.create(seed) for seed in warmup_runs.SEEDS]
    assert [warmup_runs.furthest(*pair) for pair in zip(models, fresh, strict=True)] == [0, 0, 0]
    assert warmup_runs.furthest(fresh[0], fresh[1]) > 0.1
    assert len({loss for (loss,) in losses}) == 3
    assert losses[0] == warmup_runs.learn(fresh[0], 0, lambda step: 0.0, 1)


def test_a_halved_start_has_half_of_each_matrix():
    whole, half = (create(1).state_dict() for create in (warmup_runs.create, warmup_runs.halved))
    matrices = [name for name in whole if whole[name].ndim == 2 and "embedding" not in name]
    assert len(matrices) > 50
    assert all(torch.allclose(half[name], whole[name] / 2) for name in matrices)


def test_an_encoder_whose_last_norm_forgets_its_input_makes_no_difference_and_has_no_gradient():
    model = warmup_runs.create(0)
    assert warmup_runs.difference(model) > 0.1
    assert warmup_runs.gradient_in_encoder(model) > 0.1
    with torch.no_grad():
        model.embedding.weight.zero_()
    assert warmup_runs.difference(model) < 1e-12
