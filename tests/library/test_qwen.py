"""Qwen2 and Qwen3: what their folders may say, how they cut texts, a conversation. Their numbers: test_loading."""

import json
import random
import shutil
import unicodedata
import zipfile

import pytest
import tokenizers
import torch
import transformers
from foreign import QWEN_2, QWEN_3, changed, precise, theirs
from helpers import unchecked
from safetensors.torch import load_file
from test_hostile import refused
from test_published_tokens import LETTERS, PARTS
from tokenizers import models, normalizers, pre_tokenizers, trainers

from tested_transformer.__main__ import main
from tested_transformer.config import SpecialIds
from tested_transformer.decoding.conversation import Conversation
from tested_transformer.exchange import from_huggingface
from tested_transformer.model.llama import Llama, LlamaConfig, NormedAttention, RMSNorm
from tested_transformer.published.about import About
from tested_transformer.published.loading import FAMILIES, load_published
from tested_transformer.published.writing import to_huggingface
from tested_transformer.text.byte_level import ByteLevelBPE, _composed
from tested_transformer.training import checkpoint

KINDS = {"qwen2": ("Qwen2ForCausalLM", QWEN_2), "qwen3": ("Qwen3ForCausalLM", QWEN_3)}
SIZES = {"vocab_size": 40, "d_model": 32, "d_ff": 48, "n_heads": 4, "n_layers": 2, "n_kv_heads": 2, "max_len": 64}
TEXT = torch.tensor([[1, 7, 8, 9, 5, 4, 11, 30]])
FULL, SLIDING = "full_attention", "sliding_attention"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for name, (kind, sizes) in KINDS.items():
        made[name] = tmp_path_factory.mktemp(name)
        theirs(kind, sizes).save_pretrained(made[name])
    return made


# Which Llama it is


@pytest.mark.parametrize("name", KINDS)
def test_it_is_a_llama_with_the_biases_and_norms_of_its_kind(folders, name):
    model = load_published(folders[name], kind=Llama)[0]
    for heads in (layer.self_attention for layer in model.decoder.layers):
        biases = [w.bias is not None for w in (heads.w_q, heads.w_k, heads.w_v, heads.w_o)]
        assert biases == ([True, True, True, False] if name == "qwen2" else [False] * 4)
        assert isinstance(heads, NormedAttention) == (name == "qwen3")
    assert model.config.d_k == (8 if name == "qwen2" else 12), "the width of a head is its own setting in Qwen3"


def test_every_setting_reaches_the_normed_attention():
    settings = {"norm_eps": 0.25, "attention_bias": True, "d_k": 6, "rope_base": 500.0, "rope_factors": (1.0, 2.0, 4.0)}
    model = Llama(LlamaConfig(**SIZES, **settings, qk_norm=True, output_bias=False, fused=False))
    assert [m.eps for m in model.modules() if isinstance(m, RMSNorm)] == [0.25] * 9
    for heads in (m for m in model.modules() if isinstance(m, NormedAttention)):
        assert (heads.base, heads.factors, heads.fused, heads.eps) == (500.0, (1.0, 2.0, 4.0), False, 0.25)
        assert [w.out_features for w in (heads.w_q, heads.w_k, heads.w_v, heads.w_o)] == [24, 12, 12, 32]
        assert [w.bias is None for w in (heads.w_q, heads.w_k, heads.w_v, heads.w_o)] == [False, False, False, True]


def test_a_seed_gives_the_weights_that_it_gives_without_these_settings():
    def drawn(**more):
        torch.manual_seed(0)
        return Llama(LlamaConfig(**SIZES, **more)).state_dict()

    for less, more in (
        (drawn(), drawn(qk_norm=True)),
        (drawn(attention_bias=True, output_bias=False), drawn(attention_bias=True)),
    ):
        assert len(less) < len(more)
        assert all(torch.equal(more[name], w) for name, w in less.items())


@pytest.mark.parametrize("name", KINDS)
def test_what_was_read_can_be_saved_in_our_own_files(folders, tmp_path, name):
    ours = load_published(folders[name])[0]
    checkpoint.save(tmp_path, ours)
    again = checkpoint.load(tmp_path, kind=Llama)[0]
    assert again.config == ours.config
    assert torch.equal(again(TEXT), ours(TEXT))
    told = json.loads((tmp_path / "config.json").read_text())
    assert (told["qk_norm"], told["output_bias"]) == ((False, False) if name == "qwen2" else (True, True))


def test_a_file_from_before_these_settings_is_read(tmp_path):
    ours = Llama(LlamaConfig(**SIZES)).eval()
    checkpoint.save(tmp_path, ours)
    told = json.loads((tmp_path / "config.json").read_text())
    before = {name: value for name, value in told.items() if name not in ("qk_norm", "output_bias")}
    (tmp_path / "config.json").write_text(json.dumps(before))
    assert checkpoint.load(tmp_path, kind=Llama)[0].config == ours.config


@pytest.mark.parametrize("name", ["qk_norm", "output_bias", "tied"])
def test_a_setting_that_is_neither_true_nor_false_is_refused(name):
    with unchecked(), pytest.raises(TypeError, match=rf"{name} (\(1\) must be True or False|must be a .*bool)"):
        LlamaConfig(**SIZES, **{name: 1})


@pytest.mark.parametrize("name", KINDS)
def test_weights_without_a_folder_are_renamed_as_well(folders, name):
    ours = load_published(folders[name], dtype=torch.float64)[0].state_dict()
    renamed = from_huggingface(load_file(folders[name] / "model.safetensors"))
    assert renamed.keys() == ours.keys()
    assert all(torch.equal(renamed[key], tensor) for key, tensor in ours.items())


def test_a_mixture_of_both_kinds_is_not_written(tmp_path):
    """Qwen3 has a bias on all four or on none, and Qwen2 no norm."""
    model = Llama(LlamaConfig(**SIZES, qk_norm=True, attention_bias=True, output_bias=False))
    with pytest.raises(ValueError, match=r"qk_norm \(True\) must be False: a Qwen2 has no other"):
        to_huggingface(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


# What a config.json may say


def test_settings_that_are_not_there_are_those_of_their_library():
    sizes = {"vocab_size": 9, "hidden_size": 64, "intermediate_size": 8, "num_attention_heads": 32}
    about = About(sizes | {"num_hidden_layers": 1}, "x")
    for name, usual in (("qwen2", transformers.Qwen2Config()), ("qwen3", transformers.Qwen3Config())):
        c = FAMILIES[name].config(about, SpecialIds())
        assert (c.n_kv_heads, c.max_len) == (usual.num_key_value_heads, usual.max_position_embeddings)
        assert (c.norm_eps, c.tied) == (usual.rms_norm_eps, usual.tie_word_embeddings)
        assert (c.rope_base, c.rope_factors) == (usual.rope_parameters["rope_theta"], None)
        assert c.d_k == (usual.head_dim if name == "qwen3" else 2)
        assert (c.qk_norm, c.attention_bias, c.output_bias) == (name == "qwen3", name == "qwen2", name == "qwen3")
    null = About(sizes | {"num_hidden_layers": 1, "num_key_value_heads": None, "num_attention_heads": 16}, "x")
    assert FAMILIES["qwen2"].config(null, SpecialIds()).n_kv_heads == 16


@pytest.mark.parametrize("name", KINDS)
def test_a_window_that_is_off_changes_nothing(folders, tmp_path, name):
    off = {"use_sliding_window": False, "sliding_window": 3, "max_window_layers": 1, "layer_types": [FULL] * 2}
    found = load_published(changed(folders[name], tmp_path, off))[0]
    assert torch.equal(found(TEXT), load_published(folders[name])[0](TEXT))


YARN = {"factor": 4.0, "original_max_position_embeddings": 16}
SETTINGS = [
    ("qwen2", {"use_sliding_window": True}, r"use_sliding_window \(True\) must be False: nothing else is known here"),
    ("qwen3", {"layer_types": [FULL, SLIDING]}, r"layer_types \(.*'sliding_attention'.*\) must be a list of 'full_att"),
    ("qwen3", {"layer_types": 3}, r"layer_types \(3\) must be a list of 'full_attention'"),
    ("qwen2", {"layer_types": [[]]}, r"layer_types \(\[\[\]\]\) must be a list of"),
    ("qwen2", {"rope_parameters": None, "rope_scaling": YARN | {"type": "yarn"}}, r"scaling: type \('yarn'\) is not"),
    ("qwen3", {"rope_parameters": YARN | {"rope_type": "yarn", "beta_fast": 32}}, r"rope_type \('yarn'\) is not known"),
    ("qwen3", {"rope_parameters": {"rope_type": "linear", "beta_fast": 3}}, r"beta_fast \(3\) is not known here"),
    ("qwen2", {"hidden_act": "gelu"}, r"hidden_act \('gelu'\) must be 'silu'"),
    ("qwen3", {"head_dim": 2**31 - 2}, r"head_dim \(2147483646\) must be at most 65536"),
    ("qwen3", {"head_dim": 7}, r"d_k \(7\) must be even"),
    ("qwen3", {"head_dim": None}, r"w_[qkvo]\.weight has shape|norm_[qk]\.weight has shape"),
    ("qwen3", {"num_key_value_heads": 3}, r"n_kv_heads \(3\) must divide n_heads \(4\)"),
    ("qwen3", {"attention_bias": True}, r"w_[qkvo]\.bias is missing"),
    ("qwen3", {"max_position_embeddings": 2**31 - 1}, r"max_len \(2147483647\) times d_model \(32\)"),
    ("qwen2", {"rms_norm_eps": 0}, r"norm_eps \(0\.0\) must be positive"),
    ("qwen2", {"tie_word_embeddings": True}, r"must be the same as tokens\.weight: ours has one"),
    ("qwen2", {"model_type": "llama"}, r"self_attention\.w_[qkv]\.bias is foreign"),
    ("qwen3", {"model_type": "llama"}, r"self_attention\.norm_[qk]\.weight is foreign"),
    ("qwen2", {"model_type": "qwen3"}, r"has shape|is missing|is foreign"),
    ("qwen3", {"model_type": "qwen3_moe"}, r"model_type \('qwen3_moe'\) is not known here; these are: .*qwen2, qwen3"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "about", "words"), SETTINGS, ids=[f"{s[0]} {s[1]}"[:60] for s in SETTINGS])
def test_settings_that_are_not_known_are_refused_by_name(folders, tmp_path, name, about, words):
    refused(changed(folders[name], tmp_path, about), words, tmp_path / "config.json")


NORM, BIAS = "model.layers.1.self_attn.q_norm.weight", "model.layers.1.self_attn.k_proj.bias"
TENSORS = [
    ("qwen3", {}, NORM, r"layers\.1\.self_attention\.norm_q\.weight is missing"),
    ("qwen3", {NORM: torch.ones(48)}, "", r"norm_q\.weight has shape \(48,\), the model \(12,\)"),
    ("qwen3", {NORM: torch.full((12,), torch.nan)}, "", r"q_norm\.weight has numbers that are not finite"),
    ("qwen2", {}, BIAS, r"layers\.1\.self_attention\.w_k\.bias is missing"),
    ("qwen2", {"model.layers.0.self_attn.o_proj.bias": torch.zeros(32)}, "", r"w_o\.bias is foreign"),
    ("qwen2", {"score.weight": torch.zeros(2, 32)}, "", r"score\.weight is foreign"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tensors", "without", "words"), TENSORS, ids=lambda x: str(x)[:50].split(":")[0])
def test_tensors_that_do_not_fit_are_refused_by_name(folders, tmp_path, name, tensors, without, words):
    refused(changed(folders[name], tmp_path, tensors=tensors, without=(without,)), words, tmp_path / "config.json")


# Its tokeniser

MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}{% for m in messages %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def lines():
    """2,000 texts of many scripts, half of them with letters and their marks apart."""
    chance, found = random.Random(5), []
    for k in range(2_000):
        pieces = []
        for _ in range(chance.randint(1, 7)):
            kind = [*chance.choice([*LETTERS.values()])]
            pieces.append(chance.choice(PARTS) if chance.random() < 0.3 else "".join(chance.choices(kind, k=6)))
        line = chance.choice(["", " "]).join(pieces)
        found.append(unicodedata.normalize("NFD", line) if k % 2 else line)
    return found


@pytest.fixture(scope="module")
def their_tokens(lines):
    """The tokeniser that their library makes for a Qwen, with a vocabulary of these texts."""
    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False))
    model = json.loads(made.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return transformers.Qwen2Tokenizer(
        vocab=model["vocab"], merges=merges, eos_token="<|im_end|>", chat_template=TEMPLATE,
        additional_special_tokens=MARKS,
    )  # fmt: skip


@pytest.fixture(scope="module")
def talking(tmp_path_factory, their_tokens):
    """A Qwen3 of theirs with the tokeniser, and the folder that both were saved to."""
    folder = tmp_path_factory.mktemp("talking")
    ids = {"eos_token_id": their_tokens.eos_token_id, "pad_token_id": their_tokens.pad_token_id}
    other = theirs("Qwen3ForCausalLM", QWEN_3 | {"vocab_size": len(their_tokens), "max_position_embeddings": 200} | ids)
    other.save_pretrained(folder)
    their_tokens.save_pretrained(folder)
    return other, folder


def test_ids_are_those_of_the_library_on_2_000_texts(talking, their_tokens, lines):
    ours, library = load_published(talking[1])[1], their_tokens.backend_tokenizer
    assert ours.vocab_size == len(their_tokens)
    assert sum(unicodedata.is_normalized("NFC", line) for line in lines) < 1500, "many are not composed"
    for line, found in zip(lines, library.encode_batch(lines, add_special_tokens=False), strict=True):
        assert ours.encode(line, special=True) == found.ids, line
        assert ours.decode(found.ids, special=True) == library.decode(found.ids, skip_special_tokens=False)


def test_each_digit_is_a_piece(talking):
    tokens = load_published(talking[1])[1]
    assert tokens.encode("2024") == [i for digit in "2024" for i in tokens.encode(digit)]


def test_texts_are_composed_as_the_library_does_with_every_mark_of_unicode():
    """It has an older version of Unicode than Python: marks that came later are not sorted there."""
    library = normalizers.NFC()
    marks = [c for c in map(chr, range(0x110000)) if unicodedata.combining(c)]
    tried = [
        text for c in marks for text in (f"a\u0301{c}\u0316", f"a{c}\u0316\u0301", f"{c}\u0301", f"a\u0345{c}\u0334")
    ]
    whole = [c for c in map(chr, range(0x110000)) if unicodedata.normalize("NFD", c) != c]
    tried += [text for c in whole for text in (c, unicodedata.normalize("NFD", c), f"{c}\u0316\u0301")]
    assert len(marks) > 900
    assert [text for text in tried if _composed(text) != library.normalize_str(text)] == []
    assert sum(_composed(text) != text for text in tried) > 10_000


def test_added_tokens_are_looked_for_before_or_after_the_text_is_composed(their_tokens):
    """One that is called normalized is found in what has become of the text, the other in the text itself."""
    parsed = json.loads(their_tokens.backend_tokenizer.to_str())
    n = len(their_tokens)
    for k, (content, normalized) in enumerate([("\u00e9!", True), ("a\u0308!", False), ("\u00fc!", False)]):
        parsed["added_tokens"].append(
            {"id": n + k, "content": content, "special": False, "normalized": normalized}
            | {"single_word": False, "lstrip": False, "rstrip": False}
        )
    ours, library = ByteLevelBPE.from_json(parsed, SpecialIds()), tokenizers.Tokenizer.from_str(json.dumps(parsed))
    for text in ("xe\u0301!y", "x\u00e9!y", "xa\u0308!y", "x\u00e4!y", "xu\u0308!y", "x\u00fc!e\u0301!"):
        assert ours.encode(text, special=True) == library.encode(text).ids, text
    assert n in ours.encode("xe\u0301!y")
    assert n + 2 not in ours.encode("xu\u0308!y")


def test_an_added_token_that_could_never_be_found_is_refused(their_tokens):
    parsed = json.loads(their_tokens.backend_tokenizer.to_str())
    token = {"id": len(their_tokens), "content": "e\u0301", "special": False, "normalized": True}
    parsed["added_tokens"].append(token)
    with pytest.raises(ValueError, match=r"added token .* must be in the form NFC"):
        ByteLevelBPE.from_json(parsed, SpecialIds())
    parsed["normalizer"] = None
    assert ByteLevelBPE.from_json(parsed, SpecialIds()).vocab_size == len(their_tokens) + 1


def test_it_is_saved_in_our_own_file_and_composes_there_as_well(talking, lines, tmp_path):
    tokens = load_published(talking[1])[1]
    tokens.save(tmp_path / "tokens.json")
    again = ByteLevelBPE.load(tmp_path / "tokens.json")
    assert [*map(again.encode, lines[:200])] == [*map(tokens.encode, lines[:200])]
    assert again.encode("e\u0301") == tokens.encode("\u00e9")


def test_it_is_written_with_the_model_and_read_by_the_library(talking, lines, tmp_path):
    model, tokens = load_published(talking[1])
    to_huggingface(model, tmp_path / "new", tokens)
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json"))
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "new")
    again = load_published(tmp_path / "new")[1]
    assert again.special_ids == tokens.special_ids
    assert read.eos_token_id == tokens.special_ids.eos
    for line in lines[:200]:
        ids = tokens.encode(line, special=True)
        assert library.encode(line).ids == read(line)["input_ids"] == again.encode(line, special=True) == ids


def test_without_tokenizer_json_it_is_refused_and_not_cut_as_gpt_2_cuts(talking, tmp_path):
    _, folder = talking
    made = changed(folder, tmp_path)
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (made / "vocab.json").write_text(json.dumps(model["vocab"]))
    (made / "merges.txt").write_text("\n".join(" ".join(merge) for merge in model["merges"]))
    refused(made, "has no tokenizer.json, which says how texts are cut", made)


@pytest.mark.parametrize("pattern", [r"\p{N}{1,2}", r"\p{N}+"])
def test_a_pattern_of_another_version_is_refused(talking, tmp_path, pattern):
    made, told = changed(talking[1], tmp_path), json.loads((talking[1] / "tokenizer.json").read_text())
    regex = told["pre_tokenizer"]["pretokenizers"][0]["pattern"]
    regex["Regex"] = regex["Regex"].replace(r"\p{N}|", f"{pattern}|")
    (made / "tokenizer.json").write_text(json.dumps(told))
    refused(made, "is not known; known are those of GPT-2, Llama 3 and Qwen", made)


# A conversation


def test_a_conversation_has_the_ids_of_its_template_and_the_answer_of_theirs(talking, their_tokens):
    other, folder = talking
    model, tokens = load_published(folder, dtype=torch.float64)
    chat, begun = Conversation(model, tokens), []
    for text in ("Où est le cafe\u0301 ?", "你好 12"):
        turns = [{"role": "user", "content": text}]
        asked = their_tokens.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
        if begun:  # without the system text, which is said once
            asked = begun + asked[asked.index(tokens.special_tokens["<|im_start|>"], 1) :]
        with precise(other):
            written = other.generate(torch.tensor([asked]), max_new_tokens=6, do_sample=False)[0].tolist()
        end = their_tokens.eos_token_id
        "".join(chat.say(text, max_tokens=6))
        begun = [*asked, *(i for i in written[len(asked) :] if i != end), end, *tokens.encode("\n")]
        assert chat.ids == begun


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
def test_any_of_the_ids_that_end_a_text_ends_it_as_in_their_library(talking, their_tokens, tmp_path, capsys, file):
    other, folder = talking
    asked = torch.tensor([their_tokens("12 a").input_ids])
    with torch.no_grad(), precise(other):
        whole = other.generate(asked, max_new_tokens=8, do_sample=False)[0, asked.size(1) :].tolist()
    end = next(i for n, i in enumerate(whole[2:], 2) if i not in whole[:n])
    shutil.copytree(folder, tmp_path / "a")
    said = json.loads((folder / file).read_text())
    ends = [their_tokens.eos_token_id, end]
    (tmp_path / "a" / file).write_text(json.dumps(said | {"eos_token_id": ends}))
    if file == "config.json":  # where both are, theirs reads only the other
        (tmp_path / "a" / "generation_config.json").unlink()
    library = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "a").double().eval()
    with torch.no_grad(), precise(library):
        wanted = library.generate(asked, max_new_tokens=8, do_sample=False)[0, asked.size(1) :].tolist()
    assert wanted == whole[: whole.index(end) + 1] != whole
    assert main(["generate", "12 a", "--model", str(tmp_path / "a"), "--max-tokens", "8"]) == 0
    assert capsys.readouterr().out == their_tokens.decode(wanted, skip_special_tokens=True) + "\n"
    model, tokens = load_published(tmp_path / "a", dtype=torch.float64)
    assert (tokens.ends, model.config.eos_id) == ((*ends,), ends[0])
    chat = Conversation(model, tokens)
    "".join(chat.say("a", max_tokens=3))
    third = chat.ids[-3]
    tokens.ends = (third,)
    short = Conversation(model, tokens)
    "".join(short.say("a", max_tokens=3))
    assert short.ids == chat.ids[: chat.ids.index(third, len(chat.ids) - 5)] + chat.ids[-2:]
    tokens.ends = (*ends,)
    to_huggingface(model, tmp_path / "b", tokens)
    assert load_published(tmp_path / "b")[1].ends == (*ends,)


def test_of_several_templates_the_default_counts(talking, tmp_path):
    shutil.copytree(talking[1], tmp_path / "a")
    (tmp_path / "a" / "chat_template.jinja").unlink()
    settings = tmp_path / "a" / "tokenizer_config.json"
    several = [{"name": "tools", "template": "x"}, {"name": "default", "template": TEMPLATE}]
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"chat_template": several}))
    assert load_published(tmp_path / "a")[1].chat_template == TEMPLATE
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "a").get_chat_template() == TEMPLATE
    settings.write_text(json.dumps({"chat_template": several[:1]}))
    assert load_published(tmp_path / "a")[1].chat_template is None


def test_a_template_in_a_file_of_its_own_counts(talking, tmp_path):
    _, folder = talking
    assert (folder / "chat_template.jinja").exists()
    assert "chat_template" not in json.loads((folder / "tokenizer_config.json").read_text())
    assert load_published(folder)[1].chat_template == TEMPLATE
    made = changed(folder, tmp_path / "both")
    for name in ("tokenizer.json", "chat_template.jinja"):
        (made / name).write_bytes((folder / name).read_bytes())
    (made / "tokenizer_config.json").write_text(json.dumps({"chat_template": "older"}))
    assert load_published(made)[1].chat_template == TEMPLATE
    assert transformers.AutoTokenizer.from_pretrained(made).chat_template == TEMPLATE
    with zipfile.ZipFile(tmp_path / "qwen.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in folder.iterdir():
            packed.write(path, path.name)
    assert load_published(tmp_path / "qwen.zip")[1].chat_template == TEMPLATE
    (made / "chat_template.jinja").write_bytes(b"\xff")
    refused(made, "chat_template.jinja is no UTF-8", made)


def test_a_mark_that_a_user_has_typed_is_text(talking):
    tokens = load_published(talking[1])[1]
    end = tokens.special_tokens["<|im_end|>"]
    assert end not in tokens.encode("a<|im_end|>")
    assert end in tokens.encode("a<|im_end|>", special=True)
