"""Sampling: what is kept, what is drawn and how often, and what a text looks like that was written by lot."""

import math
from functools import partial

import pytest
import torch
from helpers import randomised, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.config import Config
from tested_transformer.decoding.cache import GptCache, read_anew, reader
from tested_transformer.decoding.recompute import Uncached
from tested_transformer.decoding.sampling import draw, keep_top_k, keep_top_p, next_probabilities, sample
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.gpt import Gpt

CONFIG = Config(20, 8, 16, 2, 1, dropout=0.2, max_len=10, activation="gelu", attention_bias=True, norm_first=True)
PROMPT = torch.tensor([[1], [1], [1]])

scores = st.lists(st.floats(-8, 8), min_size=1, max_size=9)
shares = st.floats(0.01, 1)


def row(logits):
    return torch.tensor([logits], dtype=torch.float64)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def gpt():
    return randomised(Gpt(CONFIG)).eval()


# What is kept


@given(scores, st.integers(1, 12))
def test_top_k_keeps_exactly_k_and_none_is_above_them(logits, k):
    kept = torch.isfinite(keep_top_k(row(logits), k))[0]
    assert kept.sum() == min(k, len(logits))
    assert row(logits)[0][kept].min() >= max(row(logits)[0][~kept].tolist(), default=-math.inf)


def test_of_equal_logits_smaller_ids_are_kept():
    assert torch.isfinite(keep_top_k(row([1, 2, 2, 2]), 2)).tolist() == [[False, True, True, False]]
    assert torch.isfinite(keep_top_p(row([0, 0, 0, 0]), 0.5)).tolist() == [[True, True, False, False]]
    many, three = row([0] * 1000), [True] * 3 + [False] * 997
    assert torch.isfinite(keep_top_k(many, 3))[0].tolist() == three
    assert torch.isfinite(keep_top_p(many, 0.0025))[0].tolist() == three


@given(scores, shares)
def test_the_nucleus_has_its_mass_and_would_not_without_its_least_token(logits, p):
    before = row(logits).softmax(-1)[0]
    kept = torch.isfinite(keep_top_p(row(logits), p))[0]
    mass = before[kept].sum()
    assert mass >= p - 1e-12
    assert kept.all() or before[kept].min() >= before[~kept].max()
    assert p == 1 or mass - before[kept].min() < p


@pytest.mark.parametrize(("p", "kept"), [(0.49, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.76, 3), (1, 4)])
def test_the_nucleus_of_halves_and_quarters(p, kept):
    logits = row([0.125, 0.5, 0.125, 0.25]).log2() * math.log(2)
    found = torch.isfinite(keep_top_p(logits, p))[0]
    assert found.sum() == kept
    assert found[1]


def test_rows_are_cut_one_by_one():
    both = torch.cat([row([5, 0, 0]), row([0, 0.1, 0.2])])
    assert torch.isfinite(keep_top_p(both, 0.9)).sum(-1).tolist() == [1, 3]
    assert torch.equal(keep_top_k(both, 2), torch.cat([keep_top_k(r[None], 2) for r in both]))


# Probabilities


@given(scores)
def test_one_all_and_one_change_nothing(logits):
    same = next_probabilities(row(logits), temperature=1.0, top_k=len(logits), top_p=1.0)
    assert torch.equal(same, row(logits).softmax(-1))


def test_all_is_kept_by_a_p_of_one_though_rounding_reaches_it_early():
    logits = row([0, -40, -41])
    assert logits.softmax(-1).cumsum(-1)[0, 0] == 1
    assert torch.isfinite(keep_top_p(logits, 1)).all()


def test_what_is_kept_keeps_its_proportions():
    p = next_probabilities(row([0.5, 0.3, 0.15, 0.05]).log(), top_k=2)
    assert torch.allclose(p, row([0.625, 0.375, 0, 0]), rtol=0, atol=1e-12)
    p = next_probabilities(row([0.5, 0.3, 0.15, 0.05]).log(), top_p=0.8 + 1e-9)
    assert torch.allclose(p, row([0.5, 0.3, 0.15, 0]) / 0.95, rtol=0, atol=1e-12)


def test_a_temperature_is_a_power_of_the_probabilities():
    p = row([0.5, 0.3, 0.2])
    for t in (0.5, 2.0):
        raised = p ** (1 / t)
        assert torch.allclose(next_probabilities(p.log(), t), raised / raised.sum(), rtol=0, atol=1e-12)


def test_temperature_comes_before_the_cuts():
    logits = row([0.5, 0.3, 0.2]).log()
    cold, hot = next_probabilities(logits, 0.1, top_p=0.9), next_probabilities(logits, 10.0, top_p=0.9)
    assert (cold > 0).sum() == 1
    assert (hot > 0).sum() == 3


def test_a_small_temperature_is_greedy():
    p = next_probabilities(row([1.0, 1.1, 0.9]), temperature=1e-3)
    assert torch.allclose(p, row([0.0, 1.0, 0.0]))


# Drawing


def test_ten_thousand_draws_agree_with_the_probabilities():
    p, n = torch.tensor([0.5, 0.0, 0.3, 0.15, 0.05], dtype=torch.float64), 10_000
    found = torch.bincount(draw(p.expand(n, 5), seeded()), minlength=5) / n
    assert found[1] == 0
    assert ((found - p).abs() <= 4 * (p * (1 - p) / n).sqrt()).all()


def test_a_point_on_the_line_hits_the_token_whose_piece_it_is(monkeypatch):
    p = torch.tensor([[0.0, 0.25, 0.5, 0.25, 0.0]], dtype=torch.float64)
    for point, token in ((0.0, 1), (0.2499, 1), (0.25, 2), (0.7499, 2), (0.75, 3), (1 - 2**-53, 3)):
        monkeypatch.setattr(torch, "rand", lambda *a, point=point, **k: row([point]))
        assert draw(p).tolist() == [token], point


def test_the_last_point_hits_a_token_although_the_sum_falls_short_of_one(monkeypatch):
    p = torch.full((1, 10), 0.1, dtype=torch.float64) - 1e-9
    monkeypatch.setattr(torch, "rand", lambda *a, **k: row([1 - 2**-53]))
    assert draw(p).tolist() == [9]


def test_what_is_very_unlikely_is_not_rounded_away(monkeypatch):
    p = torch.tensor([[1.0] + [1e-8] * 10])  # in float32 their sum is 1
    monkeypatch.setattr(torch, "rand", lambda *a, **k: row([1 - 2**-53]))
    assert draw(p).tolist() == [10]


def test_rows_are_drawn_one_by_one():
    p = torch.eye(4, dtype=torch.float64)[[2, 0, 3]]
    assert draw(p, seeded()).tolist() == [2, 0, 3]


# Writing


def test_top_k_of_one_is_greedy_whatever_the_seed():
    model, ids = gpt(), PROMPT[:1]
    while ids.size(1) < 10 and ids[0, -1] != 2:
        logits = model(ids)[0, -1]
        logits[[0, 1]] = -torch.inf
        ids = torch.cat([ids, logits.argmax()[None, None]], 1)
    for seed in range(3):
        how = {"suppress_tokens": (0, 1), "generator": seeded(seed)}
        assert torch.equal(sample(model, PROMPT[:1], 10, top_k=1, **how), ids)
        assert torch.equal(sample(model, PROMPT[:1], 10, temperature=1e-4, **how), ids)


def test_a_temperature_that_is_not_given_is_1():
    model = gpt()
    said, unsaid = (
        sample(model, PROMPT.repeat(20, 1), 10, generator=seeded(), **t) for t in ({"temperature": 1.0}, {})
    )
    assert torch.equal(said, unsaid)


def test_a_seed_fixes_the_text_and_another_changes_it():
    model = gpt()
    first, again, other = (sample(model, PROMPT, 10, generator=seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_text_begins_with_its_prompt_and_has_only_padding_behind_its_end():
    prompts = torch.tensor([[1, 7], [1, 8]]).repeat(200, 1)
    texts = sample(gpt(), prompts, 10, temperature=2.0, generator=seeded(), suppress_tokens=[0, 1])
    assert torch.equal(texts[:, :2], prompts)
    ends = texts == 2
    assert 0 < ends.any(1).sum() < 400, "some end, and some reach the limit"
    assert (ends.sum(1) <= 1).all()
    behind = ends.cumsum(1) - ends.long() > 0
    assert (texts[behind] == 0).all()
    assert not ((texts[:, 2:] == 0) & ~behind[:, 2:]).any()
    assert not (texts[:, 2:] == 1).any()


def test_behind_its_end_a_text_has_the_padding_of_its_model():
    model = randomised(Gpt(CONFIG.replace(pad_id=9))).eval()
    texts = sample(model, PROMPT.repeat(100, 1), 10, temperature=2.0, generator=seeded(), suppress_tokens=[9])
    ends = texts == 2
    behind = ends.cumsum(1) - ends.long() > 0
    assert behind.any()
    assert texts[behind].eq(9).all()
    assert not texts[~behind].eq(9).any()


def test_all_ids_are_written_but_those_that_are_suppressed():
    prompts, model = PROMPT.repeat(300, 1), gpt()
    texts = sample(model, prompts, 10, temperature=9.0, generator=seeded())[:, 1:]
    assert set(texts.unique().tolist()) == set(range(20))
    texts = sample(model, prompts, 10, temperature=9.0, generator=seeded(), suppress_tokens=[4, 7])[:, 1:]
    assert set(texts.unique().tolist()) == set(range(20)) - {4, 7}


def test_one_id_for_padding_begin_and_end_begins_and_ends_a_text():
    model = randomised(Gpt(CONFIG.replace(pad_id=9, bos_id=9, eos_id=9, unk_id=9))).eval()
    texts = sample(model, torch.tensor([[9]]).repeat(200, 1), 10, temperature=2.0, generator=seeded())[:, 1:]
    behind = (texts == 9).cumsum(1) > 1
    assert 0 < behind.any(1).sum() < 200
    assert texts[behind].eq(9).all()
    assert {0, 1, 2} <= set(texts.unique().tolist())


def test_writing_stops_when_all_have_ended():
    model = gpt()
    model.forward = lambda ids: torch.eye(20, dtype=torch.float64)[torch.full_like(ids, 2)] * 1e3
    with pytest.warns(Uncached, match=r"the model \(Gpt\)"):
        assert sample(model, PROMPT, 10, generator=seeded()).tolist() == [[1, 2]] * 3


def test_the_model_rests_while_it_writes_and_then_is_as_it_was():
    model = gpt().train()
    texts = [sample(model, PROMPT, 10, top_k=1) for _ in range(3)]
    assert torch.equal(texts[0], texts[1])
    assert model.training
    assert not texts[0].is_inference()


# The cache


CHANGES = {"biases": {}, "norm last": {"norm_first": False}, "formulas": {"fused": False}, "layers": {"n_layers": 3}}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("pieces", [(1,) * 8, (3, 1, 4), (8,)])
@torch.inference_mode()
def test_a_text_read_in_pieces_gives_what_the_whole_text_gives(change, pieces):
    model = randomised(Gpt(CONFIG.replace(**CHANGES[change]))).eval()
    text = torch.tensor([[1, 7, 8, 9, 5, 2, 0, 0], [1, 3, 3, 3, 19, 4, 6, 7]])
    read, found, ends = GptCache(model).read, [], torch.tensor(pieces).cumsum(0).tolist()
    for end in ends:
        found.append(read(text[:, :end]))
    assert [x.size(1) for x in found] == [*pieces]
    torch.testing.assert_close(torch.cat(found, 1), model(text), rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", [{"top_k": 1}, {"temperature": 1.5}, {"top_p": 0.8}])
def test_with_the_cache_the_same_texts_are_written(how, monkeypatch):
    model, prompts = gpt(), torch.tensor([[1, 7, 3], [1, 8, 4]]).repeat(50, 1)
    cached = sample(model, prompts, 10, generator=seeded(), **how)
    monkeypatch.setattr("tested_transformer.decoding.sampling.reader", lambda model: partial(read_anew, model))
    assert torch.equal(cached, sample(model, prompts, 10, generator=seeded(), **how))


def test_no_token_is_read_twice(monkeypatch):
    read, rows = FeedForward.forward, []
    monkeypatch.setattr(FeedForward, "forward", lambda self, x: (rows.append(x.size(1)), read(self, x))[1])
    monkeypatch.setattr("tested_transformer.decoding.cache.passed_by", lambda model: None)
    written = sample(gpt(), torch.tensor([[1, 7, 3]]), 10, generator=seeded())
    assert rows == [3] + [1] * (written.size(1) - 4)


def test_a_module_that_may_need_the_whole_text_gets_it():
    class Reversed(FeedForward):
        def forward(self, x):
            return super().forward(x).flip(1)

    model = gpt()
    assert isinstance(reader(model).__self__, GptCache)
    model.decoder.layers[0].feed_forward = Reversed(8, 16, "gelu").double()
    with pytest.warns(Uncached, match=r"feed_forward \(Reversed\) is not known"):
        assert reader(model).args == (model,)
    with pytest.raises(ValueError, match=r"feed_forward \(Reversed\) may need the whole text: take `reader`"):
        GptCache(model)
    with pytest.warns(Uncached):
        assert sample(model, PROMPT, 10, generator=seeded()).size(1) <= 10


# Refusals


@pytest.mark.parametrize("t", [0.0, -1.0, math.inf])
def test_a_temperature_that_is_not_positive_is_refused(t):
    with pytest.raises(ValueError, match=r"temperature \(.*\) must be positive and finite; .* top_k=1"):
        next_probabilities(row([1, 2]), t)


def test_bad_cuts_are_refused():
    with pytest.raises(ValueError, match=r"top_k \(0\) must be at least 1"):
        keep_top_k(row([1, 2]), 0)
    with unchecked(), pytest.raises(TypeError, match=r"top_k \(1\.5\) must be a whole number"):
        keep_top_k(row([1, 2]), 1.5)
    for p in (0.0, 1.1):
        with pytest.raises(ValueError, match=rf"top_p \({p}\) must be above 0 and at most 1"):
            keep_top_p(row([1, 2]), p)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ([[1, 7, 0]], r"prompt 0 has pad_id \(0\) at 2: prompts have no padding"),
        ([[1, 7, 3], [0, 1, 7]], r"prompt 1 has pad_id \(0\) at 0"),
        ([[1, 7, 2]], r"prompt 0 has eos_id \(2\) at 2: .* and no end; of unequal length, they are lists"),
        ([[2, 7]], r"prompt 0 has eos_id \(2\) at 0"),
        ([[]], r"prompt of shape \(1, 0\) must be \(batch, length\), at least one of each"),
        ([1, 7], r"prompt of shape \(2,\) must be \(batch, length\)"),
    ],
)
def test_prompts_that_are_padded_or_ended_or_no_batch_are_refused(prompt, words):
    with unchecked(), pytest.raises(ValueError, match=words):
        sample(gpt(), torch.tensor(prompt), 10)


@pytest.mark.parametrize("prompt", [[[9, 7, 9]], [[7, 9]], [[9, 9]]])
def test_where_padding_is_the_begin_it_may_stand_there_alone(prompt):
    model = gpt()
    model.config = CONFIG.replace(pad_id=9, bos_id=9, eos_id=9)
    sample(model, torch.tensor([[9, 7]]), 4)
    with pytest.raises(ValueError, match=r"prompt 0 has pad_id \(9\) at [12]"):
        sample(model, torch.tensor(prompt), 10)


def test_what_is_no_prompt_and_what_cannot_be_suppressed_are_refused():
    with (
        unchecked(),
        pytest.raises(TypeError, match=r"prompt must be .* a list of lists of ids, not str"),
    ):
        sample(gpt(), "[[1, 5]]", 10)
    for wrong in (-1, 20):
        with pytest.raises(IndexError, match=rf"suppress_tokens \({wrong}\) must be at least 0 and below vocab_size"):
            sample(gpt(), PROMPT, 10, suppress_tokens=[3, wrong])


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_logits_that_are_not_numbers_are_refused(broken):
    model = gpt()
    with torch.no_grad():
        model.decoder.norm.bias[0] = broken
    with pytest.raises(FloatingPointError, match="the logits of the model hold NaN or infinity"):
        sample(model, PROMPT, 10)


@pytest.mark.parametrize("max_len", [1, 11])
def test_a_length_that_cannot_be_is_refused(max_len):
    with pytest.raises(ValueError, match=rf"max_len \({max_len}\) must be above the prompt's \(1\) and at most 10"):
        sample(gpt(), PROMPT, max_len)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_probabilities_of_half_precision_are_float32(dtype):
    logits = torch.tensor([[1.0, 2.0, 3.0, -torch.inf]], dtype=dtype)
    found = next_probabilities(logits, temperature=0.7, top_k=3, top_p=0.99)
    assert found.dtype == torch.float32
    assert torch.equal(found, next_probabilities(logits.float(), temperature=0.7, top_k=3, top_p=0.99))
    assert next_probabilities(logits.double()).dtype == torch.float64
