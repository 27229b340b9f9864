"""Options of a training run: what they refuse, and when a limit is reached."""

import contextlib
import dataclasses
import json

import numpy as np
import pytest
import torch
from helpers import unchecked

from tested_transformer.training.options import Options


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"steps": 0}, ValueError, r"steps \(0\) must be at least 1"),
        ({"batch_tokens": 1.5}, TypeError, r"batch_tokens \(1\.5\) must be a whole number"),
        ({"cooldown": 3}, ValueError, r"cooldown \(3\) needs at least as many steps, not None"),
        ({"cooldown": 3, "steps": 2}, ValueError, r"cooldown \(3\) needs at least as many steps, not 2"),
        ({"minutes": 0}, ValueError, r"minutes \(0\) must be positive"),
        ({"smoothing": 1.0}, ValueError, r"smoothing \(1\.0\) must be at least 0 and below 1"),
        ({"smoothing": -0.1}, ValueError, r"smoothing \(-0\.1\) must be at least 0 and below 1"),
        ({"ema": 1.0}, ValueError, r"ema \(1\.0\) must be at least 0 and below 1"),
        ({"ema": True}, TypeError, r"ema \(True\) must be a number"),
        ({"warmup": None}, TypeError, r"warmup \(None\) must be a whole number"),
        ({"precision": "half"}, ValueError, r"precision \('half'\) must be"),
    ],
)
def test_wrong_options_are_refused(wrong, error, message):
    with unchecked(), pytest.raises(error, match=message):
        Options(**wrong)


@pytest.mark.parametrize(
    ("least", "names"),
    [(1, "steps epochs patience batch_tokens accumulate warmup save_every"), (0, "cooldown keep seed")],
)
def test_every_whole_number_may_be_its_least_and_no_less(least, names):
    for name in names.split():
        assert getattr(Options(**{name: least}), name) == least
        with pytest.raises(ValueError, match=rf"{name} \({least - 1}\) must be at least {least}"):
            Options(**{name: least - 1})


def test_numbers_of_numpy_are_kept_as_python_s():
    with unchecked():
        options = Options(steps=np.int64(5), minutes=np.float32(0.5), smoothing=np.float64(0.1))
    assert options == Options(steps=5, minutes=0.5)
    assert {type(value) for value in dataclasses.astuple(options)} == {int, float, str, type(None)}
    assert Options.from_dict(json.loads(json.dumps(dataclasses.asdict(options)))) == options


def test_options_of_another_version_are_refused():
    with pytest.raises(ValueError, match="no option of this version: momentum"):
        Options.from_dict({"momentum": 1})


@pytest.mark.parametrize(
    ("limit", "now", "reached"),
    [
        ({"steps": 5}, (4, 9, 9.0, 9), False),
        ({"steps": 5}, (5, 0, 0.0, 0), True),
        ({"epochs": 2}, (9, 1, 9.0, 9), False),
        ({"epochs": 2}, (0, 2, 0.0, 0), True),
        ({"minutes": 1.5}, (9, 9, 1.4, 9), False),
        ({"minutes": 1.5}, (0, 0, 1.5, 0), True),
        ({"patience": 3}, (9, 9, 9.0, 2), False),
        ({"patience": 3}, (0, 0, 0.0, 3), True),
        ({"steps": 5, "epochs": 2}, (0, 2, 0.0, 0), True),
        ({}, (9, 9, 9.0, 9), False),
    ],
)
def test_whichever_limit_comes_first_ends_a_run(limit, now, reached):
    assert Options(**limit).reached(*now) is reached


def test_half_precision_is_the_one_that_needs_no_scaling(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "autocast", lambda *how: asked.append(how) or contextlib.nullcontext())
    for device in ("cpu", "cuda"):
        Options(precision="bfloat16").autocast(torch.device(device))
        Options().autocast(torch.device(device))
    assert asked == [("cpu", torch.bfloat16), ("cuda", torch.bfloat16)]


@pytest.mark.parametrize(("cooldown", "free"), [(0, True), (3, False)])
def test_only_what_changes_no_step_may_change_when_a_run_goes_on(cooldown, free):
    changeable = Options(steps=9, cooldown=cooldown).changeable()
    assert changeable - {"steps"} == {"epochs", "minutes", "patience", "save_every"}
    assert ("steps" in changeable) is free
