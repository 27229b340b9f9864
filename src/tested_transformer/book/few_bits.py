"""The package's translator with fewer bits for each weight: what it writes, what it weighs, and one product in it."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tested_transformer.book.coreference import SENTENCES, count_right
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.translator import Translator
from tested_transformer.training.int8 import BITS, bound, from_int8, rounded, to_int8

FALLING = BITS[::-1]
"""The numbers of bits from 8 down, as the figures go through them."""


DECIMALS = 4
"""Those of an input that a page multiplies with a row, too."""


class Product(NamedTuple):
    """A row of a matrix, and a vector that the model multiplies it with."""

    row: Float[np.ndarray, "D"]
    x: Float[np.ndarray, "D"]


class Setting(NamedTuple):
    """What so many bits mean: for the whole model, and for one product and the row in it."""

    megabytes: float
    step: float
    product: float
    bound: float  # by which the product may have moved


def translators(
    translator: Translator, bits: Iterable[int] = FALLING
) -> dict[int, Translator]:
    """The translator in float64 at each number of bits; it writes the most probable token in each step."""
    found = {}
    for b in bits:
        model = deepcopy(translator.model).double()
        model.load_state_dict(rounded(model.state_dict(), b))
        found[b] = Translator(model, translator.tokens, width=1)
    return found


def written(
    at_each: Mapping[int, Translator], texts: Sequence[str]
) -> dict[str, dict[int, str]]:
    """For each text its translation at each number of bits."""
    found = {b: t.translate(texts) for b, t in at_each.items()}
    return {text: {b: found[b][n] for b in found} for n, text in enumerate(texts)}


def right(at_each: Mapping[int, Translator]) -> dict[int, tuple[int, int]]:
    """How many of the sentences about "it" have the right pronoun at each number of bits, and how many every word."""
    texts = [sentence.english for sentence in SENTENCES]
    wanted = [sentence.german for sentence in SENTENCES]
    return {b: count_right(t.translate(texts), wanted) for b, t in at_each.items()}


def megabytes(weights: Mapping[str, Tensor], bits: int) -> float:
    """What a model takes up: its matrices at so many bits, its vectors at 8, and a float32 scale for each row."""
    total = 0
    for weight in weights.values():
        scales = to_int8(weight, bits)[1]
        total += (bits if weight.ndim > 1 else 8) * weight.numel() + 32 * scales.numel()
    return total / 8 / 1e6


def query(
    translator: Translator, text: str, word: str, layer: int, head: int
) -> Product:
    """The row of W_Q that makes the first number of a word's query in a head of the encoder, and the word's vector.

    Layer and head are counted from 0, as in the code. The vector is rounded to four decimals.
    """
    model, ids = translator.model, translator.encode(text, 1)
    place = [translator.name(i).strip() for i in ids].index(word)
    attention, seen = model.encoder.layers[layer].self_attention, []
    hook = attention.w_q.register_forward_hook(lambda _, x, out: seen.append(x[0]))
    with inference(model):
        model.encode(torch.tensor([ids]))
    hook.remove()
    row = attention.w_q.weight[head * model.config.d_k].detach()
    x = seen[0][0, place].double().numpy()
    return Product(row.double().numpy(), x.round(DECIMALS))


def settings(
    weights: Mapping[str, Tensor], product: Product, bits: Iterable[int] = FALLING
) -> dict[int, Setting]:
    """What each number of bits means for a model with these weights, and for a product in it."""
    row, x = torch.from_numpy(product.row), torch.from_numpy(product.x)
    found = {}
    for b in bits:
        integers, step = to_int8(row, b)
        moved = from_int8(integers, step) @ x
        numbers = step.item(), moved.item(), bound(step, x).item()
        found[b] = Setting(megabytes(weights, b), *numbers)
    return found
