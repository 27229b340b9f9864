"""Options of a command from a TOML file; what the command line says wins."""

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tested_transformer.files import check_readable

NOT_IN_FILE = {"help", "config", "resume"}


class FromFile(argparse.Action):
    """Takes what a file says as defaults of the command: words are read again after it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Read the file. What is wrong with it is a ValueError."""
        parser.set_defaults(**read_options(Path(str(values)), parser))
        setattr(namespace, self.dest, values)


def read_options(path: Path, command: argparse.ArgumentParser) -> dict[str, Any]:
    """What a TOML file says, by the names that Python has for the options.

    Its keys are the long names of options, without the hyphens before them.
    """
    check_readable(path, "file of options")
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no TOML: {error}") from None
    known = {
        action.option_strings[-1].removeprefix("--"): action
        for action in command._actions
        if action.option_strings and action.dest not in NOT_IN_FILE
    }
    if unknown := [name for name in said if name not in known]:
        rule = "its keys are options of the command as --help has them, without --"
        raise ValueError(f"{path}: {unknown[0]!r} is no option; {rule}")
    try:
        return {known[n].dest: fitting(n, value, known[n]) for n, value in said.items()}
    except (TypeError, ValueError, argparse.ArgumentTypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def fitting(name: str, value: Any, action: argparse.Action) -> Any:
    """The value as the command line would give it, or an error with the rule."""
    kind: Any = bool if action.nargs == 0 else action.type or str
    wanted = kind if kind in (bool, int, float) else str
    like = (int, float) if wanted is float else (wanted,)
    if type(value) not in like:
        names = {bool: "true or false", int: "a whole number", float: "a number"}
        raise TypeError(f"{name} ({value!r}) must be {names.get(wanted, 'a string')}")
    if action.choices is not None and value not in action.choices:
        rule = f"must be one of {', '.join(map(str, action.choices))}"
        raise ValueError(f"{name} ({value!r}) {rule}")
    return kind(value)
