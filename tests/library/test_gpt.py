"""GPT: a decoder alone sees the past only, and padding on the right changes nothing."""

import pytest
import torch
from helpers import ragged, randomised, unchecked
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.gpt import Gpt

CONFIG = Config(
    30, 8, 16, 2, 2, dropout=0.0, max_len=12, activation="gelu", attention_bias=True, norm_first=True
)  # fmt: skip
IDS = torch.tensor(ragged(3, 9, 30))


def gpt(**changes):
    return randomised(Gpt(CONFIG.replace(**changes))).eval()


@given(st.integers(0, 8), st.integers(3, 29))
def test_future_tokens_change_nothing_before_them(place, token):
    model, ids = gpt(), IDS[:1]
    other = ids.clone()
    other[0, place] = token
    assert torch.equal(model(ids)[:, :place], model(other)[:, :place])
    if token != ids[0, place]:
        assert (model(ids) - model(other))[0, place:].abs().amax(-1).min() > 1e-9


def test_padding_on_the_right_changes_nothing():
    model = gpt()
    assert torch.allclose(model(IDS[:1, :5]), model(F.pad(IDS[:1, :5], (0, 4)))[:, :5], rtol=0, atol=1e-12)


def test_it_is_embedding_encoder_under_a_causal_mask_and_the_table_again():
    model = gpt()
    assert type(model.decoder) is Encoder
    x = model.tokens.weight[IDS] + model.positions.table[:9]
    x = model.decoder(x, torch.ones(9, 9, dtype=torch.bool).tril())
    assert torch.allclose(model(IDS), x @ model.tokens.weight.T, rtol=0, atol=1e-12)


def test_norm_first_brings_a_final_norm_and_norm_last_none():
    assert any(name.startswith("decoder.norm.") for name in gpt().state_dict())
    assert not any(name.startswith("decoder.norm.") for name in gpt(norm_first=False).state_dict())


def test_every_parameter_learns():
    model = gpt()
    model(IDS).square().sum().backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("w_k.bias"):
            assert parameter.grad.abs().max() > 1e-8, name


def test_dropout_works_in_training_only():
    model = randomised(Gpt(CONFIG.replace(dropout=0.5)))
    assert not torch.equal(model(IDS), model(IDS))
    model.eval()
    assert torch.equal(model(IDS), model(IDS))


def test_bad_ids_and_lengths_are_refused():
    with pytest.raises(IndexError, match=r"id \(30\) must be at least 0 and below vocab_size \(30\)"):
        gpt()(torch.tensor([[1, 30]]))
    with unchecked(), pytest.raises(TypeError, match=r"ids must be int64 or int32, not torch\.float64"):
        gpt()(IDS.double())
    with pytest.raises(ValueError, match=r"length \(13\) must not exceed max_len \(12\)"):
        gpt()(torch.ones(1, 13, dtype=torch.int64))
