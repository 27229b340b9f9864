"""Positions: hands, dot products and wavelengths are the package's, at every setting of the sliders."""

import numpy as np
import pytest

from tested_transformer.book import figures
from tested_transformer.byhand.positions import shift, sinusoids
from tested_transformer.shares import THIN


def figure(start=2, k=3, width=16):
    table, lengths = sinusoids(start + 101, width), 2 * np.pi * 10000.0 ** (2 * np.arange(width // 2) / width)
    return figures.positions.hands(table, start, k, lengths, table[start:] @ table[start])


@pytest.fixture
def page(show):
    return show(figure())


ROWS = "body => [...body.rows].map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"


def numbers(page):
    """The live table: wavelength, the hands at both positions, the turn."""
    page.locator("details").evaluate("e => e.open = true")
    rows = page.locator("details tbody").evaluate(ROWS)
    return np.array([[float(cell.replace("−", "-").replace(THIN, "")) for cell in row] for row in rows])


def hands(page, kind):
    """Where the hands point: sine and cosine of each pair, read from the drawing."""
    paths = page.locator(f".clocks .hand.{kind}").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    ends = np.array([[float(x) for x in path.split("L")[1].split(",")] for path in paths])
    return (ends - 50) / 40 * [1, -1]


def test_rows_products_and_wavelengths_are_those_of_the_package(page):
    for width in (2, 4, 10, 16, 32):
        table = sinusoids(301, width)
        for position in (0, 1, 17, 100, 200):
            row = page.evaluate("([p, w]) => figures.row(p, w)", [position, width])
            assert np.allclose(row, table[position], rtol=0, atol=1e-12)
            profile = page.evaluate("([p, w]) => figures.profile(p, 100, w)", [position, width])
            assert np.allclose(profile, table[position : position + 101] @ table[position], rtol=0, atol=1e-12)
        for i in range(width // 2):
            found = page.evaluate("([i, w]) => [figures.wavelength(i, w), figures.turned(i, 7, w)]", [i, width])
            turn = shift(1, width)[2 * i : 2 * i + 2, 2 * i]
            assert found == pytest.approx([2 * np.pi / np.arctan2(*turn[::-1]), 7 * np.arctan2(*turn[::-1])], rel=1e-9)


@pytest.mark.parametrize(("position", "k", "width"), [(2, 3, 16), (0, 0, 2), (100, 57, 6), (41, 100, 32)])
def test_the_page_shows_them_at_every_setting(page, position, k, width):
    for slider, value in zip(page.locator("input[type=range]").all(), (position, k, width), strict=True):
        slider.fill(str(value))
    table, shown = sinusoids(position + k + 1, width), numbers(page)
    assert np.allclose(shown[:, 1:3].ravel(), table[position], rtol=0, atol=5.01e-5)
    assert np.allclose(shown[:, 3:5].ravel(), table[position + k], rtol=0, atol=5.01e-5)
    assert np.allclose(shown[:, 0], 2 * np.pi * 10000.0 ** (2 * np.arange(width // 2) / width), rtol=1e-12, atol=5e-5)
    assert np.allclose(hands(page, "query").ravel(), table[position], rtol=0, atol=2e-4)
    assert np.allclose(hands(page, "key").ravel(), table[position + k], rtol=0, atol=2e-4)
    product = float(page.locator(".product").text_content().split(":")[1].replace("−", "-"))
    assert product == pytest.approx(table[position] @ table[position + k], abs=5.01e-3)
    assert page.locator(".wave").count() == width // 2


def test_the_arc_of_a_turn_goes_the_long_way_round_from_half_a_turn_on(page):
    for k in (3, 4):
        page.locator("input[type=range]").nth(1).fill(str(k))
        flags = page.locator(".clocks .arc").evaluate_all(
            "arcs => arcs.map(arc => arc.getAttribute('d').split(' ')[3])"
        )
        assert flags == [str(int(k > np.pi)), *"0" * 7]


def test_the_curve_does_not_depend_on_the_position(page):
    curve = page.locator(".line").get_attribute("d")
    page.locator("input[type=range]").first.fill("77")
    assert page.locator(".line").get_attribute("d") == curve
    page.locator("input[type=range]").last.fill("8")
    assert page.locator(".line").get_attribute("d") != curve


def test_the_figure_starts_with_what_the_fallback_says(page):
    rows = page.locator(".fallback tbody").first.evaluate(ROWS)
    fallback = [[cell.replace("−", "-").replace(THIN, "") for cell in row] for row in rows]
    assert np.allclose(np.array(fallback, dtype=float), numbers(page)[:, :5], rtol=0, atol=1e-9)


def test_sliders_have_names_and_values_and_move_by_keyboard(page):
    names = ("position", "offset k", "width (columns)")
    for name, key, value in zip(names, ("ArrowRight", "Home", "End"), ("3", "0", "32"), strict=True):
        slider = page.get_by_role("slider", name=name)
        slider.focus()
        page.keyboard.press(key)
        assert slider.get_attribute("aria-valuetext") == slider.input_value() == value
    page.get_by_role("status").get_by_text("Positions 3 and 3, width 32: dot product 16.00 of 16.").wait_for(
        state="attached"
    )
