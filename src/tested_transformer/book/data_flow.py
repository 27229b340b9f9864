"""The path of the data through the whole model: its steps, what is said of each, and the chapter of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.book import signal_propagation
from tested_transformer.byhand.decoder import decoder_layer_backward
from tested_transformer.byhand.encoder import encoder_layer_backward
from tested_transformer.byhand.heads import multi_head_attention_backward
from tested_transformer.byhand.softmax import softmax
from tested_transformer.byhand.transformer import (
    tensors,
    transformer,
    transformer_backward,
)
from tested_transformer.config import Config
from tested_transformer.params import Params

CHAPTERS = {
    "tokens": "Tokens",
    "embedding": "Embedding",
    "positions": "Positions",
    "attention": "Attention",
    "masks": "Masks",
    "heads": "Heads",
    "feedforward": "Feed-forward",
    "addnorm": "Add & norm",
    "decoder": "Decoder",
    "loss": "Loss",
}

AXES = {
    "S": "tokens of the source",
    "T": "tokens of the target",
    "D": "width of the model",
    "H": "heads",
    "d_k": "width of a query and a key",
    "d_v": "width of a value",
    "H·d_v": "the heads side by side",
    "F": "inner width",
    "V": "tokens of the vocabulary",
}
"""What the letters of a shape count."""

ABOUT = {
    "source": "The sentence to read, as numbers. An id is a place in the vocabulary.",
    "target": "What has been written so far, as numbers. It begins with <bos>.",
    "embedding": "Each id takes its row of the table E, which both sentences share. "
    "Times √d_model, it starts out at about the size of the positions.",
    "positions": "Attention doesn't see order. So each row gets a pattern of sines "
    "and cosines that belongs to its position.",
    "maps": "In each head, every row becomes a query, a key and a value.",
    "cross maps": "In each head, the queries come from the target. The keys and "
    "values come from the memory, and so from the source.",
    "weights": "Every query is compared with every key. The softmax turns the scores "
    "into shares, so each row of A adds up to 1.",
    "masked weights": "Later tokens are hidden. Their score is −∞ and their share is 0, "
    "so the 1 is divided among the others.",
    "cross weights": "How much does each target token take from each source token? Only "
    "this table has both lengths.",
    "join": "Each head mixes its values by its shares. The mixtures are put side by "
    "side, and W^O brings them back to the width of the model.",
    "add & norm": "What attention has found is added to what was there. Then each "
    "row is brought to mean 0 and variance 1, and learned numbers scale and shift it.",
    "feed-forward": "Each row is widened by itself, its negative numbers are set to 0, and "
    "it is made narrow again.",
    "second": "Added and normalised once more.",
    "memory": "Added and normalised once more. This is the memory, all that the decoder "
    "gets to know of the source.",
    "linear": "Each row is compared with every row of E by a dot product. That makes "
    "one number for each token of the vocabulary.",
    "softmax": "The softmax turns the logits of each position into probabilities.",
    "loss": "Which token should come next, how probable the model finds it, and the "
    "loss, which is minus the logarithm of that.",
}
"""What happens in a step, in a sentence or two."""


STAGES = {
    "source": "encoder.sum",
    "self-attention": "encoder.layers.{last}.self_attention.weights",
    "inner width": "encoder.layers.{last}.feed_forward.hidden",
    "memory": "encoder.layers.{last}.addnorm_2.out",
    "target": "decoder.sum",
    "masked self-attention": "decoder.layers.{last}.self_attention.weights",
    "cross-attention": "decoder.layers.{last}.cross_attention.weights",
    "decoder's rows": "decoder.layers.{last}.addnorm_3.out",
    "logits": "logits",
}
"""Stages of the path, and the tensors found there."""


def n_layers(run: Mapping[str, Any]) -> int:
    """How many layers the encoder of a run has, by the names of its tensors."""
    return sum(bool(re.fullmatch(r"encoder.*\.addnorm_1\.out", name)) for name in run)


def stages(run: Mapping[str, Any]) -> dict[str, str]:
    """The shapes of a run at the stages of its path, as "3 × 6"."""
    last = n_layers(run) - 1
    found = {title: run[name.format(last=last)] for title, name in STAGES.items()}
    return {title: " × ".join(map(str, x.shape)) for title, x in found.items()}


def run(
    params: Params,
    source: Int[np.ndarray, "1 S"],
    target: Int[np.ndarray, "1 T"],
    wanted: Int[np.ndarray, "1 T"],
    config: Config,
) -> dict[str, np.ndarray]:
    """What a run of the model kept, by name, and "answers": probability and loss of each wanted token."""
    logits, saved = transformer(source, target, params, config)
    p = softmax(logits)[0, np.arange(wanted.size), wanted[0]]
    return dict(tensors(saved)) | {"answers": np.stack([p, -np.log(p)], axis=1)}


def small_step(
    params: Params,
    source: Int[np.ndarray, "B S"],
    target: Int[np.ndarray, "B T"],
    wanted: Int[np.ndarray, "B T"],
    config: Config,
    rate: float = 0.5,
) -> tuple[Params, float]:
    """The parameters after a small correction, and the loss before it.

    Every number moves against its gradient.
    """
    logits, saved = transformer(source, target, params, config)
    p, right = softmax(logits), np.eye(config.vocab_size)[wanted]
    gradient = transformer_backward((p - right) / wanted.size, saved)
    moved = {name: w - rate * gradient[name] for name, w in params.items()}
    return moved, float(-np.log((p * right).sum(axis=-1)).mean())


class WayBack(NamedTuple):
    """The gradients of the rows at each stage, in the order of the data: the first are those of what goes in."""

    encoder: list[np.ndarray]  # before each layer (B, S, D); the last is the memory's
    shares: list[np.ndarray]  # what each decoder layer hands to the memory (B, S, D)
    decoder: list[np.ndarray]  # before each layer (B, T, D), and after the last


def way_back(d_logits: Float[np.ndarray, "B T V"], saved: dict[str, Any]) -> WayBack:
    """What `transformer_backward` passes on from layer to layer, kept at each stage."""
    decoder, shares = [d_logits @ saved["table"]], []
    for layer in reversed(saved["decoder"]):
        d_x, d_memory, _ = decoder_layer_backward(decoder[0], layer)
        decoder.insert(0, d_x)
        shares.insert(0, d_memory)
    encoder = [sum(shares)]
    for layer in reversed(saved["encoder"]):
        encoder.insert(0, encoder_layer_backward(encoder[0], layer)[0])
    return WayBack(encoder, shares, decoder)


def lengths(stages: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each stage of the first sentence how long its rows are."""
    return [np.linalg.norm(rows[0], axis=-1) for rows in stages]


def mistake(
    logits: Float[np.ndarray, "1 T V"], right: int, place: int = -1
) -> Float[np.ndarray, "1 T V"]:
    """The gradient of the logits if only one is asked for, and this token should come after that place."""
    d_logits = np.zeros_like(logits)
    d_logits[0, place] = softmax(logits[0, place])
    d_logits[0, place, right] -= 1
    return d_logits


def shut(saved: dict[str, Any], layer: int, head: int) -> dict[str, Any]:
    """A copy of saved in which a head of the encoder hands nothing back; both are counted from 1.

    What the head did in the forward pass stays.
    """
    copy = deepcopy(saved)
    heads = copy["encoder"][layer - 1]["self_attention"]
    n_heads, w_o = heads["q"].shape[1], heads["params"]["w_o.weight"]
    w_o.reshape(len(w_o), n_heads, -1)[:, head - 1] = 0
    return copy


class Heard(NamedTuple):
    """What a row hears of a mistake through an attention of the encoder, and what the mistake costs."""

    weight: float  # with which it was looked at
    as_key: float  # the length of its gradient, in all heads
    as_value: float
    loss: float


def heard(
    ids: Sequence[np.ndarray],
    params: Params,
    config: Config,
    right: int,
    look: tuple[int, int],
    layer: int = 2,
    head: int = 3,
) -> Heard:
    """What the row that is looked at hears if, at the end, the token `right` should come.

    look has the row that is looked at, and the one that looks, in a head; layer and head
    are counted from 1.
    """
    logits, saved = transformer(*ids, params, config)
    memory = way_back(mistake(logits, right), saved).encoder[-1]
    d_box = signal_propagation.climb(memory, saved["encoder"])[2 * (layer - 1)].added
    box = saved["encoder"][layer - 1]["self_attention"]
    seen, looks = look
    both = multi_head_attention_backward(d_box, box)[1:3]
    as_key, as_value = (float(np.linalg.norm(d[0, seen])) for d in both)
    weight = float(box["weights"][0, head - 1, looks, seen])
    return Heard(
        weight, as_key, as_value, float(-np.log(softmax(logits[0, -1])[right]))
    )


class Table(NamedTuple):
    """A tensor on show: its title, its name in the run, its axes, and what its colours mean.

    The kinds: "signed" (around zero), "share" (from 0 to 1), "plain" (no colours).
    `columns` names columns that have no axis; `turned` lays the table on its side.
    """

    title: str
    name: str
    axes: tuple[str, ...]
    kind: str = "signed"
    columns: tuple[str, ...] = ()
    turned: bool = False


class Step(NamedTuple):
    """A stop on the path; steps with the same box stand in it side by side, as its parts."""

    side: str
    layer: int | None
    box: str
    part: str
    look: str
    place: str
    about: str
    tables: tuple[Table, ...]
    says: str = ""


def steps(n_layers: int) -> Iterator[Step]:
    """All steps of a model with that many layers on each side."""
    yield from _bottom("encoder", "S", "source")
    for i in range(n_layers):
        yield from _attention("encoder", i, "self_attention", 1, "SS")
        end = "memory" if i == n_layers - 1 else "second"
        yield from _feed_forward("encoder", i, 2, "S", end)
    yield from _bottom("decoder", "T", "target")
    for i in range(n_layers):
        yield from _attention("decoder", i, "self_attention", 1, "TT", "masked ")
        yield from _attention("decoder", i, "cross_attention", 2, "TS", "cross ")
        yield from _feed_forward("decoder", i, 3, "T", "second")
    yield from _top()


def _bottom(side: str, length: str, about: str) -> Iterator[Step]:
    def table(title: str, name: str) -> Table:
        return Table(title, f"{side}.{name}", (length, "D"))

    def step(box: str, place: str, about: str, *tables: Table) -> Step:
        return Step(side, None, box, "", "embed", place, ABOUT[about], tables)

    ids = Table("ids", f"{side}.ids", (length,), "plain", ("id",))
    yield step("Tokens", "tokens#words-as-tokens", about, ids)
    tables = table("rows of E", "rows"), table("times √d_model", "scaled")
    yield step("Embedding", "embedding#the-lookup-table", "embedding", *tables)
    tables = table("positions P", "positions"), table("the sum", "sum")
    yield step("Positions", "positions#adding-positions", "positions", *tables)


def _attention(
    side: str, i: int, sub: str, norm: int, lengths: str, kind: str = ""
) -> Iterator[Step]:
    """Three steps inside an attention, and its add & norm."""
    at, (ask, give) = f"{side}.layers.{i}.{sub}", lengths
    box = {"": "Attention", "masked ": "Masked attention", "cross ": "Cross-attention"}
    place = {
        "": "attention#softmax-from-scores-to-shares",
        "masked ": "masks#the-causal-mask",
        "cross ": "decoder#cross-attention-words-look-into-the-other-sentence",
    }

    def step(part: str, place: str, about: str, *tables: Table) -> Step:
        about = ABOUT.get(kind + about, ABOUT[about])
        says = "looks" if part == "weights" else ""
        return Step(side, i, box[kind], part, "attend", place, about, tables, says)

    maps = (
        Table("queries Q", f"{at}.q", ("H", ask, "d_k")),
        Table("keys K", f"{at}.k", ("H", give, "d_k")),
        Table("values V", f"{at}.v", ("H", give, "d_v")),
    )
    yield step("Q K V", "heads#cutting-the-rows", "maps", *maps)
    scores = Table("scores Q K^T / √d_k", f"{at}.scores", ("H", ask, give))
    weights = Table("weights A", f"{at}.weights", ("H", ask, give), "share")
    yield step("weights", place[kind], "weights", scores, weights)
    joined = Table("heads, joined", f"{at}.joined", (ask, "H·d_v"))
    out = Table("times W^O", f"{at}.out", (ask, "D"))
    yield step("join", "heads#joining-the-heads", "join", joined, out)
    yield _add_norm(side, i, norm, ask, "add & norm")


def _feed_forward(
    side: str, i: int, norm: int, length: str, end: str
) -> Iterator[Step]:
    at, place = f"{side}.layers.{i}.feed_forward", "feedforward#widen-rectify-narrow"
    hidden = Table("widened, max(0, …)", f"{at}.hidden", (length, "F"))
    tables = hidden, Table("narrowed again", f"{at}.out", (length, "D"))
    about = ABOUT["feed-forward"]
    yield Step(side, i, "Feed-forward", "", "feed", place, about, tables)
    yield _add_norm(side, i, norm, length, end)


def _add_norm(side: str, i: int, norm: int, length: str, about: str) -> Step:
    at, place = f"{side}.layers.{i}.addnorm_{norm}", "addnorm#add-norm-together"
    added = Table("the sum", f"{at}.added", (length, "D"))
    tables = added, Table("each row normalised", f"{at}.out", (length, "D"))
    return Step(side, i, "Add & norm", "", "norm", place, ABOUT[about], tables)


def _top() -> Iterator[Step]:
    def step(box: str, place: str, table: Table, says: str = "next") -> Step:
        about = ABOUT[box.lower()]
        return Step("decoder", None, box, "", "embed", place, about, (table,), says)

    axes, answers = ("T", "V"), ("probability", "loss")
    logits = Table("logits, on their side", "logits", axes, turned=True)
    yield step("Linear", "embedding#the-table-at-the-output", logits, "")
    title = "probabilities, on their side"
    chances = Table(title, "probabilities", axes, "share", (), True)
    yield step("Softmax", "loss#the-probability-of-the-right-token", chances)
    right = Table("the right answers", "answers", ("T", "2"), "plain", answers)
    yield step("Loss", "loss#surprise", right)
