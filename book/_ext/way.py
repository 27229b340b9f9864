"""The way through the book on every page: where one is in the machine, where the story goes on, what comes next."""

import html
import re

import strip
from docutils import nodes
from front import SMALL, routes


def plain(title):
    """A title without what a typesetter changes in it: quotation marks, dashes, spaces."""
    return re.sub(r"\W", "", title.lower())


def show_way(app, doctree, page):
    """At the head of a chapter show the machine, and which sections tell the story; at their ends, where it goes on."""
    name = page.removeprefix("book/")
    if (
        app.builder.format != "html"
        or name not in routes.pages()
        or routes.route(name) != "story"
    ):
        return
    top = next(doctree.findall(nodes.section))
    sections = {
        section.next_node(nodes.title).astext(): section
        for section in top
        if isinstance(section, nodes.section)
    }
    runs = story_runs(name, list(sections))
    head = [] if routes.is_converted(routes.chapter(name)) else [index(runs, sections)]
    if strip.has_strip(name):
        drawn = strip.html(name, lambda other: uri(app, page, other))
        head.append(nodes.raw("", drawn, format="html"))
    badge = next(
        p for p in doctree.findall(nodes.paragraph) if "badge-line" in p["classes"]
    )
    top[top.index(badge) + 1 : top.index(badge) + 1] = head
    for n, (_, last) in enumerate(runs):
        more = n + 1 < len(runs)
        on = to_section(runs[n + 1][0], sections) if more else to_next(app, page, name)
        sections[last] += nodes.paragraph("", "", *map(node, on), classes=["story-on"])


def story_runs(name, titles):
    """The sections that tell the idea of a chapter, in runs without a gap: pairs of the first title and the last."""
    if routes.is_converted(routes.chapter(name)):
        return [(titles[0], titles[titles.index(routes.lanes.DEEPER) - 1])]
    wanted = set(map(plain, routes.settings()["idea"][name]))
    return routes.runs(titles, {title for title in titles if plain(title) in wanted})


def index(runs, sections):
    """A line that names the sections that tell the story."""
    said = ["The story on this page: "]
    for n, (first, last) in enumerate(runs):
        said += [" · "] * (n > 0) + [place(first, sections)]
        said += [" to ", place(last, sections)] * (first != last)
    return nodes.paragraph("", "", *map(node, said), classes=[*SMALL, "story-line"])


def place(title, sections):
    """A link to a section of the same page."""
    return reference(title, f"#{sections[title]['ids'][0]}")


def reference(text, address):
    """A link inside the book."""
    return nodes.reference("", text, internal=True, refuri=address)


def node(piece):
    """Text as a node, and a node as it is."""
    return nodes.Text(piece) if isinstance(piece, str) else piece


def uri(app, page, name):
    """The address of a page of the book, seen from another one."""
    return app.builder.get_relative_uri(page, f"book/{name}")


def entry(app, page, name):
    """Where a page is entered: in the story at the first section that tells its idea, if others stand before it."""
    titles = routes.settings()["idea"].get(name, ())
    headings = app.env.tocs[f"book/{name}"].findall(nodes.reference)
    places = {plain(ref.astext()): ref["anchorname"] for ref in headings}
    second = [*places.values(), "", ""][1]
    found = places[plain(titles[0])] if titles else ""
    return uri(app, page, name) + found * (found != second)


def neighbour(app, page, name, step):
    """The page after another one, or before it: its name, its title, and which way one goes with it."""
    other = routes.neighbour(name, step)
    if other is None:
        return None
    title = app.env.titles[f"book/{other}"].astext()
    return other, title, onward(name, other, step)


def onward(name, other, step):
    """What is said above the title of a neighbour: the route, and how long it takes there."""
    if other == "index":
        return "Back to the beginning"
    route, (idea, whole, _) = routes.route(other), routes.times(other)
    said = f"{'Next' if step > 0 else 'Before'} in the {route}"
    if name != "index" and routes.route(name) != route:
        said = (
            f"The story ends here. {said}"
            if step > 0
            else said.replace("Before", "Back")
        )
    minutes = idea or whole
    return said + (f" · {routes.clock(minutes)}" if minutes else "")


def to_section(title, sections):
    """The end of a run of sections: where the story goes on, on the same page."""
    return ["The story goes on: ", place(title, sections)]


def to_next(app, page, name):
    """The end of the idea of a chapter: where the story goes on."""
    other, title, said = neighbour(app, page, name, 1)
    words, _, minutes = said.partition(" · ")
    return [f"{words}: ", reference(title, entry(app, page, other)), f" · {minutes}"]


def lead_on(app, page, template, context, doctree):
    """Below a page, say of the pages before and after it which route they are on and how long they take."""
    name = page.removeprefix("book/")
    if name != "index" and name not in routes.pages():
        return
    for key, step in (("prev", -1), ("next", 1)):
        found = neighbour(app, page, name, step)
        context[key] = found and {
            "link": entry(app, page, found[0]),
            "title": html.escape(found[1]),
            "said": found[2],
        }
