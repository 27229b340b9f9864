"""Weights rounded to int8: a byte for each and a scale for each row, and exactly what they stand for."""

import numpy as np
import pytest
import torch
from helpers import unchecked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.training import checkpoint
from tested_transformer.training.int8 import from_int8, rounded, to_int8

SIZES = st.floats(2.0**-99, 2.0**119, width=32) | st.just(0.0)
NUMBERS = SIZES | SIZES.map(lambda x: -x)


@st.composite
def weights(draw):
    return torch.from_numpy(
        draw(arrays(np.float32, array_shapes(min_dims=1, max_dims=3, max_side=5), elements=NUMBERS))
    )


@given(weights())
def test_the_largest_of_each_row_is_127_and_no_weight_moves_by_more_than_half_a_step(weight):
    integers, scale = to_int8(weight)
    assert integers.dtype == torch.int8
    assert scale.shape == (*weight.shape[:-1], 1)
    largest = integers.abs().amax(-1)
    assert torch.equal(largest, torch.where(weight.abs().amax(-1) > 0, 127, 0).to(torch.int8))
    assert torch.all((from_int8(integers, scale) - weight).abs().double() <= 0.501 * scale.double())


@given(weights())
def test_the_product_is_exact_in_float32_and_float64_alike(weight):
    integers, scale = to_int8(weight)
    exact = integers.double() * scale.double()
    assert torch.equal(from_int8(integers, scale).double(), exact)


@given(weights())
def test_what_was_rounded_comes_back_with_the_same_integers_and_scales(weight):
    first = to_int8(weight)
    again = to_int8(from_int8(*first))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_a_scale_is_rounded_up_so_that_127_of_it_reach_the_largest_weight():
    largest = torch.from_numpy(np.random.default_rng(0).uniform(0.5, 1, size=(200, 1)))
    scale = to_int8(largest)[1]
    steps = largest / scale
    assert torch.all(steps <= 127)
    assert torch.all(steps > 127 - 127 * 2.0**-16), "by one of its binary digits at most"


def test_rows_are_rounded_one_by_one_and_a_vector_is_one_row():
    small = torch.tensor([[100.0, 51.0], [0.001, -0.00051]])
    assert to_int8(small)[0].tolist() == [[127, 65], [127, -65]]
    assert to_int8(torch.tensor([1.0, -127.0]))[0].tolist() == [1, -127]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 2.0**125, 2.0**-120])
def test_a_row_that_no_scale_fits_is_refused(bad):
    rows = torch.tensor([[1.0, 1.0], [bad, 2.0**-126]])
    with pytest.raises(ValueError, match=r"weight has a row whose largest is not within \(7.8.*e-31, 1.3.*e\+36\)"):
        to_int8(rows)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.bool])
def test_other_numbers_than_float32_and_float64_are_refused(dtype):
    with unchecked(), pytest.raises(ValueError, match=rf"weight \({dtype}\) must be float32 or float64"):
        to_int8(torch.ones(2, 2, dtype=dtype))


def test_float64_is_rounded_to_the_same_integers():
    weight = torch.tensor([[0.3, -0.7, 0.01]])
    assert torch.equal(to_int8(weight)[0], to_int8(weight.double())[0])
    assert to_int8(weight.double())[1].dtype == torch.float64


def test_the_model_of_the_package_is_exactly_its_rounded_form():
    model, _ = checkpoint.load(PHRASEBOOK)
    weights = model.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in rounded(weights).items())
