"""Comparisons of several models with one, run by run: paired differences, and intervals that hold for all of them.

A difference is a model's loss minus that of the model it is compared with, from the same seed.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

ERROR = 0.05
"""How often, at most, one comparison or more of a whole list may go wrong by chance."""

GAUSS = np.polynomial.legendre.leggauss(50)
"""Where Gauss's rule looks at a function between -1 and 1, and with which weights."""


class Comparison(NamedTuple):
    """What one comparison found.

    `low` and `high` are the ends of its interval, wide enough for the whole list. `p` is the
    probability of a mean at least as far from zero, if there were no difference. The verdict
    is the sign of the mean, or 0 where chance alone may have made it.
    """

    mean: float
    low: float
    high: float
    p: float
    verdict: int


def compare(
    differences: Mapping[str, ArrayLike], error: float = ERROR
) -> dict[str, Comparison]:
    """Judge each list of differences, one for each seed; all together err with probability `error` at most.

    The intervals share the error equally (Bonferroni); the verdicts are by Holm's procedure.
    """
    values = {name: np.asarray(x, dtype=float) for name, x in differences.items()}
    for name, x in values.items():
        if x.ndim != 1 or len(x) < 2 or x.std() == 0:
            rule = "needs at least two that are not all the same"
            raise ValueError(f"differences of {name!r} ({x.tolist()}): a list {rule}")
    means = {name: x.mean() for name, x in values.items()}
    steps = {name: x.std(ddof=1) / np.sqrt(len(x)) for name, x in values.items()}
    wide = {
        name: quantile(1 - error / len(values), len(x) - 1) * steps[name]
        for name, x in values.items()
    }
    p = {
        name: 1 - inside(abs(means[name]) / steps[name], len(x) - 1)
        for name, x in values.items()
    }
    found = holm(p, error)
    return {
        name: Comparison(
            float(mean),
            float(mean - wide[name]),
            float(mean + wide[name]),
            p[name],
            int(np.sign(mean)) if name in found else 0,
        )
        for name, mean in means.items()
    }


def holm(p: Mapping[str, float], error: float = ERROR) -> set[str]:
    """The names whose probabilities are too small for chance (Holm, 1979).

    All together are wrong with probability `error` at most. The smallest has to be below
    error / n, the next below error / (n - 1), and so on until one is not.
    """
    found: set[str] = set()
    for name in sorted(p, key=lambda name: p[name]):
        if p[name] > error / (len(p) - len(found)):
            break
        found.add(name)
    return found


def inside(t: float, degrees: int) -> float:
    """The probability that a t variable with so many degrees of freedom is between -t and t.

    With t = tan(angle) · sqrt(degrees), its density is a power of the cosine, which is added up over the angle.
    """
    return _area(np.arctan(t / np.sqrt(degrees)), degrees) / _area(np.pi / 2, degrees)


@lru_cache
def quantile(level: float, degrees: int) -> float:
    """How far to go from zero, on both sides, so that a t variable is within with probability `level`."""
    if not 0 < level < 1:
        raise ValueError(f"level ({level}) must be between 0 and 1")
    low, high = 0.0, np.pi / 2
    for _ in range(60):  # halve the range of the angle
        middle = (low + high) / 2
        t = np.tan(middle) * np.sqrt(degrees)
        low, high = (middle, high) if inside(t, degrees) < level else (low, middle)
    return float(np.tan(low) * np.sqrt(degrees))


def _area(end: float, degrees: int) -> float:
    """The sum of cos^(degrees - 1) from 0 to an angle, by Gauss's rule."""
    x, weights = GAUSS
    return float(end / 2 * (weights * np.cos(end * (x + 1) / 2) ** (degrees - 1)).sum())
