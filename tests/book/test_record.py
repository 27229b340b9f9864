"""The tool that gathers a training run for a chapter: numbers, and no sentence."""

import contextlib
import json

import numpy as np
import pytest
import record
from helpers import unchecked
from sacrebleu.metrics import BLEU

from tested_transformer.__main__ import main
from tested_transformer.phrasebook import corpus

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


def test_the_counts_of_the_sentences_give_the_score_and_no_sentence_is_kept(run):
    _, told = recorded(run, "--phrasebook", 30, "--beam", 1)
    test = told["test"]
    rows = np.array(test["rows"])
    assert rows.shape == (30, len(test["columns"]))
    totals = np.maximum(rows[:, 1:2] - np.arange(4), 0).sum(0)
    score = BLEU.compute_bleu(rows[:, 3:].sum(0).tolist(), totals.tolist(), rows[:, 1].sum(), rows[:, 2].sum())
    assert round(score.score, 2) == test["BLEU"]
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


def test_the_file_has_a_line_for_each_row(run):
    _, told = recorded(run, "--phrasebook", 30, "--beam", 1)
    lines = (run / "out.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80
    assert sum(line.startswith('  {"step"') for line in lines) == len(
        told["training"] + told["validation"] + told["means"]
    )


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
