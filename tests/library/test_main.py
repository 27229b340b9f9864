"""The command line: trains, goes on, and tells in words what is wrong before anything is written."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

import tested_transformer
from tested_transformer.__main__ import main
from tested_transformer.phrasebook import corpus
from tested_transformer.training import checkpoint
from tested_transformer.training.events import Step
from tested_transformer.training.log import read_metrics

SIZES = ["--d-model", "16", "--d-ff", "32", "--n-heads", "2", "--n-layers", "1"]
SIZES += ["--merges", "20", "--batch-tokens", "100"]
WORDS = {"the": "die", "a": "eine", "cat": "Katze", "flower": "Blume", "sees": "sieht", "smells": "riecht"}


@pytest.fixture
def files(tmp_path):
    """Two files of 60 lines each, and what names them on the command line."""
    chosen = random.Random(0)
    lines = [[chosen.choice(list(WORDS)) for _ in range(chosen.randint(1, 5))] for _ in range(60)]
    (tmp_path / "a.en").write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "a.de").write_text("".join(" ".join(WORDS[w] for w in line) + "\n" for line in lines), encoding="utf-8")
    return ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de")]


def test_training_leaves_a_model_its_numbers_and_a_picture(tmp_path, files, capsys):
    folder = tmp_path / "run"
    assert main(["train", str(folder), *files, *SIZES, "--steps", "12"]) == 0
    model, tokens = checkpoint.load(folder)
    assert model.config.d_model == 16
    assert model.config.vocab_size == tokens.vocab_size == 280
    events = read_metrics(folder)
    assert [event.step for event in events if isinstance(event, Step)] == [10]
    assert events[-1].best
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    told = capsys.readouterr().err
    assert "58 pairs; left out: 0 with an empty side, 0 of more than 1024 tokens" in told
    assert f"go on with: python -m tested_transformer train {folder} --resume" in told
    assert told.splitlines()[-1] in (folder / "log.txt").read_text()


def test_without_matplotlib_a_run_lacks_nothing_but_its_picture_and_says_so(tmp_path, files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "2"]) == 0
    assert not (tmp_path / "run" / "curves.png").exists()
    assert re.search("no curves.png: .*matplotlib", capsys.readouterr().err)


def test_translating_loads_no_drawing_and_nothing_of_the_book():
    code = "import sys; from tested_transformer.__main__ import main; status = main(['translate'])\n"
    code += "print(status, sorted(m for m in sys.modules if m in ('matplotlib', 'tested_transformer.book')))"
    said = subprocess.run([sys.executable, "-c", code], input="I see.\n", capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "0 []"


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"tested_transformer {tested_transformer.__version__}\n"


def test_going_on_needs_only_the_folder(tmp_path, files):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main(["train", str(whole), *files, *SIZES, "--steps", "9"]) == 0
    assert main(["train", str(parts), *files, *SIZES, "--steps", "5"]) == 0
    assert main(["train", str(parts), "--resume", "--steps", "9"]) == 0
    one, other = (checkpoint.read_tensors(folder / "last.safetensors")[0] for folder in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_phrasebook_can_be_trained_on_with_as_many_pairs_as_one_likes(tmp_path, capsys, monkeypatch):
    whole = corpus.split
    monkeypatch.setattr(corpus, "split", lambda n_train: whole(n_train, 20))
    assert main(["train", str(tmp_path / "run"), "--phrasebook", "200", *SIZES, "--steps", "2"]) == 0
    assert "200 pairs" in capsys.readouterr().err


def test_pairs_that_cannot_be_used_are_counted_and_not_cut(tmp_path, files, capsys):
    with open(files[1], "a") as source, open(files[3], "a") as target:
        source.write("\nthe cat\n" + "cat " * 40 + "\n")
        target.write("eine\n \n" + "Katze " * 40 + "\n")
    arguments = ["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "1", "--max-len", "30"]
    assert main(arguments) == 0
    assert "left out: 2 with an empty side, 1 of more than 30 tokens" in capsys.readouterr().err


def refused(capsys, *arguments):
    """What an error says, after making sure that it is one."""
    assert main(["train", *map(str, arguments)]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    return told


def test_errors_name_what_is_wrong_and_write_nothing(tmp_path, files, capsys):
    folder, steps = tmp_path / "run", ("--steps", 1)
    other = tmp_path / "b.de"
    other.write_text("eine\n")
    unequal = ["--source", files[1], "--target", other]
    assert "a.en has 60, " in refused(capsys, folder, *unequal, *steps)
    other.write_bytes(b"eine\nKatze\n" + b"gr\xfcn\n" + b"eine\n" * 57)
    assert "b.de, line 3: byte 0xfc is no UTF-8" in refused(capsys, folder, *unequal, *steps)
    assert "give --source with --target" in refused(capsys, folder, *steps)
    assert "give --source with --target" in refused(capsys, folder, *files, "--phrasebook", *steps)
    assert "belong together" in refused(capsys, folder, *files[:2], *steps)
    assert "say when to stop: --steps" in refused(capsys, folder, *files)
    assert "n_heads (3) must divide d_model (16)" in refused(
        capsys, folder, *files, *steps, "--d-model", 16, "--n-heads", 3
    )
    assert "no such run" in refused(capsys, folder, "--resume")
    assert "No such file" in refused(capsys, folder, "--source", "none.en", "--target", files[3], *steps)
    assert "no training pair is left: left out: 0 with an empty side, 58 of more" in refused(
        capsys, folder, *files, *steps, "--max-len", 1
    )
    assert not folder.exists()


def test_a_run_is_never_overwritten(tmp_path, files, capsys):
    folder = tmp_path / "run"
    assert main(["train", str(folder), *files, *SIZES, "--steps", "1"]) == 0
    before = (folder / "model.safetensors").read_bytes()
    capsys.readouterr()
    assert "already holds a run" in refused(capsys, folder, *files, "--steps", 1)
    assert "--warmup cannot change when a run goes on" in refused(capsys, folder, "--resume", "--warmup", 9)
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(tmp_path, files, capsys):
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refused(capsys, tmp_path / "file" / "run", *files, "--steps", 1)


def command(*arguments, launcher=(sys.executable,)):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [*launcher, "-m", "tested_transformer", "train", *map(str, arguments)]
    return subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path, files):
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
    one = command(tmp_path / "one", *files, *SIZES, "--steps", "40", "--dropout", "0")
    assert one.wait(300) == 0
    two = command(tmp_path / "two", *files, *SIZES, "--steps", "40", "--dropout", "0", launcher=torchrun)
    assert two.wait(300) == 0
    first, second = (checkpoint.read_tensors(tmp_path / name / "last.safetensors")[0] for name in ("one", "two"))
    for name, tensor in first.items():
        torch.testing.assert_close(second[name], tensor, rtol=1e-4, atol=1e-6)
    losses = [[event.loss for event in read_metrics(tmp_path / name)] for name in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.slow
def test_a_killed_run_can_always_be_read_and_ends_as_if_it_had_lived(tmp_path, files):
    options = [*files, *SIZES, "--steps", "200", "--save-every", "3"]
    assert command(tmp_path / "whole", *options).wait(300) == 0
    folder, chance = tmp_path / "killed", random.Random(0)
    for kill in range(3):
        run = command(folder, *(["--resume"] if kill else options))
        last = folder / "last.safetensors"
        before = last.stat().st_mtime_ns if last.exists() else None
        while run.poll() is None and not (last.exists() and last.stat().st_mtime_ns != before):
            time.sleep(0.005)
        time.sleep(chance.random() * 0.2)
        run.send_signal(signal.SIGKILL)
        run.wait(60)
        _, state = checkpoint.read_tensors(last)
        checkpoint.load(folder)
        reached = max([event.step for event in read_metrics(folder)], default=0)
        assert reached <= state["progress"]["step"] + 3
    assert command(folder, "--resume").wait(300) == 0
    assert not list(folder.glob(".*.tmp"))
    one, other = (checkpoint.read_tensors(f / "last.safetensors")[0] for f in (tmp_path / "whole", folder))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, files):
    folder = tmp_path / "run"
    run = command(folder, *files, *SIZES, "--steps", "100000", "--save-every", "100000")
    while run.poll() is None and not (folder / "metrics.jsonl").exists():
        time.sleep(0.01)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 0
    told = (folder / "log.txt").read_text()
    assert "stopped after step" in told
    assert "--resume" in told
    _, state = checkpoint.read_tensors(folder / "last.safetensors")
    assert state["progress"]["step"] > 0
