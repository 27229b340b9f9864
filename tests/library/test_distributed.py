"""One process or several: what one alone does. Two together are tried in test_main."""

import pytest
import torch
from torch import nn

from tested_transformer.training.distributed import World, join, no_sync


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


def test_two_worlds_add_up(tmp_path):
    """A process for each rank would be slow to start: one group of one process, taken for two."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meet'}", rank=0, world_size=1)
    try:
        assert World(0, 2).sum(1, 2.5) == [1, 2.5]
        wrapped = World(0, 2).wrap(nn.Linear(1, 1))
        assert isinstance(wrapped, nn.parallel.DistributedDataParallel)
        with no_sync(wrapped, wait=True):
            assert not wrapped.require_backward_grad_sync
        with no_sync(wrapped, wait=False):
            assert wrapped.require_backward_grad_sync
    finally:
        torch.distributed.destroy_process_group()
