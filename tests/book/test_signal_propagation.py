"""Boxes in a row: what comes down and what goes up is what PyTorch says."""

import numpy as np
import pytest
import torch

from tested_transformer.book import example
from tested_transformer.book.signal_propagation import (
    alike,
    box_params,
    climb,
    layers,
    lengths,
    short,
    size,
    stack,
    stages,
)
from tested_transformer.byhand.encoder import encoder, encoder_backward
from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.heads import MultiHeadAttention


def test_size_and_likeness_of_rows():
    assert size(np.array([[3.0, 4.0], [0.0, 0.0]])) == 2.5
    assert alike(np.array([[1.0, 0.0], [5.0, 0.0]])) == pytest.approx(1)
    assert alike(np.array([[1.0, 0.0], [0.0, 2.0]])) == pytest.approx(0)
    assert alike(np.array([[1.0, 0.0], [-3.0, 0.0], [0.0, 1.0]])) == pytest.approx(-1 / 3)


def test_numbers_of_any_size_are_written_with_two_digits():
    assert [short(number) for number in (1.0, 0.9995, 1.28, 0.37149, 0.0221, 21.04, 340.0)] == [
        "1.0", "1.0", "1.3", "0.37", "0.022", "21", "340",
    ]  # fmt: skip
    assert [short(number) for number in (3.07e9, 5.47e-21, 1000.0)] == ["3.1·10⁹", "5.5·10⁻²¹", "1.0·10³"]


def test_weights_lie_within_half_of_glorots_limits_times_the_factor():
    once, twice = (box_params(np.random.default_rng(0), times) for times in (1, 2))
    for name in ("w_1.weight", "w_2.weight"):
        assert np.allclose(twice[name], 2 * once[name])
        assert 0.99 < np.abs(once[name]).max() / (0.5 * np.sqrt(6 / 160)) <= 1
    assert once["w_1.weight"].shape == (128, 32)
    assert not once["w_1.bias"].any()
    assert not once["w_2.bias"].any()


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_a_stack_is_that_of_pytorch(add, norm):
    rng, boxes = np.random.default_rng(4), 3
    x = torch.tensor(rng.normal(size=(16, 32)), requires_grad=True)
    rows = [x]
    for _ in range(boxes):
        feed, frame = FeedForward(32, 128).double(), LayerNorm(32).double()
        drawn = {name: torch.tensor(array) for name, array in box_params(rng, 2.0).items()}
        feed.load_state_dict(drawn)
        y = feed(rows[-1]) + rows[-1] if add else feed(rows[-1])
        rows.append(frame(y) if norm else y)
        rows[-1].retain_grad()
    (rows[-1] * torch.tensor(rng.normal(size=(16, 32)))).sum().backward()
    run = stack(add, norm, times=2.0, boxes=boxes, seed=4)
    assert run.signal == pytest.approx([size(row.detach().numpy()) for row in rows])
    assert run.gradient == pytest.approx([size(row.grad.numpy()) for row in rows])
    assert run.alike == pytest.approx(alike(rows[-1].detach().numpy()))
    assert np.allclose(run.rows, rows[-1].detach().numpy())


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_have_the_gradients_of_pytorch(norm_first):
    rng = np.random.default_rng(7)
    x, weights, sizes = torch.tensor(rng.normal(size=(1, 8, 32))), [], []
    for _ in range(2):
        attend, feed = (_drawn(module, rng) for module in (MultiHeadAttention(32, 4), FeedForward(32, 128)))
        for box in (lambda x, attend=attend: attend(x, x, x)[0], feed):
            x = AddNorm(32, norm_first=norm_first).double()(x, box)
        weights.append(feed.w_2.weight)
        sizes.append(size(x.detach().numpy()))
    x = LayerNorm(32).double()(x) if norm_first else x
    (x * torch.tensor(rng.normal(size=x.shape))).sum().backward()
    lengths, measured = layers(2, norm_first, seed=7, gain=0.7)
    assert lengths == pytest.approx([weight.grad.norm().item() for weight in weights])
    assert measured == pytest.approx(sizes)


def _drawn(module, rng):
    for p in module.double().parameters():
        limit = 0.7 * np.sqrt(6 / sum(p.shape)) if p.dim() == 2 else 0
        p.data = torch.tensor(rng.uniform(-limit, limit, tuple(p.shape)))
    return module


@pytest.fixture
def run():
    rng = np.random.default_rng(0)
    params, x = example.encoder_start(rng, 3, 8, 16), rng.normal(size=(1, 5, 8))
    y, saved = encoder(x, params, 3, 2)
    return rng.normal(size=y.shape), saved


def test_a_climb_ends_with_the_gradient_of_the_encoder_and_adds_up_at_every_box(run):
    found = climb(*run)
    assert len(found) == 6
    assert np.allclose(found[0].before, encoder_backward(*run)[0])
    assert all(np.array_equal(around.before, around.added + around.back) for around in found)


def test_without_the_boxes_only_the_sums_are_climbed_and_without_the_road_only_the_boxes(run):
    assert all(np.array_equal(around.before, around.added) for around in climb(*run, boxes=False))
    assert all(np.array_equal(around.before, around.back) for around in climb(*run, road=False))
    nothing = climb(*run, road=False, boxes=False)
    assert not nothing[0].before.any()
    assert np.array_equal(nothing[-1].added, climb(*run)[-1].added)


def test_stages_are_lengths_and_say_who_asked_for_what(run):
    d_y, saved = run
    assert np.allclose(lengths(np.array([[[3.0, 4.0], [6.0, 8.0]]]), [1, 0], unit=5), [2, 1])
    found = stages(d_y, saved, [1, 3], unit=2.0)
    assert [stage.name for stage in found] == ["attention", "feed-forward"] * 3
    for stage, around in zip(found, climb(d_y, saved), strict=True):
        assert np.allclose(stage.before, np.linalg.norm(around.before[0, [1, 3]], axis=1) / 2)
        assert (stage.between is None) == (stage.name == "feed-forward")
    only = np.zeros_like(d_y)
    only[0, 3] = d_y[0, 3]
    last = stages(only, saved, [1, 3])[-2]  # below the last network, row 3 alone has a gradient
    assert not last.between[:, 0].any()
    assert np.allclose(last.between[:, 1], last.back)
