"""The tasks copy and reverse: what is asked, what is right, and that a seed fixes both."""

import numpy as np
import pytest
import torch
from helpers import unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.config import TINY, SpecialIds
from tested_transformer.data import tasks
from tested_transformer.data.batches import tensors
from tested_transformer.data.tasks import copy, reverse
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.events import Validation
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

PAD, BOS, EOS, UNK = SpecialIds()
both = pytest.mark.parametrize("task", [copy, reverse], ids=["copy", "reverse"])
turned = {copy: lambda ids: ids, reverse: lambda ids: ids[::-1]}


@st.composite
def asked(draw):
    """Arguments of a task: n, length, vocab_size, seed, shortest."""
    length = draw(st.integers(1, 9))
    shortest = draw(st.none() | st.integers(1, length))
    return draw(st.integers(1, 6)), length, draw(st.integers(5, 12)), draw(st.integers(0, 99)), shortest


def test_a_small_case_is_written_out():
    sources, targets = reverse(2, 3, 20, seed=0)
    a, b, c = sources[0].tolist()
    assert targets[0].tolist() == [1, c, b, a, 2]
    assert copy(2, 3, 20, seed=0)[1][0].tolist() == [1, a, b, c, 2]


@both
@given(asked())
def test_a_target_is_the_source_between_bos_and_eos_with_padding_behind(task, arguments):
    n, length, vocab_size, _, shortest = arguments
    sources, targets = task(*arguments)
    assert sources.shape == (n, length)
    assert targets.shape == (n, length + 2)
    assert sources.dtype == targets.dtype == np.int64
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        ids = [i for i in source if i != PAD]
        assert source == ids + [PAD] * (length - len(ids))
        assert (shortest or length) <= len(ids) <= length
        assert all(UNK < i < vocab_size for i in ids)
        assert target == [BOS, *turned[task](ids), EOS] + [PAD] * (length - len(ids))


@given(asked())
def test_both_tasks_have_the_same_sources(arguments):
    assert np.array_equal(copy(*arguments)[0], reverse(*arguments)[0])


@both
def test_a_seed_fixes_everything_and_another_seed_changes_it(task):
    first = task(50, 8, 20, seed=5, shortest=2)
    again, other = task(50, 8, 20, seed=5, shortest=2), task(50, 8, 20, seed=6, shortest=2)
    for a, b, c in zip(first, again, other, strict=True):
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)


@both
def test_every_id_and_every_length_comes_up_about_equally_often(task):
    sources, _ = task(4000, 5, 9, seed=0, shortest=2)
    ids = np.bincount(sources[sources != PAD], minlength=9)
    assert ids[: tasks.FIRST].tolist() == [0, 0, 0, 0]
    assert ids[tasks.FIRST :].min() > 0.9 * ids.max()
    lengths = np.bincount((sources != PAD).sum(axis=1), minlength=6)
    assert lengths[:2].tolist() == [0, 0]
    assert lengths[2:].min() > 0.85 * lengths.max()
    assert abs(np.corrcoef(sources[:, 0], sources[:, 1])[0, 1]) < 0.05


def test_without_shortest_there_is_no_padding():
    for array in reverse(20, 6, 8, seed=0):
        assert not np.any(array == PAD)


@both
@given(asked())
def test_as_pairs_both_sides_are_the_same_without_padding(task, arguments):
    sources, targets = task(*arguments)
    found = tasks.pairs(sources, targets)
    for (read, write), source, target in zip(found, sources.tolist(), targets.tolist(), strict=True):
        assert read + [PAD] * source.count(PAD) == source
        assert write + [PAD] * target.count(PAD) == target
    source, target = tensors(found)  # filled up again to the longest
    assert np.array_equal(source, sources[:, : source.shape[1]])
    assert np.array_equal(target, targets[:, : target.shape[1]])


def test_a_trainer_learns_from_a_task(tmp_path):
    config, events = TINY.replace(vocab_size=9, n_layers=1), []
    train, valid = (tasks.pairs(*copy(n, 3, 9, seed=n, shortest=1)) for n in (400, 40))
    options = Options(epochs=6, batch_tokens=100, warmup=40, ema=0.0)
    torch.manual_seed(0)
    Trainer(Transformer(config), options, train, valid, tmp_path, report=events.append).run()
    losses = [event.loss for event in events if isinstance(event, Validation)]
    assert losses[-1] < 0.5 * losses[0]


REFUSED = {
    "no sequence": ({"n": 0}, r"n \(0\) must be at least 1"),
    "no length": ({"length": 0}, r"length \(0\) must be at least 1"),
    "special ids only": ({"vocab_size": 4}, r"vocab_size \(4\) must be above 4, the number of special ids"),
    "shortest of nothing": ({"shortest": 0}, r"shortest \(0\) must be at least 1 and at most length \(3\)"),
    "shortest above the length": ({"shortest": 4}, r"shortest \(4\) must be at least 1 and at most length \(3\)"),
}


@both
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_asked_is_refused_by_name_and_value(task, case):
    wrong, words = REFUSED[case]
    arguments = {"n": 2, "length": 3, "vocab_size": 5, "seed": 0}
    with unchecked():
        task(**arguments)
        with pytest.raises(ValueError, match=words):
            task(**arguments | wrong)
