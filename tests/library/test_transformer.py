"""The whole Transformer: two tracks that agree, gradients, precision, saving, compiling, and what it refuses."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from helpers import assert_near, assert_same_gradients, gradients, normal, randomised, sentences, unchecked
from hypothesis import given, settings
from hypothesis import strategies as st

from tested_transformer.byhand import transformer as byhand
from tested_transformer.byhand.softmax import softmax
from tested_transformer.config import BASE, BIG, TINY, Config
from tested_transformer.model.transformer import Transformer

SMALL = Config(vocab_size=7, d_model=6, d_ff=5, n_heads=2, n_layers=2, dropout=0.0, max_len=8)
seeds = st.integers(0, 1000)


@st.composite
def configs(draw, **settings):
    """Any small model of the paper's kind; heads of any width where they are given."""
    n_heads = draw(st.integers(1, 3))
    given = {name: draw(st.integers(1, 4)) for name in ("d_k", "d_v")} if draw(st.booleans()) else {}
    return Config(
        vocab_size=draw(st.integers(4, 9)),
        d_model=6 if not given else draw(st.integers(4, 7)),
        n_heads=n_heads,
        d_ff=draw(st.integers(2, 6)),
        n_layers=draw(st.integers(1, 2)),
        attention_bias=draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-5, 1e-2])),
        dropout=0.0,
        max_len=6,
        **given | settings,
    )


def params_of(model):
    """The parameters of a model as arrays, under their names: what the track by hand takes."""
    return {name: value.detach().numpy().copy() for name, value in model.named_parameters()}


# Every tensor of a run


def heard(model, *ids):
    """What comes out of each module for the first sentence; of one that runs twice, both."""
    out = {name: [] for name, _ in model.named_modules()}
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda _, args, x, name=name: out[name].append((x[0] if isinstance(x, tuple) else x)[0].detach().numpy())
        )
    model(*ids)
    return out


@given(configs(), seeds, st.booleans())
@settings(max_examples=8)
def test_the_tensors_of_a_run_are_those_that_passed(config, seed, padded):
    model = randomised(Transformer(config), seed)
    source, target = (ids.flip(0) if padded else ids for ids in sentences(config, seed=seed))
    found = dict(byhand.tensors(byhand.transformer(source.numpy(), target.numpy(), params_of(model), config)[1]))
    out = heard(model, source, target)
    for call, (side, ids) in enumerate((("encoder", source), ("decoder", target))):
        assert np.array_equal(found[f"{side}.ids"], ids[0])
        assert_near(found[f"{side}.rows"], params_of(model)["embedding.weight"][ids[0]], 1e-12)
        assert_near(found[f"{side}.scaled"], out["embedding"][call], 1e-10)
        assert_near(found[f"{side}.scaled"] + found[f"{side}.positions"], found[f"{side}.sum"], 1e-10)
        assert_near(found[f"{side}.sum"], out["positions"][call], 1e-10)
    for name, tensor in found.items():
        at, _, what = name.rpartition(".")
        if what == "out":
            assert_near(tensor, out[at][0], 1e-9)
        elif what in "qkv" and "attention" in at:
            whole = out[f"{at}.w_{what}"][0]
            assert_near(tensor.swapaxes(0, 1).reshape(whole.shape), whole, 1e-9)
        elif what == "inner":
            assert_near(tensor, out[f"{at}.w_1"][0], 1e-9)
            assert_near(found[f"{at}.hidden"], np.maximum(tensor, 0), 1e-12)
    assert_near(found["logits"], out[""][0], 1e-9)
    assert_near(found["probabilities"], softmax(found["logits"]), 1e-12)


@given(configs(), seeds, st.booleans())
@settings(max_examples=8)
def test_the_scores_of_a_run_give_its_weights_and_a_hidden_pair_has_none(config, seed, padded):
    source, target = (ids.numpy()[::-1] if padded else ids.numpy() for ids in sentences(config, seed=seed))
    params = params_of(randomised(Transformer(config), seed))
    found = dict(byhand.tensors(byhand.transformer(source, target, params, config)[1]))
    for name in (name for name in found if name.endswith(".scores")):
        at, side = name.removesuffix(".scores"), name.split(".")[0]
        assert_near(softmax(found[name]), found[f"{at}.weights"], 1e-12)
        joined = (found[f"{at}.weights"] @ found[f"{at}.v"]).swapaxes(0, 1)
        assert_near(joined.reshape(len(joined), -1), found[f"{at}.joined"], 1e-12)
        back = side == "decoder" and "self_attention" in at
        keys = target[0] if back else source[0]
        may_look = np.broadcast_to(keys != config.pad_id, found[name].shape)
        if back:
            may_look = may_look & np.tri(len(keys), dtype=bool)
        assert np.array_equal(np.isfinite(found[name]), may_look)


def test_the_tensors_come_in_the_order_in_which_the_data_pass():
    source, target = sentences(SMALL)
    saved = byhand.transformer(source.numpy(), target.numpy(), params_of(randomised(Transformer(SMALL))), SMALL)[1]
    names = [name for name, _ in byhand.tensors(saved)]
    assert len(names) == len(set(names))
    assert names[:6] == [
        f"encoder.{n}" for n in ("ids", "rows", "scaled", "positions", "sum", "layers.0.self_attention.q")
    ]
    boxes = list(dict.fromkeys(name.rpartition(".")[0].removeprefix("decoder.layers.1.") for name in names))
    assert boxes[-7:-1] == ["self_attention", "addnorm_1", "cross_attention", "addnorm_2", "feed_forward", "addnorm_3"]
    assert names[-2:] == ["logits", "probabilities"]


# Two tracks, one model


@given(configs(), seeds)
@settings(max_examples=8)
def test_by_hand_and_in_pytorch_logits_and_all_gradients_agree(config, seed):
    model, (source, target) = randomised(Transformer(config), seed), sentences(config, seed=seed)
    logits, saved = byhand.transformer(source.numpy(), target.numpy(), params_of(model), config)
    torch_logits, torch_gradients = gradients(model, source, target, seed)
    assert_near(torch_logits.detach(), logits, 1e-10)
    by_hand = byhand.transformer_backward(normal(*logits.shape, seed=seed), saved)
    assert_same_gradients(by_hand, torch_gradients, 1e-9)


@given(configs(fused=False), seeds)
@settings(max_examples=3)
def test_the_formulas_and_pytorchs_kernels_agree(config, seed):
    explicit = randomised(Transformer(config), seed)
    fused = Transformer(config.replace(fused=True)).double()
    fused.load_state_dict(explicit.state_dict())
    ids = sentences(config, seed=seed)
    logits, found = gradients(explicit, *ids)
    other_logits, expected = gradients(fused, *ids)
    assert_near(logits.detach(), other_logits.detach(), 1e-10)
    assert_same_gradients(found, expected, 1e-9)


@pytest.mark.parametrize("settings", [{"norm_first": True}, {"final_norm": True}, {"activation": "gelu"}], ids=str)
def test_the_formulas_and_the_kernels_agree_where_the_paper_has_no_say(settings):
    explicit = randomised(Transformer(SMALL.replace(fused=False, **settings)))
    fused = Transformer(SMALL.replace(**settings)).double()
    fused.load_state_dict(explicit.state_dict())
    (logits, found), (other, expected) = (gradients(m, *sentences(SMALL)) for m in (explicit, fused))
    assert_near(logits.detach(), other.detach(), 1e-10)
    assert_same_gradients(found, expected, 1e-9)


def loss(source, target, params, config):
    """One number of the logits, whose gradient is random; without the checks of shapes, as it is called so often."""
    with unchecked():
        logits = byhand.transformer(source, target, params, config)[0]
    return (normal(*logits.shape) * logits).sum()


@pytest.mark.parametrize("bias", [False, True], ids=["no biases", "biases"])
def test_the_gradient_by_hand_agrees_with_differences_along_any_direction(bias):
    config = SMALL.replace(attention_bias=bias)
    params = params_of(randomised(Transformer(config)))
    source, target = (ids.numpy() for ids in sentences(config))
    logits, saved = byhand.transformer(source, target, params, config)
    by_hand = byhand.transformer_backward(normal(*logits.shape), saved)
    assert by_hand.keys() == params.keys()
    largest = max(np.abs(gradient).max() for gradient in by_hand.values())
    for name, value in params.items():
        direction, h = normal(*value.shape, seed=1), 1e-5
        up, down = (loss(source, target, params | {name: value + s * direction}, config) for s in (h, -h))
        slope = (by_hand[name] * direction).sum()
        scale = largest if name.endswith("w_k.bias") else np.abs(by_hand[name] * direction).sum()
        assert abs((up - down) / (2 * h) - slope) <= 1e-6 * scale, name


def test_the_gradient_of_the_one_table_agrees_with_differences_entry_by_entry():
    config = SMALL.replace(n_layers=1)
    params = params_of(randomised(Transformer(config)))
    source, target = (ids.numpy() for ids in sentences(config))
    logits, saved = byhand.transformer(source, target, params, config)
    key = "embedding.weight"
    by_hand = byhand.transformer_backward(normal(*logits.shape), saved)[key]
    for place in np.ndindex(by_hand.shape):
        step = np.zeros_like(by_hand)
        step[place] = 1e-5
        up, down = (loss(source, target, params | {key: params[key] + s}, config) for s in (step, -step))
        assert abs((up - down) / 2e-5 - by_hand[place]) <= 1e-6 * np.abs(by_hand).max()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"norm_first": True}, r"norm_first \(True\) must be False here, as in the paper"),
        ({"final_norm": True}, r"final_norm \(True\) must be False here"),
        ({"activation": "gelu"}, r"activation \('gelu'\) must be 'relu' here"),
    ],
)
def test_by_hand_there_is_the_papers_model_only(settings, words):
    config = SMALL.replace(**settings)
    for refused in (
        lambda: byhand.transformer(np.ones((1, 2), int), np.ones((1, 2), int), {}, config),
        lambda: byhand.shapes(config),
        lambda: byhand.create_params(config, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


# Parameters: names, shapes, starting values, numbers

ONE_LAYER = [
    "embedding.weight",
    "encoder.layers.0.self_attention.w_q.weight",
    "encoder.layers.0.self_attention.w_k.weight",
    "encoder.layers.0.self_attention.w_v.weight",
    "encoder.layers.0.self_attention.w_o.weight",
    "encoder.layers.0.addnorm_1.norm.weight",
    "encoder.layers.0.addnorm_1.norm.bias",
    "encoder.layers.0.feed_forward.w_1.weight",
    "encoder.layers.0.feed_forward.w_1.bias",
    "encoder.layers.0.feed_forward.w_2.weight",
    "encoder.layers.0.feed_forward.w_2.bias",
    "encoder.layers.0.addnorm_2.norm.weight",
    "encoder.layers.0.addnorm_2.norm.bias",
    "decoder.layers.0.self_attention.w_q.weight",
    "decoder.layers.0.self_attention.w_k.weight",
    "decoder.layers.0.self_attention.w_v.weight",
    "decoder.layers.0.self_attention.w_o.weight",
    "decoder.layers.0.addnorm_1.norm.weight",
    "decoder.layers.0.addnorm_1.norm.bias",
    "decoder.layers.0.cross_attention.w_q.weight",
    "decoder.layers.0.cross_attention.w_k.weight",
    "decoder.layers.0.cross_attention.w_v.weight",
    "decoder.layers.0.cross_attention.w_o.weight",
    "decoder.layers.0.addnorm_2.norm.weight",
    "decoder.layers.0.addnorm_2.norm.bias",
    "decoder.layers.0.feed_forward.w_1.weight",
    "decoder.layers.0.feed_forward.w_1.bias",
    "decoder.layers.0.feed_forward.w_2.weight",
    "decoder.layers.0.feed_forward.w_2.bias",
    "decoder.layers.0.addnorm_3.norm.weight",
    "decoder.layers.0.addnorm_3.norm.bias",
]


def test_saved_weights_keep_their_names():
    """Whoever renames a part breaks every saved model: this list changes with a new version only."""
    assert list(Transformer(TINY.replace(n_layers=1)).state_dict()) == ONE_LAYER
    assert list(byhand.shapes(TINY.replace(n_layers=1))) == ONE_LAYER


def test_what_is_optional_adds_its_names_and_nothing_else():
    def added(**settings):
        model = Transformer(TINY.replace(n_layers=1, **settings))
        return [name for name in model.state_dict() if name not in ONE_LAYER]

    assert added(final_norm=True) == [f"{part}.norm.{x}" for part in ("encoder", "decoder") for x in ("weight", "bias")]
    places = ("encoder.layers.0.self", "decoder.layers.0.self", "decoder.layers.0.cross")
    assert added(attention_bias=True) == [f"{p}_attention.w_{x}.bias" for p in places for x in "qkvo"]
    assert added(activation="gelu") == added(fused=False) == []


@given(configs())
@settings(max_examples=8)
def test_both_tracks_have_parameters_of_the_same_names_and_shapes(config):
    state = {name: tuple(value.shape) for name, value in Transformer(config).state_dict().items()}
    assert byhand.shapes(config) == state


def test_both_tracks_begin_with_numbers_of_the_same_spread():
    config = TINY.replace(vocab_size=500, d_model=64, d_ff=200, n_heads=4, n_layers=1, attention_bias=True)
    torch.manual_seed(0)
    state, params = Transformer(config).state_dict(), byhand.create_params(config, np.random.default_rng(0))
    for name, value in params.items():
        other = state[name].double().numpy()
        if value.ndim == 1:
            assert set(value) == set(other) == {float(name.endswith("norm.weight"))}, name
        elif name == "embedding.weight":
            assert np.allclose([value.std(), other.std()], 1 / 8, rtol=0.02)
        else:
            limit = 0.5 * np.sqrt(6 / sum(value.shape))
            for x in (value, other):
                assert 0.99 * limit < np.abs(x).max() <= limit, name
                assert np.isclose(x.std(), limit / np.sqrt(3), rtol=0.03), name


def test_a_start_without_size_is_refused():
    with pytest.raises(ValueError, match=r"gain \(0\.0\) must be positive"):
        byhand.create_params(TINY, np.random.default_rng(0), gain=0.0)


@pytest.mark.parametrize(("config", "number"), [(BASE, 63_045_632), (BIG, 214_171_648)], ids=["base", "big"])
def test_the_models_of_the_paper_are_counted_without_their_memory(config, number):
    with torch.device("meta"):
        model = Transformer(config)
    assert sum(value.numel() for value in model.parameters()) == number
    assert sum(int(np.prod(shape)) for shape in byhand.shapes(config).values()) == number
    assert {value.device.type for value in model.state_dict().values()} == {"meta"}


def test_the_number_of_parameters_by_the_book():
    """Table 3 counts: V·d, 4·h·d_k·d for an attention, 2·d·d_ff + d_ff + d for a network, 2·d for a norm."""
    c = TINY.replace(d_k=5, d_v=7)
    attention = 2 * c.n_heads * (c.d_k + c.d_v) * c.d_model
    network, norm = 2 * c.d_model * c.d_ff + c.d_ff + c.d_model, 2 * c.d_model
    layers = (attention + network + 2 * norm) + (2 * attention + network + 3 * norm)
    counted = sum(value.numel() for value in Transformer(c).parameters())
    assert counted == c.vocab_size * c.d_model + c.n_layers * layers


# Nothing is ever "not a number"


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "explicit"])
@pytest.mark.parametrize(
    ("norm_first", "dtype"), [(False, torch.float64), (True, torch.float32), (False, torch.bfloat16)], ids=str
)
def test_padding_alone_and_single_tokens_are_harmless_forward_and_backward(fused, norm_first, dtype):
    torch.manual_seed(0)
    model = Transformer(TINY.replace(n_layers=1, fused=fused, norm_first=norm_first)).to(dtype)
    source = torch.tensor([[5, 6, 2], [0, 0, 0], [2, 0, 0], [5, 2, 0], [0, 4, 5]])
    target = torch.tensor([[1, 7, 8], [1, 7, 0], [0, 0, 0], [1, 0, 0], [0, 1, 9]])
    for s, t in ((source, target), (source[:, :1], target[:, :1])):
        model.zero_grad()
        with torch.autograd.set_detect_anomaly(True):
            logits = model(s, t)
            logits.float().square().sum().backward()
        assert logits.dtype == dtype
        assert logits.isfinite().all()
        assert all(value.grad.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "explicit"])
def test_half_precision_is_near_the_whole(dtype, fused):
    torch.manual_seed(0)
    model, ids = Transformer(TINY.replace(fused=fused)).double(), sentences(TINY)
    exact = model(*ids)
    rough = model.to(dtype)(*ids)
    assert rough.dtype == dtype
    assert (rough.double() - exact).abs().max() < 0.1 * exact.abs().max()


def test_by_hand_too_padding_alone_is_harmless():
    params = byhand.create_params(TINY, np.random.default_rng(0))
    source, target = np.array([[0, 0], [5, 0]]), np.array([[1, 7], [0, 0]])
    logits, saved = byhand.transformer(source, target, params, TINY)
    found = byhand.transformer_backward(np.ones_like(logits), saved)
    assert np.isfinite(logits).all()
    assert all(np.isfinite(value).all() for value in found.values())


# Precision, copies, files


def test_it_is_made_in_the_default_precision():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        model = Transformer(TINY)
    finally:
        torch.set_default_dtype(before)
    assert {value.dtype for value in [*model.parameters(), *model.buffers()]} == {torch.float64}
    assert model(*sentences(TINY)).dtype == torch.float64
    converted = Transformer(TINY).double()
    assert torch.equal(converted.positions.table, model.positions.table)  # not what float32 had left of it


@pytest.mark.parametrize("int_type", [torch.int64, torch.int32], ids=str)
def test_ids_may_be_of_either_whole_type(int_type):
    model, ids = Transformer(TINY), sentences(TINY)
    assert torch.equal(model(*(x.to(int_type) for x in ids)), model(*ids))


def assert_same_and_tied(copied, model):
    ids = sentences(TINY)
    assert copied.config == model.config
    assert torch.equal(copied.eval()(*ids), model.eval()(*ids))
    before = copied(*ids)
    with torch.no_grad():
        copied.embedding.weight.mul_(2)  # one table: both ends of the copy move, the original does not
    assert torch.allclose(copied.embedding.logits(torch.ones(16)), 2 * model.embedding.logits(torch.ones(16)))
    assert not torch.allclose(copied(*ids), 2 * before)
    assert torch.equal(model(*ids), before)


def test_copies_and_pickles_are_whole_and_tied():
    model = Transformer(TINY.replace(dropout=0.1))
    assert_same_and_tied(copy.deepcopy(model), model)
    assert_same_and_tied(pickle.loads(pickle.dumps(model)), model)


def test_saved_weights_load_safely_and_stay_tied():
    model, file = Transformer(TINY), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert [name for name in state if "embedding" in name or "logits" in name] == ["embedding.weight"]
    other = Transformer(TINY)
    other.load_state_dict(state)
    assert_same_and_tied(other, model)


# Compiling and exporting


def test_it_compiles_in_one_piece():
    torch.manual_seed(0)
    model = Transformer(TINY)
    with unchecked():
        compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
        for lengths in ((3, 5, 4), (2, 7, 6)):
            ids = sentences(TINY, *lengths)
            assert torch.allclose(compiled(*ids), model(*ids), atol=1e-6)


def test_it_exports_with_batch_and_lengths_free():
    torch.manual_seed(0)
    model, dim = Transformer(TINY).eval(), torch.export.Dim
    batch, s, t = dim("batch", max=64), dim("S", max=TINY.max_len), dim("T", max=TINY.max_len)
    with unchecked():
        free = {"source": {0: batch, 1: s}, "target": {0: batch, 1: t}}
        whole = torch.export.export(model, sentences(TINY), dynamic_shapes=free).module()
        for lengths in ((3, 5, 4), (1, 2, 9), (7, 32, 3)):
            ids = sentences(TINY, *lengths)
            assert torch.allclose(whole(*ids), model(*ids), atol=1e-6)


def test_the_encoder_exports_alone():
    torch.manual_seed(0)
    model, dim = Transformer(TINY).eval(), torch.export.Dim
    alone = Encode(model)
    with unchecked():
        free = {"source": {0: dim("batch", max=64), 1: dim("S", max=TINY.max_len)}}
        exported = torch.export.export(alone, sentences(TINY)[:1], dynamic_shapes=free).module()
        source = sentences(TINY, 2, 9)[0]
        assert torch.allclose(exported(source), model.encode(source), atol=1e-6)


class Encode(torch.nn.Module):
    """The method `encode` as a module, which export asks for."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source):
        return self.model.encode(source)


# Refusals: before anything is computed

GOOD = torch.tensor([[5, 6, 2], [7, 2, 0]])
LONG = torch.full((2, 33), 5)
REFUSED = {
    "a list of sources": (GOOD.tolist(), GOOD, TypeError, r"source must be a torch.Tensor, not list"),
    "an array of targets": (GOOD, GOOD.numpy(), TypeError, r"target must be a torch.Tensor, not ndarray"),
    "floats": (GOOD.float(), GOOD, TypeError, r"source must be int64 or int32, not torch.float32"),
    "bytes": (GOOD, GOOD.to(torch.uint8), TypeError, r"target must be int64 or int32, not torch.uint8"),
    "one sentence without its axis": (
        GOOD[0],
        GOOD[0],
        ValueError,
        r"source of shape \(3,\) must be \(batch, length\)",
    ),
    "vectors": (GOOD, GOOD[..., None], ValueError, r"target of shape \(2, 3, 1\) must be \(batch, length\)"),
    "no sentences": (GOOD[:0], GOOD[:0], ValueError, r"source of shape \(0, 3\) must be .* at least one of each"),
    "no tokens": (GOOD, GOOD[:, :0], ValueError, r"target of shape \(2, 0\) must be .* at least one of each"),
    "too long a source": (LONG, GOOD, ValueError, r"the length of source \(33\) must not exceed max_len \(32\)"),
    "too long a target": (GOOD, LONG, ValueError, r"the length of target \(33\) must not exceed max_len \(32\)"),
    "fewer targets": (GOOD, GOOD[:1], ValueError, r"source \(2\) and target \(1\) must be equally many sentences"),
}


@pytest.fixture
def model():
    return Transformer(TINY)


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_before_a_layer_runs(case, model):
    source, target, error, words = REFUSED[case]
    model.encoder.register_forward_pre_hook(lambda *_: pytest.fail("a layer ran"))
    with unchecked(), pytest.raises(error, match=words):
        model(source, target)


def test_by_hand_ids_must_be_arrays():
    params, ids = byhand.create_params(TINY, np.random.default_rng(0)), GOOD.numpy()
    with unchecked():
        with pytest.raises(TypeError, match=r"source must be a numpy.ndarray, not list"):
            byhand.transformer(ids.tolist(), ids, params, TINY)
        with pytest.raises(TypeError, match=r"target must be a numpy.ndarray, not Tensor"):
            byhand.transformer(ids, GOOD, params, TINY)


@pytest.mark.parametrize("wrong", [-1, 16])
def test_an_id_outside_the_table_is_named(wrong, model):
    bad = torch.where(GOOD == 6, wrong, GOOD)
    for ids in ((bad, GOOD), (GOOD, torch.where(GOOD == 7, wrong, GOOD))):
        with pytest.raises(IndexError, match=rf"id \({wrong}\) must be at least 0 and below vocab_size \(16\)"):
            model(*ids)


def test_each_half_refuses_for_itself(model):
    memory = model.encode(GOOD)
    with unchecked():
        with pytest.raises(TypeError, match=r"source must be int64 or int32"):
            model.encode(GOOD.float())
        with pytest.raises(ValueError, match=r"the length of source \(33\)"):
            model.encode(LONG)
        with pytest.raises(ValueError, match=r"the length of target \(33\)"):
            model.decode(LONG, memory, GOOD)
        with pytest.raises(ValueError, match=r"source \(2\) and target \(1\) must be equally many"):
            model.decode(GOOD[:1], memory, GOOD)
        for wrong in (memory[:1], memory[:, :2], memory[..., :8], memory[0]):
            shape = str(tuple(wrong.shape)).replace("(", r"\(").replace(")", r"\)")
            with pytest.raises(ValueError, match=rf"memory of shape {shape} must be \(2, 3, 16\): batch and length"):
                model.decode(GOOD, wrong, GOOD)


def test_the_longest_sentences_are_taken(model):
    assert model(LONG[:, :32], LONG[:, :32]).shape == (2, 32, 16)
