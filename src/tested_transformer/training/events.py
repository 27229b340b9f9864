"""What a run tells while it goes on. The losses are nats for each token."""

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Step:
    """One update of the weights; the loss is with smoothing and with dropout."""

    step: int
    epoch: int
    loss: float
    accuracy: float  # share of the tokens that would have been chosen
    tokens: int  # target tokens that it learned from
    rate: float
    seconds: float  # since the start


@dataclass(frozen=True)
class Validation:
    """The sentences held out: without smoothing, with the weights that are kept."""

    step: int
    epoch: int
    loss: float
    accuracy: float
    best: bool  # better than ever before
    seconds: float


@dataclass(frozen=True)
class EpochMean:
    """The sentences held out, with the plain mean of the last epoch ends."""

    step: int
    epochs: int
    loss: float


Event = Step | Validation | EpochMean

KINDS = {"step": Step, "validation": Validation, "epoch mean": EpochMean}


def to_dict(event: Event) -> dict[str, Any]:
    """The numbers of an event by their names, the kind of event first."""
    kind = next(name for name, made in KINDS.items() if isinstance(event, made))
    return {"event": kind} | asdict(event)


def from_dict(saved: dict[str, Any]) -> Event:
    """What `to_dict` made; whatever else stands beside it is left out."""
    made = KINDS[saved["event"]]
    values = {field.name: saved[field.name] for field in fields(made)}
    for field in fields(made):
        if not isinstance(
            values[field.name], int if field.type is int else (int, float)
        ):
            raise TypeError(f"{field.name} ({values[field.name]!r}) is no {field.type}")
    return made(**values)
