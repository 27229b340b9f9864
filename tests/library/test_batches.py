"""Batches: every pair once, little padding, the same for everyone who asks again."""

import os
import pathlib
from itertools import islice, pairwise

import numpy as np
import pytest
import torch
from helpers import unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.config import SpecialIds
from tested_transformer.data import multi30k
from tested_transformer.data.batches import batches, plan
from tested_transformer.data.parallel import encode_pairs, read_parallel
from tested_transformer.text.tokens import BOS, EOS, PAD, BytePairEncoding

sizes = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=60)


def pairs_of(lengths):
    """Pairs of these lengths. Each begins with its number, so that it is known again."""
    return [([10 + i] * s, [10 + i] * t) for i, (s, t) in enumerate(lengths)]


def some(n=400, seed=0):
    rng = np.random.default_rng(seed)
    source = rng.integers(3, 30, n)
    return pairs_of(zip(source, np.maximum(1, source + rng.integers(-4, 5, n)), strict=True))


def numbers(tensors):
    """The pairs in batches, by number; both sides must agree on them."""
    found = []
    for source, target in tensors:
        assert torch.equal(source[:, 0], target[:, 0])
        found.append((source[:, 0] - 10).tolist())
    return found


# From texts to ids


class Other(BytePairEncoding):
    special_ids = SpecialIds(pad=9, bos=1, eos=7, unk=3)


def test_sentences_are_framed_as_the_tokeniser_says_and_what_does_not_fit_is_counted():
    texts = [("a", "bc"), (" ", "b"), ("c", ""), ("abcd", "b"), ("b", "abcd"), ("abc", "abc")]
    for tokens, bos, eos in ((BytePairEncoding([]), 1, 2), (Other([]), 1, 7)):
        encoded = encode_pairs(texts, tokens, 4)
        a, b, c = tokens.encode("abc")
        assert encoded.pairs == [([a, eos], [bos, b, c, eos]), ([a, b, c, eos], [bos, a, b, c, eos])]
        assert (encoded.empty, encoded.too_long) == (2, 2)


def test_space_around_a_sentence_is_no_part_of_it():
    tokens = BytePairEncoding([])
    assert encode_pairs([("  a b\t", " c ")], tokens, 9) == encode_pairs([("a b", "c")], tokens, 9)


def test_lines_are_read_without_their_ends_and_without_a_mark_of_the_byte_order(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\xe2\x80\xa8lines \r\n\r\n")
    (tmp_path / "b").write_bytes(b"eins\nzwei\n\xef\xbb\xbf")
    expected = [("one", "eins"), ("two\u2028lines ", "zwei"), ("", "\ufeff")]
    assert read_parallel(tmp_path / "a", str(tmp_path / "b")) == expected


# By hand


def test_the_longer_side_decides_how_many_pairs_fit():
    # Longest sides 6, 5, 3, 3, 2, 1 and 12 tokens: 12 // 6 = 2 pairs, 12 // 3 = 4 pairs
    pairs = pairs_of([(3, 2), (6, 1), (1, 1), (2, 5), (1, 2), (2, 3)])
    assert sorted(map(sorted, plan(pairs, 12))) == [[0, 2, 4, 5], [1, 3]]


def test_where_the_longer_side_changes_the_shorter_ones_stay_similar():
    planned = plan(pairs_of([(5, 5), (5, 5), (5, 1), (4, 1), (4, 4), (4, 4)]), 10)
    assert sorted(map(sorted, planned)) == [[0, 1], [2, 3], [4, 5]]


def test_what_is_left_over_is_shared_out():
    # Twelve pairs of one token: 5 + 5 + 2 becomes 5 + 4 + 3
    assert sorted(map(len, plan(pairs_of([(1, 1)] * 12), 5))) == [3, 4, 5]
    assert sorted(map(len, plan(pairs_of([(1, 1)] * 6), 5))) == [3, 3]
    assert sorted(map(len, plan(pairs_of([(1, 1)] * 5), 5))) == [5]


def test_a_batch_is_two_tensors_filled_up_with_the_padding_id():
    ((source, target),) = batches([([5, 6, 7], [8, 9]), ([6], [7, 8, 9])], 100)
    rows = {(tuple(s), tuple(t)) for s, t in zip(source.tolist(), target.tolist(), strict=True)}
    assert rows == {((5, 6, 7), (8, 9, PAD)), ((6, PAD, PAD), (7, 8, 9))}
    assert source.dtype == target.dtype == torch.int64


def test_the_padding_is_that_of_the_model():
    ((source, target),) = batches([([5, 6], [7]), ([8], [9, 4])], 100, pad_id=3)
    assert sorted(source.tolist() + target.tolist()) == [[5, 6], [7, 3], [8, 3], [9, 4]]


def test_three_processes_share_each_batch_of_seven_as_3_2_and_2():
    pairs = pairs_of([(2, 2)] * 14)
    shares = [numbers(batches(pairs, 14, rank=rank, world_size=3)) for rank in range(3)]
    assert [[len(batch) for batch in share] for share in shares] == [[3, 3], [2, 2], [2, 2]]


def test_no_pairs_give_no_batches():
    assert plan([], 10) == []
    assert list(batches([], 10, world_size=4)) == []


# Properties


@given(lengths=sizes, max_tokens=st.integers(12, 80), epoch=st.integers(0, 3))
def test_every_pair_is_in_exactly_one_batch(lengths, max_tokens, epoch):
    planned = plan(pairs_of(lengths), max_tokens, epoch=epoch)
    assert sorted(i for batch in planned for i in batch) == list(range(len(lengths)))
    assert all(planned)


@given(lengths=sizes, max_tokens=st.integers(12, 80))
def test_no_batch_has_more_tokens_than_allowed_padding_included(lengths, max_tokens):
    for source, target in batches(pairs_of(lengths), max_tokens):
        assert max(source.numel(), target.numel()) <= max_tokens


@given(lengths=sizes, max_tokens=st.integers(12, 80))
def test_tensors_hold_the_pairs_uncut_and_padding_behind_them(lengths, max_tokens):
    pairs = pairs_of(lengths)
    for tensors in batches(pairs, max_tokens):
        for side, tensor in enumerate(tensors):
            for row in tensor.tolist():
                ids = list(pairs[row[0] - 10][side])
                assert row == ids + [PAD] * (len(row) - len(ids))
            assert (tensor[:, -1] != PAD).any(), "wider than the longest"


@given(lengths=sizes, max_tokens=st.integers(12, 80), world_size=st.integers(1, 4))
def test_the_shares_of_all_processes_are_together_the_whole_batch(lengths, max_tokens, world_size):
    pairs = pairs_of(lengths)
    whole = plan(pairs, max_tokens, seed=3, epoch=1)
    if min(map(len, whole), default=world_size) < world_size:
        return  # refused: see below
    shares = [
        numbers(batches(pairs, max_tokens, seed=3, epoch=1, rank=r, world_size=world_size)) for r in range(world_size)
    ]
    assert {len(share) for share in shares} == {len(whole)}
    for together, *parts in zip(whole, *shares, strict=True):
        assert sorted(i for part in parts for i in part) == sorted(together)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(lengths=sizes, start=st.integers(0, 5))
def test_starting_later_gives_the_rest_of_the_same_epoch(lengths, start):
    pairs = pairs_of(lengths)
    whole = numbers(batches(pairs, 20, seed=1, epoch=2))
    if start <= len(whole):
        assert numbers(batches(pairs, 20, seed=1, epoch=2, start=start)) == whole[start:]


@given(lengths=sizes, max_tokens=st.integers(12, 80))
def test_every_epoch_has_equally_many_batches(lengths, max_tokens):
    pairs = pairs_of(lengths)
    assert len({len(plan(pairs, max_tokens, seed, epoch)) for seed in range(2) for epoch in range(3)}) == 1


def test_the_smallest_batch_is_at_least_half_as_full_as_its_neighbours_would_allow():
    planned = plan(some(), 200)
    assert min(map(len, planned)) >= 200 // 33 // 2


def test_the_same_seed_and_epoch_give_the_same_batches_and_others_do_not():
    pairs = some()
    assert plan(pairs, 200, seed=4, epoch=7) == plan(pairs, 200, seed=4, epoch=7)
    assert plan(pairs, 200, seed=4, epoch=7) != plan(pairs, 200, seed=4, epoch=8)
    assert plan(pairs, 200, seed=4, epoch=7) != plan(pairs, 200, seed=5, epoch=7)


def test_another_epoch_mixes_pairs_and_not_only_the_order_of_batches():
    pairs = some()
    first, second = ({frozenset(batch) for batch in plan(pairs, 200, epoch=epoch)} for epoch in (0, 1))
    assert len(first & second) < len(first) / 4


def test_batches_do_not_come_sorted_by_length():
    widths = [max(source.size(1), target.size(1)) for source, target in batches(some(), 200)]
    falls = sum(a > b for a, b in pairwise(widths))
    rises = sum(a < b for a, b in pairwise(widths))
    assert min(falls, rises) > len(widths) / 4


def test_little_of_a_batch_is_padding():
    pairs = some(10_000)
    grid = sum(source.numel() + target.numel() for source, target in batches(pairs, 1000))
    real = sum(len(source) + len(target) for source, target in pairs)
    assert grid / real < 1.05


@pytest.fixture(scope="module")
def real():
    """Twenty-nine thousand real pairs, as ids."""
    folder = os.environ.get("TESTED_TRANSFORMER_DATA")
    if not folder:
        pytest.skip("TESTED_TRANSFORMER_DATA names no folder with real sentences")
    found = next(pathlib.Path(folder).rglob("train.en.gz")).parent
    with unchecked():
        sentences = multi30k.read(found, "train")
        bpe = BytePairEncoding.train((text for pair in sentences for text in pair), 8000)
        return [([*bpe.encode(en), EOS], [BOS, *bpe.encode(de), EOS]) for en, de in sentences]


@pytest.mark.slow
@pytest.mark.parametrize("max_tokens", [1500, 4000])
def test_on_real_sentences_at_most_a_twentieth_is_padding(real, max_tokens):
    grid = sum(source.numel() + target.numel() for source, target in batches(real, max_tokens))
    assert grid / sum(len(source) + len(target) for source, target in real) <= 1.05


# Refusal


def test_a_pair_too_long_for_any_batch_is_refused_and_never_cut():
    pairs = pairs_of([(3, 3), (5, 9), (9, 2)])
    with pytest.raises(ValueError, match=r"pair 1 \(5 and 9 tokens\) has more than max_tokens \(8\), as 2 of 3 are"):
        plan(pairs, 8)
    with pytest.raises(ValueError, match="leave them out"):
        batches(pairs, 8)
    assert len(plan(pairs, 9)) == 3


@pytest.mark.parametrize("pair", [([], [5]), ([5], [])])
def test_a_pair_with_an_empty_side_is_refused(pair):
    with pytest.raises(ValueError, match=r"pair 1 \(\d and \d tokens\) is empty"):
        plan([([5], [5]), pair], 8)


@pytest.mark.parametrize("n", [1, 2, 3])  # two rows of sources look like a pair
def test_two_arrays_are_no_list_of_pairs(n):
    arrays = np.full((n, 2), 5), np.full((n, 4), 6)
    with unchecked(), pytest.raises(TypeError, match=r"pair 0 must be \(source ids, target ids\), not array"):
        plan(arrays, 8)
    with unchecked(), pytest.raises(TypeError, match=r"pair 1 must be .*, not \(\[5\], \[5\], \[5\]\)"):
        plan([([5], [5]), ([5],) * 3], 8)


@pytest.mark.parametrize(("rank", "world_size"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_that_does_not_exist_is_refused_at_once(rank, world_size):
    rule = rf"rank \({rank}\) must be at least 0 and below world_size \({world_size}\)"
    with pytest.raises(ValueError, match=rule):
        batches(some(), 200, rank=rank, world_size=world_size)


def test_more_processes_than_pairs_in_a_batch_are_refused():
    with pytest.raises(ValueError, match="a batch of 2 must have a pair for each of 3 processes: raise max_tokens"):
        batches(pairs_of([(5, 5)] * 4), 10, world_size=3)
    with pytest.raises(ValueError, match="a batch of 1 must have a pair for each of 2 processes: start fewer"):
        batches(pairs_of([(5, 5)]), 10, world_size=2)
    assert len(list(islice(batches(pairs_of([(5, 5)] * 4), 10, world_size=2), 9))) == 2


@pytest.mark.parametrize("start", [-1, 3])
def test_a_start_outside_the_epoch_is_refused(start):
    with pytest.raises(ValueError, match=rf"start \({start}\) must be at least 0 and at most 2, the number of batches"):
        batches(pairs_of([(5, 5)] * 4), 10, start=start)


def test_the_padding_id_inside_a_sentence_is_refused():
    with pytest.raises(ValueError, match=r"sequence 0 contains pad_id"):
        next(batches([([5, PAD], [5])], 8))
