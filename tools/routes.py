"""The routes through the book: which page tells a part of the story, how long it takes, and what comes after it.

The story is the idea lanes, one after the other, without the side trips; the workshop is the same pages whole, and the
side trips; the reference is apart.
"""

import functools
import json
import re
from typing import NamedTuple

import build
import lanes
import yaml

BOOK = build.ROOT / "book"
EXERCISE = re.compile(r"\((\d+) minutes\)")


class Times(NamedTuple):
    """Minutes: of the idea (none in the reference), of everything but exercises, and of the exercises."""

    idea: int
    whole: int
    exercises: int


@functools.cache
def settings():
    """What book/story.yml says."""
    return yaml.safe_load((BOOK / "story.yml").read_text(encoding="utf-8"))


@functools.cache
def pages():
    """The names of the pages below book/ in the order of the table of contents, without the first page."""
    return [name.removeprefix("book/") for names in build.contents().values() for name in names]


def route(name):
    """The route that a page belongs to: the story, a side trip (the workshop has both), or the reference."""
    top = name.partition("/")[0]
    return next((where for where, names in settings().items() if top in names), "story")


def neighbour(name, step):
    """The page that comes after another one (or before it, with step -1) or None; the first page is "index"."""
    order = ["index", *pages()]
    place = order.index(name) + step
    return order[place] if 0 <= place < len(order) else None


def goes_on(name):
    """The pages after another one, up to the next of the story; after its last page, only the one that comes next."""
    order = ["index", *pages()]
    after = order[order.index(name) + 1 :]
    told = next((n for n, page in enumerate(after) if route(page) == "story"), 0)
    return after[: told + 1]


@functools.cache
def chapter(name):
    """The parts of a chapter, by its name."""
    return list(lanes.parts(BOOK / f"{name}.ipynb"))


def has_two_lanes(parts):
    """Does a page tell its idea before what waits for a second reading? Those of the reference do not."""
    return any(part.lane == "deeper" for part in parts)


def measured(parts, kinds):
    """The times of a page.

    Args:
        parts: what `lanes.parts` gave.
        kinds: what `lanes.kinds` gave.

    """
    apart = [part for part in parts if part.lane == "exercises"]
    told = "\n".join(part.cell["source"] for part in apart if part.cell["cell_type"] == "markdown")
    rest = [part for part in parts if part.lane != "exercises"]
    idea = [part for part in parts if part.lane == "idea"] if has_two_lanes(parts) else []
    minutes = [round(lanes.seconds(some, kinds) / 60) for some in (idea, rest)]
    return Times(*minutes, sum(map(int, EXERCISE.findall(told))))


@functools.cache
def times(name):
    """The times of a page by its name; a page without cells is there to look something up, and has none."""
    path = BOOK / f"{name}.ipynb"
    if not path.is_file():
        return Times(0, 0, 0)
    return measured(chapter(name), lanes.kinds(path))


def sums(times):
    """The sums of the routes, of the times by name and route: [(route, times), …]."""
    workshop = [found for where, found in times if where != "reference"]
    return {
        "story": sum(found.idea for where, found in times if where == "story"),
        "workshop": sum(found.whole for found in workshop),
        "exercises": sum(found.exercises for found in workshop),
        "reference": sum(found.whole for where, found in times if where == "reference"),
    }


def clock(minutes):
    """Minutes as one says them: "35 min", "3 h 5 min"."""
    hours, rest = divmod(minutes, 60)
    return " ".join(f"{n} {unit}" for n, unit in ((hours, "h"), (rest, "min")) if n) or "0 min"


def headline(name):
    """Title and question of a page: its first heading, and the line in italics below, if there is one."""
    path = build.ROOT / f"{name}.ipynb"
    if path.is_file():
        text = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    else:
        text = (build.ROOT / f"{name}.md").read_text(encoding="utf-8")
    title, question = re.match(r"# (.+)\n*(?:\*(.+)\*$)?", text, re.M).groups()
    return title, question or ""
