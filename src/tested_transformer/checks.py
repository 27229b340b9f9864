"""What numbers must be, said in one place: each rule is an error that names the value."""

from typing import Any


def at_least(least: int, **values: float) -> None:
    """Refuse values below least: `at_least(1, d_model=d_model)`."""
    for name, value in values.items():
        if not value >= least:  # NaN is not
            raise ValueError(f"{name} ({value}) must be at least {least}")


def positive(**values: float) -> None:
    """Refuse zero, negative numbers, infinity and NaN."""
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} ({value}) must be positive and finite")


def share(**values: float) -> None:
    """Refuse what is no share of a whole: a probability of dropout, for example."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} ({value}) must be at least 0 and below 1")


def number(**values: object) -> None:
    """Refuse what is neither int nor float. True and False are none here."""
    for name, value in values.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"{name} ({value!r}) must be a number")


def whole(**values: object) -> None:
    """Refuse what is no int. True and False are none here."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} ({value!r}) must be a whole number")


def ids_within(ids: Any, size: int, name: str, what: str) -> None:
    """Name the id for which a look-up failed: called after the failure only."""
    wrong = ids[(ids < 0) | (ids >= size)]
    if len(wrong):
        rule = f"must be at least 0 and below {what} ({size})"
        raise IndexError(f"{name} ({wrong[0].item()}) {rule}") from None
