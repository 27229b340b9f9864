"""One browser for all tests; pages are opened from files, as a reader does who has downloaded the book.

What a failed test saw is kept in build/screenshots. With the variable SCREENSHOTS, every page is: whole, wide in the
light and as on a phone in the dark.
"""

import os
import pathlib
import re
import shutil
from urllib.parse import unquote, urlsplit

import live
import pytest
import weights
from playwright.sync_api import sync_playwright

from tested_transformer.book.experiments import all_answers
from tested_transformer.book.pretrained import load

ROOT = pathlib.Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
STATIC = ROOT / "book" / "_static"
SCREENSHOTS = ROOT / "build" / "screenshots"
# Pauses take a tenth of their time, in their order: those of a test, and those that a figure makes before it speaks.
HURRY = "{ const wait = setTimeout; window.setTimeout = (f, ms, ...rest) => wait(f, (ms ?? 0) / 10, ...rest); }"
# What a page leaves behind goes. Is the clock that of the browser?
LEFT = "() => { localStorage.clear(); sessionStorage.clear(); return `${Date}`.includes('native'); }"
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed:
        item.has_failed = True
    return report


@pytest.fixture
def pictures():
    """Takes a picture of a whole page, where pictures are wanted."""

    def taken(page, name, how, width=1280):
        if os.environ.get("SCREENSHOTS"):
            page.set_viewport_size({"width": width, "height": 900})
            path = SCREENSHOTS / f"{name.removesuffix('.html').replace('/', '-')}, {how}.jpg"
            page.screenshot(path=path, full_page=True, type="jpeg", quality=60)

    return taken


class Tab:
    """A page that tests have one after the other: to open a new one for each takes longer than much of what they do."""

    def __init__(self, browser, begins, settings):
        self.context = browser.new_context(**settings)
        self.context.add_init_script(begins)
        self.page = self.context.new_page()
        self.page.set_default_timeout(float(os.environ.get("PATIENCE", 60_000)))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self.asked)
        self.page.on("requestfinished", lambda r: self.loaded.append(pathlib.Path(unquote(urlsplit(r.url).path))))

    def asked(self, request):
        if not re.match("file:|data:|blob:", request.url):
            self.complaints.append(request.url)

    def begin(self, complaints, loaded, width, height):
        """As new: on a screen of this size, with the pointer outside."""
        self.complaints, self.loaded = complaints, loaded
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media="screen")
        self.page.mouse.move(-9, -9)

    def end(self):
        """Leaves what was visited, and nothing is stored."""
        assert self.page.evaluate(LEFT), "who changes the clock asks for `own_tab`"
        self.page.goto("about:blank")


@pytest.fixture(scope="session")
def tabs(browser):
    """Those that no test has at present, by their settings."""
    free = {}
    yield free
    for tab in (tab for tabs in free.values() for tab in tabs):
        tab.context.close()


@pytest.fixture
def own_tab():
    """For tests that change their tab for good: its clock, its scripts, what other tabs of theirs have stored."""


@pytest.fixture
def visit(request, browser, tabs, complaints):
    """Opens a page of the built book, or any other file; runs a script `before` its own."""
    taken = []

    def visited(path, width=1280, height=900, loaded=None, hurry=False, before="", **settings):
        free = tabs.setdefault(f"{hurry} {sorted(settings.items())}", [])
        own = before or "own_tab" in request.fixturenames
        tab = Tab(browser, HURRY * hurry + before, settings) if own or not free else free.pop()
        taken.append((tab, None if own else free))
        tab.begin(complaints, [] if loaded is None else loaded, width, height)
        tab.page.goto((HTML / path).as_uri(), wait_until="load")
        return tab.page

    yield visited
    for n, (tab, free) in enumerate(taken):
        if failed := getattr(request.node, "has_failed", False):
            name = re.sub(r"[^\w.-]+", "-", request.node.name)
            tab.page.screenshot(path=SCREENSHOTS / "failed" / f"{name}-{n}.png")
        if free is None or failed:
            tab.context.close()
        else:
            tab.end()
            free.append(tab)
    assert complaints == []


@pytest.fixture
def stored(own_tab):
    """Waits until what a page stored has arrived where other pages read it: Chromium brings it there by itself.

    A page that was opened too early may never hear of it, so each time a new one asks.
    """

    def waited(page, **item):
        [(key, value)] = item.items()
        assert page.evaluate("key => localStorage.getItem(key)", key) == value
        for _ in range(20):
            other = page.context.new_page()
            other.goto(page.url)
            found = other.evaluate("key => localStorage.getItem(key)", key)
            other.close()
            if found == value:
                return
        raise AssertionError(f"what was stored ({key}={value}) has not arrived")

    return waited


@pytest.fixture
def show(visit, tmp_path):
    """Opens a page that holds one interactive figure and nothing else, with the translator's weights beside it."""

    def shown(figure, weighted=True, **settings):
        links = {".js": '<script src="{}" defer></script>', ".css": '<link rel="stylesheet" href="{}">'}
        (tmp_path / "figures").mkdir(exist_ok=True)
        names = live.files([figure.name])
        for name in names:
            shutil.copy(STATIC / "figures" / name, tmp_path / "figures")
        if "model.js" in names and weighted:
            (tmp_path / weights.NAME).write_text(weights.script(), encoding="utf-8")
        loads = "".join(links[pathlib.Path(name).suffix].format(f"figures/{name}") for name in names)
        path = tmp_path / "page.html"
        room = "<style>@media (min-width: 992px) { body { margin-inline: 3rem } }</style>"  # what is wide takes of it
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A figure</title>{room}{loads}'
        path.write_text(head + figure._repr_html_(), encoding="utf-8")
        return visit(path, **settings)

    return shown


@pytest.fixture(scope="session")
def told():
    """What the translator writes of each sentence about "it", with its head and without."""
    return all_answers(load())
