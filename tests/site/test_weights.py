"""The script with the translator's weights: a page that reads it calculates with the numbers that Python has."""

import base64
import json

import numpy as np
import pytest
import torch
import weights

from tested_transformer.decoding.translator import PHRASEBOOK
from tested_transformer.phrasebook import corpus
from tested_transformer.training import checkpoint


def read(script):
    """What a page has when the script has run: every tensor, from its bytes."""
    told = json.loads(script.removeprefix("window.phrasebook = ").removesuffix(";\n"))
    integers = np.frombuffer(base64.b64decode(told["integers"]), np.int8)
    scales = np.frombuffer(base64.b64decode(told["scales"]), "<f4")
    tensors = {}
    for name, shape in told["shapes"].items():
        rows, size = int(np.prod(shape[:-1])), shape[-1]
        (here, integers), (scale, scales) = (
            np.split(integers, [rows * size]),
            np.split(scales, [rows]),
        )
        product = here.reshape(rows, size).astype(np.float64) * scale[:, None].astype(np.float64)
        tensors[name] = product.reshape(shape)
    assert len(integers) == len(scales) == 0
    return told, tensors


def test_the_script_has_at_most_1_3_million_bytes():
    assert len(weights.script().encode()) <= 1_300_000
    assert weights.script().isascii()
    assert "</script" not in weights.script()


def test_the_script_gives_every_weight_that_python_reads_in_double_precision_too():
    model, tokens = checkpoint.load(PHRASEBOOK)
    told, tensors = read(weights.script())
    wanted = model.state_dict()
    assert tensors.keys() == wanted.keys()
    for name, tensor in tensors.items():
        assert np.array_equal(tensor, wanted[name].double().numpy()), name
    assert told["config"]["n_heads"] == model.config.n_heads
    assert [tuple(pair) for pair in told["merges"]] == tokens.merges


def test_the_words_are_those_of_the_sentences_that_the_model_was_trained_on():
    told, _ = read(weights.script())
    train, _, _ = corpus.split(6000, 5)
    assert told["words"] == weights.words(train) == weights.words(corpus.sentences(6000, seed=1))
    assert {"I", "it", "chair", "Monday"} <= set(told["words"])
    assert not {"Hello", "house", ""} & set(told["words"])


def test_weights_that_were_not_rounded_are_refused(tmp_path):
    model, tokens = checkpoint.load(PHRASEBOOK)
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.w_1.weight[3, 4] += 1e-4
    checkpoint.save(tmp_path, model, tokens)
    with pytest.raises(ValueError, match=r"encoder\.layers\.0\.feed_forward\.w_1\.weight in .* round it first"):
        weights.script(tmp_path)
