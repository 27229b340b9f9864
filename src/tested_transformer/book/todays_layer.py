"""What the chapter on today's layer tries: norms that take no mean off, and the score of two words that move on."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import torch
from torch import Tensor

from tested_transformer.byhand.llama import rotate
from tested_transformer.byhand.positions import sinusoids
from tested_transformer.decoding.cache import GptCache
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.addnorm import LayerNorm
from tested_transformer.model.llama import Llama, LlamaConfig


class Scaled(LayerNorm):
    """A layer norm that takes no mean off: each row is divided by its root mean square."""

    cacheable = True

    def forward(self, x: Tensor) -> Tensor:
        """Each row by itself."""
        size = (x.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return x / size * self.weight + self.bias


@contextmanager
def with_norms(translator: Translator, other: type[LayerNorm]) -> Iterator[None]:
    """As long as this lasts, every norm of the translator is of another class; all it has learned stays."""
    norms = [m for m in translator.model.modules() if type(m) is LayerNorm]
    try:
        for norm in norms:
            norm.__class__ = other
        yield
    finally:
        for norm in norms:
            norm.__class__ = LayerNorm


def without_means(translator: Translator) -> AbstractContextManager[None]:
    """As long as this lasts, no norm takes a mean off."""
    return with_norms(translator, Scaled)


def share_of_means(translator: Translator, english: Sequence[str]) -> float:
    """How large the mean of a row is beside its root mean square: on average over all norms of all steps."""
    found: list[float] = []

    class Measured(LayerNorm):
        cacheable = True

        def forward(self, x: Tensor) -> Tensor:
            found.append(float((x.mean(-1).square().mean() / x.square().mean()).sqrt()))
            return super().forward(x)

    with with_norms(translator, Measured):
        translator.translate(english)
    return sum(found) / len(found)


def cache_bytes(n_kv_heads: int, n_tokens: int) -> int:
    """So many bytes a cache keeps of a text: in a Llama with four heads of queries, two layers, width 128.

    A number has four bytes.
    """
    sizes = {"d_model": 128, "d_ff": 256, "n_heads": 4, "n_layers": 2}
    config = LlamaConfig(60, **sizes, n_kv_heads=n_kv_heads, max_len=n_tokens)
    cache = GptCache(Llama(config).eval())
    with torch.no_grad():
        cache.read(torch.full((1, n_tokens), 5))
    tensors = [t for layer in cache.layers for t in (layer.keys, layer.values)]
    return 4 * sum(t[:, :, :n_tokens].numel() for t in tensors)


def moved_on(
    query: np.ndarray, key: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, n: int
) -> dict[str, np.ndarray]:
    """The score of two words at the same distance, at n places: query word at t + 2, key word at t.

    query and key are rows of width D, w_q and w_k one head's matrices (Dk, D). "added" has the positions
    added to the rows, "turned" has query and key turned.
    """
    table, root = sinusoids(n + 2, len(query)), np.sqrt(len(w_q))
    added = [(query + table[t + 2]) @ w_q.T @ w_k @ (key + table[t]) for t in range(n)]
    q, k = (query @ w_q.T)[None], (key @ w_k.T)[None]
    turned = [(rotate(q, t + 2) @ rotate(k, t).T).item() for t in range(n)]
    return {"added": np.array(added) / root, "turned": np.array(turned) / root}


def hands(
    words: Mapping[str, np.ndarray], pair: int, places: Sequence[Sequence[int]]
) -> dict[str, dict[str, np.ndarray]]:
    """One pair of the numbers of some words, turned by their positions: a hand (x, y) for each word.

    words are queries and keys (Dk,) by name, and places say where they stand, a position for each, as often as
    wanted. Returns the hands of each time, by what tells the positions.
    """
    found = {}
    for at in places:
        said = ", ".join(f"{word} at {t}" for word, t in zip(words, at, strict=True))
        turned = [
            rotate(x[None], t)[0] for x, t in zip(words.values(), at, strict=True)
        ]
        found[said] = {
            word: x[[pair, pair + len(x) // 2]]
            for word, x in zip(words, turned, strict=True)
        }
    return found
