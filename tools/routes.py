"""The routes through the book: which page tells a part of the story, how long it takes, and what comes after it.

The story is the idea lanes, one after the other; the workshop is the same pages whole; the reference stands apart.
"""

import functools
import re
from itertools import groupby
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
    toc = yaml.safe_load((build.ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [name.removeprefix("book/") for part in toc["parts"] for name in build.named(part["chapters"])]


def route(name):
    """The route that a page belongs to: the story (and with it the workshop), or the reference."""
    return "reference" if name.partition("/")[0] in settings()["reference"] else "story"


def neighbour(name, step):
    """The page that comes after another one (or before it, with step -1) or None; the first page is "index"."""
    order = ["index", *pages()]
    place = order.index(name) + step
    return order[place] if 0 <= place < len(order) else None


@functools.cache
def chapter(name):
    """The parts of a chapter, by its name."""
    return list(lanes.parts(BOOK / f"{name}.ipynb"))


def is_converted(parts):
    """Has a chapter two lanes?"""
    return any(part.lane == "deeper" for part in parts)


def idea(parts, titles):
    """The parts of a chapter that tell its idea: all before "Going deeper", else the introduction and what is listed.

    Args:
        parts: what `lanes.parts` gave.
        titles: the titles of the sections that tell the idea of a chapter without two lanes.

    """
    wanted = None if is_converted(parts) else {"", *titles}
    return [part for part in parts if part.lane == "idea" and (wanted is None or part.section in wanted)]


def measured(parts, kinds, titles):
    """The times of a chapter.

    Args:
        parts: what `lanes.parts` gave.
        kinds: what `lanes.kinds` gave.
        titles: as in `idea`; empty for a page of the reference.

    """
    apart = [part for part in parts if part.lane == "exercises"]
    told = "\n".join(part.cell["source"] for part in apart if part.cell["cell_type"] == "markdown")
    rest = [part for part in parts if part.lane != "exercises"]
    first = idea(parts, titles) if titles or is_converted(parts) else []
    minutes = [round(lanes.seconds(some, kinds) / 60) for some in (first, rest)]
    return Times(*minutes, sum(map(int, EXERCISE.findall(told))))


@functools.cache
def times(name):
    """The times of a page by its name; a page without cells is there to look something up, and has none."""
    path = BOOK / f"{name}.ipynb"
    if not path.is_file():
        return Times(0, 0, 0)
    return measured(chapter(name), lanes.kinds(path), settings()["idea"].get(name, ()))


def sums(times):
    """The sums of the routes, of the times by name and route: [(route, times), …]."""
    story = [found for where, found in times if where == "story"]
    return {
        "story": sum(found.idea for found in story),
        "workshop": sum(found.whole for found in story),
        "exercises": sum(found.exercises for found in story),
        "reference": sum(found.whole for where, found in times if where == "reference"),
    }


def clock(minutes):
    """Minutes as one says them: "35 min", "3 h 5 min"."""
    hours, rest = divmod(minutes, 60)
    return " ".join(f"{n} {unit}" for n, unit in ((hours, "h"), (rest, "min")) if n) or "0 min"


def runs(sections, titles):
    """The sections of a page that tell its idea, in runs without a gap: pairs of the first and the last.

    Args:
        sections: the titles of all sections, in order.
        titles: those that tell the idea.

    """
    found = [list(run) for told, run in groupby(sections, lambda title: title in titles) if told]
    return [(run[0], run[-1]) for run in found]
