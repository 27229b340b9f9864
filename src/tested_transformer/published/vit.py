"""A Vision Transformer as Hugging Face publishes it."""

from collections.abc import Collection, Mapping

from torch import nn

from tested_transformer import names
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.published.about import ACTIVATIONS, About, n_labels


class VitFamily:
    """What a folder of a ViT says, and which of our models that is."""

    def names(self, about: About) -> Mapping[str, str]:
        """Its names, and ours."""
        return names.VIT

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about. There are no tokens, so one id is enough for all roles."""
        about.require("qkv_bias", True)
        side, size = about.integer("image_size", 224, 1), _size(about)
        if side % size:
            raise about.error(
                "image_size", f"must be a multiple of patch_size ({size})"
            )
        return Config(
            vocab_size=1,
            d_model=about.integer("hidden_size", 768, 1),
            d_ff=about.integer("intermediate_size", 3072, 1),
            n_heads=about.integer("num_attention_heads", 12, 1),
            n_layers=about.integer("num_hidden_layers", 12, 1),
            max_len=(side // size) ** 2 + 1,
            dropout=about.number("hidden_dropout_prob", 0.0),
            norm_eps=about.number("layer_norm_eps", 1e-12),
            activation=about.choice("hidden_act", ACTIVATIONS, "gelu"),
            attention_bias=True,
            norm_first=True,
            pad_id=0,
            bos_id=0,
            eos_id=0,
            unk_id=0,
        )

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """A `VisionTransformer`."""
        channels = about.integer("num_channels", 3, 1)
        return VisionTransformer(config, _size(about), n_labels(about), channels)


def _size(about: About) -> int:
    return about.integer("patch_size", 16, 1)
