"""What the chapter on today's layer tries: norms without means, a pair that moves on, experts, published sizes."""

import numpy as np
import pytest
import torch
from helpers import normal

from tested_transformer.book import ablation, experts, pretrained, published_sizes, todays_layer
from tested_transformer.byhand.llama import swiglu
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.addnorm import LayerNorm


def test_without_means_norms_only_scale_and_afterwards_take_means_off_again():
    translator = pretrained.load()
    norm = next(m for m in translator.model.modules() if isinstance(m, LayerNorm))
    x = torch.tensor(normal(3, 128)) + 1
    before = norm(x)
    with todays_layer.without_means(translator):
        inside = norm(x)
    assert torch.allclose(norm(x), before)
    rms = (x.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    assert torch.allclose(inside, x / rms * norm.weight + norm.bias)
    assert not torch.allclose(inside, before, atol=0.1)


def test_the_mean_of_a_row_is_told_beside_its_size():
    given = torch.tensor([[3.0, 5.0], [1.0, -1.0]]), torch.tensor([[2.0, 2.0]])  # means 4 and 0, and 2
    model = torch.nn.Sequential(LayerNorm(2))
    translator = object.__new__(Translator)
    vars(translator).update(model=model, translate=lambda texts: [model(given[n]) for n in range(len(texts))])
    assert todays_layer.share_of_means(translator, ["one", "other"]) == pytest.approx((np.sqrt(8 / 9) + 1) / 2)
    assert type(model[0]) is LayerNorm


def test_a_turned_pair_scores_the_same_everywhere_and_as_the_formula_says():
    q, k, w_q, w_k = normal(8), normal(8, seed=1), normal(4, 8, seed=2), normal(4, 8, seed=3)
    found = todays_layer.moved_on(q, k, w_q, w_k, 30)
    assert np.ptp(found["turned"]) < 1e-12
    assert np.ptp(found["added"]) > 0.1
    assert len(found["added"]) == 30
    (a, c, b, d), (e, g, f, h) = w_q @ q, w_k @ k  # pairs are halves: (a, b) and (c, d)
    turn = [np.array([[np.cos(2 * w), -np.sin(2 * w)], [np.sin(2 * w), np.cos(2 * w)]]) for w in (1, 0.01)]
    wanted = (turn[0] @ [a, b]) @ [e, f] + (turn[1] @ [c, d]) @ [g, h]
    assert found["turned"][0] == pytest.approx(wanted / 2)


def test_a_hand_is_a_pair_of_a_row_turned_by_its_place():
    a, b = np.random.default_rng(0).normal(size=(2, 8))
    found = todays_layer.hands({"a": a, "b": b}, pair=1, places=[(0, 0), (7, 4)])
    assert list(found) == ["a at 0, b at 0", "a at 7, b at 4"]
    start, later = found.values()
    np.testing.assert_array_equal(start["a"], a[[1, 5]])
    for word, t in (("a", 7), ("b", 4)):  # as complex numbers, at the speed of the second pair of four
        x, y = start[word]
        turned = (x + 1j * y) * np.exp(1j * t * 10_000 ** (-1 / 4))
        np.testing.assert_allclose(later[word], [turned.real, turned.imag], atol=1e-12)


@pytest.mark.parametrize("heads", [4, 2, 1])
def test_a_cache_keeps_a_key_and_a_value_of_each_token_for_each_head_of_keys(heads):
    assert todays_layer.cache_bytes(heads, 7) == 4 * 2 * 2 * heads * 32 * 7  # bytes, both, layers, width of a head


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_row_goes_through_its_best_networks_only(k):
    router, networks = experts.create(4, 3, 5, np.random.default_rng(0))
    x = normal(6, 3)
    out, weights = experts.mixture(x, router, networks, k)
    for row, y, shares in zip(x, out, weights, strict=True):
        scores = router @ row
        best = np.argsort(-scores)[:k]
        p = np.exp(scores[best]) / np.exp(scores[best]).sum()
        assert set(np.flatnonzero(shares)) == set(best)
        assert np.allclose(shares[best], p)
        assert np.allclose(y, sum(w * swiglu(row[None], networks[e])[0][0] for w, e in zip(p, best, strict=True)))


def test_a_network_that_no_row_has_chosen_is_not_run(monkeypatch):
    router, networks = experts.create(3, 2, 4, np.random.default_rng(0))
    asked = []
    monkeypatch.setattr(experts, "swiglu", lambda x, params: (asked.append(len(x)) or x, {}))
    x = np.repeat(normal(1, 2), 5, axis=0)  # all choose the same
    experts.mixture(x, router, networks, 1)
    assert asked == [5]


@pytest.mark.parametrize("name", published_sizes.MODELS)
def test_the_sum_of_the_parts_is_the_model_put_together(name):
    sizes = published_sizes.MODELS[name]
    model, parts = published_sizes.put_together(sizes), published_sizes.parts(sizes)
    assert ablation.n_parameters(model) == sum(parts.values())
    norms = sum(w.numel() for n, w in model.named_parameters() if "norm" in n and "norm_" not in n.split(".")[-2])
    assert norms == parts["norms"]
