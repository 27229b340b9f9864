"""The checkers of the exercises: what they say to right, wrong, broken and missing answers."""

import numpy as np
import pytest
import torch

from tested_transformer.book.exercises import Report, check, check_test

CASES = [(np.array([1.0, 2.0, 4.0]),), (np.array([[3.0, 5.0]]),)]


def double(x):
    return 2 * x


def verdict(candidate, cases=CASES, laws=None, reference=double):
    return check(candidate, reference, cases, laws)


def test_a_right_answer_is_solved_and_says_so_line_by_line():
    report = verdict(lambda x: x + x, laws={"keeps the shape": lambda y, x: y.shape == x.shape})
    assert report.solved
    assert report.lines == ("it runs: yes", "keeps the shape: yes", "equals the book's function: yes")
    assert repr(report) == "it runs: yes\nkeeps the shape: yes\nequals the book's function: yes"


def test_lists_and_tensors_are_answers_too():
    assert verdict(lambda x: (x + x).tolist()).solved
    assert verdict(lambda x: torch.tensor(x, requires_grad=True) * 2).solved


def test_an_answer_not_yet_written_is_told_so():
    report = verdict(lambda x: None)
    assert not report.solved
    assert repr(report) == "not written yet: the function returns None"


def test_an_error_is_told_and_not_thrown():
    report = verdict(lambda x: x[99])
    assert not report.solved
    assert report.lines == ("it runs: no, IndexError: index 99 is out of bounds for axis 0 with size 3",)


def test_a_wrong_shape_is_told_with_both_shapes():
    report = verdict(lambda x: x[:1])
    assert not report.solved
    assert report.lines[-1] == "equals the book's function: no, its shape is (1,) and should be (3,)"
    assert "its shape is (2,) and should be (1, 2)" in repr(verdict(lambda x: 2 * x.ravel()))


def test_wrong_values_are_told_with_their_share_and_the_first_place():
    report = verdict(lambda x: np.where(x == 4, 7, 2 * x))
    assert not report.solved
    said = "no, 66 % of the values are right; first difference at [2]: 7.0000, not 8.0000"
    assert report.lines[-1] == f"equals the book's function: {said}"


def test_the_second_case_counts_as_much_as_the_first():
    report = verdict(lambda x: 2 * x if x.ndim == 1 else 2 * x + np.array([[0, 1]]))
    assert not report.solved
    assert "50 % of the values are right; first difference at [0, 1]: 11.0000, not 10.0000" in repr(report)


def test_nearly_right_is_never_called_all_right():
    report = verdict(lambda x: x + (np.arange(1000) == 999), [(np.zeros(1000),)])
    assert "99 % of the values are right; first difference at [999]: 1.0000, not 0.0000" in repr(report)


def test_two_numbers_that_look_the_same_are_told_with_more_digits():
    report = verdict(lambda x: 2 * x + 1e-6)
    assert "first difference at [0]: 2.000001000000, not 2.000000000000" in repr(report)


def test_noise_in_the_last_bits_is_no_mistake():
    assert verdict(lambda x: 2 * x * (1 + 1e-13)).solved
    assert not verdict(lambda x: 2 * x * (1 + 1e-7)).solved


def test_a_number_has_no_place():
    report = verdict(lambda x: 5.0, [(1.0,)])
    assert report.lines[-1].endswith("0 % of the values are right; first difference: 5.0000, not 2.0000")


def test_not_a_number_is_not_right():
    assert "first difference at [0]: nan, not 2.0000" in repr(verdict(lambda x: np.full_like(x, np.nan)))


def test_words_and_ragged_lists_are_not_arrays_of_numbers():
    for answer in ("many", [[1.0], [1.0, 2.0]], {"a": 1}):
        assert "no, it is not an array of numbers" in repr(verdict(lambda x, answer=answer: answer))


def test_a_tuple_in_place_of_the_output_is_named():
    for answer in ((np.zeros((2, 2)), np.zeros((2, 2))), (np.zeros((2, 3)), np.zeros(2)), (1.0, 2.0, 3.0)):
        report = verdict(lambda x, answer=answer: answer, [(np.zeros((2, 2)),)], {"is small": lambda y, x: y < 9})
        said = f"no, you returned a tuple of {len(answer)}; return the output alone"
        assert report == Report(False, ("it runs: yes", f"equals the book's function: {said}"))


def test_a_tuple_is_an_answer_where_it_has_the_numbers_or_where_the_book_returns_one():
    assert verdict(lambda x: (2.0, 4.0, 8.0), CASES[:1]).solved
    assert verdict(lambda x: (x, 2 * x), reference=lambda x: (x, 2 * x)).solved
    report = verdict(lambda x: (x, x, x), CASES[:1], reference=lambda x: (x, 2 * x))
    assert "its shape is (3, 3) and should be (2, 3)" in repr(report)


def test_a_missing_keepdims_becomes_a_hint():
    assert repr(verdict(lambda x: x / x.sum(axis=-1), [(np.ones((2, 3, 4)),)])) == (
        "it runs: no, ValueError: operands could not be broadcast together with shapes (2,3,4) (2,3)"
        "; if a sum, mean or max gave the (2, 3), keepdims=True keeps its axis"
    )


def test_the_hint_names_an_axis_that_is_lost_in_the_middle_and_a_vector():
    assert "gave the (2, 4), keepdims" in repr(verdict(lambda x: x - x.mean(axis=1), [(np.ones((2, 3, 4)),)]))
    assert "gave the (2,), keepdims" in repr(verdict(lambda x: x.max(axis=1) - x, [(np.ones((2, 3)),)]))


@pytest.mark.parametrize("other", [(4, 3), (5,), (3, 2)])
def test_other_shapes_that_do_not_fit_get_no_hint(other):
    report = verdict(lambda x: x + np.ones(other), [(np.ones((2, 3)),)])
    assert report.lines[0].startswith("it runs: no, ValueError: operands could not be broadcast")
    assert "keepdims" not in repr(report)
    report = verdict(lambda x: np.where(x > 0, x, np.ones((2, 4))), [(np.ones((2, 3, 4)),)])
    assert report.lines[0].endswith("shapes (2,3,4) (2,3,4) (2,4)")


def test_two_shapes_in_an_error_of_another_kind_get_no_hint():
    def refuses(x):
        raise ValueError("the shapes are (2,3) and (2,)")

    assert verdict(refuses).lines == ("it runs: no, ValueError: the shapes are (2,3) and (2,)",)


def test_one_missing_answer_among_others_is_a_wrong_one():
    report = verdict(lambda x: 2 * x if x.ndim == 1 else None)
    assert not report.solved
    assert "its shape is () and should be (1, 2)" in repr(report)


def test_a_broken_law_is_named_even_where_the_values_are_right():
    report = verdict(double, laws={"is small": lambda y, x: np.all(y < 9), "is even": lambda y, x: np.all(y % 2 == 0)})
    assert not report.solved
    assert report.lines[1:3] == ("is small: no", "is even: yes")


def test_a_law_must_hold_in_every_case():
    for law in (lambda y, x: x.ndim == 1, lambda y, x: x.ndim == 2):
        assert "holds: no" in repr(verdict(double, laws={"holds": law}))


@pytest.mark.parametrize("error", [TypeError, ValueError, IndexError, AttributeError, RuntimeError, KeyError])
def test_a_result_that_a_law_cannot_read_does_not_keep_it(error):
    def law(y, x):
        raise error

    assert verdict(double, laws={"can be read": law}).lines[1] == "can be read: no"


def test_an_answer_that_changes_its_arguments_spoils_neither_case_nor_reference():
    def changes(x):
        x *= 2
        return x

    cases = [(np.array([1.0, 2.0]),)]
    assert verdict(changes, cases).solved
    assert cases[0][0].tolist() == [1, 2]


def test_cases_may_come_from_a_generator_but_there_must_be_some():
    assert verdict(double, (case for case in CASES)).solved
    assert not verdict(lambda x: x, (case for case in CASES)).solved
    with pytest.raises(ValueError, match="check needs at least one case"):
        verdict(double, [])


def is_double(f):
    return f(3) == 6


def test_a_test_that_tells_right_from_wrong_solves_the_exercise():
    report = check_test(is_double, double, abs)
    assert report.solved
    assert report.lines == ("it accepts the right function: yes", "it rejects the broken one: yes")


def test_a_test_that_accepts_everything_or_nothing_does_not():
    assert check_test(lambda f: True, double, abs) == Report(
        False, ("it accepts the right function: yes", "it rejects the broken one: no")
    )
    assert check_test(lambda f: False, double, abs) == Report(
        False, ("it accepts the right function: no", "it rejects the broken one: yes")
    )


def test_a_test_not_yet_written_is_told_so():
    assert check_test(lambda f: None, double, abs) == Report(False, ("not written yet: the test returns None",))


def test_a_test_may_say_no_by_an_error():
    def asserting(f):
        assert f(3) == 6
        return True

    assert check_test(asserting, double, abs).solved
    report = check_test(asserting, abs, double)
    assert not report.solved
    assert report.lines[0].startswith("it accepts the right function: no, AssertionError: assert 3 == 6")


def test_a_test_that_asserts_and_says_nothing_is_told_to_end_with_true():
    def asserts(f):
        assert f(3) == 6

    report = check_test(asserts, double, abs)
    assert report.lines == ("it accepts the right function: no, it returns None: let it end with return True",)


def test_a_test_that_cannot_run_says_nothing_of_the_broken_function():
    report = check_test(lambda f: f(3, 4) == 6, double, abs)
    assert len(report.lines) == 1
    assert report.lines[0].startswith("it accepts the right function: no, TypeError")


def test_a_law_of_numpy_reads_the_tensor_that_a_solution_returns():
    laws = {"it has no negative number": lambda result, x: bool(np.all(np.maximum(result, 0) == result))}
    report = check(lambda x: torch.tensor(x, requires_grad=True) * 2, lambda x: x * 2, [(np.ones(3),)], laws)
    assert report.solved, report
