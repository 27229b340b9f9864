"""What the tests of decoding need: models whose next token is no foregone conclusion, and searches to compare with."""

import math

import numpy as np
import torch
from models import BOS, EOS, PAD, randomised
from torch import nn
from torch.nn import functional as F

from tested_transformer.config import TINY, Config
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.transformer import Transformer


class Restless(Embedding):
    """With logits that go up and down quickly with x. Those of a random model hardly move: it repeats one token."""

    cacheable = True

    def __init__(self, vocab_size, d_model, seed, sharp):
        super().__init__(vocab_size, d_model)
        drawn = np.random.default_rng([seed, 7]).normal(size=(vocab_size, d_model))
        self.out, self.sharp = nn.Parameter(torch.tensor(4 * drawn * d_model**-0.5)), sharp

    def logits(self, x):
        return self.sharp * F.linear(x, self.out).sin()


def lively(seed=0, sharp=2.0, vocab_size=12, **changes):
    """A real Transformer with random weights that writes different tokens, and ends its sentences now and then."""
    config = TINY.replace(vocab_size=vocab_size, n_layers=1, **changes)
    model = randomised(Transformer(config), seed)
    table = Restless(config.vocab_size, config.d_model, seed, sharp)
    table.weight = model.embedding.weight
    model.embedding = table
    return model.eval()


class Script(nn.Module):
    """An embedding that lets tokens and places through, and logits that are read off a table (place, last token)."""

    cacheable = True

    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, ids):
        places, words = self.table.shape[:2]
        return F.one_hot(ids.long(), places + words).to(self.table.dtype)

    def logits(self, x):
        words = self.table.size(1)
        return self.table[x[..., words:].argmax(-1), x[..., :words].argmax(-1)]


def scripted(probabilities):
    """A Transformer that says what it is told: probabilities[place, last token, next token].

    The encoder is real; the decoder has no layers, and a token's place comes from the table of positions.
    """
    p = torch.as_tensor(probabilities, dtype=torch.float64)
    places, words = p.shape[:2]
    model = Transformer(Config(words, places + words, 4, 1, 1, dropout=0.0, max_len=places)).double()
    model.embedding = Script(p.log())
    model.positions.table = torch.eye(places + words, dtype=p.dtype)[words:]
    model.decoder.layers = nn.ModuleList()
    return model.eval()


def log_probabilities(model, source, ids):
    """What the model gives to each token of one sentence, calculated without a cache."""
    target = torch.tensor([[BOS, *ids[:-1]]])
    log_p = model(source, target).log_softmax(-1)[0]
    return [log_p[place, token].item() for place, token in enumerate(ids)]


def plain_greedy(model, source, max_len):
    """Greedy decoding of one sentence as it stands in books."""
    ids = []
    while len(ids) < max_len and ids[-1:] != [EOS]:
        logits = model(source, torch.tensor([[BOS, *ids]]))[0, -1].tolist()
        logits[PAD] = logits[BOS] = -math.inf
        ids.append(max(range(len(logits)), key=logits.__getitem__))
    return ids


def plain_beam(model, source, width, alpha, max_len):
    """Beam search of one sentence without a cache, a batch or a rule for stopping early: (ids, score, log p)."""
    alive, finished = [([], 0.0)], []
    for length in range(1, max_len + 1):
        extended = []
        if alive:
            seen = torch.tensor([[BOS, *ids] for ids, _ in alive])
            log_p = model(source.expand(len(alive), -1), seen)[:, -1].log_softmax(-1).tolist()
            pairs = zip(alive, log_p, strict=True)
            words = [i for i in range(len(log_p[0])) if i not in (PAD, BOS)]
            extended = [([*ids, i], total + p[i]) for (ids, total), p in pairs for i in words]
        best = sorted((e for e in extended if e[1] > -math.inf), key=lambda e: -e[1])[:width]
        ends = [e for e in best if e[0][-1] == EOS or length == max_len]
        alive = [e for e in best if e not in ends]
        finished += [(tuple(ids), total / ((5 + length) / 6) ** alpha, total) for ids, total in ends]
    return sorted(finished, key=lambda f: -f[1])[:width]
