"""The translator with fewer bits: what it writes and weighs, and the product whose bound the page shows."""

import functools
import json
import math

import numpy as np
import pytest
import torch

from tested_transformer.book import few_bits, figures
from tested_transformer.book.coreference import RUNNING, SENTENCES
from tested_transformer.book.few_bits import FALLING
from tested_transformer.book.figures.bits import SHOWN, shown
from tested_transformer.decoding.translator import Translator
from tested_transformer.training.int8 import bound, from_int8, rounded, to_int8

TEXT = RUNNING[0].english


@functools.cache
def at_each():
    return few_bits.translators(Translator.load())


@functools.cache
def product():
    return few_bits.query(at_each()[8], TEXT, "it", 1, 2)


def weights(bits=8):
    return at_each()[bits].model.state_dict()


def test_each_translator_has_its_own_weights_and_the_one_with_8_bits_those_of_the_package():
    assert [*at_each()] == [8, 7, 6, 5, 4, 3, 2] == [*FALLING]
    packed = {name: weight.double() for name, weight in Translator.load().model.state_dict().items()}
    for bits in FALLING:
        wanted = rounded(packed, bits)
        assert all(torch.equal(weight, wanted[name]) for name, weight in weights(bits).items())
    assert all(torch.equal(weight, packed[name]) for name, weight in weights().items())


def test_one_asked_for_is_made_alone_and_the_given_one_stays():
    loaded = Translator.load()
    before = {name: weight.clone() for name, weight in loaded.model.state_dict().items()}
    found = few_bits.translators(loaded, [2])
    assert [*found] == [2]
    assert found[2].width == 1
    assert all(torch.equal(weight, before[name]) for name, weight in loaded.model.state_dict().items())


def test_what_is_written_is_asked_of_each_translator():
    texts = [TEXT, "She sold music although it was beautiful."]
    found = few_bits.written({b: at_each()[b] for b in (8, 3)}, texts)
    assert found == {text: {b: at_each()[b].translate([text])[0] for b in (8, 3)} for text in texts}
    assert found[texts[1]][3] == "Sie hat Musik verkauft verkauft, obwohl sie schön war."


def test_down_to_4_bits_every_sentence_about_it_is_right_and_at_2_bits_none():
    found = few_bits.right(at_each())
    assert {bits: found[bits] for bits in (8, 7, 6, 5, 4)} == dict.fromkeys((8, 7, 6, 5, 4), (270, 270))
    assert found[3] == (270, 258)
    assert found[2][1] == 0
    assert len(SENTENCES) == 270


def test_a_model_weighs_its_bits_and_a_float_for_each_row():
    small = {"w": torch.ones(3, 40), "b": torch.ones(8)}
    for bits in FALLING:
        assert math.isclose(few_bits.megabytes(small, bits) * 8e6, 120 * bits + 8 * 8 + 4 * 32)
    assert np.isclose(few_bits.megabytes(weights(), 8) - few_bits.megabytes(weights(), 7), 880_640 / 8e6)


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (1, 2)])
def test_the_product_is_a_number_of_the_models_query(layer, head):
    model, ids = at_each()[8].model, at_each()[8].encode(TEXT, 1)
    place = [at_each()[8].name(i) for i in ids].index(" it")
    seen = []
    attention = model.encoder.layers[layer].self_attention
    hook = attention.w_q.register_forward_hook(lambda _, x, out: seen.append(out))
    with torch.no_grad():
        model.encode(torch.tensor([ids]))
    hook.remove()
    row, x = few_bits.query(at_each()[8], TEXT, "it", layer, head)
    assert np.isclose(row @ x, seen[0][0, place, 32 * head].item(), rtol=0, atol=1e-3)
    assert np.array_equal(x, x.round(4))
    assert len(attention.w_q._forward_hooks) == 0, "nobody listens any more"


def test_settings_are_those_of_the_row_and_no_product_is_farther_away_than_its_bound():
    row, x = map(torch.from_numpy, product())
    found = few_bits.settings(weights(), product())
    assert [*found] == [*FALLING]
    for bits, setting in found.items():
        integers, scale = to_int8(row, bits)
        wanted = scale.item(), (from_int8(integers, scale) @ x).item(), bound(scale, x).item()
        assert setting == (few_bits.megabytes(weights(), bits), *wanted)
        assert abs(setting.product - found[8].product) <= setting.bound
    assert np.isclose(found[8].product, row @ x), "8 bits change nothing"


def figure(text=TEXT, german=None):
    german = german or few_bits.written(at_each(), [text])[text]
    settings = few_bits.settings(weights(), product())
    return figures.bits.rounding(product(), "a number", settings, {text: german})


def test_the_page_gets_row_input_translations_and_sizes():
    data = json.loads(json.dumps(figure().data))
    assert data["row"] == product().row.tolist()
    assert data["x"] == product().x.tolist()
    assert data["sentences"][0]["english"] == TEXT
    assert data["sentences"][0]["written"]["3"] == RUNNING[0].german
    assert data["megabytes"] == {str(bits): few_bits.megabytes(weights(), bits) for bits in FALLING}


def test_the_tables_have_a_line_for_each_setting():
    first, second = figure().words.values()
    assert [line[:2] for line in first[1]] == [(str(b), str(2**b - 1)) for b in FALLING]
    assert first[1][-1] == ("2", "3", "0.25", "0.2473", "5.152", "11.875")
    assert second[1][5] == ("3", RUNNING[0].german)
    assert second[1][6][1].endswith("…")


def test_a_translation_for_people_is_short_and_has_a_sign_for_what_is_not_seen():
    assert shown(" Ich\x7f bin ") == "Ich� bin"
    assert shown("x" * SHOWN) == "x" * SHOWN
    assert shown("x" * (SHOWN + 1)) == "x" * SHOWN + "…"


def test_words_cannot_become_elements():
    evil = "<img src=x onerror=alert(1)>"
    html = figure(evil, dict.fromkeys(FALLING, f"{evil}</script>"))._repr_html_()
    assert "<img" not in html
    assert html.count("</script>") == html.count("<script") == 1
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 8, "in a caption and seven lines"


def test_without_a_sentence_or_with_one_that_lacks_a_setting_there_is_no_figure():
    settings = few_bits.settings(weights(), product())
    for sentences, count in (({}, 0), ({TEXT: {8: "a"}}, 1)):
        with pytest.raises(ValueError, match=rf"sentences \({count}\) must be one at least, each translated at all of"):
            figures.bits.rounding(product(), "a number", settings, sentences)
