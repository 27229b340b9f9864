"""The feed-forward network: three words by hand, its laws, its gradient, and PyTorch's own layer."""

import copy
import math

import numpy as np
import pytest
import torch
from helpers import arrays, assert_gradients, assert_near, lengths, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.book.example import B_1, B_2, W_1, W_2
from tested_transformer.byhand.feedforward import feed_forward, feed_forward_backward, relu, relu_backward
from tested_transformer.model.feedforward import FeedForward

Z = np.array([[0.5, -1.5, 1.0], [-1.5, 1.0, 0.5], [1.0, 0.5, -1.5]])
EXAMPLE = {"w_1.weight": W_1.T, "w_1.bias": B_1, "w_2.weight": W_2.T, "w_2.bias": B_2}
NAMES = tuple(EXAMPLE)


def drawn(d_model, d_ff, seed=0):
    """Random parameters of these sizes."""
    shapes = ((d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,))
    return {name: normal(*shape, seed=seed + i) for i, (name, shape) in enumerate(zip(NAMES, shapes, strict=True))}


def module(params, activation="relu", dtype=torch.float64):
    """The PyTorch module with these parameters."""
    d_ff, d_model = params["w_1.weight"].shape
    network = FeedForward(d_model, d_ff, activation).to(dtype)
    network.load_state_dict({name: torch.tensor(array, dtype=dtype) for name, array in params.items()})
    return network


def by_hand(x, params):
    return feed_forward(x, params)[0]


def in_torch(x, params):
    return module(params)(torch.tensor(x)).detach().numpy()


both_tracks = pytest.mark.parametrize("feed", [by_hand, in_torch], ids=["byhand", "model"])


def phi(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


# By hand


@both_tracks
def test_three_words_by_hand(feed):
    assert (Z @ W_1 + B_1).tolist() == [[2, -1.5, 2, 0.5], [-2.5, 1, 1.5, 2], [0.5, 0.5, -0.5, -2.5]]
    assert feed(Z, EXAMPLE).tolist() == [[0, 2.5, -0.5], [1, 2, 1.5], [0.5, 0.5, 1]]


def test_what_is_saved_is_what_was_calculated():
    saved = feed_forward(Z, EXAMPLE)[1]
    assert saved["inner"].tolist() == [[2, -1.5, 2, 0.5], [-2.5, 1, 1.5, 2], [0.5, 0.5, -0.5, -2.5]]
    assert saved["hidden"].tolist() == [[2, 0, 2, 0.5], [0, 1, 1.5, 2], [0.5, 0.5, 0, 0]]


def test_relu_keeps_what_is_positive_and_nothing_else():
    x = np.array([-2.0, -1e-300, 0.0, 1e-300, 3.0])
    assert relu(x).tolist() == [0, 0, 0, 1e-300, 3]
    assert relu_backward(np.full(5, 7.0), x).tolist() == [0, 0, 0, 7, 7]


def test_at_exactly_zero_the_gradient_is_zero_as_in_pytorch():
    (x,) = tensors(np.zeros(3))
    torch.relu(x).backward(torch.ones(3, dtype=torch.float64))
    assert relu_backward(np.ones(3), np.zeros(3)).tolist() == x.grad.tolist() == [0, 0, 0]


@both_tracks
def test_either_but_not_both_takes_the_bend(feed):
    cases = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    w = np.array([[1.0, -1.0], [-1.0, 1.0]])
    params = {"w_1.weight": w, "w_1.bias": np.zeros(2), "w_2.weight": np.ones((2, 2)), "w_2.bias": np.zeros(2)}
    assert feed(cases, params)[:, 0].tolist() == [0, 1, 1, 0]


@both_tracks
def test_a_word_of_zeros_is_left_with_the_biases(feed):
    assert feed(np.zeros((1, 3)), EXAMPLE).tolist() == [[0, 0, 0]]
    params = drawn(3, 4)
    expected = params["w_2.weight"] @ np.maximum(params["w_1.bias"], 0) + params["w_2.bias"]
    assert_near(feed(np.zeros((1, 3)), params), expected[None], 1e-14)


# Laws


@both_tracks
@given(st.data())
def test_each_entry_is_a_sum_over_the_units_that_fire(feed, data):
    d_model, d_ff = data.draw(lengths()), data.draw(lengths())
    x, params = data.draw(arrays(2, d_model)), drawn(d_model, d_ff)
    y = feed(x, params)
    w_1, b_1, w_2, b_2 = params.values()
    for row, c in np.ndindex(2, d_model):
        units = (max(0.0, w_1[j] @ x[row] + b_1[j]) * w_2[c, j] for j in range(d_ff))
        assert math.isclose(y[row, c], b_2[c] + sum(units), rel_tol=1e-12, abs_tol=1e-11)


@both_tracks
@given(arrays(4, 3), st.permutations(range(4)))
def test_words_in_another_order_give_the_same_outputs_in_that_order(feed, x, order):
    params = drawn(3, 5)
    assert np.allclose(feed(x[order], params), feed(x, params)[order], atol=1e-12)


@both_tracks
def test_a_changed_word_changes_no_other(feed):
    x, params = normal(2, 4, 3), drawn(3, 5)
    y = feed(x, params)
    for place in np.ndindex(2, 4):
        changed = x.copy()
        changed[place] += 1
        differs = np.any(feed(changed, params) != y, axis=-1)
        assert np.argwhere(differs).tolist() == [list(place)]


@both_tracks
@pytest.mark.parametrize("front", [(), (4,), (2, 4), (2, 3, 4)], ids=str)
def test_axes_in_front_are_only_more_rows(feed, front):
    x, params = normal(*front, 3), drawn(3, 5)
    y = feed(x, params)
    assert y.shape == x.shape
    for place in np.ndindex(front):
        assert_near(y[place], feed(x[place], params), 1e-14)


@both_tracks
def test_outputs_may_be_negative_and_each_bias_counts(feed):
    x, params = normal(50, 3), drawn(3, 5)
    assert feed(x, params).min() < 0
    moved = params | {"w_2.bias": params["w_2.bias"] + [1, 2, 3]}
    assert_near(feed(x, moved) - feed(x, params), np.tile([1.0, 2.0, 3.0], (50, 1)), 1e-13)
    far = params | {"w_1.bias": np.full(5, 100.0)}  # all units fire: one matrix
    straight = (x @ params["w_1.weight"].T + 100) @ params["w_2.weight"].T + params["w_2.bias"]
    assert_near(feed(x, far), straight, 1e-13)
    off = params | {"w_1.bias": np.full(5, -100.0)}  # none fires
    assert np.array_equal(feed(x, off), np.tile(params["w_2.bias"], (50, 1)))


def test_without_the_bend_it_would_be_one_matrix_and_with_it_it_is_not():
    x, network = torch.tensor(normal(2, 3)), module(drawn(3, 8))

    def bent(f):
        return not torch.allclose(f(x[0]) + f(x[1]), f(x[0] + x[1]) + f(0 * x[0]))

    assert bent(network)
    network.activation = torch.nn.Identity()
    assert not bent(network)


# Gradients


@pytest.mark.parametrize("front", [(), (4,), (2, 4)], ids=["a word", "a sentence", "a batch"])
def test_the_gradient_agrees_with_differences_and_with_pytorch(front):
    x, params, d_y = normal(*front, 3), drawn(3, 5), normal(*front, 3, seed=9)
    d_x, d_params = feed_forward_backward(d_y, feed_forward(x, params)[1])
    assert tuple(d_params) == NAMES

    def loss(x, *values):
        return (d_y * feed_forward(x, dict(zip(NAMES, values, strict=True)))[0]).sum()

    assert_gradients(loss, [x, *params.values()], [d_x, *d_params.values()])
    network, (t,) = module(params), tensors(x)
    network(t).backward(torch.tensor(d_y))
    assert_near(t.grad, d_x, 1e-9)
    for name, parameter in network.named_parameters():
        assert_near(parameter.grad, d_params[name], 1e-9)


def test_the_backward_reads_what_was_saved_by_name():
    x, params, d_y = normal(4, 3), drawn(3, 5), normal(4, 3, seed=9)
    saved = feed_forward(x, params)[1]
    shuffled = {name: saved[name] for name in reversed(saved)}
    for one, other in zip(feed_forward_backward(d_y, saved), feed_forward_backward(d_y, shuffled), strict=True):
        assert np.array_equal(list(one), list(other)) if isinstance(one, dict) else np.array_equal(one, other)


def test_a_dead_unit_gets_no_gradient_at_all():
    params = drawn(3, 5)
    params["w_1.bias"][2] = -100
    d_params = feed_forward_backward(normal(4, 3), feed_forward(normal(4, 3, seed=1), params)[1])[1]
    assert np.all(d_params["w_1.weight"][2] == 0)
    assert d_params["w_1.bias"][2] == 0
    assert np.all(d_params["w_2.weight"][:, 2] == 0)
    assert np.all(d_params["w_2.bias"] != 0)


def test_neither_forward_nor_backward_changes_what_it_is_given():
    x, params, d_y = normal(4, 3), drawn(3, 5), normal(4, 3, seed=9)
    kept = copy.deepcopy((x, params, d_y))
    _, saved = feed_forward(x, params)
    feed_forward_backward(d_y, saved)
    assert np.array_equal(x, kept[0])
    assert all(np.array_equal(params[name], kept[1][name]) for name in NAMES)
    assert np.array_equal(d_y, kept[2])


# Agreement


def own_layer(network, activation):
    """PyTorch's encoder layer with our weights in the two maps that it calls linear1 and linear2."""
    d_ff, d_model = network.w_1.weight.shape
    own = torch.nn.TransformerEncoderLayer(d_model, 1, d_ff, activation=activation, dtype=torch.float64).eval()
    own.linear1.load_state_dict(network.w_1.state_dict())
    own.linear2.load_state_dict(network.w_2.state_dict())
    return lambda x: own.linear2(own.dropout(own.activation(own.linear1(x))))


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_is_the_middle_of_pytorchs_encoder_layer(activation):
    x, network = torch.tensor(normal(2, 4, 6)), module(drawn(6, 10), activation)
    assert_near(network(x), own_layer(network, activation)(x), 1e-14)


def test_both_tracks_agree():
    x, params = normal(2, 4, 6), drawn(6, 10)
    assert_near(in_torch(x, params), by_hand(x, params), 1e-14)


def test_gelu_is_the_exact_form_and_not_the_one_with_tanh():
    x, params = normal(40, 3), drawn(3, 5)
    inner = x @ params["w_1.weight"].T + params["w_1.bias"]
    exact = inner * phi(inner) @ params["w_2.weight"].T + params["w_2.bias"]
    network = module(params, "gelu")
    assert_near(network(torch.tensor(x)), exact, 1e-14)
    network.activation = torch.nn.GELU(approximate="tanh")
    assert np.abs(network(torch.tensor(x)).detach().numpy() - exact).max() > 1e-5


def test_the_parameters_have_the_names_and_shapes_of_the_hand_written_track():
    state = FeedForward(3, 5).state_dict()
    assert {name: tuple(p.shape) for name, p in state.items()} == {n: a.shape for n, a in drawn(3, 5).items()}
    assert state["w_1.bias"].eq(0).all()
    assert state["w_2.bias"].eq(0).all()


def test_the_first_weights_lie_within_half_of_glorots_bounds():
    torch.manual_seed(0)
    network = FeedForward(64, 256)
    for weight in (network.w_1.weight, network.w_2.weight):
        bound = 0.5 * math.sqrt(6 / (64 + 256))
        assert 0.99 * bound < weight.abs().max() <= bound


def test_the_base_model_has_two_thirds_of_an_encoder_layer_here():
    count = sum(p.numel() for p in FeedForward(512, 2048).parameters())
    assert count == 2 * 512 * 2048 + 2048 + 512 == 2_099_712


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_it_runs_in_lower_precision(dtype, activation):
    x, params = normal(4, 6), drawn(6, 10)
    low = module(params, activation, dtype)
    y = low(torch.tensor(x, dtype=dtype))
    assert y.dtype == dtype
    y.sum().backward()
    assert all(p.grad.isfinite().all() for p in low.parameters())
    exact = module(params, activation)(torch.tensor(x))
    assert torch.allclose(y.double(), exact, atol=50 * torch.finfo(dtype).eps)


def test_it_is_deterministic_also_while_training():
    network, x = module(drawn(3, 5)).train(), torch.tensor(normal(4, 3))
    assert torch.equal(network(x), network(x))
    assert torch.equal(network(x), network.eval()(x))


# Refusals


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 4), r"d_model \(0\) must be at least 1"),
        ((4, -2), r"d_ff \(-2\) must be at least 1"),
        ((4, 8, "tanh"), r"activation \('tanh'\) must be 'relu' or 'gelu'"),
        ((4, 8, "ReLU"), r"activation \('ReLU'\) must be 'relu' or 'gelu'"),
    ],
)
def test_sizes_and_names_that_do_not_exist_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        FeedForward(*arguments)


REFUSED = {
    "another width": (torch.zeros(2, 3), ValueError, r"the width of x \(3\) must be d_model \(4\)"),
    "a number": (torch.zeros(()), ValueError, r"the width of x \(none\) must be d_model \(4\)"),
    "whole numbers": (
        torch.zeros(2, 4, dtype=torch.uint8),
        TypeError,
        r"x must be of a floating-point type, not torch.uint8",
    ),
    "an array": (np.zeros((2, 4)), TypeError, r"x must be a torch.Tensor, not ndarray"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_rows_of_its_width_is_refused_by_name_and_value(case):
    x, error, words = REFUSED[case]
    with unchecked(), pytest.raises(error, match=words):
        FeedForward(4, 3)(x)


# Pictures


def test_the_kinks_are_drawn_as_given():
    x, parts = np.linspace(0, 1, 5)[:, None], normal(5, 3)
    upper, lower = figures.feedforward.kinks(x, x**2, parts, parts.sum(axis=1)).axes
    curves = [line.get_ydata().tolist() for line in upper.lines[:3]]
    assert np.array_equal(curves, parts.T)
    lines = {line.get_label(): line.get_ydata() for line in lower.lines}
    assert np.array_equal(np.ravel(lines["wanted"]), np.ravel(x**2))
    assert np.array_equal(lines["sum of the lines above"], parts.sum(axis=1))


def test_the_firing_units_stand_in_rows_of_words():
    inner = normal(2, 4)
    upper, lower = figures.feedforward.firing(inner, relu(inner), ("this", "that")).axes
    assert np.array_equal(upper.get_images()[0].get_array(), inner)
    assert np.array_equal(lower.get_images()[0].get_array(), relu(inner))
    assert [tick.get_text() for tick in upper.get_yticklabels()] == ["this", "that"]
    low, high = upper.get_images()[0].get_clim()
    assert low == -high, "zero is white"


def test_activations_have_their_values_left_and_their_slopes_right():
    x, values, slopes = np.arange(3.0), {"a": np.arange(3.0), "b": np.ones(3)}, {"a": np.ones(3), "b": np.zeros(3)}
    for axes, curves in zip(figures.feedforward.activations(x, values, slopes).axes, (values, slopes), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert all(np.array_equal(lines[name], y) for name, y in curves.items())


def test_a_row_goes_down_in_lines_and_only_the_units_that_fire_are_tinted():
    row, inner = normal(64), normal(96)
    frame, *panels = figures.feedforward.network(row, relu(inner), -row, ("in", "hidden", "out")).axes
    shown = [axes.get_images()[0] for axes in panels]
    for image, x in zip(shown, (row, relu(inner), -row), strict=True):
        assert np.array_equal(np.ravel(image.get_array()), x)
    white = np.all(shown[1].to_rgba(shown[1].get_array())[..., :3] == 1, axis=-1).ravel()
    assert np.array_equal(white, inner <= 0)
    tops = [axes.get_position().y1 for axes in panels]
    assert tops == sorted(tops, reverse=True), "from above downwards"
    assert [text.get_text() for text in frame.texts][::2] == ["in", "hidden", "out"], "with what is between them"


def test_a_line_parts_the_points_that_are_wanted_from_the_others():
    facts = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    hidden, wanted = relu(facts @ np.array([[1.0, -1], [-1, 1]])), [False, True, True, False]
    left, right = figures.feedforward.separated(facts, hidden, wanted, "abcd").axes
    assert np.array_equal([dots.get_offsets()[0] for dots in left.collections], facts)
    filled = [bool(np.all(dots.get_facecolor()[0, :3] < 0.5)) for dots in left.collections]
    assert filled == wanted
    assert [text.get_text() for text in right.texts] == ["“a”,\n“d”", "“b”", "“c”"]
    (x, y) = right.lines[0].get_data()
    slope = (y[1] - y[0]) / (x[1] - x[0])
    assert np.array_equal(hidden[:, 1] > y[0] + slope * (hidden[:, 0] - x[0]), wanted)


def test_each_question_stands_over_its_unit():
    inner, questions = normal(2, 3), ["first", "second", "third + 1"]
    upper, lower = figures.feedforward.firing(inner, relu(inner), ("this", "that"), questions).axes
    over = [(tick.get_position()[0], tick.get_text()) for tick in upper.get_xticklabels()]
    assert over == list(enumerate(questions))
    assert upper.xaxis.get_ticks_position() == "top"
    assert [tick.get_text() for tick in lower.get_xticklabels()] == ["1", "2", "3"]


def test_what_units_tell_is_a_point_for_each_case_in_the_row_of_its_group_filled_where_it_fires():
    inner, groups = normal(7, 2), list("mfnmfnm")
    names = {"m": "er", "f": "sie", "n": "es"}
    shares = [[0.5, 0.0, 1.0], [0.25, 0.75, 0.0]]
    panels = figures.feedforward.told(inner, groups, names, [14, 137], shares).axes
    for axes, values, fires in zip(panels, inner.T, shares, strict=True):
        assert [text.get_text() for text in axes.texts] == [f"{share:.0%}" for share in fires]
        for n, (group, points) in enumerate(zip(names, axes.collections, strict=True)):
            x, y = points.get_offsets().T
            assert np.array_equal(x, values[np.array(groups) == group])
            assert np.all(abs(y - n) < 0.5)
            white = np.all(points.get_facecolor()[:, :3] == 1, axis=1)
            assert np.array_equal(white, x <= 0)
