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
    """What is said above the title of another page, before this one or after it: the route, and how long it takes."""
    if other == "index":
        return "Back to the beginning"
    here, there = routes.route(name), routes.route(other)
    if here == there:
        said = f"{'Next' if step > 0 else 'Before'} in the {there}"
    elif there == "side trip":
        said = "A side trip" if step > 0 else "Before: a side trip"
    else:
        said = f"{'Next' if there == 'reference' else 'Back'} in the {there}"
    ends = (
        step > 0 and here == "story" and routes.route(routes.goes_on(name)[-1]) != here
    )
    idea, whole, _ = routes.times(other)
    said = "The story ends here. " * ends + said
    return said + (f" · {routes.clock(minutes)}" if (minutes := idea or whole) else "")


def to_next(app, page, name):
    """The end of the idea of a chapter: a line that says where the story goes on, and what is asked there."""
    *skipped, other = routes.goes_on(name)
    if routes.route(name) != "story":  # in a side trip, one page after the other
        skipped, other = [], routes.neighbour(name, 1)
    words, _, minutes = onward(name, other, 1).partition(" · ")
    line = [
        nodes.Text(f"{words}: "),
        door(app, page, other),
        nodes.Text(f" · {minutes} "),
    ]
    asked = smartyPants(front.routes.headline(f"book/{other}")[1], attr="q")
    line += [nodes.emphasis("", asked, classes=["asked"])]
    if skipped:
        trips = nodes.inline("", "Or first a side trip: ", classes=["asked"])
        for n, trip in enumerate(skipped):
            time = routes.clock(routes.times(trip)[0])
            trips += [
                nodes.Text(", " * bool(n)),
                door(app, page, trip),
                nodes.Text(f" · {time}"),
            ]
        line += [trips]
    return nodes.paragraph("", "", *line, classes=["story-on"])


def door(app, page, name):
    """A link to a page, with its title."""
    title = app.env.titles[f"book/{name}"].astext()
    return nodes.reference("", title, internal=True, refuri=uri(app, page, name))


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
