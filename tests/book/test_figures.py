"""The figures: they draw without a warning, the same way each time, and show the numbers that they were given."""

import functools
import io
import itertools
import re
import warnings

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from helpers import TOKENS, normal, walked
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch, Rectangle
from matplotlib.text import Text

from tested_transformer.book import figures
from tested_transformer.book.coreference import FRAMES
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, X
from tested_transformer.book.experiments import Answer
from tested_transformer.book.figures import flow
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.picture import (
    FAINT,
    INK,
    KEY,
    OUT,
    QUERY,
    SERIES,
    SIGNED,
    VALUE,
    WEIGHTS,
    Picture,
    picture,
    tiles,
)
from tested_transformer.book.figures.running import COLOURS
from tested_transformer.book.signal_propagation import Stage
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.feedforward import relu
from tested_transformer.byhand.positions import sinusoids

Q, K, V = X @ W_Q, X @ W_K, X @ W_V
A_OUT, A = attention(Q, K, V)
STEPS = {"X": X, "Q": Q, "K": K, "V": V, "scores": Q @ K.T / np.sqrt(3), "weights": A, "out": A_OUT}
FLAT = {name: x[:, :2] for name, x in {"Q": Q, "K": K, "V": V, "out": A_OUT}.items()} | {"weights": A}
QUERY_OF_LOVE = Q[1, :2]
TEMPERATURES = np.geomspace(0.2, 50, 20)
CURVES = np.linspace([1, 0, 0], [0.4, 0.28, 0.32], 20)
WIDTHS = [4, 16, 64, 256]
CURVE = np.linspace(-1, 1, 20)
LONG = ("I", "need", "the", "chair", "because", "it")
HEADS = {"by hand": (A, WORDS, WORDS), "trained": (np.eye(4, 6) * 0.9 + 0.01, LONG[:4], LONG)}

FIGURES = {
    "weights": lambda: figures.attention.weights(A, WORDS, WORDS),
    "weights, not square": lambda: figures.attention.weights(A[:2], WORDS[:2], WORDS),
    "path": lambda: figures.attention.path(STEPS, WORDS),
    "mixture": lambda: figures.attention.mixture(A[:, :, None] * V, WORDS),
    "temperature": lambda: figures.attention.temperature(TEMPERATURES, CURVES, WORDS, marked=1.7),
    "plane": lambda: figures.attention.plane(FLAT, WORDS, 1),
    "widths": lambda: figures.attention.widths(WIDTHS, [2.1, 3.9, 8.2, 15.7], [0.3, 0.2, 0.1, 0.05], [0.3] * 4),
    "two heads": lambda: figures.attention.heads(HEADS, rows=(1, 2)),
    "film": lambda: figures.attention.film({f"{n} steps": A for n in range(6)}, range(6), WORDS, row=1),
}
OF_ATTENTION = tuple(FIGURES)
MAPS = np.linspace(0, 1, 48).reshape(2, 2, 3, 4)
SENTENCES = WORDS, ("<bos>", "ich", "liebe", "KI")
PARTS = {
    "shared": {"table": 3_000_000},
    "encoder": {"self-attention": 1_000_000, "feed-forward": 3_990_000, "norms": 10_000},
    "decoder": {"cross-attention": 2_000_000},
}
HALVES = [[1.0, 2.0, 0.5], [0.5, 3.0, 0.0]], [[0.25] * 8, [0.0] * 7 + [1.5]]
BACKWARDS = {"encoder": [(1, 1, 0)], "memory": [(1, 7, 1)], "decoder": [(1, 7, 7)]}
USES = {"as source": [1.0, 0.0], "as target": [0.5, 0.25], "at the output": [0.1, 0.2]}
FIGURES |= {
    "journey": lambda: figures.transformer.journey(walked(), SENTENCES),
    "machine": lambda: figures.transformer.machine([["I see", "it."], ["<bos> Ich"]], walked(layers=2), TOKENS),
    "looks": lambda: figures.transformer.looks({"a": (np.eye(2, 3), ("ich", "KI"), WORDS), "b": (A, WORDS, WORDS)}),
    "areas": lambda: figures.transformer.areas(PARTS),
    "way": lambda: figures.backward_machine.way(*HALVES, (WORDS, "abcdefgh"), {"er": 1, "sie": -1}, BACKWARDS),
    "uses": lambda: figures.backward_machine.uses(USES, WORDS[:2]),
    "guesses": lambda: figures.transformer.guesses([[12.3, 87.7], [50, 50], [1, 99]], WORDS, ("yes", "no")),
}
PATHS = {("a",): 0.6, ("b",): 0.4, ("a", "c"): 0.3, ("a", "d"): 0.3, ("b", "c"): 0.4}
FIGURES |= {
    "tree": lambda: figures.decode.tree(PATHS, {"greedy": [("a",), ("a", "c")], "best": [("b",), ("b", "c")]}),
    "penalties": lambda: figures.decode.penalties([1, 2, 3], {"α = 0": [1, 1, 1], "α = 1": [1, 1.17, 1.33]}),
    "ancestors": lambda: figures.cache.ancestors(
        np.eye(2, 4) > 0, ("a b", "b a"), ("a", "b", "b", "a"), 2, np.ones((4, 3)), np.ones((4, 3))
    ),
    "kept": lambda: figures.cache.kept(("a", "b"), [1, 0], np.eye(2), [[1, 2], [3, 4]], [0.25, 0.75], [2.5, 3.5]),
    "work": lambda: figures.cache.work([1, 2, 3], {"without": [1, 3, 6], "with": [1, 2, 3]}, "rows", {"the end": 3}),
    "bill": lambda: figures.cache.bill({"a": (2, 1), "b": (3, 0.5), "c": (0.1, 0.1)}, ("dear", "cheap"), "steps"),
    "changes": lambda: figures.cache.changes("abc", {"one": np.zeros((3, 3)), "two": np.tri(3) > 0}),
}
OF_K = {"top-k": ("top-k 5", "all")}
DRAWS = {"greedy": [(7, 1), (7, 1), (7, 1)], "all": [(221, 0.69), (230, 0.7), (215, 0.66)]}
FIGURES |= {
    "three models": lambda: figures.gpt.three(np.ones((4, 4)), np.tri(4), np.ones((4, 4)), np.tri(3), np.ones((3, 4))),
    "lines": lambda: figures.gpt.lines(
        {"τ = 1": np.geomspace(0.5, 1e-4, 30), "τ = 2": np.full(30, 1 / 30)}, ("good", "old")
    ),
    "rules": lambda: figures.bert.rules({"a": [0.2, 0.8], "b": [0.3, 0.1]}, ["one", "two"], "a"),
    "roles": lambda: figures.bert.roles(
        {"one": [-1.0, 0.5, 1.0], "two": [0.2, -0.1, 0.3]}, ["object", "object", "possessive"]
    ),
    "fine-tuning": lambda: figures.bert.fine_tuning((("[CLS]", "[MASK]"), 1, "red"), (("[CLS]", "old"), 0, "yes")),
    "a blind guess": lambda: figures.bert.learning([6, 4, 3], {"a": 0.1, "b": 0.4}, 421),
    "likeliest": lambda: figures.gpt.likeliest(
        {"a": ([0.6, 0.3, 0.1], "xyz", 2), "b": ([0.4, 0.3, 0.3], "uvw", 3)}, 1, most=2
    ),
    "trade": lambda: figures.gpt.trade(DRAWS | {"top-k 5": [(205, 0.7), (212, 0.69), (209, 0.7)]}, OF_K),
    "hit": lambda: figures.gpt.hit([0.5, 0.3, 0.2], "abc", 0.6),
    "doubts": lambda: figures.gpt.doubts([0.5, 30, 80], [0.1, 33, 80], [1000, 100, 100], low=0.001),
}
RUN = ([5, 10, 15], [20.0, 25.0, 27.0])
FIGURES |= {
    "learning": lambda: figures.translation.learning([5, 4, 3, 2], {0: 5.5, 4: 2.5}, {0: 5.6, 4: 6.5}, {0: 0, 4: 30}),
    "cut links": lambda: figures.translation.cut({"seed 0": {"as it is": 9, "cut": 3}, "seed 2": {"none": 8}}, 9),
    "shares": lambda: figures.translation.shares(["dative", "plural"], [12, 3], {"a": [50, 60], "b": [90, 100]}),
    "pieces": lambda: figures.bleu.pieces(["der", "Hund", "."], {1: [True, False, True], 2: [False, True]}),
    "two lines": lambda: figures.bleu.compared(
        {"BLEU 8": (["so"], {1: [True]}), "9": (["a", "b"], {1: [True, False]})}
    ),
    "scores apart": lambda: figures.bleu.apart({"x": {"all": 96.0, "some": 87.0}, "y": {"all": 95.0, "some": 97.0}}),
    "interval": lambda: figures.bleu.interval([1, 2, 2, 3], 1.1, 2.9, 2.1),
    "minutes": lambda: figures.bleu.minutes({"a, val": RUN, "a, test": RUN}, {"a": ([1, 2], [3, 2])}),
}

FIGURES |= {
    "faults": lambda: figures.trouble.losses(
        {"a": [3, 2.5, 2], "b": [2, 1.9], "c": [1, 0], "d": [3, 3]}, [3, 2, 1], {"a": ("floor", 2), "d": ("order", 0.5)}
    ),
    "held out": lambda: figures.trouble.held_out({"few": ([3, 1, 0], {1: 3, 3: 3.5}), "many": ([3, 2, 1], {2: 2})}),
}


def answer(thing, weights, german, without, frame=0):
    return Answer(frame, thing, FRAMES[frame].say(thing), tuple(weights), german, without)


CHAIR = answer("chair", [0.01, 0.02, 0, 0.9, 0, 0.03, 0.04, 0], *2 * ["Ich brauche den Stuhl, weil er alt ist."])
MUSIC = answer("music", [0, 0, 0.2504, 0.7496, 0, 0, 0], *2 * ["Ich brauche Musik, weil sie alt ist."])
CARPET = [("I", 44), (" car", 1092), ("p", 83), ("et", 313), (" old", 491), (".", 17)]
WAY = ([2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.5, 0.25, 0.125, 1.5, 2.5])
TAKEN = [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]], [0.25, 0.75, 0]
FIGURES |= {
    "three": lambda: figures.running.three([CHAIR, MUSIC]),
    "tokens": lambda: figures.tokens.read([("It reads", CARPET), ("It writes", CARPET[:2])]),
    "merges": lambda: figures.tokens.merges([["a", "b", "c"], ["ab", "c"]], ["bytes", "merge 1"]),
    "stream": lambda: figures.running.stream(["I", " love", " it"], normal(3, 4), 1, WAY, TAKEN, ("Ich", "liebe")),
    "holes": lambda: figures.bert.gaps(["I", "love"], [[("i", 0.75), ("you", 0.04)], [("see", 0.5), ("love", 0.25)]]),
    "surprises": lambda: figures.loss.tokens({"before": (LONG, CURVE[10:16] * 9), "after it": (LONG, [0.0] * 6)}),
    "surprise": lambda: figures.loss.surprise(
        [1e-6, 0.1, 0.5, 1], [13.8, 2.3, 0.7, 0], [0.6, 0.2], [0.5, 1.6], "ab", {"p = 0.1": 0.1, "p = 0.000001": 1e-6}
    ),
    "gaps": lambda: figures.loss.gaps(
        np.arange(1, 11), {"ends never": CURVE[10:] * 9, "ends": np.ones(10), "low": np.zeros(10)}
    ),
    "fetched": lambda: figures.heads.fetched(LONG, 5, {"head 1": np.eye(6)[3], "head 2": np.eye(6)[4] * 0.75}),
    "writes": lambda: figures.decoder.writes(
        LONG, ("<bos>", "Ich", "weil"), {"across": np.eye(6)[5] * 0.9, "back": np.array([0.5, 0.3, 0.2])}, "er"
    ),
    "depth": lambda: figures.addnorm.depth({"small": 0.1 ** np.arange(25), "large": 2.0 ** np.arange(25)}),
    "fan": lambda: figures.addnorm.fan({"open": [80, 90, 100], "behind 24, closed": [5, 8, 10]}),
    "exchanged": lambda: figures.decoder.exchanged(
        {"chair": LONG, "lamp": LONG}, 5, "Ich brauche den Stuhl, weil", {"er": "m", "sie": "f"}
    ),
    "river": lambda: figures.addnorm.river(
        "it", [("attention", 16.4, 6.1, 17.9, 11.4), ("box", 11.4, 0.4, 11.3, 10.5)]
    ),
    "row of": lambda: figures.heads.row_of(np.linspace(0, 1, 24).reshape(2, 2, 6), LONG, marked=(1, 0)),
}
CLIMBED = [
    Stage("attention", [36, 53], [27, 51], [20, 12], np.array([[11.0, 15.0], [0.3, 11.0]])),
    Stage("feed-forward", [40, 79], [38, 79], [8, 0], None),
]
TANGENT = np.array([[-1.6, -0.6], [0.0, -0.8], [0.2, -0.7]])
SIZES = {"norms": [("encoder", 0.1), ("decoder", 0.3)], "table": [("shared table", 0.02)]}
FIGURES |= {
    "sizes": lambda: figures.adam.sizes(SIZES),
    "rates of parts": lambda: figures.adam.rates({"one": {0.5: 3.0, 1: 4.0}, "two": {1: 9.0}}, 0, 5),
    "limits of parts": lambda: figures.adam.rates(
        {"all": {0.5: 3.0, 8: 4.0}, "two": {1: 4.0}}, 0, 5, {"two": 0.94}, {"two": "the"}
    ),
    "across": lambda: figures.adam.across({"one": CURVE, "two": -CURVE}, 100),
    "valley": lambda: figures.adam.valley({"one": normal(5, 2)}, CURVE, CURVE, CURVE**2 + 100 * CURVE[:, None] ** 2),
    "starts": lambda: figures.adam.starts({"one": np.arange(7, 1, -1), "two": np.ones(6)}),
    "rare": lambda: figures.adam.rare({"one": normal(5, 2), "two": normal(5, 2, seed=1)}),
}
FIGURES |= {
    "climb": lambda: figures.backward_layer.climb(("chair", "it"), CLIMBED, [1, 84]),
    "tangent": lambda: figures.backward_layer.tangent(*TANGENT, "love"),
}
FOUR, PHRASES = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), ("good", "bad", "not good", "not bad")
FIGURES |= {
    "network": lambda: figures.feedforward.network(normal(64), relu(normal(96)), normal(64), ("in", "hidden", "out")),
    "separated": lambda: figures.feedforward.separated(
        FOUR, np.maximum(FOUR @ [[1, -1], [-1, 1]], 0), [0, 1, 1, 0], PHRASES
    ),
    "firing": lambda: figures.feedforward.firing(normal(3, 4), relu(normal(3, 4)), WORDS),
    "firing, with questions": lambda: figures.feedforward.firing(
        normal(3, 2), relu(normal(3, 2)), WORDS, ["first − second", "second"]
    ),
    "told": lambda: figures.feedforward.told(
        normal(6, 3), "mfnmfn", {"m": "er", "f": "sie", "n": "es"}, [14, 137, 139], np.eye(3)
    ),
    "kinks": lambda: figures.feedforward.kinks(CURVE, CURVE**2, np.outer(CURVE, [1, -2, 3]), 2 * CURVE),
    "activations": lambda: figures.feedforward.activations(
        CURVE, {"a": CURVE, "b": CURVE**2}, {"a": CURVE, "b": CURVE}
    ),
}
SENTENCE = normal(4, 16)
FIGURES |= {
    "sentence": lambda: figures.notation.rows(["I", " need", " it", "<eos>"], SENTENCE, 2),
    "batch": lambda: figures.notation.batch({"chair": SENTENCE, "lamp": 2 * SENTENCE, "hat": -SENTENCE}),
    "sides": lambda: figures.notation.sides(np.eye(2, 3), np.ones((3, 2)), [[0.5, 0.5], [0, 1]], ["I", "love"]),
    "taken": lambda: figures.notation.taken(
        ["I", " need", " it", "<eos>"], SENTENCE, [0.004, 0.992, 0.003, 0.001], 1, "it takes"
    ),
    "broadcast": lambda: figures.notation.broadcast(
        np.eye(2, 3),
        {"a row": ([1, 2, 3], np.add(np.eye(2, 3), [1, 2, 3])), "a column": ([[4], [5]], 9 * np.ones((2, 3)))},
    ),
    "step": lambda: figures.notation.step(([0, 1, 2], [4, 1, 4]), -2, [(0.0, 4.0), (0.5, 3.0), (2.0, 5.0)]),
}
ROWS = [(("I", " see", word), (4, 5, i), [[0.5, -1], [1, 0], [i / 10, 0]]) for word, i in ((" it", 6), (" them", 7))]
IN_THE_PLANE = np.array([[4.0, 0], [4, 2], [0, 0], [1, 4], [0, 4]])
SOME = {"m": ["man", "chair"], "f": ["lamp"], "n": ["book", "egg"]}
FIGURES |= {
    "rows": lambda: figures.running.rows(ROWS, 0, 2, [COLOURS["m"], COLOURS["f"]]),
    "nouns": lambda: figures.embedding.nouns(IN_THE_PLANE, "mmfnn", SOME, (1, [0.0, 2.0], "chair")),
}
READ = [("I am old.", "Ich bin alt."), ("Am bold I old.", "Bin ich alt.")]
FIGURES |= {
    "orders": lambda: figures.positions.orders(READ, "Ich alten.", ("old", "alt")),
    "clocks": lambda: figures.positions.clocks(sinusoids(3, 8)[:, :6], WORDS),
    "by place": lambda: figures.positions.shares([[0.2, 0.7], [0.55, 0.45]], framed=True),
    "swapped": lambda: figures.positions.swapped(
        {"moved": (["0 I", "1 love"], [0.25, 0.5], 1), "other words": (["I", "AI"], [1, 0], 0)}
    ),
    "parts": lambda: figures.positions.parts(
        {"a": [1, -2.5], "b": [0, 1], "score": [1, -1.5]}, ("weight", [0.92, 0.08]), ["0 I", "1 love"], 1
    ),
    "sums": lambda: figures.positions.sums({"a": np.eye(3), "b": -2 * np.eye(3)}, WORDS, limit=2),
}
GIVEN = ("<bos>", " Ich", " bin", " alt")
BACK, ALL = np.tri(4, dtype=bool), np.ones((4, 4), dtype=bool)
LOOKS_BACK = BACK / BACK.sum(axis=1, keepdims=True)
FIGURES |= {
    "votes": lambda: figures.masks.votes(
        {"seen": [0.25, 0.5, 0.25], "after": [0.25, 0.5, 0]}, ["I", "love", "padding"]
    ),
    "answers": lambda: figures.masks.answers(LOOKS_BACK, GIVEN, (*GIVEN[1:], "."), marked=2),
    "kinds": lambda: figures.masks.kinds({"all": (ALL, LONG[:4], LONG[:4]), "back": (BACK, GIVEN, LONG[:4])}, marked=1),
}
STAGES = [["er", "sie", "er"], ["er", "sie", "er"], ["er", "er", "sie"]]
KNOWS = [WORDS, ("I", "love of I", "AI of love"), ("I", "love of I", "AI of love of I")]
LAYER = {"x": X, "head 1": A, "head 2": A.T, "attended": A_OUT, "normed": -X, "hidden": normal(3, 4)}
FIGURES |= {
    "traced": lambda: figures.encoder.traced(WORDS, STAGES, "er"),
    "layer": lambda: figures.encoder.layer(LAYER | {"fed": 2 * X, "out": X - 1}, WORDS),
    "hops": lambda: figures.encoder.hops(np.eye(3)[[0, 0, 1]], KNOWS),
    "alike": lambda: figures.encoder.alike({"one": [0, 0.5, 1], "two": [0, 0.1, 0.2]}),
}
ROUND = {10: ["aa", "b"], 20: ["ba", "c"]}
FIGURES |= {
    "learns": lambda: figures.onefile.learns(np.linspace(4, 1, 40), ROUND, ("ab", "c")),
    "hidden faults": lambda: figures.onefile.faults(
        {rule: {"right": CURVE + 1, "wrong": CURVE**2} for rule in ("a", "b")}
    ),
}
FIGURES["stops of a film"] = lambda: figures.film.maps({"step 0": MAPS, "step 9": MAPS**2})
CUT = {"as it is": [("dem", 1.0), ("der", 0.9)], "noun hidden": [("den", 0.8), ("der", 0.6)]}
FIGURES |= {
    "a framed weight": lambda: figures.looking.heads(np.full((2, 2, 3, 3), 1 / 3), WORDS, WORDS, framed=(1, 0, 2, 1)),
    "framed rows": lambda: figures.looking.heads(np.full((2, 2, 3, 3), 1 / 3), WORDS, WORDS, marked=(1, 2)),
    "each link": lambda: figures.looking.each_link(
        {"it on chair": (np.linspace(0, 1, 8), np.eye(8)[7] * 0.2), "it on lamp": (np.eye(8), 1.5 * np.eye(8))},
        "nats",
        quiet=0.01,
    ),
    "cuts": lambda: figures.looking.cuts(CUT, ["man", "woman"]),
}
FIGURES |= {
    "chances while it learns": lambda: figures.train.chances({"article": {"chair": CURVE**2, "lamp": CURVE**4}}),
    "losses on a logarithmic axis": lambda: figures.train.losses({"one": CURVE**2 + 1}, logarithmic=True),
    "losses and a floor": lambda: figures.train.losses(
        {"one": CURVE + 2, "other": CURVE + 1}, {"floor": 0.5}, every=10
    ),
    "two curves apart": lambda: figures.train.apart({"right": CURVE + 2, "wrong": CURVE + 1}, "ahead", 20, every=10),
    "what is written": lambda: figures.train.written("I love AI.", {"step 0": [("Ich", True), ("Auto", False)]}),
    "questions": lambda: figures.train.questions(SENTENCES[1], [*SENTENCES[1][1:], "<eos>"], np.tri(4)),
    "answers given away": lambda: figures.train.given_away(
        {"peeking": ("abcd", "bcde", np.ones((4, 4))), "unshifted": ("abcd", "abcd", np.tri(4))}
    ),
}
FIGURES |= {
    "hover": lambda: figures.schedule.hover({"0.1": CURVE + 2, "root": CURVE + 4}, {"0.1": (2, 2.5), "root": (2, 4.5)}),
    "noise": lambda: figures.schedule.noise([1.0, 0.7, 0.6], [1.0, 0.7, 0.5], 0.25),
    "rates": lambda: figures.schedule.rates([1, 600, 9000], {"ours": [0, 1, 0], "the paper's": [0, 1, 0.5]}, 600),
    "with and without": lambda: figures.schedule.training(
        {"with": [CURVE, -CURVE], "without": [CURVE**2]}, 0.5, "guess"
    ),
}
each_figure = pytest.mark.parametrize("name", FIGURES)


@functools.cache
def drawn(name):
    """A figure, its picture and the size of that; no warning is let through."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib|pyparsing")  # theirs
        figure = FIGURES[name]()
        return figure, *figure._repr_png_()


def texts(axes):
    """The numbers that stand in the tiles, as rows; None where there is none."""
    found = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts}
    rows, columns = axes.get_images()[0].get_array().shape
    return [[found.get((i, j)) for j in range(columns)] for i in range(rows)]


def labels(ticks):
    return [tick.get_text() for tick in ticks]


@each_figure
def test_a_figure_draws_without_warnings_in_the_right_size(name):
    figure, code, size = drawn(name)
    assert isinstance(figure, Picture)
    pixels = matplotlib.image.imread(io.BytesIO(code), "png")
    inches = figure.get_size_inches()
    assert inches[0] <= 7.2
    assert np.allclose(pixels.shape[:2], 200 * inches[::-1], rtol=0, atol=1)
    assert size == {"width": round(96 * inches[0]), "height": round(96 * inches[1])}
    assert np.ptp(pixels[..., :3]) > 0.5, "the picture is empty"
    assert np.all(pixels[0, :, :3] == 1), "the ground is not white"


@each_figure
def test_a_figure_has_the_same_bytes_each_time_whatever_the_style_outside(name):
    with rc_context({"font.size": 30, "text.color": "red", "axes.titlelocation": "right", "figure.facecolor": "red"}):
        assert FIGURES[name]()._repr_png_() == drawn(name)[1:]


@each_figure
def test_no_letter_is_too_small_for_a_phone(name):
    words = drawn(name)[0].findobj(lambda artist: hasattr(artist, "get_fontsize"))
    assert min(text.get_fontsize() for text in words if text.get_text()) >= 11


@pytest.mark.parametrize("name", [name for name in OF_ATTENTION if name != "plane"])  # which stands on paper
def test_the_letters_of_a_picture_of_attention_can_be_read_on_a_phone(name):
    figure = drawn(name)[0]
    shrunk = min(1, 342 / (96 * figure.get_size_inches()[0]))  # so many pixels are there for a picture
    words = figure.findobj(lambda artist: hasattr(artist, "get_fontsize"))
    assert min(text.get_fontsize() for text in words if text.get_text()) * 96 / 72 * shrunk >= 10


@pytest.mark.parametrize("name", ["mixture", "temperature", "widths"])
def test_what_is_no_query_key_value_or_output_has_not_their_colours(name):
    pixels = matplotlib.image.imread(io.BytesIO(drawn(name)[1]), "png")[..., :3]
    assert np.ptp(pixels, axis=2).max() < 0.1, "not grey"


def test_tiles_show_the_numbers_of_the_array_where_they_stand():
    x = np.array([[0.12345, 1.0, -0.25], [-0.00001, 1 / 3, 1 - 1e-15]])
    _, ((axes,),) = picture(3, 2)
    tiles(axes, x, WEIGHTS, (0, 1), decimals=2)
    assert texts(axes) == [["0.12", "1", "-0.25"], ["0.00", "0.33", "1"]]
    assert np.array_equal(axes.get_images()[0].get_array(), x)
    assert axes.get_images()[0].get_clim() == (0, 1)
    assert axes.yaxis_inverted(), "the first row stands at the top"


def test_tiles_take_whole_numbers_yes_and_no_and_infinity():
    for x in (np.array([[1, 0]]), np.array([[True, False]])):
        _, ((axes,),) = picture(3, 2)
        tiles(axes, x, WEIGHTS, (0, 1), decimals=2)
        assert texts(axes) == [["1", "0"]]
    tiles(axes, np.array([[-np.inf, 0.5]]), WEIGHTS, (0, 1), decimals=1)
    assert "-inf" in [text.get_text() for text in axes.texts]


def luminance(colour):
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("cmap", [WEIGHTS, SIGNED], ids=lambda cmap: cmap.name)
def test_numbers_can_be_read_on_every_tile(cmap):
    _, ((axes,),) = picture(6, 2)
    shades = np.linspace(0, 1, 101)
    tiles(axes, shades[None], cmap, (0, 1), decimals=2)
    for shade, text in zip(shades, axes.texts, strict=True):
        assert contrast(cmap(shade)[:3], text.get_color()) >= 4.5, f"{text.get_text()} cannot be read"


def test_colours_of_lines_and_words_stand_out_from_white_and_from_each_other():
    assert all(contrast(colour, "white") >= 4.5 for colour in (INK, *SERIES))
    assert SERIES[:4] == (QUERY, KEY, VALUE, OUT)
    for one, other in itertools.combinations(SERIES, 2):
        assert np.abs(np.subtract(to_rgb(one), to_rgb(other))).max() > 0.2


def test_weights_have_a_row_for_each_query_and_a_column_for_each_key():
    x = np.array([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
    axes = figures.attention.weights(x, ("this", "that"), ("a", "b", "c")).axes[0]
    assert texts(axes) == [["0.2500", "0.7500", "0"], ["0.1000", "0.2000", "0.7000"]]
    assert labels(axes.get_yticklabels()) == ["this", "that"]
    assert labels(axes.get_xticklabels()) == ["a", "b", "c"]
    assert "queries" in axes.get_ylabel()
    assert "keys" in axes.get_xlabel()
    assert (axes.yaxis.label.get_color(), axes.xaxis.label.get_color()) == (QUERY, KEY)
    assert axes.get_images()[0].get_clim() == (0, 1)


def test_the_path_shows_every_step_with_its_formula_and_an_arrow_for_each_use():
    figure = figures.attention.path(STEPS, WORDS)
    figure.draw_without_rendering()
    titles = ["$X$", *(rf"${x} = X\,W^{x}$" for x in "QKV"), r"$QK^T/\sqrt{d_k}$", "softmax", "weights"]
    assert len(figure.axes) == len(STEPS)
    for axes, (name, x), title in zip(figure.axes, STEPS.items(), titles, strict=True):
        assert title in axes.get_title()
        (image,) = axes.get_images()
        assert np.array_equal(image.get_array(), x)
        places = 0 if name in "XQKV" else 2
        assert texts(axes) == [[f"{number:.{places}f}" for number in row] for row in x]
        tints = {tuple(image.cmap(image.norm(number))) for number in x.flat}
        assert len(tints) == (len(np.unique(x.round(9))) if name == "weights" else 1), "only a weight is darker"
        if name == "weights":
            assert (image.cmap.name, image.get_clim()) == (WEIGHTS.name, (0, 1)), "as in every picture of weights"
    assert labels(figure.axes[0].get_yticklabels()) == list(WORDS)
    arrows = [artist for artist in figure.artists if hasattr(artist, "get_arrowstyle")]
    assert len(arrows) == 8
    assert all(a._posA_posB[0][1] > a._posA_posB[1][1] for a in arrows), "every arrow points down"


def test_the_bars_of_a_mixture_are_the_shares_and_reach_the_output():
    shares = np.array([[[0.5, 1.0], [0.25, 0.0]], [[0.1, 0.2], [0.3, 0.4]]])
    figure = figures.attention.mixture(shares, ("one", "two"))
    for i, axes in enumerate(figure.axes):
        assert axes.get_title(loc="left") == f"output for “{('one', 'two')[i]}”"
        widths = np.array([[bar.get_width() for bar in bars] for bars in axes.containers])
        lefts = np.array([[bar.get_x() for bar in bars] for bars in axes.containers])
        assert np.allclose(widths, shares[i])
        assert np.allclose(lefts, [[0, 0], shares[i, 0]])
        numbers = [text.get_text() for text in axes.texts if text.get_text() not in ("one", "two")]
        assert numbers == [f"{total:.2f}" for total in shares[i].sum(axis=0)]
        for text in set(axes.texts) - {t for t in axes.texts if t.get_text() in numbers}:
            (x, c), j = text.get_position(), ("one", "two").index(text.get_text())
            assert lefts[j, c - 1] < x < lefts[j, c - 1] + widths[j, c - 1], "a word stands in its own bar"
        assert [bars.get_label() for bars in axes.containers] == ["one", "two"]
        assert axes.get_yticks().tolist() == [1, 2]
        assert axes.yaxis_inverted(), "the first component stands at the top"


def test_the_curves_of_a_temperature_are_the_columns_with_their_words():
    (axes,) = FIGURES["temperature"]().axes
    near = np.argmin(np.abs(np.log(TEMPERATURES / 1.7)))
    for j, word in enumerate(WORDS):
        x, y = axes.lines[j].get_data()
        assert np.array_equal(x, TEMPERATURES)
        assert np.array_equal(y, CURVES[:, j])
        (label,) = [text for text in axes.texts if text.get_text() == word]
        assert label.xy == (TEMPERATURES[near], CURVES[near, j]), "the word stands beside its curve, near the mark"
        assert axes.lines[j].get_linestyle() == ("-", "--", ":")[j]
    assert list(axes.lines[3].get_xdata()) == [1.7, 1.7]
    assert list(axes.lines[4].get_ydata()) == [1 / 3, 1 / 3]
    assert axes.get_xscale() == "log"


def tips(axes):
    """Where the arrows of a panel end, with their colours."""
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    return [(tuple(a._posA_posB[1]), to_rgb(a.get_edgecolor()[:3])) for a in arrows]


def foot(query, key):
    return np.asarray(query) * (query @ key) / (query @ query)


def test_the_plane_has_the_shadows_on_the_left_and_the_output_in_the_triangle_on_the_right():
    left, right = FIGURES["plane"]().axes
    keys, values = FLAT["K"], FLAT["V"]
    assert [tip for tip, _ in tips(left)] == [*map(tuple, keys), tuple(QUERY_OF_LOVE)]
    shadows = np.array([line.get_xydata() for line in left.lines if line.get_alpha() == 0.4])
    starts, ends = shadows[:, 0], shadows[:, 1]
    assert np.allclose(ends - starts, [foot(QUERY_OF_LOVE, key) for key in keys])
    assert np.allclose(starts[:, 1], 0)
    assert np.all(np.diff([0, *starts[:, 0]]) < -0.15), "side by side, to the left of the query that points up"
    low, high = np.transpose([left.get_xlim(), left.get_ylim()])
    assert np.all((low < shadows) & (shadows < high)), "all in the picture"
    assert [text.get_text() for text in left.texts if text.get_text()] == [word for word in WORDS for _ in range(2)]
    (triangle,) = right.patches
    assert np.array_equal(triangle.get_xy()[:3], values)
    pulls = [line for line in right.lines if line.get_alpha() == 0.75]
    assert np.allclose([line.get_xydata() for line in pulls], [[value, A_OUT[1, :2]] for value in values])
    assert np.allclose([line.get_linewidth() for line in pulls], 12 * A[1])
    assert [text.get_text() for text in right.texts] == ["I  0.2645", "love  0.2645", "AI  0.4711"]
    assert np.allclose(right.lines[-1].get_xydata(), A_OUT[1, :2])


@pytest.mark.parametrize("query", [(0, 1), (2, 0), (1, -2), (-1, -1), (-2, 0.5)])
def test_the_name_of_a_shadow_stands_before_it_and_reads_from_the_left_or_from_below(query):
    figure = figures.attention.plane(FLAT | {"Q": np.array([query])}, WORDS, 0)
    figure.draw_without_rendering()
    left, unit = figure.axes[0], np.divide(query, np.hypot(*query))
    for key, name in zip(FLAT["K"], [text for text in left.texts if text.get_rotation_mode() == "anchor"], strict=True):
        assert -90 < (name.get_rotation() + 180) % 360 - 180 <= 90
        (x, y), (x_end, y_end) = left.transData.inverted().transform(name.get_window_extent())
        assert np.array([x + x_end, y + y_end]) @ unit * (key @ unit) <= 1e-9


def test_a_query_of_zeros_has_no_line_and_no_shadow():
    left, _ = figures.attention.plane(FLAT | {"Q": np.zeros((1, 2))}, WORDS, 0).axes
    assert len(left.lines) == 2, "the axes of the plane"


def test_the_widths_are_drawn_with_the_root_beside_the_spread_and_scaled_beside_raw():
    spread, raw, scaled = normal(3, 4) ** 2
    above, below = figures.attention.widths(WIDTHS, spread, raw, scaled).axes
    for axes, expected in ((above, {r"$\sqrt{d_k}$": np.sqrt(WIDTHS), "measured": spread}), (below, None)):
        expected = expected or {r"divided by $\sqrt{d_k}$": scaled, "as they are": raw}
        assert {line.get_label(): line.get_ydata().tolist() for line in axes.lines} == {
            label: list(y) for label, y in expected.items()
        }
        assert all(line.get_xdata().tolist() == WIDTHS for line in axes.lines)
        assert labels(axes.get_xticklabels()) == [str(width) for width in WIDTHS]
        assert "width of a key" in axes.get_xlabel()


def test_heads_have_their_own_words_a_framed_row_and_numbers_where_a_weight_counts():
    figure = figures.attention.heads(HEADS, rows=(1, 2), least=0.05)
    for axes, (a, queries, keys), row in zip(figure.axes, HEADS.values(), (1, 2), strict=True):
        assert labels(axes.get_yticklabels()) == list(queries)
        assert labels(axes.get_xticklabels()) == list(keys)
        assert np.array_equal(axes.get_images()[0].get_array(), a)
        for text, weight in zip(axes.texts, a.flat, strict=True):
            assert text.get_visible() == (weight > 0.05)
        (frame,) = axes.patches
        assert (frame.get_y(), frame.get_width(), frame.get_height()) == (row - 0.5, len(keys), 1)
    assert [text.get_text() for text in figure.texts] == list(HEADS)
    side = {round(axes.get_position().width * figure.get_size_inches()[0] / len(p[2]), 6)
            for axes, p in zip(figure.axes, HEADS.values(), strict=True)}  # fmt: skip
    assert len(side) == 1, "tiles of one size"
    with pytest.raises(ValueError, match="shorter"):
        figures.attention.heads(HEADS, rows=(1,))


def test_a_film_has_a_frame_for_each_title_with_its_loss_and_its_row():
    frames = {f"{n} steps": np.full((3, 3), n / 10) for n in range(4)}
    figure = figures.attention.film(frames, [0.8, 0.4, 0.2, 0.0126], WORDS, row=2)
    assert len(figure.axes) == 4, "no empty frame"
    for axes, (title, a), loss in zip(figure.axes, frames.items(), ("0.800", "0.400", "0.200", "0.013"), strict=True):
        assert axes.get_title() == title
        assert axes.get_xlabel() == f"loss {loss}"
        assert np.array_equal(axes.get_images()[0].get_array(), a)
        assert axes.get_images()[0].get_clim() == (0, 1)
        assert axes.patches[0].get_y() == 1.5
    assert [labels(axes.get_yticklabels())[0] for axes in figure.axes] == ["I", "", "", "I"]
    with pytest.raises(ValueError, match="3 losses for 4 frames"):
        figures.attention.film(frames, [1, 2, 3], WORDS, row=0)


def test_no_window_and_no_global_state_is_left_behind():
    before = dict(matplotlib.rcParams)
    FIGURES["weights"]()
    assert dict(matplotlib.rcParams) == before


def test_the_journey_shows_each_tensor_with_its_shape_in_order_from_top_to_bottom():
    figure, run = FIGURES["journey"](), walked()
    stops = [(title, run[name]) for column in figures.transformer.STOPS for title, name in column.items()]
    assert len(figure.axes) == len(stops) == 15
    for axes, (name, x) in zip(figure.axes, stops, strict=True):
        rows, columns = x.shape
        assert axes.get_title(loc="left") == f"{name}  {rows} × {columns}"
        assert np.array_equal(axes.get_images()[0].get_array(), x)
        low, high = axes.get_images()[0].get_clim()
        assert -low == high == np.abs(x).max()
    heights = [-axes.get_position().y1 for axes in figure.axes]
    assert heights[:6] == sorted(heights[:6])
    assert heights[6:] == sorted(heights[6:])
    assert [labels(figure.axes[i].get_yticklabels()) for i in (0, 6)] == [list(words) for words in SENTENCES]
    ends = [tuple(a._posA_posB[1]) for a in figure.artists if a.get_edgecolor()[:3] == to_rgb(KEY)]
    goal = figure.axes[6 + list(figures.transformer.STOPS[1]).index("cross-attention")].get_position()
    assert np.allclose(ends[-1], (goal.x0, (goal.y0 + goal.y1) / 2))


def test_the_machine_has_every_box_in_its_order_and_the_sizes_of_the_run():
    (axes,) = FIGURES["machine"]().axes
    found = {text.get_text(): text.get_position() for text in axes.texts}
    assert {"I see", "it.", "<bos> Ich", "memory 3 × 6", "4 × 10 logits", "rows of the table E, 10 × 6"} < found.keys()
    assert sum(text.get_text() == "2 such layers" for text in axes.texts) == 2
    names = ("self-attention", "add & norm", "masked self-attention", "cross-attention", "feed-forward")
    boxes = sorted((t.get_position() for t in axes.texts if t.get_text() in names), key=lambda place: -place[1])
    left, right = ([place for place in boxes if place[0] // 2.5 == side] for side in (0, 1))
    assert (len(left), len(right)) == (4, 6)
    order = ["masked self-attention", "cross-attention", "compared with all of E", "4 × 10 logits"]
    heights = [found[text][1] for text in order]
    assert heights == sorted(heights, reverse=True), "the data flow downward"
    logits = walked(layers=2)["logits"][-1]
    best = np.argsort(-logits)[:3]
    assert [text.get_text() for text in axes.texts[-3:]] == [f"{TOKENS[i]}  {logits[i]:.1f}" for i in best]


def test_looks_of_other_sizes_stand_below_each_other_with_their_own_words():
    figure = FIGURES["looks"]()
    first, second = figure.axes
    assert (labels(first.get_yticklabels()), labels(first.get_xticklabels())) == (["ich", "KI"], list(WORDS))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]
    assert np.array_equal(second.get_images()[0].get_array(), A)
    assert first.get_images()[0].get_clim() == second.get_images()[0].get_clim() == (0, 1)


def test_every_area_is_the_share_of_its_number():
    (axes,) = FIGURES["areas"]().axes
    numbers = [number for boxes in PARTS.values() for number in boxes.values()]
    assert np.allclose([box.get_width() * box.get_height() for box in axes.patches], np.divide(numbers, sum(numbers)))
    words = [text.get_text() for text in axes.texts]
    assert [name for name in words if "\n" not in name] == list(PARTS)
    assert "self-attention\n1.0 M" in words
    assert not any("norms" in text for text in words), "too thin for words"


def test_the_bars_of_the_uses_are_the_lengths_beside_their_words():
    figure = FIGURES["uses"]()
    (axes,) = figure.axes
    assert labels(axes.get_yticklabels()) == list(WORDS[:2])
    for bars, (use, lengths) in zip(axes.containers, USES.items(), strict=True):
        assert bars.get_label() == use
        assert [bar.get_width() for bar in bars] == lengths
        assert [round(bar.get_y() + bar.get_height() / 2) for bar in bars] == [0, 1]
    assert labels(figure.legends[0].get_texts()) == list(USES)


def test_guesses_have_a_row_for_each_token_read_and_a_column_for_each_that_could_follow():
    (axes,) = FIGURES["guesses"]().axes
    assert texts(axes) == [["12", "88"], ["50", "50"], ["1", "99"]]
    assert labels(axes.get_yticklabels()) == list(WORDS)
    assert labels(axes.get_xticklabels()) == ["yes", "no"]


def test_a_tree_has_a_line_to_every_beginning_in_the_colour_of_its_name():
    axes = figures.decode.tree(PATHS, {"greedy": [("a",), ("a", "c")], "best": [("b",), ("b", "c")]}).axes[0]
    assert {text.get_text() for text in axes.texts} == {
        "<bos>", "a\n0.600", "b\n0.400", "c\n0.300", "d\n0.300", "c\n0.400",
    }  # fmt: skip
    colours = [line.get_color() for line in axes.lines if len(line.get_xdata())]
    assert colours == [KEY, QUERY, KEY, FAINT, QUERY]
    for line in axes.lines[:5]:
        assert line.get_xdata()[0] < line.get_xdata()[1]
    heights = {tuple(text.get_text().split("\n")): text.get_position()[1] for text in axes.texts}
    assert heights[("a", "0.600")] == (heights[("c", "0.300")] + heights[("d", "0.300")]) / 2


KEPT = np.arange(4.0).reshape(4, 1), np.arange(8.0).reshape(4, 2)  # keys, values


def test_ancestors_are_filled_where_a_hypothesis_sees():
    sees = np.array([[True, False, True, False], [False, True, False, True]])
    axes = figures.cache.ancestors(sees, ("x", "y"), tuple("abcd"), 2, *KEPT).axes[0]
    filled = [patch.get_facecolor()[:3] != (1.0, 1.0, 1.0) for patch in axes.patches[8:]]
    assert filled == sees.flatten().tolist()
    assert [line.get_xdata()[0] for line in axes.lines] == [1.5]
    assert labels(axes.get_legend().get_texts()) == ["sees", "does not see"]


def test_a_word_that_no_hypothesis_sees_is_hatched_but_an_empty_slot_is_not():
    sees = np.array([[0, 0, 1, 0], [0, 0, 1, 0]], dtype=bool)
    axes = figures.cache.ancestors(sees, ("x", "y"), ("dropped", "–", "a", ""), 2, *KEPT).axes[0]
    assert [bool(patch.get_hatch()) for patch in axes.patches[8:]] == [True, False, False, False] * 2
    assert "seen by none: dropped" in labels(axes.get_legend().get_texts())


def test_a_slot_has_its_key_and_its_value_above_the_hypotheses_and_an_empty_one_has_none():
    sees = np.eye(2, 4) > 0
    axes = figures.cache.ancestors(sees, ("x", "y"), ("a", "–", "b", ""), 2, *KEPT).axes[0]
    assert labels(axes.texts) == ["0", "2", "0 1", "4 5"]
    keys, values = axes.patches[:4], axes.patches[4:8]
    assert {p.get_y() for p in keys} != {p.get_y() for p in values}
    for column in zip(keys, values, axes.patches[8:12], axes.patches[12:16], strict=True):
        assert len({p.get_x() for p in column}) == 1
        assert [p.get_y() for p in column] == sorted(p.get_y() for p in column)  # the axis points down
    assert labels(axes.get_yticklabels()) == ["key", "value", "x", "y"]
    for words, keys in (("abc", KEPT[0]), ("abcd", KEPT[0][:3])):
        with pytest.raises(ValueError, match="must be for 4 slots"):
            figures.cache.ancestors(sees, ("x", "y"), tuple(words), 2, keys, KEPT[1])


def test_a_bill_has_its_parts_end_to_end_and_the_sum_behind_them():
    axes = FIGURES["bill"]().axes[0]
    pieces = {(p.get_y(), round(p.get_x(), 9)): round(p.get_width(), 9) for p in axes.patches}
    (dear, cheap) = sorted({y for y, _ in pieces})
    assert pieces == {(dear, 0): 2, (dear, 2): 3, (dear, 5): 0.1, (cheap, 0): 1, (cheap, 1): 0.5, (cheap, 1.5): 0.1}
    assert labels(axes.texts) == ["5.1", "1.6"]
    assert labels(axes.get_yticklabels()) == ["dear", "cheap"]
    assert axes.yaxis_inverted()  # the first stands on top
    assert labels(axes.figure.legends[0].get_texts()) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="7 parts, colours for 6"):
        figures.cache.bill(dict.fromkeys("abcdefg", (1, 1)), ("dear", "cheap"), "steps")


def test_on_a_logarithmic_axis_a_tenth_is_one_step_down():
    (plain,), (axes,) = (FIGURES[name]().axes for name in ("losses and a floor", "losses on a logarithmic axis"))
    assert (plain.get_yscale(), axes.get_yscale()) == ("linear", "log")
    assert axes.yaxis.get_major_formatter()(0.1) == "0.1"


def test_a_tree_says_what_its_numbers_are():
    figure = figures.decode.tree(PATHS, {"greedy": [("a",)]})
    assert "the probability of the path so far" in figure.get_supxlabel()


def test_a_tree_begins_with_what_it_is_given():
    axes = figures.decode.tree(PATHS, {"greedy": [("a",)]}, start="Ich brauche").axes[0]
    assert "Ich brauche" in {text.get_text() for text in axes.texts}
    assert "<bos>" not in {text.get_text() for text in axes.texts}


def test_a_token_that_changed_in_a_step_has_the_sign_for_it_and_a_new_one_has_none():
    changed = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    (one, two) = figures.cache.changes((" a", "b", "c"), {"kept": np.zeros((3, 3)), "other": changed}).axes
    signs = [[text.get_text() for text in axes.texts] for axes in (one, two)]
    assert signs == [["="] * 3, ["≠", "=", "≠"]]
    assert places_of(two) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    assert labels(two.get_xticklabels()) == ["a", "b", "c"]
    assert (one.get_xlabel(), two.get_xlabel()) == ("kept", "other")
    with pytest.raises(ValueError, match="3 tokens need as many steps"):
        figures.cache.changes("abc", {"kept": np.zeros((2, 2))})


def test_no_edge_of_a_piece_is_as_wide_as_the_piece():
    axes = FIGURES["lines"]().axes[0]
    points = axes.get_window_extent().width / axes.figure.dpi * 72  # of a line of length 1
    edged = [piece for piece in axes.patches if piece.get_edgecolor()[3] and piece.get_linewidth()]
    assert all(piece.get_linewidth() < 0.9 * piece.get_width() * points for piece in edged)
    assert max(piece.get_linewidth() for piece in edged) == 1


def test_where_two_ends_are_near_their_numbers_step_apart():
    axes = figures.gpt.hit([0.5, 0.3, 0.15, 0.05], "abcd", 0.6).axes[0]
    sides = {text.get_text(): (text.get_ha(), round(text.get_position()[0], 3)) for text in axes.texts[4:9]}
    assert sides == {
        "0": ("center", 0),
        "0.5": ("center", 0.5),
        "0.8": ("center", 0.8),
        "0.95": ("right", 0.962),
        "1": ("left", 0.988),
    }


def test_doubts_that_are_right_lie_on_the_diagonal_and_those_given_too_little_are_marked():
    axes = FIGURES["doubts"]().axes[0]
    right, low = (marks.get_offsets() for marks in axes.collections)
    assert np.allclose(right, [[0.3, 0.33], [0.8, 0.8]])
    assert np.allclose(low, [[0.0005, 0.0001]])
    assert labels(axes.texts) == ["as often as given", "came 0.20 times as often"]
    (diagonal,) = axes.lines
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert axes.get_xscale() == axes.get_yscale() == "log"
    said = axes.xaxis.get_major_formatter()
    assert [said(x, 0) for x in 10.0 ** np.arange(-6, 1)][1:] == ["0.00001", "0.0001", "0.001", "0.01", "0.1", "1"]
    assert axes.get_xlim() == axes.get_ylim() == tuple(diagonal.get_xdata())
    assert diagonal.get_xdata()[0] < 0.0001
    for came in ([1, 0], [1]):
        with pytest.raises(ValueError, match="more than 0 times"):
            figures.gpt.doubts([1, 1], came, [9, 9], low=0.001)


def test_the_line_behind_the_k_likeliest_has_its_name():
    for axes in figures.gpt.likeliest({"a": ([0.6, 0.3, 0.1], "xyz", 2), "b": ([0.4, 0.3, 0.3], "uvw", 3)}, 2).axes:
        assert labels(axes.texts) == ["k = 2"]
        assert axes.lines[0].get_ydata()[0] == 1.5 > axes.texts[0].get_position()[1]  # above it: the axis points down


def test_what_all_are_measured_by_has_open_stars_and_a_bold_name():
    real = {"real": [(240, 0.8), (242, 0.83), (241, 0.82)]}
    axes = figures.gpt.trade(DRAWS | real, {}, goal="real").axes[0]
    assert [len(marks.get_facecolor()) for marks in axes.collections] == [1] * 4 + [0]  # two ways, points and middle
    assert {text.get_text() for text in axes.texts if text.get_weight() == "bold"} == {"real"}


def test_ways_of_a_family_have_a_line_in_their_colour_and_those_of_none_stay_in_ink():
    ways = DRAWS | {"top-k 5": [(100, 0.9), (104, 0.9)], "top-k 50": [(200, 0.8)]}
    axes = figures.gpt.trade(ways, {"top-k": ("top-k 5", "top-k 50", "all")}).axes[0]
    line = axes.lines[0]
    assert line.get_color() == QUERY
    assert np.allclose(line.get_xydata(), [[102, 0.9], [200, 0.8], [222, 0.41 / 0.6]], atol=0.01)
    colours = {text.get_text(): text.get_color() for text in axes.texts}
    assert colours == {"greedy": INK, "all": INK, "top-k 5": QUERY, "top-k 50": QUERY}


def test_names_of_the_first_family_and_of_none_stand_at_the_right_and_the_others_at_the_left_with_a_line_to_each():
    ways = DRAWS | {"top-k 5": [(150, 0.9)], "top-p 0.5": [(90, 0.8)], "top-p 0.4": [(90, 0.8)]}
    ways["real"] = [(240, 0.8), (242, 0.83), (241, 0.82)]
    families = {"top-k": ("top-k 5", "all"), "top-p": ("top-p 0.4", "top-p 0.5", "all")}
    axes = figures.gpt.trade(ways, families, goal="real").axes[0]
    place = {text.get_text(): (text.get_ha(), *text.get_position()) for text in axes.texts}
    assert {name for name, (side, _, _) in place.items() if side == "right"} == {"top-p 0.4", "top-p 0.5"}
    alone = place.pop("greedy")
    assert (alone[0], 7 < alone[1] < 90) == ("left", True), "beside its mark, since the column is far"
    assert all((x < 90) if side == "right" else (x > 242) for side, x, _ in place.values())
    assert abs(place["top-p 0.4"][2] - place["top-p 0.5"][2]) > 0.02  # not on each other
    leaders = [line.get_xydata() for line in axes.lines if len(line.get_xydata()) == 2][-len(place) - 1 :]
    starts = {tuple(start.round(3)) for start, _ in leaders}
    assert {(242, 0.83), (150, 0.9), (90, 0.8), (7, 1)} < starts
    assert {end[1] for _, end in leaders} == {y for _, _, y in (*place.values(), alone)}


def test_a_point_hits_the_piece_that_it_lies_on_and_an_end_belongs_to_the_next():
    for point, hit in ((0, "a"), (0.49, "a"), (0.5, "b"), (0.79, "b"), (0.8, "c")):
        axes = figures.gpt.hit([0.5, 0.3, 0.2], "abc", point).axes[0]
        pieces = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert np.allclose([piece.get_width() for piece in pieces], [0.5, 0.3, 0.2])
        assert np.allclose([piece.get_x() for piece in pieces], [0, 0.5, 0.8])
        dark = np.argmin([sum(piece.get_facecolor()) for piece in pieces])
        assert "abc"[dark] == hit
        assert [text.get_text()[0] for text in axes.texts if text.get_weight() == "bold"] == [hit]
    with pytest.raises(ValueError, match=r"the point \(1.0\) must be on the line, which ends at 1"):
        figures.gpt.hit([0.5, 0.3, 0.2], "abc", 1.0)


def test_a_step_with_a_cache_shows_in_full_what_it_makes_and_pale_what_was_kept():
    axes = FIGURES["kept"]().axes[0]
    said = [text.get_text() for text in axes.texts]
    numbers = [text for text in said if text.replace(".", "").isdigit()]
    assert numbers == ["1", "0", "0.25", "1", "2", "0", "1", "0.75", "3", "4", "1", "0", "2.50", "3.50"]
    tiles = [patch for patch in axes.patches if hasattr(patch, "get_x") and patch.get_fill()]
    strength = [tile.get_facecolor()[3] for tile in tiles]
    pale = [number for number, alpha in zip(numbers, strength, strict=True) if alpha < 0.2]
    assert pale == ["1", "0", "1", "2"]  # the first word's key and value
    assert {"a, kept", "b, new", "query of b", "output of b"} <= set(said)
    around = [patch for patch in axes.patches if hasattr(patch, "get_x") and not patch.get_fill()]
    assert len({round(frame.get_height(), 9) for frame in around}) == 1  # keys, weights and values are whole
    assert np.isclose(around[0].get_height(), 2 * tiles[0].get_height())
    assert len(around) == 3


def test_a_named_step_has_a_line_between_the_curves_and_says_how_many_times_one_is_the_other():
    (axes,) = figures.cache.work([1, 2, 3], {"without": [1, 3, 6], "with": [1, 2, 3]}, "rows", {"the end": 2}).axes
    assert [text.get_text() for text in axes.texts] == ["without", "with", "the end:\n1.5 times"]
    assert axes.collections[-1].get_segments()[0].tolist() == [[2, 2], [2, 3]]


def points(axes):
    """The numbers of every curve, by the name that it has in the legend."""
    return {line.get_label(): np.column_stack(line.get_data()).tolist() for line in axes.get_lines()}


def test_each_token_has_a_bar_as_long_as_its_surprise_and_another_one_is_named_in_it():
    right, wrong = (["weil", "er", "alt"], [2.0, 4.0, 0.0]), (["weil", "sie", "alt"], [0.0, 8.0, 0.0])
    axes = figures.loss.tokens({"right": right, "wrong": wrong}).axes[0]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    widths = [bar.get_width() for bar in bars]
    assert np.allclose(widths, np.array([2, 4, 0, 0, 8, 0]) * widths[0] / 2)
    assert [bar.get_facecolor()[:3] == to_rgb(KEY) for bar in bars] == [False] * 4 + [True, False]
    words = [text.get_text() for text in axes.texts]
    assert words[:4] == ["weil", "er", "alt", "right"]
    assert [word for word in words if word == "sie"] == ["sie"]
    assert words.count("8.0") == 1
    with pytest.raises(ValueError, match="wrong: 3 tokens and 2 surprises in a picture of 3 tokens"):
        figures.loss.tokens({"right": right, "wrong": (right[0], [1.0, 2.0])})


def test_a_limit_stands_at_its_rate_in_the_colour_of_its_part_and_names_what_is_among_it():
    figure = drawn("limits of parts")[0]
    (axes,) = figure.axes
    (limit,) = (line for line in axes.lines if set(line.get_xdata()) == {0.94})
    part = next(line for line in axes.lines if line.get_label() == "two, like “the”")
    assert limit.get_color() == part.get_color()
    assert [text.get_text() for text in axes.texts] == ["limit 0.9"]


def test_a_marked_probability_has_its_surprise_and_the_probability_of_being_wrong():
    axes = drawn("surprise")[0].axes[0]
    said = [text.get_text() for text in axes.texts]
    assert "p = 0.1: surprise 2.3, 1 − p is 0.9" in said
    assert "p = 0.000001: surprise 13.8, 1 − p is 1.0" in said
    (dashed,) = (line for line in axes.lines if line.get_linestyle() == "--")
    assert dashed.get_xydata().tolist() == [[0, 1], [1, 0]]


def test_a_role_has_a_dot_for_each_word_on_its_side_and_rings_where_that_is_wrong():
    kinds = ["object"] * 3 + ["possessive"] * 3
    figure = figures.bert.roles({"one": [-1.0, -1.0, 0.1, 1.0, 1.0, -0.1]}, kinds, columns=5)
    groups = figure.axes[0].collections
    dots = [[group.get_offsets().tolist(), tuple(group.get_facecolor()[0][:3]) == (1, 1, 1)] for group in groups]
    assert dots == [[[[3, 1]], True], [[[0, 1], [0, 2]], False], [[[1, -1]], True], [[[4, -1], [4, -2]], False]]


def test_the_old_head_takes_the_vector_of_the_gap_and_the_new_one_that_in_front():
    (axes,) = drawn("fine-tuning")[0].axes
    places = {text.get_text(): text.get_position() for text in axes.texts}
    tokens = [text.get_position()[0] for text in axes.texts if text.get_text() in ("[CLS]", "[MASK]")]
    assert [places[answer][0] for answer in ("red", "yes")] == pytest.approx([tokens[1], tokens[2]])
    titles = [places[title][0] for title in ("learning from gaps", "fine-tuning")]
    assert places["kept"][0] == pytest.approx(np.mean(titles))


def test_the_loss_of_a_blind_guess_is_that_of_so_many_equal_words():
    left, _ = drawn("a blind guess")[0].axes
    assert left.lines[1].get_ydata()[0] == pytest.approx(np.log(421))
    assert [text.get_text() for text in left.texts] == ["a blind guess: ln 421"]


def test_the_lowest_gap_has_its_name_below_its_line_and_the_others_above():
    steps = np.array([1, 10, 100])
    axes = figures.loss.gaps(steps, {"a": steps * 1.0, "b": np.array([1.0, 2, 2]), "c": np.ones(3)}).axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [[1, 10, 100], [1, 2, 2], [1, 1, 1]]
    assert [(text.get_text(), text.xyann[1] > 0) for text in axes.texts] == [("a", True), ("b", True), ("c", False)]
    assert axes.get_xscale() == "log"


def test_learning_has_losses_above_and_sentences_below():
    above, below = drawn("learning")[0].axes
    assert points(above)["training, each step"] == [[1, 5], [2, 4], [3, 3], [4, 2]]
    assert points(above)["validation"] == [[0, 5.5], [4, 2.5]]
    assert points(above)["validation, wrong English"] == [[0, 5.6], [4, 6.5]]
    ((first, last),) = points(below).values()
    assert (first, last) == ([0, 0], [4, 30])


def test_shares_have_a_row_for_each_name_from_the_top_and_a_mark_for_each_model():
    (axes,) = drawn("shares")[0].axes
    assert points(axes) == {"a": [[50, 0], [60, 1]], "b": [[90, 0], [100, 1]]}
    assert labels(axes.get_yticklabels()) == ["dative  (12)", "plural  (3)"]
    assert axes.yaxis_inverted()
    looks = [(line.get_marker(), line.get_color()) for line in axes.get_lines()]
    assert len({mark for mark, _ in looks}) == len({colour for _, colour in looks}) == 2


def test_a_piece_is_full_where_it_was_found_and_lies_under_its_words():
    (axes,) = drawn("pieces")[0].axes
    assert [tuple(bar.get_facecolor()) != (1, 1, 1, 1) for bar in axes.patches] == [True, False, True, False, True]
    assert [text.get_text() for text in axes.texts][-2:] == ["1 word: 2 of 3", "2 words: 1 of 2"]
    words = [text.get_position()[0] for text in axes.texts if text.get_text() in ("der", "Hund", ".")]
    for bar, (i, j) in zip(axes.patches, ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2)), strict=True):
        assert bar.get_x() < words[i] <= words[j] < bar.get_x() + bar.get_width()
    lines = [bar.get_y() for bar in axes.patches]
    assert lines[0] == lines[1] == lines[2] > lines[3] > lines[4]  # what overlaps stands on lines of its own


def test_an_interval_marks_the_middle_and_the_measured_score():
    (axes,) = drawn("interval")[0].axes
    band, *bars = axes.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1.1, 2.9))
    assert sum(bar.get_height() for bar in bars) == 4
    assert axes.get_lines()[0].get_xdata() == [2.1, 2.1]


def test_minutes_have_scores_above_and_losses_below():
    above, below = drawn("minutes")[0].axes
    assert points(above) == {name: np.column_stack(RUN).tolist() for name in ("a, val", "a, test")}
    assert points(below) == {"a": [[1, 3], [2, 2]]}
    assert (above.get_ylabel(), below.get_ylabel()) == ("BLEU", "validation loss")


def test_a_link_leads_from_below_the_middle_of_a_box_to_its_part_of_the_next_one():
    figure = pic.Picture(figsize=(4, 4))
    start, end = figure.add_axes((0.1, 0.7, 0.4, 0.2)), figure.add_axes((0.5, 0.1, 0.4, 0.2))
    flow.link(start, end, "red", gap=0.05, at=0.25)
    (arrow,) = [a for a in figure.artists if isinstance(a, FancyArrowPatch)]
    tail, head = arrow._posA_posB
    assert tail == pytest.approx((0.3, 0.65))
    assert head == pytest.approx((0.6, 0.332))
    assert to_rgb(arrow.get_edgecolor()) == to_rgb("red")


def words_of(axes, colour=None):
    """The words of a picture, from the top and from the left; all, or those in a colour."""
    mine = [t for t in axes.texts if colour is None or t.get_color() == colour]
    return [t.get_text() for t in sorted(mine, key=lambda t: (-t.get_position()[1], t.get_position()[0]))]


def test_an_arc_leads_from_it_to_the_noun_as_wide_as_its_weight_and_the_gender_is_told_in_words():
    (axes,) = drawn("three")[0].axes
    chair, music = (patch for patch in axes.patches if isinstance(patch, PathPatch))
    assert words_of(axes, COLOURS["m"]) == ["0.900", "chair", "it", "Stuhl", "er", "der"]
    assert words_of(axes, COLOURS["f"]) == ["0.250", "music", "it", "Musik", "sie", "die"]
    assert {t.get_text() for t in axes.texts if t.get_weight() == "bold"} == {
        "chair", "music", "it", "Stuhl", "Musik", "er", "sie",
    }  # fmt: skip
    assert "".join(words_of(axes)).count("I") == 4
    for arc, weight, colour, (noun, it) in ((chair, 0.9, COLOURS["m"], (1, 2)), (music, 0.2504, COLOURS["f"], (1, 2))):
        assert arc.get_linewidth() == pytest.approx(5 * weight)
        assert arc.get_edgecolor()[:3] == to_rgb(colour)
        places = [t.get_position() for t in axes.texts if t.get_color() == colour]
        tops = sorted(places, key=lambda place: -place[1])
        ends = sorted(arc.get_path().vertices[[0, -1], 0])
        assert ends == pytest.approx(sorted(x for x, _ in tops[noun : it + 1]))


def test_a_river_is_as_wide_as_the_row_is_long_and_what_is_added_as_wide_as_that():
    (axes,) = drawn("stream")[0].axes
    said = words_of(axes)
    river = [line for line in axes.lines if line.get_color() == QUERY]
    assert [line.get_linewidth() / river[0].get_linewidth() for line in river] == pytest.approx([x / 2 for x in WAY[0]])
    assert len({x for line in river for x in line.get_xdata()}) == 1
    added = [line.get_linewidth() / river[0].get_linewidth() for line in axes.lines if line.get_color() == KEY]
    assert added[2:] == pytest.approx([1.5 / 2, 2.5 / 2])
    asked = [line.get_linewidth() for line in axes.lines if line.get_color() == VALUE]
    assert np.diff(asked) == pytest.approx([4.5, -6.75])
    arrows = [a for a in axes.patches if isinstance(a, FancyArrowPatch) and not a._posA_posB]
    widths = np.reshape([a.get_linewidth() for a in arrows], (2, 3))
    assert np.allclose(widths - widths.min(), 9 * (np.array(TAKEN[0]) - 0.125))
    assert [w for w in said if w in "12345678"].count("4") == 2, "once in each layer"
    assert {"1", "2", "3", "4", "5", "6", "7", "8"} <= set(said)
    assert said[-2:] == ["Ich", "liebe"]


def test_each_token_stands_above_its_id_and_its_row_and_the_same_row_has_one_frame():
    (axes,) = drawn("rows")[0].axes
    assert words_of(axes) == ["I", "see", "it", "4", "5", "6", "I", "see", "them", "4", "5", "7"]
    for colour, words in ((COLOURS["m"], ["it", "6"]), (COLOURS["f"], ["them", "7"])):
        assert words_of(axes, colour) == words
    tiles = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    faces = np.reshape([patch.get_facecolor()[:3] for patch in tiles], (2, 3, 2, 3))
    assert np.allclose(faces[:, 0], [SIGNED(0.75)[:3], SIGNED(0.0)[:3]])
    assert np.allclose(faces[:, 2, 0], [SIGNED(0.8)[:3], SIGNED(0.85)[:3]])
    frames = {f.get_edgecolor()[:3]: f.get_window_extent() for f in axes.patches if isinstance(f, FancyBboxPatch)}
    assert set(frames) == {to_rgb(colour) for colour in (INK, COLOURS["m"], COLOURS["f"])}
    tall = frames[to_rgb(INK)]
    inside = [tile.get_window_extent() for tile in tiles]
    assert [tall.x0 < t.x0 < t.x1 < tall.x1 for t in inside] == [True, True, False, False, False, False] * 2
    assert all(tall.y0 < t.y0 < t.y1 < tall.y1 for t in inside)
    for colour, own in ((COLOURS["m"], inside[4:6]), (COLOURS["f"], inside[10:12])):
        frame = frames[to_rgb(colour)]
        assert all(frame.x0 < t.x0 < t.x1 < frame.x1 and frame.y0 < t.y0 < t.y1 < frame.y1 for t in own)


def test_nouns_have_the_colour_of_their_gender_and_an_arrow_leads_from_one_to_where_it_is_moved():
    (axes,) = drawn("nouns")[0].axes
    scale = 3.1 / 4
    *groups, rings = axes.collections
    for points, gender in zip(groups, "mfn", strict=True):
        own = IN_THE_PLANE[[g == gender for g in "mmfnn"]]
        assert np.allclose(points.get_offsets(), (0.35, 1.15) + scale * own)
        assert to_rgb(points.get_facecolor()[0]) == to_rgb(COLOURS[gender])
        article = {"m": "der", "f": "die", "n": "das"}[gender]
        assert words_of(axes, COLOURS[gender]) == [article, ", ".join(SOME[gender])]
    (way,) = (patch for patch in axes.patches if isinstance(patch, FancyArrowPatch))
    assert np.allclose(way._posA_posB, [(0.35 + 3.1, 1.15 + 2 * scale), (0.35, 1.15 + 2 * scale)])
    assert np.allclose(rings.get_offsets(), way._posA_posB)
    assert words_of(axes, INK) == ["chair"]


def test_tokens_of_one_word_touch_and_are_filled_and_words_stand_apart():
    (axes,) = FIGURES["tokens"]().axes
    names, *_ = ([text.get_text() for text in axes.texts],)
    assert names[0] == "It reads"
    assert names[1:13] == [part for text, i in CARPET for part in (text.strip(), str(i))]
    tiles = axes.patches[:6]
    gaps = [b.get_x() - a.get_x() - a.get_width() for a, b in itertools.pairwise(tiles)]
    assert np.allclose(gaps, [figures.tokens.GAP, 0, 0, figures.tokens.GAP, 0])
    plain, part = (to_rgb(pic.WEIGHTS(x)) for x in (0.08, 0.4))
    assert [tile.get_facecolor()[:3] for tile in tiles] == [plain, part, part, part, plain, plain]
    below = axes.texts[1].get_position(), axes.texts[2].get_position()
    assert below[0][0] == below[1][0]
    assert below[0][1] > below[1][1]


def test_the_maps_of_a_film_have_a_row_for_each_layer_at_each_stop_and_one_scale():
    figure = drawn("stops of a film")[0]
    frames = np.reshape(figure.axes, (4, 2))
    expected = np.concatenate([MAPS, MAPS**2])
    for place, axes in np.ndenumerate(frames):
        (image,) = axes.get_images()
        assert np.array_equal(image.get_array(), expected[place])
        assert image.get_clim() == (0, 1)
    assert [axes.get_ylabel() for axes in frames[:, 0]] == [f"step {n}\nlayer {i}" for n in (0, 9) for i in (1, 2)]
    assert [axes.get_title() for axes in frames[0]] == ["head 1", "head 2"]


def test_the_element_of_a_picture_has_its_words_and_touches_nothing_else_on_the_page():
    svg = drawn("three")[0].svg()
    assert all(drawn(name)[0].svg() == FIGURES[name]().svg() for name in ("three", "stream"))
    assert svg.startswith("<svg ")
    assert svg.endswith("</svg>")
    assert re.findall(">([^<>\n]+)</text>", svg)[:3] == ["I", "need", "the"]
    assert not re.search("://|<style|<metadata|<script|<image|<use", svg)


def test_the_last_bit_of_a_position_names_no_frame_of_the_element_of_a_picture():
    def svg(left, height=10):
        figure = pic.Picture()
        figure.add_axes((left, 0.1, 0.8, 0.8)).plot([0, 1], [0, height])
        return figure.svg()

    names = {name for at in (0.1, 0.25) for name in re.findall(r'<clipPath id="(.*?)"', svg(at))}
    assert len(names) == 2, "two pictures of a page share no name"
    assert svg(0.1) == svg(np.nextafter(0.1, 1))
    (name,) = re.findall(r'<clipPath id="(.*?)"', svg(0.1))
    assert f"url(#{name})" in svg(0.1)


def test_the_rows_of_a_sentence_stand_beside_their_tokens_and_the_lit_one_is_written_out():
    figure = FIGURES["sentence"]()
    frame, zoom = figure.axes
    assert np.array_equal(frame.get_images()[0].get_array(), SENTENCE)
    left, right, bottom, top = frame.get_images()[0].get_extent()
    line = (top - bottom) / 4
    words = {text.get_text(): text for text in frame.texts if text.get_position()[1] > bottom}
    assert list(words) == ["I", "need", "it", "<eos>", "16 numbers", "4 tokens"]
    for row, word in enumerate(("I", "need", "it", "<eos>")):
        assert top - line * (row + 1) < words[word].get_position()[1] < top - line * row
        assert (words[word].get_color() == QUERY) == (word == "it")
    (lit,) = (patch for patch in frame.patches if patch.get_edgecolor()[:3] == to_rgb(QUERY))
    assert np.allclose((lit.get_x(), lit.get_y()), (left, top - 3 * line))
    assert np.allclose((lit.get_width(), lit.get_height()), (right - left, line))
    assert texts(zoom) == [[f"{x:.2f}" for x in SENTENCE[2, :5]]]
    below = [text.get_text() for text in frame.texts if text.get_position()[1] < bottom]
    assert below == ["it", "…", "its first 5 numbers"]
    ends = sorted(tuple(np.round(line.get_xydata()[0], 6)) for line in frame.lines)
    low = top - 3 * line
    assert np.allclose(ends, [(left, low), (left + (right - left) * 5 / 16, low)])
    with pytest.raises(ValueError, match="3 tokens for 4 rows"):
        figures.notation.rows(["a", "b", "c"], SENTENCE, 0)


def test_a_batch_is_sheets_behind_each_other_with_the_first_in_front():
    (frame,) = FIGURES["batch"]().axes
    sheets = sorted(frame.get_images(), key=lambda sheet: -sheet.get_zorder())
    for sheet, times in zip(sheets, (1, 2, -1), strict=True):
        assert np.array_equal(sheet.get_array(), times * SENTENCE)
    corners = [sheet.get_extent()[::2] for sheet in sheets]
    assert corners == sorted(corners), "each farther right and up"
    words = {text.get_text(): text.get_position() for text in frame.texts}
    assert set(words) == {"chair", "lamp", "hat", "D = 16 numbers", "T = 4 tokens", "B = 3"}
    for name, sheet in zip(("chair", "lamp", "hat"), sheets, strict=True):
        left, _, _, top = sheet.get_extent()
        assert left - 0.1 < words[name][0] < left
        assert top - 0.1 < words[name][1] < top
    (framed,) = figures.notation.batch({"chair": SENTENCE, "lamp": 2 * SENTENCE}, row=1).axes
    lit = [patch for patch in framed.patches if patch.get_edgecolor()[:3] == to_rgb(QUERY)]
    assert len(lit) == 2
    for patch, sheet in zip(lit, sorted(framed.get_images(), key=lambda s: s.get_zorder()), strict=True):
        left, right, bottom, top = sheet.get_extent()
        assert np.allclose((patch.get_x(), patch.get_width()), (left, right - left))
        assert np.isclose(patch.get_y(), top - (top - bottom) * 2 / 4)
        assert sheet.get_zorder() < patch.get_zorder() < sheet.get_zorder() + 1
    with pytest.raises(ValueError, match=r"one shape, not of \[\(2, 3\), \(4, 3\)\]"):
        figures.notation.batch({"a": normal(4, 3), "b": normal(2, 3)})


def test_what_a_word_takes_is_the_sum_of_all_rows_by_their_weights_and_framed_like_the_row_that_gives_most():
    (frame,) = FIGURES["taken"]().axes
    sheet, below = sorted(frame.get_images(), key=lambda image: -image.get_extent()[3])
    assert np.array_equal(sheet.get_array(), SENTENCE)
    assert np.allclose(below.get_array(), [[0.004, 0.992, 0.003, 0.001] @ SENTENCE])
    left, right, bottom, top = sheet.get_extent()
    line = (top - bottom) / 4
    written = [("I", "0.004"), ("need", "0.992"), ("it", "0.003"), ("<eos>", "0.001")]
    for place, (token, weight) in enumerate(written):
        row = [t for t in frame.texts if top - line * (place + 1) < t.get_position()[1] < top - line * place]
        assert [t.get_text() for t in row] == [token, weight]
        assert {t.get_color() == KEY for t in row} == {token == "need"}
    for colour, extent in ((KEY, (top - 2 * line, top - line)), (QUERY, below.get_extent()[2:])):
        (framed,) = (patch for patch in frame.patches if patch.get_edgecolor()[:3] == to_rgb(colour))
        assert np.allclose((framed.get_y(), framed.get_y() + framed.get_height()), extent)
        assert np.allclose((framed.get_x(), framed.get_width()), (left, right - left))
    (name,) = (text for text in frame.texts if text.get_text() == "it takes")
    assert name.get_color() == QUERY
    assert below.get_extent()[2] < name.get_position()[1] < below.get_extent()[3]
    with pytest.raises(ValueError, match="4 tokens and 3 weights for 4 rows"):
        figures.notation.taken(["a", "b", "c", "d"], SENTENCE, [1, 0, 0], 0, "a")


def test_what_broadcasting_repeats_is_dashed_and_stands_between_the_matrix_and_the_result():
    (frame,) = FIGURES["broadcast"]().axes
    numbers = [text.get_text() for text in frame.texts if text.get_text()[-1].isdigit()]
    row, column = ["1", "2", "3"] * 2, ["4"] * 3 + ["5"] * 3
    eye, summed = ["1", "0", "0", "0", "1", "0"], ["2", "2", "3", "1", "3", "3"]
    assert numbers == eye + row + summed + eye + column + ["9"] * 6
    dashed = [patch.get_linestyle() == "--" for patch in frame.patches]
    none, below, right = [False] * 6, [False] * 3 + [True] * 3, [False, True, True] * 2
    assert dashed == none + below + none + none + right + none
    lefts = np.reshape([patch.get_x() for patch in frame.patches], (2, 3, 2, 3))
    assert np.all(np.diff(lefts, axis=1) > 0)
    tops = [text.get_position()[1] for text in frame.texts if text.get_text() in ("a row", "a column")]
    assert tops[0] > frame.patches[0].get_y() > tops[1] > frame.patches[-1].get_y()


def test_a_step_has_its_slope_at_the_point_before_and_names_what_comes_after():
    (axes,) = FIGURES["step"]().axes
    curve, tangent, *dots = (line.get_xydata() for line in axes.lines)
    assert np.allclose(curve, [(0, 4), (1, 1), (2, 4)])
    (x0, y0), (x1, y1) = tangent
    assert np.isclose((y1 - y0) / (x1 - x0), -2)
    assert np.isclose(np.interp(0, [x0, x1], [y0, y1]), 4), "it touches at the first point"
    assert [tuple(dot[0]) for dot in dots] == [(0.5, 3), (2, 5), (0, 4)]
    named = {text.get_text(): text.xy for text in axes.texts}
    assert named["before"] == (0, 4)
    assert named["after the step"] == (0.5, 3)
    assert named["too long a step"] == (2, 5)
    assert "slope \N{MINUS SIGN}2" in named


def test_weights_between_places_have_a_scale_to_their_largest_and_a_frame_around_that_of_each_row():
    axes, bar = FIGURES["by place"]().axes
    assert np.isclose(axes.get_images()[0].get_clim(), (0, 0.7)).all()
    assert np.isclose(bar.get_ylim(), (0, 0.7)).all()
    frames = [(patch.get_x(), patch.get_y()) for patch in axes.patches]
    assert frames == [(0.5, -0.5), (-0.5, 0.5)]
    plain = figures.positions.shares([[0.2, 0.8], [0.95, 0.05]])
    assert not plain.axes[0].patches
    assert plain.axes[0].get_images()[0].get_clim() == (0, 1)


def test_a_position_has_a_bar_for_each_choice_with_its_weight_and_the_sentence_as_it_is_stands_out():
    above, below = FIGURES["swapped"]().axes
    assert [axes.get_title(loc="left") for axes in (above, below)] == ["moved", "other words"]
    assert [bar.get_height() for bar in above.patches] == [0.25, 0.5]
    assert [text.get_text() for text in above.texts] == ["0.25", "0.50"]
    assert [text.get_text() for text in below.texts] == ["1", "0"]
    assert above.get_ylim() == below.get_ylim()
    for axes, marked in ((above, 1), (below, 0)):
        bold = [tick.get_weight() == "bold" for tick in axes.get_xticklabels()]
        assert bold == [n == marked for n in range(2)]
        colours = [bar.get_facecolor() for bar in axes.patches]
        assert colours[marked] != colours[1 - marked]


def test_parts_of_a_score_are_strips_on_one_scale_with_their_sum_their_weights_and_a_frame():
    figure = FIGURES["parts"]()
    strips = {"a": [1, -2.5], "b": [0, 1], "score": [1, -1.5], "weight": [0.92, 0.08]}
    for axes, (name, row) in zip(figure.axes, strips.items(), strict=True):
        (image,) = axes.get_images()
        assert np.array_equal(image.get_array(), [row])
        assert image.get_clim() == ((0, 1) if name == "weight" else (-3, 3))
        (frame,) = axes.patches
        assert (frame.get_x(), frame.get_y(), frame.get_width()) == (0.5, -0.5, 1)
    words = [[tick.get_text() for tick in axes.get_xticklabels()] for axes in figure.axes]
    assert words[0] == ["0 I", "1 love"]
    assert not any(map(any, words[1:]))
    assert [text.get_text() for text in figure.axes[-1].texts] == ["0.92", "0.08"]
    texts = [text.get_text() for text in figure.texts if text.get_text()]
    assert texts == ["a", "b", "+", "score", "=", "weight"]


def test_votes_fill_their_bar_and_what_was_taken_after_the_softmax_is_a_hatched_hole():
    (axes,) = FIGURES["votes"]().axes
    pieces = [(round(p.get_x(), 9), p.get_width(), p.get_hatch()) for p in axes.patches]
    assert pieces[:3] == [(0, 0.25, None), (0.25, 0.5, None), (0.75, 0.25, None)]
    assert pieces[3:] == [(0, 0.25, None), (0.25, 0.5, None), (0.75, 0.25, "////")]
    assert axes.patches[2].get_facecolor() != axes.patches[1].get_facecolor()
    words = [text.get_text() for text in axes.texts]
    assert words == ["I\n0.25", "love\n0.50", "padding\n0.25", "I\n0.25", "love\n0.50"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["seen", "after"]
    assert axes.yaxis_inverted()


def test_orders_have_their_german_below_them_and_the_word_that_moves_is_marked():
    (axes,) = drawn("orders")[0].axes
    lines = {}
    for text in axes.texts:
        lines.setdefault(text.get_position()[1], []).append(text.get_text())
    told = [" ".join(words) for _, words in sorted(lines.items(), reverse=True)]
    assert told == [*itertools.chain(*READ), "without positions, from both:", "Ich alten."]
    marked = [text.get_text() for text in axes.texts if text.get_weight() == "bold"]
    assert marked == ["old.", "alt.", "old.", "alt.", "alten."]


def places_of(axes, **look):
    """The tiles of a picture that have this look, as (row, column)."""
    tiles = [patch for patch in axes.patches if all(getattr(patch, f"get_{k}")() == v for k, v in look.items())]
    return sorted((round(t.get_y() + t.get_height() / 2), round(t.get_x() + t.get_width() / 2)) for t in tiles)


def test_what_is_hidden_is_hatched_and_each_answer_is_framed_and_written_beside_its_row():
    (axes,) = FIGURES["answers"]().axes
    assert np.array_equal(axes.get_images()[0].get_array(), LOOKS_BACK)
    assert places_of(axes, hatch="////") == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    frames = [(0, 1), (1, 2), (2, 3)]
    assert places_of(axes, zorder=5) == frames
    assert places_of(axes, zorder=5, linewidth=3.5) == [frames[2]]
    beside = [text for text in axes.texts if text.get_visible()]
    assert [(round(text.get_position()[1]), text.get_text()) for text in beside] == [
        *enumerate(("Ich", "bin", "alt", "."))
    ]
    assert [text.get_weight() for text in beside] == ["normal", "normal", "bold", "normal"]
    assert labels(axes.get_xticklabels()) == labels(axes.get_yticklabels()) == ["<bos>", "Ich", "bin", "alt"]
    with pytest.raises(ValueError, match=re.escape("4 tokens need as many rows, columns and answers: (3, 4), 4")):
        figures.masks.answers(LOOKS_BACK[:3], GIVEN, GIVEN, marked=0)


def test_masks_side_by_side_are_filled_where_one_may_look_with_one_row_framed():
    figure = FIGURES["kinds"]()
    for axes, mask, rows, title in zip(figure.axes, (ALL, BACK), (LONG[:4], GIVEN), ("all", "back"), strict=True):
        hidden = [tuple(place) for place in np.argwhere(~mask)]
        assert places_of(axes, hatch="//////") == hidden
        (frame,) = (patch for patch in axes.patches if patch.get_zorder() == 5)
        assert frame.get_bbox().bounds == (-0.5, 0.5, 4, 1)
        assert labels(axes.get_yticklabels()) == list(rows)
        assert labels(axes.get_xticklabels()) == list(LONG[:4])
        assert axes.get_xlabel() == title


def test_a_clock_for_each_pair_of_each_row_has_its_sine_across_and_its_cosine_up():
    (axes,) = drawn("clocks")[0].axes
    hands = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == 2]
    ends = np.array([(end - start) / 0.21 for start, end in hands])
    assert np.allclose(ends, sinusoids(3, 8)[:, :6].reshape(-1, 2))
    starts = np.array([start for start, _ in hands]).reshape(3, 3, 2)
    assert np.all(np.diff(starts[..., 0], axis=1) > 0), "pairs from left to right"
    assert np.all(np.diff(starts[..., 1], axis=0) < 0), "positions from top to bottom"
    words = {text.get_text(): text.get_position()[1] for text in axes.texts}
    for position, word in enumerate(WORDS):
        assert words[word] == words[str(position)] == starts[position, 0, 1]


def test_sums_are_tables_in_the_same_colours_with_a_name_for_each_row():
    *panels, bar = drawn("sums")[0].axes
    for axes, (name, table) in zip(panels, {"a": np.eye(3), "b": -2 * np.eye(3)}.items(), strict=True):
        (image,) = axes.get_images()
        assert axes.get_title(loc="left") == name
        assert np.array_equal(image.get_array(), table)
        assert image.get_clim() == (-2, 2)
        assert labels(axes.get_yticklabels()) == list(WORDS)
    assert labels(bar.get_xticklabels()) == ["\N{MINUS SIGN}2", "0", "2"]


def test_where_a_decoder_looks_the_lines_are_as_wide_as_the_weights():
    over, behind = np.array([0.2, 0.7, 0.1]), np.array([0.5, 0.3, 0.2])
    figure = figures.decoder.writes(WORDS, ("<bos>", "Ich", "weil"), {"across": over, "back": behind}, "er")
    (axes,) = figure.axes
    widths = [line.get_linewidth() for line in axes.lines]
    assert np.allclose(widths, 6 * np.array([*over, *behind[:-1]])), "no line from the last word to itself"
    bold = [text.get_text() for text in axes.texts if text.get_weight() == "bold"]
    assert bold == ["love", "<bos>", "weil", "er"]
    said = {text.get_text() for text in axes.texts}
    assert {"across: 0.700", "back: 0.500", "original", "draft"} <= said


def test_the_words_that_change_the_pronoun_are_filled_and_joined_from_top_to_bottom():
    (frame,) = FIGURES["traced"]().axes
    filled = [
        t for t in frame.texts if t.get_bbox_patch() and to_rgb(t.get_bbox_patch().get_facecolor()[:3]) != (1, 1, 1)
    ]
    assert [text.get_text() for text in filled] == ["love", "love", "AI"]
    assert [text.get_text() for text in frame.texts if "→" in text.get_text()] == ["er → sie"] * 3
    heights = [text.get_position()[1] for text in filled]
    assert heights == sorted(heights, reverse=True)
    names = [text.get_text() for text in frame.texts if text.get_style() == "italic"]
    assert names == ["vectors in", "after layer 1", "after layer 2"]
    arrows = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    for one, start, end in zip(arrows, filled, filled[1:], strict=False):
        (x0, y0), (x1, y1) = one._posA_posB
        assert (x0, x1) == (start.get_position()[0], end.get_position()[0])
        assert start.get_position()[1] > y0 > y1 > end.get_position()[1]
    assert len(arrows) == 2


def test_hops_lead_down_from_the_word_that_is_looked_at_to_the_one_that_looks():
    (frame,) = FIGURES["hops"]().axes
    places = {text.get_text(): text.get_position() for text in frame.texts}
    assert places["vectors in"][1] > places["after layer 1"][1] > places["after layer 2"][1]
    found = {tuple(round(a._posA_posB[k][0], 3) for k in (0, 1)) for a in frame.patches}
    across = [round(places[word][0], 3) for word in WORDS]
    assert found == {(across[0], across[0]), (across[0], across[1]), (across[1], across[2])}
    assert all(a._posA_posB[0][1] > a._posA_posB[1][1] for a in frame.patches)
    assert len(frame.patches) == 6


def test_curves_of_likeness_are_the_numbers_with_their_names():
    figure = FIGURES["alike"]()
    one, two, *_ = figure.axes[0].lines
    assert list(one.get_ydata()) == [0, 0.5, 1]
    assert list(two.get_ydata()) == [0, 0.1, 0.2]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]


def test_every_arrow_of_a_fan_has_its_angle_to_the_first_by_turns_left_and_right():
    panels = FIGURES["fan"]().axes
    for axes, angles in zip(panels, ([80, 90, 100], [5, 8, 10]), strict=True):
        *others, first = (arrow.get_xy() for arrow in axes.patches)
        tips = [corners[np.argmax(np.linalg.norm(corners, axis=1))] for corners in others]
        turned = np.degrees([np.arctan2(*tip) for tip in tips])
        assert turned == pytest.approx(np.multiply(angles, [-1, 1, -1]), abs=0.5)
        assert first[np.argmax(first[:, 1])] == pytest.approx([0, 1.12], abs=1e-6)
    assert [axes.get_title("center") for axes in panels] == ["open", "behind 24:\nclosed"]


def decoded(**more):
    y, words = normal(4, 3), ("<bos>", "ich", "liebe", "KI")
    steps = {"y": y, "self": np.eye(4), "normed 1": y, "memory": X, "cross": np.eye(4, 3), "normed 2": y}
    return figures.decoder.layer(steps | {"hidden": normal(4, 4), "out": y}, words, WORDS, **more)


def test_the_row_that_is_followed_is_framed_in_every_box_of_the_target():
    figure = decoded(row=1, word="liebe")
    frame, *boxes = figure.axes
    framed = {}
    for box in boxes:
        edges = [p for p in box.patches if isinstance(p, Rectangle) and to_rgb(p.get_edgecolor()[:3]) == to_rgb(OUT)]
        framed[box.get_title()] = [(edge.get_y(), edge.get_width()) for edge in edges]
    assert framed.pop("memory $M$") == []
    assert {width for ((y, width),) in framed.values() if y == 0.5} == {3, 4}
    assert len(framed) == 7
    assert [text.get_text() for text in frame.texts if text.get_weight() == "bold"] == ["liebe"]
    (_, *boxes) = decoded().axes
    assert not any(to_rgb(p.get_edgecolor()[:3]) == to_rgb(OUT) for box in boxes for p in box.patches)


def test_a_bar_of_a_cut_link_is_as_long_as_its_number_and_stands_by_its_name():
    (axes,) = FIGURES["cut links"]().axes
    names = {label.get_text(): y for y, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
    assert list(names) == ["as it is", "cut", "none"]
    for (name, y), count in zip(names.items(), (9, 3, 8), strict=True):
        bars = [bar for bar in axes.patches if np.isclose(bar.get_y() + bar.get_height() / 2, y)]
        assert [bar.get_width() for bar in bars] == [9, count], name
    heads = {text.get_text(): text.get_position()[1] for text in axes.texts}
    order = sorted({**heads, **names}.items(), key=lambda item: item[1])
    assert [text for text, _ in order if not text.isdigit()] == ["seed 0", "as it is", "cut", "seed 2", "none"]
    assert all(np.isclose(heads[str(n)], y) for n, y in zip((9, 3, 8), names.values(), strict=True))


def test_the_longest_name_of_a_model_ends_inside_the_picture_of_its_cuts():
    cuts = {"this link cut": 111, "all others cut": 270}
    figure = figures.translation.cut({"our translator, 0.999 on the noun": cuts}, 270)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    ends = [text.get_window_extent().x1 for text in (*axes.texts, *axes.get_yticklabels())]
    assert max(ends) <= figure.bbox.x1


def test_the_exchanged_word_is_filled_in_both_sentences_and_leads_to_the_pronoun():
    (frame,) = FIGURES["exchanged"]().axes
    filled = [
        t for t in frame.texts if t.get_bbox_patch() and to_rgb(t.get_bbox_patch().get_facecolor()[:3]) != (1, 1, 1)
    ]
    assert [text.get_text() for text in filled] == ["it", "it"]
    assert "er → sie" in [text.get_text() for text in frame.texts]
    low, high = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    (_, y0), (_, y1) = low._posA_posB
    assert filled[1].get_position()[1] < y0 < y1 < filled[0].get_position()[1] < high._posA_posB[1][1]
    assert to_rgb(low.get_edgecolor()[:3]) == to_rgb(COLOURS["f"])


def test_the_data_run_down_and_their_gradient_up_past_the_length_of_each_row():
    (frame,) = FIGURES["way"]().axes
    written = [text.get_text() for text in frame.texts]
    assert [text for text in written if re.fullmatch(r"[\d.]+", text)] == [
        *("1.0", "2.0", "0.5", "0.5", "3.0", "0"), *["0.2"] * 8, *["0"] * 7, "1.5"
    ]  # fmt: skip
    assert {"er +1.0", "sie −1.0"} <= set(written)
    arrows = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    back = [a._posA_posB for a in arrows if to_rgb(a.get_edgecolor()[:3]) == to_rgb(OUT)]
    assert all(tail[1] < head[1] for tail, head in back)
    assert len(back) == 4, "three steps and the one from the logits"
    data = [a._posA_posB for a in arrows if to_rgb(a.get_edgecolor()[:3]) != to_rgb(OUT)]
    assert all(tail[1] >= head[1] for tail, head in data)
    ((_, end),) = [pair for pair in back if pair[0][0] != pair[1][0]]
    place = next(text.get_position()[0] for text in frame.texts if text.get_text() == WORDS[0])
    assert end[0] == pytest.approx(place)


WAYS = {"x": (2, 0.4, "x"), "y": (4, 1.3, "y"), "z": (2, 2.2, "z")}
STEPS_BACK = [("x", "y", "3"), ("x", "z", "1"), ("y", "z", "2")]
FIGURES |= {
    "turned": lambda: figures.derivatives.turned(
        (CURVE, CURVE**2), {"there": (0, 0), "here": (0.5, 0.25)}, 1.0, "a number"
    ),
    "nudged": lambda: figures.derivatives.nudged(
        (CURVE, CURVE**2), [(0, 0), (0.4, 0.16), (0.8, 0.64)], (0.8, 0.8, 1.2)
    ),
    "ways": lambda: figures.derivatives.ways(WAYS, STEPS_BACK, {"x": "7"}),
    "errors": lambda: figures.derivatives.errors(
        [1e-4, 1e-2, 1], {"one": [0.1, 0.01, 1], "two": [1, 0.3, 1]}, {"one": 2e-2, "two": 1e-2}
    ),
}


def test_the_line_at_a_turned_number_has_its_slope_and_touches_the_last_point():
    (axes,) = FIGURES["turned"]().axes
    line = next(line for line in axes.lines if line.get_linestyle() == "--")
    (x, u), (y, v) = line.get_xdata(), line.get_ydata()
    assert (v - y) / (u - x) == pytest.approx(1)
    assert y + (0.5 - x) == pytest.approx(0.25)
    assert "slope 1.00" in [text.get_text() for text in axes.texts]


def test_lines_of_a_nudge_have_the_slopes_beside_their_names():
    (axes,) = FIGURES["nudged"]().axes
    for line, text in zip(*axes.get_legend_handles_labels(), strict=True):
        x, y = line.get_xdata(), line.get_ydata()
        assert (y[-1] - y[0]) / (x[-1] - x[0]) == pytest.approx(float(text.rpartition(" ")[2]))


def test_each_solid_arrow_runs_down_and_a_dashed_one_with_its_slope_comes_back_beside_it():
    (frame,) = FIGURES["ways"]().axes
    arrows = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    down, up = arrows[::2], arrows[1::2]
    assert len(down) == len(up) == 3
    assert all(arrow._posA_posB[0][1] > arrow._posA_posB[1][1] for arrow in down)
    assert all(arrow._posA_posB[0][1] < arrow._posA_posB[1][1] for arrow in up)
    assert {(a.get_linestyle(), b.get_linestyle()) for a, b in zip(down, up, strict=True)} == {("solid", "--")}
    places = {text.get_text(): np.array(text.get_position()) for text in frame.texts}
    for (_, _, slope), arrow in zip(STEPS_BACK, up, strict=True):
        middle = np.mean(arrow._posA_posB, axis=0)
        assert np.linalg.norm(places[slope] - middle) < 0.2
    assert places["7"][0] < places["x"][0]
    assert places["7"][1] == places["x"][1] > places["y"][1] > places["z"][1]


def test_the_mark_of_an_error_stands_at_the_nudge_that_is_nearest_to_the_best():
    (axes,) = FIGURES["errors"]().axes
    marks = [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == "o"]
    assert marks == [(1e-2, 0.01), (1e-2, 0.3)]


def blame(**more):
    given = {"tokens": [" need", " picture", " it"], "it": 2, "slopes": [0.8, -1.6, 0.4]}
    return figures.backward.blame(**given | {"p": {"er": 0.25, "sie": 0.7, "es": 0.05}, "right": "es"} | more)


def test_a_look_that_helps_lies_above_the_sentence_and_the_right_word_has_the_arrow_up():
    (frame,) = blame().axes
    arcs = [line for line in frame.lines if len(line.get_xdata()) > 2]
    above = [line.get_ydata().mean() > figures.backward.LINE for line in arcs]
    assert above == [False, True]  # what "it" gives itself has no arc
    assert arcs[0].get_linewidth() / arcs[1].get_linewidth() == pytest.approx(0.8 / 1.6)
    written = [text.get_text() for text in frame.texts]
    assert {"+0.80", "−1.60", "+0.25", "+0.70", "−0.95"} <= set(written)
    ways = [np.diff(line.get_ydata())[0] for line in frame.lines if len(line.get_xdata()) == 2]
    assert np.sign(ways).tolist() == [-1, -1, 1]
    with pytest.raises(ValueError, match="each token needs a slope"):
        blame(slopes=[1.0])


def test_slopes_stand_below_their_numbers_and_each_arrow_down_has_a_dashed_one_up():
    x = {name: np.ones((3 if name in "KV" else 1, 3)) for name in figures.backward.PLACES}
    (frame,) = figures.backward.there_and_back(x, {name: -2 * y for name, y in x.items()}, "love").axes
    arrows = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    down = [arrow._posA_posB[0][1] > arrow._posA_posB[1][1] for arrow in arrows]
    assert down == [True, False] * 5
    assert all((arrow.get_linestyle() in ("-", "solid")) == d for arrow, d in zip(arrows, down, strict=True))
    heights = {text: [t.get_position()[1] for t in frame.texts if t.get_text() == text] for text in ("1", "−2")}
    assert len(heights["1"]) == len(heights["−2"]) == 30
    assert np.mean(heights["1"]) > np.mean(heights["−2"])
    with pytest.raises(ValueError, match="one shape"):
        figures.backward.there_and_back(x, x | {"Q": np.ones((2, 3))}, "love")


def test_a_gradient_climbs_as_wide_as_it_is_and_not_at_all_where_nothing_is_handed_back():
    (frame,) = FIGURES["climb"]().axes
    bands = [line for line in frame.lines if to_rgb(line.get_color()) == to_rgb(OUT)]
    widths = sorted(round(line.get_linewidth() / figures.backward_layer.WIDE, 3) for line in bands)
    # on the road below the norm, behind it (with the way into the box), above the fork, and out of the box
    below, added, above, back = [40, 79, 1, 84], [27, 51, 38, 79], [36, 53, 40, 79], [20, 12, 8]
    assert widths == sorted([*below, 84, 1, *added, *added, *above, *back, 11, 15, 11])
    names = [text.get_text() for text in frame.texts]
    assert names.count("attention") == 1
    assert names.count("feed-\nforward") == 2
    assert {"0", "8", "12", "20", "84"} <= set(names)
    lines = [line.get_xydata() for line in bands]
    assert all(line[0, 1] <= line[-1, 1] for line in lines)  # from bottom to top


def test_what_a_norm_leaves_of_a_gradient_begins_where_the_row_is():
    (frame,) = FIGURES["tangent"]().axes
    whole, rest = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    assert whole._posA_posB[0] == rest._posA_posB[0]
    moved = [np.subtract(*arrow._posA_posB[::-1]) for arrow in (whole, rest)]
    assert np.allclose(np.divide(moved, TANGENT[1:], where=TANGENT[1:] != 0, out=np.full((2, 2), 1.6)), 1.6)
    dashed = next(line for line in frame.lines if line.get_linestyle() == "--")
    assert np.allclose(dashed.get_xydata(), [whole._posA_posB[1], rest._posA_posB[1]])


def carried(back=False):
    words = ["I", "need", "the", "chair", "because", "it", "is", "old."]
    return figures.recurrence.carried(words, 3, ["weil", "er", "alt", "ist."], "er", back=back)


def test_the_way_of_a_word_through_the_states_is_coloured_up_to_the_translation():
    (frame,) = carried().axes
    arrows = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    level = [arrow for arrow in arrows if arrow._posA_posB[0][1] == arrow._posA_posB[1][1]]
    coloured = [to_rgb(arrow.get_edgecolor()[:3]) == to_rgb(KEY) for arrow in level]
    assert coloured == [False] * 3 + [True] * 4
    assert {arrow.get_linewidth() for arrow in level[3:]} == {3}
    tiles = [patch for patch in frame.patches if isinstance(patch, Rectangle)]
    white = [to_rgb(tile.get_facecolor()[:3]) == (1, 1, 1) for tile in tiles]
    assert white == [True] * 3 * 5 + [False] * 5 * 5
    *_, out = arrows
    assert out._posA_posB[0][0] == pytest.approx(tiles[-1].get_x() + tiles[-1].get_width() / 2)
    assert out._posA_posB[0][1] > out._posA_posB[1][1]
    assert [text.get_text() for text in frame.texts if text.get_weight() == "bold"] == ["chair", "er"]


def test_a_look_back_leads_from_every_state_to_the_bold_word_and_colours_one():
    (frame,) = carried(back=True).axes
    tiles = [patch for patch in frame.patches if isinstance(patch, Rectangle)]
    white = [to_rgb(tile.get_facecolor()[:3]) == (1, 1, 1) for tile in tiles]
    assert white == [True] * 3 * 5 + [False] * 5 + [True] * 4 * 5
    arrows = [patch for patch in frame.patches if isinstance(patch, FancyArrowPatch)]
    *chain, look = [arrow for arrow in arrows if arrow._posA_posB[0][0] != arrow._posA_posB[1][0]]
    assert len(chain) == 7
    assert max(arrow.get_linewidth() for arrow in chain) < look.get_linewidth()
    starts = [line.get_xdata()[0] for line in frame.lines]
    middles = [tile.get_x() + tile.get_width() / 2 for tile in tiles[::5]]
    assert look._posA_posB[0][0] == pytest.approx(middles.pop(3))
    assert starts == pytest.approx(middles)
    (bold,) = [text for text in frame.texts if text.get_text() == "er"]
    box = bold.get_window_extent()
    ends = {line.get_xdata()[1] for line in frame.lines} | {look._posA_posB[1][0]}
    assert ends == {(box.x0 + box.x1) / 2 / frame.figure.dpi}


@pytest.mark.parametrize("back", [False, True])
def test_the_words_of_the_translation_stand_in_their_order_without_overlap(back):
    figure = carried(back)
    (frame,) = figure.axes
    german = [text for text in frame.texts if text.get_size() == 13]
    boxes = sorted((text.get_window_extent().x0, text.get_window_extent().x1, text.get_text()) for text in german)
    assert [word for *_, word in boxes] == ["weil", "er", "alt", "ist."]
    assert all(end < start for (_, end, _), (start, *_) in itertools.pairwise(boxes))


def test_more_runs_of_one_name_are_thin_and_a_curve_may_end_early():
    two = {"one": [5, 1], "three": [[9, 8, 2], [9, 7, 1], [9, 6, 0]]}
    (axes,) = figures.recurrence.exact(range(1, 4), two, out_of=9, trained=2).axes
    one, first, *thin, end = axes.lines
    assert [line.get_xydata().tolist() for line in (one, thin[1])] == [[[1, 5], [2, 1]], [[1, 9], [2, 6], [3, 0]]]
    assert {line.get_color() for line in thin} == {first.get_color()}
    assert max(line.get_linewidth() for line in thin) < first.get_linewidth()
    assert end.get_xdata()[0] == 2.5
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "one",
        "three",
        "the same, run 2",
        "the same, run 3",
    ]
    assert len({line.get_linestyle() for line in thin}) == len(thin) == 2


def test_a_bar_for_each_place_carries_its_number():
    (axes,) = figures.recurrence.kept([31, 130, 199], out_of=200).axes
    assert [bar.get_height() for bar in axes.patches] == [31, 130, 199]
    assert [text.get_text() for text in axes.texts] == ["31", "130", "199"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3"]
    assert axes.get_ylabel() == "right, of 200"


def test_what_is_written_stands_below_its_step_and_only_what_is_right_is_bold():
    curve, told = FIGURES["learns"]().axes
    places = {text.get_text(): (*text.get_position(), text.get_weight()) for text in told.texts}
    assert places == {"aa": (10, 1, "normal"), "b": (10, 2, "normal"), "ba": (20, 1, "bold"), "c": (20, 2, "bold")}
    assert [label.get_text() for label in told.get_yticklabels()] == ["ab", "c"]
    assert curve.get_xlim() == told.get_xlim()
    marks = [line.get_xydata()[0] for line in curve.lines if line.get_marker() == "o"]
    assert np.allclose(marks, [(step, np.linspace(4, 1, 40)[step - 1]) for step in ROUND])


def test_a_wrong_run_is_drawn_above_the_band_of_the_right_one():
    for axes in FIGURES["hidden faults"]().axes:
        band, line = axes.lines
        assert band.get_linewidth() > 2 * line.get_linewidth()
        assert band.get_zorder() <= line.get_zorder()
        assert np.allclose(line.get_ydata(), CURVE**2)


def test_each_link_is_a_line_at_its_weight_those_that_do_much_are_thick_and_the_largest_effect_is_a_bar():
    left, right = FIGURES["each link"]().axes
    lines = [np.array(group.get_segments()) for group in left.collections]
    assert [len(found) for found in lines] == [7, 1, 56, 8]
    assert [group.get_linewidth()[0] for group in left.collections] == [0.8, 4, 0.8, 4]
    assert np.allclose(lines[0][:, 0, 0], np.linspace(0, 1, 8)[:7])
    assert lines[1][0, 0, 0] == 1
    assert np.allclose([found[..., 1].mean() for found in lines], [0, 0, 1, 1])
    assert len({tuple(group.get_color()[0]) for group in left.collections[::2]}) == 1, "the others are all of one grey"
    assert [round(arrow.xy[0], 2) for arrow in left.texts] == [1.01] * 9, "an arrow at each thick line"
    assert [arrow.xy[1] for arrow in left.texts] == [0] + [1] * 8
    assert np.allclose([bar.get_width() for bar in right.patches], [0.2, 1.5])
    assert [text.get_text() for text in right.texts] == ["0.20", "1.50"]
    assert labels(left.get_yticklabels()) == ["chair", "lamp"]


def test_a_bar_is_as_long_as_a_word_is_probable_and_hatched_if_the_word_is_another():
    (axes,) = FIGURES["cuts"]().axes
    bars = [bar for group in axes.containers for bar in group]
    assert np.allclose([bar.get_width() / 0.92 for bar in bars], [1, 0.9, 0.8, 0.6])
    assert [bool(bar.get_hatch()) for bar in bars] == [False, False, True, False]
    assert [(bar.get_x(), round(bar.get_y() + 0.38)) for bar in bars] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [text.get_text() for text in axes.texts] == ["dem 1", "der 0.90", "den 0.80", "der 0.60"]
    assert (labels(axes.get_xticklabels()), labels(axes.get_yticklabels())) == (["man", "woman"], list(CUT))


def test_a_line_of_probabilities_has_pieces_end_to_end_in_three_groups_with_lines_between_their_ends():
    (axes,) = FIGURES["lines"]().axes
    rows = np.geomspace(0.5, 1e-4, 30), np.full(30, 1 / 30)
    for y, p in enumerate(rows):
        bars = [bar for bar in axes.patches if abs(bar.get_y() + bar.get_height() / 2 - y) < 0.1]
        assert len(bars) == 5 + 15 + 1, "the tail is one piece"
        assert [bar.get_x() for bar in bars] == pytest.approx([p[:n].sum() for n in range(21)])
        assert [bar.get_width() for bar in bars] == pytest.approx([*p[:20], p[20:].sum()])
        colours = [bar.get_facecolor() for bar in bars]
        assert len(set(colours[:5])) == len(set(colours[5:20])) == 1
        assert to_rgb(colours[20][:3]) == to_rgb(KEY)
    ends = [[p[:n].sum() for p in rows] for n in (5, 20)]
    assert [list(line.get_xdata()) for line in axes.lines[:2]] == pytest.approx(np.array(ends))
    middles = [rows[0][0] / 2, rows[0][0] + rows[0][1] / 2]
    assert [line.get_xdata()[1] for line in axes.lines[2:]] == pytest.approx(middles)
    assert [text.get_text() for text in axes.texts] == [
        "good",
        "old",
        "5 likeliest",
        "next 15",
        "the tail:\nall others",
    ]
    assert not any(text.get_rotation() for text in axes.texts)


def test_masks_of_the_three_models_have_a_square_for_each_pair_of_words_all_of_one_size():
    (axes,) = FIGURES["three models"]().axes
    squares = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_width() == p.get_height()]
    assert len(squares) == 16 + 16 + 16 + 9 + 12
    assert len({round(p.get_width(), 9) for p in squares}) == 1
    assert sum(p.get_hatch() is not None for p in squares) == 6 + 3


def test_bars_of_rules_have_a_panel_for_what_is_seen_and_the_marked_rule_another_colour():
    for n, axes in enumerate(FIGURES["rules"]().axes):
        assert [bar.get_width() for bar in axes.patches] == [[0.3, 0.2], [0.1, 0.8]][n]
        assert [to_rgb(bar.get_facecolor()[:3]) == to_rgb(KEY) for bar in axes.patches] == [False, True]
    assert [axes.get_title(loc="center") for axes in FIGURES["rules"]().axes] == ["one", "two"]


def test_the_numbers_of_a_matrix_have_decimals_all_or_none_on_the_way_through_two_heads():
    head, joined = FLAT | {"Q": Q, "K": K, "V": V}, np.array([[1.64, 1, 0, 0.5]] * 3)
    figure = figures.heads.path(X, [head, head], joined, np.eye(3), WORDS)
    numbers = {axes.get_title(): texts(axes) for axes in figure.axes}
    assert numbers["side by side: joined"] == [["1.64", "1.00", "0.00", "0.50"]] * 3
    assert numbers["joined $\\cdot\\ W^O$"] == [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]
    assert {len(number) for row in numbers["weights of head 1"] for number in row} == {4}


def test_the_numbers_of_a_box_on_the_way_through_a_layer_have_decimals_all_or_none():
    figure = pic.picture(6, 3)[0]
    some, whole = (flow.box(figure, x, (3, 2), "x", ["a", "b"]) for x in ([[1.64, 1], [0, 2]], np.eye(2)))
    assert texts(some) == [["1.64", "1.00"], ["0.00", "2.00"]]
    assert texts(whole) == [["1", "0"], ["0", "1"]]


@pytest.mark.parametrize("seed", range(5))
def test_a_name_on_the_map_of_words_lies_on_no_mark_and_on_no_other_name(seed):
    rng = np.random.default_rng(seed)
    points = np.concatenate([centre + rng.normal(0, 0.35, (8, 2)) for centre in rng.normal(0, 3, (5, 2))])
    groups = {f"kind {k}": list(range(8 * k, 8 * k + 8)) for k in range(5)}
    named = {8 * k + n: word for k in range(5) for n, word in enumerate(("garden", "tea", "chair"))}
    figure = figures.vectors.kinds({"": points}, groups, named)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    marks = axes.transData.transform(points)
    names = {text.get_text() + str(n): Text.get_window_extent(text) for n, text in enumerate(axes.texts)}
    covered = [name for name, box in names.items() for x, y in marks if box.padded(-1).contains(x, y)]
    over = [(a, b) for a, b in itertools.combinations(names, 2) if names[a].padded(-2).overlaps(names[b].padded(-2))]
    assert covered == over == []
