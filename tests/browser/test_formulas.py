"""Formulas and the speed of pages: what is there at once, stays where it is, and is the whole of what was written."""

import html
import json
import pickle
import re
from collections import Counter

import build
import lxml.html
import pytest
import rest
from docutils import nodes
from test_pages import SPILT

NAMES = [path.relative_to(build.HTML).as_posix() for path in build.pages()]
FORMULA = re.compile(r'<math class="math" data-tex="([^"]*)"')
LINKS = [
    f"{name}#{place}"
    for name in NAMES
    for place in re.findall(r'<section[^>]* id="([^"]+)"', (build.HTML / name).read_text(encoding="utf-8"))
]
FIFTY = LINKS[:: len(LINKS) // 50][:50]
OFF = """() => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const seen = place.closest("details.deeper")?.querySelector("summary") ?? place;
  const room = document.documentElement.scrollHeight - innerHeight - scrollY;
  const top = seen.getBoundingClientRect().top;
  return top > 0 && room < 2 ? 0 : top - parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
}"""


@pytest.fixture(scope="module")
def address():
    return rest.serve(build.HTML)


def written(name):
    """The TeX of all formulas of a page as its notebook has them, however often."""
    path = build.ROOT / "_build" / ".doctrees" / name.replace(".html", ".doctree")
    doctree = pickle.loads(path.read_bytes())
    return Counter(
        " ".join(node.astext().split())
        for node in doctree.findall(lambda n: isinstance(n, nodes.math | nodes.math_block))
    )


def test_every_formula_that_was_written_is_on_its_page_once():
    number = 0
    for name in NAMES:
        page = (build.HTML / name).read_text(encoding="utf-8").partition("<article")[2]
        assert Counter(map(html.unescape, FORMULA.findall(page))) == written(name), name
        number += sum(written(name).values())
    assert number > 1500


def test_no_tex_is_left_to_be_read():
    traceback = "//*[contains(concat(' ', @class, ' '), ' traceback ')]"
    for name in NAMES:
        page = lxml.html.fromstring((build.HTML / name).read_bytes())
        for element in page.xpath(f"//pre | //code | //script | //style | {traceback}"):
            element.drop_tree()
        assert re.findall(r"\\(?!x[0-9a-f])[a-zA-Z(\[{]+|\$\$", page.text_content()) == [], name


def test_the_search_takes_no_tex_for_words():
    index = (build.HTML / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    assert len(terms["softmax"]) > 10
    assert [terms.get(word, []) for word in ("frac", "qquad", "bmatrix")] == [[], [], []]


@pytest.mark.parametrize("name", ["notation", "derivatives", "errata", "backward", "loss"])
def test_the_formulas_of_a_page_stand_without_scripts(visit, name):
    """On the pages with most of them: all stand in the files, and `test_a_page_is_sound` sees how each is laid out."""
    page = visit(f"book/{name}.html", java_script_enabled=False)
    assert page.evaluate("[...document.querySelectorAll('article math')].filter(m => m.checkVisibility()).length") > 20
    assert page.evaluate(SPILT) == []


def test_fifty_links_lead_where_they_should(browser, address):
    assert len(FIFTY) == 50
    far = {}
    for first in range(0, 50, 10):  # ten at once: they come to rest while others open
        pages = {}
        for link in FIFTY[first : first + 10]:
            pages[link] = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
            pages[link].goto(f"{address}/{link}", wait_until="load")
        for link, page in pages.items():
            page.evaluate(rest.REST)
            if abs(page.evaluate(OFF)) > 40:
                far[link] = page.evaluate(OFF)
            page.close()
    assert far == {}


def test_what_is_seen_stays_where_it_is(browser, address):
    """On a phone, from a server; on a wide page `test_a_page_is_sound` sees it, in the visit that it makes anyway."""
    moved = {}
    for first in range(0, len(NAMES), 10):  # while some come to rest, others open
        pages = {}
        for name in NAMES[first : first + 10]:
            pages[name] = browser.new_page(viewport={"width": 390, "height": 800})
            pages[name].goto(f"{address}/{name}", wait_until="load")
            pages[name].evaluate(f"() => {{ window.moved = ({rest.SHIFT})(); }}")
        for name, page in pages.items():
            if (shift := page.evaluate("window.moved")) >= 0.05:
                moved[name] = shift
            page.close()
    assert moved == {}


def test_a_formula_is_copied_as_its_tex(visit):
    page = visit("book/heads.html", permissions=["clipboard-read", "clipboard-write"])
    copied = page.evaluate("""() => {
      const around = document.querySelector("article p:has(math)"), data = new DataTransfer();
      getSelection().selectAllChildren(around);
      document.dispatchEvent(new ClipboardEvent("copy", {clipboardData: data}));
      const part = document.querySelector("article div.math math mi");
      const one = new DataTransfer();
      getSelection().selectAllChildren(part);
      document.dispatchEvent(new ClipboardEvent("copy", {clipboardData: one}));
      return [around.querySelector("math").dataset.tex, data.getData("text/plain"), data.getData("text/html"),
              part.closest("math").dataset.tex, one.getData("text/plain")];
    }""")
    tex, text, rich, whole, alone = copied
    assert f"${tex}$" in text
    assert "<math" in rich
    assert alone == f"$${whole}$$"


def test_a_wide_formula_breaks_on_a_phone_and_looks_as_before_on_a_wide_page(visit):
    wide = "[...document.querySelectorAll('div.math:has([data-wide] > .part)')].filter(e => e.checkVisibility())"
    page = visit("book/attention.html", width=390)
    lines = page.evaluate(
        f"{wide}.map(e => [e.scrollWidth - e.clientWidth, e.querySelectorAll('.part').length,"
        " new Set([...e.querySelectorAll('.part')].map(p => Math.round(p.getBoundingClientRect().top / 30))).size])"
    )
    assert len(lines) > 2
    assert all(over <= 1 for over, *_ in lines), lines
    assert any(rows > 1 for *_, rows in lines)
    page = visit("book/attention.html")
    assert page.evaluate(f"{wide}.every(e => getComputedStyle(e.querySelector('math')).display !== 'flex')")
