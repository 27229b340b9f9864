"""The asserts of chapters, tests and package say something, and run. Each fault is planted here."""

import json

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


GOOD = [
    "a == b",
    "f(a) == f(a)",
    "np.allclose(a, f(a).copy())",
    "a > 0.9 > 0.7 > b",
    "all(n > 0 for n in a)",
    "all([a == b, a > 0])",
    "len(a) >= 1",
    "abs(a - b) <= 0.1",
    "f(a) is not None",
    "a > 0 if b else a < 0",
    "f(5) == 5",
    "np.prod([0.001] * 150) == 0",
    "torch.finfo(torch.float16).max < 300**2",
    "np.random.default_rng(0).normal() > 0",
]
IDLE = {
    "is made of literals": [
        "True",
        "not False",
        "a.all() or True",
        "not (a and 0)",
        "all(True for n in a)",
        "True if a else True",
        "any([True, a])",
        "all([])",
        "np.isclose((1 - 0.98) / (1 - 0.999), 20)",
        "torch.tensor([1, 2]).sum() == 3",
        "all(n > 0 for n in range(1, 3))",
    ],
    "is true, whatever is in it": [
        "(a == b, 'words')",
        "(n > 0 for n in a)",
        "lambda: a == b",
        "f'{a}'",
    ],
    "compares a thing with itself": [
        "a == a",
        "a >= a",
        "a == +a",
        "a - a == 0",
        "a in [a]",
        "a.shape[0] is a.shape[0]",
        "b and a == a",
        "all(n == n for n in a)",
        "np.allclose(a.T, a.T, atol=1e-9)",
        "np.allclose(a, a.copy())",
    ],
    "says a thing and its opposite": ["a or not a", "not f.a or f.a"],
    "says only that a thing is there": ["a is not None"],
    "is true of every number of things": ["len(a) >= 0", "0 <= abs(a - b)", "abs(a) >= 0.0"],
    "looks at nothing": ["all(n > a for n in [])", "all(n > a for n in range(0))", "all(n for n in zip(a, []))"],
}


@pytest.mark.parametrize("test", GOOD)
def test_an_assert_that_can_fail_is_no_fault(write, test):
    assert list(claims.faults(write(f"assert {test}"))) == []


@pytest.mark.parametrize(("why", "test"), [(why, test) for why, tests in IDLE.items() for test in tests])
def test_an_assert_that_always_holds_is_found(write, why, test):
    (found,) = claims.faults(write("a = b = f()", f"assert {test}"))
    assert found.startswith("page.ipynb, cell 1: assert ")
    assert found.endswith(f": {why}")


@pytest.mark.parametrize("source", ["x = 5", "a = 2\nx = a + 3", "x = a = 5", "x = 10 // 2 if True else 0"])
def test_a_name_that_is_set_once_stands_for_its_literal(write, source):
    assert len(list(claims.faults(write(f"{source}\nassert x == 5")))) == 1


@pytest.mark.parametrize(
    "source", ["x = f()", "x = 5\nx += a", "x = 5\nfor x in a:\n    pass", "x = [5]\nx.append(6)", "x = np.zeros(3)"]
)
def test_a_name_that_may_stand_for_something_else_does_not(write, source):
    assert list(claims.faults(write(f"{source}\nassert x == 5"))) == []


REACHED = [
    "if a:\n    assert a",
    "def f():\n    assert a\n\n\nf()",
    "def f():\n    assert a\n\n\ncheck_test(f, g, h)",
    "@hook\ndef f():\n    assert a",
    "def f():\n    if b:\n        return\n    assert a\n\n\nf()",
    "flag = a\nif flag:\n    assert a",
    "for n in a[:2]:\n    assert n",
    "while a or False:\n    assert a",
    "with suppress(KeyError):\n    assert a",
    "try:\n    assert a\nexcept KeyError:\n    pass",
    "try:\n    assert a\nexcept Exception:\n    clean()\n    raise",
]
UNREACHED = [
    "if False:\n    assert a",
    "if True:\n    print(a)\nelse:\n    assert a",
    "for n in []:\n    assert n",
    "def f():\n    assert a",
    "def f(n):\n    assert f(n - 1)",
    "def f():\n    def g():\n        assert a\n\n    return a\n\n\nf()",
    "def f():\n    return a\n    assert a\n\n\nf()",
    "for n in a:\n    continue\n    assert n",
    "try:\n    pass\nfinally:\n    raise a\n    assert a",
    "for n in a[:0]:\n    assert n",
    "for n in zip([], a):\n    assert n",
    "for n in enumerate(sorted(())):\n    assert n",
    "flag = False\nif flag:\n    assert a",
    "if a or True:\n    pass\nelse:\n    assert a",
    "while a and False:\n    assert a",
]
SWALLOWED = [
    "with suppress(AssertionError):\n    assert a",
    "with contextlib.suppress(KeyError, Exception):\n    assert a",
    "try:\n    assert a\nexcept AssertionError:\n    pass",
    "try:\n    assert a\nexcept (KeyError, Exception) as error:\n    print(error)",
    "try:\n    assert a\nexcept:\n    pass",
]


@pytest.mark.parametrize("source", REACHED)
def test_an_assert_that_runs_is_no_fault(write, source):
    assert list(claims.faults(write(source))) == []


@pytest.mark.parametrize("source", UNREACHED + SWALLOWED)
def test_an_assert_that_never_runs_or_fails_unseen_is_found(write, source):
    assert [fault.rpartition(": ")[2] for fault in claims.faults(write(source))] == ["never runs, or fails unseen"]


def test_a_function_may_be_called_in_another_cell(write):
    assert list(claims.faults(write("def f():\n    assert a", "if a:\n    %time f()\nf()"))) == []


def test_a_method_is_called_by_others(write):
    assert list(claims.faults(write("class C:\n    def unused(self):\n        assert a"))) == []


def test_pytest_calls_what_nobody_names(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text("def test_it():\n    assert f() == 1\n    assert 1 == 1\n", encoding="utf-8")
    assert list(claims.faults(path)) == ["test_it.py, line 3: assert 1 == 1: is made of literals"]


# Which claims a chapter has


def test_claims_that_say_the_same_are_one_and_exercises_count(write):
    cells = ["assert a\nassert b  # twice", "assert (b)\ncheck(f, g, [(1,)])", "check_test(f, g, h)\nprint(check)"]
    assert claims.claims(write(*cells)) == {"assert a", "assert b", "check(f, g, [(1,)])", "check_test(f, g, h)"}


def test_how_a_claim_is_laid_out_changes_nothing(write):
    one, other = 'assert f(a, "b") == {1: 2}', "# new\nassert (\n    f(a, 'b',)\n    == {1: 2,}\n), 'a word'\n"
    assert claims.claims(write(one)) == claims.claims(write(other))
