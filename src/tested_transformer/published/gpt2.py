"""GPT-2 as Hugging Face publishes it."""

from collections.abc import Collection, Mapping

from torch import nn

from tested_transformer import names
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model.gpt import Gpt
from tested_transformer.published.about import ACTIVATIONS, About, ids_of


class Gpt2Family:
    """What a folder of GPT-2 says, and which of our models that is."""

    def names(self, about: About) -> Mapping[str, str]:
        """Its names, and ours."""
        return names.GPT_2

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about."""
        about.require("scale_attn_weights", True)
        about.require("scale_attn_by_inverse_layer_idx", False)
        about.require("add_cross_attention", False)
        about.require("tie_word_embeddings", True)
        width = about.integer("n_embd", 768, 1)
        return Config(
            vocab_size=about.integer("vocab_size", least=1),
            d_model=width,
            d_ff=about.integer("n_inner", 4 * width, 1),
            n_heads=about.integer("n_head", 12, 1),
            n_layers=about.integer("n_layer", 12, 1),
            max_len=about.integer("n_positions", 1024, 1),
            dropout=about.number("resid_pdrop", 0.1),
            norm_eps=about.number("layer_norm_epsilon", 1e-5),
            activation=about.choice("activation_function", ACTIVATIONS, "gelu_new"),
            attention_bias=True,
            norm_first=True,
            **ids_of(ids),
        )

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """A `Gpt`."""
        return Gpt(config)
