"""The small model that fills gaps: what it is asked, what it reads there, and what is made of its vectors."""

import numpy as np
import pytest
import torch

from tested_transformer.book.small import masked_lm
from tested_transformer.book.small.masked_lm import MASK
from tested_transformer.config import Config
from tested_transformer.text.tokens import Vocabulary
from tested_transformer.training.pretraining import prepare

VOCABULARY = Vocabulary(["[MASK]", *"abcdefghijklmnop"])
CONFIG = Config(VOCABULARY.vocab_size, 8, 16, 2, 1, dropout=0.0, max_len=24)
TEXTS = [(list(range(5, 5 + n)), ()) for n in (3, 9, 12, 6)] * 50


@pytest.fixture
def exam():
    return prepare(TEXTS, CONFIG, MASK, np.random.default_rng(0))


@pytest.mark.parametrize("shares", [(1, 0), (0, 1), (0, 0), (0.8, 0.1)])
def test_the_same_places_are_asked_for_and_the_shares_are_read_there(exam, shares):
    new = masked_lm.reread(exam, *shares, CONFIG.vocab_size, np.random.default_rng(1))
    assert torch.equal(new.chosen, exam.chosen)
    assert torch.equal(new.wanted, exam.wanted)
    assert torch.equal(new.ids[~new.chosen], exam.wanted[~exam.chosen])
    read, was = new.ids[new.chosen], exam.wanted[exam.chosen]
    assert abs((read == MASK).double().mean() - shares[0]) < 0.1
    kept = 1 - sum(shares) + shares[1] / (CONFIG.vocab_size - 5)
    assert abs((read == was).double().mean() - kept) < 0.1
    assert (read >= MASK).all(), "no special token is put in place of a word"


def test_singly_each_place_is_the_only_gap_of_a_row_of_true_words(exam):
    new = masked_lm.singly(exam)
    assert len(new.ids) == exam.chosen.sum() > len(exam.ids)
    assert (new.chosen.sum(1) == 1).all()
    assert torch.equal(new.wanted[new.chosen], exam.wanted[exam.chosen]), "in the same order"
    assert (new.ids[new.chosen] == MASK).all()
    assert torch.equal(new.ids[~new.chosen], new.wanted[~new.chosen])
    rows = exam.chosen.nonzero()[:, 0]
    assert torch.equal(new.wanted, exam.wanted[rows])
    assert torch.equal(new.lengths, exam.lengths[rows])
    model = masked_lm.create(CONFIG)
    assert 0 <= masked_lm.right(model, new) <= 1


def test_guesses_are_the_likeliest_words_of_each_gap():
    model = masked_lm.create(CONFIG)
    first, second = masked_lm.fill(model, VOCABULARY, "a _ b _", n=2)
    ids = torch.tensor([[1, 5, MASK, 6, MASK, 2]])
    with torch.no_grad():
        p = model(ids, ids == MASK)[0].softmax(-1)
    for (one, other), row in zip((first, second), p, strict=True):
        assert VOCABULARY.tokens[row.argmax()] == one[0]
        assert one[1] == pytest.approx(row.max().item(), abs=1e-12)
        assert one[1] > other[1]


def test_training_by_a_rule_lowers_the_loss():
    losses = masked_lm.train_by((0.8, 0.1), masked_lm.create(CONFIG), TEXTS, 30, 0.01)
    assert len(losses) == 30
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_the_share_of_right_guesses_counts_chosen_places_only(exam):
    model = masked_lm.create(CONFIG)
    with torch.no_grad():
        guessed = model(exam.ids, exam.chosen, exam.segments)[0].argmax(-1)
    exam.wanted[~exam.chosen] = 0
    exam.wanted[exam.chosen] = torch.where(torch.arange(len(guessed)) % 2 == 0, guessed, 0)
    assert masked_lm.right(model, exam) == pytest.approx(np.ceil(len(guessed) / 2) / len(guessed))


def test_roles_that_lie_apart_are_told_apart_and_equal_vectors_are_not():
    role = np.repeat([0, 1], 6)
    v = np.random.default_rng(0).normal(size=(12, 4))
    assert masked_lm.told_apart(v + 9 * role[:, None], role) == 1
    assert masked_lm.told_apart(np.ones((12, 4)), role) == 0.5


def test_a_vector_is_as_much_nearer_to_a_mean_as_the_distances_differ():
    v = np.array([[0.0], [1.0], [4.0], [3.5]])
    role = np.array([0, 0, 1, 1])
    assert np.allclose(masked_lm.nearer(v, role), [1 - 3, 3.5 - 0.5])


def test_a_bag_counts_words_and_no_special_tokens():
    bag = masked_lm.bag(torch.tensor([[1, 5, 5, 7, 2, 0]]), 9)
    assert bag.tolist() == [[0, 2, 0, 1, 0]]
