"""The command `translate`: sentences in, a line each, and their translations out."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tested_transformer.command.page import Seen, attention_page
from tested_transformer.data.parallel import read_lines
from tested_transformer.decoding.translator import PHRASEBOOK, Translator
from tested_transformer.files import write
from tested_transformer.training.parallel import pick

FEW = 20
"""So many sentences a page of attention shows at most; each takes some 100 kB."""


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    searching(add)
    add.add_argument(
        "input", type=Path, nargs="?", help="text file, a sentence a line (else stdin)"
    )
    add.add_argument(
        "--attention", type=Path, metavar="PAGE.html", help="what the model looked at"
    )


def searching(add: argparse.ArgumentParser) -> None:
    """What `translate` and `evaluate` have in common: the model and the search."""
    add.add_argument(
        "--model", type=Path, default=PHRASEBOOK, metavar="FOLDER",
        help="a trained model (else the phrasebook model of this package)",
    )  # fmt: skip
    add.add_argument("--beam", type=int, default=4, metavar="WIDTH", help="1: greedy")
    add.add_argument("--alpha", type=float, default=0.6, help="of the length penalty")
    add.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")


def load(given: argparse.Namespace) -> Translator:
    """The translator that the command line asks for."""
    return Translator.load(given.model, pick(given.device, 0), given.beam, given.alpha)


def translate(given: argparse.Namespace) -> None:
    """Write a line for each line read, as soon as it is ready."""
    if given.attention and given.attention.is_dir():
        raise ValueError(f"{given.attention} is a folder, no file to write a page to")
    translator = load(given)
    live = given.input is None and sys.stdin.isatty()
    seen: list[Seen] = []
    sources: list[str] = []
    for translation in translator.stream(lines(given, sources), 1 if live else 64):
        print(translation, flush=True)
        source = sources.pop(0)
        if given.attention and source.strip() and len(seen) < FEW:
            seen.append(Seen(*translator.look(source, translation)))
    if given.attention:
        write(given.attention, attention_page(seen).encode())


def lines(given: argparse.Namespace, into: list[str]) -> Iterator[str]:
    """The lines to translate, kept in `into` as well until they are."""
    for line in read_lines(given.input) if given.input else sys.stdin:
        into.append(line.rstrip("\r\n"))
        yield into[-1]
