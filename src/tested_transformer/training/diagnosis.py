"""Why does a model not learn? Tests that tell one cause from another."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn, optim
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
    each of target; it may forbid tokens by -inf. Give different sentences, at least
    two, filled up with pad_id; targets run from bos to eos, and the model can read a
    token more. Weights, gradients and modes stay; meanwhile there is no dropout.
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
    largest = logits.nan_to_num(0.0, 0.0, 0.0).abs().amax((0, 1))  # of each token
    usual = largest.median()  # that of a forbidden one, such as -1e9, is not
    rounding = math.sqrt(torch.finfo(logits.dtype).eps) * largest.clamp_min(usual)

    def moved(source: Tensor, read: Tensor, where: Bool[Tensor, "B T"] = real) -> bool:
        n, length = where.shape
        change = _apart(model(source, read)[:, :length], logits[:n])
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


def _apart(x: Float[Tensor, "*B"], y: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
    """How far each entry has moved: an infinite one that stays has not."""
    return (x - y).abs().masked_fill(x == y, 0.0)


def step_sizes(
    model: nn.Module, optimizer: optim.Optimizer, loss: Tensor
) -> dict[str, float]:
    """Take one step: how far has a number of each array of parameters moved at most?"""
    before = {name: w.detach().clone() for name, w in model.named_parameters()}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    now = model.named_parameters()
    return {name: (w - before[name]).abs().max().item() for name, w in now}


@torch.no_grad()
def hears(
    model: nn.Module, source: Int[Tensor, "B S"], read: Int[Tensor, "B T"]
) -> float:
    """How far logits move, on average, if each sentence gets another's source.

    Counted in standard deviations of the logits; 0 where the source is not used.
    Infinite logits, of tokens that are forbidden, do not count.
    """
    logits, moved = model(source, read), model(source.roll(1, 0), read)
    finite = logits.isfinite()
    return (_apart(moved, logits)[finite].mean() / logits[finite].std()).item()


@torch.no_grad()
def replay(
    step: Callable[[Tensor, Tensor], Tensor],
    model: nn.Module,
    source: Int[Tensor, "B S"],
    target: Int[Tensor, "B T"],
    pad_id: int = 0,
) -> float:
    """The largest difference of a logit between a program that writes and training.

    step(source, written) returns the program's logits for the next token (B, V). It is
    led along the right targets, whatever it would have written.
    """
    taught, real = model(source, target[:, :-1]), target != pad_id
    gaps = [
        _apart(step(source, target[:, :t]), taught[:, t - 1])[real[:, t]].max()
        for t in range(1, target.size(1))
    ]
    return torch.stack(gaps).max().item()


def outputs(model: nn.Module, *given: Tensor) -> dict[str, Tensor]:
    """What each module returned, by its name, in the order in which they finished."""
    seen, hooks = {}, []
    for name, module in model.named_modules():

        def keep(module: nn.Module, given: Any, out: Any, name: str = name) -> None:
            seen[name] = out[0] if isinstance(out, tuple) else out

        hooks.append(module.register_forward_hook(keep))
    try:
        model(*given)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def first_not_finite(model: nn.Module, *given: Tensor) -> str:
    """The first module that returns an infinite number or NaN, or "none"."""
    found = outputs(model, *given).items()
    return next((name for name, out in found if not out.isfinite().all()), "none")


def first_different(model: nn.Module, other: nn.Module, *given: Tensor) -> str:
    """The first module whose output another model does not share, or "none"."""
    ours, theirs = outputs(model, *given), outputs(other, *given)
    return next((n for n in ours if not torch.allclose(ours[n], theirs[n])), "none")
