"""Files that nobody asks for leave the built book, and no other does."""

import types

import pytest
import sweep

PAGE = """<link rel="stylesheet" href="../_static/styles/all.css?v=1"><script src="../_static/all.js"></script>
<img src="../_images/a.png"><a href="../_sources/book/page.ipynb">x</a>"""
FILES = {
    "book/page.html": PAGE,
    "_static/styles/all.css": "a{src:url(../fonts/a.woff2) format('woff2'),url(../fonts/a.ttf) format('truetype')}\n"
    "/*# sourceMappingURL=all.css.map*/",
    "_static/all.js": "/*! see all.js.LICENSE.txt */ load('later.js');\n//# sourceMappingURL=all.js.map",
    "_static/later.js": f"load('{'A' * 10**6}', 'last.js')",  # weights: a search that begins at each letter never ends
    "_static/last.js": "1",
    "_static/all.js.LICENSE.txt": "MIT",
    "_static/fonts/a.woff2": "x",
    "_images/a.png": "x",
    "_sources/book/page.ipynb": "{}",
    "objects.inv": "x",
}
NEEDLESS = {
    "_static/all.js.map": "x",
    "_static/styles/all.css.map": "x",
    "_static/fonts/a.ttf": "x",
    "_static/locales/de/theme.mo": "x",
    "_static/macros.html": '<script src="_static/alone.js"></script>',
    "_static/alone.js": "1",
    "_images/b.png": "x",
    "_static/other/a.png.css": "a{}",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in (FILES | NEEDLESS).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def left(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_a_page_asks_for_and_what_that_asks_for_stays(folder):
    app = types.SimpleNamespace(outdir=folder, builder=types.SimpleNamespace(format="html"))
    sweep.sweep(app, ValueError("the build failed"))
    assert left(folder) == FILES.keys() | NEEDLESS.keys()
    sweep.sweep(app, None)
    assert left(folder) == FILES.keys()
    assert not (folder / "_static" / "locales").exists(), "empty folders go too"
    assert (folder / "_static/styles/all.css").read_text() == "a{src:url(../fonts/a.woff2) format('woff2')}"
    assert "sourceMappingURL" not in (folder / "_static/all.js").read_text()
