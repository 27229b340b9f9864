"""What Hugging Face calls the weights of its models, and what we call them."""

import re
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

BERT = {
    "roberta": "bert",
    "embeddings.word_embeddings": "tokens",
    "embeddings.position_embeddings.weight": "positions.table",
    "embeddings.token_type_embeddings": "segments",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "encoder.layers",
    "attention.self.query": "self_attention.w_q",
    "attention.self.key": "self_attention.w_k",
    "attention.self.value": "self_attention.w_v",
    "attention.output.dense": "self_attention.w_o",
    "attention.output.LayerNorm": "addnorm_1.norm",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "output.LayerNorm": "addnorm_2.norm",
    "pooler.dense": "pooler",
    "cls.predictions.transform.dense": "word_head.linear",
    "cls.predictions.transform.LayerNorm": "word_head.norm",
    "cls.predictions.bias": "word_head.bias",
    "cls.predictions.decoder.bias": "word_head.bias",
    "cls.predictions.decoder.weight": "bert.tokens.weight",
    "cls.seq_relationship": "next_head",
    "classifier": "head",
    "lm_head.dense": "word_head.linear",
    "lm_head.layer_norm": "word_head.norm",
    "lm_head.bias": "word_head.bias",
    "lm_head.decoder.bias": "word_head.bias",
    "lm_head.decoder.weight": "bert.tokens.weight",
}
"""Their names and ours, of BERT and RoBERTa with their heads."""

GPT_2 = {
    "lm_head.weight": "tokens.weight",
    "wte": "tokens",
    "wpe.weight": "positions.table",
    "h": "decoder.layers",
    "ln_1": "addnorm_1.norm",
    "attn.c_attn": "self_attention.w_qkv",
    "attn.c_proj": "self_attention.w_o",
    "ln_2": "addnorm_2.norm",
    "mlp.c_fc": "feed_forward.w_1",
    "mlp.c_proj": "feed_forward.w_2",
    "ln_f": "decoder.norm",
}
"""Those of GPT-2, whose c_attn is our w_q, w_k and w_v side by side."""

LLAMA = {
    "lm_head.weight": "tokens.output.weight",
    "model.embed_tokens": "tokens",
    "model.layers": "decoder.layers",
    "self_attn.q_proj": "self_attention.w_q",
    "self_attn.k_proj": "self_attention.w_k",
    "self_attn.v_proj": "self_attention.w_v",
    "self_attn.o_proj": "self_attention.w_o",
    "input_layernorm": "addnorm_1.norm",
    "post_attention_layernorm": "addnorm_2.norm",
    "mlp.gate_proj": "feed_forward.w_1",
    "mlp.up_proj": "feed_forward.w_3",
    "mlp.down_proj": "feed_forward.w_2",
    "model.norm": "decoder.norm",
}
"""Those of Llama with an output table of its own."""

TIED_LLAMA = LLAMA | {"lm_head.weight": "tokens.weight"}
"""Those of Llama with one table for input and output."""

WRAPPERS = {"module.": "DataParallel", "_orig_mod.": "torch.compile"}
NO_WEIGHTS = r"position_ids$|\.attn\.(masked_)?bias$|rotary_emb\.inv_freq$"


def names_of(given: Mapping[str, Tensor]) -> Mapping[str, str]:
    """Which of the tables of names these weights follow."""
    if "model.embed_tokens.weight" in given:
        table, output = (
            given.get(n) for n in ("model.embed_tokens.weight", "lm_head.weight")
        )
        untied = (
            output is not None and table is not None and not torch.equal(table, output)
        )
        return LLAMA if untied else TIED_LLAMA
    return GPT_2 if any(".c_attn." in key for key in given) else BERT


def renamed(
    key: str, value: Tensor, names: Mapping[str, str]
) -> list[tuple[str, Tensor]]:
    """One of their tensors by our names and in our shape; none if it is no weight."""
    if re.search(NO_WEIGHTS, key):
        return []
    key = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", key)
    key = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", key)
    if re.search(r"\.c_\w+\.weight$", key):  # GPT-2 has (in, out)
        value = value.t()
    known = "|".join(map(re.escape, names))
    name = re.sub(
        rf"(?<![^.])({known})(?![^.])",
        lambda found: names[found[0]],
        key.removeprefix("transformer."),
    )
    parts = [name.replace("qkv", x) for x in "qkv"] if "w_qkv" in name else [name]
    return [*zip(parts, value.chunk(len(parts)), strict=True)]


def check_unwrapped(names: Iterable[str]) -> None:
    """Refuse the names of a model that something is wrapped around."""
    for name in names:
        for prefix, wrapper in WRAPPERS.items():
            if name.startswith(prefix):
                rule = f"these are of a model wrapped by {wrapper}: take those of the model inside"
                raise ValueError(f"{name} begins with {prefix!r}, and {rule}")
