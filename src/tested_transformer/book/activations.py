"""What goes through the trained translator on its way: rows, boxes and heads as they are, and their gradients."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from tested_transformer.book.coreference import PRONOUNS, RUNNING, before_pronoun
from tested_transformer.book.interventions import (
    ATTENTIONS,
    columns,
    recorded,
    replaced,
    residual_stream,
)
from tested_transformer.book.pretrained import place, source_ids, token_ids, token_names
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence


@torch.no_grad()
def _calls(
    translator: Translator, english: str, *names: str
) -> list[tuple[tuple, Any]]:
    """The call of each of these modules while the encoder reads a sentence."""
    with recorded(translator.model, *names) as calls:
        translator.model.encode(source_ids(translator, english))
    return [call for (call,) in calls.values()]


def along(
    translator: Translator, english: str, word: str
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each box of the encoder the row of a word before it, what the box adds, and the row behind the norm."""
    at, found = (0, place(translator, english, word)), []
    for n in range(translator.model.config.n_layers):
        for box, frame in (
            ("self_attention", "addnorm_1"),
            ("feed_forward", "addnorm_2"),
        ):
            names = (f"encoder.layers.{n}.{part}" for part in (box, frame))
            (_, more), ((before, _), after) = _calls(translator, english, *names)
            more = more[0] if isinstance(more, tuple) else more  # without the weights
            found.append(tuple(y[at].numpy() for y in (before, more, after)))
    return found


def stream(
    translator: Translator, english: str, word: str
) -> tuple[list[float], list[float]]:
    """How long the row of a word is before each addition and in the end, and how long what is added.

    What is added are its position, and what each box of the encoder adds. The norm that
    follows a box brings the row back to its usual length.
    """
    at, steps = (0, place(translator, english, word)), along(translator, english, word)
    (((start, *_), x),) = _calls(translator, english, "positions")
    rows = [start[at].numpy(), *(before for before, _, _ in steps), steps[-1][2]]
    added = [(x - start)[at].numpy(), *(more for _, more, _ in steps)]
    return tuple([float(np.linalg.norm(y)) for y in ys] for ys in (rows, added))


class Fed(NamedTuple):
    """One row on its way through a feed-forward network."""

    row: np.ndarray  # (D,) as it comes in
    inner: np.ndarray  # (F,) before the activation
    added: np.ndarray  # (D,) as it comes out


def fed_forward(translator: Translator, english: str, word: str, layer: int) -> Fed:
    """What the feed-forward network of an encoder layer, counted from 1, makes of the row of a word."""
    network = f"encoder.layers.{layer - 1}.feed_forward"
    calls = _calls(translator, english, f"{network}.w_1", network)
    ((row,), inner), (_, added) = calls
    at = 0, place(translator, english, word)
    return Fed(*(x[at].numpy() for x in (row, inner, added)))


def projected(
    translator: Translator, english: str, layer: int, head: int
) -> tuple[list[str], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The tokens that the encoder reads, and their queries, keys and values in one head (counted from 1)."""
    name, own = ATTENTIONS["encoder"].format(layer - 1), columns(translator, head)
    calls = _calls(translator, english, *(f"{name}.{w}" for w in ("w_q", "w_k", "w_v")))
    q, k, v = (out[0, :, own].numpy() for _, out in calls)
    return token_names(translator, english), (q, k, v)


@torch.no_grad()
def shapes(
    translator: Translator, sentences: Sequence[Sentence] = RUNNING
) -> list[tuple[str, str, tuple[int, ...]]]:
    """What the model makes of some sentences on the way from ids to logits: its name, its axes, its shape."""
    model = translator.model
    source, target = (
        source_ids(translator, *texts)
        for texts in zip(*[s[:2] for s in sentences], strict=True)
    )
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


class HeadGradients(NamedTuple):
    """What the loss at the pronoun of a sentence says to one head of the encoder."""

    tokens: list[str]  # as they are read
    p: dict[str, float]  # the probability of each pronoun, where the German has one
    loss: float  # the surprise of the one that is right
    d_logits: dict[str, float]  # and its slope in the logit of each
    x: np.ndarray  # (S, D) what the head is given
    parts: tuple[np.ndarray, ...]  # its queries, keys and values: (S, Dk) or (S, Dv)
    d_out: np.ndarray  # (S, Dv) the gradient that arrives at its output
    d_w_q: np.ndarray  # (D, Dk) PyTorch's gradient of its query matrix


def head_gradients(
    translator: Translator,
    sentence: Sentence,
    layer: int,
    head: int,
    **matrices: ArrayLike,
) -> HeadGradients:
    """The loss at the pronoun, if all before it is as in the German, and its gradient at a head (counted from 1).

    The head may have other matrices meanwhile, as in `replaced`.
    """
    model, own = translator.model, columns(translator, head)
    name, parts = ATTENTIONS["encoder"].format(layer - 1), ("w_q", "w_k", "w_v", "w_o")
    source, target, wanted = map(torch.from_numpy, token_ids(translator, sentence))
    at = 0, len(translator.tokens.encode(before_pronoun(sentence.german)))
    with (
        replaced(translator, layer, head, **matrices),
        recorded(model, *(f"{name}.{part}" for part in parts)) as calls,
    ):
        logits = model(source, target)[at]
        loss = nn.functional.cross_entropy(logits, wanted[at])
        *projections, ((joined,), _) = (call for (call,) in calls.values())
        w_q = model.get_parameter(f"{name}.w_q.weight")
        slopes = torch.autograd.grad(loss, (logits, joined, w_q))
    d_logits, d_joined, d_w_q = slopes
    pronouns = {word: translator.tokens.encode(f" {word}")[0] for word in PRONOUNS}
    p, d_p = (
        {word: float(y[i]) for word, i in pronouns.items()}
        for y in (logits.detach().softmax(-1), d_logits)
    )
    return HeadGradients(
        token_names(translator, sentence.english),
        p,
        float(loss.detach()),
        d_p,
        projections[0][0][0][0].detach().numpy(),
        tuple(out[0, :, own].detach().numpy() for _, out in projections),
        d_joined[0, :, own].numpy(),
        d_w_q[own].T.numpy(),
    )


@torch.no_grad()
def nudged(translator: Translator, english: str, times: int = 16) -> np.ndarray:
    """How far each output of the encoder moves with each input, (S, S): rows are outputs.

    Each input is moved a little in so many random directions.
    """
    x = residual_stream(translator, english)[0]
    rng = np.random.default_rng(0)
    noise = 1e-4 * torch.tensor(rng.normal(size=(times, x.shape[2])))
    found = np.zeros((x.shape[1], x.shape[1]))
    for column in range(x.shape[1]):
        near = x.repeat(times, 1, 1)
        near[:, column] += noise
        moved = translator.model.encoder(near) - translator.model.encoder(x)
        found[:, column] = moved.norm(dim=-1).mean(0)
    return found
