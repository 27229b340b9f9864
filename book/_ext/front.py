"""The first page says what there is to read and how it is checked. Nothing of it is typed: it is counted at build."""

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
MINUTES = {
    "ten": 10,
    "twenty": 20,
    "thirty": 30,
    "thirty-five": 35,
    "forty": 40,
    "fifty": 50,
    "an hour": 60,
}


class Chapter(NamedTuple):
    """What a chapter says of itself, and what is checked in it."""

    title: str
    question: str
    minutes: int | None
    cells: int
    asserts: int


def chapter(path):
    """Read a notebook, or a page without cells."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    else:
        cells = [{"cell_type": "markdown", "source": path.read_text(encoding="utf-8")}]
    text = "\n\n".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    )
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    title, question = re.match(r"# (.+)\n*(?:\*(.+)\*$)?", text, re.M).groups()
    return Chapter(
        title,
        question or "",
        minutes(text.split("\n## ")[0]),
        len(code),
        sum(map(asserts, code)),
    )


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


def tests(folder):
    """How many test functions stand in a folder, and how many of them are properties tried on drawn examples."""
    functions = [
        node
        for path in sorted(folder.rglob("test_*.py"))
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


def lines(folder):
    """How many lines of Python that are not empty stand in a folder."""
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def commit():
    """The commit that is built, or nothing where there is no Git; with a plus if files were changed since."""
    try:
        git = [
            "git",
            "-C",
            str(ROOT),
            "describe",
            "--always",
            "--abbrev=7",
            "--exclude=*",
            "--dirty=+",
        ]
        return subprocess.run(
            git, check=True, capture_output=True, text=True
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


def page(name):
    """The file behind a name in the table of contents."""
    notebook = ROOT / f"{name}.ipynb"
    return notebook if notebook.is_file() else ROOT / f"{name}.md"


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
        c = chapter(page(name))
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="doc", reftarget=f"/{name}", refexplicit=True
        )
        link += nodes.inline("", c.title)
        print_ = [f"{c.minutes} minutes"] if c.minutes else []
        print_ += (
            [f"{c.cells} cells and {c.asserts} assertions checked"] if c.cells else []
        )
        first = nodes.paragraph("", "", link)
        if c.question:
            first += [nodes.Text(" "), nodes.emphasis("", c.question)]
        if print_:
            first += [
                nodes.Text(" "),
                nodes.inline("", " · ".join(print_), classes=["small-print"]),
            ]
        link["refdoc"] = self.env.docname
        return nodes.list_item("", first)


class Checked(SphinxDirective):
    """The directive `checked`: how much is checked on every change, counted now."""

    def run(self):
        """A list of numbers, and the commit."""
        found = [chapter(page(name)) for names in parts().values() for name in names]
        functions, drawn = tests(ROOT / "tests")
        rows = {
            "cells of the chapters run again, and what they print is compared": sum(
                c.cells for c in found
            ),
            "assertions in these cells": sum(c.asserts for c in found),
            "further tests of the package, the book and the site": functions,
            "of them are properties, tried on examples drawn at random": drawn,
            "lines of code in the package": lines(ROOT / "src"),
        }
        listed = nodes.bullet_list(classes=["checked"])
        for what, number in rows.items():
            listed += nodes.list_item(
                "",
                nodes.paragraph(
                    "", "", nodes.strong("", f"{number:,}"), nodes.Text(f" {what}")
                ),
            )
        built = commit()
        return (
            [
                listed,
                nodes.paragraph(
                    "", f"Built from commit {built}.", classes=["small-print"]
                ),
            ]
            if built
            else [listed]
        )
