"""The way back through the whole machine, stage by stage."""

import numpy as np
import pytest

from tested_transformer.book import data_flow, signal_propagation
from tested_transformer.byhand.decoder import decoder_backward
from tested_transformer.byhand.embedding import embedding_backward
from tested_transformer.byhand.encoder import encoder_backward
from tested_transformer.byhand.heads import multi_head_attention_backward
from tested_transformer.byhand.softmax import softmax
from tested_transformer.byhand.transformer import create_params, transformer, transformer_backward
from tested_transformer.config import Config

SMALL = Config(vocab_size=10, d_model=6, d_ff=8, n_heads=2, n_layers=3, dropout=0.0)
SOURCE, TARGET = np.array([[5, 4, 5, 6]]), np.array([[1, 7, 8]])


@pytest.fixture
def run():
    return transformer(SOURCE, TARGET, create_params(SMALL, np.random.default_rng(0)), SMALL)


def test_the_way_back_passes_the_stages_of_the_backward_pass(run):
    logits, saved = run
    d_logits = data_flow.mistake(logits, right=9)
    back = data_flow.way_back(d_logits, saved)
    assert [len(stages) for stages in back] == [4, 3, 4]
    d_target, d_memory, _ = decoder_backward(d_logits @ saved["table"], saved["decoder"])
    assert np.allclose(back.decoder[0], d_target)
    assert np.allclose(back.encoder[-1], d_memory)
    assert np.allclose(sum(back.shares), d_memory)
    assert np.allclose(back.encoder[0], encoder_backward(d_memory, saved["encoder"])[0])


def test_the_ends_of_the_way_back_are_the_shares_of_the_table(run):
    logits, saved = run
    d_logits = data_flow.mistake(logits, right=9, place=1)
    back = data_flow.way_back(d_logits, saved)
    read = zip((back.encoder[0], back.decoder[0]), (SOURCE, TARGET), strict=True)
    inputs = sum(embedding_backward(d * np.sqrt(6), ids, 10) for d, ids in read)
    whole = transformer_backward(d_logits, saved)["embedding.weight"]
    assert np.allclose(inputs + d_logits[0].T @ saved["x"][0], whole)


def test_a_mistake_asks_one_place_only(run):
    logits, _ = run
    d_logits = data_flow.mistake(logits, right=9, place=1)
    assert not d_logits[0, [0, 2]].any()
    assert np.allclose(d_logits[0, 1], softmax(logits[0, 1]) - np.eye(10)[9])


def test_a_shut_head_hands_nothing_back_and_the_model_stays_as_it_was(run):
    logits, saved = run
    w_o = saved["encoder"][1]["self_attention"]["params"]["w_o.weight"]
    before = w_o.copy()
    closed = data_flow.shut(saved, layer=2, head=2)
    assert np.array_equal(w_o, before)
    now = closed["encoder"][1]["self_attention"]["params"]["w_o.weight"]
    assert np.array_equal(now[:, :3], before[:, :3])
    assert not now[:, 3:].any()
    d_logits = data_flow.mistake(logits, right=9)
    gradients = [transformer_backward(d_logits, s) for s in (saved, closed)]
    name = "encoder.layers.1.self_attention.w_v.weight"
    assert not gradients[1][name][3:].any()
    assert gradients[0][name][3:].any()
    assert all(np.allclose(*(g[n] for g in gradients)) for n in gradients[0] if n.startswith("decoder"))


def test_a_row_hears_as_key_and_as_value_what_the_backward_pass_gives_its_rows(run):
    params = create_params(SMALL, np.random.default_rng(0))
    logits, saved = run
    found = data_flow.heard((SOURCE, TARGET), params, SMALL, 9, (1, 3), layer=3, head=2)
    assert found.weight == saved["encoder"][2]["self_attention"]["weights"][0, 1, 3, 1]
    assert np.isclose(found.loss, -np.log(softmax(logits[0, -1])[9]))
    d_memory = data_flow.way_back(data_flow.mistake(logits, right=9), saved).encoder[-1]
    entering = signal_propagation.climb(d_memory, saved["encoder"])[4].added
    box = saved["encoder"][2]["self_attention"]
    _, d_key, d_value, _ = multi_head_attention_backward(entering, box)
    assert np.isclose(found.as_key, np.linalg.norm(d_key[0, 1]))
    assert np.isclose(found.as_value, np.linalg.norm(d_value[0, 1]))


def test_lengths_are_those_of_the_rows_of_the_first_sentence():
    (found,) = data_flow.lengths([np.array([[[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])])
    assert found.tolist() == [5, 0]
