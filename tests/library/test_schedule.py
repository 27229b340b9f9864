"""The learning rate of each step: the paper's numbers, its two branches, and PyTorch's scheduler."""

import math

import numpy as np
import pytest
import torch
from helpers import assert_near
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.config import BASE, BIG
from tested_transformer.training.adam import create_adam
from tested_transformer.training.options import Options
from tested_transformer.training.schedule import cosine, create_schedule, rate

WIDTHS, WARMUPS = st.integers(1, 4096), st.integers(1, 10_000)


# By hand


def test_small_numbers_by_hand():
    # width 4 halves; a warm-up of 4 divides the line by 8
    rates = [rate(step, d_model=4, warmup=4) for step in (1, 2, 4, 9, 16)]
    assert_near(rates, [1 / 16, 1 / 8, 1 / 4, 1 / 6, 1 / 8], 1e-15)


@pytest.mark.parametrize(
    ("config", "step", "published"),
    [
        (BASE, 1, "1.7469e-07"),
        (BASE, 4000, "6.9877e-04"),
        (BASE, 100_000, "1.3975e-04"),
        (BIG, 4000, "4.9411e-04"),
        (BIG, 300_000, "5.7054e-05"),
    ],
)
def test_the_rates_of_the_papers_models(config, step, published):
    assert f"{rate(step, config.d_model):.4e}" == published


# Laws


@given(WIDTHS, WARMUPS)
def test_the_peak_stands_at_the_end_of_the_warm_up_and_has_a_closed_form(d_model, warmup):
    peak = rate(warmup, d_model, warmup)
    assert_near(peak, 1 / math.sqrt(d_model * warmup), 1e-12)
    assert rate(warmup + 1, d_model, warmup) < peak
    assert warmup == 1 or rate(warmup - 1, d_model, warmup) < peak


@given(WIDTHS, st.integers(2, 10_000), st.data())
def test_it_is_a_line_before_the_peak_and_a_root_after_it(d_model, warmup, data):
    before, after = data.draw(st.integers(1, warmup)), data.draw(st.integers(warmup, 10**7))
    assert_near(rate(before, d_model, warmup), before * rate(1, d_model, warmup), 1e-12)
    assert_near(rate(after, d_model, warmup) * math.sqrt(after), d_model**-0.5, 1e-12)


@given(st.integers(1, 10**6), WIDTHS, WARMUPS)
def test_four_times_the_width_is_half_the_rate_and_the_factor_multiplies(step, d_model, warmup):
    whole = rate(step, d_model, warmup)
    assert_near(rate(step, 4 * d_model, warmup), whole / 2, 1e-12)
    assert_near(rate(step, d_model, warmup, factor=3.0), 3 * whole, 1e-12)


def test_the_warm_up_of_the_paper_is_the_default():
    assert all(rate(step, 512) == rate(step, 512, warmup=4000) for step in (1, 3999, 4000, 4001, 10**5))


def test_after_both_peaks_the_warm_up_is_forgotten():
    assert rate(5000, 512, warmup=100) == rate(5000, 512, warmup=4000)


# PyTorch's scheduler


def rates_used(optimizer, schedule, n_steps):
    used = []
    for _ in range(n_steps):
        used.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
    return np.array(used)


def groups():
    """An optimiser with two groups of parameters that have a gradient."""
    parameters = [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]
    for parameter in parameters:
        parameter.grad = torch.ones(2)
    return create_adam([{"params": [parameter]} for parameter in parameters])


def test_the_scheduler_uses_the_rate_of_step_one_first_and_of_every_step_in_order():
    optimizer = groups()
    used = rates_used(optimizer, create_schedule(optimizer, 512, warmup=3, factor=2.0), 10)
    expected = [rate(step, 512, 3, 2.0) for step in range(1, 11)]
    assert_near(used, np.column_stack([expected, expected]), 1e-15)


def test_the_scheduler_has_the_papers_warm_up_unless_given():
    optimizer = groups()
    used = rates_used(optimizer, create_schedule(optimizer, 512), 3)
    assert_near(used[:, 0], [rate(step, 512) for step in (1, 2, 3)], 1e-15)


def test_a_scheduler_goes_on_where_it_was_saved():
    optimizer = groups()
    schedule = create_schedule(optimizer, 512, warmup=3)
    rates_used(optimizer, schedule, 4)
    saved = optimizer.state_dict(), schedule.state_dict()
    second = groups()
    resumed = create_schedule(second, 512, warmup=3)
    second.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    assert_near(rates_used(second, resumed, 3)[:, 0], [rate(step, 512, 3) for step in (5, 6, 7)], 1e-15)


# Refusals


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"step": 0}, r"step \(0\) must be at least 1"),
        ({"step": -3}, r"step \(-3\) must be at least 1"),
        ({"d_model": 0}, r"d_model \(0\) must be at least 1"),
        ({"warmup": 0}, r"warmup \(0\) must be at least 1"),
        ({"factor": 0.0}, r"factor \(0.0\) must be positive"),
        ({"factor": -1.0}, r"factor \(-1.0\) must be positive"),
    ],
)
def test_numbers_without_a_meaning_are_refused(wrong, words):
    arguments = {"step": 1, "d_model": 512, "warmup": 4000, "factor": 1.0}
    assert rate(**arguments) > 0
    with pytest.raises(ValueError, match=words):
        rate(**arguments | wrong)


def test_a_rate_is_not_put_on_top_of_a_rate():
    optimizer = groups()
    optimizer.param_groups[1]["lr"] = 0.001
    with pytest.raises(ValueError, match=r"lr \(0.001\) must be 1: the schedule would multiply it"):
        create_schedule(optimizer, 512)


# Figures


def drawn(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def test_distances_are_drawn_from_step_one_under_the_name_of_their_rate():
    curves = {"0.1": np.array([1.0, 0.5, 0.4]), "falling": np.array([1.0, 0.5, 0.2])}
    places = {"0.1": (2, 0.6), "falling": (2, 0.3)}
    (axes,) = figures.schedule.hover(curves, places).axes
    lines = {line.get_color(): line.get_xydata().tolist() for line in axes.lines}
    assert {text.get_text(): lines[text.get_color()] for text in axes.texts} == {
        name: [[i + 1, y] for i, y in enumerate(curve)] for name, curve in curves.items()
    }
    assert {text.get_text(): text.get_position() for text in axes.texts} == places


def test_noise_is_drawn_over_the_curve_of_the_formula():
    (axes,) = figures.schedule.noise([1.0, 0.6], [1.0, 0.7], 0.25).axes
    assert drawn(axes)["measured"].tolist() == [[1, 1], [2, 0.6]]
    assert drawn(axes)["by the formula"].tolist() == [[1, 1], [2, 0.7]]
    assert list(axes.lines[2].get_ydata()) == [0.25, 0.25]


def test_rates_are_drawn_with_the_end_of_the_warm_up():
    steps, curves = np.array([1, 5000, 100_000]), {"base": [1e-4, 7e-4, 2e-4], "big": [1e-4, 5e-4, 1e-4]}
    (axes,) = figures.schedule.rates(steps, curves, 4000).axes
    for name, curve in curves.items():
        assert drawn(axes)[name].tolist() == np.column_stack([steps, curve]).tolist()
    assert list(axes.lines[2].get_xdata()) == [4000, 4000]
    assert axes.texts[0].get_text() == "step 4,000"


def test_runs_of_one_kind_share_a_colour_and_one_name():
    runs = {"with": [[3.0, 1.0], [3.0, 1.1]], "without": [[3.0, 2.0], [3.0, 2.1]]}
    (axes,) = figures.schedule.training(runs, 1.8, "guessing").axes
    curves = axes.lines[:4]
    assert [list(line.get_ydata()) for line in curves] == [*runs["with"], *runs["without"]]
    assert curves[0].get_color() == curves[1].get_color() != curves[2].get_color()
    assert list(axes.lines[4].get_ydata()) == [1.8, 1.8]
    assert [text.get_text() for text in axes.texts] == ["guessing", "with", "without"]


def test_a_cosine_rises_in_a_line_is_at_half_in_the_middle_and_reaches_zero_after_the_last_step():
    assert [cosine(step, 29, 10) for step in (1, 5, 10)] == [0.1, 0.5, 1.0]
    assert cosine(20, 29, 10) == pytest.approx(0.5)
    assert cosine(30, 29, 10) == pytest.approx(0, abs=1e-15)
    assert 0 < cosine(29, 29, 10) < 0.01
    falls = [cosine(step, 29, 10) for step in range(10, 31)]
    assert falls == sorted(falls, reverse=True)


def test_the_cosine_of_options_has_the_height_of_the_paper_s_schedule():
    paper, half = (
        Options(steps=29, warmup=10, rate_scale=0.5),
        Options(steps=29, warmup=10, rate_scale=0.5, schedule="cosine"),
    )
    for step in (1, 5, 10):
        assert half.rate(step, 64) == pytest.approx(paper.rate(step, 64))
    assert half.rate(20, 64) == pytest.approx(paper.rate(10, 64) / 2)
    assert half.changeable() == paper.changeable() - {"steps"}
    for wrong in ({"steps": None}, {"cooldown": 3}):
        with pytest.raises(ValueError, match="needs steps, at whose end it is zero, and no cooldown"):
            Options(**{"steps": 29, "schedule": "cosine"} | wrong)
    for name in ("clip", "weight_decay"):
        with pytest.raises(ValueError, match=rf"{name} \(-1\) must be at least 0"):
            Options(**{name: -1})
    with pytest.raises(ValueError, match=r"schedule \('linear'\) must be 'paper' or 'cosine'"):
        Options(schedule="linear")
