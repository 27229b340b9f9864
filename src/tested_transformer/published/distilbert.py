"""DistilBERT as Hugging Face publishes it, with one of its heads."""

from collections.abc import Collection, Mapping

from torch import nn

from tested_transformer import names
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model.bert import Classifier, DistilBert, MaskedLM
from tested_transformer.published.about import ACTIVATIONS, About, ids_of, n_labels


class DistilBertFamily:
    """What a folder of a DistilBERT says, and which of our models that is."""

    def names(self, about: About) -> Mapping[str, str]:
        """Its names, and ours."""
        return names.DISTILBERT

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about."""
        return Config(
            vocab_size=about.integer("vocab_size", least=1),
            d_model=about.integer("dim", 768, 1),
            d_ff=about.integer("hidden_dim", 3072, 1),
            n_heads=about.integer("n_heads", 12, 1),
            n_layers=about.integer("n_layers", 6, 1),
            max_len=about.integer("max_position_embeddings", 512, 1),
            dropout=about.number("dropout", 0.1),
            norm_eps=1e-12,  # no file says it
            activation=about.choice("activation", ACTIVATIONS, "gelu"),
            attention_bias=True,
            **ids_of(ids),
        )

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """A `DistilBert`, alone or in a `MaskedLM` or `Classifier`."""
        heads = {name.split(".")[0] for name in found}
        bert = DistilBert(config, pooled=any("pooler" in name for name in found))
        if "word_head" in heads:
            return MaskedLM(bert)
        if "head" in heads and bert.pooled:
            return Classifier(bert, n_labels(about))
        return bert
