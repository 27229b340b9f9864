"""What arguments must be, said in one place: each rule is an error with the value."""

from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def checked(rules: Callable[..., None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Before each call of the function below it, call rules with the same arguments.

    Rules raise an error where an argument is wrong, and return nothing.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            rules(*args, **kwargs)
            return function(*args, **kwargs)

        return run

    return decorate


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
        if isinstance(value, Integral) and abs(int(value)) >= 2**63:
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


def two_axes(ids: Any, pad_id: int) -> None:
    """Refuse ids that are not (batch, length)."""
    if len(ids.shape) != 2:
        found = tuple(ids.shape)
        raise ValueError(f"ids must have two axes (batch, length), not {found}")


def divisible(x: Any, n_heads: int) -> None:
    """Refuse rows that cannot be cut into equal pieces, one for each head."""
    width = x.shape[-1]
    if n_heads < 1 or width % n_heads:
        raise ValueError(f"n_heads ({n_heads}) must divide the width ({width})")


def same_batch(x: Any, memory: Any) -> None:
    """Refuse one memory for several sentences, which would be repeated silently."""
    batch, sources = x.shape[0], memory.shape[0]
    if batch != sources:
        rule = "must be equally many sentences"
        raise ValueError(f"x and memory {rule}: {batch} and {sources}")


def attention_inputs(
    array: type, boolean: object, q: Any, k: Any, v: Any, mask: Any
) -> None:
    """Refuse what would be broadcast silently, or fail in words that name nothing.

    array is the type of all four, boolean the dtype of the mask.
    """
    instance(array, q=q, k=k, v=v)
    queries, keys, values = tuple(q.shape), tuple(k.shape), tuple(v.shape)
    if queries[-1:] != keys[-1:]:
        rule = "queries and keys must be equally wide"
        raise ValueError(f"{rule}: queries {queries}, keys {keys}")
    if keys[-2:-1] != values[-2:-1]:
        rule = "there must be one value for each key"
        raise ValueError(f"{rule}: keys {keys}, values {values}")
    if mask is None:
        return
    instance(array, mask=mask)
    if mask.dtype != boolean:
        raise TypeError(f"mask must be bool (True = may look), not {mask.dtype}")
    shape, scores = tuple(mask.shape), (*queries[:-1], keys[-2])
    sizes = zip(reversed(shape), reversed(scores), strict=False)
    if len(shape) > len(scores) or any(m not in (1, s) for m, s in sizes):
        rule = f"does not broadcast to the scores {scores}"
        raise ValueError(f"mask of shape {shape} {rule}")
