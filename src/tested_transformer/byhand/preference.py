"""Preferences by hand: the loss of DPO, and its gradient."""

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.loss import log_sum_exp


def preference_loss(
    chosen: Float[np.ndarray, "B"],
    rejected: Float[np.ndarray, "B"],
    reference_chosen: Float[np.ndarray, "B"],
    reference_rejected: Float[np.ndarray, "B"],
    beta: float = 0.1,
) -> Float[np.ndarray, "B"]:
    """The loss of each pair, from log-probabilities (DPO; Rafailov et al., 2023).

    They are of whole answers. The loss is -ln σ(margin), and the margin is beta · (what
    the chosen answer has gained since the reference, minus what the rejected one has).
    """
    gained = (chosen - reference_chosen) - (rejected - reference_rejected)
    return log_sum_exp(np.stack([np.zeros_like(gained), -beta * gained], axis=-1))


def preference_loss_backward(
    d_losses: Float[np.ndarray, "B"],
    chosen: Float[np.ndarray, "B"],
    rejected: Float[np.ndarray, "B"],
    reference_chosen: Float[np.ndarray, "B"],
    reference_rejected: Float[np.ndarray, "B"],
    beta: float = 0.1,
) -> tuple[Float[np.ndarray, "B"], Float[np.ndarray, "B"]]:
    """From the gradient of the losses, those of the two log-probabilities.

    They are opposite. The factor σ(-margin) is how wrong the order still is: a half at
    the start, and near 0 where the chosen answer has gained much more.
    """
    given = chosen, rejected, reference_chosen, reference_rejected
    right = np.exp(-preference_loss(*given, beta))  # σ(margin)
    d_chosen = -d_losses * beta * (1 - right)
    return d_chosen, -d_chosen
