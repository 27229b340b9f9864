"""Interventions on a trained model: heads and layers ablated, links knocked out, activations patched, weights replaced.

All of them are `edited`, and end where its block ends.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from tested_transformer.book.pretrained import probabilities, source_ids
from tested_transformer.decoding.recompute import Uncached
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.attention import attention
from tested_transformer.model.heads import join_heads

Edit = Callable[..., Any]
Edited = AbstractContextManager[None]
Calls = dict[str, list[tuple[tuple, Any]]]

ATTENTIONS = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}
"""The attention of a layer, counted from 0, by its kind in `attention_weights`."""

MASKS = {
    "": {},
    "future": {"decoder": 2},
    "padding": {"encoder": 1, "decoder": 3},
}
"""For each mask the parts of the model that are given it, and as which of their arguments, counted from 0."""

SUBLAYERS = {
    "encoder": ("attention", "feed-forward"),
    "decoder": ("attention", "cross-attention", "feed-forward"),
}
"""The sub-layers of a layer in each half of the model, in their order; each stands in an `AddNorm`."""

PARTS: Mapping[str, Callable[[nn.Module, Tensor, Callable[[Tensor], Tensor]], Tensor]]
PARTS = {
    "sum": lambda norm, x, sublayer: norm(sublayer(x)),
    "norm": lambda norm, x, sublayer: x + sublayer(x),
    "box": lambda norm, x, sublayer: norm(x),
}
"""What an `AddNorm` gives without its sum, without its norm, and if its sub-layer adds nothing."""


@contextmanager
def edited(model: nn.Module, edits: Mapping[str, Edit | ArrayLike]) -> Iterator[None]:
    """Some modules and parameters of a model are others for as long as this lasts.

    A submodule gets `edit(forward, *args)`, whose result takes the place of
    `forward(*args)`; a parameter gets a tensor, or a function of what it was. Everything
    is put back whatever happens.
    """
    modules, parameters = dict(model.named_modules()), dict(model.named_parameters())
    for name in edits:
        if name not in modules and name not in parameters:
            raise ValueError(
                f"{name!r} names no submodule and no parameter of the model"
            )
    with ExitStack() as undo, warnings.catch_warnings():
        warnings.simplefilter("ignore", Uncached)
        for name, edit in edits.items():
            if name in modules:
                _replace(modules[name], partial(edit, modules[name].forward), undo)
                continue
            old = parameters[name].detach()
            new = torch.as_tensor(edit(old) if callable(edit) else edit).to(old)
            if new.shape != old.shape:
                rule = f"must have shape {tuple(old.shape)}"
                raise ValueError(f"{name} {rule}, not {tuple(new.shape)}")
            undo.callback(setattr, parameters[name], "data", old)
            parameters[name].data = new
        yield


def _replace(module: nn.Module, forward: Edit, undo: ExitStack) -> None:
    if "forward" in vars(module):  # it is edited already
        undo.callback(setattr, module, "forward", module.forward)
    else:
        undo.callback(delattr, module, "forward")
    module.forward = forward


@contextmanager
def recorded(model: nn.Module, *names: str) -> Iterator[Calls]:
    """The calls of some submodules for as long as this lasts, by name: what goes in, and what comes out."""
    calls: Calls = {name: [] for name in names}

    def listen(name: str, forward: Edit, *args: Any, **kwargs: Any) -> Any:
        out = forward(*args, **kwargs)
        calls[name].append((args, out))
        return out

    with edited(model, {name: partial(listen, name) for name in names}):
        yield calls


# Ablation


def ablated(translator: Translator, half: str, box: str, *layers: int) -> Edited:
    """The attentions or feed-forward networks of some layers (from 0), or of all in a half, add nothing to any row."""

    def nothing(forward: Edit, *args: Any, **kwargs: Any) -> Any:
        out = forward(*args, **kwargs)
        if isinstance(out, tuple):  # attention has its weights beside it
            return torch.zeros_like(out[0]), *out[1:]
        return torch.zeros_like(out)

    layers = layers or range(translator.model.config.n_layers)
    names = [f"{half}.layers.{n}.{box}" for n in layers]
    return edited(translator.model, dict.fromkeys(names, nothing))


def without_head(
    translator: Translator, layer: int, head: int, kind: str = "encoder"
) -> Edited:
    """One head adds nothing to any word; layer and head are counted from 0.

    Its kind is that of `attention_weights`: "encoder", "decoder" or "cross".
    """
    return scaled_head(translator, layer, head, 0, kind)


def scaled_head(
    translator: Translator, layer: int, head: int, gain: float, kind: str = "encoder"
) -> Edited:
    """What one head adds is multiplied by gain; all else is as in `without_head`."""
    n_heads = translator.model.config.n_heads
    if kind not in ATTENTIONS:
        raise ValueError(f"kind ({kind!r}) must be {', '.join(ATTENTIONS)}")
    if not 0 <= head < n_heads:
        raise ValueError(f"head ({head}) must be at least 0 and below {n_heads}")

    def scaled(w_o: Tensor) -> Tensor:
        new = w_o.clone()
        new.unflatten(1, (n_heads, -1))[:, head] *= gain
        return new

    name = f"{ATTENTIONS[kind].format(layer)}.w_o.weight"
    return edited(translator.model, {name: scaled})


def averaged_attention(translator: Translator, even: bool = False) -> Edited:
    """All heads of a layer of the encoder use the average of their weights.

    With even, every word takes the same from all tokens. Values and all other parts stay.
    """

    def average(
        heads: nn.Module,
        forward: Edit,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        q, v = heads.queries(query), heads.values(value)
        weights = attention(0 * q if even else q, heads.keys(key), v, mask)[1]
        shared = weights.mean(dim=1, keepdim=True).expand_as(weights)
        return heads.w_o(join_heads(shared @ v)), shared if need_weights else None

    model = translator.model
    names = map(ATTENTIONS["encoder"].format, range(model.config.n_layers))
    edits = {name: partial(average, model.get_submodule(name)) for name in names}
    return edited(model, edits)


def sublayers(translator: Translator) -> dict[tuple[str, int, str], str]:
    """The name of each `AddNorm` in the model, by its half, its layer (counted from 1) and its sub-layer."""
    return {
        (half, n + 1, sublayer): f"{half}.layers.{n}.addnorm_{place}"
        for half, names in SUBLAYERS.items()
        for n in range(translator.model.config.n_layers)
        for place, sublayer in enumerate(names, start=1)
    }


def without_part(translator: Translator, part: str, *names: str) -> Edited:
    """Around some sub-layers, named by `sublayers`, the sum, the norm or the sub-layer itself is taken away."""
    if part not in PARTS:
        raise ValueError(f"part ({part!r}) must be one of {', '.join(PARTS)}")

    def less(norm: nn.Module, forward: Edit, x: Tensor, sublayer: Edit) -> Tensor:
        return PARTS[part](norm, x, sublayer)

    model = translator.model
    norms = {name: model.get_submodule(name).norm for name in names}
    return edited(model, {name: partial(less, norm) for name, norm in norms.items()})


def replaced(
    translator: Translator, layer: int, head: int, **matrices: ArrayLike
) -> Edited:
    """A head of the encoder has other matrices: w_q, w_k or w_v, each (D, Dk).

    Layer and head are counted from 1.
    """
    own = columns(translator, head)

    def put(matrix: ArrayLike, weight: Tensor) -> Tensor:
        new = weight.clone()
        if np.shape(matrix) != new[own].T.shape:
            rule = f"must have shape {tuple(new[own].T.shape)}"
            raise ValueError(f"the matrix of a head {rule}, not {np.shape(matrix)}")
        new[own] = torch.as_tensor(matrix).T
        return new

    heads = ATTENTIONS["encoder"].format(layer - 1)
    edits = {f"{heads}.{w}.weight": partial(put, new) for w, new in matrices.items()}
    return edited(translator.model, edits)


def columns(translator: Translator, head: int) -> slice:
    """The columns of a head, counted from 1, where all heads stand side by side."""
    width = translator.model.config.d_model // translator.model.config.n_heads
    return slice((head - 1) * width, head * width)


# Attention knockout


def knockout(translator: Translator, **hidden: Iterable[Tensor]) -> Edited:
    """What hidden says is not looked at, as if by a mask: encoder=…, decoder=… or cross=….

    Each has a tensor for each layer, True where a weight must be zero; it broadcasts to
    the weights, (B, H, Tq, Tk).
    """

    def hide(
        cut: Tensor,
        forward: Edit,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor,
        **kwargs: Any,
    ) -> Any:
        return forward(q, k, v, mask & ~cut, **kwargs)

    return edited(
        translator.model,
        {
            ATTENTIONS[kind].format(layer): partial(hide, cut)
            for kind, cuts in hidden.items()
            for layer, cut in enumerate(cuts)
        },
    )


def links(
    translator: Translator,
    english: str,
    pairs: Iterable[tuple[int, int]],
    heads: Iterable[tuple[int, int]] | None = None,
) -> Tensor:
    """Links of the encoder for `knockout`, (L, H, S, S): who looks and what is seen, in (layer, head) or everywhere."""
    c, n = translator.model.config, len(translator.encode(english, 1))
    found = torch.zeros(c.n_layers, c.n_heads, n, n, dtype=torch.bool)
    heads = np.ndindex(c.n_layers, c.n_heads) if heads is None else heads
    for head, pair in product(heads, pairs):
        found[*head, *pair] = True
    return found


def unmasked(translator: Translator, mask: str) -> Edited:
    """The model looks at what this mask hides, the future or the padding of the source; with none, all is as ever."""
    if mask not in MASKS:
        raise ValueError(f"mask ({mask!r}) must be {' or '.join(filter(None, MASKS))}")

    def without(place: int, forward: Edit, *args: Any) -> Any:
        return forward(*args[:place], None, *args[place + 1 :])

    edits = {part: partial(without, place) for part, place in MASKS[mask].items()}
    return edited(translator.model, edits)


# Activation patching


def sites(translator: Translator) -> list[str]:
    """Where the vectors of the source come from before, between and after the layers of the encoder."""
    n_layers = translator.model.config.n_layers
    return ["positions", *(f"encoder.layers.{n}" for n in range(n_layers))]


@torch.no_grad()
def residual_stream(translator: Translator, english: str) -> list[Tensor]:
    """The vectors of the source before, between and after the encoder's layers, (1, S, D) each."""
    with recorded(translator.model, *sites(translator)) as calls:
        translator.model.encode(source_ids(translator, english))
    return [out for ((_, out),) in calls.values()]


@torch.no_grad()
def patched(
    translator: Translator,
    site: str,
    source: Tensor,
    places: Iterable[int],
    vectors: Tensor,
) -> Tensor:
    """The memory of sentences, (B, S, D), if at one site each has another vector in one place."""

    def patch(forward: Edit, *args: Any) -> Tensor:
        x = forward(*args).clone()
        x[range(len(x)), places] = vectors
        return x

    with edited(translator.model, {site: patch}):
        return translator.model.encode(source)


def activation_patching(
    translator: Translator, english: str, other: str, german: str
) -> Tensor:
    """The probabilities of the next token if one vector is from another sentence: (L + 1, S, V)."""
    source = source_ids(translator, english)
    there, n = residual_stream(translator, other), source.size(1)
    if there[0].size(1) != n:
        raise ValueError(f"{english!r} and {other!r} must have equally many tokens")
    found = []
    for site, (vectors,) in zip(sites(translator), there, strict=True):
        each = source.repeat(n, 1), range(n), vectors  # one place in each row
        memory = patched(translator, site, *each)
        found.append(probabilities(translator, english, german, memory))
    return torch.stack(found)
