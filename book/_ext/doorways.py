"""Each traced number on a page leads to the cell that holds it; all of them are in claims.json beside the pages.

Where a number leads is said by tools/doors.py. Without scripts a door is a link with a title; book.js shows the title
to those who use keys, and the way back.
"""

import json
import pathlib
import re
import sys

from docutils import nodes
from sphinx.util import logging

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools"))

import doors
import lanes
import tracing

LOGGER = logging.getLogger(__name__)
SAID = {
    "printed": "printed: ",
    "asserted": "checked: ",
    "in code": "in the code: ",
    "published": "published: ",
    "linked": "from: ",
    "section": "",
}
LATER = "What it shows waits for your answer."
FILE = "claims.json"


def notebook(app, page):
    """The notebook that a page is made from, or None."""
    path = pathlib.Path(app.env.doc2path(page))
    return path if path.suffix == ".ipynb" else None


def open_doors(app, doctree, page):
    """Make links of the numbers in the sentences and captions of a page, and places of the cells they lead to."""
    path = notebook(app, page)
    if app.builder.format != "html" or path is None:
        return
    cells, found = lanes.cells(path), doors.doors(path)
    waiting = {
        cell["id"]: [one for one in found if one.at == cell["id"]] for cell in cells
    }
    asked, sources = (
        questions(doctree, cells),
        {cell["id"]: typed(cell) for cell in cells},
    )
    for block in list(doctree.findall(is_block)):
        at, where = place(block, cells)
        if at:
            here = [one for one in waiting[at] if one.where == where]
            for node, spans in numbers(block):
                written = [
                    span for span in spans if span[2].text in sources[at]
                ]  # not by a directive
                open_in(app, page, node, written, here, asked)
    mark_cells(doctree, cells)


def typed(cell):
    """What was typed into a cell: its text, or the caption of its figure."""
    return tracing.plain(
        cell["source"]
        + cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
    )


def is_block(node):
    """Is this a piece of a page that has sentences?"""
    return isinstance(node, nodes.paragraph | nodes.caption | nodes.term)


def place(block, cells):
    """The cell that a block was written in, by its id, and as what; what cells print are no sentences."""
    above = block
    while above is not None:
        if (
            isinstance(above, nodes.container)
            and above.get("nb_element") == "cell_code"
        ):
            return (
                (cells[above["cell_index"]]["id"], "caption")
                if isinstance(block, nodes.caption)
                else ("", "")
            )
        above = above.parent
    above = block
    while above is not None and not above.line:  # those inside a table have none
        above = above.parent
    index = above.line // 10000 - 1 if above is not None else -1
    markdown = 0 <= index < len(cells) and cells[index]["cell_type"] == "markdown"
    return (cells[index]["id"], "sentence") if markdown else ("", "")


def leaves(node):
    """The texts and formulas of a block in order, and whether each may become a link."""
    for child in node.children:
        if isinstance(child, nodes.Text | nodes.math):
            yield child, True
        elif isinstance(child, nodes.reference):
            yield from (
                ((leaf, False) for leaf, _ in leaves(child))
                if not is_citation(child)
                else ()
            )
        elif not isinstance(child, nodes.literal | nodes.raw | nodes.image):
            marks = [(nodes.Text("**"), False)] * isinstance(child, nodes.strong)
            yield from (*marks, *leaves(child), *marks)


def is_citation(node):
    """Does a link lead to the bibliography?"""
    return "bibliography.html#" in node.get("refuri", "")


def numbers(block):
    """The texts and formulas of a block that may become links, each with its numbers: (begin, end, number)."""
    words, parts = "", []
    for leaf, free in leaves(block):
        text = leaf.astext()
        same = tracing.plain(text)
        written = (
            f"${same}$"
            if isinstance(leaf, nodes.math)
            else same
            if len(same) == len(text)
            else text
        )
        parts.append((len(words), leaf, free))
        words += written
    spans, words = {}, tracing.NO_RESULT.sub(lambda m: " " * len(m[0]), words)
    for begin, number in sorted(tracing.placed_quoted(words), key=lambda one: one[0]):
        n = max(i for i, (start, *_) in enumerate(parts) if start <= begin)
        start, leaf, free = parts[n]
        if free:
            end = min(begin + len(number.text) - start, len(leaf.astext()))
            spans.setdefault(n, (leaf, []))[1].append((begin - start, end, number))
    return list(spans.values())


def open_in(app, page, node, spans, here, asked):
    """Put the doors of a text or a formula in its place."""
    led = []
    for begin, end, number in spans:
        door = next((one for one in here if one.key == doors.identity(number)), None)
        if door is None:
            LOGGER.warning(
                "%s: %s leads nowhere: no cell and no source has it", page, number.text
            )
        else:
            led.append((begin, end, door))
    if isinstance(node, nodes.math):
        if led:
            one = (
                led[-1][2]
                if len({address(app, page, door) for *_, door in led}) == 1
                else common(led)
            )
            link = link_to(app, page, one, asked)
            node.replace_self(link)
            link.append(node)
        return
    text, made, last = node.astext(), [], 0
    for begin, end, door in led:
        link = link_to(app, page, door, asked)
        link.append(nodes.Text(text[begin:end]))
        made += [nodes.Text(text[last:begin])] * (last < begin) + [link]
        last = end
    if made:
        node.parent.replace(node, made + [nodes.Text(text[last:])] * (last < len(text)))


def common(led):
    """The door of a formula whose numbers are from several places: its section."""
    door = led[-1][2]
    return door._replace(
        kind="section",
        place=("", door.anchor),
        line="its numbers are from several cells",
    )


def link_to(app, page, door, asked):
    """The link of a door, without its text."""
    uri = address(app, page, door)
    classes = ["door", door.kind.replace(" ", "-")]
    link = nodes.reference("", "", internal=True, refuri=uri, classes=classes)
    link["reftitle"] = LATER if waits(door, asked) else SAID[door.kind] + door.line
    return link


def address(app, page, door):
    """Where a door leads, as a link from its page."""
    if door.kind in doors.KINDS:
        return f"#{'out' if door.kind == 'printed' else 'code'}-{door.place}"
    if door.kind == "published":
        domain = app.env.get_domain("cite")
        entry = next(one for one in domain.citations if one.key == door.place)
        return f"{app.builder.get_relative_uri(page, entry.bibliography_key.docname)}#{entry.citation_id}"
    name, anchor = door.place
    target = f"book/{name}" if name else page
    slugs = app.env.metadata[target].get("myst_slugs", {})
    anchor = slugs[anchor][1] if anchor in slugs else anchor
    return ("" if target == page else app.builder.get_relative_uri(page, target)) + (
        f"#{anchor}" if anchor else ""
    )


def questions(doctree, cells):
    """For each question to guess, the cells up to it, and those from it on."""
    order = {cell["id"]: n for n, cell in enumerate(cells)}
    found = (
        n for n in doctree.findall(nodes.paragraph) if lanes.GUESS.match(n.astext())
    )
    return order, [order[at] for n in found if (at := place(n, cells)[0])]


def waits(door, asked):
    """Does what a door shows belong to an answer that the reader is still asked for, or to a solution?"""
    order, at = asked
    shown = order.get(door.place, -1) if door.kind in doors.KINDS else -1
    exercise = door.section == "Exercises" and door.kind in doors.KINDS
    return exercise or any(order[door.at] <= question < shown for question in at)


def mark_cells(doctree, cells):
    """Give the code and the output of each cell a name. Those of a solution have its own: a door does not open it."""
    for node in doctree.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            cell = cells[node["cell_index"]]
            for name, part in (
                ("code", "cell_code_source"),
                ("out", "cell_code_output"),
            ):
                inner = next(
                    (
                        n
                        for n in node.findall(nodes.container)
                        if n.get("nb_element") == part
                    ),
                    node,
                )
                shut = "hide-cell" in lanes.tags(cell)
                (node if shut else inner)["ids"].append(f"{name}-{cell['id']}")


LONG = re.compile(r'(?<=<a class="door )([\w-]+) reference internal"')
UNASKED = re.compile(
    r' id="((?:code|out)-[\w-]+)"|<span id="((?:code|out)-[\w-]+)"></span>'
)


def leave_needed(app, page, template, context, doctree):
    """Take away the names of cells to which nothing on the page leads, and the classes that no door needs."""
    body = context.get("body", "")
    asked = set(re.findall(r'href="#((?:code|out)-[\w-]+)"', body))
    if "cell" in body:
        context["body"] = UNASKED.sub(
            lambda m: m[0] if (m[1] or m[2]) in asked else "", LONG.sub(r'\1"', body)
        )


def claims(app):
    """What claims.json has: all numbers that were traced, with what holds them."""
    for path in doors.pages():
        page = path.relative_to(tracing.ROOT).with_suffix("").as_posix()
        for one in doors.doors(path):
            yield {
                "page": page,
                "section": one.section,
                "place": one.where,
                "sentence": one.sentence,
                "number": one.number.text.strip(),
                "value": str(one.number.value) + "%" * one.number.percent,
                "kind": one.kind,
                **(
                    {"cell": one.place}
                    if one.kind in doors.KINDS
                    else {"leads to": one.place}
                ),
                "line": one.line,
                "assertion": one.proof,
                "url": app.config.html_baseurl
                + page
                + ".html"
                + (f"#{one.anchor}" if one.anchor else ""),
            }


def write_claims(app, error):
    """Write claims.json beside the pages."""
    if not error and app.builder.format == "html":
        text = ",\n".join(json.dumps(one, ensure_ascii=False) for one in claims(app))
        pathlib.Path(app.outdir, FILE).write_text(f"[\n{text}\n]\n", encoding="utf-8")


def add_doors(app):
    """Register the doors with Sphinx: before numbers are typeset and words linked."""
    app.connect("doctree-resolved", open_doors, priority=400)
    app.connect("html-page-context", leave_needed, priority=900)
    app.connect("build-finished", write_claims, priority=550)
