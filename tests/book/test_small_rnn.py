"""Pairs of networks that learn to write backwards: their start, and what is counted of them."""

import numpy as np
import pytest
import torch

from tested_transformer.book.small import rnn
from tested_transformer.book.small.rnn import (
    by_repeats,
    evenly,
    exact,
    fresh,
    held,
    look_back,
    looks,
    places,
    sought,
    train,
)
from tested_transformer.data.tasks import EOS, copy, reverse
from tested_transformer.model.recurrence import EncoderDecoder


class Knows(EncoderDecoder):
    """Stands for a pair that has learned a task, but for the ids at some places of the source."""

    def __init__(self, task=reverse, wrong=()):
        super().__init__(20, 2)
        self.task, self.wrong = task, list(wrong)

    def answer(self, source):
        ids = source.clone()
        ids[:, self.wrong] = EOS
        ids = ids if self.task is copy else ids.flip(1)
        return torch.cat([ids, torch.full((len(ids), 1), EOS)], dim=1)

    def write(self, source, length):
        return self.answer(source)[:, :length]

    def forward(self, source, target):
        assert target.shape == (len(source), source.size(1) + 1)
        return torch.nn.functional.one_hot(self.answer(source), 20)

    def encode(self, source):
        """A state that holds every id, but for those at the wrong places."""
        one_hot = torch.nn.functional.one_hot(source, 20).double()
        one_hot[:, self.wrong] = 0
        return one_hot.flatten(1)[:, None]


def test_a_pair_starts_from_the_seed_with_hidden_matrices_that_keep_lengths():
    once, again, other = fresh(8), fresh(8), fresh(8, seed=1)
    for name, p in once.named_parameters():
        assert torch.equal(p, again.get_parameter(name))
        assert p.dtype == torch.float64
        if "bias" in name:
            assert not p.any()
        else:
            assert not torch.equal(p, other.get_parameter(name))
        if "hidden" in name:
            assert torch.allclose(p @ p.T, torch.eye(8).double())
    assert once.look is None
    assert fresh(8, look=max).look is max


def test_training_returns_the_model_and_follows_the_seed():
    models = [train(fresh(8), rounds=3, longest=4, seed=seed) for seed in (0, 0, 1)]
    weights = [model.output.weight for model in models]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], fresh(8).output.weight)


def test_the_rate_falls_in_a_straight_line_to_one_step_above_nothing(monkeypatch):
    seen, step = [], torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self: seen.append(self.param_groups[0]["lr"]) or step(self))
    train(fresh(8), rounds=4, rate=0.02, longest=2)
    assert seen == pytest.approx([0.02, 0.015, 0.01, 0.005])


def test_two_ids_are_soon_learned():
    assert min(exact(train(fresh(32), rounds=200, longest=2), longest=2)) > 190


@pytest.mark.parametrize("task", [copy, reverse])
def test_only_sequences_without_a_mistake_count(task):
    assert exact(Knows(task), task, longest=4) == [200] * 4
    assert exact(Knows(task, wrong=[0]), task, longest=3) == [0] * 3
    other = copy if task is reverse else reverse
    assert exact(Knows(other), task, longest=2)[0] == 200  # one id is the same backwards
    assert exact(Knows(other), task, longest=2)[1] < 40


def test_places_are_those_of_the_source():
    counts = places(Knows(wrong=[0, 3]), length=5)
    assert counts.tolist() == [0, 200, 200, 0, 200]


def test_places_of_a_copy_are_written_in_the_order_of_reading():
    assert places(Knows(copy, wrong=[0]), length=3, task=copy).tolist() == [0, 200, 200]


def test_a_look_has_a_row_of_shares_for_each_id_that_is_written():
    source, target = map(torch.tensor, reverse(2, 5, 20, seed=0))
    shares = looks(fresh(8), source, target)
    assert shares.shape == (5, 5)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert looks(fresh(8), source[:1], target[:1]) == pytest.approx(shares)


def test_a_linear_reader_finds_what_a_state_holds_and_guesses_the_rest():
    found = held(Knows(wrong=[1]), length=3)
    assert found[[0, 2]].tolist() == [1, 1]
    assert found[1] == pytest.approx(1 / 16, abs=0.03)
    assert np.shape(found) == (3,)


def test_a_look_back_mixes_the_memory_by_what_fits_each_state():
    memory = torch.tensor([[[0.0, 9.0], [9.0, 0.0]]])
    states = torch.tensor([[[0.0, 9.0], [9.0, 0.0], [0.0, 0.0]]])
    assert torch.allclose(look_back(states, memory), torch.tensor([[[0.0, 9.0], [9.0, 0.0], [4.5, 4.5]]]))


def test_an_even_look_back_is_the_mean_whatever_the_states():
    memory = torch.tensor([[[0.0, 2.0], [4.0, 6.0]]])
    for states in (torch.zeros(1, 3, 2), torch.ones(1, 3, 2)):
        assert evenly(states, memory).tolist() == [[[2.0, 4.0]] * 3]


def test_a_look_at_the_place_needed_and_one_at_the_id_just_read_are_told_apart(monkeypatch):
    def by_place(model, source, ids):
        return np.eye(8)[::-1]

    def by_id(model, source, ids):
        return np.array([(source[0] == i).numpy() for i in ids[0, :-2]], dtype=float)

    monkeypatch.setattr(rnn, "looks", by_place)
    assert [place for place, _ in sought(Knows()).values()] == [1, 1]
    monkeypatch.setattr(rnn, "looks", by_id)
    assert [last for _, last in sought(Knows()).values()] == [1, 1]
    assert sought(Knows())["right"][0] == 0


def test_sequences_with_a_repeated_id_are_counted_apart():
    assert by_repeats(Knows()) == (1, 1)
    first_lost = Knows(wrong=[0])
    assert by_repeats(first_lost) == (0, 0)

    class Confused(Knows):
        def answer(self, source):
            twice = torch.tensor([len({*row}) < 8 for row in source.tolist()])
            return super().answer(torch.where(twice[:, None], EOS, source))

    assert by_repeats(Confused()) == (1, 0)
