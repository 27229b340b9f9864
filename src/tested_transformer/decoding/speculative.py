"""Speculative decoding: a small model drafts some tokens, and the large one checks all of them in one call."""

from collections.abc import Collection, Generator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.checks import at_least, integer
from tested_transformer.decoding.cache import GptCache
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import check_finite
from tested_transformer.decoding.sampling import draw, next_probabilities
from tested_transformer.model.gpt import Gpt

_How = tuple[int | None, tuple[float, int | None, float]]


def speculate(
    model: Gpt,
    draft: Gpt,
    ids: Sequence[int],
    stop: Collection[int],
    max_len: int,
    n_drafted: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    n_tokens: int | None = None,
) -> Generator[list[int], None, None]:
    """Go on with ids as `stream` does; what a call of model has settled comes together.

    In each round, draft writes up to n_drafted tokens. One call of model gives its own
    probabilities at all their places. From the left, a token stays or is refused, by
    lot, and after the first refused one the round ends with a token of model's. So what
    is written is distributed as model alone would write it, whatever draft is; with
    top_k=1 it is the same text (Leviathan et al., 2023; Chen et al., 2023). Only the
    number of calls depends on draft. It ends after an id of stop, or with max_len
    tokens in all. Both models read the same ids. With n_tokens, only the first so many are
    written, and either model may have more rows.
    """
    _check(model, draft, ids, max_len, n_drafted, n_tokens)
    how = n_tokens, (temperature, top_k, top_p)
    text, caches = [*ids], (GptCache(model), GptCache(draft))
    while len(text) < max_len:
        room = min(max_len - len(text) - 1, draft.config.max_len - len(text) + 1)
        with inference(model), inference(draft):
            new = _round(text, *caches, min(n_drafted, max(room, 0)), how, generator)
        end = next((n for n, i in enumerate(new, 1) if i in stop), len(new))
        text += new[:end]
        yield new[:end]
        if text[-1] in stop:
            return


def acceptance(p: Float[Tensor, "*B V"], q: Float[Tensor, "*B V"]) -> Tensor:
    """How likely a token stays that was drafted with q and wanted with p: min(1, p/q).

    What is never drafted stays, too.
    """
    return (p / q.clamp(min=torch.finfo(q.dtype).tiny)).clamp(max=1)


def leftover(p: Float[Tensor, "*B V"], q: Float[Tensor, "*B V"]) -> Tensor:
    """What to draw from after a refusal: tokens that q has drafted too seldom for p."""
    more = (p - q).clamp(min=0)
    total = more.sum(-1, keepdim=True)
    return torch.where(total > 0, more / total, p)  # equal but for rounding


def _round(
    text: list[int],
    large: GptCache,
    small: GptCache,
    n: int,
    how: _How,
    generator: torch.Generator | None,
) -> list[int]:
    """What one call of the large model settles: from 1 to n + 1 tokens."""
    drafted: list[int] = []
    qs = []
    for _ in range(n):
        qs.append(_probabilities(small, text + drafted, 1, how))
        drafted.append(int(draw(qs[-1], generator)))
    ps = _probabilities(large, text + drafted, n + 1, how)
    for place, (token, q) in enumerate(zip(drafted, qs, strict=True)):
        p = ps[place : place + 1]
        stays = acceptance(p, q)[:, token]
        if not draw(torch.stack([1 - stays, stays], -1), generator):
            return [*drafted[:place], int(draw(leftover(p, q), generator))]
    return [*drafted, int(draw(ps[n:], generator))]


def _probabilities(
    cache: GptCache, text: list[int], last: int, how: _How
) -> Float[Tensor, "N V"]:
    """What follows each of the last tokens; what the cache has of them is read anew."""
    ids = torch.tensor([text], device=cache.model.tokens.weight.device)
    cache.length = min(cache.length, len(text) - last)
    n_tokens, drawn = how
    logits = cache.read(ids)[0, -last:, :n_tokens]
    check_finite(logits.amax(-1))
    return next_probabilities(logits, *drawn)


def _check(
    model: Gpt,
    draft: Gpt,
    ids: Sequence[int],
    max_len: int,
    n_drafted: int,
    n_tokens: int | None,
) -> None:
    integer(n_drafted=n_drafted, max_len=max_len)
    at_least(1, n_drafted=n_drafted)
    sizes = model.config.vocab_size, draft.config.vocab_size
    if n_tokens is not None:
        integer(n_tokens=n_tokens)
        if not 0 < n_tokens <= min(sizes):
            rule = f"must be at least 1 and at most {min(sizes)}, as both models have"
            raise ValueError(f"n_tokens ({n_tokens}) {rule}")
    elif sizes[0] != sizes[1]:
        rule = "both must read the same ids"
        raise ValueError(
            f"model knows {sizes[0]:,} tokens and draft {sizes[1]:,}: {rule}"
        )
    if not 0 < len(ids) < max_len <= model.config.max_len:
        rule = f"above the prompt's ({len(ids)}) and at most {model.config.max_len}"
        raise ValueError(f"max_len ({max_len}) must be {rule}; a prompt has a token")
