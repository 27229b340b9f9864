"""Where links from outside lead: to the headings of the pages. What was there once goes on leading somewhere.

    python tools/anchors.py

adds the headings of today to tests/site/anchors.yml. If one goes, book/anchors.yml says where what it headed is now:
on the same page (`"#with-positions"`) or on another (`positions.ipynb#the-sum`).
"""

import json
import pathlib
import re

import yaml
from docutils import nodes

ROOT = pathlib.Path(__file__).parents[1]
RECORD = ROOT / "tests" / "site" / "anchors.yml"
MOVED = ROOT / "book" / "anchors.yml"
HEAD = "# The headings that links lead to, by page: those of today, and those of before. python tools/anchors.py\n"


def pages(folder=ROOT / "book"):
    """The pages of the book, by name."""
    return {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in (".ipynb", ".md")}


def anchors(path):
    """The headings of a page, as they stand in addresses."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    text = re.sub(r"^ *(`{3,}|:{3,}).*?^ *\1", "", text, flags=re.M | re.S)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)|[`*$]", r"\1", h) for h in re.findall(r"^#{1,6} +(.+)$", text, re.M))
    return {nodes.make_id(heading) for heading in plain} - {""}


def recorded():
    """The headings on record, by page."""
    return yaml.safe_load(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


def moved():
    """The headings that are no more, and where what stood there is now, by page."""
    return (yaml.safe_load(MOVED.read_text(encoding="utf-8")) if MOVED.is_file() else None) or {}


def faults():
    """The addresses that lead nowhere, in words."""
    now = {page: anchors(path) for page, path in pages().items()}
    leads = moved()
    for page, known in recorded().items():
        for anchor in known:
            if anchor not in now.get(page, ()) and anchor not in leads.get(page, ()):
                yield f"{page}#{anchor} is gone, and book/anchors.yml does not say where it went"
    for page, places in leads.items():
        for old, new in places.items():
            there, _, place = new.partition("#")
            target = pathlib.PurePath(there).stem or page
            if page not in now:
                yield f"{page}#{old}: there is no such page that could lead on"
            elif old in now[page]:
                yield f"{page}#{old} has not moved: the page has this heading"
            elif target not in now or (place and place not in now[target]) or not new:
                yield f"{page}#{old} is said to have moved to {new!r}, and there is no such heading"


def main():
    """Add the headings of today to the record."""
    found = {page: set(known) for page, known in recorded().items()}
    for page, path in pages().items():
        found[page] = found.get(page, set()) | anchors(path)
    text = yaml.safe_dump({page: sorted(known) for page, known in sorted(found.items())}, allow_unicode=True)
    RECORD.write_text(HEAD + text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
