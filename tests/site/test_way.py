"""On every page: where one is in the machine, where the story goes on, and what comes next."""

import re
from types import SimpleNamespace

import front
import pytest
import routes
import strip
import way
from docutils import nodes
from guards import ORDER

TOLD = [name for name in routes.pages() if routes.route(name) != "reference"]
STORY = [name for name in TOLD if routes.route(name) == "story"]
SIDE_TRIP = routes.settings()["side trip"]


def shown(name):
    return strip.html(name, lambda other: f"{other}.html")


@pytest.mark.parametrize("name", TOLD)
def test_a_chapter_has_its_box_lit_or_says_in_words_where_it_is(name):
    assert strip.has_strip(name), f"book/_ext/strip.py: give {name} its box, or its words in ELSEWHERE"
    html = shown(name)
    words = re.search("</span>(.*?)</summary>", html)[1]
    assert re.match(r"(You are here|Part \d+ of 12|Learning, part \d of 4): \w", words)
    here = re.findall(r'<a class="([^"]*)" href="(\w+)\.html" aria-current="page">', html)
    assert [page for _, page in here] == [name] * (name in strip.WHOLE or name in ("loss", "adam", "schedule", "train"))
    assert all("lit" in marks.split() for marks, _ in here)
    assert bool(here) or name in strip.ELSEWHERE


def test_each_box_leads_to_a_chapter_and_no_chapter_has_two():
    pages = re.findall(r'href="(\w+)\.html"', shown("heads"))
    assert len(pages) == len(set(pages)) == 16
    assert set(pages) <= set(TOLD)


def test_the_boxes_stand_in_the_direction_of_the_flow():
    text = re.sub(r'<li data-sign="([^"]*)">', r" \1 ", shown("notation").partition("</summary>")[2])
    assert " ".join(re.sub(r"<[^>]*>", "", text).split()) == (
        "→ tokens → embedding + positions → encoder N× attention · heads · masks → add &amp; norm → feed forward"
        " → decoder N× → linear &amp; softmax → decodinglearning: → loss → Adam → schedule → training"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("attention", "Part 5 of 12: attention"),
        ("adam", "Learning, part 2 of 4: Adam"),
        ("bert", "You are here: the encoder alone"),
    ],
)
def test_one_line_says_where_one_is(name, words):
    assert strip.place(name) == words


def test_what_is_about_the_whole_lights_the_whole():
    lit = re.compile(r'<a class="[^"]*\blit"')
    assert shown("transformer").count('lit"></i>') == len(lit.findall(shown("transformer"))) == len(strip.WHOLE) == 12
    assert len(lit.findall(shown("bert"))) == len(strip.ENCODER) == 6
    assert len(lit.findall(shown("notation"))) == 0


def test_an_address_stays_one_attribute_of_the_strip():
    assert 'href="tokens?a&amp;b=&quot;c&quot;"' in strip.html("heads", lambda name: f'{name}?a&b="c"')


def test_the_reference_has_no_strip():
    assert not any(strip.has_strip(name) for name in ORDER if name not in TOLD)


def test_what_comes_next_says_its_route_and_its_time():
    first, second = STORY[:2]
    idea = routes.clock(routes.times(second).idea)
    assert way.onward(first, second, 1) == f"Next in the story · {idea}"
    assert way.onward(second, first, -1).startswith("Before in the story · ")
    assert way.onward("index", first, 1).startswith("Next in the story · ")
    assert way.onward(first, "index", -1) == "Back to the beginning"
    assert way.onward("reuse", "paper", 1) == f"Next in the reference · {routes.clock(routes.times('paper').whole)}"
    assert way.onward("errata", "glossary", 1) == "Next in the reference"


def test_no_route_leads_into_the_next_one_without_a_word():
    last = SIDE_TRIP[-1]
    assert way.onward(STORY[-1], "backward", 1).startswith("The story ends here. A side trip · ")
    assert way.onward("backward", STORY[-1], -1).startswith("Back in the story · ")
    assert way.onward("backward", "backward_layer", 1).startswith("Next in the side trip · ")
    assert way.onward(last, "reuse", 1).startswith("Next in the reference · ")
    assert way.onward("reuse", last, -1).startswith("Before: a side trip · ")
    assert way.onward("heads", "order", 1).startswith("A side trip · ")
    assert way.onward("order", "feedforward", 1).startswith("Back in the story · ")
    assert way.onward("feedforward", "order", -1).startswith("Before: a side trip · ")


def title(text):
    made = nodes.section(ids=[nodes.make_id(text)])
    made += nodes.title("", text)
    return made


@pytest.fixture
def app(monkeypatch):
    """A book of three pages: two of the story, one of the reference."""
    monkeypatch.setattr(routes, "pages", lambda: ["a", "b", "c"])
    monkeypatch.setattr(routes, "settings", lambda: {"reference": ["c"]})
    monkeypatch.setattr(routes, "times", {"a": (5, 9, 9), "b": (61, 90, 9), "c": (0, 40, 0)}.get)
    monkeypatch.setattr(front, "chapter", lambda page: front.Chapter("", "", 3, 4))
    monkeypatch.setattr(front.routes, "headline", lambda page: ("", f'What is "{page[-1]}"?'))
    names = {f"book/{name}": nodes.title("", f"Title & {name}") for name in ("a", "b", "c", "index")}
    builder = SimpleNamespace(format="html", get_relative_uri=lambda page, other: f"{other.removeprefix('book/')}.html")
    return SimpleNamespace(builder=builder, env=SimpleNamespace(titles=names))


def page(*titles):
    top = title("Title")
    top += nodes.paragraph("", "A question?")
    top += [title(text) for text in titles]
    whole = nodes.Element()
    whole += top
    return whole


def paragraphs(doctree, mark):
    return [p for p in doctree.findall(nodes.paragraph) if mark in p["classes"]]


def test_a_page_says_its_times_and_what_is_checked(app):
    whole = page("One", "Two", "Going deeper")
    front.show_badge(app, whole, "book/a")
    (badge,) = paragraphs(whole, "badge-line")
    assert badge.astext() == "The idea: 5 min · all of it: 9 min · exercises: 9 min · Checked: 3 cells, 4 assertions"
    assert badge.parent[1].astext() == "A question?"
    assert front.lasting("c") == "All of it: 40 min"
    assert front.lasting("index") == ""


def test_the_story_goes_on_at_the_end_of_the_idea(app):
    whole = page("One", "Two", "Going deeper", "Exercises")
    front.show_badge(app, whole, "book/a")
    way.show_way(app, whole, "book/a")
    (on,) = paragraphs(whole, "story-on")
    assert on.astext() == "Next in the story: Title & b · 1 h 1 min What is “b”?"
    assert on[-1]["classes"] == ["asked"]
    assert on.parent["ids"] == ["two"]
    assert on.next_node(nodes.reference)["refuri"] == "b.html"


@pytest.mark.parametrize("name", TOLD)
def test_the_page_that_comes_next_asks_a_question_in_plain_words(name):
    _, question = front.routes.headline(f"book/{routes.neighbour(name, 1)}")
    assert question.endswith("?")
    assert not re.search(r"[*`$\[\]\\]", question)


def test_the_last_idea_says_that_the_story_ends(app):
    whole = page("One", "Two", "Three", "Going deeper")
    way.show_way(app, whole, "book/b")
    (on,) = paragraphs(whole, "story-on")
    assert on.astext() == "The story ends here. Next in the reference: Title & c · 40 min What is “c”?"
    assert on.parent["ids"] == ["three"]


def test_a_side_trip_has_a_way_of_its_own_and_the_story_passes_it(app, monkeypatch):
    monkeypatch.setattr(routes, "settings", lambda: {"side trip": ["b"], "reference": []})
    for name, wanted in (
        ("a", "Back in the story: Title & c · 40 min What is “c”?Or first a side trip: Title & b · 1 h 1 min"),
        ("b", "Back in the story: Title & c · 40 min What is “c”?"),
    ):
        whole = page("One", "Going deeper")
        front.show_badge(app, whole, f"book/{name}")
        way.show_way(app, whole, f"book/{name}")
        (on,) = paragraphs(whole, "story-on")
        assert on.astext() == wanted.replace("Back", "Next") if name == "a" else wanted
        assert [link["refuri"] for link in on.findall(nodes.reference)] == ["c.html", "b.html"][: len(on) - 3]
        (badge,) = paragraphs(whole, "badge-line")
        assert badge.astext().startswith("A side trip · The idea" if name == "b" else "The idea")


def test_the_reference_gets_no_way(app):
    whole = page("One")
    way.show_way(app, whole, "book/c")
    assert len(list(whole.findall(nodes.paragraph))) == 1


def test_the_links_below_a_page_are_those_of_its_route(app):
    context = {}
    way.lead_on(app, "book/b", "page.html", context, None)
    assert context["prev"] == {"link": "a.html", "title": "Title &amp; a", "said": "Before in the story · 5 min"}
    assert context["next"]["link"] == "c.html"
    way.lead_on(app, "book/c", "page.html", context, None)
    assert context["next"] is None
    other = {"next": "the theme's"}
    way.lead_on(app, "search", "search.html", other, None)
    assert other == {"next": "the theme's"}
