"""The sentence of the book: its German is right, its model never trained on it, and what is measured is measured."""

import contextlib
import json
import re
from dataclasses import replace

import numpy as np
import phrasebook_model
import pytest
import torch
from guards import BOOK
from helpers import unchecked

from tested_transformer.__main__ import parser
from tested_transformer.book import thread
from tested_transformer.byhand.attention import attention as byhand
from tested_transformer.command.run import Run, begins
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
    for sentence in SENTENCES:
        assert any(corpus.held_out(pair) for pair in sentence.combinations), sentence.english
    for thing in thread.THINGS:
        pairs = [[p for p in frame.say(thing).combinations if p[0] == "reason"] for frame in thread.FRAMES]
        assert all(corpus.held_out(pair) for (pair,) in pairs)


@pytest.mark.slow
def test_no_sentence_is_among_the_150_000_that_the_model_was_trained_and_chosen_with():
    pairs = read_json(PHRASEBOOK / "run.json", "run")["data"]["phrasebook"]
    with unchecked():
        train, valid, chosen_by = corpus.split(pairs)
    told = {sentence.english for sentence in train + valid}
    assert len(told) > pairs
    assert not told & {sentence.english for sentence in SENTENCES}
    with unchecked():
        of_the_chapter = corpus.split(10_000, 1500)[2]
    assert not {s.english for s in of_the_chapter} & {s.english for s in chosen_by}, "they would be no test any more"


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
    assert thread.cut(translator, sentence, 1, "for", "looking") == ("den", "für")
    assert thread.cut(translator, sentence, 2, "for", "looking") is None
    assert thread.cut(translator, sentence, 1, "it", "chair") is None
    assert thread.cut(translator, sentence, 2, "it", "chair") == ("ihn", "sie")
