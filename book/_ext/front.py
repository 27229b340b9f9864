"""The first page says what there is to read and how it is checked. Nothing of it is typed: it is counted at build."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
# The README's list has the same titles and questions.
sys.path.append(str(ROOT / "tools"))

import claims  # noqa: E402
from readme import headline  # noqa: E402

MINUTES = {
    "ten": 10,
    "twenty": 20,
    "thirty": 30,
    "thirty-five": 35,
    "forty": 40,
    "fifty": 50,
    "an hour": 60,
}
SMALL = ["small-print"]


class Chapter(NamedTuple):
    """What a chapter says of itself, and what is checked in it."""

    title: str
    question: str
    minutes: int | None
    cells: int
    asserts: int


def chapter(name):
    """What is found in a page, by its name in the table of contents; without cells there is nothing to count."""
    notebook = ROOT / f"{name}.ipynb"
    cells = (
        json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        if notebook.is_file()
        else []
    )
    text = {"markdown": [], "code": []}
    for cell in cells:
        text[cell["cell_type"]].append("".join(cell["source"]))
    introduction = "\n\n".join(text["markdown"]).split("\n## ")[0]
    checked = len(text["code"]), sum(map(asserts, text["code"]))
    return Chapter(*headline(name), minutes(introduction), *checked)


def minutes(introduction):
    """How long a chapter says it takes; None where it says nothing."""
    found = re.search(r"takes about (an hour|[\w-]+(?= minutes))", introduction)
    if not found:
        return None
    if found[1] not in MINUTES:
        raise ValueError(f"minutes ({found[1]!r}) must be one of {', '.join(MINUTES)}")
    return MINUTES[found[1]]


def asserts(source):
    """How many assertions stand in a piece of Python; magic commands are passed over."""
    tree = ast.parse(re.sub(r"^(\s*)%.*", r"\1pass", source, flags=re.M))
    return sum(isinstance(node, ast.Assert) for node in ast.walk(tree))


def tests(files):
    """How many test functions stand in files, and how many of them are properties tried on drawn examples."""
    functions = [
        node
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    drawn = [
        f
        for f in functions
        if any(
            re.match(r"(hypothesis\.)?given\b", ast.unparse(d))
            for d in f.decorator_list
        )
    ]
    return len(functions), len(drawn)


def beside(name):
    """The test functions in the file that has the name of a chapter, and how many of them are properties."""
    return tests((ROOT / "tests").rglob(f"test_{name.rpartition('/')[2]}.py"))


def lines(folder):
    """How many lines of Python that are not empty stand in a folder."""
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def commit():
    """The commit that is built, or nothing where there is no Git; with a plus if files were changed since."""
    git = ["git", "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(
            git, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def parts():
    """The parts of the table of contents: their captions, and the names of their pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return {
        part["caption"]: [entry["file"] for entry in part["chapters"]]
        for part in toc["parts"]
    }


class Chapters(SphinxDirective):
    """The directive `chapters`: every chapter with its question, its reading time, and what is checked in it."""

    def run(self):
        """A list for each part."""
        out = []
        for caption, names in parts().items():
            out.append(nodes.rubric("", caption, classes=["part"]))
            listed = nodes.bullet_list(classes=["chapters"])
            listed += [self.entry(name) for name in names]
            out.append(listed)
        return out

    def entry(self, name):
        """One line of the list: a link, the question, and small print."""
        c = chapter(name)
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="doc", reftarget=f"/{name}", refexplicit=True
        )
        link += nodes.inline("", c.title)
        small = [f"{c.minutes} minutes"] if c.minutes else []
        if c.cells:
            small.append(f"{c.cells} cells and {c.asserts} assertions checked")
        first = nodes.paragraph("", "", link)
        if c.question:
            first += [nodes.Text(" "), nodes.emphasis("", c.question)]
        if small:
            first += [
                nodes.Text(" "),
                nodes.inline("", " · ".join(small), classes=SMALL),
            ]
        link["refdoc"] = self.env.docname
        return nodes.list_item("", first)


class Checked(SphinxDirective):
    """The directive `checked`: how much is checked on every change, counted now."""

    def run(self):
        """A list of numbers, and the commit."""
        found = [chapter(name) for names in parts().values() for name in names]
        cells = sum(c.cells for c in found)
        functions, drawn = tests((ROOT / "tests").rglob("test_*.py"))
        rows = {
            "cells of the chapters run again, and what they print is compared": cells,
            "assertions in these cells": sum(c.asserts for c in found),
            "further tests of the package, the book and the site": functions,
            "of them are properties, tried on examples drawn at random": drawn,
            "lines of source in the package": lines(ROOT / "src"),
        }
        listed = nodes.bullet_list(classes=["checked"])
        for what, number in rows.items():
            line = [nodes.strong("", f"{number:,}"), nodes.Text(f" {what}")]
            listed += nodes.list_item("", nodes.paragraph("", "", *line))
        built = nodes.paragraph("", f"Built from commit {commit()}.", classes=SMALL)
        return [listed, built] if commit() else [listed]


def show_badge(app, doctree, name):
    """Under the question of a chapter, say what is checked in it: counted, as on the first page."""
    if app.builder.format != "html" or not (ROOT / f"{name}.ipynb").is_file():
        return
    c, (functions, drawn) = chapter(name), beside(name)
    said = [f"{c.cells} cells compared", f"{c.asserts} assertions"]
    if functions:
        said.append(f"{functions} tests beside them, {drawn} on random examples")
    link = nodes.reference(
        "", "Checked", internal=True, refuri=leads_to_promise(app, name)
    )
    badge = nodes.paragraph(
        "",
        "",
        link,
        nodes.Text(": " + " · ".join(said)),
        classes=[*SMALL, "badge-line"],
    )
    if not on_record(ROOT / f"{name}.ipynb"):
        said = " · claims changed since they were recorded"
        badge += nodes.inline("", said, classes=["changed"])
    question = next(doctree.findall(nodes.paragraph))
    question.parent.insert(question.parent.index(question) + 1, badge)


def leads_to_promise(app, name):
    """Where the first page says what checking means."""
    return app.builder.get_relative_uri(name, "book/index") + "#what-tested-means"


def on_record(path):
    """Are the claims of a chapter those that tests/book/claims.yml has?"""
    found = claims.claims(path)
    return claims.recorded().get(path.stem, claims.line(())) == claims.line(found)
