"""What a search could be told by a model: the likely beginnings, and all that beams ask about."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tested_transformer.decoding.limits import suppressed
from tested_transformer.model.transformer import Transformer

Ids = tuple[int, ...]


@torch.no_grad()
def following(
    model: Transformer, source: Int[Tensor, "1 S"], begun: Sequence[int]
) -> Float[Tensor, "V"]:
    """The probability of each token to be the next after those of `begun`."""
    target = torch.tensor([[model.config.bos_id, *begun]])
    return model(source, target)[0, -1].softmax(-1)


@torch.no_grad()
def likely(
    model: Transformer,
    source: Int[Tensor, "1 S"],
    least: float,
    most: int,
    begun: Ids = (),
) -> dict[Ids, float]:
    """What may follow `begun`: all of at most so many tokens and at least this probability, the likeliest first."""
    found: dict[Ids, float] = {}

    def grow(path: Ids, share: float) -> None:
        p = (share * _following(model, source, (*begun, *path)).exp()).tolist()
        for token in sorted(range(len(p)), key=lambda i: -p[i]):
            if p[token] < least:
                break
            longer = (*path, token)
            found[longer] = p[token]
            if token != model.config.eos_id and len(longer) < most:
                grow(longer, p[token])

    grow((), 1.0)
    return found


@torch.no_grad()
def asked(
    model: Transformer, source: Int[Tensor, "1 S"], widest: int, most: int
) -> dict[Ids, dict[int, float]]:
    """What beams up to a width hear if only the limit stops them: for each beginning every token's log-probability."""
    never, end = suppressed(model.config), model.config.eos_id
    rows: dict[Ids, dict[int, float]] = {}
    for width in range(1, widest + 1):
        going: list[tuple[Ids, float]] = [((), 0.0)]
        for _ in range(most):
            for begun in (b for b, _ in going if b not in rows):
                log_p = _following(model, source, begun).tolist()
                rows[begun] = {i: p for i, p in enumerate(log_p) if i not in never}
            longer = [((*b, i), t + p) for b, t in going for i, p in rows[b].items()]
            kept = sorted(longer, key=lambda hypothesis: -hypothesis[1])[:width]
            going = [h for h in kept if h[0][-1] != end]
    return rows


def named(
    rows: Mapping[Ids, Mapping[int, float]], names: Sequence[str]
) -> dict[tuple[str, ...], dict[str, float]]:
    """What `asked` gives, with the name of each token in place of its id."""
    return {
        tuple(names[i] for i in begun): {names[i]: p for i, p in row.items()}
        for begun, row in rows.items()
    }


def _following(model: Transformer, source: Tensor, begun: Ids) -> Tensor:
    target = torch.tensor([[model.config.bos_id, *begun]])
    return model(source, target)[0, -1].log_softmax(-1)
