"""A decoder, step by step: what of it changes when a token comes, and what each step costs."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from tested_transformer.book.cost import multiplications
from tested_transformer.book.interventions import recorded, unmasked
from tested_transformer.config import Config
from tested_transformer.decoding.cache import Cache
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook.corpus import Sentence


@torch.no_grad()
def changed(
    translator: Translator, sentence: Sentence, n: int, layer: int, mask: str = ""
) -> tuple[list[str], np.ndarray]:
    """The first n tokens of the German with bos_id, and how far each one's key and value moved in each step.

    (n, n): a row for each step, a column for each token; the greatest difference from the
    step before, in a layer of the decoder counted from 1. A mask can be taken away.
    """
    model = translator.model
    source = torch.tensor([translator.encode(sentence.english, 1)])
    ids = [model.config.bos_id, *translator.tokens.encode(sentence.german)][:n]
    names = [f"decoder.layers.{layer - 1}.self_attention.{w}" for w in ("w_k", "w_v")]
    with unmasked(translator, mask), recorded(model, *names) as calls:
        memory = model.encode(source)
        for t in range(1, n + 1):
            model.decode(torch.tensor([ids[:t]]), memory, source)
    steps = zip(*calls.values(), strict=True)
    kept = [torch.cat([k, v], -1)[0] for (_, k), (_, v) in steps]
    moved = np.zeros((n, n))
    for t in range(1, n):
        moved[t, :t] = (kept[t][:t] - kept[t - 1]).abs().amax(-1)
    return [translator.name(i) for i in ids], moved


@torch.no_grad()
def costs(
    model: Transformer, source: Int[Tensor, "1 S"], n: int
) -> tuple[list[int], list[int]]:
    """The multiplications of the decoder in each of n steps: without a cache, and with one.

    What is kept of the memory is calculated before the first step, and counted with it.
    Without a cache logits are made for the last token only.
    """
    c, memory = model.config, model.encode(source)
    target = torch.full((1, n), c.bos_id)
    caches: list[Cache] = []

    def plain(t: int) -> Tensor:
        states = model.decode(target[:, :t], memory, source)
        return model.embedding.logits(states[:, -1:])

    def make() -> None:
        caches.append(Cache(model, memory, source, n))

    without = [multiplications(plain, t) for t in range(1, n + 1)]
    once = multiplications(make)
    cached = [multiplications(caches[0].step, target[:, :1]) for _ in range(n)]
    return without, [once + cached[0], *cached[1:]]


def bill(
    config: Config, without: Sequence[int], cached: Sequence[int], n: int
) -> dict[str, tuple[int, int, int, int]]:
    """What n steps are spent on: in the last, without a cache and with one, and in all of them.

    It takes what `costs` gave. One key more costs what the third step with a cache takes
    beyond the second; all else is the same for each row.
    """
    look, logits = cached[2] - cached[1], config.d_model * config.vocab_size
    row = cached[1] - 2 * look - logits  # the second token looks at two keys
    memory = cached[0] - cached[1] + look
    squares = sum(t * t for t in range(1, n + 1))
    rows = n * (n + 1) // 2
    return {
        "rows": (n * row, row, rows * row, n * row),
        "their looks back": (n * n * look, n * look, squares * look, rows * look),
        "logits": (logits, logits, n * logits, n * logits),
        "keys and values of the memory": (memory, 0, n * memory, memory),
        "all": (without[n - 1], cached[n - 1], sum(without[:n]), sum(cached[:n])),
    }
