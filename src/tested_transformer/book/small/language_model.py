"""A small model that writes: what it learns from, its start, its loss, and how it goes on with a text."""

from collections.abc import Sequence
from itertools import chain
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.decoding.limits import suppressed
from tested_transformer.decoding.sampling import next_probabilities, sample
from tested_transformer.model.gpt import Gpt
from tested_transformer.phrasebook.corpus import sentences
from tested_transformer.text.tokens import BOS, EOS, PAD, WORDS, Vocabulary, pad


class Phrases(NamedTuple):
    """English sentences as words, the vocabulary, and as framed ids those to learn from and others to judge by."""

    words: list[list[str]]
    vocabulary: Vocabulary
    learn: list[list[int]]
    judge: list[list[int]]


def read(n: int = 12_000, others: int = 600) -> Phrases:
    """The English half of the phrasebook in lower case, each sentence between <bos> and <eos>."""
    phrases = [WORDS.findall(s.english.lower()) for s in sentences(n + others)]
    vocabulary = Vocabulary.train(word for words in phrases[:n] for word in words)
    texts = [[BOS, *vocabulary.encode(words), EOS] for words in phrases]
    return Phrases(phrases, vocabulary, texts[:n], texts[n:])


def create(config: Config, draws: np.random.Generator) -> Gpt:
    """A model in float64: rows of length d begin with standard deviation 0.5 / √d, biases with 0, norms with 1."""
    model = Gpt(config).double()
    start = {
        name: p if p.dim() == 1 else draws.normal(0, 0.5 / sqrt(p.shape[1]), p.shape)
        for name, p in model.named_parameters()
    }
    model.load_state_dict({name: torch.as_tensor(p) for name, p in start.items()})
    return model


def batches(
    texts: list[list[int]], steps: int, draws: np.random.Generator, size: int = 32
) -> list[list[list[int]]]:
    """A batch for each step, of texts of about the same length, all of them in each round."""
    by_length = sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))
    groups = [by_length[i : i + size] for i in range(0, len(texts), size)]
    rounds = (draws.permutation(len(groups)) for _ in range(1 + steps // len(groups)))
    return [[texts[i] for i in groups[n]] for n in chain(*rounds)]


def loss(model: Gpt, rows: list[list[int]]) -> Tensor:
    """Cross-entropy of the token after each token; padding is not asked for."""
    ids = torch.tensor(pad(rows, PAD))
    logits = model(ids[:, :-1]).transpose(1, 2)
    return F.cross_entropy(logits, ids[:, 1:], ignore_index=PAD)


def write(
    model: Gpt,
    vocabulary: Vocabulary,
    n: int,
    seed: int = 0,
    prompt: str = "",
    max_len: int = 30,
    **how: Any,
) -> list[str]:
    """As many texts that begin with the prompt, drawn with the random numbers of a seed."""
    begun = torch.tensor([[BOS, *vocabulary.encode(prompt.split())]] * n)
    lots = torch.Generator().manual_seed(seed)
    how |= {"generator": lots, "suppress_tokens": suppressed(model.config)}
    rows = sample(model, begun, max_len, **how).tolist()
    return [" ".join(vocabulary.decode(i for i in row if i > EOS)) for row in rows]


@torch.no_grad()
def following(
    model: Gpt, vocabulary: Vocabulary, prompt: str, t: float = 1.0
) -> tuple[Float[np.ndarray, "V"], list[str]]:
    """What may follow: the probabilities of all words at a temperature, the likeliest first, and these words.

    What `write` never writes has the probability 0.
    """
    ids = torch.tensor([[BOS, *vocabulary.encode(prompt.split())]])
    logits = model(ids)[0, -1]
    logits[suppressed(model.config)] = -torch.inf
    p, best = next_probabilities(logits, t).sort(descending=True)
    return p.numpy(), vocabulary.decode(best.tolist())


@torch.no_grad()
def smallest_lead(model: Gpt, ids: Sequence[int], first: int) -> float:
    """By how much the likeliest token leads the second, where it leads least, from position first on.

    Where ids hold a token that is not the likeliest, it is negative.
    """
    p = model(torch.tensor([ids]))[0, first - 1 : -1].softmax(-1)
    written = p.gather(-1, torch.tensor(ids[first:])[:, None])[:, 0]
    others = p.scatter(-1, torch.tensor(ids[first:])[:, None], 0.0).amax(-1)
    return float((written - others).min())
