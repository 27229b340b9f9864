"""One process or several: what one alone does, and the first of two. Two together are tried in test_main."""

import pytest
import torch
from torch import nn

from tested_transformer.config import TINY
from tested_transformer.data.batches import tensors
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.distributed import World, join, no_sync
from tested_transformer.training.objective import NextToken
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer


@pytest.fixture
def alone(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


def test_one_process_is_the_whole_world(alone):
    with join("cpu") as world:
        assert world == World(0, 1, torch.device("cpu"))
        assert world.sum(2, 0.5) == [2, 0.5]
        module = nn.Linear(1, 1)
        assert world.wrap(module) is module


def test_gradients_of_one_process_wait_for_nobody(alone):
    module = nn.Linear(1, 1)
    for wait in (True, False):
        with no_sync(module, wait):
            module(torch.ones(1)).backward()
    assert module.bias.grad.item() == 2


@pytest.fixture
def two(tmp_path):
    """The first of two, without the second: a process for each would be slow to start. Sums are those of one."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meet'}", rank=0, world_size=1)
    yield World(0, 2)
    torch.distributed.destroy_process_group()


def test_sums_are_over_all_processes_and_in_full_precision(two, monkeypatch):
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda total: total.mul_(2))  # the other has as much
    assert two.sum(1, 2.5, 1e9 + 0.25) == [2, 5, 2e9 + 0.5]


def test_gradients_travel_with_the_last_batch_of_a_step_and_count_for_each_token_of_all_processes(two, tmp_path):
    """PyTorch takes the mean over the processes, so each of two counts double."""
    pairs = [([4, 5, 2], [1, 6, 7, 2]), ([4, 2], [1, 6, 2]), ([8, 2], [1, 9, 2]), ([5, 2], [1, 9, 8, 2])]
    model, options = Transformer(TINY).double(), Options(steps=1, accumulate=2, smoothing=0.0)
    t, travels = Trainer(model, options, pairs, pairs, tmp_path, world=two), []
    t.wrapped.register_forward_pre_hook(lambda module, given: travels.append(module.require_backward_grad_sync))
    group = [tensors(pairs[:2]), tensors(pairs[2:])]
    loss, _, n_tokens = t.gradients(group)
    assert travels == [False, True]
    assert n_tokens == 10
    found = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    summed = sum(NextToken(model, 0.0)(*batch)[0] for batch in group)
    (2 * summed / n_tokens).backward()
    assert loss == pytest.approx(summed.item() / n_tokens)
    for name, p in model.named_parameters():
        torch.testing.assert_close(found[name], p.grad, rtol=0, atol=1e-12)


def test_the_module_of_several_waits_only_when_it_is_told_to(two):
    wrapped = two.wrap(nn.Linear(1, 1))
    assert isinstance(wrapped, nn.parallel.DistributedDataParallel)
    for wait in (True, False):
        with no_sync(wrapped, wait):
            assert wrapped.require_backward_grad_sync is not wait


class Echo(World):
    """A process whose only companion does exactly the same: every sum is twice its own."""

    def sum(self, *numbers):
        return [2 * number for number in numbers]


PAIRS = [([4, 5, 2], [1, 6, 7, 2]), ([4, 2], [1, 6, 2]), ([8, 2], [1, 9, 2]), ([5, 2], [1, 9, 8, 2])]


def run(folder, world, **options):
    torch.manual_seed(0)
    seen = []
    folder.mkdir()
    how = Options(**{"steps": 2, "batch_tokens": 8, "warmup": 4} | options)
    t = Trainer(Transformer(TINY.replace(dropout=0.2)), how, PAIRS, PAIRS, folder, world=world, report=seen.append)
    t.run()
    return t, seen


def test_losses_are_those_of_all_tokens_of_all_processes(tmp_path):
    _, alone = run(tmp_path / "alone", World())
    _, both = run(tmp_path / "both", Echo())
    assert [type(event) for event in both] == [type(event) for event in alone]
    first, with_company = alone[0], both[0]
    assert with_company.tokens == 2 * first.tokens
    assert with_company.loss == pytest.approx(first.loss)
    assert with_company.accuracy == first.accuracy


def test_a_validation_counts_what_other_processes_found(tmp_path):
    class Loaded(World):
        def sum(self, *numbers):
            return [number + 100 for number in numbers]  # of another one: 100 tokens, all right, a loss of 1 each

    t, _ = run(tmp_path / "run", World())
    loss, accuracy = t.validate(t.model.state_dict())
    n_tokens = sum(len(target) - 1 for _, target in PAIRS)
    t.world = Loaded()
    found = (loss * n_tokens + 100) / (n_tokens + 100), (accuracy * n_tokens + 100) / (n_tokens + 100)
    assert t.validate(t.model.state_dict()) == pytest.approx(found)


def test_who_asks_to_stop_stops_all_processes(tmp_path):
    class Stopped(World):
        def sum(self, *numbers):
            return [number + 1 for number in numbers]  # another one asked

    t, _ = run(tmp_path / "run", Stopped())
    assert t.progress.step == 0


class Second(World):
    """The second of two, whose companion has nothing to add."""

    def sum(self, *numbers):
        return list(numbers)

    def wrap(self, module):
        return module


def test_only_rank_0_writes_and_each_rank_drops_out_other_numbers(tmp_path, monkeypatch):
    seeds = []
    monkeypatch.setattr("tested_transformer.training.train.seed_of", lambda *numbers: seeds.append(numbers) or 0)
    monkeypatch.setattr(Trainer, "try_mean", lambda self: False)  # it reads what rank 0 wrote
    for world in (World(), Second(1, 2)):
        t, _ = run(tmp_path / str(world.rank), world, steps=None, epochs=1, keep=1)
        assert t.progress.kept
        assert {rank for *_, rank in seeds} == {world.rank}
        seeds.clear()
    assert list((tmp_path / "1").iterdir()) == []
    assert sorted(path.suffix for path in (tmp_path / "0").glob("[!.]*")) == [".json", *3 * [".safetensors"]]


def test_each_process_has_its_share_of_an_epoch_and_together_they_take_every_pair_once(tmp_path):
    shares, options = [], Options(steps=1, batch_tokens=8)
    for rank in (0, 1):
        t = Trainer(Transformer(TINY), options, PAIRS, PAIRS, tmp_path / str(rank), world=Second(rank, 2))
        shares.append([row[row != 0].tolist() for group in t.groups() for _, target in group for row in target])
    one, other = shares
    assert one
    assert other
    assert sorted(one + other) == sorted(target for _, target in PAIRS)


def test_each_process_of_a_machine_gets_a_gpu_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    choose = lambda name, local_rank: asked.append((name, local_rank)) or torch.device("cpu")  # noqa: E731
    monkeypatch.setattr("tested_transformer.training.distributed.choose_device", choose)
    with join("cuda"):
        assert asked == [("cuda", 3)]


@pytest.mark.parametrize(("kind", "backend"), [("cpu", "gloo"), ("cuda", "nccl")])
def test_one_of_several_joins_by_its_rank_and_parts_even_after_an_error(monkeypatch, kind, backend):
    told, device = [], torch.device(kind, 0)
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tested_transformer.training.distributed.choose_device", lambda name, local_rank: device)
    monkeypatch.setattr(torch.cuda, "set_device", lambda chosen: told.append(chosen.type))
    monkeypatch.setattr(torch.distributed, "init_process_group", told.append)
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: told.append("parted"))
    with pytest.raises(ZeroDivisionError), join(kind, shard=True) as world:
        told.append(1 / (world != World(1, 2, device, shard=True)))
    assert told == [*(["cuda"] if kind == "cuda" else []), backend, "parted"]
    monkeypatch.setenv("WORLD_SIZE", "1")
    with join(kind) as alone:
        assert alone == World(0, 1, device)


def test_every_rank_takes_the_best_weights_when_they_are_written(tmp_path):
    first, _ = run(tmp_path / "run", World())
    hidden, waited = tmp_path / "hidden", []

    class Waiting(Second):
        def sum(self, *numbers):
            waited.append(numbers)
            hidden.rename(tmp_path / "run" / "model.safetensors")  # rank 0 writes it before it comes here
            return super().sum(*numbers)

    (tmp_path / "run" / "model.safetensors").rename(hidden)
    model = Transformer(TINY.replace(dropout=0.2))
    Trainer(model, Options(steps=1), PAIRS, PAIRS, tmp_path / "run", world=Waiting(1, 2)).take_best()
    assert len(waited) == 1
    assert all(torch.equal(w, first.model.state_dict()[name]) for name, w in model.state_dict().items())
