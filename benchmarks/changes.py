"""Three changes of our own program, each job done in two ways: processor seconds, and multiplications counted.

    python benchmarks/changes.py [--rounds 5] [--out FOLDER]

The ways of all jobs take turns, and the median of each counts. A training step reads the same pairs as they come or by
length. Writing begins from what the encoder has read; without a cache the decoder runs over all tokens again for each
new one, and one after the other means that each sentence is a batch of its own.
"""

import argparse
import pathlib

import bench
import torch
from training import SIZES, TOKENS, pairs

from tested_transformer.book.cost import multiplications, writer
from tested_transformer.data.batches import plan, tensors
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.adam import create_adam
from tested_transformer.training.objective import NextToken

SIZE, PAIRS, SENTENCES, SOURCE, NEW = SIZES["small"], 320, 64, 25, 50


def trainings():
    """A step for each batch of the same pairs, as they come and by length; and the real tokens."""
    made = pairs(SIZE.vocab_size)[:PAIRS]
    groups = plan(made, TOKENS["small"])
    n = -(-PAIRS // len(groups))
    arranged = {
        "as they come": [tensors(made[first : first + n]) for first in range(0, PAIRS, n)],
        "by length": [tensors([made[i] for i in group]) for group in groups],
    }
    objective = NextToken(Transformer(SIZE), 0.1)
    adam = create_adam(objective.parameters(), lr=1e-5)

    def steps(parts):
        for source, target in parts:
            (objective(source, target)[0] / 1000).backward()
            adam.step()
            adam.zero_grad()

    real = sum(len(source) + len(target) - 1 for source, target in made)
    return {name: lambda parts=parts: steps(parts) for name, parts in arranged.items()}, real


def writings():
    """Sentences written without a cache and with one; one after the other and all at once; and their tokens."""
    model = Transformer(SIZE).eval()
    source = torch.randint(4, SIZE.vocab_size, (SENTENCES, SOURCE))
    again, cached = (writer(model, source, NEW, c) for c in (False, True))
    singles = [writer(model, one, NEW, True) for one in source.split(1)]

    def in_turn():
        for single in singles:
            single()

    caches = {"all tokens again": again, "a cache": cached}
    return caches, {"one after the other": in_turn, "all at once": cached}, SENTENCES * NEW


def main():
    """Measure, print a table, and write it as numbers, table and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=bench.RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    (steps, real), (caches, turns, new) = trainings(), writings()
    jobs = {"training: batches by length": (steps, real), "writing: a cache": (caches, new)}
    jobs |= {f"writing: {SENTENCES} sentences at once": (turns, new)}
    ways = {(job, way): f for job, (two, _) in jobs.items() for way, f in two.items()}
    work = {key: multiplications(f) for key, f in ways.items()}
    times = bench.medians(ways, given.rounds)
    rows = []
    for (job, way), (cpu, wall) in times.items():
        done = jobs[job][1]
        before = times[job, next(iter(jobs[job][0]))][0]
        row = {"case": job, "side": way, "cpu_s": cpu, "wall_s": wall, "per_s": done / wall}
        rows.append(row | {"times_faster": before / cpu, "work": work[job, way]})
        print(f"{job:32} {way:20} {cpu:8.2f} s  {before / cpu:5.2f} x  {work[job, way]:.3e}", flush=True)
    bench.write(given.out, "changes", "Three changes of a program, tokens a second", rows, "tokens/s")


if __name__ == "__main__":
    main()
