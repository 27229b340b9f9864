"""Weights to and from PyTorch's own modules, and from Hugging Face's."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tested_transformer.checks import instance
from tested_transformer.config import Config
from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.model.decoder import Decoder, DecoderLayer
from tested_transformer.model.encoder import Encoder, EncoderLayer
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.parts import create_attention
from tested_transformer.model.transformer import Transformer
from tested_transformer.names import check_unwrapped, names_of, renamed

NAMES = {
    "self_attn": "self_attention",
    "multihead_attn": "cross_attention",
    "out_proj": "w_o",
    "linear1": "feed_forward.w_1",
    "linear2": "feed_forward.w_2",
    "norm1": "addnorm_1.norm",
    "norm2": "addnorm_2.norm",
    "norm3": "addnorm_3.norm",
}
"""Their names and ours. Besides, their in_proj is our w_q, w_k and w_v stacked."""

OURS: dict[type[nn.Module], Callable[[Config], nn.Module]] = {
    nn.MultiheadAttention: create_attention,
    nn.LayerNorm: lambda c: LayerNorm(c.d_model, c.norm_eps, c.fused),
    nn.TransformerEncoderLayer: EncoderLayer,
    nn.TransformerDecoderLayer: DecoderLayer,
    nn.TransformerEncoder: Encoder,
    nn.TransformerDecoder: Decoder,
    nn.Transformer: Transformer,
}
"""What makes ours where theirs is given."""

LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
STACKS = (nn.TransformerEncoder, nn.TransformerDecoder)
Layer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
PARTS = (nn.Linear, nn.Dropout, nn.ModuleList, nn.ReLU, nn.GELU)
REST_OF_THEIRS = (*PARTS, nn.Transformer)
REST_OF_OURS = (*PARTS, Transformer, EncoderLayer, DecoderLayer, nn.Identity)
OUTSIDE = ("embedding", "positions")  # of a Transformer: theirs has neither
OF_WHOLE = {"vocab_size", "max_len", "pad_id", "bos_id", "eos_id", "unk_id"}
Read = Iterator[tuple[str, Any]]


@overload
def from_torch(
    theirs: nn.MultiheadAttention, **settings: Any
) -> MultiHeadAttention: ...
@overload
def from_torch(theirs: nn.LayerNorm, **settings: Any) -> LayerNorm: ...
@overload
def from_torch(theirs: nn.TransformerEncoderLayer, **settings: Any) -> EncoderLayer: ...
@overload
def from_torch(theirs: nn.TransformerDecoderLayer, **settings: Any) -> DecoderLayer: ...
@overload
def from_torch(theirs: nn.TransformerEncoder, **settings: Any) -> Encoder: ...
@overload
def from_torch(theirs: nn.TransformerDecoder, **settings: Any) -> Decoder: ...
@overload
def from_torch(theirs: nn.Transformer, **settings: Any) -> Transformer: ...
@overload
def from_torch(theirs: nn.Module, **settings: Any) -> nn.Module: ...
def from_torch(
    theirs: nn.Module, *, batch_first: bool = False, **settings: Any
) -> nn.Module:
    """Our module with the weights of PyTorch's; dtype, device and mode stay.

    What is frozen (requires_grad=False) stays frozen.

    Ours reads (batch, length, width). Where theirs has the length first, which is
    PyTorch's default, the weights are the same and the inputs must be transposed:
    batch_first=True says that you know.

    settings are fields of Config that theirs lacks: nn.Transformer needs vocab_size.
    Theirs also drops out inside attention and feed-forward; ours, as the paper, does
    not, and then dropout must be given. What cannot be the same is a ValueError.
    """
    _check_kind(theirs, OURS)
    whole, alone = (type(theirs) is t for t in (nn.Transformer, nn.MultiheadAttention))
    _check_settings(settings, whole)
    inner = _inner_dropout(theirs)
    if inner > 0 and not alone and "dropout" not in settings:
        rule = "give dropout, which ours applies to the outputs of sub-layers only"
        raise ValueError(f"dropout inside sub-layers ({inner}) would be lost: {rule}")
    found = _agreed(_read_theirs(theirs), settings)
    if not found.pop("batch_first", True) and not batch_first:
        rule = "ours reads (batch, length, width)"
        rule += ", so transpose the inputs and give batch_first=True"
        raise ValueError(f"batch_first (False) would be lost: {rule}")
    defaults = {"vocab_size": 4, "n_heads": 1}  # for a module that has none
    ours = _like(OURS[type(theirs)](Config(**defaults | found | settings)), theirs)
    if alone:
        ours.dropout = settings.get("dropout", inner)
    state: dict[str, Tensor] = {}
    for key, value in theirs.state_dict().items():
        names = _our_names(key)
        state |= zip(names, value.chunk(len(names)), strict=True)
    if whole:
        state["embedding.weight"] = ours.get_parameter("embedding.weight")
    ours.load_state_dict(state)
    _freeze_ours(ours, theirs)
    return ours


def to_torch(ours: nn.Module) -> nn.Module:
    """PyTorch's own module with the weights of ours, batch first.

    Of a Transformer only the two stacks: nn.Transformer has no embedding and no
    positions. Attention without biases gets biases of zero where theirs must have them.
    dtype, device and mode stay, and what is frozen stays frozen; of w_q, w_k and w_v
    all or none, since theirs has them in one. What cannot be the same is a ValueError.
    """
    _check_kind(ours, THEIRS)
    theirs = _like(THEIRS[type(ours)](_agreed(_read_ours(ours))), ours)
    given, state = ours.state_dict(), {}
    for key, value in theirs.state_dict().items():
        parts = [given[name] for name in _our_names(key) if name in given]
        state[key] = torch.cat(parts) if parts else torch.zeros_like(value)
    theirs.load_state_dict(state)
    _freeze_theirs(theirs, ours)
    return theirs


def from_huggingface(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a published model by our names, for `load_state_dict`.

    given is the state_dict of Hugging Face's model: of BERT and its relatives, GPT-2,
    Llama, Marian or ViT. A BERT alone is for `Bert`, one with the heads of pre-training
    for `Pretraining`, a GPT-2 with or without its head for `Gpt`. A name that is not
    known stays, so that loading refuses it. Theirs has some weights under two names; if
    they are not the same, that is a ValueError. `load_published` reads a whole folder,
    with the sizes.
    """
    _check_state(given)
    names, state = names_of(given), dict[str, Tensor]()
    for key, value in given.items():
        for name, part in renamed(key, value, names):
            if not torch.equal(state.setdefault(name, part), part):
                raise ValueError(f"{key} must be the same as {name}: ours has one")
    return state


def _our_names(key: str) -> list[str]:
    """What one of their entries is called in ours; three names for an in_proj."""
    *path, last = (NAMES.get(name, name) for name in key.split("."))
    if not last.startswith("in_proj_"):
        return [".".join([*path, last])]
    last = last.removeprefix("in_proj_")
    return [".".join([*path, w, last]) for w in ("w_q", "w_k", "w_v")]


def _like(new: nn.Module, old: nn.Module) -> nn.Module:
    like = next(old.parameters())
    return new.to(like.device, like.dtype).train(old.training)


def _freeze_ours(ours: nn.Module, theirs: nn.Module) -> None:
    own = _named(ours)
    for key, value in _named(theirs).items():
        for name in _our_names(key):
            own[name].requires_grad_(value.requires_grad)


def _freeze_theirs(theirs: nn.Module, ours: nn.Module) -> None:
    """A bias that ours lacks goes with its weight."""
    own = _named(ours)
    for key, value in _named(theirs).items():
        names = _our_names(key)
        parts = [own.get(n, own[re.sub("bias$", "weight", n)]) for n in names]
        if len({part.requires_grad for part in parts}) > 1:
            rule = f"must be frozen all or none: theirs has one {key}"
            raise ValueError(f"{', '.join(names)} {rule}")
        value.requires_grad_(parts[0].requires_grad)


def _named(module: nn.Module) -> dict[str, nn.Parameter]:
    return dict(module.named_parameters(remove_duplicate=False))


# What the two sides say about themselves, in the words of Config


def _read_theirs(theirs: nn.Module) -> Read:
    for name, m in theirs.named_modules():
        if type(m) is nn.MultiheadAttention:
            _check_attention(m)
            yield from (("d_model", m.embed_dim), ("n_heads", m.num_heads))
            yield "attention_bias", m.in_proj_bias is not None
            yield "batch_first", m.batch_first
        elif type(m) is nn.LayerNorm:
            if m.bias is None or len(m.normalized_shape) != 1:
                raise ValueError(f"{m} must have a weight, a bias and one axis")
            yield from (("d_model", m.normalized_shape[0]), ("norm_eps", m.eps))
        elif type(m) in LAYERS:
            if m.linear1.bias is None or m.linear2.bias is None:
                raise ValueError("bias (False) must be True: ours has biases there")
            yield from (("d_ff", m.linear1.out_features), ("norm_first", m.norm_first))
            yield "activation", _activation(m.activation)
            outputs = (part for part in m._modules if part[:-1] == "dropout")
            yield from (("dropout", getattr(m, part).p) for part in outputs)
        elif type(m) in STACKS:
            yield from (("n_layers", len(m.layers)), ("final_norm", m.norm is not None))
        elif not isinstance(m, REST_OF_THEIRS):
            raise ValueError(f"{name} ({type(m).__name__}) has no counterpart in ours")


def _read_ours(ours: nn.Module) -> Read:
    for name, m in ours.named_modules():
        if isinstance(m, MultiHeadAttention):
            width = m.w_q.in_features
            for size, w in (("d_k", m.w_q), ("d_v", m.w_v)):
                if w.out_features != width:
                    rule = f"must be d_model ({width}) for PyTorch's attention"
                    raise ValueError(f"n_heads times {size} ({w.out_features}) {rule}")
            yield from (("d_model", width), ("n_heads", m.n_heads))
            yield "attention_bias", m.w_q.bias is not None
            yield "attention_dropout", m.dropout
        elif isinstance(m, LayerNorm):
            yield from (("d_model", len(m.weight)), ("norm_eps", m.eps))
        elif isinstance(m, AddNorm):
            yield from (("dropout", m.dropout.p), ("norm_first", m.norm_first))
        elif isinstance(m, FeedForward):
            yield "d_ff", m.w_1.out_features
            yield "activation", _activation(m.activation)
        elif isinstance(m, (Encoder, Decoder)):
            final = isinstance(m.norm, LayerNorm)
            yield from (("n_layers", len(m.layers)), ("final_norm", final))
        elif not name.startswith(OUTSIDE) and not isinstance(m, REST_OF_OURS):
            raise ValueError(
                f"{name} ({type(m).__name__}) has no counterpart in theirs"
            )


def _agreed(read: Read, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One value for each setting; what was given instead is not looked at."""
    found: dict[str, Any] = {}
    for name, value in read:
        if name not in (given or {}) and found.setdefault(name, value) != value:
            rule = f"must be the same everywhere: {found[name]} and {value}"
            raise ValueError(f"{name} {rule}")
    return found


def _inner_dropout(theirs: nn.Module) -> float:
    """The largest dropout that theirs has where ours has none."""
    inside = [0.0]
    for m in theirs.modules():
        if isinstance(m, nn.MultiheadAttention):
            inside.append(m.dropout)
        elif isinstance(m, LAYERS):
            inside.append(m.dropout.p)
    return max(inside)


def _activation(f: Any) -> str:
    if f in (F.relu, torch.relu) or isinstance(f, nn.ReLU):
        return "relu"
    if f is F.gelu or (isinstance(f, nn.GELU) and f.approximate == "none"):
        return "gelu"
    raise ValueError(f"activation ({f}) must be ReLU or the exact GELU")


# How theirs is made


def _attention(s: Mapping[str, Any]) -> nn.MultiheadAttention:
    sizes, dropout = (s["d_model"], s["n_heads"]), s["attention_dropout"]
    bias = s["attention_bias"]
    return nn.MultiheadAttention(*sizes, dropout, bias, batch_first=True)


def _norm(s: Mapping[str, Any]) -> nn.LayerNorm:
    return nn.LayerNorm(s["d_model"], s["norm_eps"])


def _layer(kind: type[Layer], s: Mapping[str, Any]) -> Layer:
    """Theirs has one dropout for all places; inside the sub-layers it is taken back."""
    sizes = (s["d_model"], s["n_heads"], s["d_ff"], s["dropout"])
    rest = {"activation": s["activation"], "layer_norm_eps": s["norm_eps"]}
    layer = kind(*sizes, **rest, batch_first=True, norm_first=s["norm_first"])
    layer.dropout.p = 0.0
    for m in layer.modules():
        if isinstance(m, nn.MultiheadAttention):
            m.dropout = s["attention_dropout"]
    return layer


def _stack(kind: type[nn.Module], s: Mapping[str, Any]) -> nn.Module:
    layer = _layer(LAYERS[STACKS.index(kind)], s)
    # Theirs would cut off what is padding in all sentences; without this it does not.
    more = {"enable_nested_tensor": False} if kind is nn.TransformerEncoder else {}
    return kind(layer, s["n_layers"], _norm(s) if s["final_norm"] else None, **more)


def _whole(s: Mapping[str, Any]) -> nn.Transformer:
    encoder, decoder = (_stack(kind, s) for kind in STACKS)
    stacks: dict[str, Any] = {"custom_encoder": encoder, "custom_decoder": decoder}
    return nn.Transformer(s["d_model"], s["n_heads"], **stacks, batch_first=True)


THEIRS = {
    MultiHeadAttention: _attention,
    LayerNorm: _norm,
    EncoderLayer: lambda s: _layer(nn.TransformerEncoderLayer, s),
    DecoderLayer: lambda s: _layer(nn.TransformerDecoderLayer, s),
    Encoder: lambda s: _stack(nn.TransformerEncoder, s),
    Decoder: lambda s: _stack(nn.TransformerDecoder, s),
    Transformer: _whole,
}
"""What makes theirs where ours is given."""


# What cannot be handed over


def _check_kind(given: nn.Module, known: Mapping[Any, Any]) -> None:
    if type(given) not in known:
        names = ", ".join(kind.__name__ for kind in known)
        raise TypeError(
            f"{type(given).__name__} has no counterpart; these have: {names}"
        )


def _check_state(given: Any) -> None:
    if not isinstance(given, Mapping):
        found = f"given must be a state_dict, not {type(given).__name__}"
        rule = "give model.state_dict(), or what safetensors.torch.load_file reads"
        raise TypeError(f"{found}: {rule} from the model.safetensors of a folder")
    for key, value in given.items():
        instance(Tensor, **{str(key): value})
    check_unwrapped(given)


def _check_settings(settings: Mapping[str, Any], whole: bool) -> None:
    free = {"dropout", "fused"} | (OF_WHOLE if whole else set())
    for name in settings.keys() - free:
        raise TypeError(
            f"{name} is not free here; these are: {', '.join(sorted(free))}"
        )
    if whole and "vocab_size" not in settings:
        raise ValueError("vocab_size must be given: nn.Transformer has no embedding")


def _check_attention(m: nn.MultiheadAttention) -> None:
    if (m.kdim, m.vdim) != (m.embed_dim, m.embed_dim):
        rule = f"must both be embed_dim ({m.embed_dim})"
        raise ValueError(f"kdim ({m.kdim}) and vdim ({m.vdim}) {rule}")
    if m.bias_k is not None or m.bias_v is not None:
        raise ValueError("add_bias_kv (True) must be False: ours adds no key")
    if m.add_zero_attn:
        raise ValueError("add_zero_attn (True) must be False: ours adds no key")
