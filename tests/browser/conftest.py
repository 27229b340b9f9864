"""One browser for all tests; pages are opened from files, as a reader does who has downloaded the book."""

import os
import pathlib
import re
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
STATIC = ROOT / "book" / "_static"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def complaints():
    """What went wrong on the pages of a test: errors, dialogs, requests to other hosts. It must be empty in the end."""
    return []


@pytest.fixture
def visit(browser, complaints):
    """Opens a page of the built book, or any other file."""
    contexts = []

    def visited(path, width=1280, height=900, mathematics=False, loaded=None, **settings):
        context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(float(os.environ.get("PATIENCE", 60_000)))
        if not mathematics:  # the formulas of a chapter take seconds to set, and no figure needs them
            page.route("**/tex-chtml.js*", lambda route: route.fulfill(body="", content_type="text/javascript"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda r: None if re.match("file:|data:|blob:", r.url) else complaints.append(r.url))
        if loaded is not None:
            page.on("requestfinished", lambda r: loaded.append(pathlib.Path(unquote(urlsplit(r.url).path))))
        page.goto((HTML / path).as_uri(), wait_until="load")
        return page

    yield visited
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def show(visit, tmp_path):
    """Opens a page that holds one interactive figure and nothing else."""

    def shown(figure, **settings):
        files = ("common.js", f"{figure.name}.js")
        scripts = "".join(f'<script src="{(STATIC / "figures" / f).as_uri()}" defer></script>' for f in files)
        style = f'<link rel="stylesheet" href="{(STATIC / "figures" / "figures.css").as_uri()}">'
        path = tmp_path / "page.html"
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A figure</title>{style}{scripts}'
        path.write_text(head + figure._repr_html_(), encoding="utf-8")
        return visit(path, **settings)

    return shown
