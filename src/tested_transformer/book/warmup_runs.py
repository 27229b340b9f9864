"""What schedules are tried on: noisy numbers, and a Transformer that may go blind."""

from collections.abc import Callable

import numpy as np
import torch

from tested_transformer.book.small import training
from tested_transformer.byhand.adam import adam
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import Config
from tested_transformer.model.transformer import Transformer

RateAt = Callable[[int], float]
"""From the number of a step, counted from 1, to its rate."""

COPIER = Config(10, d_model=64, d_ff=128, n_heads=4, n_layers=6, dropout=0, max_len=8)
"""As deep as the paper's models, but narrow: it copies four of six letters."""

SEEDS = range(3)


def without(rate_at: RateAt, warmup: int) -> RateAt:
    """The same schedule, but for its warm-up: at once the rate at its end."""
    return lambda step: rate_at(max(step, warmup))


def hovering(rate_at: RateAt, noise: float = 1.0, n_steps: int = 3000) -> np.ndarray:
    """How far 200 numbers typically are from their lowest point, 0, after each step.

    They start at 1. The gradient of each is its value plus noise.
    """
    w, m, v, found = np.ones(200), np.zeros(200), np.zeros(200), []
    for step in range(1, n_steps + 1):
        noisy = w + noise * np.random.default_rng(step).normal(size=200)
        w, m, v = adam(w, noisy, m, v, step, rate_at(step))
        found.append(np.sqrt((w**2).mean()))
    return np.array(found)


def noisy_steps(n_steps: int = 60) -> np.ndarray:
    """How long Adam's steps typically are, in rates, if all gradients are noise."""
    draws, sizes = np.random.default_rng(0), []
    w, m, v = np.zeros((3, 20_000))
    for step in range(1, n_steps + 1):
        moved, m, v = adam(w, draws.normal(size=20_000), m, v, step, rate=1.0)
        sizes.append(np.sqrt(((moved - w) ** 2).mean()))
        w = moved
    return np.array(sizes)


def copies(seed: int | list[int], n: int = 16) -> training.Batch:
    """Random sequences of four letters, and the same behind <bos>."""
    c, draws = COPIER, np.random.default_rng(seed)
    letters = draws.integers(c.unk_id + 1, c.vocab_size, size=(n, 4))
    begun = np.insert(letters, 0, c.bos_id, axis=1)
    return torch.tensor(letters), torch.tensor(begun)


def create(seed: int) -> Transformer:
    """An untrained copier. It begins with the whole of Glorot's limits."""
    return training.create(COPIER, seed)


def halved(seed: int) -> Transformer:
    """An untrained copier that begins with half of Glorot's limits."""
    model = create(seed)
    params = create_params(COPIER, np.random.default_rng(seed), gain=0.5)
    model.load_state_dict({name: torch.tensor(w) for name, w in params.items()})
    return model


def learn(model: Transformer, seed: int, rate_at: RateAt, n_steps: int) -> list[float]:
    """Train a copier, with new sequences in each step; returns the losses."""
    loss_at = training.forced(model, lambda step: copies([seed, step]))
    return training.train(model, loss_at, rate_at, n_steps)


def three(
    rate_at: RateAt,
    create: Callable[[int], Transformer] = create,
    n_steps: int = 60,
) -> tuple[list[Transformer], list[list[float]]]:
    """Three models from three starts, trained alike, and their losses."""
    models = [create(seed) for seed in SEEDS]
    runs = zip(models, SEEDS, strict=True)
    return models, [learn(model, seed, rate_at, n_steps) for model, seed in runs]


@torch.no_grad()
def difference(model: Transformer) -> float:
    """How much the output of the encoder differs from one of 64 sequences to another.

    It is a standard deviation over the sequences, averaged over all numbers.
    """
    return model.encode(copies(99, 64)[0]).std(dim=0).mean().item()


def furthest(model: Transformer, start: Transformer) -> float:
    """How far the number has gone that went furthest."""
    ways = zip(model.parameters(), start.parameters(), strict=True)
    return max((w - first).abs().max().item() for w, first in ways)


def gradient_in_encoder(model: Transformer) -> float:
    """The length of the gradient of all the encoder's numbers, on 64 sequences."""
    model.zero_grad()
    training.forced(model, lambda _: copies(99, 64), smoothing=0.1)(1).backward()
    return sum(w.grad.square().sum() for w in model.encoder.parameters()).sqrt().item()
