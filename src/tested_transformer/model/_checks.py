"""What the functions and modules of this folder refuse: rules for `checked`."""

from typing import Any

import torch
from torch import Tensor

from tested_transformer.checks import (
    at_least,
    attention_inputs,
    instance,
    integer,
    probability,
    same_batch,
)
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model._causal import needs_no_check


def _rows(x: Tensor, width: int, name: str = "x", what: str = "d_model") -> None:
    """Rows of so many numbers; width is called what in errors."""
    if isinstance(x, Tensor) and x.shape[-1:] == (width,) and x.is_floating_point():
        return  # at once: a step of decoding asks, too
    instance(Tensor, **{name: x})
    if x.shape[-1:] != (width,):
        found = x.size(-1) if x.dim() else "none"
        raise ValueError(f"the width of {name} ({found}) must be {what} ({width})")
    raise TypeError(f"{name} must be of a floating-point type, not {x.dtype}")


def _sentences(d_model: int, **given: Tensor) -> None:
    """Batches of sentences, each a row of d_model numbers a token."""
    instance(Tensor, **given)
    for name, x in given.items():
        if x.dim() != 3:
            rule = "must have three axes (batch, length, width)"
            raise ValueError(f"{name} of shape {tuple(x.shape)} {rule}")
        _rows(x, d_model, name)


def _ids(max_len: int, **sentences: Tensor) -> None:
    """Batches of ids, equally many, none too long."""
    instance(Tensor, **sentences)
    for name, ids in sentences.items():
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{name} must be int64 or int32, not {ids.dtype}")
        if ids.dim() != 2 or 0 in ids.shape:
            rule = "(batch, length), at least one of each"
            raise ValueError(f"{name} of shape {tuple(ids.shape)} must be {rule}")
        if ids.size(1) > max_len:
            rule = f"must not exceed max_len ({max_len})"
            raise ValueError(f"the length of {name} ({ids.size(1)}) {rule}")
    batches = [ids.size(0) for ids in sentences.values()]
    if batches[0] != batches[-1]:
        rule = "must be equally many sentences"
        raise ValueError(f"source ({batches[0]}) and target ({batches[-1]}) {rule}")


def attention(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0) -> None:
    """Tensors that fit together."""
    probability(dropout=dropout)
    mask = None if needs_no_check(mask) else mask
    attention_inputs(Tensor, torch.bool, q, k, v, mask)


def head_sizes(
    heads: object,
    d_model: int,
    n_heads: int,
    d_k: int | None = None,
    d_v: int | None = None,
    bias: bool = False,
    dropout: float = 0.0,
    fused: bool = True,
) -> None:
    """Widths of the heads that are given, or that can be derived."""
    sizes = {"d_model": d_model, "n_heads": n_heads, "d_k": d_k, "d_v": d_v}
    at_least(1, **{name: size for name, size in sizes.items() if size is not None})
    probability(dropout=dropout)
    if (d_k is None or d_v is None) and d_model % n_heads:
        rule = f"n_heads ({n_heads}) must divide d_model ({d_model})"
        raise ValueError(f"{rule}, or give d_k and d_v")


def heads(
    heads: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Any = None,
    need_weights: bool = False,
) -> None:
    """What PyTorch would broadcast silently, or refuse in words that name nothing."""
    _sentences(heads.d_model, query=query, key=key, value=value)
    sizes = [x.size(0) for x in (query, key, value)]
    if any(size != sizes[0] for size in sizes):
        rule = "query, key and value must have the same batch size"
        raise ValueError(f"{rule}, not {sizes}")
    if needs_no_check(mask):
        return
    instance(Tensor, mask=mask)
    if mask.dim() not in (2, 4):
        rule = "two axes (queries, keys) or four (batch, heads, queries, keys)"
        raise ValueError(f"mask of shape {tuple(mask.shape)} must have {rule}")


def layer_norm(norm: Any, x: Tensor) -> None:
    """Rows as wide as the norm."""
    _rows(x, norm.weight.size(0))


def feed_forward(network: Any, x: Tensor) -> None:
    """Rows of the model's width."""
    _rows(x, network.d_model)


def positions(table: Tensor, x: Tensor, offset: int | Tensor) -> None:
    """Each token must have a row: a slice beyond the end would come back short."""
    (max_len, d_model), (length, width) = table.shape, x.shape[-2:]
    if width != d_model:
        raise ValueError(f"the width of x ({width}) must be d_model ({d_model})")
    # The values of a tensor are not looked at: `torch.export`.
    first = 0 if isinstance(offset, Tensor) else offset
    at_least(0, offset=first)
    if first + length > max_len:
        rule = f"must not exceed max_len ({max_len})"
        raise ValueError(f"offset ({first}) + length ({length}) {rule}")


def decoder_layer(layer: Any, x: Tensor, memory: Tensor, *_: Any, **__: Any) -> None:
    """A memory for each sentence."""
    _sentences(layer.d_model, x=x, memory=memory)
    same_batch(x, memory)


def transformer(model: Any, source: Tensor, target: Tensor) -> None:
    """Ids of both sides."""
    _ids(model.config.max_len, source=source, target=target)


def encode(model: Any, source: Tensor) -> None:
    """Ids of the source."""
    _ids(model.config.max_len, source=source)


def decode(model: Any, target: Tensor, memory: Tensor, source: Tensor) -> None:
    """Ids of both sides, and the memory of that source."""
    transformer(model, source, target)
    expected = (*source.shape, model.config.d_model)
    if memory.shape != expected:
        rule = f"{expected}: batch and length of source, and d_model"
        raise ValueError(f"memory of shape {tuple(memory.shape)} must be {rule}")


def recurrence(network: Any, x: Tensor, start: Tensor) -> None:
    """A sequence, and a state for each."""
    d_in, d_model = network.input.in_features, network.input.out_features
    _rows(x, d_in, what="d_in")
    if x.dim() < 2 or x.size(-2) == 0:
        rule = "must be a sequence (length, width) of at least one token"
        raise ValueError(f"x of shape {tuple(x.shape)} {rule}")
    expected = (*x.shape[:-2], d_model)
    if start.shape != expected:
        raise ValueError(f"the shape of start {tuple(start.shape)} must be {expected}")


def read(model: object, source: Tensor) -> None:
    """A source without padding."""
    pad = SpecialIds().pad
    if (source == pad).any():
        rule = "the last state would be that after the padding"
        raise ValueError(f"source must not contain pad_id ({pad}): {rule}")


def gpt(model: object, ids: Tensor) -> None:
    """A batch of ids."""
    if ids.dim() != 2:
        rule = "must have two axes (batch, length)"
        raise ValueError(f"ids of shape {tuple(ids.shape)} {rule}")


def bert(
    model: object,
    config: Config,
    n_segments: int = 2,
    first_position: int = 0,
    pooled: bool = True,
) -> None:
    """Sizes that the config does not have."""
    config.check_padding()
    integer(n_segments=n_segments, first_position=first_position)
    at_least(1, n_segments=n_segments)
    if not 0 <= first_position < config.max_len:
        rule = f"must be at least 0 and below max_len ({config.max_len})"
        raise ValueError(f"first_position ({first_position}) {rule}")
    instance(bool, pooled=pooled)


def pooled(bert: Any) -> None:
    """A Bert that was made with what pools its vectors."""
    if not bert.pooled:
        raise ValueError("pooled (False) must be True: this needs the pooled vector")


def sentence_bert(
    model: object,
    bert: Any,
    pooling: str = "mean",
    normalised: bool = True,
    max_tokens: int | None = None,
) -> None:
    """A way to pool that there is, and no longer texts than there are positions."""
    known = ("mean", "cls", "max")
    if pooling not in known:
        rule = f"must be one of {', '.join(known)}"
        raise ValueError(f"pooling ({pooling!r}) {rule}")
    instance(bool, normalised=normalised)
    if max_tokens is not None:
        integer(max_tokens=max_tokens)
        most = bert.config.max_len - bert.first_position
        if not 1 <= max_tokens <= most:
            rule = f"must be at least 1 and at most {most}, the positions of the model"
            raise ValueError(f"max_tokens ({max_tokens}) {rule}")


def bert_embed(model: Any, ids: Tensor, segments: Tensor | None = None) -> None:
    """A segment for each id, and a position."""
    if segments is not None and segments.shape != ids.shape:
        shapes = f"{tuple(segments.shape)} and {tuple(ids.shape)}"
        raise ValueError(f"segments must have the shape of ids: {shapes}")
    most = model.config.max_len - model.first_position
    if ids.size(-1) > most:
        rule = f"must not exceed max_len - first_position ({most})"
        raise ValueError(f"the length of ids ({ids.size(-1)}) {rule}")


def pretraining(
    model: object, ids: Tensor, chosen: Tensor, segments: Tensor | None = None
) -> None:
    """A choice for each id."""
    if chosen.shape != ids.shape or chosen.dtype != torch.bool:
        found = f"{chosen.dtype} of shape {tuple(chosen.shape)}"
        raise ValueError(f"chosen must be bool of the shape of ids, not {found}")


def patches(images: Tensor, size: int) -> None:
    """Images that can be cut into squares."""
    instance(Tensor, images=images)
    if images.dim() != 4:
        shape = tuple(images.shape)
        raise ValueError(f"images of shape {shape} must have four axes (B, C, H, W)")
    height, width = images.shape[-2:]
    if size < 1 or height % size or width % size:
        sides = f"height ({height}) and width ({width})"
        raise ValueError(f"size ({size}) must be at least 1 and divide {sides}")


def patches_embed(
    model: Any, images: Tensor, grid: tuple[int, int] | None = None
) -> None:
    """What the model would read wrongly, or refuse in words that name nothing."""
    patches(images, model.size)
    _, channels, *sides = images.shape
    if channels != model.channels:
        rule = f"must be as many as the model's ({model.channels})"
        raise ValueError(f"the channels of images ({channels}) {rule}")
    if not images.is_floating_point():
        rule = "must be of a floating-point type, with pixels of about 1"
        raise TypeError(f"images {rule}, not {images.dtype}")
    rows, columns = found = tuple(side // model.size for side in sides)
    if grid is not None and tuple(grid) != found:
        raise ValueError(f"grid {tuple(grid)} must be the grid of the images, {found}")
    n, count = model.config.max_len - 1, rows * columns
    if grid is None and (rows != columns or count != n):
        hint = f", or give grid={found}" if count <= n else ""
        rule = f"they must be a square of max_len - 1 ({n}){hint}"
        raise ValueError(f"images have {found} patches; {rule}")
