"""The logit lens: what each layer of a chat model would say, if it were the last one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.decoding.conversation import BEGIN, END, default_system, stream
from tested_transformer.model.gpt import Gpt
from tested_transformer.shares import as_share
from tested_transformer.text.byte_level import ByteLevelBPE

PROMPTS = {
    "Name the capital of France.": 12,
    "What is the capital of Italy?": 12,
    "What is 2 + 3?": 12,
    "What is 12 times 12?": 16,
    "What is the plural of child?": 12,
    "What is the opposite of big?": 12,
    "The dog is called Max. What is the name of the dog?": 12,
    "My name is Ada. What is my name?": 13,
    "I need the chair because it is old. Which of the things is old?": 12,
    "What is the German word for chair?": 12,
    "What is the capital of Blorvania?": 13,
    "How many letters are in the word chair?": 12,
}
"""What the figure asks, and how many tokens of the answer are kept: facts, sums, words, a name and an "it" from the
prompt, and what goes wrong. Blorvania does not exist."""

LEAD = 0.02
"""Each token that is kept was likelier than the second by this at least."""

AT_THE_END, IN_A_LAYER = 5, 3
"""Of so many tokens the probabilities are kept: at the output, and in a layer."""


def prompt_ids(tokens: ByteLevelBPE, text: str) -> list[int]:
    """A question in the model's template, up to where its answer begins."""
    system = default_system(tokens.chat_template) or ""
    turns = (
        f"{BEGIN}system\n{system}{END}\n{BEGIN}user\n{text}{END}\n{BEGIN}assistant\n"
    )
    return tokens.encode(turns, special=True)


def answer(
    model: Gpt, tokens: ByteLevelBPE, ids: Sequence[int], most: int
) -> list[int]:
    """The likeliest token after the prompt, again and again; the last one is the mark of the end, unless it is cut."""
    end = tokens.special_tokens[END]
    return [*stream(model, ids, {end}, len(ids) + most, top_k=1)]


@torch.no_grad()
def streams(model: Gpt, ids: Sequence[int]) -> Float[Tensor, "L T D"]:
    """The rows of all tokens before the first layer and after each of them: n_layers + 1 matrices."""
    kept = []
    hooks = [
        layer.register_forward_hook(lambda _, given, made: kept.append(made[0]))
        for layer in model.decoder.layers
    ]
    try:
        row = torch.tensor([[*ids]], device=model.tokens.weight.device)
        model(row)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack([model.embed(row)[0], *kept])


@torch.no_grad()
def lens(model: Gpt, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
    """The probabilities that the model would give, if x were what its last layer made: final norm, table, softmax."""
    return model.tokens.logits(model.decoder.norm(x)).softmax(-1)


@torch.no_grad()
def exchanged(
    model: Gpt, ids: Sequence[int], row: Float[Tensor, "D"], layer: int
) -> Float[Tensor, "V"]:
    """The probabilities of what comes next, if the last token has this row after so many layers, from 1 on."""

    def put(_: object, given: object, made: Tensor) -> Tensor:
        return torch.cat([made[:, :-1], row.expand(1, 1, -1)], 1)

    hook = model.decoder.layers[layer - 1].register_forward_hook(put)
    try:
        return model(torch.tensor([[*ids]]))[0, -1].softmax(-1)
    finally:
        hook.remove()


class Step(NamedTuple):
    """One token of an answer: the likeliest at the output, and for each layer its likeliest and the written one.

    A likeliest token is a pair (id, probability). `written` has the probability of the token that was written in
    each layer, and `ranks` how many tokens were likelier there.
    """

    token: int
    output: list[tuple[int, float]]
    layers: list[list[tuple[int, float]]]
    written: list[float]
    ranks: list[int]


def steps(model: Gpt, prompt: Sequence[int], written: Sequence[int]) -> list[Step]:
    """What each layer says where each token of an answer was written, from the position before it."""
    begun = [*prompt, *written[:-1]]
    at = streams(model, begun)[:, len(prompt) - 1 :]
    return [_step(lens(model, at[:, n]), token) for n, token in enumerate(written)]


def _step(p: Float[Tensor, "L V"], token: int) -> Step:
    likeliest = [_best(row, IN_A_LAYER) for row in p]
    own = p[:, token]
    ranks = (p > own[:, None]).sum(-1)
    return Step(
        token, _best(p[-1], AT_THE_END), likeliest, own.tolist(), ranks.tolist()
    )


def _best(p: Float[Tensor, "V"], n: int) -> list[tuple[int, float]]:
    values, ids = p.topk(n)
    return [*zip(ids.tolist(), values.tolist(), strict=True)]


def lead(step: Step) -> float:
    """By how much the token that was written is likelier than the second."""
    (_, first), (_, second), *_ = step.output
    return first - second


def takes_over(step: Step | Mapping[str, Any]) -> int:
    """The first layer from which on, up to the last, the token that was written is the likeliest; 0 is the start."""
    ranks = step.ranks if isinstance(step, Step) else step["ranks"]
    behind = [layer for layer, rank in enumerate(ranks) if rank]
    return behind[-1] + 1 if behind else 0


def recorded(model: Gpt, tokens: ByteLevelBPE, text: str, most: int) -> dict[str, Any]:
    """All that is kept of one question, with three decimals, as JSON has it."""
    prompt = prompt_ids(tokens, text)
    written = answer(model, tokens, prompt, most)
    found = steps(model, prompt, written)
    if (least := min(map(lead, found))) < LEAD:
        raise ValueError(
            f"the answer to {text!r} is too close: a token leads by {least:.4f}, less than {LEAD}"
        )
    return {
        "text": text,
        "prompt": [name(tokens, i) for i in prompt],
        "ended": written[-1] == tokens.special_tokens[END],
        "steps": [_as_json(tokens, step) for step in found],
    }


def name(tokens: ByteLevelBPE, i: int) -> str:
    """A token as text; a mark of the template by its name."""
    marks = {i: mark for mark, i in tokens.special_tokens.items()}
    return marks.get(i) or tokens.decode([i])


def _as_json(tokens: ByteLevelBPE, step: Step) -> dict[str, Any]:
    def words(pairs: list[tuple[int, float]]) -> list[list[Any]]:
        return [[name(tokens, i), _rounded(p)] for i, p in pairs]

    return {
        "token": name(tokens, step.token),
        "output": words(step.output),
        "layers": [words(pairs) for pairs in step.layers],
        "written": [*map(_rounded, step.written)],
        "ranks": step.ranks,
    }


def _rounded(p: float) -> float:
    """Three decimals, or four where three would write the whole; single precision may have rounded up to it before."""
    return float(as_share(min(p, 0.99999), 3))
