"""The package's translator as one script, for pages that calculate with it: a byte for each weight.

The script is made of the weights that Python reads, which int8 and a scale for each row give exactly.
"""

import base64
import functools
import json
import pathlib
import re
from dataclasses import asdict

import numpy as np
import torch

from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.phrasebook.corpus import sentences
from tested_transformer.training import checkpoint
from tested_transformer.training.int8 import from_int8, to_int8

NAME = "phrasebook.js"
ENOUGH = 5000  # so many sentences have every word of the phrasebook


@functools.cache
def script(folder=PHRASEBOOK):
    """A classic script, which a page from the disk may load too: config, merges, words, and the tensors by name.

    `words` are the English words that the model has been trained on.
    `integers` are bytes with a sign, `scales` little-endian float32, both in base64 and in the order of `shapes`: row
    after row, a tensor of one axis being one row. A weight is its integer times the scale of its row.
    """
    model, tokens = checkpoint.load(folder)
    shapes, integers, scales = {}, [], []
    for name, weight in model.state_dict().items():
        whole, scale = to_int8(weight)
        if not torch.equal(from_int8(whole, scale), weight):
            raise ValueError(
                f"{name} in {folder} is not what int8 and a scale give: round it first"
            )
        shapes[name] = list(weight.shape)
        integers.append(whole.numpy().tobytes())
        scales.append(scale.numpy().astype(np.dtype("<f4")).tobytes())
    told = {"config": asdict(model.config), "merges": tokens.merges}
    told |= {"words": words(sentences(ENOUGH)), "shapes": shapes}
    for key, parts in (("integers", integers), ("scales", scales)):
        told[key] = base64.b64encode(b"".join(parts)).decode()
    return f"window.phrasebook = {json.dumps(told, separators=(',', ':'))};\n"


def words(said):
    """The English words of sentences, by alphabet."""
    return sorted({word for s in said for word in re.findall(r"\w+", s.english)})


def write_translator(app, error):
    """Put the script beside the other static files of the built book."""
    if not error and app.builder.format == "html":
        pathlib.Path(app.outdir, "_static", NAME).write_text(script(), encoding="utf-8")
