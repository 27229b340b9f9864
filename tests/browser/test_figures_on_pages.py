"""What holds for every figure, on its page of the built book: without scripts, with one that fails, on a phone.

Figures do not jump: whatever is set, their height stays the same, and a window of 900 pixels holds them. On paper,
`test_pages.py` tries them.
"""

import functools
import re
from typing import NamedTuple

import lxml.html
import pytest
from guards import ROOT, SCRIPTS, outputs
from live import to_pages

HTML = ROOT / "_build" / "html"
LINE = 26
WIDTHS = (1280, 390, 320)


class Figure(NamedTuple):
    """Where a figure is, and how it differs from the others."""

    page: str
    heading: str  # of a row or a column of its tables
    word: str | None = None  # in its data, and shown
    jump: tuple[int | None, ...] = (0, 0, 0)  # by how much its height may change at each of WIDTHS; None: it may
    highest: int = 900
    driven: bool = True  # else its own tests press what it has, which is much

    @property
    def path(self):
        return f"book/{self.page}.html"


FIGURES = {
    "attention": Figure("attention", "love", "love", (0, None, None)),
    "beam": Figure("decode", "greedy", "liebe", (LINE, 0, 2 * LINE)),
    "bits": Figure("fast", "megabytes", "weil", (0, 0, LINE), 800),
    "cost": Figure("scale", "kept by layers", '"base"', (0, 0, LINE)),
    "cut": Figure("cut", "English", "chair", driven=False),
    "encoding": Figure("tokens", "Käsebrot"),
    "film": Figure("translation", "validation loss", "office", (0, 0, LINE)),
    "geometry": Figure("attention", "love", "love"),
    "heads": Figure("looking", "<eos>", "chair", (0, 0, LINE)),
    "layers": Figure("chat", "the likeliest", "Paris", (0, 0, LINE), 1020),
    "live": Figure("decode", "English", "lamp", (LINE, LINE, None)),
    "masks": Figure("masks", "love", "love"),
    "merges": Figure("tokens", "␣ + l", '"l"', (0, 0, LINE)),
    "parts": Figure("order", "3 chair", "chair"),
    "positions": Figure("positions", "pair 0", jump=(0, LINE, LINE)),
    "sampler": Figure("gpt", "words to fill", "love", (0, 0, LINE), 620),
    "schedule": Figure("schedule", "our copiers", "our copiers"),
    "sentence": Figure("index", "English", "chair", (0, 0, None)),
    "smoothing": Figure("loss", "love", "love", highest=620),
    "walk": Figure("transformer", "where", "love", (0, 0, None), 1000),
}
# Sets all that can be set, to its ends, and presses what can be pressed; what a figure says about it comes half a
# second later, which is waited for at the end of a list and of the choices. Finds what was set, how high the figure
# was, and by how much the page was too wide. The buttons of the live figure bring sentences that go wrong, which show
# more: they are left out where it is to stand `still`.
DRIVE = """async ([name, still]) => {
  const live = document.querySelector(`${name}-figure .live`), root = document.documentElement, found = [];
  const all = selector => [...live.querySelectorAll(selector)];
  const look = async (what, pauses = [20, 600]) => {
    for (const pause of pauses) {
      await new Promise(done => setTimeout(done, pause));
      found.push([what, live.getBoundingClientRect().height, root.scrollWidth - root.clientWidth]);
    }
  };
  const set = async (field, value, pauses) => {
    field.value = value;
    for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true}));
    await look(`${field.closest('label')?.innerText} ${value}`, pauses);
  };
  const click = async (element, what, pauses) => { element.click(); await look(what, pauses); };
  await look('at first');
  for (const list of all('select')) {
    for (const option of [...list.options].reverse()) await set(list, option.value, [20]);
    await look('the first of a list');
  }
  const ranges = all('input[type=range]');
  const values = ranges.map(range => range.value);
  for (const [n, range] of ranges.entries()) for (const end of [range.max, range.min, values[n]]) await set(range, end);
  for (const end of ['max', 'min']) for (const range of ranges) await set(range, range[end]);
  for (const [n, range] of ranges.entries()) await set(range, values[n]);
  for (const box of all('input[type=checkbox]'))
    for (const way of ['on', 'off']) await click(box, `${box.parentElement.innerText} ${way}`);
  for (const one of all('input[type=radio]'))
    if (one.checkVisibility({visibilityProperty: true})) await click(one, one.parentElement.innerText, [20]);
  await look('the last choice');
  const button = text => all('button').find(button => button.textContent === text);
  if (button('Start again')) await click(button('Start again'), 'start again');
  for (const next = button('Next step'); next && !next.disabled;) await click(next, 'next step');
  for (const one of still && name === 'live' ? [] : all('button'))
    if (one.isConnected) await click(one, one.textContent);
  return found;
}"""
# How large what a finger has to hit is; some things are as narrow as what they say.
SIZES = """all => all.map(e => [e.getBoundingClientRect(), e]).filter(([box]) => box.height).map(([box, e]) =>
    [e.matches('select, .german *') ? box.height : Math.min(box.width, box.height), e.outerHTML])"""
TARGETS = """:is(button:not(.skip), select, summary, .choice, .switch, [data-i], li[role=option], .box, .chip, .tip,
    input:not([type=checkbox], [type=radio], .matrix *))"""
each = pytest.mark.parametrize("name", FIGURES)


def test_every_figure_of_the_book_is_tried_on_a_page():
    assert {path.stem for path in SCRIPTS.glob("*.js")} - {"common", "model"} == FIGURES.keys()


def test_the_built_book_is_the_present_one():
    scripts = "".join(path.read_text(encoding="utf-8") for path in HTML.rglob("_static/**/*.js"))
    for path in SCRIPTS.glob("*.js"):
        assert path.read_text(encoding="utf-8").strip() in scripts, "run `make book` again"
    for name, figure in FIGURES.items():
        found = outputs(ROOT / "book" / f"{figure.page}.ipynb", "text/html")
        (html,) = (html for html in found if f"<{name}-figure>" in html)
        page = (HTML / figure.path).read_text(encoding="utf-8").replace(' lang="de"', "")
        data = html.partition('<div class="fallback">')[0]  # a picture in it takes the colours of the page
        assert to_pages(data) in page, "run `make book` again"


@functools.cache
def alone(name):
    """The page of a figure with its frame, its styles and its scripts; of what it tells, what is around the figure.

    A whole page has up to 15,000 elements, and a browser lays most of them out again whenever a figure changes.
    """
    path = HTML / FIGURES[name].path
    page = lxml.html.fromstring(path.read_text(encoding="utf-8"))
    (part,) = page.iter(f"{name}-figure")
    while part.tag != "article":
        around = part.getparent()
        for other in list(around):
            if other is not part and other.tag not in ("summary", "script"):
                other.drop_tree()
        part = around
    for link in page.xpath("//nav//a[starts-with(@href, '#')]"):  # to the sections that are gone
        link.set("href", "#main-content")
    html = lxml.html.tostring(page, doctype="<!doctype html>", encoding="unicode")
    return html.replace('="../', f'="{HTML.as_uri()}/')


@pytest.fixture
def visit_alone(visit, tmp_path):
    """Opens the page of a figure without what else it tells."""

    def visited(name, **settings):
        path = tmp_path / "page.html"
        path.write_text(alone(name), encoding="utf-8")
        return visit(path, **settings)

    return visited


def assert_stands_in(page, name):
    """The tables stand in for the figure."""
    for folded in page.locator(f"details:has({name}-figure) > summary").all():  # what goes deeper is opened first
        folded.click()
    figure = page.locator(f"{name}-figure")
    assert figure.locator(".fallback table").first.is_visible()
    assert figure.locator("th", has_text=FIGURES[name].heading).first.is_visible()
    assert all(picture.is_visible() for picture in figure.locator(".fallback > svg, .fallback > img").all())
    assert figure.locator(".live").count() == 0


@each
def test_without_scripts_the_tables_are_seen(visit_alone, name):
    assert_stands_in(visit_alone(name, java_script_enabled=False), name)


@each
def test_a_figure_that_fails_leaves_the_tables(visit_alone, name, complaints):
    assert_stands_in(visit_alone(name, before="JSON.parse = () => ({})"), name)
    assert complaints
    complaints.clear()


def drive(page, name, still=False):
    if name == "live":
        page.locator("live-figure").scroll_into_view_if_needed()
        page.wait_for_function(
            "document.querySelector('live-figure').told.text && document.querySelector('live-figure').frames"
        )
    return page.evaluate(DRIVE, [name, still])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.driven])
def test_nothing_jumps_or_leads_out_of_the_page(visit_alone, name, width):
    figure = FIGURES[name]
    jump = figure.jump[WIDTHS.index(width)]
    page = visit_alone(name, width=width, has_touch=width < 1000, reduced_motion="reduce", hurry=True)
    found = drive(page, name, still=jump is not None)
    for what, height, wider in found:
        assert wider <= 0, what
        assert jump is None or abs(height - found[0][1]) <= jump + 2, what
        assert jump is None or width < 1000 or height <= figure.highest, what
    assert page.locator(f"{name}-figure").get_by_role("button", name="Play").count() == 0, "less motion was asked for"
    if width < 1000:
        targets = page.locator(f"{name}-figure .live {TARGETS}").evaluate_all(SIZES)
        assert [target for target in targets if target[0] < 43.5] == []


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.word and figure.driven])
def test_words_stay_words(visit_alone, name):
    word, evil = FIGURES[name].word, "<img/src=x/onerror=alert(1)>"
    worse = f'"{evil}"' if '"' in word else f"{word}{evil}"
    swap = f"const parse = JSON.parse; JSON.parse = text => parse(text.replaceAll({word!r}, {worse!r}));"
    page = visit_alone(name, before=swap, hurry=True)
    drive(page, name)
    live = page.locator(f"{name}-figure .live")
    assert live.locator("img").count() == 0
    assert evil in live.text_content()


# What some are alone with


def test_the_geometry_is_seen_whole_on_a_laptop_whatever_it_says(visit_alone):
    page = visit_alone("geometry", width=1280, height=720)
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
    page = visit(FIGURES["attention"].path, width=width, height=height, reduced_motion="reduce")  # scrolls at once
    for name in ("q", "v", "out"):
        page.locator(f"table.of-{name} td[data-i]").first.focus()
        terms, cell = page.locator(".terms").bounding_box(), page.locator(".live td.chosen").bounding_box()
        assert 0 < terms["y"] < terms["y"] + terms["height"] <= height + 1
        assert cell["y"] + cell["height"] <= terms["y"], "the terms do not cover what they are about"


def test_attention_by_hand_is_seen_whole_and_beside_the_contents(visit_alone):
    for width, height in ((1024, 768), (1280, 900), (1440, 900), (1920, 1080)):
        page = visit_alone("attention", width=width, height=height)
        figure, contents = page.locator("attention-figure .live"), page.locator(".bd-sidebar-secondary")
        for name in ("hide later words", "add positions"):
            page.get_by_label(name).check()
            box = figure.bounding_box()
            assert box["height"] <= 640
            if width >= 1200:
                assert box["x"] + box["width"] <= contents.bounding_box()["x"]
            hidden = "parts => parts.map(part => part.scrollWidth - part.clientWidth)"
            assert figure.locator(".part").evaluate_all(hidden) == [0, 0], "no number is out of sight"


def test_the_switches_of_attention_stand_beside_the_weights(visit_alone):
    for width in (1280, 390):
        page = visit_alone("attention", width=width, height=844)
        switches, weights = (page.locator(f"attention-figure {s}").bounding_box() for s in (".controls", ".of-weights"))
        assert 0 <= weights["y"] - switches["y"] - switches["height"] <= 40


@each
def test_the_data_of_a_figure_is_small(name):
    text = (HTML / FIGURES[name].path).read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json">(.*?)</script>', text, re.S)
    assert 0 < max(map(len, data)) < 150_000


def test_the_points_that_are_drawn_stand_where_they_hit_the_line(visit_alone):
    page = visit_alone("sampler")
    page.get_by_role("button", name="Draw ten").click()
    boxes = [page.locator(f"sampler-figure .{part}").bounding_box() for part in ("pieces", "points")]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert boxes[0]["width"] == boxes[1]["width"]
    assert page.locator("sampler-figure .points span").count() == 10


def test_a_word_of_the_film_that_is_right_stands_on_the_line_of_its_neighbours(visit_alone):
    lines = visit_alone("film").locator("film-figure .written").all()
    places = "spans => spans.map(e => [e.className, e.getBoundingClientRect().top, e.getBoundingClientRect().bottom])"
    for line in lines:
        words = line.locator(":scope > span").evaluate_all(places)
        tops, bottoms = {round(top) for _, top, _ in words}, {round(bottom) for *_, bottom in words}
        assert len(tops) == len(bottoms), "each line of text has one top and one bottom"
    assert len({name for name, *_ in words}) == 2
