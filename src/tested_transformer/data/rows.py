"""Pairs and texts from files with one on each line, read as a stream: TSV, JSONL, .gz."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tested_transformer.data.parallel import stream_lines
from tested_transformer.files import StrPath
from tested_transformer.text.tokenizer import Tokenizer

SOURCE, TARGET, TEXT = "source", "target", "text"
"""The keys of a row of JSON."""


def stream_pairs(path: StrPath) -> Iterator[tuple[str, str]]:
    """Source and target of each line of a .tsv or .jsonl file, which may end with .gz.

    A line of TSV has two columns with a tab between them; one of JSONL is an object with
    the keys "source" and "target", and perhaps others. Empty lines are passed over.
    """
    kind = _ending(path)
    if kind not in (".tsv", ".jsonl"):
        rule = "pairs are in a file that ends with .tsv or .jsonl, or .gz after it"
        raise ValueError(f"{path}: {rule}")
    for number, line in _full_lines(path):
        try:
            if kind == ".jsonl":
                source, target = _from_json(line, (SOURCE, TARGET))
            elif line.count("\t") == 1:
                source, target = line.split("\t")
            else:
                found = line.count("\t") + 1
                raise ValueError(f"the columns must be two, not {found}")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        yield source, target


def stream_texts(path: StrPath) -> Iterator[str]:
    """The texts of a file, which may end with .gz: each line is one.

    In .jsonl a line is an object with the key "text", so a text there may have lines of
    its own; every other file is plain text. Lines of white space are passed over.
    """
    for number, line in _full_lines(path):
        text = line
        if _ending(path) == ".jsonl":
            try:
                (text,) = _from_json(line, (TEXT,))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
        if text.strip():
            yield text


def _full_lines(path: StrPath) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, with their numbers."""
    return ((n, line) for n, line in enumerate(stream_lines(path), 1) if line)


def _ending(path: StrPath) -> str:
    """What kind of file this is: ".jsonl" for rows.jsonl and rows.jsonl.gz."""
    return Path(Path(path).name.removesuffix(".gz")).suffix


def _from_json(line: str, keys: tuple[str, ...]) -> list[str]:
    """The texts under these keys of an object in JSON."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
    if not isinstance(row, dict):
        raise ValueError(f"a row must be an object, not {line!r:.40}")
    for key in keys:
        if key not in row:
            has = ", ".join(map(repr, row)) or "none"
            raise ValueError(f"a row must have the key {key!r}; its keys: {has:.80}")
        if not isinstance(row[key], str):
            raise ValueError(f"{key} ({row[key]!r:.40}) must be a string")
        if any("\ud800" <= c <= "\udfff" for c in row[key]):
            raise ValueError(f"{key} has half of a surrogate pair, which is no text")
    return [row[key] for key in keys]


def encode_texts(texts: Iterable[str], tokens: Tokenizer) -> Iterator[list[int]]:
    """The ids of each text, one at a time: bos, what the text is, eos.

    No text is changed. A tokeniser without a bos of its own, as GPT-2's, has only eos.
    """
    begin, eos = opening(tokens), tokens.special_ids.eos
    for text in texts:
        yield [*begin, *tokens.encode(text), eos]


def opening(tokens: Tokenizer) -> list[int]:
    """What stands before a text: bos, unless the model has learned none."""
    _, bos, eos, _ = tokens.special_ids
    return [bos] if getattr(tokens, "add_bos", bos != eos) else []
