"""What holds for every encoder-decoder, trained or not, tried on one batch."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.training.loss import smoothed_loss


class Finding(NamedTuple):
    """A property, whether it holds, and what was seen."""

    name: str
    holds: bool
    seen: str


def diagnose(
    model: nn.Module,
    source: Int[Tensor, "B S"],
    target: Int[Tensor, "B T"],
    pad_id: int = 0,
) -> list[Finding]:
    """Try on one batch what holds for every encoder-decoder, trained or not.

    model(source, target) returns logits, in float32 or float64, for the token after
    each of target. Give different sentences, at least two, filled up with pad_id;
    targets run from bos to eos, and the model can read a token more. Weights, gradients
    and modes stay as they are; meanwhile there is no dropout.
    """
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        read, wanted = target[:, :-1], target[:, 1:]
        logits = model(source, read)
        loss = smoothed_loss(logits, wanted, pad_id, 0.0)
        found = [_ends(target, pad_id), *_start(logits.detach(), loss)]
        return [*found, _gradients(model, loss), *_moves(model, source, read, pad_id)]
    finally:
        for module, mode in modes.items():
            module.training = mode


def _ends(target: Int[Tensor, "B T"], pad_id: int) -> Finding:
    rows = [row[row != pad_id].tolist() for row in target]
    first, last = ({row[i] for row in rows} for i in (0, -1))
    seen = f"targets begin with {len(first)} id, end with {len(last)}"
    return Finding("bos and eos", len(first) == len(last) == 1 and first != last, seen)


def _start(logits: Float[Tensor, "B T V"], loss: Tensor) -> Iterator[Finding]:
    knowing_nothing, sums = math.log(logits.size(-1)), logits.sum(-1)
    seen = f"{loss.item():.2f} nats; ln |V| is {knowing_nothing:.2f}"
    yield Finding("first loss", math.isfinite(loss.item()), seen)
    ones = bool(logits.min() >= 0) and torch.allclose(sums, torch.ones_like(sums))
    seen = "rows are probabilities" if ones else "rows are no probabilities"
    yield Finding("logits", not ones, seen)


def _gradients(model: nn.Module, loss: Tensor) -> Finding:
    named = dict(model.named_parameters())
    learns = {n: w for n, w in named.items() if w.requires_grad}
    found = dict.fromkeys(named)
    if loss.requires_grad:
        slopes = torch.autograd.grad(loss, list(learns.values()), allow_unused=True)
        found |= dict(zip(learns, slopes, strict=True))
    bad = [n for n, g in found.items() if g is None or not 0 < g.abs().max() < math.inf]
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    seen = f"none, 0 or not finite: {bad[0]}{more}" if bad else "none is missing"
    return Finding("gradients", not bad, seen)


@torch.no_grad()
def _moves(
    model: nn.Module, source: Tensor, read: Tensor, pad_id: int
) -> Iterator[Finding]:
    """Change something, and see which logits move by more than rounding does."""
    logits, real = model(source, read), read != pad_id
    rounding = math.sqrt(torch.finfo(logits.dtype).eps) * logits.abs().max()

    def moved(source: Tensor, read: Tensor, where: Bool[Tensor, "B T"] = real) -> bool:
        n, length = where.shape
        change = (model(source, read)[:, :length] - logits[:n]).abs().amax(-1)
        return not bool((change[where] <= rounding).all())  # NaN moves, too

    def later(j: int) -> bool:
        changed, places = read.clone(), torch.arange(read.size(1), device=read.device)
        changed[:, j] = (read[:, j] + 1) % logits.size(-1)
        return moved(source, changed, real & (places < j))

    longer = [F.pad(ids, (0, 1), value=pad_id) for ids in (source, read)]
    swapped = source[:, [1, 0, *range(2, source.size(1))]]
    for name, change, moves, should in (
        ("repeated", "the same input again", moved(source, read), False),
        ("future", "a later token", any(map(later, range(1, read.size(1)))), False),
        ("padding", "padding behind", moved(*longer), False),
        (
            "batch",
            "the rest of the batch",
            moved(source[:1], read[:1], real[:1]),
            False,
        ),
        ("source", "another source", moved(source.roll(1, 0), read), True),
        ("order", "exchanging two tokens", moved(swapped, read), True),
    ):
        seen = f"{change} moves {'a' if moves else 'no'} logit"
        yield Finding(name, moves == should, seen)
