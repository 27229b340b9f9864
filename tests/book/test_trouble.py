"""Planted faults, and what becomes of a small model with each."""

import pytest
import torch

from tested_transformer.book import silent_bugs, trouble
from tested_transformer.book.small import training
from tested_transformer.book.trouble import EOS, LETTERS, PAD, batch_at
from tested_transformer.training.diagnosis import diagnose, replay

BATCH = batch_at(0)
PLANTS = [trouble.softmax_twice, trouble.memory_empty, trouble.encoder_cut_off, trouble.mask_inverted]
PLANTS += [trouble.no_causal_mask, trouble.no_positions, trouble.dropout_always]
QUIET = [trouble.other_epsilon, trouble.sines_in_halves, trouble.transposed, trouble.minus_infinity]


def broken(model):
    return [finding.name for finding in diagnose(model, *BATCH) if not finding.holds]


def test_a_batch_has_letters_and_the_same_backwards_and_another_one_without_ends():
    for source, target in zip(*batch_at(3, size=20), strict=True):
        letters = source[source != PAD]
        assert 3 <= len(letters) <= 5
        assert target[1 : len(letters) + 1].tolist() == letters.flip(0).tolist()
        assert target[len(letters) + 1] == EOS
    source, target = trouble.without_end(3)
    assert torch.equal(source, batch_at(3)[0])
    assert torch.equal(target, torch.where(batch_at(3)[1] == EOS, PAD, batch_at(3)[1]))


@pytest.mark.parametrize("plant", PLANTS)
def test_a_fault_of_the_model_breaks_a_property(plant):
    assert broken(trouble.planted(plant))


@pytest.mark.parametrize("plant", [lambda model: None, *QUIET])
def test_other_faults_and_none_break_no_property(plant):
    assert broken(trouble.planted(plant)) == []


@pytest.mark.parametrize("plant", [*PLANTS, *QUIET[:3]])
def test_a_fault_changes_the_answer_or_the_gradient(plant):
    models = training.create(LETTERS), trouble.planted(plant)
    answers = [model(BATCH[0], BATCH[1][:, :-1]) for model in models]
    changed = not torch.allclose(*answers)
    assert changed != (plant is trouble.encoder_cut_off)


def test_minus_infinity_is_right_until_a_source_is_empty():
    source, read = BATCH[0].clone(), BATCH[1][:, :-1]
    model = trouble.planted(trouble.minus_infinity)
    assert torch.allclose(model(source, read), training.create(LETTERS)(source, read))
    source[3] = PAD
    assert [bool(row.isnan().any()) for row in model(source, read)[:5]] == [False, False, False, True, False]


def test_two_ways_to_ask_are_wrong_by_one_token_and_by_one_line():
    model, (source, target) = training.create(LETTERS), BATCH
    logits, asked = training.ask(model, source, target)
    for ask, other in ((trouble.not_shifted, target[:, :-1]), (trouble.lines_slipped, target.roll(1, 0)[:, 1:])):
        assert torch.equal(ask(model, source, target)[1], other)
        assert not torch.equal(other, asked)
    assert torch.equal(trouble.not_shifted(model, source, target)[0], logits)


def test_learning_is_the_loop_of_the_small_models_and_the_fault_is_planted_before_it():
    model = training.create(LETTERS)
    losses = training.train(model, training.forced(model, batch_at), training.triangle(150), 3)
    seen = []
    twin, again = trouble.learn(n_steps=3, after=lambda model, step: seen.append(step))
    assert again == losses
    assert seen == [1, 2, 3]
    assert all(map(torch.equal, model.parameters(), twin.parameters()))
    other, faulty = trouble.learn(trouble.memory_empty, n_steps=2)
    assert faulty[0] != losses[0]
    assert "source" in broken(other)


def test_while_a_model_learns_the_loss_of_pairs_kept_apart_is_looked_at():
    losses, seen = trouble.watched(lambda step: BATCH, batch_at(-1))
    assert len(losses) == 150
    assert list(seen) == list(range(10, 151, 10))
    assert losses[-1] < 0.1 < seen[150]


def test_what_is_written_is_counted_whole_by_its_letters_and_by_orders(monkeypatch):
    model = training.create(LETTERS)
    source = torch.tensor([[4, 5, 6, 0, 0], [4, 4, 5, 0, 0]])
    target = torch.tensor([[1, 6, 5, 4, 2, 0, 0], [1, 5, 4, 4, 2, 0, 0]])
    rows = torch.tensor([[6, 4, 5, 2], [5, 4, 4, 2]])
    monkeypatch.setattr(trouble, "greedy", lambda model, source, max_len: rows)
    assert trouble.written(model, source).tolist() == [[6, 4, 5, 2, 0, 0], [5, 4, 4, 2, 0, 0]]
    assert trouble.n_exact(model, source, target) == 1
    assert trouble.n_right_letters(model, source, target) == 2
    assert [silent_bugs.arrangements(row) for row in source] == [6, 3]
    assert trouble.n_known(source, source[1:]) == 1


def test_of_five_programs_only_the_first_agrees_with_training():
    model = trouble.learn(n_steps=30)[0]
    programs = trouble.programs(model)
    torch.manual_seed(0)
    gaps = [replay(step, model, *BATCH) for step in programs.values()]
    assert next(iter(programs)) == "plain"
    assert gaps[0] < 1e-9
    assert min(gaps[1:]) > 1e-3


def test_the_share_of_exact_sentences_is_that_of_greedy_decoding():
    model = trouble.learn(batch_at=lambda step: BATCH)[0]
    new = batch_at(-1)
    plain = trouble.programs(model)["plain"]
    assert trouble.share_exact(plain, *BATCH) == 1
    assert trouble.share_exact(plain, *new) == trouble.n_exact(model, *new) / 48


def test_a_first_step_moves_by_the_rate_unless_something_is_wrong():
    found = {name: rest for name, *rest in trouble.first_steps(BATCH)}
    n = len(list(training.create(LETTERS).parameters()))
    n_frozen = len(list(training.create(LETTERS).encoder.parameters()))
    assert found["right"] == [pytest.approx(1, abs=1e-4), 0]
    assert found["optimiser of copies"] == [0, n]
    assert found["encoder frozen"] == [pytest.approx(1, abs=1e-4), n_frozen]
    assert found["rates multiplied"] == [pytest.approx(0.001, abs=1e-6), 0]


def test_halves_of_a_batch_give_its_gradient_only_if_each_token_counts_the_same():
    off = trouble.in_halves(training.create(LETTERS), BATCH)
    assert off.pop("sums, divided by all tokens") < 1e-9
    assert min(off.values()) > 1e-3
    assert off["means added up"] > 0.5


def test_thirty_steps_are_those_of_a_training_and_added_means_and_old_gradients_are_not():
    right = trouble.learn(n_steps=30)[1][-1]
    assert abs(trouble.in_thirty_steps(1) - right) < 1e-12
    assert 1e-6 < abs(trouble.in_thirty_steps(2) - right) < 0.1
    assert trouble.in_thirty_steps(1, clear=False) > right + 1
