"""Layer norm and the frame around a box: one row by hand, its laws, its gradient, both orders, and dropout."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from helpers import arrays, assert_gradients, assert_near, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.byhand.addnorm import add_norm, add_norm_backward, layer_norm, layer_norm_backward
from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.model.addnorm import layer_norm as torch_layer_norm

G, B = np.array([2.0, 1.0, -0.5, 3.0]), np.array([0.0, 1.0, 3.0, -2.0])


def as_numpy(x, weight, bias, eps=1e-5):
    return torch_layer_norm(*map(torch.tensor, (x, weight, bias)), eps).numpy()


def as_module(fused):
    def norm(x, weight, bias, eps=1e-5):
        module = LayerNorm(x.shape[-1], eps, fused).double()
        module.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        return module(torch.tensor(x)).detach().numpy()

    return norm


TRACKS = {"byhand": layer_norm, "formula": as_numpy, "module": as_module(False), "fused": as_module(True)}
every_track = pytest.mark.parametrize("norm", TRACKS.values(), ids=TRACKS)


def plain(norm, x, eps=1e-5):
    """Without scale and shift."""
    width = np.shape(x)[-1]
    return norm(np.asarray(x, dtype=float), np.ones(width), np.zeros(width), eps)


# By hand


@every_track
def test_one_row_by_hand(norm):
    row = np.array([[1.0, 3.0, 5.0, 7.0]])  # mean 4, squares 9, 1, 1, 9
    expected = np.array([[-3, -1, 1, 3]]) / math.sqrt(5 + 1e-5)
    assert_near(plain(norm, row), expected, 1e-14)
    assert_near(norm(row, G, B), G * expected + B, 1e-14)


@every_track
@pytest.mark.parametrize("eps", [1e-5, 0.25, 3.0])
def test_eps_stands_inside_the_root_and_has_the_value_given(norm, eps):
    row = np.array([[0.1, -0.1]])
    assert_near(plain(norm, row, eps), row / math.sqrt(0.01 + eps), 1e-13)


def test_eps_is_one_hundred_thousandth_unless_given():
    row = np.array([[0.01, -0.01]])
    expected = row / math.sqrt(1e-4 + 1e-5)
    for norm in TRACKS.values():
        assert_near(norm(row, np.ones(2), np.zeros(2)), expected, 1e-12)
    assert_near(LayerNorm(2).double()(torch.tensor(row)), expected, 1e-12)


@every_track
@pytest.mark.parametrize("width", [3, 4, 64])
def test_the_variance_is_that_of_the_numbers_and_no_estimate(norm, width):
    row = normal(1, width)
    normed = plain(norm, row)
    assert math.isclose(normed.std(), 1, rel_tol=1e-4)
    unbiased = (row - row.mean()) / (row.std(ddof=1) + 1e-5)  # as some programs have it
    assert math.isclose(unbiased.std(), math.sqrt((width - 1) / width), rel_tol=1e-4)


@every_track
def test_width_two_leaves_only_which_number_is_larger(norm):
    assert_near(plain(norm, [[3, 1], [-7, 20]], 1e-12), [[1, -1], [-1, 1]], 1e-11)


@every_track
def test_width_one_leaves_nothing_but_the_shift(norm):
    assert norm(np.array([[3.0], [-8.0]]), np.array([5.0]), np.array([0.5])).tolist() == [[0.5], [0.5]]


# Laws


@every_track
@given(arrays(3, 5))
def test_a_row_has_mean_zero_and_a_variance_just_below_one(norm, x):
    y = plain(norm, x)
    assert np.allclose(y.mean(axis=1), 0, atol=1e-9)
    variance = x.var(axis=1)
    assert np.allclose(y.var(axis=1), variance / (variance + 1e-5), atol=1e-9)


@every_track
@pytest.mark.parametrize("number", [0.0, 5.0, -3e4])
def test_a_row_of_equal_numbers_becomes_the_shift(norm, number):
    assert norm(np.full((2, 4), number), G, B).tolist() == [B.tolist()] * 2


@every_track
@given(arrays(2, 4), st.floats(-5, 5), st.floats(0.1, 10))
def test_shift_and_stretch_of_a_whole_row_are_forgotten(norm, x, shift, stretch):
    y = plain(norm, x)
    assert np.allclose(plain(norm, x + shift), y, atol=1e-9)
    assert np.allclose(plain(norm, stretch * x, stretch**2 * 1e-5), y, atol=1e-9)
    assert np.allclose(plain(norm, -x), -y, atol=1e-9)


@every_track
def test_a_changed_row_changes_no_other(norm):
    x = normal(2, 3, 4)
    y = norm(x, G, B)
    for place in np.ndindex(2, 3):
        changed = x.copy()
        changed[place] = normal(4, seed=5)
        assert np.argwhere(np.any(norm(changed, G, B) != y, axis=-1)).tolist() == [list(place)]
        assert_near(y[place], norm(x[place][None], G, B)[0], 1e-14)


@every_track
def test_scale_and_shift_belong_to_the_columns(norm):
    x = normal(3, 4)
    assert_near(norm(x, G, B), plain(norm, x) * G + B, 1e-14)


@every_track
def test_it_is_exact_where_fractions_are(norm):
    row = [Fraction(2), Fraction(-1), Fraction(4), Fraction(3)]
    mean = sum(row) / 4
    variance = sum((number - mean) ** 2 for number in row) / 4
    expected = [float(number - mean) / math.sqrt(variance + Fraction(1, 100_000)) for number in row]
    assert_near(plain(norm, [[float(number) for number in row]])[0], expected, 1e-14)


# Gradients of the norm


@pytest.mark.parametrize("front", [(), (3,), (2, 3)], ids=["a row", "rows", "a batch"])
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_the_gradient_of_the_norm_agrees_with_differences_and_with_pytorch(front, eps):
    x, d_y = normal(*front, 4), normal(*front, 4, seed=1)
    by_hand = layer_norm_backward(d_y, x, G, eps)
    assert_gradients(lambda x, g, b: (d_y * layer_norm(x, g, b, eps)).sum(), [x, G, B], by_hand)
    for norm in (torch_layer_norm, lambda x, g, b, eps: torch.nn.functional.layer_norm(x, (4,), g, b, eps)):
        inputs = tensors(x, G, B)
        norm(*inputs, eps).backward(torch.tensor(d_y))
        for tensor, gradient in zip(inputs, by_hand, strict=True):
            assert_near(tensor.grad, gradient, 1e-9)


def test_the_default_eps_of_the_way_back_is_that_of_the_way_there():
    x, d_y = 1e-3 * normal(3, 4), normal(3, 4, seed=1)
    for one, other in zip(layer_norm_backward(d_y, x, G), layer_norm_backward(d_y, x, G, 1e-5), strict=True):
        assert np.array_equal(one, other)


def test_no_gradient_asks_for_a_shift_or_a_stretch_of_the_whole_row():
    x, d_y = normal(5, 4), normal(5, 4, seed=1)
    d_x = layer_norm_backward(d_y, x, G, 1e-12)[0]
    assert np.allclose(d_x.sum(axis=1), 0, atol=1e-13)
    assert np.allclose((d_x * plain(layer_norm, x)).sum(axis=1), 0, atol=1e-9)
    d_x = layer_norm_backward(d_y, x, G, 0.5)[0]
    normed, variance = plain(layer_norm, x, 0.5), x.var(axis=1)
    left = (d_y * G * normed).sum(axis=1) * 0.5 / (variance + 0.5) ** 1.5  # what eps leaves of the stretch
    assert_near((d_x * normed).sum(axis=1), left, 1e-12)


def test_a_row_ten_times_as_large_gets_a_tenth_of_the_gradient():
    x, d_y = normal(3, 4), normal(3, 4, seed=1)
    assert_near(10 * layer_norm_backward(d_y, 10 * x, G, 1e-3)[0], layer_norm_backward(d_y, x, G, 1e-5)[0], 1e-13)


def test_a_row_of_equal_numbers_has_a_finite_gradient_on_every_way():
    x, d_y = np.full((2, 4), 5.0), normal(2, 4)
    d_x, d_g, _ = layer_norm_backward(d_y, x, G)
    expected = (d_y * G - (d_y * G).mean(axis=1, keepdims=True)) / math.sqrt(1e-5)
    assert_near(d_x, expected, 1e-13)
    assert np.all(d_g == 0)
    for fused in (True, False):
        module, (t,) = LayerNorm(4, fused=fused).double(), tensors(x)
        module.load_state_dict({"weight": torch.tensor(G), "bias": torch.tensor(B)})
        module(t).backward(torch.tensor(d_y))
        assert_near(t.grad, expected, 1e-12)


# Add & norm by hand

FRAME = {"norm.weight": G, "norm.bias": B}


def test_the_sum_is_normed_and_both_terms_get_its_gradient():
    x, sublayer, d_y = normal(2, 3, 4), normal(2, 3, 4, seed=1), normal(2, 3, 4, seed=2)
    for eps in (1e-5, 0.5):
        y, saved = add_norm(x, sublayer, FRAME, eps)
        assert np.array_equal(y, layer_norm(x + sublayer, G, B, eps))
        d_x, d_sublayer, d_params = add_norm_backward(d_y, saved)
        expected = layer_norm_backward(d_y, x + sublayer, G, eps)
        for got, want in zip((d_x, d_params["norm.weight"], d_params["norm.bias"]), expected, strict=True):
            assert np.array_equal(got, want)
        assert np.array_equal(d_sublayer, d_x)


def test_the_gradient_of_add_and_norm_agrees_with_differences_and_with_pytorch():
    x, sublayer, d_y = normal(3, 4), normal(3, 4, seed=1), normal(3, 4, seed=2)
    d_x, d_sublayer, d_params = add_norm_backward(d_y, add_norm(x, sublayer, FRAME)[1])
    assert d_params.keys() == FRAME.keys()
    by_hand = [d_x, d_sublayer, *d_params.values()]

    def loss(x, sublayer, weight, bias):
        return (d_y * add_norm(x, sublayer, {"norm.weight": weight, "norm.bias": bias})[0]).sum()

    assert_gradients(loss, [x, sublayer, G, B], by_hand)
    frame, (t, s) = framed(), tensors(x, sublayer)
    frame(t, lambda _: s).backward(torch.tensor(d_y))
    gradients = [t.grad, s.grad, frame.norm.weight.grad, frame.norm.bias.grad]
    for got, want in zip(gradients, by_hand, strict=True):
        assert_near(got, want, 1e-9)


def test_what_is_given_is_not_changed():
    x, sublayer, d_y = normal(3, 4), normal(3, 4, seed=1), normal(3, 4, seed=2)
    kept = copy.deepcopy((x, sublayer, d_y, FRAME))
    add_norm_backward(d_y, add_norm(x, sublayer, FRAME)[1])
    assert all(np.array_equal(a, b) for a, b in zip((x, sublayer, d_y), kept, strict=False))
    assert all(np.array_equal(FRAME[name], kept[3][name]) for name in FRAME)


# The frame in PyTorch

BOTH_ORDERS = pytest.mark.parametrize("norm_first", [False, True], ids=["norm-last", "norm-first"])


def framed(**options):
    """A frame of width 4 whose scale and shift are not those of the start."""
    frame = AddNorm(4, **options).double()
    frame.load_state_dict({name: torch.tensor(array) for name, array in FRAME.items()})
    return frame


def own_norm(eps=1e-5):
    norm = torch.nn.LayerNorm(4, eps).double()
    norm.load_state_dict({"weight": torch.tensor(G), "bias": torch.tensor(B)})
    return norm


def box(x):
    """A sub-layer that is neither linear nor symmetric."""
    return torch.sin(x) * torch.arange(1, 5)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_both_orders_are_those_of_the_formulas(eps, fused):
    x, norm = torch.tensor(normal(2, 3, 4)), own_norm(eps)
    assert_near(framed(eps=eps, fused=fused)(x, box), norm(x + box(x)), 1e-14)
    assert_near(framed(eps=eps, fused=fused, norm_first=True)(x, box), x + box(norm(x)), 1e-14)


def test_the_paper_puts_the_norm_last_unless_told_otherwise():
    x = torch.tensor(normal(3, 4))
    assert torch.equal(framed()(x, box), framed(norm_first=False)(x, box))
    assert_near(framed()(x, box), add_norm(x.numpy(), box(x).numpy(), FRAME)[0], 1e-14)


def test_a_box_that_gives_nothing_leaves_the_word():
    x = torch.tensor(normal(3, 4))
    assert torch.equal(framed(norm_first=True)(x, torch.zeros_like), x)
    assert_near(framed()(x, torch.zeros_like), own_norm()(x), 1e-14)


@BOTH_ORDERS
def test_the_box_runs_once_on_the_right_rows(norm_first):
    x, seen = torch.tensor(normal(3, 4)), []

    def watch(rows):
        seen.append(rows)
        return rows

    frame = framed(norm_first=norm_first)
    frame(x, watch)
    assert len(seen) == 1
    assert_near(seen[0], own_norm()(x) if norm_first else x, 1e-14)


@BOTH_ORDERS
def test_the_gradient_goes_past_the_box_as_well_as_through_it(norm_first):
    (x,) = tensors(normal(3, 4))
    d_y = torch.tensor(normal(3, 4, seed=1))
    framed(norm_first=norm_first)(x, torch.zeros_like).backward(d_y)
    past = d_y if norm_first else torch.tensor(layer_norm_backward(d_y.numpy(), x.detach().numpy(), G)[0])
    assert_near(x.grad, past, 1e-12)
    box_gradient = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    framed(norm_first=norm_first)(x, lambda rows: rows * 0 + box_gradient).backward(d_y)
    assert box_gradient.grad.ne(0).all()


@BOTH_ORDERS
def test_each_row_stands_in_its_own_frame(norm_first):
    x, frame = torch.tensor(normal(2, 3, 4)), framed(norm_first=norm_first)
    y = frame(x, box)
    for place in np.ndindex(2, 3):
        assert_near(y[place], frame(x[place], box), 1e-14)


def test_a_frame_has_two_parameters_and_no_two_frames_share_them():
    assert {name: p.shape for name, p in AddNorm(4).named_parameters()} == {"norm.weight": (4,), "norm.bias": (4,)}
    one, other = AddNorm(4), AddNorm(4)
    assert one.norm.weight is not other.norm.weight
    assert one.norm.weight.eq(1).all()
    assert one.norm.bias.eq(0).all()


def pytorchs_layer(norm_first):
    return torch.nn.TransformerEncoderLayer(
        4, 2, 8, dropout=0.0, norm_first=norm_first, batch_first=True, dtype=torch.float64
    ).train()


@BOTH_ORDERS
def test_two_frames_around_pytorchs_boxes_are_pytorchs_encoder_layer(norm_first):
    own, x = pytorchs_layer(norm_first), torch.tensor(normal(2, 3, 4))
    frames = [framed(norm_first=norm_first) for _ in range(2)]
    for frame, norm, seed in zip(frames, (own.norm1, own.norm2), (3, 4), strict=True):
        state = {"weight": torch.tensor(normal(4, seed=seed)), "bias": torch.tensor(normal(4, seed=seed + 5))}
        norm.load_state_dict(state)
        frame.norm.load_state_dict(state)
    y = frames[0](x, lambda rows: own.self_attn(rows, rows, rows, need_weights=False)[0])
    y = frames[1](y, lambda rows: own.linear2(torch.relu(own.linear1(rows))))
    assert_near(y, own(x), 1e-12)


# Dropout


def ones(x):
    return torch.ones_like(x)


def test_dropout_acts_on_what_the_box_adds_and_scales_what_is_left():
    x = torch.tensor(normal(200, 4))
    torch.manual_seed(0)
    frame = framed(dropout=0.25, norm_first=True).train()
    added = frame(x, ones) - x
    dropped = added.abs() < 1e-12
    assert 0.2 < dropped.double().mean() < 0.3
    assert torch.allclose(added[~dropped], torch.tensor(1 / 0.75, dtype=torch.float64))


def test_norm_last_drops_before_the_sum_and_the_norm():
    x = torch.tensor(normal(200, 4))
    torch.manual_seed(0)
    y = framed(dropout=0.5).train()(x, ones)
    torch.manual_seed(0)
    kept = torch.nn.functional.dropout(torch.ones_like(x), 0.5)
    assert_near(y, own_norm()(x + kept), 1e-14)
    assert not torch.allclose(y.mean(0), torch.nn.functional.dropout(own_norm()(x + 1), 0.5).mean(0), atol=1e-3)


@BOTH_ORDERS
def test_dropout_never_touches_the_word_or_the_norm(norm_first):
    x = torch.tensor(normal(50, 4))
    frame = framed(dropout=0.9, norm_first=norm_first).train()
    for _ in range(3):
        expected = x if norm_first else own_norm()(x)
        assert_near(frame(x, torch.zeros_like), expected, 1e-14)


@BOTH_ORDERS
def test_in_use_nothing_is_dropped_and_answers_repeat(norm_first):
    x, frame = torch.tensor(normal(50, 4)), framed(dropout=0.5, norm_first=norm_first)
    still = framed(norm_first=norm_first)(x, box)
    assert torch.equal(frame.eval()(x, box), still)
    assert not torch.equal(frame.train()(x, box), still)
    assert not torch.equal(frame(x, box), frame(x, box))
    assert torch.equal(frame.eval()(x, box), still)


def test_dropout_keeps_the_mean_of_what_is_added():
    x = torch.zeros(40_000, 4, dtype=torch.float64)
    torch.manual_seed(0)
    frame = framed(dropout=0.3, norm_first=True).train()
    assert torch.allclose(frame(x, ones).mean(0), torch.ones(4, dtype=torch.float64), atol=0.02)


def test_without_dropout_no_random_number_is_drawn():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    framed().train()(torch.tensor(normal(3, 4)), box)
    assert torch.equal(torch.random.get_rng_state(), before)


# Agreement and precision


@given(arrays(3, 4))
def test_formula_kernel_and_pytorchs_own_module_agree(x):
    expected = layer_norm(x, G, B)
    for norm in TRACKS.values():
        assert np.allclose(norm(x, G, B), expected, rtol=0, atol=1e-9)
    assert np.allclose(own_norm()(torch.tensor(x)).detach(), expected, rtol=0, atol=1e-9)


def test_fused_takes_the_kernel_and_the_other_way_does_not(monkeypatch):
    calls = []
    kernel = torch.nn.functional.layer_norm
    monkeypatch.setattr(torch.nn.functional, "layer_norm", lambda *a: calls.append(1) or kernel(*a))
    for fused, expected in ((True, 1), (False, 0)):
        calls.clear()
        LayerNorm(4, fused=fused)(torch.zeros(2, 4))
        AddNorm(4, fused=fused)(torch.zeros(2, 4), ones)
        assert len(calls) == 2 * expected


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_it_runs_in_lower_precision(dtype, fused):
    frame, x = framed(fused=fused).to(dtype), normal(3, 4)
    y = frame(torch.tensor(x, dtype=dtype), box)
    assert y.dtype == dtype
    exact = framed()(torch.tensor(x), box)
    assert torch.allclose(y.double(), exact, atol=30 * torch.finfo(dtype).eps)
    equal = torch.full((2, 4), 5.0, dtype=dtype, requires_grad=True)
    z = frame.norm(equal)
    assert z.isfinite().all()
    z.sum().backward()
    assert equal.grad.isfinite().all()


# Refusals


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LayerNorm(0), r"d_model \(0\) must be at least 1"),
        (lambda: LayerNorm(4, eps=0.0), r"eps \(0.0\) must be positive"),
        (lambda: LayerNorm(4, eps=-1e-5), r"eps \(-1e-05\) must be positive"),
        (lambda: LayerNorm(4, eps=math.nan), r"eps \(nan\) must be positive"),
        (lambda: AddNorm(4, eps=0.0), r"eps \(0.0\) must be positive"),
        (lambda: AddNorm(4, dropout=1.0), r"dropout \(1.0\) must be at least 0 and below 1"),
        (lambda: AddNorm(4, dropout=-0.1), r"dropout \(-0.1\) must be at least 0 and below 1"),
        (lambda: LayerNorm(4)(torch.zeros(2, 3)), r"the width of x \(3\) must be d_model \(4\)"),
        (lambda: LayerNorm(4, fused=False)(torch.zeros(2, 1)), r"the width of x \(1\) must be d_model \(4\)"),
        (
            lambda: AddNorm(4)(torch.zeros(2, 4), lambda x: x[:1]),
            r"what sublayer returns must have the shape of x: \(1, 4\) and \(2, 4\)",
        ),
        (
            lambda: AddNorm(4, norm_first=True)(torch.zeros(2, 4), lambda x: x[None]),
            r"what sublayer returns must have the shape of x: \(1, 2, 4\) and \(2, 4\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_value(make, words):
    with unchecked(), pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("is_fused", [False, True])
def test_a_norm_takes_tensors_of_floating_point_numbers_only(is_fused):
    with unchecked():
        with pytest.raises(TypeError, match=r"x must be of a floating-point type, not torch.int64"):
            LayerNorm(4, fused=is_fused)(torch.zeros(2, 4, dtype=torch.int64))
        with pytest.raises(TypeError, match=r"x must be a torch.Tensor, not ndarray"):
            LayerNorm(4, fused=is_fused)(np.zeros((2, 4)))


@BOTH_ORDERS
def test_a_box_that_returns_more_than_a_tensor_is_refused(norm_first):
    frame = AddNorm(4, norm_first=norm_first)
    with unchecked(), pytest.raises(TypeError, match=r"sublayer must return a tensor, not a tuple"):
        frame(torch.zeros(2, 4), lambda x: (x, None))


# Pictures


def test_the_size_of_rows_is_drawn_box_by_box_each_curve_with_its_name():
    (axes,) = figures.addnorm.depth({"a": [1.0, 2.0, 4.0, 8.0, 16.0], "b": [1.0, 0.1, 1e-3, 1e-6, 1e-9]}).axes
    for line, sizes in zip(axes.lines, ([1, 2, 4, 8, 16], [1, 0.1, 1e-3, 1e-6, 1e-9]), strict=True):
        assert [place.tolist() for place in line.get_data()] == [[0, 1, 2, 3, 4], sizes]
    assert axes.get_yscale() == "log"
    assert {text.get_text(): text.xy for text in axes.texts} == {"a": (3, 8.0), "b": (1, 0.1)}


def test_rows_are_drawn_where_they_lie_each_beside_its_word():
    start, end = np.array([[0.5, 0.0], [0.0, 3.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    (axes,) = figures.addnorm.circle(start, end, ("this", "that"), radius=1.0).axes
    dots = [
        tuple(map(float, (*line.get_xdata(), *line.get_ydata()))) for line in axes.lines if line.get_marker() == "o"
    ]
    assert {(0.5, 0.0), (0.0, 3.0), (1.0, 0.0), (0.0, 1.0)} <= set(dots)
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["this"][0] > 1.1
    assert places["that"][1] > 3.1, "outside the outer of the two dots"


def test_layer_norm_marks_a_row_and_batch_norm_a_column_through_all_sentences():
    left, right = figures.addnorm.groups(lengths=[3, 1], longest=3, width=4).axes
    white = (1.0, 1.0, 1.0, 1.0)
    for axes, expected in ((left, 4), (right, 6)):
        marked = [patch for patch in axes.patches if patch.get_facecolor() != white]
        assert len(axes.patches) == 24
        assert len(marked) == expected
        assert sum(text.get_text() == "×" for text in axes.texts) == 8
    assert {patch.get_y() for patch in left.patches if patch.get_facecolor() != white} == {0}
    assert {patch.get_x() for patch in right.patches if patch.get_facecolor() != white} == {0}


def test_every_start_and_their_mean_are_drawn_layer_by_layer():
    runs = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 8.0]])
    (axes,) = figures.addnorm.layers({2: {"norm-last": runs, "norm-first": 2 * runs}}).axes
    means = {line.get_label(): line.get_ydata().tolist() for line in axes.lines if line.get_linewidth() == 3}
    assert means == {"norm-last": pytest.approx([3, 4]), "norm-first": pytest.approx([6, 8])}
    thin = [line.get_ydata().tolist() for line in axes.lines if line.get_linewidth() < 1]
    assert thin == [*runs.tolist(), *(2 * runs).tolist()]
    assert all(line.get_xdata().tolist() == [1, 2] for line in axes.lines)
