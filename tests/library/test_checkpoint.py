"""Saving and loading: whole or not at all, nothing that runs, and errors that name the file."""

import builtins
import contextlib
import copy
import errno
import io
import json
import os
import re
import time
from dataclasses import asdict

import pytest
import torch
from helpers import Letters, unchecked
from safetensors.torch import save_file
from torch import nn

from tested_transformer.config import TINY
from tested_transformer.files import write_all, write_json
from tested_transformer.model.bert import Bert, Classifier, DistilBert, MaskedLM, Pretraining, SentenceBert
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.model.marian import Marian, MarianConfig
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer
from tested_transformer.text import tokenizer
from tested_transformer.text.tokenizer import Tokenizer
from tested_transformer.text.tokens import BytePairEncoding, Vocabulary, WordPiece
from tested_transformer.training import checkpoint

TOKENS = BytePairEncoding.train(["low lower lowest", "new newer newest"], 20)
CONFIG = TINY.replace(vocab_size=TOKENS.vocab_size)
LLAMA = LlamaConfig(TOKENS.vocab_size, 16, 24, 4, 2, n_kv_heads=2, rope_factors=(1.0, 2.5))
IDS = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


@pytest.fixture
def folder(tmp_path, model):
    checkpoint.save(tmp_path / "run", model, TOKENS)
    return tmp_path / "run"


def test_a_model_comes_back_as_it_was(folder, model):
    loaded, tokens = checkpoint.load(folder)
    assert loaded.config == CONFIG
    assert not loaded.training
    assert torch.equal(loaded(*IDS), model(*IDS))
    assert tokens.merges == TOKENS.merges


def test_a_loaded_model_is_whole_and_can_be_trained_on(folder):
    loaded, _ = checkpoint.load(folder)
    assert not any(t.is_meta for t in [*loaded.parameters(), *loaded.buffers()])
    loaded(*IDS).sum().backward()
    assert all(parameter.grad is not None for parameter in loaded.parameters())


def test_a_model_without_tokeniser_loads_without_from_a_folder_made_for_it(tmp_path, model):
    checkpoint.save(tmp_path / "runs" / "first", model)
    assert checkpoint.load(tmp_path / "runs" / "first")[1] is None


def test_weights_of_an_average_are_saved_in_place_of_the_models_own(tmp_path, model):
    weights = {name: tensor + 1 for name, tensor in model.state_dict().items()}
    checkpoint.save(tmp_path, model, weights=weights)
    loaded, _ = checkpoint.load(tmp_path)
    assert all(torch.equal(loaded.state_dict()[name], weights[name]) for name in weights)


def test_the_folder_holds_json_and_safetensors_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "tokens.json"]
    assert json.loads((folder / "config.json").read_text())["d_model"] == CONFIG.d_model
    header = (folder / "model.safetensors").read_bytes()
    assert header[8:9] == b"{", "a safetensors file begins with the length of a JSON header, then the header"


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, -1])
def test_a_torn_file_is_refused_by_name(folder, kept):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or no safetensors file"):
        checkpoint.load(folder)


def test_a_file_that_would_run_code_is_refused(folder, model):
    torch.save(model.state_dict(), folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or no safetensors file"):
        checkpoint.load(folder)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such checkpoint: .*config\.json"):
        checkpoint.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"config\.json is no checkpoint: not JSON"),
        ("[1]", r"config\.json is no checkpoint: it holds no object but a list"),
        ('{"vocab_size": 300, "n_experts": 8}', "fields that no Config has: n_experts"),
        ('{"vocab_size": -1}', r"config\.json is no config: vocab_size \(-1\) must be at least 1"),
        ('{"d_model": 8}', r"config\.json lacks vocab_size"),
    ],
)
def test_a_foreign_config_is_refused(folder, text, message):
    (folder / "config.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        checkpoint.load(folder)


def test_weights_of_another_size_are_refused_by_name_and_shape(folder):
    sizes = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 2}
    write_json(folder / "config.json", {"vocab_size": CONFIG.vocab_size + 1} | sizes)
    with pytest.raises(ValueError, match=r"embedding\.weight has shape \(\d+, 16\), the model \(\d+, 16\)"):
        checkpoint.load(folder)


def test_missing_and_foreign_weights_are_counted(tmp_path, model):
    weights = {f"x.{name}": tensor for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=r"is missing; .*is missing; .*and \d+ more") as error:
        checkpoint.save(tmp_path, model, weights=weights)
    assert re.findall(r"([\w.]+) is missing", str(error.value)) == sorted(model.state_dict())[:3]
    assert not list(tmp_path.iterdir()), "refused before anything is written"
    checkpoint.save(tmp_path, model)
    checkpoint.write_tensors(tmp_path / "model.safetensors", weights, {})
    with pytest.raises(ValueError, match=r"is missing; .*is missing; .*and \d+ more"):
        checkpoint.load(tmp_path)


def test_three_missing_weights_are_all_that_is_missing(tmp_path, model):
    weights = dict([*model.state_dict().items()][3:])
    with pytest.raises(ValueError, match=r"(is missing[; ]*.*){3}$") as error:
        checkpoint.save(tmp_path, model, weights=weights)
    assert "more" not in str(error.value)


def test_one_weight_too_many_is_refused_by_name(tmp_path, model):
    weights = model.state_dict() | {"extra": torch.ones(1)}
    with pytest.raises(ValueError, match=r"model\.safetensors does not fit its config: extra is foreign$"):
        checkpoint.save(tmp_path, model, weights=weights)


@pytest.mark.parametrize("vocab_size", [16, TOKENS.vocab_size + 1])
def test_a_tokeniser_with_more_or_fewer_tokens_than_the_model_is_refused(tmp_path, vocab_size):
    model = Transformer(TINY.replace(vocab_size=vocab_size))
    words = rf"tokens\.json does not belong to the model: it has \d+ tokens, the model {vocab_size}"
    with pytest.raises(ValueError, match=words):
        checkpoint.save(tmp_path, model, TOKENS)
    assert not list(tmp_path.iterdir()), "refused before anything is written"
    checkpoint.save(tmp_path, model)
    TOKENS.save(tmp_path / "tokens.json")
    with pytest.raises(ValueError, match=words):
        checkpoint.load(tmp_path)


@pytest.mark.parametrize("name", ["pad", "bos", "eos", "unk"])
def test_a_tokeniser_with_other_special_ids_is_refused(tmp_path, name):
    other = Transformer(CONFIG.replace(**{f"{name}_id": 12}))
    words = rf"tokens\.json does not belong to the model: it has SpecialIds\(pad=0, .*, the model SpecialIds.*{name}=12"
    with pytest.raises(ValueError, match=words):
        checkpoint.save(tmp_path, other, TOKENS)
    checkpoint.save(tmp_path, other)
    TOKENS.save(tmp_path / "tokens.json")
    with pytest.raises(ValueError, match=words):
        checkpoint.load(tmp_path)


def test_tensors_that_share_memory_are_saved_as_two(tmp_path):
    x = torch.arange(6.0).reshape(2, 3)
    checkpoint.write_tensors(tmp_path / "t.safetensors", {"a": x, "b": x.T}, {"step": 3})
    tensors, state = checkpoint.read_tensors(tmp_path / "t.safetensors")
    assert torch.equal(tensors["a"], x)
    assert torch.equal(tensors["b"], x.T)
    assert state == {"step": 3}


# Every kind of model and of tokeniser

MADE = {
    "Gpt": (Gpt(CONFIG), {}, (IDS[0],)),
    "Bert": (Bert(CONFIG, 1, 2), {"n_segments": 1, "first_position": 2}, (IDS[0],)),
    "no pooler": (Bert(CONFIG, pooled=False), {"pooled": False}, (IDS[0],)),
    "Pretraining": (Pretraining(Bert(CONFIG, 1, 2)), {"n_segments": 1, "first_position": 2}, (IDS[0], IDS[0] > 5)),
    "Classifier": (Classifier(Bert(CONFIG, 3), 5), {"n_segments": 3, "first_position": 0}, (IDS[0],)),
    "MaskedLM": (MaskedLM(Bert(CONFIG, 1, 2, False)), {"first_position": 2, "pooled": False}, (IDS[0],)),
    "SentenceBert": (SentenceBert(Bert(CONFIG, 1, 2), "max", False, 9), {"n_segments": 1, "pooled": True}, (IDS[0],)),
    "DistilBert": (Classifier(DistilBert(CONFIG), 3), {"n_segments": 0, "pooled": True}, (IDS[0],)),
    "DistilBert, no pooler": (MaskedLM(DistilBert(CONFIG, pooled=False)), {"pooled": False}, (IDS[0],)),
    "Marian": (Marian(MarianConfig(**asdict(CONFIG), scaled=False)), {}, IDS),
    "Llama": (Llama(LLAMA), {}, (IDS[0],)),
    "VisionTransformer": (
        VisionTransformer(TINY.replace(max_len=5), 2, 3, 1),
        {"size": 2, "n_classes": 3, "channels": 1}, (torch.ones(1, 1, 4, 4),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_every_kind_of_model_comes_back_as_it_was(tmp_path, name):
    model, settings, given = MADE[name]
    with torch.no_grad():
        for parameter in model.parameters():  # a new head of a Classifier is zero
            parameter.add_(0.1)
    checkpoint.save(tmp_path, model)
    loaded, tokens = checkpoint.load(tmp_path, kind=type(model))
    body, its = (getattr(m, "bert", m) for m in (model, loaded))
    assert (type(loaded), type(its), its.config, tokens) == (type(model), type(body), body.config, None)
    assert {setting: getattr(its, setting) for setting in settings} == settings
    if name == "SentenceBert":
        assert (loaded.pooling, loaded.normalised, loaded.max_tokens) == ("max", False, 9)
    torch.testing.assert_close(loaded(*given), model.eval()(*given), rtol=0, atol=0)


@pytest.mark.parametrize("name", MADE)
def test_a_model_of_another_kind_than_was_asked_for_is_refused_with_both_names(tmp_path, name):
    checkpoint.save(tmp_path, MADE[name][0])
    own = type(MADE[name][0])
    for kind in checkpoint.MODELS.keys() - {own}:
        words = rf"another kind: its model is '{own.__name__}', not '{kind.__name__}'\ngive kind={own.__name__}$"
        with pytest.raises(ValueError, match=words):
            checkpoint.load(tmp_path, kind=kind)


def test_a_bert_without_segments_comes_back_as_one(tmp_path):
    model = DistilBert(CONFIG).eval()
    checkpoint.save(tmp_path, model)
    loaded, _ = checkpoint.load(tmp_path, kind=Bert)
    assert type(loaded) is DistilBert
    assert torch.equal(loaded.pool(loaded(IDS[0])), model.pool(model(IDS[0])))


def test_a_head_of_another_width_is_described_by_its_own(tmp_path):
    model = Classifier(Bert(CONFIG), 2)
    model.head = nn.Linear(16, 4)
    checkpoint.save(tmp_path, model)
    assert checkpoint.load(tmp_path, kind=Classifier)[0](IDS[0]).shape == (1, 4)


def test_a_head_of_somebodys_own_is_loaded_into_itself(tmp_path):
    def made():
        model = Classifier(Bert(CONFIG), 2)
        model.head = nn.Sequential(nn.Linear(16, 8), nn.Linear(8, 3))
        return model.eval()

    model = made()
    checkpoint.save(tmp_path, model)
    with pytest.raises(ValueError, match=r"is of a model with modules of its own, such as head"):
        checkpoint.load(tmp_path, kind=Classifier)
    assert torch.equal(checkpoint.load_into(tmp_path, made())(IDS[0]), model(IDS[0]))


@pytest.mark.parametrize("field", ["model_type", "architectures", "hidden_size", "n_embd"])
@pytest.mark.parametrize("kind", [Transformer, Bert, Gpt])
def test_a_folder_of_another_library_is_told_from_one_of_another_kind(tmp_path, field, kind):
    write_json(tmp_path / "config.json", {"vocab_size": 30_522, field: "bert"})
    with pytest.raises(ValueError, match=rf"is of another library, it has {field}: .* read by load_published"):
        checkpoint.load(tmp_path, kind=kind)


def dtypes(model):
    return {tensor.dtype for tensor in [*model.parameters(), *model.buffers()]}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["Transformer", *MADE])
def test_a_model_comes_back_in_its_own_precision_or_in_the_one_that_is_asked_for(tmp_path, name, dtype):
    model = copy.deepcopy(MADE[name][0] if name in MADE else Transformer(CONFIG)).to(dtype)
    checkpoint.save(tmp_path, model)
    loaded, _ = checkpoint.load(tmp_path, kind=type(model))
    assert dtypes(loaded) == {dtype}
    own = model.state_dict() | dict(model.named_buffers())
    for part, tensor in (loaded.state_dict() | dict(loaded.named_buffers())).items():
        assert torch.equal(tensor, own[part]), part
    for asked in (torch.float16, torch.float64):
        loaded, _ = checkpoint.load(tmp_path, "cpu", type(model), asked)
        assert dtypes(loaded) == {asked}
        for part, tensor in loaded.state_dict().items():
            assert torch.equal(tensor, own[part].to(asked)), part


@pytest.mark.parametrize(
    ("some", "others", "widest"),
    [
        (torch.float16, torch.float32, torch.float32),
        (torch.float16, torch.bfloat16, torch.float32),
        (torch.float32, torch.float64, torch.float64),
        (torch.float8_e4m3fn, torch.bfloat16, torch.float32),
        (torch.float8_e4m3fn, torch.float8_e4m3fn, torch.float32),
    ],
)
def test_of_several_precisions_the_widest_loses_nothing(tmp_path, model, some, others, widest):
    weights = {name: w.to(some if "norm" in name else others) for name, w in model.state_dict().items()}
    checkpoint.save(tmp_path, model, weights=weights)
    loaded, _ = checkpoint.load(tmp_path)
    assert dtypes(loaded) == {widest}
    assert all(torch.equal(w, weights[name].to(widest)) for name, w in loaded.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.int8, torch.complex64, torch.float8_e4m3fn])
def test_a_precision_that_no_model_calculates_in_is_refused(folder, dtype):
    with pytest.raises(ValueError, match=rf"dtype \({dtype}\) must be one of torch\.float16, .*, torch\.float64"):
        checkpoint.load(folder, dtype=dtype)


def test_weights_are_loaded_into_a_model_of_somebodys_own_in_its_precision(folder, model):
    assert dtypes(checkpoint.load_into(folder, Transformer(CONFIG).double())) == {torch.float64}


QUANTIZED = {
    "a dtype": torch.qint8,
    "a tuple": (torch.ones(2), None),
    "whole numbers": torch.ones(2, dtype=torch.int8),
    "nothing": None,
}


@pytest.mark.parametrize("what", QUANTIZED)
def test_a_quantized_model_is_refused_by_the_name_of_what_is_no_weight(tmp_path, model, what):
    class Packed(nn.Linear):
        def state_dict(self, *given, destination, prefix, **more):
            destination[prefix + "packed"] = QUANTIZED[what]

    model.decoder.layers[1].feed_forward.w_2 = Packed(32, 16)
    words = (
        r"decoder\.layers\.1\.feed_forward\.w_2\.packed \(.*\) must be a tensor of floats: .* before it is quantized"
    )
    with pytest.raises(TypeError, match=words):
        checkpoint.save(tmp_path / "new", model)
    with unchecked(), pytest.raises(TypeError, match=r"extra \(.*\) must be a tensor of floats"):
        checkpoint.save(tmp_path / "new", model, weights={"extra": QUANTIZED[what]})
    assert not (tmp_path / "new").exists()


def test_a_setting_that_its_kind_needs_and_the_file_lacks_is_named(tmp_path):
    checkpoint.save(tmp_path, MADE["Bert"][0])
    config = json.loads((tmp_path / "config.json").read_text())
    config.pop("first_position")
    write_json(tmp_path / "config.json", config)
    with pytest.raises(ValueError, match=r"config\.json lacks first_position"):
        checkpoint.load(tmp_path, kind=Bert)


@pytest.mark.parametrize("name", ["Bert", "Pretraining", "Classifier", "MaskedLM"])
def test_a_file_of_before_there_were_berts_without_a_pooler_has_one(tmp_path, name):
    model = MADE[name][0]
    model = model if name != "MaskedLM" else MaskedLM(Bert(CONFIG, 1, 2))
    checkpoint.save(tmp_path, model)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config.pop("pooled") is True
    write_json(tmp_path / "config.json", config)
    loaded, _ = checkpoint.load(tmp_path, kind=type(model))
    whole = loaded.state_dict()
    assert all(torch.equal(whole[key], value) for key, value in model.state_dict().items())
    assert any("pooler" in key for key in whole)


@pytest.mark.parametrize(
    ("name", "setting", "value", "words"),
    [
        ("Classifier", "pooled", False, r"pooled \(False\) must be True"),
        ("Bert", "pooled", 1, "pooled must be a builtins.bool, not int"),
        ("SentenceBert", "pooling", "sum", r"pooling \('sum'\) must be one of mean, cls, max"),
        ("SentenceBert", "normalised", None, "normalised must be a builtins.bool, not NoneType"),
        ("SentenceBert", "max_tokens", 99, r"max_tokens \(99\) must be at least 1 and at most 30"),
        ("Llama", "rope_factors", [1.0], r"rope_factors \(1 of them\) must be one for each of 2 pairs"),
        ("Llama", "rope_factors", 3, r"rope_factors \(3\) must be a list of numbers, or None"),
        ("Llama", "rope_factors", "ab", r"rope_factors \('ab'\) must be a list of numbers, or None"),
        ("Llama", "rope_factors", [1.0, 0], r"rope_factors \(0\) must be positive"),
        ("Llama", "rope_factors", [1.0, "2"], r"rope_factors \('2'\) must be a number"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_the_name_of_its_file(tmp_path, name, setting, value, words):
    model = MADE[name][0]
    checkpoint.save(tmp_path, model)
    config = json.loads((tmp_path / "config.json").read_text())
    write_json(tmp_path / "config.json", config | {setting: value})
    with unchecked(), pytest.raises(ValueError, match=rf"config\.json .*{words}"):
        checkpoint.load(tmp_path, kind=type(model))


def test_a_model_of_a_class_of_its_own_is_kept_too_and_never_taken_for_the_class_below(tmp_path):
    class Own(Transformer):
        def decode(self, *given):
            return -super().decode(*given)

    model = Own(CONFIG).eval()
    checkpoint.save(tmp_path, model)
    with pytest.raises(ValueError, match="is of a model with modules of its own"):
        checkpoint.load(tmp_path)
    assert torch.equal(checkpoint.load_into(tmp_path, Own(CONFIG))(*IDS), model(*IDS))


def test_a_kind_that_has_no_files_is_refused_on_both_ways(tmp_path, folder):
    with unchecked():
        for model in (nn.Linear(2, 2), Encoder(CONFIG)):
            with pytest.raises(TypeError, match=r"cannot be saved; these can: Marian, Transformer, Llama, .*, Vision"):
                checkpoint.save(tmp_path / "new", model)
        assert not (tmp_path / "new").exists()
        for kind in (nn.Linear, "Bert", None):
            with pytest.raises(TypeError, match=r"kind \(.*\) must be one of Marian, Transformer, Llama, Gpt"):
                checkpoint.load(folder, kind=kind)


def test_word_pieces_come_back_too(tmp_path):
    tokens = WordPiece.train(["low lower lowest"], 20)
    checkpoint.save(tmp_path, Transformer(TINY.replace(vocab_size=tokens.vocab_size)), tokens)
    _, loaded = checkpoint.load(tmp_path)
    assert type(loaded) is WordPiece
    assert loaded.encode("lowest low") == tokens.encode("lowest low")


def test_a_tokeniser_without_files_is_refused_before_anything_is_written(tmp_path):
    assert all(isinstance(made, Tokenizer) for made in (Letters(), TOKENS, WordPiece(Vocabulary([]))))
    model = Transformer(TINY.replace(vocab_size=30))
    with pytest.raises(TypeError, match=r"class Letters cannot be loaded again; these can: BytePair.*, WordPiece"):
        checkpoint.save(tmp_path, model, Letters())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["Vocabulary", None, ["BytePairEncoding"], 3])
def test_a_file_of_another_kind_is_no_tokeniser(tmp_path, kind):
    write_json(tmp_path / "tokens.json", {"kind": kind, "version": 1, "tokens": []})
    with pytest.raises(ValueError, match=r"tokens\.json is no saved tokeniser: its kind is .*, not one of BytePair"):
        tokenizer.load(tmp_path / "tokens.json")


def test_a_model_with_modules_of_its_own_is_loaded_into_itself_and_never_taken_for_a_plain_one(tmp_path):
    class Other(nn.Linear):
        def forward(self, x):
            return super().forward(2 * x)

    def made():
        model = Transformer(TINY)
        model.decoder.layers[1].feed_forward.w_2 = Other(TINY.d_ff, TINY.d_model)
        return model.eval()

    model = made()
    checkpoint.save(tmp_path, model)
    words = r"is of a model with modules of its own, such as decoder\.layers\.1\.feed_forward\.w_2: make it, and"
    with pytest.raises(ValueError, match=words):
        checkpoint.load(tmp_path)
    again = checkpoint.load_into(tmp_path, made().train())
    assert not again.training
    assert torch.equal(again(*SMALL), model(*SMALL))


SMALL = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])


def test_a_model_comes_with_the_tokeniser_that_it_was_saved_with_or_not_at_all(folder, model):
    other = BytePairEncoding([*TOKENS.merges[:-1], (5, 6)])
    assert other.vocab_size == TOKENS.vocab_size
    other.save(folder / "tokens.json")
    with pytest.raises(ValueError, match=r"tokens\.json is not the one that the model was saved with"):
        checkpoint.load(folder)
    (folder / "tokens.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"tokens\.json is missing, which the model was saved with"):
        checkpoint.load(folder)


def test_a_model_without_a_tokeniser_is_not_put_beside_that_of_another(folder, model):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match=r"tokens\.json may belong to a different model: give its tokens, or remove"):
        checkpoint.save(folder, model)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    checkpoint.save(folder, model, TOKENS)
    (folder / "tokens.json").unlink()
    checkpoint.save(folder, model)
    TOKENS.save(folder / "tokens.json")
    assert checkpoint.load(folder)[1].merges == TOKENS.merges, "put there by hand: nothing speaks against it"


def widened(model):
    model.encoder.layers[0].feed_forward = FeedForward(16, 64)


SPOILT = {
    "a parameter more": lambda model: model.register_parameter("extra", nn.Parameter(torch.ones(1))),
    "another width": widened,
    "a layer less": lambda model: model.decoder.layers.__delitem__(1),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_model_that_its_config_does_not_describe_is_not_saved(tmp_path, model, how):
    SPOILT[how](model)
    with pytest.raises(ValueError, match=r"does not fit its config|says n_layers"):
        checkpoint.save(tmp_path, model)
    assert not list(tmp_path.iterdir())


def test_two_layers_that_are_one_are_saved_as_two(tmp_path):
    model = Transformer(TINY)
    model.decoder.layers[1] = model.decoder.layers[0]
    checkpoint.save(tmp_path, model.eval())
    assert torch.equal(checkpoint.load(tmp_path)[0](*SMALL), model(*SMALL))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_weights_are_numbers_with_a_point(folder, model, dtype):
    weights = {name: tensor.to(dtype) for name, tensor in model.state_dict().items()}
    checkpoint.write_tensors(folder / "model.safetensors", weights, {})
    with pytest.raises(ValueError, match=rf"model\.safetensors: .* holds no numbers but {dtype}"):
        checkpoint.load(folder)


def test_a_damaged_tokeniser_is_told_with_its_file(tmp_path):
    write_json(tmp_path / "tokens.json", {"kind": "BytePairEncoding", "version": 1, "merges": [[99999, 5]]})
    with pytest.raises(ValueError, match=r"tokens\.json is damaged: merge 0 joins ids 99999 and 5"):
        tokenizer.load(tmp_path / "tokens.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
@pytest.mark.parametrize(("make", "what"), [(os.mkdir, "a folder"), (getattr(os, "mkfifo", None), "a device")])
@pytest.mark.parametrize("name", ["config.json", "tokens.json", "model.safetensors"])
def test_a_folder_or_a_pipe_in_place_of_a_file_is_told_with_its_name_and_not_waited_for(folder, name, make, what):
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(ValueError, match=rf"{re.escape(name)} is {what}, not a file"):
        checkpoint.load(folder)


def test_a_small_file_cannot_ask_for_a_large_table(folder, monkeypatch):
    assert checkpoint.MOST <= 2**24, "made within a second"
    monkeypatch.setattr(checkpoint, "MOST", 2**17)
    config = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", config | {"max_len": 2**13})
    assert checkpoint.load(folder)[0].config.max_len == 2**13
    write_json(folder / "config.json", config | {"max_len": 2**13 + 1})
    with pytest.raises(ValueError, match=r"max_len \(8193\) times d_model \(16\) must be at most 131072"):
        checkpoint.load(folder)


# Damage


def test_a_flipped_byte_anywhere_is_refused(tmp_path):
    path = tmp_path / "t.safetensors"
    checkpoint.write_tensors(path, {"a": torch.arange(5.0), "b": torch.ones(2, 2)}, {"step": 3})
    whole, accepted = path.read_bytes(), b""
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with contextlib.suppress(ValueError):
            tensors, state = checkpoint.read_tensors(path)
            assert (tensors["a"].tolist(), tensors["b"].tolist()) == ([0, 1, 2, 3, 4], [[1, 1], [1, 1]])
            assert state == {"step": 3}
            accepted += whole[place : place + 1]
    # Letters of the word sha256: then there is no checksum, and all that it would protect is right
    assert accepted == b"sha256"


def test_tensors_of_other_programs_have_no_checksum_and_are_taken(folder, model):
    save_file(model.state_dict(), folder / "model.safetensors")
    assert torch.equal(checkpoint.load(folder)[0](*IDS), model(*IDS))


@pytest.mark.parametrize(
    "other",
    [
        {"b": torch.arange(4.0).reshape(2, 2)},
        {"a": torch.arange(4.0)},
        {"a": torch.arange(4.0).reshape(2, 2).view(torch.int32)},
        {"a": -torch.arange(4.0).reshape(2, 2)},
    ],
    ids=["name", "shape", "type", "numbers"],
)
def test_a_checksum_is_of_names_types_shapes_and_numbers_in_any_order(other):
    one, more = {"a": torch.arange(4.0).reshape(2, 2)}, {"z": torch.ones(1)}
    assert checkpoint.checksum(one, "{}") != checkpoint.checksum(other, "{}")
    assert checkpoint.checksum(one, "{}") != checkpoint.checksum(one, "[]")
    assert checkpoint.checksum(one | more, "{}") == checkpoint.checksum(more | one, "{}")


def test_a_state_that_is_no_object_is_refused(tmp_path):
    path = tmp_path / "t.safetensors"
    for state in ("[1]", "3", '"x"', "[" * 100_000):
        save_file({"a": torch.ones(1)}, path, {"state": state})
        with pytest.raises(ValueError, match=r"t\.safetensors holds no state of a run"):
            checkpoint.read_tensors(path)
    save_file({"a": torch.ones(1)}, path, {"state": "{"})
    with pytest.raises(ValueError, match=r"t\.safetensors holds no state of a run"):
        checkpoint.read_tensors(path)


HUGE = {
    "layers": {"n_layers": 1_000_000},
    "words": {"vocab_size": 10**12},
    "width": {"d_model": 2**40, "n_heads": 1},
    "width beyond every number": {"d_model": 10**30, "n_heads": 1},
    "words beyond every number": {"vocab_size": 10**30},
    "positions": {"max_len": 10**9},
    "positions beyond every number": {"max_len": 10**30},
    "inside": {"d_ff": 2**62},
    "heads": {"d_k": 2**61},
}


@pytest.mark.parametrize("name", HUGE)
def test_sizes_that_are_not_those_of_the_weights_are_refused_before_anything_is_made(folder, name):
    config = json.loads((folder / "config.json").read_text())
    config.pop("d_k"), config.pop("d_v")
    write_json(folder / "config.json", config | HUGE[name])
    started = time.perf_counter()
    with pytest.raises(ValueError, match=r"config\.json|model\.safetensors does not fit its config"):
        checkpoint.load(folder)
    assert time.perf_counter() - started < 5, "a wrong size takes no time, and no memory"


WRONG = {
    "vocab_size": [None, "300", 3.5, True, -1, [], 0],
    "d_model": [None, "16", 16.5, {}, -16],
    "dropout": [None, "0.1", 2, float("nan"), []],
    "norm_eps": ["1e-5", 0, float("inf"), None],
    "fused": ["yes", 1, None],
    "activation": ["tanh", 3, None, []],
    "pad_id": ["0", -1, 1, 1e9],
    "max_len": ["32", 0, None],
    "norm_first": ["no", 0],
    "model": ["Gpt", 3, ["Transformer"], None],
    "replaced": ["decoder", ["decoder"], {"decoder": 1}, 3, True],
}


@pytest.mark.parametrize("field", WRONG)
def test_every_wrong_field_is_told_with_the_name_of_the_file(folder, field):
    config = json.loads((folder / "config.json").read_text())
    for value in WRONG[field]:
        (folder / "config.json").write_text(json.dumps(config | {field: value}))
        with pytest.raises(ValueError, match=r"config\.json"):
            checkpoint.load(folder)


def test_deep_nesting_is_no_config(folder):
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"config\.json is no checkpoint: not JSON"):
        checkpoint.load(folder)


class Full(io.BytesIO):
    """A file on a disk with room for so many bytes."""

    room = 0

    def __init__(self, path):
        super().__init__()
        self.path = path

    def write(self, content):
        taken, Full.room = content[: Full.room], Full.room - len(content)
        with REAL(self.path, "ab") as file:
            file.write(taken)
        if Full.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(content)

    def fileno(self):
        return 0


REAL = open


@pytest.fixture
def small_disk(monkeypatch):
    chosen = lambda path, mode="r", **more: REAL(path, mode, **more) if mode != "wb" else Full(path)  # noqa: E731
    monkeypatch.setattr(builtins, "open", chosen)
    monkeypatch.setattr("tested_transformer.files.os.fsync", lambda descriptor: None)


def test_a_disk_that_fills_at_any_byte_leaves_both_files_or_none(tmp_path, small_disk):
    new = {tmp_path / "one": b"a" * 30, tmp_path / "two": b"b" * 30}
    Full.room = 60
    write_all(dict.fromkeys(new, b"old"))
    for room in range(60):
        Full.room = room
        with pytest.raises(OSError, match=rf"No space left on device: '.*{'one' if room < 30 else 'two'}'"):
            write_all(new)
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(new, b"old")
    Full.room = 60
    write_all(new)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == new


def test_a_disk_that_fills_while_a_model_is_saved_loses_nothing(tmp_path, small_disk):
    Full.room = 10**6
    first, second = (Transformer(TINY.replace(n_layers=n, d_ff=4, d_model=4)) for n in (1, 2))
    checkpoint.save(tmp_path, first)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    needed = 0
    while not save_with_room(needed, tmp_path, second, before):
        needed += 211
    assert needed > 5000
    assert checkpoint.load(tmp_path)[0].config == second.config


def save_with_room(room, folder, model, before):
    """Whether so many bytes were enough. If not, all is as before, and the error names a file."""
    Full.room = room
    try:
        checkpoint.save(folder, model)
    except OSError as error:
        told = str(error)
    else:
        return True
    assert str(folder) in told
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    return False
