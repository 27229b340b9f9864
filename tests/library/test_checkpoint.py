"""Saving and loading: whole or not at all, nothing that runs, and errors that name the file."""

import json

import pytest
import torch

from tested_transformer.config import TINY
from tested_transformer.files import write_json
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint

TOKENS = BytePairEncoding.train(["low lower lowest", "new newer newest"], 20)
CONFIG = TINY.replace(vocab_size=TOKENS.vocab_size)
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


def test_a_model_without_tokeniser_loads_without(tmp_path, model):
    checkpoint.save(tmp_path, model)
    assert checkpoint.load(tmp_path)[1] is None


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
    with pytest.raises(ValueError, match=r"is missing; .*is missing; .*and \d+ more"):
        checkpoint.save(tmp_path, model, weights=weights)
    assert not list(tmp_path.iterdir()), "refused before anything is written"
    checkpoint.save(tmp_path, model)
    checkpoint.write_tensors(tmp_path / "model.safetensors", weights, {})
    with pytest.raises(ValueError, match=r"is missing; .*is missing; .*and \d+ more"):
        checkpoint.load(tmp_path)


def test_a_tokeniser_with_more_tokens_than_the_model_is_refused(tmp_path):
    words = r"tokens\.json does not belong to the model: it has \d+ tokens, the model 16"
    with pytest.raises(ValueError, match=words):
        checkpoint.save(tmp_path, Transformer(TINY), TOKENS)
    assert not list(tmp_path.iterdir()), "refused before anything is written"
    checkpoint.save(tmp_path, Transformer(TINY))
    TOKENS.save(tmp_path / "tokens.json")
    with pytest.raises(ValueError, match=words):
        checkpoint.load(tmp_path)


def test_a_tokeniser_with_other_special_ids_is_refused(tmp_path):
    other = Transformer(CONFIG.replace(pad_id=12))
    words = r"tokens\.json does not belong to the model: it has SpecialIds\(pad=0, .*, the model SpecialIds\(pad=12, "
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
