"""Files: whole or not at all, on the disk before they get their names, and refused in words."""

import ast
import errno
import os
import re
import time

import pytest
from filelock import FileLock
from guards import ROOT

from tested_transformer.files import (
    check_writable,
    locked,
    make_folder,
    naming,
    read_json,
    sweep,
    write,
    write_all,
    write_json,
)
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training.events import Step
from tested_transformer.training.log import RunLog


def test_a_full_disk_leaves_the_old_file_and_no_scraps(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(path, b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{re.escape(str(path))}'"):
        write(path, b"new and longer")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


WRITERS = {
    "bytes": lambda path: write(path, b"content"),
    "JSON": lambda path: write_json(path, {"a": 1}),
    "a tokeniser": lambda path: BytePairEncoding([]).save(path),
    "the numbers of a run": lambda path: RunLog(path.parent)(Step(1, 0, 1.0, 0.5, 10, 0.1, 1.0)),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_file_is_complete_and_on_disk_before_it_gets_its_name(tmp_path, monkeypatch, writer):
    path, seen, sync = tmp_path / "metrics.jsonl", [], os.fsync

    def watched(descriptor):
        seen.append((path.exists(), os.fstat(descriptor)))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    WRITERS[writer](path)
    (named_before, content), (named_after, folder) = seen
    assert (named_before, named_after) == (False, True), "the content before the name, the name after it"
    assert content.st_size == path.stat().st_size, "nothing waits in a buffer"
    assert os.path.samestat(folder, tmp_path.stat())


def test_every_folder_is_synced_and_closed_again(tmp_path, monkeypatch):
    opened, really = [], os.open
    monkeypatch.setattr(os, "open", lambda *how: opened.append((how[0], really(*how))) or opened[-1][1])
    for folder in "ab":
        (tmp_path / folder).mkdir()
    write_all({tmp_path / name: b"x" for name in ("a/one", "b/two", "b/three")})
    assert [folder for folder, _ in opened] == [tmp_path / "a", tmp_path / "b"]
    for _, descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_two_processes_may_write_the_same_file_at_once(tmp_path, monkeypatch):
    path, sync, other = tmp_path / "file", os.fsync, os.getpid() + 1

    def meanwhile(descriptor):
        monkeypatch.setattr(os, "fsync", sync)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(os, "getpid", lambda: other)
            write(path, b"of the other")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write(path, b"ours")
    assert path.read_bytes() == b"ours"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_taken_by_a_folder_is_told_as_it_was_given(tmp_path):
    with pytest.raises(ValueError, match=rf"^{re.escape(str(tmp_path))} is a folder, not a file$"):
        write(tmp_path, b"content")


def test_an_error_with_words_of_its_own_keeps_them(tmp_path):
    with pytest.raises(OSError, match=r"^not seekable$"), naming(tmp_path / "file"):
        raise OSError("not seekable")


def test_a_name_that_leaves_no_room_for_the_unfinished_file_is_refused_before_the_work(tmp_path):
    for act in (check_writable, lambda path: write(path, b"content")):
        with pytest.raises(OSError, match=rf": '{re.escape(str(tmp_path))}/a{{250}}'$"):
            act(tmp_path / ("a" * 250))


def test_a_link_is_followed_and_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    write(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_bytes() == b"content"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_a_device_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for act in (lambda path: write(path, b"content"), check_writable):
        with pytest.raises(ValueError, match="pipe is a device, not a file"):
            act(tmp_path / "pipe")
    assert not (tmp_path / "pipe").is_file()


def test_of_several_files_all_are_replaced_or_none(tmp_path, monkeypatch):
    one, two = tmp_path / "one", tmp_path / "two"
    write_all({one: b"old", two: b"old"})
    sync, synced = os.fsync, []

    def full_for_the_second(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full_for_the_second)
        with pytest.raises(OSError, match=r"No space left on device: .*two"):
            write_all({one: b"new", two: b"new"})
    assert (one.read_bytes(), two.read_bytes()) == (b"old", b"old")
    assert sorted(tmp_path.iterdir()) == [one, two]
    write_all({one: b"new", two: b"newer"})
    assert (one.read_bytes(), two.read_bytes()) == (b"new", b"newer")


def test_a_place_that_takes_no_file_is_refused_before_there_is_one(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a folder, not a file"):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none.a\.html"):
        check_writable(tmp_path / "none" / "a.html")
    with pytest.raises(NotADirectoryError, match=r"file.a\.html"):
        check_writable(tmp_path / "file" / "a.html")
    check_writable(tmp_path / "new.html")
    check_writable(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "looking leaves nothing behind"


def test_a_folder_is_made_and_takes_files_or_is_refused_by_name(tmp_path, monkeypatch):
    assert make_folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file"):
        make_folder(tmp_path / "file" / "run")

    def read_only(**where):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tested_transformer.files.tempfile.TemporaryFile", read_only)
    with pytest.raises(OSError, match=r"Read-only file system: '.*a'"):
        make_folder(tmp_path / "a")


def test_a_lock_is_held_by_one_and_free_when_it_is_let_go(tmp_path):
    one, other = FileLock(tmp_path / ".lock"), FileLock(tmp_path / ".lock")
    with locked(one):
        with pytest.raises(ValueError, match=rf"{re.escape(str(tmp_path))} is in use: another run writes there"):
            other_try(other)
        with locked(one):
            pass
        with pytest.raises(ValueError, match="is in use"):
            other_try(other)
    with pytest.raises(ZeroDivisionError), locked(one):
        raise ZeroDivisionError
    other_try(other)


def other_try(lock):
    with locked(lock):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes can be forked here")
def test_a_killed_process_leaves_no_lock(tmp_path):
    ready, mine = tmp_path / "ready", FileLock(tmp_path / ".lock")
    child = os.fork()
    if not child:
        try:
            with locked(FileLock(tmp_path / ".lock")):
                ready.touch()
                time.sleep(60)
        finally:
            os._exit(1)
    while not ready.exists():
        time.sleep(0.01)
    with pytest.raises(ValueError, match="is in use"):
        other_try(mine)
    os.kill(child, 9)
    os.waitpid(child, 0)
    other_try(mine)


def test_scraps_of_a_killed_run_are_swept_and_nothing_else(tmp_path):
    scraps = [tmp_path / f".{name}.123.tmp" for name in ("config.json", "last.safetensors")]
    own = [tmp_path / name for name in (".lock", ".notes.tmp", "last.safetensors", "notes.tmp")]
    for path in (*scraps[::-1], *own):
        path.write_bytes(b"")
    assert sweep(tmp_path) == scraps
    assert sorted(tmp_path.iterdir()) == own


def test_json_comes_back_with_its_letters(tmp_path):
    write_json(tmp_path / "a.json", {"Größe": [1, None]})
    assert read_json(tmp_path / "a.json", "thing") == {"Größe": [1, None]}
    assert "Größe" in (tmp_path / "a.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", r"a\.json is no thing: not JSON"), ("[1]", r"a\.json is no thing: it holds no object but a list")],
)
def test_what_is_no_object_is_refused_by_name(tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        read_json(tmp_path / "a.json", "thing")
    with pytest.raises(FileNotFoundError, match=r"no such thing: .*b\.json"):
        read_json(tmp_path / "b.json", "thing")


def test_nothing_else_writes_files_in_place_of_others():
    """One module renames; a second way would have a strength of its own. (A log may be added to.)"""
    for path in sorted((ROOT / "src").rglob("*.py")):
        calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
        named = [n for n in calls if isinstance(n.func, ast.Attribute)]
        found = {n.func.attr for n in named} & {"write_text", "write_bytes", "fsync", "rename"}
        found |= {"replace" for n in named if n.func.attr == "replace" and len(n.args) == 1}
        opened = [n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "open"]
        found |= {
            "open" for n in opened if "".join(map(ast.unparse, n.args[1:])).strip("'") not in ("", "r", "rb", "a")
        }
        devnull = {"open"} if path.name == "__main__.py" else set()
        assert found <= devnull or path.name == "files.py", f"{path}: {found}"
