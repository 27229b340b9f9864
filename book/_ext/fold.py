"""Folds on the pages: what serves a sentence becomes a small mark beside it, and what goes deeper waits for a click.

What folds is said by tools/lanes.py. The notebooks know nothing of it: in Jupyter all cells are open.
"""

import html
import itertools
import re
import sys
from pathlib import Path

from docutils import nodes

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import lanes  # noqa: E402

BESIDE = {"set-up", "checked"}  # their marks stand at the end of the paragraph before
SWITCH = (
    '<p class="unfold"><label><input type="checkbox" id="unfold" autocomplete="off"> '
    "Open everything on this page</label></p>\n"
)


class Fold(nodes.Element):
    """A fold with a label, and what is in it."""


class Deeper(nodes.section):
    """A section that is folded: its title, and `Within` it the rest."""


class Within(nodes.Element):
    """What a folded section holds. The place that links lead to is in here, so that browsers open the fold."""


def fold(kind, label, *inside, failed=False):
    """A fold, which stands open if something in it has failed."""
    classes = ["mark", kind] + ["failed"] * failed
    return Fold("", *inside, classes=classes, label=label, failed=failed)


def counted(number, what):
    """So many things of a kind, in words: "1 claim", "2 claims"."""
    return f"{number} {what}" + "s" * (number != 1)


def label(kind, cell):
    """What the mark of a folded cell says."""
    if kind == "source":
        said = listed(lanes.shown(cell))
    elif kind == "sum":
        said = f"every term of {summed(cell)}"
    elif kind == "checked":
        said = counted(lanes.claims(cell["source"]), "claim")
    else:
        said = {"call": "code"}.get(kind, kind)
    if lanes.failed(cell):
        return f"✗ failed: {said}"
    return f"✓ checked: {said}" if kind == "checked" else said


def listed(found):
    """What the mark of sources says: their names, and how many lines they are together."""
    return f"source: {', '.join(found)} ({counted(sum(found.values()), 'line')})"


def summed(cell):
    """What a cell writes out with every term, as its plain text calls it."""
    text = "".join(
        "".join(o.get("data", {}).get("text/plain", "")) for o in cell["outputs"]
    )
    return re.match(r"[^=:,]*[^=:,\s]", text)[0]


def fold_page(app, doctree, page):
    """Fold the cells and the deeper sections of a page that is a notebook, and put a switch for all at its head."""
    if app.builder.format != "html":
        return
    path = Path(app.env.doc2path(page))
    if path.suffix != ".ipynb":
        return
    fold_cells(doctree, path)
    join_marks(doctree)
    fold_answers(doctree)
    fold_sections(doctree, path)
    badge = next(doctree.findall(is_badge), None)
    if badge and next(doctree.findall(lambda n: isinstance(n, Fold | Deeper)), None):
        place = badge.parent.index(badge) + 1
        badge.parent.insert(place, nodes.raw("", SWITCH, format="html"))


def is_badge(node):
    """Is this the line below the question of a chapter?"""
    return isinstance(node, nodes.paragraph) and "badge-line" in node["classes"]


def fold_cells(doctree, path):
    """Give each cell the folds of its kind."""
    cells, kinds = lanes.cells(path), lanes.kinds(path)
    lane = {part.cell.get("id"): part.lane for part in lanes.parts(path)}
    for node in list(doctree.findall(is_cell)):
        cell = cells[node["cell_index"]]
        here, kind = lane[cell["id"]], kinds.get(cell["id"])
        if kind is None:
            continue
        if not kind:
            if here == "deeper" and lanes.multiplies(cell):
                output = node.children[-1]
                node.replace(output, fold("sum", label("sum", cell), output))
            continue
        failed = lanes.failed(cell)
        if kind == "call" or lanes.is_open(cell, kind, here):
            source = node.children[0]
            node.replace(
                source, fold("code", label("call", cell), source, failed=failed)
            )
            node["classes"].append(kind)
            continue
        if node.get("hide_mode") == "output":  # folded as a whole now
            node[-1:] = node.children[-1].children
        place, parent = node.parent.index(node), node.parent
        mark = fold(kind, label(kind, cell), node, failed=failed)
        mark["claims"] = lanes.claims(cell["source"])
        mark["found"] = lanes.shown(cell) if kind == "source" else {}
        parent[place] = mark


def is_cell(node):
    """Is this node of a page a code cell?"""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def join_marks(doctree):
    """Put marks that follow one another on one line: at the end of the paragraph that they serve, or on their own."""
    for parent in {
        id(mark.parent): mark.parent for mark in doctree.findall(Fold)
    }.values():
        if is_cell(parent):
            continue
        children, parent[:] = list(parent), []
        for serves, run in itertools.groupby(children, lambda n: beside(n)):
            run = together(list(run))
            before = parent[-1] if len(parent) else None
            if serves is None:
                parent += run
            elif (
                serves and isinstance(before, nodes.paragraph) and not is_badge(before)
            ):
                parent.pop()
                parent += nodes.container("", before, *run, classes=["claimed"])
            elif isinstance(before, nodes.container) and "marks" in before["classes"]:
                before += run
            else:
                parent += nodes.container("", *run, classes=["marks"])


def together(run):
    """Marks in a row, with one for all of a kind that follow each other, unless one has failed."""
    out = []
    for mark in run:
        kind = set(mark["classes"]) & {"checked", "source", "set-up"}
        if (
            out
            and isinstance(
                out[-1], Fold
            )  # and no cell of the same kind that stands open
            and isinstance(mark, Fold)
            and kind & set(out[-1]["classes"])
            and not (out[-1]["failed"] or mark["failed"])
        ):
            out[-1] += mark.children
            out[-1]["claims"] += mark["claims"]
            out[-1]["found"] |= mark["found"]
            claims, found = out[-1]["claims"], out[-1]["found"]
            if found:
                out[-1]["label"] = listed(found)
            elif "checked" in kind:
                out[-1]["label"] = f"✓ checked: {counted(claims, 'claim')}"
        else:
            out.append(mark)
    return out


def fold_answers(doctree):
    """Fold what answers a question to guess: all up to the next paragraph, and that as well."""
    questions = doctree.findall(
        lambda n: isinstance(n, nodes.paragraph) and lanes.GUESS.match(n.astext())
    )
    for question in list(questions):
        inside = isinstance(question.parent, nodes.section)
        asked = question if inside else question.parent
        parent, answer = asked.parent, []
        for node in parent[parent.index(asked) + 1 :]:
            if isinstance(node, nodes.section):
                break
            answer.append(node)
            if is_text(node):
                break
        place = parent.index(asked) + 1
        parent[place : place + len(answer)] = [
            fold("answer", "look at the answer", *answer)
        ]


def is_text(node):
    """Is this a paragraph, with marks beside it or without?"""
    return isinstance(node, nodes.paragraph) or "claimed" in node.get("classes", ())


def beside(node):
    """Does this stand beside a sentence (True), or is it a mark that stands alone (False)? None: it is no mark."""
    return bool(BESIDE & set(node["classes"])) if isinstance(node, Fold) else None


def fold_sections(doctree, path):
    """Fold the sections below the heading "Going deeper", with what they cost in their summaries."""
    inside = next(
        (s for s in doctree.findall(nodes.section) if s[0].astext() == lanes.DEEPER),
        None,
    )
    if inside is None:
        return
    kinds, parts = (
        lanes.kinds(path),
        [p for p in lanes.parts(path) if p.lane == "deeper"],
    )
    groups = itertools.groupby(parts, lambda part: part.section)
    told = [list(group) for name, group in groups if name != lanes.DEEPER]
    sections = [child for child in inside if isinstance(child, nodes.section)]
    if len(sections) != len(told):
        names = ", ".join(group[0].section for group in told)
        rule = "its sections have headings of the third level"
        raise ValueError(f"{path.name}: below {lanes.DEEPER} stand {names}; {rule}")
    for section, group in zip(sections, told, strict=True):
        minutes = max(1, round(lanes.seconds(group, kinds) / 60))
        code = (part.cell for part in group if part.cell["cell_type"] == "code")
        claims = sum(lanes.claims(cell["source"]) for cell in code)
        said = f"{minutes} min" + f" · {counted(claims, 'claim')}" * bool(claims)
        title, *rest = section.children
        within = Within("", *rest, ids=section["ids"], said=said)
        section.replace_self(
            Deeper("", title, within, ids=section["ids"], names=section["names"])
        )


def visit_fold(self, node):
    """Begin a fold. Its label is no text of the page: the search does not find it."""
    sign, _, rest = html.escape(node["label"]).partition(" ")
    words = (
        f'<span class="sign">{sign}</span> {rest}'
        if sign in "✓✗"
        else html.escape(node["label"])
    )
    opened = " open" if node["failed"] else ""
    self.body.append(
        f'<details class="{" ".join(node["classes"])}"{opened}><summary>{words}</summary>\n'
    )


def depart_fold(self, node):
    """End a fold."""
    self.body.append("</details>\n")


def visit_deeper(self, node):
    """Begin a folded section; its title follows."""
    self.section_level += 1
    self.body.append('<details class="deeper"><summary>\n')


def depart_deeper(self, node):
    """End a folded section."""
    self.section_level -= 1
    self.body.append("</details>\n")


def visit_within(self, node):
    """After the title of a folded section: what it costs, and then what it holds."""
    self.body.append(
        f"<small>{node['said']}</small></summary>\n{self.starttag(node, 'section')}"
    )


def depart_within(self, node):
    """End what a folded section holds."""
    self.body.append("</section>\n")


def add_folds(app):
    """Register the folds with Sphinx; what else changes the texts of a page has done so before."""
    app.add_node(Fold, html=(visit_fold, depart_fold))
    app.add_node(Deeper, html=(visit_deeper, depart_deeper))
    app.add_node(Within, html=(visit_within, depart_within))
    app.connect("doctree-resolved", fold_page, priority=900)
