"""Teach a chat model the phrasebook's German through thin matrices, and keep what it could do before and after.

    python tools/chat_lora.py                     # 1,200 examples once; a quarter of an hour on one thread

Sentences, questions and measures are those of `tested_transformer.book.chat_lora`. Rank, learning rate and number of
examples were set before the first run, and nothing was tried besides. What was measured goes into
book/results/chat_lora.json, with this command, the seed, the checksum of the model's file and that of the thin
matrices.
"""

import argparse
import shlex
import sys
import time
from hashlib import sha256
from pathlib import Path

import torch

from tested_transformer.book import chat_lora
from tested_transformer.files import sealed, write_json
from tested_transformer.model.lowrank import add_low_rank, low_rank_state, merge_low_rank
from tested_transformer.published.installed import CHAT, installed
from tested_transformer.published.loading import load_published
from tested_transformer.training import checkpoint

RESULTS = Path(__file__).parents[1] / "book" / "results" / "chat_lora.json"
RANK, RATE, SEED = 8, 1e-3, 0
NAMES = ("w_q", "w_k", "w_v", "w_o", "w_1", "w_2", "w_3")


def main(words=None):
    """Measure, learn, merge, measure again, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1200)
    parser.add_argument("--tested", type=int, default=50)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    path = installed(CHAT)
    model, tokens = load_published(path)
    tested = chat_lora.chosen(given.tested, held=True)
    found = {"before": chat_lora.measure(model, tokens, tested)}
    print(found, flush=True)
    everything = sum(p.numel() for p in model.parameters())
    add_low_rank(model, RANK, NAMES)
    begun = time.process_time()
    losses = chat_lora.learn(model, tokens, chat_lora.chosen(given.examples, held=False), RATE)
    seconds = time.process_time() - begun
    kept = low_rank_state(model)
    merge_low_rank(model)
    found["after"] = chat_lora.measure(model, tokens, tested)
    for part in found.values():
        part["surprise"] = round(part["surprise"], 4)
    print(found["after"], flush=True)
    command = shlex.join(["tools/chat_lora.py", "--examples", str(given.examples), "--tested", str(given.tested)])
    told = {"command": command, "seed": SEED, "rank": RANK, "lr": RATE, "names": [*NAMES]}
    told |= {"examples": given.examples, "tested": given.tested, "seconds": round(seconds)}
    told |= {"model": sha256(path.read_bytes()).hexdigest(), "parameters": everything}
    told |= {"thin": sum(w.numel() for w in kept.values()), "thin weights": checkpoint.checksum(kept, "{}")}
    told |= {"losses": [round(sum(losses[i : i + 20]) / 20, 3) for i in range(0, len(losses) - 19, 20)]}
    write_json(given.out, sealed(told | found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
