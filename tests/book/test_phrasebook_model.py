"""The tool that trains the model of the package: its three seeds, its rules, and what it asks for."""

import json
from dataclasses import replace

import phrasebook_model
import pytest
import torch
from guards import BOOK
from weights import OTHER_TRAINING

from tested_transformer.__main__ import parser
from tested_transformer.book.coreference import FRAMES, THINGS, pronoun
from tested_transformer.book.experiments import hidden
from tested_transformer.book.pretrained import load, other_training
from tested_transformer.command.run import Run, begins
from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.training import checkpoint
from tested_transformer.training.events import Step, to_dict

RUN_OF_PACKAGE = Run.load(PHRASEBOOK / "run.json")
RESULTS = json.loads((BOOK / "results" / "phrasebook.json").read_text(encoding="utf-8"))


def test_the_model_of_the_package_is_the_one_that_the_rules_take():
    assert RESULTS["least"] == phrasebook_model.LEAST
    rows = RESULTS["seeds"]
    assert [row["seed"] for row in rows] == list(phrasebook_model.SEEDS)
    for row in rows:
        assert row["passes"] == all(row[name] >= limit for name, limit in phrasebook_model.LEAST.items())
    passed = [row for row in rows if row["passes"]]
    best = max(passed, key=lambda row: row["validation"])
    assert RESULTS["taken"] == best["seed"] == RUN_OF_PACKAGE.options.seed
    model, _ = checkpoint.load(PHRASEBOOK)
    assert best["weights"] == checkpoint.checksum(model.state_dict(), "{}")


def test_the_other_training_that_pages_cut_open_is_the_recorded_one_of_seed_2():
    other, (*_, row) = other_training(OTHER_TRAINING), RESULTS["seeds"]
    other.model.float()
    assert row["weights"] == checkpoint.checksum(other.model.state_dict(), "{}")
    kept = [hidden(other, frame, thing) == pronoun(frame.say(thing).german) for frame in FRAMES for thing in THINGS]
    assert sum(kept) == round(270 * row["hidden"])


@pytest.mark.parametrize("seed", phrasebook_model.SEEDS)
def test_the_tool_asks_for_the_run_of_the_package_and_only_the_seed_differs(seed, tmp_path):
    words = ["train", str(tmp_path / "run"), *phrasebook_model.arguments(RUN_OF_PACKAGE, seed)]
    assert begins(parser().parse_args(words)) == phrasebook_model.asked(RUN_OF_PACKAGE, seed)


def test_a_folder_with_another_run_or_one_that_did_not_end_is_refused(tmp_path):
    small = replace(RUN_OF_PACKAGE, options=replace(RUN_OF_PACKAGE.options, steps=3, cooldown=2))
    small.save(tmp_path / "run.json")
    with pytest.raises(SystemExit, match="another run, or one that did not end"):
        phrasebook_model.train(small, 0, log_of(tmp_path, steps=2))
    with pytest.raises(SystemExit, match="another run, or one that did not end"):
        phrasebook_model.train(small, 1, log_of(tmp_path, steps=3))


def log_of(folder, steps):
    """The folder, with the numbers of so many steps in it."""
    events = [to_dict(Step(n, 0, 1.0, 0.5, 10, 0.1, 1.0)) for n in range(1, steps + 1)]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return folder


def test_swaps_want_the_article_that_is_right_and_not_what_the_model_writes_anyway(monkeypatch):
    translator = load()
    monkeypatch.setattr(translator.model.embedding, "logits", lambda x: torch.zeros(*x.shape[:-1], 1760))
    assert max(max(found) for found in phrasebook_model.swaps(translator)) < 0.01
