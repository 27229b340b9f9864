"""Every page of the built book, from a file: both themes, wide pages and phones, keyboard, no scripts."""

import gzip
import importlib.resources

import build
import pytest

NAMES = [path.relative_to(build.HTML).as_posix() for path in build.pages()]
each = pytest.mark.parametrize("name", NAMES)
ATTENTION = "book/attention.html"

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = "axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].target.join(' ')]))"


@each
def test_a_page_is_sound_in_every_setting(visit, name):
    """No error, no outside request (by `visit`), nothing too wide down to a zoom of 400 %, nothing that axe finds."""
    page = visit(name, mathematics=True, reduced_motion="reduce", color_scheme="light")
    page.evaluate("() => MathJax.startup?.promise")
    page.evaluate((importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(SIDEWAYS) <= 0, f"scrolls sideways at {width} px"
        for theme in ("light", "dark"):
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            assert page.evaluate(AXE) == [], f"{width} px, {theme}"
    page.set_viewport_size({"width": 320, "height": 256})  # 1280 × 1024 at 400 %
    assert page.evaluate(SIDEWAYS) <= 0, "scrolls sideways at 400 %"


@each
def test_a_page_weighs_less_than_a_megabyte(visit, name):
    """Everything that it loads, packed as servers pack it; pictures are loaded when they come into view."""
    loaded = []
    page = visit(name, mathematics=True, loaded=loaded)
    page.evaluate("() => MathJax.startup?.promise")
    assert sum(packed(path) for path in set(loaded)) < 1_000_000


def packed(path):
    data = path.read_bytes()
    return len(data) if path.suffix in (".png", ".woff", ".woff2") else len(gzip.compress(data, 6))
