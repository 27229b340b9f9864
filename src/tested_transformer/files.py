"""Files that are whole or not there at all, and survive a power cut."""

import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

StrPath = str | os.PathLike[str]
SCRAP = re.compile(r"\..+\.\d+\.tmp")


def write(path: StrPath, content: bytes) -> None:
    """Put content under that name: whole, or not at all."""
    write_all({Path(path): content})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Put each content under its name. If one cannot be written, none is replaced.

    All are written to temporary files and synced to the disk, then renamed in this order. If one
    cannot be renamed, those before it get back what they had. A process that is killed
    between two renames leaves the first files new and the others old.
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
        rename_all(beside)
    finally:
        for scrap in beside.values():
            with suppress(OSError):
                scrap.unlink(missing_ok=True)
    for parent in dict.fromkeys(path.parent for path in contents):
        sync_folder(parent)


@contextmanager
def growing(path: StrPath) -> Iterator[BinaryIO]:
    """A file to write piece by piece. At the end it gets its name, whole, or it is gone.

    Errors of what is done meanwhile stay as they are: they may be about other files.
    """
    check_file(Path(path))
    path = Path(path).resolve()
    scrap = unfinished(path)
    try:
        with naming(path):
            file = open(scrap, "wb")  # noqa: SIM115
        with file:
            yield file
            with naming(path):
                file.flush()
                os.fsync(file.fileno())
        rename_all({path: scrap})
    finally:
        with suppress(OSError):
            scrap.unlink(missing_ok=True)
    sync_folder(path.parent)


def rename_all(beside: Mapping[Path, Path]) -> None:
    """Give each file its name. Where one fails, those before it get back what they had.

    A drive that refuses this, too, leaves them as they are.
    """
    old: dict[Path, bytes | None] = {}
    for path in [*beside][:-1]:  # behind the last one nothing can fail
        with naming(path):
            old[path] = path.read_bytes() if path.exists() else None
    done = []
    try:
        for path, written in beside.items():
            with naming(path):
                written.replace(path)
            done.append(path)
    except OSError:
        for path in done:
            with suppress(OSError):
                before = old[path]
                path.unlink() if before is None else write(path, before)
        raise


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power cut. Where that is not to be had, warn.

    Some drives (of a network, of a virtual machine) cannot do it; the files are whole.
    """
    if os.name != "posix":  # Windows syncs no folders
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        warn_unsynced(folder, f"{error.strerror}")


@cache
def warn_unsynced(folder: Path, why: str) -> None:
    """Say it once for each folder: a run writes there again and again."""
    rule = "what was written there may be gone after a power cut"
    warnings.warn(f"{folder} cannot be synced ({why}): {rule}", stacklevel=2)


@contextmanager
def naming(path: StrPath) -> Iterator[None]:
    """Let an error of the system name the file that was meant: a full disk does not."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # it has words of its own
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


IN_WORDS: dict[type[OSError], str] = {
    FileNotFoundError: "no such file or folder: {}",
    PermissionError: "no permission for {}",
    IsADirectoryError: "{} is a folder, not a file",
    NotADirectoryError: "{}: a file is where a folder must be",
    FileExistsError: "{}: a file is where a folder must be",  # as mkdir says it
}
"""What the system says of a file, as a command tells it."""


def in_words(error: Exception) -> str:
    """What an error says, without the number that the system has for it."""
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    if error.filename is None:
        return f"{error.strerror}"
    return IN_WORDS.get(type(error), f"{error.strerror}: {{}}").format(error.filename)


def unfinished(path: Path) -> Path:
    """Where a file is written before it gets its name."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def check_file(path: Path) -> None:
    """Refuse the name of a folder or a device: a file would take its place."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device"
        raise ValueError(f"{path} is {what}, not a file")


def check_readable(path: StrPath, what: str) -> None:
    """Refuse what cannot be read as a file, and say why. At a pipe one would wait."""
    check_file(Path(path))
    try:
        with open(path, "rb"):
            pass
    except FileNotFoundError:
        raise FileNotFoundError(f"no such {what}: {path}") from None


def check_name(path: StrPath) -> None:
    """Refuse a name that is no UTF-8: safetensors could not open a file there."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        rule = "is no UTF-8: choose another"
        raise ValueError(f"the name {os.fspath(path)!r} {rule}") from None


def check_writable(path: StrPath) -> None:
    """Refuse a name under which no file could be written, before work is done for it."""
    check_file(Path(path))
    scrap = unfinished(Path(path).resolve())
    with naming(path), open(scrap, "wb"):
        pass
    scrap.unlink()


def make_folder(path: StrPath) -> Path:
    """The folder of that name, made if it is not there, and looked at: it takes files."""
    check_name(path)
    folder = Path(path)
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder


@contextmanager
def undoing(path: StrPath, names: Iterable[str]) -> Iterator[None]:
    """If what is done meanwhile fails, what it made is gone: these files, and the folder."""
    folder = Path(path)
    new = [folder / name for name in names if not (folder / name).exists()]
    new += [] if folder.exists() else [folder]
    try:
        yield
    except BaseException:
        for each in new:
            with suppress(OSError):
                each.rmdir() if each == folder else each.unlink()
        raise


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
    text = json.dumps(content, ensure_ascii=False, indent=1)
    # Half a character, as in names that are no UTF-8, is written as JSON's escape
    return f"{text}\n".encode(errors="backslashreplace")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The object with a checksum of all the rest in it, so that an edit is found out.

    It says nothing about where the numbers come from.
    """
    rest = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True)
    return rest | {"sha256": sha256(text.encode()).hexdigest()}


def read_json(path: StrPath, what: str) -> dict[str, Any]:
    """The object in a JSON file; a ValueError says why it is no `what`."""
    check_readable(path, what)
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
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
