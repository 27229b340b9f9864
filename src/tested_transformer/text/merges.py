"""Merging pairs of neighbours, and counting them, for the two ways of learning subwords."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

Symbol = TypeVar("Symbol", int, str)


def merge(
    symbols: Sequence[Symbol], pair: tuple[Symbol, Symbol], new: Symbol
) -> list[Symbol]:
    """Replace each occurrence of the pair by `new`, from left to right."""
    merged: list[Symbol] = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


class PairCounts(Generic[Symbol]):
    """How often symbols and pairs of neighbours occur, kept right while pairs merge.

    `words` maps each different word, cut into symbols, to the times that it occurs.
    """

    def __init__(self, words: Mapping[tuple[Symbol, ...], int]) -> None:
        self.words: list[list[Symbol]] = [list(word) for word in words]
        self.times = list(words.values())
        self.singles: Counter[Symbol] = Counter()
        self.counts: Counter[tuple[Symbol, Symbol]] = Counter()
        self.where: defaultdict[tuple[Symbol, Symbol], set[int]] = defaultdict(set)
        for w, word in enumerate(self.words):
            self._count(w, self.times[w])
            for pair in pairwise(word):
                self.where[pair].add(w)

    def _count(self, w: int, times: int) -> None:
        for symbol in self.words[w]:
            self.singles[symbol] += times
        for pair in pairwise(self.words[w]):
            self.counts[pair] += times

    def merge(
        self, pair: tuple[Symbol, Symbol], new: Symbol
    ) -> set[tuple[Symbol, Symbol]]:
        """Merge the pair in the words that have it, and look at no other word.

        Returns the pairs that `new` belongs to.
        """
        born = set()
        for w in self.where.pop(pair, ()):
            self._count(w, -self.times[w])
            self.words[w] = merge(self.words[w], pair, new)
            self._count(w, self.times[w])
            for neighbours in pairwise(self.words[w]):
                if new in neighbours:
                    born.add(neighbours)
                    self.where[neighbours].add(w)
        self.counts.pop(pair, None)
        return born

    def scores(self, min_count: int) -> dict[tuple[Symbol, Symbol], float]:
        """The WordPiece score of each pair: count(ab) / (count(a) count(b)).

        Pairs that occur less than `min_count` times are left out.
        """
        enough = (
            (pair, n) for pair, n in self.counts.items() if n >= max(min_count, 1)
        )
        return {(a, b): n / (self.singles[a] * self.singles[b]) for (a, b), n in enough}
