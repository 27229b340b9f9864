"""How many parameters published models have, from their published sizes: by sums, and by putting them together."""

from typing import Any, NamedTuple

import torch
from torch import nn

from tested_transformer.model.gpt import GPT_2, Gpt
from tested_transformer.model.llama import LLAMA, LlamaConfig, NormedAttention


class Sizes(NamedTuple):
    """The sizes of a published model, as its authors give them."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    groups: int  # heads of keys and values
    head: int  # the width of a head
    hidden: int  # the width inside a feed-forward network
    tied: bool = False  # is the output table that of the input?
    places: int = 0  # the length of a learned table of positions
    gated: bool = True  # is the network a SwiGLU?
    biases: bool = False
    normed: bool = False  # do queries and keys have norms of their own?


MODELS = {
    "GPT-2 small": Sizes(50_257, 768, 12, 12, 12, 64, 3072, True, 1024, False, True),
    "Llama 2 7B": Sizes(32_000, 4096, 32, 32, 32, 128, 11_008),
    "Mistral 7B": Sizes(32_000, 4096, 32, 32, 8, 128, 14_336),
    "Llama 3 8B": Sizes(128_256, 4096, 32, 32, 8, 128, 14_336),
    "SmolLM2-135M": Sizes(49_152, 576, 30, 9, 3, 64, 1536, True),
    "Qwen3-0.6B": Sizes(151_936, 1024, 28, 16, 8, 128, 3072, True, normed=True),
}
"""Six models, from the files `config.json` that were published with their weights."""


def parts(s: Sizes) -> dict[str, int]:
    """How many parameters a model of this size has, by what they are for."""
    d, queries, keys = s.width, s.heads * s.head, s.groups * s.head
    attention = 2 * d * queries + 2 * d * keys + s.normed * 2 * s.head
    network = (3 if s.gated else 2) * d * s.hidden
    if s.biases:
        attention += queries + 2 * keys + d
        network += s.hidden + d
    norm = 2 * d if s.biases else d
    return {
        "tables": d * (s.vocabulary * (1 if s.tied else 2) + s.places),
        "attention": s.layers * attention,
        "feed-forward": s.layers * network,
        "norms": (2 * s.layers + 1) * norm,
    }


def put_together(s: Sizes) -> nn.Module:
    """The model itself, of this package's parts. It has shapes and no numbers, so a large one takes no memory."""
    with torch.device("meta"):
        if not s.gated:
            return Gpt(GPT_2)
        config = LlamaConfig(
            s.vocabulary,
            s.width,
            s.hidden,
            s.heads,
            s.layers,
            d_k=s.head,
            n_kv_heads=s.groups,
            tied=s.tied,
        )
        return Gpt(config, LLAMA._replace(attention=_normed) if s.normed else LLAMA)


def _normed(config: Any) -> NormedAttention:
    c = config
    return NormedAttention(c.d_model, c.n_heads, c.n_kv_heads, c.d_k)
