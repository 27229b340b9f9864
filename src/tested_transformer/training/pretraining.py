"""Pre-training on text that nobody has labelled, with the switches that RoBERTa turned."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.data.masking import frame, mask_tokens, swap_seconds
from tested_transformer.model.bert import Pretraining
from tested_transformer.text.tokens import pad
from tested_transformer.training.loop import train
from tested_transformer.training.schedule import ramp

Text = tuple[Sequence[int], Sequence[int]]
"""The ids of a first text and of a second, which may be empty."""


class Prepared(NamedTuple):
    """Rows to learn from: what is read, what was there, and what is asked."""

    ids: Tensor  # with words hidden
    chosen: Tensor
    wanted: Tensor
    segments: Tensor
    swapped: Tensor | None  # None where nobody asks whether the second text follows
    lengths: Tensor  # tokens of each row, padding not counted

    def part(self, rows: Sequence[int] | np.ndarray) -> "Prepared":
        """Some of the rows, no wider than the longest of them."""
        *wide, swapped, lengths = self
        narrow = [x[rows, : int(lengths[rows].max())] for x in wide]
        chosen = None if swapped is None else swapped[rows]
        return Prepared._make([*narrow, chosen, lengths[rows]])

    def to(self, device: torch.device) -> "Prepared":
        """The same on a device. The lengths stay: rows are chosen by them."""
        *read, lengths = self
        there = (x if x is None else x.to(device) for x in read)
        return Prepared._make([*there, lengths])


def prepare(
    texts: Sequence[Text],
    config: Config,
    mask_id: int,
    rng: np.random.Generator,
    next_sentence: bool = False,
) -> Prepared:
    """Frame texts, hide words; with next_sentence, first swap half of the seconds."""
    check_texts(texts)
    swapped = None
    if next_sentence:
        texts, labels = swap_seconds(texts, rng)
        swapped = torch.from_numpy(labels)
    special = config.special_ids
    framed, segments = zip(
        *(frame(one, two, special) for one, two in texts), strict=True
    )
    wanted = pad(framed, special.pad)
    ids, chosen = mask_tokens(wanted, mask_id, special, config.vocab_size, rng)
    belongs = np.maximum(pad(segments, -1), 0)  # padding is of the first text
    arrays = map(torch.from_numpy, (ids, chosen, wanted, belongs))
    lengths = torch.tensor([len(ids) for ids in framed])
    return Prepared._make([*arrays, swapped, lengths])


def shuffled(
    prepared: Prepared, size: int, rng: np.random.Generator
) -> Iterator[Prepared]:
    """Batches of rows of similar length, in random order."""
    lengths = prepared.lengths.numpy()
    order = np.argsort(lengths + rng.random(len(lengths)))
    groups = np.split(order, range(size, len(order), size))
    for i in rng.permutation(len(groups)):
        yield prepared.part(groups[i])


def objective(model: Pretraining, batch: Prepared) -> Tensor:
    """Cross-entropy of the hidden words, and of the next sentence, if asked."""
    words, follows = model(batch.ids, batch.chosen, batch.segments)
    loss = F.cross_entropy(words, batch.wanted[batch.chosen])
    if batch.swapped is None:
        return loss
    return loss + F.cross_entropy(follows, batch.swapped)


def pretrain(
    model: Pretraining,
    texts: Sequence[Text],
    mask_id: int,
    steps: int,
    lr: float,
    size: int = 64,
    dynamic: bool = True,
    next_sentence: bool = False,
    seed: int = 0,
) -> list[float]:
    """Learn from texts, size of them a step, and return the losses.

    dynamic hides other words in each reading; without it they are hidden once. The
    rate rises to lr in the first tenth of the steps and falls in the last four tenths.
    """
    model.train()
    device = model.next_head.weight.device
    given = texts, model.bert.config, mask_id, size, dynamic, next_sentence, seed
    coming = readings(*given)
    return train(
        model,
        lambda step: objective(model, next(coming).to(device)),
        lambda step: lr * ramp(step, steps, 0.1 * steps, 0.4 * steps),
        steps,
    )


def readings(
    texts: Sequence[Text],
    config: Config,
    mask_id: int,
    size: int,
    dynamic: bool,
    next_sentence: bool,
    seed: int,
) -> Iterator[Prepared]:
    """Batches without end: the texts once in each reading, in another order."""
    for reading in count():
        lots = np.random.default_rng([seed, reading if dynamic else 0])
        prepared = prepare(texts, config, mask_id, lots, next_sentence)
        yield from shuffled(prepared, size, np.random.default_rng([seed, reading, 1]))


def check_texts(texts: Sequence[Text]) -> None:
    """Refuse what is no list of pairs of ids."""
    if not len(texts):
        raise ValueError("texts is empty; there must be at least one pair")
    for i, text in enumerate(texts):
        pair = isinstance(text, (tuple, list)) and len(text) == 2
        if not pair or not all(map(_is_ids, text)):
            rule = (
                f"text {i} must be a pair (ids of the first, ids of the second or ())"
            )
            raise TypeError(f"{rule}, not {text!r:.40}")


def _is_ids(side: object) -> bool:
    return isinstance(side, Sequence) and not isinstance(side, str)
