"""What a file says about a model, read field by field: each must be there and of its kind."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tested_transformer.config import SpecialIds

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
"""Activations by the names that Hugging Face gives them, and by ours."""


class About:
    """The fields of a `config.json`, or of a GGUF file; name is the file's, for errors.

    A field that is null counts as one that is not there.
    """

    def __init__(self, fields: Mapping[str, Any], name: object) -> None:
        self.fields, self.name = dict(fields), name

    def __contains__(self, key: str) -> bool:
        return self.fields.get(key) is not None

    def integer(self, key: str, default: int | None = None, least: int = 0) -> int:
        """A whole number, least or more."""
        value = self._value(key, default)
        if type(value) is not int or not least <= value < 2**31:
            raise self.error(key, f"must be a whole number, at least {least}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number that is not negative, and finite."""
        value = self._value(key, default)
        if type(value) not in (int, float) or not 0 <= value < 2.0**1023:
            raise self.error(key, "must be a number, not negative")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Some words."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self.error(key, "must be a string")
        return value

    def choice(
        self, key: str, known: Mapping[str, Any], default: str | None = None
    ) -> Any:
        """What known has for the text of this field."""
        value = self.text(key, default)
        if value not in known:
            raise self.error(key, f"is not known here; these are: {', '.join(known)}")
        return known[value]

    def ids(self, key: str) -> tuple[int, ...]:
        """An id, or several in a list; none if there is no such field."""
        value = self.fields.get(key)
        found = value if isinstance(value, list) else [] if value is None else [value]
        if any(type(i) is not int or not 0 <= i < 2**31 for i in found):
            raise self.error(key, "must be an id, or a list of them")
        return tuple(found)

    def within(self, key: str) -> "About":
        """The fields in an object."""
        value = self._value(key)
        if not isinstance(value, dict):
            raise self.error(key, "must be an object")
        return About(value, f"{self.name}, {key}")

    def require(self, key: str, *known: Any) -> None:
        """Refuse a field that changes what a model computes, unless it is one of known."""
        if key in self and self.fields[key] not in known:
            wanted = " or ".join(map(repr, known))
            raise self.error(key, f"must be {wanted}: nothing else is known here")

    def error(self, key: str, rule: str) -> ValueError:
        """An error about one field."""
        return ValueError(f"{self.name}: {key} ({self.fields.get(key)!r:.60}) {rule}")

    def _value(self, key: str, default: Any = None) -> Any:
        value = self.fields.get(key)
        value = default if value is None else value
        if value is None:
            raise ValueError(f"{self.name} lacks {key}")
        return value


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error about what is in a file or folder name it, in one line."""
    try:
        yield
    except (ValueError, TypeError, RuntimeError, ArithmeticError) as error:
        told = str(error).partition("\n")[0]
        raise ValueError(told if str(path) in told else f"{path}: {told}") from None


def n_labels(about: About) -> int:
    """The number of classes, which are two where no list of their names is."""
    labels = about.fields.get("id2label")
    return len(labels) if isinstance(labels, dict) else 2


def ids_of(ids: SpecialIds) -> dict[str, Any]:
    """The special ids as fields of a `Config`."""
    return {f"{name}_id": value for name, value in ids._asdict().items()}
