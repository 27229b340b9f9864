"""Weights rounded to 8 bits or fewer: an integer each and a scale for each row, and exactly what they stand for."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from helpers import TINY, randomised, unchecked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.int8 import BITS, bound, from_int8, packed, rounded, to_int8, unpacked

SIZES = st.floats(2.0**-99, 2.0**119, width=32) | st.just(0.0)
NUMBERS = SIZES | SIZES.map(lambda x: -x)


@st.composite
def weights(draw):
    return torch.from_numpy(
        draw(arrays(np.float32, array_shapes(min_dims=1, max_dims=3, max_side=5), elements=NUMBERS))
    )


@st.composite
def rows(draw):
    """A row of weights, among which are halves of steps at some number of bits, and an input as long."""
    n = draw(st.integers(1, 6))
    free = arrays(np.float32, n, elements=NUMBERS)
    halves = arrays(np.float32, n, elements=st.sampled_from([k / 2 for k in (-254, -127, -5, -3, -1, 0, 1, 3, 7, 14)]))
    sizes = st.sampled_from([0.0, 1e-30, 1e-3, 1.0, 1e30]).map(lambda x: x * draw(st.sampled_from([-1, 1])))
    x = draw(arrays(np.float64, n, elements=sizes | st.floats(-4, 4)))
    return torch.from_numpy(draw(free | halves)), torch.from_numpy(x)


each_width = pytest.mark.parametrize("bits", BITS)


def test_without_a_number_of_bits_there_are_eight():
    weight = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 9)))
    for default, eight in zip(to_int8(weight), to_int8(weight, 8), strict=True):
        assert torch.equal(default, eight)
    assert torch.equal(rounded({"w": weight})["w"], rounded({"w": weight}, 8)["w"])


@each_width
@given(weights())
def test_the_largest_of_each_row_is_the_largest_integer_and_no_weight_moves_by_more_than_half_a_step(bits, weight):
    integers, scale = to_int8(weight, bits)
    assert integers.dtype == torch.int8
    assert scale.shape == (*weight.shape[:-1], 1)
    largest, most = integers.abs().amax(-1), 2 ** (bits - 1) - 1
    assert torch.equal(largest, torch.where(weight.abs().amax(-1) > 0, most, 0).to(torch.int8))
    assert torch.all((from_int8(integers, scale) - weight).abs().double() <= 0.501 * scale.double())


@each_width
@given(weights())
def test_the_product_is_exact_in_float32_and_float64_alike(bits, weight):
    integers, scale = to_int8(weight, bits)
    exact = integers.double() * scale.double()
    assert torch.equal(from_int8(integers, scale).double(), exact)


@each_width
@given(weights())
def test_what_was_rounded_comes_back_with_the_same_integers_and_scales(bits, weight):
    first = to_int8(weight, bits)
    again = to_int8(from_int8(*first), bits)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def fractions(x):
    """Numbers as they are, which no arithmetic rounds."""
    return [Fraction(number) for number in x.tolist()]


@each_width
@given(rows())
def test_a_product_moves_by_no_more_than_half_a_step_times_the_sum_of_the_inputs_sizes(bits, row):
    """Exactly, with fractions; what `bound` returns is the same number, but for the last bits of a sum."""
    weight, x = row
    integers, scale = to_int8(weight, bits)
    moved = [a - b for a, b in zip(fractions(from_int8(integers, scale)), fractions(weight), strict=True)]
    most = Fraction(scale.item()) / 2 * sum(abs(number) for number in fractions(x))
    assert abs(sum(a * b for a, b in zip(moved, fractions(x), strict=True))) <= most
    assert bound(scale.double(), x).item() == pytest.approx(float(most), rel=1e-14)


@given(weights(), st.integers(2, 7))
def test_more_bits_give_no_larger_bound(weight, bits):
    x = torch.ones(weight.shape[-1], dtype=torch.float64)
    fewer, more = (bound(to_int8(weight, b)[1].double(), x) for b in (bits, bits + 1))
    assert fewer.shape == weight.shape[:-1]
    zero = weight.abs().amax(-1) == 0  # which keeps the scale 1
    assert torch.all((more < fewer) | zero)


def test_the_bound_is_reached_where_all_weights_move_the_same_way_as_far_as_they_can():
    weight, x = torch.tensor([[7.0, 2.5, -0.5, 4.5], [7.0, 1.0, 2.0, 3.0]]), torch.tensor([0.0, -1.0, 2.0, -1.0])
    integers, scale = to_int8(weight, 4)
    moved = (from_int8(integers, scale) - weight) @ x
    assert bound(scale, x).tolist() == [2.0, 2.0]
    assert moved.tolist() == [2.0, 0.0]


def test_a_half_goes_to_the_even_integer():
    weight = torch.tensor([3.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5])
    assert to_int8(weight, 3)[0].tolist() == [3, 0, 2, 2, 0, -2, -2]


def test_two_bits_leave_a_weight_one_of_three_values():
    integers, scale = to_int8(torch.tensor([0.8, -0.3, 0.5, -0.7, 0.0]), 2)
    assert integers.tolist() == [1, 0, 1, -1, 0]
    assert 0.8 <= scale.item() < 0.80001


@pytest.mark.parametrize("bits", [1, 9, 0, -2, 32, 2.5, True, "8", None])
def test_other_numbers_of_bits_are_refused(bits):
    with unchecked():
        for function in (to_int8, lambda w, b: rounded({"w": w[None]}, b)):
            with pytest.raises(ValueError, match=rf"bits \({bits}\) must be a whole number from 2 to 8"):
                function(torch.ones(2), bits)


def test_at_fewer_bits_matrices_alone_have_fewer():
    draws = np.random.default_rng(0)
    weights = {name: torch.from_numpy(draws.normal(size=size)) for name, size in (("w", (3, 40)), ("b", 8))}
    for bits in BITS:
        found = rounded(weights, bits)
        assert torch.equal(found["w"], from_int8(*to_int8(weights["w"], bits)))
        assert torch.equal(found["b"], from_int8(*to_int8(weights["b"])))
        assert all(row.unique().numel() <= 2**bits - 1 for row in found["w"])
    assert all(len(row.unique()) == 3 for row in rounded(weights, 2)["w"])


@each_width
def test_a_scale_is_rounded_up_so_that_the_largest_integer_times_it_reaches_the_largest_weight(bits):
    largest, most = torch.from_numpy(np.random.default_rng(0).uniform(0.5, 1, size=(200, 1))), 2 ** (bits - 1) - 1
    scale = to_int8(largest, bits)[1]
    steps = largest / scale
    assert torch.all(steps <= most)
    assert torch.all(steps > most - most * 2.0**-16), "by one of its binary digits at most"


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_model_saved_with_a_byte_for_each_number_is_its_rounded_form(tmp_path, dtype):
    model = randomised(Transformer(TINY)).to(dtype)
    checkpoint.save(tmp_path, model, int8=True)
    wanted = rounded(model.state_dict())
    loaded, into = checkpoint.load(tmp_path)[0], checkpoint.load_into(tmp_path, Transformer(TINY).to(dtype))
    for found in (loaded.state_dict(), into.state_dict()):
        assert {weight.dtype for weight in found.values()} == {dtype}
        assert all(torch.equal(found[name], weight) for name, weight in wanted.items())
    first, _ = checkpoint.read_tensors(tmp_path / "model.safetensors")
    checkpoint.save(tmp_path, loaded, int8=True)
    again, _ = checkpoint.read_tensors(tmp_path / "model.safetensors")
    assert all(torch.equal(again[name], tensor) for name, tensor in first.items()), "what was rounded stays as it is"


def test_in_the_package_each_number_takes_a_byte():
    numbers = sum(weight.numel() for weight in checkpoint.load(PHRASEBOOK)[0].parameters())
    assert (PHRASEBOOK / "model.safetensors").stat().st_size < 1.1 * numbers


def test_what_is_packed_comes_back_and_other_tensors_stay():
    weights = {"a": torch.tensor([[1.0, 0.3], [0.0, -7.0]]), "a.b": torch.tensor([0.5])}
    there = packed(weights)
    assert {name: tensor.dtype for name, tensor in there.items()} == {
        "a": torch.int8, "a.b": torch.int8, "a.scale": torch.float32, "a.b.scale": torch.float32
    }  # fmt: skip
    back = unpacked(there)
    assert all(torch.equal(back[name], weight) for name, weight in rounded(weights).items())
    others = {"w": torch.ones(2), "w.scale": torch.ones(1), "i": torch.ones(2, dtype=torch.int8)}
    assert unpacked(others) == others


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tensors: tensors.pop("embedding.weight.scale"), "embedding.weight holds no numbers but torch.int8"),
        (
            lambda tensors: tensors.update({"embedding.weight.scale": torch.ones(3)}),
            r"embedding.weight.scale has shape \(3,\), and embedding.weight needs \(16, 1\)",
        ),
    ],
)
def test_a_file_whose_scales_do_not_fit_is_refused_by_name(tmp_path, change, words):
    checkpoint.save(tmp_path, Transformer(TINY), int8=True)
    tensors, _ = checkpoint.read_tensors(tmp_path / "model.safetensors")
    change(tensors)
    checkpoint.write_tensors(tmp_path / "model.safetensors", tensors, {})
    with pytest.raises(ValueError, match=rf"model\.safetensors: {words}"):
        checkpoint.load(tmp_path)
