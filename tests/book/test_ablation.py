"""The translators that the chapter on today's layer compares: what differs, what is equal, and what was recorded."""

import json
from collections import Counter

import ablation as tool
import numpy as np
import pytest
import records
import step_times
import torch
from guards import BOOK

from tested_transformer.book import ablation
from tested_transformer.book.ablation import PAPER_NAME, SIZES, SWAPS, TODAY, WIDER
from tested_transformer.decoding.translator import Translator
from tested_transformer.files import read_json
from tested_transformer.model.addnorm import AddNorm, LayerNorm
from tested_transformer.training import checkpoint

VOCABULARY = 1760  # of the packaged translator
RESULTS = BOOK / "results" / "today.json"


@pytest.fixture(scope="module")
def models():
    return {name: ablation.create(name, SIZES["small"], VOCABULARY) for name in SWAPS}


@pytest.fixture(scope="module")
def few():
    given = ablation.sentences(200)
    return given._replace(tested=given.tested[:20], test=given.test[:20])


def classes(model):
    return {name: type(module).__name__ for name, module in model.named_modules()}


EXCHANGED = {
    "norm first": {"encoder.norm": ("Identity", "LayerNorm"), "decoder.norm": ("Identity", "LayerNorm")},
    "RMSNorm": {"addnorm": ("AddNorm", "RMSAddNorm"), "addnorm.norm": ("LayerNorm", "RMSNorm")},
    "SwiGLU": {"feed_forward": ("FeedForward", "SwiGLU")},
    "rotary positions": {
        "self_attention": ("MultiHeadAttention", "RotaryAttention"),
        "positions": ("SinusoidalPositions", "NoPositions"),
    },
    "grouped queries": {
        "self_attention": ("MultiHeadAttention", "GroupedAttention"),
        "cross_attention": ("MultiHeadAttention", "GroupedAttention"),
    },
    "no biases": {},
    "untied output": {"embedding": ("Embedding", "UntiedEmbedding")},
    WIDER: {"embedding": ("Embedding", "UntiedEmbedding")},
}


def place(name):
    """Where a module is, without the numbers: addnorm.norm for encoder.layers.0.addnorm_1.norm."""
    words = [word.rstrip("_123") for word in name.split(".")]
    return ".".join(words[words.index("layers") + 2 :] if "layers" in words else words)


@pytest.mark.parametrize("name", EXCHANGED)
def test_each_model_has_other_modules_where_its_part_is_and_nowhere_else(models, name):
    paper, other = classes(models[PAPER_NAME]), classes(models[name])
    found = {place(n): (paper[n], other[n]) for n in paper.keys() & other.keys() if paper[n] != other[n]}
    assert found == EXCHANGED[name]
    inside = tuple(EXCHANGED[name])
    assert all(place(n).startswith(inside) for n in paper.keys() ^ other.keys())


def test_what_is_no_module_differs_in_its_own_model_only(models):
    def flags(model):
        orders = {m.norm_first for m in model.modules() if isinstance(m, AddNorm)}
        shifts = {m.bias is not None for m in model.modules() if isinstance(m, LayerNorm)}
        biases = any("feed_forward" in n and n.endswith("bias") for n, _ in model.named_parameters())
        return orders, shifts, biases

    paper = ({False}, {True}, True)
    expected = dict.fromkeys(SWAPS, paper)
    expected["norm first"] = ({True}, {True}, True)
    expected["RMSNorm"] = ({False}, set(), True)
    expected["SwiGLU"] = ({False}, {True}, False)
    expected["no biases"] = ({False}, {False}, False)
    expected[TODAY] = ({True}, set(), False)
    assert {name: flags(model) for name, model in models.items()} == expected
    assert [n for n, _ in models["no biases"].named_parameters() if n.endswith("bias")] == []


def test_the_one_of_today_has_all_parts_but_the_second_table(models):
    kinds = set(classes(models[TODAY]).values())
    assert {"RMSNorm", "SwiGLU", "RotaryAttention", "GroupedAttention", "NoPositions"} <= kinds
    assert {"LayerNorm", "FeedForward", "MultiHeadAttention", "SinusoidalPositions", "UntiedEmbedding"}.isdisjoint(
        kinds
    )
    assert {m.n_kv_heads for m in models[TODAY].modules() if hasattr(m, "n_kv_heads")} == {2}


@pytest.mark.parametrize("size", SIZES)
def test_all_have_as_many_parameters_within_a_hundredth_but_the_larger_one(size):
    count = {n: ablation.n_parameters(ablation.create(n, SIZES[size], VOCABULARY)) for n in SWAPS}
    paper = count[PAPER_NAME]
    assert all(abs(n / paper - 1) <= 0.01 for name, n in count.items() if name != WIDER)
    assert count[WIDER] == paper + VOCABULARY * SIZES[size].d_model


def test_a_model_without_shifts_still_scales(models):
    norm = next(m for m in models["no biases"].modules() if isinstance(m, LayerNorm))
    x = torch.randn(3, norm.weight.numel())
    assert torch.allclose(norm(x).mean(-1), torch.zeros(3), atol=1e-6)


def test_what_is_measured_are_the_loss_of_a_token_and_the_sentences_that_are_right(few):
    translator = Translator.load(width=1)
    found = ablation.measure(translator.model, few)
    german = translator.translate([s.english for s in few.test])
    assert found["exact"] == sum(g == s.german for g, s in zip(german, few.test, strict=True))
    assert found["exact"] > 15
    assert found["pronouns"] == 270
    one = few._replace(tested=few.tested[:1])
    source, target = (torch.tensor([ids]) for ids in one.tested[0])
    log_p = translator.model(source, target[:, :-1]).log_softmax(-1)[0]
    wanted = -log_p[torch.arange(target.size(1) - 1), target[0, 1:]].mean().item()
    assert ablation.measure(translator.model, one)["loss"] == pytest.approx(wanted, abs=1e-5)


def test_the_seed_decides_the_order_of_the_sentences(few, monkeypatch):
    monkeypatch.setattr(ablation, "WARMUP", 2)
    monkeypatch.setattr(ablation, "BATCH_TOKENS", 60)
    size = SIZES["small"]._replace(d_model=8, d_ff=8, n_layers=1, steps=4)

    def learned(seed):
        torch.manual_seed(0)
        model = ablation.create("SwiGLU", size, VOCABULARY)
        return ablation.learn(model, few, size, seed)

    assert learned(1) == learned(1) != learned(2)


def test_steps_are_timed_for_each_model(few):
    size = SIZES["small"]._replace(d_model=8, d_ff=8, n_layers=1)
    times = ablation.step_times(["paper", "SwiGLU"], size, few, 2)
    assert list(times) == ["paper", "SwiGLU"]
    assert min(times.values()) > 0


def test_what_was_measured_is_listed_for_the_seeds_that_all_models_have():
    runs = [{"size": "small", "name": name, "seed": seed, "loss": seed + 0.5} for name in SWAPS for seed in (0, 2)]
    more = [{"size": size, "name": "paper", "seed": 1, "loss": 9.0} for size in SIZES]
    found = ablation.measured([*runs, *more], "small", "loss")
    assert list(found) == list(SWAPS)
    assert all(x.tolist() == [0.5, 2.5] for x in found.values())
    assert all(len(x) == 0 for x in ablation.measured(more, "packaged", "loss").values())


def test_a_run_is_kept_once_and_in_its_place(tmp_path):
    path = tmp_path / "out.json"
    for name, loss in (("b", 1), ("a", 2), ("b", 3)):
        records.keep(path, {"name": name, "loss": loss}, lambda row: row["name"], sizes={"x": 1})
    assert records.runs(path) == [{"name": "a", "loss": 2}, {"name": "b", "loss": 3}]
    assert read_json(path, "record")["sizes"] == {"x": 1}


# What was recorded


def test_the_record_is_whole_and_each_run_is_there_once_with_its_command():
    record = read_json(RESULTS, "record of runs")  # refuses a file that was changed by hand
    assert record["sizes"] == {name: size._asdict() for name, size in SIZES.items()}
    runs = record["runs"]
    assert Counter((r["size"], r["name"], r["seed"]) for r in runs).most_common(1)[0][1] == 1
    assert runs == sorted(runs, key=tool.place)
    assert len({r["weights"] for r in runs}) == len(runs)
    for r in runs:
        name = f"'{r['name']}'" if " " in r["name"] else r["name"]
        assert r["command"] == f"tools/ablation.py {r['size']} --seeds {r['seed']} --only {name}"
        model = ablation.create(r["name"], SIZES[r["size"]], VOCABULARY)
        assert r["parameters"] == ablation.n_parameters(model)
        assert (r["d_model"], r["d_ff"]) == (model.config.d_model, model.config.d_ff)
        assert 0 <= r["pronouns"] <= 270
        assert 0 <= r["exact"] <= 1000


def test_the_times_are_of_all_models_at_the_sizes_of_their_command():
    record = read_json(step_times.RESULTS, "record of times")
    words = record["command"].split()
    assert words[0] == "tools/step_times.py"
    assert list(record["milliseconds"]) == words[1 : words.index("--rounds")]
    assert all([*times] == [*SWAPS] for times in record["milliseconds"].values())


def test_a_run_that_is_there_is_not_repeated(tmp_path, monkeypatch, capsys):
    asked = []

    def run(name, size, seed, given):
        asked.append((name, seed))
        return ablation.create(name, size, VOCABULARY), {"training": 1.0, "loss": 1.0, "exact": 1, "pronouns": 1}

    monkeypatch.setattr(ablation, "run", run)
    monkeypatch.setattr(ablation, "sentences", lambda: None)
    words = ["small", "--only", "SwiGLU", "paper", "--out", str(tmp_path / "out.json"), "--seeds"]
    assert tool.main([*words, "0"]) == tool.main([*words, "1", "0"]) == 0
    assert asked == [("SwiGLU", 0), ("paper", 0), ("SwiGLU", 1), ("paper", 1)]
    assert [(r["name"], r["seed"]) for r in tool.runs(tmp_path / "out.json")] == [
        (name, seed) for name in ("paper", "SwiGLU") for seed in (0, 1)
    ]


def test_times_are_kept_with_their_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ablation, "sentences", lambda: None)
    monkeypatch.setattr(ablation, "step_times", lambda names, *more: dict.fromkeys(names, 1.234))
    assert step_times.main(["small", "--rounds", "3", "--machine", "mine", "--out", str(tmp_path / "t.json")]) == 0
    record = read_json(tmp_path / "t.json", "record of times")
    assert record["command"] == "tools/step_times.py small --rounds 3"
    assert record["milliseconds"]["small"] == dict.fromkeys(SWAPS, 1.23)
    assert json.loads((tmp_path / "t.json").read_text())["machine"] == "mine"


@pytest.mark.slow
@pytest.mark.nightly
def test_a_recorded_run_comes_out_again():
    """Bit by bit on a processor like that of the record; elsewhere rounding differs, and the loss is near."""
    row = next(r for r in tool.runs(RESULTS) if (r["size"], r["name"], r["seed"]) == ("small", "SwiGLU", 0))
    torch.set_num_threads(1)
    model, found = ablation.run("SwiGLU", SIZES["small"], 0, ablation.sentences())
    if checkpoint.checksum(model.state_dict(), "{}") == row["weights"]:
        assert {key: round(value, 6) for key, value in found.items()} == {key: row[key] for key in found}
    assert np.isclose(found["loss"], row["loss"], atol=0.01)
    assert np.isclose(found["training"], row["training"], atol=0.005)
