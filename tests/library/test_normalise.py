"""Normalisation: what looks the same reads the same, wherever texts are read; what is seen stays."""

import unicodedata

import pytest
import spellings
from helpers import unchecked
from hypothesis import given, settings
from hypothesis import strategies as st
from spellings import KEPT, LOOK_ALIKE, ODD_CHARACTERS, ONE_WORD, UNSEEN

from tested_transformer.command.evaluate import scores
from tested_transformer.data.parallel import encode_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook import corpus
from tested_transformer.text.normalise import normalise
from tested_transformer.text.tokens import BytePairEncoding

SENTENCE = "I need the lamp."


@pytest.fixture(scope="module")
def translator():
    return Translator.load()


@pytest.mark.parametrize("key", "#*0123456789")
def test_the_key_of_a_telephone_stays_one(key):
    assert normalise(f"{key}\ufe0f\u20e3") == f"{key}\ufe0f\u20e3"


@pytest.mark.parametrize("text", LOOK_ALIKE.values(), ids=LOOK_ALIKE)
def test_what_looks_the_same_is_trained_translated_and_measured_alike(translator, text):
    assert normalise(text) == SENTENCE
    assert translator.encode(text, 1) == translator.encode(SENTENCE, 1)
    tokens = BytePairEncoding([])
    assert encode_pairs([(text, text)], tokens, 99) == encode_pairs([(SENTENCE, SENTENCE)], tokens, 99)
    assert scores([SENTENCE], [text])["exact"] == scores([text], [SENTENCE])["exact"] == 1
    assert BytePairEncoding([]).decode(tokens.encode(text)) == text, "the tokeniser itself changes nothing"


def test_look_alikes_are_translated_alike(translator):
    assert {*translator.translate([*LOOK_ALIKE.values()])} == {"Ich brauche die Lampe."}
    target = "Ich brauche die Lampe."
    tokens = [translator.look(source, f"{target}\u200b\ufeff ")[:2] for source in LOOK_ALIKE.values()]
    assert all(pair == translator.look(SENTENCE, target)[:2] for pair in tokens)


@pytest.mark.parametrize("text", UNSEEN, ids=ascii)
def test_a_text_of_nothing_that_is_seen_is_empty(translator, text):
    assert normalise(text) == ""
    encoded = encode_pairs([(text, "a"), ("a", text), ("a", "b")], BytePairEncoding([]), 9)
    assert (encoded.empty, len(encoded.pairs)) == (2, 1)
    assert translator.translate([text]) == [""]
    assert translator.n_best([text]) == [[]]


@pytest.mark.parametrize("text", [*ONE_WORD.values(), *KEPT], ids=ascii)
def test_what_is_seen_stays(text):
    assert normalise(text) == unicodedata.normalize("NFC", text)


def test_letters_that_only_look_different_are_spelled_alike():
    assert normalise("Ａ４ ﬁnd eﬃcient E‑Mail") == "A4 find efficient E-Mail"
    assert normalise("cafe\u0301 \u212b") == "café Å"
    assert normalise("Ａ\u200d\u0301") == "Á"
    assert normalise("a\x92\x85b") == "a b"


def test_a_joiner_goes_where_it_joins_nothing():
    assert normalise("\u200dAuf\u200clage \u200cya") == "Auflage ya"
    assert normalise("می\u200cخواهم می\u200c \u200cمی") == "می\u200cخواهم می\u200c می"


def test_sentences_of_the_phrasebook_stay_as_they_are():
    for part in corpus.split(2000, 500):
        for sentence in part:
            for text in (sentence.english, sentence.german):
                assert normalise(text) == text


def test_marks_that_come_together_are_put_in_order_and_looked_at_again():
    assert normalise("\u1100\u0301\u180e\u3099\u180b") == "\u1100\u3099\u0301"


@given(text=st.text() | st.text(st.sampled_from(ODD_CHARACTERS)) | st.text(st.sampled_from(spellings.KNOWN)))
@settings(max_examples=500, deadline=None)
def test_what_is_normalised_stays_so(text):
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert " ".join(once.split()) == once


def test_what_is_no_text_is_refused_and_named(translator):
    with pytest.raises(ValueError, match=r"character 1 of the text is '.ud83d', half of a surrogate pair"):
        normalise("a\ud83d")
    with pytest.raises(ValueError, match="character 1 of sentence 3 is"):
        translator.encode(" \ud83d", 3)
    for wrong in (None, float("nan"), b"tea", 5):
        with unchecked(), pytest.raises(TypeError, match=r"the text \(.*\) must be a string"):
            normalise(wrong)
        for side, pair in (("source", (wrong, "b")), ("target", ("b", wrong))):
            rule = rf"the {side} of pair 1 \(.*\) must be a string"
            with unchecked(), pytest.raises(TypeError, match=rule):
                encode_pairs([("a", "b"), pair], BytePairEncoding([]), 9)
