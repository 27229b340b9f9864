"""BERT, RoBERTa and GPT-2 are those of Hugging Face's library: the same weights give the same numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from foreign import LLAMA
from helpers import randomised, unchecked
from safetensors.torch import load_file

from tested_transformer.config import Config
from tested_transformer.decoding.sampling import sample
from tested_transformer.exchange import from_huggingface
from tested_transformer.model.bert import BERT_BASE, ROBERTA_BASE, Bert, Classifier, Pretraining
from tested_transformer.model.gpt import GPT_2, Gpt
from tested_transformer.model.llama import Llama, LlamaConfig

SMALL = Config(40, 32, 64, 4, 2, dropout=0.0, max_len=20, activation="gelu", attention_bias=True, norm_eps=1e-12)
SIZES = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
SIZES |= {"num_hidden_layers": 2, "max_position_embeddings": 20}


def copied(theirs, ours, missing=()):
    """Ours with the weights of theirs. Every weight of either has its partner, but for the missing."""
    lacking, unknown = ours.to(next(theirs.parameters()).dtype).load_state_dict(
        from_huggingface(theirs.state_dict()), strict=False
    )
    assert unknown == []
    assert all(name.startswith(missing) for name in lacking), lacking
    return ours.eval()


def theirs(kind, dtype=torch.float64, **settings):
    """A model of theirs with random weights, all of them, biases and norms too."""
    model = getattr(transformers, kind)
    config = model.config_class(**settings, attn_implementation="eager")
    return randomised(model(config)).to(dtype).eval()


def ragged_pairs(pad_id):
    """Three rows of two texts each; the second and the third are shorter."""
    ids = np.random.default_rng(0).integers(5, 40, size=(3, 12))
    ids[1, 8:] = ids[2, 5:] = pad_id
    segments = np.tile(np.arange(12) >= 4, (3, 1)) * (ids != pad_id)
    return torch.tensor(ids), torch.tensor(segments.astype(int))


def near(ours, theirs, within=1e-10):
    assert ours.shape == theirs.shape
    assert torch.allclose(ours, theirs, rtol=0, atol=within), (ours - theirs).abs().max()


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_bert_is_theirs_with_padding_and_segments(dtype, within):
    other = theirs("BertModel", dtype, **SIZES, layer_norm_eps=1e-12)
    ours = copied(other, Bert(SMALL))
    ids, segments = ragged_pairs(pad_id=0)
    out = other(ids, attention_mask=ids != 0, token_type_ids=segments, output_hidden_states=True)
    found = ours(ids, segments)
    near(found[ids != 0], out.last_hidden_state[ids != 0], within)
    near(ours.pool(found), out.pooler_output, within)
    near(ours.embed(ids, segments)[ids != 0], out.hidden_states[0][ids != 0], within)


def test_without_segments_all_tokens_are_of_the_first_text():
    other = theirs("BertModel", **SIZES, layer_norm_eps=1e-12)
    ids, _ = ragged_pairs(pad_id=0)
    near(copied(other, Bert(SMALL))(ids)[0], other(ids, attention_mask=ids != 0).last_hidden_state[0])


def test_both_heads_of_pre_training_are_theirs_at_the_chosen_places():
    other = theirs("BertForPreTraining", **SIZES, layer_norm_eps=1e-12)
    ours = copied(other, Pretraining(Bert(SMALL)))
    ids, segments = ragged_pairs(pad_id=0)
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    chosen[0, 2] = chosen[0, 9] = chosen[2, 4] = True
    out = other(ids, attention_mask=ids != 0, token_type_ids=segments)
    words, follows = ours(ids, chosen, segments)
    near(words, out.prediction_logits[chosen])
    near(follows, out.seq_relationship_logits)


def test_roberta_is_theirs_and_its_positions_begin_behind_the_padding():
    config = SMALL.replace(pad_id=1, bos_id=0, eos_id=2, unk_id=3, norm_eps=1e-5)
    settings = SIZES | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
    ids, _ = ragged_pairs(pad_id=1)
    other = theirs("RobertaModel", **settings)
    ours = copied(other, Bert(config, n_segments=1, first_position=2))
    out = other(ids, attention_mask=ids != 1)
    near(ours(ids)[ids != 1], out.last_hidden_state[ids != 1])
    near(ours.pool(ours(ids)), out.pooler_output)
    wrong = copied(other, Bert(config, n_segments=1, first_position=0))
    assert not torch.allclose(wrong(ids)[0], out.last_hidden_state[0], atol=0.1)


@pytest.mark.parametrize("name", ["RobertaModel", "BertModel"])
def test_padding_in_front_is_theirs_where_positions_count_words(name):
    roberta = name == "RobertaModel"
    pad_id, first = (1, 2) if roberta else (0, 0)
    settings = {"type_vocab_size": 1, "pad_token_id": pad_id, "layer_norm_eps": 1e-5}
    other = theirs(name, **SIZES | settings)
    config = SMALL.replace(pad_id=pad_id, bos_id=3, unk_id=4, norm_eps=1e-5)
    ours = copied(other, Bert(config, n_segments=1, first_position=first))
    ids = ragged_pairs(pad_id)[0].flip(1)
    ids[1, 7] = pad_id  # and a hole
    real = ids != pad_id
    # RoBERTa's counts words by itself; BERT's has to be told
    told = {} if roberta else {"position_ids": (real.cumsum(1) - 1).clamp(min=0)}
    out = other(ids, attention_mask=real, **told)
    near(ours(ids)[real], out.last_hidden_state[real])
    first_word = out.last_hidden_state[range(3), real.int().argmax(1)]
    near(ours.pool(ours(ids), ids), torch.tanh(ours.pooler(first_word)))


def test_the_word_head_of_roberta_is_theirs():
    config = SMALL.replace(pad_id=1, bos_id=0, eos_id=2, unk_id=3, norm_eps=1e-5)
    settings = SIZES | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
    other = theirs("RobertaForMaskedLM", **settings)
    ours = copied(other, Pretraining(Bert(config, 1, 2)), missing=("next_head", "bert.pooler"))
    ids, _ = ragged_pairs(pad_id=1)
    words, _ = ours(ids, ids != 1)
    near(words, other(ids, attention_mask=ids != 1).logits[ids != 1])


def test_gpt_2_is_theirs_with_the_exact_gelu():
    sizes = {"vocab_size": 40, "n_embd": 32, "n_inner": 64, "n_head": 4, "n_layer": 2, "n_positions": 20}
    other = theirs("GPT2LMHeadModel", **sizes, activation_function="gelu")
    ours = copied(other, Gpt(SMALL.replace(norm_first=True, norm_eps=1e-5)))
    ids = torch.tensor(np.random.default_rng(0).integers(0, 40, size=(3, 12)))
    near(ours(ids), other(ids).logits)
    approximate = theirs("GPT2LMHeadModel", **sizes, activation_function="gelu_new")
    off = (ours(ids) - approximate(ids).logits).abs().max()
    assert 1e-6 < off < 1e-1, "the tanh formula of the published code is close, and not the same"


def test_gpt_2_writes_what_theirs_writes_and_ends_where_it_ends():
    sizes = {"vocab_size": 40, "n_embd": 32, "n_inner": 64, "n_head": 4, "n_layer": 2, "n_positions": 20}
    settings = sizes | {"bos_token_id": 39, "eos_token_id": 39, "initializer_range": 0.5, "activation_function": "gelu"}
    torch.manual_seed(0)
    other = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)).eval()
    one = dict.fromkeys(("pad_id", "bos_id", "eos_id", "unk_id"), 39)
    ours = copied(other, Gpt(SMALL.replace(norm_first=True, norm_eps=1e-5, **one)))
    prompts = torch.tensor(np.random.default_rng(0).integers(0, 39, size=(60, 3)))
    found = sample(ours, prompts, 16, top_k=1)
    assert torch.equal(found, other.generate(prompts, max_length=16, do_sample=False, pad_token_id=39))
    written = set(found[:, 3:].flatten().tolist())
    assert {0, 1, 39} <= written, "words with the ids that ours have for padding and begin, and the end"


def test_gpt_2_without_its_head_and_with_the_masks_of_old_files_has_the_same_weights():
    sizes = {"vocab_size": 40, "n_embd": 32, "n_inner": 64, "n_head": 4, "n_layer": 2, "n_positions": 20}
    whole = theirs("GPT2LMHeadModel", **sizes)
    masks = {"h.0.attn.bias": torch.ones(1, 1, 20, 20), "h.0.attn.masked_bias": torch.tensor(-1e4)}
    found = from_huggingface(whole.transformer.state_dict() | masks)
    wanted = from_huggingface(whole.state_dict())
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in found)


def test_a_table_that_is_another_at_the_output_is_refused():
    state = theirs("BertForPreTraining", **SIZES).state_dict()
    state["cls.predictions.decoder.weight"] = state["cls.predictions.decoder.weight"] + 1
    with pytest.raises(ValueError, match=r"decoder\.weight must be the same as bert\.tokens\.weight: ours has one"):
        from_huggingface(state)


@pytest.mark.parametrize("given", ["folder", Path("folder"), SMALL, [], None], ids=lambda x: type(x).__name__)
def test_what_is_no_state_dict_is_refused_with_what_to_give(given):
    words = (
        rf"given must be a state_dict, not {type(given).__name__}: give model\.state_dict\(\), .*load_file.* folder$"
    )
    with unchecked(), pytest.raises(TypeError, match=words):
        from_huggingface(given)


def test_a_model_in_place_of_its_state_dict_is_refused_with_what_to_give():
    with unchecked(), pytest.raises(TypeError, match=r"not BertModel: give model\.state_dict\(\)"):
        from_huggingface(theirs("BertModel", **SIZES))


@pytest.mark.parametrize("value", [{"a": torch.ones(2)}, 3, np.ones(2)], ids=["dict", "int", "ndarray"])
def test_an_entry_that_is_no_tensor_is_refused_by_its_name(value):
    state = {"wte.weight": torch.ones(2, 2), "model.of.it": value}
    words = rf"model\.of\.it must be a torch\.Tensor, not {type(value).__name__}"
    with unchecked(), pytest.raises(TypeError, match=words):
        from_huggingface(state)


def test_the_file_of_a_folder_is_read_as_the_message_says(tmp_path):
    other = theirs("BertModel", **SIZES)
    other.save_pretrained(tmp_path)
    found, wanted = from_huggingface(load_file(tmp_path / "model.safetensors")), from_huggingface(other.state_dict())
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_a_name_that_is_not_known_stays_and_is_refused_by_loading():
    state = theirs("BertForPreTraining", **SIZES).state_dict()
    found = from_huggingface(state | {"encoder_of.another.weight": torch.ones(1)})
    assert "encoder_of.another.weight" in found
    with pytest.raises(RuntimeError, match=r"Unexpected key.*encoder_of\.another\.weight"):
        Pretraining(Bert(SMALL)).load_state_dict(found)


def test_the_head_of_three_classes_is_theirs():
    other = theirs("BertForSequenceClassification", **SIZES, layer_norm_eps=1e-12, num_labels=3)
    ours = copied(other, Classifier(Bert(SMALL), 3))
    ids, segments = ragged_pairs(pad_id=0)
    near(ours(ids, segments), other(ids, attention_mask=ids != 0, token_type_ids=segments).logits)


@pytest.mark.parametrize("tied", [True, False])
def test_llama_is_theirs_with_one_table_or_two(tied):
    sizes = LLAMA | {"tie_word_embeddings": tied}
    other = theirs("LlamaForCausalLM", torch.float32, **sizes)
    config = LlamaConfig(40, 32, 48, 4, 2, n_kv_heads=2, max_len=64, tied=tied)
    ids = torch.tensor(np.random.default_rng(0).integers(0, 40, size=(3, 12)))
    near(copied(other, Llama(config))(ids), other(ids).logits, 1e-5)


@pytest.mark.parametrize(
    ("prefix", "wrapper"),
    [("module.", "DataParallel"), ("_orig_mod.", "torch.compile"), ("_orig_mod.module.", "torch")],
)
def test_names_of_a_wrapped_model_are_refused_with_the_wrapper(prefix, wrapper):
    state = {f"{prefix}{key}": value for key, value in theirs("BertModel", **SIZES).state_dict().items()}
    with pytest.raises(
        ValueError, match=rf"begins with '{prefix[:7]}.*of a model wrapped by {wrapper}.*: take those of"
    ):
        from_huggingface(state)


def test_norms_by_their_old_names_are_norms():
    state = theirs("BertModel", **SIZES).state_dict()
    old = {k.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): v for k, v in state.items()}
    assert sum(name.endswith(("gamma", "beta")) for name in old) == 10
    wanted, found = from_huggingface(state), from_huggingface(old)
    assert wanted.keys() == found.keys()
    assert all(wanted[key] is found[key] or torch.equal(wanted[key], found[key]) for key in wanted)


@pytest.mark.parametrize(
    ("ours", "kind", "settings", "published"),
    [
        (lambda: Bert(BERT_BASE), "BertModel", {}, 109_482_240),
        (lambda: Pretraining(Bert(BERT_BASE)), "BertForPreTraining", {}, 110_106_428),
        (
            lambda: Bert(ROBERTA_BASE, 1, 2),
            "RobertaModel",
            {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
            124_645_632,
        ),
        (lambda: Gpt(GPT_2), "GPT2LMHeadModel", {}, 124_439_808),
    ],
    ids=["bert", "with its heads", "roberta", "gpt-2"],
)
def test_the_published_sizes_have_as_many_parameters_as_theirs(ours, kind, settings, published):
    with torch.device("meta"):
        model = getattr(transformers, kind)
        counts = [sum(p.numel() for p in m.parameters()) for m in (ours(), model(model.config_class(**settings)))]
    assert counts == [published, published]
