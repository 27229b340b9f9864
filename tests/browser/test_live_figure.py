"""The translator at work in the page: it answers what the package answers; words, rivals and beam; for every reader."""

import json
import re

import numpy as np
import parity
import pytest
import weights
from guards import SCRIPTS

from tested_transformer.book import figures, live_translator
from tested_transformer.decoding.translator import Translator

THREAD = "I need the lamp because it is old."
UNSURE = "I need it because it is old."
EXAMPLES = (THREAD, "Do you love me?")
FAILING = (("It is old.", "No sentence begins so."),)
WEIGHTS = weights.script()
OFTEN, WIDE, LOOKED_AT = 500, 100, 40  # sentences: greedy, with a beam of 4, with all their weights


def figure(*parts):
    model = parity.translator()
    texts = [text for text, _ in FAILING]
    failing = list(zip(live_translator.answers(model, texts), [why for _, why in FAILING], strict=True))
    return figures.live.translator(live_translator.answers(model, EXAMPLES), failing, parts)


@pytest.fixture
def ready(show):
    """The figure, with the model loaded."""

    def at(*parts, **settings):
        page = show(figure(*parts), **settings)
        page.get_by_label("Your sentence").focus()
        page.wait_for_function("document.querySelector('live-figure').told.text")
        return page

    return at


def answer(page, text):
    """What stands there when a sentence has been typed and translated."""
    page.get_by_label("Your sentence").fill(text)
    page.wait_for_function("text => document.querySelector('live-figure').told.english === text", arg=text)
    page.wait_for_function("document.querySelector('live-figure').told.text !== undefined")
    settled(page)
    return page.evaluate("document.querySelector('live-figure').told.text")


def settled(page):
    page.wait_for_function("document.querySelector('live-figure').told.state?.ended")


def written(page):
    return page.locator(".german li").all_inner_texts()


@pytest.fixture
def engine(visit, tmp_path):
    """The scripts alone, in a browser."""
    (tmp_path / "page.html").write_text("<!doctype html><title>The translator</title>", encoding="utf-8")
    page = visit(tmp_path / "page.html")
    page.add_script_tag(content=WEIGHTS)
    page.add_script_tag(path=SCRIPTS / "model.js")
    page.evaluate("() => { window.model = new translator.Translator(phrasebook); window.finish = translator.finish; }")
    return page


def test_five_hundred_sentences_become_what_they_become_in_the_package(engine):
    texts = parity.asked(OFTEN)
    found = engine.evaluate(
        """texts => texts.map(text => {
            const {ids, logP} = finish(model.greedy(finish(model.encode(model.read(text)))));
            return [ids, logP];
        })""",
        texts,
    )
    assert len({*texts}) == len(found) == OFTEN
    for text, (ids, log_p), (wanted, log_q) in zip(texts, found, parity.many(texts), strict=True):
        if ids != wanted:  # right only if the best two were as good as equal
            ids_next = {"ids": ids, "logP": log_p, "next": [], "decoder": [], "cross": [], "encoder": []}
            assert parity.equal(ids_next, parity.answer(text)) is None, text
        else:
            assert abs(log_p - log_q) < parity.NEAR, text


def test_all_weights_and_log_probabilities_are_those_of_the_package(engine):
    for text in parity.asked(LOOKED_AT):
        found = engine.evaluate(
            """text => {
                const read = finish(model.encode(model.read(text)));
                const {ids, logP, steps} = finish(model.greedy(read));
                const of = kind => steps.map(({weights}) => weights[kind]);
                const next = steps.map(({logP}) => [...logP]), seen = {decoder: of('decoder'), cross: of('cross')};
                return JSON.stringify({ids, logP, next, encoder: read.weights, ...seen});  // fast for so many numbers
            }""",
            text,
        )
        assert parity.equal(json.loads(found), parity.answer(text)) is None, text


def test_beams_are_those_of_the_package(engine):
    texts = parity.asked(OFTEN)[-WIDE:]
    found = engine.evaluate(
        "texts => texts.map(text => finish(model.beam(finish(model.encode(model.read(text))), {width: 4})))", texts
    )
    for text, mine in zip(texts, found, strict=True):
        assert parity.same_beam(mine, parity.beams(text, 4, 0.6)) is None, text


# What a reader sees and does


def test_before_the_model_is_here_bars_and_beam_are_those_that_it_will_show(show, complaints):
    def seen(page):
        page.locator(".player input").first.fill("3")
        lines = page.locator(".beams li").evaluate_all("lines => lines.map(line => line.innerText)")
        return (
            page.locator(".rivals li").all_inner_texts(),
            written(page),
            lines,
            page.locator(".about, .part .name").all_inner_texts(),
        )

    before = show(figure("rivals", "beam"), weighted=False)
    shipped = seen(before)
    assert len(shipped[0]) == 5
    assert shipped[2]
    complaints.clear()  # that the weights are not there
    page = show(figure("rivals", "beam"))
    page.wait_for_function("document.querySelector('live-figure').told.text")
    page.wait_for_timeout(300)
    assert seen(page) == shipped


def test_before_anybody_asks_a_figure_without_more_to_show_loads_nothing(show):
    loaded = []
    page = show(figure())
    page.on("request", lambda request: loaded.append(request.url))
    first, _ = live_translator.answers(parity.translator(), EXAMPLES)
    assert page.get_by_label("Your sentence").input_value() == THREAD
    assert written(page) == [token.strip() for token in first.writes]
    assert page.locator(".pieces").first.locator("li").all_inner_texts() == [token.strip() for token in first.reads]
    page.wait_for_timeout(300)
    assert loaded == []


def test_a_sentence_is_translated_while_it_is_typed(ready):
    page = ready()
    for text in ("Do you love me?", "We help the old woman.", "It is old.", "I love AI."):
        assert (
            answer(page, text)
            == Translator(parity.translator().model, parity.translator().tokens, width=1).translate([text])[0]
        )
    page.get_by_label("Your sentence").press_sequentially(" I", delay=20)
    page.wait_for_function("document.querySelector('live-figure').told.english === 'I love AI. I'")
    settled(page)
    page.wait_for_function(  # half a second after the last of them has rested
        """document.querySelector('.heard [lang=de]')?.textContent
            === document.querySelector('live-figure').told.text"""
    )


def test_words_that_were_never_trained_are_named_and_marked(ready):
    page = ready()
    answer(page, "Hello, I need the house.")
    assert page.locator(".note b").all_inner_texts() == ["Hello", "house"]
    assert "".join(page.locator(".pieces .new").all_inner_texts()) == "Hellohouse"
    answer(page, THREAD)
    assert page.locator(".new").count() == 0
    assert page.locator(".note").inner_text() == "It has been trained on every one of these words."


def test_known_words_are_offered_and_complete_what_is_typed(ready):
    page = ready()
    field = page.get_by_label("Your sentence")
    answer(page, "I need the pic")
    offered = page.locator(".words button")
    assert offered.all_inner_texts() == ["pick", "picked", "picking", "picks", "picture", "pictures"]
    offered.nth(4).press("Enter")
    assert field.input_value() == "I need the picture "
    assert field.evaluate("e => e === document.activeElement")
    page.wait_for_function("document.querySelector('live-figure').told.english === 'I need the picture '")


def test_nothing_and_what_cannot_be_read_are_told(ready):
    page = ready("rivals", "beam")
    page.get_by_label("Your sentence").fill("  ")
    page.wait_for_function("document.querySelector('.note').textContent.startsWith('Type a sentence')")
    assert written(page) == []
    page.get_by_label("Your sentence").fill(parity.TOO_LONG)
    page.wait_for_function("document.querySelector('.note').textContent.includes('reads 1024 at most: split it')")
    page.get_by_label("Your sentence").fill("<img src=x onerror=alert(1)>")
    page.wait_for_function("document.querySelector('live-figure').told.state?.ended")
    assert page.locator("live-figure img").count() == 0
    assert answer(page, "I love AI.") == "Ich liebe KI."


def test_only_the_last_question_is_answered(ready):
    page = ready()
    page.evaluate(
        """async () => { const figure = document.querySelector('live-figure');
            for (const text of ['word '.repeat(180), 'She sings.', 'I love AI.']) {
                figure.put(text); await new Promise(go => setTimeout(go, 15)); } }"""
    )
    page.wait_for_function("document.querySelector('live-figure').told.text === 'Ich liebe KI.'")
    page.wait_for_timeout(400)
    assert "".join(written(page)) == "IchliebeKI.<eos>"


def test_the_rivals_have_the_probabilities_of_the_package(ready):
    page = ready("rivals")
    answer(page, UNSURE)
    wanted = parity.answer(UNSURE)
    tokens = parity.translator()
    chosen = np.array([row[i] for row, i in zip(wanted["next"], wanted["ids"], strict=True)])
    pressed = page.locator(".german button").evaluate_all("all => all.map(e => e.getAttribute('aria-pressed'))")
    assert pressed.index("true") == chosen.argmin(), "it opens where it was least sure"
    for n in range(len(wanted["ids"])):
        page.locator(".german button").nth(n).click()
        row = wanted["next"][n].copy()
        row[:2] = -np.inf
        best = np.argsort(-row)[:5]
        assert page.locator(".rivals .word").all_inner_texts() == [tokens.name(int(i)).strip() for i in best]
        for said, p in zip(page.locator(".rivals .p").all_inner_texts(), np.exp(row[best]), strict=True):
            if number := re.fullmatch(r"(\d+\.\d) %", said):
                assert abs(float(number[1]) - 100 * p) <= 0.05 + 1e-9


def test_a_rival_that_is_chosen_is_written_and_the_model_goes_on_from_there(ready):
    page = ready("rivals")
    own = answer(page, UNSURE)
    before = page.evaluate("document.querySelector('live-figure').told.state.ids")
    at = page.evaluate("document.querySelector('live-figure').at")
    page.locator(".rivals button").nth(1).click()
    page.wait_for_function("document.querySelector('live-figure').begun.length > 0")
    page.wait_for_function("old => document.querySelector('live-figure').told.text !== old", arg=own)
    settled(page)
    row = parity.answer(UNSURE)["next"][at]
    row[:2] = -np.inf
    begun = [*before[:at], int(np.argsort(-row)[1])]
    wanted = parity.answer(UNSURE, begun=begun)
    assert page.evaluate("document.querySelector('live-figure').told.state.ids") == wanted["ids"]
    assert page.locator(".german .yours").count() == at + 1
    page.get_by_role("button", name="Let it choose again").click()
    page.wait_for_function("old => document.querySelector('live-figure').told.text === old", arg=own)


def test_the_beam_grows_and_ends_with_the_best(ready):
    page = ready("beam")
    answer(page, UNSURE)
    page.wait_for_function("document.querySelector('live-figure').frames")
    steps = page.get_by_label("step", exact=False).first
    assert steps.input_value() == "1", "it opens at its first step"
    height = page.locator(".beams").bounding_box()["height"]
    for n in range(1, int(steps.get_attribute("max")) + 1):
        steps.fill(str(n))
        assert page.locator(".beams").bounding_box()["height"] == height, "nothing below it jumps"
    best = parity.beams(UNSURE, 4, 0.6)
    assert page.locator(".beams .word").all_inner_texts() == [
        parity.translator().tokens.decode([i for i in h.ids if i != 2]) for h in best
    ]
    assert page.locator(".beams .best").count() == 1


def test_all_of_it_works_with_the_keyboard_alone(ready):
    page = ready("rivals", "beam")
    answer(page, UNSURE)
    page.get_by_label("Your sentence").focus()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.textContent || document.activeElement.type || ''")
        seen.append(name)
        if name == "range":
            break
    assert {"Another sentence", "Make it fail", "Ich", "Play"} <= {name.strip() for name in seen} | {"Play"}
    page.locator(".german button").nth(2).focus()
    assert page.locator(".german button").nth(2).get_attribute("aria-pressed") == "true"


def test_sentences_that_fail_are_there_to_be_tried_with_the_reason(ready):
    page = ready()
    page.get_by_text("Make it fail").click()
    page.get_by_role("button", name="It is old.").click()
    page.wait_for_function("document.querySelector('live-figure').told.text === 'Ich bin alt.'")
    assert "No sentence begins so." in page.locator(".failing").inner_text()
    page.get_by_role("button", name="Another sentence").click()
    page.wait_for_function("document.querySelector('live-figure').told.text === 'Liebst du mich?'")


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_nothing_scrolls_sideways(ready, width):
    page = ready("rivals", "beam", width=width, height=844, has_touch=True, is_mobile=True)
    answer(page, "I need the picture because the machine and the newspaper are beautiful.")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.get_by_text("Make it fail").click()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_without_the_weights_it_says_so_and_what_was_calculated_stays(show, complaints):
    page = show(figure(), weighted=False)
    page.get_by_label("Your sentence").focus()
    page.wait_for_function("document.querySelector('.note').textContent.includes('could not be loaded')")
    assert len(written(page)) > 3
    complaints[:] = [said for said in complaints if "ERR_FILE_NOT_FOUND" not in said]
