"""Softmax: by hand, by its laws, its gradient, and against PyTorch's."""

import numpy as np
import pytest
import torch
from helpers import arrays, assert_gradients, assert_near, normal, tensors
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.byhand.softmax import softmax, softmax_backward


def test_logarithms_of_whole_numbers_give_fractions():
    assert_near(softmax(np.log([1.0, 2.0, 5.0])), [1 / 8, 2 / 8, 5 / 8], 1e-15)


def test_equal_scores_get_equal_shares():
    assert softmax(np.full((2, 4), 7.5)).tolist() == [[0.25] * 4] * 2


@given(arrays(2, 3, 4, size=500))
def test_rows_are_shares(x):
    y = softmax(x)
    assert np.all(y >= 0)
    assert_near(y.sum(axis=-1), np.ones((2, 3)), 1e-14)


@given(arrays(2, 4), st.floats(-1e4, 1e4))
def test_a_constant_added_to_a_row_changes_nothing(x, constant):
    assert_near(softmax(x + np.array([[constant], [0.0]])), softmax(x), 1e-10)


@given(arrays(4), st.permutations(range(4)))
def test_shares_follow_their_scores(x, order):
    assert_near(softmax(x[order]), softmax(x)[order], 1e-15)


@given(arrays(5))
def test_a_larger_score_never_gets_a_smaller_share(x):
    assert np.all(np.diff(softmax(np.sort(x))) >= 0)


def test_the_quotient_of_two_shares_is_the_exponential_of_the_difference():
    y = softmax(np.array([3.0, 1.0, -2.0]))
    assert_near(y[0] / y[1], np.exp(2), 1e-14)
    assert_near(y[1] / y[2], np.exp(3), 1e-14)


@pytest.mark.parametrize("shift", [1e3, -1e3, 1e300])
def test_large_scores_do_not_overflow(shift):
    assert_near(softmax(np.array([shift, shift])), [0.5, 0.5], 1e-15)
    assert softmax(np.array([shift, -np.inf])).tolist() == [1, 0]


def test_a_score_of_minus_infinity_gets_exactly_nothing():
    hidden = softmax(np.array([[1.0, -np.inf, 2.0]]))
    assert hidden[0, 1] == 0
    assert_near(hidden[:, [0, 2]], softmax(np.array([[1.0, 2.0]])), 1e-15)


def test_a_row_of_minus_infinities_becomes_zeros_and_leaves_the_others_alone():
    x = np.array([[-np.inf, -np.inf], [0.0, 0.0]])
    assert softmax(x).tolist() == [[0, 0], [0.5, 0.5]]


def test_the_argument_is_not_changed():
    x = np.array([[1.0, -np.inf], [-np.inf, -np.inf]])
    before = x.copy()
    softmax(x)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_the_gradient_agrees_with_differences_and_with_pytorch(shape):
    x, d_y = normal(*shape), normal(*shape, seed=1)
    by_hand = softmax_backward(d_y, softmax(x))
    assert_gradients(lambda x: (d_y * softmax(x)).sum(), [x], [by_hand])
    (own,) = tensors(x)
    own.softmax(-1).backward(torch.tensor(d_y))
    assert_near(by_hand, own.grad, 1e-9)


@given(arrays(2, 4), arrays(2, 4))
def test_the_gradient_of_a_row_adds_up_to_zero(x, d_y):
    assert np.allclose(softmax_backward(d_y, softmax(x)).sum(axis=-1), 0, atol=1e-12)


def test_nothing_flows_back_to_a_hidden_score():
    x = np.array([[1.0, -np.inf, 2.0], [-np.inf] * 3])
    d_x = softmax_backward(normal(2, 3), softmax(x))
    assert d_x[0, 1] == 0
    assert np.all(d_x[1] == 0)
    assert d_x[0, 0] == -d_x[0, 2] != 0


@given(arrays(3, 5, size=100))
def test_it_equals_pytorchs(x):
    assert_near(softmax(x), torch.tensor(x).softmax(-1), 1e-14)
