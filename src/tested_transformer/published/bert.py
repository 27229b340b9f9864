"""BERT and RoBERTa as Hugging Face publishes them, with one of its heads, or for sentence vectors."""

from collections.abc import Collection, Mapping

from torch import nn

from tested_transformer import names
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model.bert import Bert, Classifier, MaskedLM, Pretraining
from tested_transformer.published.about import ACTIVATIONS, About, ids_of, n_labels

ROBERTAS = ("roberta", "xlm-roberta")
"""Those that begin to count positions after padding, and have a different head."""


class BertFamily:
    """What a folder of a BERT says, and which of our models that is.

    Which heads it has is read from the names of its tensors: published files have more,
    or fewer, than the class that config.json names.
    """

    def names(self, about: About) -> Mapping[str, str]:
        """Its names, and ours."""
        return names.BERT

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about."""
        about.require("position_embedding_type", "absolute")
        about.require("is_decoder", False)
        about.require("add_cross_attention", False)
        return Config(
            vocab_size=about.integer("vocab_size", least=1),
            d_model=about.integer("hidden_size", 768, 1),
            d_ff=about.integer("intermediate_size", 3072, 1),
            n_heads=about.integer("num_attention_heads", 12, 1),
            n_layers=about.integer("num_hidden_layers", 12, 1),
            max_len=about.integer("max_position_embeddings", 512, 1),
            dropout=about.number("hidden_dropout_prob", 0.1),
            norm_eps=about.number("layer_norm_eps", 1e-12),
            activation=about.choice("hidden_act", ACTIVATIONS, "gelu"),
            attention_bias=True,
            **ids_of(ids),
        )

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """A `Bert`, alone or in a `Pretraining`, `MaskedLM` or `Classifier`."""
        roberta = about.text("model_type") in ROBERTAS
        bert = Bert(
            config,
            n_segments=about.integer("type_vocab_size", 2, 1),
            first_position=config.pad_id + 1 if roberta else 0,
            pooled=any("pooler" in name for name in found),
        )
        heads = {name.split(".")[0] for name in found}
        if "next_head" in heads and bert.pooled:
            return Pretraining(bert)
        if "word_head" in heads:
            if roberta:  # its head has always this one
                about.require("hidden_act", "gelu")
            return MaskedLM(bert)
        if "head" in heads and bert.pooled:
            return Classifier(bert, n_labels(about))
        return bert
