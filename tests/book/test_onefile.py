"""The whole machine in one file: it is the package, bit for bit, needs NumPy only, and a fault in it is noticed."""

import ast
import contextlib
import functools
import io
import re

import numpy as np
import pytest
from helpers import unchecked

from tested_transformer.book import onefile
from tested_transformer.byhand import adam, loss, softmax, training, transformer
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import Config, SpecialIds

TEXT = onefile.source()
TREE = ast.parse(TEXT)


def told(learn):
    """What a short training prints, and the parameters that it ends with."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        params = learn(steps=10, every=5)
    return text.getvalue(), params


def same(ours, theirs):
    """Equal arrays, or numbers, in dictionaries and tuples of the same form, to the last bit."""
    if isinstance(ours, dict):
        return isinstance(theirs, dict) and list(ours) == list(theirs) and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return np.array_equal(ours, theirs)


def calculated(names):
    """Some numbers through every part: a ragged batch, its gradients, three steps of Adam, and what is written then.

    One after the other, what takes longest at the end: the first that differ are enough.
    """
    small, rng = names["Config"](**SMALL), np.random.default_rng(3)
    params = names["create_params"](small, rng, 1.0)
    state, batch = names["create_state"](params), names["backwards"](names["random_words"](8, rng))
    for _ in range(3):
        loss, d_params = names["gradients"](*batch, params, small, 0.1)
        params, state = names["update"](params, d_params, state, 0.01)
        yield loss, d_params, params, state
    yield names["write"](batch[0], params, small, 5)
    yield names["transformer"](*(ids[:, ::-1] for ids in batch), params, small)[0]  # padding in front
    yield names["softmax"](np.array([[-np.inf, -np.inf], [0, 1]]))  # nothing to look at, and something
    yield names["log_sum_exp"](np.array([[1e3, 0.0]]))  # elsewhere the largest has been taken out before
    yield tuple(names["answers"](names["NOUNS"], names["create_params"](names["SIZES"], rng)))
    yield names["largest_error"](names["Config"](**TINY), rng)


PACKAGE = vars(adam) | vars(loss) | vars(softmax) | vars(transformer) | vars(training) | {"Config": Config}
SMALL = {"vocab_size": 30, "d_model": 8, "d_ff": 12, "n_heads": 2, "n_layers": 2, "attention_bias": True}
TINY = {"vocab_size": 30, "d_model": 2, "d_ff": 2, "n_heads": 1, "n_layers": 1}


@functools.cache
def expected():
    """What the package calculates."""
    with unchecked():
        return [*calculated(PACKAGE)]


def is_the_package(text):
    """Does a file calculate what the package does?"""
    with np.errstate(all="ignore"):
        return all(map(same, calculated(onefile.defined(text)), expected()))


def test_the_file_calculates_what_the_package_does_bit_for_bit():
    assert is_the_package(TEXT)
    with unchecked():
        ours = told(training.learn)
    assert same(told(onefile.defined(TEXT)["learn"]), ours)


def test_the_file_is_short_and_imports_numpy_alone():
    assert len(TEXT.splitlines()) <= 500
    assert max(map(len, TEXT.splitlines())) <= 120
    imports = [n for n in ast.walk(TREE) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in imports} == {"numpy", "typing"}


def test_each_function_stands_below_what_it_calls():
    places = {n.name: n.lineno for n in TREE.body if isinstance(n, ast.FunctionDef)}
    for f in (n for n in TREE.body if isinstance(n, ast.FunctionDef)):
        called = {n.id for n in ast.walk(f) if isinstance(n, ast.Name)} & places.keys() - {f.name}
        inside = {name for name in called if f.name.split("_")[0] in name or name.startswith("_")}  # of one box
        assert all(places[name] < f.lineno for name in called - inside - {"shapes"}), f.name


def test_nothing_in_the_file_is_checked_annotated_or_defined_twice():
    functions = [n for n in ast.walk(TREE) if isinstance(n, ast.FunctionDef)]
    assert not any(isinstance(n, ast.Raise) for n in ast.walk(TREE))
    assert not any(a.annotation for f in functions for a in f.args.args)
    names = [f.name for f in functions]
    assert len(names) == len(set(names))
    assert "Error" not in TEXT


def test_a_function_names_the_shapes_of_its_arrays():
    assert "def softmax(x):  # x (…, N) -> (…, N)\n" in TEXT
    assert "def split_heads(x, n_heads):  # x (B, T, W) -> (B, H, T, W/H)\n" in TEXT
    said = re.findall(r"^def \w+\(.*\):(?:  |\n    )# \S", TEXT, re.M)
    assert len(said) > 40


def test_a_symbol_stands_at_its_id():
    assert [training.SYMBOLS.index(s) for s in "_<>?"] == list(SpecialIds())


def test_words_backwards_are_framed_and_filled_up():
    source, target = training.backwards(["ab", "c"])
    assert source.tolist() == [[4, 5], [6, 0]]
    assert target.tolist() == [[1, 5, 4, 2], [1, 6, 2, 0]]
    words = training.random_words(500, np.random.default_rng(0))
    assert {len(word) for word in words} == {3, 4, 5, 6, 7}
    assert not set(words) & set(training.NOUNS)


def test_what_is_written_ends_at_its_end(monkeypatch):
    monkeypatch.setattr(training, "write", lambda *args, **more: np.array([[4, 2, 5], [4, 5, 6]]))
    assert training.answers(["ab", "cde"], {}) == ["a", "abc"]


def test_the_rate_rises_for_a_tenth_of_the_steps_and_falls_in_a_line_that_ends_behind_the_last(monkeypatch):
    rates = []
    monkeypatch.setattr(training, "gradients", lambda *given: (0.0, {}))
    monkeypatch.setattr(training, "update", lambda w, d_w, state, rate: rates.append(rate) or (w, state))
    with contextlib.redirect_stdout(io.StringIO()):
        training.learn(steps=20, every=20, rate=18.0)
    assert rates == pytest.approx([9, 18, *range(18, 0, -1)]), "one step more, and it would be zero"


def test_nothing_is_not_written():
    params = create_params(training.SMALL, np.random.default_rng(0))
    with pytest.raises(ValueError, match="max_len"):
        training.write(np.array([[4]]), params, training.SMALL, 0)


def test_behind_an_end_stands_padding(monkeypatch):
    tokens = iter([[2, 5], [6, 2], [7, 8]])

    def logits(source, written, params, config):
        return np.eye(30)[next(tokens)][:, None], {}

    monkeypatch.setattr(training, "transformer", logits)
    written = training.write(np.array([[4], [5]]), {}, training.SMALL, 3)
    assert written.tolist() == [[2, 0, 0], [5, 2, 0]]


def test_nudging_agrees_and_finds_a_wrong_factor(monkeypatch):
    tiny = Config(**TINY)
    with unchecked():
        n, error = training.largest_error(tiny, np.random.default_rng(1))
    assert n == sum(w.size for w in create_params(tiny, np.random.default_rng(0)).values())
    assert error < 1e-8
    right = training.gradients

    def seven(*args):
        loss, d_params = right(*args)
        return loss, {name: 7 * d for name, d in d_params.items()}

    monkeypatch.setattr(training, "gradients", seven)
    with unchecked():
        assert training.largest_error(tiny, np.random.default_rng(1))[1] > 0.01


def test_the_file_notices_by_nudging_a_fault_that_needs_smoothing():
    """Faults that need two layers, or factors other than 1, are planted in the chapter."""
    old, new = "shape[-1] - (1 - smoothing) * right", "shape[-1] - right"
    assert TEXT.count(old) == 1
    for text, seen in ((TEXT, False), (TEXT.replace(old, new), True)):
        names = onefile.defined(text)
        error = names["largest_error"](names["Config"](**TINY), np.random.default_rng(1))[1]
        assert (error > 1e-3) == seen


# Faults, one in each line that calculates: the line, and what stands there instead.

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.MatMult: ast.Mult}


class Plant(ast.NodeTransformer):
    """Changes the n-th place that can be changed: an operator, a number, or the two ends of a swap."""

    def __init__(self, n=None):
        self.n, self.lines = n, []

    def here(self, node):
        self.lines.append(node.lineno)
        return len(self.lines) - 1 == self.n

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if type(node.op) in OPERATORS and not isinstance(node.left, ast.JoinedStr) and self.here(node):
            node.op = OPERATORS[type(node.op)]()
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if isinstance(node.ops[0], ast.Gt | ast.Eq | ast.NotEq) and self.here(node):
            node.ops = [ast.LtE() if isinstance(node.ops[0], ast.Gt) else ast.Lt()]
        return node

    def visit_keyword(self, node):
        self.generic_visit(node)
        if node.arg == "axis" and self.here(node.value):
            node.value = ast.Constant(0 if ast.unparse(node.value) != "0" else -1)
        return node


def planted(n=None):
    """The lines of all places, and the text of the file with a fault in the n-th."""
    tree, plant = ast.parse(TEXT), Plant(n)
    for f in tree.body:
        if isinstance(f, ast.FunctionDef) and f.name not in ("main", "learn"):
            plant.visit(f)
    return plant.lines, ast.unparse(tree)


FAULTS = {line: n for n, line in enumerate(planted()[0])}  # the last place of each line


def test_there_are_faults_in_enough_lines():
    assert len(FAULTS) >= 40


@pytest.mark.parametrize("line", FAULTS)
def test_a_fault_in_any_line_is_noticed(line):
    try:
        noticed = not is_the_package(planted(FAULTS[line])[1])
    except (ValueError, IndexError, TypeError, AttributeError, RuntimeWarning):  # it does not even run
        noticed = True
    assert noticed, TEXT.splitlines()[line - 1]
