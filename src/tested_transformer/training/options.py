"""How to train: everything that is not the model's size."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any

import torch

from tested_transformer.checks import (
    at_least,
    integer,
    make_plain,
    number,
    positive,
    probability,
)
from tested_transformer.training.schedule import cosine, ramp, rate


@dataclass(frozen=True)
class Options:
    """Settings of one training run. Checks itself, and cannot be changed.

    A batch holds about batch_tokens tokens on its longer side; accumulate batches of
    each process make one step. The learning rate is rate_scale times the paper's
    (Section 5.3); in the last cooldown of `steps` it is taken to zero in a line, for
    which the paper has no counterpart.

    After the warm-up the paper's rate falls with 1/√step; with the schedule "cosine" it
    goes down from the same height to zero at the last of `steps`, along half a cosine.
    weight_decay draws all matrices towards zero, apart from what their gradients do
    (AdamW, Loshchilov & Hutter, 2019). clip is the largest length of a step's gradient:
    a longer one is made as short; 0 lets it be.

    ema is the decay of the exponential moving average of the weights, 0 for none; keep
    the number of epoch ends whose plain mean is tried at the end. Training stops after
    steps, epochs or minutes, or when patience validations brought nothing better.
    """

    steps: int | None = None
    epochs: int | None = None
    minutes: float | None = None
    patience: int | None = None
    batch_tokens: int = 2000
    accumulate: int = 1
    warmup: int = 4000
    rate_scale: float = 1.0
    cooldown: int = 0
    smoothing: float = 0.1
    ema: float = 0.999
    keep: int = 0
    save_every: int = 500
    precision: str = "float32"
    seed: int = 0
    schedule: str = "paper"
    weight_decay: float = 0.0
    clip: float = 0.0

    def __post_init__(self) -> None:
        make_plain(self)
        for name, least in {
            "steps": 1, "epochs": 1, "patience": 1, "batch_tokens": 1, "accumulate": 1,
            "warmup": 1, "cooldown": 0, "keep": 0, "save_every": 1, "seed": 0,
        }.items():  # fmt: skip
            value = getattr(self, name)
            if value is None and name in ("steps", "epochs", "patience"):
                continue
            integer(**{name: value})
            at_least(least, **{name: value})
        if self.cooldown > (self.steps or 0):
            rule = f"needs at least as many steps, not {self.steps}"
            raise ValueError(f"cooldown ({self.cooldown}) {rule}")
        minutes = {} if self.minutes is None else {"minutes": self.minutes}
        number(smoothing=self.smoothing, ema=self.ema)
        number(weight_decay=self.weight_decay, clip=self.clip)
        at_least(0, weight_decay=self.weight_decay, clip=self.clip)
        number(rate_scale=self.rate_scale, **minutes)
        positive(rate_scale=self.rate_scale, **minutes)
        probability(smoothing=self.smoothing, ema=self.ema)
        if self.schedule not in ("paper", "cosine"):
            rule = "must be 'paper' or 'cosine'"
            raise ValueError(f"schedule ({self.schedule!r}) {rule}")
        if self.schedule == "cosine" and (self.cooldown or self.steps is None):
            rule = "needs steps, at whose end it is zero, and no cooldown"
            raise ValueError(f"schedule ('cosine') {rule}")
        if self.precision not in ("float32", "bfloat16"):
            rule = "must be 'float32' or 'bfloat16'"
            raise ValueError(f"precision ({self.precision!r}) {rule}")

    def changeable(self) -> set[str]:
        """The fields that may change when a run goes on: they change no step."""
        free = {"steps", "epochs", "minutes", "patience", "save_every"}
        planned = self.cooldown or self.schedule == "cosine"
        return free - {"steps"} if planned else free

    def rate(self, step: int, d_model: int) -> float:
        """The learning rate of a step, which counts from 1 to steps."""
        scale = self.rate_scale
        if self.schedule == "cosine" and self.steps:
            highest = rate(self.warmup, d_model, self.warmup)
            return scale * highest * cosine(step, self.steps, self.warmup)
        if self.cooldown and self.steps:
            scale *= ramp(step, self.steps, rise=0, fall=self.cooldown + 1)
        return scale * rate(step, d_model, self.warmup)

    def check_limits(self) -> None:
        """Refuse options with which a run would never end."""
        if self.steps is self.epochs is self.minutes is self.patience is None:
            rule = "say when to stop: steps, epochs, minutes or patience"
            raise ValueError(f"a run without a limit never ends: {rule}")

    def reached(self, step: int, epoch: int, minutes: float, waited: int) -> bool:
        """Whether one of the limits is reached; waited are validations since the best."""
        limits = self.steps, self.epochs, self.minutes, self.patience
        found = zip(limits, (step, epoch, minutes, waited), strict=True)
        return any(limit is not None and now >= limit for limit, now in found)

    def autocast(self, device: torch.device) -> AbstractContextManager[object]:
        """The precision in which the model computes."""
        half = self.precision == "bfloat16"
        return torch.autocast(device.type, torch.bfloat16) if half else nullcontext()

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "Options":
        """Options from a file; a field of another version is a ValueError."""
        if not isinstance(saved, dict):
            raise TypeError(f"options ({saved!r}) must be an object")
        unknown = sorted(set(saved) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"no option of this version: {', '.join(unknown)}")
        return cls(**saved)
