"""The command `translate`: sentences in, a line each, and their translations out."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tested_transformer.command import arguments as shared
from tested_transformer.command.page import Seen, attention_page
from tested_transformer.data.parallel import read_lines
from tested_transformer.files import write

FEW = 20
"""So many sentences a page of attention shows at most; each takes some 100 kB."""


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_translator(add)
    add.add_argument(
        "input", type=Path, nargs="?", help="text file, a sentence a line (else stdin)"
    )
    add.add_argument(
        "--attention", type=Path, metavar="PAGE.html", help="what the model looked at"
    )


def translate(given: argparse.Namespace) -> None:
    """Write a line for each line read, as soon as it is ready."""
    if given.attention and given.attention.is_dir():
        raise ValueError(f"{given.attention} is a folder, no file to write a page to")
    translator = shared.load_translator(given)
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
