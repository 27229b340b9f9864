"""What the tests of all concepts need: random arrays, gradients by differences, and how near is near enough."""

import contextlib

import jaxtyping
import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


def normal(*shape, seed=0):
    """Random numbers of that shape, float64, the same for the same seed and shape."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def arrays(*shape, size=10.0):
    """A hypothesis strategy: arrays of that shape, of numbers no larger than `size`."""
    return hnp.arrays(float, shape, elements=st.floats(-size, size))


def lengths(most=4):
    """A hypothesis strategy: a small length."""
    return st.integers(1, most)


def tensors(*xs, dtype=torch.float64):
    """Arrays as tensors that collect gradients."""
    return [torch.tensor(x, dtype=dtype, requires_grad=True) for x in xs]


def central_difference(f, x, h=1e-5):
    """The gradient of a function that gives one number, at x: one entry at a time, a little up and a little down."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = h
        gradient[place] = (f(x + step) - f(x - step)) / (2 * h)
    return gradient


def assert_near(actual, expected, relative):
    """The same shape, and no entry further off than that share of the largest entry."""
    actual, expected = (np.asarray(x.detach() if torch.is_tensor(x) else x) for x in (actual, expected))
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    error, largest = np.max(np.abs(actual - expected), initial=0), np.max(np.abs(expected), initial=0)
    assert error <= relative * largest, f"off by {error:.3g}, where {relative:g} of {largest:.3g} is allowed"


def assert_gradients(loss, inputs, gradients, relative=1e-6):
    """Each gradient is what central differences of `loss(*inputs)` say about its input."""
    for i, (x, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        numeric = central_difference(lambda y, i=i: loss(*inputs[:i], y, *inputs[i + 1 :]), x)
        assert_near(gradient, numeric, relative)


@contextlib.contextmanager
def unchecked():
    """Without the shape checks of the tests, as users run the package: to reach its own refusals."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
