"""What the commands for published models share: which model, and how to draw."""

import argparse
from typing import Any

import torch
from torch import nn

from tested_transformer.checks import at_least, integer
from tested_transformer.command import arguments as shared
from tested_transformer.decoding.conversation import drawing
from tested_transformer.device import choose_device
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.marian import Marian
from tested_transformer.published.installed import installed
from tested_transformer.published.loading import load_published
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.training.filenames import TOKENS

PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def add_model(add: argparse.ArgumentParser, default: str, more: str = "") -> None:
    """Which model, where it runs, and in which numbers; more names other models."""
    add.add_argument(
        "--model", type=shared.named, metavar="PATH",
        help=f"{more}folder of Hugging Face's, zip of one, or GGUF file (default {default})",
    )  # fmt: skip
    add.add_argument("--device", **shared.DEVICE)
    add.add_argument("--threads", **shared.THREADS)
    add.add_argument(
        "--dtype", choices=PRECISIONS, default="float32",
        help="what it computes in (default %(default)s); bfloat16 takes half the memory, "
        "and rounds: a small model writes worse",
    )  # fmt: skip


def add_drawing(add: argparse.ArgumentParser, temperature: float) -> None:
    """How the next token is chosen."""
    add.add_argument(
        "--temperature", type=float, default=temperature, metavar="T",
        help="0 takes the likeliest token, 1 draws as the model says (default %(default)s)",
    )  # fmt: skip
    add.add_argument(
        "--top-p", type=float, default=1.0, metavar="P",
        help="draw from the likeliest tokens that have this probability together "
        "(default %(default)s: all)",
    )  # fmt: skip
    add.add_argument(
        "--seed", type=int, default=0, help="of the random numbers (default %(default)s)"
    )  # fmt: skip
    add.add_argument(
        "--max-tokens", type=int, default=1000, metavar="N",
        help="end after so many tokens (default %(default)s), or where the context is full",
    )  # fmt: skip


def load(given: argparse.Namespace, package: str) -> tuple[nn.Module, object]:
    """The model that the command line names, or the one in that package."""
    shared.use_threads(given.threads)
    device = choose_device(given.device)
    path = installed(package) if given.model is None else given.model
    if given.model is not None and (path / TOKENS).is_file():
        rule = "give one that is published; generate and translate take those of train"
        raise ValueError(f"{path} is a model of train: {rule}")
    return load_published(path, device, dtype=PRECISIONS[given.dtype])


def load_writer(given: argparse.Namespace, package: str) -> tuple[Gpt, ByteLevelBPE]:
    """A model that writes, and its tokeniser."""
    model, tokens = load(given, package)
    if not isinstance(model, Gpt):
        found = f"{given.model} is a {type(model).__name__}, which writes no text"
        hint = ": the command translate takes it" if isinstance(model, Marian) else ""
        raise ValueError(found + hint)
    if not isinstance(tokens, ByteLevelBPE):
        raise ValueError(f"{given.model} has no tokeniser, so it reads no text")
    return model, tokens


def draws(given: argparse.Namespace) -> tuple[dict[str, Any], torch.Generator]:
    """How to choose the next token; what cannot be is refused, before there is a model."""
    at_least(1, max_tokens=given.max_tokens)
    integer(seed=given.seed)
    generator = torch.Generator().manual_seed(given.seed)
    return drawing(given.temperature, given.top_p), generator
