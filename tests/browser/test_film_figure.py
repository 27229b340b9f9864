"""A training to play through: at every stop the page shows its loss, its sentences and its weights, to every reader."""

import io
import re

import numpy as np
import pytest
from helpers import PAIRS, WRITTEN, film, reel
from keyboard import keys
from PIL import Image

from tested_transformer.shares import as_share

STEPS = [*WRITTEN]
SLIDER = "input[type=range]"
SEEN = reel()


def hundredths(w):
    """Weights as the page has them: what is less than one is never shown as one."""
    return np.reshape([float(as_share(100 * x, 0, 100)) / 100 for x in np.ravel(w)], np.shape(w))


@pytest.fixture
def page(show):
    return show(film())


def go(page, stop):
    page.locator(SLIDER).fill(str(stop))


def choose(page, group, name):
    page.get_by_role("radiogroup", name=group).get_by_role("radio", name=name).check()


def sentence(page, n):
    """Its three texts, the words that are underlined, and what is said of them."""
    choice = page.locator(".pairs .choice").nth(n)
    read, written, right = choice.locator("> span").all_inner_texts()
    note = choice.locator("small").inner_text()
    return read, written.removesuffix(note).strip(), right, choice.locator(".right").all_inner_texts(), note


def maps(page):
    """The small maps as matrices, in the order of the page."""
    script = """svgs => svgs.map(svg => [svg.getAttribute('viewBox').split(' ').map(Number), [...svg.children].map(t =>
        ['x', 'y', 'fill-opacity'].map(name => Number(t.getAttribute(name))))])"""
    found = []
    for (_, _, columns, rows), tiles in page.locator(".heads .tiles").evaluate_all(script):
        x = np.full((int(rows), int(columns)), np.nan)
        for j, i, w in tiles:
            x[int(i), int(j)] = w
        found.append(x)
    return found


def table(page):
    """The enlarged map: the tokens of its columns and rows, its numbers, and how dark each cell is."""
    rows = "t => [...t.rows].map(row => [...row.cells].map(cell => cell.textContent))"
    heat = "cells => cells.map(cell => parseFloat(cell.style.getPropertyValue('--heat')) / 100)"
    head, *body = page.locator("table.tensor").evaluate(rows)
    numbers = np.array([[float(cell or 0) for cell in row[1:]] for row in body])
    shades = np.reshape(page.locator("table.tensor tbody td").evaluate_all(heat), numbers.shape)
    return head[1:], [row[0] for row in body], numbers, shades


# What is shown


def test_every_stop_shows_what_was_written_with_its_right_words_and_counts(page):
    right = [0, 0, 1, 2]
    for stop, (step, written) in enumerate(WRITTEN.items()):
        go(page, stop)
        assert f"Written at step {step}: {right[stop]} of 3 right" in page.locator(".pairs .name").inner_text()
        for n, ((source, target), text) in enumerate(zip(PAIRS, written, strict=True)):
            read, now, wanted, underlined, note = sentence(page, n)
            assert (read, wanted) == (source, target)
            assert now == (text if len(text) <= 60 else text[:60] + "…")
            marks = film().data["sentences"][n]["stops"][stop]["marks"]
            assert underlined == [word for word, mark in zip(now.split(), marks, strict=True) if mark == "1"]
            assert note == ("✓ right" if text == target else f"{len(underlined)} of {len(target.split())} words")


def test_the_maps_the_means_and_the_table_are_the_weights_at_every_stop(page):
    for n, (source, _) in enumerate(PAIRS):
        choose(page, "Sentences", source)
        for stop, step in enumerate(STEPS):
            go(page, stop)
            w = hundredths(SEEN.stops[step].cross[n])
            assert all(np.array_equal(a, b) for a, b in zip(maps(page), w.reshape(-1, *w.shape[2:]), strict=True))
            means = [float(text) for text in page.locator(".heads b").all_inner_texts()]
            assert np.allclose(means, w.max(-1).mean(-1).ravel(), rtol=0, atol=0.00501)
        for layer, head in ((0, 2), (1, 0)):
            choose(page, "Heads", f"layer {layer + 1}, head {head + 1}")
            assert page.get_by_text(f"Layer {layer + 1}, head {head + 1}: what each written token reads").is_visible()
            columns, rows, numbers, shades = table(page)
            assert columns == SEEN.tokens[n][0]
            assert rows == [token.strip() for token in SEEN.tokens[n][1]]
            assert np.allclose(
                numbers, w[layer, head], rtol=0, atol=0.00501
            )  # written with two digits, or more near one
            assert np.allclose(shades, w[layer, head])


def test_it_begins_with_the_first_stop_and_the_head_that_it_was_told(show):
    page = show(film(first=(1, 2)))
    assert page.get_by_role("radio", name="layer 2, head 3").is_checked()
    assert page.get_by_role("radio", name="I love tea").is_checked()
    assert page.locator(SLIDER).get_attribute("aria-valuetext") == "step 0"
    assert np.array_equal(table(page)[2], hundredths(SEEN.stops[0].cross[0][1, 2]))


@pytest.mark.usefixtures("own_tab")
def test_it_opens_at_the_step_that_it_was_told_and_plays_on_from_there(show):
    page = show(film(opens=20))
    page.clock.install()
    assert page.locator(SLIDER).input_value() == "1"
    assert page.get_by_text("Written at step 20: 0 of 3 right").is_visible()
    assert np.array_equal(table(page)[2], hundredths(SEEN.stops[20].cross[0][0, 0]))
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1300)
    assert page.get_by_text("Written at step 45:").is_visible()


def test_the_curve_has_the_losses_and_its_cursor_stands_at_the_stop(page):
    data = film().data
    place = "e => e.getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number))"
    training, held = (np.array(page.locator(f"svg path.{kind}").first.evaluate(place)) for kind in ("arc", "line"))
    assert len(training) == 60
    ups = np.ptp(training[:, 1]) / np.ptp(data["losses"])
    assert np.allclose(np.ptp(held[:, 1]), ups * np.ptp([stop["valid"] for stop in data["stops"]]), atol=0.3)
    assert np.allclose(np.diff(training[:, 0]), np.diff(training[:, 0])[0], atol=0.11)
    for stop in range(len(STEPS)):
        go(page, stop)
        dot = [float(page.locator("circle.dot").get_attribute(name)) for name in ("cx", "cy")]
        assert np.allclose(dot, held[stop], atol=0.06)
        assert page.locator("text.said").text_content() == f"{data['stops'][stop]['valid']:.2f}"
        assert float(page.locator("path.mark").evaluate("e => e.style.transform.slice(11, -3)")) == pytest.approx(
            dot[0], abs=0.01
        )
    label = page.get_by_role("img", name=re.compile("Loss over 60 steps")).get_attribute("aria-label")
    assert label.endswith("it goes from 8.00 to 0.40.")


def test_a_click_on_the_curve_goes_to_the_nearest_stop(page):
    box = page.get_by_role("img", name=re.compile("Loss over")).bounding_box()
    for share, step in ((0.99, 60), (0.4, 20), (0.72, 45), (0.02, 0)):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        assert page.locator(SLIDER).get_attribute("aria-valuetext") == f"step {step}"
        assert page.get_by_text(f"Written at step {step}:").is_visible()


def test_the_words_are_named_in_their_languages(page):
    langs = "es => es.map(e => e.lang)"
    assert page.locator(".pairs .choice > span").evaluate_all(langs) == ["en", "de", "de"] * 3
    assert set(page.locator(".pairs small").evaluate_all(langs)) == {"en"}
    assert set(page.locator("table.tensor thead th").evaluate_all(langs)) == {"en"}
    assert set(page.locator("table.tensor tbody th").evaluate_all(langs)) == {"de"}


def test_a_stop_is_told_in_a_sentence(page):
    status = page.get_by_role("status")
    text = "Step 0: validation loss 8.00, before the first step. 0 of 3 sentences are right. “Ich Ich Ich”"
    assert status.inner_text() == text
    go(page, 2)
    loss = film().data["losses"][44]
    valid = film().data["stops"][2]["valid"]
    told = f"Step 45: validation loss {valid:.2f}, training {loss:.2f}. 1 of 3 sentences are right. “Ich liebe Tee”"
    status.get_by_text("Step 45").wait_for()
    assert status.inner_text() == told
    assert status.locator("span").get_attribute("lang") == "de"


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    keys(page, "Tab ArrowDown")
    assert page.evaluate(f"{focused}.getAttribute('aria-label')") == PAIRS[1][0]
    assert table(page)[0] == SEEN.tokens[1][0]
    keys(page, "Tab ArrowRight")
    assert page.get_by_text("Layer 1, head 2:").is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.getAttribute('role')") == "region"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.textContent") == "Play"
    page.keyboard.press("Tab")
    for key, step in (("ArrowRight", 20), ("End", 60), ("ArrowRight", 60), ("ArrowLeft", 45), ("Home", 0)):
        page.keyboard.press(key)
        assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')") == f"step {step}"
        assert page.get_by_text(f"Written at step {step}:").is_visible()


def test_a_radio_button_of_a_head_has_its_number_in_its_name(page):
    w = hundredths(SEEN.stops[60].cross[0])
    go(page, 3)
    names = [radio.get_attribute("aria-label").replace("\xa0", " ") for radio in page.locator(".heads input").all()]
    assert names[4].startswith("layer 2, head 2, ")
    means = [float(name.rpartition(" ")[2]) for name in names]
    assert np.allclose(means, w.max(-1).mean(-1).ravel(), rtol=0, atol=0.00501)


@pytest.mark.usefixtures("own_tab")
def test_it_is_played_to_the_end_and_stops_and_begins_again(page):
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1300)
    assert page.get_by_text("Written at step 20:").is_visible()
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(9000)
    assert page.get_by_text("Written at step 20:").is_visible()
    page.get_by_role("button", name="Play").press("Enter")
    page.clock.run_for(9000)
    assert page.get_by_text("Written at step 60:").is_visible()
    page.get_by_role("button", name="Play").click()
    assert page.get_by_text("Written at step 0:").is_visible()


@pytest.mark.usefixtures("own_tab")
def test_who_moves_the_slider_stops_the_film(page):
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    go(page, 2)
    page.get_by_role("button", name="Play").wait_for()
    page.clock.run_for(9000)
    assert page.get_by_text("Written at step 45:").is_visible()


def test_on_a_phone_the_slider_stays_in_view(show):
    page = show(film(), width=390, height=700, has_touch=True)
    page.get_by_role("radio", name="layer 2, head 3").locator("..").tap()
    assert page.get_by_text("Layer 2, head 3: what each written token reads").is_visible()
    for place in (".pairs", "table.tensor"):
        page.locator(place).scroll_into_view_if_needed()
        box = page.locator(SLIDER).bounding_box()
        assert 0 <= box["y"] <= box["y"] + box["height"] <= 700


def test_a_square_of_each_colour_stands_beside_its_number(page):
    squares = page.locator(".letters small")
    assert squares.all_text_contents() == ["0", "0.25", "0.5", "0.75", "1"]
    for square in squares.all():
        box = square.locator("svg").bounding_box()
        assert max(box["width"], box["height"]) < 20
        assert square.locator("rect").get_attribute("fill-opacity") == square.text_content()


@pytest.mark.parametrize(("theme", "blue", "paper", "ink"), [("light", "#0072b2", "#ffffff", "#1d2530"),
                                                            ("dark", "#6db9ee", "#12161b", "#dfe5ea")])  # fmt: skip
def test_a_weight_has_one_colour_in_the_table_the_maps_and_the_legend(show, theme, blue, paper, ink):
    sharp = reel()
    sharp.stops[0].cross[0][0, 1] = [[1, 0, 0, 0], [0.5, 0.25, 0.25, 0], [0, 0, 1, 0]]
    page = show(film(sharp, first=(0, 1)), height=2000, reduced_motion="reduce", device_scale_factor=3)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    colours = f"--book-query: {blue}; --pst-color-background: {paper}; --pst-color-text-base: {ink}"
    page.add_style_tag(content=f":root {{ {colours} }}")

    def colour(place, across=0.5, down=0.5):
        with Image.open(io.BytesIO(place.screenshot())) as picture:
            return np.array(picture.convert("RGB").getpixel((int(across * picture.width), int(down * picture.height))))

    legend = {float(s.text_content()): colour(s.locator("svg")) for s in page.locator(".letters small").all()}
    cells, small = page.locator("table.tensor tbody td").all(), page.locator(".heads .tiles").nth(1)
    for i, j, w in ((0, 0, 1), (1, 0, 0.5), (1, 1, 0.25), (2, 2, 1), (2, 3, 0)):
        for seen in (colour(cells[4 * i + j], 0.5, 0.88), colour(small, (j + 0.5) / 4, (i + 0.5) / 3)):
            assert np.abs(seen.astype(int) - legend[w]).max() <= 2
    assert contrast(legend[1], [int(ink[i : i + 2], 16) for i in (1, 3, 5)]) > 4.5


def contrast(one, other):
    """How well two colours can be told apart, by the rule for legible text."""
    x = np.array([one, other]) / 255
    light, dark = np.sort(np.where(x <= 0.03928, x / 12.92, ((x + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])[
        ::-1
    ]
    return (light + 0.05) / (dark + 0.05)


def test_two_films_on_a_page_play_for_themselves(show):
    one = film()
    html = one._repr_html_()
    one._repr_html_ = lambda: html + html
    page = show(one)
    page.locator(SLIDER).first.fill("2")
    page.get_by_role("radio", name="a b").last.check()
    assert page.get_by_role("radio", name="I love tea").first.is_checked()
    assert page.get_by_text("Written at step 45:").count() == page.get_by_text("Written at step 0:").count() == 1
