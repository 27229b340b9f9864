"""The figures on the pages of the built book: from a file, with and without scripts, on paper."""

import re

import pytest
from guards import ROOT, SCRIPTS, outputs
from live import to_pages

HTML = ROOT / "_build" / "html"
PAGES = {
    "attention": "book/attention.html",
    "beam": "book/decode.html",
    "cost": "book/scale.html",
    "encoding": "book/tokens.html",
    "film": "book/translation.html",
    "geometry": "book/attention.html",
    "heads": "book/looking.html",
    "live": "book/decode.html",
    "masks": "book/masks.html",
    "merges": "book/tokens.html",
    "parts": "book/order.html",
    "positions": "book/positions.html",
    "sampler": "book/gpt.html",
    "schedule": "book/schedule.html",
    "sentence": "book/index.html",
    "smoothing": "book/loss.html",
    "walk": "book/transformer.html",
}
IN_THE_TABLE = {
    "attention": "love",
    "beam": "greedy",
    "cost": "kept by layers",
    "encoding": "Käsebrot",
    "film": "validation loss",
    "geometry": "love",
    "heads": "<eos>",
    "live": "English",
    "masks": "love",
    "merges": "␣ + l",
    "parts": "3 chair",
    "positions": "pair 0",
    "sampler": "words to fill",
    "schedule": "our copiers",
    "sentence": "English",
    "smoothing": "love",
    "walk": "where",
}
pages = pytest.mark.parametrize("name", PAGES)


def test_every_figure_of_the_book_is_tried_on_a_page():
    own = {path.stem for path in SCRIPTS.glob("*.js")} - {"common", "model"}
    assert own == PAGES.keys() == IN_THE_TABLE.keys()


def test_the_built_book_is_the_present_one():
    for path in SCRIPTS.iterdir():
        built = HTML / "_static" / "figures" / path.name
        assert built.is_file(), "run `make book` first"
        assert built.read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), "run `make book` again"
    for name in PAGES:
        figures = outputs(ROOT / PAGES[name].replace(".html", ".ipynb"), "text/html")
        (html,) = (html for html in figures if f"<{name}-figure>" in html)
        page = (HTML / PAGES[name]).read_text(encoding="utf-8").replace(' lang="de"', "")
        assert to_pages(html) in page, "run `make book` again"


@pages
def test_without_scripts_the_tables_are_seen(visit, name):
    page = visit(PAGES[name], java_script_enabled=False)
    figure = page.locator(f"{name}-figure")
    for folded in page.locator(f"details:has({name}-figure) > summary").all():  # what goes deeper is opened first
        folded.click()
    assert figure.locator(".fallback table").first.is_visible()
    assert figure.locator("th", has_text=IN_THE_TABLE[name]).first.is_visible()


@pages
def test_nothing_scrolls_sideways_on_a_phone(visit, name):
    page = visit(PAGES[name], width=390, height=844, has_touch=True, is_mobile=True)
    for details in page.locator(".live details").all():
        details.evaluate("e => e.open = true")
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.locator(f"{name}-figure .live").bounding_box()["width"] <= width


def test_the_geometry_is_seen_whole_on_a_laptop_whatever_it_says(visit):
    page = visit(PAGES["geometry"], width=1280, height=720)
    figure, sentence = page.locator("geometry-figure .live"), page.locator("geometry-figure [role=status]")
    box = figure.bounding_box()
    assert box["height"] <= 560
    contents = page.locator(".bd-sidebar-secondary").bounding_box()
    assert box["x"] + box["width"] <= contents["x"], "it does not cover the list of contents"
    page.get_by_label("query, first number").fill("-1.5")
    page.get_by_label("may look at I", exact=True).uncheck()
    sentence.get_by_text("Query (−1.5, 1.0)").wait_for()
    assert figure.bounding_box()["height"] == box["height"], "nothing jumps"


@pytest.mark.parametrize(("width", "height"), [(1280, 700), (390, 844)])
def test_the_terms_are_in_view_wherever_the_result_is(visit, width, height):
    page = visit(PAGES["attention"], width=width, height=height, reduced_motion="reduce")  # scrolls at once
    for name in ("q", "v", "out"):
        page.locator(f"table.of-{name} td[data-i]").first.focus()
        terms, cell = page.locator(".terms").bounding_box(), page.locator(".live td.chosen").bounding_box()
        assert 0 < terms["y"] < terms["y"] + terms["height"] <= height + 1
        assert cell["y"] + cell["height"] <= terms["y"], "the terms do not cover what they are about"


def test_attention_by_hand_is_seen_whole_and_beside_the_contents(visit):
    for width, height in ((1024, 768), (1280, 900), (1440, 900), (1920, 1080)):
        page = visit(PAGES["attention"], width=width, height=height)
        figure, contents = page.locator("attention-figure .live"), page.locator(".bd-sidebar-secondary")
        for name in ("hide later words", "add positions"):
            page.get_by_label(name).check()
            box = figure.bounding_box()
            assert box["height"] <= 640
            if width >= 1200:
                assert box["x"] + box["width"] <= contents.bounding_box()["x"]
            hidden = "parts => parts.map(part => part.scrollWidth - part.clientWidth)"
            assert figure.locator(".part").evaluate_all(hidden) == [0, 0], "no number is out of sight"


def test_the_switches_of_attention_stand_beside_the_weights(visit):
    for width in (1280, 390):
        page = visit(PAGES["attention"], width=width, height=844)
        switches, weights = (page.locator(f"attention-figure {s}").bounding_box() for s in (".controls", ".of-weights"))
        assert 0 <= weights["y"] - switches["y"] - switches["height"] <= 40


@pages
def test_the_data_of_a_figure_is_small(name):
    text = (HTML / PAGES[name]).read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json">(.*?)</script>', text, re.S)
    assert 0 < max(map(len, data)) < 150_000


def test_the_points_that_are_drawn_stand_where_they_hit_the_line(visit):
    page = visit(PAGES["sampler"])
    page.get_by_role("button", name="Draw ten").click()
    boxes = [page.locator(f"sampler-figure .{part}").bounding_box() for part in ("pieces", "points")]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert boxes[0]["width"] == boxes[1]["width"]
    assert page.locator("sampler-figure .points span").count() == 10


def test_a_word_of_the_film_that_is_right_stands_on_the_line_of_its_neighbours(visit):
    lines = visit(PAGES["film"]).locator("film-figure .written").all()
    places = "spans => spans.map(e => [e.className, e.getBoundingClientRect().top, e.getBoundingClientRect().bottom])"
    for line in lines:
        words = line.locator(":scope > span").evaluate_all(places)
        tops, bottoms = {round(top) for _, top, _ in words}, {round(bottom) for *_, bottom in words}
        assert len(tops) == len(bottoms), "each line of text has one top and one bottom"
    assert len({name for name, *_ in words}) == 2
