"""Texts made ready for masked-word learning: framed, paired, and with words hidden."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Int

from tested_transformer.config import SpecialIds

Text = TypeVar("Text")


class Masked(NamedTuple):
    """What the model reads, and the places where it is asked for the token that was."""

    ids: Int[np.ndarray, "B S"]
    chosen: Bool[np.ndarray, "B S"]


def frame(
    first: Sequence[int],
    second: Sequence[int] = (),
    special_ids: SpecialIds = SpecialIds(),  # noqa: B008
) -> tuple[list[int], list[int]]:
    """[CLS] first [SEP], and second [SEP] if there is one: returns (ids, segments).

    [CLS] is the bos of special_ids, [SEP] the eos. Segments are 0 up to the first
    [SEP] and 1 after it.
    """
    if not first:
        raise ValueError("the first text is empty; it must have at least one token")
    _, cls, sep, _ = special_ids
    ids = [cls, *first, sep]
    tail = [*second, sep] if second else []
    return ids + tail, [0] * len(ids) + [1] * len(tail)


def swap_seconds(
    pairs: Sequence[tuple[Text, Text]], rng: np.random.Generator
) -> tuple[list[tuple[Text, Text]], Int[np.ndarray, "N"]]:
    """Half of the pairs get the second text of another pair (Devlin et al., 2019).

    Returns the pairs, and for each 0 if its second text follows, 1 if it does not.
    """
    if len(pairs) < 2:
        raise ValueError(f"there must be at least two pairs to swap, not {len(pairs)}")
    n, own = len(pairs), np.arange(len(pairs))
    swapped = rng.random(n) < 0.5
    kept = np.where(swapped, (own + rng.integers(1, n, n)) % n, own)
    made = [(a, pairs[j][1]) for (a, _), j in zip(pairs, kept, strict=True)]
    return made, swapped.astype(int)


def choose(
    ids: Int[np.ndarray, "B S"],
    special_ids: Sequence[int],
    rng: np.random.Generator,
    fraction: float = 0.15,
) -> Bool[np.ndarray, "B S"]:
    """Which places to ask for: this fraction of each row's tokens, at least one, any of them.

    Special tokens are never chosen.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction ({fraction}) must be above 0 and at most 1")
    real = ~np.isin(ids, special_ids)
    n = np.maximum(1, np.round(fraction * real.sum(axis=1)))
    lots = np.where(real, rng.random(ids.shape), 2.0)  # special tokens come last
    ranks = lots.argsort(axis=1).argsort(axis=1)
    return real & (ranks < n[:, None])


def mask_tokens(
    ids: Int[np.ndarray, "B S"],
    mask_id: int,
    special_ids: Sequence[int],
    vocab_size: int,
    rng: np.random.Generator,
    fraction: float = 0.15,
) -> Masked:
    """Choose places and hide what is there (Devlin et al., 2019, Section 3.1).

    Of the chosen tokens 80 % become mask_id, 10 % a random token, and 10 % stay.
    """
    words = np.setdiff1d(np.arange(vocab_size), [*special_ids, mask_id])
    if not len(words):
        raise ValueError(
            f"vocab_size ({vocab_size}) leaves no word beside the special ids"
        )
    chosen = choose(ids, [*special_ids, mask_id], rng, fraction)
    lots = rng.random(ids.shape)
    others = rng.choice(words, ids.shape)
    hidden = np.where(lots < 0.8, mask_id, np.where(lots < 0.9, others, ids))
    return Masked(np.where(chosen, hidden, ids), chosen)
