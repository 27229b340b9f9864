"""Ids in a file of any size: written as a stream, read where they are on the disk."""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, overload

import numpy as np
from jaxtyping import Integer
from numpy.lib import format as npy

from tested_transformer import files
from tested_transformer.checks import at_least, instance, integer

SMALL, LARGE = np.dtype("<u2"), np.dtype("<u4")
"""What an id takes in a file: two bytes where the vocabulary fits, otherwise four."""

Ids = Sequence[int] | Integer[np.ndarray, "_"]
"""Whole numbers, in a list or in an array."""

CHUNK = 2**20
"""So many ids are looked at in one go."""


def write_ids(path: files.StrPath, texts: Iterable[Ids], vocab_size: int) -> int:
    """Write the ids of texts, one after the other, and return how many they are.

    The texts are read once, and none is kept. The file is an array of NumPy's (.npy),
    which gets its name when it is whole. Whatever must be between two texts, an eos for
    example, has to be in them.
    """
    integer(vocab_size=vocab_size)
    at_least(1, vocab_size=vocab_size)
    dtype, n = SMALL if vocab_size <= 2**16 else LARGE, 0
    with files.growing(path) as file:
        start = _write_header(file, dtype, n)
        for place, text in enumerate(texts):
            ids = _as_ids(text, vocab_size, f"text {place}").astype(dtype)
            with files.naming(path):
                file.write(ids.tobytes())
            n += len(ids)
        if not n:
            raise ValueError(f"{path} would be empty: no text has an id")
        file.seek(0)
        if _write_header(file, dtype, n) != start:  # NumPy leaves room for digits
            raise RuntimeError("the header of a .npy file has grown")
    return n


def _write_header(file: BinaryIO, dtype: np.dtype, n: int) -> int:
    """Write the header of a .npy file with n ids; returns where the ids begin."""
    told = {"descr": dtype.str, "fortran_order": False, "shape": (n,)}
    npy.write_array_header_1_0(file, told)
    return file.tell()


def _as_ids(text: Ids, vocab_size: int, what: str) -> Integer[np.ndarray, "N"]:
    """A text as an array; an id that the vocabulary lacks is an error."""
    ids = np.asarray(text) if len(text) else np.empty(0, dtype=int)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(f"{what} has ids that are no whole numbers: {text!r:.40}")
    check_within(ids, vocab_size, what)
    return ids


def check_within(ids: Integer[np.ndarray, "N"], vocab_size: int, what: str) -> None:
    """Refuse ids that the vocabulary lacks."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
        rule = f"all must be at least 0 and below {vocab_size}"
        raise ValueError(f"{what} has ids from {ids.min()} to {ids.max()}; {rule}")


def read_ids(path: files.StrPath) -> Integer[np.ndarray, "N"]:
    """The ids in a file that `write_ids` wrote, as a map: none is in memory yet.

    Only the header is read. A file that was cut, or is of another kind, is a ValueError.
    """
    path = Path(path)
    files.check_readable(path, "file of ids")
    try:
        with open(path, "rb") as file:
            if (version := npy.read_magic(file)) != (1, 0):
                raise ValueError(f"its format has the version {version}, not (1, 0)")
            shape, _, dtype = npy.read_array_header_1_0(file)
            start = file.tell()
        if len(shape) != 1 or dtype not in (SMALL, LARGE):
            rule = f"not a row of {SMALL.name} or {LARGE.name}"
            raise ValueError(f"it holds {dtype} of the shape {shape}, {rule}")
        wanted, found = start + shape[0] * dtype.itemsize, path.stat().st_size
        if found != wanted:
            rule = f"has {found:,} bytes, and its header promises {wanted:,}"
            raise ValueError(f"it {rule}: write it again")
    except ValueError as error:
        raise ValueError(f"{path} is no whole file of ids: {error}") from None
    return np.memmap(path, dtype, "r", start, shape)


class Packed(Sequence[Integer[np.ndarray, "W"]]):
    """One long row of ids, cut into windows of length + 1 for a `LanguageModel`.

    A window begins with the last id of the one before it, so that every id but the
    first is asked for once; fewer than length are left over at the end. Short texts
    that stand in one row share windows, and attention looks over the border between
    two, as GPT-2 and GPT-3 were trained. ids may be a map of a file: a batch takes what
    it needs, and nothing else is in memory.
    """

    def __init__(self, ids: Integer[np.ndarray, "N"], length: int) -> None:
        instance(np.ndarray, ids=ids)
        integer(length=length)
        at_least(1, length=length)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            rule = "must be one row of whole numbers"
            raise TypeError(f"ids {rule}, not {ids.dtype} of the shape {ids.shape}")
        if len(ids) <= length:
            rule = f"a window of length {length} needs {length + 1}"
            raise ValueError(f"there are {len(ids)} ids, and {rule}")
        self.ids, self.length = ids, length

    def __len__(self) -> int:
        """How many windows there are."""
        return (len(self.ids) - 1) // self.length

    @overload
    def __getitem__(self, i: int) -> Integer[np.ndarray, "W"]: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[Integer[np.ndarray, "W"]]: ...
    def __getitem__(
        self, i: int | slice
    ) -> Integer[np.ndarray, "W"] | Sequence[Integer[np.ndarray, "W"]]:
        """One window, or a list of some."""
        if isinstance(i, slice):
            return list(self.rows(range(*i.indices(len(self)))))
        if not -len(self) <= i < len(self):
            raise IndexError(f"window ({i}) must be below {len(self)}")
        return self.rows([i % len(self)])[0]

    def rows(self, places: Ids) -> Integer[np.ndarray, "B W"]:
        """The windows at these places as one batch of int64."""
        starts = self.length * np.asarray(places, dtype=np.int64)
        return _mapped(self.ids)[starts[:, None] + np.arange(self.length + 1)].astype(
            np.int64
        )

    def chunks(self) -> Iterator[Integer[np.ndarray, "C"]]:
        """All ids that are in windows, some at a time."""
        end = len(self) * self.length + 1
        for start in range(0, end, CHUNK):
            yield _mapped(self.ids)[start : min(start + CHUNK, end)]

    def contents(self) -> Iterator[bytes]:
        """All ids that are in windows as bytes, the same whatever type and file they have."""
        for ids in self.chunks():
            yield ids.astype(LARGE).tobytes()


def _mapped(ids: Integer[np.ndarray, "N"]) -> Integer[np.ndarray, "N"]:
    """The same ids; a file is mapped anew.

    What was read through a map counts as memory of the process while the map is open.
    """
    if isinstance(ids, np.memmap) and isinstance(ids.base, mmap.mmap):
        return np.memmap(ids.filename, ids.dtype, "r", ids.offset, ids.shape)
    return ids
