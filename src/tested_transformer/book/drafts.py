"""A large and a small GPT that have read the same texts, so that one can draft for the other."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tested_transformer.book.small import language_model, training
from tested_transformer.config import Config
from tested_transformer.decoding.conversation import stream
from tested_transformer.decoding.speculative import speculate
from tested_transformer.model.gpt import Gpt
from tested_transformer.text.tokens import EOS, Vocabulary
from tested_transformer.training import checkpoint
from tested_transformer.training.int8 import unpacked

SIZES = {"large": (128, 4, 3), "draft": (32, 2, 1)}
"""Width, heads and layers of each."""

STEPS, MAX_LEN = 3000, 40


class Pair(NamedTuple):
    """Both models in float64, the words that they know, and texts that neither has read, as framed ids."""

    large: Gpt
    draft: Gpt
    vocabulary: Vocabulary
    tested: list[list[int]]


def create(name: str, vocab_size: int, draws: np.random.Generator) -> Gpt:
    """One of `SIZES` before its training."""
    d, n_heads, n_layers = SIZES[name]
    config = Config(
        vocab_size, d, 4 * d, n_heads, n_layers, dropout=0.0, max_len=MAX_LEN,
        activation="gelu", attention_bias=True, norm_first=True,
    )  # fmt: skip
    return language_model.create(config, draws)


def trained(name: str, seed: int = 0) -> dict[str, Tensor]:
    """The weights of one of `SIZES` after its training on the phrasebook's English."""
    phrases, draws = language_model.read(), np.random.default_rng(seed)
    model = create(name, phrases.vocabulary.vocab_size, draws).float()
    batches = language_model.batches(phrases.learn, STEPS, draws)
    rate = training.triangle(STEPS, peak=0.003, warmup=100)
    training.train(
        model, lambda step: language_model.loss(model, batches[step - 1]), rate, STEPS
    )
    return {f"{name}.{key}": weight for key, weight in model.state_dict().items()}


def kept(path: Path) -> Pair:
    """The pair whose weights were kept in a file."""
    weights, phrases = unpacked(checkpoint.read_tensors(path)[0]), language_model.read()
    models = []
    for name in SIZES:
        model = create(name, phrases.vocabulary.vocab_size, np.random.default_rng(0))
        own = {
            key.removeprefix(f"{name}."): w
            for key, w in weights.items()
            if key.startswith(f"{name}.")
        }
        model.load_state_dict(own)
        models.append(model.eval())
    return Pair(*models, phrases.vocabulary, phrases.judge)


class Round(NamedTuple):
    """One call of the large model: what the draft proposed, and what came of it."""

    drafted: list[int]
    settled: list[int]


def likeliest(pair: Pair, begun: Sequence[int], n_drafted: int) -> list[Round]:
    """How both write on together, always with the likeliest token."""
    text, rounds = [*begun], []
    for settled in speculate(
        pair.large, pair.draft, begun, {EOS}, MAX_LEN, n_drafted, top_k=1
    ):
        most = min(len(text) + n_drafted, MAX_LEN - 1)
        rounds.append(Round([*stream(pair.draft, text, (), most, top_k=1)], settled))
        text += settled
    return rounds


@torch.no_grad()
def following(
    pair: Pair, ids: Sequence[int]
) -> tuple[Float[Tensor, "V"], Float[Tensor, "V"]]:
    """How likely the large model finds each token after ids, and how likely the draft does."""
    large, draft = (model(torch.tensor([ids]))[0, -1].softmax(-1) for model in pair[:2])
    return large, draft


def with_others(
    pair: Pair, p: Float[Tensor, "V"], q: Float[Tensor, "V"], shown: Int[Tensor, "K"]
) -> tuple[list[str], Float[Tensor, "K+1"], Float[Tensor, "K+1"], Float[Tensor, "K+1"]]:
    """Some words and "all others", and for each: how likely both models find it, and what they share."""
    rest = torch.ones_like(p, dtype=torch.bool)
    rest[shown] = False
    rows = [
        torch.cat([x[shown], x[rest].sum()[None]]) for x in (p, q, torch.minimum(p, q))
    ]
    return [*pair.vocabulary.decode(shown.tolist()), "all others"], *rows
