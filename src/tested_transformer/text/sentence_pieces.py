"""SentencePiece with the ids of a published model: Marian (OPUS-MT), XLM-R."""

import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from importlib import import_module
from reprlib import repr as short
from typing import Any, SupportsIndex

from tested_transformer.config import SpecialIds
from tested_transformer.text._checks import in_range
from tested_transformer.text._published import (
    AddedToken,
    Published,
    added_tokens,
    content,
    entry,
    in_order,
    naming,
    vocabulary,
)

NAMES = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
"""Marian's special tokens; a translation begins with an id that config.json names."""
FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
"""The first four tokens of XLM-R, whose pieces follow."""


class SentencePieces(Published):
    """Texts cut by a model of SentencePiece (Kudo & Richardson, 2018), with ids of vocab.

    source is the content of that model's file. target is that of the model for the
    other language, which `decode` uses; one serves both unless it is given. What vocab
    lacks is special_ids.unk. With codes, a text may begin with the language that it is
    to be translated into, as in `>>fra<<`, which is one token.

    Hugging Face's tokeniser also normalises the punctuation where the package
    sacremoses is installed; here a text stays as it is.
    """

    def __init__(
        self,
        vocab: Mapping[str, int],
        special_ids: SpecialIds,
        source: bytes,
        target: bytes | None = None,
        added: Iterable[AddedToken] = (),
        codes: bool = False,
    ) -> None:
        added = tuple(added)
        self.tokens = in_order(vocab, added)
        super().__init__(len(self.tokens), special_ids, added)
        self.source, self.target = source, source if target is None else target
        self._vocab, self.codes = dict(vocab), codes
        self._cuts, self._joins = _processor(self.source), _processor(self.target)

    @classmethod
    def marian(
        cls,
        vocab: Mapping[str, int],
        source: bytes,
        target: bytes,
        tokenizer_config: Mapping[str, Any],
        bos: int,
    ) -> "SentencePieces":
        """From the files of a Marian: vocab.json, source.spm, target.spm, and settings."""
        if tokenizer_config.get("separate_vocabs", False) is not False:
            rule = "must be False: one vocabulary serves both languages here"
            raise ValueError(f"tokenizer_config.json: separate_vocabs {rule}")
        if tokenizer_config.get("sp_model_kwargs"):
            rule = "must be empty: SentencePiece is asked for the best pieces here"
            raise ValueError(f"tokenizer_config.json: sp_model_kwargs {rule}")
        vocab = vocabulary({"vocab": vocab})
        added = []
        for name, usual in NAMES.items():
            token = tokenizer_config.get(f"{name}_token") or usual
            token = token.get("content") if isinstance(token, Mapping) else token
            if token not in vocab:
                raise ValueError(f"vocab.json has no {short(token)}, the {name}_token")
            added.append(AddedToken(token, vocab[token]))
        pad, eos, unk = (token.id for token in added)
        return cls(vocab, SpecialIds(pad, bos, eos, unk), source, target, added, True)

    @classmethod
    def xlm_roberta(cls, model: bytes) -> "SentencePieces":
        """From the file of an XLM-R, sentencepiece.bpe.model: ids are its own plus one."""
        pieces = _processor(model)
        names = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
        if set(names[:3]) != {"<s>", "</s>", "<unk>"}:
            rule = "must begin with <unk>, <s> and </s>"
            raise ValueError(f"the pieces of an XLM-R {rule}, not {short(names[:3])}")
        tokens = [*FAIRSEQ, *names[3:], "<mask>"]
        vocab = {token: i for i, token in enumerate(tokens)}
        special = [AddedToken(token, vocab[token]) for token in (*FAIRSEQ, "<mask>")]
        return cls(vocab, SpecialIds(1, 0, 2, 3), model, added=special)

    def reversed(self) -> "SentencePieces":
        """The same ids for texts of the other language: to encode translations with."""
        own = self._vocab, self.special_ids
        return SentencePieces(*own, self.target, self.source, self._added, self.codes)

    def _encode_text(self, text: str) -> list[int]:
        begin, mark, rest = text.partition("<<")
        found = self.codes and mark and begin.startswith(">>")
        code = begin + mark if found else ""
        pieces = self._cuts.encode(rest if code else text, out_type=str)
        pieces = [code, *pieces] if code else pieces
        return [self._vocab.get(piece, self.special_ids.unk) for piece in pieces]

    def decode(self, ids: Iterable[SupportsIndex], special: bool = False) -> str:
        """The text of ids.

        Special tokens, unknown ones as well, leave nothing unless `special` is True.
        """
        text, pieces = "", list[str]()
        for i in in_range(ids, self.vocab_size):
            if i not in self._special:
                pieces.append(self.tokens[i])
            elif special:
                text += f"{self._joins.decode_pieces(pieces)}{self.tokens[i]} "
                pieces = []
        text += self._joins.decode_pieces(pieces)
        return text.replace("▁", " ").strip()

    def _content(self) -> dict[str, Any]:
        return {
            "special_ids": self.special_ids,
            "added_tokens": self._added_content(),
            "source": b64encode(self.source).decode(),
            "target": b64encode(self.target).decode(),
            "codes": self.codes,
            "vocab": self._vocab,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SentencePieces":
        """Read what `save` wrote; any other file raises a ValueError."""
        saved = content(path, cls.__name__)
        with naming(path):
            ids = entry(saved, "special_ids", list, "the tokenizer")
            if [type(i) for i in ids] != [int] * len(SpecialIds._fields):
                raise ValueError(f"special_ids ({short(ids)}) must be four ids")
            source, target = (
                b64decode(entry(saved, side, str, "the tokenizer"), validate=True)
                for side in ("source", "target")
            )
            codes = entry(saved, "codes", bool, "the tokenizer")
            own, added = (vocabulary(saved), SpecialIds(*ids)), added_tokens(saved)
            return cls(*own, source, target, added, codes)


def _processor(model: bytes) -> Any:
    """What cuts texts, from the content of a file."""
    try:
        library = import_module("sentencepiece")
    except ImportError:
        needed = 'not installed: pip install "tested-transformer[sentencepiece]"'
        raise ValueError(
            f"SentencePieces needs the package sentencepiece, {needed}"
        ) from None
    try:
        if model:  # of nothing the library makes one that fails later
            return library.SentencePieceProcessor(model_proto=model)
    except (RuntimeError, OSError, TypeError, ValueError):
        pass
    raise ValueError("the file of SentencePiece is damaged, or none")
