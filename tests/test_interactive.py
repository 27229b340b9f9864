"""Interactive figures without a browser: what a cell puts out, what a page loads, what the scripts may not do."""

import json
import re

import guards
import live
import numpy as np
import pytest
from guards import BOOK, SCRIPTS
from matplotlib.colors import to_hex

from tested_transformer import draw
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.positions import sinusoids
from tested_transformer.draw import picture
from tested_transformer.draw.interactive import Interactive, places_of, written
from tested_transformer.example import W_K, W_Q, W_V, WORDS, P, X

CSS = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
FILES = sorted(SCRIPTS.glob("*"))
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
OUT, WEIGHTS = attention(Q, K, V)


def by_hand(words=WORDS):
    return draw.attention.by_hand({"X": X, "weights": WEIGHTS, "out": OUT}, (W_Q, W_K, W_V), P, words)


def hands():
    table = sinusoids(23, 6)
    return draw.positions.hands(table, 1, 3, [6.25, 100.0, 2000.0], table[1:] @ table[1])


def data(html):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1])


def cells(html, title):
    """The words and numbers of one table, row by row."""
    (table,) = (t for t in re.findall(r"<table>.*?</table>", html, re.S) if f"<caption>{title}</caption>" in t)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]


# What a cell puts out


def test_the_data_are_the_numbers_that_were_given():
    found = data(by_hand()._repr_html_())
    for name, x in {"x": X, "w_q": W_Q, "w_k": W_K, "w_v": W_V, "positions": P}.items():
        assert np.array_equal(found[name], x)
    assert found["words"] == list(WORDS)


def test_a_float_arrives_to_the_last_bit():
    x = np.random.default_rng(0).normal(size=(5, 5)) / 3
    assert np.array_equal(data(Interactive("attention", {"x": x}, {})._repr_html_())["x"], x)


def test_the_tables_hold_the_results():
    html = by_hand()._repr_html_()
    assert cells(html, "Attention weights") == [
        ["", "I", "love", "AI"],
        ["I", "0.7070", "0.0702", "0.2228"],
        ["love", "0.2645", "0.2645", "0.4711"],
        ["AI", "0.4319", "0.1361", "0.4319"],
    ]
    assert cells(html, "Output")[1] == ["I", "0.9298", "0.2930", "1.6368"]


def test_the_hands_are_those_of_the_two_positions():
    html, table = hands()._repr_html_(), sinusoids(5, 6)
    assert data(html) == {"position": 1, "offset": 3, "width": 6, "reach": 21, "widest": 32}
    _, *rows = cells(html, "The pairs at position 1 and at 4, where k is 3")
    assert [row[0] for row in rows] == ["pair 0", "pair 1", "pair 2"]
    numbers = np.array([[float(cell.replace("−", "-")) for cell in row[1:]] for row in rows])
    assert numbers[:, 0].tolist() == [6.25, 100, 2000]
    assert np.allclose(numbers[:, 1:3], table[1].reshape(3, 2), atol=5e-5)
    assert np.allclose(numbers[:, 3:5], table[4].reshape(3, 2), atol=5e-5)
    _, (_, *products) = cells(html, "Dot products")
    assert float(products[3]) == pytest.approx(table[1] @ table[4], abs=5e-5)


def test_words_cannot_become_elements():
    evil = ("<img src=x onerror=alert(1)>", "</script><b>", "&amp;\u2028")
    html = by_hand(evil)._repr_html_()
    assert data(html)["words"] == list(evil)
    assert not re.search(r"<(img|b)\b", html)
    assert html.count("</script>") == html.count("<script") == 1
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "&amp;amp;" in html


def test_a_cell_puts_out_the_same_each_time_and_a_picture_and_words():
    assert by_hand()._repr_html_() == by_hand()._repr_html_()
    assert by_hand()._repr_png_() == draw.attention.weights(WEIGHTS, WORDS, WORDS)._repr_png_()
    assert "0.4711" in repr(by_hand())
    assert Interactive("attention", {}, {})._repr_png_() is None


def test_numbers_in_a_table_are_written_alike():
    assert places_of(np.array([[1.0, 2.0]]), 4) == 0
    assert places_of(np.array([[0.5, 0.25]]), 4) == 2
    assert places_of(np.array([[1 / 3, 1.0]]), 4) == 4
    assert [written(value, 2) for value in (0.0, -1e-12, -0.5, 2)] == ["0", "0", "−0.50", "2.00"]


def test_a_name_a_shape_and_a_number_that_cannot_be_are_refused():
    for name in ("", "Attention", "a b", "../x"):
        with pytest.raises(ValueError, match="one word in small letters"):
            Interactive(name, {}, {})
    with pytest.raises(ValueError, match=r"T has shape \(1, 2\), but 1 rows and 1 columns are named"):
        Interactive("attention", {}, {"T": (["a"], ["b"], [[1, 2]])})
    with pytest.raises(ValueError, match="x must be finite"):
        Interactive("attention", {"x": np.array([np.nan])}, {})


# What a page loads


class App:
    """What Sphinx offers, as far as it is used here."""

    def __init__(self):
        self.files = []

    def add_js_file(self, name, defer):
        self.files.append(name)

    def add_css_file(self, name):
        self.files.append(name)


def test_a_page_loads_the_scripts_of_its_own_figures():
    for body, files in (
        ("<p>Nothing</p>", []),
        ("&lt;attention-figure&gt;", []),
        (by_hand()._repr_html_(), ["figures/common.js", "figures/attention.js", "figures/figures.css"]),
        (live.weight()._repr_html_(), ["figures/common.js", "figures/weight.js", "figures/figures.css"]),
    ):
        app = App()
        live.bring_scripts(app, "page", "page.html", {"body": body}, None)
        assert app.files == files
        assert all((BOOK / "_static" / name).is_file() for name in files)


def test_a_page_without_a_body_loads_nothing():
    app = App()
    live.bring_scripts(app, "search", "search.html", {}, None)
    assert app.files == []


def test_the_number_of_the_first_page_is_that_of_the_walk_through():
    (rows,) = [cells(live.weight()._repr_html_(), "How much each word gives to the others")]
    assert rows == [["", "I", "love", "AI"], ["love", "0.2645", "0.2645", "0.4711"]]
    assert "```{live-weight}\n```" in (BOOK / "index.md").read_text(encoding="utf-8")


# What the scripts may not do


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_script_asks_nobody_and_makes_no_html_of_words(path):
    text = path.read_text(encoding="utf-8").replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//\w+\.\w|\bimport\b|fetch\(|XMLHttpRequest|WebSocket|sendBeacon", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


def test_every_script_belongs_to_a_figure():
    used = {"common"}
    for path in BOOK.glob("*.ipynb"):
        used |= {name for html in guards.outputs(path, "text/html") for name, _ in guards.FIGURE.findall(html)}
    assert {path.stem for path in FILES if path.suffix == ".js"} == used | {"weight"}


def test_scripts_and_styles_are_small():
    assert sum(path.stat().st_size for path in FILES) < 60_000


def test_figures_and_pages_give_the_roles_the_same_colours():
    light = dict(re.findall(r"--book-(\w+): (#\w+);", CSS.partition('html[data-theme="dark"]')[0]))
    roles = {"query": picture.QUERY, "key": picture.KEY, "value": picture.VALUE, "out": picture.OUT}
    assert light == {role: to_hex(colour) for role, colour in roles.items()}
