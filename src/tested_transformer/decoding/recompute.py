"""Decoding without a cache, for models that a cached step might not honour."""

import warnings
from inspect import isfunction

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.model.decoder import Decoder, DecoderLayer
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.encoder import Encoder, EncoderLayer
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.positions import LearnedPositions, SinusoidalPositions
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.memory import runs_again

OWN = (
    *(Transformer, Embedding, SinusoidalPositions, LearnedPositions, Decoder),
    *(DecoderLayer, MultiHeadAttention, AddNorm, LayerNorm, FeedForward),
    *(Gpt, Encoder, EncoderLayer, nn.Embedding),
    *(nn.ModuleList, nn.Sequential, nn.Linear, nn.Dropout, nn.Identity),
    *(nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.LayerNorm, nn.RMSNorm),
)
"""Classes of which a cached step knows that one token at a time is enough."""
PLAIN = ("__init__", "extra_repr")
METHODS: dict[type, dict[str, object]] = {
    kind: {n: f for n, f in vars(kind).items() if callable(f)} for kind in OWN
}


class Recompute:
    """A decoder at work without a cache: each step runs the model over all tokens.

    It has the methods of `Cache` and gives the same, slowly, for any model whose call
    gives logits: modules may be replaced, wrapped, or listened to with hooks.
    """

    def __init__(
        self,
        model: Transformer,
        source: Int[Tensor, "B S"],
        max_len: int,
        width: int = 1,
    ) -> None:
        self.model, self.source, self.length = model, source, 0
        self.max_len, self.width = max_len, width
        self.slots = source.new_empty(len(source), 0)

    def step(
        self,
        tokens: Int[Tensor, "B W"],
        mask: Bool[Tensor, "B 1 W N"] | None = None,
    ) -> Float[Tensor, "B W V"]:
        """As `Cache.step`. Of each position, mask shows one slot to each token."""
        check_step(tokens, (len(self.source), self.width), self.length, self.max_len)
        self.slots = torch.cat([self.slots, tokens.to(self.slots.dtype)], 1)
        self.length += 1
        seen = self.slots.unsqueeze(1).expand(-1, self.width, -1)  # (B, W, N)
        if mask is not None:
            seen = seen[mask.squeeze(1)]
        beginnings = seen.reshape(-1, self.length)  # (B*W, T)
        sources = self.source.repeat_interleave(self.width, 0)
        logits = self.model(sources, beginnings)[:, -1]
        return logits.unflatten(0, tokens.shape)

    def keep(self, rows: Int[Tensor, "K"]) -> None:
        """As `Cache.keep`."""
        self.source, self.slots = self.source[rows], self.slots[rows]


def passed_by(model: nn.Module) -> str | None:
    """The first module that a cached step might pass by; None if there is none.

    A step calls parts of the decoder, for one token at a time. This is right for the
    classes in `OWN`, as they are and without hooks, and for a class that says
    `cacheable = True`: it treats each row by itself, or learns from `offset` where the
    row is. A class inherits this as long as it has no method of its own but `__init__`.
    A model's `forward` is not called by a step, so it may not be another. The encoder of
    a translator is always called whole.
    """
    for whole in (Transformer, Gpt):
        if isinstance(model, whole) and type(model).forward is not whole.forward:
            return f"the model ({type(model).__name__})"
    for name, module in model.named_modules():
        if name.split(".")[0] != "encoder" and not _known(module):
            return f"{name or 'the model'} ({type(module).__name__})"
    return None


def _known(module: nn.Module) -> bool:
    if module._forward_hooks or module._forward_pre_hooks:
        return False
    for name, own in vars(module).items():
        if callable(getattr(type(module), name, None)) and not runs_again(own):
            return False  # a method of this instance alone
    for kind in type(module).__mro__:
        if "cacheable" in vars(kind):
            return bool(vars(kind)["cacheable"])
        if kind in METHODS:
            return all(vars(kind).get(n) is f for n, f in METHODS[kind].items())
        if any(isfunction(f) for n, f in vars(kind).items() if n not in PLAIN):
            return False
    return False


def warn_uncached(other: str) -> None:
    """Say once that a module makes decoding slow, and what helps."""
    rule = "its class may say cacheable = True, if it treats each row by itself"
    text = f"{other} is not known to need new tokens only, so all are read anew: {rule}"
    warnings.warn(text, Uncached, stacklevel=3)


class Uncached(UserWarning):
    """A module is in the way of the cache; each token takes longer than the last."""


def check_step(
    tokens: Tensor, expected: tuple[int, int], length: int, most: int
) -> None:
    """Refuse tokens for other sentences, and a step beyond the last."""
    if tokens.shape != expected:
        rule = f"{expected}: sentences, and tokens side by side"
        raise ValueError(f"tokens of shape {tuple(tokens.shape)} must be {rule}")
    if length == most:
        raise ValueError(f"the cache is full: max_len ({most}) tokens")
