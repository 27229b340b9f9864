"""Weights rounded to one byte each, with a scale for every row."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int8
from torch import Tensor

MOST = 127
"""The largest integer of a row; -128 is not used, so both signs have equally many."""

LIMITS = (2.0**-100, 2.0**120)
"""Beyond these a float32 has no room for the scale, or none for what comes back."""

SCALE = ".scale"
"""In a file, the scales of a weight have its name, followed by this."""

SCALE_BITS = 17
"""So many binary digits a scale has. With the 7 of an integer they fit into the 24 of
a float32, and the product of both is exact."""


def to_int8(
    weight: Float[Tensor, "*rows n"],
) -> tuple[Int8[Tensor, "*rows n"], Float[Tensor, "*rows 1"]]:
    """Integers, each nearest to its weight divided by the scale of its row, and scales.

    The largest weight of a row becomes 127 or -127, and the others keep their share of
    it. A vector is one row. What was rounded already comes back unchanged.
    """
    if weight.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"weight ({weight.dtype}) must be float32 or float64")
    largest = weight.double().abs().amax(-1, keepdim=True)
    if not torch.all((largest == 0) | ((largest > LIMITS[0]) & (largest < LIMITS[1]))):
        raise ValueError(f"weight has a row whose largest is not within {LIMITS}")
    scale = torch.where(largest == 0, 1, largest / MOST)
    mantissa, exponent = torch.frexp(scale)
    mantissa = (mantissa * 2**SCALE_BITS).ceil() / 2**SCALE_BITS
    scale = torch.ldexp(mantissa, exponent)
    return (weight / scale).round().to(torch.int8), scale.to(weight.dtype)


def from_int8(
    integers: Int8[Tensor, "*rows n"], scale: Float[Tensor, "*rows 1"]
) -> Float[Tensor, "*rows n"]:
    """The weights that integers and scales stand for."""
    return integers * scale


def rounded(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All weights of a model, each as its int8 form gives it."""
    return {name: from_int8(*to_int8(weight)) for name, weight in weights.items()}


def packed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All weights of a model as integers, and beside each the scales of its rows."""
    both = {name: to_int8(weight) for name, weight in weights.items()}
    scales = {name + SCALE: scale for name, (_, scale) in both.items()}
    return {name: integers for name, (integers, _) in both.items()} | scales


def unpacked(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of what was `packed`; tensors of other types stay as they are."""
    weights = dict(tensors)
    for name, integers in tensors.items():
        if integers.dtype != torch.int8 or (scale := name + SCALE) not in weights:
            continue
        wanted, found = (*integers.shape[:-1], 1), tuple(weights[scale].shape)
        if found != wanted:
            raise ValueError(f"{scale} has shape {found}, and {name} needs {wanted}")
        weights[name] = from_int8(integers, weights.pop(scale))
    return weights
