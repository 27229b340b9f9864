"""Bugs that training forgives, planted in small models that copy words, and the laws that catch them."""

from collections import Counter
from collections.abc import Callable
from math import factorial, prod

import numpy as np
import torch
from torch import Tensor, nn

from tested_transformer.book.small import training
from tested_transformer.byhand.transformer import shapes, transformer
from tested_transformer.config import Config
from tested_transformer.data import tasks
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.loss import smoothed_loss

SIZES = {"d_model": 32, "d_ff": 64, "n_heads": 4, "n_layers": 1, "dropout": 0.0}
LETTERS = Config(vocab_size=12, max_len=16, **SIZES)
"""A model that reads words of the eight letters from a to h."""

PAD, BOS, EOS = LETTERS.pad_id, LETTERS.bos_id, LETTERS.eos_id


def words(
    task: Callable[..., tuple[np.ndarray, np.ndarray]], n: int = 48, first: int = 1000
) -> Callable[[int], training.Batch]:
    """For each step, different words of three to five letters, and what a task makes of them."""

    def batch_at(step: int) -> training.Batch:
        source, target = task(n, 5, LETTERS.vocab_size, first + step, shortest=3)
        return torch.from_numpy(source), torch.from_numpy(target)

    return batch_at


def spelled(ids: Tensor) -> str:
    """A word as letters, with a full stop for its end."""
    return "".join("   .abcdefgh"[i + (i == EOS)] for i in ids.tolist()).strip()


@torch.no_grad()
def write(model: Transformer, source: Tensor, n_tokens: int) -> Tensor:
    """Name the likeliest token, read it back in, and so on."""
    memory, written = model.encode(source), torch.full((len(source), 1), BOS)
    for _ in range(n_tokens):
        states = model.decode(written, memory, source)
        following = model.embedding.logits(states[:, -1:]).argmax(-1)
        written = torch.cat([written, following], dim=1)
    return written


def exact(model: Transformer, source: Tensor, target: Tensor) -> int:
    """How many targets are written without a mistake, end and all."""
    written = write(model, source, target.size(1) - 1)
    return int(((written == target) | (target == PAD)).all(dim=1).sum())


def arrangements(letters: Tensor) -> int:
    """In how many orders the letters of a word can come."""
    row = [i for i in letters.tolist() if i != PAD]
    return factorial(len(row)) // prod(map(factorial, Counter(row).values()))


# Bugs


def right(model: Transformer) -> None:
    """No bug: the model stays as it is."""


def swapped(model: Transformer) -> None:
    """Sines and cosines in each other's columns."""
    pairs = model.positions.table.unflatten(1, (-1, 2))
    model.positions.table = pairs.flip(-1).flatten(1)


def unbiased(model: Transformer) -> None:
    """Norms that divide by n - 1 in the variance, as PyTorch's `std` does."""
    n = model.config.d_model

    def shrink(norm: nn.Module, given: object, out: Tensor) -> Tensor:
        return (out - norm.bias) * ((n - 1) / n) ** 0.5 + norm.bias

    for name, module in model.named_modules():
        if name.endswith("norm") and hasattr(module, "bias"):
            module.register_forward_hook(shrink)


def shared(model: Transformer) -> None:
    """One feed-forward network in two places."""
    model.decoder.layers[0].feed_forward = model.encoder.layers[0].feed_forward


def bypassed(model: Transformer) -> None:
    """The decoder gets what went into the encoder, instead of what came out."""
    model.encoder.register_forward_hook(lambda encoder, given, out: given[0])


def peeking(model: Transformer) -> None:
    """No causal mask in the decoder: every position but the last sees its answer."""
    for layer in model.decoder.layers:
        layer.register_forward_pre_hook(lambda _, given: (*given[:2], None, given[3]))


def unshifted(
    model: Transformer, source: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Ask each position for the token that it was given."""
    return model(source, target[:, :-1]), target[:, :-1]


# Laws

READ, TARGET = words(tasks.copy, 8, first=0)(1)
GIVEN = TARGET[:, :-1]
QUESTION = READ, GIVEN
"""Eight words, and their copies as far as they are written."""


def agrees(model: Transformer) -> bool:
    """It computes what the NumPy model does with the same weights."""
    params = {name: w.numpy() for name, w in model.state_dict().items()}
    expected = transformer(READ.numpy(), GIVEN.numpy(), params, model.config)[0]
    return np.allclose(model(READ, GIVEN).detach(), expected)


def counted(model: Transformer) -> bool:
    """It has as many parameters as the architecture says."""
    expected = sum(prod(shape) for shape in shapes(model.config).values())
    return sum(w.numel() for w in model.parameters()) == expected


def all_learn(model: Transformer) -> bool:
    """A gradient reaches every array, if not each of its numbers."""
    model.zero_grad()
    smoothed_loss(*training.ask(model, READ, TARGET), PAD).backward()
    return all(w.grad is not None and bool(w.grad.any()) for w in model.parameters())


def blind_to_padding(model: Transformer) -> bool:
    """Padding after a source changes nothing."""
    longer = nn.functional.pad(READ, (0, 3))
    return torch.allclose(model(longer, GIVEN), model(READ, GIVEN))


def blind_to_future(model: Transformer) -> bool:
    """A different last token changes no answer before it."""
    changed = GIVEN.clone()
    changed[:, -1] = 4
    return torch.allclose(model(READ, changed)[:, :-1], model(READ, GIVEN)[:, :-1])


LAWS = (agrees, counted, all_learn, blind_to_padding, blind_to_future)


def broken(model: Transformer) -> str:
    """The laws that a model breaks, by name."""
    names = [law.__name__ for law in LAWS if not law(model)]
    return ", ".join(names).replace("_", " ") or "no law"
