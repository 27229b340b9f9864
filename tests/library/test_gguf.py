"""GGUF files, and the two published models that are installed: their numbers are those of Hugging Face's library."""

import json
import subprocess
import sys
import zipfile

import gguf
import numpy as np
import pytest
import tokenizers
import torch
import transformers
from foreign import LLAMA, precise, theirs
from safetensors.torch import load_file
from torch.nn import functional as F
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from tested_transformer.decoding.sampling import sample
from tested_transformer.model.bert import SentenceBert
from tested_transformer.model.llama import Llama
from tested_transformer.published.gguf import GgufFile
from tested_transformer.published.installed import CHAT, SENTENCES, installed
from tested_transformer.published.llama import halves
from tested_transformer.published.loading import load_published

PROMPTS = """The capital of France is the city of
Water boils at a temperature of
Once upon a time there was a
The three primary colours are red,
One, two, three, four, five,
The opposite of hot is
Monday, Tuesday, Wednesday, Thursday,
The sun rises in the east and
A dog is a kind of
The first president of the United States
To be, or not to be,
Python is a programming language that
The largest planet in our solar system
January, February, March, April,
She opened the door and
Two plus two is equal to
The cat sat on the
Roses are red, violets are
An apple a day keeps the
Thank you very much for your
In the beginning God created the
The quick brown fox jumps over the
E equals m c
If you have any questions, please""".splitlines()
PART = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
PART |= {"gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}
PART |= {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
WHOLE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
WHOLE |= {"lm_head.weight": "output.weight"}


def gguf_name(name):
    """What GGUF calls a tensor of theirs."""
    if name in WHOLE:
        return WHOLE[name]
    _, _, layer, *_, part, kind = name.split(".")
    return f"blk.{layer}.{PART[part]}.{kind}"


def neighbours(rows, n_heads):
    """Rows of W_Q or W_K as llama.cpp's converter orders them."""
    return rows.reshape(n_heads, 2, rows.shape[0] // n_heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def their_llama(config, state):
    """Theirs with these tensors, which it shares."""
    with torch.device("meta"):
        other = transformers.LlamaForCausalLM(config)
    other.load_state_dict(state, assign=True)
    other.tie_weights()
    other.model.rotary_emb = LlamaRotaryEmbedding(config)
    return other.eval()


# SmolLM2


@pytest.fixture(scope="module")
def smol():
    return load_published(installed(CHAT), kind=Llama)


@pytest.fixture(scope="module")
def reader():
    return gguf.GGUFReader(installed(CHAT))


@pytest.fixture(scope="module")
def other_smol(reader):
    """Theirs, with the numbers that the reader of the library gguf gives."""
    fields = {name: field.contents() for name, field in reader.fields.items() if name.startswith("llama.")}
    config = transformers.LlamaConfig(
        vocab_size=fields["llama.vocab_size"],
        hidden_size=fields["llama.embedding_length"],
        intermediate_size=fields["llama.feed_forward_length"],
        num_hidden_layers=fields["llama.block_count"],
        num_attention_heads=fields["llama.attention.head_count"],
        num_key_value_heads=fields["llama.attention.head_count_kv"],
        rms_norm_eps=fields["llama.attention.layer_norm_rms_epsilon"],
        max_position_embeddings=fields["llama.context_length"],
        rope_parameters={"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
        tie_word_embeddings=True,
        eos_token_id=None,
        attn_implementation="sdpa",
    )
    given = {t.name: t for t in reader.tensors}
    with torch.device("meta"):
        names = transformers.LlamaForCausalLM(config).state_dict()
    state = {}
    for name in names:
        if name == "lm_head.weight":
            continue
        tensor = given[gguf_name(name)]
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        for part, heads in (("q_proj", config.num_attention_heads), ("k_proj", config.num_key_value_heads)):
            if part in name:
                pairs = numbers.reshape(heads, numbers.shape[0] // heads // 2, 2, numbers.shape[1])
                numbers = pairs.swapaxes(1, 2).reshape(numbers.shape)
        state[name] = torch.from_numpy(np.array(numbers))
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    return their_llama(config, state)


def test_the_header_of_smollm2_is_what_the_library_reads(reader):
    file = GgufFile(installed(CHAT))
    wanted = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    assert file.fields == wanted
    assert {t.name: (tuple(t.shape[::-1]), t.tensor_type.name, t.data_offset, t.n_bytes) for t in reader.tensors} == {
        name: tuple(stored) for name, stored in file.tensors.items()
    }
    kinds = {}
    for tensor in reader.tensors:
        kinds.setdefault(tensor.tensor_type.name, tensor)
    assert kinds.keys() == {"F32", "Q8_0", "Q4_1"}
    for tensor in [*kinds.values(), reader.tensors[-1]]:
        wanted = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        found = np.full(wanted.shape, np.nan, np.float32)
        for rows, numbers in file.numbers(tensor.name):
            assert numbers.dtype == np.float32
            assert numbers.size <= 2**22
            assert np.isnan(found[rows]).all(), "no row comes twice"
            found[rows] = numbers
        assert np.array_equal(found, wanted)


@torch.inference_mode()
def test_the_logits_of_smollm2_are_theirs(smol, other_smol):
    model, tokens = smol
    assert model.config.special_ids == (2, 1, 2, 0)
    ids = torch.tensor([tokens.encode("The answer to life, the universe and everything is 42, or so they say.")])
    off = (model(ids) - other_smol(ids).logits).abs().max()
    print(f"SmolLM2, float32: {off:.1e}")
    assert off <= 5e-4


@torch.inference_mode()
def test_the_first_layers_of_smollm2_are_theirs_in_double_precision(smol, other_smol):
    model, tokens = smol
    config = model.config.replace(n_layers=4)
    with torch.device("meta"):
        ours = Llama(config)
    kept = {name: value.double() for name, value in model.state_dict().items() if name in ours.state_dict()}
    ours.load_state_dict(kept, assign=True)
    cut = other_smol.config.from_dict(other_smol.config.to_dict() | {"num_hidden_layers": 4})
    cut._attn_implementation = "sdpa"
    with torch.device("meta"):
        names = transformers.LlamaForCausalLM(cut).state_dict()
    state = {name: value.double() for name, value in other_smol.state_dict().items() if name in names}
    other = their_llama(cut, state)
    ids = torch.tensor([tokens.encode("Far out in the uncharted backwaters of the unfashionable end of the Galaxy")])
    with precise(other):
        off = (ours.eval()(ids) - other(ids).logits).abs().max()
    print(f"SmolLM2, four layers, float64: {off:.1e}")
    assert off <= 1e-9


@torch.inference_mode()
def test_smollm2_writes_what_theirs_writes(smol, other_smol):
    """Wherever the best token is better than the second by more than the two models differ."""
    model, tokens = smol
    n, more = 4, 6
    prompts = torch.tensor([tokens.encode(text)[:n] for text in PROMPTS])
    out = other_smol.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=more,
        do_sample=False,
        pad_token_id=2,
        output_logits=True,
        return_dict_in_generate=True,
    )
    best = torch.stack(out.logits, 1).topk(2).values
    margins = (best[..., 0] - best[..., 1]).amin(1)
    clear = margins >= 0.02
    assert clear.sum() >= 20, margins
    found = sample(model, prompts[clear], n + more, top_k=1)
    assert torch.equal(found, out.sequences[clear])


PEAK = """
import re, sys
from pathlib import Path
import torch
from tested_transformer.published import loading

def peak():
    return int(re.search("VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

for path in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
    before = peak()
    model = loading.load_published(path)[0]
    weights = sum(w.numel() * w.element_size() for w in model.state_dict().values())
    print(peak() - before, weights, "sympy" in sys.modules)
    del model
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there the peak is to be had")
def test_loading_takes_little_more_memory_than_the_weights():
    """Not twice the weights, and no compiler. What is looked at in a file of safetensors counts as memory, too."""
    models = [installed(SENTENCES), installed(CHAT)]
    out = subprocess.run([sys.executable, "-c", PEAK, *models], capture_output=True, text=True, check=True).stdout
    for line, mapped in zip(out.splitlines(), (1, 0), strict=True):
        peak, weights, compiler = line.split()
        print(f"{int(weights):,} bytes of weights: {int(peak) / int(weights):.2f} times that")
        assert 1 < int(peak) / int(weights) <= 1.6 + mapped
        assert compiler == "False"


# MiniLM

TEXTS = ["How tall is the Eiffel Tower?", "It is 330 metres high.", "x", "Ein Satz mit Umlauten: äöü ß", "naïve café"]
TEXTS += ["A long sentence, which goes on and on and says nothing at all, so the others are filled up a great deal."]


def test_the_vectors_of_minilm_are_theirs(tmp_path):
    path = installed(SENTENCES)
    model, tokens = load_published(path, kind=SentenceBert)
    with zipfile.ZipFile(path) as packed:
        packed.extractall(tmp_path, ["config.json", "model.safetensors", "tokenizer.json"])
    config = transformers.BertConfig(**json.loads((tmp_path / "config.json").read_text()))
    with torch.device("meta"):
        other = transformers.BertModel(config)
    other.load_state_dict(load_file(tmp_path / "model.safetensors"), assign=True, strict=False)
    rest = {name: buffer for name, buffer in other.named_buffers() if buffer.is_meta}
    other.embeddings.position_ids = torch.arange(config.max_position_embeddings)[None]
    other.embeddings.token_type_ids = torch.zeros(1, config.max_position_embeddings, dtype=torch.long)
    assert rest.keys() <= {"embeddings.position_ids", "embeddings.token_type_ids"}
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    library.no_padding()
    library.no_truncation()
    ids = [library.encode(text).ids for text in TEXTS]
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(i) for i in ids], batch_first=True)
    with torch.inference_mode():
        wanted = [other.eval()(torch.tensor([i])).last_hidden_state.mean(1) for i in ids]
        wanted = F.normalize(torch.cat(wanted))
        alone = torch.cat([model(torch.tensor([i])) for i in ids])
        print(
            f"MiniLM: {(alone - wanted).abs().max():.1e} alone, {(model(padded) - wanted).abs().max():.1e} in a batch"
        )
        assert torch.allclose(alone, wanted, rtol=0, atol=1e-6)
        assert torch.allclose(model(padded), wanted, rtol=0, atol=1e-6)
        assert torch.allclose(alone.norm(dim=1), torch.ones(len(ids)), rtol=0, atol=1e-6)
    assert (model.pooling, model.normalised, model.max_tokens, model.bert.pooled) == ("mean", True, 256, True)
    assert tokens.vocab_size == config.vocab_size


# Small files of every kind

SIZES = LLAMA | {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 48}
KINDS = ("F32", "F16", "Q8_0", "Q4_0", "Q4_1")


def write_gguf(path, other, kind="F32", **more):
    """A GGUF file of their model, as llama.cpp's converter writes it; the tensors, as they come back from there."""
    c = other.config
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(c.num_hidden_layers)
    file.add_context_length(c.max_position_embeddings)
    file.add_embedding_length(c.hidden_size)
    file.add_feed_forward_length(c.intermediate_size)
    file.add_head_count(c.num_attention_heads)
    file.add_head_count_kv(c.num_key_value_heads)
    file.add_layer_norm_rms_eps(c.rms_norm_eps)
    file.add_rope_freq_base(c.rope_parameters["rope_theta"])
    if c.head_dim * c.num_attention_heads != c.hidden_size:
        file.add_key_length(c.head_dim)
        file.add_value_length(c.head_dim)
    if c.rope_parameters["rope_type"] == "linear":
        file.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        file.add_rope_scaling_factor(c.rope_parameters["factor"])
    vocabulary = ["<|end|>", *(chr(33 + i) for i in range(c.vocab_size - 2)), "AB"]
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list(vocabulary)
    file.add_token_types([3, *[1] * (c.vocab_size - 1)])
    file.add_token_merges(["A B"])
    file.add_eos_token_id(0)
    for name, (method, value) in more.items():
        getattr(file, f"add_{method}")(name.replace("__", "."), value)
    back = {}
    for name, tensor in other.state_dict().items():
        if name == "lm_head.weight" and c.tie_word_embeddings:
            continue
        numbers = tensor.numpy().astype(np.float32)
        heads = {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}.get(name.split(".")[-2])
        turned = numbers if heads is None else neighbours(numbers, heads)
        which = gguf.GGMLQuantizationType["F32" if numbers.ndim == 1 else kind]
        stored = gguf.quants.quantize(turned, which)
        file.add_tensor(gguf_name(name), stored, raw_dtype=which)
        rounded = torch.from_numpy(gguf.quants.dequantize(stored, which)).double()
        back[name] = rounded if heads is None else halves(rounded, heads)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    if c.tie_word_embeddings:
        back["lm_head.weight"] = back["model.embed_tokens.weight"]
    return back


def test_the_order_of_llama_cpp_is_taken_back():
    rows = torch.arange(24.0)[:, None].repeat(1, 3)
    for heads in (1, 2, 3):
        assert torch.equal(halves(torch.from_numpy(neighbours(rows.numpy(), heads)), heads), rows)
        assert torch.equal(halves(rows[:, 0], heads), halves(rows, heads)[:, 0])
    assert halves(torch.arange(8), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_small_file_is_read_as_the_numbers_that_are_in_it(tmp_path, kind, tied):
    other = theirs("LlamaForCausalLM", SIZES | {"tie_word_embeddings": tied})
    other.load_state_dict(write_gguf(tmp_path / "m.gguf", other, kind))
    assert_theirs(tmp_path / "m.gguf", other)


MORE = {
    "wide heads": {"head_dim": 32},
    "one key head": {"num_key_value_heads": 1},
    "biases": {"attention_bias": True},
    "linear": {"rope_parameters": {"rope_type": "linear", "rope_theta": 300.0, "factor": 2.0}},
}


@pytest.mark.parametrize("name", MORE)
def test_other_sizes_and_settings_are_read_too(tmp_path, name):
    other = theirs("LlamaForCausalLM", SIZES | MORE[name])
    other.load_state_dict(write_gguf(tmp_path / "m.gguf", other))
    assert_theirs(tmp_path / "m.gguf", other)


def assert_theirs(path, other):
    ours, tokens = load_published(path, kind=Llama, dtype=torch.float64)
    ids = torch.tensor(np.random.default_rng(0).integers(0, 48, size=(2, 20)))
    with torch.inference_mode(), precise(other):
        assert (ours(ids) - other(ids).logits).abs().max() <= 1e-6, "only fields and not weights are in float32"
    ours = Llama(ours.config.replace(norm_eps=other.config.rms_norm_eps)).double().eval()
    assert ours.config.norm_eps == pytest.approx(other.config.rms_norm_eps, rel=1e-6)
    ours.load_state_dict(load_published(path, dtype=torch.float64)[0].state_dict())
    with torch.inference_mode(), precise(other):
        assert (ours(ids) - other(ids).logits).abs().max() <= 1e-10
    assert tokens.vocab_size == 48
    assert tokens.special_ids == (0, 0, 0, 0)


def test_a_gguf_file_may_name_a_second_end_of_a_text(tmp_path):
    other = theirs("LlamaForCausalLM", SIZES)
    for end, ends in ((None, ()), (3, (3,))):
        told = {} if end is None else {"tokenizer__ggml__eot_token_id": ("uint32", end)}
        write_gguf(tmp_path / "a.gguf", other, **told)
        tokens = load_published(tmp_path / "a.gguf")[1]
        assert tokens.ends == ends
        assert tokens.special_ids == (0, 0, 0, 0)
    write_gguf(tmp_path / "a.gguf", other, tokenizer__ggml__eot_token_id=("uint32", 48))
    with pytest.raises(ValueError, match=r"eot_token_id \(48\) must be the id of a token, from 0 to 47"):
        load_published(tmp_path / "a.gguf")


def test_a_gguf_file_says_whether_a_text_has_a_begin_token(tmp_path):
    other = theirs("LlamaForCausalLM", SIZES)
    for told, begins in (({}, False), ({"tokenizer__ggml__add_bos_token": ("bool", True)}, True)):
        write_gguf(tmp_path / "a.gguf", other, **told)
        assert load_published(tmp_path / "a.gguf")[1].add_bos is begins
