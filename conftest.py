"""Two holes of nbval, closed: a cell that was never run passes there, and so does a picture that changed."""

import base64
import io

import matplotlib.image
import numpy as np
import pytest
from nbval import plugin as nbval

PICTURE_LIMIT = 3.0  # root mean square distance of two pictures, on the scale 0 to 255

_compare_text, _run = nbval.IPyNbCell.compare_outputs, nbval.IPyNbCell.runtest


def pictures(outputs):
    """The PNG pictures among a cell's outputs, as arrays of 0 to 255, in order."""
    codes = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return [matplotlib.image.imread(io.BytesIO(base64.b64decode(code)), "png") * 255 for code in codes]


def picture_difference(new, stored):
    """What differs between two lists of pictures, in words; an empty string where nothing does."""
    if len(new) != len(stored):
        return f"{len(stored)} stored pictures, {len(new)} new ones"
    for i, (a, b) in enumerate(zip(new, stored, strict=True), start=1):
        if a.shape != b.shape:
            return f"picture {i} is {b.shape} in the notebook, {a.shape} now"
        distance = float(np.sqrt(np.mean((a - b) ** 2)))
        if distance > PICTURE_LIMIT:
            return f"picture {i} differs by {distance:.1f} of 255 (root mean square); {PICTURE_LIMIT} is the limit"
    return ""


def compare_outputs(cell, test, ref, skip_compare=None):
    if not _compare_text(cell, test, ref, skip_compare):
        return False
    difference = picture_difference(pictures(test), pictures(ref))
    if difference:
        cell.comparison_traceback.append(difference)
    return not difference


def runtest(cell):
    if cell.cell.execution_count is None:
        cell.raise_cell_error("This cell was never run, so there is nothing to compare: run `make fix`")
    _run(cell)


nbval.IPyNbCell.compare_outputs = compare_outputs
nbval.IPyNbCell.runtest = runtest


def pytest_collection_modifyitems(config, items):
    for item in items:
        if isinstance(item, nbval.IPyNbCell) and item.get_closest_marker("skip"):
            raise pytest.UsageError(f"{item.nodeid}: no cell is excused from comparison; mend the cell")
