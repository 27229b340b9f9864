"""To find something: the search, from a server and from files, and the field and the letters of the glossary."""

import functools
import http.server
import re
import threading
from urllib.parse import quote

import build
import pytest
import sweep

GLOSSARY = "book/glossary.html"
SOUGHT = {
    "QK^T": "book/attention.html",
    "Q K^T": "book/attention.html",
    r"\frac{QK^T}{\sqrt{d_k}}": "book/attention.html",
    "sqrt(d_k)": "book/attention.html",
    "positional encoding": "book/positions.html",
    "softmax": "book/attention.html",
    "label smoothing": "book/loss.html",
    "beam search": "book/decode.html",
    "Adam": "book/adam.html",
    "layer norm": "book/addnorm.html",
    "attention": "book/attention.html",
    "create_state": "book/api/byhand.html",
}
REFERENCE = re.compile(r"^book/(api/|api\.|glossary|errata|paper|reuse|trouble|bibliography)")


@pytest.fixture(scope="module")
def server():
    """The built book as a server has it: only there do results have pieces of text."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    files = functools.partial(Quiet, directory=build.HTML)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), files) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


@pytest.fixture
def found(visit):
    def looked(words):
        page = visit("search.html")
        page.goto((build.HTML / "search.html").as_uri() + f"?q={quote(words)}", wait_until="load")
        page.locator("#search-results p.search-summary:not(:empty)").wait_for()
        page.wait_for_function("/finished|did not/.test(document.querySelector('.search-summary').textContent)")
        return page.evaluate(
            "[...document.querySelectorAll('#search-results li > a')].map(a => a.getAttribute('href'))"
        )

    return looked


def test_what_is_sought_comes_first(found):
    assert {words: found(words)[0].partition("#")[0] for words in SOUGHT} == SOUGHT


@pytest.mark.parametrize(
    "words", ["why divide by sqrt", "why do we divide by the square root of dk", "attention score"]
)
def test_words_of_a_heading_are_found_and_a_question_may_have_a_word_too_many(found, words):
    assert "book/attention.html" in [href.partition("#")[0] for href in found(words)[:4]]


def test_chapters_that_use_a_word_come_before_what_one_looks_up(found):
    pages = [href for href in found("gradient") if "#" not in href]
    kinds = [bool(REFERENCE.match(href)) for href in pages]
    assert kinds == sorted(kinds)
    assert 0 < sum(kinds) < len(kinds)


def test_what_nobody_wrote_is_not_found(found):
    assert found("zzzqq") == found("x^zzzqq") == []


def test_pieces_of_text_have_no_tex_and_no_menu(browser, server):
    page = browser.new_page()
    for words in ("label smoothing", "QK^T", "epsilon"):
        page.goto(f"{server}/search.html?q={quote(words)}")
        page.wait_for_function("/finished/.test(document.querySelector('.search-summary')?.textContent)")
        page.wait_for_function(
            "document.querySelectorAll('#search-results li').length - 2 < document.querySelectorAll('.context').length"
        )
        texts = page.locator("#search-results .context").all_inner_texts()
        assert len(texts) > 1
        for text in texts:
            assert not re.search(r"\\[a-z(\[]|[{}]\\|On this page|Open everything", text), text
            assert len(text) < 260
        assert words.lower().replace(" ", "") in re.sub(r"\s", "", " ".join(texts)).lower()
    page.close()


def shown(page):
    return page.locator("dl.glossary > dt:visible").all_inner_texts()


def test_the_glossary_leaves_the_words_with_what_is_typed(visit):
    page = visit(GLOSSARY, width=390)
    everything, status = shown(page), page.locator(".finder [role=status]")
    assert status.inner_text() == f"{len(everything)} of {len(everything)} words"
    page.get_by_label("Find a word").fill("  Softmax ")
    left = shown(page)
    assert status.inner_text() == f"{len(left)} of {len(everything)} words"
    assert 1 < len(left) < 20
    meanings = page.locator("dl.glossary > dd:visible").all_inner_texts()
    assert all("softmax" in (name + said).lower() for name, said in zip(left, meanings, strict=True))
    headings = page.locator("article h2:visible").count()
    assert 0 < headings < page.locator("article h2").count(), "a heading without words is not shown"
    page.get_by_label("Find a word").fill("zzz")
    assert (shown(page), status.inner_text()) == ([], f"0 of {len(everything)} words")
    page.get_by_label("Find a word").fill("")
    assert shown(page) == everything


def test_letters_lead_to_their_words_and_back(visit):
    page = visit(GLOSSARY, reduced_motion="reduce")
    everything = shown(page)
    page.get_by_label("Find a word").fill("zzz")
    letter = page.locator(".finder a", has_text="P")
    letter.focus()
    page.keyboard.press("Enter")
    assert page.get_by_label("Find a word").input_value() == ""
    left = shown(page)
    assert "padding" in " ".join(left)
    assert all(re.search(r"(^|, |\()p", text, re.I) for text in left)
    assert page.locator(".finder a[aria-current=true]").all_inner_texts() == ["P"]
    page.locator(".finder a", has_text="all").click()
    assert shown(page) == everything
    page.go_back()
    assert shown(page) == left
    page.evaluate("location.hash = '#term-softmax'")
    page.locator("#term-softmax").wait_for()
    assert shown(page) == everything
    assert 0 <= page.locator("#term-softmax").bounding_box()["y"] < 400
    assert page.locator(".finder p > :not(a)").count() < 10, "most letters have words"


def test_without_scripts_the_glossary_is_whole(visit):
    page = visit(GLOSSARY, java_script_enabled=False)
    assert page.locator(".finder > *").count() == 0
    assert page.locator(".finder").evaluate("e => e.offsetHeight") == 0, "and there is no room for what will not come"
    assert len(shown(page)) > 150


def test_a_wide_window_gives_its_room_to_figures_and_moves_nothing_else(visit):
    page = visit("book/transformer.html", width=1400, reduced_motion="reduce")
    text, figure = page.locator("article > section > p").first, page.locator("walk-figure .live")
    narrow = figure.bounding_box()["width"]
    for width in (1500, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        box, beside = figure.bounding_box(), page.locator(".bd-sidebar-secondary").bounding_box()
        assert box["width"] > narrow + 50
        assert box["x"] + box["width"] < beside["x"]
        assert box["x"] < text.bounding_box()["x"] + 40
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_an_output_that_is_too_wide_takes_room_as_far_as_the_list_of_sections(visit):
    page = visit("book/bert.html", width=1500)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    right = "e => e.getBoundingClientRect().right"
    text = page.locator("article > section > p").first.evaluate(right)
    ends = page.locator(".cell_output > .stream").evaluate_all(f"all => all.map({right})")
    assert max(ends) > text + 50
    assert max(ends) < page.locator(".bd-sidebar-secondary").bounding_box()["x"]


def test_the_book_has_no_file_that_nobody_asks_for():
    assert sweep.unused(build.HTML) == set()
