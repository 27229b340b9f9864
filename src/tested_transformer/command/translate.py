"""The command `translate`: translate sentences, one per line."""

import argparse
import contextlib
import io
import sys
from collections import deque
from collections.abc import Generator, Iterator
from io import BufferedIOBase
from pathlib import Path

from tested_transformer.command import arguments as shared
from tested_transformer.command.page import Seen, attention_page
from tested_transformer.data.parallel import LONGEST, decode_lines
from tested_transformer.decoding.onnx import OnnxTranslator
from tested_transformer.decoding.translator import Translator
from tested_transformer.files import write
from tested_transformer.text.normalise import normalise

AT_ONCE = 64
"""So many lines are translated together, if they are there."""

FEW = 20
"""So many sentences a page of attention shows at most; each takes some 100 kB."""


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_translator(add)
    add.add_argument(
        "input",
        type=Path,
        nargs="?",
        help="text file, one sentence per line (default stdin)",
    )
    add.add_argument(
        "--attention", type=Path, metavar="PAGE.html",
        help=f"write a page with the attention weights of the first {FEW} sentences",
    )  # fmt: skip
    add.add_argument(
        "--n-best", type=int, metavar="N",
        help="write the N best translations of each line (at most the width of the beam),"
        " each after its score, with tabs between",
    )  # fmt: skip
    add.add_argument(
        "--onnx", type=shared.named, metavar="FOLDER",
        help="run what export has written there, on a processor, instead of --model",
    )  # fmt: skip


def translate(given: argparse.Namespace) -> None:
    """Write a line for each line read, as soon as it is ready.

    It is empty for a line with more tokens than the model reads; at the end that is an
    error.
    """
    if given.attention:
        shared.check_output(given.attention, given.model, given.input)
    if given.input is None and sys.stdin is None:
        raise ValueError("there is nothing to read: name a file, or pipe lines in")
    n, page = given.n_best, given.attention
    if n is not None and (page or not 0 < n <= given.beam):
        rule = f"must be from 1 to --beam ({given.beam}), without --attention"
        raise ValueError(f"--n-best ({n}) {rule}")
    translator = load(given)
    prepare_output()
    seen: list[Seen] = []
    sentences = lost = 0
    with contextlib.closing(translated(translator, given.input, given.n_best)) as pairs:
        for source, translation in pairs:
            print(translation, flush=True)
            lost += source is None
            if given.attention and source and normalise(source):
                sentences += 1
                if len(seen) < FEW:
                    seen += look(translator, source, translation)
    if given.attention:
        write(given.attention, attention_page(seen, sentences).encode())
        if len(seen) < sentences:
            warn(f"{given.attention} shows {len(seen)} of {sentences:,} sentences")
    if lost:
        what = "line was" if lost == 1 else "lines were"
        raise ValueError(f"{lost:,} {what} too long to be translated")


def load(given: argparse.Namespace) -> Translator:
    """A model with its tokeniser, or the graphs of one."""
    if not given.onnx:
        return shared.load_translator(given)
    if given.attention:
        raise ValueError("give --attention with --model: a graph gives no weights")
    shared.use_threads(given.threads)
    device = "cpu" if given.device == "auto" else given.device
    return OnnxTranslator.load(given.onnx, device, given.beam, given.alpha)


def prepare_output() -> None:
    """Write UTF-8, as what is read, but to a terminal what it can show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="backslashreplace")
        else:
            sys.stdout.reconfigure(encoding="utf-8")


def translated(
    translator: Translator, path: Path | None, n_best: int | None = None
) -> Generator[tuple[str | None, str], None, None]:
    """Each line with its translation; None with "" for one that the model cannot read."""
    place = 0
    for lines in arriving(path):
        read = [
            readable(translator, text, place + n) for n, text in enumerate(lines, 1)
        ]
        place += len(lines)
        texts = [text or "" for text in read]
        if n_best is None:
            written = translator.translate(texts, AT_ONCE)
        else:
            found = translator.n_best(texts, AT_ONCE)
            rows = (
                [f"{c.score:.4f}\t{c.text}" for c in some[:n_best]] for some in found
            )
            written = ["\t".join(row) for row in rows]
        yield from zip(read, written, strict=True)


def readable(translator: Translator, text: str, place: int) -> str | None:
    """The text, or None and a warning if it is too long for the model."""
    try:
        translator.encode(text, place)
    except ValueError as error:
        warn(f"line {place} stays empty: {error}")
        return None
    return text


def look(translator: Translator, source: str, translation: str) -> list[Seen]:
    """What the page shows of a sentence: nothing, and a warning, if that is too long."""
    try:
        return [Seen(source, translation, *translator.look(source, translation))]
    except ValueError as error:  # a translation that found no end before the limit
        warn(f"the page lacks {source[:40]!r}: {error}")
        return []


def warn(text: str) -> None:
    """Tell what is not as it should be, and go on."""
    print(f"warning: {text}", file=sys.stderr)


def arriving(path: Path | None) -> Iterator[list[str]]:
    """Lines in batches of AT_ONCE, or fewer, if no more have come yet.

    So who types a line, or writes one into a pipe, gets its translation at once.
    """
    waiting: deque[bytes] = deque()
    batch: list[str] = []
    with open(path, "rb") if path else contextlib.nullcontext(sys.stdin.buffer) as file:
        raw = raw_lines(file, waiting)  # type: ignore[arg-type] # stdin.buffer has read1
        lines = decode_lines(raw, path or "standard input")
        try:
            for line in lines:
                batch.append(line)
                if len(batch) == AT_ONCE or not waiting:
                    yield batch
                    batch = []
        except ValueError:
            yield batch  # what came before the error
            raise


def raw_lines(file: BufferedIOBase, waiting: deque[bytes]) -> Iterator[bytes]:
    """Lines without their ends; those that have come already stand in waiting."""
    rest = b""
    while came := file.read1(2**20):  # what there is, and waits only if it is nothing
        *lines, rest = (rest + came).split(b"\n")
        waiting.extend(lines)
        while waiting:
            yield waiting.popleft()
        if len(rest) > LONGEST:
            break  # without waiting for its end: it is refused
    if rest:
        yield rest
