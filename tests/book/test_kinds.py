"""Words of six kinds: the lists, and what is measured on them."""

import numpy as np
import pytest

from tested_transformer.book import kinds


def test_each_listed_word_has_one_kind_and_occurs_in_the_sentences():
    assert len(kinds.LISTED) == len(set(kinds.LISTED)) == len(kinds.KIND) == 74
    words, ids, coded = kinds.numbered(texts := kinds.english(6000))
    assert set(kinds.LISTED) <= set(words)
    assert words == sorted(ids)
    assert [words[i] for i in coded[7]] == texts[7]


def test_vectors_that_are_the_kinds_themselves_are_all_right_and_turned_ones_as_well():
    rows = np.eye(6)[kinds.KIND] + 0.01 * np.random.default_rng(0).normal(size=(74, 6))
    assert kinds.own_kind(rows, n=4) == 1
    assert kinds.own_kind(rows @ np.linalg.qr(rows[:6] + np.eye(6))[0], n=4) == 1
    shuffled = np.random.default_rng(1).permutation(74)
    assert kinds.own_kind(rows[shuffled], n=4) < 0.4


def test_points_lie_in_the_widest_directions_with_verbs_on_the_right_and_rooms_above():
    rows = np.random.default_rng(0).normal(size=(74, 4))
    points, share = kinds.widest(rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    spread = np.linalg.eigvalsh(np.cov(unit.T, bias=True))[::-1] * 74
    assert np.allclose((points**2).sum(axis=0), spread[:2])
    assert share == pytest.approx(spread[:2].sum() / spread.sum())
    assert points[kinds.LISTED.index("sleep"), 0] > 0 < points[kinds.LISTED.index("kitchen"), 1]


def test_an_arrow_that_all_pairs_share_is_found_and_without_it_nothing_is():
    rows = np.random.default_rng(0).normal(size=(6, 50))
    rows[3:] = rows[:3] + 2 * np.ones(50)
    ids = {word: i for i, word in enumerate(("dog", "cat", "bird", "dogs", "cats", "birds"))}
    pairs = [("dog", "dogs"), ("cat", "cats"), ("bird", "birds")]
    assert kinds.analogies(rows, ids, pairs) == 1
    assert kinds.analogies(rows, ids, [("dog", "cats"), ("cat", "dogs")], arrow=0) < 1
