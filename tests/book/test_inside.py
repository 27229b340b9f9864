"""Looking inside the trained translator: where weights are expected, and what is changed when one thing is changed."""

import numpy as np
import pytest
import torch
from helpers import unchecked

from tested_transformer.book import inside, thread
from tested_transformer.book.thread import THREAD

ENGLISH, GERMAN = "We help the old woman.", "Wir helfen der alten Frau."
VERB, THE, NOUN = 1, 2, 4


@pytest.fixture(scope="module")
def translator():
    return thread.load()


def test_a_share_counts_the_rows_whose_largest_weight_is_where_it_is_expected():
    weights = torch.tensor([[[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.3, 0.7]]]])  # one layer, two heads
    found = inside.share([("ab", "ab", {"cross": weights})] * 2, "cross", lambda r, w: [(0, 0), (1, 1)])
    assert found.tolist() == [[1, 0.5]]


def test_places_are_expected_where_the_words_stand():
    reads = ["The", " dog", " needs", " the", " old", " chair", " because", " it", " is", " new", ".", "<eos>"]
    writes = ["<bos>", "Der", " Hund", " braucht", " den", " alten", " Stuhl", ",", " weil", " er", " neu", " ist"]
    assert inside.noun_of_the(reads, writes) == [(0, 1), (3, 5)]
    assert sorted(inside.noun_next(reads, writes)) == [(1, 1), (5, 5)]
    assert sorted(inside.noun_next(reads, writes, before=0)) == [(2, 1), (6, 5)]
    assert sorted(inside.noun_of_the_article(reads, writes)) == [(0, 1), (3, 5)]
    assert inside.noun_of_it(reads, writes) == []  # the dog, or the chair?
    assert inside.noun_of_it(reads[2:], writes) == [(5, 3)]


def test_crossings_are_pairs_in_the_opposite_order_without_signs():
    weights = torch.eye(5)[[0, 3, 4, 2, 1, 0]]
    assert inside.crossings(["<bos>", "a", "b", ",", "c", "d"], weights[:6]) == 3  # b over c and d, c over d


def test_clauses_are_cut_at_their_signs_and_keep_the_token_before_them():
    writes, weights = ["<bos>", "a", " b", ",", " c", " d", "."], torch.eye(7)
    first, second = inside.clauses(writes, weights)
    assert (first[0], second[0]) == (writes[:3], writes[3:6])
    assert torch.equal(first[1], weights[:3])
    assert torch.equal(second[1], weights[3:6])
    assert [w for w, _ in inside.clauses(writes[:6], weights[:6])] == [writes[:3], writes[3:6]]  # no sign at the end


def test_two_words_of_different_clauses_do_not_cross():
    writes, weights = ["<bos>", "a", " b", ",", " c", " d"], torch.eye(5)[[4, 3, 2, 1, 0, 0]]
    assert inside.crossings(writes, weights) == 6
    assert [inside.crossings(*clause) for clause in inside.clauses(writes, weights)] == [1, 1]


def test_what_follows_is_what_the_translator_writes(translator):
    memory = inside.depths(translator, ENGLISH)[-1]
    assert torch.allclose(memory, translator.model.encode(torch.tensor([translator.encode(ENGLISH, 1)])))
    p = inside.follows(translator, memory, ENGLISH, "Wir helfen")
    assert float(p.sum()) == pytest.approx(1)
    assert translator.name(int(p.argmax())) == " der"
    hidden = inside.follows(translator, memory, ENGLISH, "Wir helfen", [NOUN])
    assert translator.name(int(hidden.argmax())) == " den"


def test_swapping_in_the_only_word_that_differs_gives_the_other_sentence(translator):
    word, found = inside.swapped(translator, ENGLISH, "We help the old man.", "Wir helfen")
    assert (word, found.shape) == ("dem", (3, 7))
    there = inside.depths(translator, "We help the old man.")[-1]
    whole = inside.follows(translator, there, "We help the old man.", "Wir helfen")
    assert found[0, NOUN] == pytest.approx(float(whole.max()))
    assert np.delete(found[0], NOUN).max() < 0.01  # there the vectors are the same in both


def test_without_a_way_to_its_noun_each_it_is_er(translator):
    found = [inside.by_default(translator, sentence) for sentence in THREAD]
    assert found == [("er", "er"), ("sie", "er"), ("es", "er")]


def test_four_cuts_of_one_head_leave_other_pronouns_and_the_model_as_it_was(translator):
    before = {name: p.clone() for name, p in translator.model.named_parameters()}
    with unchecked():  # more than a thousand runs, all alike
        found = inside.ways_to_cut(translator, 1, 2)
    assert found == {
        "the link from “it” to its noun": (111, "er", 132),
        "the same, in all heads": (93, "sie", 139),
        "all that the head adds": (104, "sie", 176),
        "its queries, so that it looks evenly": (151, "sie", 142),
    }
    assert all(torch.equal(p, before[name]) for name, p in translator.model.named_parameters())


def test_hiding_nothing_changes_nothing_and_hiding_hides_this_pair_or_place_alone(translator):
    assert inside.hiding(translator, ENGLISH, "Wir helfen")[0] == "der"
    assert inside.hiding(translator, ENGLISH, "Wir helfen", [(THE, VERB)])[0] == "die"
    assert inside.hiding(translator, ENGLISH, "Wir helfen", [(VERB, THE)])[0] == "der"
    assert inside.hiding(translator, ENGLISH, "Wir helfen", across=[NOUN])[0] == "den"
    assert inside.hiding(translator, ENGLISH, "Wir helfen", across=[VERB])[0] == "der"


def test_of_all_links_the_one_of_it_is_what_hiding_it_in_this_head_is(translator):
    with unchecked():  # 800 runs
        weights, added = inside.each_link(translator, THREAD[2])
    assert weights.shape == added.shape == (2, 4, 10, 10)
    assert np.allclose(weights, translator.look(THREAD[2].english, "")[2]["encoder"])
    assert np.unravel_index(added.argmax(), added.shape) == (1, 2, 5, 3)
    here = torch.zeros(2, 4, dtype=torch.bool)
    here[1, 2] = True
    assert thread.hidden(translator, thread.FRAMES[0], "picture", here) == "sie"
    assert added[1, 2, 5, 3] > np.log(2)  # so "es" has less than a half


def test_all_heads_of_the_last_layer_together_are_the_layer(translator):
    (der,) = translator.tokens.encode(" der")

    def p(heads, *places):
        return float(inside.heads_hiding(translator, ENGLISH, "Wir helfen", heads, *places)[der])

    as_it_is = inside.follows(translator, inside.depths(translator, ENGLISH)[-1], ENGLISH, "Wir helfen")[der]
    assert p([], NOUN) == p([], VERB, THE) == pytest.approx(float(as_it_is))
    assert p([0], NOUN) < 0.2 < 0.9 < p([1, 2, 3], NOUN)
    assert p([0, 1, 2], VERB, THE) < 0.2 < 0.9 < p([0], VERB, THE)


def test_effects_are_those_of_hiding_one_token_after_the_other(translator):
    found = inside.effects(translator, ENGLISH, GERMAN)
    assert found.shape == (7, 7)
    memory = inside.depths(translator, ENGLISH)[-1]
    (der,) = translator.tokens.encode(" der")
    for place in (VERB, THE, NOUN):
        with_it, without = (
            inside.follows(translator, memory, ENGLISH, "Wir helfen", hidden)[der].log() for hidden in ([], [place])
        )
        assert found[2, place] == pytest.approx(float(with_it - without), abs=1e-9)


@pytest.mark.parametrize("layer", [1, 2])
def test_weights_times_values_in_their_directions_are_what_a_head_adds(translator, layer):
    found = inside.lengths(translator, ENGLISH, layer)
    heads = translator.model.decoder.layers[layer - 1].cross_attention
    values = heads.values(inside.depths(translator, ENGLISH)[-1])
    assert found.shape == (4, 7)
    alone = torch.zeros(1, 1, 4 * values.shape[-1], dtype=values.dtype)
    width = values.shape[-1]
    alone[0, 0, 2 * width : 3 * width] = values[0, 2, NOUN]
    assert found[2, NOUN] == pytest.approx(float(heads.w_o(alone).detach().norm()))


def test_what_is_nudged_moves_itself_and_others(translator):
    found = inside.nudged(translator, ENGLISH, times=2)
    assert found.shape == (7, 7)
    assert (found > 0).all()
    twice = inside.nudged(translator, ENGLISH, times=2)
    assert np.array_equal(found, twice)


def test_rows_lie_nearest_to_the_mean_of_their_own_label():
    x = np.array([[0.0, 0], [0, 1], [9, 9], [9, 8], [1, 0]])
    assert inside.nearest(x, np.array(list("aabba"))) == 1
    assert inside.nearest(x, np.array(list("aabbb"))) == pytest.approx(0.8)
