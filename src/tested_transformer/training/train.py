"""The training loop: one that can be read on a screen, for one process and for several."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from math import inf
from typing import Any

import torch
from filelock import FileLock
from torch import Tensor
from torch.amp import is_autocast_available
from torch.nn.utils import clip_grad_norm_

from tested_transformer.checks import instance
from tested_transformer.files import locked, make_folder, write
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokenizer import KINDS, Tokenizer
from tested_transformer.training import checkpoint
from tested_transformer.training.adam import create_adam, create_adamw
from tested_transformer.training.average import ExponentialMovingAverage, mean
from tested_transformer.training.distributed import World, no_sync
from tested_transformer.training.events import EpochMean, Event, Step, Validation
from tested_transformer.training.filenames import (
    LOCK,
    MODEL,
    STATE,
    TOKENS,
    check_free,
    epoch_end,
)
from tested_transformer.training.memory import gathered, using
from tested_transformer.training.objective import Batch, NextToken, Objective
from tested_transformer.training.options import Options
from tested_transformer.training.resume import Progress, State, fingerprint
from tested_transformer.training.signals import on_interrupt


class Trainer:
    """Trains a model on examples, validates after every epoch, and can go on.

    objective says what an example is, and its loss: `NextToken` of pairs of ids for a
    Transformer, which may be given itself; `LanguageModel`, `MaskedWords` or `Labels`
    for others.

    In folder it keeps the best model, with tokens if they are given, and all that it
    needs to go on, bit for bit (last.safetensors). A tokeniser of a class of your own
    has no file there: hand it to `Translator` again. report gets a `Step`, a `Validation`
    or an `EpochMean` at a time. What cannot work is refused here, before any work.
    """

    def __init__(
        self,
        objective: Objective | Transformer,
        options: Options,
        train: Sequence[Any],
        valid: Sequence[Any],
        folder: str | os.PathLike[str],
        world: World = World(),  # noqa: B008
        report: Callable[[Event], None] = lambda event: None,
        tokens: Tokenizer | None = None,
    ) -> None:
        options.check_limits()
        if not isinstance(objective, Objective):
            instance(Transformer, model=objective)
            objective = NextToken(objective, options.smoothing)
        for name, examples in (("train", train), ("valid", valid)):
            objective.check(examples, name, options.batch_tokens, tokens is not None)
        kind = world.device.type
        if options.precision != "float32" and not is_autocast_available(kind):
            rule = f"cannot be had on the device {kind}"
            raise ValueError(f"precision ({options.precision!r}) {rule}")
        if tokens is not None:
            checkpoint.check_tokens(tokens, objective.config, "the tokeniser")
        self.tokens: Tokenizer | None = None
        self.token_file: bytes | None = None
        if tokens is not None and type(tokens) in KINDS.values():
            self.tokens, self.token_file = tokens, checkpoint.token_file(tokens)
        self.objective, self.options = objective, options
        self.model = objective.model.to(world.device)
        self.train, self.valid, self.world, self.report = train, valid, world, report
        for examples in (train, valid):
            next(self.batches(examples))  # too few for the processes are refused
        self.folder = make_folder(folder)
        self.lock = FileLock(self.folder / LOCK)
        self.wrapped = world.wrap(objective)
        self.adam = (
            create_adamw(self.model, options.weight_decay)
            if options.weight_decay
            else create_adam(self.model.parameters())
        )
        self.ema: ExponentialMovingAverage | None = None
        if options.ema:
            self.ema = ExponentialMovingAverage(self.model, options.ema)
        self.progress, self.started = Progress(), time.monotonic()
        self.asked_to_stop = False
        self.fingerprint = fingerprint(train, valid, objective.line)
        self.began = self.running = False

    def run(self) -> Progress:
        """Train until a limit of the options is reached, or somebody asks to stop.

        Afterwards the model has the best weights, as those in the folder. A further run
        goes on from the last, which the state in the folder has.
        """
        o, p, self.asked_to_stop = self.options, self.progress, False
        with self.at_work():
            while not self.finished():
                for group in self.groups():  # the batches of one step
                    p.step += 1
                    rate = o.rate(p.step, self.objective.config.d_model)
                    for settings in self.adam.param_groups:
                        settings["lr"] = rate
                    loss, accuracy, tokens = self.gradients(group)
                    if o.clip:
                        clip_grad_norm_(self.model.parameters(), o.clip)
                    self.adam.step()
                    self.adam.zero_grad()
                    if self.ema:
                        self.ema.update(self.model, p.step)
                    p.batch, p.tokens = p.batch + len(group), p.tokens + tokens
                    p.seconds = time.monotonic() - self.started
                    learned = loss, accuracy, tokens
                    self.report(Step(p.step, p.epoch, *learned, rate, p.seconds))
                    if p.step % o.save_every == 0:
                        self.save()
                    if self.finished():
                        break
                else:
                    self.end_epoch()
            if (p.batch or p.best == inf) and p.step and not self.asked_to_stop:
                self.keep_best()
            self.save()
            self.try_mean()
            self.take_best()
        return p

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Nobody else writes meanwhile; the run begins, or goes on from its state.

        What is in memory does not count: the last run may have been interrupted within
        a step, or has left the best weights there.
        """
        with self.writing(), on_interrupt(self.stop):
            if self.began:
                self.resume()
            else:
                self.begin()
            self.started = time.monotonic() - self.progress.seconds
            self.running = True
            try:
                yield
            finally:
                self.running = False

    def writing(self) -> AbstractContextManager[None]:
        """While it lasts, no other run can write into the folder."""
        return nullcontext() if self.world.rank else locked(self.lock)

    def begin(self) -> None:
        """Save the start of a new run, so it can be resumed whatever happens."""
        if self.world.rank == 0:
            check_free(self.folder, self.token_file)
            if self.token_file is not None:
                write(self.folder / TOKENS, self.token_file)
        self.state().save(self.folder / STATE, self.world.rank == 0)
        self.began = True

    def take_best(self) -> None:
        """Give the model the best weights, if a validation has found some."""
        self.world.sum(0)  # wait until they are written
        if (self.folder / MODEL).exists():
            checkpoint.load_into(self.folder, self.model)

    def gradients(self, group: Sequence[Batch]) -> tuple[float, float, int]:
        """Gradients of a group of batches, of which every process has its share.

        Each token of the whole group counts the same, whichever process computes it. Returns
        loss and accuracy for each token, and the number of tokens.
        """
        step, world = self.progress.step, self.world
        loss = right = 0.0
        (tokens,) = world.sum(sum(map(self.objective.count, group)))
        self.wrapped.train()
        for n, batch in enumerate(group):
            # Seeded anew, so dropout needs nothing of the past
            torch.manual_seed(seed_of(self.options.seed, step, n, world.rank))
            last = n == len(group) - 1
            with no_sync(self.wrapped, not last), self.options.autocast(world.device):
                summed, hits = self.wrapped(*batch)
                # Processes take the mean of their gradients; we want the sum
                (summed * (world.world_size / tokens)).backward()
            loss, right = loss + summed.item(), right + hits.item()
        loss, right = world.sum(loss, right)
        if not loss < float("inf"):
            raise FloatingPointError(f"the loss is {loss} at step {step}")
        return loss / tokens, right / tokens, int(tokens)

    def end_epoch(self) -> None:
        """Validate, keep what is worth it, and save."""
        p = self.progress
        p.epoch, p.batch = p.epoch + 1, 0
        p.waited = 0 if self.keep_best() else p.waited + 1
        if self.options.keep:
            self.keep_epoch_end()
        self.save()

    def keep_best(self) -> bool:
        """Whether the model is better than ever; if so, it is written."""
        p = self.progress
        weights = self.ema.weights if self.ema else self.model.state_dict()
        loss, accuracy = self.validate(weights)
        best = loss < p.best
        if best:
            p.best = loss
            self.write_model(weights)
        self.report(Validation(p.step, p.epoch, loss, accuracy, best, p.seconds))
        return best

    def write_model(self, weights: Mapping[str, Tensor]) -> None:
        """Write the model with these weights; rank 0 holds all of them meanwhile."""
        whole = gathered(weights, keep=self.world.rank == 0)
        if self.world.rank == 0:
            checkpoint.save(self.folder, self.model, self.tokens, whole)

    @torch.no_grad()
    def validate(self, weights: Mapping[str, Tensor]) -> tuple[float, float]:
        """Loss and accuracy per token, without smoothing, with the weights given."""
        named = {f"model.{name}": tensor for name, tensor in weights.items()}
        self.objective.eval()
        loss = right = tokens = 0.0
        with using(self.objective, named) as call:
            for batch in self.batches(self.valid):
                with self.options.autocast(self.world.device):
                    summed, hits = call(*batch)
                loss, right = loss + summed.item(), right + hits.item()
                tokens += self.objective.count(batch)
        loss, right, tokens = self.world.sum(loss, right, tokens)
        return loss / tokens, right / tokens

    def keep_epoch_end(self) -> None:
        """Keep the weights of this epoch's end, and forget the oldest."""
        p, keep = self.progress, self.options.keep
        p.kept.append(p.epoch)
        gone, p.kept = p.kept[:-keep], p.kept[-keep:]
        weights = gathered(self.model.state_dict(), keep=self.world.rank == 0)
        if self.world.rank == 0:
            checkpoint.write_tensors(self.folder / epoch_end(p.epoch), weights, {})
            for epoch in gone:
                (self.folder / epoch_end(epoch)).unlink(missing_ok=True)

    def try_mean(self) -> bool:
        """Try the plain mean of the kept epoch ends; it stays if it validates better.

        Each process reads the ends, so it holds the mean, whole, on the CPU.
        """
        p, device = self.progress, self.world.device
        if not p.kept:
            return False
        ends = (checkpoint.read_tensors(self.folder / epoch_end(e))[0] for e in p.kept)
        weights = mean(ends)
        if not self.world.shard:  # then each takes its part, when it validates
            weights = {name: tensor.to(device) for name, tensor in weights.items()}
        loss, _ = self.validate(weights)
        self.report(EpochMean(p.step, len(p.kept), loss))
        better = loss < p.best
        if better:
            p.best = loss
            self.write_model(weights)
            self.save()
        return better

    def state(self) -> State:
        """All that goes into last.safetensors."""
        memory = self.objective, self.adam, self.ema, self.progress
        return State(*memory, self.options, self.fingerprint)

    def save(self) -> None:
        """Write last.safetensors: everything that going on needs.

        Only while it runs. Then it is there, and memory has the best weights.
        """
        if self.running:
            self.state().save(self.folder / STATE, self.world.rank == 0)

    def resume(self) -> None:
        """Go on from last.safetensors, as if the run had never stopped."""
        self.state().load(self.folder / STATE)
        self.adam.zero_grad()
        if not (self.folder / MODEL).exists():
            self.progress.best = inf  # whatever was the best, it is gone
        self.began = True

    def stop(self) -> bool:
        """Ask the run to end after the step that it is at; False if that was asked before."""
        first, self.asked_to_stop = not self.asked_to_stop, True
        return first

    def finished(self) -> bool:
        """Whether a limit is reached, for one process and so for all."""
        p, seconds = self.progress, time.monotonic() - self.started
        reached = self.options.reached(p.step, p.epoch, seconds / 60, p.waited)
        return self.world.sum(self.asked_to_stop or reached)[0] > 0

    def groups(self) -> Iterator[list[Batch]]:
        """What this process has to do in each step that the epoch still has."""
        o, p = self.options, self.progress
        rest = self.batches(self.train, o.seed, p.epoch, p.batch)
        while group := list(islice(rest, o.accumulate)):
            yield group

    def batches(
        self, examples: Sequence[Any], seed: int = 0, epoch: int = 0, start: int = 0
    ) -> Iterator[Batch]:
        """The share of this process in the batches of an epoch, from start on."""
        w, cut = self.world, (self.options.batch_tokens, seed, epoch, start)
        for batch in self.objective.batches(examples, *cut, w.rank, w.world_size):
            yield tuple(x.to(w.device) for x in batch)


def seed_of(*numbers: int) -> int:
    """One seed from several numbers; other numbers give another seed."""
    digest = hashlib.sha256(repr(numbers).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
