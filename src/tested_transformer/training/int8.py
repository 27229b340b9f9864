"""Weights rounded to integers of 8 bits or fewer, with a scale for every row.

However few the bits are, each integer is kept in a byte, as torch's int8.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int8
from torch import Tensor

BITS = range(2, 9)
"""So many bits an integer may have. One bit would leave 0 alone, 9 need another type."""

LIMITS = (2.0**-100, 2.0**120)
"""Beyond these a float32 has no room for the scale, or none for what comes back."""

SCALE = ".scale"
"""In a file, the scales of a weight have its name, followed by this."""

SCALE_BITS = 17
"""So many binary digits a scale has. With the 7 of an integer they fit into the 24 of
a float32, and the product of both is exact."""


def largest_integer(bits: int) -> int:
    """The largest integer of so many bits: 127 for 8, and 1 for 2.

    Its negative is the smallest that is used, so both signs have equally many.
    """
    if bits not in BITS:
        raise ValueError(f"bits ({bits}) must be a whole number from 2 to 8")
    return 2 ** (bits - 1) - 1


def to_int8(
    weight: Float[Tensor, "*rows n"], bits: int = 8
) -> tuple[Int8[Tensor, "*rows n"], Float[Tensor, "*rows 1"]]:
    """Integers, each nearest to its weight divided by the scale of its row, and scales.

    The largest weight of a row becomes the largest integer of so many bits or its
    negative, and the others keep their share of it. A vector is one row. What was
    rounded to as many bits already comes back unchanged.
    """
    most = largest_integer(bits)
    if weight.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"weight ({weight.dtype}) must be float32 or float64")
    largest = weight.double().abs().amax(-1, keepdim=True)
    if not torch.all((largest == 0) | ((largest > LIMITS[0]) & (largest < LIMITS[1]))):
        raise ValueError(f"weight has a row whose largest is not within {LIMITS}")
    scale = torch.where(largest == 0, 1, largest / most)
    mantissa, exponent = torch.frexp(scale)
    mantissa = (mantissa * 2**SCALE_BITS).ceil() / 2**SCALE_BITS
    scale = torch.ldexp(mantissa, exponent)
    return (weight / scale).round().to(torch.int8), scale.to(weight.dtype)


def from_int8(
    integers: Int8[Tensor, "*rows n"], scale: Float[Tensor, "*rows 1"]
) -> Float[Tensor, "*rows n"]:
    """The weights that integers and scales stand for."""
    return integers * scale


def bound(
    scale: Float[Tensor, "*rows 1"], x: Float[Tensor, "n"]
) -> Float[Tensor, "*rows"]:
    """By how much rounding can move the product of each row with x: s/2 · Σ|x|.

    No weight moves by more than half its row's scale s. They may all push one way.
    """
    return scale[..., 0] / 2 * x.abs().sum()


def rounded(weights: Mapping[str, Tensor], bits: int = 8) -> dict[str, Tensor]:
    """All weights of a model, each as its integer and the scale of its row give it.

    At fewer than 8 bits only matrices have fewer; vectors, such as biases, have 8.
    """
    each = {name: bits if weight.ndim > 1 else 8 for name, weight in weights.items()}
    return {name: from_int8(*to_int8(w, each[name])) for name, w in weights.items()}


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
