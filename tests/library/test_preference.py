"""Answers only, preferences and rewards: losses against plain sums, and gradients by hand and by all outputs."""

from itertools import product
from math import log

import numpy as np
import pytest
import torch
from helpers import normal, tensors, unchecked
from torch.nn import functional as F

from tested_transformer.byhand import preference as byhand
from tested_transformer.config import TINY
from tested_transformer.model.gpt import Gpt
from tested_transformer.training.events import Step
from tested_transformer.training.objective import NOT_ASKED, Answers, LanguageModel
from tested_transformer.training.options import Options
from tested_transformer.training.preference import (
    answer_log_probabilities,
    group_advantages,
    penalised,
    policy_loss,
    preference_loss,
)
from tested_transformer.training.train import Trainer

EXAMPLES = [([5, 6, 7], [8, 9]), ([4], [5, 6, 7, 8]), ([], [9, 8])]


def gpt():
    torch.manual_seed(0)
    return Gpt(TINY.replace(dropout=0.0)).double()


# Answers only


def test_the_question_is_read_and_only_the_answer_and_its_end_are_asked():
    objective = Answers(gpt())
    ids, wanted = objective.tensors(EXAMPLES, ())
    c, no = objective.config, NOT_ASKED
    assert ids.tolist() == [
        [c.bos_id, 5, 6, 7, 8, 9],
        [c.bos_id, 4, 5, 6, 7, 8],
        [c.bos_id, 9, 8, c.pad_id, c.pad_id, c.pad_id],
    ]
    assert wanted.tolist() == [
        [no, no, no, 8, 9, c.eos_id],
        [no, 5, 6, 7, 8, c.eos_id],
        [9, 8, c.eos_id, no, no, no],
    ]
    assert objective.count((ids, wanted)) == 3 + 5 + 3


def test_the_loss_of_answers_is_that_of_the_whole_text_without_the_question():
    model = gpt()
    answers, whole = Answers(model), LanguageModel(model)
    c = model.config
    for question, answer in EXAMPLES:
        text = [c.bos_id, *question, *answer, c.eos_id]
        parts = [answers(*answers.tensors([(question, answer)], ()))[0]]
        if question:
            parts.append(whole(*whole.tensors([text[: len(question) + 1]], ()))[0])
        torch.testing.assert_close(sum(parts), whole(*whole.tensors([text], ()))[0])


def test_a_trainer_takes_them_and_learns(tmp_path):
    objective = Answers(Gpt(TINY.replace(dropout=0.0)))
    told = Options(steps=30, batch_tokens=40, warmup=5, smoothing=0.0, ema=0.0)
    events = []
    Trainer(objective, told, EXAMPLES * 8, EXAMPLES, tmp_path / "run", report=events.append).run()
    seen = [event.loss for event in events if isinstance(event, Step)]
    assert seen[-1] < 0.5 * seen[0]


@pytest.mark.parametrize(
    ("example", "rule"),
    [
        ([5, 6, 7], "example 0 must be a question and its answer"),
        (([5], [16]), "ids from 5 to 16"),
        (([5] * 20, [6] * 20), "40 ids"),
    ],
)
def test_examples_that_cannot_be_learned_are_refused(example, rule):
    with pytest.raises(ValueError, match=rule):
        Answers(gpt()).check([example], "train", 100)


def test_where_the_answer_begins_makes_an_example_another():
    objective = Answers(gpt())
    assert objective.line(([5, 6], [7])) != objective.line(([5], [6, 7]))


def test_probabilities_of_all_answers_of_a_length_add_up_to_one():
    model, vocabulary = gpt(), range(TINY.vocab_size)
    answers = [([5, 6], [i]) for i in vocabulary if i != TINY.eos_id]
    ids, wanted = Answers(model).tensors(answers, ())
    first = answer_log_probabilities(model, ids[:, :-1], wanted[:, :-1]).exp().sum()
    end = model(torch.tensor([[TINY.bos_id, 5, 6]]))[0, -1].softmax(-1)[TINY.eos_id]
    assert (first + end).item() == pytest.approx(1, abs=1e-12)
    one = answer_log_probabilities(model, ids[3:4], wanted[3:4]).item()
    logs = model(ids[3:4])[0].log_softmax(-1)
    assert one == pytest.approx((logs[2, answers[3][1][0]] + logs[3, TINY.eos_id]).item(), abs=1e-12)


# Preferences


def test_the_loss_of_pairs_is_ln_2_at_the_start_and_as_by_hand_later():
    given = normal(4, 7)
    same = tensors(*given[:2], *given[:2])
    assert preference_loss(*same).item() == pytest.approx(log(2), abs=1e-12)
    by_hand = byhand.preference_loss(*given, beta=0.7)
    assert preference_loss(*tensors(*given), beta=0.7).item() == pytest.approx(by_hand.mean(), abs=1e-12)
    margin = 0.7 * ((given[0] - given[2]) - (given[1] - given[3]))
    np.testing.assert_allclose(by_hand, -np.log(1 / (1 + np.exp(-margin))), atol=1e-12)


def test_its_gradient_by_hand_is_that_of_autograd():
    given, factors = normal(4, 7), normal(7)
    chosen, rejected, *reference = tensors(*given)
    losses = F.softplus(-0.7 * ((chosen - reference[0]) - (rejected - reference[1])))
    losses.backward(torch.tensor(factors))
    d_chosen, d_rejected = byhand.preference_loss_backward(factors, *given, beta=0.7)
    assert np.abs(chosen.grad.numpy() - d_chosen).max() < 1e-9
    assert np.abs(rejected.grad.numpy() - d_rejected).max() < 1e-9


def test_extreme_margins_give_numbers():
    far = np.array([1e4, -1e4])
    zero = np.zeros(2)
    np.testing.assert_allclose(byhand.preference_loss(far, zero, zero, zero, 1.0), [0, 1e4])
    assert preference_loss(*tensors(far, zero, zero, zero), beta=1.0).item() == pytest.approx(5e3)


def test_a_step_makes_the_chosen_likelier_compared_with_the_rejected():
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    log_p = x.log_softmax(0)
    preference_loss(log_p[:1], log_p[1:], log_p[:1].detach(), log_p[1:].detach()).backward()
    assert x.grad[0] < 0 < x.grad[1]


# Rewards


def test_the_mean_gradient_of_the_policy_loss_is_that_of_the_expected_reward():
    # Two answers to one question: of all pairs that can be drawn, each as likely as it is.
    logits = torch.tensor([0.3, -0.5, 0.1], dtype=torch.float64, requires_grad=True)
    rewards = torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64)
    expected = -(logits.softmax(0) * rewards).sum()
    (wanted,) = torch.autograd.grad(expected, logits)
    mean = torch.zeros(3, dtype=torch.float64)
    for pair in product(range(3), repeat=2):
        log_p = logits.log_softmax(0)[[*pair]]
        advantages = group_advantages(rewards[[*pair]][None])[0]
        (gradient,) = torch.autograd.grad(policy_loss(log_p, advantages), logits)
        mean += log_p.sum().exp().detach() * gradient
    torch.testing.assert_close(mean, wanted / 2, rtol=1e-12, atol=1e-12)  # of two, one is the other's baseline


def test_advantages_of_a_group_have_the_mean_zero_and_no_gradient_goes_through_them():
    rewards = torch.tensor([[1.0, 0, 0, 1], [1, 1, 1, 1]])
    assert group_advantages(rewards).tolist() == [[0.5, -0.5, -0.5, 0.5], [0, 0, 0, 0]]
    log_p = torch.ones(4, requires_grad=True)
    policy_loss(log_p, log_p + 1).backward()
    assert log_p.grad.tolist() == [-0.5] * 4


def test_the_price_is_paid_where_an_answer_has_become_likelier():
    log_p, reference = torch.tensor([-1.0, -3.0]), torch.tensor([-2.0, -2.0])
    assert penalised(torch.ones(2), log_p, reference, 0.5).tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("do", "rule"),
    [
        (lambda: preference_loss(*torch.zeros(4, 2), beta=0.0), "beta"),
        (lambda: preference_loss(*torch.zeros(3, 2), torch.zeros(1)), "four numbers"),
        (lambda: policy_loss(torch.zeros(2), torch.zeros(2, 1)), "equally many"),
        (lambda: group_advantages(torch.zeros(4)), "at least two"),
        (lambda: group_advantages(torch.zeros(4, 1)), "at least two"),
    ],
)
def test_what_does_not_fit_is_refused(do, rule):
    with unchecked(), pytest.raises(ValueError, match=rule):
        do()
