"""Train the GPTs of five sizes that the section on scaling compares, and keep what was measured of each.

    python tools/scaling.py rates                     # which rate each width likes best; first
    python tools/scaling.py enough                    # five widths, three seeds
    python tools/scaling.py "few steps"
    python tools/scaling.py "few sentences" --seeds 0

What the models are and what they learn from is in `tested_transformer.book.scaling`. Each run goes into
book/results/scaling.json with its command, its seed and the checksum of its weights; a run that is there already is not
repeated.
"""

import argparse
import shlex
import sys
from pathlib import Path

import torch

from tested_transformer.book import scaling
from tested_transformer.files import read_json, sealed, write_json
from tested_transformer.training import checkpoint

RESULTS = Path(__file__).parents[1] / "book" / "results" / "scaling.json"
TRIAL, TRIED = 99, scaling.Setting(steps=1000, sentences=64_000)


def main(words=None):
    """Train and measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("setting", choices=["rates", *scaling.SETTINGS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--widths", type=int, nargs="+", choices=scaling.WIDTHS, default=scaling.WIDTHS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    told = parser.parse_args(words)
    torch.set_num_threads(1)
    given = scaling.sentences()
    if told.setting == "rates":
        runs = [(w, TRIAL, rate) for w in told.widths for rate in scaling.RATES]
    else:
        runs = [(w, seed, best_rate(told.out, w)) for seed in told.seeds for w in told.widths]
    for width, seed, rate in runs:
        row = {"setting": told.setting, "width": width, "seed": seed, "rate": rate}
        if not any(row.items() <= kept.items() for kept in rows(told.out)):
            row |= run(told.setting, width, seed, rate, given)
            keep(told.out, row)
            print(row, flush=True)
    return 0


def run(setting, width, seed, rate, given):
    """Train one model and measure it."""
    model = scaling.create(width, given.vocabulary.vocab_size, seed)
    losses = scaling.learn(model, given, scaling.SETTINGS.get(setting, TRIED), rate, seed)
    seeds = [] if setting == "rates" else ["--seeds", str(seed)]
    return {
        "parameters": scaling.n_parameters(model),
        "training": round(sum(losses[-100:]) / 100, 6),
        "loss": round(scaling.judge(model, given), 6),
        "command": shlex.join(["tools/scaling.py", setting, *seeds, "--widths", str(width)]),
        "weights": checkpoint.checksum(model.state_dict(), "{}"),
    }


def best_rate(path, width):
    """The rate with which this width had the least loss when it tried them."""
    tried = [row for row in rows(path) if (row["setting"], row["width"]) == ("rates", width)]
    if len(tried) < len(scaling.RATES):
        raise ValueError(f"width {width} has tried {len(tried)} of its rates: run tools/scaling.py rates first")
    return min(tried, key=lambda row: row["loss"])["rate"]


def rows(path):
    """What is kept so far."""
    return read_json(path, "record of runs")["runs"] if path.exists() else []


def keep(path, row):
    """Add a run; they are listed by setting, width, seed and rate."""
    names = ["rates", *scaling.SETTINGS]
    runs = sorted([*rows(path), row], key=lambda r: (names.index(r["setting"]), r["width"], r["seed"], r["rate"]))
    settings = {name: setting._asdict() for name, setting in scaling.SETTINGS.items()}
    write_json(path, sealed({"trial": TRIED._asdict(), "settings": settings, "runs": runs}))


if __name__ == "__main__":
    sys.exit(main())
