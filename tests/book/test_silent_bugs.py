"""Bugs that training forgives: each is there and nothing else is, and each law sees what it is about."""

import numpy as np
import pytest
import torch

from tested_transformer.book import silent_bugs
from tested_transformer.book.small import training
from tested_transformer.data import tasks


def broken(plant, seed=0):
    model = training.create(silent_bugs.LETTERS, seed)
    plant(model)
    return {law.__name__ for law in silent_bugs.LAWS if not law(model)}


@pytest.mark.parametrize(
    ("plant", "named"),
    [(silent_bugs.right, "no law"), (silent_bugs.shared, "counted"), (silent_bugs.peeking, "agrees, blind to future")],
)
def test_the_laws_that_are_broken_are_named(plant, named):
    model = training.create(silent_bugs.LETTERS)
    plant(model)
    assert silent_bugs.broken(model) == named


@pytest.mark.parametrize("seed", [0, 1])
def test_each_bug_breaks_its_laws_and_a_right_model_none(seed):
    assert broken(silent_bugs.right, seed) == set()
    assert broken(silent_bugs.swapped, seed) == {"agrees"}
    assert broken(silent_bugs.unbiased, seed) == {"agrees"}
    assert broken(silent_bugs.shared, seed) == {"counted"}
    assert broken(silent_bugs.bypassed, seed) == {"agrees", "all_learn"}
    assert broken(silent_bugs.peeking, seed) == {"agrees", "blind_to_future"}


def test_a_decoder_that_sees_padding_breaks_the_law_of_padding():
    def sees(model):
        model.decoder.register_forward_pre_hook(lambda _, given: (*given[:3], None))

    assert "blind_to_padding" in broken(sees)


def test_norms_that_divide_by_one_less_give_a_smaller_row():
    usual, model = training.create(silent_bugs.LETTERS), training.create(silent_bugs.LETTERS)
    silent_bugs.unbiased(model)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 32)))
    norms = [m.encoder.layers[0].addnorm_1.norm(x) for m in (usual, model)]
    by_hand = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()
    assert torch.allclose(norms[1], by_hand, atol=1e-4)
    assert not torch.allclose(norms[0], by_hand, atol=1e-4)


def test_unshifted_asks_for_what_was_given():
    model, (source, target) = training.create(silent_bugs.LETTERS), silent_bugs.words(tasks.copy, 4)(1)
    logits, wanted = silent_bugs.unshifted(model, source, target)
    assert torch.equal(wanted, target[:, :-1])
    assert torch.equal(logits, model(source, wanted))


def test_words_are_others_in_each_step_and_the_same_each_time():
    batch = silent_bugs.words(tasks.reverse, 6)
    (source, target), (other, _) = batch(1), batch(2)
    assert torch.equal(batch(1)[0], source)
    assert not torch.equal(source, other)
    for read, asked in zip(source, target, strict=True):
        assert silent_bugs.spelled(asked) == f"{silent_bugs.spelled(read)[::-1]}."
        assert 3 <= len(silent_bugs.spelled(read)) <= 5


def test_only_words_without_a_mistake_are_exact(monkeypatch):
    model, (source, target) = training.create(silent_bugs.LETTERS), silent_bugs.words(tasks.copy, 3)(1)
    wrong = target.clone()
    wrong[0, 1] = 4 + (wrong[0, 1] - 3) % 8
    longer = torch.where(target == silent_bugs.PAD, 5, target)  # behind the end anything may stand
    for found, n in ((target, 3), (wrong, 2), (longer, 3)):
        monkeypatch.setattr(silent_bugs, "write", lambda *_, found=found: found)
        assert silent_bugs.exact(model, source, target) == n


def test_what_is_written_begins_with_bos_and_is_read_back_in():
    model, source = training.create(silent_bugs.LETTERS), silent_bugs.words(tasks.copy, 2)(1)[0]
    written = silent_bugs.write(model, source, 3)
    assert written[:, 0].tolist() == [silent_bugs.BOS] * 2
    following = model(source, written[:, :-1]).argmax(-1)
    assert torch.equal(following, written[:, 1:])


@pytest.mark.parametrize(("letters", "n"), [([4, 5, 6], 6), ([4, 4, 5, 0], 3), ([7, 7, 7, 0, 0], 1)])
def test_letters_are_arranged_in_so_many_ways(letters, n):
    assert silent_bugs.arrangements(torch.tensor(letters)) == n
