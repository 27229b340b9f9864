"""Byte-level BPE with somebody else's ids: GPT-2, Llama 3, SmolLM2, Qwen."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise
from reprlib import repr as short
from typing import Any, SupportsIndex

from tested_transformer.config import SpecialIds
from tested_transformer.text._checks import checked, in_range
from tested_transformer.text._published import (
    ANY,
    AROUND,
    AddedToken,
    Published,
    added_tokens,
    content,
    entry,
    honoured,
    in_order,
    naming,
    vocabulary,
)
from tested_transformer.text.tokens import BYTES, REMEMBERED

PRINTABLE = 188  # bytes that stand for themselves: the first of BYTES
ALPHABET = {
    byte: chr(byte if k < PRINTABLE else 256 + k - PRINTABLE)
    for k, byte in enumerate(BYTES)
}
"""The character that stands for each byte in a vocabulary (GPT-2's `encoder.py`)."""
BYTE_OF = {ord(char): byte for byte, char in ALPHABET.items()}
LONGEST = 256  # characters of a piece that is remembered

GPT_2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How GPT-2 cuts a text into pieces that no merge will cross (its `encoder.py`)."""
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Llama 3 does (its `tokenizer.py`)."""
QWEN = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
"""How Qwen2 and Qwen3 do: each digit is a piece."""
NFC = {"type": "NFC"}
"""The normaliser that a `tokenizer.json` may have: Unicode's composed form."""
LATER = re.compile(
    "([\u05c8-\u05c9\u07fd\u0897-\u08d3\u09fe\u0c3c\u0d3b-\u0d3c\u0eba\u1715"
    "\u1abf-\u1af0\u1df6-\u1dfa\ua82c\U000105d2-\U000105da\U00010d24-\U00010f85"
    "\U00011070\U0001133b\U000113b8-\U000113d0\U0001145e\U00011839-\U00011930"
    "\U0001193d-\U00011a99\U00011d42-\U00011f42\U0001611e-\U0001612f"
    "\U00016d67-\U00016ff1\U0001d127-\U0001d128\U0001d250-\U0001d281"
    "\U0001e08f-\U0001e6f5])"
)
"""Marks that came after Unicode 9, and what is between them. The library `tokenizers` has
that version: it neither sorts these nor composes them, so we don't, on any Python."""


def _byte_level(use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "use_regex": use_regex}


def _sequence(first: dict[str, Any], use_regex: bool) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [first, _byte_level(use_regex)]}


PRE_TOKENIZERS = {
    "gpt-2": _byte_level(True),
    "smollm": _sequence({"type": "Digits", "individual_digits": True}, True),
    "llama-bpe": _sequence(
        {
            "type": "Split",
            "pattern": {"Regex": LLAMA_3},
            "behavior": "Isolated",
            "invert": False,
        },
        False,
    ),
}
"""By their names in GGUF files, as a `tokenizer.json` has them."""
TYPES = {1: "normal", 3: "control", 4: "user defined", 5: "unused"}
"""The types of tokens in GGUF files that byte-level BPE has."""


EITHER = (True, False)
BYTE_LEVEL: dict[str, tuple[Any, ...]] = {
    "type": ("ByteLevel",),
    "add_prefix_space": EITHER,
    "trim_offsets": EITHER,
    "use_regex": EITHER,
}
KNOWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "Digits": {"type": (ANY,), "individual_digits": (True,)},
    "Split": {
        "type": (ANY,),
        "pattern": (ANY,),
        "behavior": ("Isolated",),
        "invert": (False,),
    },
    "ByteLevel": BYTE_LEVEL,
}
"""The parts of a pre_tokenizer, and what each may say."""
SEQUENCE: dict[str, tuple[Any, ...]] = {"type": (ANY,), "pretokenizers": (ANY,)}
MODEL: dict[str, tuple[Any, ...]] = {
    "type": ("BPE",),
    "vocab": (ANY,),
    "merges": (ANY,),
    "unk_token": (ANY,),
    "ignore_merges": EITHER,
    "dropout": (None,),
    "fuse_unk": (False,),
    "byte_fallback": (False,),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
}


class ByteLevelBPE(Published):
    """Byte-level BPE with the ids of a published model (Radford et al., 2019).

    Byte-pair encoding is that of Sennrich et al. (2016), on the bytes of the text's
    UTF-8. `special_tokens` maps each to its id. A byte that has no token leaves
    nothing, as in the library `tokenizers`, or becomes `unk_token` where there is one:
    SmolLM2 has no token for 21 bytes, most of them in no text. With all 256, any text
    comes back from its ids. Without the package `regex` there is a ValueError.

    vocab maps tokens to ids, and merges are pairs of tokens, the first learned first;
    both in GPT-2's alphabet for bytes. pre_tokenizer says how a text is cut into
    pieces, in the words of a `tokenizer.json`. With ignore_merges, a piece that is a
    token is that token, whatever its merges. With nfc, a text is brought into Unicode's
    form NFC first, as Qwen does: é in two characters becomes é in one.
    """

    def __init__(
        self,
        vocab: Mapping[str, int],
        merges: Iterable[tuple[str, str]],
        special_ids: SpecialIds,
        added: Iterable[AddedToken] = (),
        pre_tokenizer: Mapping[str, Any] = PRE_TOKENIZERS["gpt-2"],
        ignore_merges: bool = False,
        unk_token: str | None = None,
        nfc: bool = False,
    ) -> None:
        added = list(added)
        self._nfc = nfc
        for one in added if nfc else ():
            if one.normalized and one.content != _composed(one.content):
                rule = "must be in the form NFC, as the texts that it is looked for in"
                raise ValueError(f"added token {short(one.content)} {rule}")
        tokens = in_order(vocab, added)
        super().__init__(len(tokens), special_ids, added)
        raw = {token.content for token in added}
        self.tokens = [
            token.encode() if token in raw else _bytes(token) for token in tokens
        ]
        self._pre_tokenizer = pre_tokenizer
        self._cuts = [*_cuts(pre_tokenizer)]
        self._vocab, self._ignore_merges = dict(vocab), ignore_merges
        self._text_ids = {
            token: i for token, i in vocab.items() if token not in self.special_tokens
        }
        self._byte_ids = self._find_bytes(unk_token)
        self._unk_token = unk_token
        self._ranks: dict[tuple[int, int], int] = {}
        self._merges: list[tuple[int, int]] = []
        self._made: list[int] = []
        for k, (a, b) in enumerate(merges):
            for token in (a, b, a + b):
                if token not in self._text_ids:
                    what = (
                        "special" if token in self.special_tokens else "none of vocab"
                    )
                    joined = f"merge {k} joins {short(a)} and {short(b)}"
                    raise ValueError(f"{joined}: token {short(token)} is {what}")
            pair = (self._text_ids[a], self._text_ids[b])
            if self._ranks.setdefault(pair, k) != k:
                joined = f"merge {k} joins {short(a)} and {short(b)}"
                raise ValueError(f"{joined}, as merge {self._ranks[pair]} does")
            self._merges.append(pair)
            self._made.append(self._text_ids[a + b])
        self._remembered: dict[str, list[int]] = {}

    def _find_bytes(self, unk_token: str | None) -> dict[int, int]:
        """The id of each byte that has one."""
        found = {}
        for byte, char in ALPHABET.items():
            if char in self.special_tokens:
                rule = f"stands for the byte {byte} and may not be special"
                raise ValueError(f"special token {char!r} {rule}")
            if char in self._text_ids:
                found[byte] = self._text_ids[char]
            elif unk_token is not None:
                found[byte] = self._vocab[unk_token]
        return found

    @classmethod
    def from_json(
        cls, tokenizer: Mapping[str, Any], special_ids: SpecialIds
    ) -> "ByteLevelBPE":
        """From a parsed `tokenizer.json`, the file of the library `tokenizers`.

        The file does not say which tokens mark the begin and the end: special_ids do.
        What it says of truncation, padding and special tokens around a text is left to
        the caller. A ValueError names any other part that cannot be followed exactly.
        """
        honoured(tokenizer, "tokenizer.json", AROUND | {"normalizer": (None, NFC)})
        model = entry(tokenizer, "model", dict, "tokenizer.json")
        honoured(model, "the model", MODEL)
        if tokenizer.get("decoder") is not None:
            honoured(tokenizer["decoder"], "the decoder", BYTE_LEVEL)
        vocab, unk_token = vocabulary(model), model.get("unk_token")
        if unk_token is not None and not (
            type(unk_token) is str and unk_token in vocab
        ):
            raise ValueError(f"unk_token ({short(unk_token)}) must be a token of vocab")
        return cls(
            vocab,
            [
                _pair(k, m)
                for k, m in enumerate(entry(model, "merges", list, "the model"))
            ],
            special_ids,
            added_tokens(tokenizer),
            entry(tokenizer, "pre_tokenizer", dict, "tokenizer.json"),
            model.get("ignore_merges", False),
            unk_token,
            tokenizer.get("normalizer") == NFC,
        )

    @classmethod
    def from_merges(
        cls,
        vocab: Mapping[str, int],
        merges: str,
        special_tokens: Iterable[str] = ("<|endoftext|>",),
        special_ids: SpecialIds | None = None,
    ) -> "ByteLevelBPE":
        """From a parsed `vocab.json` and the text of `merges.txt`: GPT-2's own files.

        special_tokens are tokens of vocab. Without special_ids, the first of them is
        the padding, the begin, the end and the unknown word, as in GPT-2.
        """
        vocabulary({"vocab": vocab})
        added: list[dict[str, Any]] = []
        for token in special_tokens:
            if token not in vocab:
                raise ValueError(
                    f"special token {short(token)} must be a token of vocab"
                )
            added.append({"content": token, "id": vocab[token], "special": True})
        if special_ids is None:
            if not added:
                rule = "must be given where there are no special_tokens"
                raise ValueError(f"special_ids {rule}")
            special_ids = SpecialIds(*[added[0]["id"]] * 4)
        lines = [
            line.removesuffix("\r") for line in checked(merges, "merges").split("\n")
        ]
        kept = [line for line in lines if line and not line.startswith("#version")]
        return cls.from_json(
            {
                "added_tokens": added,
                "pre_tokenizer": PRE_TOKENIZERS["gpt-2"],
                "model": {"vocab": dict(vocab), "merges": kept},
            },
            special_ids,
        )

    @classmethod
    def from_gguf(cls, fields: Mapping[str, Any]) -> "ByteLevelBPE":
        """From the metadata of a GGUF file: each name with its contents.

        Without an id for the end, it is that of the begin, and the other way round;
        padding and unknown words without one have that of the end.
        """
        where = "the GGUF metadata"
        pres = tuple(PRE_TOKENIZERS)
        known: dict[str, tuple[str, ...]]
        known = {"tokenizer.ggml.model": ("gpt2",), "tokenizer.ggml.pre": pres}
        names = ("tokens", "merges", "token_type")
        found = {name: fields.get(name) for name in known}
        honoured(found, where, known)
        tokens, merges, types = (
            entry(fields, f"tokenizer.ggml.{name}", list, where) for name in names
        )
        if len(tokens) != len(types):
            rule = "one token_type for each of the tokens"
            raise ValueError(f"{where}: {rule}, not {len(types)} for {len(tokens)}")
        vocab: dict[str, int] = {}
        added = []
        for i, (token, kind) in enumerate(zip(tokens, types, strict=True)):
            if type(token) is not str or vocab.setdefault(token, i) != i:
                rule = "must be a string, and unlike the others"
                raise ValueError(f"{where}: token {i} ({short(token)}) {rule}")
            if type(kind) is not int or kind not in TYPES:
                rule = "must be " + " or ".join(f"{k} ({v})" for k, v in TYPES.items())
                raise ValueError(
                    f"{where}: the type of token {i} ({short(kind)}) {rule}"
                )
            if TYPES[kind] in ("control", "user defined"):
                special = TYPES[kind] == "control"
                added.append({"content": token, "id": i, "special": special})
        pre = fields["tokenizer.ggml.pre"]
        return cls.from_json(
            {
                "added_tokens": added,
                "pre_tokenizer": PRE_TOKENIZERS[pre],
                "model": {
                    "vocab": vocab,
                    "merges": merges,
                    "ignore_merges": pre == "llama-bpe",
                },
            },
            _gguf_ids(fields, where),
        )

    def _normalised(self, text: str) -> str:
        """The text, in the form NFC if that is wanted."""
        return _composed(text) if self._nfc else text

    def _encode_text(self, text: str) -> list[int]:
        """The ids of each piece of the text, one after the other."""
        pieces = [text] if text else []
        for cut in self._cuts:
            pieces = [piece for part in pieces for piece in cut(part)]
        ids: list[int] = []
        for piece in pieces:
            found = self._remembered.get(piece)
            if found is None:
                found = self._encode_piece(piece)
                if len(self._remembered) >= REMEMBERED:
                    self._remembered.clear()
                if len(piece) <= LONGEST:
                    self._remembered[piece] = found
            ids += found
        return ids

    def _encode_piece(self, piece: str) -> list[int]:
        """Merge the pair that was learned first, the leftmost of these, and repeat.

        A queue has the pairs, and each symbol its neighbours: the time is that of
        sorting, however long the piece is.
        """
        if self._ignore_merges:
            whole = self._text_ids.get("".join(ALPHABET[b] for b in piece.encode()))
            if whole is not None:
                return [whole]
        known = self._byte_ids
        ids = [known[byte] for byte in piece.encode() if byte in known]
        size, ranks = len(ids), self._ranks
        before, after = list(range(-1, size - 1)), list(range(1, size + 1))
        queue = [
            ranks[pair] * size + i
            for i, pair in enumerate(pairwise(ids))
            if pair in ranks
        ]
        heapify(queue)
        while queue:
            rank, i = divmod(heappop(queue), size)
            j = after[i]
            if j == size or (ids[i], ids[j]) != self._merges[rank]:
                continue  # one of the two is part of another symbol by now
            ids[i], ids[j] = self._made[rank], -1
            after[i] = after[j]
            if after[i] < size:
                before[after[i]] = i
            for left in (before[i], i):
                if left >= 0 and after[left] < size:
                    new = ranks.get((ids[left], ids[after[left]]))
                    if new is not None:
                        heappush(queue, new * size + left)
        return [i for i in ids if i >= 0]

    def decode_bytes(
        self, ids: Iterable[SupportsIndex], special: bool = False
    ) -> bytes:
        """The bytes of ids, which may end within a character: to print while ids come.

        Special tokens leave nothing unless `special` is True.
        """
        return b"".join(
            self.tokens[i]
            for i in in_range(ids, self.vocab_size)
            if special or i not in self._special
        )

    def decode(self, ids: Iterable[SupportsIndex], special: bool = False) -> str:
        """The text of ids.

        Special tokens leave nothing unless `special` is True. Bytes that are not UTF-8
        become the replacement character.
        """
        return self.decode_bytes(ids, special).decode(errors="replace")

    def _content(self) -> dict[str, Any]:
        names = {i: token for token, i in self._vocab.items()}
        return {
            "special_ids": self.special_ids,
            "added_tokens": self._added_content(),
            **({"normalizer": NFC} if self._nfc else {}),
            "pre_tokenizer": self._pre_tokenizer,
            "model": {
                "type": "BPE",
                "unk_token": self._unk_token,
                "ignore_merges": self._ignore_merges,
                "vocab": self._vocab,
                "merges": [(names[a], names[b]) for a, b in self._merges],
            },
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ByteLevelBPE":
        """Read what `save` wrote; any other file raises a ValueError."""
        saved = content(path, cls.__name__)
        with naming(path):
            ids = entry(saved, "special_ids", list, "the tokenizer")
            if [type(i) for i in ids] != [int] * len(SpecialIds._fields):
                raise ValueError(f"special_ids ({short(ids)}) must be four ids")
            rest = {name: part for name, part in saved.items() if name != "special_ids"}
            return cls.from_json(rest, SpecialIds(*ids))


def _cuts(pre_tokenizer: Any) -> Iterator[Callable[[str], list[str]]]:
    """Each step that cuts a piece into smaller ones."""
    compiled = _regex().compile
    parts = [pre_tokenizer]
    if entry(pre_tokenizer, "type", str, "the pre_tokenizer") == "Sequence":
        honoured(pre_tokenizer, "the pre_tokenizer", SEQUENCE)
        parts = entry(pre_tokenizer, "pretokenizers", list, "the pre_tokenizer")
    for k, part in enumerate(parts):
        kind = entry(part, "type", str, f"pre_tokenizer {k}")
        if kind not in KNOWN or (kind == "ByteLevel") != (k == len(parts) - 1):
            rule = f"known are {', '.join(KNOWN)}, and ByteLevel comes last and once"
            raise ValueError(f"pre_tokenizer {k} is {short(kind)}: {rule}")
        honoured(part, f"pre_tokenizer {k} ({kind})", KNOWN[kind])
        if kind == "Digits":
            entry(part, "individual_digits", bool, "Digits")
            yield compiled(r"\p{N}|\P{N}+").findall
        elif kind == "Split":
            entry(part, "behavior", str, "Split")
            pattern = entry(part, "pattern", dict, "Split")
            if pattern not in [{"Regex": known} for known in (GPT_2, LLAMA_3, QWEN)]:
                rule = "is not known; known are those of GPT-2, Llama 3 and Qwen"
                raise ValueError(f"Split: pattern ({short(pattern)}) {rule}")
            yield compiled(pattern["Regex"]).findall
        else:
            if entry(part, "add_prefix_space", bool, "ByteLevel"):
                yield _spaced
            if part.get("use_regex", True):
                yield compiled(GPT_2).findall
    if not parts:
        raise ValueError("the pre_tokenizer is an empty Sequence; ByteLevel comes last")


def _composed(text: str) -> str:
    """The text in the form NFC, as the library `tokenizers` has it."""
    parts = LATER.split(text)
    return "".join(unicodedata.normalize("NFC", part) for part in parts)


def _spaced(part: str) -> list[str]:
    return [part if part.startswith(" ") else f" {part}"]


def _regex() -> Any:
    try:
        import regex  # type: ignore[import-untyped]
    except ImportError:
        needed = 'not installed: pip install "tested-transformer[models]"'
        raise ValueError(f"ByteLevelBPE needs the package regex, {needed}") from None
    return regex


def _bytes(token: str) -> bytes:
    """The bytes that a token of the vocabulary stands for."""
    for char in token:
        if ord(char) not in BYTE_OF:
            rule = f"has {char!r}, which stands for no byte"
            raise ValueError(f"token {short(token)} {rule}")
    return bytes(BYTE_OF[ord(char)] for char in token)


def _pair(k: int, merge: Any) -> tuple[str, str]:
    pair = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(pair, (list, tuple)) or [type(t) for t in pair] != [str, str]:
        rule = "must be two tokens, in a list or with a space between them"
        raise ValueError(f"merge {k} ({short(merge)}) {rule}")
    return pair[0], pair[1]


def _gguf_ids(fields: Mapping[str, Any], where: str) -> SpecialIds:
    found: dict[str, int | None] = {}
    for name in ("padding", "bos", "eos", "unknown"):
        i = fields.get(f"tokenizer.ggml.{name}_token_id")
        if i is not None and type(i) is not int:
            rule = "must be a whole number"
            raise ValueError(f"{where}: {name}_token_id ({short(i)}) {rule}")
        found[name] = i
    pad, bos, eos, unk = found.values()
    eos = bos if eos is None else eos
    if eos is None:
        rule = "must have bos_token_id or eos_token_id"
        raise ValueError(f"{where} {rule}")
    return SpecialIds(*(eos if i is None else i for i in (pad, bos, eos, unk)))
