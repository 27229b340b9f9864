"""Scaled dot-product attention: the worked example, its laws, its gradient, and three implementations that agree."""

import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest
import torch
from helpers import arrays, assert_gradients, assert_near, lengths, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer import byhand
from tested_transformer.book.example import W_K, W_Q, W_V, P, X
from tested_transformer.byhand.attention import attention, attention_backward, attention_in_blocks, take_block
from tested_transformer.byhand.decoder import decoder, decoder_layer
from tested_transformer.byhand.encoder import encoder, encoder_layer
from tested_transformer.byhand.heads import multi_head_attention
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import TINY
from tested_transformer.model.attention import attention as torch_attention
from tested_transformer.model.attention import fused_attention
from tested_transformer.params import part

Q, K, V = X @ W_Q, X @ W_K, X @ W_V
own_attention = torch.nn.functional.scaled_dot_product_attention


def as_numpy(q, k, v, mask=None):
    """The PyTorch track, called with arrays and giving arrays."""
    mask = None if mask is None else torch.tensor(mask)
    return tuple(t.detach().numpy() for t in torch_attention(*tensors(q, k, v), mask))


both_tracks = pytest.mark.parametrize("attend", [attention, as_numpy], ids=["byhand", "model"])


@st.composite
def sentences(draw, masked=False):
    """Queries, keys and values of any small size, and a mask that leaves each query something to look at."""
    tq, tk, dk, dv = (draw(lengths()) for _ in range(4))
    q, k, v = draw(arrays(tq, dk)), draw(arrays(tk, dk)), draw(arrays(tk, dv))
    if not masked:
        return q, k, v
    mask = np.array(draw(st.lists(st.booleans(), min_size=tq * tk, max_size=tq * tk))).reshape(tq, tk)
    mask[np.arange(tq), draw(st.lists(st.integers(0, tk - 1), min_size=tq, max_size=tq))] = True
    return q, k, v, mask


# By hand: "I love AI"


def test_the_scores_of_the_example_are_these_whole_numbers():
    assert Q.tolist() == [[2, 0, 2], [0, 1, 0], [1, 1, 1]]
    assert K.tolist() == [[2, 1, 1], [0, 1, 1], [1, 2, 1]]
    assert V.tolist() == [[1, 0, 2], [0, 1, 0], [1, 1, 1]]
    assert (Q @ K.T).tolist() == [[6, 2, 4], [1, 1, 2], [4, 2, 4]]


@both_tracks
def test_the_weights_of_the_example_have_a_closed_form(attend):
    e = math.exp(1 / math.sqrt(3))  # the scores 6, 2, 4 become e^6, e^2, e^4, and so on; common factors cancel
    first, second, third = e**4 + 1 + e**2, 2 + e, 2 * e**2 + 1
    by_hand = [[e**4 / first, 1 / first, e**2 / first], [1 / second, 1 / second, e / second]]
    by_hand.append([e**2 / third, 1 / third, e**2 / third])
    out, weights = attend(Q, K, V)
    assert_near(weights, by_hand, 1e-15)
    rows = [[a + c, b + c, 2 * a + c] for a, b, c in by_hand]  # V written out: three values, three components
    assert_near(out, rows, 1e-15)


@both_tracks
def test_the_digits_that_the_chapter_prints(attend):
    out, weights = attend(Q, K, V)
    assert weights.round(4).tolist() == [[0.7070, 0.0702, 0.2228], [0.2645, 0.2645, 0.4711], [0.4319, 0.1361, 0.4319]]
    assert out.round(4).tolist() == [[0.9298, 0.2930, 1.6368], [0.7355, 0.7355, 1.0], [0.8639, 0.5681, 1.2958]]


@both_tracks
def test_the_example_with_toy_positions(attend):
    out, weights = attend((X + P) @ W_Q, (X + P) @ W_K, (X + P) @ W_V)
    assert weights.round(4).tolist() == [[0.4994, 0.0557, 0.4449], [0.2306, 0.1540, 0.6154], [0.2673, 0.0596, 0.6732]]
    assert_near(out, [[1.1389, 0.7952, 2.0328], [1.0845, 1.1079, 1.7536], [1.1810, 1.0733, 1.8889]], 5e-5)


@both_tracks
def test_one_key_gets_everything_and_equal_keys_share_equally(attend):
    q, v = normal(4, 3), normal(5, 2)
    out, weights = attend(q, normal(1, 3), v[:1])
    assert weights.tolist() == [[1]] * 4
    assert_near(out, np.repeat(v[:1], 4, axis=0), 1e-15)
    out, weights = attend(q, np.repeat(normal(1, 3), 5, axis=0), v)
    assert_near(weights, np.full((4, 5), 0.2), 1e-14)
    assert_near(out, np.repeat(v.mean(axis=0, keepdims=True), 4, axis=0), 1e-14)


@both_tracks
@pytest.mark.parametrize("width", [1, 4, 64])
def test_the_scores_are_divided_by_the_root_of_the_width_of_a_key(attend, width):
    q, k = np.ones((1, width)), np.array([[1.0] * width, [0.0] * width])  # the scores are width and 0
    weights = attend(q, k, np.zeros((2, 3)))[1]
    assert_near(np.log(weights[0, 0] / weights[0, 1]), np.sqrt(width), 1e-13)


# Laws


@both_tracks
@given(sentences())
def test_the_weights_of_a_query_are_shares(attend, qkv):
    q, k, v = qkv
    out, weights = attend(q, k, v)
    assert out.shape == (len(q), v.shape[1])
    assert weights.shape == (len(q), len(k))
    assert np.all(weights >= 0)
    assert_near(weights.sum(axis=1), np.ones(len(q)), 1e-14)


@both_tracks
@given(sentences())
def test_an_output_lies_within_the_range_of_the_values(attend, qkv):
    out, v = attend(*qkv)[0], qkv[2]
    assert np.all(out <= v.max(axis=0) + 1e-12)
    assert np.all(out >= v.min(axis=0) - 1e-12)


@both_tracks
@given(sentences(masked=True), st.randoms(use_true_random=False))
def test_the_order_of_keys_and_values_together_means_nothing(attend, qkvm, random):
    q, k, v, mask = qkvm
    order = random.sample(range(len(k)), len(k))
    out, weights = attend(q, k, v, mask)
    shuffled_out, shuffled_weights = attend(q, k[order], v[order], mask[:, order])
    assert np.allclose(shuffled_out, out, atol=1e-12)
    assert np.allclose(shuffled_weights, weights[:, order], atol=1e-12)


@both_tracks
@given(sentences(masked=True), st.randoms(use_true_random=False))
def test_shuffled_queries_give_shuffled_outputs(attend, qkvm, random):
    q, k, v, mask = qkvm
    order = random.sample(range(len(q)), len(q))
    for shuffled, straight in zip(attend(q[order], k, v, mask[order]), attend(q, k, v, mask), strict=True):
        assert np.allclose(shuffled, straight[order], atol=1e-12)


@both_tracks
@given(sentences())
def test_the_same_amount_on_all_scores_of_a_query_changes_nothing(attend, qkv):
    q, k, v = qkv
    shift = np.linspace(-1, 1, k.shape[1])  # added to every key: q·shift is added to every score of q
    for shifted, straight in zip(attend(q, k + shift, v), attend(q, k, v), strict=True):
        assert np.allclose(shifted, straight, atol=1e-11)


@both_tracks
@given(sentences(masked=True))
def test_a_hidden_key_has_no_weight_and_no_influence(attend, qkvm):
    q, k, v, mask = qkvm
    out, weights = attend(q, k, v, mask)
    assert np.all(weights[~mask] == 0)
    assert_near(weights.sum(axis=1), np.ones(len(q)), 1e-14)
    for query in range(len(q)):
        hidden = ~mask[query]
        other_k, other_v = k.copy(), v.copy()
        other_k[hidden], other_v[hidden] = 7 - k[hidden], 7 - v[hidden]
        new_out, new_weights = attend(q, other_k, other_v, mask)
        assert np.array_equal(new_out[query], out[query])
        assert np.array_equal(new_weights[query], weights[query])


@both_tracks
@given(sentences(masked=True))
def test_hiding_keys_is_the_same_as_leaving_them_out(attend, qkvm):
    q, k, v, mask = qkvm
    out = attend(q, k, v, mask)[0]
    for query, look in enumerate(mask):
        assert np.allclose(out[query], attend(q[[query]], k[look], v[look])[0], atol=1e-12)


@both_tracks
def test_a_hidden_key_stays_hidden_however_low_the_scores_of_the_others_are(attend):
    q, k, v = np.array([[1e6]]), np.array([[-1e6], [1.0]]), np.array([[2.0], [3.0]])
    out, weights = attend(q, k, v, np.array([[True, False]]))
    assert weights.tolist() == [[1, 0]]
    assert out.tolist() == [[2]]


@both_tracks
def test_a_mask_that_hides_nothing_changes_nothing(attend):
    q, k, v = normal(2, 3, 5), normal(2, 4, 5), normal(2, 4, 6)
    for masked, free in zip(attend(q, k, v, np.ones((3, 4), dtype=bool)), attend(q, k, v), strict=True):
        assert_near(masked, free, 1e-15)


@both_tracks
def test_a_mask_may_be_given_once_for_all_queries_or_all_sentences(attend):
    q, k, v = normal(2, 3, 5), normal(2, 4, 5), normal(2, 4, 6)
    keys = np.array([True, False, True, True])  # (Tk,), the same for every query of every sentence
    whole = np.broadcast_to(keys, (2, 3, 4)).copy()
    for mask in (keys, keys[None], keys[None, None], whole[0], whole[:, :1]):
        for narrow, wide in zip(attend(q, k, v, mask), attend(q, k, v, whole), strict=True):
            assert np.array_equal(narrow, wide)


@both_tracks
def test_each_sentence_of_a_batch_is_computed_alone(attend):
    q, k, v, mask = normal(2, 3, 4, 5), normal(2, 3, 6, 5), normal(2, 3, 6, 7), normal(2, 3, 4, 6) > -1
    out, weights = attend(q, k, v, mask)
    for place in np.ndindex(2, 3):
        alone = attend(q[place], k[place], v[place], mask[place])
        assert_near(out[place], alone[0], 1e-14)
        assert_near(weights[place], alone[1], 1e-14)


# A query that may look at nothing

NOWHERE = np.array([[True, False, True, True], [False] * 4, [True] * 4])


def test_a_query_with_nothing_to_look_at_gets_zeros_by_hand():
    q, k, v = normal(3, 5), normal(4, 5), normal(4, 6)
    out, weights = attention(q, k, v, NOWHERE)
    assert np.all(out[1] == 0)
    assert np.all(weights[1] == 0)
    assert np.all(out[[0, 2]] != 0)
    d_q, d_k, d_v = attention_backward(normal(3, 6, seed=1), q, k, v, weights)
    assert np.all(d_q[1] == 0)
    assert all(np.all(np.isfinite(d)) for d in (d_q, d_k, d_v))
    only_hidden = np.zeros((3, 6))
    only_hidden[1] = 1
    assert all(np.all(d == 0) for d in attention_backward(only_hidden, q, k, v, weights))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_query_with_nothing_to_look_at_gets_zeros_in_any_precision(dtype):
    q, k, v = tensors(normal(3, 5), normal(4, 5), normal(4, 6), dtype=dtype)
    out, weights = torch_attention(q, k, v, torch.tensor(NOWHERE))
    assert out.dtype == weights.dtype == dtype
    assert out[1].eq(0).all()
    assert weights[1].eq(0).all()
    assert weights[0, 1] == 0
    assert torch.allclose(weights[[0, 2]].sum(-1).double(), torch.ones(2, dtype=torch.float64), atol=0.01)
    with torch.autograd.set_detect_anomaly(True):  # no NaN at any step on the way back, not even one that is masked
        out.sum().backward()
    assert q.grad[1].eq(0).all()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert v.grad.ne(0).any()
    for x in (q, k, v):
        x.grad = None
    torch_attention(q, k, v, torch.tensor(NOWHERE))[0][1].sum().backward()
    assert all(x.grad.eq(0).all() for x in (q, k, v))


# Gradients

SIZES = pytest.mark.parametrize("front", [(), (2,), (2, 3)], ids=["one sentence", "a batch", "a batch of heads"])
MASKS = pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])


def sized(front, masked):
    """Inputs with Tq, Tk, Dk, Dv = 3, 4, 5, 2, a mask with one query hidden whole, and a gradient for the output."""
    q, k, v = normal(*front, 3, 5), normal(*front, 4, 5), normal(*front, 4, 2)
    return q, k, v, NOWHERE if masked else None, normal(*front, 3, 2, seed=1)


@SIZES
@MASKS
def test_the_gradient_by_hand_agrees_with_differences(front, masked):
    q, k, v, mask, d_out = sized(front, masked)
    by_hand = attention_backward(d_out, q, k, v, attention(q, k, v, mask)[1])
    assert_gradients(lambda q, k, v: (d_out * attention(q, k, v, mask)[0]).sum(), [q, k, v], by_hand)


@SIZES
@MASKS
def test_the_gradient_by_hand_is_the_one_that_pytorch_finds(front, masked):
    q, k, v, mask, d_out = sized(front, masked)
    by_hand = attention_backward(d_out, q, k, v, attention(q, k, v, mask)[1])
    inputs = tensors(q, k, v)
    torch_attention(*inputs, torch.tensor(mask) if masked else None)[0].backward(torch.tensor(d_out))
    for tensor, gradient in zip(inputs, by_hand, strict=True):
        assert_near(tensor.grad, gradient, 1e-9)


@MASKS
def test_pytorchs_own_kernel_has_the_same_gradient(masked):
    q, k, v, mask, d_out = sized((2, 3), masked)
    by_hand = attention_backward(d_out, q, k, v, attention(q, k, v, mask)[1])
    inputs = tensors(q, k, v)
    own_attention(*inputs, attn_mask=torch.tensor(mask) if masked else None).backward(torch.tensor(d_out))
    for tensor, gradient in zip(inputs, by_hand, strict=True):
        assert_near(tensor.grad, gradient, 1e-9)


def test_a_tiny_step_against_the_gradient_lowers_the_loss_as_foretold():
    q, k, v, mask, d_out = sized((2,), True)
    gradients = attention_backward(d_out, q, k, v, attention(q, k, v, mask)[1])
    moved = [x - 1e-6 * d_x for x, d_x in zip((q, k, v), gradients, strict=True)]
    change = (d_out * (attention(*moved, mask)[0] - attention(q, k, v, mask)[0])).sum()
    assert_near(change, -1e-6 * sum((d_x**2).sum() for d_x in gradients), 1e-4)


# Agreement


@given(sentences(masked=True))
def test_by_hand_and_in_pytorch_and_pytorchs_own_agree(qkvm):
    q, k, v, mask = qkvm
    out, weights = attention(q, k, v, mask)
    torch_out, torch_weights = torch_attention(*tensors(q, k, v), torch.tensor(mask))
    assert np.allclose(torch_out.detach(), out, rtol=0, atol=1e-12)
    assert np.allclose(torch_weights.detach(), weights, rtol=0, atol=1e-12)
    own = own_attention(*tensors(q, k, v), attn_mask=torch.tensor(mask))
    assert np.allclose(own.detach(), out, rtol=0, atol=1e-12)


@SIZES
@MASKS
def test_whole_batches_agree(front, masked):
    q, k, v, mask, _ = sized(front, masked)
    torch_mask = torch.tensor(mask) if masked else None
    out, weights = attention(q, k, v, mask)
    torch_out, torch_weights = torch_attention(*tensors(q, k, v), torch_mask)
    assert_near(torch_out, out, 1e-13)
    assert_near(torch_weights, weights, 1e-13)
    assert_near(own_attention(*tensors(q, k, v), attn_mask=torch_mask), out, 1e-13)


@given(sentences(masked=True))
def test_the_fused_kernel_agrees_with_the_formula(qkvm):
    q, k, v, mask = qkvm
    fused = fused_attention(*tensors(q, k, v), torch.tensor(mask))
    assert np.allclose(fused.detach(), attention(q, k, v, mask)[0], rtol=0, atol=1e-12)


@SIZES
@MASKS
def test_the_fused_kernel_agrees_in_whole_batches_with_its_gradient(front, masked):
    q, k, v, mask, d_out = sized(front, masked)
    out, weights = attention(q, k, v, mask)
    inputs = tensors(q, k, v)
    fused = fused_attention(*inputs, torch.tensor(mask) if masked else None)
    assert_near(fused, out, 1e-13)
    fused.backward(torch.tensor(d_out))
    for tensor, gradient in zip(inputs, attention_backward(d_out, q, k, v, weights), strict=True):
        assert_near(tensor.grad, gradient, 1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_in_the_fused_kernel_too_a_query_with_nothing_to_look_at_gets_zeros(dtype):
    q, k, v = tensors(normal(3, 5), normal(4, 5), normal(4, 6), dtype=dtype)
    out = fused_attention(q, k, v, torch.tensor(NOWHERE))
    assert out.dtype == dtype
    assert out[1].eq(0).all()
    with torch.autograd.set_detect_anomaly(True):
        out.sum().backward()
    assert q.grad[1].eq(0).all()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


# Dropout: in PyTorch only


def test_the_fused_kernel_drops_weights_and_raises_the_rest_or_leaves_them_alone():
    q, k, v = tensors(normal(30, 5), normal(40, 5), np.eye(40))  # with these values the output is the weights used
    weights = torch_attention(q, k, v)[1]
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    assert torch.allclose(fused_attention(q, k, v), weights)
    assert torch.equal(torch.random.get_rng_state(), before)
    out = fused_attention(q, k, v, dropout=0.25)
    assert 0.2 < (out == 0).double().mean() < 0.3
    assert torch.allclose(out[out != 0], weights[out != 0] / 0.75)


def test_without_dropout_no_random_number_is_drawn():
    q, k, v = tensors(normal(3, 5), normal(4, 5), normal(4, 2))
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    out, weights = torch_attention(q, k, v)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(out, weights @ v)


def test_dropout_sets_weights_to_zero_and_raises_the_rest_but_returns_them_as_they_were():
    q, k, v = tensors(normal(30, 5), normal(40, 5), np.eye(40))  # with these values the output is the weights used
    torch.manual_seed(0)
    out, weights = torch_attention(q, k, v, dropout=0.25)
    assert torch.equal(weights, torch_attention(q, k, v)[1])
    dropped = out == 0
    assert 0.2 < dropped.double().mean() < 0.3
    assert torch.allclose(out[~dropped], weights[~dropped] / 0.75)


def test_dropout_keeps_the_mean():
    q, k, v = tensors(normal(3, 5), normal(4, 5), normal(4, 2))
    torch.manual_seed(0)
    many = torch_attention(*(x.expand(20_000, *x.shape) for x in (q, k, v)), dropout=0.3)[0]
    assert torch.allclose(many.mean(0), torch_attention(q, k, v)[0], atol=0.02)


def test_dropout_does_not_bring_a_hidden_key_back():
    q, k, v = tensors(normal(3, 5), normal(4, 5), np.eye(4))
    out = torch_attention(q, k, v, torch.tensor(NOWHERE), dropout=0.5)[0]
    assert out[~torch.tensor(NOWHERE)].eq(0).all()


# Refusals

REFUSED = {
    "widths of queries and keys": (
        {"k": torch.zeros(4, 6)},
        ValueError,
        r"queries and keys must be equally wide: queries \(3, 5\), keys \(4, 6\)",
    ),
    "fewer values than keys": (  # a kernel of PyTorch would read what lies behind them
        {"v": torch.zeros(3, 2)},
        ValueError,
        r"one value for each key: keys \(4, 5\), values \(3, 2\)",
    ),
    "a number for a query": ({"q": torch.zeros(())}, ValueError, r"must be equally wide: queries \(\), keys \(4, 5\)"),
    "a key without an axis of tokens": (
        {"k": torch.zeros(5)},
        ValueError,
        r"one value for each key: keys \(5,\), values \(4, 2\)",
    ),
    "values without an axis of tokens": (
        {"v": torch.zeros(4)},
        ValueError,
        r"one value for each key: keys \(4, 5\), values \(4,\)",
    ),
    "dropout of all": ({"dropout": 1.0}, ValueError, r"dropout \(1.0\) must be at least 0 and below 1"),
    "negative dropout": ({"dropout": -0.1}, ValueError, r"dropout \(-0.1\) must be at least 0 and below 1"),
    "an array for a query": ({"q": np.zeros((3, 5))}, TypeError, r"q must be a torch.Tensor, not ndarray"),
    "an array for a mask": ({"mask": np.tri(3, 4) > 0}, TypeError, r"mask must be a torch.Tensor, not ndarray"),
    "a mask of numbers": (
        {"mask": torch.ones(3, 4)},
        TypeError,
        r"mask must be bool \(True = may look\), not torch.float32",
    ),
    "a mask for other queries": (
        {"mask": torch.ones(2, 4, dtype=torch.bool)},
        ValueError,
        r"mask of shape \(2, 4\) does not broadcast to the scores \(3, 4\)",
    ),
    "a mask for other keys": (
        {"mask": torch.ones(3, 3, dtype=torch.bool)},
        ValueError,
        r"mask of shape \(3, 3\) does not broadcast to the scores \(3, 4\)",
    ),
    "a mask with too many axes": (
        {"mask": torch.ones(1, 3, 4, dtype=torch.bool)},
        ValueError,
        r"mask of shape \(1, 3, 4\) does not broadcast to the scores \(3, 4\)",
    ),
}


@pytest.mark.parametrize("attend", [torch_attention, fused_attention], ids=["explicit", "fused"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_name_and_value(case, attend):
    wrong, error, words = REFUSED[case]
    arguments = {"q": torch.zeros(3, 5), "k": torch.zeros(4, 5), "v": torch.zeros(4, 2)}
    with unchecked():
        attend(**arguments)
        with pytest.raises(error, match=words):
            attend(**arguments | wrong)


REFUSED_BY_HAND = {
    "a list for queries": ({"q": [[0.0] * 5]}, TypeError, r"q must be a numpy.ndarray, not list"),
    "a tensor for values": ({"v": torch.zeros(4, 2)}, TypeError, r"v must be a numpy.ndarray, not Tensor"),
    "widths of queries and keys": (
        {"k": np.zeros((4, 6))},
        ValueError,
        r"queries and keys must be equally wide: queries \(3, 5\), keys \(4, 6\)",
    ),
    "fewer values than keys": (
        {"v": np.zeros((3, 2))},
        ValueError,
        r"one value for each key: keys \(4, 5\), values \(3, 2\)",
    ),
    "numbers to add": (
        {"mask": np.where(np.tri(3, 4), 0, -np.inf)},
        TypeError,
        r"mask must be bool \(True = may look\), not float64",
    ),
    "ones and zeros": ({"mask": np.tri(3, 4, dtype=int)}, TypeError, r"mask must be bool .* not int64"),
    "a list for a mask": ({"mask": [[True] * 4] * 3}, TypeError, r"mask must be a numpy.ndarray, not list"),
    "a mask for other keys": (
        {"mask": np.tri(3, 3, dtype=bool)},
        ValueError,
        r"mask of shape \(3, 3\) does not broadcast to the scores \(3, 4\)",
    ),
    "a mask with too many axes": (
        {"mask": np.ones((1, 3, 4), dtype=bool)},
        ValueError,
        r"mask of shape \(1, 3, 4\) does not broadcast to the scores \(3, 4\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED_BY_HAND)
def test_by_hand_too_what_does_not_fit_is_refused_by_name_and_value(case):
    wrong, error, words = REFUSED_BY_HAND[case]
    arguments = {"q": np.zeros((3, 5)), "k": np.zeros((4, 5)), "v": np.zeros((4, 2))}
    with unchecked():
        attention(**arguments)
        with pytest.raises(error, match=words):
            attention(**arguments | wrong)


ROWS, N = np.zeros((1, 3, TINY.d_model)), TINY.n_layers
DRAWN = create_params(TINY, np.random.default_rng(0))
MASKED = {  # for each argument of byhand that is a mask, a call with it
    "attention mask": lambda mask: attention(ROWS, ROWS, ROWS, mask),
    "attention_in_blocks mask": lambda mask: attention_in_blocks(ROWS, ROWS, ROWS, 2, mask),
    "take_block mask": lambda mask: take_block((-np.inf, 0.0, 0.0), ROWS, ROWS, ROWS, mask),
    "multi_head_attention mask": lambda mask: multi_head_attention(
        ROWS, ROWS, ROWS, part(DRAWN, "encoder.layers.0.self_attention"), 2, mask
    ),
    "encoder_layer mask": lambda mask: encoder_layer(ROWS, part(DRAWN, "encoder.layers.0"), 2, mask),
    "encoder mask": lambda mask: encoder(ROWS, part(DRAWN, "encoder"), N, 2, mask),
    "decoder_layer self_mask": lambda mask: decoder_layer(ROWS, ROWS, part(DRAWN, "decoder.layers.0"), 2, mask),
    "decoder_layer memory_mask": lambda mask: decoder_layer(
        ROWS, ROWS, part(DRAWN, "decoder.layers.0"), 2, memory_mask=mask
    ),
    "decoder self_mask": lambda mask: decoder(ROWS, ROWS, part(DRAWN, "decoder"), N, 2, mask),
    "decoder memory_mask": lambda mask: decoder(ROWS, ROWS, part(DRAWN, "decoder"), N, 2, memory_mask=mask),
}


@pytest.mark.parametrize("place", MASKED)
def test_a_mask_of_numbers_is_refused_wherever_byhand_takes_one(place):
    additive = np.where(np.tri(3), 0, -np.inf)
    with unchecked():
        MASKED[place](additive == 0)
        for wrong in (additive, np.tri(3, dtype=int)):
            with pytest.raises(TypeError, match=rf"mask must be bool \(True = may look\), not {wrong.dtype}"):
                MASKED[place](wrong)
        with pytest.raises(TypeError, match=r"mask must be a numpy.ndarray, not list"):
            MASKED[place]((additive == 0).tolist())


def test_every_mask_that_byhand_takes_is_among_them():
    names = (m.name for m in pkgutil.iter_modules(byhand.__path__) if not m.name.startswith("_"))
    modules = (importlib.import_module(f"{byhand.__name__}.{name}") for name in names)
    found = {
        f"{name} {parameter}"
        for module in modules
        for name, f in vars(module).items()
        if inspect.isfunction(f) and not name.startswith("_")
        for parameter in inspect.signature(f).parameters
        if parameter.endswith("mask")
    }
    assert found == MASKED.keys()


# In blocks


@pytest.mark.parametrize("block", [1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("masked", ["no mask", "causal", "nothing at first", "nothing at all"])
def test_in_blocks_the_output_is_the_same(block, masked):
    draws = np.random.default_rng(block)
    q, k, v = draws.normal(size=(2, 5, 4)), draws.normal(size=(2, 8, 4)), draws.normal(size=(2, 8, 3))
    mask = {"no mask": None, "causal": np.tri(5, 8, dtype=bool), "nothing at first": np.arange(8) > 4}
    mask["nothing at all"] = np.arange(5)[:, None] > np.zeros((5, 8))
    found = attention_in_blocks(q, k, v, block, mask[masked])
    assert found.shape == (2, 5, 3)
    assert_near(found, attention(q, k, v, mask[masked])[0], 1e-12)


def test_in_blocks_large_scores_are_no_trouble_wherever_they_come():
    q, k = np.array([[1000.0]]), np.array([[-700.0], [1.0], [700.0], [699.0]])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        v = np.arange(4.0)[order, None]
        assert_near(attention_in_blocks(q, k[order], v, 1), attention(q, k[order], v)[0], 1e-12)


def test_blocks_that_cannot_be_are_refused():
    q, k, v = np.ones((3, 2, 4))
    with pytest.raises(ValueError, match=r"block \(0\) must be at least 1"):
        attention_in_blocks(q, k, v, 0)
    with unchecked(), pytest.raises(TypeError, match=r"block \(1\.0\) must be a whole number"):
        attention_in_blocks(q, k, v, 1.0)
    with pytest.raises(ValueError, match=r"mask of shape \(2, 1\) must have a column for each key \(2\)"):
        attention_in_blocks(q, k, v, 1, np.ones((2, 1), dtype=bool))
    with pytest.raises(ValueError, match="k"):
        attention_in_blocks(q, k[:, :3], v, 1)
