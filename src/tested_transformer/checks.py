"""What arguments must be, said in one place: each rule is an error with the value."""

from collections.abc import Iterable
from numbers import Integral, Real
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


def probability(**values: float) -> None:
    """Refuse what is no probability, or is 1: dropout of everything, for example."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} ({value}) must be at least 0 and below 1")


def number(**values: object) -> None:
    """Refuse what is no number, Python's or NumPy's. True and False are none."""
    for name, value in values.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(f"{name} ({value!r}) must be a number")
        if isinstance(value, Integral) and abs(value) >= 2**63:
            raise ValueError(f"{name} ({value}) must fit into 64 bits")


def integer(**values: object) -> None:
    """Refuse what is no whole number, Python's or NumPy's. True and False are none."""
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{name} ({value!r}) must be a whole number")
    number(**values)


def make_plain(settings: Any) -> None:
    """Turn NumPy's numbers in a frozen dataclass into Python's: JSON can write them."""
    for name, value in list(vars(settings).items()):
        if isinstance(value, Real) and not isinstance(value, bool):
            plain = int(value) if isinstance(value, Integral) else float(value)
            object.__setattr__(settings, name, plain)


def instance(kind: type, **values: object) -> None:
    """Refuse what is of another type: `instance(np.ndarray, x=x)`."""
    for name, value in values.items():
        if not isinstance(value, kind):
            wanted, found = f"{kind.__module__}.{kind.__name__}", type(value).__name__
            raise TypeError(f"{name} must be a {wanted}, not {found}")


def ids_within(ids: Any, size: int, name: str, what: str) -> None:
    """Name the id for which a look-up failed: called after the failure only."""
    wrong = ids[(ids < 0) | (ids >= size)]
    if len(wrong):
        rule = f"must be at least 0 and below {what} ({size})"
        raise IndexError(f"{name} ({wrong[0].item()}) {rule}") from None


def require_many(strings: Iterable[str], name: str) -> None:
    """Refuse one string where several are meant: it is a sequence of characters."""
    if isinstance(strings, str):
        rule = "several strings, in a list for example, not one"
        raise TypeError(f"{name} must be {rule}: {strings[:20]!r}")
