"""How a small model learns the sentence of the book: what is kept back, what it is dealt, what is seen meanwhile."""

import numpy as np
import pytest
import torch

from tested_transformer.book.coreference import RUNNING, SENTENCES
from tested_transformer.book.pretrained import load, surprises
from tested_transformer.book.small import training, translation
from tested_transformer.data.batches import tensors


@pytest.fixture(scope="module")
def translator():
    return load()


def test_every_thing_is_kept_back_in_one_frame_and_the_running_sentences_come_first():
    said, kept = translation.divided()
    every = list(SENTENCES)
    assert sorted([*said, *kept]) == sorted(every)
    assert (len(said), len(kept)) == (225, 45)
    assert kept[:3] == list(RUNNING)


def test_each_epoch_deals_every_pair_once_and_in_another_order():
    pairs = [([n, 2], [1, n, 2]) for n in range(4, 10)]
    dealt = translation.dealt(pairs, 2, n_steps=6)
    first, second = (torch.cat([source for source, _ in dealt[n : n + 3]])[:, 0].tolist() for n in (0, 3))
    assert sorted(first) == sorted(second) == list(range(4, 10))
    assert first != second


def test_a_course_is_the_loop_with_a_look_aside_after_each_step(translator):
    said, kept = translation.divided()
    pairs = translation.encoded(translator, said[:4])
    pupil, twin = translation.beginner(translator), translation.beginner(translator)
    others = tensors(translation.encoded(translator, kept[:3]))
    course = translation.learn(pupil, [tensors(pairs)] * 30, others)
    loss_at = training.forced(twin.model, lambda step: tensors(pairs))
    assert training.train(twin.model, loss_at, training.triangle(30), 30) == pytest.approx(course.losses)
    assert course.aside[-1] == pytest.approx(training.forced(twin.model, lambda step: others)(1).item())
    assert course.right.shape == (30, 3, 12)
    assert np.allclose(course.right[-1, 0], np.exp(-surprises(twin, RUNNING[0])[1]))


def test_of_some_steps_a_copy_is_kept_that_learns_no_more(translator):
    pairs = tensors(translation.encoded(translator, translation.divided()[0][:4]))
    pupil, twin = translation.beginner(translator), translation.beginner(translator)
    at = translation.learn(pupil, [pairs] * 30, pairs, stops=(0, 7, 30)).at
    assert list(at) == [0, 7, 30]
    start, seventh, last = (then.model.state_dict() for then in at.values())
    assert all(torch.equal(w, start[name]) for name, w in twin.model.state_dict().items())
    assert all(torch.equal(w, last[name]) for name, w in pupil.model.state_dict().items())
    training.train(twin.model, training.forced(twin.model, lambda step: pairs), training.triangle(30), 7)
    assert all(torch.allclose(w, seventh[name]) for name, w in twin.model.state_dict().items())
    assert translation.learn(pupil, [pairs] * 30, pairs).at == {}


def test_a_translation_is_exact_or_it_is_not(translator):
    _, kept = translation.divided()
    wrong = kept[0]._replace(german="Ich brauche die Stuhl, weil er alt ist.")
    assert translation.exact(translator, [wrong, *kept[1:3]]) == 2
