"""Train small GPTs to answer, go on with each in several ways, and keep what was measured.

    python tools/answering.py                              # five seeds; forty minutes on one thread
    python tools/answering.py --seeds 1 --only "exact judge"
    python tools/answering.py --start book/results/answering.safetensors   # only the start of seed 0, for the page

What each way is, and how many steps it takes, is in `tested_transformer.book.answering_runs`. A run that is in
book/results/answering.json already is not repeated; with it are its command, its seed and the checksum of its weights.

What is compared was named before the first of these runs: the part of the test sentences with "it" whose pronouns are
right, on each way after its last step, against "more of the same" with the same seed. The learning rates and the two
betas were chosen before with seed 99, which is in no comparison.
"""

import argparse
import shlex
import sys
import time
from pathlib import Path

import torch
from records import keep, runs

from tested_transformer.book import answering_runs as ways
from tested_transformer.training import checkpoint

RESULTS = Path(__file__).parents[1] / "book" / "results" / "answering.json"


def main(words=None):
    """Train and measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[*range(5)])
    parser.add_argument("--only", nargs="+", choices=ways.RUNS, default=[*ways.RUNS])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--start", type=Path)
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    if given.start:
        model = ways.started("careless person", 0)[0]
        checkpoint.write_tensors(given.start, {name: w.half() for name, w in model.state_dict().items()}, {})
        return 0
    for seed in given.seeds:
        starts = {}
        for name in given.only:
            if any((r["name"], r["seed"]) == (name, seed) for r in runs(given.out)):
                continue
            of = ways.RUNS[name].start
            if of not in starts:
                starts[of] = ways.started(of, seed)
            begun = time.process_time()
            model, found = ways.run(name, *starts[of], seed)
            row = {"name": name, "seed": seed, "seconds": round(time.process_time() - begun)}
            row["command"] = shlex.join(["tools/answering.py", "--seeds", str(seed), "--only", name])
            whole = row | found | {"weights": checkpoint.checksum(model.state_dict(), "{}")}
            keep(given.out, whole, place)
            print(row, found, flush=True)
    return 0


def place(row):
    """Runs are listed by name and seed."""
    return [*ways.RUNS].index(row["name"]), row["seed"]


if __name__ == "__main__":
    sys.exit(main())
