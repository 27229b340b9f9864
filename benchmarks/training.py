"""One training step beside torch.nn.Transformer and Hugging Face Marian: real target and source tokens a second.

    pip install transformers
    python benchmarks/training.py [--rounds 5] [--threads 1 2] [--out FOLDER]

The sides take turns on the same batches, and the median of each counts. The batches are those that our trainer makes,
of pairs of similar length; one case has pairs as they come, half of whose places are padding. A step is forward,
smoothed loss, backward and Adam, in float32. Memory is the peak of a process that does nothing else.
"""

import argparse
import pathlib
import resource
from itertools import islice

import bench
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tested_transformer.config import BASE, Config
from tested_transformer.data.batches import batches, plan, tensors
from tested_transformer.model.masks import causal_mask
from tested_transformer.model.positions import SinusoidalPositions
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.adam import create_adam
from tested_transformer.training.objective import NextToken

SIZES = {
    "small": BASE.replace(vocab_size=8000, d_model=256, d_ff=1024, n_heads=8, n_layers=3),
    "base": BASE.replace(vocab_size=10_000),
}


CASES = {  # size, and how the batches are made
    "small": ("small", "by length"),
    "small, as they come": ("small", "as they come"),
    "base": ("base", "by length"),
}
TOKENS = {"small": 2000, "base": 500}  # of a batch, about


def pairs(vocab_size):
    """Ids of 20 000 sentence pairs, the same in every run, with lengths that scatter as those of captions do."""
    rng = np.random.default_rng(0)
    sizes = rng.lognormal(np.log(22), 0.45, (20_000, 1)) * rng.uniform(0.8, 1.2, (20_000, 2))
    lengths = np.clip(sizes.round(), 4, 60).astype(int)
    ids = rng.integers(4, vocab_size, lengths.sum())
    sides = iter(np.split(ids, lengths.cumsum()[:-1]))
    return [(next(sides).tolist(), [1, *next(sides).tolist()]) for _ in range(len(lengths))]


def some(case):
    """Three batches of a case: as the trainer makes them, or of pairs in the order in which they come."""
    size, how = CASES[case]
    made = pairs(SIZES[size].vocab_size)
    if how == "by length":
        return list(islice(batches(made, TOKENS[size]), 3))
    n = sum(len(source) for source, _ in batches(made, TOKENS[size])) // len(plan(made, TOKENS[size]))
    return [tensors(made[first : first + n]) for first in range(0, 3 * n, n)]


def counted(made):
    """Real tokens of source and target, and which share of all places is padding."""
    real = sum(int((source != 0).sum() + (target[:, 1:] != 0).sum()) for source, target in made)
    return real, 1 - real / sum(source.numel() + target[:, 1:].numel() for source, target in made)


def ours(config: Config):
    """The model and the loss of this package: what its trainer runs."""
    objective = NextToken(Transformer(config), 0.1)
    return objective, lambda source, target: objective(source, target)[0]


class Torch(nn.Module):
    """torch.nn.Transformer with what it lacks: embedding, positions, masks, tied output."""

    def __init__(self, c: Config):
        super().__init__()
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        nn.init.normal_(self.embedding.weight, std=c.d_model**-0.5)
        self.positions = SinusoidalPositions(c.max_len, c.d_model, c.dropout)
        self.stacks = nn.Transformer(
            c.d_model, c.n_heads, c.n_layers, c.n_layers, c.d_ff, c.dropout, batch_first=True
        )  # fmt: skip

    def forward(self, source, target):
        """Logits for the token after each token of target."""
        x, y = (self.positions(self.embedding(ids) * self.embedding.embedding_dim**0.5) for ids in (source, target))
        masks = {"src_key_padding_mask": source == 0, "memory_key_padding_mask": source == 0}
        future = ~causal_mask(target.size(1), target.device)
        masks |= {"tgt_mask": future, "tgt_key_padding_mask": target == 0}
        out = self.stacks(x, y, tgt_is_causal=True, **masks)  # said, or it compares the mask with one and waits
        return out @ self.embedding.weight.T


def theirs(config: Config):
    """PyTorch's own Transformer."""
    model = Torch(config)

    def loss(source, target):
        wanted = target[:, 1:].reshape(-1)
        logits = model(source, target[:, :-1]).flatten(0, 1)
        return F.cross_entropy(logits, wanted, ignore_index=0, label_smoothing=0.1, reduction="sum")

    return model, loss


def marian(config: Config):
    """Hugging Face's MarianMTModel of the same size; its positions are fixed and its table is tied, too."""
    from transformers import MarianConfig, MarianMTModel

    c = config
    model = MarianMTModel(
        MarianConfig(
            vocab_size=c.vocab_size, d_model=c.d_model, encoder_layers=c.n_layers, decoder_layers=c.n_layers,
            encoder_attention_heads=c.n_heads, decoder_attention_heads=c.n_heads, encoder_ffn_dim=c.d_ff,
            decoder_ffn_dim=c.d_ff, dropout=c.dropout, attention_dropout=0.0, activation_dropout=0.0,
            activation_function="relu", scale_embedding=True, max_position_embeddings=c.max_len,
            pad_token_id=0, eos_token_id=2, decoder_start_token_id=1, forced_eos_token_id=None, use_cache=False,
        )
    )  # fmt: skip
    model.train()

    def loss(source, target):
        wanted = target[:, 1:].reshape(-1)
        seen = target[:, :-1]
        logits = model(
            input_ids=source, attention_mask=source != 0, decoder_input_ids=seen, decoder_attention_mask=seen != 0
        ).logits.flatten(0, 1)
        return F.cross_entropy(logits, wanted, ignore_index=0, label_smoothing=0.1, reduction="sum")

    return model, loss


SIDES = {"ours": ours, "nn.Transformer": theirs, "Marian": marian}


def stepper(side, case):
    """A training step of a side on each of the batches, as a function."""
    torch.manual_seed(0)
    model, loss = SIDES[side](SIZES[CASES[case][0]])
    adam, made = create_adam(model.parameters(), lr=1e-5), some(case)

    def step():
        for source, target in made:
            (loss(source, target) / 1000).backward()
            adam.step()
            adam.zero_grad()

    return step


def main():
    """Measure, print a table, and write it as numbers, table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--out", type=pathlib.Path, default=bench.RESULTS)
    parser.add_argument("--peak", choices=SIDES)
    given = parser.parse_args()
    if given.peak:
        torch.set_num_threads(1)
        stepper(given.peak, given.cases[0])()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    asked = [(side, case) for case in given.cases for side in SIDES]
    memory = {(side, case): bench.peak(__file__, "--peak", side, "--cases", case) for side, case in asked}
    rows = []
    for case in given.cases:
        tokens, padding = counted(some(case))
        for threads in given.threads:
            torch.set_num_threads(threads)
            times = bench.medians({side: stepper(side, case) for side in SIDES}, given.rounds)
            for side, (cpu, wall) in times.items():
                ratio = times["nn.Transformer"][0] / cpu
                row = {"case": f"{case}, threads: {threads}", "side": side, "cpu_s": cpu, "wall_s": wall}
                row |= {"per_s": tokens / wall, "times_faster": ratio, "padding": padding}
                rows.append(row | {"peak_mb": memory[side, case]})
                line = f"{row['case']:32} {side:15} {tokens / wall:8,.0f} tokens/s"
                print(f"{line}  {ratio:5.2f} x  {memory[side, case]:6,} MB  padding {padding:.1%}", flush=True)
    bench.write(given.out, "training", "One training step, tokens a second", rows, "tokens/s")


if __name__ == "__main__":
    main()
