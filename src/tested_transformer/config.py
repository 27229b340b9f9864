"""The numbers that fix a Transformer's size, and the sizes of the paper."""

from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from tested_transformer.checks import (
    at_least,
    integer,
    make_plain,
    number,
    positive,
    probability,
)


class SpecialIds(NamedTuple):
    """Ids of special tokens: padding, begin and end of a sentence, an unknown word.

    Our tokenisers use these numbers. A model may use different ones, in its `Config`;
    GPT-2 has one id for all four.
    """

    pad: int = 0
    bos: int = 1
    eos: int = 2
    unk: int = 3


ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
"""Of a feed-forward network: the paper's, BERT's, its approximation in GPT-2, Marian's."""

DERIVED: Any = None  # where a field is not given that follows from others


@dataclass(frozen=True)
class Config:
    """Sizes and settings of one Transformer (paper, Section 3 and Table 3).

    Checks itself, and cannot be changed. `d_k` and `d_v` are the widths of one head and
    default to `d_model / n_heads`. The encoder has `n_layers` layers,
    and so has the decoder. `dropout` is a probability. Lengths count tokens.
    """

    vocab_size: int
    d_model: int = 512
    d_ff: int = 2048
    n_heads: int = 8
    n_layers: int = 6
    d_k: int = DERIVED  # None on the way in, a number once made
    d_v: int = DERIVED
    dropout: float = 0.1
    max_len: int = 1024
    pad_id: int = SpecialIds().pad
    bos_id: int = SpecialIds().bos
    eos_id: int = SpecialIds().eos
    unk_id: int = SpecialIds().unk
    activation: str = "relu"
    attention_bias: bool = False
    norm_first: bool = False
    final_norm: bool = DERIVED
    norm_eps: float = 1e-5
    fused: bool = True  # PyTorch's kernels instead of the formulas, where they agree

    def __post_init__(self) -> None:
        make_plain(self)
        for name in ("vocab_size", "d_model", "d_ff", "n_heads", "n_layers", "max_len"):
            _require_size(name, getattr(self, name))
        self._fill_in()
        for name in ("attention_bias", "norm_first", "final_norm", "fused"):
            if not isinstance(getattr(self, name), bool):
                value = getattr(self, name)
                raise TypeError(f"{name} ({value!r}) must be True or False")
        number(dropout=self.dropout, norm_eps=self.norm_eps)
        probability(dropout=self.dropout)
        positive(norm_eps=self.norm_eps)
        known = " or ".join(map(repr, ACTIVATIONS))
        rule = f"activation ({self.activation!r}) must be {known}"
        _require(self.activation in ACTIVATIONS, rule)
        self._check_ids()

    @property
    def special_ids(self) -> SpecialIds:
        """The four ids that are no words."""
        return SpecialIds(self.pad_id, self.bos_id, self.eos_id, self.unk_id)

    def _fill_in(self) -> None:
        """What follows from other fields where it was not given."""
        for name in ("d_k", "d_v"):
            if getattr(self, name) is None:
                what = f"n_heads ({self.n_heads}) must divide d_model ({self.d_model})"
                _require(self.d_model % self.n_heads == 0, f"{what}, or give {name}")
                object.__setattr__(self, name, self.d_model // self.n_heads)
            _require_size(name, getattr(self, name))
        if self.final_norm is None:  # only norm-first leaves the last sum bare
            object.__setattr__(self, "final_norm", self.norm_first)

    def _check_ids(self) -> None:
        names, ids = ("pad_id", "bos_id", "eos_id", "unk_id"), self.special_ids
        for name, value in zip(names, ids, strict=True):
            integer(**{name: value})
            rule = f"must be at least 0 and below vocab_size ({self.vocab_size})"
            _require(0 <= value < self.vocab_size, f"{name} ({value}) {rule}")

    def check_padding(self) -> None:
        """Refuse a pad_id that is also a bos_id, eos_id or unk_id.

        A model that hides padding by its id would hide that token, too.
        """
        for name in ("bos_id", "eos_id", "unk_id"):
            rule = f"must differ from {name}: this model hides all tokens with that id"
            _require(
                getattr(self, name) != self.pad_id, f"pad_id ({self.pad_id}) {rule}"
            )

    def replace(self, **changes: Any) -> "Config":
        """A copy with these fields changed.

        Head widths follow `d_model` and `n_heads` again unless they are given.
        """
        unknown = set(changes) - {field.name for field in fields(self)}
        if unknown:
            raise TypeError(f"Config has no field {', '.join(sorted(unknown))}")
        follow = {"d_k", "d_v"} if changes.keys() & {"d_model", "n_heads"} else set()
        follow |= {"final_norm"} if "norm_first" in changes else set()
        kept = {
            name: value for name, value in asdict(self).items() if name not in follow
        }
        return type(self)(**kept | changes)


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(rule)


def _require_size(name: str, value: Any) -> None:
    integer(**{name: value})
    at_least(1, **{name: value})


TINY = Config(
    vocab_size=16, d_model=16, d_ff=32, n_heads=2, n_layers=2, dropout=0.0, max_len=32
)
"""Small enough to print whole and to train while the page is read."""

BASE = Config(vocab_size=37_000)
"""The paper's base model (Table 3, first row; vocabulary of Section 5.1)."""

BIG = BASE.replace(d_model=1024, d_ff=4096, n_heads=16, dropout=0.3)
"""The paper's big model (Table 3, last row)."""

TABLE_3 = {
    "base": BASE,
    "(A) h=1": BASE.replace(n_heads=1),
    "(A) h=4": BASE.replace(n_heads=4),
    "(A) h=16": BASE.replace(n_heads=16),
    "(A) h=32": BASE.replace(n_heads=32),
    "(B) d_k=16": BASE.replace(d_k=16),
    "(B) d_k=32": BASE.replace(d_k=32),
    "(C) N=2": BASE.replace(n_layers=2),
    "(C) N=4": BASE.replace(n_layers=4),
    "(C) N=8": BASE.replace(n_layers=8),
    "(C) d_model=256": BASE.replace(d_model=256),
    "(C) d_model=1024": BASE.replace(d_model=1024),
    "(C) d_ff=1024": BASE.replace(d_ff=1024),
    "(C) d_ff=4096": BASE.replace(d_ff=4096),
    "(D) dropout=0.0": BASE.replace(dropout=0.0),
    "(D) dropout=0.2": BASE.replace(dropout=0.2),
    "big": BIG,
}
"""The rows of the paper's Table 3, but for those that change only the loss or positions."""
