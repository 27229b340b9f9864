"""The linear map: by hand, by its laws, its gradient, and against PyTorch's."""

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, normal, tensors, unchecked

from tested_transformer.book.example import W_Q, X
from tested_transformer.byhand.linear import linear, linear_backward


def test_a_small_map_by_hand():
    x = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])
    w = np.array([[1.0, 0.0, 1.0], [2.0, -1.0, 0.0]])  # (out, in): two outputs of three inputs
    assert linear(x, w).tolist() == [[4, 0], [1, 1]]
    assert linear(x, w, np.array([10.0, 20.0])).tolist() == [[14, 20], [11, 21]]


def test_a_formula_writes_the_transpose_of_what_is_stored():
    assert np.array_equal(linear(X, W_Q.T), X @ W_Q)


def test_sums_go_to_sums_and_the_bias_is_added_once():
    x, y, w, b = normal(4, 3), normal(4, 3, seed=1), normal(5, 3), normal(5)
    assert_near(linear(2 * x + y, w), 2 * linear(x, w) + linear(y, w), 1e-14)
    assert_near(linear(x, w, b) - linear(x, w), np.tile(b, (4, 1)), 1e-14)


def test_each_row_is_mapped_alone_whatever_axes_stand_in_front():
    x, w, b = normal(2, 3, 5, 4), normal(6, 4), normal(6)
    y = linear(x, w, b)
    assert y.shape == (2, 3, 5, 6)
    for place in np.ndindex(2, 3, 5):
        assert_near(y[place], linear(x[place], w, b), 1e-14)


@pytest.mark.parametrize("front", [(), (4,), (2, 4)], ids=["a vector", "rows", "a batch"])
def test_the_gradient_agrees_with_differences_and_with_pytorch(front):
    x, w, b, d_y = normal(*front, 3), normal(5, 3), normal(5), normal(*front, 5, seed=1)
    by_hand = linear_backward(d_y, x, w)
    assert_gradients(lambda x, w, b: (d_y * linear(x, w, b)).sum(), [x, w, b], by_hand)
    own = tensors(x, w, b)
    torch.nn.functional.linear(*own).backward(torch.tensor(d_y))
    for tensor, gradient in zip(own, by_hand, strict=True):
        assert_near(gradient, tensor.grad, 1e-9)


def test_it_equals_pytorchs():
    x, w, b = normal(2, 4, 3), normal(5, 3), normal(5)
    assert_near(linear(x, w, b), torch.nn.functional.linear(*tensors(x, w, b)), 1e-14)
    assert_near(linear(x, w), torch.nn.functional.linear(*tensors(x, w)), 1e-14)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"x": [[0.0] * 3]}, TypeError, r"x must be a numpy.ndarray, not list"),
        ({"w": torch.zeros(5, 3)}, TypeError, r"w must be a numpy.ndarray, not Tensor"),
        ({"b": [0.0] * 5}, TypeError, r"b must be a numpy.ndarray, not list"),
        (
            {"w": np.zeros((3, 5))},
            ValueError,
            r"x of shape \(4, 3\) must be as wide as w .*\(3, 5\), .*\(out, in\)",
        ),
        ({"w": np.zeros(3)}, ValueError, r"must be as wide as w of shape \(3,\)"),
        ({"b": np.zeros(1)}, ValueError, r"b of shape \(1,\) must be \(5,\)"),  # NumPy would add it to all
        ({"b": np.zeros((4, 5))}, ValueError, r"b of shape \(4, 5\) must be \(5,\)"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_shape(wrong, error, words):
    right = {"x": np.zeros((4, 3)), "w": np.zeros((5, 3)), "b": np.zeros(5)}
    with unchecked():
        linear(**right)
        with pytest.raises(error, match=words):
            linear(**right | wrong)
