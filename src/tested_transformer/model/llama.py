"""A decoder alone as Llama has it: rotary positions, RMSNorm, SwiGLU, grouped heads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.checks import (
    at_least,
    checked,
    instance,
    integer,
    number,
    positive,
    probability,
)
from tested_transformer.config import DERIVED, Config
from tested_transformer.model import _checks as rules
from tested_transformer.model.addnorm import AddNorm
from tested_transformer.model.attention import Mask, kernel
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import MultiHeadAttention, join_heads, split_heads
from tested_transformer.model.linear import create_linear_layer
from tested_transformer.model.parts import Parts


@dataclass(frozen=True)
class LlamaConfig(Config):
    """Sizes and settings of a Llama, and of the models built like it.

    n_kv_heads is the number of heads of keys and values, each for n_heads / n_kv_heads
    heads of queries; as many as n_heads unless given. rope_base is the base of the
    rotary frequencies; each is divided by its one of the d_k / 2 rope_factors, if those
    are given (Llama 3.1, for texts longer than those it was first trained on). tied says
    whether one table serves input and output. With qk_norm, attention is a
    `NormedAttention` (Qwen3). With attention_bias but without output_bias, w_q, w_k and
    w_v have a bias, and w_o has none (Qwen2).
    """

    dropout: float = 0.0
    norm_first: bool = True
    n_kv_heads: int = DERIVED  # None on the way in, a number once made
    rope_base: float = 10_000.0
    tied: bool = True
    rope_factors: Sequence[float] | None = None  # a tuple once made
    qk_norm: bool = False
    output_bias: bool = True  # counts only with attention_bias

    def __post_init__(self) -> None:
        if self.n_kv_heads is None:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        super().__post_init__()
        _check_groups(self.n_heads, self.n_kv_heads)
        positive(rope_base=self.rope_base)
        if self.rope_factors is not None:  # JSON has lists
            if not isinstance(self.rope_factors, (list, tuple)):
                rule = "must be a list of numbers, or None"
                raise TypeError(f"rope_factors ({self.rope_factors!r}) {rule}")
            object.__setattr__(self, "rope_factors", (*self.rope_factors,))
            _check_factors(self.rope_factors, self.d_k)
        for name in ("tied", "qk_norm", "output_bias"):
            if not isinstance(value := getattr(self, name), bool):
                raise TypeError(f"{name} ({value!r}) must be True or False")


class RMSNorm(nn.Module):
    """Each row divided by its root mean square, then scaled (Zhang & Sennrich, 2019).

    Unlike `LayerNorm` it takes no mean off, and has no shift.
    """

    cacheable = True

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        positive(eps=eps)
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    @checked(rules.layer_norm)
    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Each row by itself."""
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class SwiGLU(nn.Module):
    """(SiLU(x W_1) ⊙ x W_3) W_2: a gated feed-forward network (Shazeer, 2020).

    SiLU(z) = z · sigmoid(z). There are no biases. d_ff is the width in between.
    """

    cacheable = True

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        at_least(1, d_model=d_model, d_ff=d_ff)
        self.d_model = d_model
        self.w_1 = create_linear_layer(d_model, d_ff, bias=False)
        self.w_3 = create_linear_layer(d_model, d_ff, bias=False)
        self.w_2 = create_linear_layer(d_ff, d_model, bias=False)

    @checked(rules.feed_forward)
    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Widen twice, let one gate the other, narrow."""
        return self.w_2(F.silu(self.w_1(x)) * self.w_3(x))


def rotate(
    x: Float[Tensor, "B H T Dk"],
    offset: int | Int[Tensor, "B #T"] = 0,
    base: float = 10_000.0,
    factors: tuple[float, ...] | None = None,
) -> Float[Tensor, "B H T Dk"]:
    """Turn each row by angles that grow with its position (Su et al., 2021).

    Columns i and i + Dk/2 are a pair. At position t it is turned by t · base^(-2i/Dk),
    divided by factors[i] if given. Token t of each sentence is at position offset + t.
    """
    length, width = x.shape[-2:]
    plain = type(x) is Tensor and not torch.compiler.is_compiling()
    if torch.is_inference_mode_enabled() and plain and isinstance(offset, int):
        sin, cos = _kept_turns(length, width, offset, base, factors, x.device, x.dtype)
    else:
        sin, cos = _turns(length, width, offset, base, factors, x.device, x.dtype)
    return x * cos + x.roll(width // 2, -1) * sin  # each column beside its partner


def _turns(
    length: int,
    width: int,
    offset: int | Tensor,
    base: float,
    factors: tuple[float, ...] | None,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Of each column, at each position: by what its partner is multiplied, and itself."""
    exact = torch.float32 if device.type == "mps" else torch.float64
    t = torch.arange(length, device=device, dtype=exact) + offset  # (T,) or (B, T)
    pair = torch.arange(width // 2, device=device, dtype=exact)
    speeds = base ** (-2 * pair / width)
    if factors is not None:
        speeds = speeds / torch.tensor(factors, device=device, dtype=exact)
    angles = t[..., None] * speeds
    if angles.dim() == 3:
        angles = angles.unsqueeze(1)  # (B, T, Dk/2) -> (B, 1, T, Dk/2)
    sin, cos = angles.sin().to(dtype), angles.cos().to(dtype)
    return torch.cat([-sin, sin], -1), torch.cat([cos, cos], -1)


_kept_turns = lru_cache(maxsize=2)(_turns)
"""All layers turn by the same angles. Only for inference: no gradient, no tracing."""


class GroupedAttention(MultiHeadAttention):
    """Grouped queries: each head of keys and values serves a group of heads of queries.

    There are n_kv_heads of the former (Ainslie et al., 2023), and what a cache keeps of
    a token shrinks with them.
    """

    cacheable = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        bias: bool = False,
        fused: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, d_k, d_k, bias, fused=fused)
        d_k = self.w_q.out_features // n_heads
        self.n_kv_heads = n_kv_heads or n_heads
        _check_groups(n_heads, self.n_kv_heads)
        self.w_k = create_linear_layer(d_model, self.n_kv_heads * d_k, bias)
        self.w_v = create_linear_layer(d_model, self.n_kv_heads * d_k, bias)

    def keys(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, "B #T"] = 0
    ) -> Float[Tensor, "B G T Dk"]:
        """What each row is found by, once for each group."""
        return split_heads(self.w_k(x), self.n_kv_heads)

    def values(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B G T Dv"]:
        """What each row hands over, once for each group."""
        return split_heads(self.w_v(x), self.n_kv_heads)

    def attend(
        self,
        q: Float[Tensor, "B H Tq Dk"],
        k: Float[Tensor, "B G Tk Dk"],
        v: Float[Tensor, "B G Tk Dv"],
        mask: Mask = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B Tq D"], Float[Tensor, "B H Tq Tk"] | None]:
        """As in `MultiHeadAttention`; each head of k and v serves a group of q's."""
        dropout = self.dropout if self.training else 0.0
        if self.fused and not need_weights:
            return self.w_o(join_heads(kernel(q, k, v, mask, dropout))), None
        group = self.n_heads // self.n_kv_heads
        k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
        return super().attend(q, k, v, mask, need_weights)


class RotaryAttention(GroupedAttention):
    """Self-attention whose queries and keys are turned by their positions.

    A product of both then depends on how far apart they are, and not on where they
    are. Queries may be grouped, as in `GroupedAttention`.
    """

    cacheable = True
    settings: tuple[str, ...] = ("base", "factors")  # its weights do not tell these

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        base: float = 10_000.0,
        bias: bool = False,
        fused: bool = True,
        factors: Sequence[float] | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, n_kv_heads, d_k, bias, fused)
        d_k = self.w_q.out_features // n_heads
        self.base = base
        if d_k % 2:
            raise ValueError(f"d_k ({d_k}) must be even: columns are turned in pairs")
        self.factors = None if factors is None else (*factors,)
        if factors is not None:
            _check_factors(factors, d_k)

    def queries(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, "B #T"] = 0
    ) -> Float[Tensor, "B H T Dk"]:
        """What each row asks for, turned by its position."""
        return rotate(super().queries(x), offset, self.base, self.factors)

    def keys(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, "B #T"] = 0
    ) -> Float[Tensor, "B G T Dk"]:
        """What each row is found by, turned by its position."""
        return rotate(super().keys(x), offset, self.base, self.factors)


class NormedAttention(RotaryAttention):
    """`RotaryAttention` with QK-norm: large w_q and w_k do not make large scores.

    An RMSNorm over the d_k columns of each head comes before the turn: one for queries
    and one for keys, shared by all heads, as in Qwen3 (after Henry et al., 2020, and
    Dehghani et al., 2023). eps is added to the mean square in both.
    """

    cacheable = True
    settings = (*RotaryAttention.settings, "eps")

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        base: float = 10_000.0,
        bias: bool = False,
        fused: bool = True,
        eps: float = 1e-5,
        factors: Sequence[float] | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, n_kv_heads, d_k, base, bias, fused, factors)
        d_k = self.w_q.out_features // n_heads
        self.norm_q, self.norm_k = RMSNorm(d_k, eps), RMSNorm(d_k, eps)
        self.eps = eps

    def queries(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, "B #T"] = 0
    ) -> Float[Tensor, "B H T Dk"]:
        """What each row asks for, normed, then turned by its position."""
        q = self.norm_q(split_heads(self.w_q(x), self.n_heads))
        return rotate(q, offset, self.base, self.factors)

    def keys(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, "B #T"] = 0
    ) -> Float[Tensor, "B G T Dk"]:
        """What each row is found by, normed, then turned by its position."""
        k = self.norm_k(split_heads(self.w_k(x), self.n_kv_heads))
        return rotate(k, offset, self.base, self.factors)


class NoPositions(nn.Module):
    """Adds nothing to embedded tokens: attention turns its queries and keys instead.

    max_len bounds the length all the same, for the context that a model was made for.
    """

    cacheable = True

    def __init__(self, max_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        at_least(1, max_len=max_len)
        probability(dropout=dropout)
        self.max_len, self.dropout = max_len, nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*B T D"], offset: int | Int[Tensor, "*B #T"] = 0
    ) -> Float[Tensor, "*B T D"]:
        """The rows as they came, after dropout."""
        first, length = 0 if isinstance(offset, Tensor) else offset, x.size(-2)
        if first + length > self.max_len:
            rule = f"must not exceed max_len ({self.max_len})"
            raise ValueError(f"offset ({first}) + length ({length}) {rule}")
        return self.dropout(x)


class UntiedEmbedding(Embedding):
    """A table for the input, and another one for the output."""

    cacheable = True

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__(vocab_size, d_model)
        self.output = create_linear_layer(d_model, vocab_size, bias=False)

    def logits(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """How well each vector fits each row of the output table."""
        return self.output(x)


class RMSAddNorm(AddNorm):
    """`AddNorm` with an `RMSNorm`."""

    def __init__(
        self, d_model: int, dropout: float, norm_first: bool, eps: float
    ) -> None:
        super().__init__(d_model, dropout, norm_first)
        self.norm = RMSNorm(d_model, eps)


def _self_attention(config: LlamaConfig) -> RotaryAttention:
    """Self-attention of the sizes in config, with the norms and biases that it names."""
    c = config
    heads: type[RotaryAttention] = NormedAttention if c.qk_norm else RotaryAttention
    more: dict[str, Any] = {"eps": c.norm_eps} if c.qk_norm else {}
    sizes = (c.d_model, c.n_heads, c.n_kv_heads, c.d_k)
    more |= {"factors": c.rope_factors}
    made = heads(*sizes, c.rope_base, c.attention_bias, c.fused, **more)
    if not c.output_bias:
        made.w_o.register_parameter("bias", None)
    return made


LLAMA = Parts(
    attention=_self_attention,
    addnorm=lambda c: RMSAddNorm(c.d_model, c.dropout, c.norm_first, c.norm_eps),
    feed_forward=lambda c: SwiGLU(c.d_model, c.d_ff),
    final_norm=lambda c: (
        RMSNorm(c.d_model, c.norm_eps) if c.final_norm else nn.Identity()
    ),
    embedding=lambda c: (Embedding if c.tied else UntiedEmbedding)(
        c.vocab_size, c.d_model
    ),
    positions=lambda c: NoPositions(c.max_len, c.dropout),
)
"""The parts of a Llama, made from a `LlamaConfig`. Cross-attention is the paper's, and
is not turned: places in two languages are not compared."""


class Llama(Gpt):
    """A `Gpt` of today's parts (Touvron et al., 2023; groups came with Llama 2)."""

    config_class = LlamaConfig

    def __init__(self, config: LlamaConfig) -> None:
        instance(LlamaConfig, config=config)
        super().__init__(config, LLAMA)


def _check_factors(factors: Sequence[float], d_k: int) -> None:
    if len(factors) != d_k // 2:
        rule = f"must be one for each of {d_k // 2} pairs"
        raise ValueError(f"rope_factors ({len(factors)} of them) {rule}")
    for factor in factors:
        number(rope_factors=factor)
        positive(rope_factors=factor)


def _check_groups(n_heads: int, n_kv_heads: int) -> None:
    integer(n_kv_heads=n_kv_heads)
    at_least(1, n_kv_heads=n_kv_heads)
    if n_heads % n_kv_heads:
        raise ValueError(f"n_kv_heads ({n_kv_heads}) must divide n_heads ({n_heads})")
