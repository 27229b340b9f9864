"""Files that are whole or not there at all, and survive a power cut."""

import json
import os
from pathlib import Path
from typing import Any


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content under that name: whole, or not at all.

    It is written beside, synced to the disk, and renamed.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    if os.name == "posix":  # the new name, too, must survive a power cut
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Put content there as JSON that people can read, too."""
    text = json.dumps(content, ensure_ascii=False, indent=1)
    write(path, f"{text}\n".encode())


def read_json(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """The object in a JSON file; a ValueError says why it is no `what`."""
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"no such {what}: {path}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no {what}: not JSON ({error})") from None
    if not isinstance(saved, dict):
        found = type(saved).__name__
        raise ValueError(f"{path} is no {what}: it holds no object but a {found}")
    return saved


def sweep(folder: Path) -> list[Path]:
    """Remove the unfinished files that a killed run left behind, and return them."""
    stale = sorted(folder.glob(".*.tmp"))
    for path in stale:
        path.unlink(missing_ok=True)
    return stale
