"""Words of six kinds: the lists, and what is measured on them."""

import numpy as np
import pytest

from tested_transformer.book import word_categories


def test_each_listed_word_has_one_kind_and_occurs_in_the_sentences():
    assert len(word_categories.LISTED) == len(set(word_categories.LISTED)) == len(word_categories.KIND) == 74
    words, ids, coded = word_categories.numbered(texts := word_categories.english(6000))
    assert set(word_categories.LISTED) <= set(words)
    assert words == sorted(ids)
    assert [words[i] for i in coded[7]] == texts[7]


def test_vectors_that_are_the_kinds_themselves_are_all_right_and_turned_ones_as_well():
    rows = np.eye(6)[word_categories.KIND] + 0.01 * np.random.default_rng(0).normal(size=(74, 6))
    assert word_categories.own_kind(rows, n=4) == 1
    assert word_categories.own_kind(rows @ np.linalg.qr(rows[:6] + np.eye(6))[0], n=4) == 1
    shuffled = np.random.default_rng(1).permutation(74)
    assert word_categories.own_kind(rows[shuffled], n=4) < 0.4


def test_points_lie_in_the_widest_directions_with_verbs_on_the_right_and_rooms_above():
    rows = np.random.default_rng(0).normal(size=(74, 4))
    points, share = word_categories.widest(rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    spread = np.linalg.eigvalsh(np.cov(unit.T, bias=True))[::-1] * 74
    assert np.allclose((points**2).sum(axis=0), spread[:2])
    assert share == pytest.approx(spread[:2].sum() / spread.sum())
    assert points[word_categories.LISTED.index("sleep"), 0] > 0 < points[word_categories.LISTED.index("kitchen"), 1]


def test_an_arrow_that_all_pairs_share_is_found_and_without_it_nothing_is():
    rows = np.random.default_rng(0).normal(size=(6, 50))
    rows[3:] = rows[:3] + 2 * np.ones(50)
    ids = {word: i for i, word in enumerate(("dog", "cat", "bird", "dogs", "cats", "birds"))}
    pairs = [("dog", "dogs"), ("cat", "cats"), ("bird", "birds")]
    assert word_categories.analogies(rows, ids, pairs) == 1
    assert word_categories.analogies(rows, ids, [("dog", "cats"), ("cat", "dogs")], arrow=0) < 1
    # Without an arrow the word itself is nearest to its own place, and is no answer: its plural comes next.
    assert word_categories.analogies(rows, ids, pairs, arrow=0) == 1


def test_the_company_of_a_word_is_what_lies_in_its_direction_without_the_word():
    rows = np.array([[1.0, 0], [0, 1], [5, 1], [3, 2]])
    assert word_categories.company_of(["a", "b", "c", "d"], "a", rows, n=2) == "c d"


def test_words_are_numbered_in_the_order_in_which_they_come():
    cut, known, ids = word_categories.in_order(["b a b", "c a"])
    assert cut == [["b", "a", "b"], ["c", "a"]]
    assert known == ["b", "a", "c"]
    assert [text.tolist() for text in ids] == [[0, 1, 0], [2, 1]]


def test_in_a_drawing_where_every_kind_has_a_place_of_its_own_all_are_right_but_for_a_kind_of_five():
    points = np.stack([10.0 * word_categories.KIND, np.arange(len(word_categories.KIND)) / 1000], axis=1)
    found = word_categories.drawn_kind(points)
    assert found[word_categories.KIND != 1].tolist() == [1] * (len(word_categories.KIND) - 5)
    assert found[word_categories.KIND == 1].tolist() == [0.8] * 5


def test_words_of_food_get_another_name_where_there_is_food(monkeypatch):
    seen = []

    def untrained(texts, seed):
        assert seed == 3
        seen.extend(texts)
        return np.eye(74, 16) + 1, {word: i for i, word in enumerate(word_categories.LISTED)}

    monkeypatch.setattr(word_categories, "trained", untrained)
    found = word_categories.things_near_food([["an", "old", "cake"], ["an", "old", "coat"]], {"old"}, seed=3)
    assert seen == [["an", "old_", "cake"], ["an", "old", "coat"]]
    assert 0 <= found <= 40


def test_die_stands_before_women_only():
    assert word_categories.with_die([["the", "woman", "sees", "the", "man"]]) == [
        ["die", "woman", "sees", "the", "man"]
    ]


def test_only_words_that_share_a_text_with_a_mover_get_new_names():
    texts = [["she", "makes", "tea"], ["she", "makes", "coffee"], ["she", "sings"]]
    kept, gone, far = ["she", "makes", "tea"], ["she_", "makes_", "coffee"], ["she", "sings"]
    assert word_categories.moved(texts, ["coffee"]) == [kept, gone, far]
    assert word_categories.moved(texts, ["tea", "coffee"]) == [["she_", "makes_", "tea"], gone, far]


def test_a_table_is_turned_back_onto_itself_by_rows_that_have_no_say_in_it():
    table = np.random.default_rng(0).normal(size=(30, 4))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    other = table @ turn
    other[:5] = 100  # the rows that are asked for must not help to find the turn
    assert np.allclose(word_categories.turned(table, other, range(5)), table @ turn)
