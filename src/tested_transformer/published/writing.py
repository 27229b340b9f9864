"""Write one of this package's models as a folder that Hugging Face's library reads."""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from tested_transformer import files, names
from tested_transformer.config import Config
from tested_transformer.model.bert import Bert, Classifier, DistilBert, SentenceBert
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.model.marian import Marian
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.published.about import ACTIVATIONS
from tested_transformer.published.folder import (
    LENGTH,
    MODULES,
    POOLING,
    POOLINGS,
    WEIGHTS,
)
from tested_transformer.published.token_files import token_files
from tested_transformer.text._published import Published
from tested_transformer.text.sentence_pieces import SentencePieces
from tested_transformer.training.checkpoint import (
    ON_BERT,
    body,
    check_weights,
    describe,
)

_Fields = dict[str, Any]
_Renaming = Callable[[str], str]

_ON_BODY = {
    "Bert": "Model",
    "DistilBert": "Model",
    "SentenceBert": "Model",
    "MaskedLM": "ForMaskedLM",
    "Pretraining": "ForPreTraining",
    "Classifier": "ForSequenceClassification",
}
"""How the name of their class ends, for a model on a Bert."""


def to_huggingface(
    model: nn.Module, folder: files.StrPath, tokens: Published | None = None
) -> None:
    """Write config.json, model.safetensors and, for tokens, the files of a tokeniser.

    model is any of those that `load_published` gives, and folder new or empty. What
    Hugging Face's library would compute in a different way is refused: a `Transformer`,
    for example, whose sines and cosines alternate, or a module of your own. An XLM-R
    without its tokens is written as the RoBERTa that it is. The dtype stays.
    """
    files.check_name(folder)
    folder = Path(folder)
    about, renaming = _told(model, tokens)
    weights = model.state_dict()
    check_weights(weights)
    tensors = _renamed(weights, renaming, about)
    contents = {
        "config.json": files.to_json(about),
        WEIGHTS: to_bytes(tensors, {"format": "pt"}),
        **_beside(model),
        **({} if tokens is None else token_files(tokens)),
    }
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: its files could be of another model")
    for name in contents:
        files.make_folder((folder / name).parent)
    files.write_all({folder / name: content for name, content in contents.items()})


def _told(model: nn.Module, tokens: Published | None) -> tuple[_Fields, _Renaming]:
    """What config.json says, and from our names to theirs."""
    kind = next((kind for kind in _WRITERS if isinstance(model, kind)), None)
    if kind is None:
        known = ", ".join(each.__name__ for each in _WRITERS)
        rule = f"cannot be written; these can: {known}"
        raise TypeError(f"{type(model).__name__} {rule}")
    if own := describe(model).get("replaced"):
        raise TypeError(f"{own[0]} is a module of your own, which no library knows")
    config = body(model).config
    if tokens is not None and tokens.vocab_size > config.vocab_size:
        found = f"{tokens.vocab_size} tokens, the model {config.vocab_size}"
        raise ValueError(f"the tokeniser has {found}")
    about, renaming = _WRITERS[kind](model)
    if about["model_type"] == "roberta" and isinstance(tokens, SentencePieces):
        of = about["architectures"][0].replace("Roberta", "XLMRoberta")
        about |= {"model_type": "xlm-roberta", "architectures": [of]}
    dtype = f"{next(model.parameters()).dtype}".removeprefix("torch.")
    ids = {f"{n}_token_id": i for n, i in config.special_ids._asdict().items()}
    if ends := {*getattr(tokens, "ends", ())} - {config.eos_id}:
        ids["eos_token_id"] = [config.eos_id, *sorted(ends)]
    return {"dtype": dtype} | ids | about, renaming


def _beside(model: nn.Module) -> dict[str, bytes]:
    """What other files say: how a Marian is searched, how vectors of tokens are pooled."""
    if isinstance(model, Marian):
        return {"generation_config.json": files.to_json(_search(model.config))}
    if not isinstance(model, SentenceBert):
        return {}
    kinds = ["Transformer", "Pooling", *["Normalize"] * model.normalised]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": i, "name": f"{i}", "path": path, "type": f"{_OF_SENTENCES}.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=False))
    ]
    width = {"word_embedding_dimension": model.bert.config.d_model}
    modes = {mode: own == model.pooling for mode, own in POOLINGS.items()}
    length = {"max_seq_length": model.max_tokens, "do_lower_case": False}
    return {
        MODULES: files.to_json(modules),
        POOLING: files.to_json(width | modes),
        LENGTH: files.to_json(length),
    }


_OF_SENTENCES = "sentence_transformers.models"
"""Where the classes are that a modules.json names."""


def _renamed(
    weights: Mapping[str, Tensor], renaming: _Renaming, about: _Fields
) -> dict[str, Tensor]:
    """The weights by their names and in their shapes."""
    found: dict[str, list[Tensor]] = {}
    for name, tensor in weights.items():  # a w_q comes before its w_k and w_v
        name = renaming(
            re.sub(r"w_[qkv]\b", "w_qkv", name) if _GPT_2 in about else name
        )
        found.setdefault(name, []).append(_shaped(name, tensor, about))
    axis = {name: int(name.endswith("weight")) for name in found}
    joined = {
        name: torch.cat(parts, axis[name]) if len(parts) > 1 else parts[0]
        for name, parts in found.items()
    }
    return {name: tensor.cpu().contiguous() for name, tensor in joined.items()}


_GPT_2 = "n_embd"
"""A field that only a GPT-2 has, whose matrices are (in, out)."""


def _shaped(name: str, tensor: Tensor, about: _Fields) -> Tensor:
    """One of our tensors with the axes that theirs has."""
    if re.search(r"\.c_\w+\.weight$", name):
        return tensor.t()
    if name.endswith("patch_embeddings.projection.weight"):
        side = about["patch_size"]
        return tensor.unflatten(1, (-1, side, side))
    for ending, axes in names.FIRST_AXES.items():
        if name.endswith(ending):
            return tensor[(None,) * axes]
    return tensor


def _backwards(table: Mapping[str, str], *without: str) -> _Renaming:
    """From our names to theirs. Of several for one of ours, the first in table counts."""
    known = {
        our: their
        for their, our in reversed([*table.items()])
        if not their.startswith(without)
    }
    longest_first = sorted(known, key=len, reverse=True)
    pattern = rf"(?<![^.])({'|'.join(map(re.escape, longest_first))})(?![^.])"
    return lambda name: re.sub(pattern, lambda found: known[found[0]], name)


# Each family: what config.json says, and the names


def _usual(config: Config, kind: str, **wanted: Any) -> None:
    """Refuse settings that theirs does not have."""
    wanted |= {"d_v": config.d_k}
    if not isinstance(config, LlamaConfig):
        wanted |= {"d_k": config.d_model / config.n_heads}
    for name, value in wanted.items():
        if (own := getattr(config, name)) != value:
            raise ValueError(f"{name} ({own}) must be {value}: a {kind} has no other")


def _activation(config: Config) -> str:
    """Their name of it; of several the first."""
    return next(their for their, our in ACTIVATIONS.items() if our == config.activation)


def _labels(n: int) -> _Fields:
    named = {str(i): f"LABEL_{i}" for i in range(n)}
    return {"id2label": named, "label2id": {name: int(i) for i, name in named.items()}}


def _gpt2(model: Any) -> tuple[_Fields, _Renaming]:
    c = model.config
    _usual(c, "GPT-2", norm_first=True, final_norm=True, attention_bias=True)
    about = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": c.vocab_size,
        "n_embd": c.d_model,
        "n_inner": c.d_ff,
        "n_head": c.n_heads,
        "n_layer": c.n_layers,
        "n_positions": c.max_len,
        "embd_pdrop": c.dropout,
        "resid_pdrop": c.dropout,
        "attn_pdrop": 0.0,
        "layer_norm_epsilon": c.norm_eps,
        "activation_function": _activation(c),
    }
    theirs = _backwards(names.GPT_2, "lm_head")
    return about, lambda name: f"transformer.{theirs(name)}"


def _llama(model: Any) -> tuple[_Fields, _Renaming]:
    c = model.config
    kind = "Qwen3" if c.qk_norm else "Llama"
    if c.attention_bias and not c.output_bias:
        kind = "Qwen2"
    _usual(c, kind, norm_first=True, final_norm=True, dropout=0.0)
    _usual(c, kind, qk_norm=kind == "Qwen3")
    rope: _Fields = {"rope_type": "default", "rope_theta": c.rope_base}
    if c.rope_factors is not None:
        if len({*c.rope_factors}) > 1:
            rule = "must be one for all pairs: which settings gave these is not known"
            raise ValueError(f"rope_factors {rule}")
        rope |= {"rope_type": "linear", "factor": c.rope_factors[0]}
    about = {
        "model_type": kind.lower(),
        "architectures": [f"{kind}ForCausalLM"],
        "vocab_size": c.vocab_size,
        "hidden_size": c.d_model,
        "intermediate_size": c.d_ff,
        "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_kv_heads,
        "num_hidden_layers": c.n_layers,
        "head_dim": c.d_k,
        "max_position_embeddings": c.max_len,
        "rms_norm_eps": c.norm_eps,
        "rope_parameters": rope,
        "tie_word_embeddings": c.tied,
        "hidden_act": "silu",
    }
    if kind != "Qwen2":  # there it is no setting
        about["attention_bias"] = c.attention_bias
    return about, _backwards(names.LLAMA)


def _bert(model: Any) -> tuple[_Fields, _Renaming]:
    bert, c = body(model), body(model).config
    _usual(c, "BERT", norm_first=False, final_norm=False, attention_bias=True)
    if isinstance(bert, DistilBert):
        return _distilbert(model)
    roberta = bert.first_position > 0
    kind, ending = "Roberta" if roberta else "Bert", _ON_BODY[type(model).__name__]
    if roberta and (
        bert.first_position != c.pad_id + 1
        or ending == "ForPreTraining"
        or (ending == "ForMaskedLM" and c.activation != "gelu")
    ):
        rule = "must be pad_id + 1, without a next_head, and a word_head with GELU"
        raise ValueError(f"first_position ({bert.first_position}) {rule}: a RoBERTa")
    about = {
        "model_type": kind.lower(),
        "architectures": [kind + ending],
        "vocab_size": c.vocab_size,
        "hidden_size": c.d_model,
        "intermediate_size": c.d_ff,
        "num_attention_heads": c.n_heads,
        "num_hidden_layers": c.n_layers,
        "max_position_embeddings": c.max_len,
        "type_vocab_size": bert.n_segments,
        "hidden_dropout_prob": c.dropout,
        "attention_probs_dropout_prob": 0.0,
        "layer_norm_eps": c.norm_eps,
        "hidden_act": _activation(c),
    }
    without = [
        "cls." if roberta else "lm_head",
        "cls.predictions.decoder",
        "lm_head.decoder",
    ]
    without += [] if roberta else ["roberta"]
    if not (roberta and isinstance(model, Classifier)):
        without += ["classifier.dense", "classifier.out_proj"]
    if isinstance(model, Classifier):
        about |= _labels(model.head.out_features)
    return about, _of_body(model, _backwards(names.BERT, *without))


def _distilbert(model: Any) -> tuple[_Fields, _Renaming]:
    c, ending = body(model).config, _ON_BODY[type(model).__name__]
    _usual(c, "DistilBERT", norm_eps=1e-12)
    about = {
        "model_type": "distilbert",
        "architectures": [f"DistilBert{ending}"],
        "vocab_size": c.vocab_size,
        "dim": c.d_model,
        "hidden_dim": c.d_ff,
        "n_heads": c.n_heads,
        "n_layers": c.n_layers,
        "max_position_embeddings": c.max_len,
        "dropout": c.dropout,
        "attention_dropout": 0.0,
        "activation": _activation(c),
    }
    if isinstance(model, Classifier):
        about |= _labels(model.head.out_features)
    theirs = _backwards(names.DISTILBERT, "layer", "vocab_projector.weight")
    return about, _of_body(model, theirs)


def _of_body(model: nn.Module, theirs: _Renaming) -> _Renaming:
    """For vectors of texts the names of the body alone, as they are published."""
    whole = _ON_BODY[type(model).__name__] != "Model"
    return theirs if whole else lambda name: theirs(name.removeprefix("bert."))


def _vit(model: Any) -> tuple[_Fields, _Renaming]:
    c, side = model.config, math.isqrt(model.config.max_len - 1)
    _usual(c, "ViT", norm_first=True, final_norm=True, attention_bias=True)
    if side**2 + 1 != c.max_len:
        rule = "must be one more than a square of patches"
        raise ValueError(f"max_len ({c.max_len}) {rule}")
    about = {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        "image_size": side * model.size,
        "patch_size": model.size,
        "num_channels": model.channels,
        "hidden_size": c.d_model,
        "intermediate_size": c.d_ff,
        "num_attention_heads": c.n_heads,
        "num_hidden_layers": c.n_layers,
        "hidden_dropout_prob": c.dropout,
        "layer_norm_eps": c.norm_eps,
        "hidden_act": _activation(c),
    }
    theirs = _backwards(names.VIT)
    return about | _labels(
        model.n_classes
    ), lambda name: theirs(name) if name.startswith("head") else f"vit.{theirs(name)}"


def _marian(model: Any) -> tuple[_Fields, _Renaming]:
    c = model.config
    _usual(c, "Marian", norm_first=False, final_norm=False, attention_bias=True)
    _usual(c, "Marian", norm_eps=1e-5)
    sizes = {"layers": c.n_layers, "attention_heads": c.n_heads, "ffn_dim": c.d_ff}
    about = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": c.vocab_size,
        "decoder_vocab_size": c.vocab_size,
        "d_model": c.d_model,
        "max_position_embeddings": c.max_len,
        "dropout": c.dropout,
        "activation_function": "swish" if c.activation == "silu" else _activation(c),
        "scale_embedding": c.scaled,
        "decoder_start_token_id": c.bos_id,
        "bos_token_id": None,
        "forced_eos_token_id": None,
        "is_encoder_decoder": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
    }
    for side in ("encoder", "decoder"):
        about |= {f"{side}_{name}": size for name, size in sizes.items()}
    theirs = _backwards(names.MARIAN)

    def renaming(name: str) -> str:
        name = theirs(name).replace("third_layer_norm", "final_layer_norm")
        if name.startswith("model.encoder."):
            name = name.replace("encoder_attn_layer_norm", "final_layer_norm")
        return name

    return about, renaming


def _search(config: Config) -> _Fields:
    """What their search has to know: the begin, the end, and that padding is no word."""
    return {
        "decoder_start_token_id": config.bos_id,
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "bad_words_ids": [[config.pad_id]],
        "max_length": config.max_len,
    }


_WRITERS: dict[type[nn.Module], Callable[[Any], tuple[_Fields, _Renaming]]] = {
    Marian: _marian,
    Llama: _llama,
    Gpt: _gpt2,
    VisionTransformer: _vit,
    Bert: _bert,
    **dict.fromkeys(ON_BERT, _bert),
}
"""What each kind of model says of itself in their words."""
