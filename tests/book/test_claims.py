"""The asserts of chapters, tests and package say something, run, and do not vanish. Each fault is planted here."""

import json
import shutil
import subprocess

import claims
import notebooks
import pytest
from guards import ROOT

CHAPTERS = notebooks.chapters()
MODULES = [path for folder in ("src", "tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]


@pytest.fixture
def write(tmp_path):
    """Writes a notebook of these code cells, and gives its path."""

    def written(*sources):
        cells = [{"cell_type": "code", "source": source} for source in sources]
        (tmp_path / "page.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
        return tmp_path / "page.ipynb"

    return written


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_every_assert_of_a_chapter_can_fail(path):
    assert list(claims.faults(path)) == []


def test_every_assert_of_the_package_and_its_tests_can_fail():
    assert [fault for path in MODULES for fault in claims.faults(path)] == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_no_claim_of_a_chapter_vanishes_unseen(path):
    assert claims.change(path, claims.recorded().get(path.stem, 0)) == ""


def test_the_claims_of_a_chapter_that_is_gone_are_crossed_out_by_hand():
    assert sorted(claims.recorded()) == [path.stem for path in CHAPTERS]


GOOD = [
    "a == b",
    "a and not b",
    "f(a) == f(a)",
    "np.allclose(f(a), f(a))",
    "x != x",
    "a > 0.9 > 0.7 > b",
    "all(n > 0 for n in a)",
    "(a, b) == (1, 2)",
    "len('text') == 4",
]
IDLE = {
    "True": "reads no name",
    "1 + 1 == 2": "reads no name",
    "'text'": "reads no name",
    "not False": "reads no name",
    "a.all() or True": "reads no name",
    "not (a and 0)": "reads no name",
    "all(True for n in a)": "reads no name",
    "(a == b, 'words')": "is true, whatever is in it",
    "[a == b]": "is true, whatever is in it",
    "(n > 0 for n in a)": "is true, whatever is in it",
    "lambda: a == b": "is true, whatever is in it",
    "f'{a}'": "is true, whatever is in it",
    "a == a": "compares a thing with itself",
    "a.shape[0] is a.shape[0]": "compares a thing with itself",
    "b and a == a": "compares a thing with itself",
    "all(n == n for n in a)": "compares a thing with itself",
    "np.allclose(a.T, a.T, atol=1e-9)": "compares a thing with itself",
    "torch.equal(a, a)": "compares a thing with itself",
    "all(n > a for n in [])": "looks at nothing",
}


@pytest.mark.parametrize("test", GOOD)
def test_an_assert_that_can_fail_is_no_fault(write, test):
    assert list(claims.faults(write(f"assert {test}"))) == []


@pytest.mark.parametrize("test", IDLE)
def test_an_assert_that_always_holds_is_found(write, test):
    (found,) = claims.faults(write("a = b = f()", f"assert {test}"))
    assert found.startswith("page.ipynb, cell 1: assert ")
    assert IDLE[test] in found.rpartition(": ")[2]


REACHED = [
    "if a:\n    assert a",
    "if True:\n    assert a",
    "for n in a:\n    assert n",
    "def f():\n    assert a\n\n\nf()",
    "def f():\n    assert a\n\n\ncheck_test(f, g, h)",
    "@hook\ndef f():\n    assert a",
    "def f():\n    if b:\n        return\n    assert a\n\n\nf()",
    "class C:\n    def forward(self):\n        assert a",
]
UNREACHED = [
    "if False:\n    assert a",
    "if 1 > 2:\n    print(a)\nelif 0:\n    assert a",
    "if True:\n    print(a)\nelse:\n    assert a",
    "while 0:\n    assert a",
    "for n in []:\n    assert n",
    "for n in ():\n    if n:\n        assert a",
    "def f():\n    assert a",
    "def f(n):\n    assert f(n - 1)",
    "def f():\n    def g():\n        assert a\n\n    return a\n\n\nf()",
    "def f():\n    return a\n    assert a\n\n\nf()",
    "for n in a:\n    continue\n    assert n",
    "try:\n    pass\nfinally:\n    raise a\n    assert a",
]


@pytest.mark.parametrize("source", REACHED)
def test_an_assert_that_runs_is_no_fault(write, source):
    assert list(claims.faults(write(source))) == []


@pytest.mark.parametrize("source", UNREACHED)
def test_an_assert_that_never_runs_is_found(write, source):
    assert [fault.rpartition(": ")[2] for fault in claims.faults(write(source))] == ["never runs"]


def test_a_function_may_be_called_in_another_cell(write):
    assert list(claims.faults(write("def f():\n    assert a", "if a:\n    %time f()\nf()"))) == []


def test_a_method_is_called_by_others(write):
    assert list(claims.faults(write("class C:\n    def unused(self):\n        assert a"))) == []


def test_pytest_calls_what_nobody_names(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text("def test_it():\n    assert f() == 1\n    assert 1 == 1\n", encoding="utf-8")
    assert list(claims.faults(path)) == ["test_it.py, line 3: assert 1 == 1: reads no name and calls nothing"]


# How many


CELLS = ["assert a\nassert b  # twice", "assert (b)\ncheck(f, g, [(1,)])", "check_test(f, g, h)\nprint(check)"]


def test_claims_that_say_the_same_are_one_and_exercises_count(write):
    assert sorted(set(claims.claims(write(*CELLS)))) == [
        "assert a", "assert b", "check(f, g, [(1,)])", "check_test(f, g, h)",
    ]  # fmt: skip
    assert claims.change(write(*CELLS), 4) == ""


def test_a_claim_that_is_gone_is_told(write):
    said = claims.change(write(*CELLS[1:]), 4)
    assert said.startswith("page: 1 of 4 claims are gone. If it is meant, lower the number in claims.yml")


def test_a_claim_that_says_no_more_than_another_does_not_replace_it(write):
    assert "1 of 4 claims" in claims.change(write("assert b  # was a\nassert b  # twice", *CELLS[1:]), 4)


def test_a_new_claim_asks_to_be_recorded(write):
    assert claims.change(write("assert new", *CELLS), 4) == "page makes 1 more claims than recorded: run `make fix`"


@pytest.mark.skipif(not shutil.which("git"), reason="there is no Git here")
def test_git_knows_which_claim_is_gone(write, tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "RECORD", tmp_path / "claims.yml")
    claims.RECORD.write_text("page: 4\n", encoding="utf-8")
    write(*CELLS)
    who = ["-c", "user.name=a", "-c", "user.email=b", "-c", "commit.gpgsign=false"]
    for line in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *line], cwd=tmp_path, check=True)
    lines = claims.change(write(*CELLS[1:]), 4).splitlines()
    assert lines[1:] == ["  assert a"]
    subprocess.run(["git", *who, "commit", "-qam", "two"], cwd=tmp_path, check=True)
    assert claims.change(write(*CELLS[1:]), 4).splitlines() == lines, "committed, the number is still the old one"


def test_numbers_are_raised_and_never_lowered(tmp_path, monkeypatch, capsys):
    (tmp_path / "book").mkdir()
    monkeypatch.setattr(claims, "ROOT", tmp_path)
    monkeypatch.setattr(claims, "RECORD", tmp_path / "claims.yml")
    for name, source in (("more", "assert a\nassert b"), ("fewer", "assert a"), ("new", "assert a")):
        cells = [{"cell_type": "code", "source": source}]
        (tmp_path / "book" / f"{name}.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    claims.RECORD.write_text("more: 1\nfewer: 2\ngone: 5\n", encoding="utf-8")
    assert claims.main() == 1
    assert claims.recorded() == {"fewer": 2, "more": 2, "new": 1}
    assert "fewer: 1 of 2 claims are gone" in capsys.readouterr().out
    claims.RECORD.write_text("fewer: 1\n", encoding="utf-8")
    assert claims.main() == 0
    assert capsys.readouterr().out == ""
