"""Schedule: rates, peak and the reach of ten steps are the package's, at every setting."""

import numpy as np
import pytest
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.figures.schedule import TOTALS, WARMUPS, WIDTHS
from tested_transformer.shares import counted
from tested_transformer.training.schedule import rate

STARTS = {"the base model": (4000, 512, 100_000, 1.0), "big": (4000, 1024, 300_000, 1.0), "small": (40, 64, 60, 0.3)}
SUP = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def figure(starts=STARTS):
    plain = figures.schedule.rates([1, 4000, 100_000], {"one": [0.0, 7e-4, 1e-4]}, 4000)
    return figures.schedule.tries(starts, (0.00815, 0.0593), plain)


@pytest.fixture
def page(show):
    return show(figure())


def choose(page, *values):
    sliders = page.locator("input[type=range]").all()
    for slider, some, value in zip(sliders, (WARMUPS, WIDTHS, TOTALS), values, strict=True):
        slider.fill(str(some.index(value)))


def number(text):
    digits, _, power = text.partition(" · 10")
    return float(digits) * 10.0 ** int(power.translate(SUP) or 0)


def reach(k, d, factor=1.0, least=1):
    return sum(rate(max(s, least), d, k, factor) for s in range(1, 11))


CASES = [
    (4000, 512, 100_000),
    (1, 64, 60),
    (16_000, 2048, 300),
    (16_000, 128, 300_000),
    (10, 512, 1000),
    (1000, 64, 1000),
]


def test_the_rate_is_that_of_the_package(page):
    for k, d, factor in ((4000, 512, 1.0), (1, 64, 1.0), (40, 64, 0.3), (16_000, 2048, 0.65)):
        how = {"warmup": k, "width": d, "factor": factor}
        steps = [1, 2, 39, 40, 41, 4000, 4001, 100_000]
        found = page.evaluate("([steps, how]) => steps.map(s => figures.rate(s, how))", [steps, how])
        assert np.allclose(found, [rate(s, d, k, factor) for s in steps], rtol=1e-12)
        found = page.evaluate("([how, k]) => [figures.reach(how), figures.reach(how, k)]", [how, k])
        assert np.allclose(found, [reach(k, d, factor), reach(k, d, factor, k)], rtol=1e-12)


@pytest.mark.parametrize(("k", "d", "total"), CASES)
def test_the_page_says_peak_last_rate_and_reach(page, k, d, total):
    choose(page, k, d, total)
    top = min(k, total)
    words = page.locator("[role=status]")
    page.get_by_role("status").get_by_text(f"Width {counted(d)}: the peak is").wait_for()
    page.wait_for_timeout(600)
    said = words.text_content()
    peak = said.partition("the peak is ")[2].partition(",")[0]
    assert number(peak) == pytest.approx(rate(top, d, k), rel=0.005)
    assert f"in step {counted(top)}." in said
    if total <= k:
        assert "never falls" in said
    else:
        last = said.partition("last rate is ")[2].partition(",")[0]
        assert number(last) == pytest.approx(rate(total, d, k), rel=0.005)
        assert f", {100 * rate(total, d, k) / rate(top, d, k):.0f} % of it." in said
    ten = said.partition("Ten steps go about ")[2]
    assert number(ten.partition(", without")[0]) == pytest.approx(reach(k, d), rel=0.005)
    assert number(ten.partition("warm-up ")[2].removesuffix(".")) == pytest.approx(reach(k, d, least=k), rel=0.005)


def test_the_dots_lie_where_their_numbers_are(page):
    choose(page, 100, 512, 1000)

    def at(value):
        return 20 + (np.log10(value) + 7) / 7 * 600

    x = {kind: float(page.locator(f".{kind}").get_attribute("cx")) for kind in ("mild", "hard")}
    assert x["mild"] == pytest.approx(at(reach(100, 512)), abs=0.01)
    assert x["hard"] == pytest.approx(at(reach(100, 512, least=100)), abs=0.01)
    peak = page.locator("svg .dot")
    assert float(peak.get_attribute("cx")) == pytest.approx(20 + 0.1 * 600, abs=0.01)
    assert float(peak.get_attribute("cy")) == 34, "the highest point of the drawing"


def test_a_start_sets_everything_and_is_pressed_until_something_changes(page):
    page.get_by_role("button", name="small").click()
    values = page.locator("input[type=range]").evaluate_all("es => es.map(e => e.getAttribute('aria-valuetext'))")
    assert values == ["40", "64", "60"]
    page.get_by_role("status").get_by_text("Ten steps go about 0.00815, without the warm-up 0.0593.").wait_for()
    assert page.get_by_role("button", name="small").get_attribute("aria-pressed") == "true"
    page.locator("input[type=range]").first.press("ArrowRight")
    assert page.get_by_role("button", name="small").get_attribute("aria-pressed") == "false"


def test_it_is_used_by_keyboard_alone(page):
    keys(page, "Tab Tab Tab Enter Tab Home")
    page.get_by_role("status").get_by_text("in step 1.").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "1"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_labels_stay_inside(show, width):
    page = show(figure(), width=width, height=900, has_touch=width < 1000, hurry=True)
    for case in CASES:
        choose(page, *case)
        page.evaluate("new Promise(done => setTimeout(done, 650))")  # until it is said
        box = page.locator(".live").bounding_box()
        for text in page.locator(".live svg text").all():
            place = text.bounding_box()
            assert box["x"] <= place["x"]
            assert place["x"] + place["width"] <= box["x"] + box["width"], text.text_content()


def test_what_no_slider_reaches_is_refused():
    with pytest.raises(ValueError, match=r"odd: width \(100\) must be one of \(64, 128"):
        figure({"odd": (40, 100, 60, 1.0)})
    with pytest.raises(ValueError, match=r"measured \(\(2, 1\)\) must rise from above 0"):
        figures.schedule.tries(STARTS, (2, 1), figure().picture)
