"""Fewer bits for each weight: row, product and translation are Python's at every setting, for every reader."""

import functools
from itertools import pairwise

import numpy as np
import parity
import pytest
import torch
from keyboard import keys

from tested_transformer.book import few_bits, figures
from tested_transformer.book.coreference import RUNNING
from tested_transformer.book.few_bits import FALLING
from tested_transformer.book.figures.bits import SHOWN, shown
from tested_transformer.shares import written
from tested_transformer.training.int8 import bound, from_int8, to_int8

LIVE = "bits-figure .live"
SENTENCES = (
    RUNNING[0].english,
    "I am looking for the book because I need it.",
    "She sold music although it was beautiful.",
)
PLACE = "The first number of the query of “it”"
OWN = "Hello, I love the house because it is old."
each_setting = pytest.mark.parametrize("bits", FALLING)


@functools.cache
def at_each():
    return few_bits.translators(parity.translator())


@functools.cache
def given():
    translator = at_each()[8]
    product = few_bits.query(translator, SENTENCES[0], "it", 1, 2)
    settings = few_bits.settings(translator.model.state_dict(), product)
    return product, PLACE, settings, few_bits.written(at_each(), SENTENCES)


def figure():
    return figures.bits.rounding(*given())


@pytest.fixture
def page(show):
    return show(figure())


def slide(page, bits):
    page.get_by_role("slider").fill(str(bits))


def german(page):
    return page.locator(".german").text_content()


def settled(page, text):
    """What stands there when this is the sentence that is shown, at the present bits."""
    page.wait_for_function(
        """text => { const f = document.querySelector('bits-figure');
            return f.sentence.english === text && !f.querySelector('.waiting'); }""",
        arg=text,
    )
    return german(page)


def ask(page, text):
    page.get_by_role("textbox").fill(text)
    page.get_by_role("button", name="Translate").click()
    return settled(page, text)


def common(a, b):
    """How many words two texts have in common, in the same order."""
    row = [0] * (len(b) + 1)
    for word in a:
        new = [0]
        for j, other in enumerate(b):
            new.append(row[j] + 1 if word == other else max(row[j + 1], new[j]))
        row = new
    return row[-1]


# What is calculated


@each_setting
def test_row_and_product_are_those_of_python(page, bits):
    row, x = (torch.from_numpy(numbers) for numbers in given()[0])
    found = page.evaluate("([row, x, bits]) => figures.product(row, x, bits)", [row.tolist(), x.tolist(), bits])
    integers, scale = to_int8(row, bits)
    assert found["integers"] == integers.tolist()
    assert found["scale"] == scale.item()
    assert found["now"] == from_int8(integers, scale).tolist()
    for name, number in (("exact", row @ x), ("rounded", from_int8(integers, scale) @ x), ("bound", bound(scale, x))):
        assert np.isclose(found[name], number.item(), rtol=0, atol=1e-12), name
    assert np.isclose(found["apart"], abs(found["rounded"] - found["exact"]), rtol=0, atol=1e-12)


def test_a_product_is_never_farther_away_than_its_bound(page):
    draws = np.random.default_rng(0)
    rows = [draws.normal(0, 10.0**size, 8).astype(np.float32).tolist() for size in (-9, -3, 0, 2, 9) for _ in range(40)]
    rows += [(draws.integers(-14, 15, 8) / 2).tolist() for _ in range(200)]  # with halves of a step
    xs = [draws.choice([-1.0, 0.0, 1.0, 100.0], 8).tolist() for _ in rows]
    script = """([rows, xs]) => rows.flatMap((row, n) => [2, 3, 4, 5, 6, 7, 8].map(bits => {
        const {apart, bound} = figures.product(row, xs[n], bits);
        return [apart, bound];
    }))"""
    apart, most = np.array(page.evaluate(script, [rows, xs])).T
    assert np.all(apart <= most * (1 + 1e-9))
    assert (apart / np.where(most > 0, most, 1)).max() > 0.9, "some come near it"


def test_words_are_marked_that_the_other_text_does_not_have_there(page):
    draws = np.random.default_rng(0)
    pairs = [["".join(draws.choice([*"abc"], draws.integers(0, 9))) for _ in range(2)] for _ in range(300)]
    found = page.evaluate("pairs => pairs.map(([a, b]) => figures.differing([...a], [...b]))", pairs)
    for (a, b), marked in zip(pairs, found, strict=True):
        rest = [word for n, word in enumerate(a) if n not in marked]
        letters = iter(b)
        assert all(word in letters for word in rest), (a, b, marked)
        assert len(rest) == common(a, b), (a, b, marked)


# What is seen


def test_it_opens_at_8_bits_which_change_nothing(page):
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "8 bits"
    assert page.locator(f"{LIVE} .status").text_content() == (
        "These weights were rounded to 8 bits before they were packed, so 8 changes nothing."
    )
    assert page.locator("dd").all_text_contents()[2] == "0"
    assert german(page) == RUNNING[0].german
    assert page.locator(".note").text_content() == ""


PLACES = """dots => dots.map(dot => { const m = new DOMMatrix(dot.style.transform); return [m.e, m.f, m.a]; })"""


@each_setting
def test_each_weight_lies_at_its_value_and_a_line_leads_to_where_it_was(page, bits):
    slide(page, bits)
    row = given()[0].row
    integers, scale = to_int8(torch.from_numpy(row), bits)
    dots = np.array(page.locator("svg circle.weight[r='3.6']").evaluate_all(PLACES))
    traces = np.array(page.locator("path.trace").evaluate_all(PLACES))
    unit = 300 / np.abs(row).max()
    assert np.allclose(dots[:, 0], 320 + from_int8(integers, scale).numpy() * unit, rtol=0, atol=0.02)
    assert np.allclose(traces[:, 0], 320 + row * unit, rtol=0, atol=0.02)
    assert np.allclose(traces[:, 0] + traces[:, 2], dots[:, 0], rtol=0, atol=1e-3)
    assert np.array_equal(traces[:, 1], dots[:, 1])
    assert len({*dots[:, 1].round(3)}) == len(row), "none hides another"
    grid = [float(part.split()[0]) for part in page.locator("path.grid").get_attribute("d").split("M")[1:]]
    assert len(grid) == 2**bits - 1
    assert all(np.abs(np.array(grid) - x).min() < 0.02 for x in dots[:, 0]), "each on a line"
    most = 2 ** (bits - 1) - 1
    names = page.locator("svg.row text").all_text_contents()
    wanted = [*range(-most, most + 1)] if bits <= 4 else [-most, 0, most]
    assert names == [written(n, 0) for n in wanted]
    assert page.locator(".name").first.text_content() == (
        f"128 weights of one row, and the {2**bits - 1} values that {bits} bits leave them"
    )


@each_setting
def test_the_product_lies_within_the_ends_of_its_bound_and_its_numbers_are_written(page, bits):
    slide(page, bits)
    settings = given()[2]
    now, exact = settings[bits], settings[8].product
    numbers = exact, now.product, abs(now.product - exact), now.bound
    assert page.locator("dd").all_text_contents() == [written(x, 3) for x in numbers]
    (left, *_), (right, *_) = page.locator("path.end").evaluate_all(PLACES)
    ((point, *_),) = page.locator("svg.product circle").evaluate_all(PLACES)
    ((middle, _, half),) = page.locator("rect.band").evaluate_all(PLACES)
    unit = 300 / settings[2].bound
    assert np.allclose([left, right], [320 - now.bound * unit, 320 + now.bound * unit], rtol=0, atol=0.02)
    assert np.allclose([middle - half, middle + half], [left, right], rtol=0, atol=1e-3)
    assert np.isclose(point, 320 + (now.product - exact) * unit, rtol=0, atol=0.02)
    assert left <= point <= right


@each_setting
def test_the_line_below_the_slider_says_what_the_row_is_now(page, bits):
    slide(page, bits)
    integers, scale = to_int8(torch.from_numpy(given()[0].row), bits)
    zeros = (integers == 0).sum().item()
    assert page.locator(".weighs b").text_content() == f"{written(given()[2][bits].megabytes, 2)} MB"
    share = page.locator(".weighs .bar").evaluate("bar => parseFloat(bar.style.width)")
    assert np.isclose(share, 100 * given()[2][bits].megabytes / given()[2][8].megabytes, atol=0.01)
    if bits < 8:
        end = "weights is 0 now." if zeros == 1 else "weights are 0 now."
        said = f"Two neighbouring values are {written(scale.item(), 4)} apart. {zeros} of the 128 {end}"
        assert page.locator(f"{LIVE} .status").text_content() == said


def test_a_single_weight_is_0_and_a_short_row_is_counted(show):
    product = few_bits.Product(np.array([3.0, 0.25, -2.0, 1.0]), np.array([1.0, 2.0, -1.0, 0.5]))
    settings = few_bits.settings(at_each()[8].model.state_dict(), product)
    page = show(figures.bits.rounding(product, PLACE, settings, given()[3]))
    slide(page, 3)
    assert page.locator(f"{LIVE} .status").text_content() == (
        "Two neighbouring values are 1.0000 apart. 1 of the 4 weights is 0 now."
    )
    assert page.locator(f"{LIVE} .name").first.text_content().startswith("4 weights of one row")
    assert page.locator("dd").all_text_contents() == ["6.000", "5.500", "0.500", "2.250"]


@each_setting
def test_each_sentence_is_translated_as_in_python_and_what_8_bits_do_not_write_is_marked(page, bits):
    slide(page, bits)
    for n, (text, translations) in enumerate(given()[3].items()):
        if n:
            page.get_by_role("button", name="Another sentence").click()
        assert page.get_by_role("textbox").input_value() == text
        assert " ".join(settled(page, text).split()) == " ".join(shown(translations[bits]).split())
        now, eight = (translations[b].split() for b in (bits, 8))
        marked = page.locator(".german b").all_text_contents()
        if translations[bits] == translations[8]:
            assert marked == []
            wanted = "" if bits == 8 else "The same as with 8 bits."
        else:
            same = common(now, eight)
            assert len(marked) <= len(now) - same
            count = max(len(now), len(eight)) - same
            wanted = f"{count} words differ" if count > 1 else "One word differs"
            wanted = f"{wanted} from the 8-bit translation." if same else "No word is the same as with 8 bits."
        assert page.locator(".note").text_content().strip() == wanted
    page.get_by_role("button", name="Another sentence").click()
    assert page.get_by_role("textbox").input_value() == SENTENCES[0], "and the first again"


def test_one_wrong_word_is_marked_alone(page):
    page.get_by_role("button", name="Another sentence").click()
    slide(page, 3)
    assert page.locator(".german b").all_text_contents() == ["brauchen."]
    look = "b => { const s = getComputedStyle(b); return [s.textDecorationLine, s.fontWeight]; }"
    assert page.locator(".german b").evaluate(look) == ["underline", "700"], "not by its colour alone"


def test_what_goes_on_and_on_is_cut_and_unseen_characters_get_a_sign(page):
    slide(page, 2)
    text = german(page)
    assert len(given()[3][SENTENCES[0]][2]) > SHOWN
    assert text.endswith("…")
    assert len(text) <= SHOWN + 1
    assert "\x7f" in given()[3][SENTENCES[0]][2]
    assert "�" in text
    assert "\x7f" not in text


def test_the_tables_say_what_the_figure_shows(page):
    script = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
    first, *others = [table.evaluate(script) for table in page.locator(".fallback table").all()]
    _, _, settings, translations = given()
    for line, (bits, s) in zip(first, settings.items(), strict=True):
        numbers = [written(x, n) for x, n in ((s.megabytes, 2), (s.step, 4), (s.product, 3), (s.bound, 3))]
        assert line == [str(bits), str(2**bits - 1), *numbers]
        slide(page, bits)
        assert page.locator("dd").all_text_contents()[1::2] == numbers[2:]
    for table, german_at in zip(others, translations.values(), strict=True):
        assert table == [[str(bits), shown(german_at[bits])] for bits in FALLING]


# A sentence of the reader's own


def test_nothing_is_loaded_for_the_sentences_that_python_has_translated(show):
    loaded = []
    page = show(figure())
    page.on("request", lambda request: loaded.append(request.url))
    for bits in FALLING:
        slide(page, bits)
        page.get_by_role("button", name="Another sentence").click()
    page.wait_for_timeout(200)
    assert [url for url in loaded if "phrasebook" in url] == []


def test_an_own_sentence_is_translated_at_every_setting(page):
    wanted = few_bits.written(at_each(), [OWN])[OWN]
    slide(page, 5)
    ask(page, OWN)
    for bits in (5, 4, 2, 3, 8, 6, 7):
        slide(page, bits)
        text = settled(page, OWN)
        assert " ".join(text.split()) == " ".join(shown(wanted[bits]).split()), bits
        note = page.locator(".note").text_content()
        assert note.endswith("Never trained: Hello, house. It guesses.")
        now, eight = (wanted[b].split() for b in (bits, 8))
        assert note.startswith("The same as with 8 bits") == (now == eight and bits < 8)
    page.locator(".heard[role=status]", has_text="It guesses").wait_for(state="attached")


def test_only_the_last_setting_and_sentence_are_answered(page):
    ask(page, OWN)
    page.evaluate(
        """async text => { const f = document.querySelector('bits-figure'), range = f.querySelector('[type=range]');
            for (const bits of [2, 5, 2, 3, 2, 6]) {
                range.value = bits; range.dispatchEvent(new Event('input', {bubbles: true}));
                await new Promise(go => setTimeout(go, 10));
            }
            f.want({english: 'I love AI and tea.', written: {}});
            await new Promise(go => setTimeout(go, 5));
            f.want({english: text, written: {}}); }""",
        "It is old.",
    )
    settled(page, "It is old.")
    page.wait_for_timeout(600)
    assert german(page) == few_bits.written({6: at_each()[6]}, ["It is old."])["It is old."][6]
    assert page.get_by_role("textbox").input_value() == "It is old."


@pytest.mark.parametrize(
    ("text", "why"),
    [(parity.TOO_LONG, "reads 1024 at most: split it"), ("  ", "a sentence has at least one word")],
    ids=["too long", "nothing"],
)
def test_what_cannot_be_read_is_told_and_the_last_sentence_goes_on(page, text, why):
    slide(page, 4)
    page.get_by_role("textbox").fill(text)
    page.get_by_role("button", name="Translate").click()
    page.locator(".note").get_by_text(why).wait_for()
    assert page.locator(".waiting").count() == 0
    slide(page, 2)
    page.wait_for_timeout(200)
    assert german(page).startswith(shown(given()[3][SENTENCES[0]][2])[:5])
    assert page.locator(".note").text_content().strip() == "No word is the same as with 8 bits."
    slide(page, 5)
    assert ask(page, "I love AI.") == "Ich liebe KI.", "and others can be asked"


def test_without_the_weights_it_says_so_and_the_slider_goes_on(show, complaints):
    page = show(figure(), weighted=False)
    page.get_by_role("textbox").fill(OWN)
    page.get_by_role("button", name="Translate").click()
    page.locator(".note").get_by_text("the model could not be loaded").wait_for()
    assert german(page) == RUNNING[0].german
    assert page.get_by_role("textbox").input_value() == OWN, "to be sent again"
    for bits in FALLING:
        slide(page, bits)
        assert " ".join(german(page).split()) == " ".join(shown(given()[3][SENTENCES[0]][bits]).split())
    complaints[:] = [said for said in complaints if "ERR_FILE_NOT_FOUND" not in said]


def test_what_fails_after_another_sentence_was_chosen_is_not_told(show, complaints):
    page = show(figure(), weighted=False)
    script = "own => { const f = document.querySelector('bits-figure'); f.want(own); f.want(f.data.sentences[1]); }"
    page.evaluate(script, {"english": OWN, "written": {}})
    page.wait_for_timeout(300)
    assert german(page) == given()[3][SENTENCES[1]][8]
    assert page.locator(".note").text_content() == ""
    complaints[:] = [said for said in complaints if "ERR_FILE_NOT_FOUND" not in said]


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    keys(page, "Tab ArrowLeft ArrowLeft Home")
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "2 bits"
    keys(page, "ArrowRight Tab")
    assert page.evaluate("document.activeElement.type") == "text"
    page.get_by_role("textbox").fill("I love AI.")
    keys(page, "Enter")
    assert settled(page, "I love AI.") == at_each()[3].translate(["I love AI."])[0]
    keys(page, "Tab Tab Enter")
    assert page.get_by_role("textbox").input_value() == SENTENCES[0]


def test_what_changed_is_told_in_words(page):
    slide(page, 4)
    words = f"16 of the 128 weights are 0 now. {RUNNING[0].german} The same as with 8 bits."
    page.get_by_role("status").filter(has_text=words).wait_for(state="attached")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_jumps_or_scrolls_sideways_and_on_a_phone_the_slider_stays_in_view(show, width):
    page = show(figure(), width=width, height=520, has_touch=width < 1000)
    heights = set()
    for bits in FALLING:
        slide(page, bits)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        heights.add(page.locator(LIVE).bounding_box()["height"])
    assert max(heights) - min(heights) <= 1, "nothing jumps"
    for y in (0, 100, 200) if width < 1000 else ():
        page.evaluate("y => window.scrollTo(0, y)", y)
        box = page.get_by_role("slider").bounding_box()
        assert 0 <= box["y"] < box["y"] + box["height"] <= 520


def test_motion_is_for_those_who_did_not_ask_for_less(show):
    script = "circle => parseFloat(getComputedStyle(circle).transitionDuration)"
    for motion, least in (("no-preference", 0.1), ("reduce", 0)):
        page = show(figure(), reduced_motion=motion)
        took = page.locator("svg circle.weight").first.evaluate(script)
        assert took == 0 if least == 0 else took >= least


def test_words_stay_words(show):
    evil = "<img/src=x/onerror=alert(1)>"
    product, _, settings, _ = given()
    page = show(figures.bits.rounding(product, evil, settings, {evil: dict.fromkeys(settings, f"{evil} </script>")}))
    for bits in (8, 2):
        slide(page, bits)
        assert page.locator("bits-figure img").count() == 0
        assert german(page) == f"{evil} </script>"
    assert page.locator(f"{LIVE} .name").nth(1).text_content() == evil


def test_fewer_bits_have_a_larger_bound_and_a_smaller_model():
    settings = given()[2]
    for more, fewer in pairwise(FALLING):
        assert settings[fewer].bound > settings[more].bound
        assert settings[fewer].megabytes < settings[more].megabytes
