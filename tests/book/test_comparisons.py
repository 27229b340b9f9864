"""Comparisons of several models with one: known quantiles, Holm's steps, and intervals that hold together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book.comparisons import compare, holm, inside, quantile


@pytest.mark.parametrize(
    ("level", "degrees", "known"),
    [(0.95, 1, 12.7062), (0.95, 4, 2.7764), (0.99, 4, 4.6041), (0.95, 9, 2.2622), (0.9, 30, 1.6973)],
)
def test_quantiles_are_those_of_the_tables(level, degrees, known):
    assert quantile(level, degrees) == pytest.approx(known, abs=1e-4)


@given(st.floats(0.01, 0.999), st.integers(1, 60))
def test_between_the_quantiles_is_the_level(level, degrees):
    assert inside(quantile(level, degrees), degrees) == pytest.approx(level, abs=1e-9)


def test_with_one_degree_of_freedom_the_probability_is_an_angle():
    assert inside(1.0, 1) == pytest.approx(0.5)  # Cauchy: arctan(1) of pi / 2


def test_a_level_that_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"level \(1\) must be between 0 and 1"):
        quantile(1, 3)


def test_holm_stops_at_the_first_that_is_too_large():
    assert holm({"a": 0.04, "b": 0.01, "c": 0.02, "d": 0.03}) == {"b"}  # 0.02 is more than 0.05 / 3
    assert holm({"a": 0.04, "b": 0.01, "c": 0.015, "d": 0.02}) == {"a", "b", "c", "d"}
    assert holm({"a": 0.013, "b": 0.9, "c": 0.9, "d": 0.9}) == set()


@given(st.lists(st.floats(1e-6, 0.5), min_size=1, max_size=9))
def test_holm_finds_all_that_equal_shares_of_the_error_find(p):
    named = {str(i): x for i, x in enumerate(p)}
    assert {name for name, x in named.items() if x < 0.05 / len(p)} <= holm(named)


def test_one_comparison_alone_has_the_interval_of_the_t_test():
    x = [1.0, 2.0, 4.0]
    found = compare({"x": x})["x"]
    half = 4.302653 * np.std(x, ddof=1) / 3**0.5
    assert (found.mean, found.low, found.high) == pytest.approx((7 / 3, 7 / 3 - half, 7 / 3 + half), abs=1e-5)
    assert found.p == pytest.approx(0.1181, abs=1e-4)  # scipy.stats.ttest_1samp(x, 0)
    assert found.verdict == 0


def test_a_verdict_is_the_sign_of_the_mean_and_more_comparisons_need_more():
    far = np.array([-1.0, -1.2, -0.9, -1.1, -1.0])
    near = np.array([0.5, 1.0, 0.2, 0.9, 0.1])
    alone, together = compare({"near": near})["near"], compare({"near": near} | {str(i): near * i for i in range(1, 9)})
    assert (alone.verdict, together["near"].verdict) == (1, 0)
    assert together["near"].high > alone.high
    assert compare({"far": far, "near": near})["far"].verdict == -1
    assert compare({"far": -far})["far"].verdict == 1


def test_all_intervals_together_miss_at_most_as_often_as_they_may():
    draws, missed = np.random.default_rng(0), 0
    for _ in range(2000):
        found = compare({str(i): draws.normal(size=5) for i in range(9)})
        missed += any(not c.low < 0 < c.high for c in found.values())
    assert 0.03 < missed / 2000 < 0.06


@pytest.mark.parametrize("x", [[1.0], [2.0, 2.0], [[1.0, 2.0]]])
def test_what_has_no_spread_cannot_be_judged(x):
    with pytest.raises(ValueError, match=r"differences of 'a' .* needs at least two that are not all the same"):
        compare({"a": x})
