"""Writing token by token, and conversations whose earlier turns stay in the cache."""

import codecs
import re
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.checks import at_least, integer, number
from tested_transformer.decoding._checks import BEGIN, END, check_chatml, first
from tested_transformer.decoding.cache import reader
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import check_finite
from tested_transformer.decoding.sampling import draw, next_probabilities
from tested_transformer.model.gpt import Gpt
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.text.tokens import BytePairEncoding


def stream(
    model: Gpt,
    ids: Sequence[int],
    stop: Collection[int],
    max_len: int | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    read: Callable[[Tensor], Float[Tensor, "B N V"]] | None = None,
) -> Iterator[int]:
    """One token after the other, as `sample` would write them, each as soon as it is there.

    It ends after an id of stop, which is the last one given, and where there are max_len
    tokens with those of ids; without max_len, where the context of the model is full. read
    is a `reader` that may have read a beginning of ids before.
    """
    c = model.config
    max_len = c.max_len if max_len is None else max_len
    integer(max_len=max_len)
    if not 0 < len(ids) < max_len <= c.max_len:
        rule = f"must be above the prompt's length ({len(ids)}) and at most {c.max_len}"
        raise ValueError(f"max_len ({max_len}) {rule}")
    text, read = [*ids], read or reader(model)
    device = model.tokens.weight.device
    while len(text) < max_len:
        with inference(model):
            logits = read(torch.tensor([text], device=device))[:, -1]
            check_finite(logits.amax(-1))
            p = next_probabilities(logits, temperature, top_k, top_p)
            text.append(int(draw(p, generator)))
        yield text[-1]
        if text[-1] in stop:
            return


def drawing(temperature: float, top_p: float = 1.0) -> dict[str, Any]:
    """What to tell `stream`, where a temperature of 0 takes the likeliest token."""
    number(temperature=temperature, top_p=top_p)
    if not 0 <= temperature < float("inf"):
        rule = "must be finite and at least 0, which takes the likeliest token"
        raise ValueError(f"temperature ({temperature}) {rule}")
    settings: dict[str, Any] = {"temperature": temperature, "top_p": top_p}
    if temperature == 0:
        settings |= {"temperature": 1.0, "top_k": 1}
    next_probabilities(torch.zeros(1, 2), **settings)  # refused at once
    return settings


def pieces(
    tokens: ByteLevelBPE | BytePairEncoding, ids: Iterator[int]
) -> Generator[str, None, None]:
    """The text of ids while they come; a character is given when all its bytes are there."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for i in ids:
        if piece := decoder.decode(tokens.decode_bytes([i])):
            yield piece
    if rest := decoder.decode(b"", final=True):
        yield rest


class Conversation:
    """Turns of a user and a model, in ChatML: a chat is a text with marks between turns.

    What has been read stays in the cache, so a turn costs its own tokens only. system is
    the text that stands before all turns; without it, the one that the model's publisher
    gives, if there is one. A chat template that is not ChatML is a ValueError; without
    one, turns are in ChatML as well. Answers stay whole, thoughts (<think>) too, which
    some templates take out of earlier turns. What a user types is text: no mark can be typed. temperature 0
    takes the likeliest token each time. `ids` are the turns so far, each with its end.
    """

    def __init__(
        self,
        model: Gpt,
        tokens: ByteLevelBPE,
        system: str | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        for mark in (BEGIN, END):
            if mark not in tokens.special_tokens:
                rule = (
                    "so it knows no turns of a conversation: let it go on with a text"
                )
                raise ValueError(f"the tokeniser has no {mark}, {rule}")
        check_chatml(tokens.chat_template)
        self.model, self.tokens, self.generator = model, tokens, generator
        self.settings = drawing(temperature, top_p)
        self._begin, self._end = (tokens.special_tokens[m] for m in (BEGIN, END))
        self._closing = [self._end, *tokens.encode("\n")]
        self._read = first(tokens.vocab_size, reader(model))
        system = default_system(tokens.chat_template) if system is None else system
        self.ids: list[int] = [] if system is None else self._turn("system", system)
        self._check_room(self.ids)

    @property
    def left(self) -> int:
        """How many tokens of the model's context are left."""
        return self.model.config.max_len - len(self.ids)

    def say(
        self, text: str, max_tokens: int | None = None
    ) -> Generator[str, None, None]:
        """The answer to what a user says, in pieces, each as soon as it is written.

        It has at most max_tokens tokens. The turn begins when its first piece is asked
        for. Whoever stops listening, or begins another turn, ends the answer there, and
        the conversation can go on. A text for which there is no room is a ValueError,
        and changes nothing.
        """
        if max_tokens is not None:
            integer(max_tokens=max_tokens)
            at_least(1, max_tokens=max_tokens)
        opening = [self._begin, *self.tokens.encode("assistant\n")]
        ids = [*self.ids, *self._turn("user", text), *opening]
        self._check_room([*ids, *self._closing])
        most = self.model.config.max_len - len(self._closing)
        if max_tokens is not None:
            most = min(most, len(ids) + max_tokens)
        return pieces(self.tokens, self._answer(self.ids, ids, most))

    def _answer(self, before: list[int], ids: list[int], max_len: int) -> Iterator[int]:
        """Each token goes before the end, so that a turn is whole whenever it is left."""
        if self.ids is not before:
            return  # another turn has begun
        self.ids = now = [*ids, *self._closing]
        stop = {self._end, self.model.config.eos_id, *self.tokens.ends}
        for i in stream(
            self.model, ids, stop, max_len, generator=self.generator, read=self._read,
            **self.settings,
        ):  # fmt: skip
            if i in stop:
                return
            now.insert(-len(self._closing), i)
            yield i
            if self.ids is not now:
                return

    def _turn(self, role: str, text: str) -> list[int]:
        words = self.tokens.encode(f"{role}\n{text}")
        return [self._begin, *words, *self._closing]

    def _check_room(self, ids: list[int]) -> None:
        """Refuse ids that leave no room for one more token."""
        most = self.model.config.max_len
        if len(ids) >= most:
            least = f"would have at least {len(ids) + 1:,} tokens"
            raise ValueError(
                f"the conversation {least}, and the context of the model has {most:,}"
            )


def default_system(template: str | None) -> str | None:
    """The system text that a chat template in ChatML begins with, unless one is given.

    Only words are one: no text in which a quotation mark or a brace stands.
    """
    start, end = (re.escape(mark) for mark in (f"{BEGIN}system\n", END))
    # In many templates the end of a line is written as in Python's strings
    template = (template or "").replace("\\n", "\n")
    found = re.search(f"""{start}([^'"{{}}]*?){end}""", template)
    return found[1] if found else None
