"""From sentences to sentences: a trained model with its tokeniser."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.greedy import greedy
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokens import BytePairEncoding, pad
from tested_transformer.training import checkpoint
from tested_transformer.training.filenames import TOKENS

PHRASEBOOK = Path(__file__).parents[1] / "trained" / "phrasebook"
"""A small English-German model that comes with the package."""


class Translator:
    """Translates sentences with a trained model.

    width is the number of hypotheses of the beam search, 1 for greedy decoding; alpha
    belongs to its length penalty (paper, Section 6.1).
    """

    def __init__(
        self,
        model: Transformer,
        tokens: BytePairEncoding,
        width: int = 4,
        alpha: float = 0.6,
    ) -> None:
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

    def translate(self, texts: Sequence[str], at_once: int = 64) -> list[str]:
        """One translation for each text; an empty one for an empty text.

        Texts of similar length are translated together, at_once of them. A text with
        more tokens than the model reads is a ValueError.
        """
        read = [self.encode(text, place) for place, text in enumerate(texts, start=1)]
        return self._write(read, at_once)

    def stream(self, texts: Iterable[str], at_once: int = 64) -> Iterator[str]:
        """As `translate`, for texts that come one by one: at_once are waited for.

        What came before an error is translated first.
        """
        waiting: list[list[int]] = []
        for place, text in enumerate(texts, start=1):
            try:
                waiting.append(self.encode(text, place))
            except ValueError:
                yield from self._write(waiting, at_once)
                raise
            if len(waiting) == at_once:
                yield from self._write(waiting, at_once)
                waiting = []
        yield from self._write(waiting, at_once)

    def look(
        self, source: str, target: str
    ) -> tuple[list[str], list[str], dict[str, Float[Tensor, "L H Tq Tk"]]]:
        """What the model looks at when it reads source and writes target.

        The tokens of both as it sees them, and the weights of its three kinds of
        attention; see `attention_weights`.
        """
        read = self.encode(source, 1)
        write = [self.model.config.bos_id, *self.tokens.encode(target.strip())]
        weights = attention_weights(self.model, *map(self._batch, ([read], [write])))
        named = [[self.name(i) for i in ids] for ids in (read, write)]
        return *named, {kind: tensor[:, 0] for kind, tensor in weights.items()}

    def encode(self, text: str, place: int) -> list[int]:
        """The ids that the model reads; place is for the error message."""
        ids = [*self.tokens.encode(text.strip()), self.model.config.eos_id]
        if len(ids) > (most := self.model.config.max_len):
            found = f"sentence {place} has {len(ids)} tokens"
            raise ValueError(f"{found}, and the model reads {most} at most: split it")
        return ids

    def name(self, id: int) -> str:
        """One token as text; bytes that are no letter by themselves appear as �."""
        c = self.model.config
        special = {c.bos_id: "<bos>", c.eos_id: "<eos>"}
        return special.get(id) or self.tokens.decode([id])

    def _write(self, read: list[list[int]], at_once: int) -> list[str]:
        full = [place for place, ids in enumerate(read) if len(ids) > 1]  # not eos only
        full.sort(key=lambda place: -len(read[place]))
        out = [""] * len(read)
        for first in range(0, len(full), at_once):
            places = full[first : first + at_once]
            written = self._search([read[place] for place in places])
            for place, ids in zip(places, written, strict=True):
                out[place] = self.tokens.decode(ids)
        return out

    def _search(self, read: list[list[int]]) -> list[list[int]]:
        source = self._batch(read)
        if self.width == 1:
            rows = greedy(self.model, source).tolist()
        else:
            rows = [
                found[0].ids
                for found in beam(self.model, source, self.width, self.alpha)
            ]
        eos, padding = self.model.config.eos_id, self.model.config.pad_id
        return [[i for i in row if i not in (eos, padding)] for row in rows]

    def _batch(self, rows: list[list[int]]) -> Tensor:
        device = self.model.embedding.weight.device
        return torch.from_numpy(pad(rows, self.model.config.pad_id)).to(device)
