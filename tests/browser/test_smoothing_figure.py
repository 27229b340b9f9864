"""Smoothing: the way of the logits, the target and the loss are the package's, at every setting."""

import re

import numpy as np
import pytest
from keyboard import keys

from tested_transformer.book import figures, logit_descent
from tested_transformer.byhand.softmax import softmax
from tested_transformer.shares import counted

TOKENS = ["<pad>", "<bos>", "<eos>", "I", "love", "AI"]
ROW = np.array([0.0, 0, 0, 3, 1, 2])
SHARES = {"one answer": np.eye(6)[3], "several answers": np.array([1.25, 1.25, 1.25, 57, 38, 1.25]) / 100}


def figure(tokens=TOKENS):
    plain = figures.loss.gaps([1, 10], {"one answer": [1.0, 2.0], "smoothed": [1.0, 1.5]})
    return figures.loss.goals(ROW, 3, tokens, SHARES, plain)


@pytest.fixture
def page(show):
    return show(figure())


def smoothed(kind, epsilon):
    return (1 - epsilon) * SHARES[kind] + epsilon / 6


def choose(page, kind, epsilon, place):
    page.get_by_label(kind, exact=True).check()
    for slider, value in zip(page.locator("input[type=range]").all(), (round(100 * epsilon), place), strict=True):
        slider.fill(str(value))


def number(text):
    return float(text.replace("−", "-").replace("\u202f", ""))


CASES = [("one answer", 0.0, 6), ("one answer", 0.1, 12), ("several answers", 0.0, 3), ("several answers", 0.37, 0)]


@pytest.mark.parametrize(("kind", "epsilon", "place"), CASES)
def test_the_way_is_that_of_the_package_step_by_step(page, kind, epsilon, place):
    q = smoothed(kind, epsilon)
    found = page.evaluate("([z, s, e, n]) => figures.towards(z, figures.blend(s, e), n)",
                          [ROW.tolist(), SHARES[kind].tolist(), epsilon, 2000])  # fmt: skip
    assert np.allclose(found, logit_descent.towards(ROW, q, 2000), rtol=0, atol=1e-9)
    p = softmax(np.array(found[-1]))
    crossed = page.evaluate("([q, p]) => figures.crossed(q, p)", [q.tolist(), p.tolist()])
    assert crossed == pytest.approx(-(q * np.log(p)).sum(), abs=1e-9)


@pytest.mark.parametrize(("kind", "epsilon", "place"), CASES)
def test_the_page_shows_target_model_surprise_loss_and_floor(page, kind, epsilon, place):
    choose(page, kind, epsilon, place)
    q, n = smoothed(kind, epsilon), figures.loss.STEPS[place]
    way = logit_descent.towards(ROW, q, n)
    p = softmax(way[-1])
    rows = page.locator(".bars tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td:not(.both)')].map(cell => cell.textContent))"
    )
    shown = np.array([[number(cell) for cell in row] for row in rows])
    assert np.allclose(shown, np.transpose([q, p, -np.log(p)]), rtol=0.05, atol=5.01e-3)
    widths = page.locator(".both .bar").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    assert np.allclose(np.reshape(widths, (6, 2)), 100 * np.transpose([q, p]), atol=1e-3)
    safe = np.where(q > 0, q, 1)
    loss, floor = -(q * np.log(p)).sum(), abs((q * np.log(safe)).sum())
    said = page.locator(".loss p").text_content()
    assert said == f"loss {loss:.2f}, of it floor {floor:.2f}".replace("floor 0.00", "floor 0")
    gap = logit_descent.gap(way[-1], 3)
    end = "it never ends" if q.min() == 0 else f"it ends at {logit_descent.gap(np.log(q), 3):.2f}"
    steps = "1 step" if n == 1 else f"{counted(n)} steps"
    page.get_by_role("status").get_by_text(f"After {steps} the gap is {gap:.2f}; {end}.").wait_for()
    assert page.locator("svg .gap").text_content() == f"{gap:.2f}"


def test_the_dot_lies_on_the_curve_and_the_curve_reaches_its_end(page):
    choose(page, "several answers", 0.05, 9)
    q = smoothed("several answers", 0.05)

    def high(gap):
        return 16 + (1 - gap / 12) * (250 - 16 - 42)

    dot = page.locator(".now")
    assert float(dot.get_attribute("cy")) == pytest.approx(
        high(logit_descent.gap(logit_descent.towards(ROW, q, 1000)[-1], 3)), abs=0.02
    )
    assert float(dot.get_attribute("cx")) == pytest.approx(34 + 0.75 * (360 - 34 - 12), abs=0.02)
    end = float(page.locator(".line").get_attribute("d").split()[-1])
    assert end == pytest.approx(high(logit_descent.gap(np.log(q), 3)), abs=0.05)
    line = re.search(r"M34 ([\d.]+)H", page.locator(".stop").get_attribute("d"))
    assert float(line[1]) == pytest.approx(end, abs=0.05)


def test_where_a_share_is_zero_there_is_no_line_to_end_at(page):
    assert page.locator(".stop").count() == 0
    assert page.get_by_text("never ends", exact=True).count() == 1
    page.get_by_label("several answers").check()
    assert page.locator(".stop").count() == 1


def test_it_is_used_by_keyboard_alone(page):
    keys(page, "Tab ArrowRight")
    assert page.get_by_label("several answers").is_checked()
    keys(page, "Tab ArrowRight ArrowRight ArrowRight ArrowRight ArrowRight ArrowRight ArrowRight Tab End")
    end = logit_descent.gap(np.log(smoothed("several answers", 0.07)), 3)
    said = f"After 10\u202f000 steps the gap is {end:.2f}; it ends at {end:.2f}."
    page.get_by_role("status").get_by_text(said).wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "10\u202f000"


def test_labels_stand_off_the_dot_and_inside_the_drawing(page):
    for kind, epsilon, place in CASES:
        choose(page, kind, epsilon, place)
        sides = "es => es.map(e => e.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])"
        boxes = page.locator(".two svg .said").evaluate_all(sides)
        ((left, top, right, bottom),) = page.locator(".now").evaluate_all(sides)
        svg = page.locator(".two svg").bounding_box()
        for x, y, x_end, y_end in boxes:
            assert x_end <= left or right <= x or y_end <= top + 2 or bottom - 2 <= y
            assert svg["x"] <= x
            assert x_end <= svg["x"] + svg["width"] + 1
