"""Published translators (Marian) and Vision Transformers: the numbers of theirs, and what they write."""

import numpy as np
import pytest
import torch
import transformers
from foreign import DISTILBERT, MARIAN, VIT, changed, halved_sinusoids, precise, theirs
from helpers import unchecked
from safetensors.torch import load_file
from test_hostile import refused
from torch.nn import functional as F

from tested_transformer.config import Config, SpecialIds
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.cache import Cache, stepper
from tested_transformer.decoding.greedy import greedy
from tested_transformer.exchange import from_huggingface
from tested_transformer.model.marian import BiasedEmbedding, HalvedPositions, Marian, MarianConfig, in_halves
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.published.about import About
from tested_transformer.published.distilbert import DistilBertFamily
from tested_transformer.published.loading import load_published
from tested_transformer.published.marian import MarianFamily
from tested_transformer.published.vit import VitFamily
from tested_transformer.training import checkpoint

PAD = MARIAN["pad_token_id"]
CASES = {
    "swish": MARIAN,
    "relu, unscaled": MARIAN | {"activation_function": "relu", "scale_embedding": False},
    "gelu, odd start": MARIAN | {"activation_function": "gelu", "decoder_start_token_id": 5, "pad_token_id": 3},
}
VITS = {
    "ViT": VIT,
    "ViT, relu, gray": VIT | {"hidden_act": "relu", "num_channels": 1, "patch_size": 12},
    "ViT, two classes": VIT | {"num_labels": 2, "layer_norm_eps": 1e-3},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """For a case, their model in float64 and the folder that it was saved to; made once."""
    made = {}

    def get(name):
        if name not in made:
            kind = "MarianMTModel" if name in CASES else "ViTForImageClassification"
            other, folder = theirs(kind, (CASES | VITS)[name]), tmp_path_factory.mktemp("families")
            other.save_pretrained(folder)
            made[name] = (other, folder)
        return made[name]

    return get


def sentences(pad, padded=True, n=3, seed=0):
    """Sources of tokens, of different lengths if padded, that end with 0; and beginnings of translations."""
    rng = np.random.default_rng(seed)
    source, target = (torch.tensor(rng.integers(6, 199, size=(n, length))) for length in (11, 9))
    if padded:
        for row in range(n):
            source[row, rng.integers(2, 11) :] = pad
            target[row, rng.integers(2, 9) :] = pad
    source[torch.arange(n), (source != pad).sum(1) - 1] = 0
    return source, target


@torch.inference_mode()
def their_logits(model, source, target):
    real = (source != model.config.pad_token_id).long()
    return model(input_ids=source, attention_mask=real, decoder_input_ids=target).logits


@torch.inference_mode()
def differences(ours, other):
    """The largest difference in whole sentences, in those with padding, and token by token from the cache."""
    c, found = ours.config, {}
    for name, padded in (("whole", False), ("padded", True)):
        source, target = sentences(c.pad_id, padded)
        target[:, 0] = c.bos_id
        real = (target != c.pad_id) | (torch.arange(target.size(1)) == 0)
        found[name] = (ours(source, target) - their_logits(other, source, target))[real].abs().max().item()
    source, target = sentences(c.pad_id)[0], sentences(c.pad_id, False)[1]
    target[:, 0] = c.bos_id
    cache = stepper(ours, ours.encode(source), source, target.size(1))
    assert isinstance(cache, Cache)
    steps = torch.cat([cache.step(target[:, i : i + 1]) for i in range(target.size(1))], 1)
    found["cache"] = (steps - their_logits(other, source, target)).abs().max().item()
    return found


def test_a_marian_gives_the_numbers_that_theirs_gives(folders, capsys):
    rows, wrong = [], []
    for name in CASES:
        other, folder = folders(name)
        rows.append(f"Marian, {name:16}")
        for dtype, within in ((torch.float64, 1e-10), (torch.float32, 1e-4)):
            ours, tokens = load_published(folder, kind=Marian, dtype=dtype)
            assert tokens is None
            assert not ours.training
            with precise(other):
                off = differences(ours, other)
            rows[-1] += "".join(f"{str(dtype)[-2:]:>4} {where}: {x:.1e}" for where, x in off.items())
            wrong += [(name, dtype, where, x) for where, x in off.items() if not x <= within]
    with capsys.disabled():
        print("", *rows, sep="\n")
    assert not wrong


def test_a_vision_transformer_gives_the_numbers_that_theirs_gives(folders, capsys):
    rows = []
    for name, settings in VITS.items():
        other, folder = folders(name)
        ours, tokens = load_published(folder, kind=VisionTransformer, dtype=torch.float64)
        assert tokens is None
        x = torch.tensor(np.random.default_rng(0).normal(size=(2, settings.get("num_channels", 3), 24, 24)))
        off = (ours(x) - other(x).logits).abs().max().item()
        assert ours(x).shape == (2, settings["num_labels"])
        assert off <= 1e-10
        rows.append(f"{name:24}  64 whole: {off:.1e}")
    with capsys.disabled():
        print("", *rows, sep="\n")


@pytest.mark.parametrize("name", ["swish", "ViT"])
def test_weights_in_several_files_and_in_half_precision_are_the_same_numbers(folders, tmp_path, name):
    other, folder = folders(name)
    other.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len([*tmp_path.glob("*.safetensors")]) > 2
    whole, parts = (load_published(each)[0].state_dict() for each in (folder, tmp_path))
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[key], parts[key]) for key in whole)
    half = theirs(type(other).__name__, (CASES | VITS)[name]).half()
    half.save_pretrained(tmp_path / "half")
    kept = load_published(tmp_path / "half", dtype=torch.float16)[0].state_dict()
    assert all(torch.equal(kept[key], whole[key].half()) for key in whole)


# Translations


def spread(seed, bias):
    """A Marian whose translations differ from source to source: the source weighs more than places."""
    other = theirs("MarianMTModel", MARIAN)
    with torch.no_grad():
        drawn = torch.Generator().manual_seed(seed)
        for name, p in other.named_parameters():
            if p.requires_grad:
                size = (1.0 if "encoder_attn" in name else 0.3 if "encoder" in name else 0.4) if p.dim() > 1 else 0.3
                p.copy_(size * torch.randn(p.shape, generator=drawn).double() + ("norm.weight" in name))
        other.final_logits_bias = 0.5 * torch.randn(1, 200, generator=drawn).double()
        other.final_logits_bias[0, 0] += bias
    return other


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Theirs, ours in float64, and two hundred sources."""
    folder = tmp_path_factory.mktemp("spread")
    other = spread(seed=5, bias=3.0)
    other.save_pretrained(folder)
    with precise(other):
        yield other, load_published(folder, dtype=torch.float64)[0], sentences(PAD, n=200, seed=1)[0]


def generated(other, source, width):
    """What their generate writes, without padding; as in the real files, padding is never written."""
    ids = {"input_ids": source, "attention_mask": (source != PAD).long()}
    search = {"num_beams": width, "length_penalty": 0.0, "early_stopping": False, "max_new_tokens": 29}
    out = other.generate(**ids, **search, do_sample=False, bad_words_ids=[[PAD]])
    return [[i for i in row if i != PAD] for row in out[:, 1:].tolist()]


def test_two_hundred_greedy_translations_are_those_of_generate(pairs):
    other, ours, source = pairs
    wanted = generated(other, source, 1)
    found = [[i for i in row if i != PAD] for row in greedy(ours, source, 29).tolist()]
    assert found == wanted
    assert len(set(map(tuple, found))) >= 80, "they differ from source to source"
    assert 30 <= sum(row[-1] == 0 for row in found) <= 170, "some end, some reach the limit"
    begun = torch.nn.utils.rnn.pad_sequence([torch.tensor([PAD, *row]) for row in found], True, PAD)[:, :-1]
    real = F.pad(begun[:, 1:] != PAD, (1, 0), value=True)
    best = their_logits(other, source, begun)[real][:, :-1].topk(2).values  # without padding, which is never written
    assert (best[:, 0] - best[:, 1]).min() > 1e-6, "no two tokens are equally good"


@pytest.mark.parametrize("width", [2, 4])
def test_two_hundred_translations_by_beam_are_those_of_generate(pairs, width):
    other, ours, source = pairs
    found = [list(best[0].ids) for best in beam(ours, source, width, alpha=0.0, max_len=29)]
    assert found == generated(other, source, width)


def test_a_search_without_a_cache_writes_the_same(pairs):
    _, ours, source = pairs
    wanted = greedy(ours, source[:20], 29)
    hook = ours.decoder.layers[0].register_forward_hook(lambda *_: None)
    with pytest.warns(match=r"decoder\.layers\.0"):
        assert torch.equal(greedy(ours, source[:20], 29), wanted)
    hook.remove()


# Its parts


def test_a_translation_begins_with_padding_that_is_seen(folders):
    ours = load_published(folders("swish")[1], dtype=torch.float64)[0]
    source, target = sentences(PAD)
    target[:, 0] = PAD
    seen = attention_weights(ours, source, target)["decoder"]
    assert (seen[..., 0] > 0).all()
    later = target == PAD
    later[:, 0] = False
    assert (seen.movedim(-1, 2)[:, later] == 0).all(), "other padding is not"


def test_positions_are_halved_whatever_they_become(folders):
    made = HalvedPositions(7, 6)
    assert torch.equal(made.table, in_halves(made.table[:, [0, 3, 1, 4, 2, 5]]))
    for dtype in (torch.float64, torch.float32):
        torch.testing.assert_close(made.to(dtype).table, halved_sinusoids(7, 6).to(dtype), rtol=0, atol=1e-7)
    assert torch.equal(made.double().table, HalvedPositions(7, 6).double().table)


def test_a_bias_is_on_the_logits_alone_and_a_table_may_be_unscaled():
    table, ids = BiasedEmbedding(5, 4).double(), torch.tensor([3, 1])
    with torch.no_grad():
        table.bias += torch.arange(5)
    assert torch.equal(table(ids), 2 * table.weight[ids])
    x = torch.ones(4, dtype=torch.float64)
    assert torch.allclose(table.logits(x), x @ table.weight.T + torch.arange(5))
    plain = BiasedEmbedding(5, 4, scaled=False)
    assert torch.equal(plain(ids), plain.weight[ids])


def test_only_the_begin_may_be_padding():
    sizes = {"vocab_size": 9, "d_model": 4, "n_heads": 1, "n_layers": 1}
    assert Marian(MarianConfig(**sizes, pad_id=8, bos_id=8, eos_id=0, unk_id=1)).config.bos_id == 8
    for name in ("eos_id", "unk_id"):
        ids = {"pad_id": 8, "bos_id": 8, "eos_id": 0, "unk_id": 1} | {name: 8}
        with pytest.raises(ValueError, match=rf"pad_id \(8\) must differ from {name}: this model hides"):
            Marian(MarianConfig(**sizes, **ids))
    with unchecked(), pytest.raises(TypeError, match=r"must be a .*MarianConfig, not Config"):
        Marian(Config(**sizes))
    with unchecked(), pytest.raises(TypeError, match=r"scaled must be a .*bool, not int"):
        MarianConfig(**sizes, scaled=1)


@pytest.mark.parametrize("name", ["swish", "relu, unscaled"])
def test_what_was_read_can_be_saved_in_our_own_files(folders, tmp_path, name):
    ours = load_published(folders(name)[1])[0]
    checkpoint.save(tmp_path, ours)
    again = checkpoint.load(tmp_path, kind=Marian)[0]
    assert again.config == ours.config
    pad = ours.config.pad_id
    assert torch.equal(again(*sentences(pad)), ours(*sentences(pad)))
    with pytest.raises(ValueError, match="give kind=Marian"):
        checkpoint.load(tmp_path)


# What is refused


TABLE = halved_sinusoids(64, 32).float()
SETTINGS = [
    ("swish", {"normalize_before": True}, r"normalize_before \(True\) must be False"),
    ("swish", {"normalize_embedding": True}, "normalize_embedding .* must be False"),
    ("swish", {"add_final_layer_norm": True}, "add_final_layer_norm .* must be False"),
    ("swish", {"static_position_embeddings": False}, "static_position_embeddings .* must be True"),
    ("swish", {"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings .* must be True"),
    ("swish", {"tie_word_embeddings": False}, "tie_word_embeddings .* must be True"),
    ("swish", {"decoder_vocab_size": 199}, r"decoder_vocab_size \(199\) must be 200"),
    ("swish", {"decoder_layers": 1}, r"decoder_layers \(1\) must be encoder_layers \(2\)"),
    ("swish", {"decoder_attention_heads": 2}, r"decoder_attention_heads \(2\) must be encoder_attention_heads \(4\)"),
    ("swish", {"decoder_ffn_dim": 47}, r"decoder_ffn_dim \(47\) must be encoder_ffn_dim \(48\)"),
    ("swish", {"activation_function": "mish"}, r"activation_function \('mish'\) is not known here"),
    ("swish", {"decoder_start_token_id": 200}, r"bos_id \(200\) must be at least 0 and below vocab_size"),
    ("swish", {"decoder_start_token_id": "</s>"}, r"decoder_start_token_id \('</s>'\) must be a whole number"),
    ("swish", {"eos_token_id": 199}, "pad_id .199. must differ from eos_id"),
    ("swish", {"scale_embedding": 1}, r"scale_embedding \(1\) must be true or false"),
    ("swish", {"encoder_layers": 2**30, "decoder_layers": 2**30}, r"n_layers \(1073741824\), but the weights have 2"),
    ("swish", {"max_position_embeddings": 2**30}, r"max_len \(1073741824\) times d_model"),
    ("swish", {"model_type": "t5"}, r"model_type \('t5'\) is not known here; these are: gpt2, .*, marian"),
    ("swish", {"model_type": "m2m_100"}, r"model_type \('m2m_100'\) is not known here"),
    ("ViT", {"qkv_bias": False}, r"qkv_bias \(False\) must be True"),
    ("ViT", {"image_size": [24, 32]}, r"image_size \(\[24, 32\]\) must be a whole number"),
    ("ViT", {"image_size": 25}, r"image_size \(25\) must be a multiple of patch_size \(8\)"),
    ("ViT", {"patch_size": 0}, r"patch_size \(0\) must be a whole number, at least 1"),
    ("ViT", {"image_size": 2**30}, "times d_model"),
    ("ViT", {"id2label": {"0": "a"}}, r"n_classes \(1\) must be at least 2"),
    ("ViT", {"num_channels": 1}, r"embedding\.weight has shape \(32, 192\), the model \(32, 64\)"),
]


@pytest.mark.parametrize(("name", "about", "words"), SETTINGS, ids=lambda x: str(x)[:40])
def test_settings_that_are_not_known_are_refused_by_name(folders, tmp_path, name, about, words):
    refused(changed(folders(name)[1], tmp_path, about), words, tmp_path / "config.json")


def test_a_distilbert_without_positions_is_refused_by_the_name_in_its_file(tmp_path):
    theirs("DistilBertModel", DISTILBERT).save_pretrained(tmp_path / "theirs")
    made = changed(tmp_path / "theirs", tmp_path, {"max_position_embeddings": 0})
    refused(made, r"max_position_embeddings \(0\) must be a whole number, at least 1", made / "config.json")


TENSORS = [
    ("swish", {}, "model.shared.weight", r"embedding\.weight is missing"),
    ("swish", {}, "final_logits_bias", r"embedding\.bias is missing"),
    ("swish", {}, "model.decoder.layers.1.final_layer_norm.bias", r"decoder\.layers\.1\.addnorm_3\.norm\.bias is miss"),
    ("swish", {"model.decoder.layer_norm.weight": torch.ones(32)}, "", r"decoder\.layer_norm\.weight is foreign"),
    ("swish", {"model.decoder.embed_tokens.weight": torch.ones(200, 32)}, "", r"must be the same as embedding\.weight"),
    ("swish", {"lm_head.weight": torch.ones(199, 32)}, "", r"weight of shape .* must be \((199|200), 32\)"),
    ("swish", {"final_logits_bias": torch.zeros(2, 200)}, "", r"embedding\.bias has shape \(2, 200\), the"),
    ("swish", {"final_logits_bias": torch.full((1, 200), torch.nan)}, "", "final_logits_bias has numbers that are not"),
    ("swish", {"final_logits_bias": torch.zeros(1, 200, dtype=torch.int8)}, "", r"bias is stored as torch\.int8"),
    ("swish", {"model.encoder.embed_positions.weight": TABLE + 1e-3}, "", r"embed_positions\.weight must be sinusoids"),
    ("swish", {"model.encoder.embed_positions.weight": TABLE[0]}, "", r"positions\.weight has the shape \(32,\)"),
    ("swish", {"model.encoder.embed_positions.weight": TABLE * torch.inf}, "", "positions.weight has numbers that"),
    ("ViT", {}, "vit.embeddings.cls_token", "class_token is missing"),
    ("ViT", {"vit.embeddings.cls_token": torch.zeros(1, 2, 32)}, "", r"class_token has shape \(2, 32\), the"),
    ("ViT", {"vit.embeddings.cls_token": torch.zeros(())}, "", r"cls_token has the shape \(\)"),
    ("ViT", {"vit.embeddings.position_embeddings": torch.zeros(1, 9, 32)}, "", r"positions\.table has shape \(9, 32\)"),
    ("ViT", {"vit.embeddings.patch_embeddings.projection.weight": torch.zeros(32)}, "", r"has the shape \(32,\)"),
    ("ViT", {"vit.pooler.dense.weight": torch.zeros(32, 32)}, "", r"pooler\.dense\.weight is foreign"),
    ("ViT", {}, "classifier.weight", r"head\.weight is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tensors", "without", "words"), TENSORS, ids=lambda x: str(x)[:60].split(":")[0])
def test_tensors_that_do_not_fit_are_refused_by_name(folders, tmp_path, name, tensors, without, words):
    refused(changed(folders(name)[1], tmp_path, tensors=tensors, without=(without,)), words, tmp_path / "config.json")


def test_what_files_of_a_marian_have_twice_is_read_once(folders, tmp_path):
    other, folder = folders("swish")
    table = load_file(folder / "model.safetensors")["model.shared.weight"]
    twice = {f"model.{side}.embed_tokens.weight": table.clone() for side in ("encoder", "decoder")}
    twice |= {f"model.{side}.embed_positions.weight": TABLE.clone() for side in ("encoder", "decoder")}
    made = changed(folder, tmp_path, tensors=twice | {"lm_head.weight": table.clone()})
    with precise(other):
        assert max(differences(load_published(made, dtype=torch.float64)[0], other).values()) <= 1e-10
    half = {key: tensor.bfloat16() if "positions" in key else tensor for key, tensor in twice.items()}
    load_published(changed(folder, tmp_path, tensors=half))


@pytest.mark.parametrize("name", ["swish", "ViT", "DistilBERT, masked", "DistilBERT"])
def test_weights_without_a_folder_are_renamed_as_well(folders, tmp_path, name):
    if name in CASES | VITS:
        other, folder = folders(name)
    else:
        other, folder = theirs(f"DistilBert{'ForMaskedLM' if 'masked' in name else 'Model'}", DISTILBERT), tmp_path
        other.save_pretrained(folder)
    ours = load_published(folder, dtype=torch.float64)[0]
    renamed = from_huggingface(other.state_dict())
    assert renamed.keys() == ours.state_dict().keys()
    assert all(torch.equal(renamed[key], tensor) for key, tensor in ours.state_dict().items())


OLDER = {
    "add_bias_logits": False, "add_final_layer_norm": False, "bad_words_ids": [[PAD]], "bos_token_id": 0,
    "classif_dropout": 0.0, "force_bos_token_to_be_generated": False, "id2label": {"0": "LABEL_0"}, "max_length": 512,
    "normalize_before": False, "normalize_embedding": False, "num_beams": 6, "static_position_embeddings": True,
}  # fmt: skip


def test_settings_of_older_files_that_change_nothing_are_passed_over(folders, tmp_path):
    """Files of OPUS-MT have these; an id of a begin is in them, and no translation begins with it."""
    other, folder = folders("swish")
    ours = load_published(changed(folder, tmp_path, OLDER, without=("decoder_vocab_size",)), dtype=torch.float64)[0]
    assert ours.config.special_ids == (PAD, PAD, 0, 0)
    with precise(other):
        assert max(differences(ours, other).values()) <= 1e-10


def test_settings_that_are_not_there_are_those_of_their_library():
    usual = transformers.MarianConfig()
    c = MarianFamily().config(About({"vocab_size": 58101}, "x"), SpecialIds(58100, 0, 0, 1))
    assert (c.d_model, c.d_ff, c.n_heads, c.n_layers) == (1024, usual.encoder_ffn_dim, 16, usual.encoder_layers)
    assert (c.max_len, c.activation, c.scaled, c.bos_id, c.dropout) == (1024, "gelu", False, 58100, usual.dropout)
    usual, c = transformers.ViTConfig(), VitFamily().config(About({}, "x"), SpecialIds(0, 0, 0, 0))
    assert (c.d_model, c.d_ff, c.n_heads, c.n_layers) == (768, usual.intermediate_size, 12, usual.num_hidden_layers)
    assert (c.max_len, c.activation, c.norm_eps, c.dropout) == (197, "gelu", usual.layer_norm_eps, 0.0)
    usual, c = transformers.DistilBertConfig(), DistilBertFamily().config(About({"vocab_size": 9}, "x"), SpecialIds())
    assert (c.d_model, c.d_ff, c.n_heads, c.n_layers) == (usual.dim, usual.hidden_dim, usual.n_heads, usual.n_layers)
    assert (c.max_len, c.activation, c.norm_eps, c.dropout) == (512, "gelu", 1e-12, usual.dropout)
