"""The whole Transformer without a library for gradients: ids in, logits out, and back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.byhand import _checks as rules
from tested_transformer.byhand.addnorm import layer_norm
from tested_transformer.byhand.decoder import decoder, decoder_backward
from tested_transformer.byhand.embedding import embedding, embedding_backward
from tested_transformer.byhand.encoder import encoder, encoder_backward
from tested_transformer.byhand.linear import linear, linear_backward
from tested_transformer.byhand.masks import causal_mask, padding_mask
from tested_transformer.byhand.positions import sinusoids
from tested_transformer.byhand.softmax import softmax
from tested_transformer.checks import checked, positive
from tested_transformer.config import Config
from tested_transformer.params import Params, join, part


@checked(rules.transformer)
def transformer(
    source: Int[np.ndarray, "B S"],
    target: Int[np.ndarray, "B T"],
    params: Params,
    config: Config,
) -> tuple[Float[np.ndarray, "B T V"], dict[str, Any]]:
    """Logits for the token after each token of target (paper, Figure 1), and saved.

    The paper's layers only: norm last, no final norm, ReLU; and no dropout.
    """
    c, table, pad = config, params["embedding.weight"], config.pad_id
    source_mask, target_mask = padding_mask(source, pad), padding_mask(target, pad)
    self_mask = causal_mask(target.shape[1]) & target_mask
    sizes, eps = (c.n_layers, c.n_heads), c.norm_eps
    memory, saved_encoder = encoder(
        _embed(source, table, pad), part(params, "encoder"), *sizes, source_mask, eps
    )
    x, saved_decoder = decoder(
        _embed(target, table, pad), memory, part(params, "decoder"), *sizes,
        self_mask, source_mask, eps,
    )  # fmt: skip
    saved = {"source": source, "target": target, "table": table, "x": x, "pad": pad}
    saved |= {"encoder": saved_encoder, "decoder": saved_decoder}
    return linear(x, table), saved


def transformer_backward(
    d_logits: Float[np.ndarray, "B T V"], saved: dict[str, Any]
) -> Params:
    """From the gradient of the logits, that of every parameter.

    The one table was used three times, so it gets the sum of three gradients.
    """
    table = saved["table"]
    d_x, d_table, _ = linear_backward(d_logits, saved["x"], table)
    d_target, d_memory, d_decoder = decoder_backward(d_x, saved["decoder"])
    d_source, d_encoder = encoder_backward(d_memory, saved["encoder"])
    for name, d_rows in (("source", d_source), ("target", d_target)):
        d_rows = d_rows * np.sqrt(table.shape[1])
        d_table = d_table + embedding_backward(d_rows, saved[name], len(table))
    return join(embedding={"weight": d_table}, encoder=d_encoder, decoder=d_decoder)


def tensors(saved: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """What a run kept of its first sentences, in the order of the data, by name.

    The few tensors that are not kept are made again of those that are.
    """
    table, pad = saved["table"], saved["pad"]
    for side, ids in (("encoder", saved["source"]), ("decoder", saved["target"])):
        rows, width = embedding(ids, table)[0], table.shape[1]
        yield f"{side}.ids", ids[0]
        yield f"{side}.rows", rows
        yield f"{side}.scaled", rows * np.sqrt(width)
        yield f"{side}.positions", _embed(ids[:1], np.zeros_like(table), pad)[0]
        yield f"{side}.sum", saved[side][0]["self_attention"]["query"][0]
        for i, layer in enumerate(saved[side]):
            names = list(layer)  # each sub-layer, and behind it its norm
            for sub, norm in zip(names[::2], names[1::2], strict=True):
                yield from _inside(f"{side}.layers.{i}", sub, layer[sub], norm, layer)
    logits = linear(saved["x"], table)[0]
    yield from (("logits", logits), ("probabilities", softmax(logits)))


def create_params(
    config: Config, rng: np.random.Generator, gain: float = 0.5
) -> Params:
    """Parameters to begin with, under the names that the PyTorch model gives them.

    Embeddings are normal with standard deviation 1/√d_model, weights uniform within
    gain times Glorot's limits, norms 1 and biases 0.
    """
    positive(gain=gain)
    params = {}
    for name, shape in shapes(config).items():
        if name == "embedding.weight":
            params[name] = rng.normal(0, config.d_model**-0.5, shape)
        elif len(shape) == 2:
            limit = gain * np.sqrt(6 / sum(shape))
            params[name] = rng.uniform(-limit, limit, shape)
        else:
            params[name] = np.full(shape, float(name.endswith("norm.weight")))
    return params


@checked(rules.shapes)
def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter, box by box (paper, Figure 1)."""
    c = config
    maps = {"w_q": c.d_k, "w_k": c.d_k, "w_v": c.d_v}
    heads: dict[str, tuple[int, ...]] = {
        f"{w}.weight": (c.n_heads * d, c.d_model) for w, d in maps.items()
    }
    heads["w_o.weight"] = (c.d_model, c.n_heads * c.d_v)
    if c.attention_bias:
        heads |= {f"{key[:3]}.bias": shape[:1] for key, shape in heads.items()}
    norm = {"norm.weight": (c.d_model,), "norm.bias": (c.d_model,)}
    feed = {"w_1.weight": (c.d_ff, c.d_model), "w_1.bias": (c.d_ff,)}
    feed |= {"w_2.weight": (c.d_model, c.d_ff), "w_2.bias": (c.d_model,)}
    one = join(self_attention=heads, addnorm_1=norm, feed_forward=feed, addnorm_2=norm)
    two = join(
        self_attention=heads, addnorm_1=norm, cross_attention=heads, addnorm_2=norm,
        feed_forward=feed, addnorm_3=norm,
    )  # fmt: skip
    layers = [f"layers.{i}" for i in range(c.n_layers)]
    return join(
        embedding={"weight": (c.vocab_size, c.d_model)},
        encoder=join(**dict.fromkeys(layers, one)),
        decoder=join(**dict.fromkeys(layers, two)),
    )


def _embed(ids: np.ndarray, table: np.ndarray, pad_id: int) -> np.ndarray:
    (_, length), d_model, padding = ids.shape, table.shape[1], ids == pad_id
    place = np.arange(length) - np.cumsum(padding, axis=1) * ~padding
    return embedding(ids, table) * np.sqrt(d_model) + sinusoids(length, d_model)[place]


def _inside(
    place: str, sub: str, kept: dict[str, Any], norm: str, layer: dict[str, Any]
) -> Iterator[tuple[str, np.ndarray]]:
    """A sub-layer and its add & norm; what it adds is the sum, less what went in."""
    if "weights" in kept:
        q, k, weights = (kept[name][0] for name in ("q", "k", "weights"))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        kept = kept | {"scores": np.where(weights > 0, scores, -np.inf)[None]}
    for name in ("q", "k", "v", "scores", "weights", "joined", "inner", "hidden"):
        if name in kept:
            yield f"{place}.{sub}.{name}", kept[name][0]
    x = kept["query"] if "weights" in kept else kept["x"]
    added, params, eps = (layer[norm][name] for name in ("added", "params", "eps"))
    yield f"{place}.{sub}.out", (added - x)[0]
    yield f"{place}.{norm}.added", added[0]
    learned = params["norm.weight"], params["norm.bias"]
    yield f"{place}.{norm}.out", layer_norm(added, *learned, eps)[0]
