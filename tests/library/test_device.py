"""The device: a GPU where there is one, and one for each process."""

import pytest
import torch
from helpers import TINY, lively, sentences

from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.translator import Translator
from tested_transformer.device import choose_device, given_device
from tested_transformer.model.bert import Bert
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint


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


def test_the_gpu_of_a_mac_is_taken_where_it_is_named_and_there_and_never_by_itself(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert [choose_device(name).type for name in ("auto", "cpu", "mps")] == ["cpu", "cpu", "mps"]
    assert given_device(torch.device("mps:0")).type == "mps"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for device in ("mps", torch.device("mps")):
        with pytest.raises(ValueError, match=r"^device \(mps\) needs the GPU of a Mac, and none was found$"):
            given_device(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:3", torch.device("cuda"), torch.device("cuda:3")], ids=repr)
def test_a_model_is_loaded_onto_a_gpu_that_is_there_or_refused_before_anything_is_read(monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for load in (Translator.load, checkpoint.load):
        with pytest.raises(ValueError, match=rf"^device \({device}\) needs a GPU, and none was found$"):
            load("no-such-folder", device)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    if str(device) == "cuda":
        assert given_device(device) in (torch.device("cuda", 1), torch.device("cuda")), "the one that is worked on"
    else:
        with pytest.raises(ValueError, match=r"^device \(cuda:3\) is not there: 2 GPUs were found$"):
            given_device(device)


def test_a_device_of_another_kind_is_taken_if_it_is_no_mere_name():
    assert given_device(torch.device("meta")).type == "meta"
    assert given_device("auto") == choose_device("auto")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:1x", "cpu:0", "CPU", "", "mps:0", "xpu", "meta"])
def test_a_name_that_is_no_device_is_told_which_are(name):
    with pytest.raises(ValueError, match=rf"device \({name}\) must be auto, cpu, cuda, cuda:NUMBER or mps"):
        choose_device(name)


SOURCE, TARGET = sentences(TINY)
AT_WORK = {
    "a Transformer": (Transformer(TINY).eval(), SOURCE, TARGET),
    "Gpt": (Gpt(TINY).eval(), SOURCE),
    "Bert": (Bert(TINY).eval(), SOURCE),
    "beam": (beam, lively(), SOURCE % 12),
    "greedy": (greedy, lively(), SOURCE % 12),
}


@pytest.mark.parametrize("call", AT_WORK.values(), ids=AT_WORK)
def test_what_is_made_on_the_way_is_made_on_the_device_of_what_was_given(call):
    work, *given = call
    expected = work(*given)
    with torch.device("meta"):  # where it would land if nobody said, and could not be read
        found = work(*given)
    assert found == expected if work is beam else torch.equal(found, expected)
