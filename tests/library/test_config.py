"""Config: the paper's sizes, what follows from what, and everything it refuses."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from helpers import unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.byhand.transformer import create_params
from tested_transformer.checks import at_least, instance
from tested_transformer.config import BASE, BIG, TINY, Config
from tested_transformer.model.bert import Bert
from tested_transformer.model.gpt import GPT_2, Gpt
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.options import Options


def test_the_base_model_is_the_papers():
    sizes = {"d_model": 512, "d_ff": 2048, "n_heads": 8, "n_layers": 6, "d_k": 64, "d_v": 64, "dropout": 0.1}
    assert {name: getattr(BASE, name) for name in sizes} == sizes
    assert BASE.vocab_size == 37_000
    assert (BASE.activation, BASE.norm_eps, BASE.max_len) == ("relu", 1e-5, 1024)
    assert not BASE.attention_bias
    assert not BASE.norm_first
    assert not BASE.final_norm


def test_the_big_model_is_the_papers():
    sizes = {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "n_layers": 6, "d_k": 64, "d_v": 64, "dropout": 0.3}
    assert {name: getattr(BIG, name) for name in sizes} == sizes
    assert BIG.vocab_size == BASE.vocab_size


def test_the_tiny_model_drops_nothing_so_that_it_can_be_printed():
    assert TINY.dropout == 0
    assert TINY.d_k == TINY.d_v == 8


def test_special_ids_are_the_first_four():
    assert (BASE.pad_id, BASE.bos_id, BASE.eos_id, BASE.unk_id) == (0, 1, 2, 3)
    assert Config(vocab_size=4).vocab_size == 4  # room for these and nothing else


@given(st.integers(1, 16), st.integers(1, 64))
def test_heads_share_the_width_out_evenly_unless_told_otherwise(n_heads, width):
    config = Config(vocab_size=10, d_model=n_heads * width, n_heads=n_heads)
    assert config.d_k == config.d_v == width
    assert config.replace(d_k=7).d_k == 7
    assert config.replace(d_k=7).d_v == width


def test_heads_of_a_given_width_need_not_divide_the_model():
    config = Config(vocab_size=10, d_model=512, n_heads=5, d_k=16, d_v=32)
    assert (config.d_k, config.d_v) == (16, 32)


def test_it_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BASE.d_model = 256


def test_equal_settings_are_equal_and_can_be_looked_up():
    assert BASE.replace() == BASE
    assert {BASE: "base"}[Config(vocab_size=37_000)] == "base"
    assert BASE.replace(dropout=0.2) != BASE


def test_a_copy_changes_what_it_is_told_and_nothing_else():
    copy = BASE.replace(dropout=0.3, max_len=99)
    assert (copy.dropout, copy.max_len) == (0.3, 99)
    assert copy.replace(dropout=BASE.dropout, max_len=BASE.max_len) == BASE
    assert BASE.dropout == 0.1


def test_in_a_copy_head_widths_follow_the_model_again_unless_they_are_given():
    narrow = BASE.replace(d_k=16, d_v=32)
    assert (narrow.replace(dropout=0.2).d_k, narrow.replace(dropout=0.2).d_v) == (16, 32)
    assert (narrow.replace(n_heads=4).d_k, narrow.replace(n_heads=4).d_v) == (128, 128)
    assert (narrow.replace(d_model=256).d_k, narrow.replace(d_model=256).d_v) == (32, 32)
    assert (narrow.replace(n_heads=4, d_k=5).d_k, narrow.replace(n_heads=4, d_k=5).d_v) == (5, 128)


def test_kernels_are_used_where_they_agree_unless_told_otherwise():
    assert BASE.fused is True
    assert BASE.replace(fused=False).fused is False
    assert BASE.replace(fused=False).replace(n_heads=4).fused is False


def test_a_final_norm_comes_with_norm_first_unless_told_otherwise():
    assert Config(vocab_size=10, norm_first=True).final_norm is True
    assert Config(vocab_size=10, norm_first=True, final_norm=False).final_norm is False
    assert Config(vocab_size=10, final_norm=True).final_norm is True
    assert BASE.replace(norm_first=True).final_norm is True
    assert BASE.replace(norm_first=True).replace(norm_first=False).final_norm is False
    assert BASE.replace(final_norm=True).replace(dropout=0.2).final_norm is True


def test_the_bounds_themselves_are_allowed():
    Config(vocab_size=4, d_model=1, d_ff=1, n_heads=1, n_layers=1, max_len=1, d_k=1, d_v=1, dropout=0.0)
    Config(vocab_size=10, dropout=0.999, pad_id=9, activation="gelu", attention_bias=True)


SIZES = ["vocab_size", "d_model", "d_ff", "n_heads", "n_layers", "max_len", "d_k", "d_v"]
BAD_EPS = (0, -1e-5, float("nan"), float("inf"))
REFUSED = [
    *(({name: value}, ValueError, rf"{name} \({value}\) must be at least 1") for name in SIZES for value in (0, -3)),
    *(({name: 2.0}, TypeError, rf"{name} \(2.0\) must be a whole number") for name in SIZES),
    *(({name: True}, TypeError, rf"{name} \(True\) must be a whole number") for name in ("n_heads", "pad_id")),
    ({"vocab_size": "many"}, TypeError, r"vocab_size \('many'\) must be a whole number"),
    ({"n_heads": 5}, ValueError, r"n_heads \(5\) must divide d_model \(512\), or give d_k"),
    ({"n_heads": 5, "d_k": 8}, ValueError, r"n_heads \(5\) must divide d_model \(512\), or give d_v"),
    *(
        ({"dropout": p}, ValueError, rf"dropout \({p}\) must be at least 0 and below 1")
        for p in (-0.1, 1.0, float("nan"))
    ),
    *(({"norm_eps": eps}, ValueError, rf"norm_eps \({eps}\) must be positive and finite") for eps in BAD_EPS),
    ({"activation": "tanh"}, ValueError, r"activation \('tanh'\) must be 'relu' or 'gelu'"),
    *(
        ({name: 1}, TypeError, rf"{name} \(1\) must be True or False")
        for name in ("attention_bias", "norm_first", "final_norm", "fused")
    ),
    *(
        ({name: value}, TypeError, rf"{name} \({value!r}\) must be a number")
        for name in ("dropout", "norm_eps")
        for value in ("0.1", None, True)
    ),
    *(
        ({name: -1}, ValueError, rf"{name} \(-1\) must be at least 0 and below vocab_size \(10\)")
        for name in ("pad_id", "bos_id", "eos_id", "unk_id")
    ),
    ({"unk_id": 10}, ValueError, r"unk_id \(10\) must be at least 0 and below vocab_size \(10\)"),
    ({"vocab_size": 3}, ValueError, r"unk_id \(3\) must be at least 0 and below vocab_size \(3\)"),
    ({"eos_id": 1.5}, TypeError, r"eos_id \(1.5\) must be a whole number"),
]


@pytest.mark.parametrize(("wrong", "error", "words"), REFUSED, ids=lambda x: str(x) if isinstance(x, dict) else "")
def test_what_does_not_fit_is_refused_by_name_and_value(wrong, error, words):
    with unchecked():
        with pytest.raises(error, match=words):
            Config(**{"vocab_size": 10} | wrong)
        with pytest.raises(error, match=words):
            Config(vocab_size=10).replace(**wrong)


def test_one_id_may_have_several_roles_but_where_padding_is_hidden_it_is_nothing_else():
    one = Config(10, 8, 8, 1, 1, pad_id=9, bos_id=9, eos_id=9, unk_id=9)
    assert set(one.special_ids) == {9}
    assert set(GPT_2.special_ids) == {50_256}
    Gpt(one)
    for make in (Transformer, Bert):
        make(one.replace(pad_id=0))
    for name in ("bos_id", "eos_id", "unk_id"):
        shared = Config(10, 8, 8, 1, 1).replace(**{name: 0})
        for make in (Transformer, Bert, lambda config: create_params(config, np.random.default_rng(0))):
            with pytest.raises(ValueError, match=rf"pad_id \(0\) must differ from {name}: this model hides"):
                make(shared)


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="Config has no field d_mode, heads"):
        BASE.replace(heads=8, d_mode=512, dropout=0.2)


def test_numbers_of_numpy_are_numbers_and_are_kept_as_python_s():
    sizes = {"vocab_size": np.int64(20), "d_model": np.uint8(16), "n_heads": np.int32(2), "pad_id": np.int64(5)}
    with unchecked():
        config = Config(**sizes, dropout=np.float32(0.25), norm_eps=np.float64(1e-5))
        assert type(config.replace(d_k=np.int64(3)).d_k) is int
    assert config == Config(20, 16, n_heads=2, pad_id=5, dropout=0.25)
    assert {type(value) for value in dataclasses.astuple(config)} == {int, float, str, bool}
    assert Config(**json.loads(json.dumps(dataclasses.asdict(config)))) == config


@pytest.mark.parametrize("value", [np.True_, np.float64(2), np.array(2), np.array([2])])
def test_what_is_no_whole_number_of_numpy_s_is_refused(value):
    with unchecked(), pytest.raises(TypeError, match=r"n_heads \(.*\) must be a whole number"):
        Config(vocab_size=10, n_heads=value)


def test_what_is_not_a_number_is_at_least_nothing():
    with pytest.raises(ValueError, match=r"noise \(nan\) must be at least 0"):
        at_least(0, noise=float("nan"))
    at_least(0, noise=0.0)


def test_what_is_made_of_a_type_counts_as_one_of_it():
    instance(torch.Tensor, weight=torch.nn.Parameter(torch.ones(1)))
    with pytest.raises(TypeError, match=r"x must be a torch\.Tensor, not ndarray"):
        instance(torch.Tensor, x=np.ones(1))


@pytest.mark.parametrize("value", [2**63, 10**30, -(2**63)])
def test_a_number_that_no_tensor_can_hold_is_told_by_name(value):
    with pytest.raises(ValueError, match=rf"max_len \({value}\) must fit into 64 bits"):
        Config(10, max_len=value)
    with pytest.raises(ValueError, match=rf"seed \({value}\) must fit into 64 bits"):
        Options(seed=value)
    assert Options(seed=2**63 - 1).seed == 2**63 - 1
