"""The published sizes field by field, and the paper's settings: a number of heads or an eps changes no count."""

import inspect
from dataclasses import asdict

import pytest
import torch
from torch import nn
from transformers import BertConfig, GPT2Config, RobertaConfig, ViTConfig

from tested_transformer.book.paper import PUBLISHED, SETTINGS, printed
from tested_transformer.config import BASE, BIG, TABLE_3
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.limits import MORE
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.bert import BERT_BASE, ROBERTA_BASE
from tested_transformer.model.gpt import GPT_2
from tested_transformer.model.patches import VIT_BASE
from tested_transformer.training.adam import create_adam
from tested_transformer.training.loss import smoothed_loss
from tested_transformer.training.options import Options
from tested_transformer.training.schedule import create_schedule, rate

IDS = ("pad_id", "bos_id", "eos_id", "unk_id")
ORDER = {"norm_first": True, "final_norm": True}  # where ours is not the paper's


def sizes(config):
    """Every field of ours but the special ids."""
    return {name: value for name, value in asdict(config).items() if name not in IDS}


def theirs(c, **others):
    """What a config of Hugging Face says in its own words, and where it is silent or not the published one, others."""
    return {
        "d_model": c.hidden_size,
        "n_heads": c.num_attention_heads,
        "n_layers": c.num_hidden_layers,
        "d_k": c.hidden_size // c.num_attention_heads,
        "d_v": c.hidden_size // c.num_attention_heads,
        "attention_bias": True,
        "norm_first": False,
        "final_norm": False,
        "fused": True,
    } | others


def test_bert_base_is_theirs_field_by_field():
    c = BertConfig()
    same = {"vocab_size": c.vocab_size, "d_ff": c.intermediate_size, "max_len": c.max_position_embeddings}
    same |= {"dropout": c.hidden_dropout_prob, "norm_eps": c.layer_norm_eps, "activation": c.hidden_act}
    assert sizes(BERT_BASE) == theirs(c, **same)
    assert BERT_BASE.special_ids == (c.pad_token_id, 101, 102, 100)  # [CLS], [SEP] and [UNK] of the published words


def test_roberta_base_is_theirs_field_by_field():
    """Their defaults for its positions and its eps are BERT's; those of the published model are 514 and 1e-5."""
    c = RobertaConfig()
    same = {"vocab_size": c.vocab_size, "d_ff": c.intermediate_size, "max_len": 512 + c.pad_token_id + 1}
    same |= {"dropout": c.hidden_dropout_prob, "norm_eps": 1e-5, "activation": c.hidden_act}
    assert sizes(ROBERTA_BASE) == theirs(c, **same)
    assert ROBERTA_BASE.special_ids == (c.pad_token_id, c.bos_token_id, c.eos_token_id, 3)  # <unk>


def test_gpt_2_is_theirs_field_by_field():
    c = GPT2Config()
    same = {"vocab_size": c.vocab_size, "d_ff": c.n_inner or 4 * c.n_embd, "max_len": c.n_positions}
    same |= {"dropout": c.embd_pdrop, "norm_eps": c.layer_norm_epsilon, "activation": "gelu_tanh"}
    assert c.embd_pdrop == c.resid_pdrop
    assert c.activation_function == "gelu_new"
    assert sizes(GPT_2) == theirs(c, **same, **ORDER)


def test_the_end_of_a_text_has_the_id_that_it_has_in_gpt_2():
    assert (GPT_2.bos_id, GPT_2.eos_id) == (GPT2Config().bos_token_id, GPT2Config().eos_token_id)


def test_vit_base_is_theirs_field_by_field():
    """Their default eps is BERT's, the published code has 1e-6; dropout is that of the paper's Table 3.

    The vocabulary is that of `BASE`: there is no table of tokens.
    """
    c = ViTConfig()
    same = {"vocab_size": BASE.vocab_size, "d_ff": c.intermediate_size, "activation": c.hidden_act}
    same |= {"max_len": (c.image_size // c.patch_size) ** 2 + 1, "dropout": 0.1, "norm_eps": 1e-6}
    assert c.qkv_bias
    assert sizes(VIT_BASE) == theirs(c, **same, **ORDER)


# The paper


def default(function, name):
    return inspect.signature(function).parameters[name].default


ADAM = create_adam([nn.Parameter(torch.zeros(1))]).defaults
BEGINS = {
    "Adam: β₁": [ADAM["betas"][0]],
    "Adam: β₂": [ADAM["betas"][1]],
    "Adam: ε": [ADAM["eps"]],
    "step with the highest learning rate": [Options().warmup, *(default(f, "warmup") for f in (rate, create_schedule))],
    "base: dropout": [BASE.dropout],
    "big: dropout": [BIG.dropout],
    "label smoothing": [Options().smoothing, default(smoothed_loss, "smoothing")],
    "beam search: size of the beam": [default(f, "width") for f in (beam, Translator, Translator.load)],
    "beam search: length penalty α": [default(f, "alpha") for f in (beam, Translator, Translator.load)],
    "output: tokens more than the input": [MORE],
} | {f"{row}: width of a head": [c.d_k, c.d_v] for row, c in TABLE_3.items() if f"{row}: width of a head" in PUBLISHED}


@pytest.mark.parametrize("name", BEGINS)
def test_the_package_begins_with_what_the_paper_prints(name):
    assert BEGINS[name] == [printed(name)] * len(BEGINS[name])


def test_no_setting_of_the_paper_is_left_out():
    assert BEGINS.keys() >= SETTINGS
