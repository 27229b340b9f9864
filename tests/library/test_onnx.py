"""ONNX: what the README shows, run by another program."""

import logging
import pathlib
import re

import pytest
import torch
from helpers import unchecked

from tested_transformer import Translator
from tested_transformer.text.tokens import pad

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
