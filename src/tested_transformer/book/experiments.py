"""Experiments with the trained translator: what it writes about the running sentences after an intervention."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from tested_transformer.book.coreference import (
    FRAMES,
    SENTENCES,
    THINGS,
    Frame,
    before_pronoun,
    pronoun,
    so_far,
)
from tested_transformer.book.interventions import (
    PARTS,
    activation_patching,
    edited,
    knockout,
    links,
    patched,
    replaced,
    sites,
    sublayers,
    without_head,
    without_part,
)
from tested_transformer.book.patterns import of_words
from tested_transformer.book.pretrained import (
    at_pronoun,
    it_and_thing,
    logits,
    next_word,
    place,
    predictions,
    probabilities,
    source_ids,
    surprises,
    token_id,
    token_names,
    write,
)
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence

# Another German, and other vectors


def contradicted(
    translator: Translator, frame: Frame, thing: str, other: str, only: str = ""
) -> str:
    """The pronoun that follows if English is about a thing, and the German written so far about the other one.

    Perhaps only its article or its noun is that of the other, as in `so_far`; where that is
    empty, nothing follows.
    """
    german = so_far(frame, thing, other, only)
    return next_word(translator, frame.say(thing).english, german) if german else ""


def exchanged(
    translator: Translator,
    frame: Frame,
    thing: str,
    other: str,
    word: str | None = "it",
) -> str:
    """The pronoun that follows if one vector of the encoder is that of the sentence about the other thing.

    The vector is that of a word, or of the thing itself (None). All others stay, and so does what was written already.
    """
    english = [frame.say(name).english for name in (thing, other)]
    words = word or thing, word or other
    source, foreign = (source_ids(translator, text) for text in english)
    here, there = (
        place(translator, *both) for both in zip(english, words, strict=True)
    )
    with torch.no_grad():
        vector = translator.model.encode(foreign)[:, there]
    memory = patched(translator, sites(translator)[-1], source, [here], vector)
    return at_pronoun(translator, frame.say(thing), memory)


def traced(
    translator: Translator, frame: Frame, thing: str, other: str
) -> tuple[list[str], list[list[str]]]:
    """For each token the pronoun that follows if its vector is that of the sentence about the other thing.

    It is exchanged before the first layer of the encoder, after the first, and so on: each
    of these stages has a list. Everything else stays, and so does what was written already.
    """
    (english, german, *_), foreign = frame.say(thing), frame.say(other).english
    p = activation_patching(translator, english, foreign, before_pronoun(german))
    words = [[translator.name(i).strip() for i in row] for row in p.argmax(-1).tolist()]
    return token_names(translator, english), words


def swapped(
    translator: Translator, english: str, other: str, german: str
) -> tuple[str, np.ndarray]:
    """The other sentence's next word, and its probability after each single swap."""
    wanted = int(probabilities(translator, other, german).argmax())
    p = activation_patching(translator, english, other, german)
    return translator.name(wanted).strip(), p[..., wanted].numpy()


def steered(
    translator: Translator, things: Sequence[str], arrow: ArrayLike
) -> list[str]:
    """What the model writes about these things in the first frame, if an arrow is added to their rows.

    It is added where a row is read. The table stays as it is.
    """
    texts = [FRAMES[0].say(thing).english for thing in things]
    named = torch.tensor([token_id(translator, thing) for thing in things])
    width = translator.model.config.d_model
    if np.shape(arrow) != (width,):
        raise ValueError(f"arrow must have shape ({width},), not {np.shape(arrow)}")
    step = width**0.5 * torch.as_tensor(arrow)  # the model reads rows times √d_model

    def add(forward, read: Tensor) -> Tensor:
        return forward(read) + torch.isin(read, named)[..., None] * step

    with edited(translator.model, {"embedding": add}):
        return translator.translate(texts, at_once=len(texts))


def turned(
    translator: Translator, thing: str, column: int, value: float
) -> tuple[float, str]:
    """How surprised the model is by the word for "it" if one number of a thing's row in the table has this value.

    Beside it stands what the model writes there. The column is counted from 1.
    """
    width = translator.model.config.d_model
    if not 1 <= column <= width:
        raise ValueError(f"column ({column}) must lie between 1 and {width}")
    sentence = FRAMES[0].say(thing)

    def turn(table: Tensor) -> Tensor:
        table = table.clone()
        table[token_id(translator, thing), column - 1] = value
        return table

    with edited(translator.model, {"embedding.weight": turn}):
        word = at_pronoun(translator, sentence)
        names, nats = surprises(translator, sentence)
    return nats[names.index(pronoun(sentence.german))].item(), word


def surprise(translator: Translator, thing: str, column: int, value: float) -> float:
    """How surprised the model is with this value, as in `turned`."""
    return turned(translator, thing, column, value)[0]


def placed(
    translator: Translator,
    english: str,
    order: Sequence[int] | None = None,
    places: Sequence[int] | None = None,
    positions: bool = True,
) -> tuple[str, str]:
    """The tokens of a sentence in this order as text, and what the model writes for them.

    order numbers the tokens as they are read, places says whose position each of them gets
    in the encoder: without them, every token stands in its own place. The mark of the end
    stays last. Without positions the encoder adds none at all. What is written ends at the
    latest with twice as many tokens as were read.
    """
    model, (read,) = translator.model, source_ids(translator, english)
    n = len(read) - 1
    order, places = (list(range(n) if p is None else p) for p in (order, places))
    if sorted(order) != list(range(n)):
        raise ValueError(f"order ({order}) must number the {n} tokens of {english!r}")
    if len(places) != n:
        raise ValueError(f"places ({places}) must be {n}, one for each token")
    source = read[[*order, n]][None]
    x = model.embedding(source)
    if positions:
        x = x + model.positions.table[[*places, n]]
    with edited(model, {"encoder": lambda forward, _, mask: forward(x, mask)}):
        (german,) = write(translator, source, max_len=2 * n - 1)
    text = "".join(f" {translator.name(i).strip()}" for i in source[0, :-1].tolist())
    return text.replace(" .", ".").strip(), german


# A head switched off, or its links


class Answer(NamedTuple):
    """What the model makes of one sentence, with and without the head that finds the thing."""

    frame: int
    thing: str
    sentence: Sentence
    weights: tuple[float, ...]  # of "it", on each word of the English sentence
    german: str
    without: str


def all_answers(translator: Translator) -> tuple[int, int, list[Answer]]:
    """What the model makes of all sentences; before it the layer and the head, from 0.

    The head is that of the encoder which gives the thing the largest weight of "it", on
    average. A word of several pieces has the weight of all of them.
    """
    asked = [(n, thing) for n in range(len(FRAMES)) for thing in THINGS]
    texts = [sentence.english for sentence in SENTENCES]
    looks = of_words(translator, texts)
    on_the_things = [
        look[..., text.split().index(thing)]
        for look, text, (_, thing) in zip(looks, texts, asked, strict=True)
    ]
    best = int(torch.stack(on_the_things).mean(0).argmax())
    layer, head = divmod(best, translator.model.config.n_heads)
    german = translator.translate(texts, at_once=len(texts))
    with without_head(translator, layer, head):
        other = translator.translate(texts, at_once=len(texts))
    rows = [tuple(look[layer, head].tolist()) for look in looks]
    columns = zip(asked, SENTENCES, rows, german, other, strict=True)
    return layer, head, [Answer(*about, *rest) for about, *rest in columns]


def pronouns(translator: Translator) -> list[str]:
    """What the model writes in each sentence where its German has the pronoun."""
    return [at_pronoun(translator, sentence) for sentence in SENTENCES]


def right_pronouns(translator: Translator) -> tuple[int, int]:
    """In how many of all sentences the right pronoun follows, if all before it is as in the German; and of how many."""
    return _n_right(pronouns(translator)), len(SENTENCES)


def _n_right(found: Sequence[str]) -> int:
    right = [pronoun(sentence.german) for sentence in SENTENCES]
    return sum(map(str.__eq__, found, right))


Heads = Iterable[tuple[int, int]] | None
"""Heads by layer and head, counted from 0; None for all."""


def probabilities_without(
    translator: Translator,
    english: str,
    german: str,
    heads: Heads = None,
    encoder: Iterable[tuple[int, int]] = (),
    cross: Iterable[int] = (),
) -> Tensor:
    """The probabilities of the next token if in some heads pairs are hidden in the encoder and places from the decoder.

    A pair is who looks and what is not seen.
    """
    across = links(translator, english, [(0, place) for place in cross], heads)
    within = links(translator, english, encoder, heads)
    with knockout(translator, encoder=within, cross=across[:, :, :1]):
        return probabilities(translator, english, german)


def next_without(*asked: Any, **hidden: Any) -> tuple[str, float]:
    """The next word and its probability, as in `probabilities_without`."""
    p = probabilities_without(*asked, **hidden)
    return asked[0].name(int(p.argmax())).strip(), float(p.max())


def hidden(
    translator: Translator, frame: Frame, thing: str, heads: Heads = None
) -> str:
    """The pronoun that follows if "it" cannot look at the thing, in these heads of the encoder."""
    english, german, *_ = frame.say(thing)
    it, pieces = it_and_thing(translator, english, thing)
    asked = translator, english, before_pronoun(german), heads
    return next_without(*asked, encoder=[(it, piece) for piece in pieces])[0]


def taken_away(
    translator: Translator, thing: str, layer: int, head: int
) -> tuple[str, str, str]:
    """The pronoun of the first frame: as it is, with a head switched off, and with its look at the thing forbidden.

    Layer and head of the encoder are counted from 1.
    """
    place, sentence = (layer - 1, head - 1), FRAMES[0].say(thing)
    with without_head(translator, *place):
        off = at_pronoun(translator, sentence)
    link_cut = hidden(translator, FRAMES[0], thing, [place])
    return at_pronoun(translator, sentence), off, link_cut


def ways_to_cut(
    translator: Translator, layer: int, head: int
) -> dict[str, tuple[int, str, int]]:
    """Four experiments with a head: how many pronouns stay right, the word that comes most, how often.

    They are made in all frames with "it". Layer and head are counted from 0. The link is that from
    "it" to its noun; the others of its row share what it loses. A head whose queries are zero looks
    evenly at all.
    """
    c, asked = translator.model.config, [*product(FRAMES, THINGS)]
    here = [(layer, head)]
    found = {
        "the link from “it” to its noun": [hidden(translator, *a, here) for a in asked],
        "the same, in all heads": [hidden(translator, *a) for a in asked],
    }
    with without_head(translator, layer, head):
        found["all that the head adds"] = pronouns(translator)
    zeros = np.zeros((c.d_model, c.d_model // c.n_heads))
    with replaced(translator, layer + 1, head + 1, w_q=zeros):
        found["its queries, so that it looks evenly"] = pronouns(translator)
    return {
        name: (_n_right(came), *Counter(came).most_common(1)[0])
        for name, came in found.items()
    }


Link = tuple[int, int, str, str, float, tuple[str, str] | None]
"""Layer and head (from 1), query, key, weight, and the first word that is written otherwise if this link alone is cut:
with it, without it."""


def large_links(
    translator: Translator, sentence: Sentence, least: float = 0.9
) -> list[Link]:
    """All links of a sentence with at least this weight."""
    names = [name.strip() for name in token_names(translator, sentence.english)]
    weights = translator.look(sentence.english, "")[2]["encoder"]
    found = []
    for n, h, i, j in (weights >= least).nonzero().tolist():
        changed = _changed(translator, sentence, [(n, h)], (i, j))
        weight = float(weights[n, h, i, j])
        found.append((n + 1, h + 1, names[i], names[j], weight, changed))
    return found


def unlinked(
    translator: Translator, sentence: Sentence, layer: int, query: str, key: str
) -> tuple[str, str] | None:
    """The first word that is written otherwise if one word cannot look at another: with the link, without it.

    The link is cut in one layer of the encoder (from 1), in all its heads. What was
    written before each word is the reference.
    """
    i, j = (place(translator, sentence.english, word) for word in (query, key))
    heads = [(layer - 1, head) for head in range(translator.model.config.n_heads)]
    return _changed(translator, sentence, heads, (i, j))


def _changed(
    translator: Translator, sentence: Sentence, heads: Heads, pair: tuple[int, int]
) -> tuple[str, str] | None:
    """The first token that is written otherwise without a link, where all before it is the reference."""
    usual = predictions(translator, [sentence])
    with knockout(
        translator, encoder=links(translator, sentence.english, [pair], heads)
    ):
        other = predictions(translator, [sentence])
    both = zip(usual, other, strict=True)
    return next(((a.strip(), b.strip()) for (*_, a), (*_, b) in both if a != b), None)


def each_link(
    translator: Translator, sentence: Sentence
) -> tuple[np.ndarray, np.ndarray]:
    """All weights of the encoder (L, H, S, S), and the surprise at the pronoun that cutting each link alone adds."""
    english, german = sentence.english, before_pronoun(sentence.german)
    (wanted,) = translator.tokens.encode(f" {pronoun(sentence.german)}")
    weights = translator.look(english, "")[2]["encoder"]
    n = weights.numel()
    one = torch.eye(n, dtype=torch.bool).view(n, *weights.shape)  # a link in each row
    source = source_ids(translator, english)
    with torch.no_grad(), knockout(translator, encoder=one.transpose(0, 1)):
        memory = translator.model.encode(source.expand(n, -1))
    cut = probabilities(translator, english, german, memory)[:, wanted]
    as_it_is = probabilities(translator, english, german)[wanted]
    return weights.numpy(), (as_it_is.log() - cut.log()).view(weights.shape).numpy()


def effects(translator: Translator, english: str, german: str) -> np.ndarray:
    """The surprise added to each next token when a source token is hidden, (T, S)."""
    source = source_ids(translator, english)
    n, n_layers = source.size(1), translator.model.config.n_layers
    cut = torch.cat(
        [torch.zeros(1, n), torch.eye(n)]
    ).bool()  # the first row hides none
    with torch.no_grad():
        memory = translator.model.encode(source).expand(n + 1, -1, -1)
    with knockout(translator, cross=[cut[:, None, None]] * n_layers):
        p = logits(translator, english, german, memory).log_softmax(-1)
    wanted = [*translator.tokens.encode(german), translator.model.config.eos_id]
    p = p[:, range(len(wanted)), wanted]
    return (p[0] - p[1:]).T.numpy()


# The residual connection, the norm and what stands between them


def still_right(
    translator: Translator, sentences: Sequence[Sentence], part: str, *names: str
) -> int:
    """How many sentences the model translates as the reference does, if some sub-layers lack a part.

    What is longer than every reference is wrong, and need not be written to its end.
    """
    longest = max(len(translator.tokens.encode(s.german)) for s in sentences)
    with without_part(translator, part, *names):
        written = translator.translate(
            [s.english for s in sentences], len(sentences), max_len=longest + 1
        )
    return sum(german == s.german for german, s in zip(written, sentences, strict=True))


def each_cut(
    translator: Translator, sentences: Sequence[Sentence], half: str
) -> list[tuple[int, str, int, int, int]]:
    """For each sub-layer of the encoder or the decoder: layer, name, and how many sentences stay right.

    They are counted without its sum, without its norm, and without the sub-layer itself.
    """
    return [
        (*where, *(still_right(translator, sentences, part, name) for part in PARTS))
        for (of_half, *where), name in sublayers(translator).items()
        if of_half == half
    ]
