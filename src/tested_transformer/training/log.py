"""What a run tells about itself: a progress bar, a log, numbers."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tested_transformer.files import check_readable, make_folder, naming, write
from tested_transformer.shares import as_share
from tested_transformer.training.events import (
    EpochMean,
    Event,
    Step,
    Validation,
    from_dict,
    to_dict,
)
from tested_transformer.training.filenames import BOARD, LOG, METRICS


class RunLog:
    """Writes what a `Trainer` reports. Rank 0 has one.

    metrics.jsonl gets one line for every `every` steps and one for each validation,
    log.txt the same in words. Lines of steps that a killed run made and did not save
    are taken out when the first event shows where the run goes on. step and steps are
    for the bar: where the run is, and where it will end.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        step: int = 0,
        steps: int | None = None,
        every: int = 10,
    ) -> None:
        self.folder, self.every = make_folder(folder), every
        self.events = read_metrics(self.folder)
        self.bar = tqdm(
            total=steps, initial=step, unit=" steps", dynamic_ncols=True,
            disable=None, file=sys.stderr,
        )  # fmt: skip
        self._told: set[tuple[type, int]] | None = None
        self._tokens, self._since = 0, time.monotonic()

    def __call__(self, event: Event) -> None:
        """Take what happened."""
        if self._told is None:
            self._told = self._go_on(event.step)
        now = time.monotonic()
        if isinstance(event, Step):
            self._tokens += event.tokens
            self.bar.update(event.step - self.bar.n)
            if event.step % self.every:
                return
            speed = self._tokens / max(now - self._since, 1e-9)
            self.bar.set_postfix_str(f"loss {event.loss:.3f}, {speed:,.0f} tokens/s")
        else:
            self.write(in_words(event))
        self._tokens, self._since = 0, now
        if (type(event), event.step) in self._told:
            return  # told before a kill, and again because the run had not saved since
        self._told.add((type(event), event.step))
        self.events.append(event)
        self._add(METRICS, json.dumps(to_dict(event)))

    def _go_on(self, step: int) -> set[tuple[type, int]]:
        """Take out what is told of later steps; what is left is told already."""
        self.events = [event for event in self.events if event.step <= step]
        lines = "".join(json.dumps(to_dict(event)) + "\n" for event in self.events)
        write(self.folder / METRICS, lines.encode())
        return {(type(event), event.step) for event in self.events}

    def write(self, text: str) -> None:
        """A line for people: on the screen and, with the time, in log.txt."""
        tqdm.write(text, file=sys.stderr)
        self._add(LOG, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}")

    def _add(self, name: str, line: str) -> None:
        path = self.folder / name
        with naming(path), open(path, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def close(self) -> None:
        """Take the bar away."""
        self.bar.close()


class TensorBoard:
    """Writes what a `Trainer` reports for TensorBoard, in the folder `BOARD` of a run.

    It takes as many steps as a `RunLog` does. A run that goes on at step takes out what
    a killed one told of later steps.
    """

    def __init__(
        self, folder: str | os.PathLike[str], step: int = 0, every: int = 10
    ) -> None:
        purge = step + 1 if step else None
        self.every = every
        self.writer = import_writer()(str(Path(folder) / BOARD), purge_step=purge)

    def __call__(self, event: Event) -> None:
        """Take what happened."""
        if isinstance(event, Step) and event.step % self.every:
            return
        kinds = {Step: "train", Validation: "valid", EpochMean: "mean"}
        for name in ("loss", "accuracy", "rate"):
            if hasattr(event, name):
                told = f"{kinds[type(event)]}/{name}", getattr(event, name), event.step
                self.writer.add_scalar(*told)

    def close(self) -> None:
        """Write what is left."""
        self.writer.close()


def import_writer() -> Any:
    """PyTorch's class that writes for TensorBoard; a ValueError if a package is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        rule = "--logger tensorboard needs it: pip install tensorboard"
        raise ValueError(f"{error}; {rule}") from None
    return SummaryWriter


def read_metrics(folder: str | os.PathLike[str]) -> list[Event]:
    """The events in metrics.jsonl.

    A line without its newline was torn when the run was killed, and is left out.
    """
    path, events, whole = Path(folder) / METRICS, [], []
    if path.exists():
        check_readable(path, "run")
        whole = path.read_bytes().split(b"\n")[:-1]
    for number, line in enumerate(whole, start=1):
        try:
            events += [from_dict(json.loads(line))] if line.strip() else []
        except (KeyError, TypeError, ValueError):
            found = f"line {number} is no event: {line[:40].decode(errors='replace')!r}"
            rule = "take it out, or the file: the run goes on without it"
            raise ValueError(f"{path}, {found}; {rule}") from None
    return events


def in_words(event: Validation | EpochMean) -> str:
    """One line for people about a validation."""
    if isinstance(event, EpochMean):
        what = f"step {event.step}, mean of {event.epochs} epochs"
        return f"{what}: validation loss {event.loss:.4f}"
    what = f"step {event.step}, epoch {event.epoch}: validation loss {event.loss:.4f}"
    what += f", tokens right {as_share(100 * event.accuracy, 1, 100, signs=True)}%"
    return what + (", the best so far" if event.best else "")
