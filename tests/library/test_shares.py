"""A share is rounded, but never to the whole, nor, where there is room, to nothing."""

import random

import numpy as np
import pytest

from tested_transformer.shares import as_share

BELOW = 1 - 2**-53  # the largest number below one


@pytest.mark.parametrize(
    ("x", "digits", "bare", "signed"),
    [
        (0, 2, "0", "0"),
        (-1e-17, 2, "0", "0"),
        (1e-300, 2, "0.00", "< 0.0001"),
        (0.0004, 3, "0.000", "0.0004"),
        (0.0049, 2, "0.00", "0.005"),
        (0.0051, 2, "0.01", "0.01"),
        (0.5, 3, "0.500", "0.500"),
        (0.994, 2, "0.99", "0.99"),
        (0.9951, 2, "0.995", "0.995"),
        (0.99995, 2, "0.9999", "0.9999"),
        (0.99995, 3, "0.9999", "0.9999"),
        (0.99994, 4, "0.9999", "0.9999"),
        (0.9999999, 4, "0.9999", "0.9999"),
        (1 - 1e-16, 4, "0.9999", "0.9999"),
        (BELOW, 1, "0.9999", "0.9999"),
        (np.float32(1) - np.float32(2**-24), 2, "0.9999", "0.9999"),
        (1.0, 2, "1", "1"),
        (1 + 2**-52, 2, "1", "1"),
    ],
)
def test_only_the_whole_is_one_and_only_nothing_is_a_bare_zero(x, digits, bare, signed):
    assert as_share(x, digits) == bare
    assert as_share(x, digits, signs=True) == signed


PERCENT = {(0.4, 0): ("0", "0.4"), (99.4, 0): ("99", "99"), (99.6, 0): ("99.6", "99.6"), (100, 0): ("100", "100")}
PERCENT |= {(0, 0): ("0", "0"), (0.04, 1): ("0.0", "0.04"), (99.96, 1): ("99.96", "99.96")}
PERCENT |= {(100 * BELOW, 1): ("99.99", "99.99")}


def test_percent_have_a_whole_of_a_hundred():
    for given, wanted in PERCENT.items():
        assert (as_share(*given, 100), as_share(*given, 100, signs=True)) == wanted, given


@pytest.mark.parametrize("digits", range(1, 7))
def test_what_is_written_differs_by_less_than_its_last_digit_and_else_by_half_of_it(digits):
    found = random.Random(digits)
    for x in [found.random() ** found.choice((1, 9)) for _ in range(500)]:
        for share in (x, 1 - x):
            error = abs(float(as_share(share, digits)) - share)
            assert error <= (0.5 * 10**-digits if round(share, digits) < 1 or error > 1e-4 else 1e-4) + 1e-12, share
            assert as_share(share, digits) not in ("0", "1") or share in (0, 1)
