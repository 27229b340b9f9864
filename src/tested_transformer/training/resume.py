"""Everything that a run changes, so a resumed run continues bit for bit."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from tested_transformer.checks import at_least, integer, number
from tested_transformer.data.ids import Packed
from tested_transformer.params import part
from tested_transformer.training import checkpoint
from tested_transformer.training.average import ExponentialMovingAverage
from tested_transformer.training.memory import gathered, like
from tested_transformer.training.objective import Objective, pair_line
from tested_transformer.training.options import Options

ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What PyTorch's Adam keeps of each parameter."""


@dataclass
class Progress:
    """How far a run has come."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    seconds: float = 0.0
    tokens: int = 0  # target tokens, over all steps
    best: float = float("inf")
    waited: int = 0  # validations since the best
    kept: list[int] = field(default_factory=list)  # epochs whose ends are on disk

    @classmethod
    def from_dict(cls, saved: Any) -> "Progress":
        """Progress from a file; an error says what none can be."""
        names = {made.name for made in fields(cls)}
        if not isinstance(saved, dict) or saved.keys() != names:
            raise ValueError(f"it must have {', '.join(sorted(names))}, and no more")
        numbers = {name: saved[name] for name in saved if name != "kept"}
        number(**numbers)
        at_least(0, **numbers)
        integer(**{n: v for n, v in numbers.items() if n not in ("seconds", "best")})
        kept, rule = saved["kept"], f"epochs from 1 to {saved['epoch']}, in order"
        if not isinstance(kept, list) or not all(type(epoch) is int for epoch in kept):
            raise TypeError(f"kept ({kept!r}) must be {rule}")
        if any(a >= b for a, b in pairwise([0, *kept, saved["epoch"] + 1])):
            raise ValueError(f"kept ({kept!r}) must be {rule}")
        return cls(**saved)


@dataclass(frozen=True)
class State:
    """The model, what Adam remembers, the moving average, and how far the run has come.

    Saved with them, to be compared: options, sizes, and a fingerprint of the pairs.
    """

    objective: Objective
    adam: optim.Adam
    ema: ExponentialMovingAverage | None
    progress: Progress
    options: Options
    pairs: str

    @property
    def model(self) -> nn.Module:
        """What learns."""
        return self.objective.model

    def save(self, path: Path, write: bool = True) -> None:
        """Write all of it as one safetensors file.

        Shards are gathered first: all processes call this, and rank 0 may write.
        """
        tensors = {f"model.{n}": t for n, t in self.model.state_dict().items()}
        if self.ema:
            tensors |= {f"ema.{n}": t for n, t in self.ema.weights.items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.adam.state.get(parameter, {}).items():
                tensors[f"adam.{key}.{name}"] = value
        told = {
            "progress": asdict(self.progress),
            "options": asdict(self.options),
            "config": asdict(self.objective.config),
            "learns": self.objective.described(),
            "pairs": self.pairs,
        }
        whole = gathered(tensors, keep=write)
        if write:
            checkpoint.write_tensors(path, whole, told)

    def load(self, path: Path) -> None:
        """Take over what `save` wrote. A ValueError comes before anything changes."""
        tensors, told = checkpoint.read_tensors(path)
        progress = self.check(path, tensors, told)
        checkpoint.load_weights(self.model, part(tensors, "model"), path)
        vars(self.progress).update(vars(progress))
        if self.ema:
            for name, tensor in part(tensors, "ema").items():
                own = self.ema.weights[name]
                own.copy_(like(tensor, own))
        self.adam.state.clear()
        for name, parameter in self.model.named_parameters():
            if f"adam.step.{name}" in tensors:  # no entry for what has not been trained
                step, *means = (tensors[f"adam.{key}.{name}"] for key in ADAM)
                entries = step, *(like(t, parameter) for t in means)
                on_device = [t.to(parameter.device) for t in entries]
                self.adam.state[parameter] = dict(zip(ADAM, on_device, strict=True))

    def check(
        self, path: Path, tensors: Mapping[str, Tensor], told: Mapping[str, Any]
    ) -> Progress:
        """How far the run was. It goes on only with what it began with, and all of it."""
        if lacking := sorted({"progress", "options", "config", "pairs"} - told.keys()):
            raise ValueError(f"{path} holds no state of a run: it lacks {lacking[0]}")
        if told["pairs"] != self.pairs:
            found = f"{told['pairs']}, now {self.pairs}"
            raise ValueError(f"{path} was trained with other pairs: {found}")
        try:
            began = asdict(Options.from_dict(told["options"]))
            progress = Progress.from_dict(told["progress"])
            began |= asdict(type(self.objective.config)(**told["config"]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no state of a run: {error}") from None
        began |= told.get(
            "learns", {"objective": "NextToken"}
        )  # as older files have it
        ours = asdict(self.options) | asdict(self.objective.config)
        ours |= self.objective.described()
        for name in sorted(ours.keys() - self.options.changeable() - {"fused"}):
            if began.get(name) != ours[name]:
                found = f"{began.get(name)!r}, now {ours[name]!r}"
                raise ValueError(f"{path} was trained with another {name}: {found}")
        self.check_tensors(path, tensors)
        if progress.step and not any(name.startswith("adam.") for name in tensors):
            raise ValueError(f"{path} lacks everything that Adam remembers")
        return progress

    def check_tensors(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        """Every tensor is there, has its shape and type, and no other is there."""
        needed = {f"model.{n}": t for n, t in self.model.state_dict().items()}
        if self.ema:
            needed |= {f"ema.{n}": t for n, t in self.ema.weights.items()}
        for name, p in self.model.named_parameters():
            like = torch.zeros(()), p, p
            entries = {f"adam.{k}.{name}": t for k, t in zip(ADAM, like, strict=True)}
            needed |= entries if entries.keys() & tensors.keys() else {}
        if lacking := sorted(needed.keys() - tensors.keys()):
            raise ValueError(f"{path} lacks {lacking[0]} and {len(lacking) - 1} more")
        if foreign := sorted(tensors.keys() - needed.keys()):
            raise ValueError(f"{path} holds {foreign[0]}, which is not of this run")
        for name, tensor in needed.items():
            for what in ("shape", "dtype"):
                found, wanted = getattr(tensors[name], what), getattr(tensor, what)
                if found != wanted:
                    rule = f"has the {what} {found}, not {wanted}"
                    raise ValueError(f"{path}: {name} {rule}")


def fingerprint(
    train: Sequence[Any],
    valid: Sequence[Any],
    line: Callable[[Any], bytes] = pair_line,
) -> str:
    """A short name for these pairs, or other examples, in this order.

    It covers every id; of the windows of a `Packed` it reads all bytes once.
    """
    digest = hashlib.sha256()
    for pairs in (train, valid):
        digest.update(f"{len(pairs)} pairs\n".encode())
        told = pairs.contents() if isinstance(pairs, Packed) else map(line, pairs)
        for piece in told:
            digest.update(piece)
    return f"{len(train)} and {len(valid)} pairs, {digest.hexdigest()[:16]}"
