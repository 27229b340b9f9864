"""What the heads of the trained translator look at, and what it writes if one thing in it is changed."""

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from tested_transformer.book.thread import THINGS, pronoun
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.phrasebook.words import NOUNS

Places = list[tuple[int, int]]
"""Rows of a matrix of weights, each with the column where a large weight is expected."""

ARTICLES = ("der", "die", "das", "den", "dem")


def share(
    looks: Iterable[tuple[Sequence[str], Sequence[str], dict[str, Tensor]]],
    kind: str,
    expected: Callable[[Sequence[str], Sequence[str]], Places],
) -> np.ndarray:
    """For each head (L, H): the share of rows with their largest weight as expected."""
    hits = []
    for reads, writes, weights in looks:
        for row, column in expected(reads, writes):
            most = weights[kind][:, :, row].argmax(-1)
            hits.append((most == column).numpy())
    return np.mean(hits, axis=0)


def noun_of_it(reads: Sequence[str], writes: Sequence[str]) -> Places:
    """From "it" to the thing before it, where there is only one."""
    named = [j for j, token in enumerate(reads) if token.strip() in THINGS]
    found = [i for i, token in enumerate(reads) if token == " it"]
    return [(i, named[0]) for i in found if len(named) == 1 and named[0] < i]


def noun_of_the(reads: Sequence[str], writes: Sequence[str]) -> Places:
    """From "the" to its noun, which stands next to it, or behind one adjective."""
    english = {f" {noun.english}" for noun in NOUNS}
    found = []
    for i in (i for i, token in enumerate(reads) if token.strip().lower() == "the"):
        behind = [j for j in (i + 1, i + 2) if j < len(reads) and reads[j] in english]
        found += [(i, j) for j in behind[:1]]
    return found


def noun_next(reads: Sequence[str], writes: Sequence[str], before: int = 1) -> Places:
    """From the row that is asked for a German noun, the one before it, to its English."""
    pairs = ((f" {noun.english}", f" {noun.german}") for noun in NOUNS)
    once = [(e, g) for e, g in pairs if reads.count(e) == writes.count(g) == 1]
    return [(writes.index(g) - before, reads.index(e)) for e, g in once]


def noun_of_the_article(reads: Sequence[str], writes: Sequence[str]) -> Places:
    """From the row that is asked for a German article to the English of its noun."""
    rows = [(r - n, j) for r, j in noun_next(reads, writes) for n in (1, 2) if r >= n]
    return [(r, j) for r, j in rows if writes[r + 1].strip().lower() in ARTICLES]


def crossings(writes: Sequence[str], weights: Tensor) -> int:
    """How many pairs of written words have their largest weights (T, S) in the opposite order.

    The row of a word is the one before it. Full stops, commas and question marks are left out.
    """
    columns = weights[:-1].argmax(-1).tolist()
    words = [c for c, w in zip(columns, writes[1:], strict=True) if w not in ",.?"]
    return sum(a > b for i, a in enumerate(words) for b in words[i:])


def _ids(translator: Translator, english: str) -> Tensor:
    return torch.tensor([translator.encode(english, 1)])


@torch.no_grad()
def depths(translator: Translator, english: str) -> list[Tensor]:
    """The vectors of the source before, between and after the encoder's layers, (1, S, D) each."""
    model = translator.model
    found = [model.positions(model.embedding(_ids(translator, english)))]
    for layer in model.encoder.layers:
        found.append(layer(found[-1]))
    return found


@torch.no_grad()
def follows(
    translator: Translator,
    memory: Tensor,
    english: str,
    german: str,
    hidden: Collection[int] = (),
) -> Tensor:
    """The probabilities of the token after the beginning of a translation, (V,).

    The decoder reads this memory, and cannot look at the hidden places of it.
    """
    model, source = translator.model, _ids(translator, english)
    source[0, list(hidden)] = model.config.pad_id  # read by the encoder, not looked at
    begun = torch.tensor([[model.config.bos_id, *translator.tokens.encode(german)]])
    states = model.decode(begun, memory, source)
    return model.embedding.logits(states)[0, -1].softmax(-1)


@torch.no_grad()
def swapped(
    translator: Translator, english: str, other: str, german: str
) -> tuple[str, np.ndarray]:
    """The next word for another sentence, and how probable each single swap makes it: (L + 1, S)."""
    here, there = depths(translator, english), depths(translator, other)
    wanted = follows(translator, there[-1], other, german).argmax()
    found = np.zeros((len(here), here[0].shape[1]))
    for depth, place in np.ndindex(found.shape):
        x = here[depth].clone()
        x[0, place] = there[depth][0, place]
        for layer in translator.model.encoder.layers[depth:]:
            x = layer(x)
        found[depth, place] = follows(translator, x, english, german)[wanted]
    return translator.name(int(wanted)).strip(), found


@torch.no_grad()
def hiding(
    translator: Translator,
    english: str,
    german: str,
    inside: Iterable[tuple[int, int]] = (),
    across: Collection[int] = (),
) -> tuple[str, float]:
    """The next word and its probability, if pairs are hidden in the encoder and places from the decoder.

    A pair is who looks and what is not seen; it is hidden in all heads of all layers.
    """
    x = depths(translator, english)[0]
    may_look = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
    for row, column in inside:
        may_look[row, column] = False
    memory = translator.model.encoder(x, may_look)
    p = follows(translator, memory, english, german, across)
    return translator.name(int(p.argmax())).strip(), float(p.max())


@torch.no_grad()
def each_link(
    translator: Translator, sentence: Sentence
) -> tuple[np.ndarray, np.ndarray]:
    """All weights of the encoder (L, H, S, S), and the surprise at the pronoun that cutting each link alone adds."""
    english, word = sentence.english, pronoun(sentence.german)
    (wanted,) = translator.tokens.encode(f" {word}")
    begun = sentence.german.rpartition(f" {word} ")[0]
    x, layers = depths(translator, english), translator.model.encoder.layers
    weights = translator.look(english, "")[2]["encoder"]
    as_it_is = follows(translator, x[-1], english, begun)[wanted].log()
    added = torch.zeros_like(weights)
    for n, head, row, column in np.ndindex(*weights.shape):
        may_look = torch.ones(1, *weights.shape[1:], dtype=torch.bool)
        may_look[0, head, row, column] = False
        cut = layers[n](x[n], may_look)
        for layer in layers[n + 1 :]:
            cut = layer(cut)
        p = follows(translator, cut, english, begun)[wanted]
        added[n, head, row, column] = as_it_is - p.log()
    return weights.numpy(), added.numpy()


def nearest(x: np.ndarray, labels: np.ndarray) -> float:
    """The share of rows that lie nearest to the mean of the others with their label."""
    hits, names = 0, np.unique(labels)
    for i, row in enumerate(x):
        others = np.arange(len(x)) != i
        means = [x[others & (labels == name)].mean(0) for name in names]
        hits += names[np.linalg.norm(row - means, axis=1).argmin()] == labels[i]
    return hits / len(x)
