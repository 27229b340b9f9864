"""Adam: three steps on paper, its laws, and agreement with PyTorch's own."""

import inspect
import math

import numpy as np
import pytest
import torch
from helpers import arrays, assert_near, normal
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.byhand.adam import adam, create_state, update
from tested_transformer.training.adam import create_adam

ZERO = np.zeros(1)
SIZES = st.floats(1e-3, 1e6)


def walk(gradients, rate=1.0, start=0.0, **constants):
    """The places of one number after each step, from the start on."""
    w, m, v, places = np.array([start]), ZERO, ZERO, [start]
    for step, g in enumerate(gradients, start=1):
        w, m, v = adam(w, np.array([float(g)]), m, v, step, rate, **constants)
        places.append(w[0])
    return np.array(places)


# By hand


def test_three_steps_on_paper():
    # g = 2, 1, -1: m = 0.2, 0.28, 0.152; v = 0.08, 0.0984, 0.116432
    corrected = [(2, 4), (0.28 / 0.19, 0.0984 / (1 - 0.98**2)), (0.152 / 0.271, 0.116432 / (1 - 0.98**3))]
    expected = [m / math.sqrt(v) for m, v in corrected]
    assert_near(-np.diff(walk([2, 1, -1])), expected, 1e-8)
    assert [round(x, 4) for x in expected] == [1, 0.9349, 0.3986]
    w, m, v = adam(np.array([5.0]), np.array([2.0]), ZERO, ZERO, 1, 0.1)
    assert_near([w[0], m[0], v[0]], [4.9, 0.2, 0.08], 1e-9)


def test_epsilon_stands_outside_the_root():
    assert_near(walk([1e-9])[1], -0.5, 1e-12)
    assert_near(walk([1e-9], eps=1e-8)[1], -1 / 11, 1e-12)
    assert_near(walk([1e-6], eps=0.0)[1], -1, 1e-12)


def test_after_a_long_silence_a_gradient_moves_as_the_constants_say():
    late = adam(ZERO, np.ones(1), ZERO, ZERO, 10**6, 1.0)[0]
    assert_near(late, [-0.1 / math.sqrt(0.02)], 1e-8)
    late = adam(ZERO, np.ones(1), ZERO, ZERO, 10**6, 1.0, betas=(0.9, 0.999))[0]
    assert_near(late, [-0.1 / math.sqrt(0.001)], 1e-7)


# Laws


@given(SIZES, st.sampled_from([-1, 1]), st.floats(1e-4, 10))
def test_the_first_step_has_the_size_of_the_rate_whatever_the_gradient(size, sign, rate):
    assert_near(walk([sign * size], rate)[1], -sign * rate, 1e-5)


@given(SIZES)
def test_a_gradient_that_never_changes_gives_full_steps(size):
    assert_near(walk([size] * 30), -np.arange(31.0), 1e-5)


@given(arrays(20), st.floats(1e-3, 1e3))
def test_the_scale_of_the_loss_means_nothing_without_epsilon(gradients, scale):
    gradients = gradients + np.where(gradients >= 0, 1, -1)  # away from zero over zero
    assert_near(walk(scale * gradients, eps=0.0), walk(gradients, eps=0.0), 1e-9)


@given(arrays(20))
def test_turning_all_gradients_round_turns_the_path_round(gradients):
    assert np.array_equal(walk(-gradients), -walk(gradients))


def test_a_number_without_a_gradient_never_moves():
    w, m, v = adam(np.ones(2), np.array([0.0, 1.0]), np.zeros(2), np.zeros(2), 1, 0.1)
    assert w[0] == 1
    assert w[1] != 1
    assert (m[0], v[0]) == (0, 0)


def test_a_number_that_had_a_gradient_coasts_on_and_comes_to_rest():
    steps = -np.diff(walk([1] + [0] * 400))
    assert np.all(steps[:100] > 0)
    assert np.all(np.diff(steps[:100]) < 0)
    assert steps[-1] < 1e-12


def test_each_number_is_moved_by_its_own_gradients_alone():
    gradients = normal(10, 2, 3)
    w, m, v = np.zeros((3, 2, 3))
    for step, g in enumerate(gradients, start=1):
        w, m, v = adam(w, g, m, v, step, 0.1)
    for place in np.ndindex(2, 3):
        assert_near(w[place], walk(gradients[(slice(None), *place)], 0.1)[-1], 1e-13)


def test_the_rate_of_each_step_is_its_own():
    w, m, v = adam(ZERO, np.ones(1), ZERO, ZERO, 1, 0.5)
    w, m, v = adam(w, np.ones(1), m, v, 2, 0.25)
    assert_near(w, [-0.75], 1e-8)


# All of a model


def test_one_update_is_one_step_for_each_array_and_changes_nothing_in_place():
    params = {"a": normal(2, 3), "b.weight": normal(4)}
    state = create_state(params)
    assert state["step"] == 0
    assert all(np.array_equal(state[k][name], np.zeros_like(w)) for k in "mv" for name, w in params.items())
    alone = {name: (w, np.zeros_like(w), np.zeros_like(w)) for name, w in params.items()}
    for step in (1, 2, 3):
        d = {name: normal(*w.shape, seed=step) for name, w in params.items()}
        before = {name: w.copy() for name, w in params.items()}
        new, after = update(params, d, state, 0.1, betas=(0.8, 0.9), eps=0.01)
        assert all(np.array_equal(params[name], before[name]) for name in params)
        assert (state["step"], after["step"]) == (step - 1, step)
        for name, (w, m, v) in alone.items():
            alone[name] = adam(w, d[name], m, v, step, 0.1, betas=(0.8, 0.9), eps=0.01)
            got = new[name], after["m"][name], after["v"][name]
            assert all(np.array_equal(x, y) for x, y in zip(got, alone[name], strict=True))
        params, state = new, after
    assert list(params) == ["a", "b.weight"]


def test_the_constants_of_the_paper_are_the_defaults_everywhere():
    for f in (adam, update):
        defaults = inspect.signature(f).parameters
        assert (defaults["betas"].default, defaults["eps"].default) == ((0.9, 0.98), 1e-9)
    group = create_adam([torch.nn.Parameter(torch.zeros(1))]).param_groups[0]
    assert (group["betas"], group["eps"], group["lr"]) == ((0.9, 0.98), 1e-9, 1.0)
    assert group["weight_decay"] == 0
    assert not group["amsgrad"]


# Agreement


@pytest.mark.parametrize("constants", [{}, {"betas": (0.5, 0.999), "eps": 1e-3}], ids=["paper", "others"])
def test_many_steps_equal_pytorchs_to_the_last_digits(constants):
    params = {"a": normal(4, 3), "b": normal(5), "c": normal(1)}
    scales = {"a": 1e-4, "b": 1.0, "c": 1e4}
    parameters = {name: torch.nn.Parameter(torch.tensor(w)) for name, w in params.items()}
    own = torch.optim.Adam(parameters.values(), **{"betas": (0.9, 0.98), "eps": 1e-9} | constants)
    state = create_state(params)
    for step in range(1, 501):
        d = {name: scales[name] * normal(*w.shape, seed=step) for name, w in params.items()}
        rate = 0.01 / step**0.5
        params, state = update(params, d, state, rate, **constants)
        own.param_groups[0]["lr"] = rate
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(d[name])
        own.step()
    for name, parameter in parameters.items():
        assert_near(parameter, params[name], 1e-12)
        for ours, theirs in (("m", "exp_avg"), ("v", "exp_avg_sq")):
            assert_near(own.state[parameter][theirs], state[ours][name], 1e-12)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
def test_the_optimiser_of_the_models_takes_the_same_steps(fused):
    w, parameter = normal(6), torch.nn.Parameter(torch.tensor(normal(6)))
    optimizer, m, v = create_adam([parameter], lr=0.05, fused=fused), np.zeros(6), np.zeros(6)
    assert optimizer.defaults["fused"] == fused
    for step in range(1, 101):
        d_w = normal(6, seed=step)
        w, m, v = adam(w, d_w, m, v, step, 0.05)
        parameter.grad = torch.tensor(d_w)
        optimizer.step()
    assert_near(parameter, w, 1e-12)


def test_in_single_precision_tiny_gradients_still_move():
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.tensor([1e-12])
    create_adam([parameter]).step()
    assert np.isclose(parameter.item(), -1e-12 / (1e-12 + 1e-9), rtol=1e-4)


# Refusals


@pytest.mark.parametrize("step", [0, -1])
def test_steps_count_from_one(step):
    with pytest.raises(ValueError, match=rf"step \({step}\) must be at least 1: steps count from 1"):
        adam(ZERO, ZERO, ZERO, ZERO, step, 0.1)


# Figures


def test_each_path_has_its_panel_and_the_contours_of_the_valley():
    paths = {"one": normal(5, 2), "two": normal(6, 2), "three": normal(4, 2), "four": normal(3, 2)}
    along, across = np.linspace(-9, 3, 7), np.linspace(-1, 1, 5)
    figure = figures.adam.valley(paths, along, across, along**2 + 100 * across[:, None] ** 2)
    for axes, (name, path) in zip(figure.axes, paths.items(), strict=True):
        assert axes.get_title(loc="left") == name
        assert np.array_equal(axes.lines[0].get_xydata(), path)
        assert axes.lines[1].get_xydata().tolist() == [[0, 0]]
        assert np.array_equal(axes.lines[2].get_xydata(), path[:1])
        assert np.array_equal(axes.lines[3].get_xydata(), path[-1:])
        assert axes.collections[0].levels.tolist() == [1, 4, 12, 30, 60, 100]


def test_each_panel_can_have_a_valley_of_its_own():
    paths, along, across = {"one": normal(5, 2), "two": normal(6, 2)}, np.linspace(-9, 3, 25), np.linspace(-1, 1, 21)
    flat, steep = (along**2 + wall * across[:, None] ** 2 for wall in (1, 100))
    one, two = figures.adam.valley(paths, along, across, [flat, steep]).axes
    for axes, heights in ((one, flat), (two, steep)):
        (alone,) = figures.adam.valley({"one": paths["one"]}, along, across, heights).axes
        drawn, expected = axes.collections[0].get_paths(), alone.collections[0].get_paths()
        assert all(np.array_equal(a.vertices, b.vertices) for a, b in zip(drawn, expected, strict=True))
    wide, narrow = (np.abs(axes.collections[0].get_paths()[1].vertices[:, 1]).max() for axes in (one, two))
    assert narrow < wide / 2


def test_the_length_of_each_step_is_drawn_from_the_first_step_on():
    lengths = {"one": np.array([7.0, 5, 3]), "two": np.ones(3)}
    (axes,) = figures.adam.starts(lengths).axes
    for line, (name, steps) in zip(axes.lines, lengths.items(), strict=True):
        assert line.get_label() == name
        assert np.array_equal(line.get_xydata(), np.transpose([[1, 2, 3], steps]))
    assert axes.get_ylim()[0] == 0


def test_the_frequent_and_the_rare_number_are_told_apart_in_each_panel():
    moved = {"one": normal(5, 2), "two": normal(5, 2, seed=1)}
    for axes, (name, path) in zip(figures.adam.rare(moved).axes, moved.items(), strict=True):
        assert axes.get_title(loc="left") == name
        drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert np.array_equal(drawn["pulled in every step"], path[:, 0])
        assert np.array_equal(drawn["in every fiftieth"], path[:, 1])


def test_each_memory_is_labelled_with_its_constant():
    ages, shares = np.geomspace(1, 100, 4), {0.9: np.array([0.1, 0.3, 0.6, 1]), 0.98: np.array([0, 0.1, 0.3, 0.9])}
    (axes,) = figures.adam.memory(ages, shares, 0.63).axes
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert np.array_equal(drawn["β = 0.9"], shares[0.9])
    assert np.array_equal(drawn["β = 0.98"], shares[0.98])
    assert list(axes.lines[2].get_ydata()) == [0.63, 0.63]
    assert axes.texts[0].get_text() == "0.63"


def test_each_array_has_its_mark_in_the_line_of_its_kind():
    typical = {"norms": [("encoder", 0.1), ("decoder", 0.3)], "table": [("shared table", 0.02)]}
    (axes,) = figures.adam.sizes(typical).axes
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0.1, 0]], [[0.3, 0]], [[0.02, 1]]]
    assert len({line.get_marker() for line in axes.lines}) == 3
    assert [label.get_text() for label in axes.get_yticklabels()] == ["norms", "table"]
    assert axes.get_xscale() == "log"
    assert axes.yaxis_inverted()
