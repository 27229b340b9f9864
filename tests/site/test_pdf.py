"""The pages of the book, joined for printing."""

import pdf
import pytest

HEAD = """<head><link rel="stylesheet" href="_static/book.css?v=1"><script>let a = 1</script>
<script src="_static/search.js"></script><script src="_static/figures/{name}.js?v=2" defer></script></head>"""
BODY = """<body><nav>menu</nav><article class="bd-article"><h1 id="top">{name}<a class="headerlink">#</a></h1>
{body}</article></body>"""


@pytest.fixture
def join(tmp_path):
    (tmp_path / "html").mkdir()
    (tmp_path / "pdf").mkdir()

    def joined(**bodies):
        paths = [tmp_path / "html" / f"{name}.html" for name in bodies]
        for path, (name, body) in zip(paths, bodies.items(), strict=True):
            path.write_text(HEAD.replace("{name}", name) + BODY.format(name=name, body=body), encoding="utf-8")
        return pdf.joined(paths, tmp_path / "pdf")

    return joined


def test_places_of_the_same_name_stay_apart(join):
    whole = join(one='<p id="here">1</p>', two='<p id="here">2</p>')
    assert [e["id"] for e in whole.find_all(id=True)] == [
        "one",
        "one--top",
        "one--here",
        "two",
        "two--top",
        "two--here",
    ]


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("#here", "#one--here"),
        ("two.html#there", "#two--there"),
        ("two.html", "#two"),
        ("https://example.org/two.html#x", "https://example.org/two.html#x"),
        ("_images/a.png", "../html/_images/a.png"),
    ],
)
def test_a_link_leads_to_the_same_place_in_the_joined_page(join, link, leads_to):
    whole = join(one=f'<a href="{link}">x</a>', two="")
    assert whole.a["href"] == leads_to


def test_styles_and_figures_are_brought_once_and_nothing_else(join):
    head = join(one="", two="").head
    assert [s["href"] for s in head.find_all("link")] == ["../html/_static/book.css"]
    scripts = [s.get("src") for s in head.find_all("script")]
    assert scripts == ["../html/_static/figures/one.js", "../html/_static/figures/two.js"]


def test_menus_and_marks_of_links_are_left_out(join):
    whole = join(one="text")
    assert "menu" not in whole.text
    assert "#" not in whole.text


def test_what_stands_in_for_a_figure_is_left_out_unless_it_has_a_picture(join):
    whole = join(one='<div class="fallback"><table></table></div>', two='<div class="fallback"><svg></svg></div>')
    assert [str(e) for e in whole.select(".fallback")] == ['<div class="fallback"><svg></svg></div>']


def test_a_folded_solution_stands_open_under_its_name(join):
    fold = "<details><summary><p>Show the solution</p></summary><pre>x = 1</pre></details>"
    text = join(one=fold).section
    assert text.find("details") is None
    assert [e.text for e in text.find_all(["strong", "pre"])] == ["Solution", "x = 1"]


def test_other_folds_lose_their_handle(join):
    fold = "<details><summary>Show what it printed</summary><pre>2</pre></details>"
    assert join(one=fold).section.find("summary") is None
    assert "Show" not in join(one=fold).text


def test_marks_stand_open_and_switches_are_left_out(join):
    fold = '<div class="claimed"><p>So.</p><details class="mark"><summary>checked</summary><pre>1</pre></details></div>'
    text = join(one=f'<p class="unfold">Open everything</p>{fold}<p class="moved">has moved</p>').section
    assert text.find("details") is None
    assert text.get_text(" ").split() == ["one", "So.", "1"]


def test_a_deeper_section_stands_open_under_its_heading(join):
    summary = "<summary><h3>More</h3><small>4 min</small></summary>"
    fold = f'<details class="deeper">{summary}<section id="more"><p>Text</p></section></details>'
    text = join(one=f'<a href="#more">x</a>{fold}').section
    assert text.find(["details", "summary", "small"]) is None
    place = text.find(id="one--more")
    assert [e.name for e in place.find_all(True)] == ["h3", "section", "p"], "a link leads to the heading"
    assert text.a["href"] == "#one--more"


def test_a_fold_of_cards_is_its_heading_and_their_list(join):
    fold = '<details class="deeper"><summary><h3>Part</h3><small>One</small></summary><ul><li>One</li></ul></details>'
    text = join(one=fold).section
    assert [e.name for e in text.h3.parent.find_all(True)] == ["h3", "ul", "li"]
    assert text.find(["details", "summary", "small"]) is None
