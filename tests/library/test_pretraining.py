"""Pre-training: what is prepared, in which order, what the loss is, and that each switch does what it says."""

import numpy as np
import pytest
import torch
from helpers import randomised, unchecked
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.model.bert import BERT_BASE, ROBERTA_BASE, Bert, Classifier, Pretraining
from tested_transformer.training import loop, pretraining
from tested_transformer.training.finetuning import fine_tune
from tested_transformer.training.pretraining import objective, prepare, pretrain, shuffled

CONFIG = Config(30, 8, 16, 2, 1, dropout=0.0, max_len=24, activation="gelu", attention_bias=True)
MASK = 4
SINGLES = [(list(range(5, 5 + n)), ()) for n in (3, 9, 1, 6, 4, 7, 2)]
PAIRS = [(first, [20 + i, 21]) for i, (first, _) in enumerate(SINGLES)]


def rng(seed=0):
    return np.random.default_rng(seed)


def model(seed=0):
    return randomised(Pretraining(Bert(CONFIG)), seed)


def test_texts_are_framed_padded_and_partly_hidden():
    p = prepare(SINGLES, CONFIG, MASK, rng())
    assert p.wanted[0].tolist() == [1, 5, 6, 7, 2] + [0] * 6
    assert torch.equal(p.ids[~p.chosen], p.wanted[~p.chosen])
    assert (p.wanted[p.chosen] > 4).all(), "special tokens are never asked for"
    assert (p.chosen.sum(1) == 1).all()
    assert not p.segments.any()
    assert p.swapped is None


@pytest.mark.parametrize("preset", [BERT_BASE, ROBERTA_BASE, CONFIG.replace(vocab_size=40, pad_id=12, bos_id=30)])
def test_each_preset_frames_pads_and_hides_with_its_own_special_ids(preset):
    config = preset.replace(d_model=8, d_ff=16, n_heads=2, n_layers=1)
    pad, bos, eos, _ = config.special_ids
    words = [i for i in range(5, 40) if i not in config.special_ids][:20]
    texts = [(words[:n], words[n : n + 2]) for n in (3, 9, 1, 6)] * 20
    p = prepare(texts, config, MASK, rng())
    for row, length, (first, second) in zip(p.wanted.tolist(), p.lengths, texts, strict=True):
        assert row[:length] == [bos, *first, eos, *second, eos]
        assert set(row[length:]) <= {pad}
    assert MASK in p.ids[p.chosen], "some words are hidden"
    asked = set(p.wanted[p.chosen].tolist())
    assert asked <= set(words), "special tokens are never asked for"
    assert not set(p.ids[p.chosen].tolist()) & set(config.special_ids), "nor written in place of a word"
    parts = list(shuffled(p, 16, rng()))
    assert sum((part.wanted != pad).sum() for part in parts) == p.lengths.sum()
    assert all((part.wanted[:, -1] != pad).any() for part in parts), "no wider than its longest row"
    bert = Bert(config, first_position=pad + 1 if preset is ROBERTA_BASE else 0)
    assert len(pretrain(Pretraining(bert), texts[:8], MASK, 2, 0.01, size=4)) == 2


NO_PAIRS = {
    "texts alone": ([[5, 6, 7], [8, 9]], 0, r"\[5, 6, 7\]"),
    "texts of two ids": ([[5, 6], [7, 8]], 0, r"\[5, 6\]"),
    "one text without a second": ([*SINGLES, ([5, 6],)], 7, r"\(\[5, 6\],\)"),
    "three texts": ([([5], [6], [7])], 0, r"\(\[5\], \[6\], \[7\]\)"),
    "strings": ([("one", "two")], 0, r"\('one', 'two'\)"),
    "a string": (["ab"], 0, "'ab'"),
    "None for no second": ([([5, 6], None)], 0, r"\(\[5, 6\], None\)"),
    "arrays": ([(np.array([5, 6]), ())], 0, r"\(array\(\[5, 6\]\), \(\)\)"),
}


@pytest.mark.parametrize("case", NO_PAIRS)
def test_texts_that_are_no_pairs_of_ids_are_refused_by_their_number(case):
    texts, place, found = NO_PAIRS[case]
    words = rf"text {place} must be a pair \(ids of the first, ids of the second or \(\)\), not {found}"
    with unchecked(), pytest.raises(TypeError, match=words):
        pretrain(model(), texts, MASK, 1, 0.01)


@pytest.mark.parametrize("next_sentence", [False, True])
def test_without_a_text_there_is_nothing_to_learn(next_sentence):
    with pytest.raises(ValueError, match="texts is empty; there must be at least one pair"):
        pretrain(model(), [], MASK, 1, 0.01, next_sentence=next_sentence)


def test_the_second_text_is_segment_one_and_padding_is_segment_zero():
    p = prepare(PAIRS, CONFIG, MASK, rng())
    for row, segments, (first, second) in zip(p.wanted, p.segments, PAIRS, strict=True):
        n, m = len(first) + 2, len(second) + 1
        assert segments.tolist() == [0] * n + [1] * m + [0] * (len(row) - n - m)


def test_pairs_are_swapped_only_if_asked_for():
    kept, swapped = (prepare(PAIRS, CONFIG, MASK, rng(1), ask) for ask in (False, True))
    followed = torch.tensor([row[row >= 20][0] == 20 + i for i, row in enumerate(swapped.wanted)])
    assert all((row >= 20).any() and row[row >= 20][0] == 20 + i for i, row in enumerate(kept.wanted))
    assert torch.equal(swapped.swapped, (~followed).long())
    assert 0 < swapped.swapped.sum() < len(PAIRS)


def test_a_part_is_no_wider_than_its_longest_row():
    part = prepare(PAIRS, CONFIG, MASK, rng(), True).part([0, 2])
    whole = prepare(PAIRS, CONFIG, MASK, rng(), True)
    assert part.ids.shape == part.chosen.shape == part.segments.shape == (2, 8)
    assert torch.equal(part.wanted, whole.wanted[[0, 2], :8])
    assert torch.equal(part.swapped, whole.swapped[[0, 2]])
    assert part.lengths.tolist() == [8, 6]


def test_every_row_is_in_one_batch_beside_rows_of_similar_length():
    p = prepare(SINGLES * 20, CONFIG, MASK, rng())
    parts = list(shuffled(p, 16, rng()))
    assert [len(part.ids) for part in parts].count(16) == 8
    assert sum(len(part.ids) for part in parts) == 140
    found = sorted(tuple(t for t in row if t) for part in parts for row in part.wanted.tolist())
    assert found == sorted(tuple(t for t in row if t) for row in p.wanted.tolist())
    spans = [np.ptp((part.wanted != 0).sum(1).numpy()) for part in parts]
    assert max(spans) <= 2
    assert [part.ids.shape for part in shuffled(p, 16, rng(1))] != [part.ids.shape for part in parts]


def test_rows_of_one_length_meet_others_in_each_reading():
    p = prepare([([word, word], ()) for word in range(5, 30)], CONFIG, MASK, rng())
    met = [{frozenset(part.wanted[:, 1].tolist()) for part in shuffled(p, 5, rng(seed))} for seed in (0, 1)]
    assert not met[0] & met[1]


def test_the_loss_is_that_of_the_chosen_words():
    pupil, p = model(), prepare(SINGLES, CONFIG, MASK, rng())
    words, _ = pupil(p.ids, p.chosen, p.segments)
    assert torch.equal(objective(pupil, p), F.cross_entropy(words, p.wanted[p.chosen]))


def test_the_second_question_is_added():
    pupil, p = model(), prepare(PAIRS, CONFIG, MASK, rng(), True)
    words, follows = pupil(p.ids, p.chosen, p.segments)
    expected = F.cross_entropy(words, p.wanted[p.chosen]) + F.cross_entropy(follows, p.swapped)
    assert torch.allclose(objective(pupil, p), expected)
    assert objective(pupil, p) > objective(pupil, p._replace(swapped=None))


def readings(monkeypatch, **switches):
    """What each reading of the texts prepares, over six steps: two a reading."""
    made = []

    def noted(*arguments):
        made.append(prepare(*arguments))
        return made[-1]

    monkeypatch.setattr(pretraining, "prepare", noted)
    losses = pretrain(model(), PAIRS, MASK, steps=6, lr=0.01, size=4, **switches)
    assert len(losses) == 6
    return made


def test_dynamic_hides_other_words_in_each_reading_and_static_the_same(monkeypatch):
    first, second, third = readings(monkeypatch)
    assert not torch.equal(first.chosen, second.chosen)
    assert not torch.equal(second.chosen, third.chosen)
    first, second, third = readings(monkeypatch, dynamic=False)
    assert torch.equal(first.ids, second.ids)
    assert torch.equal(second.ids, third.ids)


def test_the_switch_of_the_second_question_reaches_the_texts(monkeypatch):
    assert all(p.swapped is None for p in readings(monkeypatch))
    assert all(p.swapped is not None for p in readings(monkeypatch, next_sentence=True))


def test_a_seed_fixes_the_run_and_another_changes_it():
    first, again, other = (pretrain(model(), PAIRS, MASK, 8, 0.01, size=4, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_what_is_not_said_of_pre_training_is_64_texts_a_step_hidden_anew_with_seed_0():
    wanted = {"size": 64, "dynamic": True, "next_sentence": False, "seed": 0}
    said, unsaid = (pretrain(model(), SINGLES * 10, MASK, 2, 0.01, **given) for given in (wanted, {}))
    assert len(SINGLES) * 10 > 64
    assert said == unsaid


class Spy(torch.optim.SGD):
    """Takes no step, and notes the rate that it would have taken it with."""

    rates: list

    def step(self):
        self.rates.append(self.param_groups[0]["lr"])


def test_the_order_of_batches_changes_with_the_seed_and_with_each_reading(monkeypatch):
    orders = []

    def noted(prepared, size, lots):
        orders.append(lots.random())
        yield prepared

    monkeypatch.setattr(pretraining, "shuffled", noted)
    for seed in (0, 1):
        pretrain(model(), PAIRS, MASK, 2, 0.01, seed=seed, dynamic=False)
    assert len(set(orders)) == 4


def test_the_rate_rises_stays_and_falls(monkeypatch):
    rates = Spy.rates = []
    monkeypatch.setattr(loop, "create_adam", lambda parameters: Spy(parameters, lr=1.0))
    pretrain(model(), PAIRS, MASK, 20, 0.5, size=4)
    expected = [0.25, 0.5, *[0.5] * 10, *(0.5 * left / 8 for left in range(8, 0, -1))]
    assert rates == pytest.approx(expected)


def test_dropout_works_in_pre_training_and_in_fine_tuning():
    seen, dropping = [], Bert(CONFIG.replace(dropout=0.5))
    dropping.register_forward_hook(lambda module, given, found: seen.append(module.training))
    # A model that was loaded comes at rest
    pretrain(Pretraining(dropping).eval(), SINGLES, MASK, 2, 0.01)
    fine_tune(Classifier(dropping, 2).eval(), IDS, LABELS, 2, 0.01, size=4)
    assert seen == [True] * 4


def test_few_texts_are_learned_by_heart():
    losses = pretrain(model(), SINGLES, MASK, 60, 0.02, size=7, dynamic=False)
    assert losses[-1] < losses[0] / 4


# Fine-tuning

IDS = torch.tensor(np.random.default_rng(1).integers(5, 30, size=(12, 6)))
LABELS = (IDS[:, 2] > 17).long()


def classifier():
    return Classifier(randomised(Bert(CONFIG)), 2)


def test_a_classifier_is_a_map_of_the_pooled_vector_and_begins_undecided():
    found = classifier()
    assert torch.equal(found(IDS), torch.zeros(12, 2, dtype=torch.float64))
    randomised(found.head)
    expected = found.bert.pool(found.bert(IDS)) @ found.head.weight.T + found.head.bias
    assert torch.allclose(found(IDS), expected, rtol=0, atol=1e-12)
    segments = torch.ones_like(IDS)
    assert not torch.allclose(found(IDS), found(IDS, segments), atol=1e-4)


def test_a_class_alone_is_refused():
    with pytest.raises(ValueError, match=r"n_classes \(1\) must be at least 2"):
        Classifier(Bert(CONFIG), 1)


def test_fine_tuning_learns_and_moves_all_of_the_model():
    found = classifier()
    before = {name: p.clone() for name, p in found.named_parameters()}
    losses = fine_tune(found, IDS, LABELS, 60, 0.01, size=12)
    assert losses[0] == pytest.approx(np.log(2))
    assert losses[-1] < 0.2
    assert torch.equal(found(IDS).argmax(-1), LABELS)
    still = {name for name, p in found.named_parameters() if torch.equal(p, before[name])}
    assert still == set()


def test_a_seed_fixes_the_batches_of_fine_tuning():
    first, again, other = (fine_tune(classifier(), IDS, LABELS, 5, 0.01, size=4, seed=s) for s in (0, 0, 1))
    assert first == again
    assert first != other


def test_no_text_is_twice_in_a_batch_of_fine_tuning():
    found, seen = classifier(), []
    found.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    fine_tune(found, IDS, LABELS, 3, 0.01, size=12)
    assert [sorted(batch.tolist()) for batch in seen] == [sorted(IDS.tolist())] * 3


def test_the_rate_of_fine_tuning_rises_and_falls(monkeypatch):
    rates = Spy.rates = []
    monkeypatch.setattr(loop, "create_adam", lambda parameters: Spy(parameters, lr=1.0))
    fine_tune(classifier(), IDS, LABELS, 20, 0.5, size=4)
    assert rates == pytest.approx([0.25, 0.5, *(0.5 * left / 18 for left in range(18, 0, -1))])


def test_what_is_not_said_of_fine_tuning_is_32_texts_a_step_with_seed_0():
    ids, labels = IDS.repeat(3, 1), LABELS.repeat(3)
    said, unsaid = (fine_tune(classifier(), ids, labels, 2, 0.01, **given) for given in ({"size": 32, "seed": 0}, {}))
    assert said == unsaid


def test_arrays_are_as_good_as_tensors_for_fine_tuning():
    wanted = fine_tune(classifier(), IDS, LABELS, 3, 0.01, size=4)
    for given in ((IDS.numpy(), LABELS.numpy()), (IDS.int(), LABELS.int())):
        assert fine_tune(classifier(), *given, 3, 0.01, size=4) == wanted
    with unchecked(), pytest.raises(TypeError, match=r"the numbers of classes, not torch\.float32"):
        fine_tune(classifier(), IDS, LABELS.float(), 3, 0.01, size=4)


@pytest.mark.parametrize("n", [11, 13])
def test_a_label_too_few_or_too_many_is_refused(n):
    labels = torch.cat([LABELS, LABELS])[:n]
    with unchecked(), pytest.raises(ValueError, match=rf"there must be a label for each text: 12 texts, {n} labels"):
        fine_tune(classifier(), IDS, labels, 1, 0.01, size=4)


@pytest.mark.parametrize("size", [0, 13])
def test_a_batch_larger_than_the_texts_is_refused(size):
    with pytest.raises(ValueError, match=rf"size \({size}\) must be at least 1 and at most the number of texts \(12\)"):
        fine_tune(classifier(), IDS, LABELS, 1, 0.01, size=size)
