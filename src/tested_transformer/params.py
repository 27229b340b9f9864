"""Parameters by name, as in a state_dict: "encoder.layers.0.feed_forward.w_1.weight"."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

Params = dict[str, np.ndarray]
T = TypeVar("T")


def part(params: Mapping[str, T], name: str) -> dict[str, T]:
    """The entries of one part, without its name: part "a" has "b" from "a.b"."""
    head = f"{name}."
    if not any(key.startswith(head) for key in params):
        raise ValueError(f"no parameter begins with {head!r}: {sorted(params)}")
    return {
        key.removeprefix(head): params[key] for key in params if key.startswith(head)
    }


def join(**parts: Mapping[str, T]) -> dict[str, T]:
    """The reverse of `part`: the entries of several parts in one dictionary."""
    return {
        f"{name}.{key}": value
        for name, params in parts.items()
        for key, value in params.items()
    }
