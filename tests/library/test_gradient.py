"""The gradient by central differences: right where a derivative is known, and as wrong as the theory says."""

import numpy as np
import pytest
from helpers import normal

from tested_transformer.byhand.gradient import numerical_gradient


def test_of_a_square_it_is_exact_but_for_rounding():
    x = normal(3, 2, 4)
    assert np.allclose(numerical_gradient(lambda x: (x**2).sum(), x), 2 * x, atol=1e-9)


def test_each_slope_stands_where_its_number_stands():
    c = normal(2, 3)
    assert np.allclose(numerical_gradient(lambda x: (c * x).sum(), np.zeros((2, 3))), c)


def test_its_error_goes_with_the_square_of_the_nudge():
    x = np.array(0.5)
    errors = [float(numerical_gradient(np.exp, x, h=h)) - np.exp(0.5) for h in (1e-2, 1e-3)]
    assert errors[0] == pytest.approx(np.exp(0.5) * 1e-4 / 6, rel=1e-3)
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.01)


def test_what_is_nudged_stays_as_it_was():
    x = normal(5)
    kept = x.copy()
    numerical_gradient(np.sum, x)
    assert np.array_equal(x, kept)
