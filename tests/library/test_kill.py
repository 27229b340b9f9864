"""Killed at any moment: what is on the disk can be read, the run goes on or begins again, and ends as if it had lived.

`make slow` kills a few times, `make torture` many: half of them at a random moment, half inside the writing of a
file. Each process is forked from this one, which has trained once itself: what is loaded at its first step is in memory
already, and the random moments fall into the training and not into that.
"""

import builtins
import os
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest
import torch
from tqdm import tqdm

from tested_transformer.__main__ import main
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.log import read_metrics

KILLS = int(os.environ.get("KILLS", "30"))
RUN = [
    "--d-model",
    "16",
    "--d-ff",
    "32",
    "--n-heads",
    "2",
    "--n-layers",
    "1",
    "--merges",
    "20",
    "--batch-tokens",
    "100",
]
RUN += ["--steps", "40", "--save-every", "3", "--keep", "2"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here"),
]


class Knife:
    """Counts what is done with files, and kills this process at one of these moments."""

    def __init__(self, when=None, share=0.5):
        self.done, self.when, self.share = 0, when, share

    def next(self, before=lambda: None):
        self.done += 1
        if self.done == self.when:
            before()
            os.kill(os.getpid(), signal.SIGKILL)

    def attach(self):
        """Between any two steps of writing, renaming and removing, and in the middle of each content."""
        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
            setattr(owner, name, self.around(getattr(owner, name)))
        opened = builtins.open

        def watched(path, mode="r", **more):
            file = opened(path, mode, **more)
            if mode not in ("wb", "a"):
                return file
            self.next()
            return Torn(file, self)

        builtins.open = watched

    def around(self, act):
        def watched(*given, **more):
            self.next()
            return act(*given, **more)

        return watched


class Torn:
    """A file whose content may be cut off."""

    def __init__(self, file, knife):
        self.file, self.knife = file, knife

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        def half():
            self.file.write(content[: int(len(content) * self.knife.share)])
            self.file.flush()

        self.knife.next(half)
        return self.file.write(content)


def child(arguments, knife, count=None):
    """Train in a process of its own; its number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        tqdm.set_lock(threading.RLock())  # its own is shared by all forks: who dies with it keeps it from the others
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        knife.attach()
        status = main(["train", *map(str, arguments)])
        if count:
            count.write_text(str(knife.done))
        os._exit(status)
    except BaseException:
        traceback.print_exc(file=sys.__stdout__)
        os._exit(99)


def ended(pid):
    until = time.monotonic() + 120
    while not (done := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            pytest.fail("a run neither ends nor goes on")
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(done[1])


def look(folder, kind):
    """Everything in the folder can be read; whether the run began."""
    for path in folder.glob("*.safetensors"):
        checkpoint.read_tensors(path)
    if (folder / "model.safetensors").exists():
        checkpoint.load(folder, kind=kind)
    read_metrics(folder)
    return (folder / "last.safetensors").exists()


def left(folder):
    """What a run has left, without its times."""
    files = sorted(path.name for path in folder.iterdir() if path.name not in ("log.txt", ".lock", "run.json"))
    tensors = {
        (path.name, name): tensor
        for path in folder.glob("*.safetensors")
        for name, tensor in checkpoint.read_tensors(path)[0].items()
    }
    progress = checkpoint.read_tensors(folder / "last.safetensors")[1]["progress"] | {"seconds": 0}
    events = [vars(event) | {"seconds": 0} for event in read_metrics(folder)]
    return files, tensors, progress, events


def within(kills):
    """How many of the kills fell inside writing."""
    return sum(n for (how, _), n in kills.items() if how == "inside writing")


@pytest.mark.parametrize("kind", ["pairs", "text"])
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_lived(tmp_path, kind):
    chosen, words = random.Random(KILLS), ["the", "a", "cat", "flower", "sees", "smells"]
    n = 60 if kind == "pairs" else 200
    lines = [" ".join(chosen.choices(words, k=chosen.randint(1, 5))) for _ in range(n)]
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "b").write_text("\n".join(lines).upper(), encoding="utf-8")
    begin = [*RUN, "--source", tmp_path / "a", "--target", tmp_path / "b"]
    if kind == "text":
        begin = [*RUN, "--text", tmp_path / "a", "--max-len", 8]
    whole, folder, count = tmp_path / "whole", tmp_path / "run", tmp_path / "count"
    assert main(["train", *map(str, [tmp_path / "first", *begin])]) == 0
    started = time.monotonic()
    assert ended(child([whole, *begin], Knife(), count)) == 0
    seconds, moments, wanted = time.monotonic() - started, int(count.read_text()), left(whole)
    assert moments > 100
    kills, ends = Counter(), 0
    # A run may end before its knife falls, so how many fall inside writing hangs on the clock: go on until enough did.
    while kills.total() < KILLS or within(kills) <= KILLS / 3:
        began = folder.exists() and look(folder, Gpt if kind == "text" else Transformer)
        inside = chosen.random() < 0.5
        when = chosen.randint(1, max(1, int(moments * 0.7))) if inside else None
        pid = child([folder, *(["--resume"] if began else begin)], Knife(when, chosen.random()))
        if not inside:
            time.sleep(chosen.random() * seconds)
            os.kill(pid, signal.SIGKILL)
        status = ended(pid)
        assert status in (0, -signal.SIGKILL), f"kill {kills.total()}"
        if status:
            how = "inside writing" if inside else "at a random moment"
            kills[how, "later" if began else "before the first state"] += 1
        else:
            ends += 1
            files, tensors, progress, events = left(folder)
            assert (files, progress) == (wanted[0], wanted[2])
            assert events == wanted[3]
            assert tensors.keys() == wanted[1].keys()
            assert [name for name in tensors if not torch.equal(tensors[name], wanted[1][name])] == []
            shutil.rmtree(folder)
    print("\n", dict(kills), f"{ends} runs ended")
    assert ends >= KILLS // 10
    assert sum(n for (_, how), n in kills.items() if how != "later") > KILLS / 10
