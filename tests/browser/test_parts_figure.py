"""The parts of a score: what is shown is the package's wherever the word is, whatever it is, and without any part."""

import itertools

import numpy as np
import pytest
import torch

from tested_transformer.book import figures, pretrained
from tested_transformer.book.coreference import RUNNING
from tested_transformer.byhand.softmax import softmax
from tested_transformer.shares import as_share, written

LIVE = "parts-figure .live"
CHOICES = ["window", "chair", "lamp", "because"]
NAMES = ["word, word", "word, position", "position, word", "position, position"]
IT, CHAIR = 5, 3


@pytest.fixture(scope="module")
def model():
    """The scores of "it", part by part, for our sentence with a word at a position: (4, 10)."""
    translator = pretrained.load()
    translator.model.double()
    box = translator.model.encoder.layers[0].self_attention
    text = RUNNING[0].english

    def parts(word="chair", position=CHAIR):
        ids = torch.tensor([translator.encode(text.replace("chair", word), 1)])
        x, p = translator.model.embedding(ids), translator.model.positions.table[None, : ids.shape[1]]
        moved = p.clone()
        moved[0, CHAIR] = p[0, position]
        pairs = itertools.product((x, p), (x, moved))
        rows = [box.queries(a)[0, 0, IT] @ box.keys(b)[0, 0].T / np.sqrt(32) for a, b in pairs]
        return torch.stack(rows).detach().numpy()

    parts.words = [translator.name(i).strip() for i in translator.encode(text, 1)]
    parts.means = parts().mean(axis=1, keepdims=True)
    return parts


@pytest.fixture(scope="module")
def figure(model):
    rows = model() - model.means
    titles = [f"{name}: who asks for what" for name in NAMES]
    others = {
        title: np.array([(model(word) - model.means)[k, CHAIR] for word in CHOICES])
        for k, title in enumerate(titles)
        if title.startswith(("word, word", "position, word"))
    }
    strips = dict(zip(titles, rows, strict=True))
    return figures.positions.moving(strips, softmax(rows.sum(axis=0)), model.words, (IT, CHAIR), others, CHOICES)


@pytest.fixture
def page(show, figure):
    return show(figure)


def choose(page, word, position, gone=()):
    page.get_by_role("combobox", name="Word").select_option(label=word)
    page.get_by_label("Its position").fill(str(position))
    for name in NAMES:
        page.get_by_role("switch", name=name).set_checked(name not in gone)


def number(x):
    return written(x, 1)


def told(page, sentence):
    page.get_by_role("status").get_by_text(sentence, exact=True).wait_for(state="attached")
    assert page.locator(".told").text_content() == sentence


CASES = [
    ("chair", 3, (), "This is the largest weight."),
    ("chair", 4, (), "This is the largest weight."),
    ("chair", 9, (), "The largest weight, {}, is on “I”."),
    ("window", 9, (), "This is the largest weight."),
    ("lamp", 3, (), "The largest weight, {}, is on “I”."),
    ("chair", 3, ("word, word",), "The largest weight, {}, is on “it” itself."),
    ("chair", 3, ("position, position",), "The largest weight, {}, is on “<eos>”."),
    ("because", 0, ("word, word", "position, word"), "The largest weight, {}, is on “because”."),
    ("chair", 5, NAMES, "All scores are the same, and so are all weights."),
]


@pytest.mark.parametrize(("word", "position", "gone", "end"), CASES)
def test_tiles_bars_and_the_sentence_are_those_of_the_package(page, model, word, position, gone, end):
    choose(page, word, position, gone)
    kept = [name not in gone for name in NAMES]
    rows = model(word, position) - model.means
    score = rows[kept].sum(axis=0)
    weights = softmax(score)
    shown = page.locator(f"{LIVE} .strip:has([role=cell].movable)").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.tiles [role=cell]')].map(cell => cell.textContent))"
    )
    assert shown[:5] == [[number(x) for x in row] for row in (*rows, score)]
    assert shown[5] == [as_share(x, 2) for x in weights]
    along = [softmax(model(word, n)[kept].sum(axis=0))[CHAIR] for n in range(10)]
    assert page.locator(".along .tiles b").all_text_contents() == [as_share(x, 2) for x in along]
    high = page.locator(".along .tiles > *").evaluate_all(
        "bars => bars.map(b => parseFloat(b.style.getPropertyValue('--share')))"
    )
    assert np.allclose(high, 100 * np.array(along), atol=0.06)
    left = {0: "", 1: f"Without “{gone[0]}”, " if gone else "", 2: "Without two parts, ", 4: "Without any parts, "}[
        len(gone)
    ]
    taken = "less than 0.01" if weights[CHAIR] < 0.005 else as_share(weights[CHAIR], 2)
    end = end.format(as_share(weights.max(), 2))
    told(page, f"{left}“it” takes {taken} from “{word}” at position {position}. {end}")


def places(page, n):
    cells = page.locator(f"{LIVE} .strip [role=cell]:nth-child({n + 1})")
    script = "es => es.map(e => e.getBoundingClientRect()).map(b => [b.left, b.top, b.width, b.height])"
    return np.array(cells.evaluate_all(script))


def test_the_word_moves_over_the_words_that_stay_and_shares_the_tile_of_one(show, figure):
    page = show(figure, reduced_motion="reduce")
    before = [places(page, n) for n in range(10)]
    choose(page, "chair", 7)
    after = [places(page, n) for n in range(10)]
    assert all(np.array_equal(before[n], after[n]) for n in range(10) if n not in (CHAIR, 7))
    assert np.allclose(after[CHAIR][:, 0], before[7][:, 0], atol=0.1)  # it is where "old" is,
    assert np.allclose(after[CHAIR][:, 3], before[7][:, 3] / 2, atol=0.6)  # and each has a half
    assert np.allclose(after[CHAIR][:, 1] + after[CHAIR][:, 3], after[7][:, 1], atol=0.1)
    thumb, word = page.get_by_label("Its position").bounding_box(), page.locator(".seats .movable").bounding_box()
    centre = thumb["x"] + 22 + (thumb["width"] - 44) * 7 / 9
    assert word["x"] + word["width"] / 2 == pytest.approx(centre, abs=1)  # the word is over its thumb
    page.get_by_role("button", name="Start again").click()
    assert all(np.array_equal(before[n], places(page, n)) for n in range(10))
    assert page.get_by_label("Its position").input_value() == "3"


def test_it_is_used_by_keyboard_alone(page, model):
    for key in ("Tab", "ArrowUp", "Tab", "Tab", "ArrowRight", "Tab", "Space"):
        page.keyboard.press(key)
    taken = softmax(model("window", 4)[1:].sum(axis=0))[CHAIR]
    taken = f"Without “word, word”, “it” takes {as_share(taken, 2)} from “window” at position 4."
    told(page, f"{taken} This is the largest weight.")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "position 4, with “because”"
    outline = page.locator(".seats .movable").evaluate("e => getComputedStyle(e).outlineStyle")
    assert outline == "solid", "the word shows that its rail has the focus"
