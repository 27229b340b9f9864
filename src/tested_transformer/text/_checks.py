"""What text and ids must be."""

from collections.abc import Iterable, Iterator
from operator import index
from typing import SupportsIndex


def checked(text: str, name: str = "the text") -> str:
    """The text itself, if it is one and can be written as UTF-8. name is for errors."""
    if not isinstance(text, str):
        raise TypeError(f"{name} ({text!r:.40}) must be a string")
    try:
        str.encode(text)
    except UnicodeEncodeError as error:
        found = f"character {error.start} of {name} is {text[error.start]!r}"
        raise ValueError(
            f"{found}, half of a surrogate pair: it has no UTF-8 bytes"
        ) from None
    return text


def all_checked(texts: Iterable[str], name: str) -> Iterator[str]:
    """Each text, `checked`: an error says which, as in `texts[3]`."""
    for place, text in enumerate(texts):
        yield checked(text, f"{name}[{place}]")


def in_range(ids: Iterable[SupportsIndex], vocab_size: int) -> Iterator[int]:
    """The ids as Python numbers, each a position in the vocabulary."""
    for i in map(index, ids):
        if not 0 <= i < vocab_size:
            raise IndexError(
                f"id ({i}) must be at least 0 and below vocab_size ({vocab_size})"
            )
        yield i
