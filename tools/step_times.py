"""Time a step of training of each translator that the chapter on today's layer compares, on this machine.

    python tools/step_times.py small packaged                # some minutes for each size; nothing else should run

The models take turns, so a machine that is slow for a while is slow for all of them. The medians go into
book/results/today_times.json, with the command and the machine.
"""

import argparse
import platform
import shlex
import sys
from pathlib import Path

import torch

from tested_transformer.book import ablation
from tested_transformer.files import sealed, write_json

RESULTS = Path(__file__).parents[1] / "book" / "results" / "today_times.json"


def main(words=None):
    """Time the models of some sizes, and keep the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="+", choices=ablation.SIZES)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--out", type=Path, default=RESULTS)
    told = parser.parse_args(words)
    torch.set_num_threads(1)
    given = ablation.sentences()
    found = {}
    for name in told.sizes:
        times = ablation.step_times([*ablation.SWAPS], ablation.SIZES[name], given, told.rounds)
        found[name] = {model: round(t, 2) for model, t in times.items()}
        print(name, found[name], flush=True)
    command = shlex.join(["tools/step_times.py", *told.sizes, "--rounds", str(told.rounds)])
    about = {"command": command, "machine": told.machine, "threads": 1, "rounds": told.rounds}
    write_json(told.out, sealed(about | {"milliseconds": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
