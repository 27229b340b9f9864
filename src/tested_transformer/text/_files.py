"""JSON files: written whole or not at all, and refused in words if they are wrong."""

import json
import os
from pathlib import Path
from typing import Any

VERSION = 1


def write(path: str | os.PathLike[str], kind: str, name: str, content: Any) -> None:
    """Write one named content beside its kind.

    The file appears under its name only when it is complete.
    """
    path = Path(path)
    text = json.dumps(
        {"kind": kind, "version": VERSION, name: content}, ensure_ascii=False
    )
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read(path: str | os.PathLike[str], kind: str, name: str) -> list[Any]:
    """The list that `write` wrote under that kind and name.

    A ValueError says what else the file is.
    """
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no saved {kind}: not JSON ({error})") from None
    if not isinstance(saved, dict) or saved.get("kind") != kind:
        found = saved.get("kind") if isinstance(saved, dict) else type(saved).__name__
        raise ValueError(f"{path} is no saved {kind}: its kind is {found!r}")
    if saved.get("version") != VERSION:
        found = f"has version {saved.get('version')!r}"
        raise ValueError(f"{path} {found}; this package reads version {VERSION}")
    if not isinstance(saved.get(name), list):
        found = type(saved.get(name)).__name__
        raise ValueError(f"{path} is damaged: {name!r} must be a list, not {found}")
    return saved[name]
