"""The sentence that runs through the book, and the trained translator that is asked for it.

One English word changes, and a German pronoun some words later changes with it: the chair … it, der Stuhl … er; the
lamp … it, die Lampe … sie; the picture … it, das Bild … es. No sentence of this module is in the training split: what
is done with the thing and what is said of it ("need", "old") are a pair that the phrasebook holds out, and so are
"love" and what is loved.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from tested_transformer.byhand.loss import cross_entropy
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.attention import attention
from tested_transformer.model.heads import join_heads
from tested_transformer.phrasebook.corpus import Sentence, held_out, say
from tested_transformer.phrasebook.tags import name
from tested_transformer.phrasebook.words import (
    ADJECTIVES,
    BARE,
    BE,
    NOUNS,
    PEOPLE,
    VERBS,
    Clause,
    Noun,
    Phrase,
    Verb,
)
from tested_transformer.text.tokens import pad

THINGS = {n.english: n for n in NOUNS if n.kind not in PEOPLE}
"""All nouns that "it" can stand for."""

PRONOUNS = ("er", "sie", "es", "ihn")


class Frame(NamedTuple):
    """A sentence with a gap for a thing, and "it" for the same thing in its second clause."""

    subject: Phrase
    does: str
    tense: str
    conjunction: str
    second: Callable[[Phrase], Clause]  # what it says of "it"
    negated: bool = False

    def say(self, thing: str) -> Sentence:
        """The sentence about this thing, in both languages."""
        if thing not in THINGS:
            raise ValueError(
                f"thing ({thing!r}) is none that the phrasebook has a word for"
            )
        noun = THINGS[thing]
        first = Clause(
            self.subject,
            _verb(self.does),
            self.tense,
            {"acc": _the(noun)},
            self.negated,
        )
        return say(
            [
                ("", first),
                (self.conjunction, self.second(Phrase(noun, pronoun=noun.gender))),
            ]
        )


def _verb(english: str) -> Verb:
    return next(verb for verb in VERBS if name(verb) == english)


def _the(noun: Noun) -> Phrase:
    return Phrase(noun, "" if noun.kind in BARE else "the")


def _is(adjective: str, tense: str = "now") -> Callable[[Phrase], Clause]:
    quality = next(a for a in ADJECTIVES if a.english == adjective)
    return lambda it: Clause(it, BE, tense, {"predicate": quality})


def _person(english: str, determiner: str) -> Phrase:
    return Phrase(next(n for n in NOUNS if n.english == english), determiner)


ME, SHE, HE = (Phrase(pronoun=word) for word in ("I", "she", "he"))
FRAMES = (
    Frame(ME, "need", "now", "because", _is("old")),
    Frame(_person("woman", "the"), "love", "now", "because", _is("new")),
    Frame(SHE, "sell", "past", "although", _is("beautiful", "past")),
    Frame(HE, "buy", "now", "although", _is("expensive")),
    Frame(
        ME,
        "look for",
        "now",
        "because",
        lambda it: Clause(ME, _verb("need"), "now", {"acc": it}),
    ),
    Frame(_person("father", "my"), "need", "now", "because", _is("old"), negated=True),
)
"""Six sentences with a gap. In four of them somebody else of some gender is named before "it"."""

THREAD = tuple(FRAMES[0].say(thing) for thing in ("chair", "lamp", "picture"))
LOVED = tuple(thing for thing in THINGS if held_out(("object", "love", thing)))


def love(thing: str) -> Sentence:
    """I love music, the window or another of those that the model has not read of as loved."""
    if thing not in LOVED:
        raise ValueError(
            f"thing ({thing!r}) must be one of {', '.join(LOVED)}: others are loved in training"
        )
    return say([("", Clause(ME, _verb("love"), "now", {"acc": _the(THINGS[thing])}))])


def pronoun(german: str) -> str:
    """The German word for "it" in a translated frame, or nothing where its second clause has none."""
    second = german.partition(",")[2].strip(" .").split()
    return next((word for word in second if word in PRONOUNS), "")


def count_right(written: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """How many translated frames have the right pronoun, and how many are right in every word."""
    pairs = [*zip(written, wanted, strict=True)]
    pronouns = sum(pronoun(german) == pronoun(right) for german, right in pairs)
    return pronouns, sum(german == right for german, right in pairs)


def _before_pronoun(german: str) -> str:
    """What stands before the word for "it" in a translated frame."""
    return german.rpartition(f" {pronoun(german)} ")[0]


def load() -> Translator:
    """The package's translator in float64, which writes the most probable token in each step."""
    translator = Translator.load(width=1)
    translator.model.double()
    return translator


def _places(translator: Translator, english: str, thing: str) -> tuple[int, list[int]]:
    """Where the model reads "it", and where the pieces of the thing's name."""
    pieces = [translator.name(i) for i in translator.encode(english, 1)]
    starts = [sum(map(len, pieces[:i])) for i in range(len(pieces))]
    first = english.index(f" {thing} ")
    within = range(first, first + len(thing) + 1)
    return pieces.index(" it"), [i for i, start in enumerate(starts) if start in within]


def on_the_thing(translator: Translator, frame: Frame, thing: str) -> Tensor:
    """The weight of "it" on the thing in each layer and head of the encoder: (L, H)."""
    english = frame.say(thing).english
    it, pieces = _places(translator, english, thing)
    return translator.look(english, "")[2]["encoder"][:, :, it, pieces].sum(-1)


def of_it(
    translator: Translator, layer: int, head: int
) -> list[tuple[list[str], np.ndarray, int, str, str]]:
    """For the three sentences: tokens, the row of "it" in this head (counted from 1), its place, German, pronoun."""
    found = []
    for english, german, *_ in THREAD:
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
    begun = _before_pronoun(sentence.german)
    read, written, weights = translator.look(sentence.english, begun)
    across, back = (weights[kind][:, :, -1].numpy() for kind in ("cross", "decoder"))
    return Step(read, written, across, back)


def so_far(frame: Frame, thing: str, other: str, only: str = "") -> str:
    """The German of the other thing up to the word for "it"; or of a thing, with only the other's article or noun.

    That is empty where one of the two has no article.
    """
    if only not in ("", "article", "noun"):
        raise ValueError(f"only ({only!r}) must be article or noun, or be left out")
    german = {name: _before_pronoun(frame.say(name).german) for name in (thing, other)}
    if not only:
        return german[other]
    stays, gives = (thing, other) if only == "article" else (other, thing)
    old, new = (_article(german[name]) for name in (stays, gives))
    if not (old and new):
        return ""
    before, _, after = german[stays].rpartition(f" {old} ")
    return f"{before} {new} {after}"


def _article(german: str) -> str:
    """The article of the thing, which is the last in the first clause, or nothing if it has none."""
    words = german.partition(",")[0].split()
    return next((word for word in reversed(words) if word in ("den", "die", "das")), "")


def contradicted(
    translator: Translator, frame: Frame, thing: str, other: str, only: str = ""
) -> str:
    """The pronoun that follows if English is about a thing, and the German written so far about the other one.

    Perhaps only its article or its noun is that of the other, as in `so_far`; where that is
    empty, nothing follows.
    """
    german = so_far(frame, thing, other, only)
    return _after(translator, frame.say(thing).english, german) if german else ""


def another(thing: str) -> str:
    """The next thing of another gender in the list of all."""
    names = list(THINGS)
    after = names[names.index(thing) :] + names
    return next(name for name in after if THINGS[name].gender != THINGS[thing].gender)


def sides(
    translator: Translator, test: Callable[[Translator, Frame, str, str], str]
) -> tuple[int, int]:
    """How often a test with two things ends with the pronoun of the first, and how often with that of the second.

    It is made with every thing in every frame; the second is `another`.
    """
    found = [0, 0]
    for frame, thing in ((frame, thing) for frame in FRAMES for thing in THINGS):
        both = thing, another(thing)
        came = test(translator, frame, *both)
        for n, one in enumerate(both):
            found[n] += came == pronoun(frame.say(one).german)
    return found[0], found[1]


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
    memory, foreign = (_memory(translator, text).clone() for text in english)
    words = (word or thing, word or other)
    here, there = (
        _place(translator, *both) for both in zip(english, words, strict=True)
    )
    memory[0, here] = foreign[0, there]
    return _next(translator, frame.say(thing), memory)


@torch.no_grad()
def hidden(
    translator: Translator, frame: Frame, thing: str, heads: Tensor | None = None
) -> str:
    """The pronoun that follows if "it" cannot look at the thing, in these heads of the encoder: (L, H), or in all."""
    model, english = translator.model, frame.say(thing).english
    it, pieces = _places(translator, english, thing)
    source = _ids(translator, english)
    if heads is None:
        heads = torch.ones(
            model.config.n_layers, model.config.n_heads, dtype=torch.bool
        )
    may_look = torch.ones(
        *heads.shape, source.shape[1], source.shape[1], dtype=torch.bool
    )
    may_look[:, :, it, pieces] = ~heads[..., None]
    return _next(translator, frame.say(thing), _encoded(translator, source, may_look))


@torch.no_grad()
def projected(
    translator: Translator, english: str, layer: int, head: int
) -> tuple[list[str], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The tokens that the encoder reads, and their queries, keys and values in one head (counted from 1)."""
    source, read = _ids(translator, english), []
    box = translator.model.encoder.layers[layer - 1].self_attention
    hook = box.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    try:
        translator.model.encode(source)
    finally:
        hook.remove()
    parts = (box.queries(read[0]), box.keys(read[0]), box.values(read[0]))
    q, k, v = (part[0, head - 1].numpy() for part in parts)
    return [translator.name(int(i)) for i in source[0]], (q, k, v)


def taken_away(
    translator: Translator, thing: str, layer: int, head: int
) -> tuple[str, str, str]:
    """The pronoun of the first frame: as it is, with a head switched off, and with its look at the thing forbidden.

    Layer and head of the encoder are counted from 1.
    """
    c, frame = translator.model.config, FRAMES[0]
    here, sentence = (
        torch.zeros(c.n_layers, c.n_heads, dtype=torch.bool),
        frame.say(thing),
    )
    here[layer - 1, head - 1] = True
    whole = _next(translator, sentence, _memory(translator, sentence.english))
    with without(translator, layer - 1, head - 1):
        off = _next(translator, sentence, _memory(translator, sentence.english))
    return whole, off, hidden(translator, frame, thing, here)


class Link(NamedTuple):
    """A large weight of the encoder, and the first word that is written otherwise if this link alone is cut."""

    layer: int
    head: int
    query: str
    key: str
    weight: float
    written: tuple[str, str] | None  # with the link, without it


@torch.no_grad()
def links(translator: Translator, sentence: Sentence, least: float = 0.9) -> list[Link]:
    """All links of a sentence with at least this weight; layers and heads are counted from 1."""
    source = _ids(translator, sentence.english)
    names = [translator.name(int(i)) for i in source[0]]
    weights = translator.look(sentence.english, "")[2]["encoder"]
    whole = _encoded(translator, source, torch.ones_like(weights, dtype=torch.bool))
    usual, found = _follows(translator, sentence, source, whole), []
    for layer, head, i, j in (weights >= least).nonzero().tolist():
        may_look = torch.ones_like(weights, dtype=torch.bool)
        may_look[layer, head, i, j] = False
        cut = _encoded(translator, source, may_look)
        other = _first_other(usual, _follows(translator, sentence, source, cut))
        pair = names[i].strip(), names[j].strip()
        weight = float(weights[layer, head, i, j])
        found.append(Link(layer + 1, head + 1, *pair, weight, other))
    return found


def _encoded(translator: Translator, source: Tensor, may_look: Tensor) -> Tensor:
    """What the encoder gives if its heads may look where may_look (L, H, S, S) says."""
    x = translator.model.positions(translator.model.embedding(source))
    for layer, mask in zip(translator.model.encoder.layers, may_look, strict=True):
        x = layer(x, mask[None])
    return x


def _follows(
    translator: Translator, sentence: Sentence, source: Tensor, memory: Tensor
) -> list[str]:
    """The token that the model writes after each token of the reference, the first one included."""
    model = translator.model
    target = [model.config.bos_id, *translator.tokens.encode(sentence.german)]
    logits = model.embedding.logits(
        model.decode(torch.tensor([target]), memory, source)
    )
    return [translator.name(int(i)) for i in logits[0].argmax(-1)]


def _first_other(usual: list[str], other: list[str]) -> tuple[str, str] | None:
    """The first two tokens at one place that differ."""
    both = zip(usual, other, strict=True)
    return next(((a.strip(), b.strip()) for a, b in both if a != b), None)


class Answer(NamedTuple):
    """What the model makes of one sentence, with and without the head that finds the thing."""

    frame: int
    thing: str
    sentence: Sentence
    weights: tuple[float, ...]  # of "it", on each word of the English sentence
    german: str
    without: str


def answers(translator: Translator) -> tuple[int, int, list[Answer]]:
    """What the model makes of all sentences; before it the layer and the head, from 0.

    The head is that of the encoder which gives the thing the largest weight of "it", on
    average. A word of several pieces has the weight of all of them.
    """
    asked = [(n, thing) for n in range(len(FRAMES)) for thing in THINGS]
    said = [FRAMES[n].say(thing) for n, thing in asked]
    texts = [sentence.english for sentence in said]
    looks = _looks(translator, texts)
    at = [
        text.split().index(thing) for text, (_, thing) in zip(texts, asked, strict=True)
    ]
    on_the_things = torch.stack(
        [look[..., place] for look, place in zip(looks, at, strict=True)]
    )
    layer, head = divmod(int(on_the_things.mean(0).argmax()), looks[0].shape[1])
    german = translator.translate(texts, at_once=len(texts))
    with without(translator, layer, head):
        other = translator.translate(texts, at_once=len(texts))
    rows = [tuple(look[layer, head].tolist()) for look in looks]
    columns = zip(asked, said, rows, german, other, strict=True)
    return layer, head, [Answer(*place, *rest) for place, *rest in columns]


@contextmanager
def without(
    translator: Translator, layer: int, head: int, kind: str = "encoder"
) -> Iterator[None]:
    """One head adds nothing to any word, for as long as this lasts.

    Its kind is that of `attention_weights`: "encoder", "decoder" or "cross".
    """
    model, c = translator.model, translator.model.config
    if kind not in ("encoder", "decoder", "cross"):
        raise ValueError(f"kind ({kind!r}) must be encoder, decoder or cross")
    if not (0 <= layer < c.n_layers and 0 <= head < c.n_heads):
        rule = f"must be below {c.n_layers} and {c.n_heads}"
        raise ValueError(f"layer and head ({layer} and {head}) {rule}")
    of_layer = (model.encoder if kind == "encoder" else model.decoder).layers[layer]
    heads = of_layer.cross_attention if kind == "cross" else of_layer.self_attention
    w_o = heads.w_o.weight.detach()
    own = w_o.unflatten(1, (c.n_heads, -1))[:, head]
    kept = own.clone()
    try:
        own.zero_()
        yield
    finally:
        own.copy_(kept)


@contextmanager
def shared_weights(translator: Translator, even: bool = False) -> Iterator[None]:
    """All heads of a layer of the encoder use their average weights, for as long as this lasts.

    With even, every word takes the same from all tokens. Values and all other parts stay.
    """
    boxes = [layer.self_attention for layer in translator.model.encoder.layers]

    def attend(
        box: nn.Module,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        weights = attention(0 * q if even else q, k, v, mask)[1]
        shared = weights.mean(dim=1, keepdim=True).expand_as(weights)
        return box.w_o(join_heads(shared @ v)), shared if need_weights else None

    try:
        for box in boxes:
            box.attend = partial(attend, box)
        yield
    finally:
        for box in boxes:
            vars(box).pop("attend", None)


@contextmanager
def switched_off(*boxes: nn.Module) -> Iterator[None]:
    """These boxes, attention or feed-forward networks, add nothing to any row, for as long as this lasts."""

    def nothing(_: object, __: object, out: Tensor | tuple) -> Tensor | tuple:
        if isinstance(out, tuple):  # attention has its weights beside it
            return torch.zeros_like(out[0]), *out[1:]
        return torch.zeros_like(out)

    hooks = [box.register_forward_hook(nothing) for box in boxes]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class Fed(NamedTuple):
    """One row on its way through a feed-forward network."""

    row: np.ndarray  # (D,) as it comes in
    inner: np.ndarray  # (F,) before the activation
    added: np.ndarray  # (D,) as it comes out


@torch.no_grad()
def fed(translator: Translator, english: str, word: str, layer: int) -> Fed:
    """What the feed-forward network of an encoder layer, counted from 1, makes of the row of a word."""
    network, found = translator.model.encoder.layers[layer - 1].feed_forward, []
    hooks = [
        box.register_forward_hook(lambda _, given, out: found.append((given[0], out)))
        for box in (network.w_1, network)
    ]
    try:
        _memory(translator, english)
    finally:
        for hook in hooks:
            hook.remove()
    (row, inner), (_, added) = found
    at = 0, _place(translator, english, word)
    return Fed(*(x[at].numpy() for x in (row, inner, added)))


@torch.no_grad()
def goes_on(
    translator: Translator,
    sentences: Sequence[Sentence],
    off: Sequence[nn.Module] = (),
) -> list[tuple[str, str, str]]:
    """For each token that the decoder reads: it, the one that follows in the German, and the one that the model writes.

    All tokens before it are those of the German, whatever the model would have written. The
    boxes in `off` are switched off.
    """
    model, c = translator.model, translator.model.config
    read = [translator.encode(sentence.english, 1) for sentence in sentences]
    written = [translator.tokens.encode(sentence.german) for sentence in sentences]
    source = torch.from_numpy(pad(read, c.pad_id))
    target = torch.from_numpy(pad([[c.bos_id, *ids] for ids in written], c.pad_id))
    with switched_off(*off):
        states = model.decode(target, model.encode(source), source)
    found = []
    for here, ids, state in zip(target, written, states, strict=True):
        after = model.embedding.logits(state[: len(ids) + 1]).argmax(-1)
        rows = zip(here.tolist(), [*ids, c.eos_id], after.tolist(), strict=False)
        found += [tuple(translator.name(i) for i in row) for row in rows]
    return found


def _looks(translator: Translator, texts: list[str]) -> list[Tensor]:
    """For each sentence the weights of "it" in all heads of the encoder, on its words: (L, H, words).

    The mark of the end is no word, so the weights add up to a little less than one.
    """
    c, read = translator.model.config, [translator.encode(text, 1) for text in texts]
    source = torch.from_numpy(pad(read, c.pad_id))
    begun = torch.full((len(texts), 1), c.bos_id)
    weights = attention_weights(translator.model, source, begun)["encoder"]
    found = []
    for n, ids in enumerate(read):
        pieces = [translator.name(i) for i in ids[:-1]]
        begins = torch.tensor([piece.startswith(" ") for piece in pieces])
        row = weights[:, n, :, pieces.index(" it"), : len(pieces)]
        words = torch.zeros(*row.shape[:2], int(begins.sum()) + 1, dtype=row.dtype)
        found.append(words.index_add_(2, begins.cumsum(0), row))
    return found


@torch.no_grad()
def stream(
    translator: Translator, english: str, word: str
) -> tuple[list[float], list[float]]:
    """How long the row of a word is before each addition and in the end, and how long what is added.

    What is added are its position, and what each box of the encoder adds. The norm that
    follows a box brings the row back to its usual length.
    """
    model, place = translator.model, _place(translator, english, word)
    start = model.embedding(_ids(translator, english))
    x = model.positions(start)
    steps = along(translator, english, word)
    rows = [start[0, place].numpy(), *(before for before, _, _ in steps), steps[-1][2]]
    added = [(x - start)[0, place].numpy(), *(more for _, more, _ in steps)]
    return tuple([float(np.linalg.norm(y)) for y in ys] for ys in (rows, added))


@torch.no_grad()
def along(
    translator: Translator, english: str, word: str
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each box of the encoder the row of a word before it, what the box adds, and the row behind the norm."""
    model, place = translator.model, _place(translator, english, word)
    x, found = model.positions(model.embedding(_ids(translator, english))), []
    for layer in model.encoder.layers:
        boxes = (
            (layer.addnorm_1, lambda x, layer=layer: layer.self_attention(x, x, x)[0]),
            (layer.addnorm_2, layer.feed_forward),
        )
        for frame, box in boxes:
            before, more, x = x, box(x), frame(x, box)
            found.append(tuple(y[0, place].numpy() for y in (before, more, x)))
    return found


FRAMED = {
    "encoder": ("attention", "feed-forward"),
    "decoder": ("attention", "cross-attention", "feed-forward"),
}
"""The boxes of a layer in each half of the model, in their order; each stands in a frame of sum and norm."""

CUTS: Mapping[str, Callable[[nn.Module, Tensor, Callable[[Tensor], Tensor]], Tensor]]
CUTS = {
    "sum": lambda frame, x, box: frame.norm(box(x)),
    "norm": lambda frame, x, box: x + box(x),
    "box": lambda frame, x, box: frame.norm(x),
}
"""What a frame gives if its row is not added, if the sum is not normalised, or if its box adds nothing."""


def frames(translator: Translator) -> dict[tuple[str, int, str], nn.Module]:
    """The frame around each box of the model, by its half, its layer (counted from 1) and the box."""
    model = translator.model
    return {
        (half, n, box): getattr(layer, f"addnorm_{place}")
        for half, boxes in FRAMED.items()
        for n, layer in enumerate(getattr(model, half).layers, start=1)
        for place, box in enumerate(boxes, start=1)
    }


@contextmanager
def cut(part: str, *frames: nn.Module) -> Iterator[None]:
    """In some frames the sum, the norm or the box is taken away, for as long as this lasts."""
    if part not in CUTS:
        raise ValueError(f"part ({part!r}) must be one of {', '.join(CUTS)}")
    try:
        for frame in frames:
            frame.forward = partial(CUTS[part], frame)
        yield
    finally:
        for frame in frames:
            vars(frame).pop("forward", None)


def still_right(
    translator: Translator, sentences: Sequence[Sentence], part: str, *frames: nn.Module
) -> int:
    """How many sentences the model translates as the reference does, if some frames lack a part."""
    with cut(part, *frames):
        written = translator.translate(
            [sentence.english for sentence in sentences], at_once=len(sentences)
        )
    return sum(
        german == sentence.german
        for german, sentence in zip(written, sentences, strict=True)
    )


def each_cut(
    translator: Translator, sentences: Sequence[Sentence], half: str
) -> list[tuple[int, str, int, int, int]]:
    """For each frame of the encoder or the decoder: layer, box, and how many sentences stay right.

    They are counted without the sum of this frame, without its norm, and without its box.
    """
    return [
        (*place, *(still_right(translator, sentences, part, frame) for part in CUTS))
        for (name, *place), frame in frames(translator).items()
        if name == half
    ]


def _ids(translator: Translator, english: str) -> Tensor:
    return torch.tensor([translator.encode(english, 1)])


def _place(translator: Translator, english: str, word: str) -> int:
    pieces = [translator.name(int(i)) for i in _ids(translator, english)[0]]
    if f" {word}" not in pieces:
        raise ValueError(f"word ({word!r}) must be one token of {english!r}")
    return pieces.index(f" {word}")


@torch.no_grad()
def _memory(translator: Translator, english: str) -> Tensor:
    return translator.model.encode(_ids(translator, english))


def _next(translator: Translator, sentence: Sentence, memory: Tensor) -> str:
    """What the model writes where the reference has its pronoun."""
    begun = _before_pronoun(sentence.german)
    return _after(translator, sentence.english, begun, memory)


@torch.no_grad()
def _after(
    translator: Translator, english: str, german: str, memory: Tensor | None = None
) -> str:
    model, tokens, source = (
        translator.model,
        translator.tokens,
        _ids(translator, english),
    )
    memory = model.encode(source) if memory is None else memory
    target = torch.tensor([[model.config.bos_id, *tokens.encode(german)]])
    logits = model.embedding.logits(model.decode(target, memory, source))
    return translator.name(int(logits[0, -1].argmax())).strip()


@torch.no_grad()
def shapes(
    translator: Translator, sentences: Sequence[Sentence] = THREAD
) -> list[tuple[str, str, tuple[int, ...]]]:
    """What the model makes of some sentences on the way from ids to logits: its name, its axes, its shape."""
    model, c = translator.model, translator.model.config
    read = [translator.encode(sentence.english, 1) for sentence in sentences]
    write = [[c.bos_id, *translator.tokens.encode(s.german)] for s in sentences]
    source, target = (torch.from_numpy(pad(ids, c.pad_id)) for ids in (read, write))
    x, layer = model.positions(model.embedding(source)), model.encoder.layers[0]
    heads, memory = layer.self_attention, model.encode(source)
    out = model.decode(target, memory, source)
    steps = (
        ("ids of the tokens read", "B S", source),
        ("their vectors", "B S D", x),
        ("queries, in all heads", "B H Tq Dk", heads.queries(x)),
        ("weights, in all heads", "B H Tq Tk", heads(x, x, x, need_weights=True)[1]),
        ("inside the feed-forward network", "B S F", layer.feed_forward.w_1(x)),
        ("rows that leave the encoder", "B S D", memory),
        ("rows that leave the decoder", "B T D", out),
        ("a number for each possible next token", "B T V", model.embedding.logits(out)),
    )
    return [(name, axes, tuple(tensor.shape)) for name, axes, tensor in steps]


def begun(translator: Translator, thing: str) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the first frame about a thing: all of the English, and the German up to the word for "it"."""
    sentence = FRAMES[0].say(thing)
    begun = sentence._replace(german=_before_pronoun(sentence.german))
    return asked(translator, begun)[:2]


def asked(
    translator: Translator, sentence: Sentence
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids of a sentence and of its German as far as it is written at each place, and what should come next."""
    c, german = translator.model.config, translator.tokens.encode(sentence.german)
    ids = (
        translator.encode(sentence.english, 1),
        [c.bos_id, *german],
        [*german, c.eos_id],
    )
    source, target, wanted = (np.array([row]) for row in ids)
    return source, target, wanted


@torch.no_grad()
def logits(translator: Translator, sentence: Sentence) -> np.ndarray:
    """The logits for what comes next, at each place of the German, which is given as far as it goes there: (T, V)."""
    source, target, _ = map(torch.from_numpy, asked(translator, sentence))
    model = translator.model
    states = model.decode(target, model.encode(source), source)
    return model.embedding.logits(states)[0].numpy()


def surprises(
    translator: Translator, sentence: Sentence
) -> tuple[list[str], np.ndarray]:
    """What should come at each place of the German, and how surprised the model is by it, in nats."""
    right = asked(translator, sentence)[2][0]
    names = [translator.name(i).strip() for i in right.tolist()]
    return names, cross_entropy(logits(translator, sentence), right)


def learned(translator: Translator) -> dict[str, np.ndarray]:
    """The numbers that the model has learned, by name, as `byhand` takes them."""
    return {name: w.numpy() for name, w in translator.model.state_dict().items()}


def noun_rows(translator: Translator) -> tuple[list[Noun], np.ndarray]:
    """The nouns whose English is one token, and the row of each in the model's table."""
    ids = {translator.name(i): i for i in range(translator.model.config.vocab_size)}
    nouns = [noun for noun in NOUNS if f" {noun.english}" in ids]
    rows = translator.model.embedding.weight.detach()
    return nouns, rows[[ids[f" {noun.english}"] for noun in nouns]].numpy()


def moved(translator: Translator, things: Sequence[str], arrow: ArrayLike) -> list[str]:
    """What the model writes about these things in the first frame, if an arrow is added to their rows.

    It is added where a row is read. The table stays as it is.
    """
    texts = [FRAMES[0].say(thing).english for thing in things]
    places = [_place(translator, *both) for both in zip(texts, things, strict=True)]
    ids = [_ids(translator, text)[0, n] for text, n in zip(texts, places, strict=True)]
    named, width = torch.stack(ids), translator.model.config.d_model
    if np.shape(arrow) != (width,):
        raise ValueError(f"arrow must have shape ({width},), not {np.shape(arrow)}")
    step = width**0.5 * torch.as_tensor(arrow)  # the model reads rows times √d_model

    def add(_: object, read: tuple[Tensor], rows: Tensor) -> Tensor:
        return rows + torch.isin(read[0], named)[..., None] * step

    hook = translator.model.embedding.register_forward_hook(add)
    try:
        return translator.translate(texts, at_once=len(texts))
    finally:
        hook.remove()


def noun_row(translator: Translator, thing: str) -> np.ndarray:
    """The row of a thing in the model's table, if its English is one token."""
    return translator.model.embedding.weight.detach()[_row(translator, thing)].numpy()


def _row(translator: Translator, thing: str) -> int:
    english = FRAMES[0].say(thing).english
    return int(_ids(translator, english)[0, _place(translator, english, thing)])


def turned(
    translator: Translator, thing: str, column: int, values: Sequence[float]
) -> list[tuple[float, str]]:
    """How surprised the model is by the word for "it" if one number of a thing's row in the table has these values.

    Beside it stands what the model writes there. The column is counted from 1; the model stays as it is.
    """
    model, width = translator.model, translator.model.config.d_model
    if not 1 <= column <= width:
        raise ValueError(f"column ({column}) must lie between 1 and {width}")
    sentence = FRAMES[0].say(thing)
    row = _row(translator, thing)
    source, target = (torch.from_numpy(ids) for ids in begun(translator, thing))
    right = translator.tokens.encode(sentence.german)[target.size(1) - 1]
    found = []
    for value in values:
        table = model.embedding.weight.detach().clone()
        table[row, column - 1] = value
        with torch.no_grad():
            given = {"embedding.weight": table}
            logits = torch.func.functional_call(model, given, (source, target))
        chances = logits[0, -1].log_softmax(-1)
        word = translator.name(int(chances.argmax())).strip()
        found.append((-chances[right].item(), word))
    return found


def surprise(translator: Translator, thing: str, column: int, value: float) -> float:
    """How surprised the model is with one such value, as in `turned`."""
    ((nats, _),) = turned(translator, thing, column, [value])
    return nats


def pieces(translator: Translator, text: str) -> list[tuple[str, int]]:
    """The tokens of a text as the translator reads them, each with its id."""
    return [(translator.name(i), i) for i in translator.tokens.encode(text)]


def needed(translator: Translator, thing: str) -> str:
    """What is needed in the German of "I need the THING because it is old.", whatever word THING is."""
    english = THREAD[0].english.replace("chair", thing)
    (german,) = translator.translate([english])
    return german.removeprefix("Ich brauche ").partition(",")[0]


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
    model, (ids,) = translator.model, _ids(translator, english)
    n = len(ids) - 1
    order, places = (list(range(n) if p is None else p) for p in (order, places))
    if sorted(order) != list(range(n)):
        raise ValueError(f"order ({order}) must number the {n} tokens of {english!r}")
    if len(places) != n:
        raise ValueError(f"places ({places}) must be {n}, one for each token")
    source = ids[[*order, n]][None]
    x = model.embedding(source)
    if positions:
        x = x + model.positions.table[[*places, n]]
    german = _write(translator, model.encoder(x), source, most=2 * n - 1)[0]
    text = "".join(f" {translator.name(int(i)).strip()}" for i in source[0, :-1])
    return text.replace(" .", ".").strip(), german


def _write(
    translator: Translator, memory: Tensor, source: Tensor, most: int
) -> list[str]:
    """What the model writes, a token at a time; each step calculates all tokens anew."""
    model, c = translator.model, translator.model.config
    target = torch.full((len(source), 1), c.bos_id)
    while target.size(1) <= most and not target.eq(c.eos_id).any(1).all():
        states = model.decode(target, memory, source)
        following = model.embedding.logits(states)[:, -1].argmax(-1, keepdim=True)
        target = torch.cat([target, following], 1)
    rows = (list(itertools.takewhile(c.eos_id.__ne__, row)) for row in target.tolist())
    return [translator.tokens.decode(row[1:]).strip() for row in rows]


@torch.no_grad()
def written(
    translator: Translator, texts: Sequence[str], without: str = "", most: int = 40
) -> list[str]:
    """What the model writes for texts in one batch, where padding fills up the shorter ones; perhaps without a mask."""
    read = [translator.encode(text, place) for place, text in enumerate(texts, 1)]
    source = torch.from_numpy(pad(read, translator.model.config.pad_id))
    with unmasked(translator, without):
        return _write(translator, translator.model.encode(source), source, most)


@torch.no_grad()
def guesses(
    translator: Translator, sentence: Sentence, without: str = ""
) -> list[tuple[str, str]]:
    """What the model writes after each token of the German, which it is given whole, and what follows there.

    The last token is followed by the mark of the end. A mask can be taken away.
    """
    source, c = _ids(translator, sentence.english), translator.model.config
    right = [*translator.tokens.encode(sentence.german), c.eos_id]
    with unmasked(translator, without):
        memory = translator.model.encode(source)
        found = _follows(translator, sentence, source, memory)
    named = [translator.name(i).strip() for i in right]
    return list(zip([name.strip() for name in found], named, strict=True))


MASKS = {
    "": {},
    "future": {"decoder": 2},
    "padding": {"encoder": 1, "decoder": 3},
}
"""For each mask the parts of the model that are given it, and as which of their arguments, counted from 0."""


@contextmanager
def unmasked(translator: Translator, mask: str) -> Iterator[None]:
    """The model looks at what this mask hides, the future or the padding of the source, for as long as this lasts.

    `translate` sees that, and makes all rows anew in each step, without its cache.
    """
    if mask not in MASKS:
        raise ValueError(f"mask ({mask!r}) must be {' or '.join(filter(None, MASKS))}")

    def without(place: int) -> Callable[[object, tuple], tuple]:
        return lambda _, given: (*given[:place], None, *given[place + 1 :])

    hooks = [
        getattr(translator.model, part).register_forward_pre_hook(without(place))
        for part, place in MASKS[mask].items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def traced(
    translator: Translator, frame: Frame, thing: str, other: str
) -> tuple[list[str], list[list[str]]]:
    """For each token the pronoun that follows if its vector is that of the sentence about the other thing.

    It is exchanged before the first layer of the encoder, after the first, and so on: each
    of these stages has a list. Everything else stays, and so does what was written already.
    """
    model, sentence = translator.model, frame.say(thing)
    ids = [_ids(translator, frame.say(name).english) for name in (thing, other)]
    if ids[0].shape != ids[1].shape:
        rule = "must be named by equally many tokens"
        raise ValueError(f"thing and other ({thing!r} and {other!r}) {rule}")
    here, there = (model.positions(model.embedding(i)) for i in ids)
    found: list[list[str]] = []
    for n in range(model.config.n_layers + 1):
        found.append([])
        for place in range(ids[0].size(1)):
            x = here.clone()
            x[0, place] = there[0, place]
            for layer in model.encoder.layers[n:]:
                x = layer(x)
            found[n].append(_next(translator, sentence, x))
        for layer in model.encoder.layers[n : n + 1]:
            here, there = layer(here), layer(there)
    return [translator.name(int(i)) for i in ids[0][0]], found


@contextmanager
def without_attention(translator: Translator, layer: int) -> Iterator[None]:
    """The attention of one layer of the encoder, from 0, adds nothing to any word, for as long as this lasts."""
    with ExitStack() as off:
        for head in range(translator.model.config.n_heads):
            off.enter_context(without(translator, layer, head))
        yield


@torch.no_grad()
def unlinked(
    translator: Translator, sentence: Sentence, layer: int, query: str, key: str
) -> tuple[str, str] | None:
    """The first word that is written otherwise if one word cannot look at another: with the link, without it.

    The link is cut in one layer of the encoder (from 1), in all its heads. What was
    written before each word is the reference.
    """
    source = _ids(translator, sentence.english)
    i, j = (_place(translator, sentence.english, word) for word in (query, key))
    c, n = translator.model.config, source.size(1)
    may_look = torch.ones(c.n_layers, c.n_heads, n, n, dtype=torch.bool)
    usual = _encoded(translator, source, may_look)
    may_look[layer - 1, :, i, j] = False
    without_it = _encoded(translator, source, may_look)
    both = (_follows(translator, sentence, source, m) for m in (usual, without_it))
    return _first_other(*both)


class Blamed(NamedTuple):
    """What the loss at the pronoun of a sentence says to one head of the encoder."""

    tokens: list[str]  # as they are read
    p: dict[str, float]  # the probability of each pronoun, where the German has one
    loss: float  # the surprise of the one that is right
    d_logits: dict[str, float]  # and its slope in the logit of each
    x: np.ndarray  # (S, D) what the head is given
    parts: tuple[np.ndarray, ...]  # its queries, keys and values: (S, Dk) or (S, Dv)
    d_out: np.ndarray  # (S, Dv) the gradient that arrives at its output
    d_w_q: np.ndarray  # (D, Dk) PyTorch's gradient of its query matrix


def blamed(
    translator: Translator,
    sentence: Sentence,
    layer: int,
    head: int,
    **matrices: ArrayLike,
) -> Blamed:
    """The loss at the pronoun, if all before it is as in the German, and its gradient at a head (counted from 1).

    The head may have other matrices meanwhile, as in `replaced`.
    """
    with replaced(translator, layer, head, **matrices):
        return _blamed(translator, sentence, layer, head)


def _blamed(
    translator: Translator, sentence: Sentence, layer: int, head: int
) -> Blamed:
    model, box = translator.model, translator.model.encoder.layers[layer - 1]
    box, own, given = box.self_attention, _own(translator, head), []
    hooks = [
        part.register_forward_pre_hook(lambda _, x: given.append(x[0]))
        for part in (box, box.w_o)
    ]
    source, target, wanted = map(torch.from_numpy, asked(translator, sentence))
    try:
        states = model.decode(target, model.encode(source), source)
    finally:
        for hook in hooks:
            hook.remove()
    place = len(translator.tokens.encode(_before_pronoun(sentence.german)))
    logits, right = model.embedding.logits(states)[0, place], wanted[0, place]
    loss = nn.functional.cross_entropy(logits, right)
    x, joined = given
    d_logits, d_joined, d_w_q = torch.autograd.grad(
        loss, (logits, joined, box.w_q.weight)
    )
    named = {translator.name(i).strip(): i for i in range(len(logits))}
    p, slopes = (
        {word: float(y[named[word]]) for word in PRONOUNS}
        for y in (logits.detach().softmax(-1), d_logits)
    )
    parts = (box.queries(x), box.keys(x), box.values(x))
    return Blamed(
        [translator.name(int(i)) for i in source[0]],
        p,
        float(loss.detach()),
        slopes,
        x[0].detach().numpy(),
        tuple(part[0, head - 1].detach().numpy() for part in parts),
        d_joined[0, :, own].numpy(),
        d_w_q[own].T.numpy(),
    )


def _own(translator: Translator, head: int) -> slice:
    """The columns of a head, counted from 1, where all heads stand side by side."""
    width = translator.model.config.d_model // translator.model.config.n_heads
    return slice((head - 1) * width, head * width)


@contextmanager
def replaced(
    translator: Translator, layer: int, head: int, **matrices: ArrayLike
) -> Iterator[None]:
    """A head of the encoder has other matrices for as long as this lasts: w_q, w_k or w_v, each (D, Dk).

    Layer and head are counted from 1.
    """
    box = translator.model.encoder.layers[layer - 1].self_attention
    own, kept = {}, {}
    for which, new in matrices.items():
        if which not in ("w_q", "w_k", "w_v"):
            raise ValueError(f"matrix ({which!r}) must be w_q, w_k or w_v")
        own[which] = getattr(box, which).weight.detach()[_own(translator, head)].T
        if np.shape(new) != own[which].shape:
            rule = f"must have shape {tuple(own[which].shape)}"
            raise ValueError(f"{which} {rule}, not {np.shape(new)}")
        kept[which] = own[which].clone()
    try:
        for which, new in matrices.items():
            own[which].copy_(torch.as_tensor(new))
        yield
    finally:
        for which, old in kept.items():
            own[which].copy_(old)


def right_pronouns(translator: Translator) -> tuple[int, int]:
    """In how many of all sentences the right pronoun follows, if all before it is as in the German; and of how many."""
    said = [frame.say(thing) for frame in FRAMES for thing in THINGS]
    found = [_next(translator, s, _memory(translator, s.english)) for s in said]
    right = [pronoun(sentence.german) for sentence in said]
    return sum(map(str.__eq__, found, right)), len(said)
