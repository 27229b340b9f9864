"""Masked words: which are chosen, what is done to them, and how texts are framed and paired."""

import numpy as np
import pytest
from helpers import ragged, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.data.masking import choose, frame, mask_tokens, swap_seconds
from tested_transformer.model.bert import BERT_BASE

V, MASK, SPECIAL = 40, 4, (0, 1, 2, 3)
IDS = np.random.default_rng(0).integers(5, V, size=(400, 50))
IDS[:, 0], IDS[:, -1] = 1, 2


def rng(seed=0):
    return np.random.default_rng(seed)


def test_a_text_is_framed_by_cls_and_sep():
    assert frame([7, 8]) == ([1, 7, 8, 2], [0, 0, 0, 0])


def test_a_pair_has_two_segments_and_the_first_sep_is_of_the_first():
    assert frame([7, 8], [9]) == ([1, 7, 8, 2, 9, 2], [0, 0, 0, 0, 1, 1])


def test_cls_and_sep_are_those_of_the_model():
    ids, segments = frame([7, 8], [9], BERT_BASE.special_ids)
    assert (ids, segments) == ([101, 7, 8, 102, 9, 102], [0, 0, 0, 0, 1, 1])


def test_an_empty_first_text_is_refused():
    with pytest.raises(ValueError, match="the first text is empty"):
        frame([], [9])


def test_about_half_of_the_seconds_are_swapped_and_the_label_says_which():
    pairs = [(i, i) for i in range(4000)]
    made, swapped = swap_seconds(pairs, rng())
    assert [a for a, _ in made] == list(range(4000)), "first texts stay"
    assert [int(a != b) for a, b in made] == swapped.tolist()
    assert abs(swapped.mean() - 0.5) < 4 * 0.5 / 4000**0.5


def test_a_swapped_second_may_be_that_of_any_other_pair():
    pairs = [(i, i) for i in range(3)]
    seen = set()
    for seed in range(100):
        made, swapped = swap_seconds(pairs, rng(seed))
        assert [int(a != b) for a, b in made] == swapped.tolist(), "never its own, with the label of a stranger"
        seen |= set(made)
    assert seen == {(a, b) for a in range(3) for b in range(3)}


def test_one_pair_cannot_be_swapped():
    with pytest.raises(ValueError, match="at least two pairs to swap, not 1"):
        swap_seconds([(1, 2)], rng())


@given(st.integers(1, 5), st.integers(1, 12), st.floats(0.01, 1), st.integers(0, 99))
def test_each_row_has_its_share_and_at_least_one_and_nothing_special(batch, length, share, seed):
    ids = ragged(batch, length, V, seed)
    chosen = choose(ids, SPECIAL, rng(seed), share)
    assert not chosen[np.isin(ids, SPECIAL)].any()
    for row, n in zip(chosen, (~np.isin(ids, SPECIAL)).sum(1), strict=True):
        assert row.sum() == min(n, max(1, round(share * n)))


def test_a_row_of_special_tokens_is_asked_for_nothing():
    assert not choose(np.array([[1, 2, 0]]), SPECIAL, rng()).any()


def test_every_place_is_chosen_equally_often():
    share = choose(IDS, SPECIAL, rng())[:, 1:-1].mean(0)
    assert np.allclose(share, 7 / 48, atol=4 * (0.15 * 0.85 / 400) ** 0.5)


def test_eighty_ten_ten():
    ids, chosen = mask_tokens(IDS, MASK, SPECIAL, V, rng())
    now, was = ids[chosen], IDS[chosen]
    n = len(now)
    assert n == 400 * 7
    for share, expected in (
        (np.mean(now == MASK), 0.8),
        (np.mean(now == was), 0.1 + 0.1 / 35),  # a random token is the old one now and then
        (np.mean((now != MASK) & (now != was)), 0.1 * 34 / 35),
    ):
        assert abs(share - expected) < 4 * (expected * (1 - expected) / n) ** 0.5


def test_tokens_that_are_not_chosen_stay_and_the_given_array_too():
    before = IDS.copy()
    ids, chosen = mask_tokens(IDS, MASK, SPECIAL, V, rng())
    assert np.array_equal(ids[~chosen], IDS[~chosen])
    assert np.array_equal(IDS, before)


def test_random_tokens_are_words_of_the_whole_vocabulary():
    ids, chosen = mask_tokens(np.repeat(IDS, 20, axis=0), MASK, SPECIAL, V, rng(), fraction=0.9)
    assert set(ids[chosen]) == {MASK, *range(5, V)}


def test_of_each_row_the_share_is_hidden_that_was_asked_for():
    assert mask_tokens(IDS, MASK, SPECIAL, V, rng(), fraction=0.5).chosen.sum(1).tolist() == [24] * 400
    assert mask_tokens(IDS, MASK, SPECIAL, V, rng()).chosen.sum(1).tolist() == [7] * 400


def test_a_seed_fixes_the_choice_and_another_changes_it():
    first, again, other = (mask_tokens(IDS, MASK, SPECIAL, V, rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first.ids, again.ids)
    assert np.array_equal(first.chosen, again.chosen)
    assert not np.array_equal(first.chosen, other.chosen)


def test_a_mask_that_stands_in_the_text_is_not_asked_for():
    ids = np.array([[1, MASK, 7, 2]])
    for seed in range(20):
        assert mask_tokens(ids, MASK, SPECIAL, V, rng(seed)).chosen.tolist() == [[False, False, True, False]]


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_outside_its_range_is_refused(share):
    with unchecked(), pytest.raises(ValueError, match=r"fraction \(.*\) must be above 0 and at most 1"):
        choose(IDS, SPECIAL, rng(), share)


def test_a_vocabulary_without_words_is_refused():
    with pytest.raises(ValueError, match=r"vocab_size \(5\) leaves no word"):
        mask_tokens(IDS, MASK, SPECIAL, 5, rng())
