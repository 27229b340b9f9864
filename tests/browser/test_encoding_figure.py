"""A text of the reader's own in the merges: its bytes, every join and its ids are the package's; for every reader."""

from functools import cache

import parity
import pytest
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.text.merges import merge
from tested_transformer.text.tokens import BYTE_IDS, split

LIVE = "encoding-figure .live"
FIRST = "The armchair is a chair."
TEXTS = (FIRST, "Käse 🙂", "The theatre")
TOKENS = parity.translator().tokens
BORN = TOKENS.vocab_size - len(TOKENS.merges)  # the id that the first merge makes


def figure(texts=TEXTS):
    plain = figures.tokens.read([("It reads", [("a", 4), (" b", 5)])])
    return figures.tokens.encoding(TOKENS.merges, TOKENS.tokens, {text: TOKENS.encode(text) for text in texts}, plain)


@pytest.fixture
def page(show):
    return show(figure(), weighted=False)


@cache
def stops(text):
    """The pieces of a text at first and after each merge that finds its pair; and these merges."""
    pieces = [[BYTE_IDS[byte] for byte in piece.encode()] for piece in split(text)]
    found, done = [pieces], []
    for k, pair in enumerate(TOKENS.merges):
        pieces = [merge(ids, pair, BORN + k) for ids in pieces]
        if pieces != found[-1]:
            found.append(pieces)
            done.append(k)
    return found, done


def walls(page):
    """What stands in the walls of each piece: characters, and bytes in hexadecimal digits."""
    script = "ps => ps.map(p => [...p.children].map(s => [...s.children].map(i => i.textContent).join('')))"
    return page.locator(f"{LIVE} .piece").evaluate_all(script)


def signs(i):
    """The bytes of a token as the figure writes them."""
    text = TOKENS.tokens[i].decode(errors="surrogateescape")
    return "".join(f"{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c.replace(" ", "␣") for c in text)


def read(page):
    """The tokens in the end, each with its id."""
    return page.locator(f"{LIVE} .read li").evaluate_all(
        "all => all.map(li => [li.firstChild.textContent, Number(li.lastChild.textContent)])"
    )


def line(page):
    return page.locator(".line").text_content()


def write(page, text):
    page.get_by_label("Your text").fill(text)


# What is calculated


@pytest.mark.parametrize("text", [*TEXTS, "I love you ÄÖÜ", "日本 語", "aaaaa aaaa", "a\u200bb"])
def test_bytes_joins_and_ids_are_those_of_the_package(page, text):
    write(page, text)
    found, done = stops(text)
    assert page.get_by_label("merges done").get_attribute("max") == str(len(done))
    for n, pieces in enumerate(found):
        assert walls(page) == [[signs(i) for i in ids] for ids in pieces]
        lit = page.locator(f"{LIVE} .text .lit").all_text_contents()
        new = page.locator(f"{LIVE} .text .new").all_text_contents()
        assert set(new) == ({signs(BORN + done[n - 1])} if n else set())
        if n < len(done):
            assert lit == [signs(i) for i in TOKENS.merges[done[n]]] * (len(lit) // 2)
            joined = sum(map(len, pieces)) - sum(map(len, found[n + 1]))
            assert len(lit) == 2 * joined > 0
            joins = f"{' + '.join(map(signs, TOKENS.merges[done[n]]))} = {signs(BORN + done[n])}"
            assert line(page).endswith(f"Next: merge {done[n] + 1} of 1500, {joins}.")
            page.get_by_role("button", name="Next merge").click()
        else:
            assert lit == []
            assert line(page).endswith("No merge finds its pair any more.")
    assert read(page) == [[signs(i), i] for i in TOKENS.encode(text)]


def test_what_cannot_be_cut_is_told_and_an_empty_text_has_no_tokens(page):
    write(page, "")
    assert line(page) == "An empty text has no tokens."
    assert read(page) == walls(page) == []
    page.get_by_label("Your text").evaluate("e => { e.value = '\\ud83d'; e.dispatchEvent(new Event('input')) }")
    assert line(page) == "This cannot be read: the text has half a character."
    assert read(page) == []
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        TOKENS.encode("\ud83d")
    write(page, "🙂")
    assert line(page) == "No merge yet: 4 bytes, each a token. No merge finds its pair any more."
    assert walls(page) == [["F0", "9F", "99", "82"]]


def test_a_character_is_shown_when_all_of_its_bytes_are_in_one_token(page):
    script = "all => all.map(bytes => figures.cells(bytes).map(({text, size}) => [text, size]))"
    cases = " ä".encode(), b"\xc3", b"\xa4x", "🙂".encode(), b"\xf0\x9f", "\n\u0301".encode(), b"\xff"
    assert page.evaluate(script, [list(case) for case in cases]) == [
        [["␣", 1], ["ä", 2]], [["C3", 1]], [["A4", 1], ["x", 1]], [["🙂", 4]], [["F0", 1], ["9F", 1]],
        [["⏎", 1], ["◌\u0301", 2]], [["FF", 1]],
    ]  # fmt: skip


# What is seen


def test_it_opens_with_the_first_text_as_bytes_and_loads_nothing(show):
    loaded = []
    page = show(figure(), loaded=loaded, weighted=False)
    assert page.get_by_label("Your text").input_value() == FIRST
    assert ["".join(piece) for piece in walls(page)] == [piece.replace(" ", "␣") for piece in split(FIRST)]
    assert {len(symbol) for piece in walls(page) for symbol in piece} == {1}
    write(page, "tea")
    assert not any(path.name == "phrasebook.js" for path in loaded)


def test_slider_buttons_and_texts_lead_to_the_same_stops(page):
    slider, back = page.get_by_label("merges done"), page.get_by_role("button", name="Back")
    found, done = stops(FIRST)
    assert back.get_attribute("aria-disabled") == "true"
    slider.fill(str(len(done)))
    assert walls(page) == [[signs(i) for i in ids] for ids in found[-1]]
    assert page.get_by_role("button", name="Next merge").get_attribute("aria-disabled") == "true"
    back.click()
    assert slider.input_value() == str(len(done) - 1)
    assert slider.get_attribute("aria-valuetext") == f"{len(done) - 1} of {len(done)}"
    for text in (*TEXTS[1:], FIRST):
        page.get_by_role("button", name="Another text").click()
        assert page.get_by_label("Your text").input_value() == text
        assert slider.input_value() == "0"
        assert read(page) == [[signs(i), i] for i in TOKENS.encode(text)]


# For every reader


@pytest.mark.usefixtures("own_tab")
def test_it_is_worked_and_played_with_the_keyboard_alone(page):
    page.clock.install()
    keys(page, "Tab End")
    page.keyboard.type(" x")
    assert [i for _, i in read(page)] == TOKENS.encode(f"{FIRST} x")
    keys(page, "Tab Tab Enter")
    assert page.get_by_label("merges done").input_value() == "1"
    keys(page, "Tab Enter")
    page.clock.run_for(2500)
    assert page.get_by_label("merges done").input_value() == "3"
    page.get_by_role("button", name="Pause").press("Enter")
    page.clock.run_for(5000)
    assert page.get_by_label("merges done").input_value() == "3"


def test_each_step_is_told_in_words_when_it_has_come_to_rest(page):
    page.get_by_role("button", name="Next merge").click()
    page.get_by_role("status").get_by_text(line(page)).wait_for(state="attached")
    assert line(page).startswith("Done: merge ")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_text_stands_still_and_nothing_leads_out_of_the_page(show, width):
    page = show(figure(), weighted=False, width=width, height=900)
    for text in (FIRST, "Donaudampfschifffahrtsgesellschaftskapitän 🙂🙂", "x" * 200):
        write(page, text)
        places = "all => all.map(i => [i.offsetLeft, i.offsetTop])"
        first, high = page.locator(".piece").evaluate_all(places), page.locator(LIVE).bounding_box()["height"]
        for n in (1, 3, 6):
            if n <= int(page.get_by_label("merges done").get_attribute("max")):
                page.get_by_label("merges done").fill(str(n))
                assert page.locator(".piece").evaluate_all(places) == first
                assert page.locator(LIVE).bounding_box()["height"] == high
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_words_stay_words(page):
    text = "<img src=x onerror=alert(1)></script><b>"
    write(page, text)
    assert page.locator(f"{LIVE} :is(img, script, b)").count() == 0
    assert "".join(page.locator(".piece").all_text_contents()).replace("␣", " ") == text
