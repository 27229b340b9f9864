"""What each layer says: the rows are those of the record, a guess comes first, and no state moves what is below."""

import pytest
from helpers import layered
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.figures.layers import layer_name, shown
from tested_transformer.book.logit_lens import takes_over
from tested_transformer.shares import as_share, counted

LIVE = "layers-figure .live"
RECORD = layered()


def figure(first=(0, 0), **more):
    return figures.layers.said(RECORD, first, **more)


@pytest.fixture
def page(show):
    return show(figure())


def look(page):
    page.get_by_role("button", name="Look").click()


def said(p):
    return as_share(p, 3) if p else "< 0.001"


def rows(page):
    script = "rows => rows.map(r => [...r.cells].filter(c => c.className !== 'rail').map(c => c.textContent))"
    return page.locator(f"{LIVE} .ladder tbody tr").evaluate_all(script)


def wanted(step):
    cells = zip(step["layers"], step["ranks"], strict=True)
    return [
        [str(n) if n else "start", shown(best[0][0]), said(best[0][1]), counted(rank + 1)]
        for n, (best, rank) in enumerate(cells)
    ]


def answer(page):
    return page.locator(".answer.here .choice")


# What is shown


@pytest.mark.parametrize("n", range(2))
def test_every_row_is_that_of_the_record(page, n):
    look(page)
    page.get_by_label("The question").select_option(str(n))
    steps = RECORD["prompts"][n]["steps"]
    assert answer(page).all_text_contents() == [shown(step["token"]) for step in steps]
    for stop, step in enumerate(steps):
        answer(page).nth(stop).click()
        assert rows(page) == wanted(step)
        own = page.locator(".ladder tbody tr.wrote").evaluate_all("rows => rows.map(r => Number(r.dataset.n))")
        assert own == [layer for layer, rank in enumerate(step["ranks"]) if rank == 0]
        assert page.locator(".ladder tr.from").get_attribute("data-n") == str(takes_over(step))
        bars = page.locator(".ladder .bar").evaluate_all("bs => bs.map(b => parseFloat(b.style.width))")
        dots = page.locator(".ladder .dot").evaluate_all("ds => ds.map(d => parseFloat(d.style.left))")
        assert bars == pytest.approx([100 * row[0][1] for row in step["layers"]], abs=0.06)
        assert dots == pytest.approx([100 * p for p in step["written"]], abs=0.06)
        five = page.locator(".five tbody tr").evaluate_all(
            "rs => rs.map(r => [r.cells[0], r.cells[2]].map(c => c.textContent))"
        )
        assert five == [[shown(word), said(p)] for word, p in step["output"]]


def test_the_prompt_is_shown_with_the_marks_of_its_template(page):
    for n, prompt in enumerate(RECORD["prompts"]):
        page.get_by_label("The question").select_option(str(n))
        pieces = page.locator(".read .here .piece")
        assert pieces.all_text_contents() == [shown(word) for word in prompt["prompt"]]
        assert page.locator(".read .here .sign").all_text_contents() == ["<|im_start|>", "<|im_end|>"]


@pytest.mark.parametrize("ranks", [[3, 2, 1, 0], [0, 0], [0, 5, 0, 0], [9, 0, 7, 0, 0, 0]])
def test_a_token_takes_over_where_python_says(page, ranks):
    assert page.evaluate("ranks => figures.takesOver(ranks)", ranks) == takes_over({"ranks": ranks})


# The guess


def test_the_layers_are_covered_until_a_guess_is_made(page):
    cells = page.locator(".ladder tbody td")
    assert not any(cells.nth(n).is_visible() for n in range(cells.count()))
    page.get_by_role("slider").fill("1")
    look(page)
    assert all(page.locator(".ladder tbody td.word").nth(n).is_visible() for n in range(5))
    assert page.locator(".ladder tr.guessed").get_attribute("data-n") == "1"
    over = layer_name(takes_over(RECORD["prompts"][0]["steps"][0]))
    page.get_by_role("status").get_by_text(f"It leads from {over} on; you said layer 1.").wait_for(state="attached")
    page.get_by_role("button", name="Cover again").click()
    assert not cells.first.is_visible()


def test_without_a_guess_all_is_open(show):
    page = show(figure(guess=False))
    assert page.locator(".ladder tbody td.word").first.is_visible()
    assert page.locator(".ladder tr.guessed").count() == 0


def test_while_it_is_covered_nothing_tells_where_the_token_takes_over(page):
    seen = page.locator(".ladder tbody tr").evaluate_all("rs => rs.map(r => getComputedStyle(r.cells[0]).boxShadow)")
    place = int(page.locator(".ladder tr.guessed").get_attribute("data-n"))
    assert {shadow for n, shadow in enumerate(seen) if n != place} == {"none"}


# Ways to use it


def test_a_row_that_is_pointed_at_tells_its_three_likeliest(page):
    look(page)
    step = RECORD["prompts"][0]["steps"][0]
    for layer in (0, 3):
        page.locator(".ladder tbody tr").nth(layer).hover()
        told = page.locator(".status[aria-hidden]").text_content()
        three = ", ".join(f"“{shown(word)}” {said(p)}" for word, p in step["layers"][layer])
        assert told.startswith(f"After {layer_name(layer)}: {three}. ".replace("After the start", "At the start"))
        assert f"place {counted(step['ranks'][layer] + 1)} of 50\u202f000." in told
        assert page.get_by_role("slider").input_value() == str(layer)


def test_play_writes_the_answer_token_by_token(show):
    page = show(figure((1, 0)), hurry=True)
    page.evaluate("document.querySelector('layers-figure').beat = 30")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.answer.here .choice:last-of-type input').checked")
    assert page.locator(".answer.here .coming").count() == 0
    page.get_by_role("button", name="Play").wait_for()


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    keys(page, "Tab ArrowDown")
    assert page.locator(".answer.here").get_attribute("aria-label") == "The answer to: Two <b>?"
    keys(page, "Tab Tab")
    before = page.locator(".answer.here input:checked").evaluate(
        "e => [...e.closest('.answer').querySelectorAll('input')].indexOf(e)"
    )
    keys(page, "ArrowRight")
    after = page.locator(".answer.here input:checked").evaluate(
        "e => [...e.closest('.answer').querySelectorAll('input')].indexOf(e)"
    )
    assert after == (before + 1) % 3
    keys(page, "Tab Home ArrowRight")
    assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')") == "layer 1"
    keys(page, "Tab Enter")
    assert page.locator(".ladder tbody td.word").first.is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_below_moves_and_nothing_is_wider_than_the_page(show, width):
    page = show(figure(), width=width)
    heights = set()
    for n, prompt in enumerate(RECORD["prompts"]):
        page.get_by_label("The question").select_option(str(n))
        for stop in range(len(prompt["steps"])):
            answer(page).nth(stop).click()
            for _ in range(2):
                page.locator(".ask button").click()
                heights.add(page.locator(LIVE).bounding_box()["height"])
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert len(heights) == 1
