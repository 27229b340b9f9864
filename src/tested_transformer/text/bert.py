"""BERT's WordPiece with the ids of a published model: BERT, MiniLM."""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from reprlib import repr as short
from typing import Any, SupportsIndex

from tested_transformer.checks import at_least
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
from tested_transformer.text.tokens import LONGEST_WORD, WORDS

NAMES = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
"""BERT's special tokens, at the places that SpecialIds has for them."""
CHINESE = re.compile(
    "([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df"
    "\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f])"
)
"""Each is a word: as in the library `tokenizers`, 256 fewer than in BERT's own code."""
EITHER = (True, False)
NORMALIZER: dict[str, tuple[Any, ...]] = {
    "type": ("BertNormalizer",),
    "clean_text": (True,),
    "handle_chinese_chars": EITHER,
    "strip_accents": (None, True, False),
    "lowercase": EITHER,
}
MODEL: dict[str, tuple[Any, ...]] = {
    "type": ("WordPiece",),
    "vocab": (ANY,),
    "unk_token": (NAMES["unk"],),
    "continuing_subword_prefix": ("##",),
    "max_input_chars_per_word": (ANY,),
}
SINGLE = "[CLS]:0 A:0 [SEP]:0"
PAIR = f"{SINGLE} B:1 [SEP]:1"


class BertWordPiece(Published):
    """WordPiece as BERT has it (Devlin et al., 2019): words, cut by longest match.

    A text is cleaned of control characters, cut at white space and punctuation, and a
    Chinese character is a word. With lowercase, letters become small and lose their
    accents (strip_accents says otherwise where it is not None). A word that cannot be
    cut into tokens of vocab, or has more than longest_word characters, becomes `[UNK]`.

    Which characters are marks or punctuation is what Python's Unicode says, as in
    BERT's first code. The library `tokenizers` has the tables of about 2015: words with
    a few hundred rare characters differ there.

    vocab maps tokens to ids; `##` continues a word. `special_tokens` has the id of
    `[PAD]`, `[CLS]` (begin), `[SEP]` (end), `[UNK]` and of each special one in added.
    """

    def __init__(
        self,
        vocab: Mapping[str, int],
        added: Iterable[AddedToken] = (),
        lowercase: bool = True,
        strip_accents: bool | None = None,
        chinese: bool = True,
        longest_word: int = LONGEST_WORD,
    ) -> None:
        at_least(1, longest_word=longest_word)
        by_name = {token.content: token for token in added}
        for name in NAMES.values():
            if name not in vocab and name not in by_name:
                raise ValueError(f"vocab has no {name}, which BERT needs")
            if name not in by_name:
                by_name[name] = AddedToken(name, vocab[name])
            elif not by_name[name].special:
                raise ValueError(f"added token {name} must be special in BERT")
        for token in by_name.values():
            if token.normalized:
                rule = "is normalized; BERT's are looked for in the text as it stands"
                raise ValueError(f"added token {short(token.content)} {rule}")
        self.tokens = in_order(vocab, by_name.values())
        ids = {token: i for i, token in enumerate(self.tokens)}
        special_ids = SpecialIds(**{name: ids[token] for name, token in NAMES.items()})
        super().__init__(len(self.tokens), special_ids, by_name.values())
        self.lowercase, self.chinese, self.longest_word = (
            lowercase,
            chinese,
            longest_word,
        )
        self.strip_accents = lowercase if strip_accents is None else strip_accents
        self._vocab = dict(vocab)
        self._text_ids = {
            token: i for token, i in vocab.items() if token not in self.special_tokens
        }
        self._longest_token = max(map(len, self.tokens))

    @classmethod
    def from_json(cls, tokenizer: Mapping[str, Any]) -> "BertWordPiece":
        """From a parsed `tokenizer.json`, the file of the library `tokenizers`.

        What it says of truncation, padding and the decoder is left to the caller. A
        ValueError names any other part that cannot be followed exactly.
        """
        honoured(tokenizer, "tokenizer.json", AROUND | {"normalizer": (ANY,)})
        normalizer, cut, model = (
            entry(tokenizer, name, dict, "tokenizer.json")
            for name in ("normalizer", "pre_tokenizer", "model")
        )
        honoured(normalizer, "the normalizer", NORMALIZER)
        honoured(cut, "the pre_tokenizer", {"type": ("BertPreTokenizer",)})
        honoured(model, "the model", MODEL)
        _check_template(tokenizer.get("post_processor"))
        longest_word = model.get("max_input_chars_per_word", LONGEST_WORD)
        if type(longest_word) is not int or longest_word < 1:
            found = f"max_input_chars_per_word ({short(longest_word)})"
            raise ValueError(f"the model: {found} must be a whole number from 1 up")
        return cls(
            vocabulary(model),
            added_tokens(tokenizer),
            normalizer.get("lowercase", True),
            normalizer.get("strip_accents"),
            normalizer.get("handle_chinese_chars", True),
            longest_word,
        )

    @classmethod
    def from_vocab(
        cls, vocab: str, tokenizer_config: Mapping[str, Any]
    ) -> "BertWordPiece":
        """From the text of `vocab.txt` and a parsed `tokenizer_config.json`.

        Each line is a token. A ValueError names a setting that cannot be followed.
        """
        where = "tokenizer_config.json"
        known: dict[str, tuple[Any, ...]]
        known = {"do_basic_tokenize": (True,), "never_split": (None, [])}
        known |= {f"{k}_token": (v,) for k, v in (TOKENS | {"mask": "[MASK]"}).items()}
        known |= {"do_lower_case": EITHER, "tokenize_chinese_chars": EITHER}
        known |= {"strip_accents": (None, True, False)}
        if not isinstance(tokenizer_config, Mapping):
            found = type(tokenizer_config).__name__
            raise ValueError(f"{where} must be an object, not {found}")
        config: dict[str, Any] = {
            name: value.get("content") if isinstance(value, Mapping) else value
            for name, value in tokenizer_config.items()
            if name in known
        }
        honoured(config, where, known)
        lines = [
            line.removesuffix("\r") for line in checked(vocab, "vocab").split("\n")
        ]
        ids: dict[str, int] = {}
        for i, token in enumerate(lines if lines[-1] else lines[:-1]):
            if ids.setdefault(token, i) != i:
                again = f"as line {ids[token] + 1} is"
                raise ValueError(f"line {i + 1} of vocab is {short(token)}, {again}")
        mask = [AddedToken("[MASK]", ids["[MASK]"])] if "[MASK]" in ids else []
        return cls(
            ids,
            mask,
            config.get("do_lower_case", True),
            config.get("strip_accents"),
            config.get("tokenize_chinese_chars", True),
        )

    def words(self, text: str) -> list[str]:
        """The words of a text, as WordPiece looks them up."""
        text = _each(_cleaned, checked(text))
        if self.chinese:
            text = CHINESE.sub(r" \1 ", text)
        if self.strip_accents:
            text = _each(_unmarked, unicodedata.normalize("NFD", text))
        if self.lowercase:
            text = _each(str.lower, text)
        return WORDS.findall(text)

    def _encode_text(self, text: str) -> list[int]:
        return [i for word in self.words(text) for i in self._encode_word(word)]

    def _encode_word(self, word: str) -> list[int]:
        """The longest known piece at the front, then the longest of what is left."""
        if len(word) > self.longest_word:
            return [self.special_ids.unk]
        ids: list[int] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest_token), start, -1):
                piece = "##" * (start > 0) + word[start:end]
                if piece in self._text_ids:
                    break
            else:  # not even one character is known
                return [self.special_ids.unk]
            ids.append(self._text_ids[piece])
            start = end
        return ids

    def wrap(
        self, first: str, second: str | None = None, max_len: int | None = None
    ) -> tuple[list[int], list[int]]:
        """One text or two as BERT takes them: ids and, as many, segments.

        `[CLS] first [SEP]` is segment 0, `second [SEP]` segment 1. Where that is more
        than max_len ids, the longer text loses its end, then both do; an odd place is
        for the longer one, or for second if they are equally long.
        """
        texts = [self.encode(text) for text in (first, second) if text is not None]
        if max_len is not None:
            at_least(len(texts) + 1, max_len=max_len)
            _shorten(texts, max_len - len(texts) - 1)
        ids, segments = [self.special_ids.bos], [0]
        for segment, text in enumerate(texts):
            ids += [*text, self.special_ids.eos]
            segments += [segment] * (len(text) + 1)
        return ids, segments

    def decode(self, ids: Iterable[SupportsIndex], special: bool = False) -> str:
        """The words, with a space between them.

        Special tokens, `[UNK]` as well, leave nothing unless `special` is True.
        """
        return " ".join(
            self.tokens[i]
            for i in in_range(ids, self.vocab_size)
            if special or i not in self._special
        ).replace(" ##", "")

    def _content(self) -> dict[str, Any]:
        return {
            "added_tokens": self._added_content(),
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": self.chinese,
                "strip_accents": self.strip_accents,
                "lowercase": self.lowercase,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {
                "type": "WordPiece",
                "unk_token": NAMES["unk"],
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": self.longest_word,
                "vocab": self._vocab,
            },
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "BertWordPiece":
        """Read what `save` wrote; any other file raises a ValueError."""
        saved = content(path, cls.__name__)
        with naming(path):
            return cls.from_json(saved)


TOKENS = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]"}


def _check_template(post_processor: Any) -> None:
    """Refuse a file that puts other tokens around texts than `wrap` does."""
    if post_processor is None:
        return
    kind = entry(post_processor, "type", str, "the post_processor")
    if kind == "TemplateProcessing":
        for name, known in (("single", SINGLE), ("pair", PAIR)):
            found = []
            for piece in entry(post_processor, name, list, "the post_processor"):
                for part in piece.values() if isinstance(piece, Mapping) else [piece]:
                    i = entry(part, "type_id", int, "the post_processor")
                    found.append(f"{entry(part, 'id', str, 'the post_processor')}:{i}")
            if " ".join(found) != known:
                rule = f"{name} must be {known}, not {short(' '.join(found))}"
                raise ValueError(f"the post_processor: {rule}")
    elif kind != "BertProcessing":
        rule = "known are BertProcessing, TemplateProcessing"
        raise ValueError(f"the post_processor is {short(kind)}: {rule}")


def _shorten(texts: list[list[int]], room: int) -> None:
    """Cut texts to so many ids together: the longer one first, then both."""
    if len(texts) == 2:
        short_one, long_one = sorted(texts, key=len)  # of equals the first is the short
        del short_one[max(room // 2, room - len(long_one)) :]
        del long_one[room - len(short_one) :]
    else:
        del texts[0][room:]


def _each(change: Any, text: str) -> str:
    """The text with each character changed by itself."""
    return text.translate({ord(char): change(char) for char in set(text)})


@lru_cache(4096)
def _cleaned(char: str) -> str:
    """Nothing for a control character that is no white space."""
    control = unicodedata.category(char) in ("Cc", "Cf", "Co") and char not in "\t\n\r"
    return "" if control or char == "\ufffd" else char


@lru_cache(4096)
def _unmarked(char: str) -> str:
    return "" if unicodedata.category(char) == "Mn" else char
