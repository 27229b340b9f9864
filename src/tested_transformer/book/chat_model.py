"""A chat model, opened: what each layer says, rows exchanged between two texts, heads exchanged and cut."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tested_transformer.decoding.cache import GptCache
from tested_transformer.decoding.conversation import BEGIN, END
from tested_transformer.decoding.sampling import next_probabilities
from tested_transformer.model.attention import CAUSAL, attention
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import join_heads
from tested_transformer.model.llama import Llama
from tested_transformer.text.byte_level import ByteLevelBPE


def chatml(tokens: ByteLevelBPE, turns: Iterable[tuple[str, str]]) -> list[int]:
    """The ids of turns, each (role, text), up to where the assistant begins."""
    begin, end = tokens.special_tokens[BEGIN], tokens.special_tokens[END]
    ids: list[int] = []
    for role, text in turns:
        ids += [begin, *tokens.encode(f"{role}\n{text}"), end, *tokens.encode("\n")]
    return [*ids, begin, *tokens.encode("assistant\n")]


class Step(NamedTuple):
    """A token that was written, its probability, and the same of the runner-up."""

    id: int
    p: float
    other: int
    p_other: float


@torch.inference_mode()
def write(
    model: Gpt, ids: Sequence[int], stop: Collection[int], most: int = 20
) -> list[Step]:
    """Go on with ids greedily, until an id of stop or so many tokens: each as a `Step`."""
    cache, text, steps = GptCache(model), [*ids], []
    while len(steps) < most and not (steps and steps[-1].id in stop):
        p, best = cache.read(torch.tensor([text]))[0, -1].softmax(-1).topk(2)
        (first, second), (p_first, p_second) = best.tolist(), p.tolist()
        steps.append(Step(first, p_first, second, p_second))
        text.append(first)
    return steps


@torch.inference_mode()
def draw(
    model: Gpt,
    ids: Sequence[int],
    stop: Collection[int],
    temperature: float,
    generator: torch.Generator,
    most: int = 20,
) -> tuple[list[int], float]:
    """Go on with ids by drawing: the new ids, and how near a random point came to missing its token.

    The points are those of the generator, one for each token. If none is nearer than
    rounding can move the ends of the pieces, every processor draws the same.
    """
    cache, text, near = GptCache(model), [*ids], 1.0
    while len(text) < len(ids) + most and not (
        len(text) > len(ids) and text[-1] in stop
    ):
        logits = cache.read(torch.tensor([text]))[0, -1]
        ends = next_probabilities(logits, temperature).double().cumsum(-1)
        ends = ends / ends[-1]
        point = torch.rand(1, dtype=torch.float64, generator=generator)
        near = min(near, float((ends - point).abs().min()))
        text.append(int((ends <= point).sum()))
    return text[len(ids) :], near


@torch.inference_mode()
def surprise(model: Gpt, ids: Sequence[int]) -> float:
    """The sum of -ln p over all tokens after the first."""
    logs = model(torch.tensor([[*ids]]))[0, :-1].log_softmax(-1)
    return -float(logs.gather(-1, torch.tensor(ids[1:])[:, None]).sum())


@torch.inference_mode()
def steps_of_cache(model: Gpt, ids: Sequence[int], prompt: int) -> list[Tensor]:
    """The logits of each reading: first of so many tokens side by side, then of one at a time."""
    cache = GptCache(model)
    ends = range(prompt, len(ids) + 1)
    return [cache.read(torch.tensor([[*ids[:end]]])) for end in ends]


@torch.inference_mode()
def following(model: Gpt, ids: Sequence[int]) -> Float[Tensor, "V"]:
    """Probabilities of the next token."""
    return model(torch.tensor([[*ids]]))[0, -1].softmax(-1)


@torch.inference_mode()
def at_positions(
    model: Llama, ids: Int[Tensor, "B T"], positions: Int[Tensor, "T"]
) -> Float[Tensor, "B V"]:
    """Probabilities of the next token, if the tokens are at any positions, in this order."""
    x = model.tokens.rows(ids)
    offset = (positions - torch.arange(ids.size(1))).expand(len(ids), -1)
    for layer in model.decoder.layers:
        a = layer.self_attention
        x = layer.steps(
            x,
            lambda y, a=a: a.attend(
                a.queries(y, offset), a.keys(y, offset), a.values(y), CAUSAL
            )[0],
        )
    return lens(model, x[:, -1]).softmax(-1)


@torch.inference_mode()
def residuals(model: Gpt, ids: Int[Tensor, "B T"]) -> Float[Tensor, "L B T D"]:
    """The rows of each text as they enter the first layer, and after each of the layers."""
    rows = [model.embed(ids)]
    for layer in model.decoder.layers:
        rows.append(layer(rows[-1], CAUSAL))
    return torch.stack(rows)


@torch.inference_mode()
def lens(model: Gpt, rows: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
    """Logits of the next token, read from rows of any layer as if it were the last."""
    return model.tokens.logits(model.decoder.norm(rows))


@torch.inference_mode()
def exchanged(
    model: Gpt,
    rows: Float[Tensor, "L 1 T D"],
    other: Float[Tensor, "L 1 T D"],
    positions: Sequence[int],
    first: int = 0,
) -> Float[Tensor, "N V"]:
    """Logits after the last token, where some positions get the rows of another text.

    The exchange is made once: in the first row of the result after `first` layers, in
    the next after one more, and in the last after all layers. rows and other come from
    `residuals`, of two texts of the same length.
    """
    texts = rows.new_empty(0, *rows.shape[2:])
    layers = [*model.decoder.layers]
    for n in range(first, len(layers) + 1):
        fresh = rows[n].clone()
        fresh[:, positions] = other[n][:, positions]
        texts = torch.cat([texts, fresh])
        if n < len(layers):
            texts = layers[n](texts, CAUSAL)
    return lens(model, texts[:, -1])


class Heads(NamedTuple):
    """What the heads of one layer did: the weights of each, and what each took from the values."""

    weights: Float[Tensor, "B H T S"]
    out: Float[Tensor, "B H T Dv"]


@torch.inference_mode()
def heads(
    model: Llama,
    layer: int,
    before: Float[Tensor, "B P D"],
    rows: Float[Tensor, "B T D"],
    hidden: Sequence[int] = (),
) -> Heads:
    """The heads of a layer (from 0) for rows that come after those in before.

    No row sees the positions in hidden; the other weights grow to fill the gap.
    """
    attend = model.decoder.layers[layer].self_attention
    norm = model.decoder.layers[layer].addnorm_1.norm
    first, everything = before.size(1), norm(torch.cat([before, rows], 1))
    group = attend.n_heads // attend.n_kv_heads
    q = attend.queries(everything[:, first:], offset=first)
    k = attend.keys(everything).repeat_interleave(group, 1)
    v = attend.values(everything).repeat_interleave(group, 1)
    mask = torch.ones(q.size(2), k.size(2), dtype=torch.bool).tril(first)
    mask[:, list(hidden)] = False
    out, weights = attention(q, k, v, mask)
    return Heads(weights, out)


@torch.inference_mode()
def finish(
    model: Llama,
    layer: int,
    before: Float[Tensor, "L B P D"],
    rows: Float[Tensor, "N T D"],
    out: Float[Tensor, "N H T Dv"],
) -> Float[Tensor, "N V"]:
    """Logits after the last of rows, if the heads of this layer (from 0) take out from the values.

    before has the earlier rows of B texts, which stay as they are. The N rows are of the
    same B texts, once or several times over.
    """
    again = len(rows) // before.size(1)
    for n, part in enumerate(model.decoder.layers[layer:], layer):
        if n > layer:
            out = heads(model, n, before[n].repeat(again, 1, 1), rows).out
        joined = part.self_attention.w_o(join_heads(out))
        rows = part.addnorm_2(rows + joined, part.feed_forward)
    return lens(model, rows[:, -1])
