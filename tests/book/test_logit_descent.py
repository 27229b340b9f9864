"""Logits on their way: a step is the slope of the loss, and the end is where the model says the target."""

import numpy as np
import pytest

from tested_transformer.book import figures, logit_descent
from tested_transformer.byhand.softmax import softmax

ROW = np.array([0.0, 0, 3, 1])
SHARES = np.array([0.1, 0.1, 0.6, 0.2])


def test_a_step_goes_against_the_slope_and_the_first_row_is_after_one():
    path = logit_descent.towards(ROW, SHARES, 3)
    assert path.shape == (3, 4)
    assert np.allclose(path[0], ROW - softmax(ROW) + SHARES)
    assert np.allclose(path[2], path[1] - softmax(path[1]) + SHARES)


def test_it_ends_where_the_model_says_the_target_and_nowhere_if_a_share_is_zero():
    assert np.allclose(softmax(logit_descent.towards(ROW, SHARES, 1000)[-1]), SHARES)
    for n in (1000, 10_000):
        late = logit_descent.gap(logit_descent.towards(ROW, np.eye(4)[2], n), 2)
        assert late[-1] - late[n // 10 - 1] == pytest.approx(np.log(10), abs=0.05)


def test_the_gap_is_to_the_mean_of_the_others():
    assert logit_descent.gap(np.array([[1.0, 2, 6], [0, 0, 3]]), 2).tolist() == [4.5, 3]


def test_no_step_is_refused():
    with pytest.raises(ValueError, match=r"n_steps \(0\) must be at least 1"):
        logit_descent.towards(ROW, SHARES, 0)


def figure(**changed):
    plain = figures.loss.gaps([1, 2], {"a": [1.0, 2.0]})
    given = {"right": 2, "tokens": "abcd", "shares": {"one": np.eye(4)[2], "two": SHARES}, "plain": plain}
    return figures.loss.goals(ROW, **(given | changed))


def test_the_figure_has_what_it_starts_from_and_its_first_state_as_a_table():
    found = figure(start=10)
    assert found.data["shares"] == {"one": [0, 0, 1, 0], "two": SHARES.tolist()}
    assert (found.data["right"], found.data["start"], found.data["tokens"]) == (2, 10, ["a", "b", "c", "d"])
    ((title, (_, columns, table)),) = found.tables.items()
    assert (title, columns) == ("one, not smoothed, after 10 steps", ("target", "model", "surprise"))
    p = softmax(logit_descent.towards(ROW, np.eye(4)[2], 10)[-1])
    assert np.allclose(table.T, [np.eye(4)[2], p, -np.log(p)])


def test_shares_of_another_size_and_a_start_beside_the_steps_are_refused():
    with pytest.raises(ValueError, match=r"two: the shares must have one number each, not \(3,\) for logits \(4,\)"):
        figure(shares={"one": SHARES, "two": SHARES[:3]})
    with pytest.raises(ValueError, match=r"start \(7\) must be one of the steps \[1, 2, 5,"):
        figure(start=7)
