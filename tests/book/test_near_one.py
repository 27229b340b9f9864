"""No figure says of a share that it is the whole where it is less."""

import re

import numpy as np
import pytest

from tested_transformer.book import figures
from tested_transformer.book.coreference import RUNNING
from tested_transformer.book.experiments import Answer
from tested_transformer.book.figures import flow
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.picture import SIGNED, WEIGHTS, alike, picture, tiles
from tested_transformer.command.page import table

NEAR = 0.99995
ROW = [NEAR, 1 - NEAR]
A = np.array([ROW, [1.0, 0.0]])
AB = ["a", "b"]
ENCODED, DECODED = ["a", " b"], ["x", " y"]
SAID = RUNNING[0]
EIGHT = [0.0, 0.0, 0.0, NEAR, 0.0, 0.0, 0.0, 1 - NEAR]


def box():
    figure, _ = flow.blank(3, 3)
    flow.box(figure, A, (1.5, 2), "weights", AB, WEIGHTS)
    return figure


PICTURES = {
    "attention.weights": (lambda: figures.attention.weights(A, AB, AB), "0.9999"),
    "attention.heads": (lambda: figures.attention.heads({"one": (A, AB, AB)}, [0]), "0.9999"),
    "attention.film": (lambda: figures.attention.film({"one": A}, [0.5], AB, 0), "0.9999"),
    "backward": (
        lambda: figures.backward.blame(["a", " it"], 1, [0.1, -0.1], {"er": NEAR, "sie": 1 - NEAR}, "er"),
        "0.9999",
    ),
    "bert.gaps": (lambda: figures.bert.gaps(["a"], [[("a", NEAR), ("b", 1 - NEAR)]]), "99.99%"),
    "bert.learning": (lambda: figures.bert.learning([2, 1], {"one": NEAR, "other": 0.001}, 9), "99.99%"),
    "bert.rules": (lambda: figures.bert.rules({"one": [NEAR, 0.001]}, AB, "one"), "99.99%"),
    "decode.tree": (lambda: figures.decode.tree({("a",): NEAR}, {"greedy": [("a",)]}), "a\n0.9999"),
    "decoder.writes": (lambda: figures.decoder.writes(ENCODED, DECODED, {"one": ROW, "two": ROW}, "z"), "two: 0.9999"),
    "feedforward.told": (
        lambda: figures.feedforward.told([[1.0], [-1.0]], AB, {"a": "a", "b": "b"}, [1], [ROW]),
        "99.99%",
    ),
    "flow.box": (box, "0.9999"),
    "heads.fetched": (lambda: figures.heads.fetched(ENCODED, 1, {"one": ROW, "two": ROW}), "one: 0.9999"),
    "heads.row_of": (lambda: figures.heads.row_of([[ROW]], AB, (0, 0)), "0.9999"),
    "heads.weights": (lambda: figures.heads.weights({"one": A}, AB), "0.9999"),
    "looking.traces": (lambda: figures.looking.traces({"one": (A, AB)}, AB), "0.9999"),
    "looking.cuts": (lambda: figures.looking.cuts({"usual": [("a", NEAR)]}, ["one"]), "a 0.9999"),
    "masks.votes": (lambda: figures.masks.votes({"one": ROW}, AB), "a\n0.9999"),
    "transformer.guesses": (lambda: figures.transformer.guesses(100 * A, AB, AB), "99.99"),
    "transformer.looks": (lambda: figures.transformer.looks({"one": (A, AB, AB)}), "0.9999"),
    "translation.reading": (lambda: figures.translation.reading([(ENCODED, ROW, 1, "er", "er")]), "0.9999"),
}
WHOLE = re.compile(r"(?<![\d.])(1\.0+|100(\.0+)? ?%)(?!\d)")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_does_not_say_the_whole_of_less(name):
    make, wanted = PICTURES[name]
    figure = make()
    axes = figure.axes
    texts = [text.get_text() for one in axes for text in one.texts] + [text.get_text() for text in figure.texts]
    assert wanted in texts
    assert not [text for text in texts if WHOLE.search(text) and name != "flow.box"]


def test_tiles_of_shares_have_a_one_only_where_it_is_one_and_keep_it_beside_others():
    for whole in (1, 100):
        _, ((axes,),) = picture(3, 2)
        tiles(axes, whole * A, WEIGHTS, (0, whole), decimals=2, whole=whole)
        wanted = [{1: "0.9999", 100: "99.99"}[whole], "0.00", str(whole), "0"]
        assert [text.get_text() for text in axes.texts] == wanted
    _, ((axes,),) = picture(3, 2)
    tiles(axes, A, WEIGHTS, (0, 1), decimals=2, whole=1)
    alike(axes, A, decimals=2)
    assert [text.get_text() for text in axes.texts] == ["0.9999", "0.00", "1.00", "0.00"]
    _, ((axes,),) = picture(3, 2)
    tiles(axes, A, SIGNED, (0, 1), decimals=2)
    assert axes.texts[0].get_text() == "1.00", "ordinary numbers are rounded as ever"


def test_the_data_of_the_figures_have_a_one_only_where_it_is_one():
    panel = {"one": (A[None, None], AB, AB)}
    heads = figures.looking.choices({"a b": panel}, {"one": "x"}, ("one", 0, 0))
    assert heads.data["sentences"][0]["panels"]["one"]["weights"] == [[[[0.9999, 0.0], [1.0, 0.0]]]]
    assert heads.words["one, layer 1, head 1: the strongest link of each word"][1] == [
        ("a", "a", "0.9999"),
        ("b", "a", "1"),
    ]
    german = "Ich brauche den Stuhl, weil er alt ist."
    said = figures.running.sentence(1, 2, [Answer(0, "chair", SAID, EIGHT, german, german)], ("chair",))
    assert said.data["answers"][0][-1][3] == 0.9999
    assert figures.film._hundredths(A) == "99.99,,100,"
    tree = {(): {"a": -1e-9, "b": 0.0}}
    found = figures.decode.searches({"t": tree | {("a",): {"<eos>": 0.0}}}, 2, (1, 0.0), {"greedy": ("a", 0, 0)}, box())
    assert found.data["tables"][0]["rows"][""] == [[0, -1e-6], [1, 0.0]], "only what is certain has a logarithm of 0"


def test_the_tables_of_shares_have_a_one_only_where_it_is_one():
    tables = {"Shares": (AB, AB, A), "Others": (AB, AB, A)}
    html = Interactive("one", {}, tables, shares=("Shares",))._repr_html_()
    shares, others = ["0.9999", "0.0000", "1", "0"], ["1.0000", "0.0000", "1.0000", "0"]
    assert re.findall(r"<td>([\d.]+)</td>", html) == shares + others
    by_column = Interactive("one", {}, {"Both": (AB, AB, A)}, decimals=2, shares=("a",))._repr_html_()
    assert re.findall(r"<td>([\d.]+)</td>", by_column) == ["0.9999", "0.00", "1", "0"]
    exact = Interactive("one", {}, {"Shares": (AB, AB, [[1 - 1e-12, 1e-12], [1, 0]])}, shares=("Shares",))
    assert re.findall(r"<td>([\d.]+)</td>", exact._repr_html_()) == ["0.9999", "0.0000", "1", "0"]


def test_a_page_of_attention_has_a_hundred_only_where_it_is_the_whole():
    assert re.findall(r">([\d.]+)</td>", table("head 1", A.tolist(), AB, AB)) == ["99.99", "0", "100", "0"]
