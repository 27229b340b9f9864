"""The way through the book on every page: where one is in the machine, where the story goes on, what comes next."""

import html
from itertools import takewhile

import front
import strip
from docutils import nodes
from docutils.utils.smartquotes import smartyPants
from front import routes


def show_way(app, doctree, page):
    """At the head of a chapter show the machine; at the end of its idea, where the story goes on."""
    name = page.removeprefix("book/")
    if (
        app.builder.format != "html"
        or name not in routes.pages()
        or routes.route(name) == "reference"
    ):
        return
    top = next(doctree.findall(nodes.section))
    if strip.has_strip(name):
        drawn = strip.html(name, lambda other: uri(app, page, other))
        badge = next(
            p for p in doctree.findall(nodes.paragraph) if "badge-line" in p["classes"]
        )
        top.insert(top.index(badge) + 1, nodes.raw("", drawn, format="html"))
    sections = [child for child in top if isinstance(child, nodes.section)]
    *_, last = takewhile(
        lambda s: s.next_node(nodes.title).astext() != routes.lanes.DEEPER, sections
    )
    last += to_next(app, page, name)


def uri(app, page, name):
    """The address of a page of the book, seen from another one."""
    return app.builder.get_relative_uri(page, f"book/{name}")


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
            f"The {routes.route(name)} ends here. {said}"
            if step > 0
            else said.replace("Before", "Back")
        )
    minutes = idea or whole
    return said + (f" · {routes.clock(minutes)}" if minutes else "")


def to_next(app, page, name):
    """The end of the idea of a chapter: a line that says where the story goes on, and what is asked there."""
    other, title, said = neighbour(app, page, name, 1)
    words, _, minutes = said.partition(" · ")
    link = nodes.reference("", title, internal=True, refuri=uri(app, page, other))
    line = [nodes.Text(f"{words}: "), link, nodes.Text(f" · {minutes} ")]
    asked = smartyPants(front.routes.headline(f"book/{other}")[1], attr="q")
    line += [nodes.emphasis("", asked, classes=["asked"])]
    return nodes.paragraph("", "", *line, classes=["story-on"])


def lead_on(app, page, template, context, doctree):
    """Below a page, say of the pages before and after it which route they are on and how long they take."""
    name = page.removeprefix("book/")
    if name != "index" and name not in routes.pages():
        return
    for key, step in (("prev", -1), ("next", 1)):
        found = neighbour(app, page, name, step)
        context[key] = found and {
            "link": uri(app, page, found[0]),
            "title": html.escape(found[1]),
            "said": found[2],
        }
