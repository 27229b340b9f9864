"""Recurrence: the worked example, what a state can know, its gradient back through time, and one reader, one writer."""

import math

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, legible, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from tested_transformer.book import figures
from tested_transformer.book.example import WORDS, X
from tested_transformer.byhand.recurrence import (
    linear_attention,
    recurrence,
    recurrence_backward,
)
from tested_transformer.data.tasks import reverse
from tested_transformer.model.recurrence import EncoderDecoder, Recurrence

W_X, W_H = np.array([[0.5, 0], [0, 0.5], [0.5, -0.5]]), np.array([[0.5, 0.5], [-0.5, 0.5]])
EXAMPLE = {"input.weight": W_X.T, "input.bias": np.array([0, 0.5]), "hidden.weight": W_H.T}
NAMES = list(EXAMPLE)


def network(d_in, d_model, seed=0):
    """Random parameters under their names."""
    shapes = (d_model, d_in), (d_model,), (d_model, d_model)
    return {name: normal(*shape, seed=seed) / 2 for name, shape in zip(NAMES, shapes, strict=True)}


def module(params):
    net = Recurrence(params["input.weight"].shape[1], len(params["input.bias"])).double()
    net.load_state_dict({name: torch.tensor(value) for name, value in params.items()})
    return net


def own_rnn(params):
    """PyTorch's own network with the same numbers; its second bias is zero."""
    net = torch.nn.RNN(params["input.weight"].shape[1], len(params["input.bias"]), batch_first=True).double()
    w_x, b, w_h = (torch.tensor(params[name]) for name in NAMES)
    values = {"weight_ih_l0": w_x, "weight_hh_l0": w_h, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
    net.load_state_dict(values)
    return net


def by_hand(x, start, params):
    return recurrence(x, start, params)[0]


def in_pytorch(x, start, params):
    return module(params)(torch.tensor(x.copy()), torch.tensor(start)).detach().numpy()


both_tracks = pytest.mark.parametrize("read", [by_hand, in_pytorch], ids=["byhand", "model"])
fronts = pytest.mark.parametrize("front", [(), (2,), (2, 3)], ids=["one sentence", "a batch", "two axes in front"])


def sized(front=(), seed=0):
    """Words (T, I) = (4, 3), a start and a gradient for states of width 5, and parameters."""
    x, start, d_states = (normal(*front, *s, seed=seed + i) for i, s in enumerate([(4, 3), (5,), (4, 5)]))
    return x, start, network(3, 5, seed), d_states


# By hand: "I love AI"


@both_tracks
def test_the_states_of_the_example_are_those_that_the_chapter_prints(read):
    states = read(X, np.zeros(2), EXAMPLE)
    assert states.round(4).tolist() == [[0.7616, 0], [0.3634, 0.8811], [0.2366, 0.9250]]
    tanh = math.tanh
    first = tanh(1)
    second = tanh(first / 2), tanh(0.5 + first / 2 + 0.5)
    third = tanh(0.5 + second[0] / 2 - second[1] / 2), tanh(0.5 + second[0] / 2 + second[1] / 2 + 0.5)
    assert_near(states, [(first, 0), second, third], 1e-15)


@both_tracks
def test_words_in_another_order_end_in_another_state(read):
    assert_near(read(X[::-1], np.zeros(2), EXAMPLE)[-1], [0.4333, 0.3691], 1e-4)


def test_a_state_of_width_one_has_the_gradient_of_school():
    w, u, b, first, second, start = 0.7, -1.3, 0.2, 0.5, -0.4, 0.3
    params = {"input.weight": np.array([[w]]), "input.bias": np.array([b]), "hidden.weight": np.array([[u]])}
    states, saved = recurrence(np.array([[first], [second]]), np.array([start]), params)
    h_1 = math.tanh(w * first + u * start + b)
    h_2 = math.tanh(w * second + u * h_1 + b)
    assert_near(states, [[h_1], [h_2]], 1e-15)
    d_x, d_start, d_params = recurrence_backward(np.array([[0.0], [1.0]]), saved)
    slope_1, slope_2 = 1 - h_1**2, 1 - h_2**2
    assert_near(d_x, [[slope_2 * u * slope_1 * w], [slope_2 * w]], 1e-14)
    assert_near(d_start, [slope_2 * u * slope_1 * u], 1e-14)
    assert_near(d_params["hidden.weight"], [[slope_2 * (h_1 + u * slope_1 * start)]], 1e-14)
    assert_near(d_params["input.weight"], [[slope_2 * (second + u * slope_1 * first)]], 1e-14)
    assert_near(d_params["input.bias"], [slope_2 * (1 + u * slope_1)], 1e-14)


def test_the_gradient_of_the_example_is_larger_for_nearer_words():
    states, saved = recurrence(X, np.zeros(2), EXAMPLE)
    d_states = np.zeros_like(states)
    d_states[2, 0] = 1
    d_x = recurrence_backward(d_states, saved)[0]
    assert_near(d_x, [[0.0319, -0.1288, 0.1607], [0.2048, -0.0528, 0.2576], [0.4720, 0, 0.4720]], 2e-4)


# What a state can know


@both_tracks
@given(st.integers(1, 5), st.integers(0, 99))
def test_reading_can_be_interrupted_anywhere(read, cut, seed):
    x, start, params = normal(6, 3, seed=seed), normal(2, seed=seed), network(3, 2, seed)
    whole, first = read(x, start, params), read(x[:cut], start, params)
    assert_near(first, whole[:cut], 1e-14)
    assert_near(read(x[cut:], first[-1], params), whole[cut:], 1e-14)


@both_tracks
@given(st.integers(0, 5), st.integers(0, 99))
def test_later_words_change_nothing_before_them_and_something_after(read, place, seed):
    x, params = normal(6, 3, seed=seed), network(3, 2, seed)
    changed = x.copy()
    changed[place] += 1
    before, after = (read(y, np.zeros(2), params) for y in (x, changed))
    assert np.array_equal(before[:place], after[:place])
    assert np.all(np.any(before[place : place + 2] != after[place : place + 2], axis=-1))


@both_tracks
@given(st.integers(0, 99))
def test_every_number_of_a_state_lies_between_minus_one_and_one(read, seed):
    states = read(100 * normal(2, 5, 3, seed=seed), normal(2, 4), network(3, 4, seed))
    assert np.all(np.abs(states) <= 1)


@both_tracks
def test_without_a_hidden_weight_each_state_knows_its_own_word_only(read):
    x, start, params, _ = sized()
    params["hidden.weight"] *= 0
    own = np.tanh(x @ params["input.weight"].T + params["input.bias"])
    assert_near(read(x, start, params), own, 1e-14)


@both_tracks
@fronts
def test_each_sentence_of_a_batch_is_read_by_itself(read, front):
    x, start, params, _ = sized(front)
    whole = read(x, start, params)
    assert whole.shape == (*front, 4, 5)
    for place in np.ndindex(front):
        assert_near(whole[place], read(x[place], start[place], params), 1e-14)


def test_the_steps_follow_one_another_and_the_words_are_multiplied_at_once():
    net, calls = module(network(3, 5)), []
    for name in ("input", "hidden"):
        getattr(net, name).register_forward_hook(lambda *_, name=name: calls.append(name))
    net(torch.zeros(2, 7, 3).double(), torch.zeros(2, 5).double())
    assert calls == ["input", *["hidden"] * 7]


# Gradients


@fronts
def test_the_gradient_by_hand_agrees_with_differences(front):
    x, start, params, d_states = sized(front)
    d_x, d_start, d_params = recurrence_backward(d_states, recurrence(x, start, params)[1])

    def loss(x, start, *values):
        return (d_states * recurrence(x, start, dict(zip(NAMES, values, strict=True)))[0]).sum()

    assert list(d_params) == NAMES
    assert_gradients(loss, [x, start, *params.values()], [d_x, d_start, *d_params.values()])


@fronts
def test_the_gradient_by_hand_is_the_one_that_pytorch_finds(front):
    x, start, params, d_states = sized(front)
    d_x, d_start, d_params = recurrence_backward(d_states, recurrence(x, start, params)[1])
    net, (words, first) = module(params), tensors(x, start)
    net(words, first).backward(torch.tensor(d_states))
    assert_near(words.grad, d_x, 1e-9)
    assert_near(first.grad, d_start, 1e-9)
    for name, parameter in net.named_parameters():
        assert_near(parameter.grad, d_params[name], 1e-9)


def test_pytorchs_own_network_has_the_same_states_and_the_same_gradient():
    x, start, params, d_states = sized((2,))
    states, saved = recurrence(x, start, params)
    d_x, d_start, d_params = recurrence_backward(d_states, saved)
    own, (words, first) = own_rnn(params), tensors(x, start)
    own_states, own_last = own(words, first[None])
    assert_near(own_states, states, 1e-13)
    assert_near(own_last[0], states[:, -1], 1e-13)
    assert_near(module(params)(torch.tensor(x), torch.tensor(start)), states, 1e-13)
    own_states.backward(torch.tensor(d_states))
    assert_near(words.grad, d_x, 1e-9)
    assert_near(first.grad, d_start, 1e-9)
    assert_near(own.weight_ih_l0.grad, d_params["input.weight"], 1e-9)
    assert_near(own.weight_hh_l0.grad, d_params["hidden.weight"], 1e-9)
    assert_near(own.bias_ih_l0.grad, d_params["input.bias"], 1e-9)
    assert_near(own.bias_hh_l0.grad, d_params["input.bias"], 1e-9)


@pytest.mark.parametrize("factor", [0.5, 0.9])
def test_a_matrix_that_shrinks_lets_no_gradient_through_from_far_away(factor):
    turn = np.linalg.qr(normal(5, 5))[0]
    params = network(3, 5) | {"hidden.weight": factor * turn}
    states, saved = recurrence(normal(40, 3), np.zeros(5), params)
    d_states = np.zeros_like(states)
    d_states[-1, 0] = 1
    length = np.linalg.norm(recurrence_backward(d_states, saved)[0], axis=1)
    limit = np.linalg.norm(params["input.weight"], 2) * factor ** np.arange(39, -1, -1)
    assert np.all(length <= limit)
    assert np.all(length > 0)


# One reads, one writes


def mix(states, memory):
    return (states @ memory.transpose(1, 2)).softmax(2) @ memory


def pair(look=None, vocab_size=9, d_model=5, seed=0):
    """A model whose numbers come from NumPy, in float64."""
    model = EncoderDecoder(vocab_size, d_model, look).double()
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(torch.tensor(normal(*p.shape, seed=seed + i)))
    return model


SOURCE = torch.tensor([[4, 5, 6, 7], [8, 4, 4, 5]])
TARGET = torch.tensor([[1, 7, 6, 5, 4], [1, 5, 4, 4, 8]])
both_ways = pytest.mark.parametrize("look", [None, mix], ids=["through one vector", "with a look back"])


@both_ways
def test_the_logits_are_those_of_the_formula(look):
    model = pair(look)
    numbers = {name: p.detach().numpy() for name, p in model.named_parameters()}
    parts = [{name: numbers[f"{part}.{name}"] for name in NAMES} for part in ("encoder", "decoder")]
    table = numbers["embedding.weight"]
    memory = by_hand(table[SOURCE], np.zeros((2, 5)), parts[0])
    states = by_hand(table[TARGET], memory[:, -1], parts[1])
    if look:
        exps = np.exp(states @ memory.swapaxes(1, 2))
        states = states + exps / exps.sum(axis=2, keepdims=True) @ memory
    logits = states @ numbers["output.weight"].T + numbers["output.bias"]
    assert_near(model(SOURCE, TARGET), logits, 1e-12)
    assert_near(model.encode(SOURCE), memory, 1e-13)


@both_ways
def test_a_later_token_of_the_target_changes_nothing_before_it(look):
    model, changed = pair(look), TARGET.clone()
    changed[:, 3] = 6
    before, after = model(SOURCE, TARGET), model(SOURCE, changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


@both_ways
def test_a_target_can_be_decoded_piece_by_piece(look):
    model = pair(look)
    memory = model.encode(SOURCE)
    state, found = memory[:, -1], []
    for piece in TARGET.split([2, 1, 2], dim=1):
        logits, state = model.decode(piece, state, memory)
        found.append(logits)
    assert_near(torch.cat(found, dim=1), model(SOURCE, TARGET).detach(), 1e-13)


def test_only_a_look_back_reads_the_states_before_the_last():
    memory = pair().encode(SOURCE)
    other = memory.clone()
    other[:, :-1] += 1
    for look, same in ((None, True), (mix, False)):
        model = pair(look)
        one, two = (model.decode(TARGET, memory[:, -1], m)[0] for m in (memory, other))
        assert torch.allclose(one, two) == same


def test_a_look_back_of_the_same_form_adds_no_parameter():
    one, other = pair(), pair(mix)
    assert {n: p.shape for n, p in one.named_parameters()} == {n: p.shape for n, p in other.named_parameters()}
    assert sum(p.numel() for p in one.parameters()) == 9 * 5 + 2 * (5 * 5 + 5 + 5 * 5) + 9 * 5 + 9


@both_ways
def test_what_is_written_is_the_likeliest_after_what_was_written(look):
    model = pair(look, seed=3)
    written = model.write(SOURCE, 6)
    assert written.shape == (2, 6)
    assert written.dtype == torch.int64
    read = torch.cat([torch.ones(2, 1, dtype=torch.int64), written[:, :-1]], dim=1)
    assert torch.equal(model(SOURCE, read).argmax(dim=-1), written)
    assert torch.equal(model.write(SOURCE, 2), written[:, :2])
    assert torch.equal(model.write(SOURCE[1:], 6), written[1:])
    assert len(written.unique()) > 1


def test_writing_collects_no_gradient():
    model, collecting = pair(), []
    model.output.register_forward_hook(lambda *args: collecting.append(args[-1].requires_grad))
    model.write(SOURCE, 3)
    assert collecting == [False] * 3


def test_one_table_serves_source_and_target_and_rows_that_nobody_used_get_no_gradient():
    model = pair()
    model(SOURCE[:1], TARGET[:1, :2]).sum().backward()
    touched = model.embedding.weight.grad.ne(0).any(dim=1)
    assert touched.nonzero().flatten().tolist() == [1, 4, 5, 6, 7]


@both_ways
def test_two_ids_are_soon_written_backwards(look):
    model = EncoderDecoder(8, 12, look).double()
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.normal(size=p.shape) / 4))
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    for i in range(150):
        source, target = map(torch.tensor, reverse(16, 2, 8, seed=i))
        adam.zero_grad()
        F.cross_entropy(model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten()).backward()
        adam.step()
    source, target = map(torch.tensor, reverse(50, 2, 8, seed=999))
    assert torch.equal(model.write(source, 3), target[:, 1:])


# Refusals

NET = Recurrence(3, 5)
SMALL = EncoderDecoder(9, 5)
REFUSED = {
    "no width in": (lambda: Recurrence(0, 5), r"d_in \(0\) must be at least 1"),
    "no width": (lambda: Recurrence(3, 0), r"d_model \(0\) must be at least 1"),
    "no vocabulary": (lambda: EncoderDecoder(0, 5), r"vocab_size \(0\) must be at least 1"),
    "another width": (
        lambda: NET(torch.zeros(2, 4, 6), torch.zeros(2, 5)),
        r"the width of x \(6\) must be d_in \(3\)",
    ),
    "nothing to read": (
        lambda: NET(torch.zeros(2, 0, 3), torch.zeros(2, 5)),
        r"x of shape \(2, 0, 3\) must be a sequence \(length, width\) of at least one token",
    ),
    "a single row": (
        lambda: NET(torch.zeros(3), torch.zeros(5)),
        r"x of shape \(3,\) must be a sequence \(length, width\)",
    ),
    "one start for many": (
        lambda: NET(torch.zeros(2, 4, 3), torch.zeros(5)),
        r"the shape of start \(5,\) must be \(2, 5\)",
    ),
    "padding": (
        lambda: SMALL.encode(torch.tensor([[4, 5, 0]])),
        r"source must not contain pad_id \(0\): the last state would be that after the padding",
    ),
    "nothing to write": (lambda: SMALL.write(SOURCE, 0), r"length \(0\) must be at least 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_name_and_value(case):
    wrong, words = REFUSED[case]
    with unchecked(), pytest.raises(ValueError, match=words):
        wrong()


def test_a_recurrence_reads_tensors_of_floating_point_numbers_only():
    start = torch.zeros(2, 5)
    with unchecked():
        with pytest.raises(TypeError, match=r"x must be of a floating-point type, not torch.int64"):
            NET(torch.zeros(2, 4, 3, dtype=torch.int64), start)
        with pytest.raises(TypeError, match=r"x must be a torch.Tensor, not ndarray"):
            NET(np.zeros((2, 4, 3)), start)


# Figures

STATES = by_hand(X, np.zeros(2), EXAMPLE)
CURVES = {"one": [200, 150, 3], "two": [200, 200, 190], "three": [200, 200, 200]}
FIGURES = {
    "unrolled": lambda: figures.recurrence.unrolled(X, np.zeros(2), STATES, WORDS),
    "carried": lambda: figures.recurrence.carried(["the", "chair", "is", "old"], 1, ["er", "ist", "alt"], "er"),
    "kept": lambda: figures.recurrence.kept([31, 130, 199], 200),
    "machine": lambda: figures.recurrence.machine(["4", "9", "7"], ["7", "9", "4", "EOS"]),
    "steps": lambda: figures.recurrence.steps([8, 16, 32], {"a": [8, 16, 32], "b": [1, 1, 1]}),
    "fading": lambda: figures.recurrence.fading({"1": 0.5 ** np.arange(30), "3": 2.0 ** np.arange(30)}, 1e-7),
    "exact": lambda: figures.recurrence.exact([1, 2, 3], CURVES, 200),
    "one grid": lambda: figures.recurrence.grids({"shares": np.eye(3)}, ["a", "b", "c"], ["x", "y", "z"]),
    "two grids": lambda: figures.recurrence.grids({"p": [[1, 2]], "q": [[3, 4]]}, ["a"], ["x", "y"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_without_warnings_and_fits_a_phone(name):
    legible(FIGURES[name])


def test_the_unrolled_network_shows_words_above_states():
    figure = FIGURES["unrolled"]()
    columns = {axes.get_yticklabels()[0].get_text(): axes for axes in figure.axes[1:]}
    assert columns.keys() == {"$h_0$", *(f"${x}_{i}$" for x in "xh" for i in (1, 2, 3))}
    for i in range(3):
        assert np.array_equal(columns[f"$x_{i + 1}$"].get_images()[0].get_array()[:, 0], X[i])
        assert np.array_equal(columns[f"$h_{i + 1}$"].get_images()[0].get_array()[:, 0], STATES[i])
        word, state = (columns[f"${x}_{i + 1}$"].get_position() for x in "xh")
        assert word.y0 > state.y1
    lefts = [columns[f"$h_{i}$"].get_position().x0 for i in range(4)]
    assert lefts == sorted(lefts)


@pytest.mark.parametrize("name", ["steps", "exact"])
def test_each_curve_has_its_numbers_and_its_name(name):
    (axes,) = FIGURES[name]().axes
    given = {"steps": {"a": [8, 16, 32], "b": [1, 1, 1]}, "exact": CURVES}[name]
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == given
    told = axes.texts if name == "steps" else axes.get_legend().get_texts()
    assert [text.get_text() for text in told] == list(given)


def test_each_fading_curve_has_its_name_at_its_end():
    (axes,) = FIGURES["fading"]().axes
    for line, text, base in zip(axes.lines, axes.texts, [0.5, 2.0], strict=False):
        assert np.array_equal(line.get_ydata(), base ** np.arange(30))
        assert text.get_text() == ("1" if base < 1 else "3")
        assert text.xy == (30, base**29)
        assert text.get_color() == line.get_color()
    assert list(axes.lines[3].get_ydata()) == [1e-7, 1e-7]


def test_grids_have_a_row_for_each_token_written():
    left, right = FIGURES["two grids"]().axes
    for axes, x in ((left, [[1, 2]]), (right, [[3, 4]])):
        assert axes.get_images()[0].get_array().tolist() == x
        assert [t.get_text() for t in axes.get_yticklabels()] == ["a"]
        assert [t.get_text() for t in axes.get_xticklabels()] == ["x", "y"]
        assert (axes.get_ylabel(), axes.get_xlabel()) == ("id written", "id read")
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["p", "q"]
    assert [axes.texts[-1].get_color() for axes in (left, right)] == ["black", "white"]  # of 4, two and four


def test_the_machine_reads_from_above_and_writes_to_below():
    (axes,) = FIGURES["machine"]().axes
    places = [(text.get_text(), *text.get_position()) for text in axes.texts if text.get_text()]
    above = [token for token, _, height in sorted(places, key=lambda place: place[1]) if height > 0]
    below = [token for i in range(3, 7) for token, x, height in places if height < 0 and x == i]
    assert above == ["4", "9", "7", "BOS", "7", "9", "4"]  # what is written is read in the next step
    assert below == ["7", "9", "4", "EOS"]


# Without a softmax


def test_linear_attention_is_a_product_under_a_causal_mask_and_its_state_does_not_grow():
    draws = np.random.default_rng(0)
    q, k = draws.normal(size=(2, 3, 7, 4))
    v = draws.normal(size=(3, 7, 5))
    out, state = linear_attention(q, k, v)
    assert_near(out, np.tril(q @ k.swapaxes(-1, -2)) @ v, 1e-12)
    assert_near(state, k.swapaxes(-1, -2) @ v, 1e-12)
    assert out.shape == (3, 7, 5)
    assert state.shape == (3, 4, 5)
    for length in (1, 4):  # later tokens change nothing before them
        assert_near(linear_attention(q[:, :length], k[:, :length], v[:, :length])[0], out[:, :length], 1e-12)


def test_a_state_keeps_as_many_pairs_as_a_key_has_numbers_and_no_more():
    keys, values = np.eye(4), np.random.default_rng(0).normal(size=(4, 3))
    assert_near(linear_attention(keys, keys, values)[1], values, 1e-12)
    again = np.concatenate([keys, keys[:1]])
    _, state = linear_attention(again, again, np.concatenate([values, values[:1] + 1]))
    assert_near(state[0], 2 * values[0] + 1, 1e-12)  # a sum of both, and neither comes back
