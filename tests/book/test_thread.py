"""The sentence of the book: its German is right, its model never trained on it, and what is measured is measured."""

import contextlib
import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import phrasebook_model
import pytest
import torch
from guards import BOOK
from helpers import normal, unchecked

from tested_transformer.__main__ import parser
from tested_transformer.book import thread
from tested_transformer.byhand.attention import attention as byhand
from tested_transformer.byhand.attention import attention_backward
from tested_transformer.byhand.transformer import transformer
from tested_transformer.command.run import Run, begins
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.files import read_json, sealed
from tested_transformer.phrasebook import corpus
from tested_transformer.training import checkpoint
from tested_transformer.training.events import Step, to_dict

SENTENCES = [frame.say(thing) for frame in thread.FRAMES for thing in thread.THINGS]
SENTENCES += [thread.love(thing) for thing in thread.LOVED]


@pytest.fixture(scope="module")
def translator():
    return thread.load()


def test_the_thread_is_what_the_book_says_it_is():
    assert [sentence[:2] for sentence in thread.THREAD] == [
        ("I need the chair because it is old.", "Ich brauche den Stuhl, weil er alt ist."),
        ("I need the lamp because it is old.", "Ich brauche die Lampe, weil sie alt ist."),
        ("I need the picture because it is old.", "Ich brauche das Bild, weil es alt ist."),
    ]
    assert thread.love("AI")[:2] == ("I love AI.", "Ich liebe KI.")
    assert thread.love("window")[:2] == ("I love the window.", "Ich liebe das Fenster.")
    assert {"AI", "music"} <= set(thread.LOVED)


SAID = {
    "dog": """
        I need the dog because it is old. | Ich brauche den Hund, weil er alt ist.
        The woman loves the dog because it is new. | Die Frau liebt den Hund, weil er neu ist.
        She sold the dog although it was beautiful. | Sie hat den Hund verkauft, obwohl er schön war.
        He is buying the dog although it is expensive. | Er kauft den Hund, obwohl er teuer ist.
        I am looking for the dog because I need it. | Ich suche den Hund, weil ich ihn brauche.
        My father does not need the dog because it is old. | Mein Vater braucht den Hund nicht, weil er alt ist.""",
    "music": """
        I need music because it is old. | Ich brauche Musik, weil sie alt ist.
        The woman loves music because it is new. | Die Frau liebt Musik, weil sie neu ist.
        She sold music although it was beautiful. | Sie hat Musik verkauft, obwohl sie schön war.
        He is buying music although it is expensive. | Er kauft Musik, obwohl sie teuer ist.
        I am looking for music because I need it. | Ich suche Musik, weil ich sie brauche.
        My father does not need music because it is old. | Mein Vater braucht Musik nicht, weil sie alt ist.""",
}


@pytest.mark.parametrize("thing", SAID)
def test_all_frames_are_good_english_and_good_german(thing):
    told = [tuple(line.strip().split(" | ")) for line in SAID[thing].strip().splitlines()]
    assert [frame.say(thing)[:2] for frame in thread.FRAMES] == told


def test_each_sentence_has_a_pair_of_words_that_is_held_out_from_training():
    """So none is among the 150,000 that the model was trained with, nor among those that it was validated with.

    What `split` cuts off for these two has no such pair, and the same English has always the same pairs: both are
    tested with the phrasebook.
    """
    for sentence in SENTENCES:
        assert any(corpus.held_out(pair) for pair in sentence.combinations), sentence.english
    for thing in thread.THINGS:
        pairs = [[p for p in frame.say(thing).combinations if p[0] == "reason"] for frame in thread.FRAMES]
        assert all(corpus.held_out(pair) for (pair,) in pairs)


def test_the_chapters_own_test_has_no_sentence_that_the_model_was_chosen_with(monkeypatch):
    """Both are cut from one stream, in which none comes twice, the second behind all that the model was trained with.

    The chapter's split ends before it has seen as many sentences as were trained with.
    """
    data = read_json(PHRASEBOOK / "run.json", "run")["data"]
    assert data.keys() == {"phrasebook"}
    stream, drawn = corpus._all, {}

    def noted(seed):
        for place, sentence in enumerate(stream(seed)):
            assert drawn.setdefault(sentence.english, place) == place, "it comes twice"
            yield sentence

    monkeypatch.setattr(corpus, "_all", noted)
    with unchecked():
        train, valid, test = ([drawn[s.english] for s in part] for part in corpus.split(10_000, 1500))
    assert max(train) < min(valid + test), "what a model is chosen with comes behind what it was trained with"
    assert max(test) < len(drawn) < data["phrasebook"], "they would be no test any more"


def test_it_stands_for_every_noun_that_is_no_person():
    assert thread.THINGS.keys().isdisjoint({"man", "child", "mother"})
    assert {thing.gender for thing in thread.THINGS.values()} == set("mfn")
    with pytest.raises(ValueError, match=r"thing \('man'\) is none that the phrasebook has a word for"):
        thread.FRAMES[0].say("man")
    with pytest.raises(ValueError, match=r"thing \('garden'\) must be one of music, AI, coat, machine, window: others"):
        thread.love("garden")


@pytest.mark.parametrize(
    ("german", "word"),
    [
        ("Ich brauche den Stuhl, weil er alt ist.", "er"),
        ("Er kauft die Lampe, obwohl sie teuer ist.", "sie"),
        ("Sie sucht das Bild, weil ich es brauche.", "es"),
        ("Er liebt den Hund, weil ich ihn brauche.", "ihn"),
        ("Er kauft den Stuhl, weil die Lampe alt ist.", ""),
        ("Heute kauft sie das Bild.", ""),
    ],
)
def test_the_pronoun_is_that_of_the_second_clause(german, word):
    assert thread.pronoun(german) == word


def test_the_weight_on_a_thing_of_several_pieces_is_that_of_all_of_them(translator, monkeypatch):
    chair = thread.THREAD[0].english
    it, pieces = thread._places(translator, chair, "chair")
    names = [translator.name(i) for i in translator.encode(chair, 1)]
    assert (names[it], [names[i] for i in pieces]) == (" it", [" chair"])
    monkeypatch.setitem(thread.THINGS, "xylophone", thread.THINGS["chair"]._replace(english="xylophone"))
    strange = thread.FRAMES[0].say("xylophone").english
    it, pieces = thread._places(translator, strange, "xylophone")
    names = [translator.name(i) for i in translator.encode(strange, 1)]
    assert names[it] == " it"
    assert "".join(names[i] for i in pieces) == " xylophone"
    assert len(pieces) > 1
    weights = translator.look(strange, "")[2]["encoder"][:, :, it]
    found = thread.on_the_thing(translator, thread.FRAMES[0], "xylophone")
    assert torch.equal(found, weights[..., pieces].sum(-1))
    assert found.shape == (2, 4)


def test_the_other_thing_has_another_gender():
    for thing in thread.THINGS:
        assert thread.THINGS[thread.another(thing)].gender != thread.THINGS[thing].gender
    assert (thread.another("chair"), thread.another("hotel")) == ("door", "dog")  # the next, and from the end the first


def test_to_exchange_a_row_for_itself_changes_nothing_and_for_another_one_the_pronoun(translator):
    for frame in (thread.FRAMES[0], thread.FRAMES[4]):
        right = thread.pronoun(frame.say("chair").german)
        assert thread.exchanged(translator, frame, "chair", "chair") == right
        assert thread.exchanged(translator, frame, "chair", "lamp") == "sie"
        assert thread.exchanged(translator, frame, "chair", "lamp", word="because") == right
        assert thread.exchanged(translator, frame, "chair", "lamp", word=None) == right


def test_a_word_that_is_no_token_of_the_sentence_is_refused(translator):
    with pytest.raises(ValueError, match=r"word \('although'\) must be one token of 'I need the chair because"):
        thread.exchanged(translator, thread.FRAMES[0], "chair", "lamp", word="although")


def test_what_is_hidden_is_hidden_from_it_alone_and_in_the_heads_asked_for(translator, monkeypatch):
    masks = []
    for layer in translator.model.encoder.layers:
        monkeypatch.setattr(layer, "forward", lambda x, mask, run=layer.forward: masks.append(mask[0]) or run(x, mask))
    it, (chair,) = thread._places(translator, thread.THREAD[0].english, "chair")
    thread.hidden(translator, thread.FRAMES[0], "chair")
    assert [(~mask).nonzero().tolist() for mask in masks] == 2 * [[[head, it, chair] for head in range(4)]]
    masks.clear()
    one = torch.zeros(2, 4, dtype=torch.bool)
    one[1, 2] = True
    thread.hidden(translator, thread.FRAMES[0], "chair", one)
    assert [(~mask).nonzero().tolist() for mask in masks] == [[], [[2, it, chair]]]


def test_where_nothing_is_hidden_the_pronoun_is_the_right_one(translator):
    nothing = torch.zeros(2, 4, dtype=torch.bool)
    for sentence, thing in zip(thread.THREAD, ("chair", "lamp", "picture"), strict=True):
        assert thread.hidden(translator, thread.FRAMES[0], thing, nothing) == thread.pronoun(sentence.german)


# All sentences at once, and a head that is switched off


@pytest.fixture(scope="module")
def told(translator):
    return thread.answers(translator)


def test_the_answers_are_those_of_each_sentence_alone(translator, told):
    layer, head, answers = told
    assert [(a.frame, a.thing) for a in answers] == [(n, t) for n in range(6) for t in thread.THINGS]
    for answer in answers[::37]:
        assert answer.sentence == thread.FRAMES[answer.frame].say(answer.thing)
        text = answer.sentence.english
        assert [answer.german] == translator.translate([text])
        with thread.without(translator, layer, head):
            assert [answer.without] == translator.translate([text])
        words, at = text.rstrip(".").split(), thread.THINGS[answer.thing].english
        alone = thread.on_the_thing(translator, thread.FRAMES[answer.frame], answer.thing)[layer, head]
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
    heads = translator.model.encoder.layers[1].self_attention
    order = torch.tensor([2, 0, 3, 1])  # the third becomes the first
    kept = {linear: linear.weight.detach().clone() for linear in (heads.w_q, heads.w_k, heads.w_v, heads.w_o)}
    with torch.no_grad():
        for linear, weight in kept.items():
            cut = weight.unflatten(0 if linear is not heads.w_o else 1, (4, -1))
            moved = cut[order].flatten(0, 1) if linear is not heads.w_o else cut[:, order].flatten(1)
            linear.weight.copy_(moved)
        try:
            layer, head, answers = thread.answers(translator)
        finally:
            for linear, weight in kept.items():
                linear.weight.copy_(weight)
    assert (layer, head) == (1, 0)
    assert [a.german for a in answers] == [a.german for a in told[2]]
    assert [a.without for a in answers] == [a.without for a in told[2]]


def test_only_the_output_of_one_head_is_taken_away_and_only_for_a_while(translator):
    model = translator.model
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    heads = model.encoder.layers[1].self_attention
    x = torch.randn(1, 5, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        whole, weights = heads(x, x, x, need_weights=True)
        own = (weights @ heads.values(x))[:, 2] @ heads.w_o.weight[:, 64:96].T
        with thread.without(translator, 1, 2):
            rest, same = heads(x, x, x, need_weights=True)
            changed = [name for name, p in model.named_parameters() if not torch.equal(p, before[name])]
        with contextlib.suppress(KeyError), thread.without(translator, 1, 2):
            raise KeyError
    assert changed == ["encoder.layers.1.self_attention.w_o.weight"]
    assert torch.allclose(rest, whole - own)
    assert torch.equal(same, weights), "it still looks; what it saw is not handed on"
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_right_pronouns_and_right_sentences_are_counted():
    wanted = ["Ich brauche den Stuhl, weil er alt ist.", "Ich brauche die Lampe, weil sie alt ist."]
    assert thread.count_right(wanted, wanted) == (2, 2)
    assert thread.count_right([wanted[0], "Ich brauche das Bild, weil sie alt ist."], wanted) == (2, 1)
    assert thread.count_right([wanted[0].replace("er", "es"), wanted[1]], wanted) == (1, 1)


@pytest.mark.parametrize("even", [False, True])
def test_heads_that_share_their_weights_are_one_wide_head_and_only_for_a_while(translator, even):
    heads = translator.model.encoder.layers[1].self_attention
    x = torch.randn(1, 5, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask = torch.tensor([True, True, True, True, False])[None, None, None]
    with torch.no_grad():
        whole, weights = heads(x, x, x, mask, need_weights=True)
        with thread.shared_weights(translator, even):
            out, shared = heads(x, x, x, mask, need_weights=True)
            fused, nothing = heads(x, x, x, mask)
        with contextlib.suppress(KeyError), thread.shared_weights(translator, even):
            raise KeyError
        again = heads(x, x, x, mask, need_weights=True)[0]
        expected = torch.where(mask[0, 0], 0.25, 0.0) if even else weights[0].mean(dim=0)
        wide = heads.w_o(expected.expand(5, 5).double() @ heads.w_v(x))
    assert torch.allclose(shared, expected.expand(4, 5, 5).double())
    assert torch.allclose(out, wide), "one head, as wide as a row"
    assert torch.equal(fused, out)
    assert nothing is None
    assert not torch.allclose(out, whole)
    assert torch.equal(again, whole)


def test_a_layer_or_a_head_that_is_not_there_is_refused(translator):
    for place in ((2, 0), (0, 4), (-1, 0)):
        rule = rf"layer and head \({place[0]} and {place[1]}\) must be below 2 and 4"
        with pytest.raises(ValueError, match=rule), thread.without(translator, *place):
            pass


def test_with_the_head_all_are_right_and_without_it_only_pronouns_go_wrong(told):
    answers = told[2]
    assert all(a.german == a.sentence.german for a in answers)
    wrong = [a for a in answers if a.without != a.sentence.german]
    assert 0 < len(wrong) < len(answers)
    for a in wrong:
        pairs = zip(a.without.split(), a.sentence.german.split(), strict=True)
        ((now, right),) = [pair for pair in pairs if pair[0] != pair[1]]
        assert (now.strip("."), right.strip(".")) == (thread.pronoun(a.without), thread.pronoun(a.sentence.german))


def test_the_way_of_a_row_is_that_of_the_model(translator):
    model, text = translator.model, thread.THREAD[0].english
    came, hooks = [], []
    for layer in model.encoder.layers:
        for box in (layer.self_attention, layer.addnorm_1, layer.feed_forward, layer.addnorm_2):
            hooks.append(box.register_forward_hook(lambda _, given, out: came.append(out)))
    ids = torch.tensor([translator.encode(text, 1)])
    with torch.no_grad():
        memory, embedded = model.encode(ids), model.embedding(ids)
    for hook in hooks:
        hook.remove()
    it = 5
    lengths = [float((out[0] if isinstance(out, tuple) else out)[0, it].norm()) for out in came]
    rows, added = thread.stream(translator, text, "it")
    assert rows[0] == pytest.approx(float(embedded[0, it].norm()))
    assert rows[1] == pytest.approx(float((embedded[0, it] + model.positions.table[it]).norm()))
    assert added == pytest.approx([8.0, *lengths[::2]])  # 64 pairs of a sine and a cosine
    assert rows[2:] == pytest.approx(lengths[1::2])
    assert rows[-1] == pytest.approx(float(memory[0, it].norm()))


def test_a_row_goes_through_sum_and_norm_box_by_box(translator):
    steps = thread.along(translator, thread.THREAD[0].english, "it")
    norms = [frame.norm for place, frame in thread.frames(translator).items() if place[0] == "encoder"]
    for (before, added, after), norm in zip(steps, norms, strict=True):
        with torch.no_grad():
            assert np.allclose(norm(torch.tensor(before + added)), after)
    for (*_, after), (before, *_) in pairwise(steps):
        assert np.array_equal(after, before)


def test_the_frames_are_those_of_the_model(translator):
    model, frames = translator.model, thread.frames(translator)
    assert frames["encoder", 2, "attention"] is model.encoder.layers[1].addnorm_1
    assert frames["decoder", 1, "cross-attention"] is model.decoder.layers[0].addnorm_2
    assert set(frames.values()) == {m for m in model.modules() if type(m).__name__ == "AddNorm"}


def test_a_part_of_a_frame_is_cut_only_for_a_while(translator):
    frame = thread.frames(translator)["encoder", 1, "attention"]
    x, box = torch.randn(2, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64), torch.tanh
    wanted = {"sum": frame.norm(box(x)), "norm": x + box(x), "box": frame.norm(x)}
    for part, expected in wanted.items():
        with thread.cut(part, frame):
            assert torch.equal(frame(x, box), expected)
        with contextlib.suppress(KeyError), thread.cut(part, frame):
            raise KeyError
        assert torch.equal(frame(x, box), frame.norm(x + box(x)))
    with pytest.raises(ValueError, match=r"part \('add'\) must be one of sum, norm, box"), thread.cut("add", frame):
        pass


def test_sentences_are_counted_that_stay_right(translator):
    frame = thread.frames(translator)["encoder", 2, "attention"]
    assert thread.still_right(translator, thread.THREAD, "box") == 3
    assert thread.still_right(translator, thread.THREAD, "box", frame) == 2
    assert thread.still_right(translator, thread.THREAD, "sum", frame) == 0
    assert thread.each_cut(translator, thread.THREAD, "encoder")[2] == (2, "attention", 0, 3, 2)


LOVE = "The woman loves the man."
TURNED = [0, 4, 2, 3, 1, 5]


def test_in_their_own_order_and_places_tokens_are_translated_as_ever(translator):
    for english, german in (sentence[:2] for sentence in thread.THREAD):
        assert thread.placed(translator, english) == (english, german)
    assert thread.placed(translator, LOVE)[1] == translator.translate([LOVE])[0]


def test_another_order_is_another_sentence(translator):
    other = "The man loves the woman."
    assert thread.placed(translator, LOVE, order=TURNED) == (other, translator.translate([other])[0])


def test_exchanged_places_do_what_exchanged_words_do(translator):
    english, german = thread.placed(translator, LOVE, places=TURNED)
    assert english == LOVE
    assert german == thread.placed(translator, LOVE, order=TURNED)[1] == "Der Mann liebt die Frau."


def test_without_positions_every_order_gives_the_same(translator):
    orders = [None, [8, 7, 6, 5, 4, 3, 2, 1, 0], [0, 1, 2, 7, 3, 4, 5, 6, 8]]
    found = [thread.placed(translator, thread.THREAD[0].english, order, positions=False) for order in orders]
    assert len({german for _, german in found}) == 1
    assert len({english for english, _ in found}) == 3


def test_an_order_that_leaves_a_token_out_and_too_few_places_are_refused(translator):
    with pytest.raises(ValueError, match=r"order \(\[0, 1, 1, 3, 4, 5\]\) must number the 6 tokens of 'The woman"):
        thread.placed(translator, LOVE, order=[0, 1, 1, 3, 4, 5])
    with pytest.raises(ValueError, match=r"places \(\[0, 1\]\) must be 6, one for each token"):
        thread.placed(translator, LOVE, places=[0, 1])


def test_texts_in_a_batch_are_written_as_they_are_alone(translator):
    texts = [sentence.english for sentence in (*thread.THREAD, thread.love("AI"), thread.FRAMES[5].say("lamp"))]
    assert thread.written(translator, texts) == translator.translate(texts)
    assert thread.written(translator, texts[:1], most=3) == ["Ich brauche"]


def test_of_the_german_that_is_given_whole_all_tokens_are_guessed(translator):
    for sentence in thread.THREAD:
        found = thread.guesses(translator, sentence)
        assert all(guess == right for guess, right in found)
        tokens = [right for _, right in found]
        assert tokens[-1] == "<eos>"
        assert "".join(tokens[:-1]) == sentence.german.replace(" ", "")


def test_a_mask_is_taken_away_for_a_while_and_only_this_one(translator):
    chair, c = thread.THREAD[0], translator.model.config
    source = torch.tensor([[*translator.encode(chair.english, 1), c.pad_id]])
    target = torch.tensor([[c.bos_id, *translator.tokens.encode(chair.german)]])

    def looks():
        seen = attention_weights(translator.model, source, target)
        ahead = seen["decoder"].triu(1).any()
        return bool(ahead), *(bool(seen[kind][..., -1].any()) for kind in ("encoder", "cross"))

    assert looks() == (False, False, False)
    with thread.unmasked(translator, "future"):
        assert looks() == (True, False, False)
    with thread.unmasked(translator, "padding"):
        assert looks() == (False, True, True)
    with contextlib.suppress(KeyError), thread.unmasked(translator, "future"):
        raise KeyError
    with thread.unmasked(translator, ""):
        assert looks() == (False, False, False)
    with pytest.raises(ValueError, match=re.escape("mask ('past') must be future or padding")):
        thread.written(translator, [chair.english], without="past")


def test_without_its_mask_the_future_disturbs_what_is_given_whole_and_padding_what_is_written(translator):
    chair, longer = thread.THREAD[0], thread.FRAMES[5].say("lamp").english
    without = [guess == right for guess, right in thread.guesses(translator, chair, without="future")]
    assert not all(without)
    assert thread.written(translator, [chair.english], without="future") == [chair.german]
    assert thread.written(translator, [chair.english, longer], without="padding")[0] != chair.german
    assert thread.written(translator, [chair.english], without="padding") == [chair.german]


def test_without_its_mask_the_future_can_disturb_what_is_written_too_unless_it_is_kept(translator):
    car = ["Does this car belong to your sisters?"]
    right = ["Gehört dieses Auto deinen Schwestern?"]
    assert thread.written(translator, car) == translator.translate(car) == right
    assert thread.written(translator, car, without="future") == ["Gehört dieses Auto?"]
    with thread.unmasked(translator, "future"):
        assert translator.translate(car) == ["Gehört dieses Auto?"]


# What was measured of the three seeds

RUN_OF_PACKAGE = Run.load(PHRASEBOOK / "run.json")
RESULTS = json.loads((BOOK / "results" / "phrasebook.json").read_text(encoding="utf-8"))


def test_the_model_of_the_package_is_the_one_that_the_rules_take():
    assert sealed(RESULTS) == RESULTS
    assert RESULTS["least"] == phrasebook_model.LEAST
    rows = RESULTS["seeds"]
    assert [row["seed"] for row in rows] == list(phrasebook_model.SEEDS)
    for row in rows:
        assert row["passes"] == all(row[name] >= limit for name, limit in phrasebook_model.LEAST.items())
    passed = [row for row in rows if row["passes"]]
    best = max(passed, key=lambda row: row["validation"])
    assert RESULTS["taken"] == best["seed"] == RUN_OF_PACKAGE.options.seed
    model, _ = checkpoint.load(PHRASEBOOK)
    assert best["weights"] == checkpoint.checksum(model.state_dict(), "{}")


@pytest.mark.parametrize("seed", phrasebook_model.SEEDS)
def test_the_tool_asks_for_the_run_of_the_package_and_only_the_seed_differs(seed, tmp_path):
    words = ["train", str(tmp_path / "run"), *phrasebook_model.arguments(RUN_OF_PACKAGE, seed)]
    assert begins(parser().parse_args(words)) == phrasebook_model.asked(RUN_OF_PACKAGE, seed)


def test_a_folder_with_another_run_or_one_that_did_not_end_is_refused(tmp_path):
    small = replace(RUN_OF_PACKAGE, options=replace(RUN_OF_PACKAGE.options, steps=3, cooldown=2))
    small.save(tmp_path / "run.json")
    with pytest.raises(SystemExit, match="another run, or one that did not end"):
        phrasebook_model.train(small, 0, log_of(tmp_path, steps=2))
    with pytest.raises(SystemExit, match="another run, or one that did not end"):
        phrasebook_model.train(small, 1, log_of(tmp_path, steps=3))


def log_of(folder, steps):
    """The folder, with the numbers of so many steps in it."""
    events = [to_dict(Step(n, 0, 1.0, 0.5, 10, 0.1, 1.0)) for n in range(1, steps + 1)]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return folder


def test_swaps_want_the_article_that_is_right_and_not_what_the_model_writes_anyway(monkeypatch):
    translator = thread.load()
    monkeypatch.setattr(translator.model.embedding, "logits", lambda x: torch.zeros(*x.shape[:-1], 1760))
    assert max(max(found) for found in phrasebook_model.swaps(translator)) < 0.01


def test_the_rows_of_it_are_those_of_the_three_sentences(translator):
    rows = thread.of_it(translator, layer=2, head=3)
    assert [(row[3], row[4]) for row in rows] == [
        (german, word) for (_, german, *_), word in zip(thread.THREAD, ("er", "sie", "es"), strict=True)
    ]
    for (tokens, weights, it, *_), frame_thing in zip(rows, ("chair", "lamp", "picture"), strict=True):
        assert tokens[it] == " it"
        assert len(tokens) == len(weights)
        on_thing = thread.on_the_thing(translator, thread.FRAMES[0], frame_thing)[1, 2]
        assert weights[tokens.index(f" {frame_thing}")] == pytest.approx(float(on_thing))


def test_of_the_large_weights_of_a_sentence_each_is_cut_alone(translator):
    lamp, found = thread.THREAD[1], thread.links(translator, thread.THREAD[1], least=0.9)
    weights = translator.look(lamp.english, "")[2]["encoder"]
    assert len(found) == int((weights >= 0.9).sum())
    assert [link.weight for link in found] == pytest.approx(weights[weights >= 0.9].tolist())
    assert [(link.layer, link.head, link.query, link.key, link.written) for link in found if link.written] == [
        (2, 3, "it", "lamp", ("sie", "er"))
    ]


def test_a_link_that_is_cut_is_what_hiding_the_thing_is(translator):
    for thing, sentence in zip(("chair", "lamp", "picture"), thread.THREAD, strict=True):
        (link,) = (x for x in thread.links(translator, sentence, least=0.99) if x.query == "it")
        here = torch.zeros(2, 4, dtype=torch.bool)
        here[link.layer - 1, link.head - 1] = True
        without = link.written[1] if link.written else thread.pronoun(sentence.german)
        assert thread.hidden(translator, thread.FRAMES[0], thing, here) == without


def test_with_no_link_so_large_nothing_is_cut(translator):
    assert thread.links(translator, thread.THREAD[0], least=1.1) == []


def test_queries_keys_and_values_of_a_head_give_its_weights(translator):
    english = thread.THREAD[0].english
    weights = translator.look(english, "")[2]["encoder"]
    for layer, head in ((1, 1), (2, 3), (2, 4)):
        tokens, (q, k, v) = thread.projected(translator, english, layer, head)
        assert tokens == [translator.name(i) for i in translator.encode(english, 1)]
        assert q.shape == k.shape == v.shape == (len(tokens), 32)
        assert byhand(q, k, v)[1] == pytest.approx(weights[layer - 1, head - 1].numpy())


def test_a_head_is_taken_away_in_two_ways(translator):
    found = {thing: thread.taken_away(translator, thing, layer=2, head=3) for thing in ("chair", "lamp", "picture")}
    assert found == {"chair": ("er", "sie", "er"), "lamp": ("sie", "sie", "er"), "picture": ("es", "sie", "sie")}
    of_all = {(a.frame, a.thing): a.without for a in thread.answers(translator)[2]}
    assert [off for _, off, _ in found.values()] == [thread.pronoun(of_all[0, thing]) for thing in found]


def test_the_shapes_of_the_way_have_one_size_for_each_letter(translator):
    c, found = translator.model.config, thread.shapes(translator)
    sizes = {}
    for name, axes, shape in found:
        assert len(axes.split()) == len(shape), name
        for letter, size in zip(axes.split(), shape, strict=True):
            assert sizes.setdefault(letter, size) == size, (name, letter)
    german = max(len(translator.tokens.encode(sentence.german)) for sentence in thread.THREAD)
    assert sizes == {
        "B": 3, "S": 10, "T": german + 1, "D": c.d_model, "H": c.n_heads, "Tq": 10, "Tk": 10, "Dk": c.d_k,
        "F": c.d_ff, "V": c.vocab_size,
    }  # fmt: skip
    assert len({size for letter, size in sizes.items() if letter not in ("Tq", "Tk")}) == 8, "sizes that tell apart"


def test_shapes_are_those_of_the_sentences_that_are_asked_for(translator):
    two = [thread.love("window"), thread.FRAMES[3].say("lamp")]
    assert thread.shapes(translator, two)[0][2] == (2, len(translator.encode(two[1].english, 1)))


def test_the_sentence_is_begun_up_to_the_word_for_it(translator):
    for thing, german in (("chair", "Ich brauche den Stuhl, weil"), ("lamp", "Ich brauche die Lampe, weil")):
        (source,), (target,) = thread.begun(translator, thing)
        assert source.tolist() == translator.encode(thread.FRAMES[0].say(thing).english, 1)
        assert target[0] == translator.model.config.bos_id
        assert translator.tokens.decode(target[1:].tolist()) == german
    with pytest.raises(ValueError, match="thing"):
        thread.begun(translator, "moon")


def test_at_each_place_the_next_token_is_asked_for(translator):
    (source,), (target,), (wanted,) = thread.asked(translator, thread.love("AI"))
    c = translator.model.config
    assert source.tolist() == translator.encode("I love AI.", 1)
    assert target.tolist() == [c.bos_id, *wanted[:-1]]
    assert translator.tokens.decode(wanted[:-1].tolist()) == "Ich liebe KI."
    assert wanted[-1] == c.eos_id


def test_what_the_model_has_learned_makes_the_same_of_a_sentence_by_hand(translator):
    ids, weights = thread.begun(translator, "chair"), thread.learned(translator)
    assert weights.keys() == translator.model.state_dict().keys()
    logits, _ = transformer(*ids, weights, translator.model.config)
    with torch.no_grad():
        wanted = translator.model(*map(torch.tensor, ids))
    assert np.allclose(logits, wanted, rtol=0, atol=1e-9)


def test_the_rows_of_nouns_are_those_of_the_table_where_their_token_reads_them(translator):
    nouns, rows = thread.noun_rows(translator)
    assert len(nouns) == len(rows) == 59
    for noun, row in zip(nouns, rows, strict=True):
        place, vectors = thread._place(translator, f"I need the {noun.english}.", noun.english), []
        hook = translator.model.embedding.register_forward_hook(
            lambda _, read, out, vectors=vectors: vectors.append(out)
        )
        translator.look(f"I need the {noun.english}.", "")
        hook.remove()
        assert np.allclose(vectors[0][0, place] / np.sqrt(128), row)


def test_an_arrow_is_added_to_the_rows_of_the_things_alone_and_only_for_once(translator):
    nouns, rows = thread.noun_rows(translator)
    names, chair, table = [noun.english for noun in nouns], thread.THREAD[0], translator.model.embedding.weight.clone()
    lamp, picture, at = (rows[names.index(thing)] for thing in ("lamp", "picture", "chair"))
    assert thread.moved(translator, ["chair"], lamp - at) == [thread.THREAD[1].german]
    assert thread.moved(translator, ["chair", "chair"], picture - at) == [thread.THREAD[2].german] * 2
    assert thread.moved(translator, ["chair", "lamp"], 0 * at) == [chair.german, thread.THREAD[1].german]
    assert translator.translate([chair.english]) == [chair.german]
    assert translator.model.embedding.weight.equal(table)


def test_the_mean_of_a_gender_moves_a_noun_that_is_no_part_of_it(translator):
    nouns, rows = thread.noun_rows(translator)
    for place, noun in enumerate(nouns):
        if noun.english in ("chair", "lamp", "picture"):
            others = [n for n in range(len(nouns)) if n != place]
            mean = {g: rows[[n for n in others if nouns[n].gender == g]].mean(axis=0) for g in "mfn"}
            for gender, pronoun in {"m": "er", "f": "sie", "n": "es"}.items():
                (written,) = thread.moved(translator, [noun.english], mean[gender] - mean[noun.gender])
                assert thread.pronoun(written) == pronoun


def test_an_arrow_for_what_is_no_thing_or_of_another_width_is_refused(translator):
    with pytest.raises(ValueError, match=re.escape("thing ('teapot') is none that the phrasebook")):
        thread.moved(translator, ["teapot"], np.zeros(128))
    with pytest.raises(ValueError, match=re.escape("arrow must have shape (128,), not (3,)")):
        thread.moved(translator, ["chair"], np.zeros(3))


def test_the_pieces_of_a_text_are_its_tokens_with_their_ids(translator):
    found = thread.pieces(translator, "I need the carpet.")
    assert [text for text, _ in found] == ["I", " need", " the", " car", "p", "et", "."]
    assert [i for _, i in found] == translator.tokens.encode("I need the carpet.")
    assert thread.pieces(translator, "") == []


def test_a_word_that_the_model_has_not_read_is_taken_for_its_first_piece(translator):
    assert thread.needed(translator, "chair") == "den Stuhl"
    assert thread.needed(translator, "carpet") == thread.needed(translator, "car") == "das Auto"
    assert thread.needed(translator, "chairpet") == "den Stuhl"


def boxes(layer):
    """Attention to the sentence itself, to the memory where there is one, and the feed-forward network."""
    names = ("self_attention", "cross_attention", "feed_forward")
    return [getattr(layer, name) for name in names if hasattr(layer, name)]


@torch.no_grad()
def test_boxes_that_are_switched_off_add_nothing_and_only_for_a_while(translator):
    layer, x = translator.model.encoder.layers[1], torch.tensor(normal(2, 5, 128))
    whole = layer(x)
    with thread.switched_off(*boxes(layer)):
        assert torch.equal(layer(x), layer.addnorm_2.norm(layer.addnorm_1.norm(x)))
    with thread.switched_off(layer.feed_forward):
        attended = layer.addnorm_1(x, lambda x: layer.self_attention(x, x, x)[0])
        assert torch.equal(layer(x), layer.addnorm_2.norm(attended))
    assert torch.equal(layer(x), whole)


def test_boxes_are_switched_on_again_after_an_error(translator):
    texts = [sentence.english for sentence in thread.THREAD]
    network = translator.model.decoder.layers[0].feed_forward
    with thread.switched_off(network):
        assert translator.translate(texts[:1])[0].startswith("IchIch")
    with contextlib.suppress(ZeroDivisionError), thread.switched_off(network):
        raise ZeroDivisionError
    assert translator.translate(texts) == [sentence.german for sentence in thread.THREAD]


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2])
def test_a_row_is_fed_as_the_layer_feeds_it(translator, layer):
    english = thread.THREAD[1].english
    network = translator.model.encoder.layers[layer - 1].feed_forward
    found = thread.fed(translator, english, "it", layer)
    assert [x.shape for x in found] == [(128,), (256,), (128,)]
    row = torch.tensor(found.row)
    assert network.w_1(row).numpy() == pytest.approx(found.inner)
    assert network(row).numpy() == pytest.approx(found.added)
    lengths = thread.stream(translator, english, "it")[1]  # its position, attention, network, attention, network
    assert np.linalg.norm(found.added) == pytest.approx(lengths[2 * layer])


def test_what_the_last_layer_makes_of_a_fed_row_leaves_the_encoder(translator):
    english = thread.THREAD[0].english
    found = thread.fed(translator, english, "it", 2)
    norm = translator.model.encoder.layers[1].addnorm_2.norm
    memory = translator.model.encode(torch.tensor([translator.encode(english, 1)]))
    place = [translator.name(i) for i in translator.encode(english, 1)].index(" it")
    assert torch.allclose(norm(torch.tensor(found.row + found.added)), memory[0, place])


def test_a_model_that_translates_right_goes_on_right_after_each_token(translator):
    sentences = [*thread.THREAD, thread.love("AI")]
    found = thread.goes_on(translator, sentences)
    read, follows, written = (list(column) for column in zip(*found, strict=True))
    german = [translator.tokens.encode(sentence.german) for sentence in sentences]
    names = [[translator.name(i) for i in ids] for ids in german]
    assert read == [name for sentence in names for name in ("<bos>", *sentence)]
    assert follows == written == [name for sentence in names for name in (*sentence, "<eos>")]


def test_padding_changes_nothing_of_what_a_sentence_goes_on_with(translator):
    sentences = [thread.FRAMES[5].say("lamp"), thread.love("AI")]
    with thread.switched_off(translator.model.decoder.layers[1].feed_forward):
        alone = [row for sentence in sentences for row in thread.goes_on(translator, [sentence])]
        assert thread.goes_on(translator, sentences) == alone
    assert thread.goes_on(translator, sentences, off=[translator.model.decoder.layers[1].feed_forward]) == alone
    assert any(follows != written for _, follows, written in alone)


def test_where_the_model_looks_before_the_pronoun_is_the_row_of_the_whole_sentence(translator):
    sentence = thread.THREAD[1]
    step = thread.writing(translator, sentence)
    read, written, weights = translator.look(sentence.english, sentence.german)
    n = written.index(" sie")
    assert step.read == read
    assert step.written == written[:n]
    assert np.allclose(step.across, weights["cross"][:, :, n - 1], atol=1e-9)
    assert np.allclose(step.back, weights["decoder"][:, :, n - 1, :n], atol=1e-9)
    assert np.allclose(step.back.sum(axis=-1), 1)
    assert thread._before_pronoun(sentence.german) == "Ich brauche die Lampe, weil"


def test_where_german_and_english_agree_nothing_is_contradicted(translator):
    frame = thread.FRAMES[0]
    for thing, right in (("chair", "er"), ("lamp", "sie"), ("picture", "es")):
        assert thread.contradicted(translator, frame, thing, thing) == right
    # with the German of the lamp it is as if that had been written so far
    begun = thread._before_pronoun(frame.say("lamp").german)
    target = torch.tensor([[translator.model.config.bos_id, *translator.tokens.encode(begun)]])
    source = torch.tensor([translator.encode(frame.say("chair").english, 1)])
    with torch.no_grad():
        logits = translator.model(source, target)[0, -1]
    expected = translator.name(int(logits.argmax())).strip()
    assert thread.contradicted(translator, frame, "chair", "lamp") == expected


def test_the_german_so_far_is_of_the_other_or_has_only_its_article_or_its_noun():
    first, sold = thread.FRAMES[0], thread.FRAMES[2]
    assert thread.so_far(first, "chair", "lamp") == "Ich brauche die Lampe, weil"
    assert thread.so_far(first, "chair", "lamp", "article") == "Ich brauche die Stuhl, weil"
    assert thread.so_far(first, "chair", "lamp", "noun") == "Ich brauche den Lampe, weil"
    assert thread.so_far(sold, "picture", "chair", "article") == "Sie hat den Bild verkauft, obwohl"
    # the article of the thing, and not that of whoever loves it
    assert thread.so_far(thread.FRAMES[1], "lamp", "chair", "article") == "Die Frau liebt den Lampe, weil"


def test_where_one_has_no_article_it_cannot_be_exchanged(translator):
    frame = thread.FRAMES[0]
    assert thread.so_far(frame, "chair", "music") == "Ich brauche Musik, weil"
    for two in (("chair", "music"), ("music", "chair")):
        for only in ("article", "noun"):
            assert thread.so_far(frame, *two, only) == thread.contradicted(translator, frame, *two, only) == ""


def test_only_an_article_or_a_noun_is_exchanged():
    rule = re.escape("only ('verb') must be article or noun, or be left out")
    with pytest.raises(ValueError, match=rule):
        thread.so_far(thread.FRAMES[0], "chair", "lamp", "verb")


@pytest.mark.parametrize(("kind", "place"), [("cross", "cross_attention"), ("decoder", "self_attention")])
def test_a_head_of_the_decoder_is_taken_away_alone_and_only_for_a_while(translator, kind, place):
    model, text = translator.model, thread.THREAD[0].english
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with thread.without(translator, 1, 3, kind):
        changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
        assert changed == {f"decoder.layers.1.{place}.w_o.weight"}
        w_o = model.decoder.layers[1].get_submodule(place).w_o.weight
        assert not w_o[:, 96:].any()
        assert torch.equal(w_o[:, :96], before[f"decoder.layers.1.{place}.w_o.weight"][:, :96])
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert translator.translate([text]) == [thread.THREAD[0].german]


def test_another_kind_of_attention_is_refused(translator):
    rule = re.escape("kind ('self') must be encoder, decoder or cross")
    with pytest.raises(ValueError, match=rule), thread.without(translator, 0, 0, "self"):
        pass


def test_a_test_with_two_things_is_counted_for_both_of_them(translator):
    said = {"first": [], "second": []}

    def first(_, frame, thing, other):
        said["first"].append((frame, thing, other))
        return thread.pronoun(frame.say(thing).german)

    def second(_, frame, thing, other):
        said["second"].append((frame, thing, other))
        return thread.pronoun(frame.say(other).german)

    n = len(thread.FRAMES) * len(thread.THINGS)
    assert thread.sides(translator, first) == (n, 0)
    assert thread.sides(translator, second) == (0, n)
    assert thread.sides(translator, lambda *_: "wir") == (0, 0)
    assert said["first"] == said["second"]
    assert len(set(said["first"])) == n
    assert all(other == thread.another(thing) for _, thing, other in said["first"])


def test_the_pronoun_follows_the_noun_until_the_second_layer_and_it_from_there_on(translator):
    for frame in thread.FRAMES:
        usual = thread.pronoun(frame.say("chair").german)
        tokens, found = thread.traced(translator, frame, "chair", "lamp")
        changing = [[t for t, p in zip(tokens, row, strict=True) if p != usual] for row in found]
        assert changing == [[" chair"], [" chair"], [" it"]]
        assert {pronoun for row in found for pronoun in row} == {usual, "sie"}


def test_what_is_exchanged_behind_the_last_layer_is_what_exchanged_exchanges(translator):
    frame = thread.FRAMES[0]
    tokens, found = thread.traced(translator, frame, "lamp", "picture")
    for word in ("it", "because"):
        assert found[2][tokens.index(f" {word}")] == thread.exchanged(translator, frame, "lamp", "picture", word)
    assert found[2][3] == thread.exchanged(translator, frame, "lamp", "picture", None)


def test_nothing_follows_another_thing_if_both_are_one(translator):
    tokens, found = thread.traced(translator, thread.FRAMES[0], "chair", "chair")
    assert found == [["er"] * len(tokens)] * 3


def test_things_of_unequally_many_tokens_cannot_be_exchanged_place_by_place(translator):
    lengths = {thing: len(translator.encode(thread.FRAMES[0].say(thing).english, 1)) for thing in thread.THINGS}
    assert len(set(lengths.values())) > 1, "some things have more tokens, or no article"
    other = next(thing for thing, n in lengths.items() if n != lengths["chair"])
    with pytest.raises(ValueError, match=rf"thing and other \('chair' and '{other}'\) must be named by equally many"):
        thread.traced(translator, thread.FRAMES[0], "chair", other)


def test_without_attention_all_heads_of_a_layer_are_off_and_only_for_so_long(translator):
    english = thread.FRAMES[4].say("chair").english
    usual = translator.translate([english])
    source = torch.tensor([translator.encode(english, 1)])
    x = translator.model.positions(translator.model.embedding(source))
    for layer in (0, 1):
        box = translator.model.encoder.layers[layer].self_attention
        with thread.without_attention(translator, layer):
            assert box(x, x, x)[0].eq(0).all()
            other = translator.model.encoder.layers[1 - layer].self_attention
            assert other(x, x, x)[0].ne(0).any()
        assert box(x, x, x)[0].ne(0).any()
    assert translator.translate([english]) == usual


def test_a_link_that_is_cut_changes_the_first_word_that_needs_it(translator):
    sentence = thread.FRAMES[4].say("chair")
    assert thread.unlinked(translator, sentence, 1, "for", "looking") == ("den", "für")
    assert thread.unlinked(translator, sentence, 2, "for", "looking") is None
    assert thread.unlinked(translator, sentence, 1, "it", "chair") is None
    assert thread.unlinked(translator, sentence, 2, "it", "chair") == ("ihn", "sie")


def test_a_turned_number_counts_from_one_and_leaves_the_model_as_it_is(translator):
    before = translator.model.embedding.weight.detach().clone()
    row = thread.noun_row(translator, "chair")
    (as_it_is, right), (turned, wrong) = thread.turned(translator, "chair", 49, [row[48], 1.5])
    assert translator.model.embedding.weight.equal(before)
    assert (right, wrong) == ("er", "es")
    assert thread.surprise(translator, "chair", 49, 1.5) == turned
    source, target = thread.begun(translator, "chair")
    config = translator.model.config
    for nats, value in ((as_it_is, row[48]), (turned, 1.5)):
        weights = thread.learned(translator)
        table = weights["embedding.weight"] = weights["embedding.weight"].copy()
        table[translator.tokens.encode(" chair")[0], 48] = value
        logits, _ = transformer(source, target, weights, config)
        right = translator.tokens.encode(thread.THREAD[0].german)[target.shape[1] - 1]
        chances = np.exp(logits[0, -1]) / np.exp(logits[0, -1]).sum()
        assert nats == pytest.approx(-np.log(chances[right]), abs=1e-8)


def test_a_column_outside_the_table_cannot_be_turned(translator):
    for column in (0, 129):
        with pytest.raises(ValueError, match=re.escape(f"column ({column}) must lie between 1 and 128")):
            thread.turned(translator, "chair", column, [0])


def test_what_arrives_at_a_head_leads_by_hand_to_the_gradient_that_pytorch_finds(translator):
    blamed = thread.blamed(translator, thread.THREAD[0], layer=1, head=2)
    q, k, v = blamed.parts
    weights = byhand(q, k, v)[1]
    d_q = attention_backward(blamed.d_out, q, k, v, weights)[0]
    assert np.allclose(blamed.x.T @ d_q, blamed.d_w_q, rtol=1e-6, atol=1e-15)
    assert blamed.loss == pytest.approx(-np.log(blamed.p["er"]))
    assert blamed.d_logits["er"] == pytest.approx(blamed.p["er"] - 1)
    assert blamed.d_logits["sie"] == pytest.approx(blamed.p["sie"])
    assert all(parameter.grad is None for parameter in translator.model.parameters())


def test_a_head_has_other_matrices_only_for_so_long(translator):
    before = {name: w.clone() for name, w in translator.model.state_dict().items()}
    with thread.replaced(translator, layer=2, head=3, w_q=np.zeros((128, 32))):
        queries, *_ = thread.blamed(translator, thread.THREAD[2], layer=2, head=3).parts
        assert not queries.any()
        others, *_ = thread.blamed(translator, thread.THREAD[2], layer=2, head=4).parts
        assert others.all()
        with unchecked():  # of so many sentences
            assert thread.right_pronouns(translator) == (151, 270)
    own, *_ = thread.blamed(translator, thread.THREAD[2], layer=2, head=3, w_q=np.zeros((128, 32))).parts
    assert not own.any()
    with unchecked():
        assert thread.right_pronouns(translator) == (270, 270)
    assert all(torch.equal(w, before[name]) for name, w in translator.model.state_dict().items())
    for matrices, rule in ({"w_o": 1}, "must be w_q, w_k or w_v"), ({"w_k": np.ones(3)}, r"w_k must have shape"):
        with pytest.raises(ValueError, match=rule), thread.replaced(translator, 2, 3, **matrices):
            pass


def test_the_surprises_of_a_sentence_are_minus_the_logarithms_of_what_the_model_gives_to_the_right_tokens(translator):
    sentence = thread.THREAD[2]
    names, nats = thread.surprises(translator, sentence)
    assert " ".join(names) == "Ich brau che das Bild , weil es alt ist . <eos>"
    source, target, right = map(torch.from_numpy, thread.asked(translator, sentence))
    with torch.no_grad():
        states = translator.model.decode(target, translator.model.encode(source), source)
        p = translator.model.embedding.logits(states).softmax(-1)[0]
    assert thread.logits(translator, sentence).shape == p.shape
    assert np.allclose(np.exp(-nats), p[torch.arange(12), right[0]])


def test_a_wrong_pronoun_surprises_at_its_own_place_only(translator):
    sentence = thread.THREAD[0]
    wrong = sentence._replace(german=sentence.german.replace(" er ", " sie "))
    names, nats = thread.surprises(translator, wrong)
    assert names[nats.argmax()] == "sie"
    assert nats.max() > 10
    assert np.delete(nats, nats.argmax()).max() < 0.01
