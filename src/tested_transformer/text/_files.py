"""Files of tokenisers: JSON that says what kind of tokeniser it is."""

import json
import os
from typing import Any

from tested_transformer import files

VERSION = 1


def to_json(kind: str, name: str, content: Any) -> bytes:
    """One named content beside its kind."""
    saved = {"kind": kind, "version": VERSION, name: content}
    return json.dumps(saved, ensure_ascii=False).encode()


def read(
    path: str | os.PathLike[str], kind: str, name: str, content: type = list
) -> Any:
    """The content, a list for example, that `to_json` wrote under that kind and name.

    A ValueError says what else the file is.
    """
    saved = files.read_json(path, f"saved {kind}")
    if saved.get("kind") != kind:
        found = saved.get("kind")
        raise ValueError(f"{path} is no saved {kind}: its kind is {found!r}")
    version = saved.get("version")
    if type(version) is not int or version != VERSION:
        found = f"has version {version!r}"
        raise ValueError(f"{path} {found}; this package reads version {VERSION}")
    if not isinstance(saved.get(name), content):
        rule = f"must be a {content.__name__}, not {type(saved.get(name)).__name__}"
        raise ValueError(f"{path} is damaged: {name!r} {rule}")
    return saved[name]
