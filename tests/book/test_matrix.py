"""The tool that runs chapters under other instruction sets sees every text, picture and drawn number that moves."""

import os
import pathlib
import subprocess
import sys

import matrix
import notebooks
import numpy as np
import pytest
from cells import code, displayed, markdown, printed
from guards import ROOT

PICTURE = """
from tested_transformer.book.figures.picture import picture
figure, axes = picture(2, 2)
axes[0, 0].plot([1, {1}], [0.1, {0}])
figure
"""


def svg(x):
    """A picture of one circle, as a notebook stores it."""
    return f'<svg><circle cx="{x}" cy="1" r="1"/></svg>'


def test_texts_are_compared_exactly_and_pictures_within_the_limit():
    stored = [markdown("a"), code("x", printed("0.002\n"), displayed(image_svg=svg(5.0)))]
    assert matrix.differences(stored, stored) == ([], 0.0)
    near = [markdown("a"), code("x", printed("0.003\n"), displayed(image_svg=svg(5.01)))]
    found, apart = matrix.differences(stored, near)
    assert [line for line in found if "0.00" in line] == ['cell 1: -   "0.002\\n"', 'cell 1: +   "0.003\\n"']
    assert 0 < apart < 0.05
    far = [markdown("a"), code("x", printed("0.002\n"), displayed(image_svg=svg(6.0)))]
    (told,) = matrix.differences(stored, far)[0]
    assert told.startswith("cell 1: a picture differs by 1.00 pixels; 0.05 is the limit: the cx of <circle>")
    *_, other = matrix.differences(stored, [markdown("a"), code("x", printed("0.002\n"))])[0]
    assert other == "cell 1: 1 stored pictures, 0 new ones"


def drawn(*parts):
    return [[["line", list(map(float, part))] for part in parts]]


def test_numbers_may_move_by_a_share_of_the_largest_beside_them():
    before, now = [0.1, 100.1], [0.1, 100.1 + 1e-6]
    ((far, kind, where),) = matrix.moves(drawn([1, 2], before), drawn([1, 2], now))
    assert (round(far * 1e8, 3), kind, where) == (0.999, np.float64, "picture 1, line")
    assert list(matrix.moves(drawn(before), drawn(before))) == []
    assert list(matrix.moves(drawn([np.nan, 1]), drawn([np.nan, 1]))) == []
    ((far, _, where),) = matrix.moves(drawn(before), drawn(before, before))
    assert (far, where) == (np.inf, "picture 1 has other parts")


@pytest.mark.parametrize(("before", "now"), [(1, np.nan), (np.nan, 1), (np.inf, 1), (1, np.inf), (np.inf, -np.inf)])
def test_a_number_that_becomes_none_has_moved_without_end(before, now):
    assert [far for far, *_ in matrix.moves(drawn([1, before]), drawn([1, now]))] == [np.inf]
    assert [far for far, *_ in matrix.moves(drawn([before] * 2), drawn([now] * 2))] == [np.inf]


def test_numbers_of_single_precision_are_told_by_their_digits():
    single = np.float32([0.1, 0.7])
    ((_, kind, _),) = matrix.moves(drawn(single), drawn(single * np.float32(1.000001)))
    assert kind is np.float32
    ((_, kind, _),) = matrix.moves(drawn([1, 2]), drawn([1, 2.0000001]))  # not what was calculated with halves
    assert kind is np.float64


def test_a_switch_that_changes_nothing_proves_nothing():
    native, oldest = ["AVX512", "X86_V4", "SkylakeX"], ["DEFAULT", "X86_V2", "Nehalem"]
    assert list(matrix.without_effect("SSE", oldest, native)) == []
    assert list(matrix.without_effect("native", native, native)) == []
    (fault,) = matrix.without_effect("SSE", ["DEFAULT", "X86_V4", "Nehalem"], native)
    assert fault == "SSE: NPY_DISABLE_CPU_FEATURES has no effect, NumPy still says X86_V4"
    assert len(list(matrix.without_effect("OpenBLAS SSE", native, native))) == 1
    assert len(list(matrix.without_effect("SSE on two threads", native, native))) == 3


def test_a_picture_whose_numbers_were_not_noted_is_told(write):
    shown = [code("x", displayed(image_svg=svg(0.5)))]
    path = write(*shown)
    (fault,) = matrix.judged(path, matrix.Ran(shown, []), matrix.Ran(shown, []))[0]
    assert fault == "page.ipynb, 1 pictures shown, 0 noted, 0 in the first row"


# A kernel takes seconds to load what draws, so one chapter has all that moves beside all that does not.
CHAPTERS = {
    "moves": [
        "import os\nmoved = int(os.environ.get('PLANTED', '0'))\nnp, os, parts, plain = [None] * 4",
        "print(f'0.00{moved}')",
        PICTURE.format("0.3 + 1e-8 * moved", 10**6),
        PICTURE.format("0.1", 2),
        "print(sum([0.1, 0.2]))",
    ],
    "fails": ["import os", "assert 'PLANTED' not in os.environ"],
}
TWO_ROWS = """
import sys, matrix
matrix.ROWS = {"one": (1, 0, {}), "two": (1, 0, {"PLANTED": "1"})}
asked = matrix.asked_of(matrix.settings("one"))
matrix.asked_of = lambda environment: asked  # a process that loads PyTorch, and these rows switch nothing in it
sys.exit(matrix.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is told of two small chapters in two rows, in another process: a kernel's client leaves sockets open."""
    folder = tmp_path_factory.mktemp("chapters")
    moves, fails = paths = [str(folder / f"{name}.ipynb") for name in CHAPTERS]
    for path, sources in zip(paths, CHAPTERS.values(), strict=True):
        cells = [code(source, count=i) | {"id": f"c{i}", "outputs": []} for i, source in enumerate(sources, start=1)]
        pathlib.Path(path).write_text(notebooks.normal({"cells": cells}), encoding="utf-8")
    tools = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tools"), str(ROOT / "src")])}
    # The other one has no outputs, so it need not be run to be stored.
    subprocess.run([sys.executable, str(ROOT / "tools" / "notebooks.py"), "run", moves], check=True, env=tools)
    return subprocess.run([sys.executable, "-c", TWO_ROWS, moves, fails], capture_output=True, text=True, env=tools)


def test_a_text_a_number_no_eye_sees_and_a_failure_in_another_row_are_red_and_nothing_else(told):
    assert told.returncode == 1
    faults = [line for line in told.stderr.splitlines() if "ipynb" in line]
    assert [line.partition(":")[0] for line in faults if "fails" in line] == ["fails.ipynb"]
    assert [line for line in faults if "fails" not in line and "@@" not in line] == [
        'moves.ipynb, cell 1: -   "0.000\\n"',
        'moves.ipynb, cell 1: +   "0.001\\n"',
        "moves.ipynb, picture 1, limits of axes 0, y: float64 numbers moved by 3.4e-08 of the largest",
        "moves.ipynb, picture 1, line in axes 0, y: float64 numbers moved by 3.3e-08 of the largest",
    ]


def test_a_line_of_the_table_is_equal_or_red(told):
    head, _, one, two = told.stdout.splitlines()
    assert head.startswith("| row | PyTorch, NumPy, OpenBLAS | pictures apart |")
    assert one.startswith("| one | ")
    assert one.endswith(" | equal |")
    assert two.endswith(" | red |")
    assert " | 3e-08 | " in two


def test_a_row_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        matrix.main(["--rows", "AVX99"])
    assert "'AVX99' must be one of the rows: native, two threads" in capsys.readouterr().err
