"""Pages ask for one style and two scripts, in which all is that they asked for before."""

import re
import subprocess
import types

import bundle
import pytest
from node import NODE

LINK = '<link href="{0}_static/{1}" rel="stylesheet" />'
SCRIPT = '<script src="{0}_static/{1}"></script>'
LATE = '<script defer="defer" src="{0}_static/{1}"></script>'
FILES = {
    "styles/theme.css": '@charset "utf-8";@import "../basic.css";a{src:url(../fonts/a.woff2)}',
    "basic.css": "b{background:url(\"file.png\"),url('data:image/svg+xml;x'),url(#tip)}",
    "figures/figures.css": "f{}",
    "book.css": "o{}",
    "doctools.js": '"use strict";\nrun("doctools")',
    "book.js": '(() => run("book"))()\n// the end',
    "figures/common.js": '(() => run("common"))()',
    "figures/walk.js": '(() => run("walk"))()',
    "searchtools.js": 'run("search")',
}


def page(up, *parts):
    return "<head>" + "\n".join(form.format(up, name) for form, name in parts) + "</head><body>text</body>"


ASKED = {
    "book/words.html": page(
        "../", (LINK, "styles/theme.css?digest=1"), (LINK, "book.css?v=1"), (SCRIPT, "doctools.js"), (LATE, "book.js")
    ),
    "book/walk.html": page(
        "../",
        (LINK, "styles/theme.css?digest=1"),
        (LINK, "figures/figures.css"),
        (LINK, "book.css?v=1"),
        (LATE, "figures/common.js"),
        (LATE, "figures/walk.js"),
        (LATE, "book.js"),
        (SCRIPT, "doctools.js"),
    ),
    "404.html": page("/book-of/", (LINK, "styles/theme.css"), (SCRIPT, "doctools.js"), (LATE, "book.js")),
    "search.html": page("", (LINK, "book.css"), (LATE, "book.js"), (SCRIPT, "doctools.js"), (SCRIPT, "searchtools.js"))
    + '<script src="searchindex.js"></script>',
    "index.html": "<p>no style</p>",
    "_static/macros.html": LINK.format("", "styles/theme.css', 1) }}"),
}


@pytest.fixture
def book(tmp_path):
    for name, text in ({f"_static/{name}": text for name, text in FILES.items()} | ASKED).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    bundle.bundle(types.SimpleNamespace(outdir=tmp_path, builder=types.SimpleNamespace(format="html")), None)
    return tmp_path


def asked(text):
    """What a page asks for, without the marks of the versions."""
    assert set(re.findall(r"\?(\w+)=", text)) <= {"v"}
    return [found.partition("?")[0] for found in re.findall(r'(?:src|href)="([^"]*)"', text)]


@pytest.mark.parametrize(
    ("name", "home", "own"),
    [
        ("book/words.html", "../_static/", []),
        ("book/walk.html", "../_static/", ["pages/common-walk.js"]),
        ("404.html", "/book-of/_static/", []),
        ("search.html", "_static/", ["pages/searchtools.js"]),
    ],
)
def test_a_page_asks_for_a_style_and_a_script_and_one_of_its_own(book, name, home, own):
    text = (book / name).read_text(encoding="utf-8")
    bundles = [home + file for file in ("shared.css", "shared.js", *own)]
    assert asked(text) == bundles + ["searchindex.js"] * (name == "search.html")
    assert text.count("<script defer ") == text.count("<script"), "they run in their order, when the page is there"
    assert "<body>text</body>" in text


def test_the_style_has_all_in_its_order_and_its_addresses_lead_where_they_led(book):
    style = (book / "_static" / "shared.css").read_text(encoding="utf-8")
    rules = ["b{background:url(file.png),url('data:image/svg+xml;x'),url(#tip)}", "a{src:url(fonts/a.woff2)}"]
    assert style.split("\n") == ["".join(rules), "f{}", "o{}"]


def test_each_script_runs_after_those_that_it_followed(book):
    """What is deferred runs last; a comment or a missing semicolon at the end of a script harms no other."""
    for name, ran in {"shared": ["doctools", "book"], "pages/common-walk": ["common", "walk"]}.items():
        text = (book / "_static" / f"{name}.js").read_text(encoding="utf-8")
        program = f"const ran = [], run = (name) => ran.push(name);\n{text}\nconsole.log(ran.join(' '))"
        done = subprocess.run([NODE, "-"], input=program, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.split() == ran


def test_pages_without_styles_and_the_templates_of_the_theme_are_left_alone(book):
    for name in ("index.html", "_static/macros.html"):
        assert (book / name).read_text(encoding="utf-8") == ASKED[name]
