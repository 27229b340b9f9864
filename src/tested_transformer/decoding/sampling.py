"""Sampling: the next token is drawn at random, from all or from the better ones."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from tested_transformer.checks import at_least, ids_within, integer
from tested_transformer.config import Config
from tested_transformer.decoding.cache import reader
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import check_finite
from tested_transformer.model.gpt import Gpt


def keep_top_k(logits: Float[Tensor, "*B V"], k: int) -> Float[Tensor, "*B V"]:
    """The k largest logits, the rest -inf (Fan et al., 2018); of equals, smaller ids.

    A k above V keeps all.
    """
    integer(top_k=k)
    at_least(1, top_k=k)
    least = logits.topk(min(k, logits.size(-1))).values[..., -1:]
    above, equal = logits > least, logits == least
    room = k - above.sum(-1, keepdim=True)  # for those as large as the k-th
    return logits.masked_fill(~above & (~equal | (equal.cumsum(-1) > room)), -torch.inf)


def keep_top_p(logits: Float[Tensor, "*B V"], p: float) -> Float[Tensor, "*B V"]:
    """The fewest tokens whose probabilities add up to p; the rest -inf.

    They are called the nucleus (Holtzman et al., 2020). The likeliest is always in it.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p ({p}) must be above 0 and at most 1")
    if p == 1:  # all; the sum below may reach 1 too early by rounding
        return logits
    order = logits.argsort(dim=-1, descending=True, stable=True)
    mass = logits.softmax(-1).gather(-1, order).cumsum(-1)
    reached = torch.roll(mass, 1, -1)  # what those before a token have already
    reached[..., 0] = 0
    dropped = torch.zeros_like(logits, dtype=torch.bool)
    return logits.masked_fill(dropped.scatter(-1, order, reached >= p), -torch.inf)


def next_probabilities(
    logits: Float[Tensor, "*B V"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Float[Tensor, "*B V"]:
    """What to draw from: logits divided by temperature, then top_k, then top_p.

    Below 1 a temperature makes likely tokens likelier, above 1 unlikely ones. Of logits
    in half precision, too, probabilities are float32.
    """
    if not 0 < temperature < float("inf"):
        rule = "must be positive and finite; for the likeliest token, top_k=1"
        raise ValueError(f"temperature ({temperature}) {rule}")
    exact = torch.promote_types(logits.dtype, torch.float32)
    logits = logits.to(exact) / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    return keep_top_p(logits, top_p).softmax(-1)


def draw(
    p: Float[Tensor, "B V"], generator: torch.Generator | None = None
) -> Int[Tensor, "B"]:
    """A token for each row, as likely as its probability.

    Probabilities are laid end to end on a line of length 1; a random point hits one.
    """
    there = p.cpu() if p.device.type == "mps" else p  # a Mac's GPU has no float64
    ends = there.double().cumsum(-1)
    ends = ends / ends[:, -1:]  # the last is 1 to the last bit, and no point reaches it
    points = torch.rand(len(p), 1, dtype=torch.float64, generator=generator)
    return (ends <= points.to(ends.device)).sum(-1).to(p.device)


def sample(
    model: Gpt,
    prompt: Int[Tensor, "B T"] | Sequence[Sequence[int]],
    max_len: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    suppress_tokens: Sequence[int] = (),
) -> Int[Tensor, "B W"]:
    """Go on with each prompt, token by token, until eos_id or max_len tokens in all.

    Prompts begin as the texts that the model has learned (ours with bos_id). Of unequal
    length, they are a list of lists. They come back with what was written, filled up
    with pad_id. No id of suppress_tokens is written. top_k=1 is greedy.
    """
    c = model.config
    ids, lengths = _together(prompt, model)
    never = torch.tensor(suppress_tokens, dtype=torch.int64, device=ids.device)
    if ((never < 0) | (never >= c.vocab_size)).any():
        ids_within(never, c.vocab_size, "suppress_tokens", "vocab_size")
    if not ids.size(1) < max_len <= c.max_len:
        rule = f"must be above the prompt's ({ids.size(1)}) and at most {c.max_len}"
        raise ValueError(f"max_len ({max_len}) {rule}")
    with inference(model):
        ids, read = ids.clone(), reader(model)
        going = torch.ones_like(lengths, dtype=torch.bool)
        while going.any():
            ends = lengths.where(going, ids.size(1))  # what an ended text reads is lost
            logits = read(ids, ends)[:, -1].index_fill(-1, never, -torch.inf)
            check_finite(logits.amax(-1))
            p = next_probabilities(logits, temperature, top_k, top_p)
            tokens = draw(p, generator).to(ids.dtype)
            if lengths[going].max() == ids.size(1):
                ids = F.pad(ids, (0, 1), value=c.pad_id)
            ids[going, lengths[going]] = tokens[going]
            lengths = lengths + going
            going &= (tokens != c.eos_id) & (lengths < max_len)
    return ids.clone()  # one that may take part in learning


def _together(
    prompt: Tensor | Sequence[Sequence[int]], model: Gpt
) -> tuple[Tensor, Tensor]:
    """Prompts side by side, filled up on the right, and the length of each."""
    c = model.config
    if isinstance(prompt, Tensor):
        _check_prompt(prompt, c)
        lengths = torch.full_like(prompt[:, 0], prompt.size(1), dtype=torch.int64)
        return prompt, lengths
    if not isinstance(prompt, (list, tuple)):
        rule = "must be a torch.Tensor, or a list of lists of ids"
        raise TypeError(f"prompt {rule}, not {type(prompt).__name__}")
    rows = [torch.tensor([*row], dtype=torch.int64) for row in prompt]
    if not rows or not all(map(len, rows)):
        raise ValueError("prompt must have a row, and each row a token")
    for place, row in enumerate(rows):
        _check_prompt(row[None], c, place)
    device = model.tokens.weight.device
    ids = pad_sequence(rows, batch_first=True, padding_value=c.pad_id).to(device)
    return ids, torch.tensor([*map(len, rows)], device=device)


def _check_prompt(prompt: Tensor, config: Config, first: int = 0) -> None:
    """Refuse prompts with padding, which would be read as words, and ended ones."""
    if prompt.dim() != 2 or 0 in prompt.shape:
        rule = "(batch, length), at least one of each"
        raise ValueError(f"prompt of shape {tuple(prompt.shape)} must be {rule}")
    for name in ("pad_id", "eos_id"):
        found = prompt == (id := getattr(config, name))
        found[:, 0] &= id != config.bos_id  # one id may have both roles
        if found.any():
            row, column = found.nonzero()[0].tolist()
            rule = (
                "prompts have no padding and no end; of unequal length, they are lists"
            )
            raise ValueError(
                f"prompt {first + row} has {name} ({id}) at {column}: {rule}"
            )
