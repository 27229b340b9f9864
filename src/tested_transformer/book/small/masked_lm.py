"""A small model that fills gaps: what it reads, what it is asked, and what can be told from its vectors."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.book.small import training
from tested_transformer.config import Config
from tested_transformer.data.masking import frame
from tested_transformer.model.bert import Bert, Pretraining
from tested_transformer.model.masks import padding_mask
from tested_transformer.phrasebook.corpus import Sentence, sentences
from tested_transformer.text.tokens import PAD, WORDS, Vocabulary, pad
from tested_transformer.training.pretraining import (
    Prepared,
    Text,
    objective,
    prepare,
    shuffled,
)

MASK = 4
"""The id of [MASK], behind the four that every vocabulary has."""


class Corpus(NamedTuple):
    """English sentences, one token for each word: to learn from, to judge by, and further ones as they are."""

    vocabulary: Vocabulary
    learn: list[Text]
    judge: list[Text]
    unseen: list[Sentence]


def split(text: str) -> list[str]:
    """The words and marks of a sentence, in small letters."""
    return WORDS.findall(text.lower())


def read() -> Corpus:
    """The English half of 16,000 sentences of the phrasebook; words are those of the first 8,000."""
    found = sentences(16_000)
    known = Vocabulary.train(w for s in found[:8000] for w in split(s.english))
    vocabulary = Vocabulary(["[MASK]", *known.tokens[4:]])
    texts = [(vocabulary.encode(split(s.english)), ()) for s in found[:9000]]
    return Corpus(vocabulary, texts[:8000], texts[8000:], found[9000:])


def create(config: Config, seed: int = 0) -> Pretraining:
    """A model in float64 that begins alike on every machine: small random weights, biases 0, norms 1."""
    model, draws = Pretraining(Bert(config)).double(), np.random.default_rng(seed)
    for p in model.parameters():
        if p.dim() == 2:
            p.data = torch.tensor(draws.normal(0, 0.5 / p.shape[1] ** 0.5, p.shape))
    return model


@torch.no_grad()
def fill(
    model: Pretraining, vocabulary: Vocabulary, text: str, n: int = 3
) -> list[list[tuple[str, float]]]:
    """For each gap, written as underscore, the n likeliest words and their probabilities."""
    ids = vocabulary.encode("[MASK]" if w == "_" else w for w in text.split())
    framed = torch.tensor([frame(ids)[0]])
    p, best = model(framed, framed == MASK)[0].softmax(-1).topk(n)
    names = [[vocabulary.tokens[i] for i in row] for row in best]
    return [list(zip(*two, strict=True)) for two in zip(names, p.tolist(), strict=True)]


@torch.no_grad()
def answers(model: Pretraining, exam: Prepared) -> Int[Tensor, "N"]:
    """The likeliest word at each chosen place."""
    return model(exam.ids, exam.chosen, exam.segments)[0].argmax(-1)


def right(model: Pretraining, exam: Prepared) -> float:
    """The share of the chosen places where the word that was there is the likeliest."""
    return (answers(model, exam) == exam.wanted[exam.chosen]).double().mean().item()


def reread(
    batch: Prepared,
    to_mask: float,
    to_random: float,
    vocab_size: int,
    rng: np.random.Generator,
) -> Prepared:
    """The same places are asked for; these shares of them are read as [MASK], as a random word, the rest as it is."""
    shape = batch.ids.shape
    lots, others = rng.random(shape), rng.integers(MASK + 1, vocab_size, shape)
    kept = np.where(lots < to_mask + to_random, others, batch.wanted)
    seen = torch.from_numpy(np.where(lots < to_mask, MASK, kept))
    return batch._replace(ids=torch.where(batch.chosen, seen, batch.wanted))


def singly(batch: Prepared) -> Prepared:
    """A row for each chosen place: it alone is asked for and read as [MASK], all other words are the true ones."""
    rows, places = batch.chosen.nonzero().T
    chosen = F.one_hot(places, batch.chosen.shape[1]).bool()
    wanted = batch.wanted[rows]
    ids = wanted.masked_fill(chosen, MASK)
    return Prepared(
        ids, chosen, wanted, batch.segments[rows], None, batch.lengths[rows]
    )


def train_by(
    shares: tuple[float, float],
    model: Pretraining,
    texts: Sequence[Text],
    steps: int,
    peak: float,
) -> list[float]:
    """Masked-word learning with other shares of [MASK] and of random words than BERT's."""
    config = model.bert.config

    def batches() -> Iterator[Prepared]:
        for reading in count():
            rng = np.random.default_rng([0, reading])
            rows = prepare(texts, config, MASK, rng)
            yield from shuffled(reread(rows, *shares, config.vocab_size, rng), 64, rng)

    stream = batches()
    return training.train(
        model,
        lambda step: objective(model, next(stream)),
        training.triangle(steps, peak, steps // 10),
        steps,
    )


# One word in many sentences

_AFTER = set(
    split(
        ". ? , today now here often sometimes never always slowly quickly carefully with in on at for because"
        " although if tomorrow outside yesterday every to up the a an this these that those my your his our their"
    )
)


class Uses(NamedTuple):
    """Sentences with one "her": 0 where it is an object, 1 where it is a possessive."""

    words: list[list[str]]
    places: list[int]
    role: Int[np.ndarray, "N"]


def uses_of_her(texts: Sequence[Sentence], n: int) -> Uses:
    """The first n of each role, told apart by the next word: a full stop or an article cannot belong to her."""
    found: tuple[list, list] = [], []
    for words in (split(s.english) for s in texts):
        if words.count("her") == 1:
            at = words.index("her")
            found[words[at + 1] not in _AFTER].append((words, at))
    words, places = zip(*found[0][:n], *found[1][:n], strict=True)
    return Uses(list(words), list(places), np.repeat([0, 1], n))


@torch.no_grad()
def depths(
    bert: Bert, vocabulary: Vocabulary, uses: Uses
) -> dict[str, Float[np.ndarray, "N D"]]:
    """The vectors of the word at all depths, from its row in the table to the last layer."""
    rows = torch.tensor(pad([frame(vocabulary.encode(w))[0] for w in uses.words], PAD))
    every = range(len(rows)), [1 + place for place in uses.places]  # behind [CLS]
    found = {"row of the table": bert.tokens(rows)[every].numpy()}
    x, may = bert.embed(rows), padding_mask(rows, PAD)
    found["with its position"] = x[every].numpy()
    for n, layer in enumerate(bert.encoder.layers, start=1):
        x = layer(x, may)
        found[f"after layer {n}"] = x[every].numpy()
    return found


def nearer(
    v: Float[np.ndarray, "N D"], role: Int[np.ndarray, "N"]
) -> Float[np.ndarray, "M"]:
    """How much nearer every second vector lies to the mean of the others of role 1 than to that of role 0."""
    half = np.arange(len(v)) % 2 == 0
    means = np.stack([v[half & (role == r)].mean(0) for r in (0, 1)])
    away = np.linalg.norm(v[~half][:, None] - means, axis=-1)
    return away[:, 0] - away[:, 1]


def told_apart(v: Float[np.ndarray, "N D"], role: Int[np.ndarray, "N"]) -> float:
    """The share of every second vector that lies nearer to the mean of its role's other half."""
    return float(((nearer(v, role) > 0) == role[1::2]).mean())


# A task with few labels


def adjective_first(
    texts: Sequence[Sentence], vocabulary: Vocabulary, start: int, n: int
) -> tuple[Tensor, Tensor]:
    """Framed sentences, in as many of which an adjective stands before its noun as not, and the labels."""
    answers = np.array(["adjective" in s.phenomena for s in texts])
    mixed = np.random.default_rng(0).permutation(len(texts))
    halves = mixed[answers[mixed]], mixed[~answers[mixed]]
    chosen = np.concatenate([half[start : start + n // 2] for half in halves])
    framed = [frame(vocabulary.encode(split(texts[i].english)))[0] for i in chosen]
    return torch.tensor(pad(framed, PAD)), torch.tensor(answers[chosen].astype(int))


def by_words(data: tuple[Tensor, Tensor], vocab_size: int) -> nn.Module:
    """A linear classifier that sees only which words are there, and how often."""
    texts, labels = data
    linear = nn.Linear(vocab_size - MASK, 2).double()
    for p in linear.parameters():
        nn.init.zeros_(p)
    sgd = torch.optim.SGD(linear.parameters(), lr=0.1, weight_decay=0.01)
    words = bag(texts, vocab_size)
    for _ in range(200):
        sgd.zero_grad()
        F.cross_entropy(linear(words), labels).backward()
        sgd.step()
    return linear


def bag(texts: Tensor, vocab_size: int) -> Float[Tensor, "B W"]:
    """How often each word is in each text; special tokens do not count."""
    counts = [text.bincount(minlength=vocab_size)[MASK:] for text in texts]
    return torch.stack(counts).double()


def share_right(logits: Tensor, labels: Tensor) -> float:
    """The share of rows whose largest logit is that of the label."""
    return (logits.argmax(-1) == labels).double().mean().item()
