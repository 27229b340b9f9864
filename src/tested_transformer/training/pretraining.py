"""Pre-training on text that nobody has labelled, with the switches that RoBERTa turned."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.data.masking import frame, mask, swap_seconds
from tested_transformer.model.bert import Pretraining
from tested_transformer.text.tokens import pad
from tested_transformer.training.adam import create_adam

Text = tuple[Sequence[int], Sequence[int]]
"""The ids of a first text and of a second, which may be empty."""


class Prepared(NamedTuple):
    """Rows to learn from: what is read, what was there, and what is asked."""

    ids: Tensor  # with words hidden
    chosen: Tensor
    wanted: Tensor
    segments: Tensor
    swapped: Tensor | None  # None where nobody asks whether the second text follows

    def part(self, rows: Sequence[int] | np.ndarray) -> "Prepared":
        """Some of the rows, no wider than the longest of them."""
        width = int((self.wanted[rows] != Config.pad_id).sum(1).max())
        *wide, swapped = self
        narrow = [x[rows, :width] for x in wide]
        return Prepared(*narrow, None if swapped is None else swapped[rows])


def prepare(
    texts: Sequence[Text],
    config: Config,
    mask_id: int,
    rng: np.random.Generator,
    next_sentence: bool = False,
) -> Prepared:
    """Frame texts, hide words; with next_sentence, first swap half of the seconds."""
    swapped = None
    if next_sentence:
        texts, labels = swap_seconds(texts, rng)
        swapped = torch.from_numpy(labels)
    framed, segments = zip(*(frame(*text) for text in texts), strict=True)
    c, wanted = config, pad(framed, config.pad_id)
    special = (c.pad_id, c.bos_id, c.eos_id, c.unk_id)
    ids, chosen = mask(wanted, mask_id, special, c.vocab_size, rng)
    belongs = np.maximum(pad(segments, -1), 0)  # padding is of the first text
    arrays = (ids, chosen, wanted, belongs)
    return Prepared(*map(torch.from_numpy, arrays), swapped)


def shuffled(
    prepared: Prepared, size: int, rng: np.random.Generator
) -> Iterator[Prepared]:
    """Batches of rows of similar length, in random order."""
    lengths = (prepared.wanted != Config.pad_id).sum(1).numpy()
    order = np.argsort(lengths + rng.random(len(lengths)))
    groups = np.split(order, range(size, len(order), size))
    for i in rng.permutation(len(groups)):
        yield prepared.part(groups[i])


def objective(model: Pretraining, batch: Prepared) -> Tensor:
    """Cross-entropy of the hidden words, plus that of the next sentence if asked."""
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
    adam, losses = create_adam(model.parameters()), []
    for reading in count():
        lots = np.random.default_rng([seed, reading if dynamic else 0])
        prepared = prepare(texts, model.bert.config, mask_id, lots, next_sentence)
        order = np.random.default_rng([seed, reading, 1])
        for batch in shuffled(prepared, size, order):
            step = len(losses) + 1
            rise, fall = step / (0.1 * steps), (steps - step + 1) / (0.4 * steps)
            adam.param_groups[0]["lr"] = lr * min(rise, fall, 1.0)
            loss = objective(model, batch)
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.item())
            if step == steps:
                return losses
