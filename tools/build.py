"""Build the book, warnings being errors, and make sure that it is really there."""

import argparse
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from urllib.parse import unquote

import yaml

ROOT = pathlib.Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
# Nearly all that the builder makes it keeps until the end: to look for garbage as often as Python does takes a fifth of
# its time.
RARELY = "import gc; gc.set_threshold(50_000, 20, 100)"
BOOK = (sys.executable, "-c", f"{RARELY}; from jupyter_book.cli.main import main; main()")
ROOM = 50 << 20
"""With less free than that, in bytes, a build may have failed for want of it."""
STRICT = ("--all", "-n", "-W", "--keep-going", "-q")


def contents():
    """The table of contents, the only place where the order stands: each part's caption, and the names of its pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return {part["caption"]: named(part["chapters"]) for part in toc["parts"]}


def named(entries):
    """The files of a list in the table of contents, those below others too."""
    return [name for entry in entries for name in (entry["file"], *named(entry.get("sections", [])))]


def pages():
    """The pages that _toc.yml names, as paths below the built folder."""
    return [HTML / f"{name}.html" for name in ["book/index", *(n for names in contents().values() for n in names)]]


@functools.cache
def anchors(page):
    """All places on a page that a link can lead to."""
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text(encoding="utf-8")))


def faults(folder):
    """What readers would stumble over: dead links, what is fetched from another host, half an emphasis."""
    for page in sorted(page for page in folder.rglob("*.html") if "_static" not in page.parts):
        html = page.read_text(encoding="utf-8")
        name = page.relative_to(folder)
        for url in re.findall(r'<(?:script|img|iframe|link rel="stylesheet")[^>]*?(?:src|href)="(https?:[^"]*)"', html):
            yield f"{name} fetches {url}"
        for url in re.findall(r"<script(?: [^>]*)?>[^<]*?(https?://[^\"'<]*)", html):
            yield f"{name} has a script that names {url}"
        for url in re.findall(r'<(?:a|script|img|link)\b[^>]*?\b(?:src|href)="([^"]*)"', html):
            path, _, anchor = unquote(url).partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if re.match(r"[a-z]+:", url) or (name.name == "404.html" and url.startswith("/")):
                continue
            if not target.exists():
                yield f"{name} leads to {url}, which does not exist"
            elif anchor and target.suffix == ".html" and anchor not in anchors(target):
                yield f"{name} leads to {url}, and there is no such place on that page"
        text = re.sub(r"<(script|style|pre|code|math|svg|textarea)\b.*?</\1>", "", html, flags=re.S)
        for star in re.findall(r".{,30}\*.{,30}", re.sub(r"<[^>]+>", "", text)):
            yield f"{name} shows a star, so an emphasis has no end or no beginning: {star}"


def lost_links(folder, documents):
    """Links of the documents that lead to a page of this book, or a place on it, which is not there."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]
    for path in documents:
        for url in re.findall(re.escape(book) + r"[^\s)>\"]*", path.read_text(encoding="utf-8")):
            name, _, anchor = url.removeprefix(book).partition("#")
            target = folder / (name or "index.html")
            if not target.is_file() or (anchor and anchor not in anchors(target)):
                yield f"{path.name} leads to {url}, which does not exist"


def opened(folder):
    """How many numbers were traced: those that are doors, by what they lead to, and those that cannot be, by why."""
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    claims = [claim for claim in claims if claim["shown as"] != "alt"]
    doors = Counter(claim["kind"] for claim in claims if claim["shown as"] == "door")
    others = Counter(claim["shown as"] for claim in claims if claim["shown as"] != "door")
    said = [", ".join(f"{kind} {n}" for kind, n in found.most_common()) for found in (doors, others)]
    return f"{len(claims)} numbers are traced: {doors.total()} are doors ({said[0]}), {others.total()} not ({said[1]})"


def main():
    """Build; the exit status is 0 only where every page of the table of contents has been written."""
    HTML.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=HTML) as file:  # the builder would tell in many lines that it may write nothing
        file.write(b" ")
    for page in pages():
        page.unlink(missing_ok=True)
    if (static := HTML / "_static").is_file():  # a first build that failed has left a file where the folder should be
        static.unlink()
    quiet = os.environ | {"PYTHONWARNINGS": "ignore"}  # deprecations inside the builder; its own warnings stay errors
    command = [*BOOK, "build", *STRICT, str(ROOT)]
    status = subprocess.run(command, cwd=ROOT, env=quiet, check=False, stdout=subprocess.DEVNULL).returncode
    missing = [str(page.relative_to(ROOT)) for page in pages() if not page.is_file()]
    if status and (room := shutil.disk_usage(HTML).free) < ROOM:
        print(f"The disk is nearly full: {room >> 20} MB are free. Make room, and build again.", file=sys.stderr)
    if missing:
        print(f"not built: {', '.join(missing)}", file=sys.stderr)
    stumbles = [] if status or missing else [*faults(HTML), *lost_links(HTML, sorted(ROOT.glob("*.md")))]
    for fault in stumbles:
        print(fault, file=sys.stderr)
    if status or missing or stumbles:
        return 1
    print(opened(HTML))
    print(f"The book is built: {HTML / 'index.html'}")
    return 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(f"The book cannot be built: {error}")
