"""Where models drop out while they learn: where Hugging Face's models and PyTorch's do, under the same masks."""

import re

import pytest
import torch
import transformers
from helpers import randomised, sentences
from torch import nn

from tested_transformer.config import TINY, Config
from tested_transformer.exchange import from_huggingface, to_torch
from tested_transformer.model.bert import Bert, Pretraining
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.masks import causal_mask
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer

P = 0.3
SMALL = Config(40, 16, 24, 4, 2, dropout=P, max_len=20, activation="gelu", attention_bias=True)
FIRST = SMALL.replace(norm_first=True)
SIZES = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 4}
SIZES |= {"num_hidden_layers": 2, "max_position_embeddings": 20, "layer_norm_eps": 1e-5}
SIZES |= {"hidden_dropout_prob": P, "attention_probs_dropout_prob": 0.0}  # the book's drop no weights
SOURCE, TARGET = sentences(SMALL)


@pytest.fixture
def run(monkeypatch):
    """Runs a function, and tells what it gives and how often it dropped out: the first time with one mask, and so on.

    So two models agree only if both drop the same tensors, as much and in the same order.
    """
    calls = []

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        calls.append(tuple(x.shape))
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(len(calls)), dtype=x.dtype) >= self.p
        return x * kept / (1 - self.p)

    def ran(function):
        calls.clear()
        return function(), len(calls)

    monkeypatch.setattr(nn.Dropout, "forward", forward)
    return ran


def theirs(kind, **settings):
    model = getattr(transformers, kind)
    return randomised(model(model.config_class(**settings, attn_implementation="sdpa"))).double().train()


def assert_same(mine, other, drops):
    (x, n), (y, m) = mine, other
    assert n == m == drops
    assert torch.allclose(x, y, rtol=0, atol=1e-10), (x - y).abs().max()


def test_bert_drops_where_theirs_does(run):
    other = theirs("BertForPreTraining", **SIZES)
    ours = Pretraining(Bert(SMALL)).double()
    ours.load_state_dict(from_huggingface(other.state_dict()))
    seen, segments = SOURCE != 0, (torch.arange(SOURCE.size(1)) > 1).long().expand_as(SOURCE)
    mine = run(lambda: ours(SOURCE, seen, segments)[0])
    given = {"attention_mask": seen, "token_type_ids": segments}
    assert_same(mine, run(lambda: other(SOURCE, **given).prediction_logits[seen]), drops=1 + 2 * 2)


def test_roberta_drops_where_theirs_does(run):
    config = SMALL.replace(pad_id=1, bos_id=0)
    other = theirs("RobertaModel", **SIZES, type_vocab_size=1, pad_token_id=1)
    ours = Bert(config, n_segments=1, first_position=2).double()
    ours.load_state_dict(from_huggingface(other.state_dict()))
    mine = run(lambda: ours.pool(ours(SOURCE + 1)))
    assert_same(mine, run(lambda: other(SOURCE + 1, attention_mask=SOURCE != 0).pooler_output), drops=1 + 2 * 2)


def test_gpt_2_drops_where_theirs_does(run):
    sizes = {"vocab_size": 40, "n_embd": 16, "n_inner": 24, "n_head": 4, "n_layer": 2, "n_positions": 20}
    drops = {"embd_pdrop": P, "resid_pdrop": P, "attn_pdrop": 0.0}
    other = theirs("GPT2LMHeadModel", **sizes, **drops, activation_function="gelu")
    ours = Gpt(FIRST).double()
    ours.load_state_dict(from_huggingface(other.state_dict()))
    assert_same(run(lambda: ours(SOURCE)), run(lambda: other(SOURCE).logits), drops=1 + 2 * 2)


VIT = {
    "vit.embeddings.cls_token": "class_token",
    "vit.embeddings.position_embeddings": "positions.table",
    "vit.embeddings.patch_embeddings.projection": "embedding",
    "vit.layers": "encoder.layers",
    "vit.layernorm": "encoder.norm",
    "classifier": "head",
    "layernorm_before": "addnorm_1.norm",
    "layernorm_after": "addnorm_2.norm",
    "mlp.fc1": "feed_forward.w_1",
    "mlp.fc2": "feed_forward.w_2",
    **{f"attention.{x}_proj": f"self_attention.w_{x}" for x in "qkvo"},
}


def of_vit(state, shapes):
    """The weights of their Vision Transformer under our names and in our shapes."""
    named = {re.sub("|".join(VIT), lambda found: VIT[found[0]], key): value for key, value in state.items()}
    return {name: value.reshape(shapes[name].shape) for name, value in named.items()}


@pytest.mark.parametrize("train", [True, False])
def test_a_vision_transformer_drops_where_theirs_does_and_is_theirs_in_use(run, train):
    sizes = {key: value for key, value in SIZES.items() if key not in ("vocab_size", "max_position_embeddings")}
    other = theirs("ViTForImageClassification", **sizes, image_size=8, patch_size=2, num_labels=5).train(train)
    ours = VisionTransformer(FIRST.replace(max_len=4 * 4 + 1), 2, 5).double().train(train)
    ours.load_state_dict(of_vit(other.state_dict(), ours.state_dict()))
    images = torch.randn(3, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mine = run(lambda: ours(images))
    assert_same(mine, run(lambda: other(images).logits), drops=(1 + 2 * 2) * train)


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_translator_drops_behind_the_positions_and_where_pytorchs_layers_do(run, norm_first):
    ours = randomised(Transformer(TINY.replace(vocab_size=40, dropout=P, norm_first=norm_first))).train()
    encoder, decoder = to_torch(ours.encoder), to_torch(ours.decoder)
    (drop,) = (part for part in ours.positions.modules() if isinstance(part, nn.Dropout))
    pad = SOURCE == 0
    hidden = {"tgt_mask": ~causal_mask(TARGET.size(1)), "tgt_key_padding_mask": TARGET == 0}

    def embedded(ids):
        return drop(ours.embedding(ids) + ours.positions.table[: ids.size(1)])

    def other():
        memory = encoder(embedded(SOURCE), src_key_padding_mask=pad)
        out = decoder(embedded(TARGET), memory, memory_key_padding_mask=pad, **hidden)
        return ours.embedding.logits(out)[TARGET != 0]

    mine = run(lambda: ours(SOURCE, TARGET)[TARGET != 0])
    assert_same(mine, run(other), drops=2 + 2 * 2 + 2 * 3)


MODELS = {
    "translator": lambda c: (Transformer(c), SOURCE, TARGET),
    "bert": lambda c: (Bert(c), SOURCE),
    "gpt": lambda c: (Gpt(c), SOURCE),
    "vision": lambda c: (
        VisionTransformer(c.replace(max_len=2 * 2 + 1), 2, 5, 1),
        torch.ones(1, 1, 4, 4, dtype=torch.float64),
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_in_use_nothing_is_dropped_and_while_learning_nothing_with_a_dropout_of_zero(run, kind):
    (model, *given), (without, *_) = (MODELS[kind](SMALL.replace(dropout=p)) for p in (P, 0.0))
    randomised(without).train()
    model.double().load_state_dict(without.state_dict())
    assert_same(run(lambda: model.eval()(*given)), run(lambda: without(*given)), drops=0)
