"""Writing token by token, and conversations whose earlier turns stay in the cache."""

import codecs
import re
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.checks import at_least, integer
from tested_transformer.decoding.cache import reader
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import check_finite
from tested_transformer.decoding.sampling import draw, next_probabilities
from tested_transformer.model.gpt import Gpt
from tested_transformer.text.byte_level import ByteLevelBPE

BEGIN, END = "<|im_start|>", "<|im_end|>"
"""Around each turn, in ChatML."""


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


def pieces(tokens: ByteLevelBPE, ids: Iterator[int]) -> Generator[str, None, None]:
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
    gives, if there is one. What a user types is text: no mark can be typed. temperature 0
    takes the likeliest token each time.
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
        self.model, self.tokens, self.generator = model, tokens, generator
        self.settings: dict[str, Any] = {"temperature": temperature, "top_p": top_p}
        if temperature == 0:
            self.settings |= {"temperature": 1.0, "top_k": 1}
        next_probabilities(torch.zeros(1, 2), **self.settings)  # refused at once
        self._begin, self._end = (tokens.special_tokens[m] for m in (BEGIN, END))
        self._newline = tokens.encode("\n")
        self._read = reader(model)
        system = default_system(tokens.chat_template) if system is None else system
        self.ids: list[int] = [] if system is None else self._turn("system", system)

    @property
    def left(self) -> int:
        """How many tokens of the model's context are left."""
        return self.model.config.max_len - len(self.ids)

    def say(
        self, text: str, max_tokens: int | None = None
    ) -> Generator[str, None, None]:
        """The answer to what a user says, in pieces, each as soon as it is written.

        It has at most max_tokens tokens. Whoever stops listening ends it there, and the
        conversation can go on.
        """
        if max_tokens is not None:
            integer(max_tokens=max_tokens)
            at_least(1, max_tokens=max_tokens)
        opening = [self._begin, *self.tokens.encode("assistant\n")]
        ids = [*self.ids, *self._turn("user", text), *opening]
        closing = 1 + len(self._newline)
        most = self.model.config.max_len - closing
        if len(ids) >= most:
            rule = (
                f"tokens, and the context of the model has {self.model.config.max_len}"
            )
            raise ValueError(f"the conversation would have {len(ids) + closing} {rule}")
        if max_tokens is not None:
            most = min(most, len(ids) + max_tokens)
        self.ids = ids
        return pieces(self.tokens, self._answer(most))

    def _answer(self, max_len: int) -> Iterator[int]:
        stop, settings = {self._end, self.model.config.eos_id}, self.settings
        before = [*self.ids]
        try:
            for i in stream(
                self.model, before, stop, max_len, generator=self.generator,
                read=self._read, **settings,
            ):  # fmt: skip
                if i in stop:
                    break
                self.ids.append(i)
                yield i
        except KeyboardInterrupt:  # amid a layer, perhaps: what is kept may be torn
            self._read = reader(self.model)
            raise
        finally:
            self.ids += [self._end, *self._newline]

    def _turn(self, role: str, text: str) -> list[int]:
        words = self.tokens.encode(f"{role}\n{text}")
        return [self._begin, *words, self._end, *self._newline]


def default_system(template: str | None) -> str | None:
    """The system text that a chat template in ChatML begins with, unless one is given."""
    start = re.escape(f"{BEGIN}system\n")
    found = re.search(f"{start}(.*?){re.escape(END)}", template or "", re.DOTALL)
    return found[1] if found and "{{" not in found[1] and "'" not in found[1] else None
