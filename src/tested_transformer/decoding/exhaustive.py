"""Exhaustive search: every sentence there is, for judging searches that skip some."""

import torch
from jaxtyping import Int
from torch import Tensor

from tested_transformer.decoding.hypothesis import Hypothesis
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import max_lengths, suppressed
from tested_transformer.model.transformer import Transformer

MOST = 100_000
"""So many sentences of full length are still tried."""


def exhaustive(
    model: Transformer, source: Int[Tensor, "B S"], alpha: float, max_len: int
) -> list[list[Hypothesis]]:
    """For each sentence all hypotheses of max_len tokens at most, best first.

    It computes every prefix anew, without a cache, so it shares no mistake with `beam`.
    Only a small vocabulary and a small max_len are possible.
    """
    config = model.config
    with inference(model):
        model.encode(source)  # refuses what is no batch of ids
        max_lengths(source, max_len, config)
        words = config.vocab_size - len(suppressed(config)) - 1  # without eos_id
        if words**max_len > MOST:
            rule = f"makes more than {MOST} sentences of {words} words"
            raise ValueError(f"max_len ({max_len}) {rule}: too many to try")
        found = [
            every_hypothesis(model, source[row : row + 1], alpha, max_len)
            for row in range(len(source))
        ]
    return [sorted(some, key=lambda h: -h.score) for some in found]


def every_hypothesis(
    model: Transformer, source: Int[Tensor, "1 S"], alpha: float, max_len: int
) -> list[Hypothesis]:
    """All hypotheses for one sentence: those that end, and those cut off at max_len."""
    c = model.config
    unwanted = {*suppressed(c), c.eos_id}
    words = [word for word in range(c.vocab_size) if word not in unwanted]
    found, begun = [], [(list[int](), 0.0)]  # token ids, and their log-probability
    for _ in range(max_len):
        seen = torch.tensor([[c.bos_id, *ids] for ids, _ in begun], dtype=source.dtype)
        sources = source.expand(len(begun), -1)
        logits = model(sources, seen.to(source.device))[:, -1]
        dtype = torch.promote_types(logits.dtype, torch.float32)
        following = logits.log_softmax(-1, dtype=dtype).tolist()
        pairs = list(zip(begun, following, strict=True))
        found += [([*ids, c.eos_id], p + log_p[c.eos_id]) for (ids, p), log_p in pairs]
        begun = [([*ids, w], p + log_p[w]) for (ids, p), log_p in pairs for w in words]
    return [Hypothesis.of(ids, p, alpha) for ids, p in found + begun]
