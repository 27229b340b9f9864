"""A long, narrow valley in two numbers, and the walk of an optimiser through it."""

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.adam import adam

Two = Float[np.ndarray, "2"]
State = Float[np.ndarray, "2 2"]
Rule = Callable[[Two, Two, State, int], tuple[Two, State]]
"""From the place, its gradient, two remembered means and the number of the step to the next place and means."""

CURVATURE = np.array([1.0, 100.0])
START = np.array([-8.0, 1.0])


def height(w: Float[np.ndarray, "*N 2"]) -> Float[np.ndarray, "*N"] | float:
    """The loss, which curves a hundred times as much in the second number as in the first."""
    return w**2 @ CURVATURE / 2


def gradient(w: Two) -> Two:
    """The gradient of `height`."""
    return CURVATURE * w


def walk(rule: Rule, n_steps: int = 50) -> Float[np.ndarray, "N 2"]:
    """The places from START on, one for each step of a rule; the optimiser's memory begins at zero."""
    w, state, places = START, np.zeros((2, 2)), [START]
    for step in range(1, n_steps + 1):
        w, state = rule(w, gradient(w), state, step)
        places.append(w)
    return np.array(places)


def sgd(
    w: Two, g: Two, state: State, step: int, rate: float = 0.018
) -> tuple[Two, State]:
    """Gradient descent as a rule for a walk."""
    return w - rate * g, state


def momentum(
    w: Two, g: Two, state: State, step: int, rate: float = 0.18
) -> tuple[Two, State]:
    """Momentum as a rule for a walk."""
    m = 0.9 * state[0] + 0.1 * g
    return w - rate * m, np.array([m, state[1]])


def rms(
    w: Two, g: Two, state: State, step: int, rate: float = 0.2
) -> tuple[Two, State]:
    """RMSProp as a rule for a walk, with no correction of its start."""
    v = 0.98 * state[1] + 0.02 * g**2
    return w - rate * g / np.sqrt(v), np.array([state[0], v])


def adam_rule(
    w: Two, g: Two, state: State, step: int, rate: float = 0.3
) -> tuple[Two, State]:
    """Adam as a rule for a walk."""
    w, m, v = adam(w, g, *state, step, rate)
    return w, np.array([m, v])


def unforgetting(
    w: Two, g: Two, state: State, step: int, rate: float = 0.3
) -> tuple[Two, State]:
    """Adam as a rule for a walk, but its mean of squares never falls."""
    m, v = 0.9 * state[0] + 0.1 * g, 0.98 * state[1] + 0.02 * g**2
    v = np.maximum(v, state[1])
    mean, root = m / (1 - 0.9**step), np.sqrt(v / (1 - 0.98**step))
    return w - rate * mean / root, np.array([m, v])


def steeper(rule: Rule, times: float = 1000) -> Rule:
    """The same rule on a loss so many times as high."""
    return lambda w, g, state, step: rule(w, times * g, state, step)


def across(rule: Rule, times: float) -> Rule:
    """The same rule in a valley that curves so many times as much across, and no more along."""
    return lambda w, g, state, step: rule(w, g * [1, times], state, step)


def noisy(rule: Rule, rng: np.random.Generator) -> Rule:
    """The same rule, with noise in each gradient: as much along the valley as it curves there, ten times across."""
    return lambda w, g, state, step: rule(
        w, g + np.sqrt(CURVATURE) * rng.normal(size=2), state, step
    )


def pulled(rule: Rule, n_steps: int = 500, every: int = 50) -> np.ndarray:
    """How far two numbers have moved upwards after each step, if the second is pulled in every fiftieth only."""
    w, state, places = np.zeros(2), np.zeros((2, 2)), []
    for step in range(1, n_steps + 1):
        w, state = rule(w, -np.array([1.0, step % every == 0]), state, step)
        places.append(w)
    return np.array(places)


def largest_rate(rule: Callable[..., tuple[Two, State]], most: float = 1.0) -> float:
    """Up to which rate a rule stays in the valley, to three decimals: 500 steps end no higher than they began."""
    low, high = 0.0, most
    while high - low > 1e-5:
        rate = (low + high) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            end = height(walk(functools.partial(rule, rate=rate), 500)[-1])
        low, high = (rate, high) if end <= height(START) else (low, rate)
    return round(low, 3)


def turned(rule: Rule, wall: float, n_steps: int = 50) -> Float[np.ndarray, "N 2"]:
    """A walk where the valley, with this curvature across, lies at 45 degrees to both numbers.

    The places are told as before: how far along the valley, how far across.
    """
    axes = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)  # rows: along, across
    w, state, places = START @ axes, np.zeros((2, 2)), [START]
    for step in range(1, n_steps + 1):
        g = ((axes @ w) * [1, wall]) @ axes
        w, state = rule(w, g, state, step)
        places.append(axes @ w)
    return np.array(places)
