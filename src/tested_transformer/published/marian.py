"""Marian's translators (OPUS-MT) as Hugging Face publishes them."""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn

from tested_transformer import names
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model.marian import Marian, MarianConfig, in_halves
from tested_transformer.model.positions import sinusoids
from tested_transformer.published.about import ACTIVATIONS, About, ids_of

AS_KNOWN = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
}
"""Fields that change what is computed, and what each has to be."""
SIDES = {"layers": 12, "attention_heads": 16, "ffn_dim": 4096}
"""Sizes that encoder and decoder have each, but must share here; and the usual ones."""


class MarianFamily:
    """What a folder of a Marian says, and which of our models that is."""

    def names(self, about: About) -> Mapping[str, str]:
        """Its names, and ours."""
        return names.MARIAN

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about. A translation begins with decoder_start_token_id."""
        for key, known in AS_KNOWN.items():
            about.require(key, known)
        size = about.integer("vocab_size", least=1)
        about.require("decoder_vocab_size", size)
        layers, heads, d_ff = (_of_both(about, *side) for side in SIDES.items())
        start = about.integer(START, 58100)
        return MarianConfig(
            vocab_size=size,
            d_model=about.integer("d_model", 1024, 1),
            d_ff=d_ff,
            n_heads=heads,
            n_layers=layers,
            max_len=about.integer("max_position_embeddings", 1024, 1),
            dropout=about.number("dropout", 0.1),
            activation=about.choice("activation_function", ACTIVATIONS, "gelu"),
            scaled=about.flag("scale_embedding", False),
            **ids_of(ids._replace(bos=start)),
        )

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """A `Marian`."""
        assert isinstance(config, MarianConfig)
        return Marian(config)


START = "decoder_start_token_id"


def _of_both(about: About, size: str, usual: int) -> int:
    """A size that the decoder has as well as the encoder."""
    one = about.integer(f"encoder_{size}", usual, 1)
    other = about.integer(f"decoder_{size}", usual, 1)
    if one != other:
        rule = f"must be encoder_{size} ({one}): ours has one for both"
        raise about.error(f"decoder_{size}", rule)
    return one


def check_sinusoids(key: str, given: Tensor) -> None:
    """Refuse a table of positions in a file that is not the one that is computed."""
    if given.dim() != 2 or not given.is_floating_point():
        raise ValueError(f"{key} has the shape {tuple(given.shape)}")
    n, d_model = given.shape
    off = in_halves(sinusoids(n, d_model, torch.float64)) - given
    if not off.abs().max() <= 2 * torch.finfo(given.dtype).eps:
        raise ValueError(f"{key} must be sinusoids: others are not known here")
