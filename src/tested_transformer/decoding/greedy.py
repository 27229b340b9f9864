"""Greedy decoding: always the most probable next token."""

import torch
from jaxtyping import Int
from torch import Tensor

from tested_transformer.decoding._checks import check_model
from tested_transformer.decoding.cache import stepper
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import (
    check_finite,
    max_lengths,
    suppressed,
)
from tested_transformer.model.transformer import Transformer


def greedy(
    model: Transformer, source: Int[Tensor, "B S"], max_len: int | None = None
) -> Int[Tensor, "B T"]:
    """Write the most probable next token, again and again, until it is eos_id.

    Rows are without bos_id, end with eos_id, and are filled up with pad_id. A sentence
    that reaches max_len tokens stops there; for the default see `max_lengths`. A model
    of your own needs `config` and `encode`, and gives logits when it is called.
    """
    check_model(model)
    config = model.config
    with inference(model):
        memory = model.encode(source)
        most = max_lengths(source, max_len, config)
        cache = stepper(model, memory, source, int(most.max()))
        out = source.new_full((len(source), int(most.max())), config.pad_id)
        rows = torch.arange(len(source), device=source.device)  # still being written
        tokens = torch.full_like(rows, config.bos_id)
        while len(rows):
            logits = cache.step(tokens[:, None])[:, 0]
            logits[:, suppressed(config)] = -torch.inf
            best, tokens = logits.max(-1)
            check_finite(best)
            out[rows, cache.length - 1] = tokens.to(out.dtype)
            alive = (tokens != config.eos_id) & (most[rows] > cache.length)
            if not alive.all():
                cache.keep(alive.nonzero()[:, 0])
                rows, tokens = rows[alive], tokens[alive]
    return out[:, : cache.length].clone()  # one that may take part in learning
