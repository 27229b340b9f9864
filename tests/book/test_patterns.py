"""What heads look at: where weights are expected, and what is counted."""

import numpy as np
import pytest
import torch

from tested_transformer.book import patterns
from tested_transformer.book.coreference import FRAMES, RUNNING, THINGS, before_pronoun
from tested_transformer.book.interventions import residual_stream
from tested_transformer.book.pretrained import it_and_thing, load

ENGLISH, NOUN = "We help the old woman.", 4


@pytest.fixture(scope="module")
def translator():
    return load()


def test_a_share_counts_the_rows_whose_largest_weight_is_where_it_is_expected():
    weights = torch.tensor([[[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.3, 0.7]]]])  # one layer, two heads
    found = patterns.hit_rate([("ab", "ab", {"cross": weights})] * 2, "cross", lambda r, w: [(0, 0), (1, 1)])
    assert found.tolist() == [[1, 0.5]]


def test_places_are_expected_where_the_words_stand():
    reads = ["The", " dog", " needs", " the", " old", " chair", " because", " it", " is", " new", ".", "<eos>"]
    writes = ["<bos>", "Der", " Hund", " braucht", " den", " alten", " Stuhl", ",", " weil", " er", " neu", " ist"]
    assert patterns.noun_of_the(reads, writes) == [(0, 1), (3, 5)]
    assert sorted(patterns.noun_next(reads, writes)) == [(1, 1), (5, 5)]
    assert sorted(patterns.noun_next(reads, writes, before=0)) == [(2, 1), (6, 5)]
    assert sorted(patterns.noun_of_the_article(reads, writes)) == [(0, 1), (3, 5)]
    assert patterns.noun_of_it(reads, writes) == []  # the dog, or the chair?
    assert patterns.noun_of_it(reads[2:], writes) == [(5, 3)]


def test_crossings_are_pairs_in_the_opposite_order_without_signs():
    weights = torch.eye(5)[[0, 3, 4, 2, 1, 0]]
    assert patterns.crossings(["<bos>", "a", "b", ",", "c", "d"], weights[:6]) == 3  # b over c and d, c over d


def test_clauses_are_cut_at_their_signs_and_keep_the_token_before_them():
    writes, weights = ["<bos>", "a", " b", ",", " c", " d", "."], torch.eye(7)
    first, second = patterns.clauses(writes, weights)
    assert (first[0], second[0]) == (writes[:3], writes[3:6])
    assert torch.equal(first[1], weights[:3])
    assert torch.equal(second[1], weights[3:6])
    assert [w for w, _ in patterns.clauses(writes[:6], weights[:6])] == [writes[:3], writes[3:6]]  # no sign at the end


def test_two_words_of_different_clauses_do_not_cross():
    writes, weights = ["<bos>", "a", " b", ",", " c", " d"], torch.eye(5)[[4, 3, 2, 1, 0, 0]]
    assert patterns.crossings(writes, weights) == 6
    assert [patterns.crossings(*clause) for clause in patterns.clauses(writes, weights)] == [1, 1]


@pytest.mark.parametrize("layer", [1, 2])
def test_weights_times_values_in_their_directions_are_what_a_head_adds(translator, layer):
    found = patterns.value_norms(translator, ENGLISH, layer)
    heads = translator.model.decoder.layers[layer - 1].cross_attention
    values = heads.values(residual_stream(translator, ENGLISH)[-1])
    assert found.shape == (4, 7)
    alone = torch.zeros(1, 1, 4 * values.shape[-1], dtype=values.dtype)
    width = values.shape[-1]
    alone[0, 0, 2 * width : 3 * width] = values[0, 2, NOUN]
    assert found[2, NOUN] == pytest.approx(float(heads.w_o(alone).detach().norm()))


def test_rows_lie_nearest_to_the_mean_of_their_own_label():
    x = np.array([[0.0, 0], [0, 1], [9, 9], [9, 8], [1, 0]])
    assert patterns.nearest(x, np.array(list("aabba"))) == 1
    assert patterns.nearest(x, np.array(list("aabbb"))) == pytest.approx(0.8)


def test_the_weight_on_a_thing_of_several_pieces_is_that_of_all_of_them(translator, monkeypatch):
    chair = RUNNING[0].english
    it, pieces = it_and_thing(translator, chair, "chair")
    names = [translator.name(i) for i in translator.encode(chair, 1)]
    assert (names[it], [names[i] for i in pieces]) == (" it", [" chair"])
    monkeypatch.setitem(THINGS, "xylophone", THINGS["chair"]._replace(english="xylophone"))
    strange = FRAMES[0].say("xylophone").english
    it, pieces = it_and_thing(translator, strange, "xylophone")
    names = [translator.name(i) for i in translator.encode(strange, 1)]
    assert names[it] == " it"
    assert "".join(names[i] for i in pieces) == " xylophone"
    assert len(pieces) > 1
    weights = translator.look(strange, "")[2]["encoder"][:, :, it]
    found = patterns.on_the_thing(translator, FRAMES[0], "xylophone")
    assert torch.equal(found, weights[..., pieces].sum(-1))
    assert found.shape == (2, 4)


def test_the_rows_of_it_are_those_of_the_three_sentences(translator):
    rows = patterns.of_it(translator, layer=2, head=3)
    assert [(row[3], row[4]) for row in rows] == [
        (german, word) for (_, german, *_), word in zip(RUNNING, ("er", "sie", "es"), strict=True)
    ]
    for (tokens, weights, it, *_), frame_thing in zip(rows, ("chair", "lamp", "picture"), strict=True):
        assert tokens[it] == " it"
        assert len(tokens) == len(weights)
        on_thing = patterns.on_the_thing(translator, FRAMES[0], frame_thing)[1, 2]
        assert weights[tokens.index(f" {frame_thing}")] == pytest.approx(float(on_thing))


def test_where_the_model_looks_before_the_pronoun_is_the_row_of_the_whole_sentence(translator):
    sentence = RUNNING[1]
    step = patterns.writing(translator, sentence)
    read, written, weights = translator.look(sentence.english, sentence.german)
    n = written.index(" sie")
    assert step.read == read
    assert step.written == written[:n]
    assert np.allclose(step.across, weights["cross"][:, :, n - 1], atol=1e-9)
    assert np.allclose(step.back, weights["decoder"][:, :, n - 1, :n], atol=1e-9)
    assert np.allclose(step.back.sum(axis=-1), 1)
    assert before_pronoun(sentence.german) == "Ich brauche die Lampe, weil"
