"""Multi-head attention: two heads by hand, its laws, its gradient, and four implementations that agree."""

import re

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgba

from tested_transformer.book import figures
from tested_transformer.book.example import W_K, W_K2, W_O, W_Q, W_Q2, W_V, W_V2, WORDS, X
from tested_transformer.book.figures.picture import PHONE, SERIES, WEIGHTS
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.heads import join_heads, multi_head_attention, multi_head_attention_backward, split_heads
from tested_transformer.byhand.linear import linear
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.heads import join_heads as torch_join_heads
from tested_transformer.model.heads import split_heads as torch_split_heads
from tested_transformer.model.linear import create_linear_layer

EXAMPLE = {
    "w_q.weight": np.vstack([W_Q.T, W_Q2.T]),
    "w_k.weight": np.vstack([W_K.T, W_K2.T]),
    "w_v.weight": np.vstack([W_V.T, W_V2.T]),
    "w_o.weight": W_O.T,
}
D_MODEL, HEADS, D_K, D_V = 6, 3, 2, 5  # all different, and d_k and d_v not d_model / n_heads


def parameters(d_model=D_MODEL, n_heads=HEADS, d_k=D_K, d_v=D_V, bias=False):
    sizes = {"w_q": n_heads * d_k, "w_k": n_heads * d_k, "w_v": n_heads * d_v}
    shapes = {name: (size, d_model) for name, size in sizes.items()} | {"w_o": (d_model, n_heads * d_v)}
    # a seed for each: no two matrices are alike
    params = {f"{name}.weight": normal(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    if bias:
        params |= {f"{name}.bias": normal(shape[0], seed=10 + i) for i, (name, shape) in enumerate(shapes.items())}
    return params


def module(params, n_heads=HEADS, fused=True, dropout=0.0):
    """The PyTorch module that holds these parameters."""
    d_model, width = params["w_o.weight"].shape
    d_k = len(params["w_q.weight"]) // n_heads
    bias = "w_q.bias" in params
    made = MultiHeadAttention(d_model, n_heads, d_k, width // n_heads, bias, dropout, fused).double()
    made.load_state_dict({name: torch.tensor(x) for name, x in params.items()})
    return made


def by_hand(query, key, value, params, n_heads=HEADS, mask=None):
    out, saved = multi_head_attention(query, key, value, params, n_heads, mask)
    return out, saved["weights"]


def explicit(query, key, value, params, n_heads=HEADS, mask=None):
    mask = None if mask is None else torch.tensor(mask)
    made = module(params, n_heads, fused=False)
    return tuple(x.detach().numpy() for x in made(*tensors(query, key, value), mask, need_weights=True))


def fused(query, key, value, params, n_heads=HEADS, mask=None):
    mask = None if mask is None else torch.tensor(mask)
    out, weights = module(params, n_heads)(*tensors(query, key, value), mask)
    assert weights is None
    return out.detach().numpy(), None


each_way = pytest.mark.parametrize("attend", [by_hand, explicit, fused], ids=lambda f: f.__name__)
both_splits = pytest.mark.parametrize(
    ("split", "join"),
    [
        (split_heads, join_heads),
        (
            lambda x, n: torch_split_heads(torch.tensor(x), n).numpy(),
            lambda x: torch_join_heads(torch.tensor(x)).numpy(),
        ),
    ],
    ids=["byhand", "model"],
)


def inputs(batch=2, tq=3, tk=4):
    return normal(batch, tq, D_MODEL), normal(batch, tk, D_MODEL, seed=1), normal(batch, tk, D_MODEL, seed=2)


# By hand: "I love AI" with two heads


def test_the_second_head_of_the_example_looks_at_a_neighbour():
    q, k, v = X @ W_Q2, X @ W_K2, X @ W_V2
    assert q.tolist() == [[0, 3, 0], [3, 0, 0], [0, 3, 0]]
    assert k.tolist() == np.eye(3).tolist()
    assert v.tolist() == [[1, 1, 0], [0, 0, 1], [0, 1, 1]]
    e = np.exp(np.sqrt(3))  # the scores are 3 and twice 0, divided by the root of 3
    near, far = e / (e + 2), 1 / (e + 2)
    assert_near(attention(q, k, v)[1], [[far, near, far], [near, far, far], [far, near, far]], 1e-15)


@each_way
def test_two_heads_of_the_example_joined(attend):
    out, weights = attend(X[None], X[None], X[None], EXAMPLE, 2)
    first = attention(X @ W_Q, X @ W_K, X @ W_V)
    second = attention(X @ W_Q2, X @ W_K2, X @ W_V2)
    # W_O by components: what each of the three numbers is made of
    (a, b, c), (d, e, f) = first[0].T, second[0].T
    assert_near(out[0], np.transpose([c - e, b + e, a + c + d - f]), 1e-14)
    assert out[0].round(4).tolist() == [[1.3754, 0.5544, 1.8279], [0.1307, 1.6049, 2.2128], [1.0344, 0.8294, 1.4210]]
    if weights is not None:
        assert_near(weights[0], [first[1], second[1]], 1e-15)


@both_splits
def test_a_row_is_cut_into_consecutive_pieces(split, join):
    x = 10.0 * np.arange(1, 4)[:, None] + np.arange(1, 7)  # the tens are the word, the ones the column
    pieces = split(x[None], 2)
    assert pieces[0, 0].tolist() == [[11, 12, 13], [21, 22, 23], [31, 32, 33]]
    assert pieces[0, 1].tolist() == [[14, 15, 16], [24, 25, 26], [34, 35, 36]]
    assert split(x[None], 3)[0, 2].tolist() == [[15, 16], [25, 26], [35, 36]]
    assert join(pieces)[0].tolist() == x.tolist()


@each_way
def test_with_one_word_the_output_is_its_value_through_the_last_matrix(attend):
    params, (x, _, _) = parameters(bias=True), inputs(tq=1)
    value = linear(x, params["w_v.weight"], params["w_v.bias"])
    assert_near(attend(x, x, x, params)[0], linear(value, params["w_o.weight"], params["w_o.bias"]), 1e-14)


@each_way
def test_each_head_is_an_attention_of_its_own_scaled_by_its_own_width(attend):
    params, (query, key, value) = parameters(bias=True), inputs()
    total, weights = params["w_o.bias"], []
    for h in range(HEADS):
        at_k, at_v = slice(h * D_K, (h + 1) * D_K), slice(h * D_V, (h + 1) * D_V)
        q = query @ params["w_q.weight"][at_k].T + params["w_q.bias"][at_k]
        k = key @ params["w_k.weight"][at_k].T + params["w_k.bias"][at_k]
        v = value @ params["w_v.weight"][at_v].T + params["w_v.bias"][at_v]
        out, one = attention(q, k, v)
        total = total + out @ params["w_o.weight"][:, at_v].T
        weights.append(one)
    got, got_weights = attend(query, key, value, params)
    assert_near(got, total, 1e-13)
    if got_weights is not None:
        assert_near(got_weights, np.stack(weights, axis=1), 1e-13)


# Laws of the cut


def test_weights_are_handed_out_only_where_somebody_asks_for_them():
    heads, (q, k, v) = MultiHeadAttention(D_MODEL, HEADS), torch.ones(3, 1, HEADS, 2, D_MODEL // HEADS)
    assert heads.attend(q, k, v)[1] is None
    assert heads.attend(q, k, v, need_weights=True)[1].shape == (1, HEADS, 2, 2)


@both_splits
@given(batch=st.integers(1, 3), length=st.integers(1, 4), heads=st.integers(1, 4), width=st.integers(1, 3))
def test_joining_undoes_splitting_and_the_other_way_round(split, join, batch, length, heads, width):
    x = normal(batch, length, heads * width)
    pieces = split(x, heads)
    assert pieces.shape == (batch, heads, length, width)
    assert np.array_equal(join(pieces), x)
    assert np.array_equal(split(join(pieces), heads), pieces)


@both_splits
def test_the_pieces_of_a_word_depend_on_that_word_alone(split, join):
    x = normal(2, 4, 6)
    for b, t in np.ndindex(2, 4):
        other = x.copy()
        other[b, t] += 1
        moved = (split(other, 3) != split(x, 3)).any(axis=-1)
        assert np.argwhere(moved).tolist() == [[b, h, t] for h in range(3)]
        pieces = split(x, 3).copy()
        pieces[b, 1, t] += 1
        moved = join(pieces) != x
        assert np.argwhere(moved).tolist() == [[b, t, 2], [b, t, 3]]


# Laws of attention with heads


@each_way
def test_heads_reordered_together_with_the_blocks_of_the_last_matrix_change_nothing(attend):
    params, data = parameters(bias=True), inputs()
    for order in ([2, 0, 1], [1, 0, 2]):
        at = {"w_q": D_K, "w_k": D_K, "w_v": D_V}
        moved = dict(params)
        for name, width in at.items():
            rows = np.arange(HEADS * width).reshape(HEADS, width)[order].ravel()
            moved[f"{name}.weight"], moved[f"{name}.bias"] = (
                params[f"{name}.weight"][rows],
                params[f"{name}.bias"][rows],
            )
        moved["w_o.weight"] = params["w_o.weight"][:, np.arange(HEADS * D_V).reshape(HEADS, D_V)[order].ravel()]
        assert_near(attend(*data, moved)[0], attend(*data, params)[0], 1e-13)


@each_way
def test_a_head_whose_block_of_the_last_matrix_is_zero_is_not_there(attend):
    params, data = parameters(), inputs()
    for h in range(HEADS):
        gone = params | {"w_o.weight": params["w_o.weight"].copy()}
        gone["w_o.weight"][:, h * D_V : (h + 1) * D_V] = 0
        rest = {}
        for name, x in params.items():
            axis = 1 if name == "w_o.weight" else 0
            rest[name] = np.concatenate([y for i, y in enumerate(np.split(x, HEADS, axis)) if i != h], axis)
        assert_near(attend(*data, gone)[0], attend(*data, rest, HEADS - 1)[0], 1e-13)


@pytest.mark.parametrize("attend", [by_hand, explicit], ids=lambda f: f.__name__)
def test_a_head_does_not_see_the_pieces_of_another(attend):
    params, data = parameters(), inputs()
    weights = attend(*data, params)[1]
    for name in ("w_q.weight", "w_k.weight"):
        other = params | {name: params[name].copy()}
        other[name][D_K : 2 * D_K] += 1  # of head 2
        moved = (attend(*data, other)[1] != weights).any(axis=(0, 2, 3))
        assert moved.tolist() == [False, True, False]


@each_way
def test_sentences_of_a_batch_do_not_see_each_other(attend):
    params, (query, key, value) = parameters(bias=True), inputs(batch=3)
    whole = attend(query, key, value, params)[0]
    for b in range(3):
        alone = attend(query[b : b + 1], key[b : b + 1], value[b : b + 1], params)[0]
        assert_near(alone[0], whole[b], 1e-13)


@each_way
def test_shuffled_words_give_shuffled_outputs(attend):
    params, (query, key, value) = parameters(bias=True), inputs(tq=4)
    out, order = attend(query, key, value, params)[0], [2, 0, 3, 1]
    assert_near(attend(query[:, order], key, value, params)[0], out[:, order], 1e-13)
    assert_near(attend(query, key[:, order], value[:, order], params)[0], out, 1e-13)


@each_way
def test_query_key_and_value_have_three_different_roles(attend):
    params, (query, key, value) = parameters(), inputs(tq=4)
    out = attend(query, key, value, params)[0]
    for swapped in ((key, query, value), (query, value, key), (value, key, query)):
        assert not np.allclose(attend(*swapped, params)[0], out, atol=0.01)
    doubled = attend(query, key, 2 * value, params)[0]
    assert_near(doubled, 2 * out, 1e-13)  # values enter once, and linearly


MASKS = {
    "causal": np.tri(4, dtype=bool),
    "keys of each sentence": np.array([[1, 1, 1, 0], [0, 1, 0, 1]], dtype=bool)[:, None, None, :],
    "one query hidden whole": np.array([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool),
    "a sentence of nothing but padding": np.array([[1] * 4, [0] * 4], dtype=bool)[:, None, None, :],
    "each head its own": normal(2, HEADS, 4, 4, seed=5) > 0,
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


@each_way
@each_mask
def test_a_hidden_key_has_no_influence_in_any_head(attend, mask):
    params, (query, key, value) = parameters(bias=True), inputs(tq=4)
    out = attend(query, key, value, params, mask=mask)[0]
    seen = np.broadcast_to(mask, (2, HEADS, 4, 4)).any(axis=1)  # by any head
    for j in range(4):
        other_key, other_value = key.copy(), value.copy()
        other_key[:, j], other_value[:, j] = 50, -50
        moved = (attend(query, other_key, other_value, params, mask=mask)[0] != out).any(axis=-1)
        assert np.array_equal(moved, seen[:, :, j])


@each_way
@each_mask
def test_a_word_with_nothing_to_look_at_gets_nothing_but_the_last_bias(attend, mask):
    params, data = parameters(bias=True), inputs(tq=4)
    out, weights = attend(*data, params, mask=mask)
    nothing = ~np.broadcast_to(mask, (2, HEADS, 4, 4)).any(axis=(1, 3))
    assert_near(out[nothing], np.broadcast_to(params["w_o.bias"], out[nothing].shape), 1e-15)
    if weights is not None:
        assert np.all(weights[~np.broadcast_to(mask, weights.shape)] == 0)


# Gradients


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("mask", [None, *MASKS.values()], ids=["no mask", *MASKS])
def test_the_gradient_by_hand_is_the_one_that_pytorch_finds(mask, bias):
    params, data, d_out = parameters(bias=bias), inputs(tq=4), normal(2, 4, D_MODEL, seed=3)
    _, saved = multi_head_attention(*data, params, HEADS, mask)
    *d_inputs, d_params = multi_head_attention_backward(d_out, saved)
    assert d_params.keys() == params.keys()
    for need_weights in (False, True):
        made, own = module(params), tensors(*data)
        torch_mask = None if mask is None else torch.tensor(mask)
        made(*own, torch_mask, need_weights)[0].backward(torch.tensor(d_out))
        for tensor, gradient in zip(own, d_inputs, strict=True):
            assert_near(gradient, tensor.grad, 1e-9)
        for name, parameter in made.named_parameters():
            if name == "w_k.bias":  # it has no gradient, only rounding
                assert np.abs(d_params[name] - parameter.grad.numpy()).max() < 1e-12
            else:
                assert_near(d_params[name], parameter.grad, 1e-9)


def test_the_gradient_by_hand_agrees_with_differences():
    params, d_out, mask = parameters(2, 2, 1, 2, bias=True), normal(2, 2, 2, seed=3), np.tri(2, 3, dtype=bool)
    data = normal(2, 2, 2), normal(2, 3, 2, seed=1), normal(2, 3, 2, seed=2)
    _, saved = multi_head_attention(*data, params, 2, mask)
    *d_inputs, d_params = multi_head_attention_backward(d_out, saved)

    names = [name for name in params if name != "w_k.bias"]  # which has no gradient: the next test

    def loss(query, key, value, *weights):
        given = params | dict(zip(names, weights, strict=True))
        return (d_out * multi_head_attention(query, key, value, given, 2, mask)[0]).sum()

    assert_gradients(loss, [*data, *(params[n] for n in names)], [*d_inputs, *(d_params[n] for n in names)])


def test_a_bias_of_the_keys_changes_nothing_and_has_no_gradient():
    params, data, d_out = parameters(bias=True), inputs(), normal(2, 3, D_MODEL, seed=3)
    out, saved = multi_head_attention(*data, params, HEADS)
    other = params | {"w_k.bias": params["w_k.bias"] + 3}
    assert_near(multi_head_attention(*data, other, HEADS)[0], out, 1e-12)
    d_params = multi_head_attention_backward(d_out, saved)[3]
    assert np.abs(d_params["w_k.bias"]).max() < 1e-12


def test_in_self_attention_the_three_gradients_add_up():
    params, x, d_out = parameters(), inputs()[0], normal(2, 3, D_MODEL, seed=3)
    *d_inputs, _ = multi_head_attention_backward(d_out, multi_head_attention(x, x, x, params, HEADS)[1])
    assert_gradients(lambda x: (d_out * multi_head_attention(x, x, x, params, HEADS)[0]).sum(), [x], [sum(d_inputs)])
    (own,) = tensors(x)
    module(params)(own, own, own)[0].backward(torch.tensor(d_out))
    assert_near(sum(d_inputs), own.grad, 1e-9)


def test_heads_that_start_alike_stay_alike():
    twins = {name: np.concatenate([x[: len(x) // 2]] * 2) for name, x in parameters(n_heads=2).items()}
    w_o = parameters(n_heads=2)["w_o.weight"]
    twins["w_o.weight"] = np.hstack([w_o[:, :D_V]] * 2)
    saved = multi_head_attention(*inputs(), twins, 2)[1]
    d_params = multi_head_attention_backward(normal(2, 3, D_MODEL), saved)[3]
    for name, d in d_params.items():
        first, second = np.split(d, 2, axis=1 if name == "w_o.weight" else 0)
        assert_near(first, second, 1e-14)


# Agreement


def own_layer(params, n_heads):
    """PyTorch's layer with these parameters: the three wide matrices stacked."""
    layer = torch.nn.MultiheadAttention(D_MODEL, n_heads, bias="w_q.bias" in params, batch_first=True).double()
    kinds = ("weight", "bias") if "w_q.bias" in params else ("weight",)
    for kind in kinds:
        stacked = np.concatenate([params[f"{name}.{kind}"] for name in ("w_q", "w_k", "w_v")])
        getattr(layer, f"in_proj_{kind}").data = torch.tensor(stacked)
        getattr(layer.out_proj, kind).data = torch.tensor(params[f"w_o.{kind}"])
    return layer


@each_way
@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_it_equals_pytorchs_own_layer(attend, n_heads, bias):
    width = D_MODEL // n_heads
    params, data = parameters(D_MODEL, n_heads, width, width, bias), inputs(tq=4)
    real = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
    mask = np.tri(4, dtype=bool) & real[:, None, None, :]
    own, own_weights = own_layer(params, n_heads)(
        *tensors(*data),
        key_padding_mask=torch.tensor(~real),
        attn_mask=torch.tensor(~np.tri(4, dtype=bool)),
        average_attn_weights=False,
    )
    out, weights = attend(*data, params, n_heads, mask)
    assert_near(out, own, 1e-13)
    if weights is not None:
        assert_near(weights, own_weights, 1e-13)


@each_mask
def test_by_hand_explicit_and_fused_agree(mask):
    params, data = parameters(bias=True), inputs(tq=4)
    out, weights = by_hand(*data, params, mask=mask)
    torch_out, torch_weights = explicit(*data, params, mask=mask)
    assert_near(torch_out, out, 1e-13)
    assert_near(torch_weights, weights, 1e-13)
    assert_near(fused(*data, params, mask=mask)[0], out, 1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@each_mask
def test_both_ways_work_in_other_precisions_and_stay_finite(dtype, mask):
    params, data = parameters(), inputs(tq=4)
    expected = by_hand(*data, params, mask=mask)[0]
    rough = {torch.float32: 1e-5, torch.float16: 0.02, torch.bfloat16: 0.1}[dtype]
    for is_fused in (False, True):
        made, own = module(params, fused=is_fused).to(dtype), tensors(*data, dtype=dtype)
        out = made(*own, torch.tensor(mask))[0]
        assert out.dtype == dtype
        assert_near(out.double(), expected, rough)
        with torch.autograd.set_detect_anomaly(True):
            out.sum().backward()
        assert all(x.grad.isfinite().all() for x in (*own, *made.parameters()))


def test_the_kernel_is_used_when_it_may_and_the_formula_when_somebody_asks(monkeypatch):
    used = []
    for name in ("attention", "fused_attention"):
        real = getattr(__import__("tested_transformer.model.heads", fromlist=["_"]), name)
        monkeypatch.setattr(
            f"tested_transformer.model.heads.{name}",
            lambda *a, real=real, name=name: used.append(name) or real(*a),
        )
    params, own = parameters(), tensors(*inputs())
    assert module(params)(*own)[1] is None
    assert module(params)(*own, need_weights=True)[1].shape == (2, HEADS, 3, 4)
    assert module(params, fused=False)(*own)[1] is None
    assert used == ["fused_attention", "attention", "attention"]


# Dropout: in PyTorch only


@pytest.mark.parametrize("is_fused", [False, True], ids=["explicit", "fused"])
def test_dropout_falls_on_the_weights_while_learning_and_is_off_in_use(is_fused):
    params, own = parameters(), tensors(*inputs())
    expected = module(params)(*own)[0]
    made = module(params, fused=is_fused, dropout=0.5)
    torch.manual_seed(0)
    first, second = made(*own)[0], made(*own)[0]
    assert not torch.allclose(first, expected)
    assert not torch.allclose(first, second)
    made.eval()
    before = torch.random.get_rng_state()
    assert torch.allclose(made(*own)[0], expected)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_weights_that_are_returned_are_those_before_dropout():
    params, own = parameters(), tensors(*inputs())
    torch.manual_seed(0)
    weights = module(params, dropout=0.5)(*own, need_weights=True)[1]
    assert torch.equal(weights, module(params)(*own, need_weights=True)[1])


# The module


def test_the_paper_has_four_matrices_and_no_bias():
    made = MultiHeadAttention(512, 8)
    shapes = {name: tuple(p.shape) for name, p in made.named_parameters()}
    assert shapes == {f"w_{x}.weight": (512, 512) for x in "qkvo"}
    made = MultiHeadAttention(6, 2, bias=True)
    assert [name for name, _ in made.named_parameters()] == [f"w_{x}.{y}" for x in "qkvo" for y in ("weight", "bias")]


def test_the_number_of_heads_does_not_change_the_number_of_parameters():
    counts = {h: sum(p.numel() for p in MultiHeadAttention(512, h).parameters()) for h in (1, 4, 8, 16, 32)}
    assert set(counts.values()) == {4 * 512**2}


@given(d_model=st.integers(1, 5), heads=st.integers(1, 4), d_k=st.integers(1, 3), d_v=st.integers(1, 3))
def test_widths_that_are_given_need_not_divide_anything(d_model, heads, d_k, d_v):
    made = MultiHeadAttention(d_model, heads, d_k, d_v)
    assert made.w_q.weight.shape == made.w_k.weight.shape == (heads * d_k, d_model)
    assert made.w_v.weight.shape == (heads * d_v, d_model)
    assert made.w_o.weight.shape == (d_model, heads * d_v)
    x = torch.zeros(1, 2, d_model)
    assert made(x, x, x)[0].shape == x.shape


def test_the_first_weights_lie_evenly_within_half_of_glorots_limits_and_biases_begin_at_zero():
    torch.manual_seed(0)
    layer = create_linear_layer(300, 100)
    limit = 0.5 * (6 / 400) ** 0.5
    assert layer.weight.shape == (100, 300)
    assert 0.99 * limit < layer.weight.abs().max() <= limit
    assert abs(layer.weight.std() / limit - 1 / 3**0.5) < 0.01  # of an even spread
    assert layer.bias.eq(0).all()
    assert create_linear_layer(3, 4, bias=False).bias is None


def test_no_two_matrices_and_no_two_heads_start_alike():
    made = MultiHeadAttention(6, 2)
    pieces = [piece for p in made.parameters() for piece in p.detach().chunk(2)]
    assert all(not torch.equal(a, b) for i, a in enumerate(pieces) for b in pieces[:i])


# Refusals

SIZES = [
    ({"n_heads": 5}, r"n_heads (5) must divide d_model (6), or give d_k and d_v"),
    ({"n_heads": 5, "d_k": 2}, r"n_heads (5) must divide d_model (6), or give d_k and d_v"),
    ({"n_heads": 5, "d_v": 2}, r"n_heads (5) must divide d_model (6), or give d_k and d_v"),
    *(({name: value}, f"{name} ({value}) must be at least 1")
      for name in ("d_model", "n_heads", "d_k", "d_v") for value in (0, -2)),
    ({"dropout": 1.0}, "dropout (1.0) must be at least 0 and below 1"),
    ({"dropout": -0.1}, "dropout (-0.1) must be at least 0 and below 1"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "words"), SIZES, ids=lambda x: str(x) if isinstance(x, dict) else "")
def test_sizes_that_do_not_fit_are_refused(wrong, words):
    with unchecked(), pytest.raises(ValueError, match=re.escape(words)):
        MultiHeadAttention(**{"d_model": 6, "n_heads": 2} | wrong)


X6 = torch.zeros(2, 4, 6)
INPUTS = {
    "a sentence without a batch": (
        {"query": X6[0]},
        "query of shape (4, 6) must have three axes (batch, length, width)",
    ),
    "a number": ({"query": X6.sum()}, "query of shape () must have three axes (batch, length, width)"),
    "queries of another width": ({"query": torch.zeros(2, 4, 7)}, "the width of query (7) must be d_model (6)"),
    "keys of another width": ({"key": torch.zeros(2, 4, 5)}, "the width of key (5) must be d_model (6)"),
    "values of another width": ({"value": torch.zeros(2, 4, 12)}, "the width of value (12) must be d_model (6)"),
    "whole numbers": ({"key": X6.long()}, "key must be of a floating-point type, not torch.int64"),
    "heads already cut": (
        {"value": torch.zeros(2, 3, 4, 2)},
        "value of shape (2, 3, 4, 2) must have three axes (batch, length, width)",
    ),
    "another batch": ({"key": X6[:1]}, "query, key and value must have the same batch size, not [2, 1, 2]"),
    "fewer values than keys": ({"value": X6[:, :3]}, "one value for each key: keys (2, 3, 4, 2), values (2, 3, 3, 2)"),
    "a mask of three axes": (
        {"mask": torch.ones(2, 4, 4, dtype=torch.bool)},
        "mask of shape (2, 4, 4) must have two axes (queries, keys) or four (batch, heads, queries, keys)",
    ),
    "a mask of one axis": ({"mask": torch.ones(4, dtype=torch.bool)}, "mask of shape (4,) must have two axes"),
    "a mask without axes": ({"mask": torch.ones((), dtype=torch.bool)}, "mask of shape () must have two axes"),
}


@pytest.mark.parametrize("is_fused", [False, True], ids=["explicit", "fused"])
@pytest.mark.parametrize("case", INPUTS)
def test_inputs_that_do_not_fit_are_refused(case, is_fused):
    wrong, words = INPUTS[case]
    made, right = MultiHeadAttention(6, 3, fused=is_fused), {"query": X6, "key": X6, "value": X6}
    with unchecked():
        made(**right)
        with pytest.raises((ValueError, TypeError), match=re.escape(words)):
            made(**right | wrong)


@pytest.mark.parametrize("is_fused", [False, True], ids=["explicit", "fused"])
def test_a_mask_of_numbers_is_refused(is_fused):
    made = MultiHeadAttention(6, 3, fused=is_fused)
    with unchecked(), pytest.raises(TypeError, match=r"mask must be bool \(True = may look\), not torch.float32"):
        made(X6, X6, X6, torch.ones(4, 4))


@pytest.mark.parametrize("name", ["query", "key", "value", "mask"])
@pytest.mark.parametrize("other", [np.zeros((2, 4, 6)), [[[0.0] * 6]]], ids=["an array", "a list"])
def test_what_is_no_tensor_is_refused_by_name(name, other):
    right, words = {"query": X6, "key": X6, "value": X6}, rf"{name} must be a torch.Tensor, not {type(other).__name__}"
    with unchecked(), pytest.raises(TypeError, match=words):
        MultiHeadAttention(6, 3)(**right | {name: other})


def test_by_hand_too_a_mask_of_three_axes_is_refused_even_where_it_would_fit():
    params, data = parameters(), inputs(batch=HEADS, tq=4)  # as many sentences as heads: it would broadcast
    with unchecked(), pytest.raises(ValueError, match=r"mask of shape \(3, 4, 4\) must have two axes or four"):
        multi_head_attention(*data, params, HEADS, np.ones((HEADS, 4, 4), dtype=bool))


@pytest.mark.parametrize("split", [split_heads, lambda x, n: torch_split_heads(torch.tensor(x), n)])
@pytest.mark.parametrize("heads", [0, 4, -2])
def test_pieces_must_be_of_one_width(split, heads):
    with unchecked(), pytest.raises(ValueError, match=rf"n_heads \({heads}\) must divide the width \(6\)"):
        split(np.zeros((1, 2, 6)), heads)


# Figures


def tiles(axes):
    """The numbers written in a matrix of tiles, as they are written."""
    return [text.get_text() for text in axes.texts]


def test_the_cut_shows_every_number_in_its_place_in_the_colour_of_its_word():
    x = 10.0 * np.arange(1, 4)[:, None] + np.arange(1, 7)
    figure = figures.heads.cut(x, {"swapped": split_heads(x[None], 2)[0], "wrong": x.reshape(2, 3, 3)}, WORDS)
    drawn = {axes.get_title(loc="center"): axes for axes in figure.axes}
    assert tiles(drawn["swapped: head 2"]) == ["14", "15", "16", "24", "25", "26", "34", "35", "36"]
    assert tiles(drawn["wrong: head 1"]) == ["11", "12", "13", "14", "15", "16", "21", "22", "23"]
    assert tiles(drawn["before the cut"]) == [f"{n:.0f}" for n in x.ravel()]
    for axes in figure.axes:
        for text, box in zip(axes.texts, axes.patches, strict=True):
            assert box.get_facecolor() == to_rgba(SERIES[int(text.get_text()[0]) - 1])
            assert tuple(box.get_center()) == text.get_position()


TOKENS = ("I", " need", " the", " chair", " because", " it")


def test_what_two_heads_fetch_is_drawn_on_either_side_of_the_sentence():
    heads = {"head 1": [0, 0.1, 0, 0.75, 0.05, 0.1], "head 2": [0.99996, 0, 0, 0, 0.00004, 0]}
    (axes,) = figures.heads.fetched(TOKENS, 5, heads).axes
    assert [text.get_text() for text in axes.texts if ":" in text.get_text()] == ["head 1: 0.750", "head 2: 0.9999"]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert [word for word in sorted(places, key=lambda word: places[word][0]) if ":" not in word] == [
        token.strip() for token in TOKENS
    ]
    widths = [line.get_linewidth() / 5 for line in axes.lines]
    assert np.allclose(widths, [*heads["head 1"][:5], *heads["head 2"][:5]]), "all but the token itself"
    for number, line in enumerate(axes.lines):
        (x, y), token = line.get_data(), TOKENS[number % 5].strip()
        assert np.isclose(x[0], places[token][0])
        assert np.isclose(x[-1], places["it"][0])
        assert np.all(y > 0) if number < 5 else np.all(y < 0)
    assert {text.get_text() for text in axes.texts if text.get_weight() == "bold"} == {"chair", "I", "it"}
    with pytest.raises(ValueError, match=r"heads \(one\) must be two"):
        figures.heads.fetched(TOKENS, 5, {"one": np.ones(6)})


def test_a_row_has_a_line_in_each_head_of_each_layer_and_one_is_framed():
    weights = np.linspace(0, 1, 36).reshape(2, 3, 6)
    figure = figures.heads.row_of(weights, TOKENS, marked=(1, 2))
    for layer, axes in enumerate(figure.axes):
        assert np.array_equal(axes.get_images()[0].get_array(), weights[layer])
        assert [label.get_text() for label in axes.get_yticklabels()] == ["head 1", "head 2", "head 3"]
        for text, weight in zip(axes.texts, weights[layer].flat, strict=True):
            assert text.get_visible() == (weight > 0.05)
    assert tiles(figure.axes[1])[-1] == "1"
    assert tiles(figures.heads.row_of(0.9999 * weights, TOKENS, marked=(1, 2)).axes[1])[-1] == "0.9999"
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list(TOKENS)
    assert not figure.axes[0].patches
    (frame,) = figure.axes[1].patches
    assert (*frame.get_xy(), frame.get_width(), frame.get_height()) == (-0.5, 1.5, 6, 1)
    assert [text.get_text() for text in figure.texts] == ["layer 1", "layer 2"]
    with pytest.raises(ValueError, match="6 weights in a line for 5 tokens"):
        figures.heads.row_of(weights, TOKENS[:5], marked=(1, 2))


def test_the_weights_of_heads_stand_under_their_names():
    panels = {"head 1": np.eye(3), "head 2": np.full((3, 3), 1 / 3)}
    one, two = figures.heads.weights(panels, WORDS).axes
    assert (one.get_xlabel(), two.get_xlabel()) == ("head 1", "head 2")
    assert tiles(two) == ["0.3333"] * 9
    three = figures.heads.weights(panels | {"average": np.full((3, 3), 1 / 3)}, WORDS)
    assert tiles(three.axes[2]) == ["0.33"] * 9
    assert three.get_figwidth() <= PHONE


def test_what_is_lost_is_drawn_for_each_word_and_for_both():
    share, left, right = np.linspace(0, 1, 5), np.linspace(1, 0, 5), np.linspace(0, 1, 5)
    (axes,) = figures.heads.lost(share, left, right).axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["of the left word"] == list(left)
    assert lines["of the right word"] == list(right)
    assert lines["of both"] == [0.5] * 5
    assert lines["with two heads"] == [0, 0]


def test_the_path_shows_every_step_of_both_heads():
    heads, joined = [], []
    for w_q, w_k, w_v in ((W_Q, W_K, W_V), (W_Q2, W_K2, W_V2)):
        out, weights = attention(X @ w_q, X @ w_k, X @ w_v)
        heads.append({"Q": X @ w_q, "K": X @ w_k, "V": X @ w_v, "weights": weights})
        joined.append(out)
    joined = np.hstack(joined)
    figure = figures.heads.path(X, heads, joined, joined @ W_O, WORDS)
    figure.draw_without_rendering()
    drawn = {axes.get_title(loc="center"): axes.get_images()[0].get_array() for axes in figure.axes}
    expected = {"$X$": X, "side by side: joined": joined, r"joined $\cdot\ W^O$": joined @ W_O}
    for h, head in enumerate(heads, start=1):
        expected |= {f"${name}_{h}$": head[name] for name in "QKV"} | {f"weights of head {h}": head["weights"]}
    assert drawn.keys() == expected.keys()
    assert all(np.array_equal(drawn[title], expected[title]) for title in expected)
    for axes in figure.axes:  # one colour scale for weights, and a tint for each role
        image = axes.get_images()[0]
        weights = axes.get_title(loc="center").startswith("weights")
        assert (image.get_cmap() is WEIGHTS) == weights
        assert image.get_clim() == (0, 1)
        assert len(np.unique(image.cmap(np.linspace(0, 1, 9)), axis=0)) == (9 if weights else 1)
    arrows = [artist for artist in figure.artists if hasattr(artist, "get_arrowstyle")]
    assert len(arrows) == 15  # six from X, two into each head's weights, two out of each head, one to the output
    assert all(a._posA_posB[0][1] > a._posA_posB[1][1] for a in arrows), "every arrow points down"
