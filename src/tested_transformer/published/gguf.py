"""GGUF, the file format of llama.cpp: fields and tensors in one file, mostly rounded.

The `gguf` package knows the kinds and turns rounded numbers back. Its reader believes
what a file says of its own sizes, so the header is read here.
"""

import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tested_transformer import files

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32
MOST = 2**22
"""So many entries the lists of one header may have in all: tokens, merges, kinds."""
LONGEST = 2**24
"""So many bytes one text may have: a chat template is the longest."""
STRING, ARRAY = 8, 9
SCALARS = dict(enumerate(("B", "b", "H", "h", "I", "i", "f", "?"))) | {
    10: "Q",
    11: "q",
    12: "d",
}
"""The kinds of fields, and how `struct` calls them."""
KINDS = ("F32", "F16", "Q8_0", "Q4_0", "Q4_1")
"""The kinds of tensors that are read."""
AT_ONCE = 2**22
"""So many numbers are made at once; they take a few times their size on the way."""


class Stored(NamedTuple):
    """Where a tensor is in the file, and how."""

    shape: tuple[int, ...]
    kind: str
    start: int
    n_bytes: int


class GgufFile:
    """The fields and tensors of a GGUF file. Nothing is read twice, and nothing ahead."""

    def __init__(self, path: files.StrPath) -> None:
        self.path, self._gguf = Path(path), _library()
        files.check_readable(path, "GGUF file")
        self._bytes = (
            np.memmap(path, dtype=np.uint8, mode="r")
            if os.path.getsize(path)
            else np.empty(0, np.uint8)
        )
        self._at = 0
        try:
            self.fields, self.tensors = self._read_header()
        except (struct.error, UnicodeDecodeError, OverflowError) as error:
            raise self._error(f"its header is cut off or damaged: {error}") from None

    def numbers(self, name: str) -> Iterator[tuple[slice, np.ndarray[Any, Any]]]:
        """The rows of a tensor as float32, some at a time, with which rows they are."""
        stored = self.tensors[name]
        single = len(stored.shape) == 1  # one row, of several blocks
        rows, *rest = (1, *stored.shape) if single else stored.shape
        raw = self._bytes[stored.start : stored.start + stored.n_bytes].reshape(
            rows, -1
        )
        kind = self._gguf.GGMLQuantizationType[stored.kind]
        step = max(1, AT_ONCE // math.prod(rest))
        for first in range(0, rows, step):
            part = slice(first, min(first + step, rows))
            found = self._gguf.quants.dequantize(
                raw[part].view(_PLAIN.get(stored.kind, np.uint8)), kind
            )
            found = found.reshape(-1, *rest)
            yield (slice(0, *rest), found[0]) if single else (part, found)

    def _read_header(self) -> tuple[dict[str, Any], dict[str, Stored]]:
        if self._take(4) != MAGIC:
            raise ValueError(
                f"{self.path} is no GGUF file: it does not begin with 'GGUF'"
            )
        (version,) = self._unpack("I")
        if version not in VERSIONS:
            known = " and ".join(map(str, VERSIONS))
            raise self._error(f"version {version}; {known} are known")
        n_tensors, n_fields = self._unpack("QQ")
        self._left, fields = MOST, {}
        self._spend(n_tensors + n_fields)
        for _ in range(n_fields):
            key, (kind,) = self._text(), self._unpack("I")
            if key in fields:
                raise self._error(f"it has {key!r:.80} twice")
            fields[key] = self._value(kind)
        found = [
            (self._text(), self._shape(), *self._unpack("IQ")) for _ in range(n_tensors)
        ]
        align = fields.get("general.alignment", ALIGNMENT)
        if type(align) is not int or not 8 <= align <= 2**20 or align % 8:
            raise self._error(f"general.alignment ({align!r}) must be a multiple of 8")
        start = -(-self._at // align) * align
        tensors = {}
        for name, shape, kind, offset in found:
            if name in tensors:
                raise self._error(f"it has the tensor {name!r:.80} twice")
            tensors[name] = self._stored(name, shape, kind, start, offset, align)
        self._check_apart(tensors)
        return fields, tensors

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._text()
        if kind == ARRAY:
            inner, n = self._unpack("IQ")
            self._spend(n)
            if inner == STRING:
                return [self._text() for _ in range(n)]
            if inner not in SCALARS:
                raise self._error(f"a list of the kind {inner}, which is not known")
            return [*self._unpack(f"{n}{SCALARS[inner]}")]
        if kind not in SCALARS:
            raise self._error(f"a field of the kind {kind}, which is not known")
        return self._unpack(SCALARS[kind])[0]

    def _stored(
        self,
        name: str,
        shape: tuple[int, ...],
        number: int,
        start: int,
        offset: int,
        align: int,
    ) -> Stored:
        kinds = self._gguf.GGMLQuantizationType
        kind = kinds(number).name if number in [*kinds] else f"number {number}"
        if kind not in KINDS:
            known = ", ".join(KINDS)
            raise self._error(f"{name!r:.80} is stored as {kind}; read are {known}")
        block, size = self._gguf.GGML_QUANT_SIZES[kinds[kind]]
        if shape[-1] % block:
            rule = f"of {shape[-1]} numbers must be a multiple of {block} for {kind}"
            raise self._error(f"{name!r:.80}: rows {rule}")
        n_bytes, begin = math.prod(shape) // block * size, start + offset
        if offset % align:
            raise self._error(f"{name!r:.80} is at {offset}, no multiple of {align}")
        if begin + n_bytes > len(self._bytes):
            rule = f"its {n_bytes} bytes at {begin} are not in a file of {len(self._bytes)}"
            raise self._error(f"{name!r:.80}: {rule}; is it cut off?")
        return Stored(shape, kind, begin, n_bytes)

    def _check_apart(self, tensors: dict[str, Stored]) -> None:
        """Small files must not ask for large models by having one tensor many times."""
        end, before = 0, ""
        for name, stored in sorted(tensors.items(), key=lambda item: item[1].start):
            if stored.start < end:
                raise self._error(f"{before!r:.80} and {name!r:.80} overlap")
            end, before = stored.start + stored.n_bytes, name

    def _shape(self) -> tuple[int, ...]:
        """The longest axis of memory comes first in the file, and last in PyTorch."""
        (n,) = self._unpack("I")
        if not 1 <= n <= 4:
            raise self._error(f"a tensor of {n} axes")
        shape = self._unpack(f"{n}Q")[::-1]
        if not all(0 < size < 2**31 for size in shape):
            raise self._error(f"a tensor of shape {shape}")
        return shape

    def _text(self) -> str:
        (n,) = self._unpack("Q")
        if n > LONGEST:
            raise self._error(f"a text of {n} bytes")
        return self._take(n).decode()

    def _unpack(self, kinds: str) -> tuple[Any, ...]:
        form = "<" + kinds
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _take(self, n: int) -> bytes:
        found = self._bytes[self._at : self._at + n].tobytes()
        if len(found) < n:
            raise self._error("its header is cut off")
        self._at += n
        return found

    def _spend(self, n: int) -> None:
        self._left -= n
        if self._left < 0 or n > len(self._bytes):
            raise self._error(f"its header says {n} entries, more than it can have")

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self.path} is no GGUF file that can be read: {what}")


_PLAIN = {"F32": np.float32, "F16": np.float16}


def _library() -> ModuleType:
    try:
        import gguf
        import gguf.quants
    except ModuleNotFoundError:
        rule = 'pip install "tested-transformer[models]"'
        raise ValueError(
            f"GGUF files need gguf, which is not installed: {rule}"
        ) from None
    return gguf
