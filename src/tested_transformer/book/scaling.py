"""Five GPTs, each four times as large as the one before, that learn from the same text, and lines through losses."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from tested_transformer.book.small import language_model, training
from tested_transformer.book.small.language_model import Phrases
from tested_transformer.config import Config
from tested_transformer.model.gpt import Gpt

WIDTHS = (8, 16, 32, 64, 128)
"""The width of the rows in each of the five models."""

BATCH, LEARN, JUDGE, LONGEST = 64, 256_000, 2000, 40
"""Sentences a step, sentences to learn from at most, sentences to judge by, and the longest text in tokens."""


class Setting(NamedTuple):
    """What all five models of a comparison are given: so many steps, and so many different sentences."""

    steps: int
    sentences: int


SETTINGS = {
    "enough": Setting(steps=2000, sentences=128_000),  # none is read twice
    "few steps": Setting(steps=250, sentences=16_000),  # nor here
    "few sentences": Setting(steps=2000, sentences=2000),  # each is read 64 times
}
"""The settings by name."""

RATES = (0.0015, 0.003, 0.006, 0.012, 0.024, 0.048, 0.096)
"""Highest learning rates. A width tried some of them for 1000 steps, with a seed that is in no comparison, until its
best one had a worse one on both sides."""


def create(width: int, vocab_size: int, seed: int) -> Gpt:
    """An untrained GPT of two layers, in float32, with a head for every eight columns."""
    config = Config(
        vocab_size,
        width,
        d_ff=4 * width,
        n_heads=width // 8,
        n_layers=2,
        max_len=LONGEST,
        dropout=0.0,
        activation="gelu",
        attention_bias=True,
        norm_first=True,
    )
    return language_model.create(config, np.random.default_rng(seed)).float()


def n_parameters(model: Gpt) -> int:
    """How many numbers a model learns, without the tables of its words and of its positions."""
    return _count(model) - _count(model.tokens) - _count(model.positions)


def _count(part: nn.Module) -> int:
    return sum(w.numel() for w in part.parameters())


def learn(
    model: Gpt, given: Phrases, setting: Setting, rate: float, seed: int
) -> list[float]:
    """Train a model; the seed decides which sentences come when. Returns the loss of each step."""
    texts = given.learn[: setting.sentences]
    draws = np.random.default_rng([seed, 1])
    batches = language_model.batches(texts, setting.steps, draws, BATCH)
    return training.train(
        model,
        lambda step: language_model.loss(model, batches[step - 1]),
        training.triangle(setting.steps, rate, warmup=setting.steps // 10),
        setting.steps,
    )


@torch.no_grad()
def judge(model: Gpt, given: Phrases, size: int = 500) -> float:
    """The loss for each token of the sentences that no model has learned from, in nats."""
    total, n = 0.0, 0
    for i in range(0, len(given.judge), size):
        rows = given.judge[i : i + size]
        tokens = sum(len(row) - 1 for row in rows)
        total, n = total + tokens * language_model.loss(model, rows).item(), n + tokens
    return total / n


def run(
    width: int, setting: Setting, seed: int, rate: float, given: Phrases
) -> tuple[Gpt, float, float]:
    """A trained model, its loss in the last hundred steps, and its loss on new sentences."""
    model = create(width, given.vocabulary.vocab_size, seed)
    last = learn(model, given, setting, rate, seed)[-100:]
    return model, sum(last) / len(last), judge(model, given)


# Lines


class Law(NamedTuple):
    """loss = floor + a · N^(-b). In logarithms, what is above the floor is a straight line with the slope -b."""

    a: float
    b: float
    floor: float = 0.0

    def __call__(self, n: ArrayLike) -> Any:
        """The loss that it says for models of n parameters."""
        return self.floor + self.a * np.asarray(n, float) ** -self.b


def fit(n: ArrayLike, losses: ArrayLike, floor: float = 0.0) -> Law:
    """The straight line through log n and log(loss - floor) that leaves the least squares."""
    slope, start = np.polyfit(np.log(n), np.log(np.asarray(losses) - floor), 1)
    return Law(float(np.exp(start)), float(-slope), float(floor))


def fit_with_floor(n: ArrayLike, losses: ArrayLike) -> Law:
    """As `fit`, with the floor, of a thousand between 0 and the least loss, that leaves the least squares."""
    floors = np.linspace(0, np.min(losses), 1000, endpoint=False)
    laws = [fit(n, losses, floor) for floor in floors]
    return min(
        laws, key=lambda law: float(np.sum((np.log(law(n)) - np.log(losses)) ** 2))
    )
