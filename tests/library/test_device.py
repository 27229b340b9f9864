"""The device: a GPU where there is one, and one for each process."""

import pytest
import torch

from tested_transformer.device import choose_device


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ValueError, match=r"device \(cuda\) needs a GPU"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [choose_device("auto", 1), choose_device("cuda:0", 1)] == [torch.device("cuda", 1), torch.device("cuda", 0)]
