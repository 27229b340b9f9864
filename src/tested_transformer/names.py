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
    "classifier.dense": "bert.pooler",
    "classifier.out_proj": "head",
    "classifier": "head",
    "lm_head.dense": "word_head.linear",
    "lm_head.layer_norm": "word_head.norm",
    "lm_head.bias": "word_head.bias",
    "lm_head.decoder.bias": "word_head.bias",
    "lm_head.decoder.weight": "bert.tokens.weight",
}
"""Their names and ours, of BERT and RoBERTa with their heads."""

DISTILBERT = {
    "distilbert": "bert",
    "embeddings.word_embeddings": "tokens",
    "embeddings.position_embeddings.weight": "positions.table",
    "embeddings.LayerNorm": "norm",
    "transformer.layer": "encoder.layers",
    "layer": "encoder.layers",
    "attention.q_lin": "self_attention.w_q",
    "attention.k_lin": "self_attention.w_k",
    "attention.v_lin": "self_attention.w_v",
    "attention.out_lin": "self_attention.w_o",
    "sa_layer_norm": "addnorm_1.norm",
    "ffn.lin1": "feed_forward.w_1",
    "ffn.lin2": "feed_forward.w_2",
    "output_layer_norm": "addnorm_2.norm",
    "vocab_transform": "word_head.linear",
    "vocab_layer_norm": "word_head.norm",
    "vocab_projector.bias": "word_head.bias",
    "vocab_projector.weight": "bert.tokens.weight",
    "pre_classifier": "bert.pooler",
    "classifier": "head",
}
"""Those of DistilBERT."""

VIT = {
    "embeddings.cls_token": "class_token",
    "embeddings.position_embeddings": "positions.table",
    "embeddings.patch_embeddings.projection": "embedding",
    "encoder.layer": "encoder.layers",
    "layernorm_before": "addnorm_1.norm",
    "attention.attention.query": "self_attention.w_q",
    "attention.attention.key": "self_attention.w_k",
    "attention.attention.value": "self_attention.w_v",
    "attention.output.dense": "self_attention.w_o",
    "layernorm_after": "addnorm_2.norm",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "layernorm": "encoder.norm",
    "classifier": "head",
    "layers": "encoder.layers",
    "attention.q_proj": "self_attention.w_q",
    "attention.k_proj": "self_attention.w_k",
    "attention.v_proj": "self_attention.w_v",
    "attention.o_proj": "self_attention.w_o",
    "mlp.fc1": "feed_forward.w_1",
    "mlp.fc2": "feed_forward.w_2",
}
"""Those of a Vision Transformer, after "vit.": in files, and then in the library's own model."""

MARIAN = {
    "model.shared": "embedding",
    "model.encoder.embed_tokens": "embedding",
    "model.decoder.embed_tokens": "embedding",
    "lm_head": "embedding",
    "final_logits_bias": "embedding.bias",
    "model.encoder": "encoder",
    "model.decoder": "decoder",
    "self_attn.q_proj": "self_attention.w_q",
    "self_attn.k_proj": "self_attention.w_k",
    "self_attn.v_proj": "self_attention.w_v",
    "self_attn.out_proj": "self_attention.w_o",
    "self_attn_layer_norm": "addnorm_1.norm",
    "encoder_attn.q_proj": "cross_attention.w_q",
    "encoder_attn.k_proj": "cross_attention.w_k",
    "encoder_attn.v_proj": "cross_attention.w_v",
    "encoder_attn.out_proj": "cross_attention.w_o",
    "encoder_attn_layer_norm": "addnorm_2.norm",
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
    "final_layer_norm": "addnorm_2.norm",
    "third_layer_norm": "addnorm_3.norm",
}
"""Those of Marian, whose final_layer_norm is the third of a decoder's layer."""

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
    "self_attn.q_norm": "self_attention.norm_q",
    "self_attn.k_norm": "self_attention.norm_k",
    "input_layernorm": "addnorm_1.norm",
    "post_attention_layernorm": "addnorm_2.norm",
    "mlp.gate_proj": "feed_forward.w_1",
    "mlp.up_proj": "feed_forward.w_3",
    "mlp.down_proj": "feed_forward.w_2",
    "model.norm": "decoder.norm",
}
"""Those of Llama with an output table of its own, and of Qwen2 and Qwen3."""

TIED_LLAMA = LLAMA | {"lm_head.weight": "tokens.weight"}
"""The same with one table for input and output."""

TELLING = {
    "final_logits_bias": MARIAN,
    "attention.q_lin.weight": DISTILBERT,
    "embeddings.cls_token": VIT,
}
"""How the names end that only one of the tables has."""

WRAPPERS = {"module.": "DataParallel", "_orig_mod.": "torch.compile"}
NO_WEIGHTS = (
    r"position_ids$|\.attn\.(masked_)?bias$|rotary_emb\.inv_freq$|\.embed_positions\."
)
"""What is computed and not learned; some files have it all the same."""
FIRST_AXES = {
    "final_logits_bias": 1,
    "embeddings.position_embeddings": 1,
    "embeddings.cls_token": 2,
}
"""Tensors that have so many axes of length 1 before those of ours."""


def names_of(given: Mapping[str, Tensor]) -> Mapping[str, str]:
    """Which of the tables of names these weights follow."""
    for ending, names in TELLING.items():
        if any(key.endswith(ending) for key in given):
            return names
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
    value = _in_our_shape(key, value)
    key = re.sub(
        r"(decoder\.layers\.\d+)\.final_layer_norm", r"\1.third_layer_norm", key
    )
    known = "|".join(map(re.escape, names))
    name = re.sub(
        rf"(?<![^.])({known})(?![^.])",
        lambda found: names[found[0]],
        re.sub(r"^(transformer|vit)\.", "", key),
    )
    parts = [name.replace("qkv", x) for x in "qkv"] if "w_qkv" in name else [name]
    return [*zip(parts, value.chunk(len(parts)), strict=True)]


def _in_our_shape(key: str, value: Tensor) -> Tensor:
    """The numbers of one of their tensors with the axes that ours has."""
    if re.search(r"\.c_\w+\.weight$", key):  # GPT-2 has (in, out)
        return value.t()
    if key.endswith("patch_embeddings.projection.weight"):  # a convolution, as matrix
        return value.flatten(1)
    for name, axes in FIRST_AXES.items():
        for _ in range(axes * key.endswith(name)):
            value = value.squeeze(0)
    return value


def check_unwrapped(names: Iterable[str]) -> None:
    """Refuse the names of a model that something is wrapped around."""
    for name in names:
        for prefix, wrapper in WRAPPERS.items():
            if name.startswith(prefix):
                rule = f"these are of a model wrapped by {wrapper}: take those of the model inside"
                raise ValueError(f"{name} begins with {prefix!r}, and {rule}")
