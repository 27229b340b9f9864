"""The pages of the book, joined for printing."""

import re

import pdf
import pytest

HEAD = """<head><link rel="stylesheet" href="_static/book.css?v=1"><script>let a = 1</script>
<script src="_static/shared.js" defer></script><script src="_static/pages/{name}.js?v=2" defer></script></head>"""
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
        ("api/a.html#b", f"{pdf.ONLINE}html/api/a.html#b"),
        ("../whole-machine.pdf", "#whole-machine"),
    ],
)
def test_a_link_leads_to_the_same_place_in_the_joined_page(join, link, leads_to):
    whole = join(one=f'<a href="{link}">x</a>', two="")
    assert whole.a["href"] == leads_to


def test_styles_and_figures_are_brought_once_and_nothing_else(join):
    film = "<film-figure></film-figure>"
    head = join(one=film, two=f"{film}<walk-figure></walk-figure>").head
    assert [s["href"] for s in head.find_all("link")] == ["../html/_static/book.css"]
    scripts = [s.get("src") for s in head.find_all("script")]
    assert [name.rpartition("/")[2] for name in scripts] == ["common.js", "model.js", "film.js", "walk.js"]


def test_menus_and_marks_of_links_are_left_out(join):
    whole = join(one="text")
    assert "menu" not in whole.text
    assert "#" not in whole.text


def test_what_stands_in_for_a_figure_is_left_out_unless_it_has_a_picture(join):
    whole = join(one='<div class="fallback"><table></table></div>', two='<div class="fallback"><svg></svg></div>')
    assert [str(e) for e in whole.select(".fallback")] == ['<div class="fallback"><svg></svg></div>']


def test_the_list_of_the_steps_stands_in_for_the_walk(join):
    whole = join(one='<walk-figure><div class="fallback"><table></table></div></walk-figure>')
    assert whole.select_one(".fallback table")


@pytest.mark.parametrize("name", ["solution", "answer"])
def test_what_is_folded_away_to_be_found_stands_open_under_its_name(join, name):
    fold = f"<details><summary><p>Show the {name}</p></summary><pre>x = 1</pre></details>"
    text = join(one=fold).section
    assert text.find("details") is None
    assert [e.text for e in text.find_all(["strong", "pre"])] == [name.capitalize(), "x = 1"]


def test_other_folds_lose_their_handle(join):
    fold = "<details><summary>Show what it printed</summary><pre>2</pre></details>"
    assert join(one=fold).section.find("summary") is None
    assert "Show" not in join(one=fold).text


def mark(kind, said, inside="<pre>1</pre>"):
    return f'<details class="mark {kind}"><summary>{said}</summary>{inside}</details>'


def test_a_checked_claim_is_its_mark_and_switches_are_left_out(join):
    fold = f'<div class="claimed"><p>So.</p>{mark("behind checked", "✓ code")}</div>'
    text = join(one=f'<p class="unfold">Open everything</p>{fold}<p class="moved">has moved</p>').section
    assert text.find("details") is None
    assert text.get_text(" ").split() == ["one", "So.", "✓", "checked"]
    assert text.small["class"] == ["mark", "behind", "checked"]


def test_what_failed_stands_open(join):
    text = join(one=mark("behind checked failed", "✗ failed: code", "<pre>Error</pre>")).section
    assert text.pre.text == "Error"


@pytest.mark.parametrize("said", ["set-up", "code", "terms"])
def test_code_that_checks_nothing_is_left_out(join, said):
    assert join(one=mark("behind", said)).section.text.split() == ["one"]


def test_a_question_has_its_choices_and_then_its_answer(join):
    guess = '<div class="guess"><button>Yes</button><button data-right>No</button><p role="status"></p></div>'
    text = join(one=guess + mark("answer", "Show me")).section
    assert text.get_text(" ").split() == ["one", "Yes", "No", "Answer", "1"]
    assert [item.text for item in text.select("ul > li")] == ["Yes", "No"]


def test_a_long_source_is_a_line_with_its_file(join):
    inside = "<strong>tested_transformer.text.tokens.WordPiece.train</strong><pre>def train</pre>"
    text = join(one=mark("source", "source: WordPiece.train (30 lines)", inside)).section
    assert text.small.text == "Source: WordPiece.train (30 lines) in tested_transformer/text/tokens.py"
    assert text.pre is None


def test_pictures_are_there_before_anyone_scrolls_and_lead_nowhere(join):
    picture = join(one='<a href="_images/a.png"><img loading="lazy" src="_images/a.png"></a>').img
    assert picture.attrs == {"src": "../html/_images/a.png"}
    assert picture.find_parent("a") is None


def test_an_exercise_that_waits_prints_nothing_and_the_last_line_names_no_next_chapter(join):
    body = '<div class="cell_output">not written yet: None</div><div class="cell_output">2</div>'
    text = join(one=f'{body}<section><p>Next: it stays.</p><p>Next: <a href="two.html">two</a></p></section>').section
    assert text.get_text(" ").split() == ["one", "2", "Next:", "it", "stays."]


def test_pages_about_functions_are_left_out_and_the_contents_have_all_others():
    names = [path.stem for path in pdf.printed()]
    assert "api" in names
    assert "byhand" not in names
    assert [stem for _, stems in pdf.contents(pdf.printed()) for stem in stems] == names


@pytest.fixture
def whole(tmp_path):
    (tmp_path / "html" / "book").mkdir(parents=True)
    pages = [tmp_path / "html" / "book" / f"{name}.html" for name in ("index", "one")]
    for page in pages:
        page.write_text(HEAD + BODY.format(name=page.stem.title(), body="text"), encoding="utf-8")
    return pdf.joined(pages, tmp_path / "pdf", [("", ["index"]), ('A "part"', ["one"])])


def test_before_the_pages_stand_the_contents_and_the_sheet(whole):
    sections = [section["id"] for section in whole.main.find_all("section")]
    assert sections == ["contents", "whole-machine", "index", "one"]
    links = {a.text: a["href"] for a in whole.select("#contents nav a")}
    assert links == {"Index": "#index", "One": "#one", "The whole machine on one sheet": "#whole-machine"}
    assert whole.select_one("#whole-machine img")["src"] == "../html/whole-machine.svg"
    assert whole.select_one(".about a")["href"] == pdf.ONLINE


def test_on_top_of_each_page_stand_its_part_and_its_chapter(whole):
    style = whole.style.string
    assert "section#one { page: of-one }" in style
    assert '@page of-one { @top-left { content: "A ”part”" } @top-right { content: "One" } }' in style


def test_the_number_of_a_page_ends_where_its_column_ends():
    drawn = pdf.numbered([(54, 100, 90, 112, 7), (310, 50, 400, 62, 123)], "/F9")
    assert drawn.startswith("/Artifact BMC BT /F9 8 Tf ")
    places = [float(x) for x in re.findall(r"1 0 0 1 ([\d.]+) ", drawn)]
    assert places == pytest.approx([285 - 4.448, 540 - 3 * 4.448], abs=0.01)
    assert re.findall(r"\((\d+)\)", drawn) == ["7", "123"]


def test_the_style_of_the_pdf_marks_what_goes_deeper():
    style = pdf.STYLE.read_text(encoding="utf-8")
    deeper = re.search(r"\.printed \.deeper \{(.*?)\}", style)[1]
    assert float(re.search(r"font-size: ([\d.]+)em", deeper)[1]) < 1
    assert "border-left" in deeper


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


def test_a_number_on_paper_leads_nowhere(join):
    text = join(one='<p>about <a class="door printed" href="#out-a">0.47</a>.</p>').section
    assert text.select("p a") == []
    assert "about 0.47." in text.text
