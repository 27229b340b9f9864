"""Mutation testing: what is counted, and that every folder with a floor is mutated and tried each night."""

import pathlib
import tomllib

import mutants
import pytest
import yaml
from guards import ROOT


def test_what_hangs_is_noticed_and_what_no_test_reaches_is_not():
    states = ("killed", "timeout", "segfault", "survived", "no tests", "suspicious", "not checked")
    assert mutants.score(states) == (3, 7)


def test_a_folder_that_reaches_its_floor_is_good_and_one_below_it_is_not():
    found = {
        pathlib.Path("a.py"): {"1": "killed", "2": "timeout", "3": "killed"},
        pathlib.Path("b.py"): {"1": "survived"},
    }
    lines, good = mutants.report(found, 75)
    assert good
    assert [line.split() for line in lines] == [
        ["a.py", "3", "of", "3"],
        ["b.py", "0", "of", "1"],
        ["3", "of", "4", "=", "75.0%,", "at", "least", "75", "%"],
    ]
    assert not mutants.report(found, 76)[1]


def test_a_module_without_mutants_stands_in_the_table():
    found = {pathlib.Path("a.py"): {"1": "killed"}, pathlib.Path("signals.py"): {}}
    assert mutants.report(found, 100)[0][1].split() == ["signals.py", "0", "of", "0"]


def test_an_unknown_folder_is_refused():
    with pytest.raises(SystemExit, match="book: no folder of byhand, model"):
        mutants.main(["book", "model"])


def test_every_folder_with_a_floor_is_mutated_and_tried_each_night():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    assert settings["only_mutate"] == [f"{mutants.PACKAGE}/{folder}/*" for folder in mutants.FLOOR]
    nightly = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8"))
    assert nightly["jobs"]["mutants"]["strategy"]["matrix"]["folder"] == list(mutants.FLOOR)
