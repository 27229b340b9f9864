"""Greedy, beam and exhaustive search: against each other, against plain searches without a cache, and by hand."""

import math
from unittest import mock

import numpy as np
import pytest
import torch
from helpers import (
    BOS,
    EOS,
    PAD,
    lively,
    log_probabilities,
    plain_beam,
    plain_greedy,
    ragged,
    randomised,
    scripted,
    unchecked,
)

from tested_transformer.config import TINY
from tested_transformer.data.tasks import reverse
from tested_transformer.decoding.beam import Search, beam
from tested_transformer.decoding.exhaustive import exhaustive
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.hypothesis import Hypothesis, length_penalty
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import max_lengths
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.adam import create_adam
from tested_transformer.training.objective import NextToken

SEEDS = range(5)
ALPHAS = (0.0, 0.6, 1.0)
LONGEST = 10


def sources(batch=6, length=5, seed=0):
    ids = torch.tensor(ragged(batch, length, 7, seed))
    ids[-1] = PAD  # nothing but padding, which must do no harm
    return ids


def as_ids(hypotheses):
    return [h.ids for h in hypotheses]


def cut(row):
    """A row of greedy's answer without the padding behind it."""
    ids = row.tolist()
    return tuple(ids[: ids.index(PAD)] if PAD in ids else ids)


def assert_same_hypotheses(found, expected):
    assert as_ids(found) == as_ids(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-12)
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-12)


@pytest.fixture(scope="session")
def reverser():
    """A small model that has learned to write a sequence backwards."""
    torch.manual_seed(0)
    model = randomised(Transformer(TINY.replace(vocab_size=8, d_model=32, d_ff=64, n_layers=1)))
    objective, adam = NextToken(model, 0.0), create_adam(model.parameters(), lr=5e-3)
    for step in range(150):
        source, target = map(torch.tensor, reverse(128, 3, 8, step, 1))
        objective(source, target)[0].div(200).backward()
        adam.step()
        adam.zero_grad()
    return model.eval()


# The length penalty and hypotheses


def test_the_length_penalty_has_its_known_values():
    found = [length_penalty(length, 0.6) for length in (1, 5, 10, 20, 50)]
    assert found == pytest.approx([1, 1.3587, 1.7329, 2.3544, 3.7786], abs=5e-5)
    assert [length_penalty(length, 0.0) for length in (1, 7, 50)] == [1, 1, 1]
    assert length_penalty(7, 1) == 2


def test_a_score_is_the_log_probability_divided_by_the_penalty_of_all_tokens():
    found = Hypothesis.of([5, 6, 5, 6, 5, 6, EOS], -3.0, 1.0)
    assert found == Hypothesis((5, 6, 5, 6, 5, 6, EOS), -1.5, -3.0)


# Greedy


def table(rows, words=7, places=LONGEST):
    """The same probabilities at every place: rows[last] names those of the next token, the rest is zero."""
    p = np.zeros((places, words, words))
    p[:, :, EOS] = 1.0
    for last, following in rows.items():
        p[:, last] = 0.0
        for token, probability in following.items():
            p[:, last, token] = probability
    return p


def test_greedy_follows_the_largest_probability_by_hand():
    model = scripted(table({BOS: {4: 0.6, 5: 0.4}, 4: {6: 0.7, EOS: 0.3}, 6: {EOS: 0.9, 4: 0.1}}))
    assert greedy(model, torch.tensor([[4, 5]])).tolist() == [[4, 6, EOS]]


def test_greedy_stops_at_its_limit_where_no_end_comes():
    model = scripted(table({BOS: {4: 1.0}, 4: {5: 1.0}, 5: {4: 1.0}}))
    assert greedy(model, torch.tensor([[4, 5]]), 5).tolist() == [[4, 5, 4, 5, 4]]
    assert greedy(model, torch.tensor([[4, 5]]), 1).tolist() == [[4]]


@pytest.mark.parametrize("seed", SEEDS)
@torch.no_grad()
def test_greedy_writes_what_a_search_without_cache_and_batch_writes(seed):
    model, source = lively(seed), sources(seed=seed)
    out = greedy(model, source, LONGEST)
    for row, found in enumerate(out):
        assert list(cut(found)) == plain_greedy(model, source[row, None], LONGEST)


def test_lively_models_are_lively():
    """The comparisons are worth something: sentences end at different lengths, and few repeat one token."""
    found = [cut(row) for seed in SEEDS for row in greedy(lively(seed), sources(seed=seed), LONGEST)]
    assert len(set(map(len, found))) >= 6
    assert sum(len(set(ids)) >= 3 for ids in found) > len(found) / 2
    assert len(set(found)) > len(found) / 2


def test_greedy_rows_end_with_eos_and_are_filled_up_with_padding():
    out = greedy(lively(), sources(), LONGEST)
    assert out.dtype == torch.int64
    assert out.size(1) <= LONGEST
    assert out[:, -1].ne(PAD).any(), "no wider than the longest"
    lengths = set()
    for row in out.tolist():
        ids = list(cut(torch.tensor(row)))
        assert EOS not in ids[:-1]
        assert ids[-1] == EOS or len(ids) == LONGEST
        assert not any(row[len(ids) :])
        lengths.add(len(ids))
    assert len(lengths) > 1


@torch.no_grad()
def test_every_sentence_has_its_own_limit_when_none_is_given():
    model = scripted(table({BOS: {4: 1.0}, 4: {4: 1.0}}, places=60))
    source = torch.tensor([[4, 4, 4, 0], [4, 0, 0, 0], [4, 4, 4, 4]])
    assert greedy(model, source).ne(PAD).sum(1).tolist() == [53, 51, 54]
    assert [len(h[0].ids) for h in beam(model, source, 1)] == [53, 51, 54]


# Beam search


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_beam_of_one_is_greedy(seed, alpha):
    model, source = lively(seed), sources(seed=seed)
    found = beam(model, source, 1, alpha, LONGEST)
    assert [len(hypotheses) for hypotheses in found] == [1] * 6
    assert [h.ids for (h,) in found] == [cut(row) for row in greedy(model, source, LONGEST)]


@pytest.mark.parametrize("width", [2, 3, 5, 9])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", [0, 1])
@torch.no_grad()
def test_beam_finds_what_a_search_without_cache_batch_and_early_end_finds(seed, alpha, width):
    model, source = lively(seed), sources(seed=seed)
    found = beam(model, source, width, alpha, 7)
    for row, hypotheses in enumerate(found):
        plain = plain_beam(model, source[row, None], width, alpha, 7)
        assert_same_hypotheses(hypotheses, [Hypothesis(*p) for p in plain])


@pytest.mark.parametrize(("alpha", "fused"), [(0.0, True), (0.6, False), (0.6, True), (1.0, True)])
def test_a_beam_as_wide_as_all_there_is_finds_all_that_exhaustive_search_finds(alpha, fused):
    model, source = lively(3, vocab_size=7, fused=fused), sources(4)
    for hypotheses, every in zip(beam(model, source, 400, alpha, 4), exhaustive(model, source, alpha, 4), strict=True):
        assert_same_hypotheses(hypotheses, every)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_beam_finds_better_than_the_best_and_every_hypothesis_is_real(seed):
    model, source = lively(seed, vocab_size=7), sources(3)
    for width in (1, 2, 4):
        found = beam(model, source, width, 0.6, 4)
        for hypotheses, every in zip(found, exhaustive(model, source, 0.6, 4), strict=True):
            scores = {h.ids: h.score for h in every}
            assert hypotheses[0].score <= every[0].score + 1e-12
            assert [h.score for h in hypotheses] == pytest.approx([scores[h.ids] for h in hypotheses], abs=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@torch.no_grad()
def test_scores_are_what_the_model_gives_to_the_sentence_without_a_cache(alpha):
    model, source = lively(2), sources()
    for row, hypotheses in enumerate(beam(model, source, 4, alpha, LONGEST)):
        assert len({h.ids for h in hypotheses}) == 4
        assert hypotheses == sorted(hypotheses, key=lambda h: -h.score)
        for h in hypotheses:
            log_p = sum(log_probabilities(model, source[row, None], list(h.ids)))
            assert h.log_probability == pytest.approx(log_p, abs=1e-11)
            assert h.score == pytest.approx(log_p / ((5 + len(h.ids)) / 6) ** alpha, abs=1e-11)


def test_a_beam_is_the_paper_s_unless_told_otherwise():
    model, source = lively(2), sources()
    assert beam(model, source, max_len=LONGEST) == beam(model, source, 4, 0.6, LONGEST)


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_a_batch_gives_what_its_sentences_give_alone(search):
    for seed in (1, 4):
        model, source = lively(seed), sources(8, 7, seed)
        turned = torch.stack([row.roll(int((row == PAD).sum())) for row in source])  # padding in front
        if search == "greedy":
            assert torch.equal(greedy(model, turned, LONGEST), greedy(model, source, LONGEST))
        else:
            for found, expected in zip(*(beam(model, s, 3, 0.6, LONGEST) for s in (turned, source)), strict=True):
                assert_same_hypotheses(found, expected)
        for row in range(8):
            alone = source[row : row + 1, : max(1, int((source[row] != PAD).sum()))]  # without its padding, too
            if search == "greedy":
                found, single = greedy(model, source, LONGEST)[row], greedy(model, alone, LONGEST)[0]
                assert cut(found) == cut(single)
            else:
                assert_same_hypotheses(
                    beam(model, source, 3, 0.6, LONGEST)[row], beam(model, alone, 3, 0.6, LONGEST)[0]
                )


def greedy_fails():
    """Token 4 comes first with 0.6 and falls apart afterwards; 5 comes with 0.4 and stays whole."""
    return table({BOS: {4: 0.6, 5: 0.4}, 4: {4: 0.3, 5: 0.3, 6: 0.4}, 5: {6: 0.9, 5: 0.1}})


def test_a_beam_finds_by_hand_what_greedy_misses():
    model, source = scripted(greedy_fails()), torch.tensor([[4]])
    assert greedy(model, source).tolist() == [[4, 6, EOS]]
    best, second = beam(model, source, 2, 0.0)[0]
    assert best.ids == (5, 6, EOS)
    assert math.exp(best.log_probability) == pytest.approx(0.36)
    assert second.ids == (4, 6, EOS)
    assert math.exp(second.log_probability) == pytest.approx(0.24)


def test_log_probabilities_are_added_and_not_logits():
    """Logits raised by the same number mean the same; added up, they would win."""
    model = scripted(greedy_fails())
    model.embedding.table[:, 4] += 5.0
    assert beam(model, torch.tensor([[4]]), 2, 0.0)[0][0].ids == (5, 6, EOS)


def test_a_finished_hypothesis_is_neither_dropped_nor_extended():
    p = table({BOS: {EOS: 0.5, 4: 0.5}, 4: {4: 1.0}, EOS: {6: 1.0}})
    found = beam(scripted(p), torch.tensor([[4]]), 3, 0.0, 5)[0]
    assert as_ids(found) == [(EOS,), (4, 4, 4, 4, 4)]
    assert [math.exp(h.log_probability) for h in found] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("alpha", "best"), [(0.0, (EOS,)), (0.6, (4, 4, 4, 4, 4, EOS)), (1.0, (4, 4, 4, 4, 4, EOS))])
def test_the_search_goes_on_while_a_longer_sentence_may_still_win(alpha, best):
    """Ending at once has 0.3; going on costs much at first and nothing later. (0.2: -1.609 / 1.4386 = -1.119.)"""
    p = table({BOS: {EOS: 0.3, 5: 0.29, 6: 0.21, 4: 0.2}, 5: {5: 0.5, 6: 0.5}, 6: {5: 0.5, 6: 0.5}})
    p[:, 4] = 0.0
    p[:, 4, 4] = 1.0
    p[5, 4] = np.eye(7)[EOS]
    found = beam(scripted(p), torch.tensor([[4]]), 4, alpha, LONGEST)[0]
    assert found[0].ids == best


def test_width_finished_hypotheses_are_no_reason_to_stop_while_the_limit_lets_another_pass():
    """By hand, alpha 1: -0.693 / 1, -1.897 / (7/6) = -1.626, and on to ten tokens -1.897 / 2.5 = -0.759."""
    p = table({BOS: {EOS: 0.5, 4: 0.3, 6: 0.2}, 4: {EOS: 0.5, 5: 0.5}, 5: {5: 1.0}})
    found = beam(scripted(p), torch.tensor([[4]]), 2, 1.0, LONGEST)[0]
    assert as_ids(found) == [(EOS,), (4, *[5] * 9)]
    assert [h.score for h in found] == pytest.approx([-0.693, -0.759], abs=5e-4)


@pytest.mark.filterwarnings("ignore::tested_transformer.decoding.recompute.Uncached")
def test_the_search_ends_as_soon_as_nothing_can_change(monkeypatch):
    """With alpha 0, nothing below the worst of the width finished ones can ever rise above it."""
    model = scripted(table({BOS: {EOS: 0.9, 4: 0.1}, 4: {4: 0.5, 5: 0.5}, 5: {4: 0.5, 5: 0.5}}))
    steps, logits = [], model.embedding.logits
    monkeypatch.setattr(model.embedding, "logits", lambda x: steps.append(1) or logits(x))
    assert beam(model, torch.tensor([[4]]), 1, 0.0)[0][0].ids == (EOS,)
    assert len(steps) == 1


def test_of_equals_the_one_that_was_finished_first_stands_first_whatever_the_batch():
    p = table({BOS: {4: 0.25, 5: 0.25, 6: 0.25, EOS: 0.25}})
    model = scripted(p)
    found = beam(model, torch.tensor([[4, 5], [6, 0], [5, 5]]), 4, 0.0)
    assert found[0][0].ids == (EOS,)
    assert {h.ids for h in found[0]} == {(EOS,), (4, EOS), (5, EOS), (6, EOS)}
    assert found[0] == found[1] == found[2] == beam(model, torch.tensor([[5, 6]]), 4, 0.0)[0]


def test_of_many_equals_those_of_the_first_hypothesis_go_on():
    model = lively(vocab_size=40)
    search = Search(model, sources(2), 20, 0.6, 4)
    search.log_p.zero_()
    parents, _ = search.choose(torch.zeros(2, 20, 40, dtype=torch.float64))
    assert not parents.any()


def test_fewer_hypotheses_come_where_fewer_exist():
    model, source = lively(vocab_size=7), sources(3)
    assert [len(h) for h in beam(model, source, 50, 0.6, 1)] == [5] * 3  # three words, unk_id among them, and eos_id
    assert [len(h) for h in beam(scripted(table({BOS: {4: 1.0}})), source, 4)] == [1] * 3


# Exhaustive search


def test_all_sentences_together_have_the_probability_one():
    p = np.random.default_rng(0).uniform(size=(4, 7, 7))
    p[..., [PAD, BOS]] = 0.0
    p /= p.sum(-1, keepdims=True)
    for every in exhaustive(scripted(p), torch.tensor([[4], [5]]), 0.6, 4):
        assert len(every) == 1 + 4 + 16 + 64 + 256
        assert len(set(as_ids(every))) == len(every)
        assert sum(math.exp(h.log_probability) for h in every) == pytest.approx(1)
        assert every == sorted(every, key=lambda h: -h.score)


@torch.no_grad()
def test_exhaustive_search_scores_as_the_model_does():
    model, source = lively(1, vocab_size=7), sources(2, 3)
    for row, every in enumerate(exhaustive(model, source, 0.6, 3)):
        for h in every[::17]:
            log_p = sum(log_probabilities(model, source[row, None], list(h.ids)))
            assert h.log_probability == pytest.approx(log_p, abs=1e-12)
            assert h.score == pytest.approx(log_p / length_penalty(len(h.ids), 0.6), abs=1e-12)


# What no search does, and what all of them leave as it was


def test_padding_and_bos_are_never_written_however_probable():
    p = table({BOS: {PAD: 0.5, BOS: 0.3, 4: 0.15, 5: 0.05}, 4: {BOS: 0.9, EOS: 0.1}, 5: {PAD: 0.9, EOS: 0.1}})
    model, source = scripted(p), torch.tensor([[4, 5]])
    assert greedy(model, source).tolist() == [[4, EOS]]
    for found in (beam(model, source, 4, 0.0, 3)[0], exhaustive(model, source, 0.0, 3)[0][:2]):
        assert as_ids(found) == [(4, EOS), (5, EOS)]
        assert math.exp(found[0].log_probability) == pytest.approx(0.015), "and nobody shares out what they had"


def test_what_was_learned_backwards_comes_out_backwards(reverser):
    source, target = map(torch.tensor, reverse(60, 3, 8, 999, 1))
    out = greedy(reverser, source, 6)
    right = [cut(o) == cut(t[1:]) for o, t in zip(out, target, strict=True)]
    assert sum(right) >= 57
    for found, row in zip(beam(reverser, source, 4, 0.6, 6), out, strict=True):
        assert found[0].ids == cut(row)
        assert found[0].score > -0.5 > found[1].score
    single = [cut(greedy(reverser, row[None], 6)[0]) for row in source]
    assert single == [cut(row) for row in out]


SEARCHES = {
    "greedy": lambda model, source: greedy(model, source, 4),
    "beam": lambda model, source: beam(model, source, 3, 0.6, 4),
    "exhaustive": lambda model, source: exhaustive(model, source, 0.6, 4),
}
each_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def alike(one, other):
    return torch.equal(one, other) if torch.is_tensor(one) else one == other


@each_search
def test_a_model_in_training_mode_is_put_at_rest_and_back(search):
    model, source = lively(vocab_size=7, dropout=0.5), sources()
    expected = search(model, source)
    model.train()
    model.encoder.eval()  # somebody's choice, which must survive
    before = [module.training for module in model.modules()]
    assert alike(search(model, source), expected)
    assert [module.training for module in model.modules()] == before
    with pytest.raises(TypeError), unchecked():
        search(model, source.double())
    assert [module.training for module in model.modules()] == before


def test_at_rest_means_no_gradients_either():
    model = lively(dropout=0.5).train()
    with inference(model):
        assert not model.training
        assert not torch.is_grad_enabled()
    assert model.training
    assert torch.is_grad_enabled()


def test_what_greedy_wrote_can_take_part_in_learning():
    model, source = lively(), sources()
    out = greedy(model, source, LONGEST)
    model(source, out).sum().backward()
    assert model.embedding.weight.grad.isfinite().all()


@each_search
def test_the_source_is_left_as_it_was_and_int32_is_as_good(search):
    model, source = lively(1, vocab_size=7), sources()
    before = source.clone()
    found = search(model, source)
    assert alike(search(model, source), found)
    assert torch.equal(source, before)
    narrow = search(model, source.int())
    assert alike(narrow.long() if torch.is_tensor(narrow) else narrow, found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_all_searches_work_in_lower_precision(dtype):
    model, source = lively(4, vocab_size=7), sources()
    best = beam(model, source, 4, 0.6, 5)
    model = model.to(dtype)
    near = {torch.float32: 1e-5, torch.float16: 0.02, torch.bfloat16: 0.2}[dtype]
    for found, expected in zip(beam(model, source, 4, 0.6, 5), best, strict=True):
        assert found[0].score == pytest.approx(expected[0].score, abs=near)
    # Fifty hold all sentences of two tokens; for more, PyTorch's bfloat16 kernel fails where AVX-512 is switched off.
    for found, every in zip(beam(model, source, 50, 0.6, 2), exhaustive(model, source, 0.6, 2), strict=True):
        assert found[0].score == pytest.approx(every[0].score, abs=near)
    assert greedy(model, source, 5).shape[0] == 6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_beam_adds_up_in_single_precision_what_the_model_says_in_less(dtype):
    found = beam(lively(4, vocab_size=7).to(dtype), sources(), 4, 0.6, 5)
    sums = torch.tensor([h.log_probability for hypotheses in found for h in hypotheses])
    assert not torch.equal(sums, sums.to(dtype).float()), "they have more digits than the weights"


# Limits and refusals


def test_limits_are_fifty_more_than_the_source_or_what_was_asked_for():
    source = torch.tensor([[4, 5, 6], [4, 0, 0], [0, 0, 0]])
    assert max_lengths(source, None, TINY.replace(max_len=100)).tolist() == [53, 51, 50]
    assert max_lengths(source, None, TINY.replace(max_len=52)).tolist() == [52, 51, 50]
    assert max_lengths(source, 7, TINY).tolist() == [7, 7, 7]
    assert max_lengths(source, TINY.max_len, TINY).tolist() == [32] * 3


def test_lengths_and_widths_may_be_numpy_s():
    model, source = lively(vocab_size=7), sources(2, 3)
    with unchecked():
        assert torch.equal(greedy(model, source, np.int64(4)), greedy(model, source, 4))
        assert beam(model, source, np.int64(2), 0.6, np.int32(4)) == beam(model, source, 2, 0.6, 4)


NOTHING = torch.zeros(2, 0, dtype=torch.int64)
REFUSED = {
    "no new token": (greedy, {"max_len": 0}, ValueError, r"max_len \(0\) must be at least 1 and at most"),
    "more tokens than positions": (greedy, {"max_len": 33}, ValueError, r"at most the model's max_len \(32\)"),
    "half a token": (greedy, {"max_len": 2.5}, TypeError, r"max_len \(2.5\) must be a whole number"),
    "true as a length": (greedy, {"max_len": True}, TypeError, r"max_len \(True\) must be a whole number"),
    "an empty source": (greedy, {"source": NOTHING}, ValueError, r"source of shape \(2, 0\)"),
    "no sentence": (greedy, {"source": NOTHING.T}, ValueError, r"source of shape \(0, 2\)"),
    "a sentence without a batch": (greedy, {"source": torch.tensor([4, 5])}, ValueError, r"source of shape \(2,\)"),
    "numbers for ids": (greedy, {"source": torch.ones(1, 2)}, TypeError, "source must be int64 or int32"),
    "more tokens for a beam": (beam, {"max_len": 33}, ValueError, r"max_len \(33\) must be at least 1"),
    "a beam of nothing": (beam, {"width": 0}, ValueError, r"width \(0\) must be at least 1"),
    "half a hypothesis": (beam, {"width": 2.0}, TypeError, r"width \(2.0\) must be a whole number"),
    "true as a width": (beam, {"width": True}, TypeError, r"width \(True\) must be a whole number"),
    "a reward for shortness": (beam, {"alpha": -0.1}, ValueError, r"alpha \(-0.1\) must be at least 0 and at most 50"),
    "alpha not a number": (beam, {"alpha": math.nan}, ValueError, r"alpha \(nan\) must be at least 0"),
    "alpha without end": (beam, {"alpha": math.inf}, ValueError, r"alpha \(inf\) must be at least 0"),
    "a penalty without end": (
        beam, {"alpha": 1e308}, ValueError, r"alpha \(1e\+308\) must be at least 0 and at most 50",
    ),
    "an empty source for a beam": (
        beam, {"source": NOTHING}, ValueError, r"source of shape \(2, 0\)",
    ),
    "too many sentences": (
        exhaustive, {"alpha": 0.6, "max_len": 9}, ValueError,
        r"max_len \(9\) makes more than 100000 sentences of 4 words",
    ),
    "a negative alpha": (exhaustive, {"alpha": -1.0, "max_len": 2}, ValueError, r"alpha \(-1.0\)"),
    "numbers for a judge": (
        exhaustive, {"alpha": 0.6, "max_len": 2, "source": torch.ones(1, 2)}, TypeError, "source must be int64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_name_and_value(case):
    search, wrong, error, words = REFUSED[case]
    with unchecked(), pytest.raises(error, match=words):
        search(**{"model": lively(vocab_size=7), "source": sources(2, 3)} | wrong)


def test_a_length_of_nothing_has_no_penalty():
    with pytest.raises(ValueError, match=r"length \(0\) must be at least 1"):
        length_penalty(0, 0.6)


@pytest.mark.parametrize("kind", [float, np.float64])
def test_a_penalty_is_finite_or_refused(kind):
    assert length_penalty(2**22, kind(50)) == pytest.approx(((5 + 2**22) / 6) ** 50)
    with pytest.raises(ValueError, match=r"alpha \(50\.1\) must be at least 0 and at most 50"):
        length_penalty(1, kind(50.1))


def test_logits_that_are_no_numbers_do_not_pass_for_an_empty_answer():
    model = lively()
    with torch.no_grad():
        model.embedding.out.fill_(math.nan)
    for search in (lambda: beam(model, sources(), 2, 0.6, 4), lambda: greedy(model, sources(), 4)):
        with pytest.raises(FloatingPointError, match="the logits of the model hold NaN or infinity"):
            search()


@pytest.mark.parametrize("name", ["greedy", "beam"])
def test_a_logit_of_minus_infinity_is_never_written_and_an_infinite_one_is_refused(name):
    def written(model):
        if name == "greedy":
            return set(greedy(model, sources(), LONGEST).flatten().tolist())
        return {i for found in beam(model, sources(), 3, 0.6, LONGEST) for h in found for i in h.ids}

    model = lively()
    kind, logits = type(model.embedding), type(model.embedding).logits
    forbidden = max(written(model) - {PAD, EOS})
    with mock.patch.object(kind, "logits", lambda self, x: logits(self, x).index_fill(-1, which, value)):
        which, value = torch.tensor([forbidden]), -math.inf
        assert forbidden not in written(model)
        which, value = torch.tensor([forbidden]), math.inf
        with pytest.raises(FloatingPointError, match="the logits of the model hold NaN or infinity"):
            written(model)


class Own(torch.nn.Module):
    """Somebody's own model around one of ours: a search needs no more than this."""

    def __init__(self, **parts):
        super().__init__()
        self.inner = lively()
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, source, target):
        return self.inner(source, target)


@pytest.mark.filterwarnings("ignore::tested_transformer.decoding.recompute.Uncached")
def test_a_search_takes_a_model_of_ones_own_and_says_what_one_lacks():
    with unchecked():
        whole = Own(config=TINY.replace(vocab_size=12))
        whole.encode = whole.inner.encode
        assert torch.equal(greedy(whole, sources()), greedy(whole.inner, sources()))
        for search in (greedy, beam):
            with pytest.raises(TypeError, match=r"must be a torch\.nn\.\S+Module, not list$"):
                search([], sources())
            with pytest.raises(
                TypeError, match=r"model \(Own\) has no config: a search needs config, encode\(source\), "
            ):
                search(Own(), sources())
            with pytest.raises(TypeError, match=r"model \(Own\) has no encode: a search needs"):
                search(Own(config=TINY.replace(vocab_size=12)), sources())
