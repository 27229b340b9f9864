"""A training seen afterwards: what was written, and what was looked at, with each copy of the weights."""

import copy
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from tested_transformer.checks import at_least
from tested_transformer.data.batches import Pair as Ids
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.training.events import Event, Step
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

Weights = dict[str, Tensor]
"""All numbers of a model, by name."""

Pair = tuple[str, str]
"""A sentence and its right translation."""


class Stop(NamedTuple):
    """One moment: a translation of each sentence, and its cross-attention, head by head."""

    written: list[str]
    cross: list[Float[np.ndarray, "L H T S"]]


class Reel(NamedTuple):
    """The sentences, the tokens that are read and to be written of each, and the stops by their steps."""

    pairs: list[Pair]
    tokens: list[tuple[list[str], list[str]]]
    stops: dict[int, Stop]


class Take(NamedTuple):
    """A training that was run: its trainer, the loss of each step, and the weights and their averages by steps."""

    trainer: Trainer
    losses: list[float]
    copies: dict[int, Weights]
    averages: dict[int, Weights]


def shoot(
    model: Transformer,
    options: Options,
    learned: Sequence[Ids],
    checked: Sequence[Ids],
    every: int,
    folder: str | os.PathLike[str] | None = None,
) -> Take:
    """Train a model with the package's loop, and keep a copy of its weights every so many steps, and at the start.

    learned and checked are pairs of ids, to train on and to validate with. Kept as well is
    the exponential moving average, if the options ask for one. Afterwards the model has
    the weights of the last copy. Without a folder the state goes to a new one.
    """
    at_least(1, every=every)
    losses: list[float] = []
    copies, averages = {0: copy.deepcopy(model.state_dict())}, {}

    def watch(event: Event) -> None:
        if isinstance(event, Step):
            losses.append(event.loss)
            if event.step % every == 0:
                copies[event.step] = copy.deepcopy(model.state_dict())
                if trainer.ema is not None:
                    averages[event.step] = copy.deepcopy(trainer.ema.weights)

    folder = tempfile.mkdtemp() if folder is None else folder
    trainer = Trainer(model, options, learned, checked, folder, report=watch)
    trainer.run()
    model.load_state_dict(copies[max(copies)])
    return Take(trainer, losses, copies, averages)


def written(
    translator: Translator, copies: Mapping[int, Weights], sources: Sequence[str]
) -> dict[int, list[str]]:
    """The translations of the sentences with each copy of the weights; afterwards the model has its own again."""
    before = copy.deepcopy(translator.model.state_dict())
    found = {}
    try:
        for step in sorted(copies):
            translator.model.load_state_dict(copies[step])
            found[step] = translator.translate(sources)
    finally:
        translator.model.load_state_dict(before)
    return found


def n_right(lines: Sequence[str], sentences: Sequence[Sentence]) -> int:
    """How many lines are, to the letter, the German of their sentences."""
    if len(lines) != len(sentences):
        raise ValueError(
            f"{len(lines)} lines for {len(sentences)} sentences: one for each is needed"
        )
    return sum(w == s.german for w, s in zip(lines, sentences, strict=True))


def record(
    translator: Translator,
    copies: Mapping[int, Mapping[str, Tensor]],
    pairs: Sequence[Pair],
) -> Reel:
    """What the translator does with each copy of its weights, in the order of the steps.

    It writes freely. For the weights of its attention it is given the right translation:
    row t is the look with which it has to write token t after the right ones before. So
    all stops have the same tokens. Afterwards the model has its own weights again.
    """
    if not copies or not pairs:
        raise ValueError(
            f"{len(copies)} copies and {len(pairs)} pairs: at least one of each is needed"
        )
    pairs = [(source, target) for source, target in pairs]
    before = copy.deepcopy(translator.model.state_dict())
    stops, tokens = {}, []
    try:
        for step in sorted(copies):
            translator.model.load_state_dict(copies[step])
            looks = [translator.look(*pair) for pair in pairs]
            written = translator.translate([source for source, _ in pairs])
            stops[step] = Stop(
                written, [weights["cross"].numpy(force=True) for *_, weights in looks]
            )
            tokens = [(read, [*after[1:], "<eos>"]) for read, after, _ in looks]
    finally:
        translator.model.load_state_dict(before)
    return Reel(pairs, tokens, stops)


def right_words(written: str, wanted: str) -> list[bool]:
    """For each word that was written: does it stand in the wanted sentence, in its order?

    Counted are as many as can be found there one after the other, whatever stands between.
    """
    words, others = written.split(), wanted.split()
    longest = np.zeros((len(words) + 1, len(others) + 1), int)
    for i, j in np.ndindex(len(words), len(others)):  # from the ends to the beginnings
        i, j = len(words) - 1 - i, len(others) - 1 - j
        both = longest[i + 1, j + 1] + 1 if words[i] == others[j] else 0
        longest[i, j] = max(both, longest[i + 1, j], longest[i, j + 1])
    found, j = [], 0
    for i, word in enumerate(words):
        fits = [k for k in range(j, len(others)) if others[k] == word]
        take = bool(fits and longest[i + 1, fits[0] + 1] + 1 == longest[i, j])
        found.append(take)
        j = fits[0] + 1 if take else j
    return found
