"""The package's translator: its tokens and its table, and what it predicts token by token."""

import re

import numpy as np
import pytest
import torch

from tested_transformer.book import pretrained
from tested_transformer.book.coreference import FRAMES, RUNNING, love
from tested_transformer.book.interventions import ablated, recorded, residual_stream
from tested_transformer.byhand.transformer import transformer


@pytest.fixture(scope="module")
def translator():
    return pretrained.load()


def test_the_sentence_is_begun_up_to_the_word_for_it(translator):
    for thing, german in (("chair", "Ich brauche den Stuhl, weil"), ("lamp", "Ich brauche die Lampe, weil")):
        (source,), (target,) = pretrained.begun(translator, thing)
        assert source.tolist() == translator.encode(FRAMES[0].say(thing).english, 1)
        assert target[0] == translator.model.config.bos_id
        assert translator.tokens.decode(target[1:].tolist()) == german
    with pytest.raises(ValueError, match="thing"):
        pretrained.begun(translator, "moon")


def test_at_each_place_the_next_token_is_asked_for(translator):
    (source,), (target,), (wanted,) = pretrained.token_ids(translator, love("AI"))
    c = translator.model.config
    assert source.tolist() == translator.encode("I love AI.", 1)
    assert target.tolist() == [c.bos_id, *wanted[:-1]]
    assert translator.tokens.decode(wanted[:-1].tolist()) == "Ich liebe KI."
    assert wanted[-1] == c.eos_id


def test_what_the_model_has_learned_makes_the_same_of_a_sentence_by_hand(translator):
    ids, weights = pretrained.begun(translator, "chair"), pretrained.params(translator)
    assert weights.keys() == translator.model.state_dict().keys()
    logits, _ = transformer(*ids, weights, translator.model.config)
    with torch.no_grad():
        wanted = translator.model(*map(torch.tensor, ids))
    assert np.allclose(logits, wanted, rtol=0, atol=1e-9)


def test_the_rows_of_nouns_are_those_of_the_table_where_their_token_reads_them(translator):
    nouns, rows = pretrained.noun_rows(translator)
    assert len(nouns) == len(rows) == 59
    for noun, row in zip(nouns, rows, strict=True):
        english = f"I need the {noun.english}."
        with recorded(translator.model, "embedding") as calls:
            residual_stream(translator, english)
        assert np.allclose(
            calls["embedding"][0][1][0, pretrained.place(translator, english, noun.english)] / np.sqrt(128), row
        )


def test_the_pieces_of_a_text_are_its_tokens_with_their_ids(translator):
    found = pretrained.pieces(translator, "I need the carpet.")
    assert [text for text, _ in found] == ["I", " need", " the", " car", "p", "et", "."]
    assert [i for _, i in found] == translator.tokens.encode("I need the carpet.")
    assert pretrained.pieces(translator, "") == []


def test_a_model_that_translates_right_goes_on_right_after_each_token(translator):
    sentences = [*RUNNING, love("AI")]
    found = pretrained.predictions(translator, sentences)
    read, follows, written = (list(column) for column in zip(*found, strict=True))
    german = [translator.tokens.encode(sentence.german) for sentence in sentences]
    names = [[translator.name(i) for i in ids] for ids in german]
    assert read == [name for sentence in names for name in ("<bos>", *sentence)]
    assert follows == written == [name for sentence in names for name in (*sentence, "<eos>")]


def test_padding_changes_nothing_of_what_a_sentence_goes_on_with(translator):
    sentences = [FRAMES[5].say("lamp"), love("AI")]
    with ablated(translator, "decoder", "feed_forward", 1):
        alone = [row for sentence in sentences for row in pretrained.predictions(translator, [sentence])]
        assert pretrained.predictions(translator, sentences) == alone
    assert any(right != guess for _, right, guess in alone)


def test_texts_in_a_batch_are_written_as_they_are_alone(translator):
    texts = [sentence.english for sentence in (*RUNNING, love("AI"), FRAMES[5].say("lamp"))]
    assert pretrained.written(translator, *texts) == translator.translate(texts)
    assert pretrained.written(translator, texts[0], max_len=3) == ["Ich brauche"]


def test_the_surprises_of_a_sentence_are_minus_the_logarithms_of_what_the_model_gives_to_the_right_tokens(translator):
    sentence = RUNNING[2]
    names, nats = pretrained.surprises(translator, sentence)
    assert " ".join(names) == "Ich brau che das Bild , weil es alt ist . <eos>"
    source, target, right = map(torch.from_numpy, pretrained.token_ids(translator, sentence))
    with torch.no_grad():
        states = translator.model.decode(target, translator.model.encode(source), source)
        p = translator.model.embedding.logits(states).softmax(-1)[0]
    assert np.allclose(np.exp(-nats), p[torch.arange(12), right[0]])


def test_a_wrong_pronoun_surprises_at_its_own_place_only(translator):
    sentence = RUNNING[0]
    wrong = sentence._replace(german=sentence.german.replace(" er ", " sie "))
    names, nats = pretrained.surprises(translator, wrong)
    assert names[nats.argmax()] == "sie"
    assert nats.max() > 10
    assert np.delete(nats, nats.argmax()).max() < 0.01


def test_a_word_that_is_no_single_token_is_refused(translator):
    rule = re.escape("word ('although') must be one token of 'I need the chair because")
    with pytest.raises(ValueError, match=rule):
        pretrained.place(translator, RUNNING[0].english, "although")
    with pytest.raises(ValueError, match=re.escape("word ('carpet') must be one token, not 3")):
        pretrained.token_id(translator, "carpet")
