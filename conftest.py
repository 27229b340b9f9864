"""Three holes of nbval, closed: cells that were never run, cells that ask to be excused, pictures that changed.

Kernels of more than a few chapters are forked from one process, which has loaded the libraries (tools/kernels.py).

And one thread for each process that calculates: several of them wait for one another far longer than they calculate, as
soon as two processes share the processor. What a cell prints does not depend on it (`make matrix`).
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy or PyTorch is loaded; kernels and workers inherit it

import kernels  # noqa: E402
from nbval import kernel  # noqa: E402
from nbval import plugin as nbval  # noqa: E402
from pictures import MIME, picture_difference, pictures  # noqa: E402

A_FEW, FORKING = 3, []
_compare_text, _run = nbval.IPyNbCell.compare_outputs, nbval.IPyNbCell.runtest


def compare_outputs(cell, test, ref, skip_compare=None):
    if not _compare_text(cell, test, ref, (*(skip_compare or cell.parent.skip_compare), MIME)):
        return False
    difference = picture_difference(pictures(test), pictures(ref))
    if difference:
        cell.comparison_traceback.append(difference)
    return not difference


def runtest(cell):
    lax = cell.config.option.nbval_lax  # asked for by the one who runs it, not by the cell
    if cell.options["skip"] or not (cell.options["check"] or lax):
        cell.raise_cell_error("No cell is excused from comparison: mend the cell")
    _run(cell)
    if cell.cell.execution_count is None:
        cell.raise_cell_error("This cell was never run, so there is nothing to compare: run `make fix`")


def pytest_collection_finish(session):
    """Many chapters are worth a process that forks their kernels. It starts with the first of them."""
    chapters = {item.parent for item in session.items if isinstance(item, nbval.IPyNbCell)}
    if kernels.FORKS and len(chapters) > A_FEW:
        kernel.NbvalKernelspecManager.get_kernel_spec = forked


def forked(manager, name):
    """Asked for the command that starts a kernel, this one."""
    if not FORKING:
        FORKING.append(kernels.Kernels())
    return manager.kernel_spec_class(argv=FORKING[0].command(), display_name=name, language="python")


def pytest_unconfigure():
    while FORKING:
        FORKING.pop().close()


nbval.IPyNbCell.compare_outputs = compare_outputs
nbval.IPyNbCell.runtest = runtest
