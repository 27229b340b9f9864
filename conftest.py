"""Three holes of nbval, closed: cells that were never run, cells that ask to be excused, pictures that changed."""

from nbval import plugin as nbval
from pictures import picture_difference, pictures

_compare_text, _run = nbval.IPyNbCell.compare_outputs, nbval.IPyNbCell.runtest


def compare_outputs(cell, test, ref, skip_compare=None):
    if not _compare_text(cell, test, ref, skip_compare):
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


nbval.IPyNbCell.compare_outputs = compare_outputs
nbval.IPyNbCell.runtest = runtest
