"""The command line: trains, goes on, and tells in words what is wrong before anything is written."""

import argparse
import contextlib
import errno
import io
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers import unchecked

import tested_transformer
from tested_transformer.__main__ import main, parser
from tested_transformer.command import train
from tested_transformer.command.run import Run, begins, check_room, flag
from tested_transformer.config import BASE, TINY
from tested_transformer.data import multi30k
from tested_transformer.decoding.translator import PHRASEBOOK, Translator
from tested_transformer.files import write_json
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.events import Step
from tested_transformer.training.log import read_metrics
from tested_transformer.training.memory import checkpoint_activations
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

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
    assert f"go on with: python -m tested_transformer train {folder} --resume --steps 24\n" in told
    assert "finished after step 12" in told
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
    told = read_metrics(parts)
    assert main(["train", str(parts), "--resume", "--steps", "9"]) == 0
    assert told
    assert read_metrics(parts)[: len(told)] == told, "what was told before is kept"
    one, other = (checkpoint.read_tensors(folder / "last.safetensors")[0] for folder in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_phrasebook_can_be_trained_on_with_as_many_pairs_as_one_likes(tmp_path, capsys, monkeypatch):
    whole = corpus.split
    monkeypatch.setattr(corpus, "split", lambda n_train: whole(n_train, 20))
    assert main(["train", str(tmp_path / "run"), "--phrasebook", "200", *SIZES, "--steps", "2"]) == 0
    told = capsys.readouterr().err
    assert "200 pairs" in told
    assert "trained on as well" not in told, "none of them is in both"


def test_pairs_that_cannot_be_used_are_counted_and_not_cut(tmp_path, files, capsys):
    with open(files[1], "a") as source, open(files[3], "a") as target:
        source.write("\nthe cat\n" + "cat " * 40 + "\n")
        target.write("eine\n \n" + "Katze " * 40 + "\n")
    arguments = ["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "1", "--max-len", "30"]
    assert main(arguments) == 0
    told = capsys.readouterr().err
    assert "58 pairs; left out: 2 with an empty side, 1 of more than 30 tokens\n" in told
    assert "2 pairs to validate on; left out: 0 with an empty side, 0 of more than 30 tokens\n" in told


def test_what_is_left_out_of_the_pairs_to_validate_on_is_told_too(tmp_path, files, capsys):
    (tmp_path / "v.en").write_text("a cat\n\n" + "cat " * 40 + "\n")
    (tmp_path / "v.de").write_text("eine Katze\neine\n" + "Katze " * 40 + "\n")
    valid = ["--valid-source", str(tmp_path / "v.en"), "--valid-target", str(tmp_path / "v.de")]
    assert main(["train", str(tmp_path / "a"), *files, *valid, *SIZES, "--steps", "1", "--max-len", "30"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "60 pairs; left out: 0 with an empty side, 0 of more than 30 tokens"
    assert told[1] == "1 pairs to validate on; left out: 1 with an empty side, 1 of more than 30 tokens"
    for path in (Path(files[1]), Path(files[3])):  # 1 in 50 is held out, whatever it is
        path.write_text("\n" + path.read_text() + "\n\n")
    assert main(["train", str(tmp_path / "b"), *files, *SIZES, "--steps", "1"]) == 0
    counted = re.findall(r"left out: (\d) with", capsys.readouterr().err)
    assert counted == ["2", "1"], "all three that are blank"


def test_a_run_learns_the_same_from_texts_that_only_look_the_same(tmp_path, files, capsys):
    arguments = [*SIZES, "--steps", "2"]
    assert main(["train", str(tmp_path / "clean"), *files, *arguments]) == 0
    for path in (Path(files[1]), Path(files[3])):
        lines = path.read_text(encoding="utf-8").splitlines()
        unseen = [f"\ufeff{line} ".replace(" ", "\xa0", 1).replace("e", "e\u200b", 1) for line in lines]
        path.write_text("\n".join([*unseen, "\u2060\xad"]) + "\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["train", str(tmp_path / "unseen"), *files, *arguments]) == 0
    assert "left out: 1 with an empty side" in capsys.readouterr().err
    (one, tokens), (other, same) = (checkpoint.load(tmp_path / name) for name in ("clean", "unseen"))
    assert tokens.merges == same.merges
    assert all(map(torch.equal, one.parameters(), other.parameters()))


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
    assert "say when to stop: steps, epochs, " in refused(capsys, folder, *files)
    assert "n_heads (3) must divide d_model (16)" in refused(
        capsys, folder, *files, *steps, "--d-model", 16, "--n-heads", 3
    )
    assert "no such run" in refused(capsys, folder, "--resume")
    assert "no such file" in refused(capsys, folder, "--source", "none.en", "--target", files[3], *steps)
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
    unread = ["--source", tmp_path / "none.en", "--target", tmp_path / "none.de"]
    assert "already holds a run" in refused(capsys, folder, *unread, "--steps", 1), "before anything is read"
    assert "--warmup cannot change when a run goes on" in refused(capsys, folder, "--resume", "--warmup", 9)
    assert (folder / "model.safetensors").read_bytes() == before


def options_of(command):
    """Every option of a command: its name in what was parsed, and the action."""
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {action.dest: action for action in commands.choices[command]._actions if action.dest != "help"}


ANOTHER = {"preset": "small", "dropout": 0.9, "smoothing": 0.3, "ema": 0.5, "rate_scale": 0.5, "precision": "bfloat16"}
LIMITS = {"steps", "epochs", "minutes", "patience", "save_every"}


PAIRS = {"source", "target", "valid_source", "valid_target", "pairs", "valid_pairs", "multi30k", "phrasebook"}
FREE = {"folder", "resume", "device", "threads", "config", "logger", "shard", "checkpoint_activations"} | LIMITS | PAIRS


@pytest.mark.parametrize("name", sorted(options_of("train").keys() - FREE))
def test_a_run_goes_on_with_what_it_began_with_or_not_at_all(began, capsys, name):
    folder, files = began
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    action = options_of("train")[name]
    given = [action.option_strings[0]]
    if action.nargs != 0:
        given.append(files[1] if action.type is Path else ANOTHER.get(name, 97))
    said = refused(capsys, folder, "--resume", *given)
    assert f"{action.option_strings[0]} cannot change when a run goes on: it was " in said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_pairs_may_have_moved_and_must_be_the_same(began, tmp_path, capsys):
    folder, files = began
    moved = [str(Path(path).rename(tmp_path / name)) for path, name in zip(files[1::2], ("b.en", "b.de"), strict=True)]
    gone = f"--source ({Path(files[1]).resolve()}) is gone: say where they are now, with --source --target\n"
    assert gone in refused(capsys, folder, "--resume", "--steps", 2)
    assert "belong together" in refused(capsys, folder, "--resume", "--source", moved[0], "--steps", 2)
    told = ["--source", moved[0], "--target", moved[1], "--steps", "2"]
    before = Run.load(folder / "run.json")
    assert main(["train", str(folder), "--resume", *told]) == 0
    assert Run.load(folder / "run.json") == replace(before, data={"source": moved[0], "target": moved[1]})
    assert go_on_as_told(capsys) == 0, "it remembers where they are now"
    capsys.readouterr()
    other = [*told[:3], moved[0], *told[4:]]
    assert "was trained with other pairs: 58 and 1 pairs" in refused(capsys, folder, "--resume", *other)
    valid = ["--valid-source", moved[0], "--valid-target", moved[1]]
    assert "was trained with other pairs: 58 and 1 pairs" in refused(capsys, folder, "--resume", *told, *valid)
    assert Run.load(folder / "run.json").data["source"] == moved[0], "what was refused is not remembered"


def test_pairs_to_validate_on_that_have_moved_are_named_too(tmp_path, files, capsys):
    valid = ["--valid-source", files[1], "--valid-target", files[3]]
    assert main(["train", str(tmp_path / "run"), *files, *valid, *SIZES, "--steps", "1"]) == 0
    capsys.readouterr()
    said = refused(capsys, tmp_path / "run", "--resume", *files)
    assert "the run validates on files of its own: name --valid-source and --valid-target as well" in said
    assert main(["train", str(tmp_path / "run"), "--resume", *files, *valid, "--steps", "2"]) == 0


def test_a_run_whose_state_is_gone_can_lend_its_model(began, tmp_path, capsys):
    folder, files = began
    (folder / "last.safetensors").unlink()
    said = refused(capsys, folder, "--resume")
    assert f"has no state (last.safetensors): begin another one with its model, --init {folder}" in said
    assert "already holds model.safetensors: choose another" in refused(capsys, folder, *files, *SIZES, "--steps", 1)
    assert main(["train", str(tmp_path / "next"), *files, "--init", str(folder), "--steps", "1"]) == 0
    other = BytePairEncoding.train(["other words"], 20)
    other.save(folder / "tokens.json")
    capsys.readouterr()
    said = refused(capsys, tmp_path / "more", *files, "--init", folder, "--steps", 1)
    assert "tokens.json is not the one that the model was saved with" in said or "does not belong" in said


def test_files_of_somebody_else_in_the_folder_are_not_written_over(tmp_path, files, capsys):
    (tmp_path / "run").mkdir()
    BytePairEncoding([(4, 5)]).save(tmp_path / "run" / "tokens.json")
    before = (tmp_path / "run" / "tokens.json").read_bytes()
    assert "already holds tokens.json" in refused(capsys, tmp_path / "run", *files, *SIZES, "--steps", 1)
    assert (tmp_path / "run" / "tokens.json").read_bytes() == before
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize("place", ["folder", "--source", "--target", "--valid-source", "--init", "--multi30k"])
@pytest.mark.parametrize(("name", "why"), [("", "its name is empty"), ("a\udcff", r"'a\udcff' is no UTF-8: rename it")])
def test_a_folder_and_files_have_names_that_can_be_written(files, capsys, place, name, why):
    with pytest.raises(SystemExit) as ended:
        main(["train", name] if place == "folder" else ["train", "run", place, name])
    assert ended.value.code == 2
    assert f"argument {place}: {why}" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
def test_what_lies_in_a_folder_whose_name_is_no_text_is_refused_too(tmp_path, files, capsys, monkeypatch):
    (tmp_path / "a\udcff").mkdir()
    monkeypatch.chdir(tmp_path / "a\udcff")
    with pytest.raises(SystemExit, match="2"):
        main(["train", "run", *files, *SIZES, "--steps", "1"])
    assert "argument folder: 'run' is no UTF-8: rename it, or what it lies in" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
def test_a_run_learns_from_files_that_it_can_read_again(tmp_path, files, capsys):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        said = refused(capsys, tmp_path / "run", "--source", path, *files[2:], "--steps", 1)
        assert f"--source ({path}) must be a file, not a folder or a pipe" in said
        said = refused(capsys, tmp_path / "run", *files, "--valid-source", path, "--valid-target", path, "--steps", 1)
        assert f"--valid-source ({path}) must be a file, not a folder or a pipe" in said


@pytest.mark.parametrize("name", ["my run", "-n", "-1", "it's $HOME", "--resume"])
def test_the_hint_can_be_typed_whatever_the_folder_is_called(tmp_path, files, capsys, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert main(["train", f"./{name}", *files, *SIZES, "--steps", "2"]) == 0
    assert go_on_as_told(capsys) == 0
    assert state_of(tmp_path / name)["step"] == 4
    (tmp_path / name / "last.safetensors").unlink()
    capsys.readouterr()
    said = shlex.split(refused(capsys, f"./{name}", "--resume").partition("--init")[2])
    assert Path(said[0]) == Path(name)
    assert not said[0].startswith("-")


def go_on_as_told(capsys, *more):
    """Do what a run said last."""
    line = capsys.readouterr().err.splitlines()[-1].partition("go on with: python -m tested_transformer ")[2]
    return main([*shlex.split(line), *more])


def state_of(folder):
    """How far a run is."""
    return checkpoint.read_tensors(folder / "last.safetensors")[1]["progress"]


@pytest.mark.parametrize(
    "limits",
    [
        ["--steps", "3"],
        ["--epochs", "1"],
        ["--minutes", "0.001"],
        ["--patience", "1", "--rate-scale", "1e-9", "--ema", "0"],
        ["--steps", "3", "--minutes", "60"],
        ["--epochs", "1", "--cooldown", "5", "--steps", "900"],
    ],
)
def test_who_does_what_a_run_says_at_its_end_goes_on(tmp_path, files, capsys, monkeypatch, limits):
    assert main(["train", str(tmp_path / "run"), *files, *SIZES, *limits]) == 0
    before = state_of(tmp_path / "run")["step"]
    monkeypatch.setattr(Trainer, "save", lambda self: None)  # the second minute is long
    whole = Trainer.gradients
    monkeypatch.setattr(Trainer, "gradients", lambda self, group: (self.stop(), whole(self, group))[1])
    assert go_on_as_told(capsys) == 130
    assert f"stopped after step {before + 1}," in capsys.readouterr().err


def test_a_run_whose_rate_came_down_to_zero_is_over(tmp_path, files, capsys):
    assert main(["train", str(tmp_path / "my run"), *files, *SIZES, "--steps", "3", "--cooldown", "2"]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(f"; the rate came down to zero; begin a new run with --init '{tmp_path}/my run'")


def test_a_run_that_was_too_short_for_its_warm_up_says_so(tmp_path, files, capsys):
    assert main(["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "3", "--warmup", "4"]) == 0
    rises = "the learning rate was still rising (--warmup 4): train for longer, or let it rise for fewer steps"
    assert rises in capsys.readouterr().err
    assert main(["train", str(tmp_path / "run"), "--resume", "--steps", "4"]) == 0
    assert "still rising" not in capsys.readouterr().err


def test_a_picture_that_cannot_be_written_ends_no_run(began, capsys):
    folder, _ = began
    (folder / "curves.png").unlink()
    (folder / "curves.png").mkdir()
    assert main(["train", str(folder), "--resume", "--steps", "2"]) == 0
    assert "no curves.png: " in capsys.readouterr().err


def test_who_says_again_what_was_said_goes_on(began):
    folder, files = began
    again = [*files, *SIZES, "--preset", "mini", "--dropout", "0.2", "--seed", "0", "--warmup", "800"]
    assert main(["train", str(folder), "--resume", *again, "--steps", "3", "--save-every", "2", "--device", "cpu"]) == 0
    _, told = checkpoint.read_tensors(folder / "last.safetensors")
    assert told["progress"]["step"] == 3


@pytest.fixture
def began(tmp_path, files):
    """The folder of a run of one step, and what names its pairs."""
    assert main(["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "1"]) == 0
    return tmp_path / "run", files


def test_a_start_that_failed_can_begin_again_with_other_options(tmp_path, files, capsys, monkeypatch):
    folder = tmp_path / "run"
    assert "tokens" in refused(capsys, folder, *files, *SIZES, "--steps", 1, "--batch-tokens", 1)
    assert not folder.exists()
    with monkeypatch.context() as patched:
        full = OSError(errno.ENOSPC, "No space left on device", "there")
        patched.setattr(checkpoint, "write_tensors", lambda *given: (_ for _ in ()).throw(full))
        assert main(["train", str(folder), *files, *SIZES, "--steps", "1"]) == 1
        assert "error: No space left on device: there\n" in capsys.readouterr().err
    assert sorted(path.name for path in folder.glob("*.json")) == ["run.json", "tokens.json"]
    assert not list(folder.glob("*.safetensors"))
    assert "(last.safetensors), it never began: start it again, without" in refused(capsys, folder, "--resume")
    assert main(["train", str(folder), *files, *SIZES, "--merges", "5", "--steps", "1"]) == 0
    assert checkpoint.load(folder)[1].vocab_size == 265


def test_a_model_that_stands_in_the_folder_is_not_written_over(tmp_path, files, capsys):
    tokens = BytePairEncoding([])
    checkpoint.save(tmp_path, Transformer(TINY.replace(vocab_size=tokens.vocab_size)), tokens)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    said = refused(capsys, tmp_path, *files, *SIZES, "--steps", 1)
    assert "already holds model.safetensors: choose another folder" in said
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes can be forked here")
def test_of_two_runs_in_one_folder_one_is_refused(tmp_path, files):
    folder = tmp_path / "run"
    options = ["train", str(folder), *files, *SIZES, "--steps", "15"]
    for more in ([], ["--resume", "--steps", "30"]):
        ended = sorted(
            at_once([*options, "--seed", str(seed)] if not more else [*options[:2], *more] for seed in (1, 2))
        )
        assert ended == [0, 1]
        _, told = checkpoint.read_tensors(folder / "last.safetensors")
        run = json.loads((folder / "run.json").read_text())
        assert told["options"]["seed"] == run["options"]["seed"], "state and run.json are of one run"
        steps = [event.step for event in read_metrics(folder) if isinstance(event, Step)]
        assert steps == sorted(set(steps)), "nothing is there twice"


def test_a_run_that_another_one_finished_meanwhile_stays_as_it_is(tmp_path, began, capsys, monkeypatch):
    folder, files = began
    later, whole = tmp_path / "later", train.read_texts
    monkeypatch.setattr(train, "read_texts", lambda *given: (shutil.copytree(folder, later), whole(*given))[1])
    assert "later already holds a run" in refused(capsys, later, *files, *SIZES, "--steps", 1, "--seed", 7)
    for path in folder.glob("*.json*"):
        assert (later / path.name).read_bytes() == path.read_bytes()


def forked(line):
    """Run the command in a process of its own, forked from this one, which has loaded all libraries; its number."""
    child = os.fork()
    if not child:
        try:
            os._exit(main(line))
        except BaseException:
            traceback.print_exc()
            os._exit(99)
    return child


def waited(child):
    """How a process that was forked has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def at_once(lines):
    """Run the commands at the same time, and return how they ended."""
    return [waited(child) for child in [forked(line) for line in lines]]


WRONG_RUNS = [
    ({"data": None}, r"data \(None\) must be an object"),
    ({"data": {}}, r"data \(\{\}\) must name sentence pairs"),
    ({"data": {"source": "a"}}, "must name sentence pairs"),
    ({"data": {"source": 3, "target": "b"}}, "data has 'source': 3"),
    ({"data": {"phrasebook": "many"}}, "data has 'phrasebook': 'many'"),
    ({"data": {"phrasebook": True}}, "data has 'phrasebook': True"),
    ({"data": {"web": "x"}}, "data has 'web': 'x'"),
    ({"config": [1]}, r"config \(\[1\]\) must be an object"),
    ({"config": {"vocab_size": 3.5}}, r"vocab_size \(3\.5\) must be a whole number"),
    ({"config": {"size": 3}}, "size"),
    ({"preset": 3}, r"preset \(3\) must be a str"),
    ({"merges": "8000"}, r"merges \('8000'\) must be a int"),
    ({"init": ["x"]}, r"init \(\['x'\]\) must be a str"),
    ({"options": 3}, r"options \(3\) must be an object"),
    ({"options": {"stepz": 3}}, "no option of this version: stepz"),
    ({"options": {"seed": None}}, r"seed \(None\) must be a whole number"),
]


@pytest.mark.parametrize(("change", "message"), WRONG_RUNS)
def test_every_wrong_field_of_a_run_is_told_with_the_name_of_the_file(began, capsys, change, message):
    folder, _ = began
    run = json.loads((folder / "run.json").read_text())
    write_json(folder / "run.json", run | change)
    with unchecked():
        said = refused(capsys, folder, "--resume")
    assert re.search(rf"run\.json is no run: .*{message}", said)
    if change.keys() <= {"data", "config", "options"}:  # none of them may be missing
        write_json(folder / "run.json", {name: value for name, value in run.items() if name not in change})
        assert "run.json is no run: " in refused(capsys, folder, "--resume")


def test_a_trained_model_can_be_fine_tuned_on_other_pairs(tmp_path, began, capsys):
    folder, files = began
    tuned = tmp_path / "tuned"
    start, tokens = checkpoint.load(folder)
    other = tmp_path / "other"
    other.write_text("a cat\nthe flower\na cat\n")
    data = ["--source", str(other), "--target", str(other), "--valid-source", files[1], "--valid-target", files[3]]
    assert main(["train", str(tuned), "--init", str(folder), *data, "--epochs", "1", "--rate-scale", "1e-9"]) == 0
    found, its_tokens = checkpoint.load(tuned)
    assert its_tokens.merges == tokens.merges
    assert found.config == start.config
    for name, w in found.state_dict().items():
        torch.testing.assert_close(w, start.state_dict()[name], rtol=0, atol=1e-6)
    assert main(["train", str(tmp_path / "freer"), "--init", str(folder), *data, "--steps", "1", "--dropout", "0"]) == 0
    assert checkpoint.load(tmp_path / "freer")[0].config == start.config.replace(dropout=0.0)
    capsys.readouterr()
    for option in ("--d-model", "--n-layers", "--max-len", "--merges"):
        said = refused(capsys, tmp_path / "new", "--init", folder, *data, "--steps", 1, option, 16)
        assert f"{option} comes with the model in {folder}: leave it out" in said
    assert "--preset has sizes" in refused(
        capsys, tmp_path / "new", "--init", folder, *data, "--steps", 1, "--preset", "mini"
    )
    assert "no such checkpoint" in refused(capsys, tmp_path / "new", "--init", tmp_path / "none", *data, "--steps", 1)
    said = refused(capsys, tuned, "--resume", "--init", tmp_path / "other")
    assert f"--init cannot change when a run goes on: it was '{folder}'" in said
    shutil.rmtree(folder)
    assert main(["train", str(tuned), "--resume", "--epochs", "2"]) == 0, "it needs its own folder only"
    assert not (tmp_path / "new").exists()


def test_pairs_to_validate_on_come_with_pairs_of_their_own(tmp_path, files, capsys):
    valid = ["--valid-source", files[1], "--valid-target", files[3]]
    assert "--valid-source needs --source" in refused(capsys, tmp_path / "r", "--phrasebook", *valid, "--steps", 1)
    for one in (valid[:2], valid[2:]):
        said = refused(capsys, tmp_path / "r", *files, *one, "--steps", 1)
        assert "--valid-source and --valid-target belong together" in said
    (tmp_path / "blank").write_text("\n")
    blank = ["--valid-source", tmp_path / "blank", "--valid-target", tmp_path / "blank"]
    said = refused(capsys, tmp_path / "r", *files, *SIZES, *blank, "--steps", 1)
    assert "no validation pair is left: left out: 1 with an empty side" in said
    one = ["--source", tmp_path / "blank", "--target", tmp_path / "blank"]
    assert "blank has 1 line; 2 are needed" in refused(capsys, tmp_path / "r", *one, "--steps", 1)


class Begun(Exception):
    """What a run would train and validate on, and with which tokeniser."""


def texts_of_a_run(monkeypatch, *arguments):
    """The pairs of texts that the command gives to the trainer: to train on, to validate on; and the tokeniser."""

    def trainer(model, options, train, valid, *rest, tokens):
        raise Begun([[tuple(map(tokens.decode, pair)) for pair in part] for part in (train, valid)], tokens)

    monkeypatch.setattr("tested_transformer.command.train.Trainer", trainer)
    with pytest.raises(Begun) as begun:
        main(["train", *map(str, arguments), *SIZES, "--steps", "1"])
    return begun.value.args


def test_what_is_trained_on_is_not_what_is_validated_on(tmp_path, files, monkeypatch):
    parts = [[Sentence(f"{name} en", f"{name} de", frozenset(), frozenset())] for name in ("train", "valid", "test")]
    monkeypatch.setattr(corpus, "split", lambda n_train: parts if n_train == 7 else None)
    monkeypatch.setattr(multi30k, "read", lambda folder, part: [(f"{part} en", f"{part} de")])
    wanted = [[("train en", "train de")], [("valid en", "valid de")]]
    with unchecked():
        assert texts_of_a_run(monkeypatch, tmp_path / "a", "--phrasebook", 7)[0] == wanted
    wanted = [[("train en", "train de")], [("val en", "val de")]]
    assert texts_of_a_run(monkeypatch, tmp_path / "b", "--multi30k", tmp_path)[0] == wanted
    (tmp_path / "v.en").write_text("held out\n")
    (tmp_path / "v.de").write_text("\u00fcbrig\n", encoding="utf-8")
    valid = ["--valid-source", tmp_path / "v.en", "--valid-target", tmp_path / "v.de"]
    found, tokens = texts_of_a_run(monkeypatch, tmp_path / "c", *files, *valid)
    assert (len(found[0]), found[1]) == (60, [("held out", "\u00fcbrig")])
    assert all(len(tokens.encode(word)) < len(word.encode()) for word in ("cat", "Katze")), "both sides teach it"


def written(folder, pairs):
    """What names two files with these pairs on the command line."""
    for name, side in zip(("p.en", "p.de"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return ["--source", str(folder / "p.en"), "--target", str(folder / "p.de")]


def test_of_the_pairs_that_are_held_out_those_that_are_trained_on_are_left_out(tmp_path, monkeypatch):
    pairs = [(f"cat {i}", f"Katze {i}") for i in range(151)]
    pairs[50], pairs[100] = (
        (" cat 7", "Katze 7  "),
        ("cat 9", "Kater 9"),
    )  # a pair again; another target is another pair
    (train, valid), _ = texts_of_a_run(monkeypatch, tmp_path / "run", *written(tmp_path, pairs))
    assert valid == [("cat 0", "Katze 0"), ("cat 9", "Kater 9"), ("cat 150", "Katze 150")]
    assert len(train) == 147, "it still learns from them"
    pairs[3] = ("", "")
    pairs[50] = ("", " ")  # an empty pair is none, and none that is there twice
    (train, valid), _ = texts_of_a_run(monkeypatch, tmp_path / "run", *written(tmp_path, pairs))
    assert (len(train), len(valid)) == (146, 3)


def test_how_many_pairs_are_on_both_sides_is_told(tmp_path, files, capsys, monkeypatch):
    again = "of 2 pairs to validate on are trained on as well: they are left out"
    assert main(["train", str(tmp_path / "a"), *files, *SIZES, "--steps", "1"]) == 0
    assert f"\n1 {again}\n" in capsys.readouterr().err
    assert f" 1 {again}\n" in (tmp_path / "a" / "log.txt").read_text()
    valid = ["--valid-source", files[1], "--valid-target", files[3]]
    assert main(["train", str(tmp_path / "b"), *files, *valid, *SIZES, "--steps", "1"]) == 0
    told = capsys.readouterr().err
    assert "60 of 60 pairs to validate on are trained on as well: new ones would have a higher loss" in told
    assert len(texts_of_a_run(monkeypatch, tmp_path / "c", *files, *valid)[0][1]) == 60, "what was given stays whole"
    alike = written(tmp_path, [("the cat", "die Katze")] * 51)
    said = refused(capsys, tmp_path / "d", *alike, *SIZES, "--steps", 1)
    assert "2 of 2 pairs to validate on are trained on as well: take repeated lines out, or give --valid-source" in said
    assert not (tmp_path / "d").exists()


def test_a_run_that_validated_on_what_it_learned_is_told_why_it_cannot_go_on(tmp_path, files, capsys, monkeypatch):
    folder = tmp_path / "my run"
    with monkeypatch.context() as patched:
        patched.setattr(train, "apart", lambda pairs, held, ours: (held, []))
        assert main(["train", str(folder), *files, *SIZES, "--steps", "1"]) == 0
    capsys.readouterr()
    said = refused(capsys, folder, "--resume", "--steps", 2)
    assert "was trained with other pairs: 58 and 2 pairs, " in said
    why = "an older version validated on pairs that are trained on as well: begin another run with its model"
    assert f"; {why}, --init '{folder}'\n" in said
    Path(files[1]).write_text("a cat\n" + Path(files[1]).read_text().partition("\n")[2])
    assert why not in refused(capsys, folder, "--resume", "--steps", 2), "these are other pairs indeed"


def test_a_tokeniser_learns_from_no_text_that_is_held_out(tmp_path, files, monkeypatch):
    held = [("quux quux quux", "qyyx qyyx qyyx")]
    pairs = [held[0] if i % 50 == 0 else (f"cat {i}", f"Katze {i}") for i in range(101)]
    _, tokens = texts_of_a_run(monkeypatch, tmp_path / "a", *written(tmp_path, pairs))
    assert [len(tokens.encode(word)) for word in ("quux", "qyyx")] == [4, 4], "it never saw them"
    assert len(tokens.encode("Katze")) < 5
    own = written(tmp_path, held)
    valid = ["--valid-source", own[1], "--valid-target", own[3]]
    _, tokens = texts_of_a_run(monkeypatch, tmp_path / "b", *files, *valid)
    assert [len(tokens.encode(word)) for word in ("quux", "qyyx")] == [4, 4]


def test_the_start_is_that_of_the_seed(tmp_path, files, monkeypatch):
    starts = []

    def trainer(model, *rest, **more):
        starts.append(model.state_dict())
        raise ValueError("begun")

    monkeypatch.setattr(train, "Trainer", trainer)
    for seed in ("5", "5", "6"):
        assert main(["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "1", "--seed", seed]) == 1
    one, again, other = starts
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["embedding.weight"], other["embedding.weight"])


SETTINGS = {
    "mini": ({"d_model": 128, "d_ff": 256, "n_heads": 4, "n_layers": 4, "dropout": 0.2}, 800, 0.8, 1300),
    "small": ({"d_model": 256, "d_ff": 1024, "n_heads": 8, "n_layers": 3, "dropout": 0.1}, 2000, 1.0, 2000),
    "base": ({"d_model": 512, "d_ff": 2048, "n_heads": 8, "n_layers": 6, "dropout": 0.1}, 4000, 1.0, 25_000),
    "big": ({"d_model": 1024, "d_ff": 4096, "n_heads": 16, "n_layers": 6, "dropout": 0.3}, 4000, 1.0, 25_000),
}
"""Sizes, warm-up, scale of the rate, tokens of a batch; those of base and big are the paper's (5.1, 5.3, Table 3)."""


def asked(*line):
    """The run for which the command line asks."""
    return begins(parser().parse_args(["train", *map(str, line)]))


@pytest.mark.parametrize("preset", SETTINGS)
def test_a_preset_has_its_sizes_and_settings(tmp_path, preset):
    sizes, warmup, scale, tokens = SETTINGS[preset]
    run = asked(tmp_path / "run", "--phrasebook", "--steps", 9, "--preset", preset)
    assert {name: getattr(run.config, name) for name in sizes} == sizes
    assert run.options == Options(steps=9, warmup=warmup, rate_scale=scale, batch_tokens=tokens)
    assert (run.config.norm_first, run.config.activation, run.options.smoothing) == (False, "relu", 0.1)
    assert (run.preset, run.merges, run.init) == (preset, 8000, None)


def test_the_help_tells_what_holds_if_nothing_is_said(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")

    def told(command):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  -")]
        return {line[0]: " ".join(line[1:]) for line in lines}

    told_of = told("train")
    for option, end in {
        "--warmup": "(--init 60, mini 800, small 2000, else 4000)",
        "--rate-scale": "(--init 0.1, mini 0.8, else 1.0)",
        "--batch-tokens": "(--init and mini 1300, small 2000, else 25000)",
        "--n-heads": "(mini 4, small and base 8, big 16)",
        "--dropout": "(mini 0.2, small and base 0.1, big 0.3)",
        "--max-len": "(--text 256, else 1024)",
        "--smoothing": "(--text 0.0, else 0.1)",
        "--ema": "(default 0.999)",
        "--precision": "(default float32)",
    }.items():
        assert told_of[option].endswith(end), option
    for name, value in vars(Options()).items():
        assert value is None or re.search(r"\((default|--init|--text) .*\)$", told_of[flag(name)]), name
    for command in ("translate", "evaluate"):
        assert told(command)["--beam"].endswith("(default 4)")
        assert told(command)["--alpha"].endswith("(default 0.6)")


@pytest.mark.parametrize("command", ["train", "translate", "evaluate", "chat", "generate", "embed"])
def test_the_help_names_every_kind_of_device(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    (told,) = re.findall(r"^  --device \S+ +(.*)$", capsys.readouterr().out, re.MULTILINE)
    assert told == "auto, cpu, cuda, cuda:1 or mps (default auto)"


def test_a_run_that_begins_with_a_model_warms_up_for_a_short_time_to_a_lower_rate(tmp_path, files):
    run = asked(tmp_path / "run", *files, "--steps", 9, "--init", "phrasebook")
    assert run.options == Options(steps=9, warmup=60, rate_scale=0.1, batch_tokens=1300)
    assert (run.preset, run.merges, run.init) == (None, None, str(PHRASEBOOK))
    told = ["--warmup", 7, "--rate-scale", 0.5, "--batch-tokens", 99]
    run = asked(tmp_path / "run", *files, "--steps", 9, "--init", "phrasebook", *told)
    assert run.options == Options(steps=9, warmup=7, rate_scale=0.5, batch_tokens=99)


def test_the_kernel_with_which_a_run_began_stays(tmp_path):
    for fused in (True, False):
        run = asked(tmp_path / "run", "--phrasebook", "--steps", 9)
        replace(run, config=run.config.replace(fused=fused)).save(tmp_path / "run.json")
        assert Run.load(tmp_path / "run.json").config.fused is fused


@pytest.mark.parametrize(
    "sizes",
    [("--d-model", 10**12), ("--d-model", 10**6), ("--d-ff", 10**18), ("--n-layers", 10**9), ("--max-len", 10**12)],
)
def test_a_model_for_which_there_is_no_memory_is_refused_before_anything_is_made(tmp_path, files, capsys, sizes):
    said = refused(capsys, tmp_path / "run", *files, "--steps", 1, *sizes)
    assert re.search(r"the model is too large: it takes [\d,]+ GiB, and here are \d+; choose smaller sizes", said)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changed", [{}, {"n_layers": 3}, {"d_k": 3, "d_v": 9}, {"max_len": 10_000}])
def test_how_much_memory_a_model_needs_is_known_beforehand(monkeypatch, changed):
    config = BASE.replace(d_model=64, d_ff=128, n_layers=2, vocab_size=500).replace(**changed)
    size = sum(w.numel() for w in Transformer(config).parameters()) + config.max_len * config.d_model
    for share, enough in ((1.0, True), (0.98, False)):
        monkeypatch.setattr("tested_transformer.command.run.memory", lambda share=share: share * 16 * size)
        with contextlib.nullcontext() if enough else pytest.raises(ValueError, match="the model is too large"):
            check_room(config)


def test_a_run_that_was_told_its_files_from_one_folder_goes_on_from_another(tmp_path, files, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = ["--source", "a.en", "--target", "a.de"]
    assert main(["train", "run", *pairs, *SIZES, "--steps", "1"]) == 0
    assert main(["train", "tuned", "--init", "run", *pairs, "--batch-tokens", "100", "--steps", "1"]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["train", "../run", "--resume", "--steps", "2"]) == 0
    moved = ["--source", "../a.en", "--target", "../a.de", "--init", "../run"]
    assert main(["train", "../tuned", "--resume", *moved, "--steps", "2"]) == 0
    given = parser().parse_args(["train", "new", "--multi30k", "there", "--steps", "1"])
    assert begins(given).data == {"multi30k": str(Path("there").resolve())}


def test_a_run_that_was_stopped_before_any_validation_says_so(tmp_path, files, capsys, monkeypatch):
    whole = Trainer.gradients
    monkeypatch.setattr(Trainer, "gradients", lambda self, group: (self.stop(), whole(self, group))[1])
    assert main(["train", str(tmp_path / "run"), *files, *SIZES, "--steps", "9"]) == 130
    told = capsys.readouterr().err
    assert "no epoch has ended, so there is no best model yet; go on with: " in told
    assert "stopped after step 1" in told
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_scraps_of_a_killed_run_are_swept_when_it_goes_on(began):
    folder, _ = began
    (folder / ".model.safetensors.123.tmp").write_bytes(b"half")
    assert main(["train", str(folder), "--resume", "--steps", "2"]) == 0
    assert not list(folder.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (FloatingPointError("the loss is nan"), 1, "error: the loss is nan\n"),
        (TypeError("width must be a whole number"), 1, "error: width must be a whole number\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (
            torch.OutOfMemoryError("tried to allocate 3 GiB"),
            1,
            "error: there is not enough memory: try a narrower beam",
        ),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 1, "error: there is not enough memory"),
        (MemoryError(), 1, "error: there is not enough memory"),
    ],
)
def test_what_stops_a_command_is_told_in_words_and_by_its_status(monkeypatch, capsys, raised, status, said):
    def stops(folder, *given):
        raise raised

    monkeypatch.setattr(Translator, "load", stops)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert main(["translate"]) == status
    assert capsys.readouterr().err.startswith(said)


def test_what_could_not_be_written_out_at_the_end_is_an_error_too(monkeypatch, capsys):
    class Full(io.StringIO):
        def flush(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("sys.stdout", Full())
    assert main(["translate"]) == 1
    assert capsys.readouterr().err == "error: No space left on device\n"


def test_without_a_command_the_usage_is_told(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "required: command" in capsys.readouterr().err


def test_a_mistake_of_the_program_itself_is_not_hidden(monkeypatch):
    def wrong(*given):
        raise RuntimeError("expected a tensor")

    monkeypatch.setattr(Translator, "load", wrong)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(RuntimeError, match="expected a tensor"):
        main(["translate"])


def test_a_place_that_cannot_be_written_is_named(tmp_path, files, capsys):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        said = refused(capsys, path, *files, "--steps", 1)
        assert said == f"error: {path}: a file is where a folder must be\n"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (errno.ENOENT, "no such file or folder: a.en"),
        (errno.EACCES, "no permission for a.en"),
        (errno.EISDIR, "a.en is a folder, not a file"),
        (errno.ENOTDIR, "a.en: a file is where a folder must be"),
        (errno.EROFS, f"{os.strerror(errno.EROFS)}: a.en"),
    ],
)
def test_an_error_of_the_system_is_told_in_words_and_not_by_its_number(monkeypatch, capsys, kind, said):
    stops = OSError(kind, os.strerror(kind), "a.en")
    monkeypatch.setattr(Translator, "load", lambda *given: (_ for _ in ()).throw(stops))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert main(["translate"]) == 1
    assert capsys.readouterr().err == f"error: {said}\n"


def test_where_and_how_a_run_computes_may_change_when_it_goes_on(tmp_path, files, capsys, monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    losses, asked = [], []
    do = lambda model: (asked.append(model), checkpoint_activations(model))  # noqa: E731
    monkeypatch.setattr("tested_transformer.command.train.checkpoint_activations", do)
    for more in ((), ("--checkpoint-activations",)):
        folder = tmp_path / str(len(more))
        assert main(["train", str(folder), *files, *SIZES, "--steps", "2"]) == 0
        assert main(["train", str(folder), "--resume", "--steps", "4", *more]) == 0
        losses.append([event.loss for event in read_metrics(folder)])
    assert losses[0] == losses[1]
    assert len(asked) == 1
    capsys.readouterr()
    assert "one process has nobody to share a model with" in refused(capsys, folder, "--resume", "--shard")


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--shard", "--checkpoint-activations")], ids=" ".join)
def test_two_processes_learn_what_one_learns(tmp_path, files, how):
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
    told = [*files, "--valid-source", files[1], "--valid-target", files[3]]  # a pair for each of them in a batch
    told += [*SIZES, "--steps", "40", "--dropout", "0"]
    assert main(["train", str(tmp_path / "one"), *told]) == 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [*torchrun, "-m", "tested_transformer", "train", str(tmp_path / "two"), *told, *how]
    subprocess.run(line, env=environment, stderr=subprocess.DEVNULL, timeout=300, check=True)
    first, second = (checkpoint.read_tensors(tmp_path / name / "last.safetensors")[0] for name in ("one", "two"))
    for name, tensor in first.items():
        torch.testing.assert_close(second[name], tensor, rtol=1e-4, atol=1e-6)
    losses = [[event.loss for event in read_metrics(tmp_path / name)] for name in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert main(["train", str(tmp_path / "two"), "--resume", "--steps", "41"]) == 0  # alone, with all of it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes can be forked here")
@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, files):
    folder = tmp_path / "run"
    run = forked(["train", str(folder), *files, *SIZES, "--steps", "100000", "--save-every", "100000"])
    until = time.monotonic() + 60
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(1)
    os.kill(run, signal.SIGINT)
    assert waited(run) == 130
    told = (folder / "log.txt").read_text()
    assert "stopped after step" in told
    assert told.splitlines()[-1].endswith(f"go on with: python -m tested_transformer train {folder} --resume")
    _, state = checkpoint.read_tensors(folder / "last.safetensors")
    assert state["progress"]["step"] > 0
