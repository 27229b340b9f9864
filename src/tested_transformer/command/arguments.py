"""Arguments that commands share: which sentence pairs, which model, which search."""

import argparse
from pathlib import Path

from tested_transformer.decoding.translator import PHRASEBOOK, Translator
from tested_transformer.device import choose_device
from tested_transformer.files import check_writable

DEVICE = {"default": "auto", "help": "auto, cpu, cuda or cuda:1"}


def add_pairs(add: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Three ways to name sentence pairs, in a group for what one command adds."""
    data = add.add_argument_group("sentence pairs (one of the three)")
    data.add_argument("--source", type=Path, help="text file, a sentence a line")
    data.add_argument("--target", type=Path, help="its translation, line by line")
    data.add_argument("--multi30k", type=Path, metavar="FOLDER", help="its .gz files")
    return data


def check_pairs(given: argparse.Namespace) -> None:
    """Refuse anything but one of the three ways."""
    ways = [given.source or given.target, given.multi30k, given.phrasebook]
    if sum(way is not None for way in ways) != 1:
        raise ValueError("give --source with --target, or --multi30k, or --phrasebook")
    if (given.source is None) != (given.target is None):
        raise ValueError("--source and --target belong together")


def check_output(path: Path, *inputs: Path | None) -> None:
    """Refuse to write where no file can be, or over what is read."""
    check_writable(path)
    for given in inputs:
        if given and given.exists() and path.exists() and path.samefile(given):
            raise ValueError(f"{path} would be written over, and it is read")


def add_translator(add: argparse.ArgumentParser) -> None:
    """The model and the search."""
    add.add_argument(
        "--model", type=Path, default=PHRASEBOOK, metavar="FOLDER",
        help="a trained model (else the phrasebook model of this package)",
    )  # fmt: skip
    add.add_argument("--beam", type=int, default=4, metavar="WIDTH", help="1: greedy")
    add.add_argument("--alpha", type=float, default=0.6, help="of the length penalty")
    add.add_argument("--device", **DEVICE)


def load_translator(given: argparse.Namespace) -> Translator:
    """The translator that the command line asks for."""
    device = choose_device(given.device)
    return Translator.load(given.model, device, given.beam, given.alpha)
