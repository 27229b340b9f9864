"""Folds on the pages: one mark for the code behind each block, answers that wait for a guess, sections that go deeper.

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

RIGHT = "<!-- right -->"  # what the right one of the choices ends with
SWITCH = (
    '<p class="unfold"><label><input type="checkbox" id="unfold" autocomplete="off"> '
    "Open everything on this page</label> "
    '<label><input type="checkbox" id="doors" autocomplete="off"> Underline every number you can check</label></p>\n'
)


class Fold(nodes.Element):
    """A fold with a label, and what is in it."""


class Choices(nodes.Element):
    """What a reader may answer to a question, before the answer is shown."""


class Choice(nodes.Element):
    """One of them."""


class Deeper(nodes.section):
    """A section that is folded: its title, and `Within` it the rest."""


class Within(nodes.Element):
    """What a folded section holds. The place that links lead to is in here, so that browsers open the fold."""


def counted(number, what):
    """So many things of a kind, in words: "1 claim", "2 claims"."""
    return f"{number} {what}" + "s" * (number != 1)


def listed(found):
    """What the fold of sources says: their names, and how many lines they are together."""
    return f"source: {', '.join(found)} ({counted(sum(found.values()), 'line')})"


def fold_page(app, doctree, page):
    """Fold what a page that is a notebook does not show at once, and put a switch for all at its head."""
    if app.builder.format != "html":
        return
    path = Path(app.env.doc2path(page))
    if path.suffix != ".ipynb":
        return
    fold_answers(doctree, path)
    fold_code(doctree, path)
    fold_sections(doctree, path)
    badge = next(doctree.findall(is_badge), None)
    if badge and next(doctree.findall(lambda n: isinstance(n, Fold | Deeper)), None):
        place = badge.parent.index(badge) + 1
        badge.parent.insert(place, nodes.raw("", SWITCH, format="html"))


def is_badge(node):
    """Is this the line below the question of a chapter?"""
    return isinstance(node, nodes.paragraph) and "badge-line" in node["classes"]


def is_cell(node):
    """Is this node of a page a code cell?"""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def fold_answers(doctree, path):
    """Ask before answering: the list after a question to guess becomes choices, and the rest of its section waits."""
    questions = doctree.findall(
        lambda n: isinstance(n, nodes.paragraph) and lanes.GUESS.match(n.astext())
    )
    for question in list(questions):
        parent, place = question.parent, question.parent.index(question) + 1
        found = parent[place] if place < len(parent) else None
        items = found.children if isinstance(found, nodes.bullet_list) else []
        choices = Choices("", *map(choice, items))
        if [c["right"] for c in choices].count(True) != 1:
            rule = f"a list of choices, one of which ends with {RIGHT}"
            raise ValueError(f"{path.name}: {question.astext()!r} needs {rule}")
        end = next(
            (
                n
                for n in range(place, len(parent))
                if isinstance(parent[n], nodes.section)
            ),
            len(parent),
        )
        answer = Fold("", *parent[place + 1 : end], classes=["mark", "answer"])
        answer.attributes |= {"label": "Show me", "title": "", "failed": False}
        parent[place:end] = [choices, answer]


def choice(item):
    """One of the choices: what stands in the item of a list, without links, since it is pressed as a whole."""
    made = Choice("", *item[0].children, right=False)
    for node in list(
        made.findall(lambda n: isinstance(n, nodes.raw | nodes.reference))
    ):
        if isinstance(node, nodes.reference):
            node["classes"] = []
            node.replace_self(node.children)
        elif node.astext() == RIGHT:
            made["right"] = True
            node.parent.remove(node)
    return made


def fold_code(doctree, path):
    """Give each block of a page one mark for all the code behind it: what makes it, what checks it, every term.

    A block is a paragraph, or what a cell shows, or anything else that is seen. What only sets up belongs to the next
    cell that shows something.
    """
    cells, kinds = lanes.cells(path), lanes.kinds(path)
    lane = {part.cell.get("id"): part.lane for part in lanes.parts(path)}
    for parent in {id(n.parent): n.parent for n in doctree.findall(is_cell)}.values():
        blocks, waiting = [[None]], []
        for node in list(parent):
            seen, parts = node, []
            if is_cell(node):
                cell = cells[node["cell_index"]]
                seen, parts = parted(
                    node, cell, kinds.get(cell["id"]), lane[cell["id"]]
                )
            if isinstance(seen, nodes.section):
                blocks[-1] += waiting
                waiting = []
            if seen is not None:
                blocks.append([seen])
            waiting += parts
            if is_cell(seen) or any(kind != "set-up" for kind, *_ in parts):
                blocks[-1] += waiting
                waiting = []
        blocks[-1] += waiting
        parent[:] = [node for block in blocks for node in marked(*block)]


def parted(node, cell, kind, lane):
    """What is seen of a cell, if anything, and what goes behind a mark: its parts, each with its kind and its cell."""
    if kind == "" and lane == "deeper" and lanes.multiplies(cell):
        return node, [("sum", cell, taken(node, -1))]
    if not kind:
        return node, []
    if kind == "call" or lanes.is_open(cell, kind, lane):
        node["classes"].append(kind)
        return node, [("code", cell, taken(node, 0))]
    if node.get("hide_mode") == "output":  # folded as a whole now
        node[-1:] = node.children[-1].children
    return None, [(kind, cell, node)]


def taken(cell, place):
    """What a cell shows at one place, in a box of its own."""
    return nodes.container("", cell.pop(place), classes=["cell"])


def marked(seen, *parts):
    """A block with its mark, and with a fold of its own for source that the text speaks of."""
    if not parts:
        return [] if seen is None else [seen]
    sources = [part for part in parts if part[0] == "source"]
    folds = [
        folded(group)
        for group in ([p for p in parts if p not in sources], sources)
        if group
    ]
    if seen is None or isinstance(seen, nodes.title | nodes.raw) or is_badge(seen):
        return [n for n in [seen] if n] + [
            nodes.container("", *folds, classes=["marks"])
        ]
    beside = {"tag_beside"} & set(seen["classes"])  # it moves with its mark
    return [nodes.container("", seen, *folds, classes=["claimed", *beside])]


def folded(parts):
    """The fold for some parts of a block. It stands open if something in it has failed."""
    kinds, failed = (
        {kind for kind, *_ in parts},
        any(lanes.failed(cell) for _, cell, _ in parts),
    )
    claims = sum(
        lanes.claims(cell["source"]) for kind, cell, _ in parts if kind == "checked"
    )
    title = [f"{counted(claims, 'claim')} checked"] * bool(claims)
    title += ["every term"] * ("sum" in kinds)
    if "source" in kinds:
        said = listed(
            {name: n for _, cell, _ in parts for name, n in lanes.shown(cell).items()}
        )
    else:
        said = {("set-up",): "set-up", ("sum",): "terms"}.get((*kinds,), "code")
    sign = "✗ failed: " if failed else "✓ " if claims else ""
    classes = (
        ["mark", "source" if "source" in kinds else "behind"]
        + ["checked"] * bool(claims)
        + ["failed"] * failed
    )
    inside = [node for *_, node in parts]
    return Fold(
        "",
        *inside,
        classes=classes,
        label=sign + said,
        title="; ".join(title),
        failed=failed,
    )


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
    words = re.sub(
        "^[✓✗]", r'<span class="sign">\g<0></span>', html.escape(node["label"])
    )
    opened = " open" if node["failed"] else ""
    title = f' title="{html.escape(node["title"])}"' if node["title"] else ""
    self.body.append(
        f'<details class="{" ".join(node["classes"])}"{opened}><summary{title}>{words}</summary>\n'
    )


def depart_fold(self, node):
    """End a fold."""
    self.body.append("</details>\n")


def visit_choices(self, node):
    """Begin the choices of a question."""
    self.body.append('<div class="guess" role="group" aria-label="Your guess">\n')


def depart_choices(self, node):
    """End them, with the place that says which was right."""
    self.body.append('<p role="status"></p></div>\n')


def visit_choice(self, node):
    """Begin a choice."""
    self.body.append(f'<button type="button"{" data-right" * node["right"]}>')


def depart_choice(self, node):
    """End a choice."""
    self.body.append("</button>\n")


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
    app.add_node(Choices, html=(visit_choices, depart_choices))
    app.add_node(Choice, html=(visit_choice, depart_choice))
    app.add_node(Deeper, html=(visit_deeper, depart_deeper))
    app.add_node(Within, html=(visit_within, depart_within))
    app.connect("doctree-resolved", fold_page, priority=900)
