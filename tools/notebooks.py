"""Re-run chapters from a clean kernel and write them in normal form; or say what is not normal.

    python tools/notebooks.py run [book/attention.ipynb …]     all chapters if none is named
    python tools/notebooks.py check [book/attention.ipynb …]

Normal form: run from top to bottom (execution counts 1, 2, 3 …), no errors, nothing on stderr, only what is needed as
metadata, solutions folded, one way to write the JSON. A chapter that did not change gives a file that did not change.
"""

import json
import os
import pathlib
import re
import sys
from collections import Counter

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

BOOK = pathlib.Path(__file__).parents[1] / "book"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
ANSI = re.compile(r"\x1b\[[\d;]*m")  # colours of a terminal
# What these tags fold on the page is folded in JupyterLab and Colab too.
FOLDED = {
    "hide-cell": {"cellView": "form", "jupyter": {"outputs_hidden": True, "source_hidden": True}},
    "hide-output": {"jupyter": {"outputs_hidden": True}},
}


def chapters():
    """All notebooks of the book, in alphabetical order."""
    return sorted(BOOK.glob("*.ipynb"))


def chapter(name):
    """The notebook of a chapter: attention, attention.ipynb or book/attention.ipynb."""
    path = pathlib.Path(name)
    for found in (path, BOOK / f"{path.name.removesuffix('.ipynb')}.ipynb"):
        if found.is_file() and found.suffix == ".ipynb":
            return found
    raise FileNotFoundError(f"{name} is no chapter: name a notebook, as in book/attention.ipynb")


def normal(notebook):
    """The notebook as text in normal form."""
    cells = []
    for cell in notebook["cells"]:
        kept = {key: cell["metadata"][key] for key in ("doors", "mystnb", "tags") if cell["metadata"].get(key)}
        for tag in kept.get("tags", []):
            kept |= FOLDED.get(tag, {})
        new = {"cell_type": cell["cell_type"], "id": cell["id"], "metadata": kept, "source": _lines(cell["source"])}
        if cell["cell_type"] == "code":
            new["execution_count"] = cell["execution_count"]
            new["outputs"] = [normal_output(output) for output in cell["outputs"]]
        cells.append(dict(sorted(new.items())))
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def normal_output(output):
    """One output of a cell as it is stored."""
    new = {key: value for key, value in output.items() if key != "metadata"}
    if "data" in new:
        new["data"] = {mime: _lines(value) for mime, value in new["data"].items()}
        new["metadata"] = output.get("metadata", {})
    if "text" in new:
        new["text"] = _lines(new["text"])
    return dict(sorted(new.items()))


def _lines(text):
    """Text as the notebook format stores it: a list of lines with their ends."""
    return ("".join(text) if isinstance(text, list) else text).splitlines(keepends=True)


def faults(path):
    """What keeps a notebook from normal form, in words; an empty list where nothing does."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    found, count = [], 0
    for i, cell in enumerate(notebook["cells"]):
        where, source = f"{path.name}, cell {i}", "".join(cell["source"])
        if not source.strip():
            found.append(f"{where}: empty")
        if cell["cell_type"] != "code":
            continue
        count += 1
        if cell["execution_count"] != count:
            found.append(f"{where}: execution count {cell['execution_count']}, but run from the top it is {count}")
        if source.rstrip().endswith(";"):
            found.append(f"{where}: ends with a semicolon, which hides nothing when the notebook is checked")
        tags = cell["metadata"].get("tags", [])
        if any(tag.startswith(("nbval", "pytest")) for tag in tags) or re.search(r"#\s*(NBVAL|PYTEST)_", source):
            found.append(f"{where}: excused from comparison; mend the cell")
        for output in cell["outputs"]:
            if output["output_type"] == "error" and "raises-exception" not in tags:
                found.append(f"{where}: stores the error {output['ename']}: {output['evalue']}")
            if output.get("name") == "stderr":
                found.append(f"{where}: writes to stderr")
    twice = [name for name, n in Counter(cell["id"] for cell in notebook["cells"]).items() if n > 1]
    found += [f"{path.name}: two cells have the id {name}" for name in twice]
    if not found and text != normal(notebook):
        found.append(f"{path.name}: not as make fix CHAPTERS=book/{path.name} writes it")
    return found


def executed(path, environment=None):
    """One chapter, run from a clean kernel with these environment variables, or ours; an error of a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    settings = {"resources": {"metadata": {"path": str(BOOK)}}, "extra_arguments": ["--log-level=ERROR"]}
    client = NotebookClient(notebook, timeout=300, record_timing=False, coalesce_streams=True, **settings)
    return client.execute(env=environment or dict(os.environ))


def run(path):
    """Run one chapter from a clean kernel and write it in normal form, if it ran without an error."""
    path.write_text(normal(executed(path)), encoding="utf-8", newline="\n")


def main(arguments):
    """The command line; returns its exit status."""
    if not arguments or arguments[0] not in ("run", "check"):
        print(__doc__)
        return 2
    try:
        paths = [*map(chapter, arguments[1:])] or chapters()
    except FileNotFoundError as error:
        print(error)
        return 2
    bad = 0
    for path in paths:
        if arguments[0] == "run":
            print(f"running {path.name}", flush=True)
            try:
                run(path)
            except CellExecutionError as error:
                print(f"{path.name}: nothing is written, because a cell fails:\n{ANSI.sub('', str(error))}")
                bad += 1
                continue
            except KeyboardInterrupt:
                print(f"{path.name}: stopped, and nothing is written")
                return 130
        for fault in faults(path):
            print(fault)
            bad += 1
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
