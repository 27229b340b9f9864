"""What is recorded: by the tool that gathers a training run for a chapter, and by the benchmarks."""

import contextlib
import json
import runpy
import shutil
from itertools import groupby

import numpy as np
import pytest
import record
import torch
from guards import BOOK, ROOT
from helpers import unchecked
from sacrebleu.metrics import BLEU

from tested_transformer.__main__ import main, parser
from tested_transformer.command.run import Run, begins
from tested_transformer.config import Config
from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.files import read_json, sealed
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.training import checkpoint
from tested_transformer.training.options import Options

SIZES = ["--d-model", "16", "--d-ff", "32", "--n-heads", "2", "--n-layers", "1", "--merges", "20"]
TOLD = ["--command", "train it", "--machine", "two cores", "--commit", "abc"]


SPLIT = corpus.split


@contextlib.contextmanager
def few():
    """A phrasebook of 200 sentences to train on, which is quickly made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "split", lambda n_train=200, n_test=20: SPLIT(200, n_test))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a tiny run on the phrasebook, two evaluations of it, and a log of processors."""
    folder = tmp_path_factory.mktemp("runs")
    with few(), unchecked():
        how = ["--phrasebook", "200", *SIZES, "--batch-tokens", "100", "--steps", "120", "--keep", "2"]
        how += ["--device", "cpu"]
        assert main(["train", str(folder / "run"), *how]) == 0
        for name in ("run-2-test-1", "run-1-val-1"):
            out = str(folder / f"{name}.json")
            assert main(["evaluate", "--model", str(folder / "run"), "--phrasebook", "--beam", "1", "--out", out]) == 0
    return folder


def recorded(run, *more, evaluations=("run-2-test-1", "run-1-val-1")):
    out = run / "out.json"
    files = [str(run / f"{name}.json") for name in evaluations]
    with few():
        status = record.main([str(run / "run"), *files, *TOLD, "--out", str(out), *map(str, more)])
    return status, json.loads(out.read_text(encoding="utf-8")) if status == 0 else None


def test_what_was_asked_for_and_what_came_out_is_told(run):
    _, told = recorded(run)
    assert (told["name"], told["command"], told["machine"], told["commit"]) == ("out", "train it", "two cores", "abc")
    assert told["data"] == "phrasebook"
    assert told["config"]["vocab_size"] == 280
    assert told["options"]["steps"] == 120
    assert told["parameters"] > 280 * 16
    model, _ = checkpoint.load(run / "run")
    assert told["weights"] == checkpoint.checksum(model.state_dict(), "{}")
    _, state = checkpoint.read_tensors(run / "run" / "last.safetensors")
    assert told["pairs"] == state["pairs"]
    assert told == sealed(told)
    rows = [json.loads(line) for line in (run / "run" / "metrics.jsonl").read_text().splitlines()]
    assert told["minutes"] == round(max(row.get("seconds", 0) for row in rows) / 60, 2)
    assert [e["part"] for e in told["evaluations"]] == ["val", "test"]
    assert [e["minutes"] for e in told["evaluations"]] == [1, 2]
    assert told["evaluations"][0]["BLEU signature"].startswith("nrefs:1")


def test_losses_are_means_over_fifty_steps_and_every_validation_is_there(run):
    _, told = recorded(run)
    rows = [json.loads(line) for line in (run / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = {row["step"]: row["loss"] for row in rows if row["event"] == "step"}
    assert [row["step"] for row in told["training"]] == [50, 100, 120]
    assert told["training"][1]["loss"] == pytest.approx(np.mean([steps[s] for s in (60, 70, 80, 90, 100)]), abs=1e-4)
    valid = [row["loss"] for row in rows if row["event"] == "validation"]
    assert [row["loss"] for row in told["validation"]] == pytest.approx(valid, abs=1e-4)
    (mean,) = told["means"]
    assert (mean["step"], mean["epochs"]) == (120, 1)
    assert mean["loss"] == pytest.approx(rows[-1]["loss"], abs=1e-4)


def bleu(rows):
    """What sacreBLEU makes of the counts of all sentences."""
    totals = np.maximum(rows[:, 1:2] - np.arange(4), 0).sum(0)
    return BLEU.compute_bleu(rows[:, 3:].sum(0).tolist(), totals.tolist(), rows[:, 1].sum(), rows[:, 2].sum()).score


def test_the_counts_of_the_sentences_give_the_score_and_no_sentence_is_kept(run):
    _, told = recorded(run, "--phrasebook", 30, "--beam", 1)
    test = told["test"]
    rows = np.array(test["rows"])
    assert rows.shape == (30, len(test["columns"]))
    assert round(bleu(rows), 2) == test["BLEU"]
    sentences = SPLIT(200, 30)[2]
    text = (run / "out.json").read_text(encoding="utf-8")
    assert not any(side in text for s in sentences for side in s[:2])


def test_the_words_of_a_sentence_are_counted_as_the_score_counts_them():
    (row,) = record.counts(["He sees it, now."], ["der Hund der Hund ."], ["der Hund schläft ."])
    assert row == [6, 5, 4, 3, 1, 0, 0]


def test_processor_time_is_that_of_the_processes_of_this_run(tmp_path):
    log = tmp_path / "cpu.log"
    log.write_text("100 7 5\n1000 8 1\n1010 9 2\n1100 8 61\n1110 9 122\n5000 8 66\n9000 10 50\n")
    assert record.processor_minutes(log, 1005, 6000) == round((66 + 122) / 60, 1)


# Refusal


def refused(run, capsys, *more, **changed):
    assert recorded(run, *more, **changed)[0] == 1
    return capsys.readouterr().err


def test_an_evaluation_whose_name_says_too_little_or_something_else_is_refused(run, capsys):
    (run / "plain.json").write_text((run / "run-1-val-1.json").read_text())
    (run / "run-1-val-5.json").write_text((run / "run-1-val-1.json").read_text())
    assert "plain.json must be called NAME-MINUTES-PART-BEAM.json" in refused(run, capsys, evaluations=["plain"])
    assert "run-1-val-5.json was made with a beam of 1" in refused(run, capsys, evaluations=["run-1-val-5"])


def test_a_folder_without_a_run_is_refused(run, capsys, tmp_path):
    out = tmp_path / "out.json"
    assert record.main([str(tmp_path), *TOLD, "--out", str(out)]) == 1
    assert "run.json" in capsys.readouterr().err
    assert not out.exists()


def test_a_model_that_is_not_of_the_run_is_refused(run, capsys, tmp_path):
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    model, tokens = checkpoint.load(tmp_path / "run")
    torch.nn.init.normal_(next(model.parameters()))
    checkpoint.save(tmp_path / "run", model, tokens)
    assert "model.safetensors is of another run: its loss is " in refused(tmp_path, capsys)


def test_options_and_pairs_that_are_not_those_of_the_run_are_refused(run, capsys, tmp_path):
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "run" / "run.json"
    asked = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(asked | {"options": asked["options"] | {"warmup": 7}}), encoding="utf-8")
    assert "was trained with another warmup: " in refused(tmp_path, capsys)
    sides = {name: tmp_path / name for name in ("source", "target")}
    for name, lines in zip(sides, zip(*SPLIT(200, 20)[0][:100], strict=True), strict=False):
        sides[name].write_text("\n".join(lines), encoding="utf-8")
    path.write_text(json.dumps(asked | {"data": {name: str(file) for name, file in sides.items()}}), encoding="utf-8")
    assert "was trained with other pairs: " in refused(tmp_path, capsys)


# What is on record

RECORDS = sorted(set((BOOK / "results").glob("*.json")) - {BOOK / "results" / "published.json"})  # that one is typed
RUNS = [path for path in RECORDS if path.name.startswith("multi30k-")]
MEASURED = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
each = pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)


@pytest.mark.parametrize("path", [*RECORDS, *MEASURED], ids=lambda path: path.name)
def test_a_record_is_as_the_tool_has_written_it(path):
    told = read_json(path, "record")
    assert told == sealed(told), "its checksum is that of other content"


def test_an_edited_number_is_seen():
    told = sealed({"BLEU": 39.5, "rows": [[1, 2]]})
    assert sealed(dict(reversed(told.items()))) == told
    for changed in (told | {"BLEU": 39.6}, told | {"rows": [[1, 3]]}, told | {"new": 1}):
        assert sealed(changed) != changed


@each
def test_what_a_record_of_a_run_says_twice_agrees(path):
    told = read_json(path, "record")
    config, options = Config(**told["config"]), Options(**told["options"])
    with torch.device("meta"):
        assert told["parameters"] == sum(p.numel() for p in Transformer(config).parameters())
    assert told["name"] == path.stem
    assert told["minutes"] == max(row["minutes"] for row in told["training"] + told["validation"])
    for row in told["training"]:
        assert row["rate"] == round(options.rate(row["step"], config.d_model), 7)
    steps = [row["step"] for row in told["training"]]
    assert steps[:-1] == list(range(record.EVERY, steps[-1], record.EVERY))
    rows = np.array(told["test"]["rows"])
    assert round(bleu(rows), 2) == told["test"]["BLEU"]
    assert np.all(np.diff(rows[:, [1, 3, 4, 5, 6]]) <= 0), "more hits than words"


@each
def test_the_command_of_a_record_is_the_one_that_makes_such_a_run(path, tmp_path):
    told = read_json(path, "record")
    given = told["command"].partition("-m tested_transformer ")[2].replace("RUN", str(tmp_path))
    run = begins(parser().parse_args(given.split()))
    assert run.config.replace(vocab_size=told["config"]["vocab_size"]) == Config(**told["config"])
    asked, done = vars(run.options), told["options"]
    assert {name for name in done if asked[name] != done[name]} <= run.options.changeable()


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.name)
def test_the_numbers_and_the_table_of_a_benchmark_follow_from_its_seconds(path):
    told = read_json(path, "record")
    bench = runpy.run_path(str(ROOT / "benchmarks" / "bench.py"))
    assert path.with_suffix(".md").read_text(encoding="utf-8") == bench["page"](told)
    for _, rows in groupby(told["rows"], key=lambda row: row["case"]):
        rows = list(rows)
        (reference,) = [row for row in rows if row["times_faster"] == 1]
        done = [row["per_s"] * row["wall_s"] for row in rows]
        assert np.allclose(done, done[0])
        assert np.allclose([row["times_faster"] * row["cpu_s"] for row in rows], reference["cpu_s"])


def test_the_model_of_the_package_has_the_sizes_that_its_run_was_asked_for():
    run = Run.load(PHRASEBOOK / "run.json")
    assert run.data.keys() == {"phrasebook"}
    config, _ = checkpoint.read_description(PHRASEBOOK / "config.json")
    assert run.config.replace(vocab_size=config.vocab_size) == config
