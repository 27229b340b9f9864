"""Ids in a file of any size: whole or not there, cut into windows, learned from without being in memory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.config import TINY
from tested_transformer.data.batches import EqualPlan
from tested_transformer.data.ids import CHUNK, Packed, read_ids, write_ids
from tested_transformer.model.bert import Bert, Classifier
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.objective import Labels, LanguageModel, NextToken
from tested_transformer.training.options import Options
from tested_transformer.training.resume import fingerprint
from tested_transformer.training.train import Trainer

CONFIG = TINY.replace(dropout=0.1)
IDS = np.random.default_rng(0).integers(3, 16, 500)
HOW = Options(steps=9, batch_tokens=60, warmup=4, smoothing=0.0)
ROOT = Path(__file__).resolve().parents[2]


# Files


@pytest.mark.parametrize(("vocab_size", "dtype"), [(2**16, "uint16"), (2**16 + 1, "uint32")])
def test_what_is_written_is_read_again_in_as_few_bytes_as_the_vocabulary_allows(tmp_path, vocab_size, dtype):
    texts = [[1, vocab_size - 1], [], np.arange(7), [vocab_size - 1]]
    assert write_ids(tmp_path / "ids.npy", iter(texts), vocab_size) == 10
    ids = read_ids(tmp_path / "ids.npy")
    assert ids.tolist() == [i for text in texts for i in text]
    assert (ids.dtype.name, isinstance(ids, np.memmap), ids.flags.writeable) == (dtype, True, False)
    assert np.array_equal(np.load(tmp_path / "ids.npy"), ids)
    assert [path.name for path in tmp_path.iterdir()] == ["ids.npy"]
    order = repr(np.dtype(dtype).str).encode()  # of bytes: another machine may have another one
    assert order in (tmp_path / "ids.npy").read_bytes()[:128]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ([3, 9], ValueError, r"text 1 has ids from 3 to 9; all must be at least 0 and below 9"),
        ([-1], ValueError, r"text 1 has ids from -1 to -1"),
        ([1.0], TypeError, r"text 1 has ids that are no whole numbers: \[1.0\]"),
        ([True], TypeError, r"text 1 has ids that are no whole numbers"),
        ([[1]], TypeError, r"text 1 has ids that are no whole numbers"),
    ],
)
def test_ids_that_the_vocabulary_lacks_leave_the_old_file(tmp_path, text, kind, message):
    write_ids(tmp_path / "ids.npy", [[5]], 9)
    with unchecked(), pytest.raises(kind, match=message):
        write_ids(tmp_path / "ids.npy", [[1], text], 9)
    assert read_ids(tmp_path / "ids.npy").tolist() == [5]
    assert [path.name for path in tmp_path.iterdir()] == ["ids.npy"]


def test_a_source_that_breaks_leaves_nothing_and_keeps_its_own_words(tmp_path):
    def texts():
        yield [1]
        yield (tmp_path / "gone").read_bytes()

    with pytest.raises(FileNotFoundError, match="gone"):
        write_ids(tmp_path / "ids.npy", texts(), 9)
    with pytest.raises(ValueError, match=r"ids.npy would be empty: no text has an id"):
        write_ids(tmp_path / "ids.npy", [[], []], 9)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="is a folder, not a file"):
        write_ids(tmp_path, [[1]], 9)


def npy(array):
    def make(path):
        np.save(path, array)

    return make


def with_bytes(change):
    def make(path):
        write_ids(path, [range(9)], 9)
        path.write_bytes(change(path.read_bytes()))

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (with_bytes(lambda b: b[:-1]), "it has 145 bytes, and its header promises 146: write it again"),
        (with_bytes(lambda b: b + b"x"), "it has 147 bytes, and its header promises 146"),
        (with_bytes(lambda b: b[:70]), "no whole file of ids"),
        (with_bytes(lambda b: b""), "no whole file of ids"),
        (with_bytes(lambda b: b"text"), "no whole file of ids"),
        (with_bytes(lambda b: b[:6] + b"\x02" + b[7:]), r"its format has the version \(2, 0\), not \(1, 0\)"),
        (npy(np.zeros(3)), r"it holds float64 of the shape \(3,\), not a row of uint16 or uint32"),
        (npy(np.zeros((3, 2), "<u2")), r"it holds uint16 of the shape \(3, 2\)"),
        (npy(np.zeros(3, ">u2")), r"it holds >u2 of the shape \(3,\)"),
    ],
)
def test_a_file_that_was_cut_or_is_of_another_kind_is_told_by_name(tmp_path, make, message):
    path = tmp_path / "ids.npy"
    make(path)
    with pytest.raises(ValueError, match=f"ids.npy is no whole file of ids: .*{message}|ids.npy is {message}"):
        read_ids(path)


def test_a_file_that_is_not_there_is_told_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file of ids: .*ids.npy"):
        read_ids(tmp_path / "ids.npy")


# Windows


@given(n=st.integers(2, 60), length=st.integers(1, 12))
def test_every_id_but_the_first_is_asked_for_once_and_fewer_than_a_window_are_left(n, length):
    if n <= length:
        return
    packed = Packed(np.arange(n), length)
    asked = [i for window in packed for i in window[1:].tolist()]
    assert asked == list(range(1, len(packed) * length + 1))
    assert n - 1 - len(asked) < length
    assert all(window.tolist() == list(range(window[0], window[0] + length + 1)) for window in packed)


def test_windows_are_reached_as_in_a_list(tmp_path):
    write_ids(tmp_path / "ids.npy", [IDS], 16)
    mapped = read_ids(tmp_path / "ids.npy")
    assert len(Packed(IDS, 9)) == 55
    for ids in (IDS, mapped, np.concatenate([[7], IDS]).astype("<u4")[1:], mapped[0:]):
        packed = Packed(ids, 9)
        wanted = [IDS[9 * i : 9 * i + 10].tolist() for i in range(55)]
        assert [window.tolist() for window in packed] == wanted
        assert packed[-1].tolist() == wanted[-1]
        assert [window.tolist() for window in packed[3:50:7]] == wanted[3:50:7]
        assert packed.rows([4, 0]).tolist() == [wanted[4], wanted[0]]
        assert packed.rows([4]).dtype == np.int64
        for wrong in (55, -56):
            with pytest.raises(IndexError, match=rf"window \({wrong}\) must be"):
                packed[wrong]
    assert Packed(mapped[9:], 9)[0].tolist() == wanted[1]  # a part of a map is no map of its own


@pytest.mark.parametrize(
    ("ids", "length", "kind", "message"),
    [
        ([1, 2], 1, TypeError, "ids must be a numpy.ndarray, not list"),
        (np.ones(5), 1, TypeError, r"ids must be one row of whole numbers, not float64 of the shape \(5,\)"),
        (np.ones((5, 2), int), 1, TypeError, "ids must be one row of whole numbers"),
        (np.ones(5, int), 5, ValueError, "there are 5 ids, and a window of length 5 needs 6"),
        (np.ones(5, int), 0, ValueError, r"length \(0\) must be at least 1"),
        (np.ones(5, int), 1.5, TypeError, r"length \(1.5\) must be a whole number"),
    ],
)
def test_what_has_no_windows_is_refused(ids, length, kind, message):
    with unchecked(), pytest.raises(kind, match=message):
        Packed(ids, length)


@given(n=st.integers(1, 40), size=st.integers(1, 45), seed=st.integers(0, 3), epoch=st.integers(0, 3))
def test_each_example_is_in_one_batch_and_batches_are_as_equal_as_can_be(n, size, seed, epoch):
    batches = EqualPlan(n, size, seed, epoch)
    sizes = [len(batch) for batch in batches]
    assert sorted(int(i) for batch in batches for i in batch) == list(range(n))
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1
    assert len(batches) == len(sizes) == -(-n // size)
    assert [b.tolist() for b in batches[1:]] == [b.tolist() for b in list(batches)[1:]]


def test_seed_and_epoch_mix_the_examples():
    orders = {tuple(EqualPlan(30, 7, seed, epoch).order) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9
    assert {tuple(i for batch in EqualPlan(30, 7, 0, 1) for i in batch.tolist())} < orders
    with pytest.raises(IndexError, match=r"batch \(5\) must be at least 0 and below 5"):
        EqualPlan(30, 7, 0, 0)[5]


# Learning


def test_a_batch_of_windows_is_that_of_the_same_lists():
    objective, packed = LanguageModel(Gpt(CONFIG)), Packed(IDS, 9)
    for ours, wanted in zip(
        objective.tensors(packed.rows([3, 1, 8]), ()),
        objective.tensors([packed[i].tolist() for i in (3, 1, 8)], ()),
        strict=True,
    ):
        assert ours.dtype == wanted.dtype
        assert torch.equal(ours, wanted)
    (_, batch) = objective.batches(packed, 60, 0, 0, 8, 0, 1)  # 55 windows, at most six in a batch: ten batches
    assert batch[0].shape == (6, 9)
    halves = [next(objective.batches(packed, 60, 0, 0, 9, rank, 2)) for rank in range(2)]
    assert all(torch.equal(torch.stack([h[k] for h in halves], 1).flatten(0, 1), batch[k]) for k in range(2))


@pytest.mark.parametrize(
    ("ids", "length", "message"),
    [
        (IDS, 33, r"train: windows of 33 \+ 1 ids are too long: max_len is 32, and a batch has 60 tokens"),
        (np.append(IDS[:-1], 16), 1, "train: the row has ids from 3 to 16; all must be at least 0 and below 16"),
        (np.append(IDS[:-1], -1), 1, "train: the row has ids from -1 to"),
    ],
)
def test_windows_that_a_model_cannot_learn_from_are_refused(tmp_path, ids, length, message):
    with pytest.raises(ValueError, match=message):
        Trainer(LanguageModel(Gpt(CONFIG)), HOW, Packed(ids, length), Packed(IDS, 9), tmp_path)
    with pytest.raises(ValueError, match=r"windows of 9 \+ 1 ids are too long"):
        LanguageModel(Gpt(CONFIG)).check(Packed(IDS, 9), "train", 9)
    LanguageModel(Gpt(CONFIG)).check(Packed(IDS, 9), "train", 10)


def test_windows_are_for_language_models_only(tmp_path):
    for objective in (NextToken(Transformer(CONFIG), 0.1), Labels(Classifier(Bert(CONFIG), 3))):
        with unchecked(), pytest.raises(TypeError, match="must be"):
            Trainer(objective, HOW, Packed(IDS, 9), Packed(IDS, 9), tmp_path)


def test_the_fingerprint_covers_every_id_and_not_how_they_are_kept(tmp_path):
    write_ids(tmp_path / "ids.npy", [IDS], 16)
    known, valid = Packed(IDS, 9), Packed(IDS[:30], 9)
    name = fingerprint(known, valid)
    assert name.startswith("55 and 3 pairs, ")
    for same in (IDS.astype("<u4"), read_ids(tmp_path / "ids.npy"), np.append(IDS[:496], 3)):
        assert fingerprint(Packed(same, 9), valid) == name
    others = [Packed(IDS, 8), Packed(np.append(IDS[:450], IDS[:50]), 9), valid]
    for i in (0, 250, 495):  # the last one in a window is 495
        other = IDS.copy()
        other[i] = 3 + (other[i] == 3)
        others.append(Packed(other, 9))
    assert len({name, *(fingerprint(other, valid) for other in others)}) == 1 + len(others)


def test_the_fingerprint_reaches_beyond_what_is_looked_at_in_one_go():
    ids = np.zeros(2 * CHUNK + 10, dtype="<u2")
    names = set()
    for place in (None, 0, CHUNK - 1, CHUNK, len(ids) - 1):
        other = ids.copy()
        if place is not None:
            other[place] = 1
        names.add(fingerprint(Packed(other, 1), Packed(ids[:2], 1)))
        assert sum(map(len, Packed(other, 1).chunks())) == len(ids)
    assert len(names) == 5


def learned(folder):
    state = checkpoint.read_tensors(folder / "last.safetensors")
    return state[0], state[1]["progress"] | {"seconds": 0}


def test_a_run_on_a_file_goes_on_bit_for_bit(tmp_path):
    write_ids(tmp_path / "ids.npy", [IDS], 16)

    def trainer(folder, steps=9):
        torch.manual_seed(0)
        how = Options(**vars(HOW) | {"steps": steps})
        train, valid = Packed(read_ids(tmp_path / "ids.npy"), 9), Packed(IDS[:50], 9)
        return Trainer(LanguageModel(Gpt(CONFIG)), how, train, valid, tmp_path / folder)

    losses = []
    whole = trainer("whole", 25)
    whole.report = lambda event: losses.append(event.loss)
    whole.run()
    trainer("run", 4).run()
    second = trainer("run", 25)
    second.resume()
    second.run()
    (tensors, progress), (wanted, end) = learned(tmp_path / "run"), learned(tmp_path / "whole")
    assert progress["step"] == 25 > 10
    assert progress["epoch"] == 2
    assert {n: v for n, v in progress.items() if n != "best"} == {n: v for n, v in end.items() if n != "best"}
    assert all(torch.equal(tensors[name], wanted[name]) for name in wanted)
    other = IDS.copy()
    other[100] = 3 + (other[100] == 3)
    write_ids(tmp_path / "ids.npy", [other], 16)
    with pytest.raises(ValueError, match="was trained with other pairs: 55 and 5 pairs"):
        trainer("run", 30).resume()


# Memory


def child(script, *args):
    """Runs it in a process of its own; returns its status and what it printed."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    # Peak memory from /proc: getrusage would begin with that of the process that starts it
    done = subprocess.run([sys.executable, "-c", PEAK + script, *map(str, args)], env=env, capture_output=True)
    return done.returncode, done.stdout.decode().split(), done.stderr.decode()


PEAK = """
import os, re, signal, sys
import numpy as np, torch
from tested_transformer.config import TINY
from tested_transformer.data.ids import Packed, read_ids
from tested_transformer.model.gpt import Gpt
from tested_transformer.training.objective import LanguageModel
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

def peak():
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", file.read())[1]) / 1024

torch.manual_seed(0)
objective = LanguageModel(Gpt(TINY.replace(vocab_size=300, max_len=128, dropout=0.1)))
"""
LOOK = """
packed = Packed(read_ids(sys.argv[1]), 128)
before = peak()
objective.check(packed, "train", 1300)
for n, batch in zip(range(300), objective.batches(packed, 1300, 0, 0, 0, 0, 1)):
    assert batch[0].shape in [(10, 128), (9, 128)]
print(before, peak())
"""
TRAIN = """
path, folder, killed = sys.argv[1:4]
packed, valid = Packed(read_ids(path), 128), Packed(np.asarray(read_ids(path)[:20_000]), 128)
options = Options(steps=200, batch_tokens=1300, save_every=30, smoothing=0.0, warmup=100)
trainer = Trainer(objective, options, packed, valid, folder)
if os.path.exists(folder + "/last.safetensors"):
    trainer.resume()

def report(event):
    if event.step == int(killed):
        os.kill(os.getpid(), signal.SIGKILL)

trainer.report = report
trainer.run()
print(peak())
"""
linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc tells the peak of memory")


@linux
def test_memory_does_not_grow_with_the_file(tmp_path):
    path, n = tmp_path / "ids.npy", 2 * 10**8
    write_ids(path, [[0]], 300)
    head = np.lib.format.header_data_from_array_1_0(np.zeros(1, "<u2")) | {"shape": (n,)}
    with open(path, "r+b") as file:  # a file with a hole takes no room on the disk
        np.lib.format.write_array_header_1_0(file, head)
        file.truncate(file.tell() + 2 * n)
    assert len(read_ids(path)) == n
    status, (before, after), said = child(LOOK, path)
    assert status == 0, said
    assert float(after) - float(before) < 100 < 2 * n / 2**20  # MiB: the file has 381


@pytest.mark.slow
@pytest.mark.nightly
@linux
def test_two_hundred_steps_from_a_hundred_million_ids_stay_below_a_gigabyte_and_a_half(tmp_path):
    path, rng = tmp_path / "ids.npy", np.random.default_rng(0)
    assert write_ids(path, (rng.integers(4, 300, 10**6) for _ in range(100)), 300) == 10**8
    status, (whole,), said = child(TRAIN, path, tmp_path / "whole", 0)
    assert status == 0, said
    assert child(TRAIN, path, tmp_path / "run", 137)[0] == -signal.SIGKILL
    assert learned(tmp_path / "run")[1]["step"] == 120
    status, (resumed,), said = child(TRAIN, path, tmp_path / "run", 0)
    assert status == 0, said
    print(f"\npeak of memory: {whole} MiB, resumed {resumed} MiB")
    assert max(float(whole), float(resumed)) < 1.5 * 1024
    (tensors, progress), (wanted, end) = learned(tmp_path / "run"), learned(tmp_path / "whole")
    assert (progress, progress["step"]) == (end, 200)
    assert all(torch.equal(tensors[name], wanted[name]) for name in wanted)
