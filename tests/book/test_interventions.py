"""Interventions: what each changes in the model, and that all of it is put back."""

import contextlib
import re

import numpy as np
import pytest
import torch
from helpers import normal, unchecked

from tested_transformer.book.activations import head_gradients
from tested_transformer.book.coreference import FRAMES, RUNNING
from tested_transformer.book.experiments import right_pronouns
from tested_transformer.book.interventions import (
    ablated,
    averaged_attention,
    edited,
    knockout,
    links,
    recorded,
    replaced,
    residual_stream,
    sublayers,
    unmasked,
    without_head,
    without_part,
)
from tested_transformer.book.pretrained import load, predictions, written
from tested_transformer.decoding.attention_weights import attention_weights


@pytest.fixture(scope="module")
def translator():
    return load()


def state(translator):
    return {name: tensor.clone() for name, tensor in translator.model.state_dict().items()}


def test_modules_and_parameters_are_edited_and_put_back_whatever_happens(translator):
    model, ids = translator.model, torch.tensor([translator.encode(RUNNING[0].english, 1)])
    before, memory, box = state(translator), model.encode(ids), "encoder.layers.1.self_attention"
    w_q, w_o = (f"{box}.{name}.weight" for name in ("w_q", "w_o"))
    edits = {"encoder": lambda forward, x, mask: 2 * forward(x, mask), w_o: lambda w: 0 * w, w_q: np.ones((128, 128))}
    with contextlib.suppress(KeyError), edited(model, edits):
        assert not model.get_parameter(w_o).any()
        edited_memory = model.encode(ids)
        with edited(model, {"encoder": lambda forward, x, mask: forward(x, mask) + 1, w_q: lambda w: w - 1}):
            assert not model.get_parameter(w_q).any()
            assert torch.equal(model.encode(ids), edited_memory + 1)
        assert torch.equal(model.encode(ids), edited_memory)
        assert not torch.allclose(edited_memory, memory)
        raise KeyError
    assert torch.equal(model.encode(ids), memory)
    assert all(torch.equal(w, before[name]) for name, w in model.state_dict().items())
    assert not any("forward" in vars(module) for module in model.modules())


def test_what_is_not_there_or_has_another_shape_is_refused_before_anything_is_touched(translator):
    before, fine = state(translator), {"embedding.weight": lambda w: 0 * w}
    for edits, rule in (
        ({"encoder.layers.2": 0}, "'encoder.layers.2' names no submodule and no parameter of the model"),
        ({"encoder.norm_1.weight": 0}, "'encoder.norm_1.weight' names no submodule and no parameter of the model"),
        ({"embedding.weight": np.ones(3)}, "embedding.weight must have shape (1760, 128), not (3,)"),
    ):
        with pytest.raises(ValueError, match=re.escape(rule)), edited(translator.model, fine | edits):
            pass
        assert all(torch.equal(w, before[name]) for name, w in translator.model.state_dict().items())


def test_in_translating_an_edited_decoder_is_not_passed_by(translator):
    """A cached step calls parts of the decoder; an edit of the decoder, or of a layer, must count there, too."""
    texts = [sentence.english for sentence in RUNNING]
    usual = translator.translate(texts)
    for name in ("decoder", "decoder.layers.1", "decoder.layers.1.cross_attention"):

        def silent(forward, x, *rest):
            out = forward(x, *rest)
            return (0 * out[0], None) if isinstance(out, tuple) else 0 * out

        with edited(translator.model, {name: silent}):
            assert translator.translate(texts, max_len=8) == written(translator, *texts, max_len=8) != usual
    assert translator.translate(texts) == usual


def test_calls_are_recorded_in_their_order_and_only_for_a_while(translator):
    names = "encoder.layers.0", "encoder.layers.1"
    with recorded(translator.model, *names) as calls:
        two = [residual_stream(translator, sentence.english) for sentence in RUNNING[:2]]
    residual_stream(translator, RUNNING[2].english)
    for n, name in enumerate(names):
        for (args, out), stream in zip(calls[name], two, strict=True):
            assert torch.equal(args[0], stream[n])
            assert torch.equal(out, stream[n + 1])


def test_links_that_are_knocked_out_have_the_weight_zero_and_no_others_change_in_their_layer(translator):
    english = RUNNING[0].english
    usual = translator.look(english, "")[2]["encoder"]
    cut = links(translator, english, [(5, 3), (5, 1)], [(1, 2)])
    with knockout(translator, encoder=cut):
        less = translator.look(english, "")[2]["encoder"]
    assert cut.nonzero().tolist() == [[1, 2, 5, 1], [1, 2, 5, 3]]
    assert not less[cut].any()
    others = ~cut.any(-1)
    assert torch.allclose(less[others], usual[others])
    assert links(translator, english, [(5, 3)]).sum() == 8
    across = torch.zeros(2, 1, 1, len(usual[0, 0]), dtype=torch.bool)
    across[0, ..., 4] = True
    with knockout(translator, cross=across):
        seen = translator.look(english, "Ich")[2]["cross"]
    assert (seen[..., 4] == 0).all(-1).tolist() == [[True] * 4, [False] * 4]


def test_without_a_head_only_its_own_output_is_taken_away(translator):
    heads = translator.model.encoder.layers[1].self_attention
    x = torch.tensor(normal(1, 5, 128))
    with torch.no_grad():
        whole, weights = heads(x, x, x, need_weights=True)
        own = (weights @ heads.values(x))[:, 2] @ heads.w_o.weight[:, 64:96].T
        with without_head(translator, 1, 2):
            rest, same = heads(x, x, x, need_weights=True)
    assert torch.allclose(rest, whole - own)
    assert torch.equal(same, weights), "it still looks; what it saw is not handed on"


@pytest.mark.parametrize(("kind", "place"), [("cross", "cross_attention"), ("decoder", "self_attention")])
def test_a_head_of_the_decoder_is_taken_away_alone(translator, kind, place):
    before, name = state(translator), f"decoder.layers.1.{place}.w_o.weight"
    with without_head(translator, 1, 3, kind):
        changed = {n: w for n, w in state(translator).items() if not torch.equal(w, before[n])}
    assert changed.keys() == {name}
    assert not changed[name][:, 96:].any()
    assert torch.equal(changed[name][:, :96], before[name][:, :96])


def test_a_kind_a_layer_or_a_head_that_is_not_there_is_refused(translator):
    for place, rule in (
        ((0, 0, "self"), "kind ('self') must be encoder, decoder, cross"),
        ((2, 0), "'encoder.layers.2.self_attention.w_o.weight' names no submodule"),
        ((0, 4), "head (4) must be at least 0 and below 4"),
    ):
        with pytest.raises(ValueError, match=re.escape(rule)), without_head(translator, *place):
            pass


@pytest.mark.parametrize("even", [False, True])
def test_heads_that_share_their_weights_are_one_wide_head(translator, even):
    heads = translator.model.encoder.layers[1].self_attention
    x, mask = torch.tensor(normal(1, 5, 128)), torch.tensor([True, True, True, True, False])[None, None, None]
    with torch.no_grad():
        weights = heads(x, x, x, mask, need_weights=True)[1]
        with averaged_attention(translator, even):
            out, shared = heads(x, x, x, mask, need_weights=True)
            fused, nothing = heads(x, x, x, mask)
        expected = torch.where(mask[0, 0], 0.25, 0.0) if even else weights[0].mean(dim=0)
        wide = heads.w_o(expected.expand(5, 5).double() @ heads.w_v(x))
    assert torch.allclose(shared, expected.expand(4, 5, 5).double())
    assert torch.allclose(out, wide), "one head, as wide as a row"
    assert torch.equal(fused, out)
    assert nothing is None


def test_a_part_around_a_sub_layer_is_taken_away(translator):
    name = sublayers(translator)["encoder", 1, "attention"]
    frame, x, box = translator.model.get_submodule(name), torch.tensor(normal(2, 128)), torch.tanh
    wanted = {"sum": frame.norm(box(x)), "norm": x + box(x), "box": frame.norm(x)}
    for part, expected in wanted.items():
        with without_part(translator, part, name):
            assert torch.equal(frame(x, box), expected)
    with pytest.raises(ValueError, match=r"part \('add'\) must be one of sum, norm, box"):
        without_part(translator, "add", name)


def test_the_sub_layers_are_those_of_the_model(translator):
    names, model = sublayers(translator), translator.model
    assert names["encoder", 2, "attention"] == "encoder.layers.1.addnorm_1"
    assert names["decoder", 1, "cross-attention"] == "decoder.layers.0.addnorm_2"
    assert set(names.values()) == {n for n, m in model.named_modules() if type(m).__name__ == "AddNorm"}


@torch.no_grad()
def test_boxes_that_are_ablated_add_nothing(translator):
    layer, x = translator.model.encoder.layers[1], torch.tensor(normal(2, 5, 128))
    with ablated(translator, "encoder", "feed_forward", 1):
        attended = layer.addnorm_1(x, lambda x: layer.self_attention(x, x, x)[0])
        assert torch.equal(layer(x), layer.addnorm_2.norm(attended))
        with ablated(translator, "encoder", "self_attention"):
            assert torch.equal(layer(x), layer.addnorm_2.norm(layer.addnorm_1.norm(x)))


def test_a_head_has_other_matrices(translator):
    zeros = np.zeros((128, 32))
    with replaced(translator, layer=2, head=3, w_q=zeros):
        queries, *_ = head_gradients(translator, RUNNING[2], layer=2, head=3).parts
        others, *_ = head_gradients(translator, RUNNING[2], layer=2, head=4).parts
        with unchecked():  # of so many sentences
            assert right_pronouns(translator) == (151, 270)
    own, *_ = head_gradients(translator, RUNNING[2], layer=2, head=3, w_q=zeros).parts
    assert not own.any()
    assert not queries.any()
    assert others.all()
    with unchecked():
        assert right_pronouns(translator) == (270, 270)
    rule = r"the matrix of a head must have shape \(128, 32\), not \(3,\)"
    with pytest.raises(ValueError, match=rule), replaced(translator, 2, 3, w_k=np.ones(3)):
        pass


def test_a_mask_is_taken_away_and_only_this_one(translator):
    chair, c = RUNNING[0], translator.model.config
    source = torch.tensor([[*translator.encode(chair.english, 1), c.pad_id]])
    target = torch.tensor([[c.bos_id, *translator.tokens.encode(chair.german)]])
    wanted = {"": (False, False, False), "future": (True, False, False), "padding": (False, True, True)}
    for mask, looks in wanted.items():
        with unmasked(translator, mask):
            seen = attention_weights(translator.model, source, target)
        padding = (bool(seen[kind][..., -1].any()) for kind in ("encoder", "cross"))
        assert (bool(seen["decoder"].triu(1).any()), *padding) == looks
    with pytest.raises(ValueError, match=re.escape("mask ('past') must be future or padding")):
        unmasked(translator, "past")


def test_without_its_mask_the_future_disturbs_what_is_given_whole_and_padding_what_is_written(translator):
    chair, longer = RUNNING[0], FRAMES[5].say("lamp").english
    with unmasked(translator, "future"):
        assert not all(right == guess for _, right, guess in predictions(translator, [chair]))
        assert written(translator, chair.english) == [chair.german]
    with unmasked(translator, "padding"):
        assert written(translator, chair.english, longer)[0] != chair.german
        assert written(translator, chair.english) == [chair.german]


def test_without_its_mask_the_future_can_disturb_what_is_written_too(translator):
    car = ["Does this car belong to your sisters?"]
    assert translator.translate(car) == ["Gehört dieses Auto deinen Schwestern?"]
    with unmasked(translator, "future"):
        assert translator.translate(car) == written(translator, *car) == ["Gehört dieses Auto?"]
