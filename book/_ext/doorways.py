"""Each traced number on a page leads to the cell that holds it; all of them are in claims.json beside the pages.

Where a number leads is said by tools/doors.py. It is shown as a door, unless it is in a link, a heading (which has a
link to itself), a choice (a button) or an alt text, or is what a question takes as given: then nothing is claimed of
it. Without scripts a door is a link with a title; book.js shows the title to those who use keys, marks the line, and
leads back.
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
SHOWN = {}
"""Of each page that was written its traced numbers, and as what it shows each: a door, or what cannot be one."""


def notebook(app, page):
    """The notebook that a page is made from, or None."""
    path = pathlib.Path(app.env.doc2path(page))
    return path if path.suffix == ".ipynb" else None


def open_doors(app, doctree, page):
    """Make links of the numbers in the sentences and captions of a page, and places of the cells they lead to.

    The numbers of a cell are met in the order in which they were traced; each must be met.
    """
    path = notebook(app, page)
    if app.builder.format != "html" or path is None:
        return
    cells = lanes.cells(path)
    waiting, sources = {}, {cell["id"]: typed(cell) for cell in cells}
    for door in doors.doors(path):
        waiting.setdefault((door.at, door.where), []).append(door)
    made, asked = SHOWN.setdefault(page, []), questions(doctree, cells)
    made.clear()
    made += [
        (door, "alt") for key in waiting if key[1] == "alt" for door in waiting[key]
    ]
    for block in list(doctree.findall(is_block)):
        at, where = place(block, cells)
        if at:
            how = standing(block)
            for node, free, spans in numbers(block):
                # what a directive has written was never traced
                typed_in = [
                    span for span in spans if joined(span[2].text) in sources[at]
                ]
                led = meet(page, typed_in, waiting.get((at, where), []))
                shown = how if how != "door" or free else "link"
                made += [
                    (door, "given" if door.kind == "given" else shown)
                    for *_, door in led
                ]
                led = [one for one in led if one[2].kind != "given"]
                if shown == "door" and led:
                    open_in(app, page, node, led, asked)
    missed = (door for key, left in waiting.items() if key[1] != "alt" for door in left)
    for door in missed:
        LOGGER.warning(
            "%s: %s was traced, and is not met on the page: %s",
            page,
            door.number.text,
            door.sentence,
        )
    mark_cells(doctree, cells)


def meet(page, spans, waiting):
    """The doors of numbers, each with its place; a door is met once."""
    led = []
    for begin, end, number in spans:
        door = next((one for one in waiting if one.key == doors.identity(number)), None)
        if door is None:
            LOGGER.warning(
                "%s: %s leads nowhere: no cell and no source has it", page, number.text
            )
        else:
            waiting.remove(door)
            led.append((begin, end, door))
    return led


def standing(block):
    """What keeps a block from having links: it is a heading, or one of the choices of a question; or else "door"."""
    if isinstance(block, nodes.title):
        return "heading"
    above = block
    while above.parent is not None:
        before = above.parent[: above.parent.index(above)]
        if (
            isinstance(above, nodes.bullet_list)
            and before
            and isinstance(before[-1], nodes.paragraph)
            and lanes.GUESS.match(before[-1].astext())
        ):
            return "choice"
        above = above.parent
    return "door"


def typed(cell):
    """What was typed into a cell: its text, or the caption of its figure."""
    caption = cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
    return joined(tracing.plain(cell["source"] + caption))


def joined(text):
    """A text without the spaces that separate thousands."""
    return re.sub(r"(?<=\d)[ \u202f](?=\d{3})", "", text)


def is_block(node):
    """Is this a piece of a page that has sentences?"""
    return isinstance(
        node,
        nodes.paragraph | nodes.caption | nodes.term | nodes.title | nodes.math_block,
    )


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
    if isinstance(node, nodes.math_block):
        yield node, True
        return
    for child in node.children:
        if isinstance(child, nodes.Text | nodes.math):
            yield child, True
        elif isinstance(child, nodes.reference):
            yield from (
                ((leaf, False) for leaf, _ in leaves(child))
                if not is_citation(child)
                else ()
            )
        elif (
            not isinstance(child, nodes.literal | nodes.raw | nodes.image)
            and "std-numref" not in child["classes"]
        ):
            marks = [(nodes.Text("**"), False)] * isinstance(child, nodes.strong)
            yield from (*marks, *leaves(child), *marks)


def is_citation(node):
    """Does a link lead to the bibliography?"""
    return "bibliography.html#" in node.get("refuri", "")


def numbers(block):
    """The texts and formulas of a block that have numbers: (it, may it have links?, [(begin, end, number)])."""
    words, parts = "", []
    for leaf, free in leaves(block):
        text = leaf.astext()
        same = tracing.plain(text)
        written = (
            f"${same}$"
            if isinstance(leaf, nodes.math | nodes.math_block)
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
        end = min(begin + len(number.text) - start, len(leaf.astext()))
        spans.setdefault(n, (leaf, free, []))[2].append((begin - start, end, number))
    return list(spans.values())


def open_in(app, page, node, led, asked):
    """Put the doors of a text or a formula in its place; a formula is one as a whole."""
    if isinstance(node, nodes.math | nodes.math_block):
        alone = len({address(app, page, door) for *_, door in led}) == 1
        link = link_to(app, page, led[-1][2] if alone else common(led), asked)
        if isinstance(node, nodes.math_block):
            node["door"] = link.attributes
        else:
            node.replace_self(link)
            link.append(node)
        return
    text, made, last = node.astext(), [], 0
    for begin, end, door in led:
        link = link_to(app, page, door, asked)
        link.append(nodes.Text(text[begin:end]))
        made += [nodes.Text(text[last:begin])] * (last < begin) + [link]
        last = end
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
    later = waits(door, asked)
    classes = ["door", door.kind.replace(" ", "-"), *["waits"] * later]
    link = nodes.reference("", "", internal=True, refuri=uri, classes=classes)
    link["reftitle"] = f"{LATER} " * later + SAID[door.kind] + door.line
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
    return any(order[door.at] <= question < shown for question in at)


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


AFTER = re.compile(f' title="({re.escape(LATER)}) ([^"]*)"')
LONG = re.compile(r'(?<=<a class="door )([\w-]+) reference internal"')
UNASKED = re.compile(
    r' id="((?:code|out)-[\w-]+)"|<span id="((?:code|out)-[\w-]+)"></span>'
)


def leave_needed(app, page, template, context, doctree):
    """Take away the names of cells to which nothing on the page leads, and the classes that no door needs.

    What a door has to say after an answer is no title: it would give the answer away.
    Code keeps its name if something leads to what it printed: book.js writes below it where it is quoted.
    """
    body = context.get("body", "")
    asked = set(re.findall(r'href="#((?:code|out)-[\w-]+)"', body))
    also = {name.replace("out-", "code-", 1) for name in asked}
    if "cell" in body:
        context["body"] = UNASKED.sub(
            lambda m: m[0] if m[1] in also | asked or m[2] in asked else "",
            AFTER.sub(r' title="\1" data-answered="\2"', LONG.sub(r'\1"', body)),
        )


def claims(app):
    """What claims.json has: all numbers that were traced, with what holds them, and as what their page shows them."""
    for page, shown in SHOWN.items():
        for one, how in shown:
            proved = one.kind in doors.KINDS
            yield {
                "page": page,
                "section": one.section,
                "place": one.where,
                "shown as": how,
                "sentence": one.sentence,
                "number": one.number.text.strip(),
                "value": str(one.number.value) + "%" * one.number.percent,
                "kind": one.kind,
                "cell" if proved else "leads to": one.place,
                "line": one.line,
                "assertion": one.proof,
                "url": f"{app.config.html_baseurl}{page}.html"
                + f"#{one.anchor}" * bool(one.anchor),
            }


def write_claims(app, error):
    """Write claims.json beside the pages. It has each traced number once."""
    if error or app.builder.format != "html":
        return
    traced = sum(len(doors.doors(path)) for path in doors.pages())
    found = list(claims(app))
    if len(found) != traced:
        LOGGER.warning(
            "%s numbers were traced, and %s are met on the pages", traced, len(found)
        )
    text = ",\n".join(json.dumps(one, ensure_ascii=False) for one in found)
    pathlib.Path(app.outdir, FILE).write_text(f"[\n{text}\n]\n", encoding="utf-8")


def add_doors(app):
    """Register the doors with Sphinx: before numbers are typeset and words linked."""
    app.connect("doctree-resolved", open_doors, priority=400)
    app.connect("html-page-context", leave_needed, priority=900)
    app.connect("build-finished", write_claims, priority=550)
