"""The command `translate`: sentences in, a line each, and their translations out."""

import argparse
import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from tested_transformer.command import arguments as shared
from tested_transformer.command.page import Seen, attention_page
from tested_transformer.data.parallel import decode_lines
from tested_transformer.files import write
from tested_transformer.text.normalise import normalise

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
    if given.attention:
        shared.check_output(given.attention, given.input)
    if given.input is None and sys.stdin is None:
        raise ValueError("there is nothing to read: name a file, or pipe lines in")
    translator = shared.load_translator(given)
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # as what is read, wherever we are
    live = given.input is None and sys.stdin.isatty()
    seen: list[Seen] = []
    sources: list[str] = []
    with contextlib.closing(lines(given, sources)) as read:
        for translation in translator.stream(read, 1 if live else 64):
            print(translation, flush=True)
            source = sources.pop(0)
            if given.attention and normalise(source) and len(seen) < FEW:
                looked = translator.look(source, translation)
                seen.append(Seen(source, translation, *looked))
    if given.attention:
        write(given.attention, attention_page(seen).encode())


def lines(given: argparse.Namespace, into: list[str]) -> Iterator[str]:
    """The lines to translate, kept in `into` as well until they are."""
    path = given.input
    with open(path, "rb") if path else contextlib.nullcontext(sys.stdin.buffer) as file:
        for line in decode_lines(file, path or "standard input"):
            into.append(line)
            yield line
