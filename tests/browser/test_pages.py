"""Every page of the built book, from a file: both themes, wide pages and phones, keyboard, no scripts."""

import importlib.resources
import io
import re
from itertools import pairwise

import build
import matplotlib.image
import numpy as np
import pytest
import rest
import routes

NAMES = [*(path.relative_to(build.HTML).as_posix() for path in build.pages()), "genindex.html"]
each = pytest.mark.parametrize("name", NAMES)
HEADS = "book/heads.html"
TOLD = {f"book/{name}.html" for name in routes.pages() if routes.route(name) != "reference"}
# Pages that differ from the others when their width does: those with a figure, and one of each kind of frame.
WITH_FIGURE = {name for name in NAMES if re.search(r"<\w+-figure>", (build.HTML / name).read_text(encoding="utf-8"))}
WHOLE = {"book/index.html", HEADS, "book/glossary.html", "book/api/model.html", "genindex.html"}
AT_BOTH_WIDTHS = WITH_FIGURE | WHOLE

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = """rules => axe.run({preload: false, resultTypes: ['violations'], rules}).then(
    ({violations}) => violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].target.join(' ')]))"""
# The texts that are seen, in fields too, each with the contrast to what is behind it, as WCAG 2.2 defines it. Axe
# compares colours too: in a second for each theme and width, and without the texts of drawings. What formulas and code
# consist of is thousands of elements that are alike on all pages: one page is tried with `all` of them.
TEXTS = """all => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true}), known = new Map();
  const read = colour => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map(x => x / 255);
  };
  const rgba = colour => known.get(colour) ?? known.set(colour, read(colour)).get(colour);
  const over = (below, top) => below.map((x, n) => top[3] * top[n] + (1 - top[3]) * x);
  const grounds = new Map([[null, [1, 1, 1]]]);
  const ground = e => grounds.get(e) ?? grounds.set(e,
      over(ground(e.parentElement), rgba(getComputedStyle(e).backgroundColor))).get(e);
  const opacities = new Map([[null, 1]]);
  const opacity = e => opacities.get(e) ?? opacities.set(e,
      getComputedStyle(e).opacity * opacity(e.parentElement)).get(e);
  const luminance = parts => parts.map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
      .reduce((sum, x, n) => sum + x * [0.2126, 0.7152, 0.0722][n], 0);
  const FIELD = 'input:not([type=range], [type=checkbox], [type=radio])';
  const WHOLE = all ? ':not(*)' : 'math, .highlight pre';
  return [...document.body.querySelectorAll(all ? '*' : '*:not(math *, .highlight pre *)')].filter(e =>
      (e.matches(FIELD) || e.matches(WHOLE) || [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
      && !e.closest('script') && !e.matches(':disabled')
      && e.checkVisibility({opacityProperty: true, visibilityProperty: true})
      && !e.closest('.drawn')  // numbers stand on tiles: tests/site/test_drawings.py
      && (e.ownerSVGElement || e.getBoundingClientRect().width > 1)).map(e => {
    const style = getComputedStyle(e), behind = ground(e);
    const [...ink] = rgba(e.ownerSVGElement ? style.fill : style.color);
    ink[3] *= opacity(e);
    const colour = over(behind, ink);
    const [low, high] = [luminance(colour), luminance(behind)].sort((a, b) => a - b);
    return [String(e.value ?? e.textContent).trim().slice(0, 40), e.localName, (high + 0.05) / (low + 0.05)];
  });
}"""
# What moves has come to rest, and the page has looked again what scrolls: in the frame in which the text got narrower.
SETTLED = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();  // in which movements begin
  await Promise.allSettled(document.getAnimations().map(movement => movement.finished));
  await frame();
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
}"""
UNMARKED = """() => [...document.querySelectorAll('article :is(p, li, dd, td) a')].map(a => [a, getComputedStyle(a)])
    .filter(([a, s]) => a.checkVisibility({visibilityProperty: true}) && s.display === 'inline'
        && s.textDecorationLine !== 'underline' && !(a.matches('.door')
            && s.color === getComputedStyle(a.parentElement).color)).map(([a]) => a.outerHTML)"""
# The doors of numbers look like the text: no colour tells them. What does is tried in test_doors.py.
# Code that must be scrolled to be read in a column as wide as a page has at 1280; longer lines than 88 signs must be.
CUT_OFF = """() => [...document.querySelectorAll('.cell .highlight pre')].filter(e => e.clientWidth > 600
    && e.scrollWidth > e.clientWidth && Math.max(...e.textContent.split('\\n').map(l => l.length)) <= 88)
    .map(e => e.textContent.slice(0, 60))"""
# Of each figure its name, and what is seen of it: itself, what stands for it elsewhere, what can be worked.
FIGURES = """() => {
  const seen = e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 0
      && e.getBoundingClientRect().height > 0;
  return [...document.querySelectorAll('.fallback')].map(({parentElement: figure}) => [figure.localName,
      ...['.live', '.fallback', ':is(button, [role=switch], input[type=range])']
          .map(part => [...figure.querySelectorAll(part)].some(seen))]);
}"""
# On paper these are their tables.
PRINTED = {
    f"{name}-figure" for name in ("walk", "sentence", "film", "masks", "encoding", "sampler", "live", "bits", "cut")
}
MOVES = "() => [...document.querySelectorAll('*')].some(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
# Axe would take long for all the elements of formulas and code.
PLAIN = """() => { for (const e of document.querySelectorAll('math, .highlight pre'))
    e.replaceChildren(document.createTextNode(e.textContent.slice(0, e.tagName === 'PRE' ? undefined : 1))); }"""
# Leaves of what a page tells its figures and headings alone: axe takes a tenth of the time for a tenth of the elements.
FIGURES_ALONE = """() => {
  const kept = [...document.querySelectorAll('article :is(h1, h2, h3, h4, summary)')], around = new Set();
  for (const fallback of document.querySelectorAll('.fallback')) kept.push(fallback.parentElement);
  for (const one of kept) for (let e = one; e; e = e.parentElement) around.add(e);
  for (const e of document.querySelectorAll('article *'))
    if (!around.has(e) && !kept.some(one => one.contains(e))) e.remove();
}"""
# The height of the machine at the head of a chapter as a reader finds it. Of what can be hit in it, when it is open,
# the least side and the size of the letters.
MACHINE = """() => {
  const fold = document.querySelector('.machine details');
  fold.open = false;
  const height = document.querySelector('.machine').getBoundingClientRect().height;
  fold.open = true;
  return [height, [...fold.querySelectorAll('a')].map(a => [a.getBoundingClientRect(), getComputedStyle(a)])
      .map(([{width, height}, {fontSize}]) => [Math.min(width, height), parseFloat(fontSize)])];
}"""
SPILT = """() => [...document.querySelectorAll('article math')].filter(m => {
  const {width, height} = m.getBoundingClientRect();
  return m.checkVisibility() && !(width > 3 && height > 5 && height < 1500);
}).map(m => m.dataset.tex)"""


def axe(page, colours=False):
    """What axe finds on a page as it is."""
    if not page.evaluate("'axe' in window"):
        page.evaluate((importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    return page.evaluate(AXE, {rule: {"enabled": colours} for rule in ("color-contrast", "link-in-text-block")})


def faint(page, least=40, whole=False):
    """The texts that differ too little from what is behind them; there must be more than so many texts."""
    texts = page.evaluate(TEXTS, whole)
    assert len(texts) > least
    return [text for text in texts if text[2] < 4.5]


def assert_machine_is_small(page, width):
    """It leaves room for the chapter, and every part of it can be hit and read."""
    height, boxes = page.evaluate(MACHINE)
    assert 0 < height <= 50, f"{width} px"
    assert len(boxes) == 16
    assert all(size >= 24 and letters >= 12 for size, letters in boxes), f"{width} px"


@pytest.mark.parametrize("name", ["book/attention.html", "book/positions.html"])
def test_with_larger_letters_a_phone_need_not_scroll_sideways(visit, name):
    page = visit(name, width=390)
    page.evaluate("document.documentElement.style.fontSize = '150%'")
    assert page.evaluate(SIDEWAYS) <= 0


@each
def test_a_page_is_sound(visit, pictures, name):
    """No error, no outside request (by `visit`), not heavy, not too wide down to a zoom of 400 %, not hard to use.

    To lay out a long page anew takes a third of a second, and axe takes one: each width is there once. All that a page
    says is seen at 1280 px in both themes; at 390 px the colours are tried in the dark. What is there on phones only,
    or on wide pages only, belongs to figures and to the frame, so pages `AT_BOTH_WIDTHS` are tried in all ways, those
    with a figure without the rest of what they tell.
    """
    loaded = []
    page = visit(name, loaded=loaded, reduced_motion="reduce", color_scheme="light")
    assert page.evaluate(rest.SHIFT) < 0.05, "what is seen moves while it loads"
    assert page.locator("html").get_attribute("data-theme") == "light", "as the reader's system has it"
    assert not [path for path in loaded if "webfonts" in path.parts], "an icon is not in the small font"
    assert not [path for path in loaded if "mathjax" in path.parts]
    assert sum(map(rest.packed, set(loaded))) < 400_000
    assert page.evaluate("document.querySelectorAll('*').length") < 15_000
    pictures(page, name, "wide, light")
    if name in TOLD:
        assert_machine_is_small(page, 1280)  # while the folds are shut: when it opens, all below it moves
    page.evaluate("() => { for (const fold of document.querySelectorAll('details')) fold.open = true; }")

    def assert_fits(width):
        assert page.evaluate(SIDEWAYS) <= 0, f"scrolls sideways at {width} px"
        for figure, live, fallback, _ in page.evaluate(FIGURES):
            assert (live, fallback) == (True, False), f"{figure}, {width} px"

    def assert_can_be_read(width, *themes):
        for theme in themes:
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            assert faint(page) == [], f"{width} px, {theme}"

    assert page.evaluate(CUT_OFF) == [], "a line of code does not fit"
    assert page.evaluate(SPILT) == [], "a formula has no size"
    assert_fits(1280)
    assert_can_be_read(1280, "light", "dark")
    page.set_viewport_size({"width": 320, "height": 900})  # what a zoom of 400 % leaves of 1280
    assert_fits(320)
    pictures(page, name, "phone, dark, folds open", width=390)
    page.evaluate(PLAIN)  # formulas and code that fit at 320 px fit at 390
    page.set_viewport_size({"width": 390, "height": 900})
    assert_fits(390)
    if name in TOLD:
        assert_machine_is_small(page, 390)
    assert not page.evaluate(MOVES), "less motion was asked for"
    assert page.evaluate(UNMARKED) == [], "links are told by more than their colour"
    assert_can_be_read(390, *(["light"] if name in AT_BOTH_WIDTHS else []), "dark")
    page.evaluate(SETTLED)
    assert axe(page) == [], "390 px"
    if name in AT_BOTH_WIDTHS:
        if name in WITH_FIGURE - WHOLE:
            page.evaluate(FIGURES_ALONE)
        page.set_viewport_size({"width": 1280, "height": 900})
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        page.evaluate(SETTLED)
        assert axe(page) == [], "1280 px"
    page.emulate_media(media="print")
    for figure, live, fallback, can_be_worked in page.evaluate(FIGURES):
        assert (live, fallback) == ((False, True) if figure in PRINTED else (True, False)), f"{figure} on paper"
        assert not can_be_worked, f"{figure} on paper"


def test_formulas_and_code_can_be_read_by_everybody_in_the_same_colours(visit):
    page = visit(HEADS, reduced_motion="reduce", color_scheme="light")
    for role in ("query", "key", "value", "out"):
        colours = page.evaluate(
            """role => ['math', '.highlight pre'].map(where =>
                getComputedStyle(document.querySelector(`${where} .${role}`)).color)""",
            role,
        )
        assert len(set(colours)) == 1, role
        assert colours[0] != page.evaluate("getComputedStyle(document.querySelector('.bd-article p')).color")
    page.evaluate("() => { for (const fold of document.querySelectorAll('details')) fold.open = true; }")
    for theme in ("dark", "light"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert faint(page, 1000, whole=True) == [], theme
    page.evaluate("""() => {
      const all = [...document.querySelectorAll('article section section')];
      const four = (what) => all.filter(e => e.querySelector(what)).slice(0, 4);
      const kept = [...four('.highlight pre .key'), ...four('math .key')];
      for (const e of all) if (!kept.some(k => e.contains(k))) e.remove();
      for (const what of ['math', '.highlight pre']) {  // six of each are enough for axe, which takes long
        const some = [...document.querySelectorAll(`${what}:has(.key)`)].slice(0, 6);
        for (const e of document.querySelectorAll(what)) if (!some.includes(e)) e.remove();
      }
    }""")
    assert page.locator("math .key").count() > 3
    assert page.locator(".highlight pre .key").count() > 1
    for theme in ("dark", "light"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert faint(page, whole=True) == axe(page, colours=True) == []
    page.evaluate("document.querySelector('.badge-line').style.color = '#777'")
    ((_, element, ratio),) = faint(page)
    ((_, rule, number, _),) = axe(page, colours=True)
    assert (element, round(ratio, 2), rule, number) == ("p", 4.48, "color-contrast", 1)


def test_without_scripts_a_page_is_read_and_left(visit):
    page = visit(HEADS, java_script_enabled=False)
    assert page.locator("article p").first.is_visible()
    formula = page.locator("article math[data-tex='d_v']").first
    assert formula.text_content() == "dv"
    assert formula.bounding_box()["height"] < 30
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


@pytest.mark.parametrize(
    ("words", "page_found", "width"), [("softmax", "attention.html", 1280), ("BLEU", "bleu.html", 390)]
)
def test_search_finds_without_a_server(visit, words, page_found, width):
    def assert_sound():
        for theme in ("light", "dark"):
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            assert faint(page, 15) == [], theme
        assert axe(page) == []
        assert page.evaluate(SIDEWAYS) <= 0

    page = visit(HEADS, width=width, reduced_motion="reduce")
    page.keyboard.press("Control+k")
    field = page.locator("input[type=search]:visible")
    field.fill(words)
    assert_sound()
    icon, text = page.locator("dialog form > i").bounding_box(), field.bounding_box()
    assert icon["x"] + icon["width"] <= text["x"], "the icon stands before the words"
    page.keyboard.press("Enter")
    page.locator("#search-results", has_text="Search finished").wait_for()  # the pages found come in one by one
    found = [a.get_attribute("href") for a in page.locator("#search-results li > a").all()]
    assert any(page_found in href for href in found)
    assert_sound()


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


@pytest.mark.parametrize("name", ["bert", "paper", "reuse", "train"])
def test_what_a_cell_says_is_seen_whole_on_a_wide_page(visit, name):
    page = visit(f"book/{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    cut = """() => [...document.querySelectorAll(".cell_output :is(.stream, .text_plain) pre")]
        .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent.slice(0, 60))"""
    assert page.evaluate(cut) == []


def test_a_formula_that_is_cut_off_has_a_shade_at_that_edge(visit):
    page = visit(HEADS, width=390)
    page.evaluate("""() => {
      const formula = [...document.querySelectorAll('.bd-article div.math')].find(e => e.checkVisibility());
      formula.classList.add('cut');
      formula.querySelector('math').style.minWidth = '700px';
    }""")
    formula = page.locator(".cut").first

    def edges():
        """Is there a shade, at the left edge and at the right one?"""
        pixels = matplotlib.image.imread(io.BytesIO(formula.screenshot()))[..., :3].mean(axis=2)
        return [np.median(column) < 0.9 for column in (pixels[:, 1], pixels[:, -2])]

    assert edges() == [False, True]
    formula.evaluate("e => e.scrollLeft = e.scrollWidth")
    assert edges() == [True, False]


def test_headings_come_in_order(visit):
    for name in NAMES:
        html = (build.HTML / name).read_text(encoding="utf-8")
        levels = [int(level) for level in re.findall(r"<h([1-6])\b", html.partition("<article")[2])]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), name


def test_the_name_of_a_module_stays_whole_in_its_table(visit):
    for name in ("data", "decoding", "training"):  # with short names and long ones
        table = visit(f"book/api/{name}.html").locator("table.modules")
        lines = table.evaluate("e => [...e.querySelectorAll('td a code')].map(e => e.getClientRects().length)")
        assert len(lines) > 3
        assert set(lines) == {1}, name
        assert table.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth"), name


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["book/errata", "book/api/data", "book/api/decoding", "book/api/training"])
def test_a_table_at_the_top_stands_still_while_its_rows_arrive(visit, name, width):
    table = visit(f"{name}.html", width).locator("article table").first
    widths = "e => [...e.rows[0].cells].map(cell => cell.getBoundingClientRect().width)"
    whole = table.evaluate(widths)
    table.evaluate("e => [...e.rows].slice(2).forEach(row => row.remove())")
    assert table.evaluate(widths) == whole


PAINTED = """() => new Promise(done => new PerformanceObserver(list => done(list.getEntries()[0].startTime))
    .observe({type: 'paint', buffered: true}))"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["index", "attention", "transformer", "translation", "looking"])
def test_on_a_slow_line_nothing_moves_and_the_first_letters_are_those_of_the_book(browser, name, width):
    """A cold visit by slow 4G and a slow processor: the fonts are there before the first paint."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    line = context.new_cdp_session(page)
    speed = {"latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000, "offline": False}
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", speed)
    line.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(f"{rest.serve(build.HTML)}/book/{name}.html", wait_until="load")
    painted = page.evaluate(PAINTED)
    fetched = page.evaluate("performance.getEntriesByType('resource').map(e => [e.name, e.responseEnd])")
    assert len([address for address, _ in fetched if re.search(r"\.css\b", address)]) == 1
    assert len([address for address, _ in fetched if re.search(r"\.js\b", address)]) <= 2
    fonts = [end for address, end in fetched if "/fonts/" in address]
    assert len(fonts) >= 3
    assert max(fonts) < painted
    assert page.evaluate(rest.SHIFT) <= 0.005
    context.close()


def test_on_a_phone_each_mistake_is_a_card_with_all_its_links(visit):
    page = visit("book/errata.html", width=390)
    for table in page.locator("#errata > div > table").all():
        assert table.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth + 1")
    cell = page.locator("#errata td:nth-child(4)").first
    assert cell.evaluate("e => getComputedStyle(e, '::before').content") == '"Kind"'
    cell.locator("a").click()
    assert "#" in page.url


def test_a_caption_begins_where_its_picture_begins(visit):
    for name in ("attention", "heads"):
        page = visit(f"book/{name}.html")
        off = page.evaluate("""[...document.querySelectorAll('figure:has(> .drawn)')].filter(e => e.checkVisibility())
          .map(e => e.querySelector("figcaption").getBoundingClientRect().left
                    - e.querySelector('.drawn').getBoundingClientRect().left)""")
        assert off
        assert all(abs(x) < 1 for x in off), (name, off)
