"""Files that are whole or not there at all, and survive a power cut."""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

StrPath = str | os.PathLike[str]
SCRAP = re.compile(r"\..+\.\d+\.tmp")


def write(path: StrPath, content: bytes) -> None:
    """Put content under that name: whole, or not at all."""
    write_all({Path(path): content})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Put each content under its name. If one cannot be written, none is replaced.

    They are written beside, synced to the disk, and renamed.
    """
    for path in contents:
        check_file(path)
    contents = {path.resolve(): content for path, content in contents.items()}
    beside = {path: unfinished(path) for path in contents}
    try:
        for path, content in contents.items():
            with naming(path), open(beside[path], "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path in contents:
            with naming(path):
                beside[path].replace(path)
    finally:
        for scrap in beside.values():
            with suppress(OSError):
                scrap.unlink(missing_ok=True)
    if os.name == "posix":  # the new names, too, must survive a power cut
        for parent in dict.fromkeys(path.parent for path in contents):
            folder = os.open(parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


@contextmanager
def naming(path: StrPath) -> Iterator[None]:
    """Let an error of the system name the file that was meant: a full disk does not."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # it has words of its own
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def unfinished(path: Path) -> Path:
    """Where a file is written before it gets its name."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def check_file(path: Path) -> None:
    """Refuse the name of a folder or a device: a file would take its place."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device"
        raise ValueError(f"{path} is {what}, not a file")


def check_writable(path: StrPath) -> None:
    """Refuse a name under which no file could be written, before work is done for it."""
    check_file(Path(path))
    scrap = unfinished(Path(path).resolve())
    with naming(path), open(scrap, "wb"):
        pass
    scrap.unlink()


def make_folder(path: StrPath) -> Path:
    """The folder of that name, made if it is not there, and looked at: it takes files."""
    folder = Path(path)
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder


@contextmanager
def locked(lock: FileLock) -> Iterator[None]:
    """Hold the lock, or refuse. The system frees it when a process ends, killed or not."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        folder = Path(lock.lock_file).parent
        raise ValueError(f"{folder} is in use: another run writes there") from None
    try:
        yield
    finally:
        lock.release()


def write_json(path: StrPath, content: Any) -> None:
    """Put content there as JSON that people can read, too."""
    write(path, to_json(content))


def to_json(content: Any) -> bytes:
    """The content as JSON that people can read, too."""
    return f"{json.dumps(content, ensure_ascii=False, indent=1)}\n".encode()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The object with a checksum of all the rest in it, so that an edit is found out.

    It says nothing about where the numbers come from.
    """
    rest = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True)
    return rest | {"sha256": sha256(text.encode()).hexdigest()}


def read_json(path: StrPath, what: str) -> dict[str, Any]:
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
    stale = [p for p in sorted(folder.glob(".*.tmp")) if SCRAP.fullmatch(p.name)]
    for path in stale:
        path.unlink(missing_ok=True)
    return stale
