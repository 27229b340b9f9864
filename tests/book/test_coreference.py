"""The running sentences: their German is right, and the model of the package never trained on them."""

import re

import pytest
from helpers import unchecked

from tested_transformer.book.coreference import (
    FRAMES,
    LOVED,
    RUNNING,
    SENTENCES,
    THINGS,
    another,
    count_right,
    love,
    pronoun,
    sides,
    so_far,
)
from tested_transformer.book.pretrained import load
from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.files import read_json
from tested_transformer.phrasebook import corpus


def test_the_running_sentences_are_what_the_book_says_it_is():
    assert [sentence[:2] for sentence in RUNNING] == [
        ("I need the chair because it is old.", "Ich brauche den Stuhl, weil er alt ist."),
        ("I need the lamp because it is old.", "Ich brauche die Lampe, weil sie alt ist."),
        ("I need the picture because it is old.", "Ich brauche das Bild, weil es alt ist."),
    ]
    assert love("AI")[:2] == ("I love AI.", "Ich liebe KI.")
    assert love("window")[:2] == ("I love the window.", "Ich liebe das Fenster.")
    assert {"AI", "music"} <= set(LOVED)


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
    assert [frame.say(thing)[:2] for frame in FRAMES] == told


def test_each_sentence_has_a_pair_of_words_that_is_held_out_from_training():
    """So none is among the 150,000 that the model was trained with, nor among those that it was validated with.

    What `split` cuts off for these two has no such pair, and the same English has always the same pairs: both are
    tested with the phrasebook.
    """
    for sentence in (*SENTENCES, *map(love, LOVED)):
        assert any(corpus.held_out(pair) for pair in sentence.combinations), sentence.english
    for thing in THINGS:
        pairs = [[p for p in frame.say(thing).combinations if p[0] == "reason"] for frame in FRAMES]
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
    assert THINGS.keys().isdisjoint({"man", "child", "mother"})
    assert {thing.gender for thing in THINGS.values()} == set("mfn")
    with pytest.raises(ValueError, match=r"thing \('man'\) is none that the phrasebook has a word for"):
        FRAMES[0].say("man")
    with pytest.raises(ValueError, match=r"thing \('garden'\) must be one of music, AI, coat, machine, window: others"):
        love("garden")


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
    assert pronoun(german) == word


def test_right_pronouns_and_right_sentences_are_counted():
    wanted = ["Ich brauche den Stuhl, weil er alt ist.", "Ich brauche die Lampe, weil sie alt ist."]
    assert count_right(wanted, wanted) == (2, 2)
    assert count_right([wanted[0], "Ich brauche das Bild, weil sie alt ist."], wanted) == (2, 1)
    assert count_right([wanted[0].replace("er", "es"), wanted[1]], wanted) == (1, 1)


def test_the_other_thing_has_another_gender():
    for thing in THINGS:
        assert THINGS[another(thing)].gender != THINGS[thing].gender
    assert (another("chair"), another("hotel")) == ("door", "dog")  # the next, and from the end the first


def test_a_test_with_two_things_is_counted_for_both_of_them():
    translator, said = load(), {"first": [], "second": []}

    def first(_, frame, thing, other):
        said["first"].append((frame, thing, other))
        return pronoun(frame.say(thing).german)

    def second(_, frame, thing, other):
        said["second"].append((frame, thing, other))
        return pronoun(frame.say(other).german)

    n = len(FRAMES) * len(THINGS)
    assert sides(translator, first) == (n, 0)
    assert sides(translator, second) == (0, n)
    assert sides(translator, lambda *_: "wir") == (0, 0)
    assert said["first"] == said["second"]
    assert len(set(said["first"])) == n
    assert all(other == another(thing) for _, thing, other in said["first"])


def test_the_german_so_far_is_of_the_other_or_has_only_its_article_or_its_noun():
    first, sold = FRAMES[0], FRAMES[2]
    assert so_far(first, "chair", "lamp") == "Ich brauche die Lampe, weil"
    assert so_far(first, "chair", "lamp", "article") == "Ich brauche die Stuhl, weil"
    assert so_far(first, "chair", "lamp", "noun") == "Ich brauche den Lampe, weil"
    assert so_far(sold, "picture", "chair", "article") == "Sie hat den Bild verkauft, obwohl"
    for only in ("article", "noun"):  # where one has no article, it cannot be exchanged
        assert so_far(first, "chair", "music", only) == so_far(first, "music", "chair", only) == ""
    # the article of the thing, and not that of whoever loves it
    assert so_far(FRAMES[1], "lamp", "chair", "article") == "Die Frau liebt den Lampe, weil"


def test_only_an_article_or_a_noun_is_exchanged():
    rule = re.escape("only ('verb') must be article or noun, or be left out")
    with pytest.raises(ValueError, match=rule):
        so_far(FRAMES[0], "chair", "lamp", "verb")
