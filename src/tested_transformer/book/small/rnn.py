"""Recurrent networks that learn to write sequences backwards: their start, their training, and their test."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tested_transformer.data.tasks import BOS, EOS, reverse
from tested_transformer.model.recurrence import EncoderDecoder

VOCAB = 20
"""All ids of the task, the special ones among them."""

Task = Callable[..., tuple[Int[np.ndarray, "N S"], Int[np.ndarray, "N T"]]]


def fresh(
    d_model: int,
    look: Callable[[Tensor, Tensor], Tensor] | None = None,
    seed: int = 0,
) -> EncoderDecoder:
    """An encoder and a decoder in float64 before any training.

    Small vectors for the ids, matrices that keep lengths for W^h, zeros for the biases.
    """
    model, rng = (
        EncoderDecoder(VOCAB, d_model, look).double(),
        np.random.default_rng(seed),
    )
    with torch.no_grad():
        for name, p in model.named_parameters():
            drawn = rng.normal(size=p.shape) / np.sqrt(d_model)
            if "hidden" in name:
                drawn = np.linalg.qr(drawn)[0]
            p.copy_(torch.tensor(drawn if p.ndim > 1 else 0 * drawn))
    return model


def train(
    model: EncoderDecoder,
    task: Task = reverse,
    rounds: int = 1000,
    rate: float = 0.007,
    longest: int = 12,
    seed: int = 0,
) -> EncoderDecoder:
    """The model after so many batches of 64 sequences, equally long in each batch."""
    rng = np.random.default_rng(seed)
    adam = torch.optim.Adam(model.parameters())
    for i in range(rounds):
        adam.param_groups[0]["lr"] = rate * (1 - i / rounds)
        length, drawn = int(rng.integers(1, longest + 1)), 1000 + 10_000 * seed + i
        source, target = map(torch.tensor, task(64, length, VOCAB, seed=drawn))
        logits = model(source, target[:, :-1])  # it reads all but the last ...
        right = target[:, 1:]  # ... and names all but the first
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), right.flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    return model


def exact(model: EncoderDecoder, task: Task = reverse, longest: int = 12) -> list[int]:
    """How many of 200 sequences of each length come out right, EOS included."""
    counts = []
    for n in range(1, longest + 1):
        source, target = map(torch.tensor, task(200, n, VOCAB, seed=n))
        right = model.write(source, n + 1) == target[:, 1:]
        counts.append(int(right.all(dim=1).sum()))
    return counts


def look_back(
    states: Float[Tensor, "B T D"], memory: Float[Tensor, "B S D"]
) -> Float[Tensor, "B T D"]:
    """For each state a mixture of the memory, with more of what fits it better."""
    return (states @ memory.mT).softmax(dim=2) @ memory


def evenly(
    states: Float[Tensor, "B T D"], memory: Float[Tensor, "B S D"]
) -> Float[Tensor, "B T D"]:
    """A look back that chooses nothing: the mean of the memory, whatever the states."""
    return memory.mean(dim=1, keepdim=True).expand_as(states)


@torch.no_grad()
def places(model: EncoderDecoder, length: int = 12, task: Task = reverse) -> np.ndarray:
    """For each place of 200 fresh sequences of one length: how many of the ids that stood there are written rightly.

    The places are those of the source; where it is reversed, the last is written first.
    What was written before is given rightly.
    """
    source, target = map(torch.tensor, task(200, length, VOCAB, seed=length))
    named = model(source, target[:, :-1]).argmax(dim=-1)
    right = (named == target[:, 1:]).sum(dim=0)[:-1]
    return (right.flip(0) if task is reverse else right).numpy()


@torch.no_grad()
def looks(
    model: EncoderDecoder, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> np.ndarray:
    """The shares of the look back for the first pair: a row for each id that is written, EOS left out."""
    memory = model.encode(source)
    asking = model.decoder(model.embedding(target[:, :-1]), memory[:, -1])
    return (asking @ memory.transpose(1, 2)).softmax(dim=2)[0, :-1].numpy()


@torch.no_grad()
def sought(model: EncoderDecoder) -> dict[str, tuple[float, float]]:
    """What the largest share of the look back goes to: the place needed, or the id just read?

    The share of both in 100 sequences of eight different ids, if the decoder is fed the right ids, and if it is fed
    the same ids in another order.
    """
    rng, found = np.random.default_rng(0), {}
    for fed in ("right", "reordered"):
        needed, just_read = [], []
        for _ in range(100):
            source = rng.permutation(np.arange(4, VOCAB))[:8]
            told = source[::-1] if fed == "right" else rng.permutation(source)
            ids = torch.tensor([[BOS, *told, EOS]])
            largest = looks(model, torch.tensor(source[None]), ids).argmax(axis=1)
            needed += (largest == np.arange(8)[::-1])[1:].tolist()
            just_read += (source[largest[1:]] == told[:-1]).tolist()
        found[fed] = (float(np.mean(needed)), float(np.mean(just_read)))
    return found


def by_repeats(model: EncoderDecoder) -> tuple[float, float]:
    """The share of 1000 sequences of eight ids that come out right: those without a repeated id, and those with one."""
    source, target = map(torch.tensor, reverse(1000, 8, VOCAB, seed=77))
    twice = np.array([len({*row}) < 8 for row in source.tolist()])
    right = torch.all(model.write(source, 9) == target[:, 1:], dim=1).numpy()
    return float(right[~twice].mean()), float(right[twice].mean())


@torch.no_grad()
def held(model: EncoderDecoder, length: int = 12) -> np.ndarray:
    """What a linear reader finds in the last state of the encoder: at each place, the share of ids it names rightly.

    Its matrix is fitted by least squares to 5000 sequences, and tried on 1000 others.
    """
    ids = torch.from_numpy(reverse(6000, length, VOCAB, seed=77)[0])
    state = np.c_[model.encode(ids)[:, -1].numpy(), np.ones(6000)]
    one_hot = np.eye(VOCAB)[ids.numpy()]  # (N, length, V)
    best = np.linalg.lstsq(state[:5000], one_hot[:5000].reshape(5000, -1), rcond=None)[
        0
    ]
    named = (state[5000:] @ best).reshape(1000, length, VOCAB).argmax(axis=2)
    return (named == ids[5000:].numpy()).mean(axis=0)
