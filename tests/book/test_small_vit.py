"""Tests of the puzzle of the arrow: its fours, its small models, and where they look."""

import numpy as np
import pytest
import torch

from tested_transformer.book.small import vit
from tested_transformer.config import Config
from tested_transformer.data.pictures import paint, scenes

SIZES = {"d_model": 8, "d_ff": 8, "n_heads": 2, "n_layers": 2, "dropout": 0.0}
CONFIG = Config(vocab_size=4, max_len=10, norm_first=True, **SIZES)


@pytest.fixture
def images():
    return torch.tensor(paint(scenes()[0][:5], 0.0, np.random.default_rng(0)))


def test_two_of_a_four_have_one_answer_the_others_the_other_and_both_pairs_the_same_pixels():
    cells, answers = scenes()
    answer_of = {tuple(c): a for c, a in zip(cells, answers, strict=True)}
    fours = [vit.four(c) for c in cells]
    for scene, found in zip(cells, fours, strict=True):
        assert np.array_equal(found[0], scene)
        a, b, c, d = (answer_of[tuple(one)] for one in found)
        assert a == b != c == d
        one, two = paint(found, 0.0, np.random.default_rng(0)).reshape(2, 2, -1).sum(axis=1)
        assert np.array_equal(one, two)
    assert len({frozenset(map(tuple, found)) for found in fours}) == len(cells) / 4, "each scene is in one four"


def test_no_points_for_single_cells_get_more_than_the_best():
    cells, answers = scenes()
    best = vit.best_points(cells, answers)
    assert best == pytest.approx(16 / 24)
    found, draws = [], np.random.default_rng(0)
    for _ in range(3000):  # by cell and by what is in it, corners too; the border that is best for these
        points = np.take_along_axis(
            draws.normal(size=(9, 7)) * [[1], [9], [1], [9], [99], [9], [1], [9], [1]], cells.T, 1
        )
        in_order = answers[np.argsort(points.sum(axis=0))]
        found.append((np.cumsum(in_order == 0) + np.cumsum(in_order[::-1] == 1)[::-1] - (in_order == 1)).max() / 288)
    assert max(found) == pytest.approx(best)  # none gets more, and one gets as much


def test_a_start_is_the_same_for_a_seed():
    first, again, other = (vit.create(CONFIG, 4, seed).embedding.weight for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_training_sees_only_the_scenes_that_it_gets():
    cells, answers = scenes()
    model = vit.create(CONFIG, 4, 0)
    losses = vit.train(model, cells[:1], answers[:1], 0, rate=0.01)
    assert len(losses) == 600
    assert losses[-1] < 0.01 < losses[0]


def test_what_is_read_is_what_the_model_answers_and_weights_add_up_to_one(images):
    model = vit.create(CONFIG, 4, 0)
    logits, weights = vit.read(model, images)
    assert torch.allclose(logits, model(images), rtol=0, atol=1e-12)
    assert weights.shape == (5, 2, 2, 10, 10)
    assert torch.allclose(weights.sum(-1), torch.ones(5, 2, 2, 10).double())


def test_a_forbidden_look_has_no_weight(images):
    may_look = torch.ones(10, 10, dtype=torch.bool)
    may_look[0, 5] = False
    _, weights = vit.read(vit.create(CONFIG, 4, 0), images, may_look)
    assert (weights[..., 0, 5] == 0).all()
    assert (weights[..., 1:, 5] > 0).all()


def test_the_weights_of_the_pixels_find_what_a_sum_can_say(images):
    rows = vit.flat(images)
    assert rows.shape == (5, 145)
    assert np.array_equal(rows[:, :-1], images.numpy().reshape(5, -1))
    assert (rows[:, -1] == 1).all()
    answers = np.array([0, 1, 1, 0, 1])
    assert np.allclose(rows @ vit.fitted(images, answers), 2 * answers - 1)
