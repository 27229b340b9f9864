"""Qwen2 and Qwen3 as Hugging Face publishes them: Llamas with other biases, or with QK-norm."""

from typing import Any

from tested_transformer.config import Config, SpecialIds
from tested_transformer.published.about import About
from tested_transformer.published.llama import LlamaFamily

QWEN_2: dict[str, Any] = {"attention_bias": True, "output_bias": False}
"""What makes a Qwen2 of a Llama: a bias on queries, keys and values alone."""
QWEN_3: dict[str, Any] = {"qk_norm": True}
"""What makes a Qwen3: a norm on queries and keys."""
USUAL = {"num_key_value_heads": 32, "max_position_embeddings": 32_768}
"""What their library fills in where a file has no such field."""
FULL = "full_attention"


class QwenFamily(LlamaFamily):
    """What a folder of a Qwen says, and which `Llama` that is."""

    def __init__(self, made: dict[str, Any]) -> None:
        self._made = made

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about. A window that slides over the text is refused."""
        about.require("use_sliding_window", False)
        layers = about.fields.get("layer_types")
        if layers is not None and (
            not isinstance(layers, list) or any(kind != FULL for kind in layers)
        ):
            raise about.error("layer_types", f"must be a list of {FULL!r}")
        usual = USUAL | ({"head_dim": 128} if "qk_norm" in self._made else {})
        made = super().config(About(usual | about.fields, about.name), ids)
        return made.replace(**self._made)
