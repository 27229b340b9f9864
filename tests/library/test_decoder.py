"""The decoder: the worked layer, who may look at whom, its gradient, and three implementations that agree."""

import itertools

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, filled, normal, tensors, unchecked

from tested_transformer.book.example import (
    B_1,
    B_2,
    C_K,
    C_O,
    C_Q,
    C_V,
    TARGET,
    W_1,
    W_2,
    W_K,
    W_K2,
    W_O,
    W_Q,
    W_Q2,
    W_V,
    W_V2,
    X,
    Y,
)  # fmt: skip
from tested_transformer.byhand.decoder import decoder, decoder_backward, decoder_layer, decoder_layer_backward
from tested_transformer.byhand.encoder import encoder, encoder_layer, join, part
from tested_transformer.byhand.gradient import numerical_gradient
from tested_transformer.config import BASE, Config
from tested_transformer.model.decoder import Decoder, DecoderLayer

CONFIG = Config(vocab_size=4, d_model=4, d_ff=6, n_heads=2, n_layers=2, dropout=0.0)
X_SHAPE, MEMORY_SHAPE = (3, 5, 4), (3, 6, 4)  # three sentences, five target and six source tokens
TARGET_IDS = np.array([[1, 6, 7, 8, 9], [1, 6, 7, 0, 0], [0, 0, 0, 0, 0]])  # full, short, nothing at all
SOURCE_IDS = np.array([[5, 6, 7, 8, 0, 0], [5, 6, 7, 8, 9, 5], [0, 0, 0, 0, 0, 0]])
CAUSAL = np.tri(5, dtype=bool)
SELF_MASK = CAUSAL & (TARGET_IDS != 0)[:, None, None, :]
MEMORY_MASK = (SOURCE_IDS != 0)[:, None, None, :]
MASKS = SELF_MASK, MEMORY_MASK
REAL = TARGET_IDS != 0

UNIT = {"norm.weight": np.ones(3), "norm.bias": np.zeros(3)}


def maps(w_q, w_k, w_v, w_o):
    return {f"w_{name}.weight": w.T for name, w in zip("qkvo", (w_q, w_k, w_v, w_o), strict=True)}


FEED = {"w_1.weight": W_1.T, "w_1.bias": B_1, "w_2.weight": W_2.T, "w_2.bias": B_2}
BOTH_HEADS = maps(np.hstack([W_Q, W_Q2]), np.hstack([W_K, W_K2]), np.hstack([W_V, W_V2]), W_O)
READ = join(self_attention=BOTH_HEADS, addnorm_1=UNIT, feed_forward=FEED, addnorm_2=UNIT)
M = encoder_layer(X[None], READ, 2)[0]
EXAMPLE = join(
    self_attention=maps(W_Q, W_K, W_V, W_O[:3]),
    addnorm_1=UNIT,
    cross_attention=maps(C_Q, C_K, C_V, C_O),
    addnorm_2=UNIT,
    feed_forward=FEED,
    addnorm_3=UNIT,
)


def stack(**changes):
    """A decoder with random numbers in all its parameters, and these as arrays."""
    return filled(Decoder(CONFIG.replace(**changes)))


def inputs(seed=0):
    return normal(*X_SHAPE, seed=seed), normal(*MEMORY_SHAPE, seed=seed)


def by_hand(x, memory, params, self_mask=None, memory_mask=None, n_layers=2):
    return decoder(x, memory, params, n_layers, 2, self_mask, memory_mask)[0]


def by_torch(x, memory, params, self_mask=None, memory_mask=None, n_layers=2):
    model = Decoder(CONFIG.replace(n_layers=n_layers)).double()
    model.load_state_dict({name: torch.tensor(value) for name, value in params.items()})
    masks = (None if mask is None else torch.tensor(mask) for mask in (self_mask, memory_mask))
    return model(torch.tensor(x), torch.tensor(memory), *masks).detach().numpy()


both_tracks = pytest.mark.parametrize("run", [by_hand, by_torch], ids=["byhand", "model"])
depths = pytest.mark.parametrize("n_layers", [1, 2, 3])


# By hand: "ich liebe KI"


def plainly(y, memory):
    """One layer of the example, written out row by row."""

    def row_norm(row):
        return (row - row.mean()) / np.sqrt(row.var() + 1e-5)

    def mix(query, keys, values):
        exps = np.exp([query @ key / np.sqrt(3) for key in keys])
        return sum(e * value for e, value in zip(exps, values, strict=True)) / exps.sum()

    rows = []
    for t in range(len(y)):  # only what has been written so far
        past = y[: t + 1]
        z = row_norm(y[t] + mix(y[t] @ W_Q, past @ W_K, past @ W_V) @ W_O[:3])
        z = row_norm(z + mix(z @ C_Q, memory @ C_K, memory @ C_V) @ C_O)
        rows.append(row_norm(z + np.maximum(0, z @ W_1 + B_1) @ W_2 + B_2))
    return np.array(rows)


def test_the_layer_of_the_example_is_the_one_that_is_calculated_row_by_row():
    out, saved = decoder_layer(Y[None], M, EXAMPLE, 1, np.tri(4, dtype=bool))
    assert_near(out[0], plainly(Y, M[0]), 1e-13)
    cross = saved["cross_attention"]["weights"][0, 0]
    rows = [[0.724, 0.2661, 0.01], [0.1459, 0.8388, 0.0153], [0.1866, 0.0187, 0.7947], [0.0221, 0.6014, 0.3765]]
    assert cross.round(4).tolist() == rows
    assert cross[:3].argmax(axis=1).tolist() == [0, 1, 2]  # each looks at the word that is to be translated next
    assert len(TARGET) == len(Y)


def test_the_layer_of_the_example_in_pytorch_is_the_same():
    config = Config(vocab_size=4, d_model=3, d_ff=4, n_heads=1, n_layers=1, dropout=0.0)
    layer = DecoderLayer(config).double()
    layer.load_state_dict({name: torch.tensor(value) for name, value in EXAMPLE.items()})
    out = layer(torch.tensor(Y[None]), torch.tensor(M), torch.tensor(np.tri(4, dtype=bool)))
    assert_near(out[0], plainly(Y, M[0]), 1e-13)


@pytest.mark.parametrize("box", ["self_attention.w_o", "cross_attention.w_o", "feed_forward.w_2"])
def test_a_silent_step_hands_its_own_input_on(box):
    silent = {k: 0 * v if k.startswith(box) or k.endswith("w_2.bias") else v for k, v in EXAMPLE.items()}
    _, saved = decoder_layer(Y[None], M, silent, 1, np.tri(4, dtype=bool))
    name, step = {"self": ("addnorm_1", "self_attention"), "cros": ("addnorm_2", "cross_attention")}.get(
        box[:4], ("addnorm_3", "feed_forward")
    )
    assert np.array_equal(saved[name]["added"], saved[step]["x" if step == "feed_forward" else "query"])


# Who may look at whom


@both_tracks
@depths
def test_future_tokens_change_nothing_before_them(run, n_layers):
    (x, memory), params = inputs(), stack(n_layers=n_layers)[1]
    out = run(x, memory, params, CAUSAL, None, n_layers)
    for t in range(5):
        changed = x.copy()
        changed[:, t] += normal(4)
        moved = np.abs(run(changed, memory, params, CAUSAL, None, n_layers) - out).max(axis=2) > 1e-12
        assert moved.tolist() == [[i >= t for i in range(5)]] * 3


@both_tracks
def test_all_positions_at_once_equal_one_word_at_a_time(run):
    (x, memory), params = inputs(), stack()[1]
    out = run(x, memory, params, CAUSAL, MEMORY_MASK)
    for t in range(1, 6):
        prefix = run(x[:, :t], memory, params, CAUSAL[:t, :t], MEMORY_MASK)
        assert_near(prefix, out[:, :t], 1e-13)
    free = run(x, memory, params, None, MEMORY_MASK)
    assert not np.allclose(run(x[:, :1], memory, params, None, MEMORY_MASK), free[:, :1], atol=0.01)


@both_tracks
def test_the_gradient_of_a_row_never_points_to_later_words(run):
    (x, memory), params = inputs(), stack()[1]
    for t in range(5):
        d_y = np.zeros(X_SHAPE)
        d_y[:, t] = normal(4)
        if run is by_hand:
            d_x, d_memory, _ = decoder_backward(d_y, decoder(x, memory, params, 2, 2, CAUSAL)[1])
        else:
            ins = tensors(x, memory)
            stack()[0](*ins, torch.tensor(CAUSAL)).backward(torch.tensor(d_y))
            d_x, d_memory = (tensor.grad.numpy() for tensor in ins)
        assert np.all(d_x[:, t + 1 :] == 0)
        assert np.all(d_x[:, : t + 1] != 0)
        assert np.all(d_memory != 0)


@both_tracks
def test_the_target_asks_and_the_memory_answers(run):
    (x, memory), params = inputs(), stack()[1]
    out = run(x, memory, params, CAUSAL)
    assert out.shape == X_SHAPE
    order = [4, 2, 0, 5, 1, 3]
    assert_near(run(x, memory[:, order], params, CAUSAL), out, 1e-13)
    square = memory[:, :5]  # equal lengths, so that no shape can help
    shuffled = run(x, square[:, [4, 2, 0, 1, 3]], params, CAUSAL)
    assert_near(shuffled, run(x, square, params, CAUSAL), 1e-13)
    for s in range(5):  # and every row hears every word of it
        changed = square.copy()
        changed[:, s] += normal(4)
        assert np.all(np.abs(run(x, changed, params, CAUSAL) - run(x, square, params, CAUSAL)).max(axis=2) > 1e-6)


@both_tracks
@depths
def test_padding_in_the_memory_means_nothing_in_any_layer(run, n_layers):
    (x, memory), params = inputs(), stack(n_layers=n_layers)[1]
    out = run(x, memory, params, *MASKS, n_layers)
    other = np.where((SOURCE_IDS != 0)[..., None], memory, 1000 * normal(*MEMORY_SHAPE, seed=1))
    assert_near(run(x, other, params, *MASKS, n_layers), out, 1e-13)
    assert_near(run(x[:1], memory[:1, :4], params, CAUSAL, None, n_layers), out[:1], 1e-13)
    assert not np.allclose(run(x, other, params, SELF_MASK, None, n_layers)[0], out[0], atol=0.01)


@both_tracks
@depths
def test_padding_in_the_target_means_nothing_in_any_layer(run, n_layers):
    (x, memory), params = inputs(), stack(n_layers=n_layers)[1]
    front = TARGET_IDS[:, ::-1] != 0  # padding in front, where the causal mask does not hide it
    mask = CAUSAL & front[:, None, None, :]
    other = np.where(front[..., None], x, 1000 * normal(*X_SHAPE, seed=1))
    out = run(x, memory, params, mask, MEMORY_MASK, n_layers)
    assert_near(run(other, memory, params, mask, MEMORY_MASK, n_layers)[front], out[front], 1e-13)
    assert_near(run(x[1:2, 2:], memory[1:2], params, CAUSAL[:3, :3], None, n_layers)[0], out[1, 2:], 1e-13)


@both_tracks
def test_a_sentence_in_a_padded_batch_gives_what_it_gives_alone(run):
    (x, memory), params = inputs(), stack()[1]
    together = run(x, memory, params, *MASKS)
    for i, (t, s) in enumerate([(5, 4), (3, 6)]):
        alone = run(x[i : i + 1, :t], memory[i : i + 1, :s], params, CAUSAL[:t, :t])
        assert_near(together[i, :t], alone[0], 1e-13)


@both_tracks
def test_one_token_and_nothing_but_padding_are_never_nan(run):
    (x, memory), params = inputs(), stack()[1]
    assert np.isfinite(run(x, memory, params, *MASKS)).all()
    assert np.isfinite(run(x[:, :1], memory[:, :1], params, CAUSAL[:1, :1])).all()
    nothing = np.zeros((1, 1, 1, 1), dtype=bool)
    assert np.isfinite(run(x[:, :1], memory[:, :1], params, nothing, nothing)).all()


# Order


@depths
def test_without_positions_a_stack_of_causal_layers_knows_the_order_and_one_layer_does_not(n_layers):
    (x, memory), params = inputs(), stack(n_layers=n_layers)[1]
    orders = [[*order, 4] for order in itertools.permutations(range(4))]
    shuffled, same = x[0][orders], np.repeat(memory[:1], 24, axis=0)  # a batch of all orders
    last = by_hand(shuffled, same, params, CAUSAL, None, n_layers)[:, -1]
    assert np.allclose(last, last[0], rtol=0, atol=1e-12) == (n_layers == 1)
    if n_layers > 1:
        assert np.abs(last - last[0]).max() > 0.05
    free = by_hand(shuffled, same, params, None, None, n_layers)[:, -1]
    assert np.allclose(free, free[0], rtol=0, atol=1e-12)


# The stack and its memory


def test_every_layer_looks_at_the_same_memory():
    (x, memory), params = inputs(), stack(n_layers=3)[1]
    out, saved = decoder(x, memory, params, 3, 2, *MASKS)
    for i in range(3):
        assert saved[i]["cross_attention"]["key"] is saved[i]["cross_attention"]["value"]
        assert np.array_equal(saved[i]["cross_attention"]["key"], memory)
        x = decoder_layer(x, memory, part(params, f"layers.{i}"), 2, *MASKS)[0]
    assert_near(out, x, 1e-14)
    model, _ = filled(Decoder(CONFIG.replace(n_layers=3)))
    seen = []
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda _, given: seen.append(given[1]))
    given = torch.tensor(memory)
    model(torch.tensor(inputs()[0]), given)
    assert len(seen) == 3
    assert all(m is given for m in seen)


def test_the_last_output_of_an_encoder_is_the_memory_of_all_layers():
    params = stack()[1]
    feed = {name: value for name, value in params.items() if "cross" not in name and "addnorm_3" not in name}
    memory, steps = encoder(normal(*MEMORY_SHAPE), feed, 2, 2)
    ladder = inputs()[0]
    for i, rung in enumerate([steps[1]["self_attention"]["query"], memory]):  # what encoder layer i returned
        ladder = decoder_layer(ladder, rung, part(params, f"layers.{i}"), 2, CAUSAL)[0]
    assert not np.allclose(ladder, by_hand(inputs()[0], memory, params, CAUSAL), atol=0.01)


def test_the_gradient_of_the_memory_is_a_sum_over_the_layers():
    (x, memory), params, d_y = inputs(), stack(n_layers=3)[1], normal(*X_SHAPE, seed=1)
    saved = decoder(x, memory, params, 3, 2, *MASKS)[1]
    d_x, d_memory, _ = decoder_backward(d_y, saved)
    shares = []
    for save in reversed(saved):
        d_y, share, _ = decoder_layer_backward(d_y, save)
        shares.append(share)
    assert_near(d_memory, sum(shares), 1e-14)
    assert_near(d_x, d_y, 1e-14)
    assert all(np.abs(share).max() > 0.01 for share in shares)


def test_each_layer_has_parameters_of_its_own():
    model = Decoder(CONFIG.replace(n_layers=6))
    one = sum(p.numel() for p in DecoderLayer(CONFIG).parameters())
    assert sum(p.numel() for p in model.parameters()) == 6 * one
    for name, value in model.layers[0].named_parameters():
        if value.dim() == 2:
            assert not torch.equal(value, model.layers[1].get_parameter(name)), f"{name} begins as a copy"
    layer = model.layers[0]
    assert layer.self_attention is not layer.cross_attention
    assert not torch.equal(layer.self_attention.w_q.weight, layer.cross_attention.w_q.weight)


def test_a_layer_of_the_paper_has_as_many_parameters_as_the_chapter_counts():
    with torch.device("meta"):
        assert sum(p.numel() for p in DecoderLayer(BASE).parameters()) == 4_199_936
        assert sum(p.numel() for p in Decoder(BASE).parameters()) == 25_199_616


# Gradients


def test_the_gradient_by_hand_agrees_with_differences():
    params = stack(d_model=3, d_k=1, d_v=1, d_ff=3, attention_bias=True)[1]
    below = part(params, "layers.0")
    x, memory, d_y = normal(2, 3, 3), normal(2, 2, 3), normal(2, 3, 3, seed=1)
    self_mask = np.tri(3, dtype=bool) & np.array([[[[True, True, True]]], [[[True, True, False]]]])
    settings = 2, self_mask, np.array([[[[True, False]]], [[[True, True]]]]), 0.01
    d_x, d_memory, _ = decoder_backward(d_y, decoder(x, memory, params, 2, *settings)[1])
    d_params = decoder_layer_backward(d_y, decoder_layer(x, memory, below, *settings)[1])[2]
    assert_gradients(
        lambda x, memory: (d_y * decoder(x, memory, params, 2, *settings)[0]).sum(), [x, memory], [d_x, d_memory]
    )
    for name, value in below.items():
        numeric = numerical_gradient(
            lambda w, name=name: (d_y * decoder_layer(x, memory, below | {name: w}, *settings)[0]).sum(), value
        )
        if name.endswith("w_k.bias"):  # moving all keys alike moves no weight
            assert np.abs(numeric).max() < 1e-9
            assert np.abs(d_params[name]).max() < 1e-12
        else:
            assert_near(d_params[name], numeric, 1e-6)


@pytest.mark.parametrize("masks", [(None, None), (SELF_MASK, None), (None, MEMORY_MASK), MASKS], ids=range(4))
def test_the_gradient_by_hand_is_the_one_that_pytorch_finds(masks):
    (model, params), d_y, ins = stack(), normal(*X_SHAPE, seed=1), tensors(*inputs())
    out, saved = decoder(*inputs(), params, 2, 2, *masks)
    d_x, d_memory, d_params = decoder_backward(d_y, saved)
    result = model(*ins, *(None if mask is None else torch.tensor(mask) for mask in masks))
    result.backward(torch.tensor(d_y))
    assert_near(result, out, 1e-13)
    assert_near(ins[0].grad, d_x, 1e-10)
    assert_near(ins[1].grad, d_memory, 1e-10)
    for name, parameter in model.named_parameters():
        assert_near(parameter.grad, d_params[name], 1e-10)


def test_padding_that_nobody_looks_at_has_no_gradient():
    params, d_y = stack()[1], normal(*X_SHAPE, seed=1) * REAL[..., None]
    d_x, d_memory, _ = decoder_backward(d_y, decoder(*inputs(), params, 2, 2, *MASKS)[1])
    assert np.all(d_x[~REAL] == 0)
    assert np.all(d_x[REAL] != 0)
    assert np.all(d_memory[SOURCE_IDS == 0] == 0)
    assert np.all(d_memory[SOURCE_IDS != 0] != 0)


# Settings


def test_the_last_norm_is_there_only_where_it_is_wanted():
    assert not [name for name, _ in Decoder(CONFIG).named_parameters() if name.startswith("norm.")]
    assert Decoder(CONFIG.replace(norm_first=True)).norm.weight.shape == (4,)


def test_eps_reaches_every_norm_in_both_tracks():
    (x, memory), params = inputs(), stack()[1]
    norms = [m for m in Decoder(CONFIG.replace(norm_eps=0.5, final_norm=True)).modules() if hasattr(m, "eps")]
    assert len(norms) == 7
    assert all(m.eps == 0.5 for m in norms)
    _, saved = decoder(x, memory, params, 2, 2, None, None, 0.5)
    assert all(save[f"addnorm_{i}"]["eps"] == 0.5 for save in saved for i in (1, 2, 3))


def test_settings_reach_every_part():
    config = CONFIG.replace(dropout=0.25, d_k=3, d_v=5, attention_bias=True, fused=False, norm_first=True)
    for layer in Decoder(config).layers:
        for attention in (layer.self_attention, layer.cross_attention):
            assert attention.w_k.weight.shape == (6, 4)
            assert attention.w_v.weight.shape == (10, 4)
            assert attention.w_q.bias is not None
            assert not attention.fused
        frames = [layer.addnorm_1, layer.addnorm_2, layer.addnorm_3]
        assert all(f.dropout.p == 0.25 and f.norm_first and not f.norm.fused for f in frames)
    assert isinstance(Decoder(CONFIG.replace(activation="gelu")).layers[1].feed_forward.activation, torch.nn.GELU)


def test_dropout_acts_in_training_only():
    model, _ = stack(dropout=0.5)
    ins = [torch.tensor(x) for x in inputs()]
    torch.manual_seed(0)
    assert not torch.allclose(model(*ins), model(*ins), atol=0.01)
    model.eval()
    assert torch.allclose(model(*ins), model(*ins), rtol=0, atol=1e-13)


# Refusals


@pytest.mark.parametrize("batches", [(2, 1), (1, 2)])
def test_one_memory_for_several_sentences_is_refused(batches):
    x, memory = torch.zeros(batches[0], 5, 4), torch.zeros(batches[1], 6, 4)
    words = f"x and memory must be equally many sentences: {batches[0]} and {batches[1]}"
    with unchecked(), pytest.raises(ValueError, match=words):
        Decoder(CONFIG)(x, memory)


ZEROS = torch.zeros(2, 5, 4)
REFUSED = {
    "another width": (torch.zeros(2, 5, 3), ValueError, r"the width of {name} \(3\) must be d_model \(4\)"),
    "one axis": (torch.zeros(4), ValueError, r"{name} of shape \(4,\) must have three axes \(batch, length, width\)"),
    "one sentence": (torch.zeros(5, 4), ValueError, r"{name} of shape \(5, 4\) must have three axes"),
    "whole numbers": (ZEROS.long(), TypeError, "{name} must be of a floating-point type, not torch.int64"),
    "an array": (np.zeros((2, 5, 4)), TypeError, "{name} must be a torch.Tensor, not ndarray"),
}


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("kind", [Decoder, DecoderLayer])
@pytest.mark.parametrize("name", ["x", "memory"])
@pytest.mark.parametrize("case", REFUSED)
def test_a_target_or_memory_that_does_not_fit_is_refused_by_name_and_value(kind, case, name, norm_first):
    wrong, error, words = REFUSED[case]
    with unchecked(), pytest.raises(error, match=words.format(name=name)):
        kind(CONFIG.replace(norm_first=norm_first))(**{"x": ZEROS, "memory": ZEROS} | {name: wrong})


def test_by_hand_too_one_memory_for_several_sentences_is_refused():
    x, memory = inputs()
    with unchecked(), pytest.raises(ValueError, match="x and memory must be equally many sentences: 3 and 1"):
        decoder(x, memory[:1], stack()[1], 2, 2)
