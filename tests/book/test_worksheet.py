"""The whole machine on one sheet: its numbers are those of the model, as PyTorch calculates them."""

import re
from collections import Counter

import numpy as np
import pytest
import torch

from tested_transformer.book import figures, pretrained, worksheet
from tested_transformer.book.coreference import FRAMES, RUNNING
from tested_transformer.book.figures.sheet import BOXES, PANELS, PAPER, number, percent
from tested_transformer.book.patterns import on_the_thing
from tested_transformer.shares import as_share

FRAME, THING = FRAMES[0], "chair"


@pytest.fixture(scope="module")
def translator():
    return pretrained.load()


@pytest.fixture(scope="module")
def followed(translator):
    return worksheet.numbers(translator, THING)


def written(picture):
    """All words and numbers on a sheet, each as often as it stands there."""
    (axes,) = picture.axes
    return Counter(text.get_text() for text in axes.texts)


def share(weight):
    """A weight in a tile: what is less than one is never shown as one."""
    return as_share(weight, 2) if 0.99 <= weight < 1 else number(weight)


@torch.no_grad()
def calculated(translator):
    """What must stand in the tiles and beside the answers, by PyTorch's model and hooks on its boxes."""
    model, found, seen = translator.model, Counter(), {}
    source, target = map(torch.from_numpy, pretrained.begun(translator, THING))
    it = [translator.name(i) for i in source[0].tolist()].index(" it")
    rows = {"encoder": it, "decoder": target.size(1) - 1}

    def keep(name):
        return lambda _, given, out: seen.update({name: (out[0] if isinstance(out, tuple) else out)[0]})

    hooks = [
        getattr(layer, box).register_forward_hook(keep((side, n, box)))
        for side in BOXES
        for n, layer in enumerate(getattr(model, side).layers)
        for box in BOXES[side]
    ]
    try:
        logits = model.embedding.logits(model.decode(target, model.encode(source), source))[0, -1]
    finally:
        for hook in hooks:
            hook.remove()
    for (side, _, _), out in seen.items():
        found.update(number(x) for x in out[rows[side]][:4].tolist())
    for ids in (source, target):
        found.update(number(x) for x in model.positions(model.embedding(ids))[0, :, :6].flatten().tolist())
        found.update(str(i) for i in ids[0].tolist())
    german = " ".join(RUNNING[0].german.split(" er ")[:1])
    _, _, weights = translator.look(FRAME.say(THING).english, german)
    looks = on_the_thing(translator, FRAME, THING)
    layer, head = divmod(int(looks.argmax()), looks.size(1))
    found.update(share(x) for x in weights["encoder"][layer, head].flatten().tolist())
    asks = weights["cross"][-1, :, -1]
    found.update(share(x) for x in asks[asks.max(-1).values.argmax()].tolist())
    p = logits.softmax(-1)
    for i in p.topk(3).indices.tolist():
        found.update([percent(float(p[i])), f"logit {number(float(logits[i]))}", translator.name(i).strip()])
    return found


def numbers_of(picture):
    """Everything on a sheet that is a number, a logit, or an answer."""
    return Counter({t: n for t, n in written(picture).items() if re.search(r"^(logit )?[−\d][\d.]*( %)?$", t)})


def test_every_number_in_a_tile_and_beside_an_answer_is_that_of_the_model(translator, followed):
    wanted, there = calculated(translator), numbers_of(figures.sheet.sheet(*followed))
    words = Counter({word: n for word, n in wanted.items() if word in ("er", "du", "ich")})
    assert there == wanted - words
    assert sum(there.values()) == 18 * 6 + 18 + 20 * 4 + 100 + 10 + 6


def test_what_the_formulas_say_is_there_in_the_run(followed):
    picture, run = figures.sheet.sheet(*followed), followed.run
    said = " ".join(written(picture)).replace("\n", " ")
    (it, last), (layer, head) = followed.rows, followed.head
    box = f"encoder.layers.{layer}."
    chair = [followed.vocabulary[i] for i in run["encoder.ids"]].index(" chair")
    score, weight = (run[f"{box}self_attention.{name}"][head, it, chair] for name in ("scores", "weights"))
    assert 0.995 < weight < 1, "with two digits it would be one"
    assert f"score {score:.2f}, softmax {as_share(weight, 2)}." in said
    assert "“it” takes 0.9999 from “chair”" in said
    above = (run[f"{box}feed_forward.hidden"][it] > 0).sum()
    assert f"of which {above} are above 0" in said
    x = run[f"{box}addnorm_1.added"][it]
    assert f"{x.mean():.2f}, standard deviation $\\sigma$ {x.std():.2f}" in said
    loss = -np.log(run["probabilities"][last].max())
    told = re.search(r"the loss is (0[.]\d+)[.]", said)[1]
    assert float(told) == pytest.approx(loss, rel=0.05)
    assert f"{followed.size:,} numbers" in said


def test_a_sheet_is_one_page_of_a4_whose_letters_can_be_read_on_paper(followed):
    picture = figures.sheet.sheet(*followed)
    assert tuple(picture.get_size_inches()) == PAPER
    width, height = PAPER
    picture.draw_without_rendering()
    for text in picture.axes[0].texts:
        if not text.get_text():
            continue
        assert text.get_fontsize() * (0.7 if re.search(r"\$.*[_^]", text.get_text()) else 1) >= 7, text
        box = text.get_window_extent().transformed(picture.dpi_scale_trans.inverted())
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) > 0.1, f"{text} leaves the sheet"
        for x, y, wide, high in PANELS.values():
            if x < box.x0 < x + wide and y < box.y0 < y + high:
                assert box.x1 < x + wide, f"{text} leaves its panel"


@pytest.mark.parametrize(("form", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_the_file_to_print_is_the_same_each_time_and_brings_its_letters(followed, form, begins):
    first, second = (figures.sheet.sheet(*followed).paper(form) for _ in range(2))
    assert first == second
    assert first.startswith(begins)
    assert (b"/FontFile2" in first) if form == "pdf" else (b"<text" not in first)


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.9999856, "99.9986 %"), (9.49e-6, "0.00095 %"), (0.25, "25 %"), (0.031, "3.1 %"), (1, "100 %"), (0, "0 %")],
)
def test_a_share_in_percent_has_two_digits_of_what_is_less(share, said):
    assert percent(share) == said
