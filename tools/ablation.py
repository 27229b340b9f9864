"""Train the translators that the chapter on today's layer compares, and keep what was measured of each.

    python tools/ablation.py small                        # all models, five seeds each; about an hour on two threads
    python tools/ablation.py packaged --seeds 0 1         # models as wide as the packaged translator, two seeds
    python tools/ablation.py small --only paper SwiGLU    # two of the models

Which models there are, and what they learn from, is in `tested_transformer.book.ablation`. What was measured of each
run goes into book/results/today.json with its command, its seed and the checksum of the weights; a run that is there
already is not repeated. Several of these commands may work at a time.

The comparisons were named before the first of these runs: every other model against the paper's, by the loss on
the test sentences, seed by seed. The highest learning rate of a size was chosen before, from 0.002, 0.003 and 0.005
(and 0.008 for the small size), by the paper's model alone with seed 99, which is in no comparison.
"""

import argparse
import shlex
import sys
from pathlib import Path

import torch
from records import keep, runs

from tested_transformer.book import ablation
from tested_transformer.training import checkpoint

RESULTS = Path(__file__).parents[1] / "book" / "results" / "today.json"


def main(words=None):
    """Train and measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", choices=ablation.SIZES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[*range(5)])
    parser.add_argument("--only", nargs="+", choices=ablation.SWAPS, default=[*ablation.SWAPS])
    parser.add_argument("--out", type=Path, default=RESULTS)
    told = parser.parse_args(words)
    torch.set_num_threads(1)
    size, given = ablation.SIZES[told.size], ablation.sentences()
    for seed in told.seeds:
        for name in told.only:
            if (told.size, name, seed) in {(r["size"], r["name"], r["seed"]) for r in runs(told.out)}:
                continue
            model, found = ablation.run(name, size, seed, given)
            command = shlex.join(["tools/ablation.py", told.size, "--seeds", str(seed), "--only", name])
            row = {"size": told.size, "name": name, "seed": seed, "command": command}
            row |= {"parameters": ablation.n_parameters(model), "d_ff": model.config.d_ff}
            row |= {"d_model": model.config.d_model}
            row |= {key: round(value, 6) for key, value in found.items()}
            sizes = {name: size._asdict() for name, size in ablation.SIZES.items()}
            whole = row | {"weights": checkpoint.checksum(model.state_dict(), "{}")}
            keep(told.out, whole, place, sizes=sizes)
            print(row, flush=True)
    return 0


def place(row):
    """Runs are listed by size, model and seed."""
    return [*ablation.SIZES].index(row["size"]), [*ablation.SWAPS].index(row["name"]), row["seed"]


if __name__ == "__main__":
    sys.exit(main())
