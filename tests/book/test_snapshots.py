"""A training seen afterwards: what is recorded is what the package gives with each copy of the weights."""

import copy
import itertools
import json

import numpy as np
import pytest
import torch
from helpers import PAIRS, WRITTEN, film, reel

from tested_transformer.book import figures
from tested_transformer.book.small import training
from tested_transformer.book.snapshots import n_right, record, right_words, shoot, written
from tested_transformer.config import Config
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import sentences
from tested_transformer.shares import as_share
from tested_transformer.training.events import Step
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

TRUE = [("I love tea.", "Ich liebe Tee."), ("The old man reads a book.", "Der alte Mann liest ein Buch.")]


@pytest.fixture(scope="module")
def translator():
    return Translator.load(width=1)


@pytest.fixture(scope="module")
def copies(translator):
    """Its weights, and before them those of a model that has not learned, in no order."""
    trained = {name: w.clone() for name, w in translator.model.state_dict().items()}
    drawn = torch.Generator().manual_seed(0)
    fresh = {name: 0.05 * torch.randn(w.shape, generator=drawn) for name, w in trained.items()}
    return {7: trained, 0: fresh, 3: {name: (trained[name] + fresh[name]) / 2 for name in trained}}


@pytest.fixture(scope="module")
def seen(translator, copies):
    return record(translator, copies, TRUE)


def test_every_stop_has_the_translations_and_the_cross_attention_of_its_weights(translator, copies, seen):
    assert list(seen.stops) == [0, 3, 7], "in the order of the steps"
    own = translator.model.state_dict()
    kept = {name: w.clone() for name, w in own.items()}
    for step, stop in seen.stops.items():
        translator.model.load_state_dict(copies[step])
        assert stop.written == translator.translate([source for source, _ in TRUE])
        for (source, target), cross in zip(TRUE, stop.cross, strict=True):
            read = torch.tensor([translator.encode(source, 1)])
            write = torch.tensor([[translator.model.config.bos_id, *translator.tokens.encode(target)]])
            expected = attention_weights(translator.model, read, write)["cross"][:, 0]
            assert np.array_equal(cross, expected.numpy())
    translator.model.load_state_dict(kept)


def test_a_row_is_named_after_the_token_that_it_has_to_write(translator, seen):
    for (source, target), (read, write), *crosses in zip(
        TRUE, seen.tokens, *(stop.cross for stop in seen.stops.values()), strict=True
    ):
        assert "".join(read).strip() == f"{source}<eos>"
        assert "".join(write).strip() == f"{target}<eos>"
        for cross in crosses:
            config = translator.model.config
            assert cross.shape == (config.n_layers, config.n_heads, len(write), len(read))
            assert np.allclose(cross.sum(-1), 1, atol=1e-5)


def test_the_model_has_its_own_weights_afterwards_even_if_a_copy_does_not_fit(translator, copies):
    before = {name: w.clone() for name, w in translator.model.state_dict().items()}
    record(translator, copies, TRUE[:1])
    with pytest.raises(RuntimeError):
        record(translator, {0: copies[0], 1: {"nothing": torch.ones(1)}}, TRUE)
    assert all(torch.equal(w, before[name]) for name, w in translator.model.state_dict().items())


def test_no_copy_and_no_pair_are_refused(translator, copies):
    with pytest.raises(ValueError, match="0 copies and 2 pairs: at least one of each"):
        record(translator, {}, TRUE)
    with pytest.raises(ValueError, match="3 copies and 0 pairs"):
        record(translator, copies, [])


def subsequence(words, others):
    rest = iter(others)
    return all(word in rest for word in words)


def test_right_words_are_as_many_as_stand_in_the_wanted_sentence_in_their_order():
    assert right_words("Wir sind geschwommen.", "Wir sind oft geschwommen.") == [True, True, True]
    assert right_words("Tee Ich liebe", "Ich liebe Tee") == [False, True, True]
    assert right_words("ja ja ja", "ja nein") == [True, False, False]
    assert right_words("", "Ich") == []
    draws = np.random.default_rng(0)
    for _ in range(200):
        a, b = (["xyz"[i] for i in draws.integers(3, size=draws.integers(7))] for _ in range(2))
        marks = right_words(" ".join(a), " ".join(b))
        assert len(marks) == len(a)
        assert subsequence(itertools.compress(a, marks), b)
        most = max(
            sum(keep)
            for keep in itertools.product((0, 1), repeat=len(a))
            if subsequence(itertools.compress(a, keep), b)
        )
        assert sum(marks) == most


def weights(data, sentence, stop):
    """The weights as the page reads them: hundredths, row by row, with nothing for a zero."""
    found = data["sentences"][sentence]
    return np.array(
        [
            [
                np.reshape([float(n or 0) / 100 for n in head.split(",")], (len(found["write"]), len(found["read"])))
                for head in layer
            ]
            for layer in found["stops"][stop]["heads"]
        ]
    )


def test_the_figure_has_the_weights_with_two_decimals_and_what_was_written():
    data, seen = film().data, reel()
    assert [stop["step"] for stop in data["stops"]] == [0, 20, 45, 60]
    for i, (source, target) in enumerate(PAIRS):
        found = data["sentences"][i]
        assert (found["source"], found["target"]) == (source, target)
        assert found["read"] == [*source.split(), "<eos>"]
        assert found["write"] == target.split(), "without the space before"
        for n, (step, stop) in enumerate(seen.stops.items()):
            said = np.vectorize(lambda weight: float(as_share(100 * weight, 0, 100)) / 100)(stop.cross[i])
            assert np.array_equal(weights(data, i, n), said)
            if step:
                assert found["stops"][n]["written"] == WRITTEN[step][i]
    marks = [[stop["marks"] for stop in sentence["stops"]] for sentence in data["sentences"]]
    assert marks == [
        ["100", "0110", "111", "111"],
        ["0", "111", "10111", "1111"],
        ["", "101", "1110", "11"],
    ]


def test_what_has_no_end_is_cut_and_what_is_right_is_never():
    seen = reel((("a", "b " * 50 + "b"), ("a b", "c")), {0: ("b " * 80, "x" * 90), 1: ("b " * 50 + "b", "c")})
    found = [[stop["written"] for stop in s["stops"]] for s in film(reel()).data["sentences"]][1]
    assert found[0] == "x" * 60 + "…"
    with pytest.raises(ValueError, match="51 tokens, and a map has room for 16"):
        film(seen)
    long = reel((("a", "b" * 80), ("a b", "c")), {0: ("b" * 100, ""), 1: ("b" * 80, "c")})
    (first, last) = film(long).data["sentences"][0]["stops"]
    assert (first["written"], first["marks"]) == ("b" * 80 + "…", "0")
    assert (last["written"], last["marks"]) == ("b" * 80, "1")


def test_the_tables_have_the_loss_of_each_stop_and_the_sentences_at_three():
    words = film().words
    head, rows = words["The loss at each stop"]
    assert head == ("step", "training loss", "validation loss", "sentences right")
    assert [row[0] for row in rows] == ["0", "20", "45", "60"]
    assert rows[0][1:] == ["–", "8.00", "0 of 3"]
    assert rows[2] == ["45", f"{8 * np.exp(-44 / 20) + 0.3 * np.sin(44):.2f}", f"{8 * np.exp(-45 / 20):.2f}", "1 of 3"]
    head, rows = words["What the model writes"]
    assert head == ("when", "sentence")
    assert len(rows) == 5 * len(PAIRS)
    texts = "We often swam.", "x" * 60 + "…", "Wir oft sind oft geschwommen.", "Wir sind oft geschwommen.", PAIRS[1][1]
    assert rows[5:10] == [*zip(("read", "step 0", "step 45", "step 60", "right"), texts, strict=True)]
    html = film()._repr_html_()
    assert html.index("</svg>") < html.index("<table"), "on paper the maps stand before the tables"


def test_a_film_of_the_size_of_the_chapter_stays_small():
    words = [f"word{n}" for n in range(10)]
    pairs = [(" ".join(words[:9]), " ".join(words))] * 5
    seen = reel(pairs, {53 * n: [" ".join(words)] * 5 for n in range(11)}, layers=2, heads=4)
    losses = np.linspace(8, 0.7, 530) + 1 / 3
    figure = figures.film.learning(seen, losses, dict.fromkeys(seen.stops, 1.0))
    assert 50_000 < len(json.dumps(figure.data)) < 110_000
    assert len(figure._repr_html_()) < 200_000


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"first": (2, 0)}, r"first \(2, 0\) must be one of 2 layers and one of 3 heads"),
        ({"first": (0, -1)}, r"first \(0, -1\)"),
        ({"seen": reel(written={0: WRITTEN[0]})}, "1 stop: a film needs two at least"),
        ({"seen": reel(written={0: WRITTEN[0], 61: WRITTEN[60]})}, r"losses \(shape \(60,\)\) must have .* up to 61"),
    ],
)  # fmt: skip
def test_what_makes_no_film_is_refused(changed, error):
    with pytest.raises(ValueError, match=error):
        film(**changed)


def test_a_stop_without_its_loss_is_refused():
    with pytest.raises(ValueError, match="valid has no loss for step 45"):
        figures.film.learning(reel(), np.ones(60), {0: 1.0, 20: 1.0, 60: 1.0})


# The training itself

IDS = [([4, 5, 2], [1, 5, 4, 2]), ([6, 4, 2], [1, 4, 6, 2])]


@pytest.fixture
def learner():
    return training.create(Config(8, d_model=8, d_ff=8, n_heads=2, n_layers=1, dropout=0.0))


@pytest.mark.parametrize(("every", "kept"), [(2, [0, 2, 4, 6]), (4, [0, 4])])
def test_a_training_keeps_the_loss_of_each_step_and_the_weights_of_some(learner, tmp_path, every, kept):
    options = Options(steps=6, batch_tokens=8, warmup=3, smoothing=0.0, ema=0.5)
    other = copy.deepcopy(learner)
    take = shoot(learner, options, IDS, IDS, every, tmp_path / "one")
    assert list(take.copies) == kept
    assert list(take.averages) == kept[1:]
    steps = []
    trainer = Trainer(other, options, IDS, IDS, tmp_path / "two", report=steps.append)
    start = {name: w.clone() for name, w in other.state_dict().items()}
    trainer.run()
    assert take.losses == [event.loss for event in steps if isinstance(event, Step)]
    assert all(torch.equal(w, start[name]) for name, w in take.copies[0].items())
    last = take.copies[kept[-1]]
    assert all(torch.equal(w, last[name]) for name, w in learner.state_dict().items())
    assert not all(torch.equal(w, take.averages[kept[-1]][name]) for name, w in last.items())
    assert take.trainer.validate(last)[0] < take.trainer.validate(take.copies[0])[0]


def test_without_an_average_none_is_kept_and_the_steps_between_copies_are_counted_from_one(learner):
    options = Options(steps=2, batch_tokens=8, warmup=3, smoothing=0.0, ema=0.0)
    assert shoot(learner, options, IDS, IDS, 1).averages == {}
    with pytest.raises(ValueError, match=r"every \(0\)"):
        shoot(learner, options, IDS, IDS, 0)


def test_the_same_sentences_are_written_with_each_copy(translator, copies, seen):
    before = {name: w.clone() for name, w in translator.model.state_dict().items()}
    lines = written(translator, copies, [source for source, _ in TRUE])
    assert lines == {step: stop.written for step, stop in seen.stops.items()}
    assert list(lines) == [0, 3, 7]
    assert all(torch.equal(w, before[name]) for name, w in translator.model.state_dict().items())


def test_right_is_what_is_so_to_the_letter():
    said = sentences(3)
    german = [s.german for s in said]
    assert n_right(german, said) == 3
    assert n_right([german[0], german[1].lower(), german[2] + " "], said) == 1
    with pytest.raises(ValueError, match="2 lines for 3 sentences: one for each"):
        n_right(german[:2], said)


def test_a_film_opens_at_the_step_that_it_is_told():
    assert film().data["opens"] == 0
    told = film(opens=45)
    assert told.data["stops"][told.data["opens"]]["step"] == 45
    assert "step 45" in repr(told)
    with pytest.raises(ValueError, match=r"opens \(44\) must be one of the stops: 0, 20, 45, 60"):
        film(opens=44)
