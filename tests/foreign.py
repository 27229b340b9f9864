"""Models of Hugging Face's library: with random weights, without their rounding to float32, and as changed folders."""

import json
import math
from contextlib import contextmanager

import torch
import transformers
from helpers import normal, randomised
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

BERT = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
BERT |= {"num_hidden_layers": 2, "max_position_embeddings": 20, "pad_token_id": 0}
ROBERTA = BERT | {"type_vocab_size": 1, "layer_norm_eps": 1e-5, "max_position_embeddings": 22}
ROBERTA |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
GPT_2 = {"vocab_size": 40, "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 20}
GPT_2 |= {"bos_token_id": 39, "eos_token_id": 39}
LLAMA = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
LLAMA |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5}
LLAMA_3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA_3 |= {"original_max_position_embeddings": 40}
DISTILBERT = {"vocab_size": 40, "dim": 32, "hidden_dim": 64, "n_heads": 4, "n_layers": 2, "max_position_embeddings": 20}
VIT = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "num_labels": 3}
VIT |= {"image_size": 24, "patch_size": 8, "layer_norm_eps": 1e-6}
MARIAN = {"vocab_size": 200, "d_model": 32, "max_position_embeddings": 64, "activation_function": "swish"}
MARIAN |= {f"{side}_{size}": n for side in ("encoder", "decoder") for size, n in (("layers", 2), ("ffn_dim", 48))}
MARIAN |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "scale_embedding": True}
MARIAN |= {"pad_token_id": 199, "decoder_start_token_id": 199, "eos_token_id": 0, "forced_eos_token_id": None}
QWEN_2, QWEN_3 = LLAMA, LLAMA | {"head_dim": 12}
LINEAR = {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0}


def theirs(kind, settings, pooler=True):
    """A model of theirs with random weights, all of them, biases and norms too."""
    model = getattr(transformers, kind)
    more = {} if pooler else {"add_pooling_layer": False}
    rounds = any(name in kind for name in ("Llama", "Qwen", "ViT"))  # in their own softmax, to float32
    made = model(model.config_class(**settings, attn_implementation="sdpa" if rounds else "eager"), **more)
    tables = {n: p.detach().clone() for n, p in made.named_parameters() if not p.requires_grad}  # sinusoids
    made = randomised(made).eval()
    if kind == "MarianMTModel":
        made.final_logits_bias = 0.3 * torch.tensor(normal(*made.final_logits_bias.shape))
    for name, table in tables.items():
        made.get_parameter(name).data = table.double()
    return made


def speeds(config):
    """How fast each pair of columns turns: the definition of Llama 3.1, which speaks of wavelengths."""
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope = config.rope_parameters
    plain = rope["rope_theta"] ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    if rope["rope_type"] == "linear":
        return plain / rope["factor"]
    if rope["rope_type"] == "default":
        return plain
    old, low, high = (rope[f"{x}"] for x in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"))
    wave = 2 * math.pi / plain
    smooth = (old / wave - low) / (high - low)
    between = (1 - smooth) * plain / rope["factor"] + smooth * plain
    return torch.where(wave < old / high, plain, torch.where(wave > old / low, plain / rope["factor"], between))


def halved_sinusoids(n, width):
    """Sines and then cosines: column i of either half turns by 10000^(-2i / width) from one position to the next."""
    angles = torch.arange(n)[:, None] * 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.cat([angles.sin(), angles.cos()], 1)


@contextmanager
def precise(model):
    """Theirs rounds to float32 in norms and angles (Llama, Qwen), and in the sinusoids of Marian: not here."""
    if isinstance(model, transformers.MarianMTModel):
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.data = halved_sinusoids(*side.embed_positions.weight.shape)
    if model.config.model_type not in ("llama", "qwen2", "qwen3"):
        yield model
        return

    class Angles(nn.Module):
        def forward(self, x, position_ids):
            angles = (position_ids[..., None] * speeds(model.config)).repeat(1, 1, 2)
            return angles.cos(), angles.sin()

    norm = type(model.model.norm)
    kept = norm.forward, model.model.rotary_emb
    norm.forward = lambda n, x: F.rms_norm(x, x.shape[-1:], n.weight, n.variance_epsilon)
    model.model.rotary_emb = Angles()
    yield model
    norm.forward, model.model.rotary_emb = kept


def changed(folder, made, about=None, tensors=None, without=()):
    """A copy of a folder of ours with other settings, and other tensors."""
    made.mkdir(exist_ok=True)
    told = json.loads((folder / "config.json").read_text()) | (about or {})
    kept = {key: value for key, value in told.items() if key not in without}
    (made / "config.json").write_text(json.dumps(kept))
    given = {k: v for k, v in load_file(folder / "model.safetensors").items() if k not in without}
    save_file(given | (tensors or {}), made / "model.safetensors")
    return made
