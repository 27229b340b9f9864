"""`train --text`: a GPT from a text of any size, which goes on bit for bit and writes; options from a file."""

import json
import random
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tested_transformer.__main__ import main, parser
from tested_transformer.command import evaluate, texts, train
from tested_transformer.command.run import Run
from tested_transformer.data.ids import read_ids, write_ids
from tested_transformer.data.rows import encode_texts
from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.model.gpt import Gpt
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.log import read_metrics

SIZES = ["--d-model", "16", "--d-ff", "32", "--n-heads", "2", "--n-layers", "1", "--merges", "20"]
SIZES += ["--max-len", "16", "--batch-tokens", "100", "--device", "cpu"]
CHOSEN = random.Random(0)
LINES = [" ".join(CHOSEN.choices(["the", "a", "cat", "flower", "sees", "smells"], k=5)) for _ in range(120)]


@pytest.fixture
def text(tmp_path):
    """A file of 120 lines, and what names it on the command line."""
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return ["--text", str(tmp_path / "a.txt")]


def run(folder, *words):
    return main(["train", *map(str, (folder, *words))])


def refused(capsys, folder, *words):
    assert run(folder, *words) == 1
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    return said


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Curves are drawn in other tests."""
    monkeypatch.setattr(train, "curves", lambda events: b"")


def tensors(folder):
    return checkpoint.read_tensors(folder / "last.safetensors")[0]


def test_a_text_becomes_a_model_that_writes(tmp_path, text, capsys):
    assert run(tmp_path / "run", *text, *SIZES, "--steps", 12, "--logger", "tensorboard") == 1
    assert "tensorboard" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert run(tmp_path / "run", *text, *SIZES, "--steps", 12) == 0
    capsys.readouterr()
    model, tokens = checkpoint.load(tmp_path / "run", kind=Gpt)
    c = model.config
    assert (c.norm_first, c.activation, c.attention_bias, c.max_len, c.d_model) == (True, "gelu_tanh", True, 16, 16)
    assert Run.load(tmp_path / "run" / "run.json").options.smoothing == 0
    held = [line for i, line in enumerate(LINES) if i % 50 == 0]
    rest = [line for i, line in enumerate(LINES) if i % 50]
    assert tokens.merges == BytePairEncoding.train(rest, 20).merges
    for name, part in (("train", rest), ("valid", held)):
        ids = [i for one in encode_texts(part, tokens) for i in one]
        assert read_ids(tmp_path / "run" / f"{name}.ids.npy").tolist() == ids
    assert main(["generate", "--model", str(tmp_path / "run"), "the cat", "--max-tokens", "5", "--device", "cpu"]) == 0
    read = torch.tensor([[1, *tokens.encode("the cat")]])
    with torch.no_grad():
        for _ in range(5):
            read = torch.cat([read, model(read)[:, -1:].argmax(-1)], 1)
            if read[0, -1] == 2:
                break
    assert capsys.readouterr().out.rstrip("\n") == tokens.decode(read[0, 1 + len(tokens.encode("the cat")) :].tolist())


def test_a_smaller_model_drafts_and_the_text_is_the_same(tmp_path, text, capsys):
    for name, more in (("large", ()), ("draft", ("--d-model", 8))):
        assert run(tmp_path / name, *text, *SIZES, *more, "--steps", 12) == 0
    (tmp_path / "b.txt").write_text("".join(f"{line[::-1]}\n" for line in LINES), encoding="utf-8")
    assert run(tmp_path / "other", "--text", tmp_path / "b.txt", *SIZES, "--steps", 1) == 0
    line = ["generate", "the cat", "--max-tokens", "9", "--device", "cpu", "--model", str(tmp_path / "large")]
    drafted = [*line, "--draft", str(tmp_path / "draft"), "--n-drafted", "2"]
    capsys.readouterr()
    assert main(line) == 0
    alone = capsys.readouterr().out
    assert main(drafted) == 0
    out, err = capsys.readouterr()
    assert out == alone
    n_tokens, calls = map(int, re.fullmatch(r"(\d+) tokens in (\d+) calls of the model\n", err).groups())
    assert n_tokens / 3 <= calls <= n_tokens <= 9
    assert main([*line, "--draft", str(tmp_path / "large"), "--n-drafted", "9"]) == 0
    assert capsys.readouterr().err == f"{n_tokens} tokens in 1 call of the model\n"
    assert main([*line, "--draft", str(tmp_path / "other")]) == 1
    assert f"{tmp_path / 'other'} has other tokens than the model" in capsys.readouterr().err
    assert main(["generate", "the cat", "--model", "nowhere", "--draft", "nowhere", "--n-drafted", "0"]) == 1
    assert "n_drafted (0) must be at least 1" in capsys.readouterr().err


def test_a_run_on_a_text_goes_on_bit_for_bit_and_reads_the_text_only_once(tmp_path, text):
    rows = tmp_path / "a.jsonl"
    rows.write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES), encoding="utf-8")
    assert run(tmp_path / "whole", *text, *SIZES, "--steps", 60) == 0
    assert run(tmp_path / "run", "--text", rows, *SIZES, "--steps", 23) == 0
    rows.unlink()
    assert run(tmp_path / "run", "--resume", "--steps", 60) == 0
    found, wanted = tensors(tmp_path / "run"), tensors(tmp_path / "whole")
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if not torch.equal(found[name], wanted[name])] == []
    events = [read_metrics(tmp_path / name) for name in ("run", "whole")]
    assert [e.loss for e in events[0] if e.step != 23] == [e.loss for e in events[1]]


def test_ids_that_are_gone_are_made_again_and_others_are_refused(tmp_path, text, capsys):
    folder = tmp_path / "run"
    assert run(folder, *text, *SIZES, "--steps", 3) == 0
    before = read_ids(folder / "train.ids.npy").tolist()
    (folder / "train.ids.npy").unlink()
    assert run(folder, "--resume", "--steps", 4) == 0
    assert read_ids(folder / "train.ids.npy").tolist() == before
    write_ids(folder / "train.ids.npy", [[7], before[1:]], 300)
    capsys.readouterr()
    assert "was trained with other pairs" in refused(capsys, folder, "--resume", "--steps", 5)
    (folder / "train.ids.npy").write_bytes(b"x")
    assert "train.ids.npy is no whole file of ids" in refused(capsys, folder, "--resume", "--steps", 5)
    assert "--text cannot change when a run goes on" in refused(capsys, folder, "--resume", "--text", tmp_path)


def test_texts_to_validate_on_come_from_a_file_of_their_own(tmp_path, text, monkeypatch):
    (tmp_path / "b.txt").write_text("a cat sees a flower\n" * 9, encoding="utf-8")
    learned = []
    old = BytePairEncoding.train.__func__
    monkeypatch.setattr(
        BytePairEncoding, "train", classmethod(lambda c, t, n: old(c, [learned.append(x) or x for x in t], n))
    )
    monkeypatch.setattr(texts, "FIRST", 7)
    assert run(tmp_path / "run", *text, "--valid-text", tmp_path / "b.txt", *SIZES, "--steps", 2) == 0
    assert learned == LINES[:7]
    _, tokens = checkpoint.load(tmp_path / "run", kind=Gpt)
    for name, part in (("train", LINES), ("valid", ["a cat sees a flower"] * 9)):
        ids = [i for one in encode_texts(part, tokens) for i in one]
        assert read_ids(tmp_path / "run" / f"{name}.ids.npy").tolist() == ids


def test_a_run_on_a_text_begins_with_a_model_of_another(tmp_path, text, capsys):
    assert run(tmp_path / "first", *text, *SIZES, "--steps", 8) == 0
    init = ["--init", tmp_path / "first", "--batch-tokens", 100, "--device", "cpu"]
    assert run(tmp_path / "second", *text, *init, "--steps", 1, "--rate-scale", 1e-9, "--ema", 0) == 0
    first, second = (checkpoint.load(tmp_path / name, kind=Gpt)[0].state_dict() for name in ("first", "second"))
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)
    capsys.readouterr()
    said = refused(capsys, tmp_path / "third", *text, "--init", "phrasebook", "--steps", 1)
    assert said.endswith("its model is 'Transformer', not 'Gpt'"), "no word of what is no option"
    assert main(["generate", "--model", str(PHRASEBOOK), "the cat"]) == 1
    assert capsys.readouterr().err.endswith("its model is 'Transformer', not 'Gpt'\n")


def test_what_is_wrong_with_a_text_is_told_in_one_line(tmp_path, text, capsys):
    steps, folder = ["--steps", 1], tmp_path / "run"
    (tmp_path / "short.txt").write_text("a\nb\n", encoding="utf-8")
    for words, message in (
        ([*text, "--phrasebook"], "or --phrasebook, or --text"),
        ([*text, "--pairs", "a.tsv"], "give --source with --target, or --pairs"),
        (["--valid-text", text[1], "--phrasebook"], "--valid-text needs --text"),
        (["--valid-pairs", text[1], "--phrasebook"], "--valid-pairs needs --pairs"),
        (["--text", tmp_path / "no.txt"], "no such file"),
        (["--text", tmp_path], "must be a file, not a folder or a pipe"),
    ):
        assert message in refused(capsys, folder, *words, *SIZES, *steps)
        assert not folder.exists()
    said = refused(capsys, folder, "--text", tmp_path / "short.txt", *SIZES, *steps)
    assert "the text to train on has 3 ids, fewer than a window (16 + 1): give more text" in said
    said = refused(capsys, folder, *text, "--valid-text", tmp_path / "short.txt", *SIZES, *steps)
    assert "the text to validate on has 6 ids, fewer than a window (16 + 1): give more text" in said
    assert not folder.exists(), "nothing is left of a start that failed"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    refused(capsys, folder, "--text", tmp_path / "short.txt", *SIZES, *steps)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"], "but for what was there before"
    assert run(folder, *text, *SIZES, *steps) == 0  # a start that failed may be repeated
    capsys.readouterr()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.ids.npy").write_bytes(b"mine")
    assert "already holds train.ids.npy" in refused(capsys, tmp_path / "mine", *text, *SIZES, *steps)
    assert (tmp_path / "mine" / "train.ids.npy").read_bytes() == b"mine"


def test_the_example_of_the_book_works_in_its_own_folder(tmp_path, monkeypatch, capsys):
    page = json.loads((Path(__file__).parents[2] / "book" / "reuse.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in page}
    monkeypatch.chdir(tmp_path)
    names = {"np": np}
    for cell in ("reuse-008", "reuse-009", "reuse-011", "reuse-012"):
        exec(sources[cell], names)
    train, write = re.findall("^python -m tested_transformer (.*)$", sources["reuse-ids-2"], re.MULTILINE)
    assert main([*shlex.split(re.sub(r"--steps \d+", "--steps 2", train)), "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main([*shlex.split(write), "--max-tokens", "3"]) == 0
    assert len(capsys.readouterr().out) > 1


def test_pairs_from_rows_teach_what_two_files_teach(tmp_path):
    pairs = [(line, line.upper()) for line in dict.fromkeys(LINES)]
    for i in range(2):
        (tmp_path / f"a.{i}").write_text("".join(f"{p[i]}\n" for p in pairs), encoding="utf-8")
    (tmp_path / "a.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    rows = "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs)
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")
    tsv, jsonl = str(tmp_path / "a.tsv"), str(tmp_path / "a.jsonl")
    parts = train.read_texts({"source": str(tmp_path / "a.0"), "target": str(tmp_path / "a.1")})
    assert parts == (  # one in fifty is held out
        [pair for i, pair in enumerate(pairs) if i % 50],
        pairs[::50],
    )
    for path in (tsv, jsonl):
        assert train.read_texts({"pairs": path}) == parts
    assert train.read_texts({"pairs": tsv, "valid_pairs": jsonl}) == (pairs, pairs)
    words = ["--pairs", tsv, "--valid-pairs", jsonl, *SIZES, "--max-len", 90, "--steps", 1]
    assert run(tmp_path / "run", *words) == 0
    assert Run.load(tmp_path / "run" / "run.json").data == {"pairs": tsv, "valid_pairs": jsonl}
    given = parser().parse_args(["evaluate", "--pairs", jsonl])
    assert evaluate.read_pairs(given) == (pairs, jsonl)
    (tmp_path / "one.tsv").write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"one.tsv has 1 line; 2 are needed"):
        train.read_texts({"pairs": str(tmp_path / "one.tsv")})


# Options from a file


def options(tmp_path, monkeypatch, said, *words):
    """What a run was asked for, where a file said this."""
    (tmp_path / "o.toml").write_text(said, encoding="utf-8")
    asked = []
    monkeypatch.setattr(train, "train", asked.append)
    assert run(tmp_path / "run", "--config", tmp_path / "o.toml", *words) == 0
    return vars(asked[0])


def test_a_file_says_what_the_command_line_leaves_open(tmp_path, monkeypatch):
    said = 'd-model = 64\ndropout = 0\nrate-scale = 0.5\ndevice = "cpu"\ntext = "a.txt"\nnorm-first = true\n'
    said += 'preset = "small"'
    for words, wanted in (
        ([], {"d_model": 64, "dropout": 0.0, "rate_scale": 0.5, "device": "cpu", "norm_first": True, "steps": None}),
        (["--d-model", 32, "--steps", 2, "--device", "auto"], {"d_model": 32, "steps": 2, "device": "auto"}),
        (["--preset", "mini", "--text", "b"], {"preset": "mini", "text": type(tmp_path)("b"), "d_ff": None}),
    ):
        given = options(tmp_path, monkeypatch, said, *words)
        assert {name: given[name] for name in wanted} == wanted
        assert type(given["dropout"]) is float
        assert given["text"] in (type(tmp_path)("a.txt"), type(tmp_path)("b"))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("d_model = 64", "'d_model' is no option"),
        ("d-mod = 64", "'d-mod' is no option"),
        ("resume = true", "'resume' is no option"),
        ('config = "b.toml"', "'config' is no option"),
        ("[model]\nd-model = 64", "'model' is no option"),
        ("d-model = 64.0", "d-model (64.0) must be a whole number"),
        ("d-model = true", "d-model (True) must be a whole number"),
        ('d-model = "64"', "d-model ('64') must be a whole number"),
        ('dropout = "0.1"', "dropout ('0.1') must be a number"),
        ("norm-first = 1", "norm-first (1) must be true or false"),
        ("text = 4", "text (4) must be a string"),
        ('text = ""', "its name is empty"),
        ('preset = "huge"', "preset ('huge') must be one of mini, small, base, big"),
        ("d-model = ", "is no TOML"),
        ("d-model = 1\nd-model = 2", "is no TOML"),
    ],
)
def test_a_wrong_file_of_options_is_told_before_anything_is_written(tmp_path, capsys, said, message):
    (tmp_path / "o.toml").write_text(said, encoding="utf-8")
    told = refused(capsys, tmp_path / "run", "--phrasebook", "--steps", 1, "--config", tmp_path / "o.toml")
    assert f"{tmp_path / 'o.toml'}" in told
    assert message in told
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_file_of_options_goes_on_with_it(tmp_path, text):
    said = "\n".join(f"{k[2:]} = {v if v.isdigit() else repr(v)}" for k, v in zip(SIZES[::2], SIZES[1::2], strict=True))
    (tmp_path / "o.toml").write_text(f"{said}\ntext = {text[1]!r}\nsteps = 2", encoding="utf-8")
    assert run(tmp_path / "run", "--config", tmp_path / "o.toml") == 0
    assert run(tmp_path / "run", "--config", tmp_path / "o.toml", "--resume", "--steps", 4) == 0
    assert run(tmp_path / "other", *text, *SIZES, "--steps", 4) == 0
    assert all(torch.equal(a, tensors(tmp_path / "other")[n]) for n, a in tensors(tmp_path / "run").items())


# Numbers for TensorBoard


def test_numbers_go_to_tensorboard_through_the_writer_of_pytorch(tmp_path, text, monkeypatch):
    made, told = [], []

    class Writer:
        """A stand-in: the package tensorboard is not needed here."""

        def __init__(self, folder, purge_step=None):
            made.append((folder, purge_step))

        def add_scalar(self, name, value, step):
            told.append((name, value, step))

        def close(self):
            told.append("closed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    folder = tmp_path / "run"
    assert run(folder, *text, *SIZES, "--steps", 20, "--logger", "tensorboard") == 0
    assert run(folder, "--resume", "--steps", 30, "--logger", "tensorboard") == 0
    assert made == [(str(folder / "tensorboard"), None), (str(folder / "tensorboard"), 21)]
    assert told.count("closed") == 2
    numbers = [t for t in told if t != "closed"]
    wanted = {("train" if hasattr(e, "rate") else "valid", e.step, e.loss) for e in read_metrics(folder)}
    assert {(name.split("/")[0], step, value) for name, value, step in numbers if name.endswith("/loss")} == wanted
    assert {name for name, *_ in numbers if name.startswith("train")} == {"train/loss", "train/accuracy", "train/rate"}
    assert {name for name, *_ in numbers if name.startswith("valid")} == {"valid/loss", "valid/accuracy"}
