"""What the build refuses to hand over."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import build
import pytest
import yaml
from guards import ORDER, ROOT


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
    assert book("<p>An <em>emphasis</em>, and <code>2 * 3</code></p>") == []


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
        ("<p>**Guess first: how <em>many</em>?</p>", "emphasis has no end or no beginning: **Guess first"),
    ],
)
def test_a_dead_link_a_request_to_another_host_or_half_an_emphasis_is_a_fault(book, body, what):
    found = book(body)
    assert len(found) == 1
    assert what in found[0]


def test_a_link_of_a_document_to_a_page_that_will_be_published_must_lead_somewhere(book, tmp_path):
    book("")
    url = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]
    links = [url, f"{url}other.html", f"{url}other.html#here", f"{url}gone.html", f"{url}other.html#gone"]
    (tmp_path / "index.html").write_text("")
    (tmp_path / "README.md").write_text("".join(f"[x]({link}) and <{link}>\n" for link in links))
    found = list(build.lost_links(tmp_path, [tmp_path / "README.md"]))
    assert found == [f"README.md leads to {link}, which does not exist" for link in links[3:] for _ in "()"]


def test_the_build_counts_the_doors_and_says_what_is_none(tmp_path):
    shown = {"door": ["printed", "printed", "in code"], "heading": ["printed"], "alt": ["printed"]}
    claims = [{"shown as": how, "kind": kind} for how, kinds in shown.items() for kind in kinds]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    said = "4 numbers are traced: 3 are doors (printed 2, in code 1), 1 not (heading 1)"
    assert build.opened(tmp_path) == said


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """Where a build would begin, with a builder that fails."""
    monkeypatch.setattr(build, "HTML", tmp_path / "_build" / "html")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "pages", lambda: [build.HTML / "index.html"])
    monkeypatch.setattr(subprocess, "run", lambda *given, **more: subprocess.CompletedProcess(given, 2))
    return tmp_path


@pytest.mark.parametrize("free", [0, 49 << 20, 50 << 20])
def test_a_build_that_failed_on_a_full_disk_says_so_and_another_does_not(empty, monkeypatch, capsys, free):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert build.main() == 1
    told = capsys.readouterr().err
    assert ("The disk is nearly full: " in told) == (free < 50 << 20)
    assert "not built: _build/html/index.html" in told
    monkeypatch.setattr(subprocess, "run", lambda *given, **more: subprocess.CompletedProcess(given, 0))
    assert build.main() == 1
    assert "The disk" not in capsys.readouterr().err, "the builder found nothing wrong"


@pytest.mark.parametrize("place", ["_build", "_build/html"])
def test_where_nothing_can_be_written_a_sentence_says_so(empty, place):
    """A file in the place of the folder: who runs this may be root, who may write everywhere."""
    path = empty / "tools" / "build.py"
    path.parent.mkdir()
    path.write_text((ROOT / "tools" / "build.py").read_text(encoding="utf-8"), encoding="utf-8")
    (empty / place).parent.mkdir(exist_ok=True)
    (empty / place).write_text("")
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        told = run.communicate()
    assert (run.returncode, told[0], told[1].count("\n")) == (1, "", 1)
    assert re.match(rf"The book cannot be built: \[Errno \d+\] .*{re.escape(str(empty / place))}", told[1])


@pytest.mark.parametrize("error", [errno.EROFS, errno.ENOSPC], ids=os.strerror)
def test_a_disk_that_takes_nothing_is_noticed_before_the_builder_starts(empty, monkeypatch, error):
    def refuses(**where):
        raise OSError(error, os.strerror(error), str(where["dir"]))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuses)
    monkeypatch.setattr(subprocess, "run", lambda *given, **more: pytest.fail("it was started"))
    with pytest.raises(OSError, match=rf"{os.strerror(error)}: '.*html'"):
        build.main()


def test_a_page_for_each_chapter_is_expected():
    assert [page.stem for page in build.pages()] == ["index", *ORDER]
