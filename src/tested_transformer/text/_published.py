"""What the tokenisers in other people's files share: checks, added tokens, saving."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from reprlib import repr as short
from typing import Any, NamedTuple

from tested_transformer import files
from tested_transformer.config import SpecialIds
from tested_transformer.text import _files
from tested_transformer.text._checks import checked

ANY: Any = object()
"""Among the known values of an entry: all that it may be."""
AROUND: dict[str, tuple[Any, ...]] = {
    "version": (ANY,),
    "truncation": (ANY,),
    "padding": (ANY,),
    "added_tokens": (ANY,),
    "decoder": (ANY,),
    "pre_tokenizer": (ANY,),
    "post_processor": (ANY,),
    "model": (ANY,),
}
"""What a `tokenizer.json` has and a tokeniser reads later, or leaves to its caller."""


class AddedToken(NamedTuple):
    """A token that is looked for in the text itself, before it is cut into words.

    special: it is none of the text's words. normalized: it is looked for behind those
    that are not, as the library `tokenizers` does.
    """

    content: str
    id: int
    special: bool = True
    normalized: bool = False


def entry(part: Any, name: str, kind: type, where: str) -> Any:
    """`part[name]`, if it is of that type; or else a ValueError names it."""
    if not isinstance(part, Mapping):
        raise ValueError(f"{where} must be an object, not {type(part).__name__}")
    found = part.get(name)
    if type(found) is not kind:
        rule = f"must be {kind.__name__}, not {type(found).__name__}"
        raise ValueError(f"{where}: {name!r} {rule} ({short(found)})")
    return found


def honoured(part: Any, where: str, known: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse entries that are not known, and values that are not: by name.

    An entry that is not there has the value that is usual.
    """
    if not isinstance(part, Mapping):
        raise ValueError(f"{where} must be an object, not {type(part).__name__}")
    for name, value in part.items():
        if name not in known:
            rule = f"known are {', '.join(known)}"
            raise ValueError(f"{where}: {short(name)} is not known; {rule}")
        if ANY not in known[name] and value not in known[name]:
            rule = f"must be {' or '.join(map(repr, known[name]))}"
            raise ValueError(f"{where}: {name} ({short(value)}) {rule}")


def added_tokens(tokenizer: Mapping[str, Any]) -> list[AddedToken]:
    """The added tokens of a `tokenizer.json`, none where it has no such list."""
    if tokenizer.get("added_tokens") is None:
        return []
    added = []
    both, no = (True, False), (False,)
    known = {"id": (ANY,), "content": (ANY,), "special": both, "normalized": both}
    known |= {"single_word": no, "lstrip": no, "rstrip": no}
    for k, token in enumerate(entry(tokenizer, "added_tokens", list, "tokenizer.json")):
        where = f"added token {k}"
        honoured(token, where, known)
        i, content = entry(token, "id", int, where), entry(token, "content", str, where)
        special = entry(token, "special", bool, where)
        added.append(AddedToken(content, i, special, token.get("normalized", False)))
    return added


def vocabulary(model: Any) -> dict[str, int]:
    """The tokens of a model in a `tokenizer.json`, each with its id."""
    vocab: dict[str, int] = entry(model, "vocab", dict, "the model")
    for token, i in vocab.items():
        if type(i) is not int:
            rule = f"must be a whole number, not {short(i)}"
            raise ValueError(f"the id of token {short(token)} {rule}")
    return vocab


def in_order(vocab: Mapping[str, int], added: Iterable[AddedToken]) -> list[str]:
    """The token at each id. Each id from 0 to the last one belongs to one token."""
    ids = dict(vocab)
    for token in added:
        if ids.setdefault(token.content, token.id) != token.id:
            rule = f"has id {ids[token.content]} already, and not {token.id}"
            raise ValueError(f"added token {short(token.content)} {rule}")
    tokens: dict[int, str] = {}
    for content, i in ids.items():
        if not checked(content, "a token"):
            raise ValueError(f"token {i} is empty; a token has at least one character")
        if not 0 <= i < len(ids) or i in tokens:
            rule = f"{len(ids)} tokens have the ids 0 to {len(ids) - 1}, each once"
            raise ValueError(f"token {short(content)} has id {i}: {rule}")
        tokens[i] = content
    return [tokens[i] for i in range(len(tokens))]


def content(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """What `save` wrote for that kind of tokeniser."""
    found: dict[str, Any] = _files.read(path, kind, "tokenizer", dict)
    return found


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let a ValueError say in which file it is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


class Published(ABC):
    """A tokeniser with somebody else's ids, and with added tokens.

    chat_template is the text that its publisher gives for conversations, if there is one.
    add_bos says that the model has learned texts that begin with `special_ids.bos`;
    after has the ids that its publisher puts behind a text, and ends those that end
    what it writes, besides `special_ids.eos`.
    """

    chat_template: str | None = None
    add_bos: bool = False
    after: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def __init__(
        self, vocab_size: int, special_ids: SpecialIds, added: Iterable[AddedToken]
    ) -> None:
        for name, i in zip(SpecialIds._fields, special_ids, strict=True):
            if not 0 <= i < vocab_size:
                rule = f"must be at least 0 and below vocab_size ({vocab_size})"
                raise ValueError(f"special_ids.{name} ({i}) {rule}")
        self.vocab_size = vocab_size
        self.special_ids = special_ids
        self._added = tuple(added)
        self.special_tokens = {t.content: t.id for t in self._added if t.special}
        self._special = frozenset(self.special_tokens.values())
        self._searches = {
            special: [
                _Search(
                    t for t in self._added if t.normalized == n and special >= t.special
                )
                for n in (False, True)
            ]
            for special in (False, True)
        }

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text; none is added.

        Special tokens that a user has typed are text like any other, unless `special`
        is True: then each becomes its id. (The library `tokenizers` does that unless
        its `encode_special_tokens` is set.)
        """
        first, second = self._searches[special]
        parts: list[str | int] = []
        for part in first(checked(text)):
            parts += second(part if isinstance(part, int) else self._normalised(part))
        ids: list[int] = []
        for part in parts:
            ids += [part] if isinstance(part, int) else self._encode_text(part)
        return ids

    def _normalised(self, text: str) -> str:
        """What is read in place of the text; it is asked between the two searches."""
        return text

    @abstractmethod
    def _encode_text(self, text: str) -> list[int]:
        """The ids of a text without added tokens."""

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """What a file says of it."""

    def to_json(self) -> bytes:
        """What `save` writes: the parts of a `tokenizer.json`, and what they are."""
        return _files.to_json(type(self).__name__, "tokenizer", self._content())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tokeniser to a JSON file."""
        files.write(path, self.to_json())

    def _added_content(self) -> list[dict[str, Any]]:
        off = {"single_word": False, "lstrip": False, "rstrip": False}
        return [token._asdict() | off for token in self._added]


class _Search:
    """Cuts a text at tokens: the leftmost first, and there the longest."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        self.ids = {token.content: token.id for token in tokens}
        longest_first = sorted(self.ids, key=len, reverse=True)
        self.pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})")

    def __call__(self, part: str | int) -> Iterator[str | int]:
        if isinstance(part, int) or not self.ids:
            yield part
            return
        for k, piece in enumerate(self.pattern.split(part)):
            yield self.ids[piece] if k % 2 else piece
