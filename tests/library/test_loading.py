"""Folders that the library of Hugging Face has written: what is read gives the numbers that theirs gives."""

import json
from contextlib import nullcontext
from copy import deepcopy

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from foreign import BERT, DISTILBERT, GPT_2, LINEAR, LLAMA, LLAMA_3, QWEN_2, QWEN_3, ROBERTA, changed, precise, theirs
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from tested_transformer.__main__ import main
from tested_transformer.command import generate
from tested_transformer.config import SpecialIds
from tested_transformer.decoding.cache import GptCache
from tested_transformer.model.bert import Bert, Classifier, DistilBert, MaskedLM, Pretraining, SentenceBert
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.published.about import About
from tested_transformer.published.llama import rope_factors
from tested_transformer.published.loading import load_published
from tested_transformer.published.writing import to_huggingface

CASES = {
    "GPT-2": ("GPT2LMHeadModel", GPT_2),
    "GPT-2, exact gelu": ("GPT2LMHeadModel", GPT_2 | {"activation_function": "gelu"}),
    "GPT-2, relu, wider": ("GPT2LMHeadModel", GPT_2 | {"activation_function": "relu", "n_inner": 80}),
    "GPT-2 without head": ("GPT2Model", GPT_2 | {"layer_norm_epsilon": 1e-3}),
    "BERT": ("BertModel", BERT),
    "BERT, gelu_new": ("BertModel", BERT | {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3}),
    "BERT, relu": ("BertForMaskedLM", BERT | {"hidden_act": "relu"}),
    "BERT without pooler": ("BertModel", BERT),
    "BERT, masked words": ("BertForMaskedLM", BERT),
    "BERT, pre-training": ("BertForPreTraining", BERT | {"type_vocab_size": 3}),
    "BERT, three classes": ("BertForSequenceClassification", BERT | {"num_labels": 3}),
    "RoBERTa": ("RobertaModel", ROBERTA),
    "RoBERTa, padding is 3": ("RobertaModel", ROBERTA | {"pad_token_id": 3, "max_position_embeddings": 24}),
    "RoBERTa, masked words": ("RobertaForMaskedLM", ROBERTA),
    "RoBERTa, three classes": ("RobertaForSequenceClassification", ROBERTA | {"num_labels": 3}),
    "XLM-R": ("XLMRobertaModel", ROBERTA),
    "XLM-R, masked words": ("XLMRobertaForMaskedLM", ROBERTA | {"pad_token_id": 3, "max_position_embeddings": 24}),
    "XLM-R, two classes": ("XLMRobertaForSequenceClassification", ROBERTA),
    "DistilBERT": ("DistilBertModel", DISTILBERT),
    "DistilBERT, masked": ("DistilBertForMaskedLM", DISTILBERT),
    "DistilBERT, relu": ("DistilBertForMaskedLM", DISTILBERT | {"activation": "relu", "pad_token_id": 4}),
    "DistilBERT, 3 classes": ("DistilBertForSequenceClassification", DISTILBERT | {"num_labels": 3}),
    "Llama": ("LlamaForCausalLM", LLAMA),
    "Llama, tied": ("LlamaForCausalLM", LLAMA | {"tie_word_embeddings": True}),
    "Llama, 1 key head": ("LlamaForCausalLM", LLAMA | {"num_key_value_heads": 1}),
    "Llama, 4 key heads": ("LlamaForCausalLM", LLAMA | {"num_key_value_heads": 4}),
    "Llama, wide heads": ("LlamaForCausalLM", LLAMA | {"head_dim": 12}),
    "Llama, biases": ("LlamaForCausalLM", LLAMA | {"attention_bias": True}),
    "Llama, rope linear": ("LlamaForCausalLM", LLAMA | {"rope_parameters": LINEAR}),
    "Llama, rope llama3": ("LlamaForCausalLM", LLAMA | {"rope_parameters": LLAMA_3, "head_dim": 16}),
    "Qwen2": ("Qwen2ForCausalLM", QWEN_2),
    "Qwen2, tied": ("Qwen2ForCausalLM", QWEN_2 | {"tie_word_embeddings": True}),
    "Qwen2, wide heads": ("Qwen2ForCausalLM", QWEN_2 | {"head_dim": 12, "num_key_value_heads": 1}),
    "Qwen3": ("Qwen3ForCausalLM", QWEN_3),
    "Qwen3, tied": ("Qwen3ForCausalLM", QWEN_3 | {"tie_word_embeddings": True, "head_dim": 8}),
    "Qwen3, biases": ("Qwen3ForCausalLM", QWEN_3 | {"attention_bias": True, "num_key_value_heads": 4}),
    "Qwen3, rope linear": ("Qwen3ForCausalLM", QWEN_3 | {"rope_parameters": LINEAR}),
}
KINDS = {"BertModel": Bert, "RobertaModel": Bert, "GPT2Model": Gpt, "GPT2LMHeadModel": Gpt}
KINDS |= {"BertForMaskedLM": MaskedLM, "RobertaForMaskedLM": MaskedLM, "BertForPreTraining": Pretraining}
KINDS |= {"BertForSequenceClassification": Classifier, "LlamaForCausalLM": Llama}
KINDS |= {"Qwen2ForCausalLM": Llama, "Qwen3ForCausalLM": Llama}
KINDS |= {"RobertaForSequenceClassification": Classifier, "XLMRobertaForSequenceClassification": Classifier}
KINDS |= {"XLMRobertaModel": Bert, "XLMRobertaForMaskedLM": MaskedLM, "DistilBertModel": DistilBert}
KINDS |= {"DistilBertForMaskedLM": MaskedLM, "DistilBertForSequenceClassification": Classifier}
WITHIN = {torch.float64: 1e-10, torch.float32: 1e-5}


def case(name):
    kind, settings = CASES[name]
    return theirs(kind, settings, pooler=name != "BERT without pooler")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """For a case, their model in float64 and the folder that it was saved to; made once."""
    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("published")
            other = case(name)
            other.save_pretrained(folder)
            made[name] = (other, folder)
        return made[name]

    return get


def texts(pad_id, padded):
    """Three texts of tokens, of different lengths if padded, and their segments."""
    ids = torch.tensor(np.random.default_rng(0).integers(5, 39, size=(3, 17)))
    segments = (torch.arange(17) >= 6).long().repeat(3, 1)
    if padded:
        ids[1, 8:] = ids[2, 3:] = pad_id
        segments = segments * (ids != pad_id)
    return ids, segments


@torch.inference_mode()
def outputs(model, ids, segments, real):
    """All that ours says about real tokens."""
    if isinstance(model, Gpt):
        return [model(ids)[real]]
    if isinstance(model, Pretraining):
        return [*model(ids, real, segments)]
    if isinstance(model, MaskedLM):
        return [model(ids, segments)[real]]
    if isinstance(model, Classifier):
        return [model(ids, segments)]
    x = model(ids, segments)
    return [x[real], model.pool(x, ids)] if model.pooled else [x[real]]


@torch.inference_mode()
def their_outputs(model, ids, segments, real):
    without = ("gpt2", "llama", "qwen2", "qwen3", "distilbert")
    more = {} if model.config.model_type in without else {"token_type_ids": segments}
    out = model(ids, attention_mask=real.long(), **more)
    if isinstance(model, transformers.GPT2Model):
        return [F.linear(out.last_hidden_state, model.wte.weight)[real]]
    if "prediction_logits" in out:
        return [out.prediction_logits[real], out.seq_relationship_logits]
    if "logits" in out:
        return [out.logits[real] if out.logits.dim() == 3 else out.logits]
    pooled = [] if out.get("pooler_output") is None else [out.pooler_output]
    return [out.last_hidden_state[real], *pooled]


def largest(found, wanted):
    assert [x.shape for x in found] == [x.shape for x in wanted]
    return max((x.double() - y.double()).abs().max().item() for x, y in zip(found, wanted, strict=True))


@torch.inference_mode()
def differences(ours, other):
    """The largest difference in whole texts, in those with padding, and token by token from the cache."""
    pad_id = other.config.pad_token_id
    pad_id = 0 if pad_id is None else pad_id
    segmented = getattr(ours, "bert", ours)
    found = {}
    for name, padded in (("whole", False), ("padded", True)):
        ids, segments = texts(pad_id, padded)
        real = ids != pad_id
        segments = segments.clamp(max=max(getattr(segmented, "n_segments", 1) - 1, 0))
        wanted = their_outputs(other, ids, segments, real)
        found[name] = largest(outputs(ours, ids, segments, real), wanted)
    if isinstance(ours, Gpt):
        cache, ids = GptCache(ours), texts(pad_id, False)[0]
        steps = [cache.read(ids[:, :end]) for end in range(1, ids.size(1) + 1)]
        wanted = their_outputs(other, ids, None, torch.ones_like(ids, dtype=torch.bool))
        found["cache"] = largest([torch.cat(steps, 1).flatten(0, 1)], wanted)
    return found


def test_what_is_read_gives_the_numbers_that_theirs_gives(folders, capsys):
    """One row for each model: the largest difference from theirs, for each dtype."""
    rows, wrong = [], []
    for name, (kind, _) in CASES.items():
        other, folder = folders(name)
        found = {}
        for dtype, within in WITHIN.items():
            ours, tokens = load_published(folder, kind=KINDS[kind], dtype=dtype)
            assert type(ours) is KINDS[kind]
            assert tokens is None
            assert not ours.training
            assert {p.dtype for p in ours.parameters()} == {dtype}
            with precise(other) if dtype is torch.float64 else nullcontext():
                off = differences(ours, deepcopy(other).to(dtype))
            found |= {f"{dtype}"[-2:] + " " + where: x for where, x in off.items()}
            wrong += [(name, dtype, where, x) for where, x in off.items() if not x <= within]
        rows.append(f"{name:22}" + "".join(f"{where:>12}: {x:.1e}" for where, x in found.items()))
    with capsys.disabled():
        print("", *rows, sep="\n")
    assert not wrong


@pytest.mark.parametrize("name", ["GPT-2", "BERT, masked words", "DistilBERT, masked", "Llama, tied", "Qwen2", "Qwen3"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_on_the_disk_is_read_as_the_same_numbers(tmp_path, name, dtype):
    other = case(name).to(dtype)
    other.save_pretrained(tmp_path)
    ours, _ = load_published(tmp_path, dtype=torch.float64)
    with precise(other.double()):
        assert max(differences(ours, other).values()) <= 1e-10
    kept, _ = load_published(tmp_path, dtype=dtype)
    assert {p.dtype for p in kept.parameters()} == {dtype}


@pytest.mark.parametrize(
    "name", ["GPT-2", "BERT, pre-training", "XLM-R, masked words", "DistilBERT, 3 classes", "Llama", "Qwen2", "Qwen3"]
)
def test_weights_in_several_files_are_read_as_in_one(folders, tmp_path, name):
    other, folder = folders(name)
    other.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len([*tmp_path.glob("*.safetensors")]) > 2
    whole, parts = (load_published(each)[0].state_dict() for each in (folder, tmp_path))
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[key], parts[key]) for key in whole)


def test_norms_by_their_old_names_are_the_same_ones(folders, tmp_path):
    other, folder = folders("BERT, masked words")
    rest = ("config.json", "generation_config.json")
    for path in folder.iterdir():
        if path.name in rest:
            (tmp_path / path.name).write_bytes(path.read_bytes())
    old = {}
    for key, value in load_file(folder / "model.safetensors").items():
        name = key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        old[name] = value
    assert sum(name.endswith((".gamma", ".beta")) for name in old) == 12
    save_file(old, tmp_path / "model.safetensors")
    assert max(differences(load_published(tmp_path, dtype=torch.float64)[0], other).values()) <= 1e-10


def test_what_is_no_weight_in_old_files_is_passed_over(folders, tmp_path):
    more = {"bert.embeddings.position_ids": torch.arange(20)[None]}
    folder = changed(folders("BERT, masked words")[1], tmp_path, tensors=more)
    assert isinstance(load_published(folder)[0], MaskedLM)
    masks = {"transformer.h.0.attn.bias": torch.ones(1, 1, 20, 20), "transformer.h.0.attn.masked_bias": torch.zeros(())}
    folder = changed(folders("GPT-2")[1], tmp_path / "gpt", tensors=masks)
    assert isinstance(load_published(folder)[0], Gpt)
    turns = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    assert isinstance(load_published(changed(folders("Llama")[1], tmp_path / "l", tensors=turns))[0], Llama)


def test_a_table_that_is_there_twice_is_read_once(folders, tmp_path):
    _, folder = folders("Llama, tied")
    table = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    ours = load_published(changed(folder, tmp_path, tensors={"lm_head.weight": table.clone()}), dtype=torch.float64)[0]
    assert torch.equal(ours.tokens.weight, table)
    table[0] += 1
    with pytest.raises(ValueError, match=r"must be the same as tokens\.weight: ours has one"):
        load_published(changed(folder, tmp_path, tensors={"lm_head.weight": table}))


def test_settings_that_are_not_there_are_those_of_their_library(tmp_path):
    """A file may leave out what is usual: theirs then fills it in, and ours as well."""
    other = theirs("GPT2LMHeadModel", GPT_2 | {"n_head": 12, "n_embd": 24})
    other.save_pretrained(tmp_path)
    usual = ("n_inner", "n_head", "layer_norm_epsilon", "activation_function", "tie_word_embeddings")
    ours = load_published(changed(tmp_path, tmp_path / "short", without=usual), dtype=torch.float64)[0]
    assert max(differences(ours, other).values()) <= 1e-10
    assert ours.config.dropout == 0.1
    usual = ("layer_norm_eps", "hidden_act", "position_embedding_type", "type_vocab_size", "num_attention_heads")
    other = theirs("BertModel", BERT | {"hidden_size": 24, "num_attention_heads": 12})
    other.save_pretrained(tmp_path)
    ours = load_published(changed(tmp_path, tmp_path / "short", without=usual), dtype=torch.float64)[0]
    assert max(differences(ours, other).values()) <= 1e-10
    other = theirs("BertForSequenceClassification", BERT | {"num_labels": 2})
    other.save_pretrained(tmp_path)
    ours = load_published(changed(tmp_path, tmp_path / "short", without=("id2label",)), dtype=torch.float64)[0]
    assert max(differences(ours, other).values()) <= 1e-10
    usual = ("head_dim", "num_key_value_heads", "rms_norm_eps", "rope_parameters", "attention_bias", "hidden_act")
    usual = (*usual, "tie_word_embeddings", "max_position_embeddings")
    other = theirs("LlamaForCausalLM", LLAMA | {"num_key_value_heads": 4, "rms_norm_eps": 1e-6})
    other.save_pretrained(tmp_path)
    ours = load_published(changed(tmp_path, tmp_path / "short", without=usual), dtype=torch.float64)[0]
    with precise(other):
        assert max(differences(ours, other).values()) <= 1e-10
    assert ours.config.max_len == 2048


def old_style(rope):
    """The same settings as files had them before there were rope_parameters."""
    rest = {k: v for k, v in rope.items() if k not in ("rope_theta", "rope_type")}
    return {"rope_theta": rope["rope_theta"], "rope_scaling": {"type": rope["rope_type"]} | rest}


@pytest.mark.parametrize("name", ["Llama, rope linear", "Llama, rope llama3"])
def test_settings_of_rotary_positions_may_be_where_older_files_have_them(folders, tmp_path, name):
    _, folder = folders(name)
    rope = CASES[name][1]["rope_parameters"]
    new = load_published(folder)[0].config
    old = load_published(changed(folder, tmp_path, old_style(rope), without=("rope_parameters",)))[0].config
    assert old == new
    assert new.rope_base == 500.0
    both = {"rope_theta": 1.0, "rope_scaling": {}}
    assert load_published(changed(folder, tmp_path, both))[0].config == new, "the object counts, if there is one"
    both = {"rope_theta": 500.0, "rope_parameters": {k: v for k, v in rope.items() if k != "rope_theta"}}
    assert load_published(changed(folder, tmp_path, both))[0].config == new
    assert transformers.LlamaConfig(**LLAMA, **both).rope_parameters["rope_theta"] == 500.0
    both = {"rope_scaling": rope, "rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}
    assert load_published(changed(folder, tmp_path, both))[0].config == new
    assert transformers.LlamaConfig(**LLAMA, **both).rope_parameters["rope_theta"] == 500.0


def test_the_first_length_of_llama_3_is_the_present_one_where_none_is_given():
    rope = {k: v for k, v in LLAMA_3.items() if k != "original_max_position_embeddings"}
    given = About({"rope_parameters": rope, "max_position_embeddings": 40}, "x")
    wanted = About({"rope_parameters": LLAMA_3}, "x")
    assert rope_factors(given, 16) == rope_factors(wanted, 16)
    outside = given.fields | {"original_max_position_embeddings": 40, "max_position_embeddings": 900}
    assert rope_factors(About(outside, "x"), 16) == rope_factors(wanted, 16)
    assert len(set(rope_factors(wanted, 16))) > 3, "some stay, some are slowed, some are between"


def test_the_ids_of_special_tokens_are_those_of_the_file(folders, tmp_path):
    _, folder = folders("Llama")

    def ids(**about):
        return load_published(changed(folder, tmp_path, about))[0].config.special_ids

    none = {f"{name}_token_id": None for name in SpecialIds._fields}
    assert ids(**none) == (0, 0, 0, 0)
    assert ids(**none | {"bos_token_id": 5}) == (5, 5, 5, 5)
    assert ids(**none | {"bos_token_id": 5, "eos_token_id": [7, 8]}) == (7, 5, 7, 7)
    assert ids(pad_token_id=1, bos_token_id=2, eos_token_id=3, unk_token_id=4) == (1, 2, 3, 4)
    _, folder = folders("BERT")
    assert ids(**none | {"pad_token_id": 0}) == (0, 1, 1, 1)
    assert ids(**none | {"pad_token_id": 1}) == (1, 0, 0, 0)


def special(name):
    return {"SpecialToken": {"id": name, "type_id": 0}}


def around(*single):
    """What puts special tokens around a text, which is "A" here."""
    both = [*single, {"Sequence": {"id": "B", "type_id": 0}}]
    known = {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in (("<s>", 3), ("</s>", 4))}
    return {"type": "TemplateProcessing", "single": [*single], "pair": both, "special_tokens": known}


TEXT = {"Sequence": {"id": "A", "type_id": 0}}
BEGINS, CUT = around(special("<s>"), TEXT), {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
CUT |= {"use_regex": True}
FLAGS = "trim_offsets", "add_prefix_space"
PROCESSORS = {
    "none": None,
    "bytes": CUT,
    "begin": BEGINS,
    "another begin": around(special("</s>"), TEXT),
    "end": around(TEXT, special("</s>")),
    "both": around(special("<s>"), TEXT, special("</s>"), special("<s>")),
    "in a row": {"type": "Sequence", "processors": [CUT, BEGINS]},
    "roberta": {"type": "RobertaProcessing", "sep": ["</s>", 4], "cls": ["<s>", 3]} | dict.fromkeys(FLAGS, False),
    "bert": {"type": "BertProcessing", "sep": ["</s>", 4], "cls": ["<s>", 3]},
}  # fmt: skip


def with_tokens(folder, made, processor, settings=()):
    """A copy of the folder with a tokeniser of three letters and two special tokens."""
    made = changed(folder, made, {"bos_token_id": 4, "eos_token_id": 4})
    added = [{"id": i, "content": c, "special": True, "normalized": False} for i, c in ((3, "<s>"), (4, "</s>"))]
    added = [each | dict.fromkeys(("single_word", "lstrip", "rstrip"), False) for each in added]
    file = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "decoder": None}
    file |= {"added_tokens": added, "pre_tokenizer": CUT, "post_processor": processor}
    file |= {"model": {"type": "BPE", "vocab": {"A": 0, "B": 1, "C": 2}, "merges": []}}
    (made / "tokenizer.json").write_text(json.dumps(file))
    (made / "tokenizer_config.json").write_text(json.dumps(dict(settings)))
    return made


@pytest.mark.parametrize("add", [{}, {"add_bos_token": True}, {"add_bos_token": False}])
@pytest.mark.parametrize("name", PROCESSORS)
def test_what_is_put_around_a_text_is_what_the_library_puts_there(folders, tmp_path, monkeypatch, name, add):
    made = with_tokens(folders("Llama")[1], tmp_path / "a", PROCESSORS[name], add)
    library = tokenizers.Tokenizer.from_file(str(made / "tokenizer.json"))
    read, wanted = [], library.encode("AB").ids
    monkeypatch.setattr(generate, "stream", lambda model, ids, *given, **more: read.append(ids) or iter(()))
    assert main(["generate", "AB", "--model", str(made)]) == 0
    assert read == [wanted]
    if "add_bos_token" not in add:
        assert transformers.AutoTokenizer.from_pretrained(made)("AB")["input_ids"] == wanted
    to_huggingface(*load_published(made)[:1], tmp_path / "b", load_published(made)[1])
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "b" / "tokenizer.json")).encode("AB").ids == wanted


@pytest.mark.parametrize(
    ("processor", "words"),
    [
        (around(), "single must have the text once"),
        (around(TEXT, TEXT), "single must have the text once"),
        (around(special("<s>"), special("<s>"), TEXT), r"puts several ids before a text: one is known .*\[3, 3\]"),
        (around(special("<t>"), TEXT), "'<t>' must be dict, not NoneType"),
        (BEGINS | {"special_tokens": {"<s>": {"ids": ["3"]}}}, "single must have the text once, and ids around it"),
        (around(TEXT, special("<s>")) | {"special_tokens": {"<s>": {"ids": [5]}}}, "puts id 5 after a text, and "),
        (BEGINS | {"special_tokens": {"<s>": {"ids": [5]}}}, r"special_ids\.bos \(5\) must be"),
        ({"type": "Sequence", "processors": [CUT, 3]}, "the post_processor is 3; known are ByteLevel, Tem"),
        ({"type": "Sequence", "processors": [BEGINS, around(TEXT, special("<s>"))]}, "two of a Sequence add ids"),
        ({"type": "Other"}, "the post_processor is 'Other'; known are ByteLevel, Template"),
        ({"type": "BertProcessing", "cls": ["<s>", 3], "sep": ["</s>"]}, "sep must be a token and its id"),
    ],
)  # fmt: skip
def test_what_cannot_be_put_around_a_text_is_refused(folders, tmp_path, processor, words):
    with pytest.raises(ValueError, match=words):
        load_published(with_tokens(folders("Llama")[1], tmp_path, processor))


@pytest.mark.parametrize(
    ("add", "begins"), [({}, False), ({"add_bos_token": True}, True), ({"add_bos_token": "y"}, False)]
)
def test_without_tokenizer_json_the_settings_say_whether_a_text_has_a_begin_token(folders, tmp_path, add, begins):
    made = changed(folders("GPT-2")[1], tmp_path, {"bos_token_id": 0, "eos_token_id": 0})
    (made / "vocab.json").write_text(json.dumps({"<|endoftext|>": 0, "A": 1}))
    (made / "merges.txt").write_text("#version: 0.2\n")
    (made / "tokenizer_config.json").write_text(json.dumps(add))
    assert load_published(made)[1].add_bos is begins


def test_a_body_out_of_a_whole_model_is_the_body(folders, tmp_path):
    """Their files of a body alone have the name of the whole before each name, or not."""
    other, folder = folders("BERT")
    named = {f"bert.{k}": v for k, v in load_file(folder / "model.safetensors").items()}
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    save_file(named, tmp_path / "model.safetensors")
    assert max(differences(load_published(tmp_path, dtype=torch.float64)[0], other).values()) <= 1e-10


def test_the_class_that_is_asked_for_must_be_the_one_that_is_there(folders):
    _, folder = folders("BERT, masked words")
    with pytest.raises(TypeError, match=rf"^{folder} is a MaskedLM, not a Gpt$"):
        load_published(folder, kind=Gpt)
    assert isinstance(load_published(folder, "cpu", MaskedLM)[0], MaskedLM)
    _, folder = folders("Llama")
    assert isinstance(load_published(folder, kind=Gpt)[0].config, LlamaConfig)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.complex64])
def test_a_dtype_that_nothing_computes_in_is_refused(folders, dtype):
    with pytest.raises(ValueError, match=rf"dtype \({dtype}\) must be one of torch\.float16, .*torch\.float64"):
        load_published(folders("BERT")[1], dtype=dtype)


# Vectors of sentences

POOLING = {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False}
POOLING |= {"pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}


def with_pooling(folder, made, mode, normalised, most=None):
    """A copy of the folder with the files that sentence-transformers has."""
    changed(folder, made)
    (made / "1_Pooling").mkdir(exist_ok=True)
    (made / "1_Pooling/config.json").write_text(json.dumps(POOLING | {f"pooling_mode_{mode}": True}))
    kinds = ["Transformer", "Pooling", *["Normalize"] * normalised]
    listed = [{"idx": i, "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)]
    (made / "modules.json").write_text(json.dumps(listed))
    if most is not None:
        (made / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": most, "do_lower_case": False}))
    return made


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("mode", ["mean_tokens", "cls_token", "max_tokens"])
def test_pooling_is_the_one_that_is_written_beside_the_model(folders, tmp_path, mode, normalised):
    other, folder = folders("BERT")
    with_pooling(folder, tmp_path, mode, normalised, 12)
    ours, _ = load_published(tmp_path, kind=SentenceBert, dtype=torch.float64)
    ids, segments = texts(0, padded=True)
    wanted = []
    for row, segment in zip(ids, segments, strict=True):  # each alone, without padding
        n = int((row != 0).sum())
        x = other(row[None, :n], token_type_ids=segment[None, :n]).last_hidden_state[0]
        x = {"mean_tokens": x.mean(0), "cls_token": x[0], "max_tokens": x.max(0).values}[mode]
        wanted.append(x / x.norm() if normalised else x)
    assert torch.allclose(ours(ids, segments), torch.stack(wanted), rtol=0, atol=1e-10)
    assert ours.max_tokens == 12
    (tmp_path / "sentence_bert_config.json").unlink()
    assert load_published(tmp_path, kind=SentenceBert)[0].max_tokens == 20
    (tmp_path / "modules.json").unlink()
    assert not load_published(tmp_path, kind=SentenceBert)[0].normalised


def test_sentences_of_a_roberta_have_positions_behind_the_padding(folders, tmp_path):
    with_pooling(folders("RoBERTa")[1], tmp_path, "mean_tokens", True)
    ours, _ = load_published(tmp_path, kind=SentenceBert)
    assert (ours.bert.first_position, ours.max_tokens) == (2, 20)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}, "no pooling is not known here"),
        ("1_Pooling/config.json", {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, "_lasttoken is"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "cls_token and pooling_mode_mean_tokens is not"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": 1}, r"pooling_mode_mean_tokens \(1\) must be true or"),
        ("modules.json", [{"type": "a.Transformer"}, {"type": "a.Pooling"}, {"type": "a.Dense"}], "'Dense'"),
        ("modules.json", [{"type": "a.Transformer"}, {"type": "a.Normalize"}, {"type": "a.Pooling"}], "in this order"),
        ("modules.json", [1], "must be a list of objects, each with a type"),
        ("modules.json", [{"name": "0"}], "must be a list of objects, each with a type"),
        ("sentence_bert_config.json", {"max_seq_length": 21}, r"max_tokens \(21\) must be at least 1 and at most 20"),
        ("sentence_bert_config.json", {"max_seq_length": 0}, r"max_seq_length \(0\) must be a whole number, at least"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_pooling_that_is_not_known_is_refused_with_the_name_of_its_file(folders, tmp_path, file, content, words):
    with_pooling(folders("BERT")[1], tmp_path, "mean_tokens", True)
    if file.startswith("1_"):
        content = POOLING | {"pooling_mode_mean_tokens": True} | content
    (tmp_path / file).write_text(json.dumps(content))
    with pytest.raises(ValueError, match=words) as refused:
        load_published(tmp_path)
    assert str(tmp_path / file) in str(refused.value)
