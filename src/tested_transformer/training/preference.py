"""Learning from preferences: of two answers, the better one is to become likelier (DPO)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.checks import positive
from tested_transformer.model.gpt import Gpt
from tested_transformer.training.objective import NOT_ASKED


def answer_log_probabilities(
    model: Gpt, ids: Int[Tensor, "B T"], wanted: Int[Tensor, "B T"]
) -> Float[Tensor, "B"]:
    """The logarithm of the probability of each whole answer, in nats.

    wanted has, after each id that is read, the one that is asked for, and NOT_ASKED (-100)
    in the question and after the end, as `Answers.tensors` makes them.
    """
    logits = model(ids).transpose(1, 2)  # (B, T, V) -> (B, V, T)
    losses = F.cross_entropy(logits, wanted, ignore_index=NOT_ASKED, reduction="none")
    return -losses.sum(-1)


def preference_loss(
    chosen: Float[Tensor, "B"],
    rejected: Float[Tensor, "B"],
    reference_chosen: Float[Tensor, "B"],
    reference_rejected: Float[Tensor, "B"],
    beta: float = 0.1,
) -> Float[Tensor, ""]:
    """The loss of DPO (Rafailov et al., 2023), from log-probabilities of whole answers.

    The margin is beta times how much more likely the chosen answer has become than the
    rejected one, compared with the reference, the model before. The loss of a pair is
    ln(1 + e^-margin), and ln 2 at the start. A larger beta holds the model nearer to it.
    """
    positive(beta=beta)
    shapes = [tuple(x.shape) for x in (chosen, rejected)]
    shapes += [tuple(x.shape) for x in (reference_chosen, reference_rejected)]
    if len({*shapes}) > 1:
        raise ValueError(f"there must be four numbers for each pair, not {shapes}")
    gained = (chosen - reference_chosen) - (rejected - reference_rejected)
    return F.softplus(-beta * gained).mean()


def group_advantages(rewards: Float[Tensor, "P G"]) -> Float[Tensor, "P G"]:
    """How much better each answer is than the mean of the answers to its question.

    It is the baseline of GRPO (Shao et al., 2024), who also divide by the group's
    standard deviation; this does not. Answers that are all alike teach nothing.
    """
    if rewards.dim() != 2 or rewards.size(1) < 2:
        rule = "must be (questions, answers), at least two answers each"
        raise ValueError(f"rewards of shape {tuple(rewards.shape)} {rule}")
    return rewards - rewards.mean(1, keepdim=True)


def policy_loss(
    log_p: Float[Tensor, "B"], advantages: Float[Tensor, "B"]
) -> Float[Tensor, ""]:
    """The smaller, the likelier good answers become (REINFORCE, Williams, 1992).

    log_p is of whole answers that the model itself has drawn, all with its present
    numbers. The gradient is that of the expected reward, turned round; the value of the
    loss itself says nothing.
    """
    if log_p.shape != advantages.shape:
        shapes = f"{tuple(log_p.shape)} and {tuple(advantages.shape)}"
        raise ValueError(f"log_p and advantages must be equally many, not {shapes}")
    return -(advantages.detach() * log_p).mean()


def penalised(
    rewards: Float[Tensor, "*B"],
    log_p: Float[Tensor, "*B"],
    reference: Float[Tensor, "*B"],
    beta: float,
) -> Float[Tensor, "*B"]:
    """Rewards minus beta · ln(p / p of the reference), the price of leaving the start.

    Its mean over drawn answers is beta times the Kullback-Leibler divergence from the
    reference, as in InstructGPT (Ouyang et al., 2022).
    """
    with torch.no_grad():
        return rewards - beta * (log_p - reference)
