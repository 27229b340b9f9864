"""The key-value cache: a step costs one token and gives what the whole decoder gives."""

import pytest
import torch
from helpers import ragged, randomised, unchecked

from tested_transformer.config import TINY
from tested_transformer.decoding.cache import Cache
from tested_transformer.model.positions import LearnedPositions
from tested_transformer.model.transformer import Transformer

CONFIGS = {
    "the paper's": {},
    "norm first": {"norm_first": True},
    "final norm and biases": {"final_norm": True, "attention_bias": True},
    "gelu, formulas": {"activation": "gelu", "fused": False},
    "odd widths": {"d_model": 15, "n_heads": 3, "d_k": 3, "d_v": 5},
    "formulas, odd widths": {"d_k": 5, "d_v": 3, "fused": False, "norm_first": True},
}


def batch(source=6, target=9):
    """Ragged sources, one of them nothing but padding, and full targets behind bos_id."""
    sources, targets = torch.tensor(ragged(4, source, 16)), torch.tensor(ragged(4, target, 16, seed=1))
    targets[targets == 0] = 5
    targets[:, 0] = 1
    sources[2] = 0
    return sources, targets


def whole(model, source, target):
    return model.embedding.logits(model.decode(target, model.encode(source), source))


def stepwise(model, source, target):
    cache = Cache(model, model.encode(source), source, target.size(1))
    return torch.cat([cache.step(target[:, place, None]) for place in range(target.size(1))], dim=1)


@pytest.mark.parametrize("change", CONFIGS)
@torch.inference_mode()
def test_every_step_gives_what_the_whole_decoder_gives(change):
    model = randomised(Transformer(TINY.replace(**CONFIGS[change]))).eval()
    source, target = batch()
    torch.testing.assert_close(stepwise(model, source, target), whole(model, source, target), rtol=0, atol=1e-12)


@torch.inference_mode()
def test_learned_positions_are_counted_as_well():
    model = randomised(Transformer(TINY)).eval()
    model.positions = randomised(LearnedPositions(32, 16)).eval()
    source, target = batch()
    torch.testing.assert_close(stepwise(model, source, target), whole(model, source, target), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.float16, 0.05), (torch.bfloat16, 0.4)])
@pytest.mark.parametrize("fused", [True, False])
@torch.inference_mode()
def test_in_any_precision_up_to_its_last_digits(dtype, near, fused):
    model = randomised(Transformer(TINY.replace(fused=fused))).to(dtype).eval()
    source, target = batch()
    logits = stepwise(model, source, target)
    assert logits.dtype == dtype
    assert logits.isfinite().all()
    torch.testing.assert_close(logits, whole(model, source, target), rtol=0, atol=near)


@torch.inference_mode()
def test_int32_ids_are_as_good_as_int64():
    model = randomised(Transformer(TINY)).eval()
    source, target = batch()
    assert torch.equal(stepwise(model, source.int(), target.int()), stepwise(model, source, target))


@pytest.mark.parametrize("fused", [True, False])
@torch.inference_mode()
def test_tokens_side_by_side_see_their_own_ancestors_only(fused):
    model = randomised(Transformer(TINY.replace(fused=fused))).eval()
    source, _ = batch()
    # Three generations of two; hypothesis 0 of the last descends from 1 and then 1, hypothesis 1 from 0 and then 1.
    tokens = torch.tensor([[1, 1], [5, 6], [7, 8]]).unsqueeze(1).expand(3, 4, 2)
    ancestors = [[[0], [1]], [[1, 2], [0, 3]], [[0, 3, 4], [1, 2, 5]]]
    families = [[[1], [1]], [[1, 5], [1, 6]], [[1, 6, 7], [1, 5, 8]]]
    cache = Cache(model, model.encode(source), source, 3, width=2)
    for generation in range(3):
        mask = torch.zeros(4, 1, 2, 2 * generation + 2, dtype=torch.bool)
        for place in range(2):
            mask[:, 0, place, ancestors[generation][place]] = True
        logits = cache.step(tokens[generation], mask)
        for place in range(2):
            target = torch.tensor(families[generation][place]).expand(4, -1)
            expected = whole(model, source, target)[:, -1]
            torch.testing.assert_close(logits[:, place], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("done", [0, 4])
@pytest.mark.parametrize("rows", [[0, 2, 3], [3, 1], [2], [1, 1, 0]])
@torch.inference_mode()
def test_sentences_that_stay_go_on_as_if_nothing_had_happened(rows, done):
    model = randomised(Transformer(TINY)).eval()
    source, target = batch()
    cache = Cache(model, model.encode(source), source, 9)
    for place in range(done):
        cache.step(target[:, place, None])
    cache.keep(torch.tensor(rows))
    expected = whole(model, source, target)[rows]
    for place in range(done, 9):
        logits = cache.step(target[rows, place, None])[:, 0]
        torch.testing.assert_close(logits, expected[:, place], rtol=0, atol=1e-12)


@torch.inference_mode()
def test_a_step_calculates_one_token_and_the_memory_is_projected_once(monkeypatch):
    model = randomised(Transformer(TINY)).eval()
    source, target = batch()
    memory, layer = model.encode(source), model.decoder.layers[0]
    watched = {
        id(layer.self_attention.w_k.weight): "w_k",
        id(layer.cross_attention.w_k.weight): "memory",
        id(layer.feed_forward.w_1.weight): "w_1",
    }
    rows, linear = {name: [] for name in watched.values()}, torch.nn.functional.linear

    def counted(x, weight, bias=None):
        if id(weight) in watched:
            rows[watched[id(weight)]].append(x.shape[:-1].numel())
        return linear(x, weight, bias)

    monkeypatch.setattr(torch.nn.functional, "linear", counted)
    cache = Cache(model, memory, source, 9)
    for place in range(9):
        cache.step(target[:, place, None])
    assert rows == {"w_k": [4] * 9, "memory": [4 * 6], "w_1": [4] * 9}


@torch.inference_mode()
def test_what_a_cache_cannot_do_is_refused():
    model = randomised(Transformer(TINY)).eval()
    source, target = batch()
    with unchecked():
        cache = Cache(model, model.encode(source), source, 2)
        for tokens in (target[:, 0], target[:, :2], target[:3, :1]):
            shape = str(tuple(tokens.shape)).replace("(", r"\(").replace(")", r"\)")
            words = rf"tokens of shape {shape} must be \(4, 1\): sentences, and tokens side by side"
            with pytest.raises(ValueError, match=words):
                cache.step(tokens)
        cache.step(target[:, :1])
        cache.step(target[:, 1:2])
        with pytest.raises(ValueError, match=r"the cache is full: max_len \(2\) tokens"):
            cache.step(target[:, 2:3])
