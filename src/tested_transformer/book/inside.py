"""What the heads of the trained translator look at, and what it writes if one thing in it is changed."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from tested_transformer.book import thread
from tested_transformer.book.thread import FRAMES, THINGS, pronoun
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.masks import causal_mask
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


def clauses(
    writes: Sequence[str], weights: Tensor
) -> list[tuple[Sequence[str], Tensor]]:
    """The clauses of a translation, cut at its signs, each as `crossings` reads it: the token before it comes first."""
    signs = [i for i, token in enumerate(writes) if token in ",.?"]
    cuts = pairwise([0, *signs, len(writes)])
    return [(writes[i:j], weights[i:j]) for i, j in cuts if j > i + 1]


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
    """The other sentence's next word, and its probability after each single swap."""
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


def by_default(translator: Translator, sentence: Sentence) -> tuple[str, str]:
    """The right pronoun, and the one that comes if no head of the encoder can look from "it" to its noun."""
    right = pronoun(sentence.german)
    read = translator.look(sentence.english, "")[0]
    begun = sentence.german.rpartition(f" {right} ")[0]
    hidden = noun_of_it(read, ())
    return right, hiding(translator, sentence.english, begun, hidden)[0]


def ways_to_cut(
    translator: Translator, layer: int, head: int
) -> dict[str, tuple[int, str, int]]:
    """Four experiments with a head: how many pronouns stay right, the word that comes most, how often.

    They are made in all frames with "it". Layer and head are counted from 0. The link is that from
    "it" to its noun; the others of its row share what it loses. A head whose queries are zero looks
    evenly at all.
    """
    asked = [(frame, thing) for frame in FRAMES for thing in THINGS]
    said = [frame.say(thing) for frame, thing in asked]
    c, box = (
        translator.model.config,
        translator.model.encoder.layers[layer].self_attention,
    )
    here = torch.zeros(c.n_layers, c.n_heads, dtype=torch.bool)
    here[layer, head] = True
    found = {
        "the link from “it” to its noun": [
            thread.hidden(translator, *one, here) for one in asked
        ],
        "the same, in all heads": [thread.hidden(translator, *one) for one in asked],
    }
    with thread.without(translator, layer, head):
        found["all that the head adds"] = _pronouns(translator, said)
    queries = box.w_q.weight.detach().unflatten(0, (c.n_heads, -1))[head]
    kept = queries.clone()
    try:
        queries.zero_()
        found["its queries, so that it looks evenly"] = _pronouns(translator, said)
    finally:
        queries.copy_(kept)
    right = [pronoun(sentence.german) for sentence in said]
    return {
        name: (sum(map(str.__eq__, came, right)), *Counter(came).most_common(1)[0])
        for name, came in found.items()
    }


def _pronouns(translator: Translator, said: Sequence[Sentence]) -> list[str]:
    """What the translator writes where each sentence has its pronoun."""
    found = []
    for sentence in said:
        begun = sentence.german.rpartition(f" {pronoun(sentence.german)} ")[0]
        memory = depths(translator, sentence.english)[-1]
        p = follows(translator, memory, sentence.english, begun)
        found.append(translator.name(int(p.argmax())).strip())
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
def heads_hiding(
    translator: Translator,
    english: str,
    german: str,
    heads: Sequence[int],
    column: int,
    row: int | None = None,
) -> Tensor:
    """What `follows` gives if these heads of a last layer cannot look at one place.

    They are those of the encoder, looking from one row, or without a row those that
    look across in the step that is asked for.
    """
    model, x = translator.model, depths(translator, english)
    n, h = x[0].shape[1], model.config.n_heads
    may_look = torch.ones(1, h, n, n, dtype=torch.bool)
    if row is not None:
        may_look[0, heads, row, column] = False
        memory = model.encoder.layers[-1](x[-2], may_look)
        return follows(translator, memory, english, german)
    may_look = may_look[:, :, :1]
    may_look[0, heads, 0, column] = False
    begun = torch.tensor([[model.config.bos_id, *translator.tokens.encode(german)]])
    states, causal = model.positions(model.embedding(begun)), causal_mask(begun.size(1))
    *before, last = model.decoder.layers
    for layer in before:
        states = layer(states, x[-1], causal)
    states = last(states, x[-1], causal, may_look)
    return model.embedding.logits(states)[0, -1].softmax(-1)


@torch.no_grad()
def effects(translator: Translator, english: str, german: str) -> np.ndarray:
    """The surprise added to each next token when a source token is hidden, (T, S)."""
    model, c = translator.model, translator.model.config
    source = _ids(translator, english)
    target = torch.tensor([[c.bos_id, *translator.tokens.encode(german), c.eos_id]])
    n = source.shape[1] + 1
    hidden = source.repeat(n, 1)
    hidden[1:].fill_diagonal_(c.pad_id)  # the first row hides nothing
    memory = model.encode(source).repeat(n, 1, 1)
    states = model.decode(target[:, :-1].repeat(n, 1), memory, hidden)
    p = model.embedding.logits(states).log_softmax(-1)
    p = p[:, range(target.shape[1] - 1), target[0, 1:]]
    return (p[0] - p[1:]).T.numpy()


@torch.no_grad()
def lengths(translator: Translator, english: str, layer: int) -> np.ndarray:
    """How long the value of each source token is when a head adds it across, (H, S).

    The layer of the decoder is counted from 1.
    """
    heads = translator.model.decoder.layers[layer - 1].cross_attention
    values = heads.values(depths(translator, english)[-1])
    blocks = heads.w_o.weight.T.unflatten(0, (values.shape[1], -1))  # (H, Dv, D)
    return (values @ blocks)[0].norm(dim=-1).numpy()


@torch.no_grad()
def nudged(translator: Translator, english: str, times: int = 16) -> np.ndarray:
    """How far each output of the encoder moves with each input, (S, S): rows are outputs.

    Each input is moved a little in so many random directions.
    """
    x = depths(translator, english)[0]
    rng = np.random.default_rng(0)
    noise = 1e-4 * torch.tensor(rng.normal(size=(times, x.shape[2])))
    found = np.zeros((x.shape[1], x.shape[1]))
    for place in range(x.shape[1]):
        near = x.repeat(times, 1, 1)
        near[:, place] += noise
        moved = translator.model.encoder(near) - translator.model.encoder(x)
        found[:, place] = moved.norm(dim=-1).mean(0)
    return found
