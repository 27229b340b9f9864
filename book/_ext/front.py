"""The first page says what there is to read and how it is checked. Nothing of it is typed: it is counted at build."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import build  # noqa: E402
import lanes  # noqa: E402
import routes  # noqa: E402

SMALL = ["small-print"]


class Chapter(NamedTuple):
    """What a chapter says of itself, and what is checked in it."""

    title: str
    question: str
    cells: int
    asserts: int


def chapter(name):
    """What is found in a page, by its name in the table of contents; without cells there is nothing to count."""
    notebook = ROOT / f"{name}.ipynb"
    cells = lanes.cells(notebook) if notebook.is_file() else []
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    return Chapter(*routes.headline(name), len(code), sum(map(lanes.claims, code)))


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
    """The table of contents: the captions of its parts, and the names of their pages, without those below others."""
    return {
        part: [name for name in names if name.count("/") == 1]
        for part, names in build.contents().items()
    }


class Checked(SphinxDirective):
    """The directive `checked`: how much is checked on every change, counted now."""

    def run(self):
        """A list of numbers, and the commit."""
        found = [chapter(name) for names in parts().values() for name in names]
        cells = sum(c.cells for c in found)
        functions, drawn = tests((ROOT / "tests").rglob("test_*.py"))
        rows = {
            "cells run again, and what they print is compared": cells,
            "assertions are in these cells": sum(c.asserts for c in found),
            "more tests check the package, the book and the site": functions,
            "of these tests draw their examples at random": drawn,
            "lines of source make up the package": lines(ROOT / "src"),
        }
        listed = nodes.bullet_list(classes=["checked"])
        for what, number in rows.items():
            line = [
                nodes.strong("", f"{number:,}"),
                nodes.Text(f" {what}"),
            ]
            listed += nodes.list_item("", nodes.paragraph("", "", *line))
        built = nodes.paragraph("", f"Built from commit {commit()}.", classes=SMALL)
        return [listed, built] if commit() else [listed]


def show_badge(app, doctree, page):
    """Under the question of a chapter, say how long it takes and what is checked in it: all of it counted."""
    name = page.rpartition("/")[2]
    if app.builder.format != "html" or not lasting(name):
        return
    c, (functions, _) = chapter(page), beside(page)
    said = [f"{c.cells} cells", f"{c.asserts} assertions"]
    said += [f"{functions} tests"] if functions else []
    link = nodes.reference(
        "", "Checked", internal=True, refuri=leads_to_promise(app, page)
    )
    badge = nodes.paragraph(
        "",
        "",
        nodes.Text(f"{lasting(name)} · "),
        link,
        nodes.Text(f": {', '.join(said)}"),
        classes=[*SMALL, "badge-line"],
    )
    question = next(doctree.findall(nodes.paragraph))
    question.parent.insert(question.parent.index(question) + 1, badge)


def lasting(name):
    """How long a page takes, in words; nothing for a page that is there to look something up."""
    if name not in routes.pages():
        return ""
    idea, whole, exercises = routes.times(name)
    parts = {
        "The idea": idea,
        "All of it" if not idea else "all of it": whole,
        "exercises": exercises,
    }
    said = [
        f"{what}: {routes.clock(minutes)}" for what, minutes in parts.items() if minutes
    ]
    apart = ["A side trip"] if routes.route(name) == "side trip" else []
    return " · ".join([*apart, *said])


def leads_to_promise(app, name):
    """Where the first page says what checking means."""
    return app.builder.get_relative_uri(name, "book/index") + "#what-tested-means"
