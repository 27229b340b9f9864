"""What every tokeniser can do, and how one comes back from its file."""

import os
from collections.abc import Iterable
from typing import Protocol, SupportsIndex, runtime_checkable

from tested_transformer.config import SpecialIds
from tested_transformer.files import read_json
from tested_transformer.text.bert import BertWordPiece
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.text.sentence_pieces import SentencePieces
from tested_transformer.text.tokens import BytePairEncoding, WordPiece

Saved = BytePairEncoding | WordPiece | ByteLevelBPE | BertWordPiece | SentencePieces
"""The tokenisers that have files."""
KINDS: dict[str, type[Saved]] = {
    kind.__name__: kind
    for kind in (
        BytePairEncoding,
        WordPiece,
        ByteLevelBPE,
        BertWordPiece,
        SentencePieces,
    )
}


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back: this is all that models, pairs and translators need.

    encode adds no special ids, and decode leaves them out. Only the package's own
    tokenisers can be saved with a model (`Saved`).
    """

    vocab_size: int
    special_ids: SpecialIds

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of ids."""


def load(path: str | os.PathLike[str]) -> Saved:
    """The tokeniser in a file, whichever kind it is.

    A ValueError says what else the file is.
    """
    kind = str(read_json(path, "saved tokeniser").get("kind"))
    if kind not in KINDS:
        rule = f"its kind is {kind!r}, not one of {', '.join(KINDS)}"
        raise ValueError(f"{path} is no saved tokeniser: {rule}")
    try:
        return KINDS[kind].load(path)
    except ValueError as error:
        named = str(error) if str(path) in str(error) else f"{path} is damaged: {error}"
        raise ValueError(named) from None
