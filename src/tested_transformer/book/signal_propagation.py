"""Many boxes in a row: how large signal and gradient are after each, and whether the rows can still be told apart."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tested_transformer.byhand.addnorm import (
    add_norm_backward,
    layer_norm,
    layer_norm_backward,
)
from tested_transformer.byhand.feedforward import feed_forward, feed_forward_backward
from tested_transformer.byhand.heads import (
    multi_head_attention,
    multi_head_attention_backward,
)
from tested_transformer.params import Params


class Run(NamedTuple):
    """Sizes of the rows before the first box and after each, and of the gradient there."""

    signal: list[float]
    gradient: list[float]
    alike: float  # the mean cosine of two rows in the end
    rows: Float[np.ndarray, "N D"]  # in the end


def box_params(
    rng: np.random.Generator, times: float = 1.0, d: int = 32, f: int = 128
) -> Params:
    """A feed-forward network as this book's layers begin, its weights times a factor.

    Uniform within half of Glorot and Bengio's limits, biases zero: what
    `create_linear_layer` draws.
    """
    limit = times * 0.5 * np.sqrt(6 / (d + f))
    w_1, w_2 = (rng.uniform(-limit, limit, shape) for shape in ((f, d), (d, f)))
    weights = {"w_1.weight": w_1, "w_2.weight": w_2}
    return weights | {"w_1.bias": np.zeros(f), "w_2.bias": np.zeros(d)}


def stack(
    add: bool, norm: bool, times: float = 1.0, boxes: int = 24, seed: int = 0
) -> Run:
    """Random rows down through random feed-forward networks, a random gradient back up.

    With add, what goes into a box is added to what comes out; with norm, the rows are
    normalised after each box.
    """
    rng = np.random.default_rng(seed)
    x, saved = rng.normal(size=(16, 32)), []
    signal = [size(x)]
    for _ in range(boxes):
        y, kept = feed_forward(x, box_params(rng, times))
        y = x + y if add else y
        x = _norm(y) if norm else y
        saved.append((kept, y))
        signal.append(size(x))
    d = rng.normal(size=x.shape)
    gradient = [size(d)]
    for kept, y in reversed(saved):
        d = _norm_backward(d, y) if norm else d
        d = add * d + feed_forward_backward(d, kept)[0]
        gradient.append(size(d))
    return Run(signal, gradient[::-1], alike(x), x)


def size(x: Float[np.ndarray, "*S"]) -> float:
    """The root of the mean square of all numbers."""
    return float(np.sqrt(np.mean(np.square(x))))


def short(number: float) -> str:
    """Two digits of a positive number that may be very large or very small."""
    number = float(f"{number:.1e}")
    if 0.01 <= number < 1000:
        return f"{number:.{max(0, 1 - int(np.floor(np.log10(number))))}f}"
    digits, _, power = f"{number:.1e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits}·10{raised}"


def alike(x: Float[np.ndarray, "N D"]) -> float:
    """The mean cosine of two different rows: 1 if all point the same way."""
    arrows = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = arrows @ arrows.T
    return float((cosines.sum() - len(x)) / (len(x) * (len(x) - 1)))


def layers(
    n_layers: int, norm_first: bool, seed: int, gain: float = 1.0, d: int = 32
) -> tuple[list[float], list[float]]:
    """For each layer of a random stack the length of a gradient, the size of its rows.

    The gradient is that of the second feed-forward matrix. Weights are uniform within
    gain times Glorot and Bengio's limits; the loss is a random mixture of all outputs.
    """
    rng, saved, sizes = np.random.default_rng(seed), [], []
    x = rng.normal(size=(1, 8, d))
    for _ in range(n_layers):
        for box in (ATTENTION, FEED_FORWARD):
            read = _norm(x) if norm_first else x
            y, kept = box.forward(read, _drawn(rng, box.shapes(d), gain))
            saved.append((box, kept, x if norm_first else x + y))
            x = x + y if norm_first else _norm(x + y)
        sizes.append(size(x))
    d_x, lengths = rng.normal(size=x.shape), []
    d_x = _norm_backward(d_x, x) if norm_first else d_x
    for box, kept, normalised in reversed(saved):
        d_y = d_x if norm_first else _norm_backward(d_x, normalised)
        d_read, d_params = box.backward(d_y, kept)
        d_x = d_y + (_norm_backward(d_read, normalised) if norm_first else d_read)
        if box is FEED_FORWARD:
            lengths.append(float(np.linalg.norm(d_params["w_2.weight"])))
    return lengths[::-1], sizes


class Around(NamedTuple):
    """The gradient around a box: of the rows before it, of the sum behind it, and what the box hands back."""

    before: Float[np.ndarray, "B T D"]
    added: Float[np.ndarray, "B T D"]
    back: Float[np.ndarray, "B T D"]


def climb(
    d_y: Float[np.ndarray, "B T D"],
    saved: list[dict[str, Any]],
    road: bool = True,
    boxes: bool = True,
) -> list[Around]:
    """A gradient on its way up through encoder layers, box by box, the first box first.

    Without the road, only what the boxes hand back goes on; without the boxes, only what
    the sums hand past them. saved is what `encoder` gave.
    """
    found = []
    for save in reversed(saved):
        for box, name, frame in (
            (FEED_FORWARD, "feed_forward", "addnorm_2"),
            (ATTENTION, "self_attention", "addnorm_1"),
        ):
            d_added, _, _ = add_norm_backward(d_y, save[frame])
            back, _ = box.backward(d_added, save[name])
            d_y = road * d_added + boxes * back
            found.append(Around(d_y, d_added, back))
    return found[::-1]


class Stage(NamedTuple):
    """Lengths of the gradient around a box, one for each of some rows.

    Of the rows before the box, of the sum behind it, and of what the box hands back. In an
    attention, `between` says how much a row (i) gets by what another one (j) asked.
    """

    name: str
    before: np.ndarray
    added: np.ndarray
    back: np.ndarray
    between: np.ndarray | None


def lengths(
    d: Float[np.ndarray, "1 T D"], rows: Sequence[int], unit: float = 1.0
) -> np.ndarray:
    """How long some rows of a gradient are."""
    return np.linalg.norm(d[0, rows], axis=-1) / unit


def stages(
    d_y: Float[np.ndarray, "1 T D"],
    saved: list[dict[str, Any]],
    rows: Sequence[int],
    unit: float = 1.0,
) -> list[Stage]:
    """What `climb` finds for some rows of one sentence, as lengths."""
    found = []
    for n, around in enumerate(climb(d_y, saved)):
        between = None
        if n % 2 == 0:
            between = np.zeros((len(rows), len(rows)))
            for j, asks in enumerate(rows):
                alone = np.zeros_like(around.added)
                alone[0, asks] = around.added[0, asks]
                back, _ = _attend_backward(alone, saved[n // 2]["self_attention"])
                between[:, j] = lengths(back, rows, unit)
        name = "feed-forward" if n % 2 else "attention"
        sizes = (lengths(d, rows, unit) for d in around)
        found.append(Stage(name, *sizes, between))
    return found


class _Box(NamedTuple):
    forward: Callable[[np.ndarray, Params], tuple[np.ndarray, dict[str, Any]]]
    backward: Callable[[np.ndarray, dict[str, Any]], tuple[np.ndarray, Params]]
    shapes: Callable[[int], dict[str, tuple[int, ...]]]


def _attend_backward(
    d_out: np.ndarray, saved: dict[str, Any]
) -> tuple[np.ndarray, Params]:
    *d_inputs, d_params = multi_head_attention_backward(d_out, saved)
    return sum(d_inputs), d_params


ATTENTION = _Box(
    lambda x, params: multi_head_attention(x, x, x, params, n_heads=4),
    _attend_backward,
    lambda d: {f"w_{part}.weight": (d, d) for part in "qkvo"},
)
FEED_FORWARD = _Box(
    feed_forward,
    feed_forward_backward,
    lambda d: {
        "w_1.weight": (4 * d, d),
        "w_1.bias": (4 * d,),
        "w_2.weight": (d, 4 * d),
        "w_2.bias": (d,),
    },
)


def _drawn(
    rng: np.random.Generator, shapes: dict[str, tuple[int, ...]], gain: float
) -> Params:
    limits = {
        name: gain * np.sqrt(6 / sum(shape)) * (len(shape) == 2)
        for name, shape in shapes.items()
    }
    return {
        name: rng.uniform(-limits[name], limits[name], shape)
        for name, shape in shapes.items()
    }


def _norm(x: np.ndarray) -> np.ndarray:
    return layer_norm(x, np.ones(x.shape[-1]), np.zeros(x.shape[-1]))


def _norm_backward(d_y: np.ndarray, x: np.ndarray) -> np.ndarray:
    return layer_norm_backward(d_y, x, np.ones(x.shape[-1]))[0]
