"""Every page of the built book, from a file: both themes, wide pages and phones, keyboard, no scripts."""

import gzip
import importlib.resources
import re
from itertools import pairwise

import build
import pytest

NAMES = [path.relative_to(build.HTML).as_posix() for path in build.pages()]
each = pytest.mark.parametrize("name", NAMES)
HEADS = "book/heads.html"

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = """() => axe.run({preload: false}).then(r =>
    r.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].target.join(' ')]))"""
# Formulas and code are thousands of elements that are alike on all pages: one page is tried with them.
PLAIN = """() => { for (const e of document.querySelectorAll('mjx-container, .highlight pre'))
    e.replaceChildren(document.createTextNode(e.tagName === 'PRE' ? e.textContent : 'x')); }"""


def formulas(page):
    page.evaluate("() => window.MathJax?.startup?.promise")
    return page


@pytest.fixture
def axe(visit):
    """What axe finds on a page."""
    source = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

    def found(page):
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)
        return page.evaluate(AXE)

    return found


@each
def test_a_page_is_sound(visit, axe, name):
    """No error, no outside request (by `visit`), nothing too wide down to a zoom of 400 %, nothing that axe finds."""
    loaded = []
    page = formulas(visit(name, mathematics=True, loaded=loaded, reduced_motion="reduce", color_scheme="light"))
    assert sum(packed(path) for path in set(loaded)) < 1_000_000, "too heavy"
    for width in (1280, 390, 320):  # 320 px is what a zoom of 400 % leaves of 1280
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(SIDEWAYS) <= 0, f"scrolls sideways at {width} px"
    page.evaluate(PLAIN)
    for width, theme in ((390, "dark"), (1280, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        page.wait_for_timeout(300)  # the menu comes in, and the page looks again what scrolls
        assert axe(page) == [], f"{width} px, {theme}"


def packed(path):
    """The bytes that travel: text is packed by servers, pictures and fonts are packed already."""
    data = path.read_bytes()
    return len(data) if path.suffix in (".png", ".woff", ".woff2") else len(gzip.compress(data, 6))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_formulas_and_code_can_be_read_by_everybody(visit, axe, theme):
    page = formulas(visit(HEADS, mathematics=True, reduced_motion="reduce", color_scheme=theme))
    assert page.locator("html").get_attribute("data-theme") == theme
    page.evaluate("""() => [...document.querySelectorAll('article section section')]
        .filter(e => !e.querySelector('.highlight pre .key')).map(e => e.remove())""")
    assert page.locator("mjx-container .key").count() > 3
    assert page.locator(".highlight pre .key").count() > 3
    assert axe(page) == []


def test_symbols_have_the_same_colours_in_formulas_and_code(visit):
    page = formulas(visit(HEADS, mathematics=True))
    for role in ("query", "key", "value", "out"):
        colours = page.evaluate(
            """role => ['mjx-container', '.highlight pre'].map(where =>
                getComputedStyle(document.querySelector(`${where} .${role}`)).color)""",
            role,
        )
        assert len(set(colours)) == 1, role
        assert colours[0] != page.evaluate("getComputedStyle(document.querySelector('.bd-article p')).color")


def test_without_scripts_a_page_is_read_and_left(visit):
    page = visit(HEADS, java_script_enabled=False)
    assert page.locator("article p").first.is_visible()
    assert page.locator("article .math").first.inner_text().strip().startswith("\\"), "a formula stands as its source"
    page.locator(".prev-next-footer a").first.click()
    assert page.url.endswith("masks.html")


def test_a_solution_opens_with_the_keyboard(visit):
    page = visit("book/attention.html")
    handle = page.locator("details.above-input > summary").first
    handle.focus()
    assert handle.evaluate("e => getComputedStyle(e).outlineStyle") != "none", "the focus is seen"
    page.keyboard.press("Enter")
    assert page.locator("details.above-input").first.get_attribute("open") is not None


def test_the_first_key_leads_past_the_menu(visit):
    page = visit(HEADS)
    page.keyboard.press("Tab")
    assert "Skip to main content" in page.locator(":focus").inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main-content"


def test_the_theme_is_switched_and_kept(visit):
    page = visit(HEADS, color_scheme="light")
    switch = page.locator(".theme-switch-button").first
    seen = [page.locator("html").get_attribute("data-theme")]
    for _ in range(3):
        switch.focus()
        page.keyboard.press("Enter")
        seen.append(page.locator("html").get_attribute("data-theme"))
    assert "dark" in seen
    assert "light" in seen


@pytest.mark.parametrize(("words", "page_found"), [("softmax", "attention.html"), ("BLEU", "translation.html")])
def test_search_finds_without_a_server(visit, words, page_found):
    page = visit(HEADS)
    page.keyboard.press("Control+k")
    page.locator("input[type=search]:visible").fill(words)
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    found = [a.get_attribute("href") for a in page.locator("#search-results li > a").all()]
    assert any(page_found in href for href in found)


def test_a_word_of_the_glossary_says_what_it_means(visit):
    page = visit("book/transformer.html")
    term, meaning = page.locator("a.term").first, page.locator("#meaning")
    assert not meaning.is_visible()
    term.focus()
    assert meaning.inner_text() == term.get_attribute("data-meaning")
    assert term.get_attribute("aria-describedby") == "meaning"
    page.keyboard.press("Escape")
    assert not meaning.is_visible()
    term.hover()
    assert meaning.is_visible()
    box, word = meaning.bounding_box(), term.bounding_box()
    assert box["y"] >= word["y"] + word["height"] or box["y"] + box["height"] <= word["y"], "the word stays in view"
    meaning.hover()
    page.wait_for_timeout(400)
    assert meaning.is_visible(), "one can point at the meaning itself"


def test_on_paper_the_folds_stand_open_and_the_ground_is_white(visit):
    page = visit("book/attention.html", color_scheme="dark")
    shut = page.locator("details:not([open])").count()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert (page.locator("details:not([open])").count(), page.locator("html").get_attribute("data-theme")) == (
        0,
        "light",
    )
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == shut > 0
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_headings_come_in_order(visit):
    for name in NAMES:
        html = (build.HTML / name).read_text(encoding="utf-8")
        levels = [int(level) for level in re.findall(r"<h([1-6])\b", html.partition("<article")[2])]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), name
