"""GPTs of five sizes: what differs between them, the lines through their losses, and the record."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from guards import BOOK

from tested_transformer.book import scaling
from tested_transformer.book.small import language_model
from tested_transformer.files import read_json
from tested_transformer.text.tokens import Vocabulary

RECORD = BOOK / "results" / "scaling.json"
SIZES = np.array([1e3, 1e4, 1e5, 1e6])


def test_each_model_is_about_four_times_as_large_as_the_one_before():
    sizes = [scaling.n_parameters(scaling.create(width, 420, 0)) for width in scaling.WIDTHS]
    assert all(3.7 < two / one < 4 for one, two in pairwise(sizes))
    model = scaling.create(16, 420, 0)
    tables = 420 * 16 + scaling.LONGEST * 16
    assert scaling.n_parameters(model) == sum(w.numel() for w in model.parameters()) - tables


def test_a_straight_line_is_found_again():
    law = scaling.fit(SIZES, 5 * SIZES**-0.25)
    assert np.allclose(law, (5, 0.25, 0))
    assert np.allclose(law(np.array([16, 1e8])), [2.5, 0.05])


def test_a_floor_is_found_again_and_a_straight_line_falls_below_it():
    losses = 2 + 5 * SIZES**-0.25
    law = scaling.fit_with_floor(SIZES, losses)
    assert law.floor == pytest.approx(2, abs=0.005)
    assert law.b == pytest.approx(0.25, abs=0.01)
    assert scaling.fit(SIZES, losses)(1e12) < 2 < law(1e12)


def test_a_seed_gives_the_same_start_and_the_same_sentences():
    given = scaling.Phrases([], Vocabulary([]), [[1, n, 2] for n in range(4, 14)] * 20, [[1, 5, 2], [1, 6, 7, 2]])
    setting, found = scaling.Setting(20, 200), []
    for seed in (0, 0, 1):
        model = scaling.create(8, 20, seed)
        found.append([*scaling.learn(model, given, setting, 0.01, seed), scaling.judge(model, given)])
    assert found[0] == found[1] != found[2]


def test_the_loss_of_unseen_sentences_counts_each_token_once():
    model, rows = scaling.create(8, 20, 0), [[1, 5, 2], [1, 6, 7, 8, 2], [1, 9, 2]]
    given = scaling.Phrases([], Vocabulary([]), [], rows)
    with torch.no_grad():
        each = [-model(torch.tensor([r[:-1]])).log_softmax(-1)[0, range(len(r) - 1), r[1:]].mean() for r in rows]
    wanted = sum(loss.item() * n for loss, n in zip(each, (2, 4, 2), strict=True)) / 8
    for size in (1, 2, 500):
        assert scaling.judge(model, given, size) == pytest.approx(wanted, abs=1e-6)


def test_the_record_is_whole_and_each_run_has_the_rate_that_its_width_liked_best():
    record = read_json(RECORD, "record of runs")
    assert record["settings"] == {name: setting._asdict() for name, setting in scaling.SETTINGS.items()}
    trials = [row for row in record["runs"] if row["setting"] == "rates"]
    for width in scaling.WIDTHS:
        tried = {row["rate"]: row["loss"] for row in trials if row["width"] == width}
        best = min(tried, key=tried.get)
        assert min(tried) < best < max(tried)
        of_width = [row for row in record["runs"] if row["width"] == width]
        assert {row["rate"] for row in of_width if row["setting"] != "rates"} == {best}
        assert {row["parameters"] for row in of_width} == {scaling.n_parameters(scaling.create(width, 420, 0))}
    for setting in ("enough", "few steps"):
        places = [(row["width"], row["seed"]) for row in record["runs"] if row["setting"] == setting]
        assert places == [(width, seed) for width in scaling.WIDTHS for seed in range(3)]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_recorded_run_comes_out_again(tmp_path):
    import scaling as tool

    kept = read_json(RECORD, "record of runs")
    row = next(r for r in kept["runs"] if (r["setting"], r["width"], r["seed"]) == ("few steps", 8, 0))
    given = language_model.read(scaling.LEARN, scaling.JUDGE)
    again = tool.run("few steps", 8, 0, row["rate"], given)
    assert again["parameters"] == row["parameters"]
    assert again["loss"] == pytest.approx(row["loss"], abs=0.02)  # other processors add in another order
    assert Path(tool.__file__).name == "scaling.py"
