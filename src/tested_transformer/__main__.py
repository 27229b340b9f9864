"""The command line: python -m tested_transformer train | translate | evaluate."""

import argparse
import sys
from collections.abc import Sequence

from tested_transformer import __version__
from tested_transformer.command import evaluate, train, translate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if all went well, 1 after an error told in words."""
    given = parser().parse_args(arguments)
    try:
        given.command(given)
    except (OSError, ValueError, TypeError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """All commands and what can be said to them."""
    top = argparse.ArgumentParser("tested_transformer", description=__doc__)
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(required=True, metavar="command")
    for name, module, command in (
        ("train", train, train.train),
        ("translate", translate, translate.translate),
        ("evaluate", evaluate, evaluate.evaluate),
    ):
        summary = module.__doc__.partition(": ")[2]
        add = commands.add_parser(name, help=summary, description=summary)
        add.set_defaults(command=command)
        module.arguments(add)
    return top


if __name__ == "__main__":
    sys.exit(main())
