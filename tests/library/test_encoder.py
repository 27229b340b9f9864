"""The encoder: the worked layer, its laws, its gradient, and three implementations that agree."""

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, filled, normal, tensors, unchecked

from tested_transformer.book.example import (
    B_1,
    B_2,
    LAYER,
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
    encoder_start,
)
from tested_transformer.byhand.encoder import (
    encoder,
    encoder_backward,
    encoder_layer,
    encoder_layer_backward,
    join,
    part,
)
from tested_transformer.byhand.gradient import numerical_gradient
from tested_transformer.config import BASE, Config
from tested_transformer.model.encoder import Encoder, EncoderLayer

CONFIG = Config(vocab_size=4, d_model=4, d_ff=6, n_heads=2, n_layers=2, dropout=0.0)
SHAPE = (3, 5, 4)  # three sentences, five tokens
IDS = np.array([[5, 6, 7, 8, 9], [5, 6, 7, 0, 0], [0, 0, 0, 0, 0]])  # full, short, nothing at all
MASK = (IDS != 0)[:, None, None, :]
REAL = IDS != 0

UNIT = {"norm.weight": np.ones(3), "norm.bias": np.zeros(3)}
EXAMPLE = join(
    self_attention={
        "w_q.weight": np.hstack([W_Q, W_Q2]).T,
        "w_k.weight": np.hstack([W_K, W_K2]).T,
        "w_v.weight": np.hstack([W_V, W_V2]).T,
        "w_o.weight": W_O.T,
    },
    addnorm_1=UNIT,
    feed_forward={"w_1.weight": W_1.T, "w_1.bias": B_1, "w_2.weight": W_2.T, "w_2.bias": B_2},
    addnorm_2=UNIT,
)


def test_the_layer_of_the_example_has_the_numbers_that_stand_above_it():
    assert LAYER.keys() == EXAMPLE.keys()
    assert all(np.array_equal(LAYER[name], array) for name, array in EXAMPLE.items())


def test_an_encoder_starts_with_numbers_within_half_of_glorots_limits_and_norms_that_do_nothing():
    drawn = encoder_start(np.random.default_rng(0), 2, 6, 10)
    assert encoder(normal(3, 5, 6), drawn, 2, 3)[0].shape == (3, 5, 6)
    assert {name.split(".")[1] for name in drawn} == {"0", "1"}
    for name, array in drawn.items():
        if array.ndim == 2:
            assert 0.4 < abs(array).max() / np.sqrt(6 / sum(array.shape)) <= 0.5
            assert np.allclose(2 * array, encoder_start(np.random.default_rng(0), 2, 6, 10, gain=1)[name])
        else:
            assert np.all(array == name.endswith("norm.weight"))


def stack(**changes):
    """An encoder with random numbers in all its parameters, and these as arrays."""
    return filled(Encoder(CONFIG.replace(**changes)))


def by_hand(x, params, mask=None, n_layers=2):
    return encoder(x, params, n_layers, 2, mask)[0]


def by_torch(x, params, mask=None, n_layers=2):
    model = Encoder(CONFIG.replace(n_layers=n_layers)).double()
    model.load_state_dict({name: torch.tensor(value) for name, value in params.items()})
    return model(torch.tensor(x), None if mask is None else torch.tensor(mask)).detach().numpy()


both_tracks = pytest.mark.parametrize("run", [by_hand, by_torch], ids=["byhand", "model"])


# Names of parameters


def test_a_part_has_its_entries_without_its_name_and_no_others():
    params = {"layers.1.w": 1, "layers.10.w": 2, "layers.1.a.b": 3, "xlayers.1.w": 4}
    assert part(params, "layers.1") == {"w": 1, "a.b": 3}
    assert part(params, "layers") == {"1.w": 1, "10.w": 2, "1.a.b": 3}


def test_join_and_part_undo_each_other():
    assert join(a={"x": 1, "y.z": 2}, b={"x": 3}) == {"a.x": 1, "a.y.z": 2, "b.x": 3}
    assert part(join(a={"x": 1}, b={"x": 3}), "b") == {"x": 3}


def test_a_part_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match=r"no parameter begins with 'layers\.2\.': \['layers\.1\.w'\]"):
        part({"layers.1.w": 1}, "layers.2")
    with pytest.raises(ValueError, match=r"no parameter begins with 'layers\.2\.'"):
        encoder(normal(*SHAPE), stack()[1], 3, 2)


# By hand: "I love AI"


def plainly(x):
    """One layer of the example, written out number by number."""

    def row_norm(row):
        mean = sum(row) / 3
        spread = (sum((c - mean) ** 2 for c in row) / 3 + 1e-5) ** 0.5
        return [(c - mean) / spread for c in row]

    joined = [[], [], []]
    for w_q, w_k, w_v in ((W_Q, W_K, W_V), (W_Q2, W_K2, W_V2)):
        q, k, v = x @ w_q, x @ w_k, x @ w_v
        for i in range(3):
            exps = [np.exp(sum(q[i] * k[j]) / 3**0.5) for j in range(3)]
            joined[i] += [sum(exps[j] * v[j, c] for j in range(3)) / sum(exps) for c in range(3)]
    z = np.array([row_norm(x[i] + np.array(joined[i]) @ W_O) for i in range(3)])
    hidden = [[max(0, sum(z[i] * W_1[:, f]) + B_1[f]) for f in range(4)] for i in range(3)]
    return np.array([row_norm(z[i] + np.array(hidden[i]) @ W_2 + B_2) for i in range(3)])


def test_the_layer_of_the_example_is_the_one_that_is_calculated_number_by_number():
    out, saved = encoder_layer(X[None], EXAMPLE, 2)
    assert_near(out[0], plainly(X), 1e-13)
    assert saved["self_attention"]["weights"][0].round(4).tolist() == [
        [[0.7070, 0.0702, 0.2228], [0.2645, 0.2645, 0.4711], [0.4319, 0.1361, 0.4319]],
        [[0.1307, 0.7386, 0.1307], [0.7386, 0.1307, 0.1307], [0.1307, 0.7386, 0.1307]],
    ]
    rows = [[-0.6985, 1.4140, -0.7156], [-1.3671, 0.9972, 0.3699], [0.8806, 0.5181, -1.3986]]
    assert out[0].round(4).tolist() == rows


def test_the_layer_of_the_example_in_pytorch_is_the_same():
    sizes = {"d_model": 3, "d_ff": 4, "n_heads": 2, "n_layers": 1, "d_k": 3, "d_v": 3}
    layer = EncoderLayer(Config(vocab_size=4, dropout=0.0, **sizes)).double()
    layer.load_state_dict({name: torch.tensor(value) for name, value in EXAMPLE.items()})
    assert_near(layer(torch.tensor(X[None]))[0], plainly(X), 1e-13)


def test_a_layer_whose_two_steps_are_silent_is_two_norms():
    silent = EXAMPLE | {"self_attention.w_o.weight": 0 * W_O.T}
    silent |= {"feed_forward.w_2.weight": 0 * W_2.T, "feed_forward.w_2.bias": np.zeros(3)}
    centred = X - X.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt(centred.var(axis=1, keepdims=True))
    assert np.allclose(encoder_layer(X[None], silent, 2, eps=1e-12)[0][0], normed)


# Laws


@both_tracks
def test_reordering_what_goes_in_reorders_what_comes_out(run):
    x, params, order = normal(*SHAPE), stack()[1], [3, 0, 4, 1, 2]
    assert_near(run(x[:, order], params), run(x, params)[:, order], 1e-13)
    assert_near(run(x[:, order], params, MASK[..., order]), run(x, params, MASK)[:, order], 1e-13)


@both_tracks
def test_a_sentence_in_a_padded_batch_gives_what_it_gives_alone(run):
    x, params = normal(*SHAPE), stack()[1]
    together = run(x, params, MASK)
    for i, length in enumerate([5, 3]):
        alone = run(x[i : i + 1, :length], params)
        assert_near(together[i, :length], alone[0], 1e-13)


@both_tracks
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_what_stands_in_the_padding_means_nothing_in_any_layer(run, n_layers):
    x, params = normal(*SHAPE), stack(n_layers=n_layers)[1]
    other = np.where(REAL[..., None], x, 1000 * normal(*SHAPE, seed=1))
    assert_near(run(other, params, MASK, n_layers)[REAL], run(x, params, MASK, n_layers)[REAL], 1e-13)
    assert not np.allclose(run(other, params, None, n_layers)[1, :3], run(x, params, None, n_layers)[1, :3])


@both_tracks
def test_a_mask_for_each_query_is_kept_by_every_layer(run):
    x, params = normal(*SHAPE), stack()[1]
    back = np.tri(5, dtype=bool)
    changed = x.copy()
    changed[:, 3] += normal(4)
    moved = np.abs(run(changed, params, back) - run(x, params, back)).max(axis=2) > 1e-12
    assert moved.tolist() == [[False, False, False, True, True]] * 3


@both_tracks
def test_one_token_and_nothing_but_padding_are_never_nan(run):
    params = stack()[1]
    assert np.isfinite(run(normal(1, 1, 4), params)).all()
    assert np.isfinite(run(normal(1, 1, 4), params, np.zeros((1, 1, 1, 1), dtype=bool))).all()
    assert np.isfinite(run(normal(*SHAPE), params, MASK)).all()


def test_a_stack_is_its_layers_one_after_the_other():
    x, params = normal(*SHAPE), stack(n_layers=3)[1]
    out, saved = encoder(x, params, 3, 2, MASK)
    for i in range(3):
        assert_near(saved[i]["self_attention"]["query"], x, 1e-14)
        x = encoder_layer(x, part(params, f"layers.{i}"), 2, MASK)[0]
    assert_near(out, x, 1e-14)


# Layers of their own


def test_each_layer_has_parameters_of_its_own():
    model = Encoder(CONFIG.replace(n_layers=6))
    one = sum(p.numel() for p in EncoderLayer(CONFIG).parameters())
    assert sum(p.numel() for p in model.parameters()) == 6 * one
    first, second = model.layers[0], model.layers[1]
    for name, value in first.named_parameters():
        other = second.get_parameter(name)
        assert other.data_ptr() != value.data_ptr()
        if value.dim() == 2:
            assert not torch.equal(value, other), f"{name} begins as a copy"


def test_a_layer_of_the_paper_has_as_many_parameters_as_the_chapter_counts():
    with torch.device("meta"):
        assert sum(p.numel() for p in EncoderLayer(BASE).parameters()) == 3_150_336
        assert sum(p.numel() for p in Encoder(BASE).parameters()) == 18_902_016


def test_gradients_of_equal_layers_differ():
    once = filled(EncoderLayer(CONFIG))[1]
    params = join(**{f"layers.{i}": once for i in range(2)})
    d_params = encoder_backward(normal(*SHAPE, seed=1), encoder(normal(*SHAPE), params, 2, 2)[1])[1]
    for name in once:
        assert not np.allclose(d_params[f"layers.0.{name}"], d_params[f"layers.1.{name}"]), name


# Gradients


def test_the_gradient_by_hand_agrees_with_differences():
    params = stack(d_model=3, d_k=1, d_v=1, d_ff=3, attention_bias=True)[1]
    below = part(params, "layers.0")
    x, d_y = normal(2, 3, 3), normal(2, 3, 3, seed=1)
    settings = 2, np.array([[[[True, True, True]]], [[[True, True, False]]]]), 0.01
    d_x, _ = encoder_backward(d_y, encoder(x, params, 2, *settings)[1])
    _, d_params = encoder_layer_backward(d_y, encoder_layer(x, below, *settings)[1])
    assert_gradients(lambda x: (d_y * encoder(x, params, 2, *settings)[0]).sum(), [x], [d_x])
    for name, value in below.items():
        numeric = numerical_gradient(
            lambda w, name=name: (d_y * encoder_layer(x, below | {name: w}, *settings)[0]).sum(), value
        )
        if name.endswith("w_k.bias"):  # moving all keys alike moves no weight
            assert np.abs(numeric).max() < 1e-9
            assert np.abs(d_params[name]).max() < 1e-12
        else:
            assert_near(d_params[name], numeric, 1e-6)


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
def test_the_gradient_by_hand_is_the_one_that_pytorch_finds(masked):
    model, params = stack()
    mask, d_y, (x,) = MASK if masked else None, normal(*SHAPE, seed=1), tensors(normal(*SHAPE))
    out, saved = encoder(x.detach().numpy(), params, 2, 2, mask)
    d_x, d_params = encoder_backward(d_y, saved)
    result = model(x, torch.tensor(mask) if masked else None)
    result.backward(torch.tensor(d_y))
    assert_near(result, out, 1e-13)
    assert_near(x.grad, d_x, 1e-10)
    for name, parameter in model.named_parameters():
        assert_near(parameter.grad, d_params[name], 1e-10)


def test_the_layer_hands_its_gradient_down_as_the_stack_does():
    x, params, d_y = normal(*SHAPE), stack()[1], normal(*SHAPE, seed=1)
    saved = encoder(x, params, 2, 2, MASK)[1]
    d_x, d_params = encoder_backward(d_y, saved)
    d_top, d_top_params = encoder_layer_backward(d_y, saved[1])
    d_bottom, d_bottom_params = encoder_layer_backward(d_top, saved[0])
    assert_near(d_bottom, d_x, 1e-14)
    both = join(**{"layers.0": d_bottom_params, "layers.1": d_top_params})
    assert all(np.allclose(both[name], d_params[name], rtol=0, atol=1e-13) for name in params)


def test_padding_that_nobody_looks_at_has_no_gradient():
    x, params = normal(*SHAPE), stack()[1]
    d_y = normal(*SHAPE, seed=1) * REAL[..., None]
    d_x = encoder_backward(d_y, encoder(x, params, 2, 2, MASK)[1])[0]
    assert np.all(d_x[~REAL] == 0)
    assert np.all(d_x[REAL] != 0)


# Settings


def test_the_last_norm_is_there_only_where_it_is_wanted():
    assert not [name for name, _ in Encoder(CONFIG).named_parameters() if name.startswith("norm.")]
    assert Encoder(CONFIG.replace(norm_first=True)).norm.weight.shape == (4,)
    model, params = stack(final_norm=True)
    x = torch.tensor(normal(*SHAPE))
    before = by_torch(normal(*SHAPE), {k: v for k, v in params.items() if not k.startswith("norm.")})
    scale, shift = torch.tensor(params["norm.weight"]), torch.tensor(params["norm.bias"])
    assert_near(model(x), torch.nn.functional.layer_norm(torch.tensor(before), (4,), scale, shift), 1e-12)


def test_without_a_norm_first_stack_keeps_its_sums():
    model, _ = filled(EncoderLayer(CONFIG.replace(norm_first=True)))
    for name, parameter in model.named_parameters():
        if "w_o" in name or "w_2" in name:
            parameter.data.zero_()
    x = torch.tensor(normal(*SHAPE))
    assert torch.equal(model(x), x)


def test_eps_reaches_every_norm_in_both_tracks():
    x, params = normal(*SHAPE), stack()[1]
    model = Encoder(CONFIG.replace(norm_eps=0.5, final_norm=True))
    norms = [m for m in model.modules() if hasattr(m, "eps")]
    assert len(norms) == 5
    assert all(m.eps == 0.5 for m in norms)
    out, saved = encoder(x, params, 2, 2, None, 0.5)
    assert all(save[f"addnorm_{i}"]["eps"] == 0.5 for save in saved for i in (1, 2))
    ours = Encoder(CONFIG.replace(norm_eps=0.5)).double()
    ours.load_state_dict({name: torch.tensor(value) for name, value in params.items()})
    assert_near(ours(torch.tensor(x)), out, 1e-13)
    assert not np.allclose(out, encoder(x, params, 2, 2)[0], atol=0.01)


def test_settings_reach_every_part():
    config = CONFIG.replace(dropout=0.25, d_k=3, d_v=5, attention_bias=True, fused=False, norm_first=True)
    for layer in Encoder(config).layers:
        attention, frames = layer.self_attention, [layer.addnorm_1, layer.addnorm_2]
        assert attention.n_heads == 2
        assert attention.w_q.weight.shape == attention.w_k.weight.shape == (6, 4)
        assert attention.w_v.weight.shape == (10, 4)
        assert attention.w_q.bias is not None
        assert attention.dropout == 0  # the paper drops sub-layer outputs, not weights
        assert not attention.fused
        assert all(f.dropout.p == 0.25 and f.norm_first and not f.norm.fused for f in frames)
    assert not Encoder(config).norm.fused


REFUSED = {
    "another width": (torch.zeros(2, 5, 3), ValueError, r"the width of (x|query) \(3\) must be d_model \(4\)"),
    "one axis": (torch.zeros(4), ValueError, r"query of shape \(4,\) must have three axes \(batch, length, width\)"),
    "one sentence": (torch.zeros(5, 4), ValueError, r"query of shape \(5, 4\) must have three axes"),
    "whole numbers": (
        torch.zeros(2, 5, 4, dtype=torch.int64),
        TypeError,
        "(x|query) must be of a floating-point type, not torch.int64",
    ),
    "an array": (np.zeros((2, 5, 4)), TypeError, r"(x|query) must be a torch.Tensor, not ndarray"),
}


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("kind", [Encoder, EncoderLayer])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_batch_of_sentences_is_refused_by_name_and_value(kind, case, norm_first):
    x, error, words = REFUSED[case]
    with unchecked(), pytest.raises(error, match=words):
        kind(CONFIG.replace(norm_first=norm_first))(x)


def test_dropout_acts_in_training_only():
    model, _ = stack(dropout=0.5)
    x = torch.tensor(normal(*SHAPE))
    torch.manual_seed(0)
    assert not torch.allclose(model(x), model(x), atol=0.01)
    model.eval()
    assert torch.allclose(model(x), model(x), rtol=0, atol=1e-13)
