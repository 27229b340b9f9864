"""A small Transformer learns the frames of `coreference`: the pairs, what it learns, and what it thinks meanwhile."""

import copy
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from tested_transformer.book.coreference import FRAMES, RUNNING, THINGS
from tested_transformer.book.pretrained import surprises
from tested_transformer.book.silent_bugs import SIZES
from tested_transformer.book.small import training
from tested_transformer.config import Config
from tested_transformer.data.batches import Pair, tensors
from tested_transformer.data.parallel import encode_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence

NOUNS = ("chair", "lamp", "picture")
AWAY = 8
"""So many things, one after the other, are left out of a frame."""


def divided() -> tuple[list[Sentence], list[Sentence]]:
    """All frames about all things but one for each, to learn from; and those, which are kept back.

    The running sentences come first among them.
    """
    things = [*NOUNS, *(thing for thing in THINGS if thing not in NOUNS)]
    away = [(n // AWAY, thing) for n, thing in enumerate(things)]
    every = [(n, thing) for n in range(len(FRAMES)) for thing in things]
    learned = [both for both in every if both not in away]
    said, kept = (
        [FRAMES[n].say(thing) for n, thing in some] for some in (learned, away)
    )
    return said, kept


def beginner(translator: Translator) -> Translator:
    """A small model that knows nothing, with the tokens of the translator."""
    tokens = translator.tokens
    model = training.create(Config(tokens.vocab_size, max_len=90, **SIZES))
    return Translator(model, tokens, width=1)


def encoded(translator: Translator, sentences: Sequence[Sentence]) -> list[Pair]:
    """Sentences as pairs of ids."""
    pairs = [(s.english, s.german) for s in sentences]
    return encode_pairs(pairs, translator.tokens, max_len=90).pairs


def dealt(pairs: Sequence[Pair], size: int, n_steps: int) -> list[training.Batch]:
    """Batches of equal size, in each epoch dealt anew; the size must divide the number of pairs."""
    rng = np.random.default_rng(0)
    rows = [rng.permutation(len(pairs)) for _ in range(n_steps * size // len(pairs))]
    return [
        tensors([pairs[i] for i in row]) for row in np.reshape(rows, (n_steps, size))
    ]


class Course(NamedTuple):
    """What was seen while a model learned."""

    losses: list[float]  # of the batch of each step, before it
    aside: list[float]  # of other sentences, after it
    right: np.ndarray  # (steps, 3, tokens) how probable it holds each right token of the running sentences
    at: dict[int, Translator]  # what it was after some of the steps; 0 is the start


def learn(
    pupil: Translator,
    batches: Sequence[training.Batch],
    others: training.Batch,
    smoothing: float = 0.0,
    stops: Collection[int] = (),
) -> Course:
    """Train the model of a translator with a step for each batch, and look at other sentences and at the running ones.

    A copy of it is kept of each of the `stops`: steps after which it is asked more.
    """
    at = {0: _copied(pupil)} if 0 in stops else {}
    aside: list[float] = []
    nats: list[list[np.ndarray]] = []
    of_others = training.forced(pupil.model, lambda _: others)

    def look(step: int) -> None:
        aside.append(of_others(step).item())
        nats.append([surprises(pupil, sentence)[1] for sentence in RUNNING])
        if step in stops:
            at[step] = _copied(pupil)

    n_steps = len(batches)
    losses = training.train(
        pupil.model,
        training.forced(pupil.model, lambda step: batches[step - 1], smoothing),
        training.triangle(n_steps),
        n_steps,
        look,
    )
    return Course(losses, aside, np.exp(-np.array(nats)), at)


def _copied(pupil: Translator) -> Translator:
    return Translator(copy.deepcopy(pupil.model), pupil.tokens, width=1)


def exact(translator: Translator, sentences: Sequence[Sentence]) -> int:
    """How many sentences are translated without a mistake."""
    german = translator.translate([s.english for s in sentences])
    return sum(text == s.german for text, s in zip(german, sentences, strict=True))
