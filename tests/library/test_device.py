"""The device: a GPU where there is one, and one for each process. What has to be there is brought there."""

from copy import deepcopy

import pytest
import torch
from elsewhere import Elsewhere
from helpers import TINY, lively, sentences
from torch import nn
from torch.nn import functional as F

from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.exhaustive import exhaustive
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.sampling import draw, sample
from tested_transformer.decoding.translator import Translator
from tested_transformer.device import choose_device, given_device
from tested_transformer.model.bert import Bert, Classifier, Pretraining
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.recurrence import EncoderDecoder
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.diagnosis import diagnose
from tested_transformer.training.distributed import World
from tested_transformer.training.finetuning import fine_tune
from tested_transformer.training.options import Options
from tested_transformer.training.pretraining import pretrain
from tested_transformer.training.train import Trainer


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


# With tensors on another device: a GPU if there is one, and everywhere one that is played


@pytest.fixture(params=["played", *["cuda"] * torch.cuda.is_available()])
def device(request):
    if request.param == "cuda":
        yield torch.device("cuda", torch.cuda.current_device())
    else:
        with Elsewhere() as mode:
            yield mode.device


def test_the_device_that_is_played_keeps_tensors_apart_as_a_real_one_does(device):
    here, there = torch.arange(3.0), torch.arange(3.0, device=device)
    assert (here.device.type, there.device.type, (there + 1).device.type) == ("cpu", device.type, device.type)
    for meet in (torch.add, torch.equal, torch.dot, F.linear, lambda x, y: torch.cat([x, y]), torch._foreach_add_):
        for pair in ((here, there), (there, here)):
            given = pair if meet is not torch._foreach_add_ else ([pair[0]], [pair[1]])
            with pytest.raises(RuntimeError, match="device"):
                meet(*given)
    with pytest.raises(RuntimeError, match="device"):
        nn.Linear(3, 3).to(device)(here)
    with pytest.raises(TypeError, match=r"convert .*device.* to numpy"):
        there.numpy()
    assert (there + torch.tensor(1.0)).tolist() == [1, 2, 3], "a single number may come from the processor"
    assert there[torch.tensor([2, 0])].tolist() == [2, 0], "and so may indices"
    assert there.cpu().numpy().tolist() == here.to(device).tolist() == [0, 1, 2]
    assert here.to(there).device.type == there.double().device.type == device.type
    assert there.to("cpu").device.type == here.copy_(there).device.type == "cpu"
    layer = nn.Linear(3, 3).to(device)
    layer(there).sum().backward()
    assert {x.device.type for x in (layer.weight, layer.weight.grad, layer.state_dict()["bias"])} == {device.type}
    assert {p.device.type for p in layer.double().cpu().parameters()} == {"cpu"}


class Mac(Elsewhere):
    """A device that cannot hold float64, as the GPU of a Mac."""

    device = torch.device("mps")

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs)
        if isinstance(out, torch.Tensor) and out.dtype == torch.float64 and self.has(out):
            raise TypeError("the MPS framework doesn't support float64")
        return out


def test_on_a_mac_too_tokens_are_drawn_and_lie_on_its_device():
    p = torch.full((3, 5), 0.2)
    expected = draw(p, torch.Generator().manual_seed(1))
    with Mac() as mode:
        there = p.to(mode.device)
        found = draw(there, torch.Generator().manual_seed(1))
        assert found.device == mode.device
        with pytest.raises(TypeError, match="float64"):
            there.double()
    assert torch.equal(found, expected)


PICTURES = torch.ones(2, 1, 4, 4)
ASK = SOURCE > 6
MODELS = {
    "Transformer": (Transformer(TINY), SOURCE, TARGET),
    "Gpt": (Gpt(TINY), SOURCE),
    "Bert": (Bert(TINY), SOURCE),
    "Pretraining": (Pretraining(Bert(TINY)), SOURCE, ASK),
    "Classifier": (Classifier(Bert(TINY), 3), SOURCE),
    "VisionTransformer": (VisionTransformer(TINY.replace(max_len=2 * 2 + 1), 2, 3, 1), PICTURES),
    "EncoderDecoder": (EncoderDecoder(16, 8), TARGET[:, :1], TARGET[:, :1]),
}


def brought(value, device):
    """The same, with its tensors on the device."""
    if isinstance(value, nn.Module):
        return deepcopy(value).eval().to(device)
    return value.to(device) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("name", MODELS)
def test_a_model_calculates_where_it_was_brought_and_learns_there(device, name):
    model, *given = (brought(value, device) for value in MODELS[name])
    found, expected = model(*given), MODELS[name][0].eval()(*MODELS[name][1:])
    for x, y in zip(*((out if isinstance(out, tuple) else (out,)) for out in (found, expected)), strict=True):
        assert x.device.type == device.type
        torch.testing.assert_close(x.cpu(), y, rtol=1e-3, atol=1e-4)
        x.sum().backward(retain_graph=True)
    assert {p.grad.device.type for p in model.parameters() if p.grad is not None} == {device.type}


def drawn(model, prompt):
    return sample(model, prompt, 9, generator=torch.Generator().manual_seed(0))


SEARCHES = {
    "greedy": (greedy, lively(), SOURCE % 12),
    "beam": (beam, lively(), SOURCE % 12),
    "exhaustive": (exhaustive, lively(), SOURCE % 12, 0.6, 3),
    "sample": (drawn, Gpt(TINY), TARGET[:, :1]),
    "attention_weights": (attention_weights, lively(), SOURCE % 12, TARGET % 12),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_on_another_device_what_it_finds_here(device, name):
    search, *given = SEARCHES[name]
    found, expected = search(*(brought(value, device) for value in given)), search(*given)
    if isinstance(found, torch.Tensor):
        found, expected = {"ids": found}, {"ids": expected}
    if isinstance(found, dict):
        assert {x.device.type for x in found.values()} == {device.type}
        for key, x in found.items():
            torch.testing.assert_close(x.cpu(), expected[key], rtol=1e-3, atol=1e-4)
    else:
        assert [[h.ids for h in some] for some in found] == [[h.ids for h in some] for some in expected]


def test_a_model_is_diagnosed_where_it_is(device):
    whole = torch.tensor([[1, 5, 9, 2], [1, 6, 2, 0], [1, 7, 8, 2]])
    findings = diagnose(*(brought(value, device) for value in (MODELS["Transformer"][0], SOURCE, whole)))
    assert [finding.name for finding in findings if not finding.holds] == []


def test_a_translator_is_loaded_onto_its_device_and_works_there(device):
    translator, text = Translator.load(device=device), "I need the lamp because it is old."
    assert {p.device.type for p in translator.model.parameters()} == {device.type}
    assert translator.translate([text]) == Translator.load().translate([text])
    assert {w.device.type for w in translator.look(text, "Ich")[2].values()} <= {device.type, "cpu"}


def test_a_model_is_saved_from_its_device_and_loaded_onto_it(device, tmp_path):
    model = Transformer(TINY)
    checkpoint.save(tmp_path, brought(model, device))
    loaded, _ = checkpoint.load(tmp_path, device, dtype=torch.float64)
    assert {(x.device.type, x.dtype) for x in [*loaded.parameters(), *loaded.buffers()]} == {
        (device.type, torch.float64)
    }
    for name, weight in checkpoint.load_into(tmp_path, brought(model, device)).state_dict().items():
        assert weight.device.type == device.type
        assert torch.equal(weight.cpu(), model.state_dict()[name])


def test_a_run_stops_and_goes_on_on_its_device_and_tries_the_mean_of_its_epochs_there(device, tmp_path):
    pairs = [([4, 5, 2], [1, 6, 7, 2]), ([4, 2], [1, 6, 2]), ([8, 2], [1, 9, 2]), ([5, 2], [1, 9, 8, 2])]

    def run(folder, world, *limits):
        for epochs in limits:
            torch.manual_seed(0)
            options = Options(epochs=epochs, keep=2, batch_tokens=9, warmup=5, ema=0.5)
            seen, model = [], Transformer(TINY.replace(n_layers=1))
            trainer = Trainer(model, options, pairs, pairs, folder, world, seen.append)
            if (folder / "last.safetensors").exists():
                trainer.resume()
            trainer.run()
        return model, [event.loss for event in seen]

    model, losses = run(tmp_path / "there", World(device=device), 1, 2)
    plain, expected = run(tmp_path / "here", World(), 1, 2)
    assert losses == pytest.approx(expected, rel=1e-3)
    for name, weight in model.state_dict().items():
        assert weight.device.type == device.type
        torch.testing.assert_close(weight.cpu(), plain.state_dict()[name], rtol=1e-2, atol=1e-3)


def test_processes_add_up_what_lies_on_their_device(device, monkeypatch):
    """What is sent between GPUs must lie on them."""
    sent = []
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda total: sent.append(total.mul_(2)))
    assert World(0, 2, device).sum(1, 2.5) == [2, 5]
    assert [total.device.type for total in sent] == [device.type]


def test_pre_training_and_fine_tuning_go_on_where_the_model_is(device):
    config = TINY.replace(vocab_size=30)
    texts = [([5 + n, 6, 7], [8, 9]) for n in range(6)]
    ids, labels = torch.arange(5, 23).view(6, 3), torch.tensor([0, 1] * 3)
    found = []
    for where in (device, torch.device("cpu")):
        torch.manual_seed(0)
        bert = Bert(config.replace(dropout=0.0)).to(where)
        losses = pretrain(Pretraining(bert).to(where), texts, 4, 3, 0.01, size=3, next_sentence=True)
        found.append(losses + fine_tune(Classifier(bert, 2), ids.to(where), labels.to(where), 3, 0.01, size=3))
    assert found[0] == pytest.approx(found[1], rel=1e-3)
