"""The logit lens: what each layer of a chat model would say, if it were the last one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.book.chat_model import chatml, lens, residuals, write
from tested_transformer.decoding.conversation import END, default_system
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
    """A question after the publisher's system prompt, up to where its answer begins."""
    system = default_system(tokens.chat_template) or ""
    return chatml(tokens, [("system", system), ("user", text)])


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
    at = residuals(model, torch.tensor([begun]))[:, 0, len(prompt) - 1 :]
    p = lens(model, at).softmax(-1)
    return [_step(p[:, n], token) for n, token in enumerate(written)]


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
    end = tokens.special_tokens[END]
    written = [step.id for step in write(model, prompt, {end}, most)]
    found = steps(model, prompt, written)
    if (least := min(map(lead, found))) < LEAD:
        raise ValueError(
            f"the answer to {text!r} is too close: a token leads by {least:.4f}, less than {LEAD}"
        )
    return {
        "text": text,
        "prompt": [name(tokens, i) for i in prompt],
        "ended": written[-1] == end,
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
