"""A training seen afterwards: what was written, and what was looked at, with each copy of the weights."""

import copy
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from tested_transformer.decoding.translator import Translator

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
