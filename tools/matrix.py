"""Do all outputs repeat under other threads, hash seeds and instruction sets of PyTorch, NumPy and OpenBLAS?

    python tools/matrix.py [--rows native,SSE] [book/attention.ipynb …]     all rows and all chapters if none is named

Each row runs every chapter under settings of its own. Red is a text that differs from the stored one, a picture that
is further off than nbval's limit, and a number drawn in a picture that moved from the first row to another by more
than 1e-9 of the largest beside it: a training that amplifies the last bit of a sum, seen before its text changes. What
was calculated in float32 (single precision) has only seven digits, and may move by 1e-5.
"""

import argparse
import difflib
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import nbformat
import notebooks
import numpy as np
from nbclient.exceptions import CellExecutionError
from pictures import LIMIT, MIME, distance, pictures

LIMITS = {np.float64: 1e-9, np.float32: 1e-5}
NUMPY_AVX2, NUMPY_SSE = "X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
TORCH_SSE = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "NPY_DISABLE_CPU_FEATURES": NUMPY_AVX2, "OPENBLAS_CORETYPE": "Haswell"}
SSE = {**TORCH_SSE, "NPY_DISABLE_CPU_FEATURES": NUMPY_SSE, "OPENBLAS_CORETYPE": "Nehalem"}
ROWS = {  # threads, hash seed, switches
    "native": (1, 0, {}),
    "two threads": (2, 1, {}),
    "NumPy SSE": (1, 1, {"NPY_DISABLE_CPU_FEATURES": NUMPY_SSE}),
    "OpenBLAS SSE": (1, 1, {"OPENBLAS_CORETYPE": "Nehalem"}),
    "PyTorch SSE": (1, 1, TORCH_SSE),
    "AVX2": (1, 0, AVX2),
    "SSE": (1, 0, SSE),
    "SSE on two threads": (2, 1, SSE),
}
LIBRARIES = {"ATEN_CPU_CAPABILITY": "PyTorch", "NPY_DISABLE_CPU_FEATURES": "NumPy", "OPENBLAS_CORETYPE": "OpenBLAS"}
# What the libraries say of themselves under the settings of a row: a processor may lack what was asked for.
ASKED = """
import torch, threadpoolctl
from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__
numpy = [name for name in (*__cpu_baseline__, *__cpu_dispatch__) if __cpu_features__[name]]
blas = [pool["architecture"] for pool in threadpoolctl.threadpool_info() if "openblas" in pool["filepath"]]
print(torch.backends.cpu.get_cpu_capability(), numpy[-1], *blas[:1] or ["none"], sep=", ")
"""


def settings(row):
    """The environment of a row."""
    threads, seed, switches = ROWS[row]
    chosen = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": seed}
    return {**os.environ, **{name: str(value) for name, value in chosen.items()}, **switches}


class Ran(NamedTuple):
    """The cells of a chapter that was run anew, the numbers that its pictures were drawn from, and an error."""

    cells: list[dict]
    drawn: list
    error: str = ""


def run(environment, path):
    """Run a chapter under these settings."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = pathlib.Path(folder, "drawn.jsonl")
        drawn.touch()
        startup = {"PYTHONSTARTUP": str(pathlib.Path(__file__).with_name("drawn.py")), "DRAWN": str(drawn)}
        try:
            cells = notebooks.executed(path, environment | startup)["cells"]
        except CellExecutionError as error:
            return Ran([], [], str(error).strip())
        return Ran(cells, [json.loads(line) for line in drawn.read_text(encoding="utf-8").splitlines()])


def texts(cell):
    """What a cell has put out but for its pictures, as lines."""
    outputs = [notebooks.normal_output(output) for output in cell.get("outputs", [])]
    for output in outputs:
        output.get("data", {}).pop(MIME, None)
    return json.dumps(outputs, ensure_ascii=False, indent=1).splitlines()


def differences(stored, new):
    """In words, what the outputs of two lists of cells differ in; and the largest distance of two pictures."""
    found, furthest = [], 0.0
    for i, (old, now) in enumerate(zip(stored, new, strict=True)):
        if old["cell_type"] != "code":
            continue
        found += [f"cell {i}: {line}" for line in difflib.unified_diff(texts(old), texts(now), lineterm="", n=0)][2:]
        old_pictures, new_pictures = pictures(old["outputs"]), pictures(now["outputs"])
        if len(old_pictures) != len(new_pictures):
            found.append(f"cell {i}: {len(old_pictures)} stored pictures, {len(new_pictures)} new ones")
            continue
        for old_picture, new_picture in zip(old_pictures, new_pictures, strict=True):
            apart, where = distance(new_picture, old_picture)
            furthest = max(furthest, apart)
            if apart > LIMIT:
                found.append(f"cell {i}: a picture differs by {apart:.2f} pixels; {LIMIT} is the limit: {where}")
    return found, furthest


def single(*arrays):
    """Were these numbers calculated in single precision? Then rounding to it changes none of them."""
    return all(np.array_equal(a, a.astype(np.float32), equal_nan=True) for a in arrays)


def moves(before, now):
    """How far the numbers of each part of all pictures moved, in terms of the largest: (how far, type, where)."""
    for i, (old, new) in enumerate(zip(before, now, strict=True), start=1):
        if [(kind, len(a)) for kind, a in old] != [(kind, len(b)) for kind, b in new]:
            yield np.inf, np.float64, f"picture {i} has other parts"
            continue
        for (kind, a), (_, b) in zip(old, new, strict=True):
            a, b = np.array(a), np.array(b)
            if not a.size or np.array_equal(a, b, equal_nan=True):
                continue
            finite = np.isfinite(a)
            far = np.inf  # a number has become none, or the other way round
            if np.array_equal(finite, np.isfinite(b)) and np.array_equal(a[~finite], b[~finite], equal_nan=True):
                far = float(np.abs(a - b)[finite].max() / (np.abs(a[finite]).max() or 1))
            yield far, np.float32 if single(a, b) else np.float64, f"picture {i}, {kind}"


def judged(path, first, ran):
    """What is wrong with a chapter, how far its pictures are apart, and how far numbers of each type moved."""
    largest = dict.fromkeys(LIMITS, 0.0)
    if ran.error or first.error:
        return [f"{path.name}: {ran.error or 'the first row had an error'}"], 0.0, largest
    wrong, furthest = differences(nbformat.read(path, as_version=4)["cells"], ran.cells)
    shown = sum(len(pictures(cell["outputs"])) for cell in ran.cells if cell["cell_type"] == "code")
    if len(first.drawn) != len(ran.drawn) or (shown and not ran.drawn):  # a file that a cell shows is not noted
        wrong.append(f"{shown} pictures shown, {len(ran.drawn)} noted, {len(first.drawn)} in the first row")
        return [f"{path.name}, {fault}" for fault in wrong], furthest, largest
    for far, kind, where in moves(first.drawn, ran.drawn):
        largest[kind] = max(largest[kind], far)
        if far > LIMITS[kind]:
            wrong.append(f"{where}: {kind.__name__} numbers moved by {far:.1e} of the largest")
    return [f"{path.name}, {fault}" for fault in wrong], furthest, largest


def without_effect(row, asked, native):
    """Switches of a row for the oldest instructions that have left a library as it was: it would prove nothing."""
    for variable, library in LIBRARIES.items():
        i = list(LIBRARIES).index(variable)
        if "SSE" in row and variable in ROWS[row][2] and asked[i] == native[i]:
            yield f"{row}: {variable} has no effect, {library} still says {native[i]}"


def asked_of(environment):
    """What PyTorch, NumPy and OpenBLAS say that they calculate with."""
    asked = subprocess.run([sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=True)
    return asked.stdout.strip().split(", ")


def main(arguments=None):
    """Run the rows: a line for each as soon as it is done, and what is wrong on stderr. Any fault gives status 1."""
    add = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add.add_argument("--rows", type=lambda names: names.split(","), default=list(ROWS), help=", ".join(ROWS))
    add.add_argument("chapters", nargs="*", type=pathlib.Path)
    given = add.parse_args(arguments)
    if unknown := [name for name in given.rows if name not in ROWS]:
        add.error(f"{unknown[0]!r} must be one of the rows: {', '.join(ROWS)}")
    paths, first, failed = given.chapters or notebooks.chapters(), None, False
    print("| row | PyTorch, NumPy, OpenBLAS | pictures apart | float64 moved | float32 moved | seconds | |")
    print("|:--|:--|--:|--:|--:|--:|:--|", flush=True)
    native = next(iter(ROWS))  # all others are held against it
    for row in dict.fromkeys([native, *given.rows]):
        environment, began = settings(row), time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            ran = list(pool.map(functools.partial(run, environment), paths))
        asked = asked_of(environment)
        if first is None:
            first, says = ran, asked
        results = [judged(*chapter) for chapter in zip(paths, first, ran, strict=True)]
        faults = [*without_effect(row, asked, says), *(fault for found, *_ in results for fault in found)]
        apart = max(furthest for _, furthest, _ in results)
        moved = [f"{max(largest[kind] for *_, largest in results):.0e}" for kind in LIMITS]
        numbers = [f"{apart:.3f}", *moved, f"{time.monotonic() - began:.0f}"]
        print("|", " | ".join([row, ", ".join(asked), *numbers, "red" if faults else "equal"]), "|", flush=True)
        print(*faults, sep="\n", end="\n" * bool(faults), file=sys.stderr, flush=True)
        failed = failed or bool(faults)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
