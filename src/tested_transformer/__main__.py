"""The command line: python -m tested_transformer train | translate | chat | ..."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from tested_transformer import __version__, command
from tested_transformer.files import in_words

COMMANDS = {
    "train": "train a model on pairs or on a text, and keep it in a folder",
    "translate": "translate sentences, one per line",
    "export": "write a translator as two graphs of ONNX",
    "evaluate": "measure how well a model translates, with BLEU and chrF",
    "chat": "talk with a published chat model",
    "generate": "let a model go on with a text",
    "embed": "a vector for each line, alike for lines that mean the same",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if all went well, 1 after an error told in words.

    130 if it was interrupted or asked to end, and 141 if nobody reads what it writes any more: the
    numbers that shells give for these.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        words = sys.argv[1:] if arguments is None else arguments
        reader = parser(words)
        given = reader.parse_args(words)
        if getattr(given, "config", None):
            given = reader.parse_args(words)  # what the file says is the default now
        given.command(given)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the rest
        return 141
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (OSError, ValueError, TypeError, ArithmeticError) as error:
        print(f"error: {in_words(error)}", file=sys.stderr)
        return 1
    except (MemoryError, RuntimeError) as error:
        said = f"{type(error).__name__} {error}".lower()
        if not re.search("memoryerror|out ?of ?memory|allocate memory", said):
            raise
        told = "there is not enough memory: try a narrower beam or smaller batches"
        first = str(error).partition("\n")[0]
        print(f"error: {told} ({first[:200]})", file=sys.stderr)
        return 1
    return 0


def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """All commands and what can be said to them.

    If words are given, only a command that is among them is loaded: it takes seconds.
    """
    top = argparse.ArgumentParser("tested_transformer", description=__doc__)
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(required=True, metavar="command")
    for name, summary in COMMANDS.items():
        add = commands.add_parser(name, help=summary, description=summary)
        if words is None or name in words:
            module = load(name)
            add.set_defaults(command=getattr(module, name))
            module.arguments(add)
    return top


def load(name: str) -> ModuleType:
    """The module of a command."""
    # First NumPy: PyTorch imports it, too, and then swallows a Ctrl-C
    import numpy  # noqa: F401

    return import_module(f"{command.__name__}.{name}")


if __name__ == "__main__":
    sys.exit(main())
