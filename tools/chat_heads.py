"""Exchange and cut each head of a chat model in sentences with "it", and keep what that does.

    python tools/chat_heads.py                     # all 30 layers, 60 sentences; about ten minutes on one thread

The sentences and the measures are those of `tested_transformer.book.pronoun_heads`. The ten nouns
were chosen among sixteen, because the model's next adjective follows the noun, before any head was looked at.
A trial had three of the frames; after it, the sentences stayed, and a cut was measured by what is lost (`lost`) and no
longer by what moves.
The numbers go into book/results/chat.json, with this command and the checksum of the model's file. Each is a mean over
the ten sentences of a frame; `largest` has, of each head, the value that is farthest from 0 in any of the sixty.
"""

import argparse
import shlex
import sys
from hashlib import sha256
from pathlib import Path

import torch
from record import compact

from tested_transformer.book import pronoun_heads as it
from tested_transformer.book.chat_model import lens, residuals
from tested_transformer.files import sealed
from tested_transformer.published.installed import CHAT, PACKAGES, installed
from tested_transformer.published.loading import load_published

RESULTS = Path(__file__).parents[1] / "book" / "results" / "chat.json"


def rounded(numbers):
    """Nested lists with three decimals."""
    if isinstance(numbers, list):
        return [rounded(number) for number in numbers]
    return round(numbers, 3) + 0.0  # no minus before a zero


def measured(model, asked):
    """Of one frame: in how many sentences the right adjective leads, and KINDS of all heads in all of them."""
    rows = residuals(model, asked.ids)
    plain = lens(model, rows[-1][:, -1])
    told = {"right": int((it.preference(plain, asked) > 0).sum())}
    told["noun matters"] = rounded(float((it.preference(plain, asked)).mean()))
    of_heads = [it.effects(model, asked, rows, layer) for layer in range(model.config.n_layers)]
    return told, torch.stack(of_heads, 1)


def main(words=None):
    """Measure all frames, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(words)
    torch.set_num_threads(1)
    path = installed(CHAT)
    model, tokens = load_published(path)
    frames, everything = [], []
    for frame in it.FRAMES:
        told, of_heads = measured(model, it.ask(tokens, frame))
        means = dict(zip(it.KINDS, rounded(of_heads.mean(-1).tolist()), strict=True))
        frames.append({"frame": frame} | told | {"heads": means})
        everything.append(of_heads)
        print(frame, told, flush=True)
    sentences = torch.cat(everything, -1)  # (kinds, layers, heads, sentences)
    farthest = sentences.gather(-1, sentences.abs().argmax(-1, keepdim=True))[..., 0]
    record = {
        "name": "chat",
        "command": shlex.join(["tools/chat_heads.py", *(words or [])]),
        "package": f"{CHAT}=={PACKAGES[CHAT][0]}",
        "file": path.name,
        "file sha256": sha256(path.read_bytes()).hexdigest(),
        "nouns": it.NOUNS,
        "frames": frames,
        "largest": dict(zip(it.KINDS, rounded(farthest.tolist()), strict=True)),
    }
    given.out.write_text(compact(sealed(record)), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
