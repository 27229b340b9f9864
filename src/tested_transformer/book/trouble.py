"""Faults that are planted into a small model, and what becomes of it."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from tested_transformer.book.silent_bugs import EOS, LETTERS, PAD, words
from tested_transformer.book.small import training
from tested_transformer.data import tasks
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.recompute import Uncached
from tested_transformer.model.heads import join_heads
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.adam import create_adam
from tested_transformer.training.diagnosis import step_sizes
from tested_transformer.training.loss import smoothed_loss

LONGEST = 5
"""So many letters a source has at most."""

USUAL = training.triangle(150)
Step = Callable[[Tensor, Tensor], Tensor]
Ask = Callable[[Transformer, Tensor, Tensor], tuple[Tensor, Tensor]]


def batch_at(step: int, size: int = 48) -> training.Batch:
    """The batch of a step: three to five letters, and the same backwards."""
    return words(tasks.reverse, size)(step)


def without_end(step: int) -> training.Batch:
    """The batch of a step, with targets that lack their EOS."""
    source, target = batch_at(step)
    return source, target.masked_fill(target == EOS, PAD)


def not_shifted(
    model: Transformer, source: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Asks for the token that is read."""
    return model(source, target[:, :-1]), target[:, :-1]


def lines_slipped(
    model: Transformer, source: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Asks each source for the target of its neighbour."""
    return training.ask(model, source, target.roll(1, 0))


# Faults of a model; each is planted into one


def softmax_twice(model: nn.Module) -> None:
    """The model takes a softmax, and so does the loss."""
    model.register_forward_hook(lambda module, given, out: out.softmax(-1))


def memory_empty(model: Transformer) -> None:
    """The decoder gets zeros for what the encoder has read."""
    model.encoder.register_forward_hook(lambda module, given, out: 0 * out)


def encoder_cut_off(model: Transformer) -> None:
    """No gradient comes back to the encoder."""
    model.encoder.register_forward_hook(lambda module, given, out: out.detach())


def mask_inverted(model: Transformer) -> None:
    """The source's mask says True for hidden, and the model takes it for visible."""
    model.encoder.register_forward_pre_hook(lambda m, given: (given[0], ~given[1]))
    model.decoder.register_forward_pre_hook(lambda m, given: (*given[:3], ~given[3]))


def no_causal_mask(model: Transformer) -> None:
    """The decoder sees the whole target."""
    model.decoder.register_forward_pre_hook(
        lambda m, given: (*given[:2], None, given[3])
    )


def no_positions(model: Transformer) -> None:
    """Nothing is added to the vectors of the tokens."""
    model.positions.register_forward_hook(lambda module, given, out: given[0])


def dropout_always(model: Transformer) -> None:
    """PyTorch's function drops in every mode unless it is told not to."""
    model.positions.register_forward_hook(lambda m, given, out: F.dropout(out, 0.1))


def minus_infinity(model: Transformer) -> None:
    """The encoder's attention hides with -inf, also where nothing is left."""
    part = model.encoder.layers[0].self_attention

    def attend(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor, need_weights: bool = False
    ) -> tuple[Tensor, None]:
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return part.w_o(join_heads(weights @ v)), None

    part.attend = attend


def other_epsilon(model: Transformer) -> None:
    """All norms get another ε."""
    for module in model.modules():
        if hasattr(module, "eps"):
            module.eps = 1e-3


def sines_in_halves(model: Transformer) -> None:
    """All sines first and then all cosines, in place of pairs."""
    table = model.positions.table
    model.positions.table = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


def transposed(model: Transformer) -> None:
    """One square matrix was loaded the other way round."""
    weight = model.decoder.layers[0].cross_attention.w_q.weight
    weight.data = weight.data.T.contiguous()


# What becomes of it


def learn(
    plant: Callable[[Transformer], None] = lambda model: None,
    rate_at: Callable[[int], float] = USUAL,
    ask: Ask = training.ask,
    batch_at: Callable[[int], training.Batch] = batch_at,
    n_steps: int = 150,
    after: Callable[[Transformer, int], object] | None = None,
) -> tuple[Transformer, list[float]]:
    """A model from the usual start with a fault, trained, and its losses."""
    model = planted(plant)
    loss_at = training.forced(model, batch_at, ask=ask)
    look = (lambda step: after(model, step)) if after else None
    return model, training.train(model, loss_at, rate_at, n_steps, look)


def watched(
    batch_at: Callable[[int], training.Batch], new: training.Batch
) -> tuple[list[float], dict[int, float]]:
    """The losses of a training, and in every tenth step that of pairs kept apart.

    Its rate is lower than usual: at 0.015, forty-eight pairs learned by heart amplify
    the last bit of a sum.
    """
    seen = {}

    @torch.no_grad()
    def look(model: Transformer, step: int) -> None:
        if step % 10 == 0:
            seen[step] = training.forced(model, lambda _: new)(step).item()

    gentle = training.triangle(150, peak=0.01)
    return learn(rate_at=gentle, batch_at=batch_at, after=look)[1], seen


def written(model: Transformer, source: Tensor) -> Tensor:
    """What greedy decoding writes, as wide as a target without its BOS."""
    with (
        warnings.catch_warnings()
    ):  # a planted fault gives up the cache, and that's meant
        warnings.simplefilter("ignore", Uncached)
        rows = greedy(model, source, max_len=LONGEST + 1)
    return F.pad(rows, (0, LONGEST + 1 - rows.size(1)), value=PAD)


def n_exact(model: Transformer, source: Tensor, target: Tensor) -> int:
    """How many sentences are written without a mistake, end and all."""
    return int((written(model, source) == target[:, 1:]).all(dim=1).sum())


def n_right_letters(model: Transformer, source: Tensor, target: Tensor) -> int:
    """How many are written with the right letters, in whatever order."""
    rows = written(model, source).sort(dim=1)[0]
    return int((rows == target[:, 1:].sort(dim=1)[0]).all(dim=1).sum())


def n_known(test: Tensor, trained: Tensor) -> int:
    """How many different sources of one set another one has, too."""
    return len(set(map(tuple, test.tolist())) & set(map(tuple, trained.tolist())))


# Programs that write: source and what is written, to logits for the next token


def programs(model: Transformer) -> dict[str, Step]:
    """Five programs for one trained model; all but the first are wrong."""
    noisy = Transformer(model.config.replace(dropout=0.3)).to(model.embedding.weight)
    noisy.load_state_dict(model.state_dict())
    noisy.train()

    def plain(source: Tensor, written: Tensor) -> Tensor:
        return model(source, written)[:, -1]

    def other_first_token(source: Tensor, written: Tensor) -> Tensor:
        first = torch.full_like(written[:, :1], EOS)
        return plain(source, torch.cat([first, written[:, 1:]], dim=1))

    def always_position_0(source: Tensor, written: Tensor) -> Tensor:
        x = model.embedding(written) + model.positions.table[0]
        masks = causal_mask(written.size(1)), padding_mask(source, PAD)
        x = model.decoder(x, model.encode(source), *masks)
        return model.embedding.logits(x[:, -1])

    def padding_read(source: Tensor, written: Tensor) -> Tensor:
        x = model.decode(written, model.encode(source), torch.ones_like(source))
        return model.embedding.logits(x[:, -1])

    def dropout_on(source: Tensor, written: Tensor) -> Tensor:
        return noisy(source, written)[:, -1]

    found = plain, other_first_token, always_position_0, padding_read, dropout_on
    return {step.__name__: step for step in found}


@torch.no_grad()
def share_exact(step: Step, source: Tensor, target: Tensor) -> float:
    """The share of sentences that a program writes without a mistake."""
    rows = target[:, :1]
    for _ in range(target.size(1) - 1):
        token = step(source, rows).argmax(-1, keepdim=True)
        rows = torch.cat([rows, token], dim=1)
    return ((rows == target) | (target == PAD)).all(dim=1).double().mean().item()


def planted(plant: Callable[[Transformer], None]) -> Transformer:
    """A fresh model with a fault."""
    model = training.create(LETTERS)
    plant(model)
    return model


def first_steps(
    batch: training.Batch, rate: float = 0.01
) -> list[tuple[str, float, int]]:
    """What a first step does, right and in three wrong ways.

    For each the longest way of a number, counted in rates, and how many arrays stay.
    """
    right, copied, frozen, multiplied = (training.create(LETTERS) for _ in range(4))
    copies = [nn.Parameter(w.detach().clone()) for w in copied.parameters()]
    frozen.encoder.requires_grad_(False)
    found = []
    for name, model, parameters, lr in (
        ("right", right, right.parameters(), 1.0),
        ("optimiser of copies", copied, copies, 1.0),
        ("encoder frozen", frozen, frozen.parameters(), 1.0),
        ("rates multiplied", multiplied, multiplied.parameters(), 0.001),
    ):
        adam = create_adam(parameters, lr=lr)
        LambdaLR(adam, lambda done: rate)  # multiplies lr
        loss = smoothed_loss(*training.ask(model, *batch), PAD, 0.0)
        sizes = [size / rate for size in step_sizes(model, adam, loss).values()]
        found.append((name, max(sizes), sizes.count(0)))
    return found


def in_thirty_steps(n_parts: int, clear: bool = True) -> float:
    """The loss of step 30, if the mean gradients of so many parts of a batch add up.

    Without clear, those of the steps before stay in the sum, too.
    """
    model = training.create(LETTERS)
    adam, loss = create_adam(model.parameters()), 0.0
    for step in range(1, 31):
        adam.param_groups[0]["lr"], loss = USUAL(step), 0.0
        if clear:
            adam.zero_grad()
        for pairs in zip(*(ids.chunk(n_parts) for ids in batch_at(step)), strict=True):
            one = training.forced(model, lambda _, pairs=pairs: pairs)(step)
            one.backward()
            loss += one.item() / n_parts
        adam.step()
    return loss


def in_halves(model: Transformer, batch: training.Batch) -> dict[str, float]:
    """Gradients of a batch in two parts, the shorter sentences and the longer ones.

    For each way to put them together: how far it is from the gradient of the whole
    batch, as a share of its length.
    """

    def loss(pairs: training.Batch, reduction: str = "mean") -> Tensor:
        return smoothed_loss(*training.ask(model, *pairs), PAD, 0.0, reduction)

    def gradient(*losses: Tensor, clear: bool = True) -> Tensor:
        if clear:
            model.zero_grad()
        for one in losses:
            one.backward()
        return torch.cat([w.grad.flatten() for w in model.parameters()])

    order = (batch[0] != PAD).sum(dim=1).argsort(stable=True)
    halves = [(batch[0][part], batch[1][part]) for part in order.chunk(2)]
    n_tokens = (batch[1][:, 1:] != PAD).sum()
    whole = gradient(loss(batch))
    twice = gradient(loss(batch), clear=False)
    ways = {
        "sums, divided by all tokens": gradient(
            *(loss(h, "sum") / n_tokens for h in halves)
        ),
        "mean of two means": gradient(*(loss(h) / 2 for h in halves)),
        "means added up": gradient(*map(loss, halves)),
        "the whole batch again, not cleared": twice,
    }
    return {
        name: ((g - whole).norm() / whole.norm()).item() for name, g in ways.items()
    }
