"""Sentence pairs from two text files, line by line, and their way to ids."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tested_transformer.files import StrPath
from tested_transformer.text.normalise import normalise
from tested_transformer.text.tokenizer import Tokenizer

LONGEST = 2**24
"""More bytes without a newline are no text: a device may send them without an end."""


def read_lines(path: StrPath) -> list[str]:
    """The lines of a UTF-8 file, without their ends. Only a newline ends a line."""
    return list(decode_lines(raw_lines(path), path))


def stream_lines(path: StrPath) -> Iterator[str]:
    """These lines one by one. A file whose name ends with .gz is unpacked meanwhile."""
    return decode_lines(raw_lines(path), path)


def raw_lines(path: StrPath) -> Iterator[bytes]:
    """The lines as bytes, and at most LONGEST + 1 of one; a cut .gz is a ValueError."""
    n, packed = 1, str(path).endswith(".gz")
    with gzip.open(path) if packed else open(path, "rb") as file:
        try:
            while line := file.readline(LONGEST + 1):
                yield line
                n += 1
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            found = f"{path}, line {n}: the file is damaged"
            raise ValueError(f"{found} ({error})") from None


def decode_lines(lines: Iterable[bytes], name: object) -> Iterator[str]:
    """Lines of UTF-8 as text, without their ends and a mark of the byte order.

    Bytes that are no UTF-8, and more than LONGEST of them, are a ValueError with name
    and the number of the line.
    """
    for number, line in enumerate(lines, start=1):
        try:
            text = decode_line(line, number == 1)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from None
        yield text


def decode_line(line: bytes, first: bool) -> str:
    """One of these lines; only the first may begin with a mark of the byte order."""
    if len(line) > LONGEST:
        raise ValueError(f"more than {LONGEST:,} bytes are no sentence")
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{line[error.start]:02x} is no UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def read_parallel(source: StrPath, target: StrPath) -> list[tuple[str, str]]:
    """Line n of one file with line n of the other, which must have as many."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise ValueError(
            f"the files must have equally many lines: {source} has {len(sources)}, "
            f"{target} has {len(targets)}"
        )
    return list(zip(sources, targets, strict=True))


@dataclass(frozen=True)
class Encoded:
    """Pairs as ids, and how many pairs were left out and why."""

    pairs: list[tuple[list[int], list[int]]]
    empty: int
    too_long: int


def encode_pairs(
    pairs: Iterable[tuple[str, str]], tokens: Tokenizer, max_len: int
) -> Encoded:
    """Sources end with eos; targets begin with bos, too. tokens says what they are.

    Each side is read as `normalise` writes it. A pair with an empty side, or with a
    side of more than max_len ids that a model would read, is left out whole and
    counted. Nothing is cut.
    """
    kept, empty, too_long = [], 0, 0
    _, bos, eos, _ = tokens.special_ids
    for place, (source, target) in enumerate(pairs):
        source = normalise(source, f"the source of pair {place}")
        target = normalise(target, f"the target of pair {place}")
        if not source or not target:
            empty += 1
            continue
        read = [*tokens.encode(source), eos]
        write = [bos, *tokens.encode(target), eos]
        if len(read) > max_len or len(write) - 1 > max_len:
            too_long += 1
        else:
            kept.append((read, write))
    return Encoded(kept, empty, too_long)
