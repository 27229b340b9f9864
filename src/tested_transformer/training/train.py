"""Training: one readable loop, the same for one process and for several."""

import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tested_transformer.data.batches import Pair, batches
from tested_transformer.model.transformer import Transformer
from tested_transformer.params import part
from tested_transformer.training import checkpoint
from tested_transformer.training.adam import create_adam
from tested_transformer.training.average import ExponentialAverage, mean
from tested_transformer.training.folder import STATE, epoch_end
from tested_transformer.training.loss import smoothed_loss
from tested_transformer.training.options import Options
from tested_transformer.training.parallel import Ranks
from tested_transformer.training.schedule import rate

ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What PyTorch's Adam keeps of each parameter."""


class NextToken(nn.Module):
    """What training makes small: the loss of every next token, summed.

    Target sentences run from bos_id to eos_id. The model reads all but the last token
    and is asked for all but the first, but not for padding.
    """

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """The summed loss and the number of tokens that the model would have chosen."""
        pad, wanted = self.model.config.pad_id, target[:, 1:]
        logits = self.model(source, target[:, :-1])
        smoothing = self.smoothing if self.training else 0.0
        loss = smoothed_loss(logits, wanted, pad, smoothing, "sum")
        return loss, ((logits.argmax(-1) == wanted) & (wanted != pad)).sum()


@dataclass
class Progress:
    """How far a run has come. All of it is saved, so a run goes on where it was."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    seconds: float = 0.0
    tokens: int = 0  # target tokens, over all steps
    best: float = float("inf")
    waited: int = 0  # validations since the best
    kept: list[str] = field(default_factory=list)


class Trainer:
    """Trains a model on pairs of ids, validates after every epoch, and can go on.

    In folder it keeps the best model, and in last.safetensors all that it needs to go
    on, bit for bit. report gets a dictionary of numbers after each step and validation.
    """

    def __init__(
        self,
        model: Transformer,
        options: Options,
        train: Sequence[Pair],
        valid: Sequence[Pair],
        folder: Path,
        ranks: Ranks = Ranks(),  # noqa: B008
        report: Callable[[dict[str, Any]], None] = lambda numbers: None,
    ) -> None:
        if options.precision != "float32" and ranks.device.type != "cuda":
            rule = f"precision ({options.precision}) other than float32 needs a GPU"
            raise ValueError(f"{rule}, not {ranks.device.type}")
        self.model, self.options, self.folder = model.to(ranks.device), options, folder
        self.train, self.valid, self.ranks, self.report = train, valid, ranks, report
        self.progress, self.asked_to_stop = Progress(), False
        self.adam = create_adam(self.model.parameters())
        self.follower = (
            ExponentialAverage(self.model, options.average) if options.average else None
        )
        self.objective: nn.Module = NextToken(self.model, options.smoothing)
        if ranks.count > 1:
            self.objective = DistributedDataParallel(self.objective)

    def run(self) -> Progress:
        """Train until a limit of the options is reached, or somebody asks to stop."""
        started = time.monotonic() - self.progress.seconds
        with stopping(self):
            while not self._finished(started):
                groups = self._groups()
                for group in groups:
                    self._step(group)
                    self.progress.seconds = time.monotonic() - started
                    if self.progress.step % self.options.save_every == 0:
                        self.save()
                    if self._finished(started):
                        break
                else:
                    self._end_of_epoch()
        if self.progress.batch and not self.asked_to_stop:
            self._validate()
        self.save()
        return self.progress

    def _groups(self) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """What this process has to do in each step that the epoch still has."""
        o, p = self.options, self.progress
        rest = self._batches(self.train, o.seed, p.epoch, p.batch)
        while group := list(islice(rest, o.accumulate)):
            yield group

    def _step(self, group: list[tuple[Tensor, Tensor]]) -> None:
        """One update from a group of batches, of which every process has its share.

        Each token of the whole group counts the same, whoever calculates it.
        """
        o, p, r = self.options, self.progress, self.ranks
        p.step += 1
        lr = o.factor(p.step) * rate(p.step, self.model.config.d_model, o.warmup)
        for settings in self.adam.param_groups:
            settings["lr"] = lr
        (wanted,) = r.sum(sum(self._wanted(target) for _, target in group))
        self.objective.train()
        loss = right = 0.0
        for n, batch in enumerate(group):
            # Seeded anew, so that dropout needs nothing of the past
            torch.manual_seed(seed_of(o.seed, p.step, n, r.rank))
            with self._quiet(n == len(group) - 1), self._precision():
                summed, hits = self.objective(*self._move(batch))
                (summed * (r.count / wanted)).backward()  # they average, we add
            loss, right = loss + summed.item(), right + hits.item()
        loss, right = r.sum(loss, right)
        if not loss < float("inf"):
            raise FloatingPointError(f"the loss is {loss} at step {p.step}")
        self.adam.step()
        self.adam.zero_grad()
        if self.follower:
            self.follower.update(self.model, p.step)
        p.batch += len(group)
        p.tokens += int(wanted)
        numbers = {"step": p.step, "epoch": p.epoch, "loss": loss / wanted}
        numbers |= {"accuracy": right / wanted, "tokens": int(wanted), "rate": lr}
        self.report(numbers | {"seconds": p.seconds})

    def _end_of_epoch(self) -> None:
        p = self.progress
        p.epoch, p.batch = p.epoch + 1, 0
        p.waited = 0 if self._validate() else p.waited + 1
        if self.options.keep:
            self._keep()
        self.save()

    def _validate(self) -> bool:
        """Whether the model is better than ever; if so, it is written."""
        p = self.progress
        weights = self.follower.weights if self.follower else self.model.state_dict()
        loss, accuracy = self.validate(weights)
        better = loss < p.best
        if better:
            p.best = loss
            if self.ranks.rank == 0:
                checkpoint.save(self.folder, self.model, weights=weights)
        numbers = {"step": p.step, "epoch": p.epoch, "valid_loss": loss}
        numbers |= {"valid_accuracy": accuracy, "best": better}
        self.report(numbers | {"seconds": p.seconds})
        return better

    @torch.no_grad()
    def validate(self, weights: Mapping[str, Tensor]) -> tuple[float, float]:
        """Loss and accuracy per token, without smoothing, with the weights given."""
        module = NextToken(self.model, 0.0)
        named = {f"model.{name}": tensor for name, tensor in weights.items()}
        self.model.eval()
        loss = right = wanted = 0.0
        for batch in self._batches(self.valid, 0, 0, 0):
            with self._precision():
                inputs = self._move(batch)
                summed, hits = torch.func.functional_call(module, named, inputs)
            loss, right = loss + summed.item(), right + hits.item()
            wanted += self._wanted(batch[1])
        loss, right, wanted = self.ranks.sum(loss, right, wanted)
        return loss / wanted, right / wanted

    def average_kept(self) -> bool:
        """Try the plain mean of the kept epoch ends; it stays if it validates better."""
        paths = [self.folder / name for name in self.progress.kept]
        if not paths:
            return False
        weights = mean(checkpoint.read_tensors(path)[0] for path in paths)
        loss, _ = self.validate(
            {n: w.to(self.ranks.device) for n, w in weights.items()}
        )
        better = loss < self.progress.best
        if better and self.ranks.rank == 0:
            checkpoint.save(self.folder, self.model, weights=weights)
        self.report(
            {"step": self.progress.step, "mean_of": len(paths), "valid_loss": loss}
        )
        return better

    def save(self) -> None:
        """Write last.safetensors: everything that going on needs."""
        if self.ranks.rank:
            return
        tensors = {f"model.{n}": t for n, t in self.model.state_dict().items()}
        if self.follower:
            tensors |= {f"average.{n}": t for n, t in self.follower.weights.items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.adam.state.get(parameter, {}).items():
                tensors[f"adam.{key}.{name}"] = value
        state = {"progress": asdict(self.progress), "options": asdict(self.options)}
        state |= {"pairs": fingerprint(self.train)}
        checkpoint.write_tensors(self.folder / STATE, tensors, state)

    def resume(self) -> None:
        """Go on from last.safetensors, as if the run had never stopped."""
        path = self.folder / STATE
        tensors, state = checkpoint.read_tensors(path)
        self._check_state(path, state, tensors)
        self.progress = Progress(**state["progress"])
        checkpoint.load_weights(self.model, part(tensors, "model"), path)
        if self.follower:
            for name, tensor in part(tensors, "average").items():
                self.follower.weights[name].copy_(tensor)
        for name, parameter in self.model.named_parameters():
            if f"adam.step.{name}" in tensors:  # no entry for what has not been trained
                entries = {key: tensors[f"adam.{key}.{name}"] for key in ADAM}
                on_device = {k: t.to(parameter.device) for k, t in entries.items()}
                self.adam.state[parameter] = on_device

    def _check_state(
        self, path: Path, state: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> None:
        """A run only goes on with what it began with, and with all of it."""
        needed = {f"model.{name}" for name in self.model.state_dict()}
        if self.follower:
            needed |= {f"average.{name}" for name in self.follower.weights}
        for name, _ in self.model.named_parameters():
            entries = {f"adam.{key}.{name}" for key in ADAM}
            needed |= entries if entries & tensors.keys() else set()
        if state["progress"]["step"] and not any(
            n.startswith("adam.") for n in tensors
        ):
            raise ValueError(f"{path} lacks everything that Adam remembers")
        if lacking := sorted(needed - tensors.keys()):
            raise ValueError(f"{path} lacks {lacking[0]} and {len(lacking) - 1} more")
        if state.get("pairs") != (now := fingerprint(self.train)):
            found = f"{state.get('pairs')}, now {now}"
            raise ValueError(f"{path} was trained with other pairs: {found}")
        began, ours = state["options"], asdict(self.options)
        for name in sorted(ours.keys() - self.options.limits()):
            if began.get(name) != ours[name]:
                found = f"{began.get(name)!r}, now {ours[name]!r}"
                raise ValueError(f"{path} was trained with another {name}: {found}")

    def _keep(self) -> None:
        """Remember the weights of this epoch's end, and forget the oldest."""
        p = self.progress
        p.kept.append(epoch_end(p.epoch))
        gone, p.kept = p.kept[: -self.options.keep], p.kept[-self.options.keep :]
        if self.ranks.rank == 0:
            weights = self.model.state_dict()
            checkpoint.write_tensors(self.folder / p.kept[-1], weights, {})
            for name in gone:
                (self.folder / name).unlink(missing_ok=True)

    def _finished(self, started: float) -> bool:
        """Whether a limit is reached, for one process and so for all."""
        o, p = self.options, self.progress
        late = o.minutes is not None and time.monotonic() - started >= 60 * o.minutes
        (asked,) = self.ranks.sum(self.asked_to_stop or late)
        return (
            asked > 0
            or (o.steps is not None and p.step >= o.steps)
            or (o.epochs is not None and p.epoch >= o.epochs)
            or (o.patience is not None and p.waited >= o.patience)
        )

    def _batches(
        self, pairs: Sequence[Pair], seed: int, epoch: int, start: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """The share of this process in the batches of an epoch, from start on."""
        o, r, pad_id = self.options, self.ranks, self.model.config.pad_id
        cut = (o.batch_tokens, seed, epoch, start, r.rank, r.count, pad_id)
        return batches(pairs, *cut)

    def _move(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        source, target = batch
        return source.to(self.ranks.device), target.to(self.ranks.device)

    def _wanted(self, target: Tensor) -> int:
        """How many tokens the model is asked for: all but the first."""
        return int((target[:, 1:] != self.model.config.pad_id).sum())

    def _precision(self) -> Any:
        half = self.options.precision == "bfloat16"
        return torch.autocast("cuda", torch.bfloat16) if half else nullcontext()

    def _quiet(self, last: bool) -> Any:
        """Gradients travel between the processes once a step, with its last batch."""
        parallel = isinstance(self.objective, DistributedDataParallel)
        return self.objective.no_sync() if parallel and not last else nullcontext()


@contextmanager
def stopping(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C lets the step end, then saves; a second one stops at once."""

    def ask(number: int, frame: object) -> None:
        if trainer.asked_to_stop:
            raise KeyboardInterrupt
        trainer.asked_to_stop = True

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def seed_of(*numbers: int) -> int:
    """One seed from several numbers; other numbers give another seed."""
    digest = hashlib.sha256(repr(numbers).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def fingerprint(pairs: Sequence[Pair]) -> str:
    """A short name for these pairs in this order."""
    digest = hashlib.sha256()
    for source, target in pairs:
        digest.update(f"{list(source)} {list(target)}\n".encode())
    return f"{len(pairs)} pairs, {digest.hexdigest()[:16]}"
