"""What a run tells about itself: a progress bar, a log, numbers, curves."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tested_transformer.files import write
from tested_transformer.training.folder import LOG, METRICS


class Record:
    """Writes what a `Trainer` reports. Rank 0 has one.

    metrics.jsonl gets one line for every `every` steps and one for each validation,
    log.txt the same in words. Lines of steps after `step`, which a killed run made and
    did not save, are taken out first.
    """

    def __init__(
        self, folder: Path, step: int = 0, steps: int | None = None, every: int = 10
    ) -> None:
        self.folder, self.every = folder, every
        self.rows = [row for row in read_metrics(folder) if row["step"] <= step]
        lines = "".join(json.dumps(row) + "\n" for row in self.rows)
        write(folder / METRICS, lines.encode())
        self.bar = tqdm(
            total=steps, initial=step, unit=" steps", dynamic_ncols=True,
            disable=None, file=sys.stderr,
        )  # fmt: skip
        self._tokens, self._since = 0, time.monotonic()

    def __call__(self, numbers: dict[str, Any]) -> None:
        """Take the numbers of a step or of a validation."""
        if "loss" in numbers:
            self._tokens += numbers["tokens"]
            self.bar.update(numbers["step"] - self.bar.n)
            if numbers["step"] % self.every:
                return
            now = time.monotonic()
            speed = self._tokens / max(now - self._since, 1e-9)
            numbers = numbers | {"tokens_per_second": round(speed)}
            self._tokens, self._since = 0, now
            self.bar.set_postfix_str(
                f"loss {numbers['loss']:.3f}, {speed:,.0f} tokens/s"
            )
        else:
            self.log(in_words(numbers))
            self._since = time.monotonic()
        self.rows.append(numbers)
        with open(self.folder / METRICS, "a", encoding="utf-8") as file:
            file.write(json.dumps(numbers) + "\n")

    def log(self, text: str) -> None:
        """A line for people: on the screen and, with the time, in log.txt."""
        tqdm.write(text, file=sys.stderr)
        with open(self.folder / LOG, "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def close(self) -> None:
        """Take the bar away."""
        self.bar.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows of metrics.jsonl; the last line may be torn, and is then left out."""
    path, rows = folder / METRICS, []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


def in_words(numbers: dict[str, Any]) -> str:
    """One line for people about a validation."""
    what = f"step {numbers['step']}"
    if "epoch" in numbers:
        what += f", epoch {numbers['epoch']}"
    if "mean_of" in numbers:
        what += f", mean of {numbers['mean_of']} epochs"
    what += f": validation loss {numbers['valid_loss']:.4f}"
    if "valid_accuracy" in numbers:
        what += f", tokens right {numbers['valid_accuracy']:.1%}"
    return what + (", the best so far" if numbers.get("best") else "")
