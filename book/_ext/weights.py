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

NAME, OTHER = "phrasebook.js", "phrasebook2.js"
OTHER_TRAINING = (
    pathlib.Path(__file__).parents[1] / "results" / "phrasebook2.safetensors"
)
ENOUGH = 5000  # so many sentences have every word of the phrasebook


@functools.cache
def script(folder=PHRASEBOOK, weights=None, name=NAME):
    """A classic script, which a page from the disk may load too: config, merges, words, and the tensors by name.

    The weights may be those of another training, in a file of their own.

    `words` are the English words that the model has been trained on.
    `integers` are bytes with a sign, `scales` little-endian float32, both in base64 and in the order of `shapes`: row
    after row, a tensor of one axis being one row. A weight is its integer times the scale of its row.
    """
    model, tokens = checkpoint.load(folder)
    if weights:
        model.load_state_dict(checkpoint.read_weights(weights))
    shapes, integers, scales = {}, [], []
    for tensor, weight in model.state_dict().items():
        whole, scale = to_int8(weight)
        if not torch.equal(from_int8(whole, scale), weight):
            raise ValueError(
                f"{tensor} in {weights or folder} is not what int8 and a scale give: round it first"
            )
        shapes[tensor] = list(weight.shape)
        integers.append(whole.numpy().tobytes())
        scales.append(scale.numpy().astype(np.dtype("<f4")).tobytes())
    told = {"config": asdict(model.config), "merges": tokens.merges}
    told |= {"words": words(sentences(ENOUGH)), "shapes": shapes}
    for key, parts in (("integers", integers), ("scales", scales)):
        told[key] = base64.b64encode(b"".join(parts)).decode()
    return f"window.{name.removesuffix('.js')} = {json.dumps(told, separators=(',', ':'))};\n"


def words(said):
    """The English words of sentences, by alphabet."""
    return sorted({word for s in said for word in re.findall(r"\w+", s.english)})


def write_translator(app, error):
    """Put the script beside the other static files of the built book."""
    if not error and app.builder.format == "html":
        static = pathlib.Path(app.outdir, "_static")
        (static / NAME).write_text(script(), encoding="utf-8")
        other = script(weights=OTHER_TRAINING, name=OTHER)
        (static / OTHER).write_text(other, encoding="utf-8")
