"""How to train: everything that is not the model's size."""

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Options:
    """Settings of one training run. Checks itself, and cannot be changed.

    A batch holds about batch_tokens target tokens; accumulate batches of each process
    make one step. The learning rate is rate_scale times the paper's (Section 5.3).
    average is the decay of the exponential average of the weights, 0 for none; keep
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
    smoothing: float = 0.1
    average: float = 0.999
    keep: int = 0
    save_every: int = 500
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in {
            "steps": 1, "epochs": 1, "patience": 1, "batch_tokens": 1, "accumulate": 1,
            "warmup": 1, "keep": 0, "save_every": 1, "seed": 0,
        }.items():  # fmt: skip
            value = getattr(self, name)
            if value is None and name in ("steps", "epochs", "patience"):
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} ({value!r}) must be a whole number")
            if value < least:
                raise ValueError(f"{name} ({value}) must be at least {least}")
        for name in ("minutes", "rate_scale"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} ({value}) must be positive")
        for name in ("smoothing", "average"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ValueError(f"{name} ({value}) must be at least 0 and below 1")
        if self.precision not in ("float32", "bfloat16"):
            rule = "must be 'float32' or 'bfloat16'"
            raise ValueError(f"precision ({self.precision!r}) {rule}")

    @classmethod
    def limits(cls) -> set[str]:
        """The fields that may change when a run goes on: they change no step."""
        return {"steps", "epochs", "minutes", "patience", "save_every"}

    @classmethod
    def known(cls, saved: dict[str, Any]) -> "Options":
        """Options from a file; a field of another version is a ValueError."""
        unknown = sorted(set(saved) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"no option of this version: {', '.join(unknown)}")
        return cls(**saved)
