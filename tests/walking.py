"""What the tests of the map need: runs of a small model with all their tensors, and the map of them."""

import numpy as np

from tested_transformer.book import draw
from tested_transformer.byhand import transformer as byhand
from tested_transformer.byhand.softmax import softmax
from tested_transformer.config import Config

TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>", "I", "love", "AI", "ich", "liebe", "KI")
SOURCE, TARGET, WANTED = (4, 5, 6), (1, 7, 8, 9), (7, 8, 9, 2)


def walked(seed=0, layers=1):
    """Every tensor of a run on "I love AI"; the weights are larger than at a start, so that no two are alike."""
    config = Config(10, d_model=6, d_ff=8, n_heads=2, n_layers=layers, dropout=0.0)
    params = byhand.create_params(config, np.random.default_rng(seed), gain=2.0)
    logits, saved = byhand.transformer(np.array([SOURCE]), np.array([TARGET]), params, config)
    p = softmax(logits)[0, range(len(WANTED)), WANTED]
    return dict(byhand.tensors(saved)) | {"answers": np.stack([p, -np.log(p)], axis=1)}


def walk(runs, tokens=TOKENS):
    """The map of these runs."""
    source, target = ([tokens[i] for i in ids] for ids in (SOURCE, TARGET))
    return draw.transformer.walk(runs, source, target, tokens, WANTED, ("en", "de"))
