"""The checkers of the exercises: what they say to right, wrong, broken and missing answers."""

import numpy as np
import pytest
import torch

from tested_transformer.book.exercises import Report, check, check_test

CASES = [(np.array([1.0, 2.0, 4.0]),), (np.array([[3.0, 5.0]]),)]
RUNS, EQUALS = "it runs: ", "equals the book's function: "


def double(x):
    return 2 * x


def verdict(candidate, cases=CASES, laws=None, reference=double):
    return check(candidate, reference, cases, laws)


def changes(x):
    x *= 2
    return x


def refuses(x):
    raise ValueError("the shapes are (2,3) and (2,)")


def broadcast(*shapes):
    return "ValueError: operands could not be broadcast together with shapes " + " ".join(shapes)


@pytest.mark.parametrize(
    "answer",
    [
        changes,
        lambda x: (x + x).tolist(),
        lambda x: torch.tensor(x, requires_grad=True) * 2,
        lambda x: 2 * x * (1 + 1e-13),  # noise in the last bits
    ],
)
def test_a_right_answer_is_solved_and_says_so_line_by_line(answer):
    cases = [(case.copy(),) for (case,) in CASES]
    report = verdict(answer, cases, laws={"keeps the shape": lambda y, x: np.shape(y) == x.shape})
    assert report == Report(True, (f"{RUNS}yes", "keeps the shape: yes", f"{EQUALS}yes"))
    assert repr(report) == "\n".join(report.lines)
    assert cases[0][0].tolist() == [1, 2, 4], "an answer that changes its arguments spoils neither case nor reference"


THIRD, WRONG = (np.ones((2, 3, 4)),), "% of the values are right; first difference"
WRONG_ANSWERS = {
    "not written": (lambda x: None, CASES, "not written yet: the function returns None"),
    "an error": (lambda x: x[99], CASES, f"{RUNS}no, IndexError: index 99 is out of bounds for axis 0 with size 3"),
    "a shape": (lambda x: x[:1], CASES, f"{EQUALS}no, its shape is (1,) and should be (3,)"),
    "a shape of the second": (lambda x: 2 * x.ravel(), CASES, f"{EQUALS}no, its shape is (2,) and should be (1, 2)"),
    "a missing answer": (lambda x: 2 * x if x.ndim == 1 else None, CASES, "its shape is () and should be (1, 2)"),
    "a value": (lambda x: np.where(x == 4, 7, 2 * x), CASES, f"{EQUALS}no, 66 {WRONG} at [2]: 7.0000, not 8.0000"),
    "a value of the second": (
        lambda x: 2 * x if x.ndim == 1 else 2 * x + np.array([[0, 1]]),
        CASES,
        f"no, 50 {WRONG} at [0, 1]: 11.0000, not 10.0000",
    ),
    "one of a thousand": (lambda x: x + (np.arange(1000) == 999), [(np.zeros(1000),)], f"99 {WRONG} at [999]: 1.0000"),
    "nearly the same": (lambda x: 2 * x + 1e-6, CASES, f"0 {WRONG} at [0]: 2.000001000000, not 2.000000000000"),
    "more than noise": (lambda x: 2 * x * (1 + 1e-7), CASES, f"0 {WRONG} at [0]: 2.000000200000"),
    "a number": (lambda x: 5.0, [(1.0,)], f"0 {WRONG}: 5.0000, not 2.0000"),
    "not a number": (lambda x: np.full_like(x, np.nan), CASES, f"0 {WRONG} at [0]: nan, not 2.0000"),
    "a word": (lambda x: "many", CASES, "no, it is not an array of numbers"),
    "a ragged list": (lambda x: [[1.0], [1.0, 2.0]], CASES, "no, it is not an array of numbers"),
    "no keepdims": (
        lambda x: x / x.sum(axis=-1),
        [THIRD],
        f"{RUNS}no, {broadcast('(2,3,4)', '(2,3)')}"
        "; if a sum, mean or max gave the (2, 3), keepdims=True keeps its axis",
    ),
    "no keepdims, in the middle": (lambda x: x - x.mean(axis=1), [THIRD], "gave the (2, 4), keepdims"),
    "no keepdims, of a vector": (lambda x: x.max(axis=1) - x, [(np.ones((2, 3)),)], "gave the (2,), keepdims"),
    "a length": (lambda x: x + np.ones(5), [(np.ones((2, 3)),)], broadcast("(2,3)", "(5,)")),
    "a turned shape": (lambda x: x + np.ones((3, 2)), [(np.ones((2, 3)),)], broadcast("(2,3)", "(3,2)")),
    "three shapes": (
        lambda x: np.where(x > 0, x, np.ones((2, 4))),
        [THIRD],
        broadcast("(2,3,4)", "(2,3,4)", "(2,4)"),
    ),
    "two shapes in another error": (refuses, CASES, f"{RUNS}no, ValueError: the shapes are (2,3) and (2,)"),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_a_wrong_answer_is_told_what_is_wrong_and_where(name):
    answer, cases, told = WRONG_ANSWERS[name]
    report = verdict(answer, cases)
    assert not report.solved
    assert told in report.lines[-1]
    assert ("keepdims" in report.lines[-1]) == ("keepdims" in told)


def test_a_tuple_in_place_of_the_output_is_named():
    for answer in ((np.zeros((2, 2)), np.zeros((2, 2))), (np.zeros((2, 3)), np.zeros(2)), (1.0, 2.0, 3.0)):
        report = verdict(lambda x, answer=answer: answer, [(np.zeros((2, 2)),)], {"is small": lambda y, x: y < 9})
        said = f"no, you returned a tuple of {len(answer)}; return the output alone"
        assert report == Report(False, (f"{RUNS}yes", f"{EQUALS}{said}"))


def test_a_tuple_is_an_answer_where_it_has_the_numbers_or_where_the_book_returns_one():
    assert verdict(lambda x: (2.0, 4.0, 8.0), CASES[:1]).solved
    assert verdict(lambda x: (x, 2 * x), reference=lambda x: (x, 2 * x)).solved
    report = verdict(lambda x: (x, x, x), CASES[:1], reference=lambda x: (x, 2 * x))
    assert "its shape is (3, 3) and should be (2, 3)" in repr(report)


def unreadable(y, x):
    raise KeyError


@pytest.mark.parametrize(
    ("law", "kept"),
    [
        (lambda y, x: np.all(y % 2 == 0), "yes"),
        (lambda y, x: np.all(y < 9), "no"),
        (lambda y, x: x.ndim == 1, "no"),  # a law must hold in every case
        (lambda y, x: x.ndim == 2, "no"),
        (unreadable, "no"),
    ],
)
def test_a_broken_law_is_named_even_where_the_values_are_right(law, kept):
    report = verdict(double, laws={"the law": law})
    assert report.lines[1] == f"the law: {kept}"
    assert report.solved == (kept == "yes")


def test_a_law_of_numpy_reads_the_tensor_that_a_solution_returns():
    laws = {"it has no negative number": lambda result, x: bool(np.all(np.maximum(result, 0) == result))}
    assert verdict(lambda x: torch.tensor(x, requires_grad=True) * 2, laws=laws).solved


def test_cases_may_come_from_a_generator_but_there_must_be_some():
    assert verdict(double, (case for case in CASES)).solved
    assert not verdict(lambda x: x, (case for case in CASES)).solved
    with pytest.raises(ValueError, match="check needs at least one case"):
        verdict(double, [])


def asserts(f):
    assert f(3) == 6


ACCEPTS, REJECTS = "it accepts the right function: ", "it rejects the broken one: "


@pytest.mark.parametrize(
    ("test", "right", "told"),
    [
        (lambda f: f(3) == 6, double, [f"{ACCEPTS}yes", f"{REJECTS}yes"]),
        (lambda f: asserts(f) or True, double, [f"{ACCEPTS}yes", f"{REJECTS}yes"]),  # it may say no by an error
        (lambda f: True, double, [f"{ACCEPTS}yes", f"{REJECTS}no"]),
        (lambda f: False, double, [f"{ACCEPTS}no", f"{REJECTS}yes"]),
        (lambda f: None, double, ["not written yet: the test returns None"]),
        (asserts, double, [f"{ACCEPTS}no, it returns None: let it end with return True"]),
        (asserts, abs, [f"{ACCEPTS}no, AssertionError: assert 3 == 6"]),
        (lambda f: f(3, 4) == 6, double, [f"{ACCEPTS}no, TypeError"]),  # nothing is said of the broken one
    ],
)
def test_a_test_must_accept_the_right_function_and_reject_the_broken_one(test, right, told):
    report = check_test(test, right, abs)
    assert report.solved == (told[-1] == f"{REJECTS}yes" and told[0] == f"{ACCEPTS}yes")
    for line, words in zip(report.lines, told, strict=True):
        assert line.startswith(words)
