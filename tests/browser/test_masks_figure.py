"""A mask to paint: the weights are the package's under every mask; by mouse, finger and keyboard; for every reader."""

from itertools import product

import numpy as np
import pytest
import torch
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, X
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.masks import causal_mask, padding_mask
from tested_transformer.model.attention import attention as torch_attention

LIVE = "masks-figure .live"
IDS = np.array([[4, 5, 6, 0]])
NAMES = [*WORDS, "–"]
QKV = [np.vstack([X, np.zeros(3)]) @ w for w in (W_Q, W_K, W_V)]
CAUSAL, PADDING = causal_mask(4), np.repeat(padding_mask(IDS, 0)[0, 0], 4, axis=0)
SCORES = QKV[0] @ QKV[1].T / np.sqrt(3)
FREE = np.ones((4, 4), dtype=bool)


def under(mask):
    return attention(*QKV, mask)[1]


def figure(words=NAMES):
    masks = {"causal": CAUSAL, "padding": PADDING}
    weights = {name: under(mask) for name, mask in masks.items()}
    return figures.masks.painter(SCORES, words, IDS[0] != 0, masks, weights, marked=1)


@pytest.fixture
def page(show):
    return show(figure())


def said(x):
    return "0" if x == 0 else "1" if x == 1 else f"{x:.4f}"


def table(page, kind):
    script = "rows => rows.map(r => [...r.querySelectorAll('td[data-i]')].map(c => c.textContent))"
    return page.locator(f"{LIVE} .{kind} tbody tr").evaluate_all(script)


def look(page, i, j):
    return page.locator(f"{LIVE} .looks [data-i='{i}'][data-j='{j}']")


def hidden(page):
    script = "cells => cells.map(c => c.classList.contains('hidden'))"
    return np.array(page.locator(f"{LIVE} .looks td[data-i]").evaluate_all(script)).reshape(4, 4)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def holds(page, mask):
    """Everything that is written is what the package computes under this mask."""
    assert np.array_equal(~hidden(page), mask)
    weights, looks = np.array(table(page, "weights")), np.array(table(page, "looks"))
    assert weights.tolist() == [[said(a) for a in row] for row in under(mask)]
    assert set(weights[~mask]) <= {"0"}
    assert set(looks[~mask]) <= {"−∞"}
    assert looks[mask].tolist() == [said(score) for score in SCORES[mask]]
    sums = page.locator(f"{LIVE} td.sum").all_text_contents()
    assert sums == [str(int(row.any())) for row in mask]
    assert page.locator(f"{LIVE} td.nothing").count() == sums.count("0")


def consequence(page):
    return page.locator(".consequence").text_content()


# What is computed


def test_every_mask_gives_the_weights_of_the_package(page):
    """All masks of three by three looks, and two hundred of four by four, in NumPy and in PyTorch."""
    draws = np.random.default_rng(0)
    small = [np.array(bits).reshape(3, 3) for bits in product([False, True], repeat=9)]
    for n, masks in ((3, small), (4, draws.random((200, 4, 4)) < 0.5)):
        q, k, v = draws.normal(0, 3, (3, n, 3))
        scores = q @ k.T / np.sqrt(3)
        script = "([s, masks]) => masks.map(mask => figures.masks.weighed(s, mask))"
        found = np.array(page.evaluate(script, [scores.tolist(), [mask.tolist() for mask in masks]]))
        wanted = np.array([attention(q, k, v, mask)[1] for mask in masks])
        assert np.allclose(found, wanted, rtol=0, atol=1e-12)
        assert np.all(found[~np.array(masks)] == 0)
        many = (torch.tensor(x).expand(len(masks), n, 3) for x in (q, k, v))
        theirs = torch_attention(*many, torch.tensor(np.array(masks)))[1]
        assert np.allclose(found, theirs.numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", range(1, 7))
def test_the_two_masks_are_those_of_the_package(page, n):
    assert page.evaluate("n => figures.masks.causal(n)", n) == causal_mask(n).tolist()
    ids = np.random.default_rng(n).integers(0, 2, (1, n))
    wanted = np.broadcast_to(padding_mask(ids, 0)[0, 0], (n, n))
    assert page.evaluate("real => figures.masks.padding(real)", (ids[0] != 0).tolist()) == wanted.tolist()


# What is seen


def test_it_opens_under_the_causal_mask_and_the_buttons_set_the_others(page):
    holds(page, CAUSAL)
    pressed = page.locator(f"{LIVE} button[aria-pressed='true']")
    for name, mask in (("padding", PADDING), ("nothing hidden", FREE), ("causal", CAUSAL)):
        press(page, name)
        holds(page, mask)
        assert pressed.all_text_contents() == [name]
    press(page, "invert")
    holds(page, ~CAUSAL)
    assert pressed.count() == 0
    press(page, "invert")
    assert pressed.all_text_contents() == ["causal"]


def test_a_press_turns_one_look_round_and_changes_its_row_alone(page):
    mask = CAUSAL.copy()
    for i, j in ((0, 2), (2, 2), (3, 0), (0, 2), (1, 3)):
        before = table(page, "weights")
        look(page, i, j).click()
        mask[i, j] = not mask[i, j]
        holds(page, mask)
        assert [n for n in range(4) if table(page, "weights")[n] != before[n]] == [i]


def drag(page, *places):
    for n, place in enumerate(places):
        box = look(page, *place).bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        if not n:
            page.mouse.down()
    page.mouse.up()


def test_a_drag_gives_all_that_it_comes_over_what_it_gave_the_first(page):
    drag(page, (0, 0), (0, 3))  # hides one; the other three are hidden already
    mask = CAUSAL.copy()
    mask[0] = False
    holds(page, mask)
    drag(page, (0, 3), (0, 0), (1, 0))
    mask[0] = True
    holds(page, mask)
    page.mouse.move(5, 5)
    holds(page, mask)


def test_a_drag_that_becomes_scrolling_leaves_all_as_it_was(page):
    script = """(cell, kind) => { const {x, y} = cell.getBoundingClientRect();
        cell.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: x + 9, clientY: y + 9, pointerId: 1})) }"""
    page.evaluate("Element.prototype.setPointerCapture = () => {}")
    look(page, 1, 3).evaluate(script, "pointerdown")
    assert not hidden(page)[1, 3]
    look(page, 1, 3).evaluate(script, "pointercancel")
    holds(page, CAUSAL)


def test_the_consequence_names_who_cheats_who_wastes_and_who_has_nothing(page):
    assert consequence(page) == "No word sees a later one. No word looks at the padding."
    press(page, "padding")
    assert consequence(page) == (
        "A decoder could cheat here: “I” sees “love” and “AI”; “love” sees “AI”. No word looks at the padding."
    )
    press(page, "nothing hidden")
    assert consequence(page).endswith("“love” sees “AI”. Padding gets weight from “I”, “love” and “AI”.")
    press(page, "causal")
    look(page, 0, 0).click()
    assert consequence(page).endswith(
        "“I” has nothing to look at: weights of 0, so attention adds nothing to this vector."
    )
    look(page, 1, 0).click()
    look(page, 1, 1).click()
    assert "“I” and “love” have nothing to look at" in consequence(page)


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    keys(page, "Tab Tab Tab Tab Tab")
    focus = "[document.activeElement.dataset.i, document.activeElement.dataset.j]"
    assert page.evaluate(focus) == ["0", "0"]
    mask = CAUSAL.copy()
    for way, place in (
        ("ArrowRight ArrowDown", (1, 1)),
        ("End", (1, 3)),
        ("ArrowRight", (1, 3)),
        ("Home", (1, 0)),
        ("ArrowUp ArrowUp ArrowLeft", (0, 0)),
        ("ArrowDown " * 5, (3, 0)),
    ):
        keys(page, way)
        assert page.evaluate(focus) == [str(place[0]), str(place[1])]
        page.keyboard.press("Space" if place != (3, 0) else "Enter")
        mask[place] = not mask[place]
        holds(page, mask)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.live')") is None, "one stop for the whole square"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focus) == ["3", "0"]


def test_what_changed_is_told_in_words_when_it_has_come_to_rest(page):
    look(page, 0, 2).click()
    told = under(np.array(CAUSAL) | (np.arange(16).reshape(4, 4) == 2))[0]
    weights = f"{said(told[0])} on “I”, 0 on “love”, {said(told[2])} on “AI” and 0 on “–”."
    told = f"“I” may look at “AI”; its weights are {weights}"
    page.get_by_role("status").get_by_text(told).wait_for(state="attached")
    press(page, "nothing hidden")
    page.get_by_role("status").get_by_text("The mask is “nothing hidden” now. A decoder").wait_for(state="attached")
    label = look(page, 0, 2).get_attribute("aria-label")
    assert label == f"“I” at “AI”: shown, score 2.3094, weight {said(under(FREE)[0, 2])}"
