"""Links that lead out of the book, tried against a host of our own."""

import http.server
import threading
from collections import Counter

import links
import pytest
from guards import ROOT

ASKED = Counter()


class Host(http.server.BaseHTTPRequestHandler):
    """Answers by the name of the page. `flaky` and `busy` are well the third time."""

    def do_GET(self):
        name = self.path[1:]
        ASKED[name] += 1
        if name == "flaky" and ASKED[name] < 3:
            return self.answer(503)
        if name == "busy" and ASKED[name] < 3:
            return self.answer(429, **{"Retry-After": "1"})
        if name == "moved":
            return self.answer(301, Location="/alive")
        return self.answer(200 if name in ("alive", "flaky", "busy", "anchors") else 404)

    do_HEAD = do_GET

    def answer(self, status, **headers):
        self.send_response(status)
        page = b'<h1 id="here">A page</h1>'
        for name, value in ({"Content-Type": "text/html", "Content-Length": str(len(page))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page)

    def log_message(self, *_):
        pass


@pytest.fixture
def host(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    ASKED.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def tried(root, host, *names, **more):
    (root / "README.md").write_text("".join(f"[{name}]({host}/{name}).\n" for name in names), encoding="utf-8")
    return links.main(root, wait=0, **more)


def test_living_links_are_well_also_if_they_lead_on(tmp_path, host, capfd):
    assert tried(tmp_path, host, "alive", "moved", "anchors#here") == 0
    assert capfd.readouterr() == ("3 of 3 links lead somewhere\n", "")


def test_a_dead_link_is_named_with_its_file(tmp_path, host, capfd):
    assert tried(tmp_path, host, "alive", "dead", rounds=1) == 1
    told = capfd.readouterr()
    assert told.out == "1 of 2 links lead somewhere\n"
    assert told.err.startswith(f"README.md: {host}/dead: 404 Client Error")


def test_an_anchor_that_the_page_does_not_have_is_dead(tmp_path, host, capfd):
    assert tried(tmp_path, host, "anchors#there", rounds=1) == 1
    assert "Anchor 'there' not found" in capfd.readouterr().err


def test_a_host_that_is_down_for_a_while_is_not_dead(tmp_path, host):
    assert tried(tmp_path, host, "alive", "flaky", linkcheck_retries=1) == 0


def test_without_a_network_it_does_not_wait(tmp_path, host, monkeypatch):
    monkeypatch.setattr(links.time, "sleep", lambda seconds: pytest.fail("it waits"))
    assert tried(tmp_path, host, "dead", linkcheck_retries=1) == 1


def test_a_host_that_is_busy_is_asked_again(tmp_path, host):
    assert tried(tmp_path, host, "busy", rounds=1) == 0
    assert ASKED["busy"] == 3


def test_a_link_is_found_wherever_readers_meet_it(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "src" / "package").mkdir(parents=True)
    (tmp_path / "README.md").write_text("See <https://a.org/x>, [b](https://b.org/#y). git+https://no.org", "utf-8")
    (tmp_path / "CITATION.cff").write_text("url: https://a.org/x\n", encoding="utf-8")
    (tmp_path / "book" / "c.ipynb").write_text('{"source": ["https://c.org\\n", "(https://d.org)"]}', "utf-8")
    (tmp_path / "book" / "r.bib").write_text("note = {arXiv:1706.03762}, doi = {10.1/x},", encoding="utf-8")
    (tmp_path / "src" / "package" / "e.py").write_text('"""https://e.org/{name} http://www.w3.org/2000/svg"""', "utf-8")
    assert links.links(tmp_path) == {
        "https://a.org/x": ["CITATION.cff", "README.md"],
        "https://b.org/#y": ["README.md"],
        "https://c.org": ["book/c.ipynb"],
        "https://d.org": ["book/c.ipynb"],
        "https://arxiv.org/abs/1706.03762": ["book/r.bib"],
        "https://doi.org/10.1/x": ["book/r.bib"],
        "https://e.org/": ["src/package/e.py"],
    }


def test_the_links_of_the_book_are_found():
    found = links.links(ROOT)
    assert {"https://arxiv.org/abs/1706.03762", "https://creativecommons.org/licenses/by/4.0/"} <= found.keys()
    assert len(found) > 90
    assert not any(url.endswith((".", ",", "*", "@COMMIT")) for url in found)
