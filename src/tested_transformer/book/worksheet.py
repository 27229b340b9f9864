"""The numbers for the whole machine on one sheet of paper."""

from typing import NamedTuple

import numpy as np

from tested_transformer.book.coreference import FRAMES
from tested_transformer.book.patterns import on_the_thing
from tested_transformer.book.pretrained import begun, params
from tested_transformer.byhand.transformer import tensors, transformer
from tested_transformer.decoding.translator import Translator


class Followed(NamedTuple):
    """A run of the translator, and what of it a sheet follows."""

    run: dict[str, np.ndarray]  # by the names of `byhand.transformer.tensors`
    vocabulary: list[str]  # the tokens by their ids
    rows: tuple[int, int]  # of "it" in the encoder, and the last one of the decoder
    head: tuple[int, int]  # the layer and the head of "it" that finds the noun, from 0
    size: int  # so many numbers the model has learned


def numbers(translator: Translator, thing: str = "chair") -> Followed:
    """What the translator calculates where it is asked for the pronoun of the first frame about a thing."""
    ids, trained = begun(translator, thing), params(translator)
    _, saved = transformer(*ids, trained, translator.model.config)
    vocabulary = [translator.name(i) for i in range(translator.model.config.vocab_size)]
    it = [vocabulary[i] for i in ids[0][0]].index(" it")
    found = on_the_thing(translator, FRAMES[0], thing)
    layer, head = divmod(int(found.argmax()), found.shape[1])
    return Followed(
        dict(tensors(saved)),
        vocabulary,
        (it, ids[1].shape[1] - 1),
        (layer, head),
        sum(x.size for x in trained.values()),
    )
