"""Llama, and models built like it, as Hugging Face publishes them, and as GGUF."""

import math
import re
from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn

from tested_transformer import names
from tested_transformer.config import Config, SpecialIds
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.published.about import About, ids_of
from tested_transformer.published.gguf import GgufFile


class LlamaFamily:
    """What a folder of a Llama says, and which of our models that is."""

    def names(self, about: About) -> Mapping[str, str]:
        """Its names, and ours."""
        tied = about.flag("tie_word_embeddings", False)
        return names.TIED_LLAMA if tied else names.LLAMA

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about."""
        about.require("hidden_act", "silu")
        about.require("mlp_bias", False)
        about.require("partial_rotary_factor", 1.0)
        width = about.integer("hidden_size", least=1)
        heads = about.integer("num_attention_heads", least=1)
        head_width = about.integer("head_dim", width // heads, 1)
        return LlamaConfig(
            vocab_size=about.integer("vocab_size", least=1),
            d_model=width,
            d_ff=about.integer("intermediate_size", least=1),
            n_heads=heads,
            n_kv_heads=about.integer("num_key_value_heads", heads, 1),
            n_layers=about.integer("num_hidden_layers", least=1),
            d_k=head_width,
            d_v=head_width,
            max_len=about.integer("max_position_embeddings", 2048, 1),
            norm_eps=about.number("rms_norm_eps", 1e-6),
            attention_bias=about.flag("attention_bias", False),
            rope_base=rope_base(about),
            rope_factors=rope_factors(about, head_width),
            tied=about.flag("tie_word_embeddings", False),
            **ids_of(ids),
        )

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """A `Llama`."""
        assert isinstance(config, LlamaConfig)
        return Llama(config)


ROPE = ("rope_scaling", "rope_parameters")
"""Where the settings of rotary positions are; the first that is there counts."""
WIDEST = 2**16
"""So wide a head may be: its factors are made before any weight is looked at."""


def rope_settings(about: About) -> About:
    """The object with the settings of rotary positions; empty if there is none."""
    key = next((k for k in ROPE if about.fields.get(k)), None)
    return About({}, about.name) if key is None else about.within(key)


def rope_base(about: About) -> float:
    """The base of the rotary frequencies, which older files have with the sizes."""
    rope = rope_settings(about)
    return (rope if "rope_theta" in rope else about).number("rope_theta", 10_000.0)


def rope_factors(about: About, d_k: int) -> tuple[float, ...] | None:
    """By what the speed of each pair of columns is divided, as Llama 3.1 has it.

    Fast pairs stay; slow ones, which make less than one turn in the first training's
    texts, are slowed by factor; those in between by something in between.
    """
    rope = rope_settings(about)
    kind = rope.text("rope_type", rope.text("type", "default"))
    if kind not in ROPE_KINDS:
        key = "rope_type" if "rope_type" in rope else "type"
        raise rope.error(key, f"is not known here; these are: {', '.join(ROPE_KINDS)}")
    for key in rope.fields:
        if key in rope and key not in ROPE_KEYS:
            raise rope.error(key, "is not known here")
    rope.require("partial_rotary_factor", 1.0)
    if d_k > WIDEST:
        raise about.error("head_dim", f"must be at most {WIDEST}")
    if kind == "default":
        return None
    if kind == "linear":
        return (rope.number("factor"),) * (d_k // 2)
    base, longest = rope_base(about), about.integer("max_position_embeddings", 2048, 1)
    factor, low, high = map(
        rope.number, ("factor", "low_freq_factor", "high_freq_factor")
    )
    where = about if FIRST_LENGTH in about else rope
    length = where.integer(FIRST_LENGTH, longest, 1)
    if factor == 0:
        raise rope.error("factor", "must be positive")
    if not low < high:
        raise rope.error("low_freq_factor", f"must be below high_freq_factor ({high})")
    factors = []
    for i in range(d_k // 2):
        turns = length * base ** (-2 * i / d_k) / (2 * math.pi)
        smooth = min(max((turns - low) / (high - low), 0.0), 1.0)  # 0: slow, 1: fast
        factors.append(1 / ((1 - smooth) / factor + smooth))
    return tuple(factors)


ROPE_KINDS = ("default", "linear", "llama3")
FIRST_LENGTH = "original_max_position_embeddings"
ROPE_KEYS = {
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    FIRST_LENGTH,
}

ABOUT = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}
"""Fields by Hugging Face's names, and by GGUF's."""

BLOCKS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
"""Names of tensors in GGUF, and Hugging Face's."""


class GgufLlama:
    """The fields and tensors of a GGUF file, by the names that Hugging Face gives them."""

    def __init__(self, file: GgufFile) -> None:
        self._file, fields = file, file.fields
        self._names: dict[str, str] = {}
        for name in file.tensors:
            if (other := self._names.setdefault(foreign_name(name), name)) != name:
                raise ValueError(f"{file.path} has {name!r:.80} as {other!r:.80}, too")
        self.shapes = {
            name: file.tensors[own].shape for name, own in self._names.items()
        }
        given = {name: fields.get(f"llama.{own}") for name, own in ABOUT.items()}
        table = self.shapes.get("model.embed_tokens.weight", (0,))
        more = {
            "vocab_size": table[0],
            "tie_word_embeddings": "lm_head.weight" not in self.shapes,
            "attention_bias": "model.layers.0.self_attn.q_proj.bias" in self.shapes,
        }
        self.about = About(given | more, file.path)
        if (kind := fields.get("llama.rope.scaling.type", "none")) != "none":
            self.about.fields["rope_scaling"] = {
                "rope_type": kind,
                "factor": fields.get("llama.rope.scaling.factor"),
            }
        heads = self.about.integer("num_attention_heads", least=1)
        self._heads = {
            "q": heads,
            "k": self.about.integer("num_key_value_heads", heads, 1),
        }
        if "head_dim" not in self.about:
            self.about.fields["head_dim"] = (
                self.about.integer("hidden_size", least=1) // heads
            )
        turned = fields.get("llama.rope.dimension_count", self.about.fields["head_dim"])
        if turned != self.about.fields["head_dim"]:
            rule = f"must be the width of a head ({self.about.fields['head_dim']})"
            raise ValueError(
                f"{file.path}: llama.rope.dimension_count ({turned!r}) {rule}"
            )

    def tensor(self, name: str) -> Tensor:
        """One tensor in float32."""
        out = torch.empty(self.shapes[name])
        for rows, numbers in self._file.numbers(self._names[name]):
            out.numpy()[rows] = numbers
        if found := re.search(r"self_attn\.([qk])_proj", name):
            return halves(out, self._heads[found[1]])
        return out


def foreign_name(name: str) -> str:
    """What Hugging Face calls a tensor; a name that is not known stays."""
    if found := re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", name):
        layer, part, kind = found.groups()
        return f"model.layers.{layer}.{BLOCKS.get(part, part)}.{kind}"
    return WHOLE.get(name, name)


def halves(rows: Tensor, n_heads: int) -> Tensor:
    """Rows of W_Q or W_K with the pairs of each head in its two halves.

    llama.cpp stores the columns that Llama turns together as neighbours: 0 1 2 3 is 0 2 1 3 here.
    """
    pairs = rows.unflatten(0, (n_heads, -1, 2))
    return pairs.transpose(1, 2).reshape(rows.shape)
