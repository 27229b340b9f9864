"""Masks: the small ones by hand, what they hide in attention, gradients and all, and PyTorch's meaning of True."""

import re

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, lengths, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.colors import to_rgba

from tested_transformer.book import figures
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, X
from tested_transformer.book.figures.picture import WEIGHTS
from tested_transformer.byhand.attention import attention, attention_backward
from tested_transformer.byhand.masks import causal_mask, padding_mask
from tested_transformer.model.attention import attention as torch_attention
from tested_transformer.model.attention import fused_attention
from tested_transformer.model.masks import causal_mask as torch_causal_mask
from tested_transformer.model.masks import padding_mask as torch_padding_mask

Q, K, V = X @ W_Q, X @ W_K, X @ W_V
PAD = 0


def torch_causal(n):
    return torch_causal_mask(n).numpy()


def torch_padding(ids, pad_id):
    return torch_padding_mask(torch.tensor(ids), pad_id).numpy()


def explicit(q, k, v, mask):
    return torch_attention(*tensors(q, k, v), torch.tensor(mask))[0].detach().numpy()


def fused(q, k, v, mask):
    return fused_attention(*tensors(q, k, v), torch.tensor(mask)).detach().numpy()


def by_hand(q, k, v, mask):
    return attention(q, k, v, mask)[0]


both_causal = pytest.mark.parametrize("causal", [causal_mask, torch_causal], ids=["byhand", "model"])
both_padding = pytest.mark.parametrize("padding", [padding_mask, torch_padding], ids=["byhand", "model"])
each_way = pytest.mark.parametrize("attend", [by_hand, explicit, fused], ids=lambda f: f.__name__)


@st.composite
def batches(draw):
    """Ids of a few sentences of which every token, any or all, may be padding."""
    return draw(hnp.arrays(np.int64, (draw(lengths()), draw(lengths(5))), elements=st.integers(0, 3)))


# By hand


@both_causal
def test_a_causal_mask_is_a_triangle_with_its_diagonal(causal):
    assert causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal(1).tolist() == [[True]]
    assert causal(3).dtype == bool


@both_padding
def test_a_padding_mask_says_which_keys_are_real(padding):
    mask = padding(np.array([[4, 5, 6], [4, 5, PAD]]), PAD)
    assert mask.tolist() == [[[[True, True, True]]], [[[True, True, False]]]]
    assert mask.dtype == bool
    assert mask.shape == (2, 1, 1, 3)


@both_padding
def test_padding_is_known_by_its_id_and_not_by_its_place_or_value(padding):
    ids = np.array([[0, 7, 0, 7]])
    assert padding(ids, 0)[0, 0, 0].tolist() == [False, True, False, True]
    assert padding(ids, 7)[0, 0, 0].tolist() == [True, False, True, False]
    assert padding(ids, 1).all()


def test_the_causal_weights_of_the_example():
    weights = attention(Q, K, V, causal_mask(3))[1]
    free = attention(Q, K, V)[1]
    assert weights[0].tolist() == [1, 0, 0]
    assert weights[1].tolist() == [0.5, 0.5, 0]  # its scores on the first two words are both 1
    assert_near(weights[2], free[2], 1e-15)


def test_a_padding_of_zeros_draws_weight_and_a_mask_ends_it():
    x = np.vstack([X[:2], np.zeros((1, 3))])
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    e = np.exp(1 / np.sqrt(3))
    assert_near(attention(q, k, v)[1][1], [e / (2 * e + 1), e / (2 * e + 1), 1 / (2 * e + 1)], 1e-15)
    mask = padding_mask(np.array([[4, 5, PAD]]), PAD)
    alone, hidden = attention(q[:2], k[:2], v[:2]), attention(q[None, None], k[None, None], v[None, None], mask)
    assert_near(hidden[0][0, 0, :2], alone[0], 1e-15)
    assert_near(hidden[1][0, 0, :2, :2], alone[1], 1e-15)


# Laws


@both_causal
@given(n=lengths(8))
def test_token_i_sees_itself_and_those_before_it_and_no_other(causal, n):
    mask = causal(n)
    assert mask.shape == (n, n)
    assert mask.sum(axis=1).tolist() == list(range(1, n + 1))
    assert mask.diagonal().all()
    assert not mask[np.triu_indices(n, 1)].any()


@both_causal
@given(n=lengths(8), m=lengths(8))
def test_a_longer_causal_mask_contains_the_shorter_one(causal, n, m):
    least = min(n, m)
    assert np.array_equal(causal(max(n, m))[:least, :least], causal(least))


@both_padding
@given(ids=batches())
def test_a_padding_mask_fits_any_number_of_heads_and_queries(padding, ids):
    mask = padding(ids, PAD)
    whole = np.broadcast_to(mask, (len(ids), 3, 2, ids.shape[1]))
    for b, h, i, j in np.ndindex(whole.shape):
        assert whole[b, h, i, j] == (ids[b, j] != PAD)


def sample(ids, heads=2):
    """Queries, keys and values (B, H, T, …) for a batch of ids."""
    shape = (len(ids), heads, ids.shape[1])
    return normal(*shape, 5), normal(*shape, 5, seed=1), normal(*shape, 3, seed=2)


@each_way
@given(ids=batches())
def test_what_stands_in_padding_changes_nothing(attend, ids):
    q, k, v = sample(ids)
    mask = padding_mask(ids, PAD)
    hidden = np.broadcast_to((ids == PAD)[:, None, :, None], (*k.shape[:-1], 1))
    other_k, other_v = np.where(hidden, 100.0, k), np.where(hidden, -100.0, v)
    assert np.array_equal(attend(q, other_k, other_v, mask), attend(q, k, v, mask))


@each_way
@given(ids=batches())
def test_a_padded_sentence_is_the_sentence_alone(attend, ids):
    q, k, v = sample(ids)
    out = attend(q, k, v, padding_mask(ids, PAD))
    for b, sentence in enumerate(ids):
        real = sentence != PAD
        if real.any():
            free = np.ones((q.shape[2], real.sum()), dtype=bool)
            assert_near(out[b], attend(q[b], k[b][:, real], v[b][:, real], free), 1e-12)
        else:  # a sentence of nothing but padding
            assert np.all(out[b] == 0)


@each_way
@given(ids=batches())
def test_future_tokens_change_nothing_before_them(attend, ids):
    q, k, v = sample(ids)
    n = ids.shape[1]
    mask = causal_mask(n) & padding_mask(ids, PAD)
    out = attend(q, k, v, mask)
    for j in range(n):
        others = [np.where(np.arange(n)[:, None] >= j, 7 - x, x) for x in (q, k, v)]
        assert np.array_equal(attend(*others, mask)[:, :, :j], out[:, :, :j])


@each_way
def test_the_past_and_the_word_itself_do_change_what_comes_after(attend):
    q, k, v = normal(5, 4), normal(5, 4, seed=1), normal(5, 2)
    out = attend(q, k, v, causal_mask(5))
    for j in range(5):
        other = v.copy()
        other[j] += 1
        moved = np.any(attend(q, k, other, causal_mask(5)) != out, axis=1)
        assert moved.tolist() == [i >= j for i in range(5)]


@each_way
def test_with_causal_mask_padding_on_the_right_needs_no_second_mask_but_on_the_left_it_does(attend):
    right, left = np.array([[4, 5, PAD]]), np.array([[PAD, 4, 5]])
    q, k, v = sample(right)
    real = attend(q, k, v, causal_mask(3) & padding_mask(right, PAD))
    assert_near(attend(q, k, v, causal_mask(3))[:, :, :2], real[:, :, :2], 1e-14)
    moved = [x[:, :, [2, 0, 1]] for x in (q, k, v)]
    both = attend(*moved, causal_mask(3) & padding_mask(left, PAD))
    assert_near(both[:, :, 1:], real[:, :, :2], 1e-14)
    assert np.all(both[:, :, 0] == 0)  # padding in front may look at nothing
    assert not np.allclose(attend(*moved, causal_mask(3))[:, :, 1:], real[:, :, :2], atol=0.01)


@each_way
def test_one_token_sees_itself_and_an_empty_batch_stays_empty(attend):
    q, k, v = normal(2, 3, 1, 4), normal(2, 3, 1, 4), normal(2, 3, 1, 5)
    assert_near(attend(q, k, v, causal_mask(1)), v, 1e-15)
    assert attend(q[:0], k[:0], v[:0], padding_mask(np.zeros((0, 1), dtype=int), PAD)).shape == (0, 3, 1, 5)


# Gradients


def both_masks():
    """Inputs with a mask in which the first sentence has padding on the right, the last is nothing but padding."""
    ids = np.array([[4, 5, 6, PAD], [PAD, 5, 6, 7], [PAD] * 4])
    return *sample(ids), causal_mask(4) & padding_mask(ids, PAD)


def test_masked_pairs_pass_nothing_on():
    q, k, v, mask = both_masks()
    weights = attention(q, k, v, mask)[1]
    for b, i in np.ndindex(3, 4):
        d_out = np.zeros_like(v)
        d_out[b, :, i] = 1
        d_q, d_k, d_v = attention_backward(d_out, q, k, v, weights)
        hidden = ~mask[b, 0, i]
        assert np.all(d_k[b][:, hidden] == 0)
        assert np.all(d_v[b][:, hidden] == 0)
        assert np.all(np.any(d_v[b][:, ~hidden] != 0, axis=-1))
        if hidden.all():
            assert all(np.all(d == 0) for d in (d_q, d_k, d_v))


def test_the_gradient_under_both_masks_agrees_with_differences_and_with_pytorch():
    q, k, v, mask = both_masks()
    d_out = normal(*v.shape, seed=3)
    gradients = attention_backward(d_out, q, k, v, attention(q, k, v, mask)[1])
    assert_gradients(lambda *qkv: (d_out * attention(*qkv, mask)[0]).sum(), [q, k, v], gradients)
    for kernel in (lambda *a: torch_attention(*a)[0], fused_attention):
        inputs = tensors(q, k, v)
        kernel(*inputs, torch.tensor(mask)).backward(torch.tensor(d_out))
        for tensor, gradient in zip(inputs, gradients, strict=True):
            assert_near(tensor.grad, gradient, 1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kernel", [torch_attention, fused_attention], ids=lambda f: f.__name__)
def test_sentences_of_nothing_but_padding_give_zeros_in_any_precision(kernel, dtype):
    *qkv, mask = both_masks()
    inputs = tensors(*qkv, dtype=dtype)
    out = kernel(*inputs, torch.tensor(mask))
    out = out[0] if kernel is torch_attention else out
    assert out.dtype == dtype
    assert out[2].eq(0).all()
    assert out[1, :, 0].eq(0).all()
    with torch.autograd.set_detect_anomaly(True):
        out.sum().backward()
    assert all(x.grad.isfinite().all() and x.grad[2].eq(0).all() for x in inputs)


# Agreement


@given(n=lengths(8))
def test_both_tracks_make_the_same_causal_mask(n):
    assert np.array_equal(torch_causal(n), causal_mask(n))


@given(ids=batches())
def test_both_tracks_make_the_same_padding_mask(ids):
    assert np.array_equal(torch_padding(ids, PAD), padding_mask(ids, PAD))


def test_pytorchs_layer_means_the_opposite_of_true():
    x, ids = normal(2, 4, 6), np.array([[4, 5, 6, 7], [4, 5, 6, PAD]])
    layer = torch.nn.MultiheadAttention(6, 1, bias=False, batch_first=True).double()
    w_q, w_k, w_v = normal(3, 6, 6)
    layer.in_proj_weight.data = torch.tensor(np.vstack([w_q, w_k, w_v]))
    layer.out_proj.weight.data = torch.eye(6, dtype=torch.float64)
    batch, hidden = torch.tensor(x), torch.tensor(ids) == PAD
    own = layer(batch, batch, batch, key_padding_mask=hidden, attn_mask=~torch_causal_mask(4))[0]
    q, k, v = ((x @ w.T)[:, None] for w in (w_q, w_k, w_v))
    assert_near(own, attention(q, k, v, causal_mask(4) & padding_mask(ids, PAD))[0][:, 0], 1e-13)


def test_pytorchs_mask_to_add_is_zero_where_ours_is_true():
    added = torch.nn.Transformer.generate_square_subsequent_mask(5)
    assert np.array_equal(added == 0, causal_mask(5))


def test_a_mask_is_made_on_the_device_that_is_asked_for(monkeypatch):
    asked, ones = [], torch.ones
    monkeypatch.setattr(torch, "ones", lambda *n, device, dtype: asked.append(device) or ones(*n, dtype=dtype))
    torch_causal_mask(3, "cuda:1")
    torch_causal_mask(3)
    assert asked == ["cuda:1", None]


# Refusals


@pytest.mark.parametrize("causal", [causal_mask, torch_causal_mask], ids=["byhand", "model"])
@pytest.mark.parametrize("n", [0, -2])
def test_a_causal_mask_needs_a_token(causal, n):
    with unchecked(), pytest.raises(ValueError, match=rf"n \({n}\) must be at least 1"):
        causal(n)


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 3)])
def test_a_padding_mask_needs_sentences_and_tokens(shape):
    words = re.escape(f"ids must have two axes (batch, length), not {shape}")
    with unchecked():
        with pytest.raises(ValueError, match=words):
            torch_padding_mask(torch.zeros(shape, dtype=torch.int64), 0)
        with pytest.raises(ValueError, match=words):
            padding_mask(np.zeros(shape, dtype=int), 0)


# Figures


def hatched(axes):
    """The places (row, column) of hatched tiles, by their middle."""
    boxes = [patch for patch in axes.patches if patch.get_hatch()]
    return {tuple(round(float(x)) for x in box.get_center()[::-1]) for box in boxes}


def test_combined_masks_are_filled_where_true_and_small_where_copied():
    padding = padding_mask(np.array([[4, 5, 6], [4, 5, PAD]]), PAD)
    figure = figures.masks.combined(causal_mask(3), padding, [WORDS, ("I", "love", "–")])
    grid = np.array(figure.axes).reshape(2, 3)
    for b, (causal, keys, both) in enumerate(grid):
        expected = causal_mask(3), np.broadcast_to(padding[b, 0], (3, 3)), causal_mask(3) & padding[b, 0]
        for axes, mask in zip((causal, keys, both), expected, strict=True):
            assert hatched(axes) == {tuple(map(int, place)) for place in np.argwhere(~mask)}
            filled = [p for p in axes.patches if p.get_facecolor() == to_rgba(WEIGHTS(0.6))]
            assert len(filled) == mask.sum()
        large = [[round(p.get_width(), 2) == 0.92 for p in axes.patches] for axes in (causal, keys, both)]
        assert large == [[b == 0] * 9, [True] * 3 + [False] * 6, [True] * 9]
        assert [t.get_text() for t in causal.get_yticklabels()] == [*WORDS[:2], "AI" if b == 0 else "–"]
        assert not any(t.get_text() for axes in (keys, both) for t in axes.get_yticklabels())
    assert ["(T, T)" in grid[0, 0].get_title(), "(B, 1, 1, T)" in grid[0, 1].get_title()] == [True, True]


def test_the_reach_has_a_zero_exactly_where_nothing_arrives():
    size = np.tril(normal(4, 4) ** 2 + 0.1)
    figure = figures.masks.reach({"mask": {"changed": size, "gradient": 2 * size}})
    for axes in figure.axes:
        zeros = {tuple(round(x) for x in t.get_position()[::-1]) for t in axes.texts if t.get_text() == "0"}
        assert zeros == {(i, j) for i in range(4) for j in range(i + 1, 4)}
        assert "of word" in axes.get_xlabel()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["mask:\nchanged", "mask:\ngradient"]
