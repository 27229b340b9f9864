"""BERT, RoBERTa and GPT-2 are those of Hugging Face's library: the same weights give the same numbers."""

import numpy as np
import pytest
import torch
import transformers
from helpers import randomised

from tested_transformer.config import Config
from tested_transformer.model.bert import BERT_BASE, ROBERTA_BASE, Bert, Pretraining
from tested_transformer.model.gpt import GPT_2, Gpt

SMALL = Config(40, 32, 64, 4, 2, dropout=0.0, max_len=20, activation="gelu", attention_bias=True, norm_eps=1e-12)
SIZES = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
SIZES |= {"num_hidden_layers": 2, "max_position_embeddings": 20}

EMBEDDINGS = {
    "tokens": "embeddings.word_embeddings",
    "positions.table": "embeddings.position_embeddings.weight",
    "segments": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "pooler": "pooler.dense",
}
LAYER = {
    "self_attention.w_q": "attention.self.query",
    "self_attention.w_k": "attention.self.key",
    "self_attention.w_v": "attention.self.value",
    "self_attention.w_o": "attention.output.dense",
    "addnorm_1.norm": "attention.output.LayerNorm",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "addnorm_2.norm": "output.LayerNorm",
}
LAYERS = {f"encoder.layers.{i}.{o}": f"encoder.layer.{i}.{t}" for i in range(2) for o, t in LAYER.items()}
BERT = EMBEDDINGS | LAYERS
HEADS = {
    "word_head.linear": "cls.predictions.transform.dense",
    "word_head.norm": "cls.predictions.transform.LayerNorm",
    "word_head.bias": "cls.predictions.bias",
    "next_head": "cls.seq_relationship",
} | {f"bert.{o}": f"bert.{t}" for o, t in BERT.items()}
ROBERTA_WORDS = {
    "word_head.linear": "lm_head.dense",
    "word_head.norm": "lm_head.layer_norm",
    "word_head.bias": "lm_head.bias",
} | {f"bert.{o}": f"roberta.{t}" for o, t in BERT.items() if o != "pooler"}


def copied(theirs, ours, names, missing=()):
    """Ours with the weights of theirs, by these names. Every weight of either has its partner, but for the missing."""
    given, state = theirs.state_dict(), {}
    ours.to(next(theirs.parameters()).dtype)
    for key in ours.state_dict():
        stem, _, kind = key.rpartition(".")
        if stem.split(".")[0] in missing or stem in missing:
            state[key] = ours.state_dict()[key]
        else:
            state[key] = given.pop(names[key] if key in names else f"{names[stem]}.{kind}")
    ours.load_state_dict(state)
    tied = sorted(k for k in given if "decoder" in k)  # the table once more, under a second name
    assert sorted(given) == tied, f"weights without a partner: {sorted(given)}"
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
    ours = copied(other, Bert(SMALL), BERT)
    ids, segments = ragged_pairs(pad_id=0)
    out = other(ids, attention_mask=ids != 0, token_type_ids=segments, output_hidden_states=True)
    found = ours(ids, segments)
    near(found[ids != 0], out.last_hidden_state[ids != 0], within)
    near(ours.pool(found), out.pooler_output, within)
    near(ours.embed(ids, segments), out.hidden_states[0], within)


def test_without_segments_all_tokens_are_of_the_first_text():
    other = theirs("BertModel", **SIZES, layer_norm_eps=1e-12)
    ids, _ = ragged_pairs(pad_id=0)
    near(copied(other, Bert(SMALL), BERT)(ids)[0], other(ids, attention_mask=ids != 0).last_hidden_state[0])


def test_both_heads_of_pre_training_are_theirs_at_the_chosen_places():
    other = theirs("BertForPreTraining", **SIZES, layer_norm_eps=1e-12)
    ours = copied(other, Pretraining(Bert(SMALL)), HEADS)
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
    ours = copied(other, Bert(config, n_segments=1, first_position=2), BERT)
    out = other(ids, attention_mask=ids != 1)
    near(ours(ids)[ids != 1], out.last_hidden_state[ids != 1])
    near(ours.pool(ours(ids)), out.pooler_output)
    wrong = copied(other, Bert(config, n_segments=1, first_position=0), BERT)
    assert not torch.allclose(wrong(ids)[0], out.last_hidden_state[0], atol=0.1)


def test_the_word_head_of_roberta_is_theirs():
    config = SMALL.replace(pad_id=1, bos_id=0, eos_id=2, unk_id=3, norm_eps=1e-5)
    settings = SIZES | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
    other = theirs("RobertaForMaskedLM", **settings)
    ours = copied(other, Pretraining(Bert(config, 1, 2)), ROBERTA_WORDS, missing=("next_head", "bert.pooler"))
    ids, _ = ragged_pairs(pad_id=1)
    words, _ = ours(ids, ids != 1)
    near(words, other(ids, attention_mask=ids != 1).logits[ids != 1])


def gpt_state(other):
    """Theirs keeps weights as (in, out), and queries, keys and values in one matrix."""
    given, names = other.state_dict(), {"ln_1": "addnorm_1.norm", "ln_2": "addnorm_2.norm"}
    names |= {"attn.c_proj": "self_attention.w_o", "mlp.c_fc": "feed_forward.w_1", "mlp.c_proj": "feed_forward.w_2"}
    state = {"tokens.weight": given["transformer.wte.weight"], "positions.table": given["transformer.wpe.weight"]}
    for kind in ("weight", "bias"):
        state[f"decoder.norm.{kind}"] = given[f"transformer.ln_f.{kind}"]
        for i in range(2):
            layer, head = f"decoder.layers.{i}", f"transformer.h.{i}"
            for stem, name in names.items():
                value = given[f"{head}.{stem}.{kind}"]
                state[f"{layer}.{name}.{kind}"] = value.t()
            parts = given[f"{head}.attn.c_attn.{kind}"].t().chunk(3)
            state |= {f"{layer}.self_attention.w_{n}.{kind}": w for n, w in zip("qkv", parts, strict=True)}
    return state


def test_gpt_2_is_theirs_with_the_exact_gelu():
    sizes = {"vocab_size": 40, "n_embd": 32, "n_inner": 64, "n_head": 4, "n_layer": 2, "n_positions": 20}
    other = theirs("GPT2LMHeadModel", **sizes, activation_function="gelu")
    ours = Gpt(SMALL.replace(norm_first=True, norm_eps=1e-5)).double().eval()
    ours.load_state_dict(gpt_state(other))
    ids = torch.tensor(np.random.default_rng(0).integers(0, 40, size=(3, 12)))
    near(ours(ids), other(ids).logits)
    approximate = theirs("GPT2LMHeadModel", **sizes, activation_function="gelu_new")
    off = (ours(ids) - approximate(ids).logits).abs().max()
    assert 1e-6 < off < 1e-1, "the tanh formula of the published code is close, and not the same"


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
