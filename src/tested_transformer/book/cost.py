"""What a calculation costs, counted: multiplications, and what is kept; two functions are about time."""

import json
from collections.abc import Callable, Iterable
from importlib.resources.abc import Traversable
from time import perf_counter
from typing import Any

import torch
from jaxtyping import Int
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


def saved_tensors(f: Callable[..., Any], *inputs: Any) -> list[Tensor]:
    """The tensors that f(*inputs) keeps for the gradients, each piece of memory once.

    The parameters of a module f are left out: they are there anyway. Inputs on the
    device meta have no memory, and are refused.
    """
    found: dict[int, Tensor] = {}

    def note(x: Tensor) -> Tensor:
        if x.is_meta:
            raise ValueError(
                "saved_tensors needs tensors with content, not those on meta"
            )
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


def layers_keep(n: int, config: Config) -> int:
    """How many numbers all layers keep for n tokens on each side, and the output matrix for the logits.

    The memory is one matrix, which all layers of the decoder read.
    """
    c, rows = config, n * config.d_model
    each = c.n_layers * (layer_keeps(n, c) + decoder_keeps(n, c))
    return each - (c.n_layers - 1) * rows + rows


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


def n_parameters(config: Config) -> int:
    """The parameters of a translator with norms last, without making it."""
    d, d_ff = config.d_model, config.d_ff
    network = 2 * d * d_ff + d_ff + d
    encoder, decoder = 4 * d**2 + network + 2 * 2 * d, 8 * d**2 + network + 3 * 2 * d
    return config.n_layers * (encoder + decoder) + config.vocab_size * d


def price(config: Config, n: int, sentences: int) -> dict[str, float]:
    """What a training step and writing cost, for sentences of n tokens on each side.

    Multiplications are for one token of each side, bytes for all sentences together;
    the model has its norms last.
    """
    c, d, tokens = config, config.d_model, n * sentences
    total = n_parameters(c)
    read = c.n_layers * (layer_cost(n, d, c.d_ff) // n + 2 * d**2)
    write = c.n_layers * (6 * d**2 + 4 * n * d + 2 * d * c.d_ff) + c.vocab_size * d
    return {
        "parameters": total,
        "read": read,
        "written": write,
        "FLOPs of a step": 6 * tokens * (read + write),
        "6ND": 6 * total * tokens,
        "weights": 4 * total,
        "gradients": 4 * total,
        "Adam": 8 * total,
        "kept by layers": 4 * layers_keep(tokens, c),
        "kept by the loss": 4 * tokens * c.vocab_size,
        "cache": 4 * c.n_layers * 2 * d * 2 * tokens,
    }


def bills(
    trainings: Iterable[tuple[float, float]], pace: float
) -> list[tuple[str, ...]]:
    """The rows of a table with a column for each training: what it costs by the rule 6 N D.

    A training is its parameters N and its tokens D; pace is in FLOPs a second.
    """
    names = ["parameters N", "GB to hold them", "tokens in training, D", "FLOPs, 6ND"]
    columns = [(*names, "on the paper's eight GPUs")]
    for size, tokens in trainings:
        work = 6 * size * tokens
        hours = work / pace / 3600
        years = f"{round(hours / 24 / 365, -2):,.0f} years"
        columns.append(
            (
                f"{size / 1e6:.0f} million"
                if size < 1e9
                else f"{size / 1e9:.0f} billion",
                f"{4 * size / 1e9:.2f}" if size < 1e9 else f"{4 * size / 1e9:.0f}",
                f"{tokens:.1e}",
                f"{work:.1e}",
                f"{hours:.0f} hours" if hours < 1e4 else years,
            )
        )
    return list(zip(*columns, strict=True))


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
def writer(
    model: Transformer, source: Int[Tensor, "B S"], n: int, cached: bool
) -> Callable[[], None]:
    """A program that writes n tokens for each source, which the encoder has read before.

    Without a cache the decoder runs over all tokens, and the memory, for each new one.
    """
    memory, first = model.encode(source), source[:, :1]

    @torch.no_grad()
    def all_again() -> None:
        for t in range(1, n + 1):
            rows = model.decode(first.expand(-1, t), memory, source)
            model.embedding.logits(rows[:, -1:])

    @torch.no_grad()
    def one_by_one() -> None:
        cache = Cache(model, memory, source, n)
        for _ in range(n):
            cache.step(first)

    return one_by_one if cached else all_again


def writing(model: Transformer, n: int, source: int, cached: bool) -> int:
    """The multiplications that a model takes to write n tokens after a source of so many."""
    return multiplications(writer(model, torch.full((1, source), 5), n, cached))


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
    """The machines of the last benchmarks, a line each, and what was measured for each case and side."""
    names = ("training.json", "decoding.json", "changes.json")
    parts = [json.loads((folder / name).read_text(encoding="utf-8")) for name in names]
    rows = {(row["case"], row["side"]): row for part in parts for row in part["rows"]}
    machines: dict[str, list[str]] = {}
    for part in parts:
        machine = " | ".join(map(str, part["machine"].values()))
        machines.setdefault(machine, []).append(part["title"].partition(",")[0])
    lines = [f"{machine}: {'; '.join(titles)}" for machine, titles in machines.items()]
    return "\n".join(sorted(lines)), rows
