"""Attention as geometry: arithmetic and drawing are the package's, and every reader can move the query."""

import re

import numpy as np
import pytest
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, X
from tested_transformer.byhand.attention import attention

Q, K, V = X @ W_Q, X @ W_K, X @ W_V
OUT, WEIGHTS = attention(Q, K, V)
ROOT = np.sqrt(3)
FIGURE = "geometry-figure"
ALL = (True, True, True)
FIRST, SECOND = "query, first number", "query, second number"


def flat(**changed):
    """The first two numbers of everything."""
    steps = {"Q": Q, "K": K, "V": V, "out": OUT}
    return {name: x[:, :2] for name, x in steps.items()} | {"weights": WEIGHTS} | changed


def figure(words=WORDS):
    return figures.attention.geometry(flat(), words, 1, ROOT)


def expected(query, divisor=ROOT, seen=ALL, k=K[:, :2], v=V[:, :2]):
    """Output and weights of one query, by the package, which divides by the root of the width."""
    out, weights = attention(np.sqrt(2) / divisor * np.array([query]), k, v, np.array([seen]))
    return out[0], weights[0]


def numbers(texts):
    return np.array([text.replace("−", "-").replace("∞", "inf").removeprefix("< ") for text in texts], dtype=float)


def column(page, name):
    return numbers(page.locator(f"{FIGURE} td.of-{name}").all_text_contents())


def output(page):
    return numbers(re.findall(r"[−\d.]+", page.locator(f"{FIGURE} .legend .out").text_content()))


def status(page, end):
    """The sentence, when it has come; it must end so."""
    page.locator("[role=status]").get_by_text(end).wait_for()
    return page.locator("[role=status]").inner_text()


def points(page, selector):
    """Where the paths of one kind are drawn, each as its corners."""
    paths = page.locator(f"{FIGURE} {selector}").evaluate_all("es => es.map(e => e.getAttribute('d'))")
    return [np.array([numbers(corner.split(",")) for corner in re.findall(r"[−\-\d.]+,[−\-\d.]+", d)]) for d in paths]


def tip(page):
    """The middle of the handle, in pixels of the window."""
    box = page.locator(f"{FIGURE} .tip").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def unit(page):
    """How many pixels the number one is long: the plane of the keys goes from −2.75 to 2.75."""
    return page.locator(f"{FIGURE} svg").first.bounding_box()["width"] / 5.5


@pytest.fixture
def page(show):
    return show(figure())


# Arithmetic


def test_every_step_is_that_of_the_package_on_random_numbers(page):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        query, k, v = rng.normal(scale=2, size=2), rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
        divisor, seen = rng.uniform(0.2, 10), rng.random(3) < 0.7
        data = [{"k": k.tolist(), "v": v.tolist()}, query.tolist(), divisor, seen.tolist()]
        found = page.evaluate("([data, q, d, seen]) => figures.geometry(data, q, d, seen)", data)
        out, weights = expected(query, divisor, seen, k, v)
        assert np.allclose(found["scores"], k @ query, rtol=1e-12, atol=1e-12)
        assert np.allclose(found["scaled"], np.where(seen, k @ query / divisor, -np.inf), rtol=1e-12, atol=1e-12)
        assert np.allclose(found["weights"], weights, rtol=1e-12, atol=1e-12)
        assert np.allclose(found["out"], out, rtol=1e-12, atol=1e-12)
        feet = np.array(found["feet"])
        assert np.allclose((k - feet) @ query, 0, atol=1e-12), "the light falls at a right angle"
        assert np.allclose(feet[:, 0] * query[1], feet[:, 1] * query[0]), "on the line of the query"
        lengths = np.linalg.norm(feet, axis=1) * np.linalg.norm(query)
        assert np.allclose(lengths, np.abs(k @ query)), "the length of the shadow times that of the query"


def test_the_queries_of_the_words_have_the_weights_of_the_book(page):
    assert column(page, "weight").tolist() == [0.2645, 0.2645, 0.4711], "it starts with love"
    for j, word in enumerate(WORDS):
        page.get_by_role("button", name=word, exact=True).click()
        assert np.allclose(column(page, "weight"), WEIGHTS[j], rtol=0, atol=5.001e-5)
        assert np.allclose(output(page), OUT[j, :2], rtol=0, atol=5.001e-5)
        assert np.array_equal(column(page, "score"), Q[j, :2] @ K[:, :2].T)
        assert np.allclose(column(page, "scaled"), Q[j, :2] @ K[:, :2].T / ROOT, rtol=0, atol=5.001e-3)
        pressed = page.locator("button[aria-pressed=true]").all_text_contents()
        assert pressed == [word]


@pytest.mark.parametrize("query", [(-1.5, 0.7), (2.5, -2.5), (0, 0)])
@pytest.mark.parametrize("steps", [-43, 7, 35])
@pytest.mark.parametrize("hidden", [(), (1,), (0, 2)])
def test_the_page_shows_them_at_every_setting(page, query, steps, hidden):
    page.get_by_label(FIRST).fill(str(query[0]))
    page.get_by_label(SECOND).fill(str(query[1]))
    page.locator("input[type=range]").fill(str(steps))
    for j in hidden:
        page.locator(".bars .switch").nth(j).click()
    divisor = round(ROOT * np.exp(steps / 20), 2) if steps else ROOT  # as it is written
    seen = [j not in hidden for j in range(3)]
    out, weights = expected(query, divisor, seen)
    assert np.allclose(column(page, "weight"), weights, rtol=0.05, atol=1.001e-4)
    assert np.allclose(column(page, "score"), K[:, :2] @ query, rtol=0, atol=1e-9)
    assert page.locator("input[type=range]").get_attribute("aria-valuetext") == f"{divisor:.2f}"
    assert page.locator(".bars th").nth(2).text_content() == f"÷ {divisor:.2f}"
    assert np.allclose(output(page), out, rtol=0.05, atol=5.001e-5)
    end = page.locator(".pull").first.get_attribute("d").split("L")[1]
    assert page.locator(".output").get_attribute("transform") == f"translate({end})"
    scale, corner = 300 / 1.5, np.array([-0.25, 1.25])
    drawn = np.array([line[1] for line in points(page, ".pull")]) / scale * [1, -1] + corner
    assert np.allclose(drawn, out, rtol=0, atol=1e-3), "all lines end at the output"
    widths = page.locator(".pull").evaluate_all("es => es.map(e => Number(e.getAttribute('stroke-width')))")
    assert np.allclose(widths, 16 * weights)
    hull = points(page, ".hull")[0] / scale * [1, -1] + corner
    assert np.allclose(hull, V[seen, :2], rtol=0, atol=1e-3)
    bars = page.locator(".of-weight .bar").evaluate_all("es => es.map(e => parseFloat(e.style.width))")
    assert np.allclose(bars, 100 * weights, atol=1e-3)


def ask(page, *query):
    for label, number in zip((FIRST, SECOND), query, strict=True):
        page.get_by_label(label).fill(str(number))


def places(page, selector):
    """The corners of the paths of one kind, in the numbers of the plane of the keys."""
    return [line / (300 / 5.5) * [1, -1] + [-2.75, 2.75] for line in points(page, selector)]


@pytest.mark.parametrize("query", [(0, 1), (2.5, 2.5), (-1, -1), (1, -2), (-2, -0.5), (2, 0)])
def test_the_shadows_of_the_keys_lie_side_by_side_along_the_line_of_the_query(page, query):
    ask(page, *query)
    keys, unit = K[:, :2], np.divide(query, np.linalg.norm(query))
    feet, exact = np.outer(keys @ unit, unit), {"rtol": 0, "atol": 1e-3}
    ((start, end),) = places(page, ".ray")
    assert np.allclose([start, end], np.outer([-2.75, 2.75], query) / np.max(np.abs(query)), **exact)
    dots = page.locator(".foot").evaluate_all("es => es.map(e => `${e.getAttribute('cx')},${e.getAttribute('cy')}`)")
    dots = numbers(",".join(dots).split(",")).reshape(3, 2) / (300 / 5.5) * [1, -1] + [-2.75, 2.75]
    assert np.allclose(dots, feet, **exact), "three feet on one line"
    starts, ends = np.swapaxes(places(page, ".shadow"), 0, 1)
    assert np.allclose(ends - starts, feet, **exact)
    aside = starts @ [-unit[1], unit[0]]
    assert np.allclose(starts @ unit, 0, **exact), "all begin beside the origin"
    assert np.min(np.abs(np.diff([0, *aside]))) * 300 / 5.5 > 10, "none on another or on the line"
    assert np.sum(keys, axis=0) @ [-unit[1], unit[0]] * aside[0] < 0, "away from most keys"
    falls = places(page, ".fall")[1:]
    assert np.allclose([fall[:2] for fall in falls], np.stack([keys, feet], axis=1), **exact)
    names = page.locator(".of-shadow")
    assert names.all_text_contents() == list(WORDS)
    middles = names.evaluate_all(
        """es => es.map(e => {
          const [box, plane] = [e, e.closest('svg')].map(x => x.getBoundingClientRect());
          return [(box.x + box.width / 2 - plane.x) / plane.width, (box.y + box.height / 2 - plane.y) / plane.height];
        })"""
    )
    middles = np.array(middles) * [5.5, -5.5] + [-2.75, 2.75]
    assert np.all((middles @ unit) * (keys @ unit) <= 1e-9), "each name stands where its shadow does not fall"
    assert np.allclose(middles @ [-unit[1], unit[0]], aside, rtol=0, atol=0.08), "in its lane"


def test_the_largest_score_has_the_longest_shadow(page):
    for word in WORDS:
        page.get_by_role("button", name=word, exact=True).click()
        lengths = [np.linalg.norm(end - start) for start, end in places(page, ".shadow")]
        scores = column(page, "score")
        assert np.allclose(np.divide(lengths, max(lengths)), scores / max(scores), atol=1e-3)


def test_a_hidden_word_has_no_shadow_and_a_query_of_zeros_has_none_and_no_line(page):
    page.get_by_label("may look at love").uncheck()
    assert page.locator(".of-shadow").all_text_contents() == ["I", "AI"]
    assert (page.locator(".shadow").count(), page.locator(".foot").count()) == (2, 2)
    ask(page, 0, 0)
    assert column(page, "score").tolist() == [0, 0, 0]
    assert page.locator(":is(.ray, .fall, .shadow, .foot, .of-shadow)").count() == 0


@pytest.mark.parametrize("query", [(2, 0), (0, 1), (1, 1), (1, -2), (-1, -1), (2.5, 2.5), (-2.5, 0), (0.4, 2.5)])
def test_the_name_of_the_query_is_on_no_other_name_and_within_the_figure(page, query):
    ask(page, *query)
    boxes = page.locator(".scene > :first-child .said").evaluate_all(
        "es => es.map(e => e.getBoundingClientRect()).map(b => [b.x + 1, b.y + 2, b.right - 1, b.bottom - 2])"
    )
    *others, (left, top, right, bottom) = boxes
    assert page.locator(".said.query").count() == 1
    assert all(right < x or x_end < left or bottom < y or y_end < top for x, y, x_end, y_end in others)
    live = page.locator(".live").bounding_box()
    assert live["x"] <= left
    assert right <= live["x"] + live["width"]


def test_a_negative_score_has_a_bar_to_the_left(page):
    ask(page, -2, -0.5)
    keys = K[:, :2]
    bars = page.locator(".of-score .bar").evaluate_all("es => es.map(e => [e.style.left, e.style.width])")
    left, width = np.array([[float(x.rstrip("%")) for x in bar] for bar in bars]).T
    assert np.allclose(width, 50 * np.abs(keys @ [-2, -0.5]) / 7.5, atol=1e-3)
    assert np.allclose(left + width, 50, atol=1e-3), "a negative score goes to the left"


# What it says


def test_the_sentence_says_where_the_output_lies(page):
    said = page.locator("[role=status]")
    assert said.inner_text() == (
        "“love” asks: scores 1, 1, 2; weights 0.26, 0.26, 0.47; "
        "the output lies inside the triangle, pulled most towards “AI”."
    )
    page.get_by_role("button", name="AI", exact=True).click()
    wanted = "“AI” asks: scores 3, 1, 3; weights 0.43, 0.14, 0.43; the output lies inside the triangle, "
    assert status(page, "equally") == wanted + "pulled equally towards “I” and “AI”."
    page.get_by_label("may look at love").uncheck()
    assert status(page, "edge").endswith(
        "scores 3, 1, 3; “love” hidden; weights 0.50, 0, 0.50; "
        "the output lies on the edge between “I” and “AI”, in its middle."
    )
    page.locator("input[type=range]").fill("-43")
    page.get_by_role("button", name="I", exact=True).click()
    assert status(page, "all but").endswith("on the edge between “I” and “AI”, all but at the corner of “I”.")
    page.get_by_label("may look at I", exact=True).uncheck()
    assert status(page, "value of").endswith("“I” and “love” hidden; weights 0, 0, 1; the output is the value of “AI”.")
    page.get_by_label("may look at AI").uncheck()
    assert status(page, "origin") == (
        "“I” asks: scores 4, 0, 2; no word may be looked at, so every weight is 0 and the output is at the origin."
    )
    assert column(page, "weight").tolist() == [0, 0, 0]
    assert output(page).tolist() == [0, 0]
    assert page.locator(".hull").get_attribute("d") is None


def test_a_query_at_a_right_angle_scores_nothing_and_still_has_a_weight(page):
    page.get_by_label(FIRST).fill("1")
    page.get_by_label(SECOND).fill("-2")
    assert column(page, "score").tolist() == [0, -2, -3]
    assert column(page, "weight")[0] > 0.5, "a score of zero beats a negative one"
    page.get_by_label(SECOND).fill("0")
    page.get_by_label(FIRST).fill("0")
    assert status(page, "in its middle").startswith("Query (0, 0): scores 0, 0, 0; weights 0.33, 0.33, 0.33;")


# Bad input, and back


def test_what_is_no_number_is_named_and_the_last_good_one_stays(page):
    field = page.get_by_label(FIRST)
    for bad in ("", "2.6", "-9"):
        field.fill("0.5")
        before = column(page, "weight")
        field.fill(bad)
        assert field.get_attribute("aria-invalid") == "true"
        said = "query, first number: must be a number from −2.5 to 2.5. 0.5 stays."
        assert page.locator(f"{FIGURE} .status").inner_text() == said
        assert np.array_equal(column(page, "weight"), before)
    field.blur()
    assert field.input_value() == "0.5"
    assert field.get_attribute("aria-invalid") is None


def test_back_to_the_start_takes_everything_back(page):
    scene = "e => e.innerHTML.replaceAll(' class=\"\"', '')"
    before = page.locator(f"{FIGURE} .scene").evaluate(scene)
    page.get_by_label(FIRST).fill("-1")
    page.get_by_label("may look at love").uncheck()
    page.locator("input[type=range]").fill("20")
    page.get_by_role("button", name="Back to the start").click()
    status(page, "“love” asks")
    assert page.locator(f"{FIGURE} .scene").evaluate(scene) == before
    assert page.get_by_label(FIRST).input_value() == "0"
    assert page.get_by_label("may look at love").is_checked()
    assert page.locator("input[type=range]").input_value() == "0"


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    stops = ["I", "love", "AI", FIRST, SECOND, "Back to the start"]
    for stop in stops:
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.getAttribute('aria-label') ?? {focused}.textContent") == stop
    page.keyboard.press("Tab")
    handle = page.get_by_role("slider", name="tip of the query")
    assert handle.evaluate("e => e === document.activeElement")
    ring = "e => getComputedStyle(e.querySelector('.grip')).strokeWidth"
    assert handle.evaluate(ring) == "6px", "the focus can be seen"
    for key in ("ArrowRight", "Shift+ArrowLeft", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert handle.get_attribute("aria-valuetext") == "−0.9 across, 0.8 up"
    assert handle.get_attribute("aria-valuenow") == "-0.9"
    assert [page.get_by_label(name).input_value() for name in (FIRST, SECOND)] == ["-0.9", "0.8"]
    assert np.allclose(column(page, "score"), K[:, :2] @ [-0.9, 0.8])
    keys(page, "Shift+ArrowUp Shift+ArrowUp Shift+ArrowUp Shift+ArrowUp")
    assert handle.get_attribute("aria-valuetext") == "−0.9 across, 2.5 up", "it ends at the edge"
    keys(page, "Tab Space")
    assert column(page, "weight")[0] == 0
    keys(page, "Tab Tab Tab ArrowRight")
    assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')") == f"{ROOT * np.exp(1 / 20):.2f}"
    status(page, "Query (−0.9, 2.5)")


def test_the_tip_is_dragged_with_the_mouse_and_keeps_to_tenths_and_to_the_plane(page):
    (x, y), one = tip(page), unit(page)
    page.mouse.move(x + 5, y - 5)
    page.mouse.down()
    page.mouse.move(x + 5 + 1.22 * one, y - 5 - 0.58 * one, steps=4)
    assert [page.get_by_label(name).input_value() for name in (FIRST, SECOND)] == ["1.2", "1.6"]
    assert tip(page) == pytest.approx((x + 1.2 * one, y - 0.6 * one), abs=1)
    page.mouse.move(x + 20 * one, y + 20 * one)
    assert [page.get_by_label(name).input_value() for name in (FIRST, SECOND)] == ["2.5", "-2.5"]
    page.mouse.up()
    for way in (0, 15):
        page.mouse.move(tip(page)[0] - way, tip(page)[1] - way)
    assert page.get_by_label(FIRST).input_value() == "2.5", "let go is let go"


@pytest.mark.usefixtures("own_tab")
def test_a_finger_drags_the_tip_and_scrolls_the_page_everywhere_else(show):
    page = show(figure(), width=390, height=600, has_touch=True)
    page.evaluate("document.body.style.paddingBottom = '100vh'")
    touch = page.context.new_cdp_session(page)

    def swipe(x, y, by):
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for n in range(1, 11):
            place = {"x": x, "y": y - by * n / 10}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [place]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(300)

    (x, y), one = tip(page), unit(page)
    swipe(x, y, 0.8 * one)
    assert page.get_by_label(SECOND).input_value() == "1.8"
    assert page.evaluate("scrollY") == 0
    swipe(x - 1.5 * one, y + 2 * one, 120)
    assert page.evaluate("scrollY") > 50, "beside the tip the page scrolls"
    assert page.get_by_label(SECOND).input_value() == "1.8"


def test_on_a_phone_letters_can_be_read(show):
    page = show(figure(), width=390, height=844, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    size = """es => es.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
      const shrunk = e.ownerSVGElement ? e.ownerSVGElement.getBoundingClientRect().width / 300 : 1;
      return parseFloat(getComputedStyle(e).fontSize) * shrunk; })"""
    assert min(page.locator(".live :is(p, span, text, td, th, var, button)").evaluate_all(size)) >= 10
    whole = [page.locator(f".scene > :nth-child({n})").bounding_box() for n in (1, 3)]
    assert whole[1]["y"] + whole[1]["height"] - whole[0]["y"] <= 740, "query, weights and output in one view"
    tops = [page.locator(f".scene > :nth-child({n})").bounding_box()["y"] for n in (1, 2, 3, 4)]
    assert tops == sorted(tops), "one under the other"
