"""What a calculation costs, counted: multiplications, and what is kept; two functions are about time."""

import json
from collections.abc import Callable, Iterable
from importlib.resources.abc import Traversable
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tested_transformer.config import Config
from tested_transformer.decoding.cache import Cache
from tested_transformer.model.encoder import EncoderLayer
from tested_transformer.model.transformer import Transformer


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


def layer_cost(n: int, d: int, d_ff: int) -> int:
    """The multiplications of an encoder layer for n tokens, by the formula."""
    return 4 * n * d**2 + 2 * n * d * d_ff + 2 * n**2 * d


def counted(n: int, config: Config) -> int:
    """The multiplications of a real encoder layer for n tokens; its numbers take no memory."""
    with torch.device("meta"):
        layer, x = EncoderLayer(config), torch.empty(1, n, config.d_model)
    return multiplications(layer, x)


def layer_keeps(n: int, config: Config) -> int:
    """How many numbers an encoder layer keeps for the gradients of n tokens."""
    return n * (8 * config.d_model + config.d_ff + config.n_heads + 4)


def decoder_keeps(n: int, config: Config) -> int:
    """The same for a decoder layer whose source has n tokens, too, with the memory."""
    return n * (15 * config.d_model + config.d_ff + 2 * config.n_heads + 6)


def with_cache(n: int, config: Config, source: int) -> int:
    """What a decoder multiplies that writes n tokens after a source of so many."""
    d, t = config.d_model, range(1, n + 1)
    token = (6 * d**2 + 2 * i * d + 2 * source * d + 2 * d * config.d_ff for i in t)
    layer = sum(token) + 2 * source * d**2
    return config.n_layers * layer + n * config.vocab_size * d


def without_cache(n: int, config: Config, source: int) -> int:
    """The same if it runs over all tokens, and the source, again for each new one."""
    d, t = config.d_model, range(1, n + 1)
    token = 6 * d**2 + 2 * source * d + 2 * d * config.d_ff
    layer = sum(i * token + 2 * i**2 * d + 2 * source * d**2 for i in t)
    return config.n_layers * layer + n * config.vocab_size * d


@torch.no_grad()
def step_seconds(model: Transformer, n: int = 6) -> float:
    """How long a model takes to write one of n tokens after ten, with a cache."""
    source = torch.full((1, 10), 5)
    cache = Cache(model, model.encode(source), source, n)
    cache.step(source[:, :1])
    start = perf_counter()
    for _ in range(1, n):
        cache.step(source[:, :1])
    return (perf_counter() - start) / (n - 1)


@torch.no_grad()
def writing(model: Transformer, n: int, source: int, cached: bool) -> int:
    """The multiplications that a model takes to write n tokens after a source of so many."""
    read = torch.full((1, source), 5)
    memory = model.encode(read)

    def all_again() -> None:
        for t in range(1, n + 1):
            rows = model.decode(torch.full((1, t), 5), memory, read)
            model.embedding.logits(rows[:, -1:])

    def one_by_one() -> None:
        cache = Cache(model, memory, read, n)
        for _ in range(n):
            cache.step(read[:, :1])

    return multiplications(one_by_one if cached else all_again)


def running(n: int, dtype: torch.dtype) -> list[float]:
    """A sum of n ones in a number format, as it is after each of them."""
    total, totals = torch.zeros((), dtype=dtype), []
    for _ in range(n):
        total = total + 1
        totals.append(total.item())
    return totals


def benchmarks(
    folder: Traversable,
) -> tuple[str, dict[tuple[str, str], dict[str, Any]]]:
    """The machine of the last benchmarks, and what they measured for each case and side."""
    names = ("training.json", "decoding.json")
    parts = [json.loads((folder / name).read_text(encoding="utf-8")) for name in names]
    rows = {(row["case"], row["side"]): row for part in parts for row in part["rows"]}
    machines = {" | ".join(map(str, part["machine"].values())) for part in parts}
    return "\n".join(sorted(machines)), rows
