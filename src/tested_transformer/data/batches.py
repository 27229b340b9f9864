"""Sentence pairs in batches of about equal length, so that little is padding."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import overload

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from tested_transformer.config import Config, SpecialIds
from tested_transformer.text.tokens import pad

Pair = tuple[Sequence[int], Sequence[int]]
"""The ids of a source sentence, and those of its target."""


def plan(
    pairs: Sequence[Pair], max_tokens: int, seed: int = 0, epoch: int = 0
) -> list[list[int]]:
    """The batches of one epoch, as positions in pairs (paper, Section 5.1).

    A batch has at most max_tokens tokens on either side, padding included. Every pair
    is in one batch, and none is cut: a longer one is an error. Seed and epoch mix pairs
    of similar length, and the order of batches; their number stays the same.
    """
    lengths = _lengths(pairs, max_tokens)
    rng = np.random.default_rng([seed, epoch])
    longer, difference = lengths.max(axis=1), lengths[:, 0] - lengths[:, 1]
    noisy = difference + rng.uniform(-1, 1, size=len(pairs))
    # Down and up in turn: where the longer side changes, the shorter one stays similar
    order = np.lexsort((np.where(longer % 2, noisy, -noisy), -longer))
    batches, first = [], 0
    while first < len(pairs):
        size = max_tokens // longer[order[first]]
        batches.append(order[first : first + size].tolist())
        first += size
    if len(batches) > 1 and len(batches[-1]) < len(batches[-2]):
        rest = batches.pop(-2) + batches.pop(-1)  # even, or one pair may be alone
        half = (len(rest) + 1) // 2
        batches += [rest[:half], rest[half:]]
    return [batches[i] for i in rng.permutation(len(batches))]


class EqualPlan(Sequence[Int[np.ndarray, "B"]]):
    """The batches of one epoch of n examples that are equally long, as `plan` has them.

    A batch has at most size examples, one more or less than any other. Seed and epoch
    mix the examples. Only their order is in memory.
    """

    def __init__(self, n: int, size: int, seed: int, epoch: int) -> None:
        self.order = np.random.default_rng([seed, epoch]).permutation(n)
        self.cuts = range(0, n * -(-n // size) + 1, n)  # in parts of one batch

    def __len__(self) -> int:
        """How many batches there are."""
        return len(self.cuts) - 1

    @overload
    def __getitem__(self, i: int) -> Int[np.ndarray, "B"]: ...
    @overload
    def __getitem__(self, i: slice) -> list[Int[np.ndarray, "B"]]: ...
    def __getitem__(
        self, i: int | slice
    ) -> Int[np.ndarray, "B"] | list[Int[np.ndarray, "B"]]:
        """The places of the examples of one batch, or a list of some batches."""
        if isinstance(i, slice):
            return [self[b] for b in range(*i.indices(len(self)))]
        if not 0 <= i < len(self):
            raise IndexError(f"batch ({i}) must be at least 0 and below {len(self)}")
        first, end = (cut // len(self) for cut in self.cuts[i : i + 2])
        return self.order[first:end]


def batches(
    pairs: Sequence[Pair],
    max_tokens: int,
    seed: int = 0,
    epoch: int = 0,
    start: int = 0,
    rank: int = 0,
    world_size: int = 1,
    pad_id: int = SpecialIds().pad,
) -> Iterator[tuple[Int[Tensor, "B S"], Int[Tensor, "B T"]]]:
    """The batches of `plan` as padded tensors, source and target, from number start on.

    Of several processes, each takes every world_size-th pair of every batch. So all
    have equally many batches, whose sizes differ by at most one pair. pad_id is that of
    the model.
    """
    planned = plan(pairs, max_tokens, seed, epoch)
    smallest = min(map(len, planned), default=world_size)
    if not 0 <= rank < world_size:
        rule = f"at least 0 and below world_size ({world_size})"
        raise ValueError(f"rank ({rank}) must be {rule}")
    if smallest < world_size:
        rule = f"must have a pair for each of {world_size} processes"
        hint = "raise max_tokens" if len(pairs) >= world_size else "start fewer"
        raise ValueError(f"a batch of {smallest} {rule}: {hint}")
    if not 0 <= start <= len(planned):
        rule = f"at least 0 and at most {len(planned)}, the number of batches"
        raise ValueError(f"start ({start}) must be {rule}")
    return (
        tensors([pairs[i] for i in ids[rank::world_size]], pad_id)
        for ids in planned[start:]
    )


def tensors(
    pairs: Sequence[Pair], pad_id: int = SpecialIds().pad
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B T"]]:
    """These pairs as one batch: sources and targets, filled up with pad_id."""
    source, target = zip(*pairs, strict=True)
    return torch.from_numpy(pad(source, pad_id)), torch.from_numpy(pad(target, pad_id))


def check_pairs(
    pairs: Sequence[Pair],
    name: str,
    config: Config,
    batch_tokens: int,
    source_ends: bool = False,
) -> None:
    """Refuse pairs that a model of this Config could not learn from; name is theirs.

    Targets run from bos_id to eos_id. With source_ends, sources must end with eos_id,
    too: a `Translator` reads them so.
    """
    if not len(pairs):
        raise ValueError(f"{name} has no pairs; there must be at least one")
    _check_sides(pairs, f"{name}: ")
    for i, pair in enumerate(pairs):
        for side, ids, unread in (("source", pair[0], 0), ("target", pair[1], 1)):
            what, most = f"{name}: the {side} of pair {i}", config.max_len + unread
            check_ids(ids, what, config, 1 + unread, most, batch_tokens)
            if config.pad_id in ids:
                raise ValueError(f"{what} has the id {config.pad_id}, which is padding")
        source, target = pair
        if target[0] != config.bos_id:
            rule = f"it must begin with bos_id ({config.bos_id})"
            raise ValueError(
                f"{name}: the target of pair {i} begins with {target[0]}; {rule}"
            )
        ends = {"target": target} | ({"source": source} if source_ends else {})
        for side, ids in ends.items():
            if ids[-1] != config.eos_id:
                rule = f"it must end with eos_id ({config.eos_id})"
                raise ValueError(
                    f"{name}: the {side} of pair {i} ends with {ids[-1]}; {rule}"
                )


def check_ids(
    ids: Sequence[int],
    what: str,
    config: Config,
    least: int,
    most: int,
    batch_tokens: int,
) -> None:
    """Refuse a text with too few or too many ids, or with one that the model lacks."""
    if not least <= len(ids) <= most:
        rule = f"there must be at least {least} and at most {most} (max_len)"
        raise ValueError(f"{what} has {len(ids)} ids; {rule}")
    if len(ids) > batch_tokens:
        rule = f"more than a batch (batch_tokens, {batch_tokens})"
        raise ValueError(f"{what} has {len(ids)} ids, {rule}")
    if not all(isinstance(i, Integral) for i in ids):
        raise TypeError(f"{what} has ids that are no whole numbers: {list(ids)!r:.40}")
    if not 0 <= min(ids) <= max(ids) < config.vocab_size:
        rule = f"all must be at least 0 and below {config.vocab_size}"
        raise ValueError(f"{what} has ids from {min(ids)} to {max(ids)}; {rule}")


def _check_sides(pairs: Sequence[Pair], what: str = "") -> None:
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            rule = f"pair {i} must be (source ids, target ids)"
            raise TypeError(f"{what}{rule}, not {pair!r:.40}")


def _lengths(pairs: Sequence[Pair], max_tokens: int) -> Int[np.ndarray, "N 2"]:
    _check_sides(pairs)
    lengths = np.array([[len(s), len(t)] for s, t in pairs], dtype=int).reshape(-1, 2)
    for name, bad in (
        ("is empty", lengths.min(axis=1) < 1),
        (f"has more than max_tokens ({max_tokens})", lengths.max(axis=1) > max_tokens),
    ):
        if bad.any():
            (i, *_), n = np.flatnonzero(bad), int(bad.sum())
            found = f"pair {i} ({lengths[i, 0]} and {lengths[i, 1]} tokens) {name}"
            raise ValueError(f"{found}, as {n} of {len(pairs)} are: leave them out")
    return lengths
