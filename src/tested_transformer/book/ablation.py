"""One translator with the paper's parts, and the same with today's: one part exchanged at a time, then six together.

All learn from the same sentences in the same order, for equally many steps, at the same rates. But for one model, whose
table is doubled, all have equally many parameters: the width of the feed-forward networks makes up for what a part has
more or less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from tested_transformer.book.coreference import SENTENCES, count_right
from tested_transformer.book.small import training
from tested_transformer.data.batches import Pair, batches
from tested_transformer.data.parallel import encode_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.addnorm import LayerNorm
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.linear import create_linear_layer
from tested_transformer.model.llama import (
    LLAMA,
    GroupedAttention,
    LlamaConfig,
    RMSAddNorm,
    SwiGLU,
    UntiedEmbedding,
)
from tested_transformer.model.parts import PAPER, Parts
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.text.tokenizer import Tokenizer
from tested_transformer.training.adam import create_adam
from tested_transformer.training.objective import NextToken

N_SENTENCES, BATCH_TOKENS, WARMUP, LONGEST = 150_000, 800, 200, 90
PAPER_NAME, TODAY, WIDER = "paper", "1 to 6 together", "untied output, larger"
"""The model that all others are compared with, the one with changes 1 to 6, and the one that is larger."""


def grouped(config: Any) -> GroupedAttention:
    """Attention whose heads of queries share heads of keys and values."""
    c = config
    return GroupedAttention(
        c.d_model, c.n_heads, c.n_kv_heads, c.d_k, c.attention_bias, c.fused
    )


def feed_forward_without_biases(config: Any) -> FeedForward:
    """The paper's network, both of whose linear layers have no bias."""
    c = config
    network = FeedForward(c.d_model, c.d_ff, c.activation)
    network.w_1 = create_linear_layer(c.d_model, c.d_ff, bias=False)
    network.w_2 = create_linear_layer(c.d_ff, c.d_model, bias=False)
    return network


def without_shifts(model: Transformer) -> Transformer:
    """The model, whose norms scale and do not shift."""
    for norm in (m for m in model.modules() if isinstance(m, LayerNorm)):
        norm.bias = None  # type: ignore[assignment]
    return model


@dataclass(frozen=True)
class Swap:
    """What one model has in place of the paper's parts."""

    parts: Parts = PAPER
    norm_first: bool = False
    groups: int = 1  # so many heads of queries for each of keys and values
    shifts: bool = True  # do the norms have any?
    equal: bool = True  # has it as many parameters as the paper's?


SWAPS = {
    PAPER_NAME: Swap(),
    "norm first": Swap(norm_first=True),
    "RMSNorm": Swap(
        PAPER._replace(
            addnorm=lambda c: RMSAddNorm(c.d_model, c.dropout, c.norm_first, c.norm_eps)
        )
    ),
    "SwiGLU": Swap(PAPER._replace(feed_forward=lambda c: SwiGLU(c.d_model, c.d_ff))),
    "rotary positions": Swap(
        PAPER._replace(attention=LLAMA.attention, positions=LLAMA.positions)
    ),
    "grouped queries": Swap(
        PAPER._replace(attention=grouped, cross_attention=grouped), groups=2
    ),
    "no biases": Swap(
        PAPER._replace(feed_forward=feed_forward_without_biases), shifts=False
    ),
    "untied output": Swap(
        PAPER._replace(embedding=lambda c: UntiedEmbedding(c.vocab_size, c.d_model))
    ),
    WIDER: Swap(
        PAPER._replace(embedding=lambda c: UntiedEmbedding(c.vocab_size, c.d_model)),
        equal=False,
    ),
    TODAY: Swap(
        LLAMA._replace(cross_attention=grouped),
        norm_first=True,
        groups=2,
    ),
}
"""Each model by its name. The first seven changes are numbered by their places. The model with six of them
has one table for input and output, as SmolLM2 has."""


class Size(NamedTuple):
    """How large the models of one comparison are, and how they are trained."""

    d_model: int
    d_ff: int
    steps: int
    peak: float  # the highest learning rate
    n_heads: int = 4
    n_layers: int = 2


SIZES = {
    "small": Size(d_model=64, d_ff=128, steps=2000, peak=0.005),
    "packaged": Size(d_model=128, d_ff=256, steps=1000, peak=0.003),
}
"""Half as wide as the packaged translator, and as wide, though it learns for fewer steps than that one did."""


def create(name: str, size: Size, vocab_size: int) -> Transformer:
    """An untrained model of SWAPS, as large as the paper's of this size within 1 %.

    Where a second table leaves less for a network than the width of a row, the rows are
    made shorter.
    """
    if not SWAPS[name].equal:
        return _create(name, size, vocab_size)
    goal = n_parameters(_create(PAPER_NAME, size, vocab_size))
    for d_model in range(size.d_model, 0, -size.n_heads):
        narrow, wide = (
            size._replace(d_model=d_model, d_ff=d_ff) for d_ff in (d_model, 2 * d_model)
        )
        least, more = (
            n_parameters(_create(name, s, vocab_size)) for s in (narrow, wide)
        )
        d_ff = round(d_model * (1 + (goal - least) / (more - least)))
        if d_ff >= d_model:
            break
    return _create(name, size._replace(d_model=d_model, d_ff=d_ff), vocab_size)


def _create(name: str, size: Size, vocab_size: int) -> Transformer:
    swap = SWAPS[name]
    config = LlamaConfig(
        vocab_size,
        size.d_model,
        size.d_ff,
        size.n_heads,
        size.n_layers,
        max_len=LONGEST,
        n_kv_heads=size.n_heads // swap.groups,
        norm_first=swap.norm_first,
    )
    model = Transformer(config, swap.parts)
    return model if swap.shifts else without_shifts(model)


def n_parameters(model: nn.Module) -> int:
    """How many numbers a model learns."""
    return sum(w.numel() for w in model.parameters())


class Sentences(NamedTuple):
    """Pairs of ids to learn from, pairs to be tested with, and the sentences of the latter."""

    tokens: Tokenizer
    learned: list[Pair]
    tested: list[Pair]
    test: list[Sentence]


def sentences(n: int = N_SENTENCES) -> Sentences:
    """Those of the phrasebook, as the tokeniser of the packaged translator reads them.

    Each of the 1000 test sentences has a pair of words that training has kept from the
    models.
    """
    tokens = Translator.load().tokens
    learned, _, test = corpus.split(n)
    pairs = ([(s.english, s.german) for s in part] for part in (learned, test))
    return Sentences(
        tokens, *(encode_pairs(p, tokens, LONGEST).pairs for p in pairs), test
    )


def learn(model: Transformer, given: Sentences, size: Size, seed: int) -> list[float]:
    """Train a model; the seed decides which sentences come when. Returns the loss of each step."""
    epochs = (batches(given.learned, BATCH_TOKENS, seed, epoch) for epoch in count())
    coming = chain.from_iterable(epochs)
    loss_at = training.forced(model, lambda step: next(coming))
    rate_at = training.triangle(size.steps, size.peak, WARMUP)
    return training.train(model, loss_at, rate_at, size.steps)


def measure(model: Transformer, given: Sentences) -> dict[str, float]:
    """The loss for each token of the test sentences in nats, and what is right of the sentences and of the frames.

    `exact` counts the test sentences that are translated to the letter, `pronouns` the right words for "it" in 270.
    """
    model.eval()
    translator = Translator(model, given.tokens, width=1)
    objective, loss, n = NextToken(model, 0.0).eval(), 0.0, 0
    with torch.no_grad():
        for batch in batches(given.tested, 2000):
            loss += objective(*batch)[0].item()
            n += objective.count(batch)
    german = translator.translate([s.english for s in given.test])
    exact = sum(g == s.german for g, s in zip(german, given.test, strict=True))
    written = translator.translate([s.english for s in SENTENCES])
    pronouns, _ = count_right(written, [s.german for s in SENTENCES])
    return {"loss": loss / n, "exact": exact, "pronouns": pronouns}


def run(
    name: str, size: Size, seed: int, given: Sentences
) -> tuple[Transformer, dict[str, float]]:
    """Train one model from a start of its own, and measure it."""
    torch.manual_seed(seed)
    model = create(name, size, given.tokens.vocab_size)
    losses = learn(model, given, size, seed)
    last = losses[-100:]
    return model, {"training": sum(last) / len(last)} | measure(model, given)


def step_times(
    names: Sequence[str], size: Size, given: Sentences, rounds: int
) -> dict[str, float]:
    """How many milliseconds a step of training takes, the median of so many rounds.

    In each round every model takes one step with the same batch, one model after the
    other, so whatever else the machine does slows all of them alike.
    """
    models = [create(name, size, given.tokens.vocab_size).train() for name in names]
    adams = [create_adam(model.parameters()) for model in models]
    coming = batches(given.learned, BATCH_TOKENS, 0, 0)
    times = []
    for batch in islice(coming, rounds):
        row = []
        for model, adam in zip(models, adams, strict=True):
            begun = perf_counter()
            loss = training.forced(model, lambda step: batch)(1)  # noqa: B023
            adam.zero_grad()
            loss.backward()
            adam.step()
            row.append(1000 * (perf_counter() - begun))
        times.append(row)
    return {n: float(t) for n, t in zip(names, np.median(times, axis=0), strict=True)}


def measured(
    runs: Sequence[Mapping[str, Any]], size: str, what: str
) -> dict[str, np.ndarray]:
    """What was measured of each model of a size, an array with a number for each seed, by the model's name.

    Seeds that not all models have had yet are left out.
    """
    found = {(r["name"], r["seed"]): r[what] for r in runs if r["size"] == size}
    seeds = sorted({seed for _, seed in found})
    whole = [s for s in seeds if all((name, s) in found for name in SWAPS)]
    return {name: np.array([found[name, s] for s in whole]) for name in SWAPS}
