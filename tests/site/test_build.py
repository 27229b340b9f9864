"""What the build refuses to hand over."""

import build
import pytest
from guards import ORDER


@pytest.fixture
def book(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "book.css").write_text("")
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')

    def page(body):
        (tmp_path / "page.html").write_text(f'<link rel="stylesheet" href="_static/book.css?v=1">{body}')
        build.anchors.cache_clear()
        return list(build.faults(tmp_path))

    return page


def test_a_page_with_living_links_has_no_faults(book):
    assert book('<a href="other.html#here">x</a> <a href="https://example.org">x</a> <a href="#">x</a>') == []


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ('<a href="gone.html">x</a>', "leads to gone.html, which does not exist"),
        ('<a class="x" href="other.html#gone">x</a>', "no such place"),
        ('<a href="#gone">x</a>', "no such place"),
        ('<img alt="x" src="_images/gone.png">', "does not exist"),
        ('<script src="https://example.org/x.js"></script>', "fetches https://example.org/x.js"),
        ('<img src="https://example.org/x.png">', "fetches"),
        ('<script>const LIBRARY = "https://example.org/x.js";</script>', "names https://example.org/x.js"),
    ],
)
def test_a_dead_link_or_a_request_to_another_host_is_a_fault(book, body, what):
    found = book(body)
    assert len(found) == 1
    assert what in found[0]


def test_a_page_for_each_chapter_is_expected():
    assert [page.stem for page in build.pages()] == ["index", *ORDER]
