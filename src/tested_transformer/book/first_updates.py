"""The translator at its beginning: batches that it learns from, and what its first steps do to each of its numbers.

Trainings are in float32, which takes half of the time: there are many of them, and the printed digits are the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from tested_transformer.data.batches import batches
from tested_transformer.data.parallel import encode_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook.corpus import split

Batch = tuple[Tensor, Tensor]
"""Source and target ids, padded."""

BATCH_TOKENS = 800
"""So many tokens has a batch in the training of the package's model."""


def phrases(translator: Translator, n: int) -> list[Batch]:
    """So many batches of the phrasebook's training sentences, in the translator's tokens."""
    said = split(100 * n, 1)[0]  # a batch has fewer than a hundred sentences
    texts, c = [(s.english, s.german) for s in said], translator.model.config
    pairs = encode_pairs(texts, translator.tokens, c.max_len).pairs
    return list(batches(pairs, BATCH_TOKENS, pad_id=c.pad_id))[:n]


def untrained(
    translator: Translator, dtype: torch.dtype = torch.float64
) -> Transformer:
    """A model of the translator's sizes that has learned nothing; each time the same one."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Transformer(translator.model.config).to(dtype)


def loss_of(model: Transformer, batch: Batch) -> Tensor:
    """The loss for each token of a batch."""
    source, target = batch
    logits = model(source, target[:, :-1]).flatten(0, 1)
    pad = model.config.pad_id
    return nn.functional.cross_entropy(
        logits, target[:, 1:].flatten(), ignore_index=pad
    )


def backward(model: Transformer, batch: Batch) -> float:
    """The loss for each token of a batch; its gradients are left in the model."""
    model.zero_grad()
    loss = loss_of(model, batch)
    loss.backward()
    return loss.item()


KINDS = {
    "queries, keys": ("w_q.", "w_k."),
    "values, output": ("w_v.", "w_o."),
    "feed-forward": ("w_1.weight", "w_2.weight"),
    "biases": ("w_1.bias", "w_2.bias"),
    "norms": ("norm.",),
    "table": ("embedding.",),
}
"""What the arrays of a model are for, and how their names say so."""


def by_kind(size: Mapping[str, float]) -> dict[str, list[tuple[str, float]]]:
    """For each kind of arrays the part of the model that each is in, and its size."""
    parts = {
        name: "shared table" if name.startswith("embedding") else name.partition(".")[0]
        for name in size
    }
    return {
        kind: [
            (parts[name], x)
            for name, x in size.items()
            if any(word in name for word in words)
        ]
        for kind, words in KINDS.items()
    }


def ids_of(translator: Translator, tokens: Sequence[str]) -> list[int]:
    """The ids of tokens; most words are tokens with the space before them."""
    names = [translator.name(i) for i in range(translator.model.config.vocab_size)]
    return [names.index(token) for token in tokens]


def how_often(several: Sequence[Batch], vocab_size: int) -> np.ndarray:
    """In how many batches each token is, on one side or the other: (V,)."""
    found = np.zeros(vocab_size, dtype=int)
    for batch in several:
        found[np.unique(np.concatenate([side.flatten() for side in batch]))] += 1
    return found


def typical_gradients(
    model: Transformer, several: Sequence[Batch]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """How large gradients typically are: the root of the mean of their squares, over several batches.

    First for each number of each array, then for the length of each row of the shared
    table, (V, uses). The first use is the lookup, on both sides, the second the output.
    """
    squares = {name: torch.zeros_like(w) for name, w in model.named_parameters()}
    by_use, scale, taken = 0.0, model.config.d_model**0.5, []

    def keep(_: nn.Module, read: tuple[Tensor], rows: Tensor) -> None:
        rows.retain_grad()
        taken.append((read[0].flatten(), rows))

    hook = model.embedding.register_forward_hook(keep)
    try:
        for batch in several:
            taken.clear()
            backward(model, batch)
            for name, w in model.named_parameters():
                squares[name] += w.grad**2 / len(several)
            whole = model.embedding.weight.grad
            own = torch.zeros_like(whole)
            for read, rows in taken:
                own.index_add_(0, read, scale * rows.grad.flatten(0, 1))
            uses = torch.stack([own, whole - own], dim=1)
            by_use = by_use + (uses**2).sum(-1) / len(several)
    finally:
        hook.remove()
    numbers = {name: square.sqrt().numpy() for name, square in squares.items()}
    return numbers, by_use.sqrt().numpy()


class Learned(NamedTuple):
    """What some first steps have done."""

    losses: list[float]  # before each step
    moved: np.ndarray  # (V, D) where each row of the table has gone
    model: Transformer


def learn(
    translator: Translator,
    several: Iterable[Batch],
    rule: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
    times: np.ndarray | float = 1.0,
) -> Learned:
    """Train the untrained model, one step for each batch, by a rule of PyTorch.

    The gradient of each row of the table is taken so many times, (V,) or one for all: for
    gradient descent that is a rate of its own.
    """
    model, losses = untrained(translator, torch.float32), []
    start = model.embedding.weight.detach().clone()
    factors = torch.tensor(times, dtype=start.dtype).reshape(-1, 1)
    model.embedding.weight.register_hook(lambda g: g * factors)
    optimizer = rule(model.parameters())
    for batch in several:
        losses.append(backward(model, batch))
        optimizer.step()
    moved = (model.embedding.weight.detach() - start).numpy()
    return Learned(losses, moved, model)


def lengths(rows: np.ndarray) -> np.ndarray:
    """The length of each row."""
    return np.linalg.norm(rows, axis=1)


def alone(
    translator: Translator,
    several: Iterable[Batch],
    rule: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
    word: str = "",
    rows: np.ndarray | None = None,
) -> list[float]:
    """The losses while only arrays with a word in their name learn, or only some rows of these, (V,).

    All others stay where they are. It ends early where a loss is above 100.
    """
    model, losses = untrained(translator, torch.float32), []
    for name, w in model.named_parameters():
        w.requires_grad_(word in name)  # no time for gradients that nobody follows
    moving = [w for w in model.parameters() if w.requires_grad]
    optimizer = rule(moving)
    *first, last = several
    for batch in first:
        losses.append(backward(model, batch))
        if losses[-1] > 100:
            return losses
        if rows is not None:
            for w in moving:
                w.grad[torch.from_numpy(~rows)] = 0
        optimizer.step()
    with torch.no_grad():  # after the last loss nothing moves any more
        return [*losses, loss_of(model, last).item()]


def parts(rows: np.ndarray) -> dict[str, dict[str, Any]]:
    """What may learn alone, as `alone` wants it: everything, these rows of the table, and its others."""
    some = {f"{rows.sum()} rows": rows, "the other rows": ~rows}
    split = {name: {"word": "embedding", "rows": part} for name, part in some.items()}
    return {"the whole model": {}} | split


def sweep(
    translator: Translator,
    several: Sequence[Batch],
    rule: Callable[..., torch.optim.Optimizer],
    rates: Iterable[float],
    parts: Mapping[str, Mapping[str, Any]],
) -> dict[str, dict[float, float]]:
    """For each part of a model and each rate, the mean of the last five losses while this part learns alone.

    A mean above 100 counts as 100: no picture is as high.
    """
    rules = {rate: partial(rule, lr=rate) for rate in rates}

    def mean(rule: Callable[..., Any], part: Mapping[str, Any]) -> float:
        last = np.float32(alone(translator, several, rule, **part)[-5:])
        return min(float(last.mean()), 100.0)

    return {
        name: {rate: mean(rule, part) for rate, rule in rules.items()}
        for name, part in parts.items()
    }
