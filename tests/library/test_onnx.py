"""ONNX: what the README shows, and what the command `export` writes, run by another program."""

import logging
import pathlib
import re
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch
from helpers import randomised, unchecked

from tested_transformer import Translator
from tested_transformer.__main__ import main
from tested_transformer.config import TINY
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.cache import Cache
from tested_transformer.decoding.onnx import (
    DECODER,
    ENCODER,
    OnnxCache,
    OnnxModel,
    OnnxSearch,
    OnnxTranslator,
    export_onnx,
)
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.marian import Marian, MarianConfig
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokens import WordPiece, pad
from tested_transformer.training.filenames import CONFIG, TOKENS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # PyTorch's exporter
README = (pathlib.Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_another_program_runs_the_model_for_any_number_of_sentences_of_any_length(tmp_path, monkeypatch, caplog):
    import onnxruntime  # not where tests are collected

    caplog.set_level(logging.ERROR, logger="torch.onnx")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n([^`]*torch\.onnx[^`]*)^```$", README, re.M)
    with unchecked():
        exec(compile(code, "README.md", "exec"), {})
    session, translator = onnxruntime.InferenceSession("model.onnx"), Translator.load()
    texts = ["I need the lamp because it is old.", "You see the child.", "It is raining."]
    source = torch.from_numpy(pad([translator.encode(text, 1) for text in texts], 0))
    target = torch.tensor([[1, 40, 41, 42, 43, 44]]).repeat(3, 1)
    for given in ((source, target), (source.flip(1)[:2], target[:2, :1])):  # padding behind and in front
        found = session.run(None, dict(zip(("source", "target"), (ids.numpy() for ids in given), strict=True)))[0]
        with torch.inference_mode():
            wanted = translator.model(*given)
        torch.testing.assert_close(torch.from_numpy(found).to(wanted), wanted, rtol=0, atol=1e-4)


# Two graphs, with a cache

MARIAN = MarianConfig(**asdict(TINY.replace(vocab_size=40)) | {"pad_id": 39, "bos_id": 39, "eos_id": 0, "unk_id": 1})


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A paper's model and a Marian, as ours and as what onnxruntime runs; exported once."""
    made = {}
    for name, kind, config in (("paper", Transformer, TINY.replace(vocab_size=40)), ("Marian", Marian, MARIAN)):
        model = randomised(kind(config)).float().eval()
        folder = tmp_path_factory.mktemp(name)
        with unchecked():
            export_onnx(model, folder)
        made[name] = model, OnnxModel(folder, threads=1), folder
    return made


def sources(config, n=5, length=7):
    rng = np.random.default_rng(0)
    ids = torch.tensor(rng.integers(4, 39, size=(n, length)))
    for row in range(1, n):
        ids[row, rng.integers(2, length) :] = config.pad_id
    return ids


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "Marian"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("n", [1, 5])
def test_each_step_of_the_graph_gives_the_logits_of_the_cache(exported, name, width, n):
    ours, graphs, _ = exported[name]
    source = sources(ours.config, n)
    assert graphs.config == ours.config
    with torch.inference_mode():
        cache = Cache(ours, ours.encode(source), source, 9, width)
        other = OnnxCache(graphs, graphs.encode(source), source, 9, width)
        sees, drawn = torch.zeros(n, 1, width, 0, dtype=torch.bool), np.random.default_rng(1)
        for step in range(9):
            tokens = torch.tensor(drawn.integers(4, 39, size=(len(cache.source_mask), width)))
            own = torch.eye(width, dtype=torch.bool).expand(len(tokens), 1, width, width)
            sees = torch.cat([sees, own], -1)
            mask = None if width == 1 else sees
            wanted, found = cache.step(tokens, mask), other.step(tokens, mask)
            assert (found - wanted).abs().max() <= 1e-5 * wanted.abs().max()
            if step == 4 and n > 1:
                rows = torch.tensor([3, 0])
                sees = sees[rows]
                cache.keep(rows)
                other.keep(rows)
        with pytest.raises(ValueError, match=r"the cache is full: max_len \(9\)"):
            other.step(tokens, mask)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "Marian"])
def test_its_search_finds_the_hypotheses_of_ours(exported, name):
    ours, graphs, _ = exported[name]
    source = sources(ours.config, 20)
    for width in (1, 4):
        search = OnnxSearch(graphs, source, width, 0.6, 12)
        while search.sentences:
            search.step()
        wanted = beam(ours, source, width, 0.6, 12)
        assert [[h.ids for h in row] for row in search.finished] == [[h.ids for h in row] for row in wanted]
        scores = [h.score for row in search.finished for h in row], [h.score for row in wanted for h in row]
        assert np.allclose(*scores, rtol=1e-4)


@pytest.mark.slow
def test_the_commands_export_and_translate_as_the_model_does(tmp_path, capsys):
    texts = ["I need the lamp because it is old.", "", "It is raining."]
    (tmp_path / "in.txt").write_text("\n".join(texts) + "\n")
    with unchecked():
        assert main(["export", str(tmp_path / "graphs")]) == 0
    assert main(["export", str(tmp_path / "graphs")]) == 1
    assert "is not empty: name a new folder" in capsys.readouterr().err
    graphs = ["translate", "--onnx", str(tmp_path / "graphs"), str(tmp_path / "in.txt"), "--threads", "1"]
    for width in ("1", "4"):
        assert main([*graphs, "--beam", width]) == 0
        assert capsys.readouterr().out.splitlines() == Translator.load(width=int(width)).translate(texts)
    assert main([*graphs, "--attention", str(tmp_path / "page.html")]) == 1
    assert "give --attention with --model" in capsys.readouterr().err
    assert main([*graphs, "--device", "cuda"]) == 1
    assert "device (cuda) must be cpu" in capsys.readouterr().err
    translator = OnnxTranslator.load(tmp_path / "graphs")
    with pytest.raises(ValueError, match="attention weights are those of a model"):
        translator.look("a", "b")
    n_best, wanted = translator.n_best(texts[:2]), Translator.load().n_best(texts[:2])
    assert [[c.text for c in row] for row in n_best] == [[c.text for c in row] for row in wanted]


@pytest.mark.slow
def test_a_folder_of_graphs_that_is_damaged_is_refused_by_name(exported, tmp_path):
    _, _, folder = exported["Marian"]
    for name in (CONFIG, ENCODER, DECODER):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(ValueError, match=rf"{tmp_path} has no tokens\.json"):
        OnnxTranslator.load(tmp_path)
    (tmp_path / ENCODER).write_bytes((folder / DECODER).read_bytes())
    with pytest.raises(ValueError, match=r"encoder\.onnx must read source, not tokens, place"):
        OnnxModel(tmp_path)
    (tmp_path / ENCODER).write_bytes((folder / ENCODER).read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"encoder\.onnx is damaged or no graph of ONNX"):
        OnnxModel(tmp_path)
    (tmp_path / ENCODER).unlink()
    with pytest.raises(FileNotFoundError, match=r"no such graph of ONNX: .*encoder\.onnx"):
        OnnxModel(tmp_path)
    WordPiece.train(["low lower lowest"], 20).save(tmp_path / TOKENS)
    with pytest.raises(ValueError, match="does not belong to the model"):
        OnnxModel(tmp_path)
    (tmp_path / CONFIG).write_text('{"model": "Gpt", "vocab_size": 3}')
    with pytest.raises(ValueError, match="its model is 'Gpt', not 'Transformer'"):
        OnnxModel(tmp_path)


def test_what_cannot_be_exported_is_refused_and_nothing_written(tmp_path, monkeypatch):
    model, folder = Transformer(TINY).eval(), tmp_path / "new"
    with pytest.raises(ValueError, match="the weights must be float32"):
        export_onnx(Transformer(TINY).half(), folder)
    with pytest.raises(ValueError, match="does not belong to the model"):
        export_onnx(model, folder, WordPiece.train(["low lower lowest"], 20))

    class Mine(Embedding):
        """Of another class, which may be cached."""

        cacheable = True

    model.embedding = Mine(16, 16)
    with pytest.raises(ValueError, match="embedding is a module of its own: it cannot be exported"):
        export_onnx(model, folder)
    model.decoder.layers[0].register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match=r"decoder\.layers\.0 .* may need more than a token"):
        export_onnx(model, folder)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ValueError, match="this needs the package onnxscript: pip install onnxscript"):
        export_onnx(model, folder)
    assert not folder.exists()
    with pytest.raises(ValueError, match=r"device \(cuda\) must be cpu"):
        OnnxTranslator.load(folder, "cuda")


@pytest.mark.slow
def test_a_search_that_cannot_be_made_is_refused_before_a_sentence_is_read(exported):
    _, graphs, _ = exported["Marian"]
    for settings in ((0, 0.6), (41, 0.6), (4, 51.0)):
        with pytest.raises(ValueError, match=r"width|alpha"):
            OnnxTranslator(graphs, Forty(), *settings)
    with unchecked(), pytest.raises(TypeError, match=r"model must be a .*OnnxModel, not Transformer"):
        OnnxTranslator(Transformer(TINY), Forty())
    with pytest.raises(ValueError, match="does not belong to the model"):
        OnnxTranslator(graphs, WordPiece.train(["low lower lowest"], 20))


class Forty:
    """A tokeniser of the Marian's size and ids."""

    vocab_size, special_ids = 40, MARIAN.special_ids

    def encode(self, text):
        """No ids."""
        return []

    def decode(self, ids):
        """No text."""
        return ""
