"""Merges: the text, its pairs and its tokens are those of byte-pair encoding after every merge."""

from collections import Counter

import pytest
from helpers import bench
from keyboard import keys

from tested_transformer.text.merges import PairCounts, merge


def boxes(part):
    """What stands in the walls of a part of the figure."""
    return part.locator("span:has(> i)").evaluate_all("spans => spans.map(span => span.textContent)")


@pytest.fixture
def page(show):
    return show(bench())


@pytest.mark.parametrize("pair", [("a", "a"), ("a", "b"), ("ab", "a"), ("x", "y")])
def test_a_pair_is_merged_from_left_to_right_as_in_the_package(page, pair):
    for symbols in (["a", "a", "a", "b", "ab", "a", "a"], ["a"], [], ["a", "b", "a", "b"], ["a", "a", "a", "a"]):
        assert page.evaluate("([s, p]) => figures.merge(s, p)", [symbols, pair]) == merge(symbols, pair, "".join(pair))


def test_text_pairs_and_tokens_are_right_after_every_merge(page):
    data = bench().data
    text, times = data["pieces"], data["times"]
    counts = PairCounts({tuple(piece): n for piece, n in zip(text, times, strict=True)})
    text_part, pair_part, made_part = page.locator(".part").all()
    for done in range(len(data["merges"]) + 1):
        pieces = [boxes(piece) for piece in text_part.locator(".piece").all()]
        assert pieces == counts.words
        left = Counter({pair: n for pair, n in counts.counts.items() if n})
        shown = [
            (tuple(boxes(row)), int(row.locator("td").first.text_content()))
            for row in pair_part.locator("tbody tr").all()
        ]
        assert [n for _, n in shown] == sorted(left.values(), reverse=True)[:6]
        assert all(left[pair] == n for pair, n in shown)
        assert boxes(made_part) == ["".join(pair) for pair in data["merges"][:done]]
        lit = page.locator(".part").first.locator(".lit").all_text_contents()
        if done == len(data["merges"]):
            assert (shown, lit) == ([], [])
            break
        pair = tuple(data["merges"][done])
        assert shown[0][0] == pair, "what merges next stands on top"
        assert lit == list(pair) * (len(lit) // 2)
        counts.merge(pair, "".join(pair))
        page.get_by_role("button", name="Next merge").click()
        new = page.locator(".part").first.locator(".new").all_text_contents()
        assert set(new) == {"".join(pair)}
        assert len(new) == len(lit) // 2


def test_the_bars_begin_at_the_left_and_are_as_long_as_their_numbers(show):
    page = show(bench())
    page.add_style_tag(
        content="td { text-align: right } .live table.bars { table-layout: auto }"
    )  # as the theme has it
    for row in page.locator(".live tbody tr").all():
        bar, rail = (row.locator(f".{name}").bounding_box() for name in ("bar", "rail"))
        assert bar["x"] == rail["x"]
        assert rail["width"] > 80
        times = int(row.locator("td").first.text_content())
        assert bar["width"] == pytest.approx(rail["width"] * times / 5, abs=0.5)


def test_back_leads_back_and_both_ends_hold(page):
    back, forward = (page.get_by_role("button", name=name) for name in ("Back", "Next merge"))
    first = page.locator(".live").text_content()
    assert back.get_attribute("aria-disabled") == "true"
    back.press("Enter")
    assert page.locator(".live").text_content() == first
    forward.click()
    page.get_by_role("status").get_by_text(
        "Merge 1: l + o = lo. The text has 55 tokens now. Next: v + e, 5 times."
    ).wait_for()
    back.click()
    page.get_by_role("status").get_by_text("No merge yet.").wait_for()
    for _ in range(len(bench().data["merges"]) + 1):
        forward.press("Enter")
    assert forward.get_attribute("aria-disabled") == "true"
    page.get_by_role("status").get_by_text("No pair is left.").wait_for()


@pytest.mark.usefixtures("own_tab")
def test_it_is_played_by_keyboard_to_the_end_and_stops(page):
    page.clock.install()
    keys(page, "Tab Tab Tab Enter")
    play = page.get_by_role("button", name="Pause")
    page.clock.run_for(3100)
    assert page.locator(".part").last.locator(".piece").count() == 2
    page.keyboard.press("Enter")
    page.clock.run_for(9000)
    assert page.locator(".part").last.locator(".piece").count() == 2
    assert play.count() == 0
    page.keyboard.press("Enter")
    page.clock.run_for(1500 * 60)
    assert page.locator(".part").last.locator(".piece").count() == len(bench().data["merges"])
    page.get_by_role("button", name="Play").click()
    assert page.get_by_text("none").is_visible(), "it begins again"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_text_stands_still_while_it_merges(show, width):
    page = show(bench(), width=width)
    places = "pieces => pieces.map(piece => [piece.offsetLeft, piece.offsetTop])"
    first = page.locator(".part").first.locator(".piece").evaluate_all(places)
    for _ in range(8):
        page.get_by_role("button", name="Next merge").click()
    assert page.locator(".part").first.locator(".piece").evaluate_all(places) == first
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
