"""The sentence: each noun and frame, with the head and without it; arcs that end at their words; for every reader."""

import os

import numpy as np
import pytest
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.coreference import FRAMES, RUNNING, THINGS, another, pronoun
from tested_transformer.shares import as_share

PAGE = os.environ.get("SENTENCE_PAGE", "book/index.html")
FIGURE = "sentence-figure"
FIRST = ("chair", "lamp", "picture")
ARTICLES = {"m": "der", "f": "die", "n": "das"}
WIDTHS = (1280, 700, 390, 320)
TEXT = "e => e.innerText.replace(/\\s+/g, ' ').trim()"
GERMAN = """p => [...p.querySelectorAll(':scope > span')].map(e => e.firstChild.textContent).join(' ')"""
ENGLISH = """p => [...p.querySelectorAll('.english > span, .place > span')].map(e => e.textContent).join('')
    .replace(/\\s+/g, ' ').trim()"""


@pytest.fixture
def page(show, told):
    return show(figures.running.sentence(*told, FIRST))


def answer(told, thing, frame=0):
    return next(a for a in told[2] if (a.thing, a.frame) == (thing, frame))


def choose(page, thing, frame=0, off=False):
    page.get_by_label("Sentence", exact=True).select_option(str(frame))
    page.get_by_label("Noun", exact=True).select_option(thing)
    page.get_by_role("switch").set_checked(off)


def seen(page):
    """The English, the German and the line that stand there."""
    return (
        page.locator(f"{FIGURE} .live").evaluate(ENGLISH),
        page.locator(f"{FIGURE} .german").evaluate(GERMAN),
        page.locator(f"{FIGURE} .line").evaluate(TEXT),
    )


def line_of(told, a, off):
    layer, head, _ = told
    name = f"Layer {layer + 1}, head {head + 1} of the encoder"
    if not off:
        weight = a.weights[a.sentence.english.split().index(a.thing)]
        return f"{name}: “it” gives “{a.thing}” a weight of {as_share(weight, 3)}."
    if a.without == a.sentence.german:
        return f"{name} is off, and this sentence stays right."
    return f"{name} is off. Now wrong: {pronoun(a.sentence.german)} → {pronoun(a.without)}."


# What is seen


def test_it_starts_with_the_sentence_of_the_book(page, told):
    a = answer(told, "chair")
    assert seen(page) == (*RUNNING[0][:2], line_of(told, a, off=False))
    assert page.get_by_role("status").evaluate(TEXT) == line_of(told, a, off=False)


def test_every_sentence_is_what_the_model_writes_with_the_head_and_without_it(page, told):
    script = f"""async () => {{
        const [frames, things] = document.querySelectorAll('select'), off = document.querySelector('[role=switch]');
        const set = (e, value) => {{ e.value = value; e.dispatchEvent(new Event('change')); }}, found = [];
        for (const frame of frames.options) for (const thing of things.options) for (const is of [false, true]) {{
            set(frames, frame.value); set(things, thing.value);
            if (off.checked !== is) off.click();
            const live = document.querySelector('.live'), one = (query) => live.querySelector(query);
            found.push([Number(frame.value), thing.value, is, ({ENGLISH})(live), ({GERMAN})(one('.german')),
                ({TEXT})(one('.line')), [...live.querySelectorAll('.wrong')].map(e => e.innerText)]);
        }}
        return found; }}"""
    found = page.evaluate(script)
    assert len(found) == 2 * len(told[2]) == 540
    for frame, thing, off, english, german, line, wrong in found:
        a = answer(told, thing, frame)
        assert (english, german) == (a.sentence.english, a.without if off else a.german)
        assert line == line_of(told, a, off)
        words = zip(german.split(), a.sentence.german.split(), strict=True)
        assert [text.split("\n") for text in wrong] == [
            [now, f"right: {right.rstrip('.')}"] for now, right in words if now != right
        ]


def test_how_many_stay_right_is_counted(page, told):
    with_head, without = (sum(getattr(a, name) == a.sentence.german for a in told[2]) for name in ("german", "without"))
    shown = f"With this head, {with_head} of 270 sentences are right", f"without it, {without} of 270"
    for off, bold in enumerate(shown):
        page.get_by_role("switch").set_checked(bool(off))
        assert page.locator(".kept").evaluate(TEXT) == "; ".join(shown) + "."
        assert page.locator(".kept strong").all_inner_texts() == [bold]


def test_the_gender_is_told_by_the_article_and_the_nouns_are_grouped_by_it(page, told):
    groups = page.locator("select optgroup").evaluate_all(
        "gs => gs.map(g => [g.label, [...g.children].map(o => o.value)])"
    )
    assert groups == [
        [f"German: {article}", [t for t, noun in THINGS.items() if noun.gender == gender]]
        for gender, article in ARTICLES.items()
    ]
    for thing in FIRST:
        choose(page, thing)
        noun = THINGS[thing]
        marked = page.locator(f".german > .of-{noun.gender}").all_inner_texts()
        assert [text.split("\n")[0].rstrip(",") for text in marked] == [
            noun.german,
            pronoun(answer(told, thing).german),
        ]
        assert page.locator(".german small").all_inner_texts() == [ARTICLES[noun.gender]]
        assert page.locator(f".live .english span.of-{noun.gender}").all_inner_texts() == [thing, "it"]


def test_words_that_changed_since_the_last_choice_are_marked(page):
    assert page.locator(".changed").count() == 0
    choose(page, "lamp")
    assert [text.split("\n")[0] for text in page.locator(".changed").all_inner_texts()] == ["die", "Lampe,", "sie"]
    page.get_by_label("Sentence", exact=True).select_option("4")
    assert page.locator(".changed").all_inner_texts() == ["suche", "ich", "brauche."]


# The arcs

# After a choice, where there is one: the boxes of the words as they stand and that of the number; of each arc the word,
# the width, and where it begins and ends, in pixels of the window. One question: it is asked for hundreds of choices.
SCENE = """async choice => {
  const edges = e => ['left', 'right', 'top', 'bottom'].map(side => e.getBoundingClientRect()[side]);
  [...document.querySelectorAll('.live select')].forEach((list, n) => {
    if (!choice) return;
    list.value = choice[n];
    list.dispatchEvent(new Event('change', {bubbles: true}));
  });
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));  // arcs follow the words
  const english = document.querySelector('.english'), svg = english.querySelector('svg');
  const boxes = places => [...english.querySelectorAll(places)].map(e => [e.textContent, ...edges(e)]);
  const at = svg.getBoundingClientRect();
  const arcs = [...svg.querySelectorAll('path')].map(p => {
    const end = n => { const {x, y} = p.getPointAtLength(n); return [x + at.x, y + at.y]; };
    const width = parseFloat(p.getAttribute('stroke-width'));
    return [Number(p.dataset.word), width, end(0), end(p.getTotalLength())];
  });
  return [boxes('.place > span > span, .english > span > span'), boxes('svg text'), arcs,
      edges(document.querySelector('.live'))];
}"""


def arcs(page):
    return page.evaluate(SCENE)[2]


def ends_at(point, box):
    x, y = point
    _, left, right, top, bottom = box
    return abs(x - (left + right) / 2) < 1 and min(abs(y - top), abs(y - bottom)) < 9


@pytest.mark.parametrize("width", WIDTHS)
def test_the_arcs_lead_from_it_to_their_words_wherever_these_stand(show, told, width):
    page = show(figures.running.sentence(*told, FIRST), width=width)
    for frame in range(len(FRAMES)):
        for thing in ("chair", "AI", "window", "newspaper"):
            arcs_are_right(page.evaluate(SCENE, [str(frame), thing]), answer(told, thing, frame))


def arcs_are_right(scene, a):
    english, (places, numbers, found, _) = a.sentence.english.split(), scene
    assert [box[0] for box in places] == [w if w != "it." else "it" for w in english]
    it, at = [w.rstrip(".") for w in english].index("it"), english.index(a.thing)
    rounded = np.round(a.weights, 3)
    assert [word for word, *_ in found] == [n for n, w in enumerate(rounded) if w >= 0.001 and n != it]
    for word, width, start, end in found:
        assert ends_at(start, places[it]), a.sentence.english
        assert ends_at(end, places[word]), a.sentence.english
        assert width == pytest.approx(0.8 + 6 * rounded[word], abs=0.01)
    assert [text for text, *_ in numbers] == [as_share(a.weights[at], 3)]


def test_the_arcs_are_drawn_again_when_the_window_changes(page, told):
    choose(page, "window", 5)
    for width in (320, 1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(
            """() => { const svg = document.querySelector('.english svg'), box = svg.getBoundingClientRect();
                return Math.abs(svg.viewBox.baseVal.width - box.width) < 1; }"""
        )
        arcs_are_right(page.evaluate(SCENE), answer(told, "window", 5))


def test_the_number_covers_no_word_and_stays_inside(show, told):
    for width in WIDTHS:
        page = show(figures.running.sentence(*told, FIRST), width=width)
        for frame in range(len(FRAMES)):
            for thing in ("tea", "newspaper", "AI"):
                words, numbers, _, (begin, edge, ceiling, _) = page.evaluate(SCENE, [str(frame), thing])
                ((_, x, end, y, low),) = numbers
                assert len(words) == len(FRAMES[frame].say(thing).english.split())
                for word, left, right, top, bottom in words:
                    outside = end < left or right < x or low < top + 6 or bottom - 6 < y
                    assert outside, f"{width} px, frame {frame}: the number lies on {word!r} of {thing!r}"
                assert begin < x < end < edge
                assert ceiling < y


def test_without_the_head_the_arc_is_broken_and_what_is_wrong_is_said(page, told):
    height = page.locator(f"{FIGURE} .live").bounding_box()["height"]
    choose(page, "chair", off=True)
    assert page.locator(".english path").evaluate_all("paths => paths.map(p => p.getAttribute('class'))") == ["cut"]
    assert page.locator(".english svg text").text_content() == "off"
    assert page.locator(".wrong > span").get_attribute("data-was") == "er"
    assert page.locator(f"{FIGURE} .live").bounding_box()["height"] == height
    assert page.locator(".wrong").inner_text().split("\n") == ["sie", "right: er"]
    page.get_by_role("status").get_by_text("Now wrong: er → sie. Ich brauche den Stuhl, weil sie alt ist.").wait_for()
    page.get_by_role("switch").uncheck()
    assert page.locator(".cut").count() == 0
    assert page.locator(".wrong").count() == 0


# For every reader


def test_another_noun_has_another_gender_until_all_have_had_their_turn(page):
    button, noun = page.get_by_role("button", name="Another noun"), page.get_by_label("Noun", exact=True)
    for _ in range(6):
        before = noun.input_value()
        button.click()
        assert noun.input_value() == another(before)
        assert seen(page)[0] == FRAMES[0].say(another(before)).english


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.getAttribute('aria-label')") == "Sentence"
    page.keyboard.press("ArrowDown")
    assert seen(page)[0] == FRAMES[1].say("chair").english
    page.keyboard.press("Tab")
    page.keyboard.type("lamp")
    assert seen(page)[0] == FRAMES[1].say("lamp").english
    keys(page, "Tab Enter")
    assert seen(page)[0] == FRAMES[1].say(another("lamp")).english
    keys(page, "Tab Space")
    assert page.get_by_role("switch").is_checked()
    assert page.locator(".cut").count() == 1


# On its page


def test_without_scripts_the_picture_is_there_with_letters_that_can_be_read(visit):
    page = visit(PAGE, width=390, height=844, java_script_enabled=False)
    svg = page.locator(f"{FIGURE} .fallback svg")
    assert svg.is_visible()
    heights = [text.bounding_box()["height"] for text in svg.locator("text", has_text="chair").all()]
    assert heights
    scale = svg.bounding_box()["width"] / 403.2
    assert scale * 11 * 96 / 72 >= 10
    assert page.locator(f"{FIGURE} .fallback table").is_visible()


def test_on_its_page_the_lists_change_sentence_and_arc_in_both_themes(visit, told):
    page = visit(PAGE, width=390, height=844, has_touch=True, is_mobile=True)
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        for thing in FIRST:
            choose(page, thing)
            assert seen(page) == (*answer(told, thing).sentence[:2], line_of(told, answer(told, thing), off=False))
            arcs_are_right(page.evaluate(SCENE), answer(told, thing))
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
