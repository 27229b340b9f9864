"""The last touches to the built pages: light pages, names for screen readers."""

import pathlib
import re

from api import Api, Commands, Short, name_chapters
from architecture import svg
from bundle import bundle
from cards import Chapters, Routes, write_thumbnails
from docutils import nodes
from doorways import add_doors
from download import write_file
from drawings import place_drawings
from faces import ask_early, cut_faces
from finding import bring_search, improve_index
from fold import add_folds
from formulas import add_formulas
from front import Checked, show_badge
from icons import cut_icons
from languages import mark_languages
from live import bring_scripts
from numerals import typeset_page
from sheet import write_sheet
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from styles import cut_styles, write_colours
from sweep import sweep
from symbols import colour_codes, colour_formulas
from terms import explain_terms, link_terms
from way import lead_on, show_way
from weights import write_translator

LOGGER = logging.getLogger(__name__)

# What the theme puts on every page and no page needs: live cells by way of another host, a second set of icons, scripts
# for tabs and for boxes that fold, and settings that say what goes without saying.
UNUSED = [
    r"<script[^>]*fontawesome\.js[^>]*></script>",
    r"<script[^>]*sphinx-thebe\.js[^>]*></script>",
    r"<link[^>]*sphinx-thebe\.css[^>]*>",
    r"<script>const THEBE_JS_URL.*?</script>",
    r'<script type="text/x-thebe-config">.*?</script>',
    r"<script>kernelName = .*?</script>",
    r"<script[^>]*(?:design-tabs|togglebutton)\.js[^>]*></script>",
    r"<script>(?:let toggle|var togglebutton|DOCUMENTATION_OPTIONS\.(?:pagename|search_as_you_type) = )[^<]*</script>",
]
# They would be missed here.
MISSED = re.compile(
    r'class="(?:[^"]* )?(?:sd-tab-[^"]*|toggle|admonition [^"]*\bdropdown)[ "]'
)
# The index of the search is asked on the page of the search, and nowhere else.
INDEX = re.compile(
    r'\s*<script src="[^"]*(searchtools|language_data|searchindex)\.js"></script>'
)

# Where the name that a screen reader hears is not the text that is seen, or a role does not fit its element.
NAMES = [
    # In the exercises it is a solution, and before them a long table or some scenery.
    (
        r'(?s)(Show|Hide) code cell content(?=.*id="exercises")',
        r"\1 the code and its result",
    ),
    (r"(Show|Hide) code cell content", r"\1 the solution"),
    (r"(Show|Hide) code cell outputs?", r"\1 what it printed"),
    (
        r"<html>\s*<head>(?=\s*<meta http-equiv)",
        '<html lang="en">\n<head>\n<link rel="icon" href="_static/favicon.svg">',
    ),
    (r'(<button class="btn search-button-field[^>]*?) aria-label="Search"', r"\1"),
    (r"<summary aria-label=\"Toggle hidden content\">", "<summary>"),
    (
        r'<summary>(?=<span class="toctree-toggle")',
        '<summary aria-label="Pages below">',
    ),
    (r'(<i class="theme-switch[^>]*?) title="[^"]*"', r'\1 aria-hidden="true"'),
    (r'<div role="list" class="citation-list">', '<div class="citation-list">'),
    (r' role="doc-biblioentry"', ""),
    (
        r'<div id="pst-primary-sidebar" class="',
        r'<div id="pst-primary-sidebar" role="region" aria-label="Book" class="',
    ),
]

# What would move when the page is already seen: a late script chooses the theme, and the list of the sections comes
# after the text.
EARLY = [
    (
        r'localStorage\.getItem\("theme"\) \|\| "auto"',
        'localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")',
    ),
    (
        r'(?s)<div class="bd-content">(?=.*class="bd-sidebar-secondary)',
        '<div class="bd-content beside">',
    ),
]

# The theme measures which boxes can be scrolled, those in shut folds too, so that a browser lays out every fold before
# a page is there. book.js measures what is seen.
MEASURING = re.compile(
    r',"complete"===document\.readyState\?(\w+)\(\):window\.addEventListener\("load",\1\)'
)

# A space in code needs no element of its own, nor does a bracket or a comma, which looks like the code around it, nor
# the place before the first line: a page of much code has thousands of them.
PLAIN = re.compile(r'<span class="[wp]">([^<]*)</span>|(?<=<pre>)<span></span>(?!\n)')

FIRST = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="_static/favicon.svg">
<script>location.replace("{page}.html" + location.search + location.hash)</script>
<meta http-equiv="refresh" content="0; url={page}.html"></head>
<body><main><h1>{title}</h1><p><a href="{page}.html">To the first page</a></p></main></body>
</html>
"""


class Architecture(SphinxDirective):
    """The directive `architecture`: the picture, with links to the chapters of the table of contents."""

    def run(self):
        """The picture as a raw node."""
        here = self.env.docname
        chapters = {name.rpartition("/")[2]: name for name in self.env.found_docs}
        picture = svg(
            chapters,
            lambda name: self.env.app.builder.get_relative_uri(here, chapters[name]),
        )
        return [nodes.raw("", picture, format="html")]


def lead_to_first_page(app, error):
    """Write index.html at the top, which leads to the first page."""
    if not error and app.builder.format == "html":
        html = FIRST.format(title=app.config.html_title, page=app.config.root_doc)
        pathlib.Path(app.outdir, "index.html").write_text(html, encoding="utf-8")


def touch_up(app, error):
    """Take out what no page needs and put right what a screen reader would stumble over."""
    if error or app.builder.format != "html":
        return
    for page in pathlib.Path(app.outdir).rglob("*.html"):
        html = before = page.read_text(encoding="utf-8")
        if found := MISSED.search(html):
            LOGGER.warning("%s has %s, whose script UNUSED takes away", page, found[0])
        for pattern in UNUSED:
            html = re.sub(pattern, "", html, flags=re.S)
        if page.name != "search.html":
            html = INDEX.sub("", html)
        for pattern, better in (*EARLY, *NAMES):
            html = re.sub(pattern, better, html)
        html = PLAIN.sub(lambda found: found[1] or "", html)
        if html != before:
            page.write_text(html, encoding="utf-8")
    script = pathlib.Path(app.outdir, "_static", "scripts", "pydata-sphinx-theme.js")
    text = script.read_text(encoding="utf-8")
    script.write_text(MEASURING.sub("", text), encoding="utf-8")


def setup(app):
    """Register the touches with Sphinx."""
    app.add_directive("api", Api)
    app.add_directive("architecture", Architecture)
    app.add_directive("chapters", Chapters)
    app.add_directive("commands", Commands)
    app.add_directive("checked", Checked)
    app.add_directive("routes", Routes)
    app.add_directive("short", Short)
    add_doors(app)
    add_folds(app)
    app.connect("doctree-resolved", typeset_page)
    add_formulas(app)
    app.connect("doctree-resolved", colour_formulas)
    app.connect("doctree-resolved", link_terms)
    app.connect("doctree-resolved", name_chapters)
    app.connect("doctree-resolved", place_drawings)
    app.connect("doctree-resolved", show_badge)
    app.connect("doctree-resolved", show_way)
    app.connect("html-page-context", bring_scripts)
    app.connect("html-page-context", bring_search)
    app.connect("html-page-context", colour_codes)
    app.connect("html-page-context", explain_terms)
    app.connect("html-page-context", lead_on)
    app.connect("html-page-context", mark_languages)
    app.connect("build-finished", lead_to_first_page, priority=100)
    app.connect("build-finished", improve_index)
    app.connect("build-finished", touch_up)
    app.connect("build-finished", write_thumbnails)
    app.connect("build-finished", write_translator)
    app.connect("build-finished", write_file)
    app.connect("build-finished", write_sheet)
    app.connect("build-finished", write_colours)
    app.connect("html-page-context", ask_early)
    app.connect("build-finished", cut_faces, priority=590)
    app.connect("build-finished", cut_icons, priority=600)  # when the pages are done
    app.connect(
        "build-finished", cut_styles, priority=610
    )  # and its characters are written out
    app.connect("build-finished", bundle, priority=615)
    app.connect("build-finished", sweep, priority=620)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
