"""The types of the package, as another checker than our own sees them in the script of a user."""

import json
import subprocess
import sys

import pytest
from guards import ROOT

SCRIPT = """\
import torch

from tested_transformer import BytePairEncoding, Config, Options, Trainer, Transformer, Translator, load, save
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.text.tokens import pad

texts = ["I see the dog.", "You see the cat."]
tokens = BytePairEncoding.train(texts, n_merges=20)
config = Config(tokens.vocab_size, d_model=16, d_ff=32, n_heads=2, n_layers=1)
assert config.d_k * config.n_heads == config.d_model
bos, eos = config.bos_id, config.eos_id
ids = [tokens.encode(text) for text in texts]
pairs = [([*read, eos], [bos, *read, eos]) for read in ids]
trainer = Trainer(Transformer(config), Options(steps=2), pairs, pairs, "run")
trainer.run()
save("model", trainer.model, tokens)
model, saved = load("model")
if saved is None:
    raise ValueError("no tokeniser was saved")
translator = Translator(model, saved, width=2)
words: list[str] = translator.translate(texts)
for candidate in translator.n_best(texts)[0]:
    print(candidate.text.upper(), candidate.score + 1.0, saved.decode(ids[0]))
read, written, weights = translator.look(texts[0], "I see")
print(read[0].upper(), written[0].upper(), weights["cross"].shape)
source = torch.from_numpy(pad(ids, config.pad_id))
print(attention_weights(model, source, source)["encoder"].softmax(-1), model.encode(source).mean())
"""
WRONG = ["config.d_k.upper()", "translator.translate(5)", "saved.vocab", "model.encode(ids)", "Transformer(16)"]


@pytest.mark.slow
def test_a_script_of_a_user_passes_another_type_checker_which_finds_what_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "right.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(SCRIPT + "\n".join(WRONG), encoding="utf-8")
    settings = {"typeCheckingMode": "standard", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", tmp_path, "--pythonpath", sys.executable]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {(one["file"], one["range"]["start"]["line"]) for one in json.loads(run.stdout)["generalDiagnostics"]}
    after = len(SCRIPT.splitlines())
    assert found == {(str(tmp_path / "wrong.py"), after + i) for i in range(len(WRONG))}, run.stdout
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPT, "right.py", "exec"), {})
