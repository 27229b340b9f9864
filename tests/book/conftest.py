"""Small notebooks for the tests of the guards."""

import notebooks
import pytest


@pytest.fixture
def write(tmp_path):
    """Writes cells as a notebook in normal form, numbered from the top, and gives its path."""

    def written(*cells, name="page.ipynb"):
        count = 0
        for i, cell in enumerate(cells):
            cell["id"] = f"cell-{i}"
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = cell["execution_count"] or count
                cell["outputs"] = list(cell["outputs"])
        path = tmp_path / name
        path.write_text(notebooks.normal({"cells": cells}), encoding="utf-8")
        return path

    return written
