"""What the scripts of figures calculate and say at their borders, under Node: tested where there is no browser, too."""

import math
import re

import numpy as np
import pytest
import torch
from node import evaluated

from tested_transformer.decoding.sampling import next_probabilities
from tested_transformer.shares import as_share, counted, written

# Numbers


NUMBERS = [0, 1e-10, 1.1e-10, 0.004, 0.005, 0.006, 0.125, 0.375, 0.5, 2, 999.995, 1000, 1234.5, 99999.5, 999999, 1e6]
NUMBERS += [
    *(n / 8 for n in range(80)),
    *(n / 1000 for n in range(80)),
    9.995e6,
    1.125e6,
    2.5e9,
    1.797e308,
    *np.geomspace(1e-11, 1e12, 1500),
    *np.random.default_rng(3).normal(size=1500),
]


@pytest.mark.parametrize("places", [0, 1, 2, 4])
def test_a_number_is_written_alike_in_both_languages(places):
    given = [float(sign * x) for x in NUMBERS for sign in (1, -1)]
    found = evaluated(f"given.map(x => figures.written(x, {places}))", given, "common.js")
    assert found == [written(x, places) for x in given]
    ends = evaluated("[Infinity, -Infinity].map(x => figures.written(x, 2))", None, "common.js")
    assert ends == [written(math.inf, 2), written(-math.inf, 2)] == ["∞", "−∞"]


def test_a_number_has_its_decimals_a_true_minus_thin_spaces_and_a_power_where_it_is_large():
    said = {
        0: "0", -1e-10: "0", 1.1e-10: "0.00", -0.004: "0.00", 0.006: "0.01", -0.5: "−0.50", 2: "2.00",
        -99999.5: "−99\u202f999.50", 1e6: "1.00 · 10⁶", -2.5e12: "−2.50 · 10¹²",
    }  # fmt: skip
    assert [written(x, 2) for x in said] == [*said.values()]
    counts = {0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567", -4000: "−4\u202f000"}
    assert [counted(n) for n in counts] == [*counts.values()]
    assert evaluated("given.map(figures.counted)", [*counts], "common.js") == [*counts.values()]


def test_a_matrix_has_as_few_decimals_as_write_it_without_rounding_and_four_at_most():
    matrices = {0: [[1, -2]], 1: [[1, 0.5]], 2: [[0.25, 1e-11]], 3: [[0.125]], 4: [[1 / 3]], 5: [[1, 1e-9]]}
    found = evaluated("given.map(m => figures.places(m))", [*matrices.values()], "common.js")
    assert found == [min(n, 4) for n in matrices]


# The sampler


@pytest.mark.parametrize("words", [2, 4, 8])
def test_a_nucleus_ends_where_its_share_is_reached_exactly(words):
    """All words are equally likely, so sums of their shares are exact: with p = n / words it has n words."""
    logits, shares = [0.0] * words, [n / words for n in range(1, words + 1)]
    found = evaluated(
        "given[1].map(p => figures.nextProbabilities(given[0], { p }))", [logits, shares], "common.js", "sampler.js"
    )
    for n, (mine, p) in enumerate(zip(found, shares, strict=True), start=1):
        assert mine == next_probabilities(torch.tensor(logits, dtype=torch.float64), top_p=p).tolist(), p
        assert sum(x > 0 for x in mine) == n


# Shares

SHARES = [0, 1e-300, 1e-9, 0.0004, 0.0005, 0.0049, 0.005, 0.0051, 0.125, 0.375, 0.5, 0.625, 0.875, 0.99, 0.994, 0.995]
SHARES += [0.9951, 0.99949, 0.9995, 0.99951, 0.99994, 0.99995, 0.9999999, 1 - 1e-16, 1, 1 + 2**-52]
SHARES += [*np.linspace(0, 1, 2001).tolist(), *(1 - np.geomspace(1e-16, 0.1, 100)).tolist()]


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize(("digits", "whole"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (0, 100), (1, 100)])
def test_a_share_is_written_alike_in_both_languages_and_only_the_whole_as_the_whole(digits, whole, signs):
    given = [whole * x for x in SHARES]
    how = f"{digits}, {{ whole: {whole}, signs: {str(signs).lower()} }}"
    found = evaluated(f"given.map(x => figures.asShare(x, {how}))", given, "common.js")
    assert found == [as_share(x, digits, whole, signs=signs) for x in given]
    for text, x in zip(found, given, strict=True):
        number = float(text.removeprefix("< "))
        assert (number < whole) == (x < whole), text
        assert not signs or (number > 0) == (x > 0), text


def test_a_share_near_the_whole_or_nothing_has_four_decimals_at_most():
    said = {0: "0", 1e-20: "< 0.0001", 0.00006: "0.0001", 0.0004: "0.0004", 0.004: "0.004", 0.006: "0.01",
            0.5: "0.50", 0.994: "0.99", 0.996: "0.996", 0.9996: "0.9996", 0.99995: "0.9999",
            1 - 1e-16: "0.9999", 1: "1"}  # fmt: skip
    assert [as_share(x, 2, signs=True) for x in said] == [*said.values()]
    assert evaluated("given.map(x => figures.written(x, 2, true))", [*said], "common.js") == [*said.values()]
    assert [as_share(x, 2) for x in (0.0004, 0.004, 0.996)] == ["0.00", "0.00", "0.996"]


def test_percent_are_all_or_nothing_only_where_they_are():
    given = [0, 1e-9, 0.0004, 0.0006, 0.5, 0.9994, 0.9996, 1 - 1e-16, 1]
    found = evaluated("given.map(x => figures.percent(x, 1))", given, "common.js")
    assert found == ["0 %", "< 0.01 %", "0.04 %", "0.1 %", "50.0 %", "99.9 %", "99.96 %", "99.99 %", "100 %"]


@pytest.mark.parametrize(
    ("logits", "shares"), [([0, -10, -30], ["0.9999", "< 0.0001"]), ([0, -40, -50], ["1", "< 0.0001"])]
)
def test_a_word_that_takes_all_but_a_little_is_not_said_to_take_all(logits, shares):
    """e^-40 is lost in the sum, so that this weight is the number 1."""
    figure = "{ words: ['a', 'b', 'c'], chosen: { i: 0 }, before: null, steps: { weights: [figures.softmax(given)] } }"
    call = f"elements['attention-figure'].prototype.sentence.call({figure})"
    most, least = shares
    said = f"“a” takes {most} from “a”, {least} from “b”, {least} from “c”."
    assert evaluated(call, logits, "common.js", "attention.js") == said


def test_what_is_certain_and_what_is_nearly_so_have_other_log_probabilities():
    said = {0: "0", -1e-9: "> −0.01", -0.004: "> −0.01", -0.006: "−0.01", -1.5: "−1.50"}
    found = evaluated("given.map(figures.logarithm)", [*said], "common.js", "model.js", "live.js")
    assert found == [*said.values()]


# Costs


@pytest.mark.parametrize(("written", "words"), [("large", "million billion trillion"), ("bytes", "kB MB GB TB")])
def test_large_numbers_have_three_digits_and_a_word_for_thousands(written, words):
    sizes = {word: 10.0 ** (12 - 3 * n) for n, word in enumerate(reversed(words.split()))}
    borders = (1, 9.994, 9.996, 99.94, 99.96, 99.6, 996, 999.4, 999.6)
    numbers = [x * size for size in sizes.values() for x in (*borders, *np.geomspace(1, 999, 50)) if x * size < 9.99e14]
    said = evaluated(f"given.map(figures.{written})", numbers, "common.js", "cost.js")
    for text, x in zip(said, numbers, strict=True):
        digits, word = text.split()
        assert re.fullmatch(r"\d\.\d\d|\d\d\.\d|\d{3}", digits), text
        third = 10 ** (math.floor(math.log10(x)) - 2)
        assert abs(float(digits) * sizes[word] - x) <= (0.5 + 1e-9) * third, text


# Attention as geometry


def test_an_output_lies_all_but_at_a_corner_where_two_decimals_of_the_weight_are_one():
    tops = [0.5, 0.9, 0.98, 0.99, 0.9949, 0.9951, 0.999, 1.0]
    weights = [[(1 - top) / 2, top, (1 - top) / 2] for top in tops]
    lies = "given.map(weights => figures.lies(['a', 'b', 'c'], weights, [true, true, true]))"
    for said, top in zip(evaluated(lies, weights, "common.js", "geometry.js"), tops, strict=True):
        where = "all but at the corner of" if f"{top:.2f}" == "1.00" else "pulled most towards"
        assert said == f"the output lies inside the triangle, {where} “b”", top


# Smoothing


@pytest.mark.parametrize(("ends", "endless"), [(2.5, False), (None, True)])
def test_a_loss_is_at_its_floor_where_two_decimals_show_no_difference_and_an_end_is_known(ends, endless):
    figure = "{ data: { steps: [7] }, step: 0, stops: given[0] ?? Infinity, count: () => '7' }"
    said = f"given[1].map(rest => elements['smoothing-figure'].prototype.said.call({figure}, 1, 0.5 + rest, 0.5))"
    rests = [0.0, 1e-9, 1e-4, 0.004, 0.00499, 0.00501, 0.006, 0.01, 0.02, 0.049, 0.051, 0.2, 3.0]
    for text, rest in zip(evaluated(said, [ends, rests], "common.js", "smoothing.js"), rests, strict=True):
        at_floor = "The model says the target, so the loss is at its floor."
        assert text.startswith(f"After 7 steps the gap is 1.00; it {'never ends' if endless else 'ends at 2.50'}. ")
        assert text.endswith(at_floor) == (not endless and f"{rest:.2f}" == "0.00"), rest
        if rest > 0.005:
            assert text.endswith(f"The loss is {rest:.2f} above its floor.")
