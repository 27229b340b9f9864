"""From sentences to sentences: a trained model with its tokeniser."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.checks import at_least, instance, integer, number, require_many
from tested_transformer.config import Config
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.hypothesis import Hypothesis, length_penalty
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.normalise import normalise
from tested_transformer.text.sentence_pieces import SentencePieces
from tested_transformer.text.tokenizer import Tokenizer
from tested_transformer.text.tokens import pad
from tested_transformer.training import checkpoint
from tested_transformer.training.filenames import TOKENS

PHRASEBOOK = Path(__file__).parents[1] / "trained" / "phrasebook"
"""A small English-German model that comes with the package."""

Found = TypeVar("Found")


class Candidate(NamedTuple):
    """One of several translations; score and log_probability as in `Hypothesis`."""

    text: str
    score: float
    log_probability: float


class Translator:
    """Translates sentences with a trained model.

    width is the number of hypotheses of the beam search, 1 for greedy decoding; alpha
    belongs to its length penalty (paper, Section 6.1). Any `Tokenizer` will do that
    belongs to the model.
    """

    def __init__(
        self,
        model: Transformer,
        tokens: Tokenizer,
        width: int = 4,
        alpha: float = 0.6,
    ) -> None:
        instance(Transformer, model=model)
        _check_search(width, alpha, model.config)
        checkpoint.check_tokens(tokens, model.config, "the tokeniser")
        self.model, self.tokens, self.width, self.alpha = model, tokens, width, alpha

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str] = PHRASEBOOK,
        device: torch.device | str = "cpu",
        width: int = 4,
        alpha: float = 0.6,
    ) -> "Translator":
        """The model that training left in folder, or the one of this package."""
        model, tokens = checkpoint.load(folder, device)
        if tokens is None:
            raise ValueError(f"{folder} has no {TOKENS}, so it reads no text")
        return cls(model, tokens, width, alpha)

    def translate(
        self,
        texts: Sequence[str],
        at_once: int = 64,
        max_len: int | None = None,
        report: Callable[[int], object] = lambda done: None,
    ) -> list[str]:
        """One translation for each text; an empty one for an empty text.

        Texts of similar length are translated together, at_once of them; report is told
        how many are done. A text with more tokens than the model reads is a ValueError.
        A translation has at most max_len tokens; see `max_lengths`.
        """
        if self.width > 1:
            found = self.n_best(texts, at_once, max_len, report)
            return [candidates[0].text if candidates else "" for candidates in found]

        def search(source: Tensor) -> list[str]:
            return [*map(self._text, greedy(self.model, source, max_len).tolist())]

        written = self._each(self._read(texts), at_once, search, report)
        return ["" if text is None else text for text in written]

    def n_best(
        self,
        texts: Sequence[str],
        at_once: int = 64,
        max_len: int | None = None,
        report: Callable[[int], object] = lambda done: None,
    ) -> list[list[Candidate]]:
        """For each text the best translations, width at most, best first.

        The rest is as for `translate`. Hypotheses that read the same are one candidate,
        and an empty text has none.
        """

        def search(source: Tensor) -> list[list[Candidate]]:
            found = beam(self.model, source, self.width, self.alpha, max_len)
            return [self._candidates(hypotheses) for hypotheses in found]

        return [c or [] for c in self._each(self._read(texts), at_once, search, report)]

    def stream(self, texts: Iterable[str], at_once: int = 64) -> Iterator[str]:
        """As `translate`, for texts that come one by one: at_once are waited for.

        What came before an error is translated first.
        """
        require_many(texts, "texts")
        _check_at_once(at_once)
        return self._stream(texts, at_once)

    def _stream(self, texts: Iterable[str], at_once: int) -> Iterator[str]:
        waiting: list[str] = []
        try:
            for place, text in enumerate(texts, start=1):
                self.encode(text, place)
                waiting.append(text)
                if len(waiting) == at_once:
                    ready, waiting = waiting, []
                    yield from self.translate(ready, at_once)
        except Exception:
            yield from self.translate(waiting, at_once)
            raise
        yield from self.translate(waiting, at_once)

    def look(
        self, source: str, target: str
    ) -> tuple[list[str], list[str], dict[str, Float[Tensor, "L H Tq Tk"]]]:
        """What the model looks at when it reads source and writes target.

        The tokens of both as it sees them, and the weights of its three kinds of
        attention; see `attention_weights`.
        """
        read = self.encode(source, 1)
        write = [self.model.config.bos_id, *self._encode_target(target)]
        weights = attention_weights(self.model, *map(self._alone, (read, write)))
        one, other = ([self.name(i) for i in ids] for ids in (read, write))
        return one, other, {kind: tensor[:, 0] for kind, tensor in weights.items()}

    def encode(self, text: str, place: int) -> list[int]:
        """The ids of the text, as `normalise` writes it; place is for errors."""
        text = normalise(text, f"sentence {place}")
        ids = [*self.tokens.encode(text), self.model.config.eos_id]
        if len(ids) > (most := self.model.config.max_len):
            found = f"sentence {place} has {len(ids)} tokens"
            raise ValueError(f"{found}, and the model reads {most} at most: split it")
        return ids

    def name(self, id: int) -> str:
        """One token as text; bytes that are no letter by themselves appear as �."""
        c = self.model.config
        special = {c.bos_id: "<bos>", c.eos_id: "<eos>"}
        return special.get(id) or self.tokens.decode([id])

    def _read(self, texts: Sequence[str]) -> list[list[int]]:
        require_many(texts, "texts")
        return [self.encode(text, place) for place, text in enumerate(texts, start=1)]

    def _each(
        self,
        read: list[list[int]],
        at_once: int,
        search: Callable[[Tensor], list[Found]],
        report: Callable[[int], object],
    ) -> list[Found | None]:
        """What search finds for each sentence, None for an empty one; long ones first."""
        _check_at_once(at_once)
        full = [place for place, ids in enumerate(read) if len(ids) > 1]  # not eos only
        full.sort(key=lambda place: -len(read[place]))
        out: list[Found | None] = [None] * len(read)
        report(len(read) - len(full))
        for first in range(0, len(full), at_once):
            places = full[first : first + at_once]
            found = search(self._batch([read[place] for place in places]))
            for place, what in zip(places, found, strict=True):
                out[place] = what
            report(len(places))
        return out

    def _candidates(self, hypotheses: list[Hypothesis]) -> list[Candidate]:
        best: dict[str, Candidate] = {}
        for h in hypotheses:
            text = self._text(h.ids)
            best.setdefault(text, Candidate(text, h.score, h.log_probability))
        return list(best.values())

    def _text(self, ids: Sequence[int]) -> str:
        """One line: an end of line within what the model wrote becomes a space."""
        eos, padding = self.model.config.eos_id, self.model.config.pad_id
        written = self.tokens.decode([i for i in ids if i not in (eos, padding)])
        return re.sub(r"[\r\n]+", " ", written.strip("\r\n"))

    def _encode_target(self, text: str) -> list[int]:
        """The ids of a translation; some tokenisers cut the two languages in two ways."""
        tokens = self.tokens
        tokens = tokens.reversed() if isinstance(tokens, SentencePieces) else tokens
        return tokens.encode(normalise(text))

    def _alone(self, ids: list[int]) -> Tensor:
        """A batch of one; a translation of a Marian begins with padding, which is read."""
        return torch.tensor([ids], device=self.model.embedding.weight.device)

    def _batch(self, rows: list[list[int]]) -> Tensor:
        device = self.model.embedding.weight.device
        return torch.from_numpy(pad(rows, self.model.config.pad_id)).to(device)


def _check_search(width: int, alpha: float, config: Config) -> None:
    """Refuse a search that cannot be made, before a sentence has to be read."""
    integer(width=width)
    if not 1 <= width <= config.vocab_size:
        rule = f"must be at least 1 and at most vocab_size ({config.vocab_size})"
        raise ValueError(f"width ({width}) {rule}")
    number(alpha=alpha)
    length_penalty(1, alpha)


def _check_at_once(at_once: int) -> None:
    """Refuse to translate no sentence at a time."""
    integer(at_once=at_once)
    at_least(1, at_once=at_once)
