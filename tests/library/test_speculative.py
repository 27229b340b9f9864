"""Speculative decoding: the same distribution as without a draft, to the last digit, in fewer calls."""

from itertools import chain

import pytest
import torch
from helpers import randomised

from tested_transformer.book.outcomes import outcomes
from tested_transformer.config import Config
from tested_transformer.decoding import conversation, speculative
from tested_transformer.decoding._checks import first
from tested_transformer.decoding.cache import GptCache, reader
from tested_transformer.decoding.conversation import stream
from tested_transformer.decoding.sampling import next_probabilities
from tested_transformer.decoding.speculative import acceptance, leftover, speculate
from tested_transformer.model.gpt import Gpt

CONFIG = Config(20, 8, 16, 2, 1, dropout=0.2, max_len=24, activation="gelu", attention_bias=True, norm_first=True)
TOY = CONFIG.replace(vocab_size=4, pad_id=0, bos_id=1, eos_id=2, unk_id=3)


def gpt(config=CONFIG, seed=0):
    return randomised(Gpt(config), seed).double()


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def flat(*args, **how):
    return [*chain.from_iterable(speculate(*args, **how))]


@pytest.mark.parametrize(
    ("n_drafted", "how"), [(1, {}), (2, {}), (1, {"temperature": 0.5, "top_p": 0.9}), (2, {"top_k": 2})]
)
def test_all_texts_are_exactly_as_likely_as_without_a_draft(n_drafted, how):
    model, draft = gpt(TOY), gpt(TOY, 1)
    begin, stop, most = [1], {2}, 4
    alone = outcomes(lambda: tuple(stream(model, begin, stop, most, **how)), conversation)
    with_draft = outcomes(lambda: tuple(flat(model, draft, begin, stop, most, n_drafted, **how)), speculative)
    assert sum(alone.values()) == pytest.approx(1, abs=1e-12)
    far = sum(abs(alone.get(text, 0) - with_draft.get(text, 0)) for text in {*alone, *with_draft}) / 2
    assert far < 1e-12
    assert len(alone) > 5


def test_only_ids_that_have_a_token_are_written_and_either_model_may_have_more_rows():
    model, draft = gpt(TOY.replace(vocab_size=6)), gpt(TOY.replace(vocab_size=5), 1)
    read = lambda: first(4, reader(model))  # noqa: E731
    alone = outcomes(lambda: tuple(stream(model, [1], {2}, 4, read=read())), conversation)
    with_draft = outcomes(lambda: tuple(flat(model, draft, [1], {2}, 4, 2, n_tokens=4)), speculative)
    assert alone.keys() == with_draft.keys()
    assert all(with_draft[text] == pytest.approx(p, abs=1e-12) for text, p in alone.items())
    assert {i for text in alone for i in text} == {0, 1, 2, 3}
    for n in (0, 6):
        with pytest.raises(
            ValueError, match=rf"n_tokens \({n}\) must be at least 1 and at most 5, as both models have"
        ):
            flat(model, draft, [1], {2}, 4, n_tokens=n)


def test_the_draft_alone_would_be_far_from_it():
    model, draft = gpt(TOY), gpt(TOY, 1)
    one, other = (outcomes(lambda m=m: tuple(stream(m, [1], {2}, 4)), conversation) for m in (model, draft))
    assert sum(abs(one[text] - other[text]) for text in one) / 2 > 0.1


@pytest.mark.parametrize("n_drafted", [1, 3, 8, 40])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_likeliest_text_is_the_same(n_drafted, seed):
    model, draft, stop = gpt(), gpt(seed=seed), {7}
    for begin in ([1, 5], [1, 9, 9, 4]):
        assert flat(model, draft, begin, stop, 24, n_drafted, top_k=1) == [*stream(model, begin, stop, 24, top_k=1)]


def test_a_draft_that_knows_all_is_never_refused():
    model = gpt()
    rounds = [*speculate(model, model, [1, 5], (), 24, 4, generator=seeded())]
    assert [*map(len, rounds)] == [5, 5, 5, 5, 2]


def test_a_round_is_one_call_of_the_model_and_reads_no_token_twice(monkeypatch):
    model, draft, read, new = gpt(), gpt(seed=1), [], GptCache._new
    said = lambda cache, ids, last: read.append(ids.size(1) - cache.length) if cache.model is model else None  # noqa: E731
    monkeypatch.setattr(GptCache, "_new", lambda cache, ids, last: (said(cache, ids, last), new(cache, ids, last))[1])
    rounds = [*speculate(model, draft, [1, 5, 6], (), 24, 4, generator=seeded())]
    assert len(read) == len(rounds)
    assert read[0] == 3 + 4
    assert set(read[1:-3]) == {1 + 4}  # the last token of the text, and what is drafted
    assert 1 in map(len, rounds)  # some were refused, and what the cache had of them is gone


def test_a_text_ends_after_a_stop_in_the_midst_of_a_round():
    model = gpt()
    text = [*stream(model, [1, 5], (), 24, top_k=1)]
    first = text.index(text[2])
    assert flat(model, model, [1, 5], {text[2]}, 24, 8, top_k=1) == text[: first + 1]


@pytest.mark.parametrize("most", [3, 4, 5, 24])
def test_it_ends_where_the_text_is_full(most):
    assert len(flat(gpt(), gpt(seed=1), [1, 5], (), most, 4, generator=seeded())) == most - 2


def test_a_draft_with_a_shorter_context_stops_drafting():
    model, draft = gpt(), gpt(CONFIG.replace(max_len=8), 1)
    rounds = [*speculate(model, draft, [1, 5], (), 24, 4, top_k=1)]
    assert [*chain.from_iterable(rounds)] == [*stream(model, [1, 5], (), 24, top_k=1)]
    assert [*map(len, rounds)][-14:] == 14 * [1]


def test_the_same_seed_writes_the_same():
    model, draft = gpt(), gpt(seed=1)
    one, same, other = (flat(model, draft, [1, 5], (), 24, generator=seeded(seed)) for seed in (3, 3, 4))
    assert one == same != other


def test_neither_model_learns_or_changes_its_mode():
    model, draft = gpt().train(), gpt(seed=1).eval()
    flat(model, draft, [1, 5], (), 24, generator=seeded())
    assert model.training
    assert not draft.training


def test_a_refused_token_leaves_what_was_drafted_too_seldom():
    p, q = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.2, 0.3, 0.5]])
    torch.testing.assert_close(acceptance(p, q), torch.tensor([[1.0, 1.0, 0.4]]))
    torch.testing.assert_close(leftover(p, q), torch.tensor([[1.0, 0.0, 0.0]]))
    torch.testing.assert_close(leftover(p, p), p)
    assert acceptance(p, torch.tensor([[0.0, 0.0, 1.0]]))[0, 0] == 1


def test_what_was_drafted_and_what_is_left_add_up_to_what_is_wanted():
    p, q = next_probabilities(torch.randn(2, 9, dtype=torch.float64, generator=seeded())).split(1)
    kept = q * acceptance(p, q)
    torch.testing.assert_close(kept + (1 - kept.sum()) * leftover(p, q), p)


def test_what_cannot_work_is_refused():
    model, draft = gpt(), gpt(CONFIG.replace(vocab_size=21), 1)
    with pytest.raises(ValueError, match="model knows 20 tokens and draft 21: both must read the same ids"):
        flat(model, draft, [1], (), 9)
    for begin, most in (([], 9), ([1, 2], 2), ([1], 25)):
        with pytest.raises(ValueError, match="max_len"):
            flat(model, model, begin, (), most)
    with pytest.raises(ValueError, match="n_drafted"):
        flat(model, model, [1], (), 9, 0)
    with pytest.raises(TypeError, match="n_drafted"):
        flat(model, model, [1], (), 9, 1.5)
    torch.nn.init.constant_(model.tokens.weight, torch.nan)
    with pytest.raises(FloatingPointError, match="NaN"):
        flat(model, gpt(), [1], (), 9)
