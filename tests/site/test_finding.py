"""What the search asks, as it is read from the built pages."""

import finding
import pytest
from guards import BOOK
from lxml import html

KT = "<msup><mi>K</mi><mi>𝖳</mi></msup>"
ROOT = "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
SCORES = f'<math data-tex="QK"><mrow><mi>Q</mi>{KT}</mrow></math>'
SHARES = f"<math><mfrac><mrow><mi>Q</mi>{KT}</mrow>{ROOT}</mfrac></math>"


def article(body):
    return (
        f'<html><body><nav>menu</nav><article><section id="top"><h1>A page</h1>{body}</section></article></body></html>'
    )


def stems(text):
    return text.lower().split()


def index(*names):
    alike = {word: [*range(len(names))] for word in ("key", "rare")}
    return {"docnames": list(names), "terms": alike | {"17": [0], "": [0]}, "titleterms": {}}


@pytest.mark.parametrize(
    ("formula", "written"),
    [(SCORES, "qkt"), (SHARES, "qkt/√dk"), ("<math><mo>−</mo><mi>x</mi><mo>\u2062</mo><mn>2</mn></math>", "-x2")],
)
def test_a_formula_is_plain_whatever_it_is_grouped_by(formula, written):
    assert finding.plain(finding.spoken(html.fromstring(formula))) == written


@pytest.mark.parametrize("typed", ["QK^T", "Q K^T", "q_k_t", "(QK)^{T}", "Q·K^𝖳"])
def test_what_is_typed_in_several_ways_is_plain_alike(typed):
    assert finding.plain(typed) == "qkt"


def test_a_page_is_read_without_its_menu_and_with_the_places_of_its_formulas():
    text, formulas, homes = finding.read(
        article(f'<p>Keys</p><section id="here"><p>Scores {SCORES}, {SHARES} end</p><script>code</script></section>')
    )
    assert sorted(text.split()) == [",", "A", "Keys", "Scores", "end", "page"]
    assert formulas == {"qkt": ["here"], "qkt/√dk": ["here"]}
    assert homes == {}


def test_a_word_of_the_glossary_is_at_home_where_its_first_link_leads():
    see = '<p>A way. See <a href="attention.html#scores">x</a> and <a href="heads.html">y</a>.</p>'
    listed = f'<dl class="simple glossary"><dt>scaled attention (SDPA)</dt><dd>{see}</dd><dt>lost</dt><dd>x</dd></dl>'
    place = ("book/attention", "scores")
    assert finding.read(article(listed))[2] == {"scaled attention": place, "sdpa": place}


def test_a_word_has_the_pages_first_that_use_it_most_and_whole_numbers_are_left_out():
    pages = {
        "book/long": article("<p>key key " + "other " * 90 + "</p>"),
        "book/short": article("<p>key key</p>"),
        "book/none": article(""),
    }
    made = finding.improve(index(*pages), pages, stems, {"book/none"})
    assert made["terms"] == {"key": [1, 0, 2], "rare": [0, 1, 2]}
    assert made["reference"] == [2]


def test_a_word_of_a_heading_is_a_word_of_its_page():
    pages = {"book/a": article("<p>key</p>"), "book/b": article("<p>key key</p>"), "book/c": article("")}
    named = {"terms": {"key": 0, "rare": 2}, "titleterms": {"key": [1], "new": 1, "rare": 2}}
    made = finding.improve(index(*pages) | named, pages, stems, set())
    assert made["terms"] == {"key": [1, 0], "rare": 2, "new": 1}


def test_a_formula_has_the_pages_first_that_have_it_most_each_with_its_first_place():
    pages = {
        "book/a": article(f"<p>{SCORES}</p>"),
        "book/b": article(f'<section id="s">{SCORES}</section><section id="t">{SCORES}</section>'),
    }
    assert finding.improve(index(*pages), pages, stems, set())["formulas"] == {"qkt": [[1, "s"], [0, "top"]]}


def test_only_the_page_of_the_search_and_the_glossary_load_their_scripts():
    class App:
        def __init__(self):
            self.files = []

        def add_js_file(self, name, defer):
            self.files.append(name)

    for page, files in (("search", ["search.js"]), ("book/glossary", ["glossary.js"]), ("book/heads", [])):
        app = App()
        finding.bring_search(app, page, "page.html", {}, None)
        assert app.files == files
        assert all((BOOK / "_static" / name).is_file() for name in files)


def test_the_script_of_the_glossary_is_small():
    assert (BOOK / "_static" / "glossary.js").stat().st_size <= 2048
