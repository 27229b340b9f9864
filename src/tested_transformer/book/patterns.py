"""What the heads of the trained translator look at: the patterns that are expected, and how often they come true."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tested_transformer.book.coreference import (
    RUNNING,
    THINGS,
    Frame,
    before_pronoun,
    pronoun,
)
from tested_transformer.book.interventions import residual_stream
from tested_transformer.book.pretrained import it_and_thing, source_ids, token_names
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.phrasebook.words import NOUNS

Places = list[tuple[int, int]]
"""Rows of a matrix of weights, each with the column where a large weight is expected."""

ARTICLES = ("der", "die", "das", "den", "dem")


def hit_rate(
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


def clauses(
    writes: Sequence[str], weights: Tensor
) -> list[tuple[Sequence[str], Tensor]]:
    """The clauses of a translation, cut at its signs, each as `crossings` reads it: the token before it comes first."""
    signs = [i for i, token in enumerate(writes) if token in ",.?"]
    cuts = pairwise([0, *signs, len(writes)])
    return [(writes[i:j], weights[i:j]) for i, j in cuts if j > i + 1]


def on_the_thing(translator: Translator, frame: Frame, thing: str) -> Tensor:
    """The weight of "it" on the thing in each layer and head of the encoder: (L, H)."""
    english = frame.say(thing).english
    it, pieces = it_and_thing(translator, english, thing)
    return translator.look(english, "")[2]["encoder"][:, :, it, pieces].sum(-1)


def of_it(
    translator: Translator, layer: int, head: int
) -> list[tuple[list[str], np.ndarray, int, str, str]]:
    """For the three sentences: tokens, the row of "it" in this head (counted from 1), its place, German, pronoun."""
    found = []
    for english, german, *_ in RUNNING:
        tokens, _, weights = translator.look(english, german)
        it = tokens.index(" it")
        row = weights["encoder"][layer - 1, head - 1, it, :-1].numpy()
        found.append((tokens[:-1], row, it, german, pronoun(german)))
    return found


class Step(NamedTuple):
    """Where the model looks when it writes the pronoun of a sentence."""

    read: list[str]  # the tokens of the English sentence
    written: list[str]  # the German ones before the pronoun
    across: np.ndarray  # the weights on those read, in each layer and head (L, H, S)
    back: np.ndarray  # and on those written (L, H, T)


def writing(translator: Translator, sentence: Sentence) -> Step:
    """Where the decoder looks in the step that writes the pronoun, if all before it is as in the reference."""
    begun = before_pronoun(sentence.german)
    read, written, weights = translator.look(sentence.english, begun)
    across, back = (weights[kind][:, :, -1].numpy() for kind in ("cross", "decoder"))
    return Step(read, written, across, back)


def of_words(translator: Translator, texts: Sequence[str]) -> list[Tensor]:
    """For each sentence the weights of "it" in all heads of the encoder, on its words: (L, H, words).

    The mark of the end is no word, so the weights add up to a little less than one.
    """
    source = source_ids(translator, *texts)
    begun = torch.full((len(texts), 1), translator.model.config.bos_id)
    weights = attention_weights(translator.model, source, begun)["encoder"]
    found = []
    for n, text in enumerate(texts):
        pieces = token_names(translator, text)[:-1]
        begins = torch.tensor([piece.startswith(" ") for piece in pieces])
        row = weights[:, n, :, pieces.index(" it"), : len(pieces)]
        words = torch.zeros(*row.shape[:2], int(begins.sum()) + 1, dtype=row.dtype)
        found.append(words.index_add_(2, begins.cumsum(0), row))
    return found


def nearest(x: np.ndarray, labels: np.ndarray) -> float:
    """The share of rows that lie nearest to the mean of the others with their label."""
    hits, names = 0, np.unique(labels)
    for i, row in enumerate(x):
        others = np.arange(len(x)) != i
        means = [x[others & (labels == name)].mean(0) for name in names]
        hits += names[np.linalg.norm(row - means, axis=1).argmin()] == labels[i]
    return hits / len(x)


@torch.no_grad()
def value_norms(translator: Translator, english: str, layer: int) -> np.ndarray:
    """How long the value of each source token is when a head adds it across, (H, S).

    The layer of the decoder is counted from 1.
    """
    heads = translator.model.decoder.layers[layer - 1].cross_attention
    values = heads.values(residual_stream(translator, english)[-1])
    blocks = heads.w_o.weight.T.unflatten(0, (values.shape[1], -1))  # (H, Dv, D)
    return (values @ blocks)[0].norm(dim=-1).numpy()
