"""Train the GPTs of five sizes that the section on scaling compares, and keep what was measured of each.

    python tools/scaling.py rates                       # which rate each width likes best; first
    python tools/scaling.py enough "few steps"          # five widths, three seeds each
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
from tested_transformer.book.small import language_model
from tested_transformer.files import read_json, sealed, write_json
from tested_transformer.training import checkpoint

RESULTS = Path(__file__).parents[1] / "book" / "results" / "scaling.json"
TRIAL, TRIED = 99, scaling.Setting(steps=1000, sentences=64_000)


def main(words=None):
    """Train and measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", choices=["rates", *scaling.SETTINGS], nargs="+")
    parser.add_argument("--rates", type=float, nargs="+", choices=scaling.RATES, default=scaling.RATES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--widths", type=int, nargs="+", choices=scaling.WIDTHS, default=scaling.WIDTHS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    told = parser.parse_args(words)
    torch.set_num_threads(1)
    given = language_model.read(scaling.LEARN, scaling.JUDGE)
    for setting in told.settings:
        for width, seed, rate in runs(setting, told):
            row = {"setting": setting, "width": width, "seed": seed, "rate": rate}
            if not any(row.items() <= kept.items() for kept in rows(told.out)):
                row |= run(setting, width, seed, rate, given)
                keep(told.out, row)
                print(row, flush=True)
    return 0


def runs(setting, told):
    """Each run of a setting: its width, its seed and its highest rate."""
    if setting == "rates":
        return [(width, TRIAL, rate) for width in told.widths for rate in told.rates]
    return [(width, seed, best_rate(told.out, width)) for seed in told.seeds for width in told.widths]


def run(setting, width, seed, rate, given):
    """Train one model and measure it."""
    model, learned, loss = scaling.run(width, scaling.SETTINGS.get(setting, TRIED), seed, rate, given)
    how = ["--rates", str(rate)] if setting == "rates" else ["--seeds", str(seed)]
    return {
        "parameters": scaling.n_parameters(model),
        "training": round(learned, 6),
        "loss": round(loss, 6),
        "command": shlex.join(["tools/scaling.py", setting, "--widths", str(width), *how]),
        "weights": checkpoint.checksum(model.state_dict(), "{}"),
    }


def best_rate(path, width):
    """The rate with which this width had the least loss when it tried them."""
    tried = {r["rate"]: r["loss"] for r in rows(path) if (r["setting"], r["width"]) == ("rates", width)}
    best = min(tried, key=tried.get, default=0)
    if not min(tried, default=0) < best < max(tried):
        raise ValueError(f"width {width} has tried {sorted(tried)}, and needs a worse rate on both sides of its best")
    return best


def rows(path):
    """What is kept so far."""
    return read_json(path, "record of runs")["runs"] if path.exists() else []


def keep(path, row):
    """Add a run in place of an earlier one; they are listed by setting, width and seed, trials by their rates, too."""
    runs = sorted([*(r for r in rows(path) if place(r) != place(row)), row], key=place)
    settings = {name: setting._asdict() for name, setting in scaling.SETTINGS.items()}
    write_json(path, sealed({"trial": TRIED._asdict(), "settings": settings, "runs": runs}))


def place(row):
    """Where a run is in the list; only trials of several rates are different runs."""
    names = ["rates", *scaling.SETTINGS]
    setting = row["setting"]
    return names.index(setting), row["width"], row["seed"], row["rate"] if setting == "rates" else 0


if __name__ == "__main__":
    sys.exit(main())
