"""Thin matrices beside linear layers: nothing changes at the start, only they learn, and merged they give the same."""

import pytest
import torch
from torch import nn

from tested_transformer.config import TINY
from tested_transformer.decoding.cache import GptCache
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.model.lowrank import LowRank, add_low_rank, low_rank_state, merge_low_rank

IDS = torch.tensor([[1, 5, 6, 7], [1, 8, 9, 4]])


def learned(layer, seed=0):
    """The same layer, with a B that is no longer zero."""
    draws = torch.Generator().manual_seed(seed)
    layer.b.data.normal_(generator=draws)
    return layer


def gpt():
    torch.manual_seed(0)
    return Gpt(TINY).double().eval()


@pytest.mark.parametrize("bias", [True, False])
def test_at_the_start_a_layer_gives_exactly_what_it_gave(bias):
    torch.manual_seed(0)
    layer, x = nn.Linear(6, 4, bias), torch.randn(3, 6)
    assert torch.equal(LowRank(layer, 2)(x), layer(x))


def test_it_is_the_layer_plus_the_scaled_product_of_b_and_a():
    torch.manual_seed(0)
    plain, x = nn.Linear(6, 4).double(), torch.randn(3, 6, dtype=torch.float64)
    layer = learned(LowRank(plain, 2, alpha=6))
    assert layer.scale == 3
    whole = plain.weight + 3 * layer.b @ layer.a
    torch.testing.assert_close(layer(x), x @ whole.T + plain.bias, rtol=1e-12, atol=1e-12)


def test_without_alpha_the_scale_is_one():
    assert LowRank(nn.Linear(6, 4), 2).scale == 1


def test_entries_of_a_begin_with_the_variance_of_one_over_the_width():
    torch.manual_seed(0)
    a = LowRank(nn.Linear(400, 50), 40).a
    assert a.std().item() * 20 == pytest.approx(1, rel=0.05)
    assert a.abs().max().item() == pytest.approx((3 / 400) ** 0.5, rel=0.01)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("bias", [True, False])
def test_merged_it_gives_the_same(dtype, near, bias):
    torch.manual_seed(0)
    layer = learned(LowRank(nn.Linear(16, 8, bias, dtype=dtype), 3, alpha=2))
    x, merged = torch.randn(5, 16, dtype=dtype), layer.merged()
    assert type(merged) is nn.Linear
    torch.testing.assert_close(merged(x), layer(x), rtol=near, atol=10 * near)


def test_only_the_thin_matrices_learn_and_they_are_as_many_as_said():
    model = gpt()
    layers = add_low_rank(model, 2)
    learning = [p for p in model.parameters() if p.requires_grad]
    width = TINY.d_model
    assert len(layers) == 2 * TINY.n_layers
    assert sum(p.numel() for p in learning) == len(layers) * 2 * (width + width)
    before = {name: p.clone() for name, p in model.state_dict().items()}
    adam = torch.optim.Adam(learning, 0.1)
    for _ in range(2):
        model(IDS).square().mean().backward()
        adam.step()
    changed = {n for n, p in model.state_dict().items() if not torch.equal(p, before[n])}
    assert changed == set(low_rank_state(model))


def test_of_a_single_layer_only_the_thin_matrices_learn():
    layer = LowRank(nn.Linear(6, 4), 2)
    assert {name for name, p in layer.named_parameters() if p.requires_grad} == {"a", "b"}


def test_a_whole_model_merged_is_the_plain_model_and_gives_the_same():
    model, names = gpt(), dict(gpt().named_modules())
    before = model(IDS)
    for layer in add_low_rank(model, 2, ("w_q", "w_v", "w_1")):
        learned(layer)
    logits = model(IDS)
    merge_low_rank(model)
    assert {name: type(m) for name, m in model.named_modules()} == {name: type(m) for name, m in names.items()}
    assert all(p.requires_grad for p in model.parameters())
    torch.testing.assert_close(model(IDS), logits, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(logits, before)


def test_what_is_kept_puts_the_same_onto_a_fresh_model():
    model, other = gpt(), gpt()
    for layer in add_low_rank(model, 2):
        learned(layer)
    add_low_rank(other, 2)
    state = low_rank_state(model)
    assert all(name.endswith((".a", ".b")) for name in state)
    missing, unexpected = other.load_state_dict(state, strict=False)
    assert not unexpected
    assert len(missing) == len(other.state_dict()) - len(state)
    assert torch.equal(other(IDS), model(IDS))


def test_a_llama_takes_them_and_a_cached_step_gives_what_the_model_gives():
    torch.manual_seed(0)
    model = Llama(LlamaConfig(16, 16, 32, 2, 2, max_len=32, n_kv_heads=1)).double().eval()
    for layer in add_low_rank(model, 2, ("w_k", "w_2")):
        learned(layer)
    cache, whole = GptCache(model), model(IDS)
    for end in range(1, 5):
        torch.testing.assert_close(cache.read(IDS[:, :end])[:, -1], whole[:, end - 1])


@pytest.mark.parametrize(
    ("do", "rule"),
    [
        (lambda: LowRank(nn.Linear(6, 4), 5), r"rank \(5\) must not exceed .*\(4, 6\)"),
        (lambda: LowRank(nn.Linear(6, 4), 0), "at least 1"),
        (lambda: LowRank(nn.Linear(6, 4), 2, alpha=0), r"scale \(0.0\) must be positive"),
        (lambda: add_low_rank(gpt(), 2, ("w_q", "wv")), "no linear layer named wv"),
    ],
)
def test_what_cannot_be_is_refused(do, rule):
    with pytest.raises(ValueError, match=rule):
        do()


def test_a_model_is_left_alone_where_a_name_is_wrong():
    model = gpt()
    with pytest.raises(ValueError, match="wv"):
        add_low_rank(model, 2, ("w_q", "wv"))
    assert all(p.requires_grad for p in model.parameters())
    assert not any(isinstance(m, LowRank) for m in model.modules())
