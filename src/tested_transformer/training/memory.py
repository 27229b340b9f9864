"""Less memory: a model cut into shards, and activations that are computed again."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tested_transformer.model.decoder import DecoderLayer
from tested_transformer.model.encoder import EncoderLayer


def layers(model: nn.Module) -> list[nn.Module]:
    """All encoder and decoder layers of a model, from the first to the last."""
    kinds = EncoderLayer, DecoderLayer
    return [module for module in model.modules() if isinstance(module, kinds)]


def checkpoint_activations(model: nn.Module) -> None:
    """Let each layer keep its input only, and run once more in the backward pass.

    The numbers stay the same, bit for bit: dropout draws the same lots again.
    """
    from torch.utils.checkpoint import checkpoint  # takes long to load

    for layer in layers(model):
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def runs_again(forward: object) -> bool:
    """Whether this `forward` of a module is its own, made by `checkpoint_activations`."""
    module = getattr(getattr(forward, "func", None), "__module__", "")
    return bool(module == "torch.utils.checkpoint")


def shard(model: nn.Module, device: torch.device, world_size: int) -> None:
    """Cut each parameter into world_size shards; this process keeps its own (FSDP2).

    Rank 0's weights are everyone's. The model is whole in each process until it is cut.
    Later a layer is whole while it runs, and what belongs to no layer (the table of
    tokens) from the model's call to the end of its backward pass. Whatever calls the
    model, a search as well, all processes must do at once.
    """
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    # Nothing changes in place what a model returns
    warnings.filterwarnings("ignore", ".* returned a view tensor", UserWarning)
    mesh = init_device_mesh(device.type, (world_size,))
    for tensor in model.state_dict().values():
        distributed.broadcast(tensor, 0)
    part: Any
    for part in (*layers(model), model):
        # Some versions add up where gloo is asked for a mean (pytorch#162338)
        fully_shard(part, mesh=mesh).set_force_sum_reduction_for_comms(True)
        part.unshard()  # makes room that is kept: a search's own could not learn
        part.reshard()
    if hasattr(model, "encode"):  # searches call it by itself
        register_fsdp_forward_method(model, "encode")


def class_of(module: nn.Module) -> type[nn.Module]:
    """The class of a module; of a sharded one, what it was before."""
    kind = type(module)
    return kind.__mro__[2] if hasattr(module, "unshard") else kind


def gathered(tensors: Mapping[str, Tensor], keep: bool = True) -> dict[str, Tensor]:
    """The tensors, put together from their shards by all processes at once.

    One is whole at a time; only where keep is true, all of them end up, on the CPU.
    """
    found = {}
    for name, tensor in tensors.items():
        together = getattr(tensor, "full_tensor", None)
        whole = together() if together else tensor
        if keep:
            found[name] = whole.cpu() if together else whole
    return found


def like(tensor: Tensor, own: Any) -> Tensor:
    """A whole tensor, cut as own is cut."""
    if not hasattr(own, "full_tensor") or hasattr(tensor, "full_tensor"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    how = own.device_mesh, own.placements
    return distribute_tensor(tensor, *how, src_data_rank=None)  # nothing is sent


@contextmanager
def using(
    module: nn.Module, weights: Mapping[str, Tensor]
) -> Iterator[Callable[..., Any]]:
    """The module as a function that computes with weights in place of its own.

    Where they are cut, it has those weights meanwhile, and sets its shards aside.
    """
    own = module.state_dict()
    if not any(hasattr(tensor, "full_tensor") for tensor in own.values()):
        yield lambda *batch: torch.func.functional_call(module, dict(weights), batch)
        return
    before = {name: tensor.clone() for name, tensor in own.items()}
    try:
        module.load_state_dict({n: like(t, own[n]) for n, t in weights.items()})
        yield module
    finally:
        module.load_state_dict(before)
