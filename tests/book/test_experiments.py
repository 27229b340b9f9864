"""What the trained translator writes after an intervention: measured once more by other means."""

import re

import numpy as np
import pytest
import torch
from helpers import unchecked

from tested_transformer.book import experiments
from tested_transformer.book.coreference import FRAMES, RUNNING, THINGS, before_pronoun, pronoun
from tested_transformer.book.interventions import edited, sublayers, without_head
from tested_transformer.book.patterns import on_the_thing
from tested_transformer.book.pretrained import begun, load, noun_row, noun_rows, params, probabilities
from tested_transformer.byhand.transformer import transformer

ENGLISH, GERMAN = "We help the old woman.", "Wir helfen der alten Frau."
VERB, THE, NOUN = 1, 2, 4
LOVE, TURNED = "The woman loves the man.", [0, 4, 2, 3, 1, 5]


@pytest.fixture(scope="module")
def translator():
    return load()


def test_to_exchange_a_row_for_itself_changes_nothing_and_for_another_one_the_pronoun(translator):
    for frame in (FRAMES[0], FRAMES[4]):
        right = pronoun(frame.say("chair").german)
        assert experiments.exchanged(translator, frame, "chair", "chair") == right
        assert experiments.exchanged(translator, frame, "chair", "lamp") == "sie"
        assert experiments.exchanged(translator, frame, "chair", "lamp", word="because") == right
        assert experiments.exchanged(translator, frame, "chair", "lamp", word=None) == right


def test_things_of_unequally_many_tokens_cannot_be_exchanged_place_by_place(translator):
    lengths = {thing: len(translator.encode(FRAMES[0].say(thing).english, 1)) for thing in THINGS}
    assert len(set(lengths.values())) > 1, "some things have more tokens, or no article"
    other = next(thing for thing, n in lengths.items() if n != lengths["chair"])
    with pytest.raises(ValueError, match="must have equally many tokens"):
        experiments.traced(translator, FRAMES[0], "chair", other)


def test_swapping_in_the_only_word_that_differs_gives_the_other_sentence(translator):
    word, found = experiments.swapped(translator, ENGLISH, "We help the old man.", "Wir helfen")
    assert (word, found.shape) == ("dem", (3, 7))
    whole = probabilities(translator, "We help the old man.", "Wir helfen")
    assert found[0, NOUN] == pytest.approx(float(whole.max()))
    assert np.delete(found[0], NOUN).max() < 0.01  # there the vectors are the same in both


def test_where_german_and_english_agree_nothing_is_contradicted(translator):
    frame = FRAMES[0]
    for thing, right in (("chair", "er"), ("lamp", "sie"), ("picture", "es")):
        assert experiments.contradicted(translator, frame, thing, thing) == right
    assert experiments.contradicted(translator, frame, "chair", "music", "article") == ""  # music has none
    # with the German of the lamp it is as if that had been written so far
    begun = before_pronoun(frame.say("lamp").german)
    target = torch.tensor([[translator.model.config.bos_id, *translator.tokens.encode(begun)]])
    source = torch.tensor([translator.encode(frame.say("chair").english, 1)])
    with torch.no_grad():
        logits = translator.model(source, target)[0, -1]
    expected = translator.name(int(logits.argmax())).strip()
    assert experiments.contradicted(translator, frame, "chair", "lamp") == expected


@pytest.fixture(scope="module")
def told(translator):
    return experiments.all_answers(translator)


def test_the_answers_are_those_of_each_sentence_alone(translator, told):
    layer, head, answers = told
    assert [(a.frame, a.thing) for a in answers] == [(n, t) for n in range(6) for t in THINGS]
    for answer in answers[::37]:
        assert answer.sentence == FRAMES[answer.frame].say(answer.thing)
        text = answer.sentence.english
        assert [answer.german] == translator.translate([text])
        with without_head(translator, layer, head):
            assert [answer.without] == translator.translate([text])
        words, at = text.rstrip(".").split(), THINGS[answer.thing].english
        alone = on_the_thing(translator, FRAMES[answer.frame], answer.thing)[layer, head]
        assert answer.weights[words.index(at)] == pytest.approx(float(alone), abs=1e-12)


def test_each_word_has_the_weight_of_all_its_pieces(translator, told):
    layer, head, answers = told
    sold = next(a for a in answers if a.sentence.english == "She sold the chair although it was beautiful.")
    pieces, _, weights = translator.look(sold.sentence.english, "")
    row = weights["encoder"][layer, head, pieces.index(" it")]
    assert pieces == ["She", " s", "old", " the", " chair", " although", " it", " was", " beautiful", ".", "<eos>"]
    groups = [[0], [1, 2], [3], [4], [5], [6], [7], [8, 9]]
    assert torch.allclose(torch.tensor(sold.weights, dtype=row.dtype), torch.stack([row[g].sum() for g in groups]))
    assert all(len(a.weights) == len(a.sentence.english.split()) for a in answers)
    assert all(1 - 1e-4 < sum(a.weights) < 1 for a in answers), "but for the mark of the end"


def test_the_weights_are_rounded_alike_on_every_machine(told):
    thousandths = 1000 * torch.tensor([w for a in told[2] for w in a.weights], dtype=torch.float64)
    assert (thousandths - thousandths.floor() - 0.5).abs().min() > 1e-8


def test_the_head_is_found_and_not_known(translator, told):
    assert told[:2] == (1, 2)
    order = torch.tensor([2, 0, 3, 1])  # the third becomes the first

    def turn(axis):
        return lambda w: w.unflatten(axis, (4, -1)).index_select(axis, order).flatten(axis, axis + 1)

    names = ("w_q", "w_k", "w_v", "w_o")
    edits = {f"encoder.layers.1.self_attention.{name}.weight": turn(int(name == "w_o")) for name in names}
    with edited(translator.model, edits):
        layer, head, answers = experiments.all_answers(translator)
    assert (layer, head) == (1, 0)
    assert [(a.german, a.without) for a in answers] == [(a.german, a.without) for a in told[2]]


def test_with_the_head_all_are_right_and_without_it_only_pronouns_go_wrong(told):
    answers = told[2]
    assert all(a.german == a.sentence.german for a in answers)
    wrong = [a for a in answers if a.without != a.sentence.german]
    assert 0 < len(wrong) < len(answers)
    for a in wrong:
        pairs = zip(a.without.split(), a.sentence.german.split(), strict=True)
        ((now, right),) = [pair for pair in pairs if pair[0] != pair[1]]
        assert (now.strip("."), right.strip(".")) == (pronoun(a.without), pronoun(a.sentence.german))


def test_of_the_large_weights_of_a_sentence_each_is_cut_alone(translator):
    found = experiments.large_links(translator, RUNNING[1], least=0.9)
    weights = translator.look(RUNNING[1].english, "")[2]["encoder"]
    assert [weight for *_, weight, _ in found] == pytest.approx(weights[weights >= 0.9].tolist())
    assert [(*where, word) for *where, _, word in found if word] == [(2, 3, "it", "lamp", ("sie", "er"))]
    assert experiments.large_links(translator, RUNNING[1], least=1.1) == []


def test_a_link_that_is_cut_is_what_hiding_the_thing_is(translator):
    for thing, sentence in zip(("chair", "lamp", "picture"), RUNNING, strict=True):
        (link,) = (x for x in experiments.large_links(translator, sentence, least=0.99) if x[2] == "it")
        layer, head, *_, written = link
        without = written[1] if written else pronoun(sentence.german)
        assert experiments.hidden(translator, FRAMES[0], thing, [(layer - 1, head - 1)]) == without
        assert experiments.hidden(translator, FRAMES[0], thing, []) == pronoun(sentence.german)


def test_hiding_nothing_changes_nothing_and_hiding_hides_this_pair_or_place_alone(translator):
    assert experiments.next_without(translator, ENGLISH, "Wir helfen")[0] == "der"
    assert experiments.next_without(translator, ENGLISH, "Wir helfen", encoder=[(THE, VERB)])[0] == "die"
    assert experiments.next_without(translator, ENGLISH, "Wir helfen", encoder=[(VERB, THE)])[0] == "der"
    assert experiments.next_without(translator, ENGLISH, "Wir helfen", cross=[NOUN])[0] == "den"
    assert experiments.next_without(translator, ENGLISH, "Wir helfen", cross=[VERB])[0] == "der"


def test_of_all_links_the_one_of_it_is_what_hiding_it_in_this_head_is(translator):
    with unchecked():  # 800 runs
        weights, added = experiments.each_link(translator, RUNNING[2])
    assert weights.shape == added.shape == (2, 4, 10, 10)
    assert np.allclose(weights, translator.look(RUNNING[2].english, "")[2]["encoder"])
    assert np.unravel_index(added.argmax(), added.shape) == (1, 2, 5, 3)
    assert experiments.hidden(translator, FRAMES[0], "picture", [(1, 2)]) == "sie"
    assert added[1, 2, 5, 3] > np.log(2)  # so "es" has less than a half


def test_the_gender_comes_through_one_head_of_the_last_layer_and_the_case_through_three(translator):
    (der,) = translator.tokens.encode(" der")
    noun, verb = {"cross": [NOUN]}, {"encoder": [(THE, VERB)]}

    def p(heads, ways):
        last = [(1, head) for head in heads]
        return float(experiments.probabilities_without(translator, ENGLISH, "Wir helfen", last, **ways)[der])

    as_it_is = probabilities(translator, ENGLISH, "Wir helfen")[der]
    assert p([], noun) == p([], verb) == pytest.approx(float(as_it_is))
    assert p([0], noun) < 0.2 < 0.9 < p([1, 2, 3], noun)
    assert p([0, 1, 2], verb) < 0.2 < 0.9 < p([0], verb)


def test_effects_are_those_of_hiding_one_token_after_the_other(translator):
    found = experiments.effects(translator, ENGLISH, GERMAN)
    assert found.shape == (7, 7)
    (der,) = translator.tokens.encode(" der")
    for place in (VERB, THE, NOUN):
        with_it, without = (
            experiments.probabilities_without(translator, ENGLISH, "Wir helfen", cross=experiments.hidden)[der].log()
            for experiments.hidden in ([], [place])
        )
        assert found[2, place] == pytest.approx(float(with_it - without), abs=1e-9)


def test_sentences_are_counted_that_stay_right(translator):
    frame = sublayers(translator)["encoder", 2, "attention"]
    assert experiments.still_right(translator, RUNNING, "box") == 3
    assert experiments.still_right(translator, RUNNING, "box", frame) == 2
    assert experiments.still_right(translator, RUNNING, "sum", frame) == 0
    assert experiments.each_cut(translator, RUNNING, "encoder")[2] == (2, "attention", 0, 3, 2)


def test_in_their_own_order_and_places_tokens_are_translated_as_ever(translator):
    for english, german in (sentence[:2] for sentence in RUNNING):
        assert experiments.placed(translator, english) == (english, german)
    assert experiments.placed(translator, LOVE)[1] == translator.translate([LOVE])[0]


def test_exchanged_places_do_what_exchanged_words_do(translator):
    english, german = experiments.placed(translator, LOVE, places=TURNED)
    assert english == LOVE
    assert german == experiments.placed(translator, LOVE, order=TURNED)[1] == "Der Mann liebt die Frau."


def test_without_positions_every_order_gives_the_same(translator):
    orders = [None, [8, 7, 6, 5, 4, 3, 2, 1, 0], [0, 1, 2, 7, 3, 4, 5, 6, 8]]
    found = [experiments.placed(translator, RUNNING[0].english, order, positions=False) for order in orders]
    assert len({german for _, german in found}) == 1
    assert len({english for english, _ in found}) == 3


def test_an_order_that_leaves_a_token_out_and_too_few_places_are_refused(translator):
    with pytest.raises(ValueError, match=r"order \(\[0, 1, 1, 3, 4, 5\]\) must number the 6 tokens of 'The woman"):
        experiments.placed(translator, LOVE, order=[0, 1, 1, 3, 4, 5])
    with pytest.raises(ValueError, match=r"places \(\[0, 1\]\) must be 6, one for each token"):
        experiments.placed(translator, LOVE, places=[0, 1])


def test_an_arrow_is_added_to_the_rows_of_the_things_alone_and_only_for_once(translator):
    nouns, rows = noun_rows(translator)
    names, chair, table = [noun.english for noun in nouns], RUNNING[0], translator.model.embedding.weight.clone()
    lamp, picture, at = (rows[names.index(thing)] for thing in ("lamp", "picture", "chair"))
    assert experiments.steered(translator, ["chair"], lamp - at) == [RUNNING[1].german]
    assert experiments.steered(translator, ["chair", "chair"], picture - at) == [RUNNING[2].german] * 2
    assert experiments.steered(translator, ["chair", "lamp"], 0 * at) == [chair.german, RUNNING[1].german]
    assert translator.translate([chair.english]) == [chair.german]
    assert translator.model.embedding.weight.equal(table)


def test_an_arrow_for_what_is_no_thing_or_of_another_width_is_refused(translator):
    with pytest.raises(ValueError, match=re.escape("thing ('teapot') is none that the phrasebook")):
        experiments.steered(translator, ["teapot"], np.zeros(128))
    with pytest.raises(ValueError, match=re.escape("arrow must have shape (128,), not (3,)")):
        experiments.steered(translator, ["chair"], np.zeros(3))


def test_a_turned_number_counts_from_one_and_leaves_the_model_as_it_is(translator):
    before = translator.model.embedding.weight.detach().clone()
    row = noun_row(translator, "chair")
    (as_it_is, right), (high, wrong) = (experiments.turned(translator, "chair", 49, value) for value in (row[48], 1.5))
    assert translator.model.embedding.weight.equal(before)
    assert (right, wrong) == ("er", "es")
    assert experiments.surprise(translator, "chair", 49, 1.5) == high
    source, target = begun(translator, "chair")
    config = translator.model.config
    for nats, value in ((as_it_is, row[48]), (high, 1.5)):
        weights = params(translator)
        table = weights["embedding.weight"] = weights["embedding.weight"].copy()
        table[translator.tokens.encode(" chair")[0], 48] = value
        logits, _ = transformer(source, target, weights, config)
        right = translator.tokens.encode(RUNNING[0].german)[target.shape[1] - 1]
        chances = np.exp(logits[0, -1]) / np.exp(logits[0, -1]).sum()
        assert nats == pytest.approx(-np.log(chances[right]), abs=1e-8)


def test_a_column_outside_the_table_cannot_be_turned(translator):
    for column in (0, 129):
        with pytest.raises(ValueError, match=re.escape(f"column ({column}) must lie between 1 and 128")):
            experiments.turned(translator, "chair", column, 0)
