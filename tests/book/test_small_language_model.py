"""Tests of the small model that writes: what it reads, its start, its batches, its loss, and how it goes on."""

import itertools

import numpy as np
import pytest
import torch

from tested_transformer.book.small import language_model
from tested_transformer.config import Config
from tested_transformer.text.tokens import BOS, EOS


@pytest.fixture(scope="module")
def phrases():
    return language_model.read(200, 20)


@pytest.fixture(scope="module")
def model(phrases):
    config = Config(phrases.vocabulary.vocab_size, 8, 8, 2, 1, dropout=0.0, max_len=40)
    return language_model.create(config, np.random.default_rng(0))


def test_each_sentence_is_framed_and_those_to_judge_by_are_others(phrases):
    assert (len(phrases.words), len(phrases.learn), len(phrases.judge)) == (220, 200, 20)
    for words, ids in zip(phrases.words, phrases.learn, strict=False):
        assert (ids[0], ids[-1]) == (BOS, EOS)
        assert phrases.vocabulary.decode(ids[1:-1]) == words


def test_a_start_has_half_the_deviation_that_keeps_a_rows_size(model):
    assert model.tokens.weight.std().item() == pytest.approx(0.5 / 8**0.5, rel=0.1)
    assert model.tokens.weight.dtype == torch.float64


def test_a_round_of_batches_has_every_text_once_and_batches_are_of_like_length(phrases):
    found = language_model.batches(phrases.learn, 7, np.random.default_rng(0))[:7]
    assert sorted(text for batch in found for text in batch) == sorted(phrases.learn)
    spans = [(min(map(len, batch)), max(map(len, batch))) for batch in sorted(found, key=lambda b: max(map(len, b)))]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def test_the_loss_counts_each_token_after_the_first_and_no_padding(phrases, model):
    rows = sorted(phrases.learn, key=len)[:: len(phrases.learn) - 1]
    alone = [language_model.loss(model, [row]) * (len(row) - 1) for row in rows]
    assert torch.allclose(language_model.loss(model, rows), sum(alone) / sum(len(row) - 1 for row in rows))


def test_texts_begin_with_the_prompt_and_are_the_same_for_a_seed(phrases, model):
    prompt = " ".join(phrases.words[0][:2])
    texts = language_model.write(model, phrases.vocabulary, 5, seed=1, prompt=prompt)
    assert all(text.startswith(prompt) for text in texts)
    assert texts == language_model.write(model, phrases.vocabulary, 5, seed=1, prompt=prompt)
    assert texts != language_model.write(model, phrases.vocabulary, 5, seed=2, prompt=prompt)


def test_what_may_follow_is_sorted_adds_up_to_one_and_is_sharper_when_cold(phrases, model):
    p, words = language_model.following(model, phrases.vocabulary, "the")
    cold, same = language_model.following(model, phrases.vocabulary, "the", t=0.5)
    assert p.sum() == pytest.approx(1)
    assert (np.diff(p) <= 0).all()
    assert words[:5] == same[:5]
    assert np.allclose(cold, p**2 / (p**2).sum())


def test_what_is_never_written_does_not_follow(phrases, model):
    p, words = language_model.following(model, phrases.vocabulary, "the", t=100.0)
    assert sorted(word for word, share in zip(words, p, strict=True) if share == 0) == ["<bos>", "<pad>"]
    assert (p[:-2] > 0).all()
