"""One style for the whole book, one script for what every page runs, and one for what a page runs besides.

Twelve styles and fourteen scripts would compete with the fonts for the first second.
"""

import hashlib
import os
import pathlib
import re

# A style or a script of a page: what leads to our static files, and the name there.
STYLE = re.compile(
    r'\s*<link\b(?=[^>]*\brel="stylesheet")[^>]*\bhref="([^"]*_static/)([^"?]+)[^"]*"[^>]*>'
)
SCRIPT = re.compile(
    r'\s*<script\b([^>]*)\bsrc="([^"]*_static/)([^"?]+)[^"]*"[^>]*></script>'
)
PRELOAD = re.compile(r'\s*<link rel="preload" as="script"[^>]*>')
# A script that lies elsewhere: the index of the search. It waits for the others.
OTHER = re.compile(r'<script (?=src="[^"]*searchindex)')
CHARSET = re.compile(r'@charset "[^"]*";')
# What is said to those who read the source: comments, and lines that are set in.
SAID = re.compile(r"/\*.*?\*/|\s*\n\s*", re.S)
IMPORT = re.compile(r'@import "([^":]+)";')
URL = re.compile(r"""url\((["']?)(?!data:|https?:|[#/])([^)"']+)\1\)""")


def styles(page):
    """The styles that a page asks for, by their names among our static files."""
    return [name for _, name in STYLE.findall(page)]


def scripts(page):
    """The scripts that a page asks for, in the order in which they run: what is deferred comes after the rest."""
    found = SCRIPT.findall(page)
    return [
        name
        for late in (False, True)
        for how, _, name in found
        if ("defer" in how) == late
    ]


def merged(lists):
    """One list with all that is in some, in their order, which the longest know best."""
    whole = []
    for names in sorted(lists, key=len, reverse=True):
        place = 0
        for name in names:
            if name not in whole:
                whole.insert(place, name)
            place = whole.index(name) + 1
    return whole


def style(static, name):
    """A style as it is said from the top of the static files, with what it imports."""
    path = static / name

    def here(address):
        return os.path.relpath(path.parent / address, static).replace(os.sep, "/")

    text = CHARSET.sub("", path.read_text(encoding="utf-8"))
    text = SAID.sub(lambda m: "\n" if "\n" in m[0] else "", text)
    text = URL.sub(lambda m: f"url({here(m[2])})", text)
    return IMPORT.sub(lambda m: style(static, here(m[1])), text)


def script(static, names):
    """Scripts, one after the other."""
    return ";\n".join(f"{(static / name).read_text('utf-8')}\n" for name in names)


def written(static, name, text):
    """Write a file, and say its address with a mark that changes when it does."""
    path = static / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return f"{name}?v={hashlib.sha256(text.encode()).hexdigest()[:8]}"


def shortened(page, shared, own):
    """A page that asks for the shared style and script, and for one of its own where it has any."""
    home = STYLE.search(page)[1]
    links = "".join(
        f'\n<link rel="stylesheet" href="{home}{address}">'
        if ".css?" in address
        else f'\n<script defer src="{home}{address}"></script>'
        for address in (*shared, *own)
    )
    page = OTHER.sub("<script defer ", SCRIPT.sub("", PRELOAD.sub("", page)))
    return STYLE.sub(lambda m, first=[links]: first.pop() if first else "", page)


def bundle(app, error):
    """Bundle what the built pages ask for."""
    if error or app.builder.format != "html":
        return
    out = pathlib.Path(app.outdir)
    static = out / "_static"
    pages = {
        path: text
        for path in out.rglob("*.html")
        if static not in path.parents
        and STYLE.search(text := path.read_text(encoding="utf-8"))
    }
    asked = {path: scripts(text) for path, text in pages.items()}
    every = set.intersection(*map(set, asked.values()))
    looks = merged(styles(text) for text in pages.values())
    common = merged([n for n in names if n in every] for names in asked.values())
    shared = [
        written(static, "shared.css", "\n".join(style(static, n) for n in looks)),
        written(static, "shared.js", script(static, common)),
    ]
    for path, text in pages.items():
        names = [name for name in asked[path] if name not in every]
        # In a folder, as the scripts of figures are: they ask for what lies above it.
        name = f"pages/{'-'.join(pathlib.Path(name).stem for name in names)}.js"
        own = [written(static, name, script(static, names))] if names else []
        path.write_text(shortened(text, shared, own), encoding="utf-8")
