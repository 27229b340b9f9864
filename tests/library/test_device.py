"""The device: a GPU where there is one, and one for each process."""

import pytest
import torch

from tested_transformer.device import choose_device


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    for name in ("cuda", "cuda:1"):
        with pytest.raises(ValueError, match=rf"device \({name}\) needs a GPU"):
            choose_device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [choose_device("auto", 1), choose_device("cuda:0", 1)] == [torch.device("cuda", 1), torch.device("cuda", 0)]
    with pytest.raises(ValueError, match=r"device \(cuda:2\) is not there: 2 GPUs were found"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:1x", "cpu:0", "CPU", "", "mps:0"])
def test_a_name_that_is_no_device_is_told_which_are(name):
    with pytest.raises(ValueError, match=rf"device \({name}\) must be auto, cpu, cuda or cuda:NUMBER"):
        choose_device(name)
