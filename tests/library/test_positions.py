"""Positions: the sinusoids of the paper, their properties, learned rows, and the modules that add them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book.example import P, X
from tested_transformer.byhand import positions as byhand
from tested_transformer.model import positions as model
from tested_transformer.model.positions import LearnedPositions, SinusoidalPositions

lengths = st.integers(1, 60)
widths = st.integers(1, 40)
even_widths = st.integers(1, 20).map(lambda pairs: 2 * pairs)
BOTH = pytest.mark.parametrize("module", [SinusoidalPositions, LearnedPositions])


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# By hand


def test_the_table_of_width_four_is_that_of_the_formula():
    rows = [[math.sin(pos), math.cos(pos), math.sin(pos / 100), math.cos(pos / 100)] for pos in range(4)]
    assert np.allclose(byhand.sinusoids(4, 4), rows, rtol=0, atol=1e-15)


@given(lengths, widths)
def test_every_entry_is_that_of_the_formula_at_any_width(n, d_model):
    table = byhand.sinusoids(n, d_model)
    for pos in range(0, n, 7):
        for i in range((d_model + 1) // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            assert math.isclose(table[pos, 2 * i], math.sin(angle), abs_tol=1e-12)
            if 2 * i + 1 < d_model:
                assert math.isclose(table[pos, 2 * i + 1], math.cos(angle), abs_tol=1e-12)


def test_an_odd_width_ends_with_a_lone_sine():
    assert np.allclose(byhand.sinusoids(3, 3)[:, 2], np.sin(np.arange(3) / 10000 ** (2 / 3)), rtol=0, atol=1e-15)
    assert byhand.sinusoids(1, 3).tolist() == [[0, 1, 0]]


def test_the_running_example_with_its_toy_positions():
    expected = [[1.1, 0.2, 1.3], [0.2, 1.3, 0.4], [1.3, 1.4, 0.5]]
    assert np.allclose(byhand.add_positions(X, P), expected)


def test_the_longest_wavelength_falls_short_of_ten_thousand_turns():
    last_pair = byhand.sinusoids(2, 512)[1, -2:]
    wavelength = 2 * math.pi / math.atan2(*last_pair)
    assert math.isclose(wavelength, 60611.5, abs_tol=0.05)


# Properties


@given(lengths, even_widths)
def test_every_row_of_even_width_has_the_same_length(n, d_model):
    assert np.allclose((byhand.sinusoids(n, d_model) ** 2).sum(axis=1), d_model / 2)


@given(lengths, even_widths)
def test_dot_products_depend_on_the_offset_only(n, d_model):
    table = byhand.sinusoids(n, d_model)
    dots = table @ table.T
    for k in range(n):
        assert np.allclose(np.diagonal(dots, k), dots[0, k], atol=1e-10)


@given(lengths, even_widths, st.integers(1, 100))
def test_a_shift_is_one_matrix_at_every_position_forwards_and_back(n, d_model, k):
    table = byhand.sinusoids(n + k, d_model)
    assert np.allclose(table[:-k] @ byhand.shift(k, d_model), table[k:], rtol=0, atol=1e-10)
    assert np.allclose(table[k:] @ byhand.shift(-k, d_model), table[:-k], rtol=0, atol=1e-10)


@given(st.integers(-50, 50), st.integers(-50, 50), even_widths)
def test_shifts_add_up(j, k, d_model):
    both = byhand.shift(j, d_model) @ byhand.shift(k, d_model)
    assert np.allclose(both, byhand.shift(j + k, d_model), rtol=0, atol=1e-12)


@given(widths.filter(lambda d: d > 1))
def test_no_two_positions_are_alike(d_model):
    table = byhand.sinusoids(500, d_model)
    assert len(np.unique(table.round(9), axis=0)) == 500


@given(lengths, lengths, widths)
def test_a_longer_table_begins_with_the_shorter_one(n, more, d_model):
    assert np.array_equal(byhand.sinusoids(n + more, d_model)[:n], byhand.sinusoids(n, d_model))


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 4))
def test_positions_are_added_along_the_sentence_and_not_along_the_batch(batch, length, offset):
    x, table = numbers(batch, length, 3), numbers(10, 3, seed=1)
    y = byhand.add_positions(x, table, offset)
    for b in range(batch):
        for t in range(length):
            assert np.array_equal(y[b, t], x[b, t] + table[offset + t])


# Gradients


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (2, 5, 4, 3)])
@pytest.mark.parametrize("offset", [0, 2])
def test_the_gradient_by_hand_is_that_of_central_differences_and_of_autograd(shape, offset):
    x, table, d_y = numbers(*shape), numbers(7, 3, seed=1), numbers(*shape, seed=2)
    d_x, d_table = byhand.add_positions_backward(d_y, table, offset)
    for array, gradient in ((x, d_x), (table, d_table)):
        for place in np.ndindex(array.shape):
            kept, h, sides = array[place], 1e-5, []
            for step in (h, -h):
                array[place] = kept + step
                sides.append((byhand.add_positions(x, table, offset) * d_y).sum())
            array[place] = kept
            assert math.isclose((sides[0] - sides[1]) / (2 * h), gradient[place], rel_tol=1e-6, abs_tol=1e-8)
    module, leaf = LearnedPositions(7, 3).double(), torch.tensor(x, requires_grad=True)
    module(leaf, offset).backward(torch.tensor(d_y))
    assert np.allclose(leaf.grad, d_x, rtol=0, atol=1e-12)
    assert np.allclose(module.table.grad, d_table, rtol=0, atol=1e-9)


def test_rows_that_no_token_used_get_no_gradient():
    _, d_table = byhand.add_positions_backward(np.ones((2, 3, 4)), np.zeros((9, 4)), offset=1)
    assert np.array_equal(d_table.sum(axis=1), [0, 8, 8, 8, 0, 0, 0, 0, 0])


# Agreement


@given(lengths, widths)
def test_numpy_and_pytorch_give_the_same_sinusoids(n, d_model):
    ours = model.sinusoids(n, d_model, dtype=torch.float64)
    assert np.allclose(ours, byhand.sinusoids(n, d_model), rtol=0, atol=1e-12)


def test_the_last_of_five_thousand_positions_agrees_too():
    ours = model.sinusoids(5000, 512, dtype=torch.float64)
    assert np.allclose(ours, byhand.sinusoids(5000, 512), rtol=0, atol=1e-10)


def test_sinusoids_have_the_default_precision_and_are_rounded_once():
    table = model.sinusoids(5000, 512)
    assert table.dtype == torch.get_default_dtype() == torch.float32
    assert np.array_equal(table, model.sinusoids(5000, 512, dtype=torch.float64).numpy().astype(np.float32))


def test_the_modules_agree_with_numpy_and_with_an_embedding_of_pytorch():
    x = numbers(2, 4, 6)
    fixed, learned = SinusoidalPositions(9, 6).double(), LearnedPositions(9, 6).double()
    assert np.allclose(
        fixed(torch.tensor(x), 3), byhand.add_positions(x, byhand.sinusoids(9, 6), 3), rtol=0, atol=1e-12
    )
    own = torch.nn.Embedding.from_pretrained(learned.table.detach())(torch.arange(3, 7))
    assert torch.equal(learned(torch.tensor(x), 3), torch.tensor(x) + own)
    assert np.array_equal(
        learned(torch.tensor(x), 3).detach(), byhand.add_positions(x, learned.table.detach().numpy(), 3)
    )


# The modules


@BOTH
def test_word_by_word_with_an_offset_is_the_same_as_all_at_once(module):
    positions, x = module(8, 4), torch.tensor(numbers(3, 5, 4), dtype=torch.float32)
    pieces = [positions(x[:, t : t + 1], offset=t) for t in range(5)]
    assert torch.equal(torch.cat(pieces, dim=1), positions(x))


@BOTH
def test_the_last_row_of_the_table_can_be_used(module):
    positions = module(5, 4)
    assert torch.equal(positions(torch.zeros(1, 5, 4))[0], positions.table)
    assert torch.equal(positions(torch.zeros(1, 1, 4), offset=4)[0, 0], positions.table[4])


@BOTH
def test_dropout_falls_on_the_sum_and_in_training_only(module):
    torch.manual_seed(0)
    positions, x = module(50, 40, dropout=0.25), torch.ones(2, 50, 40)
    whole = positions.eval()(x)
    assert torch.equal(whole, x + positions.table)
    dropped = positions.train()(x)
    lost = dropped == 0
    assert 0.2 < lost.float().mean() < 0.3
    assert torch.allclose(dropped[~lost], whole[~lost] / 0.75)


@BOTH
def test_nothing_is_dropped_unless_asked_for(module):
    positions, x = module(5, 4).train(), torch.ones(2, 5, 4)
    assert torch.equal(positions(x), x + positions.table)


def test_fixed_positions_are_neither_learned_nor_saved():
    positions = SinusoidalPositions(10, 4)
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}
    assert [name for name, _ in positions.named_buffers()] == ["table"]


def test_learned_positions_are_saved_under_one_key():
    assert {name: tuple(value.shape) for name, value in LearnedPositions(10, 4).state_dict().items()} == {
        "table": (10, 4)
    }


def test_fixed_positions_follow_the_model_to_another_precision_without_loss():
    positions = SinusoidalPositions(5000, 64)
    exact = byhand.sinusoids(5000, 64)
    assert np.allclose(positions.double().table, exact, rtol=0, atol=1e-10)
    assert np.array_equal(positions.half().table, model.sinusoids(5000, 64, dtype=torch.float16))
    assert np.allclose(positions.double().table, exact, rtol=0, atol=1e-10)
    assert [name for name, _ in positions.named_buffers()] == ["table"]
    assert positions.state_dict() == {}


def test_fixed_positions_made_without_memory_are_filled_when_they_get_some():
    with torch.device("meta"):
        positions = SinusoidalPositions(10, 4)
    assert positions.table.is_meta
    assert torch.equal(positions.to_empty(device="cpu").table, model.sinusoids(10, 4))
    assert positions.to("meta").table.is_meta


def test_learned_rows_begin_with_a_length_of_about_one():
    torch.manual_seed(0)
    lengths = LearnedPositions(200, 256).table.norm(dim=1)
    assert 0.95 < lengths.mean() < 1.05
    assert lengths.max() < 1.3


# Refusals


@pytest.mark.parametrize("sinusoids", [byhand.sinusoids, model.sinusoids])
def test_a_table_without_rows_or_columns_is_refused(sinusoids):
    with pytest.raises(ValueError, match=r"n \(0\) must be at least 1"):
        sinusoids(0, 4)
    with pytest.raises(ValueError, match=r"d_model \(0\) must be at least 1"):
        sinusoids(4, 0)


@pytest.mark.parametrize("sizes", [(0, 4), (4, 0)])
def test_learned_positions_without_rows_or_columns_are_refused(sizes):
    with pytest.raises(ValueError, match=r"(max_len|d_model) \(0\) must be at least 1"):
        LearnedPositions(*sizes)


@pytest.mark.parametrize("d_model", [0, 1, 5])
def test_a_width_without_pairs_cannot_be_shifted(d_model):
    with pytest.raises(
        ValueError, match=rf"d_model \({d_model}\) must be even and at least 2: a lone sine cannot turn"
    ):
        byhand.shift(1, d_model)


@BOTH
def test_a_sentence_longer_than_the_table_is_refused(module):
    with pytest.raises(ValueError, match=r"offset \(0\) \+ length \(6\) must not exceed max_len \(5\)"):
        module(5, 4)(torch.zeros(1, 6, 4))
    with pytest.raises(ValueError, match=r"offset \(4\) \+ length \(2\) must not exceed max_len \(5\)"):
        module(5, 4)(torch.zeros(1, 2, 4), offset=4)
    with pytest.raises(ValueError, match=r"offset \(-1\) must be at least 0"):
        module(5, 4)(torch.zeros(1, 1, 4), offset=-1)


@BOTH
def test_another_width_is_refused_even_where_it_would_broadcast(module):
    with pytest.raises(ValueError, match=r"the width of x \(1\) must be d_model \(4\)"):
        module(5, 4)(torch.zeros(2, 3, 1))


@BOTH
@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_a_dropout_that_is_no_share_is_refused(module, dropout):
    with pytest.raises(ValueError, match=rf"dropout \({dropout}\) must be at least 0 and below 1"):
        module(5, 4, dropout)


def test_by_hand_a_table_that_is_too_short_is_refused_too():
    with pytest.raises(ValueError, match=r"offset \(4\) \+ length \(3\) must not exceed the rows of the table \(5\)"):
        byhand.add_positions(np.zeros((3, 4)), np.zeros((5, 4)), offset=4)
    with pytest.raises(ValueError, match=r"offset \(-1\) must be at least 0"):
        byhand.add_positions(np.zeros((3, 4)), np.zeros((5, 4)), offset=-1)
