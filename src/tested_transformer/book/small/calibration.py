"""A hundred people translate a sentence, and a small model learns how many wrote what."""

from collections.abc import Iterable

import torch
from jaxtyping import Int
from torch import Tensor

from tested_transformer.book.small import training
from tested_transformer.config import Config
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokens import BOS, EOS, PAD, Vocabulary, pad

COUNTS = [
    ("I love AI", "ich liebe KI", 36),
    ("I love AI", "KI liebe ich", 18),
    ("I love AI", "KI mag ich", 16),
    ("I love AI", "KI verehre ich", 16),
    ("I love AI", "KI gefällt mir", 14),
    ("I love AI so much", "ich liebe KI", 36),
    ("I love AI so much", "ich liebe KI so sehr", 34),
    ("I love AI so much", "KI liebe ich so sehr", 16),
    ("I love AI so much", "KI mag ich so sehr", 14),
]
"""Two sentences, their translations, and how many of a hundred people wrote each."""

ENGLISH, GERMAN = "I love AI music so much", "ich liebe mag verehre gefällt mir"
WORDS = Vocabulary(f"{ENGLISH} {GERMAN} KI Musik sehr".split())


def ids(text: str) -> list[int]:
    """The ids of the words of a text."""
    return WORDS.encode(text.split()) if text else []


def read(english: str) -> Int[Tensor, "1 S"]:
    """A sentence as the model reads it, filled up to five tokens."""
    return torch.from_numpy(pad([ids(english)], PAD, max_len=5))


def say(ids: Iterable[int]) -> str:
    """The tokens with these ids, without padding."""
    return " ".join(WORDS.decode(i for i in ids if i != PAD))


def trained() -> Transformer:
    """A small model that has read all of this, and the same with music in place of AI.

    Half of each count gives the same shares.
    """
    read = [(english, german) for english, german, n in COUNTS for _ in range(n // 2)]
    read += [(e.replace("AI", "music"), g.replace("KI", "Musik")) for e, g in read]
    source = pad([ids(english) for english, _ in read], PAD)
    target = pad([[BOS, *ids(german), EOS] for _, german in read], PAD)
    batch = torch.from_numpy(source), torch.from_numpy(target)
    config = Config(WORDS.vocab_size, 32, 64, n_heads=4, n_layers=2, dropout=0.0)
    model = training.create(config.replace(max_len=64))
    loss_at = training.forced(model, lambda _: batch)
    training.train(model, loss_at, training.triangle(150), 150)
    return model.eval()
