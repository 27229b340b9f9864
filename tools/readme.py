"""Write the list of chapters in the README, from the table of contents and the first lines of each page.

python tools/readme.py
"""

import json
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).parents[1]
README = ROOT / "README.md"
START, END = "<!-- chapters: written by make fix -->", "<!-- end of the chapters -->"


def headline(name):
    """Title and question of a page: its first heading, and the line in italics below, if there is one."""
    path = ROOT / f"{name}.ipynb"
    if path.is_file():
        text = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    else:
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    title, question = re.match(r"# (.+)\n*(?:\*(.+)\*$)?", text, re.M).groups()
    return title, question or ""


def chapters():
    """The list as Markdown: a heading for each part, a line for each page."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    address = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]
    lines = []
    for part in toc["parts"]:
        lines += ["", f"**{part['caption']}**", ""]
        for chapter in part["chapters"]:
            title, question = headline(chapter["file"])
            lines.append(f"- [{title}]({address}{chapter['file']}.html)" + (f": {question}" if question else ""))
    return "\n".join(lines) + "\n"


def written(readme):
    """The README with the list as it should be now."""
    before, _, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md must have the lines {START!r} and {END!r}")
    return f"{before}{START}\n{chapters()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
