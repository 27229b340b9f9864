"""Text to ids and back: vocabulary, byte-pair encoding, WordPiece, padding."""

import os
import re
from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Int

from tested_transformer import files
from tested_transformer.checks import at_least, require_many
from tested_transformer.config import SpecialIds
from tested_transformer.text import _files
from tested_transformer.text._characters import JOINERS, MARKS, PUNCTUATION
from tested_transformer.text._checks import all_checked, checked, in_range
from tested_transformer.text.merges import PairCounts, merge

PAD, BOS, EOS, UNK = SpecialIds()
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
"""Special tokens at their ids. Text is never looked up here: nobody can type one."""

BYTES = bytes(
    sorted(
        range(256), key=lambda byte: (byte == 0x20 or not chr(byte).isprintable(), byte)
    )
)
"""All bytes, visible characters first, as GPT-2 numbers them; ties fall by it."""
BYTE_IDS = {byte: i for i, byte in enumerate(BYTES, start=len(SPECIALS))}

ATTACHED = MARKS + JOINERS
"""What belongs to the character before it, as ranges for the brackets of a pattern."""
PIECES = re.compile(
    rf" ?\w[\w{ATTACHED}]{{0,63}}(?![{ATTACHED}])| ?[^\w\s]{{1,64}}"
    r"|\s{1,64}(?!\S)|[\s\S]"
)
WORDS = re.compile(rf"[^\s{PUNCTUATION}]+|[{PUNCTUATION}]")
"""Cut at white space, and every punctuation character alone: the words of BERT."""
LONGEST_TOKEN = 1 + 4 * 64  # bytes: a space and 64 characters
LONGEST_WORD = 100  # characters, as in BERT
REMEMBERED = 100_000  # pieces


def split(text: str) -> list[str]:
    """Cut a text into pieces that no merge will cross. Joined, they are the text.

    Pieces are words and punctuation, each with the space before it, and white space.
    A letter keeps its marks, in every script. A lone surrogate is no character and
    raises a ValueError.
    """
    return PIECES.findall(checked(text))


class Vocabulary:
    """A list of tokens. The id of a token is its position in the list.

    The first four positions are the special tokens.
    """

    special_ids = SpecialIds()

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = [*SPECIALS, *tokens]
        self.vocab_size = len(self.tokens)
        self._ids: dict[str, int] = {}
        for i, token in enumerate(self.tokens[len(SPECIALS) :], start=len(SPECIALS)):
            if not checked(token, f"token {i}"):
                raise ValueError(
                    f"token {i} is empty; a token has at least one character"
                )
            if self._ids.setdefault(token, i) != i:
                raise ValueError(
                    f"token {i} ({token!r}) is token {self._ids[token]} already"
                )

    @classmethod
    def train(
        cls, tokens: Iterable[str], vocab_size: int | None = None
    ) -> "Vocabulary":
        """The most frequent tokens, equally frequent ones by alphabet.

        `vocab_size` counts the special tokens too.
        """
        require_many(tokens, "tokens")
        if vocab_size is not None and vocab_size < len(SPECIALS):
            rule = f"at least {len(SPECIALS)}, the special tokens"
            raise ValueError(f"vocab_size ({vocab_size}) must be {rule}")
        counts = Counter(all_checked(tokens, "tokens"))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls(
            [
                token
                for token, _ in ranked[
                    : None if vocab_size is None else vocab_size - len(SPECIALS)
                ]
            ]
        )

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The id of each token, or the id of `<unk>` if it is not in the vocabulary."""
        require_many(tokens, "tokens")
        return [self._ids.get(token, UNK) for token in all_checked(tokens, "tokens")]

    def decode(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The token at each id."""
        return [self.tokens[i] for i in in_range(ids, self.vocab_size)]

    def to_json(self) -> bytes:
        """What `save` writes: the tokens, and what they are."""
        return _files.to_json("Vocabulary", "tokens", self.tokens)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tokens to a JSON file."""
        files.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Read what `save` wrote; any other file raises a ValueError."""
        return cls(_without_specials(path, _files.read(path, "Vocabulary", "tokens")))


class BytePairEncoding:
    """Byte-pair encoding on UTF-8 bytes (paper, Section 5.1): any text, without loss.

    Ids 0 to 3 are the special tokens, 4 to 259 the bytes, and merge number k joins a
    pair of ids to the id 260 + k.
    """

    special_ids = SpecialIds()

    def __init__(self, merges: Iterable[tuple[int, int]]) -> None:
        self.tokens = [b""] * len(SPECIALS) + [bytes([byte]) for byte in BYTES]
        self._joined: dict[tuple[int, int], int] = {}
        for k, (a, b) in enumerate(merges):
            for i in (a, b):
                if not len(SPECIALS) <= i < len(self.tokens):
                    rule = f"at least {len(SPECIALS)} and below {len(self.tokens)}"
                    raise ValueError(
                        f"merge {k} joins ids {a} and {b}; an id must be {rule} there"
                    )
            if self._joined.setdefault((a, b), len(self.tokens)) != len(self.tokens):
                raise ValueError(
                    f"merge {k} joins ids {a} and {b}, as an earlier merge does"
                )
            if len(self.tokens[a]) + len(self.tokens[b]) > LONGEST_TOKEN:
                rule = f"longer than any piece of text ({LONGEST_TOKEN} bytes)"
                raise ValueError(f"merge {k} makes a token {rule}")
            self.tokens.append(self.tokens[a] + self.tokens[b])
        self.merges = list(self._joined)
        self.vocab_size = len(self.tokens)
        self._remembered: dict[str, list[int]] = {}

    @classmethod
    def train(cls, texts: Iterable[str], n_merges: int) -> "BytePairEncoding":
        """Learn merges: again and again the most frequent pair.

        If two are equally frequent, it is the one with the smaller ids. There are fewer
        than `n_merges` if no pair is left.
        """
        require_many(texts, "texts")
        at_least(0, n_merges=n_merges)
        counts = Counter(
            piece for text in all_checked(texts, "texts") for piece in split(text)
        )
        pairs = PairCounts({_byte_ids(piece): n for piece, n in counts.items()})
        queue = [(-n, pair) for pair, n in pairs.counts.items()]
        heapify(queue)
        merges: list[tuple[int, int]] = []
        while queue and len(merges) < n_merges:
            n, pair = heappop(queue)
            if -n == pairs.counts[pair]:
                born = pairs.merge(pair, len(SPECIALS) + len(BYTES) + len(merges))
                merges.append(pair)
                for new in born:
                    heappush(queue, (-pairs.counts[new], new))
            elif pairs.counts[pair]:  # earlier merges have made it rarer
                heappush(queue, (-pairs.counts[pair], pair))
        return cls(merges)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens.

        Special tokens that a user has typed are text like any other.
        """
        ids: list[int] = []
        for piece in split(text):
            if piece not in self._remembered:
                if len(self._remembered) >= REMEMBERED:
                    self._remembered.clear()
                self._remembered[piece] = self._encode_piece(piece)
            ids += self._remembered[piece]
        return ids

    def _encode_piece(self, piece: str) -> list[int]:
        """Merge the pair that was learned first, wherever it is, and repeat."""
        ids = list(_byte_ids(piece))
        while len(ids) > 1:
            first = min(pairwise(ids), key=lambda pair: self._joined.get(pair, inf))
            if first not in self._joined:
                break
            ids = merge(ids, first, self._joined[first])
        return ids

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of ids.

        Special tokens leave nothing. Bytes that are not UTF-8 become the replacement
        character.
        """
        found = (self.tokens[i] for i in in_range(ids, self.vocab_size))
        return b"".join(found).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[SupportsIndex]) -> bytes:
        """The bytes of ids, which may end within a character: to print while ids come."""
        return b"".join(self.tokens[i] for i in in_range(ids, self.vocab_size))

    def to_json(self) -> bytes:
        """What `save` writes: the merges, and what they are."""
        return _files.to_json("BytePairEncoding", "merges", self.merges)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the merges to a JSON file."""
        files.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "BytePairEncoding":
        """Read what `save` wrote; any other file raises a ValueError."""
        merges = _files.read(path, "BytePairEncoding", "merges")
        for k, pair in enumerate(merges):
            if not isinstance(pair, list) or [type(i) for i in pair] != [int, int]:
                raise ValueError(
                    f"{path} is damaged: merge {k} ({pair!r}) must be two ids"
                )
        return cls([(a, b) for a, b in merges])


class WordPiece:
    """Words cut into pieces by longest match, as BERT does; `##` continues a word.

    A word that cannot be cut into known pieces becomes `<unk>` as a whole, and white
    space is lost.
    """

    special_ids = SpecialIds()

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.vocab_size = vocabulary.vocab_size

    @classmethod
    def train(
        cls, texts: Iterable[str], vocab_size: int, min_count: int = 1
    ) -> "WordPiece":
        """From single characters up, join the pair with the highest score.

        Pairs seen less than `min_count` times are left alone. Every step looks at all
        pairs, so this is for small texts.
        """
        require_many(texts, "texts")
        counts = Counter(
            word for text in all_checked(texts, "texts") for word in WORDS.findall(text)
        )
        pairs = PairCounts(
            {
                (word[0], *("##" + char for char in word[1:])): n
                for word, n in counts.items()
            }
        )
        tokens = dict.fromkeys(sorted(pairs.singles))
        if vocab_size < len(SPECIALS) + len(tokens):
            least = f"{len(SPECIALS)} special tokens and {len(tokens)} characters"
            raise ValueError(f"vocab_size ({vocab_size}) must hold {least}")
        while len(SPECIALS) + len(tokens) < vocab_size:
            scores = pairs.scores(min_count)
            if not scores:
                break
            pair = min(scores, key=lambda pair: (-scores[pair], pair))
            new = pair[0] + pair[1].removeprefix("##")
            pairs.merge(pair, new)
            tokens[new] = None
        return cls(Vocabulary(tokens))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""
        return [
            i for word in WORDS.findall(checked(text)) for i in self._encode_word(word)
        ]

    def _encode_word(self, word: str) -> list[int]:
        """The longest known piece at the front, then the longest of what is left."""
        if len(word) > LONGEST_WORD:
            return [UNK]
        ids: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = "##" * (start > 0) + word[start:end]
                if piece in self.vocabulary:
                    break
            else:  # not even one character is known
                return [UNK]
            ids += self.vocabulary.encode([piece])
            start = end
        return ids

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The words, with a space between them.

        `<unk>` becomes the replacement character, other special tokens nothing.
        """
        kept = [i for i in map(index, ids) if i not in (PAD, BOS, EOS)]
        tokens = [
            "\ufffd" if i == UNK else token
            for i, token in zip(kept, self.vocabulary.decode(kept), strict=True)
        ]
        return " ".join(tokens).replace(" ##", "")

    def to_json(self) -> bytes:
        """What `save` writes: the vocabulary, and what it is."""
        return _files.to_json("WordPiece", "tokens", self.vocabulary.tokens)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary to a JSON file."""
        files.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "WordPiece":
        """Read what `save` wrote; any other file raises a ValueError."""
        return cls(
            Vocabulary(
                _without_specials(path, _files.read(path, "WordPiece", "tokens"))
            )
        )


def truncate(ids: Iterable[int], max_len: int, eos_id: int = EOS) -> list[int]:
    """The first `max_len` ids. If the last id was `eos_id`, it is still the last.

    One token more of the text goes to make room for it.
    """
    at_least(1, max_len=max_len)
    ids = list(ids)
    if len(ids) > max_len and ids[-1] == eos_id:
        return [*ids[: max_len - 1], eos_id]
    return ids[:max_len]


def pad(
    sequences: Iterable[Iterable[int]],
    pad_id: int,
    max_len: int | None = None,
    eos_id: int = EOS,
) -> Int[np.ndarray, "B T"]:
    """A row for each sequence, filled up on the right with `pad_id`.

    As wide as the longest sequence or, where `max_len` is given, exactly so wide:
    longer ones go through `truncate`. No sequence may contain `pad_id`.
    """
    rows = [
        list(ids) if max_len is None else truncate(ids, max_len, eos_id)
        for ids in sequences
    ]
    batch = np.full(
        (len(rows), max_len or max(map(len, rows), default=0)), pad_id, dtype=np.int64
    )
    for i, row in enumerate(rows):
        if pad_id in row:
            rule = "so padding and text could not be told apart"
            raise ValueError(f"sequence {i} contains pad_id ({pad_id}), {rule}")
        batch[i, : len(row)] = row
    return batch


def _byte_ids(piece: str) -> tuple[int, ...]:
    return tuple(BYTE_IDS[byte] for byte in piece.encode())


def _without_specials(path: str | os.PathLike[str], tokens: list[Any]) -> list[Any]:
    if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
        raise ValueError(
            f"{path} is damaged: its first tokens must be {', '.join(SPECIALS)}"
        )
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise ValueError(
                f"{path} is damaged: token {i} ({token!r}) must be a string"
            )
    return tokens[len(SPECIALS) :]
