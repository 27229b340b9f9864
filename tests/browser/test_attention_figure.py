"""Attention by hand: its arithmetic is the package's, and every reader can work with it."""

import numpy as np
import pytest
from helpers import normal
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, P, X
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.masks import causal_mask
from tested_transformer.byhand.softmax import softmax

NAMES = ("x", "w_q", "w_k", "w_v", "positions")
SWITCHES = [
    {"scale": s, "mask": m, "positions": p} for s in (True, False) for m in (True, False) for p in (True, False)
]
FIGURE = "attention-figure"
ROWS = "table => [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"


def expected(x, w_q, w_k, w_v, positions, options):
    """Every step, by the package."""
    x = x + positions if options["positions"] else x
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    mask = causal_mask(len(x)) if options["mask"] else None
    raw = q if options["scale"] else q * np.sqrt(k.shape[1])  # the package always divides
    out, weights = attention(raw, k, v, mask)
    scores = q @ k.T
    scaled = scores / np.sqrt(k.shape[1]) if options["scale"] else scores
    masked = scaled if mask is None else np.where(mask, scaled, -np.inf)
    assert np.allclose(softmax(masked), weights)
    return {"x": x, "q": q, "k": k, "v": v, "scores": scores, "scaled": scaled, "masked": masked,
            "weights": weights, "out": out}  # fmt: skip


def figure(words=WORDS, x=X, w_q=W_Q, w_k=W_K, w_v=W_V, positions=P):
    out, weights = attention(x @ w_q, x @ w_k, x @ w_v)
    return figures.attention.by_hand({"X": x, "weights": weights, "out": out}, (w_q, w_k, w_v), positions, words)


def matrix(page, name):
    """The texts of a matrix of results; None where it is not to be seen."""
    table = page.locator(f"{FIGURE} table.of-{name}")
    if not table.is_visible():
        return None
    return [[cell.replace("−", "-").replace("∞", "inf") for cell in row] for row in table.evaluate(ROWS)]


def agree(texts, x):
    return np.allclose(np.array(texts, dtype=float), x, rtol=1e-12, atol=5.0001e-5)


def terms(page):
    return page.locator(f"{FIGURE} .attention-terms").inner_text().replace("\n", " ")


def lit(page):
    """The cells that light up, as matrix, row and column."""
    script = "e => [e.closest('table').className.replace('matrix of-', ''), e.dataset.i, e.dataset.c].join(' ')"
    return sorted(page.locator(f"{FIGURE} .lit").evaluate_all(f"cells => cells.map({script})"))


@pytest.fixture
def page(show):
    return show(figure())


# Arithmetic


def test_every_step_is_that_of_the_package_on_random_numbers(page):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        t, d, d_k, d_v = rng.integers(1, 6, size=4)
        arrays = [rng.normal(scale=4, size=s) for s in ((t, d), (d, d_k), (d, d_k), (d, d_v), (t, d))]
        data = {name: x.tolist() for name, x in zip(NAMES, arrays, strict=True)}
        for options in SWITCHES:
            found = page.evaluate("([data, options]) => figures.attention(data, options)", [data, options])
            for name, x in expected(*arrays, options).items():
                assert np.allclose(found[name], x, rtol=1e-12, atol=1e-12), (seed, options, name)


def test_softmax_keeps_its_head_with_large_scores_and_with_nothing(page):
    rows = [[1000.0, 999.0], [-1e6, -1e6], [-np.inf, 3.0], [-np.inf, -np.inf]]
    found = page.evaluate("rows => rows.map(figures.softmax)", rows)
    assert np.allclose(found, softmax(np.array(rows)), rtol=1e-12, atol=0)


def test_the_page_shows_what_the_package_calculates_after_typing_and_switching(page):
    arrays = [normal(3, 3, seed=seed).round(2) for seed in range(4)] + [P]
    for name, x in zip(NAMES[:4], arrays[:4], strict=True):
        for field, value in zip(page.locator(f"table.of-{name} input").all(), x.flat, strict=True):
            field.fill(str(value))
    now = {"scale": True, "mask": False, "positions": False}
    for i, name in enumerate([None, "mask", "positions", "scale", "mask"]):
        if name:
            page.locator(".switch").nth(["scale", "mask", "positions"].index(name)).click()
            now[name] = not now[name]
        steps = expected(*arrays, now)
        for step in ("q", "k", "v", "scores", "weights", "out"):
            assert agree(matrix(page, step), steps[step]), (i, step)
        for step, name_of, x in (
            ("x_p", "positions", "x"),
            ("scaled", "scale", "scaled"),
            ("masked", "mask", "masked"),
        ):
            shown = matrix(page, step)
            assert (shown is not None) == now[name_of]
            assert shown is None or agree(shown, steps[x])


def test_the_figure_starts_with_what_the_fallback_says(page):
    titles = {"Attention weights": "weights", "Output": "out"}
    for title, name in titles.items():
        table = page.locator(".fallback table", has_text=title)
        rows = table.evaluate(ROWS)
        assert rows == [[c.replace("-", "−") for c in row] for row in matrix(page, name)]


# Terms


def test_a_result_says_what_it_is_made_of(page):
    wanted = {
        ("q", 0, 2): ("Q, “I”, column 3: 1 · 1 + 0 · 0 + 1 · 1 = 2", "x 0 0 x 0 1 x 0 2 w_q 0 2 w_q 1 2 w_q 2 2"),
        ("scores", 0, 2): ("Score, “I” on “AI”: 2 · 1 + 0 · 2 + 2 · 1 = 4", "q 0 0 q 0 1 q 0 2 k 2 0 k 2 1 k 2 2"),
        ("scaled", 0, 2): ("Scaled score, “I” on “AI”: 4 / √3 ≈ 2.3094", "scores 0 2"),
        ("weights", 1, 2): (
            "Weight, “love” on “AI”: e1.1547 / (e0.5774 + e0.5774 + e1.1547) ≈ 0.4711",
            "scaled 1 0 scaled 1 1 scaled 1 2",
        ),
        ("out", 1, 2): (
            "out, “love”, column 3: 0.2645 · 2 + 0.2645 · 0 + 0.4711 · 1 ≈ 1.0000",
            "weights 1 0 weights 1 1 weights 1 2 v 0 2 v 1 2 v 2 2",
        ),
    }
    for (name, i, c), (words, cells) in wanted.items():
        page.locator(f'table.of-{name} td[data-i="{i}"][data-c="{c}"]').hover()
        assert terms(page) == words
        triples = cells.split()
        assert lit(page) == sorted(" ".join(triples[n : n + 3]) for n in range(0, len(triples), 3))


def test_terms_follow_the_switches_and_the_numbers(page):
    page.get_by_label("hide later words").check()
    page.locator('table.of-masked td[data-i="0"][data-c="1"]').hover()
    assert terms(page) == "After the mask, “I” on “love”: “love” comes later: hidden, −∞"
    page.locator('table.of-weights td[data-i="0"][data-c="0"]').hover()
    assert terms(page) == "Weight, “I” on “I”: e3.4641 / (e3.4641 + e−∞ + e−∞) = 1"
    page.get_by_label("add positions").check()
    page.locator('table.of-x_p td[data-i="2"][data-c="1"]').hover()
    assert terms(page) == "X + P, “AI”, column 2: 1 + 0.4 = 1.4"
    page.locator('table.of-q td[data-i="0"][data-c="0"]').hover()
    assert "(X + P) WQ" in page.locator("table.of-q caption").inner_text()
    assert lit(page)[-3:] == ["x_p 0 0", "x_p 0 1", "x_p 0 2"]
    page.keyboard.press("Escape")
    assert terms(page) == ""
    assert lit(page) == []


def test_a_weight_is_exact_where_it_is_hidden_alone_or_shared_evenly_and_nowhere_else(page):
    page.get_by_label("hide later words").check()
    weights = page.locator("table.of-weights")
    for cell, end in {
        (0, 2): " = 0, since e−∞ = 0",
        (0, 0): " = 1",
        (1, 0): " = 0.5000",
        (2, 1): " ≈ 0.1361",
    }.items():
        weights.locator('td[data-i="{}"][data-c="{}"]'.format(*cell)).hover()
        assert terms(page).endswith(end)
    page.get_by_label("hide later words").uncheck()
    page.get_by_label("divide by").uncheck()
    for name in ("W Q, row 1, column 1", "W K, row 1, column 1"):
        page.get_by_label(name).fill("1000")
    weights.locator('td[data-i="0"][data-c="1"]').hover()
    assert terms(page).endswith(" ≈ 0"), "small, but not nothing"


def test_it_is_said_that_sums_use_unrounded_numbers(page):
    assert page.get_by_text("Sums use unrounded numbers.").count() == 1
    assert page.locator(f"{FIGURE} .terms", has_text="Sums use unrounded numbers.").is_visible()


def test_a_negative_number_stands_in_brackets(page):
    page.get_by_label("X, “I”, column 1").fill("-2")
    page.locator('table.of-q td[data-i="0"][data-c="0"]').hover()
    assert terms(page) == "Q, “I”, column 1: (−2) · 1 + 0 · 0 + 1 · 1 = −1"


# Bad input, and back


def test_what_is_no_number_is_named_and_the_last_good_one_stays(page):
    field, before = page.get_by_label("W K, row 2, column 3"), matrix(page, "weights")
    for bad in ("", "-", "1e999", "1001"):
        field.fill(bad if bad == "1001" else "")  # typed digit by digit, 100 would be good
        field.press_sequentially(bad if bad != "1001" else "")
        assert field.get_attribute("aria-invalid") == "true"
        said = page.locator(".status").inner_text()
        assert said == "W K, row 2, column 3: must be a number from −1000 to 1000. 1 stays."
        field.fill("1")
        assert field.get_attribute("aria-invalid") is None
        assert matrix(page, "weights") == before
    field.fill("")
    field.blur()
    assert field.input_value() == "1"
    field.fill("1.5")
    assert matrix(page, "weights") != before


def test_the_largest_numbers_give_finite_weights(page):
    for field in page.locator("input[type=number]").all():
        field.fill("1000")
    assert matrix(page, "weights") == [["0.3333"] * 3] * 3


def test_reset_brings_back_the_numbers_and_the_switches_of_the_book(page):
    before = [matrix(page, "q"), matrix(page, "out"), terms(page)]
    page.get_by_label("X, “AI”, column 1").fill("7")
    page.get_by_label("divide by").uncheck()
    page.get_by_label("add positions").check()
    page.get_by_role("button", name="Back to the book’s numbers").click()
    assert page.get_by_label("X, “AI”, column 1").input_value() == "1"
    assert page.get_by_label("divide by").is_checked()
    assert [matrix(page, "q"), matrix(page, "out"), terms(page)] == before


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.textContent") == "Skip the inputs"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.getAttribute('aria-label')") == "X, “I”, column 1"
    keys(page, "ArrowUp Shift+ArrowUp ArrowDown")
    assert page.evaluate(f"{focused}.value") == "2"
    assert agree(matrix(page, "q"), [[3, 0, 3], [0, 1, 0], [1, 1, 1]])
    keys(page, "Shift+Tab Enter Tab")
    assert page.evaluate(f"{focused}.closest('table').className") == "matrix of-q"
    assert terms(page).startswith("Q, “I”, column 1: 2 · 1 +")
    for key, place in (
        ("ArrowDown", "1 0"),
        ("End", "1 2"),
        ("ArrowRight", "1 2"),
        ("ArrowUp", "0 2"),
        ("Home", "0 0"),
    ):
        page.keyboard.press(key)
        assert page.evaluate(f"{focused}.dataset.i + ' ' + {focused}.dataset.c") == place
    for name in ("k", "v", "scores", "scaled"):
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.closest('table').className") == f"matrix of-{name}"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.type") == "checkbox"
    page.keyboard.press("Space")
    assert matrix(page, "scaled") is None
    keys(page, "Space Tab Tab Tab Tab")
    assert page.evaluate(f"{focused}.closest('table').className") == "matrix of-weights"


def rested(page):
    """The sentence that is seen at once, and heard when the changes have come to rest."""
    seen = page.locator(f"{FIGURE} .status").inner_text()
    page.wait_for_timeout(600)
    assert page.locator("[role=status]").text_content() == seen
    return seen


def before(page):
    """What stands beside each weight: what it was before."""
    cells = page.locator("table.of-weights td[data-i]")
    return np.reshape(cells.evaluate_all("cells => cells.map(cell => cell.dataset.before ?? '')"), (3, 3)).tolist()


def test_a_change_is_told_in_one_short_sentence_about_the_word_whose_number_is_chosen(page):
    status = page.locator("[role=status]")
    assert status.inner_text() == "“love” takes 0.26 from “I”, 0.26 from “love”, 0.47 from “AI”."
    page.get_by_label("X, “I”, column 1").fill("3")  # which changes the row of "I" more
    assert rested(page) == "“love” takes 0.26 → 0.53 from “I”, 0.26 → 0.17 from “love”, 0.47 → 0.30 from “AI”."
    page.get_by_label("divide by").uncheck()
    assert rested(page) == "“love” takes 0.53 → 0.67 from “I”, 0.17 → 0.09 from “love”, 0.30 → 0.24 from “AI”."


def test_where_that_word_stays_the_one_whose_weights_change_most_is_told(page):
    page.get_by_label("X, “love”, column 2").fill("0")  # a query of zeros
    assert rested(page) == "“love” takes 0.26 → 0.33 from “I”, 0.26 → 0.33 from “love”, 0.47 → 0.33 from “AI”."
    page.get_by_label("X, “AI”, column 1").fill("0.5")
    assert rested(page).startswith("Changed most: “I” takes 0.74 → 0.83 from “I”, ")
    page.get_by_label("W V, row 1, column 1").fill("5")
    assert rested(page) == "No weight changes: “love” takes 0.33 from “I”, 0.33 from “love”, 0.33 from “AI”."


def test_a_hidden_word_is_told_with_no_weight(page):
    page.get_by_label("hide later words").check()
    assert "→ 0 from “AI”" in rested(page)


def test_each_weight_shows_what_it_was_before_the_last_change(page):
    assert before(page) == [[""] * 3] * 3
    page.get_by_label("divide by").uncheck()
    assert before(page) == [["0.71", "0.07", "0.22"], ["0.26", "0.26", "0.47"], ["0.43", "0.14", "0.43"]]
    rested(page)
    field = page.get_by_label("X, “AI”, column 2")
    for typed in ("1.", "1.2", "1.25"):  # one change, however many keys it takes
        field.fill(typed)
    assert before(page)[1] == ["0.21", "0.21", "0.58"]
    rested(page)
    field.fill("1")
    assert before(page)[1] != ["0.21", "0.21", "0.58"]
    page.get_by_role("button", name="Back to the book’s numbers").click()
    assert before(page) == [[""] * 3] * 3
    assert matrix(page, "weights")[1] == ["0.2645", "0.2645", "0.4711"], "what was is no part of the number"
