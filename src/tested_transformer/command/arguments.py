"""Arguments that commands share: which sentence pairs, which model, which search."""

import argparse
import os
from pathlib import Path
from typing import Any

import torch

from tested_transformer.checks import at_least
from tested_transformer.decoding.hypothesis import length_penalty
from tested_transformer.decoding.translator import PHRASEBOOK, Translator
from tested_transformer.device import choose_device
from tested_transformer.files import check_writable, read_json
from tested_transformer.model.marian import Marian
from tested_transformer.published.folder import SOURCE_SPM
from tested_transformer.published.loading import load_published
from tested_transformer.text.sentence_pieces import SentencePieces
from tested_transformer.training.filenames import (
    CONFIG,
    CURVES,
    IDS,
    LOCK,
    LOG,
    METRICS,
    MODEL,
    RUN,
    STATE,
    TOKENS,
)

DEVICE: dict[str, Any] = {
    "default": "auto",
    "help": "auto, cpu, cuda, cuda:1 or mps (default %(default)s)",
}
THREADS: dict[str, Any] = {
    "type": int,
    "metavar": "N",
    "help": "how many CPU threads to use (else PyTorch decides); on a busy machine, 1 is "
    "often the fastest",
}
RUN_FILES = CONFIG, TOKENS, MODEL, STATE, RUN, METRICS, LOG, CURVES, LOCK, *IDS


def named(text: str) -> Path:
    """The path of that name. No name is an error, not the folder where we are.

    Neither can a name be bytes that are no text: safetensors and JSON have only UTF-8.
    """
    if not text:
        raise argparse.ArgumentTypeError("its name is empty")
    path = Path(text)
    try:
        str(path.resolve()).encode()
    except UnicodeEncodeError:
        rule = "rename it, or what it lies in"
        raise argparse.ArgumentTypeError(f"{text!a} is no UTF-8: {rule}") from None
    return path


def model_folder(text: str) -> Path:
    """The folder of that name; without one, "phrasebook" is the package's own model."""
    path = named(text)
    return PHRASEBOOK if text == PHRASEBOOK.name and not path.is_dir() else path


def add_pairs(add: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Ways to name sentence pairs, in a group for what one command adds."""
    data = add.add_argument_group("sentence pairs (from one place)")
    data.add_argument(
        "--source", type=named, help="text file or .gz, one sentence per line"
    )
    data.add_argument("--target", type=named, help="its translation, line by line")
    data.add_argument(
        "--pairs", type=named, metavar="FILE",
        help="a pair on each line: .tsv (source, tab, target) or .jsonl (an object with"
        ' the keys "source" and "target"), or either with .gz after it',
    )  # fmt: skip
    data.add_argument(
        "--multi30k", type=named, metavar="FOLDER", help="folder with its .gz files"
    )
    return data


def check_pairs(given: argparse.Namespace) -> None:
    """Refuse anything but one of the ways; text is none of pairs, for `train` only."""
    ways = [given.source or given.target, given.pairs, given.multi30k]
    ways += [given.phrasebook, getattr(given, "text", None)]
    if sum(way is not None for way in ways) != 1:
        names = "--pairs, or --multi30k, or --phrasebook"
        names += ", or --text" if hasattr(given, "text") else ""
        raise ValueError(f"give --source with --target, or {names}")
    if (given.source is None) != (given.target is None):
        raise ValueError("--source and --target belong together")


def check_output(path: Path, model: Path, *inputs: Path | None) -> None:
    """Refuse to write where no file can be, or over what is read, printed or the model's.

    A file is the same by whatever name or link it is reached.
    """
    check_writable(path)
    if not path.exists():
        return
    own = [model / name for name in RUN_FILES] + [*model.glob("epoch-*.safetensors")]
    for what, files in (("is read", inputs), (f"belongs to {model}", own)):
        if any(file and file.exists() and path.samefile(file) for file in files):
            raise ValueError(f"{path} would be written over, and it {what}")
    for number, name in enumerate(("input", "output", "error")):
        if is_open_as(number, path):
            rule = f"and it is what standard {name} is connected to"
            raise ValueError(f"{path} would be written over, {rule}")


def is_open_as(number: int, path: Path) -> bool:
    """Whether this file is open under that number; one that is closed is no file."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False


def use_threads(number: int | None) -> None:
    """Use this many CPU threads, or all of them if there are fewer."""
    if number is not None:
        at_least(1, threads=number)
        torch.set_num_threads(min(number, os.cpu_count() or 1))


def add_translator(add: argparse.ArgumentParser) -> None:
    """The model and the search."""
    add_folder(add)
    add.add_argument(
        "--beam", type=int, default=4, metavar="WIDTH",
        help="width of the beam search; 1 is greedy (default %(default)s)",
    )  # fmt: skip
    add.add_argument(
        "--alpha", type=float, default=0.6, metavar="float",
        help="strength of the length penalty (default %(default)s)",
    )  # fmt: skip
    add.add_argument("--device", **DEVICE)
    add.add_argument("--threads", **THREADS)


def add_folder(add: argparse.ArgumentParser) -> None:
    """The model."""
    add.add_argument(
        "--model", type=model_folder, default=PHRASEBOOK, metavar="FOLDER",
        help="folder of a trained model, or of a Marian of Hugging Face's (default "
        "phrasebook, the model in this package)",
    )  # fmt: skip


def load_translator(given: argparse.Namespace) -> Translator:
    """The translator that the command line asks for."""
    use_threads(given.threads)
    length_penalty(1, given.alpha)  # refused before there is much to wait for
    device = choose_device(given.device)
    return translator_of(given.model, device, given.beam, given.alpha)


def translator_of(
    folder: Path,
    device: torch.device | str = "cpu",
    width: int = 4,
    alpha: float = 0.6,
) -> Translator:
    """A translator of our files, or a published Marian."""
    if not (folder / CONFIG).is_file() or "model_type" not in read_json(
        folder / CONFIG, "checkpoint"
    ):
        return Translator.load(folder, device, width, alpha)
    model, tokens = load_published(folder, device, Marian)
    if not isinstance(tokens, SentencePieces):
        raise ValueError(f"{folder} has no {SOURCE_SPM}, so it reads no text")
    return Translator(model, tokens, width, alpha)
