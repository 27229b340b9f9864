"""The map of the Transformer: in every box stand the numbers of the run, and every reader can go there."""

import re

import numpy as np
import parity
import pytest
from guards import ROOT
from helpers import SOURCE, TARGET, TOKENS, WANTED, walk, walk_of_two, walked, walked_wide
from keyboard import keys

from tested_transformer.book.figures import transformer

HTML = ROOT / "_build" / "html"
RUNS = {"at the start": walked(0), "after learning": walked(1)}
TABLES = """what => [...what.querySelectorAll('table')].map(table => ({
  name: table.dataset.name, shape: table.caption.textContent,
  columns: [...table.tHead.rows[0].querySelectorAll('th')].map(cell => cell.textContent),
  rows: [...table.tBodies[0].rows].map(row => row.querySelector('th').textContent),
  cells: [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent)),
  lit: [...table.querySelectorAll('td.lit')].map(cell => [cell.parentElement.rowIndex - 1, cell.cellIndex - 1]),
  heads: [...table.querySelectorAll('th.lit')].map(cell => cell.textContent),
}))"""
SOURCE_WORDS, TARGET_WORDS = ([TOKENS[i] for i in ids] for ids in (SOURCE, TARGET))


@pytest.fixture
def page(show):
    return show(walk(RUNS))


def tables(page):
    return {table["name"]: table for table in page.locator(".what").evaluate(TABLES)}


def numbers(cells):
    return np.array([[float(text.replace("−", "-").replace("∞", "inf")) for text in row] for row in cells])


def box(page, name):
    return page.get_by_role("button", name=name, exact=True)


def current(page):
    (name,) = page.locator(".box[aria-current=step]").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    return name


def close(shown, wanted):
    """Rounded to two decimals; but what is less than one, and would be shown as one, has up to four."""
    less = (shown > 0.99) & (shown <= wanted + 5e-4) & (wanted < 1)
    return bool((less | np.isclose(shown, wanted, rtol=0, atol=0.005 + 1e-9)).all())


def said(page):
    return page.locator(".what .said").inner_text()


def follow(page, group, word):
    page.get_by_role("group", name=group).get_by_role("radio", name=word, exact=True).check()


# Numbers


def test_every_box_shows_the_numbers_of_the_run_and_no_tensor_is_left_out(page):
    visit_all = f"""() => [...document.querySelectorAll('.box')].flatMap(box => {{
      box.click();
      return ({TABLES})(document.querySelector('.what'));
    }})"""
    for run, tensors in RUNS.items():
        follow(page, "Model", run)
        for head in range(2):
            box(page, "5. Encoder, attention: weights").click()
            follow(page, "Head", str(head + 1))
            found = {table["name"]: numbers(table["cells"]) for table in page.evaluate(visit_all)}
            assert found.keys() == {name for name in tensors if not name.endswith(".inner")}
            for name, shown in found.items():
                x = np.asarray(tensors[name])
                wanted = {1: lambda x: x[:, None], 2: lambda x: x, 3: lambda x, head=head: x[head]}[x.ndim](x)
                wanted = wanted.T if name in ("logits", "probabilities") else wanted
                assert shown.shape == wanted.shape, name
                assert close(shown, wanted), (run, name, head)


def test_a_table_says_its_shape_and_names_its_rows_and_columns(page):
    box(page, "18. Decoder, cross-attention: weights").click()
    table = tables(page)["decoder.layers.0.cross_attention.weights"]
    assert table["shape"] == "weights A (H, T, S) = (2, 4, 3)"
    assert (table["rows"], table["columns"]) == (TARGET_WORDS, SOURCE_WORDS)
    assert page.locator(".letters").inner_text() == "H heads, T tokens of the target, S tokens of the source"
    box(page, "8. Encoder, feed-forward").click()
    table = tables(page)["encoder.layers.0.feed_forward.hidden"]
    assert (table["rows"], table["columns"]) == (SOURCE_WORDS, [str(c) for c in range(1, 9)])
    box(page, "24. Decoder, softmax").click()
    assert (tables(page)["probabilities"]["rows"], tables(page)["probabilities"]["columns"]) == (
        list(TOKENS),
        TARGET_WORDS,
    )
    box(page, "25. Decoder, loss").click()
    assert tables(page)["answers"]["rows"] == ["<bos> → ich", "ich → liebe", "liebe → KI", "KI → <eos>"]


def test_a_colour_says_what_the_number_says(page):
    box(page, "3. Encoder, positions").click()
    script = "cells => cells.map(e => [e.className, parseFloat(e.style.getPropertyValue('--heat'))])"
    looks = page.locator('[data-name="encoder.sum"] td[class]').evaluate_all(script)
    x = RUNS["at the start"]["encoder.sum"]
    for (kind, heat), value in zip(looks, x.flat, strict=True):
        assert kind.split()[0] == ("below" if round(value, 2) < 0 else "above")
        assert heat == pytest.approx(100 * abs(value) / abs(x).max(), abs=1)


# A token, followed


def test_the_row_of_a_followed_token_is_lit_in_every_box(page):
    follow(page, "Source", "AI")
    follow(page, "Target", "liebe")
    for button in page.locator(".box").all():
        button.click()
        for name, table in tables(page).items():
            side = re.search(r"\((?:H, )?([ST])\b", table["shape"])[1]
            assert len(table["heads"]) == 1, name
            assert table["heads"][0].startswith("AI" if side == "S" else "liebe")
            places = np.array(table["lit"])
            if name in ("logits", "probabilities"):
                assert np.array_equal(places, [[i, 2] for i in range(10)])
            else:
                assert np.array_equal(places, [[2, c] for c in range(len(table["columns"]))]), name


def share(page, group):
    bars = page.get_by_role("group", name=group).locator(".share")
    return [float(bar.evaluate("e => parseFloat(e.style.width)")) for bar in bars.all()]


def test_an_attention_says_and_shows_where_the_followed_token_looks(page):
    box(page, "14. Decoder, masked attention: weights").click()
    follow(page, "Target", "liebe")
    for run, tensors in RUNS.items():
        follow(page, "Model", run)
        for head in range(2):
            follow(page, "Head", str(head + 1))
            weights = tensors["decoder.layers.0.self_attention.weights"][head, 2]
            a, b, c = (f"{w:.2f}" for w in weights[:3])
            assert said(page) == f"“liebe” takes {a} from “<bos>”, {b} from “ich”, {c} from “liebe”. Hidden: “KI”."
            assert share(page, "Target") == pytest.approx(100 * weights, abs=1)
            assert share(page, "Source") == [0, 0, 0]
    box(page, "19. Decoder, cross-attention: join").click()
    weights = RUNS["after learning"]["decoder.layers.0.cross_attention.weights"][1, 2]
    assert share(page, "Source") == pytest.approx(100 * weights, abs=1)
    assert share(page, "Target") == [0, 0, 0, 0]
    box(page, "20. Decoder, add & norm").click()
    assert share(page, "Source") == [0, 0, 0]


def test_the_end_says_what_the_model_would_write_and_what_is_right(page):
    box(page, "24. Decoder, softmax").click()
    for t, word in enumerate(TARGET_WORDS):
        follow(page, "Target", word)
        p = RUNS["at the start"]["probabilities"][t]
        best, right = p.argmax(), WANTED[t]
        end = "That is right." if best == right else f"Right would be “{TOKENS[right]}”, {p[right]:.2f}."
        assert said(page) == f"After “{word}” the most probable token is “{TOKENS[best]}”, {p[best]:.2f}. {end}"


# The path


def test_next_and_back_go_along_the_path_to_its_ends(page):
    assert current(page) == "1. Encoder, tokens"
    places = [current(page)]
    page.get_by_role("button", name="Back").click(force=True)  # it is there, and does nothing
    assert current(page) == places[0]
    for _ in range(30):
        page.get_by_role("button", name="Next").click(force=True)
        places.append(current(page))
    assert places[24:] == ["25. Decoder, loss"] * 7
    assert [int(place.partition(".")[0]) for place in places[:25]] == list(range(1, 26))
    assert page.locator(".count").inner_text() == "25 of 25"
    page.get_by_role("button", name="Back").click()
    assert current(page) == "24. Decoder, softmax"


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    keys(page, "Tab Tab")
    assert page.evaluate(f"{focused}.getAttribute('aria-label')") == "1. Encoder, tokens"
    for key, place in (
        ("ArrowRight", "2. Encoder, embedding"),
        ("ArrowDown", "3. Encoder, positions"),
        ("ArrowLeft", "2. Encoder, embedding"),
        ("ArrowUp", "1. Encoder, tokens"),
        ("ArrowUp", "1. Encoder, tokens"),
        ("End", "25. Decoder, loss"),
        ("Home", "1. Encoder, tokens"),
    ):
        page.keyboard.press(key)
        assert page.evaluate(f"{focused}.getAttribute('aria-label')") == current(page) == place
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.textContent") == "Back", "the map is one stop of the Tab key"
    keys(page, "Tab Enter Enter Enter Enter")
    assert page.evaluate(f"{focused}.textContent") == "Next"
    assert current(page) == "5. Encoder, attention: weights"
    keys(page, "Tab ArrowRight")
    assert said(page).startswith("“love” takes")
    keys(page, "Tab Tab ArrowRight")
    assert page.evaluate(f"{focused}.type + {focused}.value") == "radio1", "the focus stays on the head"
    weights = RUNS["at the start"]["encoder.layers.0.self_attention.weights"][1, 1]
    assert said(page).startswith(f"“love” takes {weights[0]:.2f} from “I”")
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.textContent") == "Chapter: Attention →"


def test_a_step_is_told_in_a_sentence(page):
    box(page, "5. Encoder, attention: weights").click()
    status = page.locator("[role=status]")
    status.get_by_text("5 of 25: encoder, attention: weights. “I” takes").wait_for()


def test_words_are_named_in_their_language(page):
    def languages(place):
        return page.locator(place).evaluate_all("all => all.map(e => [e.innerText, e.lang])")

    source, target = ([[TOKENS[i], tag] for i in ids] for ids, tag in ((SOURCE, "en"), (TARGET, "de")))
    assert languages(".follow .chip span[lang]") == source + target
    box(page, "18. Decoder, cross-attention: weights").click()
    assert languages(".what tbody th[lang]") == 2 * target
    assert languages(".what thead th[lang]") == 2 * source
    assert languages(".what .said span") == [[TOKENS[7], "de"], *source]
    box(page, "24. Decoder, softmax").click()
    assert languages(".what tbody th:not([lang])") == [
        [token, ""] for token in TOKENS if token in ("<pad>", "<unk>", "<eos>")
    ]
    assert languages(".what tbody th[lang]") == [target[0], *source, *target[1:]]
    box(page, "25. Decoder, loss").click()
    assert languages(".what tbody th[lang]")[0] == ["<bos> → ich", "de"]
    page.wait_for_function("document.querySelector('.heard span')?.textContent === 'ich'")
    assert page.locator(".heard span").first.get_attribute("lang") == "de", "what is told has languages too"


# Another model


def test_another_model_has_its_own_boxes_words_and_numbers(show):
    page, run = show(walk_of_two()), walked_wide()
    assert page.locator(".box").count() == 25
    follow(page, "Model", "large")
    assert page.locator(".box").count() == 41
    assert page.get_by_role("group", name="Source").locator(".chip").all_inner_texts() == ["t4", "t5"]
    assert page.get_by_role("group", name="Target").locator(".chip").all_inner_texts() == ["t1", "t30", "t31"]
    found = set()
    for button in page.locator(".box").all():
        button.click()
        assert page.locator(".open a").get_attribute("href"), "each leads to its chapter"
        for name, table in tables(page).items():
            found.add(name)
            x = run[name][0] if run[name].ndim == 3 else run[name]
            if name in ("logits", "probabilities"):
                x = run[name][:, [int(word[1:]) for word in table["rows"]]].T
                assert table["shape"].endswith("(T, V) = (3, 40), the 10 likeliest")
            elif x.ndim == 2 and x.shape[1] > 12:
                x = x[:, :6]
                assert table["shape"].endswith(", the first 6")
            assert close(numbers(table["cells"]), x.reshape(len(x), -1)), name
    assert found == {name for name in run if not name.endswith(".inner")}
    follow(page, "Model", "other")
    assert page.locator(".box").count() == 25
    assert said(page).startswith("After “ich”") or current(page).endswith("loss")


def test_a_change_of_model_stays_in_the_same_box_as_near_to_the_end(show):
    page = show(walk_of_two())
    box(page, "20. Decoder, add & norm").click()
    follow(page, "Target", "KI")
    follow(page, "Model", "large")
    assert current(page) == "36. Decoder layer 2, add & norm"
    assert list(tables(page)) == ["decoder.layers.1.addnorm_2.added", "decoder.layers.1.addnorm_2.out"]
    assert tables(page)["decoder.layers.1.addnorm_2.out"]["heads"] == ["t31"], "the last one, where there are fewer"
    follow(page, "Model", "small")
    assert current(page) == "20. Decoder, add & norm"
    follow(page, "Model", "large")
    box(page, "5. Encoder layer 1, attention: weights").click()
    follow(page, "Model", "other")
    assert current(page) == "5. Encoder, attention: weights"
    box(page, "25. Decoder, loss").click()
    follow(page, "Model", "large")
    assert current(page) == "41. Decoder, loss"


# A sentence of the reader's own

GIVEN, OWN = "I love AI.", "I need the chair because it is old."
ALL = f"""() => Object.fromEntries([...document.querySelectorAll('.box')].flatMap(box => {{
  box.click();
  return ({TABLES})(document.querySelector('.what')).map(table => [table.name, table]);
}}))"""


@pytest.fixture
def asking(show):
    """Two models of ours, and the translator, which can be asked."""

    def shown(**settings):
        ours = transformer.Runs(RUNS, SOURCE_WORDS, TARGET_WORDS, TOKENS, WANTED)
        page = show(transformer.walk(ours, parity.runs(GIVEN), languages=("en", "de")), **settings)
        follow(page, "Model", "translator")
        return page

    return shown


def ask(page, text):
    page.get_by_label("A sentence of your own").fill(text)
    page.get_by_role("button", name="Show its numbers").click()


def told(page, text):
    page.wait_for_function("text => document.querySelector('.result').textContent.includes(text)", arg=text)


def assert_shows(page, text, head=1):
    """In every box stand Python's numbers for this sentence, and the words of its axes; they are those of one head."""
    wanted, seen = parity.walked(text), page.evaluate(ALL)
    tables = {table["name"]: table for step in wanted["steps"] for table in step["tables"]}
    assert seen.keys() == tables.keys()
    for name, table in tables.items():
        (cells,), x = table["values"], wanted["exact"][name]
        if table["axes"][0] == "H":
            cells, x = cells[head - 1], x[head - 1]
        cells, x = (np.reshape(values, (len(values), -1)) for values in (cells, x))
        if table["turned"]:
            cells, x = cells.T, x.T
        found = np.array(seen[name]["cells"])
        assert found.shape == cells.shape, name
        for one, other, number in zip(found.flat, cells.flat, x.flat, strict=True):
            assert one == other or parity.half(number, table["places"]), (name, one, other)
        down = table["axes"][-1] if table["turned"] else table["axes"][-2 if len(table["axes"]) > 1 else 0]
        assert [row.partition(" → ")[0] for row in seen[name]["rows"]] == wanted["words"][down], name
        assert f"= ({', '.join(map(str, table['shape']))})" in seen[name]["shape"]


def test_a_sentence_of_ones_own_has_pythons_numbers_in_every_box(asking):
    page = asking()
    ask(page, OWN)
    told(page, "It writes: Ich brauche den Stuhl, weil er alt ist.")
    assert page.locator(".result").inner_text().strip() == "It writes: Ich brauche den Stuhl, weil er alt ist."
    assert page.get_by_role("group", name="Source").locator(".chip").count() == 10
    assert_shows(page, OWN)
    box(page, "5. Encoder layer 1, attention: weights").click()
    follow(page, "Head", "3")
    follow(page, "Source", "because")
    w = parity.answer(OWN)["encoder"][0, 2, 4]
    seen = [f"{x:.2f} from “{word}”" for x, word in zip(w, parity.walked(OWN)["words"]["S"], strict=True) if x > 0.005]
    assert len(seen) < len(w)
    assert said(page) == f"“because” takes {', '.join(seen)}, 0.00 from the rest."
    assert_shows(page, OWN, head=3)
    ask(page, "It is old.")
    told(page, "Ich bin alt.")
    assert_shows(page, "It is old.", head=3)


def test_nothing_is_loaded_before_somebody_asks_and_the_weights_come_once(asking):
    page, asked = asking(), []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.get_by_label("A sentence of your own").fill(OWN)
    page.locator(".box").nth(30).click()
    page.wait_for_timeout(300)
    assert asked == []
    assert page.evaluate("window.phrasebook === undefined")
    ask(page, OWN)
    told(page, "It writes")
    ask(page, "It is old.")
    told(page, "Ich bin alt.")
    assert asked == ["phrasebook.js"]


def test_the_books_sentence_comes_back_as_it_was_stored(asking):
    page = asking()
    stored, boxes = page.evaluate(ALL), page.locator(".box").count()
    ask(page, OWN)
    told(page, "It writes")
    assert page.evaluate(ALL) != stored
    box(page, "36. Decoder layer 2, add & norm").click()
    page.get_by_role("button", name="The book's").click()
    assert current(page) == "36. Decoder layer 2, add & norm", "the place stays"
    assert page.get_by_label("A sentence of your own").input_value() == GIVEN
    assert page.evaluate(ALL) == stored
    assert boxes == 41
    ask(page, GIVEN)  # asked for anew, the page calculates what was stored
    told(page, "Ich liebe KI.")
    again, end = page.evaluate(ALL), stored["answers"]
    assert again.pop("answers") == end | {"shape": end["shape"].replace("the right answers", "what it wrote")}
    assert again == {name: table for name, table in stored.items() if name != "answers"}


def test_the_place_stays_and_another_model_keeps_its_own_sentence(asking):
    page = asking()
    box(page, "26. Decoder layer 1, add & norm").click()
    ask(page, OWN)
    told(page, "It writes")
    assert current(page) == "26. Decoder layer 1, add & norm"
    follow(page, "Model", "at the start")
    assert page.get_by_role("group", name="Source").locator(".chip").all_inner_texts() == SOURCE_WORDS
    assert page.get_by_label("A sentence of your own").is_disabled(), "only the translator can be asked"
    assert page.get_by_role("button", name="Show its numbers").is_disabled()
    follow(page, "Model", "translator")
    assert page.get_by_role("group", name="Source").locator(".chip").count() == 10


def test_nothing_is_said_to_be_right_of_a_sentence_whose_translation_nobody_knows(asking):
    page = asking()
    box(page, "40. Decoder, softmax").click()
    assert said(page).endswith("That is right.")
    ask(page, "It is old.")
    told(page, "It writes")
    follow(page, "Target", "Ich")
    p = parity.answer("It is old.")["next"][1]
    best = parity.translator().name(int(p.argmax()))
    assert said(page) == f"After “Ich” the most probable token is “{best}”, {np.exp(p.max()):.2f}."
    box(page, "41. Decoder, loss").click()
    assert "right answers" not in page.locator(".what").inner_text()
    assert "Nobody has told the page" in page.locator(".about").inner_text()
    assert tables(page)["answers"]["rows"][0] == "<bos> → Ich"
    page.get_by_role("button", name="The book's").click()
    assert "the right answers" in page.locator(".what").inner_text()
    assert said(page).endswith("That is right.")


def test_what_cannot_be_asked_is_told_and_what_was_there_stays(asking):
    page = asking()
    stored = page.evaluate(ALL)
    for text, why in (
        ("  ", "This cannot be done: a sentence has at least one word."),
        ("I love AI. " * 9, "the sentence has 37 tokens, and the tables have room for 32: write a shorter one"),
        (parity.TOO_LONG, "reads 1024 at most: split it"),
    ):
        ask(page, text)
        told(page, why)
        assert page.evaluate(ALL) == stored
    ask(page, "Hello, I need the house.")
    told(page, "Never trained: Hello, house. It guesses.")
    assert page.locator(".result b").all_inner_texts() == ["Hello", "house"]
    ask(page, "<img src=x onerror=alert(1)>")
    told(page, "img")
    script = "all => all.map(box => { box.click(); return document.querySelectorAll('.live img').length; })"
    assert page.locator(".box").evaluate_all(script) == [0] * 41


def test_an_answer_that_nobody_waits_for_is_dropped(asking):
    page = asking()
    stored = page.evaluate(ALL)
    page.get_by_label("A sentence of your own").fill(OWN)
    page.evaluate("""async () => {
        await window.translator.load();
        for (const button of document.querySelectorAll('.reader button')) button.click();
    }""")
    page.wait_for_timeout(1500)
    assert page.locator(".result").inner_text() == "The book's sentence again."
    assert page.evaluate(ALL) == stored


def test_without_the_weights_it_says_so_and_what_was_calculated_stays(asking, complaints):
    page = asking(weighted=False)
    stored = page.evaluate(ALL)
    ask(page, OWN)
    told(page, "the model could not be loaded")
    assert page.evaluate(ALL) == stored
    complaints[:] = [said for said in complaints if "ERR_FILE_NOT_FOUND" not in said]


def test_a_sentence_is_asked_and_taken_back_with_the_keyboard_alone(asking):
    page = asking()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == GIVEN
    page.keyboard.press("Control+A")
    page.keyboard.type("It is old.")
    page.keyboard.press("Enter")
    told(page, "Ich bin alt.")
    assert page.evaluate("document.activeElement.value") == "It is old.", "the focus stays in the field"
    keys(page, "Tab Tab Enter")
    told(page, "The book's sentence again.")
    assert page.evaluate("document.activeElement.textContent") == "The book's"
    assert page.get_by_role("group", name="Source").locator(".chip").all_inner_texts()[:3] == ["I", "love", "AI"]


def test_a_figure_without_the_translator_has_no_field(page):
    assert page.locator("walk-figure form").count() == 0


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_ones_own_sentence_does_not_widen_the_page(asking, width):
    page = asking(width=width, height=844, has_touch=True)  # a mobile one would widen its window
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wider) <= 0
    ask(page, "I need the picture because the machine and the newspaper are beautiful.")
    told(page, "It writes")
    wide = page.locator(".box").evaluate_all(f"all => all.map(box => {{ box.click(); return {wider}; }})")
    assert len(wide) == 41
    assert max(wide) <= 0
    for target in page.locator(".reader :is(input, button)").all():
        assert target.bounding_box()["height"] >= 43.5


# The page


def test_every_box_leads_to_an_existing_place_in_its_chapter(visit):
    page = visit("book/transformer.html")
    names = page.locator("walk-figure .fallback a").all_text_contents()
    found = []
    for button in page.locator("walk-figure .box").all():
        button.click()
        found.append(page.locator("walk-figure .open a"))
        name, _, anchor = found[-1].get_attribute("href").partition("#")
        target = HTML / "book" / name
        assert f'id="{anchor}"' in target.read_text(encoding="utf-8")
        title = re.search(r"<h1>(.*?)<a", target.read_text(encoding="utf-8"))[1].replace("&amp;", "&")
        assert found[-1].text_content() == f"Chapter: {title} →"
        assert title == names[len(found) - 1]
    assert len(found) == len(names) == 25
    page.locator("walk-figure .open a").click()
    assert page.url.endswith("book/loss.html#surprise")


def test_without_scripts_every_step_is_a_line_with_a_living_link(visit):
    page = visit("book/transformer.html", java_script_enabled=False)
    rows = page.locator("walk-figure .fallback table.words tbody tr")
    assert rows.count() == 25
    rows.nth(4).get_by_role("link", name="Attention").click()
    assert page.url.endswith("book/attention.html#softmax-from-scores-to-shares")


def test_on_a_phone_the_panel_comes_into_view(visit):
    page = visit(
        "book/transformer.html", width=390, height=844, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    page.locator("walk-figure .box").nth(4).tap()
    title, moves = page.locator("walk-figure .title").bounding_box(), page.locator("walk-figure .moves").bounding_box()
    assert 0 < title["y"] < 500
    assert title["y"] < moves["y"] <= 844 - moves["height"] + 1, "Next stays within reach of the thumb"
    page.get_by_role("button", name="Next", exact=True).tap()
    assert current(page).startswith("6.")


def test_on_a_phone_all_boxes_leave_what_stands_below_in_its_place(page):
    page.set_viewport_size({"width": 390, "height": 844})
    heights = page.locator(".box").evaluate_all(
        "all => all.map(box => { box.click(); return document.querySelector('.live').offsetHeight })"
    )
    assert len(heights) == 25
    assert len({*heights}) == 1


def test_the_ways_around_and_across_are_drawn_where_there_is_room(page):
    tips = page.locator("walk-figure .lines path").get_attribute("d").count("L")
    assert tips == 2 * (6 + 11) + 2 * (5 + 1), "an arrow from stop to stop, around each sub-layer, and to the memory"
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("!document.querySelector('walk-figure .lines path').getAttribute('d')")


def test_a_table_that_is_too_wide_can_be_scrolled_with_the_keyboard(page):
    box(page, "8. Encoder, feed-forward").click()
    assert page.locator(".what .scrolls[tabindex]").count() == 0
    page.set_viewport_size({"width": 230, "height": 700})
    page.locator(".what .scrolls[tabindex]").first.focus()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "widened, max(0, …)"
    page.set_viewport_size({"width": 1280, "height": 700})
    page.wait_for_function("!document.querySelector('.what .scrolls[tabindex]')")
