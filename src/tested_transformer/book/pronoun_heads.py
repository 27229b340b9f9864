"""Does a chat model have an "it" head? Sentences that can tell, and what exchanging and cutting its heads does."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tested_transformer.book.chat_model import finish, heads, lens
from tested_transformer.book.chat_model import residuals as residuals
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama
from tested_transformer.text.byte_level import ByteLevelBPE

NOUNS = {
    "chair": "comfortable",
    "ring": "rare",
    "ice": "cold",
    "blanket": "warm",
    "cake": "delicious",
    "dog": "friendly",
    "knife": "sharp",
    "soup": "hot",
    "mountain": "high",
    "river": "deep",
}
"""Each with an adjective that it makes likely; two neighbours are a pair. All are single tokens."""

FRAMES = (
    "I need the {} because it is very",
    "She wants the {} because it is very",
    "We like the {} because it is so",
    "He looked at the {} because it was very",
    "They talked about the {} because it was so",
    "I remember the {} because it was very",
)
"""What may follow depends on the noun, and "it" stands in between."""

TWO_NOUNS = "Here is a {other} and here is a {noun}. I like the {noun}. It is very"
"""Both nouns of a pair are there, and one of them is meant."""

KINDS = (
    "weight",
    "exchange at it",
    "exchange from it on",
    "cut at it",
    "cut from it on",
)


class Asked(NamedTuple):
    """One frame with all nouns: the sentences, where the noun and "it" are, and the answers.

    The twin of a sentence has the other noun of the pair. own has the adjective of each
    noun, and other the adjective of its twin.
    """

    ids: Int[Tensor, "B T"]
    noun: int
    it: int
    twin: Int[Tensor, "B"]
    own: Int[Tensor, "B"]
    other: Int[Tensor, "B"]


def ask(tokens: ByteLevelBPE, frame: str) -> Asked:
    """The sentences of a frame, one for each noun."""
    nouns = [*NOUNS]
    twin = torch.arange(len(nouns)) ^ 1  # 1, 0, 3, 2 …
    texts = [
        frame.format(noun, noun=noun, other=nouns[other])
        for noun, other in zip(nouns, twin.tolist(), strict=True)
    ]
    ids = torch.tensor([tokens.encode(text) for text in texts])
    own = torch.tensor(
        [i for word in NOUNS.values() for i in tokens.encode(f" {word}")]
    )
    noun = int((ids[0] != ids[1]).nonzero().max())
    (it,) = (
        n
        for n, i in enumerate(ids[0].tolist())
        if tokens.decode([i]).strip().lower() == "it"
    )
    return Asked(ids, noun, it, twin, own, own[twin])


def preference(logits: Float[Tensor, "*K B V"], asked: Asked) -> Float[Tensor, "*K B"]:
    """How far the logit of the noun's own adjective leads that of its twin."""
    rows = torch.arange(len(asked.own))
    return logits[..., rows, asked.own] - logits[..., rows, asked.other]


def moved(
    logits: Float[Tensor, "*K B V"], plain: Float[Tensor, "B V"], asked: Asked
) -> Float[Tensor, "*K B"]:
    """How far a change takes the preference towards that of the twin: 0 is not at all, 1 is all the way."""
    before = preference(plain, asked)
    return (before - preference(logits, asked)) / (before + before[asked.twin])


def lost(
    logits: Float[Tensor, "*K B V"], plain: Float[Tensor, "B V"], asked: Asked
) -> Float[Tensor, "*K B"]:
    """How much of what the noun decides a change destroys: 0 is nothing, 1 is all of it.

    A pair of sentences has one number, and both get it.
    """
    shares = moved(logits, plain, asked)
    return shares + shares[..., asked.twin]


@torch.inference_mode()
def with_rows(
    model: Gpt, asked: Asked, rows: Float[Tensor, "L B T D"], positions: Sequence[int]
) -> Float[Tensor, "B V"]:
    """Logits, where some positions have the twin's rows in every layer."""
    texts = rows[0]
    for n, layer in enumerate(model.decoder.layers):
        texts = texts.clone()
        texts[:, positions] = rows[n][asked.twin][:, positions]
        texts = layer(texts, _causal(asked.ids.size(1)))
    return lens(model, texts[:, -1])


@torch.inference_mode()
def blind(model: Gpt, asked: Asked, readers: Sequence[int]) -> Float[Tensor, "B V"]:
    """Logits, where no head of any layer lets some positions look at the noun."""
    mask = _causal(asked.ids.size(1))
    mask[list(readers), asked.noun] = False
    texts = model.embed(asked.ids)
    for layer in model.decoder.layers:
        texts = layer(texts, mask)
    return lens(model, texts[:, -1])


@torch.inference_mode()
def effects(
    model: Llama,
    asked: Asked,
    rows: Float[Tensor, "L B T D"],
    layer: int,
    some: Sequence[int] | None = None,
) -> Float[Tensor, "K H B"]:
    """For the heads of a layer (from 0), or some of them, what KINDS says, in each sentence.

    weight is what "it" gives the noun. Exchanged is what a head hands to "it" alone, or
    to "it" and the words after it; it comes from the twin, and the numbers are `moved`.
    Cut is the link from there to the noun, and the numbers are `lost`.
    """
    it, some = asked.it, range(model.config.n_heads) if some is None else some
    before, late = rows[:, :, :it], rows[layer][:, it:]
    plain = heads(model, layer, before[layer], late)
    cut = heads(model, layer, before[layer], late, [asked.noun]).out
    outs = []
    for new in (plain.out[asked.twin], cut):
        for places in (slice(0, 1), slice(None)):
            for head in some:
                out = plain.out.clone()
                out[:, head, places] = new[:, head, places]
                outs.append(out)
    logits = finish(model, layer, before, late.repeat(len(outs), 1, 1), torch.cat(outs))
    exchanges, cuts = logits.unflatten(0, (2, 2, len(some), -1))  # (2, H, B, V) each
    unchanged = lens(model, rows[-1][:, -1])
    weights = plain.weights[:, list(some), 0, asked.noun].T
    return torch.cat(
        [
            weights[None],
            moved(exchanges, unchanged, asked),
            lost(cuts, unchanged, asked),
        ]
    )


def _causal(length: int) -> Bool[Tensor, "T T"]:
    return torch.ones(length, length, dtype=torch.bool).tril()
