"""One training step beside torch.nn.Transformer and Hugging Face Marian: real target and source tokens a second.

    pip install transformers
    python benchmarks/training.py [--rounds 7] [--threads 1 2] [--out FOLDER]

The sides take turns, and the median of each counts. SMALL is ragged, as sentences are; BASE has no padding. A step is
forward, smoothed loss, backward and Adam, in float32. Memory is the peak of a process that does nothing else.
"""

import argparse
import pathlib
import resource

import bench
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tested_transformer.config import BASE, Config
from tested_transformer.model.masks import causal_mask
from tested_transformer.model.positions import SinusoidalPositions
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.adam import create_adam
from tested_transformer.training.train import NextToken

SIZES = {
    "small": BASE.replace(vocab_size=8000, d_model=256, d_ff=1024, n_heads=8, n_layers=3),
    "base": BASE.replace(vocab_size=10_000),
}


def batch(size):
    """Ids of sources and targets, the same in every run: 64 ragged pairs, or 16 of equal length."""
    rng = np.random.default_rng(0)
    if size == "small":  # lengths as those of captions: half of the grid is padding
        lengths = np.clip(rng.lognormal(np.log(22), 0.45, (2, 64)).round().astype(int), 4, 50)
    else:
        lengths = np.full((2, 16), 32)
    rows = []
    for side, counts in enumerate(lengths):
        ids = rng.integers(4, SIZES[size].vocab_size, (len(counts), counts.max() + side))
        ids[np.arange(ids.shape[1]) >= counts[:, None] + side] = 0
        rows.append(torch.tensor(ids))
    rows[1][:, 0] = 1
    return rows[0], rows[1], int(lengths.sum())


def ours(config: Config):
    """The model and the loss of this package, padding left out of the calculation."""
    objective = NextToken(Transformer(config), 0.1)
    return objective, lambda source, target: objective(source, target)[0]


def ours_padded(config: Config):
    """The model of this package as chapters show it, on the padded batch."""
    model = Transformer(config)

    def loss(source, target):
        logits = model(source, target[:, :-1])
        wanted = target[:, 1:]
        return F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=0, label_smoothing=0.1, reduction="sum")

    return model, loss


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
        future = ~causal_mask(target.size(1))
        out = self.stacks(x, y, tgt_mask=future, tgt_key_padding_mask=target == 0, **masks)
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


SIDES = {"ours": ours, "ours, padded": ours_padded, "nn.Transformer": theirs, "Marian": marian}


def stepper(side, size):
    """One training step of a side as a function."""
    torch.manual_seed(0)
    model, loss = SIDES[side](SIZES[size])
    adam = create_adam(model.parameters(), lr=1e-5)
    source, target, _ = batch(size)

    def step():
        (loss(source, target) / 1000).backward()
        adam.step()
        adam.zero_grad()

    return step


def main():
    """Measure, print a table, and write it as numbers, table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--out", type=pathlib.Path, default=bench.RESULTS)
    parser.add_argument("--peak", choices=SIDES)
    given = parser.parse_args()
    if given.peak:
        torch.set_num_threads(1)
        step = stepper(given.peak, given.sizes[0])
        for _ in range(3):
            step()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    pairs = [(side, size) for size in given.sizes for side in SIDES]
    memory = {(side, size): bench.peak(__file__, "--peak", side, "--sizes", size) for side, size in pairs}
    rows = []
    for size in given.sizes:
        tokens = batch(size)[2]
        for threads in given.threads:
            torch.set_num_threads(threads)
            times = bench.medians({side: stepper(side, size) for side in SIDES}, given.rounds)
            for side, (cpu, wall) in times.items():
                ratio = times["nn.Transformer"][0] / cpu
                row = {"case": f"{size}, threads: {threads}", "side": side, "cpu_s": cpu, "wall_s": wall}
                rows.append(row | {"per_s": tokens / wall, "times_faster": ratio, "peak_mb": memory[side, size]})
                line = f"{row['case']:18} {side:15} {tokens / wall:8,.0f} tokens/s"
                print(f"{line}  {ratio:5.2f} x  {memory[side, size]:6,} MB", flush=True)
    bench.write(given.out, "training", "One training step, tokens a second", rows, "tokens/s")


if __name__ == "__main__":
    main()
