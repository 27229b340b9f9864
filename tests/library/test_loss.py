"""The loss: surprise, cross-entropy, label smoothing, padding; by hand and in PyTorch."""

import math

import numpy as np
import pytest
import torch
from helpers import arrays, assert_gradients, assert_near, lengths, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.byhand.loss import (
    cross_entropy,
    cross_entropy_backward,
    log_sum_exp,
    smoothed_loss,
    smoothed_loss_backward,
)
from tested_transformer.byhand.softmax import softmax
from tested_transformer.training.loss import smoothed_loss as torch_smoothed_loss

own_loss = torch.nn.functional.cross_entropy
PAD = 2


def as_numpy(logits, targets, pad_id, smoothing=0.1):
    """The PyTorch track, called with arrays and giving a number."""
    return torch_smoothed_loss(torch.tensor(logits), torch.tensor(targets), pad_id, smoothing).item()


both_tracks = pytest.mark.parametrize("loss", [smoothed_loss, as_numpy], ids=["byhand", "training"])
smoothings = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])


def batch(*front, size=5, seed=0):
    """Logits, and targets of which about a third are padding; the first is not."""
    rng = np.random.default_rng([seed, *front])
    logits, targets = 3 * rng.normal(size=(*front, size)), rng.integers(size, size=front)
    targets[rng.random(front) < 0.25] = PAD
    targets.flat[0] = PAD + 1
    assert len(front) == 0 or (targets == PAD).any()
    return logits, targets


@st.composite
def rows(draw):
    """Logits of a few rows, and a target for each."""
    n, size = draw(lengths()), draw(st.integers(2, 6))
    targets = draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n))
    return draw(arrays(n, size)), np.array(targets)


# By hand


def test_two_tokens_by_hand():
    logits, targets = np.array([[math.log(3), 0.0]]), np.array([0])  # probabilities 3/4 and 1/4
    assert_near(cross_entropy(logits, targets), [math.log(4 / 3)], 1e-15)
    assert_near(cross_entropy(logits, 1 - targets), [math.log(4)], 1e-15)
    assert_near(cross_entropy_backward(np.ones(1), logits, targets), [[-1 / 4, 1 / 4]], 1e-15)
    # smoothed by 0.2 the target is 0.9 and 0.1
    assert_near(cross_entropy(logits, targets, 0.2), [0.9 * math.log(4 / 3) + 0.1 * math.log(4)], 1e-15)
    assert_near(cross_entropy_backward(np.ones(1), logits, targets, 0.2), [[0.75 - 0.9, 0.25 - 0.1]], 1e-15)


@both_tracks
@pytest.mark.parametrize("size", [2, 11, 37_000])
def test_a_model_that_knows_nothing_has_the_loss_of_guessing(loss, size):
    for smoothing in (0.0, 0.1):
        assert_near(loss(np.zeros((3, size)), np.array([0, 1, 1]), -1, smoothing), math.log(size), 1e-14)


@both_tracks
def test_a_certain_and_right_model_has_no_loss_and_a_certain_and_wrong_one_any(loss):
    logits = np.array([[0.0, 1000.0]])
    assert loss(logits, np.array([1]), -1, 0.0) == 0
    assert loss(logits, np.array([0]), -1, 0.0) == 1000


def entropy(q):
    return -sum(x * math.log(x) for x in q if x)


@pytest.mark.parametrize(
    ("size", "published"), [(37_000, (1.376913, 1.376948, 1.376945)), (11, (0.51396, 0.55534, 0.54481))]
)
def test_the_floors_of_the_three_conventions(size, published):
    q_all = [0.9 + 0.1 / size, *[0.1 / size] * (size - 1)]
    q_others = [0.9, *[0.1 / (size - 1)] * (size - 1)]
    q_real = [0.9, 0.0, *[0.1 / (size - 2)] * (size - 2)]
    decimals = len(str(published[0])) - 2
    assert tuple(round(entropy(q), decimals) for q in (q_all, q_others, q_real)) == published
    at_floor = np.log([q_all])  # logits whose softmax is the target
    assert_near(cross_entropy(at_floor, np.array([0]), 0.1), [entropy(q_all)], 1e-12)
    assert_near(as_numpy(at_floor, np.array([0]), -1), entropy(q_all), 1e-12)


@given(rows())
def test_no_model_gets_below_the_floor(example):
    logits, targets = example
    size = logits.shape[1]
    floor = entropy([0.9 + 0.1 / size, *[0.1 / size] * (size - 1)])
    assert np.all(cross_entropy(logits, targets, 0.1) >= floor - 1e-12)


# Laws


@given(rows())
def test_a_surprise_is_minus_the_logarithm_of_the_probability(example):
    logits, targets = example
    p = softmax(logits)[np.arange(len(targets)), targets]
    assert_near(np.exp(-cross_entropy(logits, targets)), p, 1e-12)


@given(rows(), st.floats(0, 1))
def test_smoothing_mixes_the_right_token_with_the_mean_over_all(example, smoothing):
    logits, targets = example
    size = logits.shape[1]
    every = [cross_entropy(logits, np.full(len(targets), token)) for token in range(size)]
    mixed = (1 - smoothing) * cross_entropy(logits, targets) + smoothing * np.mean(every, axis=0)
    assert np.allclose(cross_entropy(logits, targets, smoothing), mixed, rtol=0, atol=1e-11)


@given(rows(), st.floats(-1e6, 1e6))
def test_the_same_amount_on_all_logits_changes_nothing(example, shift):
    logits, targets = example
    assert np.allclose(cross_entropy(logits + shift, targets, 0.1), cross_entropy(logits, targets, 0.1), atol=1e-8)


@given(arrays(3, 4, size=1e5))
def test_log_sum_exp_lies_between_the_largest_and_that_plus_the_logarithm_of_how_many(x):
    y, top = log_sum_exp(x), x.max(axis=1)
    assert y.shape == (3,)
    assert np.all(y >= top)
    assert np.all(y <= top + math.log(4) + 1e-9)
    assert np.array_equal(log_sum_exp(np.full((2, 1), 1e5)), [1e5, 1e5])


@pytest.mark.parametrize("large", [1e3, -1e3, 1e300])
@both_tracks
def test_no_logit_is_too_large(loss, large):
    logits = np.array([[large, 0.0], [0.0, large]])
    assert np.isfinite(loss(logits, np.array([0, 0]), -1))
    assert np.all(np.isfinite(cross_entropy_backward(np.ones(2), logits, np.array([0, 0]))))


def test_a_forbidden_token_that_is_not_the_answer_costs_nothing():
    logits, targets = np.array([[1.0, 2.0, -np.inf, 0.5]]), np.array([1])
    allowed = np.array([[1.0, 2.0, 0.5]])
    assert round(smoothed_loss(logits, targets, 0, 0.0), 4) == round(as_numpy(logits, targets, 0, 0.0), 4) == 0.4644
    assert_near(cross_entropy(logits, targets), cross_entropy(allowed, targets), 1e-15)
    d_logits = cross_entropy_backward(np.ones(1), logits, targets)
    assert_near(d_logits[:, [0, 1, 3]], cross_entropy_backward(np.ones(1), allowed, targets), 1e-15)
    assert d_logits[0, 2] == 0


INF = np.inf
EXTREME = {
    "a forbidden token": [[1.0, 2.0, -INF, 0.5]],
    "the answer is forbidden": [[1.0, -INF, 2.0, 0.5]],
    "all but the answer are forbidden": [[-INF, 2.0, -INF, -INF]],
    "all are forbidden": [[-INF] * 4],
    "infinity elsewhere": [[1.0, 2.0, INF, 0.5]],
    "infinity at the answer": [[1.0, INF, 2.0, 0.5]],
    "several rows": [[1.0, 2.0, -INF, 0.5], [0.0, 3.0, 1.0, -INF], [1.0, 0.0, 0.0, 0.0]],
    "one row of several is NaN": [[1.0, 2.0, 0.0, 0.5], [-INF] * 4],
    "huge ones that differ": [[1e38, -1e38, 0.0, 0.0]],
    "a difference too large for float32": [[3e38, -3e38, 0.0, 0.0]],
    "huge ones that are equal": [[1e38] * 4],
    "huge negative ones that are equal": [[-3e38] * 4],
    "one huge token": [[0.0, 1e38, 0.0, 0.0]],
}
NEAR = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 0.02, torch.float16: 0.002}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", NEAR, ids=str)
@pytest.mark.parametrize("case", EXTREME)
@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered:RuntimeWarning")  # NumPy says it of each NaN
def test_infinite_and_huge_logits_have_the_loss_and_the_gradient_of_pytorchs_own(case, dtype, smoothing):
    x = torch.tensor(EXTREME[case], dtype=torch.float64).to(dtype)
    y, found = torch.ones(len(x), dtype=torch.int64), []
    for loss in (
        lambda z: own_loss(z, y, label_smoothing=smoothing),
        lambda z: torch_smoothed_loss(z, y, 0, smoothing),
    ):
        z = x.clone().requires_grad_()
        value = loss(z)
        value.backward()
        found.append((value.item(), z.grad.double().numpy()))
    if dtype in (torch.float32, torch.float64):
        by_hand = (f(x.numpy(), y.numpy(), 0, smoothing) for f in (smoothed_loss, smoothed_loss_backward))
        found.append(tuple(by_hand))
    (value, gradient), *ours = found
    for our_value, our_gradient in ours:
        assert np.isclose(our_value, value, rtol=NEAR[dtype], atol=NEAR[dtype], equal_nan=True)
        assert np.allclose(our_gradient, gradient, rtol=0, atol=NEAR[dtype], equal_nan=True)


@pytest.mark.parametrize("x", EXTREME.values(), ids=EXTREME)
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
def test_the_log_sum_exp_of_infinite_and_huge_numbers_is_that_of_pytorch(x):
    assert np.array_equal(log_sum_exp(np.array(x)), torch.logsumexp(torch.tensor(x, dtype=torch.float64), -1).numpy())


@given(rows())
def test_what_one_token_wins_the_others_lose(example):
    logits, targets = example
    d_logits = cross_entropy_backward(np.ones(len(targets)), logits, targets, 0.1)
    assert np.allclose(d_logits.sum(axis=1), 0, atol=1e-14)
    assert np.all(np.abs(d_logits) < 1)


def test_the_names_of_tokens_mean_nothing():
    logits, targets = batch(4, 3)
    order = np.array([3, 0, 4, 1, 2])  # the token that was order[i] is now i
    renamed = np.argsort(order)[targets]
    assert_near(cross_entropy(logits[..., order], renamed, 0.1), cross_entropy(logits, targets, 0.1), 1e-14)


# Padding


@both_tracks
@smoothings
def test_what_the_model_says_at_padding_means_nothing(loss, smoothing):
    logits, targets = batch(4, 6)
    other = logits.copy()
    other[targets == PAD] = 7 * normal(*other[targets == PAD].shape, seed=1)
    assert loss(other, targets, PAD, smoothing) == loss(logits, targets, PAD, smoothing)


@both_tracks
def test_every_real_token_counts_the_same(loss):
    logits, targets = batch(4, 6)
    real = targets != PAD
    assert_near(loss(logits, targets, PAD), cross_entropy(logits[real], targets[real], 0.1).mean(), 1e-14)


def test_padding_has_no_gradient_and_every_other_place_has():
    logits, targets = batch(4, 6)
    real = targets != PAD
    d_logits = smoothed_loss_backward(logits, targets, PAD)
    z = tensors(logits)[0]
    torch_smoothed_loss(z, torch.tensor(targets), PAD).backward()
    for gradient in (d_logits, z.grad.numpy()):
        assert np.all(gradient[~real] == 0)
        assert np.all(np.abs(gradient[real]).sum(axis=-1) > 0)


@pytest.mark.parametrize("there", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_not_even_nan_at_padding_does_harm(there, smoothing):
    logits, targets = batch(4, 6)
    sick = np.where((targets == PAD)[..., None], there, logits)
    z = tensors(sick)[0]
    loss = torch_smoothed_loss(z, torch.tensor(targets), PAD, smoothing)
    loss.backward()
    assert_near(loss, smoothed_loss(logits, targets, PAD, smoothing), 1e-14)
    assert_near(z.grad, smoothed_loss_backward(logits, targets, PAD, smoothing), 1e-14)
    assert smoothed_loss(sick, targets, PAD, smoothing) == smoothed_loss(logits, targets, PAD, smoothing)
    assert_near(
        smoothed_loss_backward(sick, targets, PAD, smoothing),
        smoothed_loss_backward(logits, targets, PAD, smoothing),
        0,
    )


def test_a_token_that_is_forbidden_everywhere_gets_no_gradient_and_changes_no_other():
    logits, targets = batch(4, 6)
    logits[..., PAD] = -np.inf  # a model that never writes padding
    z = tensors(logits)[0]
    loss = torch_smoothed_loss(z, torch.tensor(targets), PAD, 0.0)
    loss.backward()
    allowed, renamed = np.delete(logits, PAD, axis=-1), np.where(targets > PAD, targets - 1, targets)
    renamed[targets == PAD] = -1
    assert_near(loss, smoothed_loss(allowed, renamed, -1, 0.0), 1e-14)
    for gradient in (z.grad.numpy(), smoothed_loss_backward(logits, targets, PAD, 0.0)):
        assert np.all(gradient[..., PAD] == 0)
        assert_near(np.delete(gradient, PAD, axis=-1), smoothed_loss_backward(allowed, renamed, -1, 0.0), 1e-14)


def test_padding_may_have_any_id():
    logits, targets = batch(4, 6)
    for pad_id in (*range(5), -100):  # also one that the logits do not have
        targets = np.where(targets == PAD, pad_id, targets) if pad_id < 0 else targets
        real = targets != pad_id
        expected = cross_entropy(logits[real], targets[real], 0.1).mean()
        assert_near(smoothed_loss(logits, targets, pad_id), expected, 1e-14)
        assert_near(as_numpy(logits, targets, pad_id), expected, 1e-14)
        assert np.all(smoothed_loss_backward(logits, targets, pad_id)[~real] == 0)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_batch_may_be_split_if_sums_are_added(cut):
    logits, targets = batch(4, 6)
    count = (targets != PAD).sum()
    z, y = tensors(logits)[0], torch.tensor(targets)
    parts = [torch_smoothed_loss(z[part], y[part], PAD, reduction="sum") for part in (slice(cut), slice(cut, None))]
    (sum(parts) / count).backward()
    assert_near(sum(parts).item() / count, smoothed_loss(logits, targets, PAD), 1e-14)
    assert_near(z.grad, smoothed_loss_backward(logits, targets, PAD), 1e-13)


def test_the_sum_over_nothing_but_padding_is_zero_and_has_no_gradient():
    z = tensors(normal(2, 3, 5))[0]
    loss = torch_smoothed_loss(z, torch.full((2, 3), PAD), PAD, reduction="sum")
    loss.backward()
    assert loss.item() == 0
    assert z.grad.eq(0).all()


# Gradients

FRONTS = pytest.mark.parametrize("front", [(12,), (3, 4), (2, 3, 4)], ids=["rows", "a batch", "batches"])


@FRONTS
@smoothings
def test_the_gradient_of_each_loss_agrees_with_differences(front, smoothing):
    logits, targets = batch(*front)
    d_losses = normal(*front, seed=1)
    by_hand = cross_entropy_backward(d_losses, logits, targets, smoothing)
    assert_gradients(lambda z: (d_losses * cross_entropy(z, targets, smoothing)).sum(), [logits], [by_hand])


def test_the_gradient_is_what_the_model_says_minus_what_is_wanted():
    logits, targets = batch(12)
    q = 0.9 * np.eye(5)[targets] + 0.1 / 5
    assert_near(cross_entropy_backward(np.ones(12), logits, targets, 0.1), softmax(logits) - q, 1e-14)


@FRONTS
@smoothings
def test_the_gradient_of_the_mean_agrees_with_differences_and_with_pytorch(front, smoothing):
    logits, targets = batch(*front)
    by_hand = smoothed_loss_backward(logits, targets, PAD, smoothing)
    assert_gradients(lambda z: smoothed_loss(z, targets, PAD, smoothing), [logits], [by_hand])
    z = tensors(logits)[0]
    torch_smoothed_loss(z, torch.tensor(targets), PAD, smoothing).backward()
    assert_near(z.grad, by_hand, 1e-9)


def test_nothing_is_changed_in_place():
    logits, targets = batch(3, 4)
    kept = logits.copy(), targets.copy()
    cross_entropy_backward(np.ones((3, 4)), logits, targets, 0.1)
    smoothed_loss_backward(logits, targets, PAD)
    assert np.array_equal(logits, kept[0])
    assert np.array_equal(targets, kept[1])


# Agreement


@FRONTS
@smoothings
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_it_equals_pytorchs_own(front, smoothing, reduction):
    logits, targets = batch(*front)
    z, y = tensors(logits)[0], torch.tensor(targets)
    ours = torch_smoothed_loss(z, y, PAD, smoothing, reduction)
    options = {"ignore_index": PAD, "label_smoothing": smoothing, "reduction": reduction}
    own = own_loss(z.flatten(0, -2), y.flatten(), **options)
    assert_near(ours, own, 1e-14)
    (gradient,), (own_gradient,) = torch.autograd.grad(ours, z), torch.autograd.grad(own, z)
    assert_near(gradient, own_gradient, 1e-13)


@given(rows(), st.floats(0, 0.99))
def test_by_hand_and_in_pytorch_agree(example, smoothing):
    logits, targets = example
    assert np.isclose(smoothed_loss(logits, targets, -1, smoothing), as_numpy(logits, targets, -1, smoothing), 1e-12)


def test_smoothing_is_a_tenth_unless_given():
    logits, targets = batch(3, 4)
    for loss in (smoothed_loss, as_numpy):
        assert loss(logits, targets, PAD) == loss(logits, targets, PAD, 0.1) != loss(logits, targets, PAD, 0.0)
    assert np.array_equal(
        smoothed_loss_backward(logits, targets, PAD), smoothed_loss_backward(logits, targets, PAD, 0.1)
    )
    assert np.array_equal(cross_entropy(logits, targets), cross_entropy(logits, targets, 0.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "full"])
def test_half_precision_is_added_up_in_single(dtype, padded):
    logits = torch.tensor(normal(4000, 50)).to(dtype).requires_grad_()
    targets = torch.tensor(np.random.default_rng(0).integers(50, size=4000))
    pad_id = 7 if padded else -1
    exact = torch_smoothed_loss(logits.detach().double(), targets, pad_id, reduction="sum")
    loss = torch_smoothed_loss(logits, targets, pad_id, reduction="sum")
    loss.backward()
    assert loss.dtype == torch.float32
    assert logits.grad.dtype == dtype
    assert_near(loss.double(), exact, 1e-6)


def test_single_and_double_precision_stay_what_they_are():
    for dtype in (torch.float32, torch.float64):
        loss = torch_smoothed_loss(torch.zeros(2, 3, dtype=dtype), torch.tensor([0, 1]), 2)
        assert loss.dtype == dtype
        assert loss.shape == ()


def test_short_ids_are_as_good_as_long_ones():
    logits, targets = batch(3, 4)
    z, y = torch.tensor(logits), torch.tensor(targets)
    assert torch_smoothed_loss(z, y.int(), PAD) == torch_smoothed_loss(z, y, PAD)


def test_logits_may_lie_in_memory_in_any_order():
    logits, targets = batch(3, 4)
    turned = torch.tensor(logits.transpose(2, 0, 1).copy()).permute(1, 2, 0)
    assert not turned.is_contiguous()
    assert_near(torch_smoothed_loss(turned, torch.tensor(targets), PAD), smoothed_loss(logits, targets, PAD), 1e-14)


# Refusals

REFUSED = {
    "too few targets": (
        {"targets": torch.ones(2, 2, dtype=torch.int64)},
        ValueError,
        r"a target for each row of logits: targets \(2, 2\), logits \(2, 3, 5\)",
    ),
    "targets with a decimal point": (
        {"targets": torch.ones(2, 3)},
        TypeError,
        r"targets must be int64 or int32, not torch.float32",
    ),
    "a target beyond the vocabulary": (
        {"targets": torch.tensor([[1, 2, 3], [4, 5, 1]])},
        IndexError,
        r"target \(5\) must be at least 0 and below the size of the logits \(5\)",
    ),
    "a negative target": (
        {"targets": torch.tensor([[1, 2, 3], [4, -100, 1]])},
        IndexError,
        r"target \(-100\) must be at least 0 and below the size of the logits \(5\)",
    ),
    "smoothing of all": ({"smoothing": 1.0}, ValueError, r"smoothing \(1.0\) must be at least 0 and below 1"),
    "negative smoothing": ({"smoothing": -0.1}, ValueError, r"smoothing \(-0.1\) must be at least 0 and below 1"),
    "no such reduction": ({"reduction": "none"}, ValueError, r"reduction \('none'\) must be 'mean' or 'sum'"),
    "a mean over nothing": (
        {"targets": torch.zeros(2, 3, dtype=torch.int64)},
        ValueError,
        r"all targets are pad_id \(0\): no token has a loss",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_name_and_value(case):
    wrong, error, words = REFUSED[case]
    arguments = {"logits": torch.zeros(2, 3, 5), "targets": torch.ones(2, 3, dtype=torch.int64), "pad_id": 0}
    with unchecked():
        torch_smoothed_loss(**arguments)
        with pytest.raises(error, match=words):
            torch_smoothed_loss(**arguments | wrong)


def test_by_hand_too_there_is_no_mean_over_nothing():
    with pytest.raises(ValueError, match=r"all targets are pad_id \(3\): no token has a loss"):
        smoothed_loss(np.zeros((2, 5)), np.array([3, 3]), 3)


# Figures


def test_the_tokens_lie_on_the_curve_of_surprise_with_their_names():
    x, y = np.linspace(0.1, 1, 5), np.linspace(3, 0, 5)
    (axes,) = figures.loss.surprise(x, y, [0.3, 0.6], [1.5, 0.7], ["one", "two"], {}).axes
    curve, rest, *points = axes.lines
    assert np.array_equal(curve.get_xydata(), np.column_stack([x, y]))
    assert rest.get_xydata().tolist() == [[0, 1], [1, 0]]  # 1 - p
    assert [point.get_xydata()[0].tolist() for point in points] == [[0.3, 1.5], [0.6, 0.7]]
    named = [(text.get_text(), text.xy) for text in axes.texts if hasattr(text, "xy")][:2]
    assert named == [("one", (0.3, 1.5)), ("two", (0.6, 0.7))]


def test_the_curves_of_smoothing_have_their_shares_and_a_lowest_point():
    gaps, curves = np.linspace(0, 3, 4), {0.0: [3, 2, 1, 0], 0.1: [3, 1, 2, 3]}
    (axes,) = figures.loss.smoothing(gaps, curves, (1.0, 1.0)).axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn["smoothing 0"] == [3, 2, 1, 0]
    assert drawn["smoothing 0.1"] == [3, 1, 2, 3]
    assert axes.lines[2].get_xydata().tolist() == [[1, 1]]
    named = [("smoothing 0", (3, 0)), ("smoothing 0.1", (3, 3))]
    assert [(text.get_text(), tuple(text.xy)) for text in axes.texts] == [("lowest point", (1, 1)), *named]
