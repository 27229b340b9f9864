"""What chapters show is what trains and decodes: training, searches and the cache run the layers of the model."""

import ast
import tempfile
from dataclasses import asdict

import numpy as np
import pytest
import torch
from guards import ROOT
from helpers import lively, plain_beam, plain_greedy, randomised
from torch import nn

from tested_transformer.config import TINY
from tested_transformer.data.batches import tensors
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.cache import Cache, stepper
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.recompute import Recompute
from tested_transformer.decoding.sampling import sample
from tested_transformer.model.bert import Bert, Classifier, Pretraining
from tested_transformer.model.decoder import DecoderLayer
from tested_transformer.model.encoder import EncoderLayer
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.llama import LLAMA, LlamaConfig
from tested_transformer.model.parts import PAPER
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.finetuning import fine_tune
from tested_transformer.training.options import Options
from tested_transformer.training.pretraining import pretrain
from tested_transformer.training.train import Trainer

pytestmark = pytest.mark.filterwarnings("ignore::tested_transformer.decoding.recompute.Uncached")
PAIRS = [([5, 6, 7, 2], [1, 8, 9, 2]), ([4, 2], [1, 10, 11, 5, 2]), ([9, 9, 7, 2], [1, 7, 2])]
SOURCE, _ = tensors(PAIRS)


def step(model, folder):
    """One step of a Trainer, one validation; the losses of both."""
    seen = []
    options = Options(steps=1, batch_tokens=30, warmup=10)
    Trainer(model, options, PAIRS, PAIRS, tempfile.mkdtemp(dir=folder), report=seen.append).run()
    return [event.loss for event in seen]


ACTS = {
    "training": lambda model, folder: step(model, folder),
    "greedy": lambda model, folder: greedy(model, SOURCE).tolist(),
    "beam": lambda model, folder: [[h.score for h in hs] for hs in beam(model, SOURCE, 3, max_len=6)],
}
acts = pytest.mark.parametrize("act", ACTS)


def zeros(self, x, *others, **named):
    return torch.zeros_like(x)


def fails(*arguments, **named):
    raise RuntimeError("this one was called")


# Every part of the model is at work


@acts
@pytest.mark.parametrize(
    ("kind", "method"), [(EncoderLayer, "forward"), (DecoderLayer, "forward"), (DecoderLayer, "steps")]
)
def test_a_layer_that_returns_zeros_changes_everything(act, kind, method, tmp_path, monkeypatch):
    whole = ACTS[act](lively(), tmp_path)
    monkeypatch.setattr(kind, method, zeros)
    assert ACTS[act](lively(), tmp_path) != whole


PARTS = ("forward", "attend", "queries", "keys", "values")


@acts
@pytest.mark.parametrize("method", PARTS)
def test_an_attention_that_fails_in_any_of_its_parts_fails_everywhere(act, method, tmp_path, monkeypatch):
    monkeypatch.setattr(MultiHeadAttention, method, fails)
    with pytest.raises(RuntimeError, match="this one was called"):
        ACTS[act](lively(), tmp_path)


@acts
@pytest.mark.parametrize(
    "place", ["encoder.layers.0", "decoder.layers.0", "decoder.layers.0.cross_attention", "decoder"]
)
def test_hooks_fire_everywhere(act, place, tmp_path):
    model, heard = lively(), []
    whole = ACTS[act](lively(), tmp_path)
    model.get_submodule(place).register_forward_hook(lambda *given: heard.append(place))
    same = ACTS[act](model, tmp_path)
    assert np.allclose(same, whole, rtol=0, atol=1e-12) if act == "beam" else same == whole
    assert heard


OTHERS = {"w_q", "w_k", "w_v", "w_o", "addnorm_1", "addnorm_2", "addnorm_3", "feed_forward", "n_heads"}


@pytest.mark.parametrize("folder", ["training", "decoding"])
def test_no_formula_of_attention_or_of_a_layer_stands_outside_the_model(folder):
    for path in sorted((ROOT / "src" / "tested_transformer" / folder).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
        attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        assert not names & {"attention", "fused_attention", "split_heads", "join_heads"}, path
        assert not attributes & {*OTHERS, "scaled_dot_product_attention", "layer_norm"}, path


# No fused kernel where the config says so


def test_fused_false_calls_no_fused_kernel_anywhere(tmp_path, monkeypatch):
    """Nor does asking for weights; and with fused=True each of these would have called one."""
    plain = TINY.replace(fused=False)
    ids = torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]])
    settings = {"activation": "gelu", "attention_bias": True, "fused": False}

    def run(config):
        model = Transformer(config)
        for act in ACTS.values():
            act(model, tmp_path)
        attention_weights(model, SOURCE[:2], ids)
        pretrain(Pretraining(Bert(config.replace(**settings | {"fused": config.fused}))), [([5, 6], ())], 4, 1, 0.1)
        fine_tune(Classifier(Bert(config), 2), ids, torch.tensor([0, 1]), 1, 0.1, size=2)
        sample(Gpt(config), ids[:, :2], 4)
        VisionTransformer(config, 2, 2, 1)(torch.zeros(1, 1, 4, 4), (2, 2))

    kernels = ("scaled_dot_product_attention", "layer_norm")
    monkeypatch.setattr(nn.functional, kernels[0], fails)
    monkeypatch.setattr(nn.functional, kernels[1], fails)
    run(plain)
    with pytest.raises(RuntimeError, match="this one was called"):
        run(TINY)


# What a cached step might not honour is recomputed


class Wrapped(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, *given):
        return self.layer(*given)


def wrapped(model):
    model.decoder.layers[0] = Wrapped(model.decoder.layers[0])


def overridden(place, method="forward", change=lambda out, given: out):
    """The class of a module, but for what one of its methods returns."""

    def alter(model):
        module = model.get_submodule(place)
        base = type(module)
        own = lambda self, *given, **named: change(getattr(base, method)(self, *given, **named), given)  # noqa: E731
        module.__class__ = type("Own", (base,), {method: own})

    return alter


def of_the_instance(place, method):
    def alter(model):
        module = model.get_submodule(place)
        own = getattr(module, method)
        setattr(module, method, lambda *given, **named: own(*given, **named))

    return alter


def listened_to(place, change=lambda out: None):
    """A hook, which may change what comes out."""
    return lambda model: model.get_submodule(place).register_forward_hook(lambda module, given, out: change(out))


def first_zero(out):
    out = out.clone()
    out[:, 0] = 0
    return out


def shifted(out, given):
    """Each token gets something of the one before it."""
    return out + torch.cat([torch.zeros_like(out[..., :1, :]), out[..., :-1, :]], -2)


def nearby(out, given):
    """Values that are worth less the later their token stands."""
    return out / (1 + torch.arange(out.size(-2))[:, None])


def fading(self, q, k, v, mask=None, need_weights=False):
    """Distant tokens count less (ALiBi, in one line): what a cache knows nothing of."""
    distance = torch.arange(q.size(-2))[:, None] - torch.arange(k.size(-2))
    scores = q @ k.transpose(-2, -1) - distance.abs() / 2
    weights = scores.masked_fill(~mask, -1e9).softmax(-1)
    return self.w_o((weights @ v).transpose(1, 2).flatten(-2)), None


def with_distances(model):
    heads = model.decoder.layers[0].self_attention
    heads.__class__ = type("Own", (MultiHeadAttention,), {"attend": fading})


LAYER = "decoder.layers.0"
CHANGES = {
    "a wrapped layer": (wrapped, rf"{LAYER} \(Wrapped\)"),
    "a method of the instance": (of_the_instance(LAYER, "forward"), rf"{LAYER} \(DecoderLayer\)"),
    "logits of the instance": (of_the_instance("embedding", "logits"), r"embedding \(Restless\)"),
    "a layer": (overridden(LAYER), rf"{LAYER} \(Own\)"),
    "steps": (overridden(LAYER, "steps", shifted), rf"{LAYER} \(Own\)"),
    "an attention": (overridden(f"{LAYER}.cross_attention"), rf"{LAYER}\.cross_attention \(Own\)"),
    "attend": (with_distances, rf"{LAYER}\.self_attention \(Own\)"),
    "keys": (overridden(f"{LAYER}.self_attention", "keys", shifted), rf"{LAYER}\.self_attention \(Own\)"),
    "values": (overridden(f"{LAYER}.self_attention", "values", nearby), rf"{LAYER}\.self_attention \(Own\)"),
    "feed-forward": (overridden(f"{LAYER}.feed_forward", "forward", shifted), rf"{LAYER}\.feed_forward \(Own\)"),
    "a linear map": (overridden(f"{LAYER}.feed_forward.w_1", "forward", shifted), rf"{LAYER}\.feed_forward\.w_1"),
    "a norm": (overridden(f"{LAYER}.addnorm_2.norm", "forward", shifted), rf"{LAYER}\.addnorm_2\.norm \(Own\)"),
    "the last norm": (overridden("decoder.norm", "forward", shifted), r"decoder\.norm \(Own\)"),
    "the table": (overridden("embedding", "forward", shifted), r"embedding \(Own\)"),
    "positions": (overridden("positions", "forward", shifted), r"positions \(Own\)"),
    "the decoder": (overridden("decoder", "forward", shifted), r"decoder \(Own\)"),
    "the model": (overridden("", "forward", shifted), r"the model \(Own\)"),
    "its decode": (overridden("", "decode", shifted), r"the model \(Own\)"),
    "its call": (overridden("", "__call__", shifted), r"the model \(Own\)"),
    "a hook": (listened_to(LAYER), rf"{LAYER} \(DecoderLayer\)"),
    "a hook on a map": (listened_to(f"{LAYER}.self_attention.w_q", first_zero), rf"{LAYER}\.self_attention\.w_q"),
    "a hook on a frame": (listened_to(f"{LAYER}.addnorm_1", first_zero), rf"{LAYER}\.addnorm_1 \(AddNorm\)"),
    "a hook before": (
        lambda model: model.decoder.layers[0].register_forward_pre_hook(
            lambda module, given: (2 * given[0], *given[1:])
        ),
        rf"{LAYER} \(DecoderLayer\)",
    ),
    "a hook on the table": (listened_to("embedding", first_zero), r"embedding \(Restless\)"),
}


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_what_the_cache_might_pass_by_is_recomputed_and_right(change):
    alter, words = CHANGES[change]
    plain, model = lively(2), lively(2)
    alter(model)
    memory = plain.encode(SOURCE)
    assert isinstance(stepper(plain, memory, SOURCE, 3), Cache)
    assert isinstance(stepper(model, memory, SOURCE, 3), Recompute)
    with pytest.raises(ValueError, match=rf"{words}.* may need more than a token"):
        Cache(model, memory, SOURCE, 3)
    for row, source in enumerate(SOURCE):
        ids = plain_greedy(model, source[None], 8)
        assert [i for i in greedy(model, SOURCE, 8)[row].tolist() if i] == ids
        found = beam(model, SOURCE, 3, 0.6, 8)[row]
        expected = plain_beam(model, source[None], 3, 0.6, 8)
        assert [h.ids for h in found] == [ids for ids, _, _ in expected]
        assert [h.score for h in found] == pytest.approx([score for _, score, _ in expected], abs=1e-12)


@pytest.mark.parametrize("rows", [[0, 2], [2, 1, 1]])
@torch.inference_mode()
def test_recomputing_goes_on_with_the_sentences_that_stay(rows):
    model = randomised(Transformer(TINY)).eval()
    target = torch.tensor([[1, 5, 6], [1, 7, 8], [1, 9, 4]])
    recompute = Recompute(model, SOURCE, 3)
    recompute.step(target[:, :1])
    recompute.keep(torch.tensor(rows))
    for place in (1, 2):
        logits = recompute.step(target[rows, place, None])[:, 0]
        torch.testing.assert_close(logits, model(SOURCE, target)[rows, place], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"the cache is full: max_len \(3\) tokens"):
        recompute.step(target[rows, :1])


# A part that is made to be replaced


def rotary():
    settings = asdict(TINY.replace(n_heads=4, n_layers=3))
    return randomised(Transformer(LlamaConfig(**settings), PAPER._replace(attention=LLAMA.attention))).eval()


@torch.inference_mode()
def test_positions_inside_the_attention_reach_the_cache():
    model, target = rotary(), torch.tensor([[1, 5, 6, 7, 4]] * 3)
    cache = stepper(model, model.encode(SOURCE), SOURCE, 5)
    assert isinstance(cache, Cache)
    steps = torch.cat([cache.step(target[:, place, None]) for place in range(5)], 1)
    torch.testing.assert_close(steps, model(SOURCE, target), rtol=0, atol=1e-12)


def test_what_is_done_to_the_encoder_leaves_the_cache():
    model = lively(2)
    wholes = greedy(model, SOURCE)
    listened_to("encoder.layers.0", lambda out: 0 * out)(model)
    assert isinstance(stepper(model, model.encode(SOURCE), SOURCE, 3), Cache)
    assert not torch.equal(greedy(model, SOURCE), wholes)


def test_a_function_that_somebody_keeps_in_a_module_leaves_the_cache():
    model = lively(2)
    model.note = model.decoder.layers[0].note = len
    assert isinstance(stepper(model, model.encode(SOURCE), SOURCE, 3), Cache)


def test_positions_inside_the_attention_reach_every_hypothesis_of_a_beam():
    model, plain = rotary(), rotary()
    listened_to("positions")(plain)  # recomputed
    for one, other in zip(beam(model, SOURCE, 4), beam(plain, SOURCE, 4), strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-12)
