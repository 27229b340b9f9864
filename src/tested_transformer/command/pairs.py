"""Which sentence pairs a command works on: two files, Multi30k or the phrasebook."""

import argparse
from pathlib import Path
from typing import Any


def arguments(add: argparse.ArgumentParser) -> Any:
    """The arguments that commands share, in a group for those of one command."""
    data = add.add_argument_group("sentence pairs (one of the three)")
    data.add_argument("--source", type=Path, help="text file, a sentence a line")
    data.add_argument("--target", type=Path, help="its translation, line by line")
    data.add_argument("--multi30k", type=Path, metavar="FOLDER", help="its .gz files")
    return data


def check(given: argparse.Namespace) -> None:
    """Refuse anything but one of the three ways."""
    ways = [given.source or given.target, given.multi30k, given.phrasebook]
    if sum(way is not None for way in ways) != 1:
        raise ValueError("give --source with --target, or --multi30k, or --phrasebook")
    if (given.source is None) != (given.target is None):
        raise ValueError("--source and --target belong together")
