"""What searches need of a model, and conversations of a template and of logits."""

import re
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from tested_transformer.checks import instance

BEGIN, END = "<|im_start|>", "<|im_end|>"
"""Around each turn, in ChatML."""
ROLE = re.compile(r"(system|user|assistant)['\"]?|.*\brole\W*")
"""What comes after the first of them in a template: a word, or the role of a message."""


def check_model(model: Any) -> None:
    """Refuse what no search can use: a TypeError says what it lacks.

    A search needs a `Transformer`, or a module with `config` and `encode(source)` whose
    call, `model(source, target)`, gives logits of the shape (B, T, V).
    """
    instance(nn.Module, model=model)
    for name in ("config", "encode"):
        if not hasattr(model, name):
            rule = "a search needs config, encode(source), and logits from a call"
            raise TypeError(f"model ({type(model).__name__}) has no {name}: {rule}")


def check_chatml(template: str | None) -> None:
    """Refuse a chat template whose marks, roles or begin are not those of ChatML."""
    if not template:
        return
    template = template.replace("\\n", "\n")
    marks = {*re.findall(r"<\|\w+\|>", template)}
    roles = re.findall(rf"{re.escape(BEGIN)}[^\w<]*([^\s}}+~]+)", template)
    strange = [f"no {mark}" for mark in (BEGIN, END) if mark not in marks]
    strange += sorted(marks - {BEGIN, END})
    strange += [f"the role {role}" for role in roles if not ROLE.fullmatch(role)]
    strange += ["bos_token"] if "bos_token" in template else []
    if strange:
        rule = "so it is not ChatML, and no other kind is known here"
        raise ValueError(f"the chat template has {strange[0]}, {rule}")


def first(n_tokens: int, read: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same `reader` without the logits of ids from n_tokens on: they are never drawn.

    A published model may have more rows than its tokeniser has tokens.
    """
    return lambda *given: read(*given)[..., :n_tokens]
