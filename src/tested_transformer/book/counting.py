"""What a calculation costs, counted and not timed: multiplications, and what is kept."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def multiplications(f: Callable[..., Any], *inputs: Any) -> int:
    """How many multiplications the matrix products and convolutions in f(*inputs) take.

    PyTorch's counter notes their shapes, and counts additions too; half of it is ours.
    It knows no fused attention on processors, so the plain formula takes its place.
    """
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        f(*inputs)
    return counter.get_total_flops() // 2


def kept(f: Callable[..., Any], *inputs: Any) -> list[Tensor]:
    """The tensors that f(*inputs) keeps for the gradients, each piece of memory once.

    The parameters of a module f are left out: they are there anyway. Inputs on the
    device meta have no memory, and are refused.
    """
    found: dict[int, Tensor] = {}

    def note(x: Tensor) -> Tensor:
        if x.is_meta:
            raise ValueError("kept needs tensors with content, not those on meta")
        found.setdefault(x.untyped_storage().data_ptr(), x)
        return x

    with saved_tensors_hooks(note, lambda x: x):
        f(*inputs)
    for parameter in f.parameters() if isinstance(f, nn.Module) else ():
        found.pop(parameter.untyped_storage().data_ptr(), None)
    return list(found.values())


def n_bytes(tensors: Iterable[Tensor]) -> int:
    """The memory of all these tensors together."""
    return sum(x.untyped_storage().nbytes() for x in tensors)
