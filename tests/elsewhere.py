"""Another device, for machines without a GPU: in this mode, tensors on it refuse to meet tensors of the processor.

All is calculated on the processor, so every number is the same to the last bit. But the mode keeps a list of what lies
on the other device, says so where `.device` is asked for, and raises an error where PyTorch would with a real one.
"""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

CARRYING = ("copy_", "_foreach_copy_", "__setitem__", "data__set__")  # numbers from one device to another
MOVING = ("to", "cpu")


class Elsewhere(TorchFunctionMode):
    """While it lasts, there is one more device. As with a GPU, single numbers of the processor may be used there."""

    device = torch.device("xpu")  # PyTorch itself never sees the name

    def __init__(self):
        super().__init__()
        self.there = {}  # memory on the other device; kept, so that no address is given away twice

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, func.__name__
        if name in ("__get__", "__set__"):
            name = func.__self__.__name__ + name
        if name.endswith("__get__") and name != "grad__get__":  # in the same memory, or no tensor
            return self.device if name == "device__get__" and self.has(args[0]) else func(*args)
        given = [*flat((args, kwargs))]
        tensors = [x for x in given if isinstance(x, Tensor)]
        there = any(map(self.has, tensors))
        if name == "_parse_to":  # reads what was given to Module.to
            device, *rest = func(*args, **kwargs)
            return self.device if there else device, *rest
        if name == "_has_compatible_shallow_copy_type":
            return len({*map(self.has, tensors)}) == 1 and func(*args)
        if name == "numpy" and there:
            raise TypeError("can't convert a tensor of another device to numpy")
        if name not in (*CARRYING, *MOVING) and not (name == "__getitem__" and self.has(args[0])):
            self.check_together(name, tensors)
        named = [x for x in given if is_device(x)] or [torch.device("cpu")] * (name == "cpu")
        if named:
            there = torch.device(named[0]) == self.device
            args, kwargs = tree_map_only((str, torch.device), self.real, (args, kwargs))
        elif name == "to":  # like the last tensor, or only of another type
            there = self.has(tensors[-1])
        out = func(*args, **kwargs)
        if name in MOVING and there != self.has(args[0]):
            out = out.clone()  # in the same memory it would lie in two places
        if name in CARRYING:
            there = self.has(tensors[0])
        for tensor in flat(out):
            if isinstance(tensor, Tensor):
                self.put(tensor, there)
        return out

    def has(self, tensor):
        return tensor.untyped_storage()._cdata in self.there

    def put(self, tensor, there):
        memory = tensor.untyped_storage()
        if there:
            self.there[memory._cdata] = memory
        else:
            self.there.pop(memory._cdata, None)

    def real(self, name):
        return "cpu" if is_device(name) and torch.device(name) == self.device else name

    def check_together(self, name, tensors):
        here = [x for x in tensors if x.dim() and not self.has(x)]
        if here and any(map(self.has, tensors)):
            raise RuntimeError(f"{name}: expected all tensors to be on the same device")


def flat(value):
    """What is in lists, tuples and dictionaries of any depth."""
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from flat(part)
    else:
        yield value


def is_device(given):
    """Whether it is a device, or the name of one, and not any other word."""
    return isinstance(given, torch.device) or (isinstance(given, str) and given in ("cpu", "xpu", "meta"))
