"""Records of runs that several commands may write at a time: each run is there once, and they are in order."""

from filelock import FileLock

from tested_transformer.files import read_json, sealed, write_json


def runs(path):
    """What is kept so far."""
    return read_json(path, "record of runs")["runs"] if path.exists() else []


def keep(path, row, place, **more):
    """Add a run, in place of one that has the same place, which orders them; more is what else is in the record."""
    with FileLock(f"{path}.lock"):
        rows = [r for r in runs(path) if place(r) != place(row)]
        write_json(path, sealed({**more, "runs": sorted([*rows, row], key=place)}))
