"""The routes through the book: every chapter tells its idea somewhere, and the times are sums of what is there."""

import json

import lanes
import pytest
import routes
from routes import Times

TOLD = [name for name in routes.pages() if routes.route(name) != "reference"]
STORY = [name for name in TOLD if routes.route(name) == "story"]


@pytest.mark.parametrize("name", TOLD)
def test_a_page_has_two_lanes_or_stands_in_the_reference(name):
    told = (routes.BOOK / f"{name}.ipynb").is_file() and routes.has_two_lanes(routes.chapter(name))
    assert told, f'{name}: no heading "Going deeper"; a page without an idea stands under reference in book/story.yml'


def test_the_side_trips_leave_the_story_where_they_stand_in_the_contents_and_the_reference_is_apart():
    trips = [name for name in TOLD if routes.route(name) == "side trip"]
    assert trips == routes.settings()["side trip"]
    apart = routes.pages()[len(TOLD) :]
    assert {routes.route(name) for name in apart} == {"reference"}
    assert set(routes.settings()["reference"]) <= set(apart)


def test_the_story_takes_an_afternoon():
    minutes = routes.sums([(routes.route(name), routes.times(name)) for name in TOLD])["story"]
    what_to_do = 'shorten an idea, or add a new page to "side trip" in book/story.yml, in the order of _toc.yml'
    assert minutes <= 210, f"the story takes {minutes} minutes and may take 210: {what_to_do}"


@pytest.mark.parametrize("name", ["derivatives", "loss"])
def test_a_door_leads_from_the_story_to_the_gradients(name):
    told = "".join(part.cell["source"] for part in routes.chapter(name) if part.lane == "idea")
    assert any(f"({page}.ipynb" in told for page in routes.settings()["side trip"])


def test_a_page_of_the_story_leads_to_the_next_and_passes_the_side_trips():
    following = {name: routes.goes_on(name) for name in STORY}
    assert [pages[-1] for pages in following.values()][:-1] == STORY[1:]
    passed = {trip for pages in following.values() for trip in pages if routes.route(trip) == "side trip"}
    last = following[STORY[-1]]
    assert last == routes.settings()["side trip"][-4:-3]  # the story has ended: what comes next
    assert passed == {*routes.settings()["side trip"][:-3]}
    assert routes.goes_on("index") == STORY[:1]


def test_there_are_pages_before_and_after_another_one():
    assert (routes.neighbour("index", -1), routes.neighbour("index", 1)) == (None, routes.pages()[0])
    assert routes.neighbour(routes.pages()[0], -1) == "index"
    assert routes.neighbour(routes.pages()[-1], 1) is None


@pytest.fixture
def chapter(tmp_path):
    def written(*cells):
        path = tmp_path / "page.ipynb"
        made = [{"cell_type": kind, "id": str(n), "metadata": {}, "source": text, "outputs": []}
                for n, (kind, text) in enumerate(cells)]  # fmt: skip
        path.write_text(json.dumps({"cells": made}), encoding="utf-8")
        return list(lanes.parts(path)), lanes.kinds(path)

    return written


A_MINUTE = "word " * lanes.WORDS_A_MINUTE
TWENTY_LINES = "\n".join(f"print({n})" for n in range(20))


def test_the_idea_of_a_chapter_with_two_lanes_is_all_before_the_second(chapter):
    found = chapter(
        ("markdown", f"# T\n\n{A_MINUTE}"),
        ("markdown", f"## A\n\n{2 * A_MINUTE}\n\n## {lanes.DEEPER}\n\n{4 * A_MINUTE}"),
        ("code", TWENTY_LINES),
        ("markdown", "## Exercises\n\n**1. Predict** (7 minutes).\n\n**2. Implement** (12 minutes)." + 50 * A_MINUTE),
    )
    assert routes.measured(*found) == Times(idea=3, whole=8, exercises=19)


def test_a_page_without_the_second_lane_has_no_idea(chapter):
    found = chapter(("markdown", f"# T\n\n{A_MINUTE}\n\n## A\n\n{2 * A_MINUTE}"), ("code", TWENTY_LINES))
    assert routes.measured(*found) == Times(idea=0, whole=4, exercises=0)


def test_a_page_without_cells_is_there_to_look_something_up():
    assert routes.times("glossary") == Times(0, 0, 0)


def test_the_sums_are_those_of_the_routes():
    story = [("story", Times(5, 20, 10)), ("story", Times(7, 30, 0))]
    times = [*story, ("side trip", Times(3, 9, 4)), ("reference", Times(0, 40, 25))]
    assert routes.sums(times) == {"story": 12, "workshop": 59, "exercises": 14, "reference": 40}


@pytest.mark.parametrize(("minutes", "said"), [(0, "0 min"), (35, "35 min"), (60, "1 h"), (125, "2 h 5 min")])
def test_minutes_are_said_as_one_says_them(minutes, said):
    assert routes.clock(minutes) == said


def test_every_chapter_with_two_lanes_says_how_long_its_idea_and_its_exercises_take():
    for name in TOLD:
        idea, whole, exercises = routes.times(name)
        assert 0 < idea <= whole, f"{name}.ipynb: no idea before {lanes.DEEPER}"
        assert exercises > 0, f"{name}.ipynb: no exercise says its minutes, like '**1. Predict** (5 minutes). ★ Text'"
    assert all(routes.times(name).idea == 0 for name in routes.pages() if name not in TOLD)
