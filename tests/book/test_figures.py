"""The figures: they draw without a warning, the same way each time, and show the numbers that they were given."""

import functools
import itertools
import re
import warnings
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from helpers import TOKENS, contrast, layered, normal, smallest_letter, walked
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from matplotlib.patches import PathPatch, Rectangle
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
    WIDE,
    Picture,
    picture,
    tiles,
)
from tested_transformer.book.figures.running import COLOURS
from tested_transformer.book.logit_lens import takes_over
from tested_transformer.book.serving import Ride
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
SAYS = np.linspace(0, 1, 31) ** 4
TURNS = [("system", ["<|im_start|>", "system", "↵"], [True, False, False]), ("user", ["Hi", "."], [False, False])]
EACH_HEAD = np.linspace(0, 0.9, 270).reshape(30, 9)
FIGURES |= {
    "answer": lambda: figures.chat.answer(["The", "end"], [0.4, 0.99], ["A 0.3", ", 0.00"]),
    "template": lambda: figures.chat.template(TURNS),
    "layers": lambda: figures.chat.layers(SAYS, {0: "is", 12: ","}, {"Paris": SAYS, "Rome": 1 - SAYS}),
    "every head": lambda: figures.chat.grid({"weight": EACH_HEAD, "exchange": EACH_HEAD / 50}, [(29, 8), (3, 1)]),
    "distances": lambda: figures.chat.distances([0, 5000, 9000], {"far": [0.9, 0.8, 0], "both": [0.9] * 3}, 8192),
}
RISING = np.linspace(0.3, 0.9, 15).reshape(3, 5)
FIGURES |= {
    "tasks": lambda: figures.answering.tasks({"past": ("past tense : i sleep . →", "i slept .")}),
    "ways": lambda: figures.answering.ways(range(5), {"one": RISING, "another": 1 - RISING}, "right"),
    "fooled": lambda: figures.answering.fooled(
        range(5),
        {"judge": {"accepted": RISING[0], "right": RISING[1]}, "held": {"accepted": RISING[0], "right": RISING[2]}},
    ),
}
DRAFTED = [(["if", "it"], 0, "in"), (["the", "evening"], 2, "<eos>")]
FIGURES |= {
    "reading": lambda: figures.fast.reading(64, 0.2, 2.6),
    "times": lambda: figures.fast.times([1, 2, 4], {"as it is": [40, 45, 60], "the copy": [20, 30, 55]}),
    "rounds": lambda: figures.fast.rounds("this boy", DRAFTED),
    "overlap": lambda: figures.fast.overlap(["in", "if"], [0.5, 0.1], [0.2, 0.4], [0.2, 0.1]),
    "seats": lambda: figures.fast.seats({"a": [Ride(0, 0, 0, 9), Ride(1, 1, 0, 4)], "b": [Ride(0, 0, 0, 12)]}),
    "recalled": lambda: figures.fast.recalled([1, 16, 64], {"attention": [1, 1, 1], "a state": [1, 0.9, 0.3]}, 16),
}
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
    "bits": lambda: figures.bits.right({8: (9, 8), 2: (1, 0)}, ("pronoun", "all"), of=9),
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
SCALED = {"enough": [[2.5, 2.6], [2.2, 2.3], [2.1, 2.0]], "few": [[3.5, 3.6], [3.1, 3.0], [2.9, 2.8]]}
THROUGH = {"a line": ([1e3, 1e5], [2.6, 2.0]), "another": ([1e3, 1e5], [2.5, 2.1])}
FIGURES |= {
    "ladder": lambda: figures.layers.ladder(layered(30)["prompts"][0]["steps"][0]),
    "scaling": lambda: figures.scaling.lines([1e3, 1e4, 1e5], SCALED, THROUGH, 2),
}
RUN = ([5, 10, 15], [20.0, 25.0, 27.0])
CHANGES = ("norm first", "RMSNorm", "SwiGLU", "rotary positions", "grouped queries", "no biases", "untied output")
FOUND = {"one": (-0.2, -0.3, -0.1, True, [-0.25, -0.15]), "two": (0.1, -0.5, 0.7, False, [0.0, 0.2])}
FIGURES |= {
    "two layers": lambda: figures.today.layers(CHANGES),
    "gate": lambda: figures.today.gate({"a": [1.5, -2.0], "b": [2.0, 3.0], "a times b": [3.0, -6.0]}, ("×", "=")),
    "hands": lambda: figures.today.hands({"at 1": {"a": [1.0, 0.5], "b": [0, -1]}, "at 2": {"a": [0, 1], "b": [1, 1]}}),
    "along": lambda: figures.today.along({"added": CURVE**2, "turned": np.full(20, 0.5)}),
    "groups": lambda: figures.today.groups({"four": 4, "two": 2}, heads=4),
    "forest": lambda: figures.today.forest({"small": FOUND, "large": FOUND}, "difference"),
}

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
each_figure = pytest.mark.parametrize("name", FIGURES)


@functools.cache
def drawn(name):
    """A figure and its drawing; no warning is let through."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib|pyparsing")  # theirs
        figure = FIGURES[name]()
        return figure, figure._repr_svg_()


def texts(axes):
    """The numbers that stand in the tiles, as rows; None where there is none."""
    found = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts}
    rows, columns = axes.get_images()[0].get_array().shape
    return [[found.get((i, j)) for j in range(columns)] for i in range(rows)]


def labels(ticks):
    return [tick.get_text() for tick in ticks]


@each_figure
def test_a_figure_draws_without_warnings_in_the_right_size(name):
    figure, svg = drawn(name)
    assert isinstance(figure, Picture)
    root = ET.fromstring(svg)
    assert [float(root.get(side)) for side in ("width", "height")] == pytest.approx(
        96 * figure.get_size_inches(), abs=0.01
    )
    assert figure.get_size_inches()[0] <= WIDE
    assert len(list(root.iter())) > 5, "the picture is empty"


@each_figure
def test_a_figure_is_drawn_the_same_each_time_whatever_the_style_outside(name):
    with rc_context({"font.size": 30, "text.color": "red", "axes.titlelocation": "right", "figure.facecolor": "red"}):
        assert FIGURES[name]()._repr_svg_() == drawn(name)[1]


@each_figure
def test_the_letters_of_a_picture_can_be_read_on_a_phone(name):
    assert smallest_letter(drawn(name)[1]) >= 10


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


KEPT = np.arange(4.0).reshape(4, 1), np.arange(8.0).reshape(4, 2)  # keys, values
SEES = np.array([[True, False, True, False], [False, True, False, True]])
BLAMED = {"tokens": [" need", " picture", " it"], "it": 2, "slopes": [0.8, -1.6, 0.4], "p": {"er": 0.25, "sie": 0.75}}
FORWARD = {name: np.ones((3 if name in "KV" else 1, 3)) for name in figures.backward.PLACES}
REFUSED = {
    "argument 2 is shorter": lambda: figures.attention.heads(HEADS, rows=(1,)),
    "3 losses for 4 frames": lambda: figures.attention.film(dict.fromkeys("abcd", A), [1, 2, 3], WORDS, row=0),
    "3 words, keys .* must be for 4 slots": lambda: figures.cache.ancestors(SEES, "xy", tuple("abc"), 2, *KEPT),
    "keys .3, 1. must be for 4 slots": lambda: figures.cache.ancestors(SEES, "xy", "abcd", 2, KEPT[0][:3], KEPT[1]),
    "7 parts, colours for 6": lambda: figures.cache.bill(dict.fromkeys("abcdefg", (1, 1)), ("dear", "cheap"), "steps"),
    "3 tokens need as many steps": lambda: figures.cache.changes("abc", {"kept": np.zeros((2, 2))}),
    r"names \(a\) must be two": lambda: figures.bits.right({8: (1,)}, ["a"], of=1),
    "each number of bits needs a count for both": lambda: figures.bits.right({8: (1, 2), 7: (1,)}, "ab", of=2),
    "one of each for every group": lambda: figures.gpt.doubts([1, 1], [1], [9, 9], low=0.001),
    "came more than 0 times": lambda: figures.gpt.doubts([1, 1], [1, 0], [9, 9], low=0.001),
    r"the point \(1.0\) must be on the line, which ends at 1": lambda: figures.gpt.hit([0.5, 0.3, 0.2], "abc", 1.0),
    "b: 1 tokens and 2 surprises in a picture of 1 tokens": lambda: figures.loss.tokens({"b": ("a", [1.0, 2.0])}),
    "3 tokens for 4 rows": lambda: figures.notation.rows(["a", "b", "c"], SENTENCE, 0),
    "one shape, not of": lambda: figures.notation.batch({"a": normal(4, 3), "b": normal(2, 3)}),
    "4 tokens and 3 weights for 4 rows": lambda: figures.notation.taken("abcd", SENTENCE, [1, 0, 0], 0, "a"),
    "4 tokens need as many rows, columns and answers": lambda: figures.masks.answers(BACK[:3], GIVEN, GIVEN, marked=0),
    "each token needs a slope": lambda: figures.backward.blame(**BLAMED | {"slopes": [1.0]}, right="er"),
    "must have one shape": lambda: figures.backward.there_and_back(FORWARD, FORWARD | {"Q": np.ones((2, 3))}, "love"),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_does_not_fit_together_is_refused(rule):
    with pytest.raises(ValueError, match=rule):
        REFUSED[rule]()


STOPS = [walked()[name] for column in figures.transformer.STOPS for name in column.values()]
PARTS_OF_A_SCORE = [[1, -2.5]], [[0, 1]], [[1, -1.5]], [[0.92, 0.08]]
IMAGES = {
    "weights": [A],
    "path": STEPS.values(),
    "two heads": [a for a, _, _ in HEADS.values()],
    "film": [A] * 6,
    "journey": STOPS,
    "looks": [np.eye(2, 3), A],
    "guesses": [[[12.3, 87.7], [50, 50], [1, 99]]],
    "row of": np.linspace(0, 1, 24).reshape(2, 2, 6),
    "stops of a film": [*MAPS.reshape(4, 3, 4), *(MAPS**2).reshape(4, 3, 4)],
    "sentence": [SENTENCE, SENTENCE[2:3, :5]],
    "batch": [-SENTENCE, 2 * SENTENCE, SENTENCE],
    "taken": [SENTENCE, [[0.004, 0.992, 0.003, 0.001] @ SENTENCE]],
    "by place": [[[0.2, 0.7], [0.55, 0.45]]],
    "parts": PARTS_OF_A_SCORE,
    "sums": [np.eye(3), -2 * np.eye(3)],
    "answers": [LOOKS_BACK],
    "firing": [normal(3, 4), relu(normal(3, 4))],
    "layer": [*LAYER.values(), 2 * X, X - 1],
    "a framed weight": [np.full((3, 3), 1 / 3)] * 4,
}


@pytest.mark.parametrize("name", IMAGES)
def test_the_colours_of_a_matrix_are_its_numbers(name):
    images = [image for axes in drawn(name)[0].axes for image in axes.get_images()]
    for image, x in zip(images, IMAGES[name], strict=True):
        assert np.array_equal(image.get_array(), x)
        low, high = image.get_clim()
        assert image.get_clim() == (0, 1) or high in (0.7, 1.25, 100) or -low == high or name == "path"


LINES = {
    "temperature": [(TEMPERATURES, column) for column in CURVES.T] + [([1.7, 1.7], [0, 1])],
    "widths": [(WIDTHS, np.sqrt(WIDTHS)), (WIDTHS, [2.1, 3.9, 8.2, 15.7]), (WIDTHS, [0.3] * 4)],
    "work": [([1, 2, 3], [1, 3, 6]), ([1, 2, 3], [1, 2, 3])],
    "penalties": [([1, 2, 3], [1, 1, 1]), ([1, 2, 3], [1, 1.17, 1.33])],
    "a blind guess": [([1, 2, 3], [6, 4, 3]), ([0, 1], [np.log(421)] * 2)],
    "learning": [(range(1, 5), [5, 4, 3, 2]), ([0, 4], [5.6, 6.5]), ([0, 4], [5.5, 2.5]), ([0, 4], [0, 30])],
    "shares": [([50, 60], [0, 1]), ([90, 100], [0, 1])],
    "interval": [([2.1, 2.1], [0, 1])],
    "minutes": [RUN, RUN, ([1, 2], [3, 2])],
    "faults": [([1, 2, 3], [3, 2, 1]), ([1, 2, 3], [3, 2.5, 2])],
    "held out": [([1, 2, 3], [3, 1, 0]), ([1, 3], [3, 3.5]), ([1, 2, 3], [3, 2, 1]), ([2], [2])],
    "surprise": [([1e-6, 0.1, 0.5, 1], [13.8, 2.3, 0.7, 0]), ([0, 1], [1, 0]), ([0.6], [0.5]), ([0.2], [1.6])],
    "gaps": [(range(1, 11), CURVE[10:] * 9), (range(1, 11), np.ones(10)), (range(1, 11), np.zeros(10))],
    "depth": [(range(25), 0.1 ** np.arange(25)), (range(25), 2.0 ** np.arange(25))],
    "rates of parts": [([0.5, 1], [3, 4]), ([0.5], [3]), ([1], [9])],
    "across": [(CURVE, 50 * CURVE**2)],
    "valley": [normal(5, 2).T],
    "starts": [(range(1, 7), range(7, 1, -1)), (range(1, 7), np.ones(6))],
    "rare": [(range(5), normal(5, 2)[:, 0]), (range(5), normal(5, 2)[:, 1])],
    "kinks": [(CURVE, CURVE), (CURVE, -2 * CURVE), (CURVE, 3 * CURVE), (CURVE, CURVE**2), (CURVE, 2 * CURVE)],
    "activations": [(CURVE, CURVE), (CURVE, CURVE**2), (CURVE, CURVE), (CURVE, CURVE)],
    "step": [([0, 1, 2], [4, 1, 4]), ([0.5], [3]), ([2], [5]), ([0], [4])],
    "alike": [([0, 1, 2], [0, 0.5, 1]), ([0, 1, 2], [0, 0.1, 0.2])],
    "learns": [(range(1, 26), np.linspace(4, 1, 40)[:25]), ([10], [np.linspace(4, 1, 40)[9]])],
    "hidden faults": 2 * [(range(1, 21), CURVE + 1), (range(1, 21), CURVE**2)],
    "chances while it learns": [(range(1, 21), CURVE**2), (range(1, 21), CURVE**4)],
    "losses and a floor": [(range(10, 201, 10), CURVE + 2), (range(10, 201, 10), CURVE + 1), ([0, 1], [0.5, 0.5])],
    "two curves apart": [(range(10, 201, 10), CURVE + 2), (range(10, 201, 10), CURVE + 1)],
    "hover": [(range(1, 21), CURVE + 2), (range(1, 21), CURVE + 4)],
    "noise": [([1, 2, 3], [1.0, 0.7, 0.5]), ([1, 2, 3], [1.0, 0.7, 0.6])],
    "rates": [([1, 600, 9000], [0, 1, 0]), ([1, 600, 9000], [0, 1, 0.5]), ([600, 600], [0, 1])],
    "with and without": [(range(1, 21), CURVE), (range(1, 21), -CURVE), (range(1, 21), CURVE**2)],
    "along": [(range(20), CURVE**2), (range(20), [0.5] * 20)],
    "turned": [(CURVE, CURVE**2), ([0], [0]), ([0.5], [0.25])],
    "nudged": [(CURVE, CURVE**2), ([0, 0.8], [0, 0.64]), ([0.4, 0.8], [0.16, 0.64])],
    "errors": [([1e-4, 1e-2, 1], [0.1, 0.01, 1]), ([1e-2], [0.01]), ([1e-4, 1e-2, 1], [1, 0.3, 1]), ([1e-2], [0.3])],
}


@pytest.mark.parametrize("name", LINES)
def test_the_lines_are_the_numbers_in_their_order(name):
    lines = iter([line.get_xydata() for axes in drawn(name)[0].axes for line in axes.get_lines()])
    for x, y in LINES[name]:  # others may lie between
        wanted = np.column_stack([x, y])
        assert any(line.shape == wanted.shape and np.allclose(line, wanted) for line in lines), f"{x}, {y}"


@pytest.mark.parametrize(("name", "one"), [("learning", "validation"), ("shares", "a"), ("minutes", "a, test")])
def test_a_name_in_a_legend_is_that_of_its_line(name, one):
    (line,) = (line for axes in drawn(name)[0].axes for line in axes.get_lines() if line.get_label() == one)
    wanted = {"validation": [[0, 5.5], [4, 2.5]], "a": [[50, 0], [60, 1]], "a, test": np.column_stack(RUN).tolist()}
    assert line.get_xydata().tolist() == wanted[one]


BARS = {
    "mixture": [(sum(A[i, :j, None] * V[:j])[c] if j else 0, A[i, j] * V[j, c]) for i, j, c in np.ndindex(3, 3, 3)],
    "uses": [(0, length) for lengths in USES.values() for length in lengths],
    "bill": [(0, 2), (0, 1), (2, 3), (1, 0.5), (5, 0.1), (1.5, 0.1)],
    "bits": [(0, 9), (0, 1), (0, 8), (0, 0)],
    "rules": [(0, 0.3), (0, 0.2), (0, 0.1), (0, 0.8)],
    "a blind guess": [(0, 0.4), (0, 0.1)],
    "cut links": [(0, 9), (0, 9), (0, 9), (0, 3), (0, 9), (0, 8)],
    "votes": [(0, 0.25), (0.25, 0.5), (0.75, 0.25)] * 2,
    "each link": [(0, 0.2), (0, 1.5)],
    "hit": [(0, 0.5), (0.5, 0.3), (0.8, 0.2)],
    "likeliest": [(0, 0.6), (0, 0.3), (0, 0.4), (0, 0.3)],
}


@pytest.mark.parametrize("name", BARS)
def test_the_bars_are_the_numbers_from_where_they_begin(name):
    bars = [patch for axes in drawn(name)[0].axes for patch in axes.patches if isinstance(patch, Rectangle)]
    assert np.allclose([(bar.get_x(), bar.get_width()) for bar in bars], BARS[name])


def test_columns_are_as_high_as_their_numbers():
    (swapped, _), (kept,) = FIGURES["swapped"]().axes, figures.recurrence.kept([31, 130, 199], out_of=200).axes
    assert [bar.get_height() for bar in swapped.patches] == [0.25, 0.5]
    assert [bar.get_height() for bar in kept.patches] == [31, 130, 199]
    assert [text.get_text() for text in swapped.texts + kept.texts] == ["0.25", "0.50", "31", "130", "199"]


def test_every_area_is_the_share_of_its_number():
    (axes,) = FIGURES["areas"]().axes
    numbers = [number for boxes in PARTS.values() for number in boxes.values()]
    assert np.allclose([box.get_width() * box.get_height() for box in axes.patches], np.divide(numbers, sum(numbers)))
    assert "self-attention\n1.0 M" in words_of(axes)


def words_of(axes, colour=None):
    """The words of a picture, from the top and from the left; all, or those in a colour."""
    mine = [t for t in axes.texts if colour is None or t.get_color() == colour]
    return [t.get_text() for t in sorted(mine, key=lambda t: (-t.get_position()[1], t.get_position()[0]))]


def bold_of(axes):
    return [text.get_text() for text in axes.texts if text.get_weight() == "bold"]


def filled(axes):
    """The words that stand on a colour."""
    boxes = [(text, text.get_bbox_patch()) for text in axes.texts if text.get_bbox_patch()]
    return [text.get_text() for text, box in boxes if to_rgb(box.get_facecolor()[:3]) != (1, 1, 1)]


def places_of(axes, **look):
    """The tiles of a picture that have this look, as (row, column)."""
    tiles = [patch for patch in axes.patches if all(getattr(patch, f"get_{k}")() == v for k, v in look.items())]
    return sorted((round(t.get_y() + t.get_height() / 2), round(t.get_x() + t.get_width() / 2)) for t in tiles)


def test_weights_have_a_row_for_each_query_and_a_column_for_each_key():
    x = np.array([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
    axes = figures.attention.weights(x, ("this", "that"), ("a", "b", "c")).axes[0]
    assert texts(axes) == [["0.2500", "0.7500", "0"], ["0.1000", "0.2000", "0.7000"]]
    assert labels(axes.get_yticklabels()) == ["this", "that"]
    assert labels(axes.get_xticklabels()) == ["a", "b", "c"]


def test_the_plane_has_the_shadows_on_the_left_and_the_output_in_the_triangle_on_the_right():
    left, right = FIGURES["plane"]().axes
    shadows = np.array([line.get_xydata() for line in left.lines if line.get_alpha() == 0.4])
    feet = [QUERY_OF_LOVE * (QUERY_OF_LOVE @ key) / (QUERY_OF_LOVE @ QUERY_OF_LOVE) for key in FLAT["K"]]
    assert np.allclose(shadows[:, 1] - shadows[:, 0], feet)
    (triangle,) = right.patches
    assert np.array_equal(triangle.get_xy()[:3], FLAT["V"])
    pulls = [line for line in right.lines if line.get_alpha() == 0.75]
    assert np.allclose([line.get_xydata() for line in pulls], [[value, A_OUT[1, :2]] for value in FLAT["V"]])
    assert np.allclose([line.get_linewidth() for line in pulls], 12 * A[1])
    assert np.allclose(right.lines[-1].get_xydata(), A_OUT[1, :2])


def test_the_machine_has_the_sizes_of_the_run_and_ends_with_its_largest_logits():
    (axes,) = FIGURES["machine"]().axes
    found = {text.get_text(): text.get_position() for text in axes.texts}
    assert {"I see", "it.", "<bos> Ich", "memory 3 × 6", "4 × 10 logits", "rows of the table E, 10 × 6"} < found.keys()
    order = ["masked self-attention", "cross-attention", "compared with all of E", "4 × 10 logits"]
    assert sorted(order, key=lambda name: -found[name][1]) == order, "the data flow downward"
    logits = walked(layers=2)["logits"][-1]
    best = np.argsort(-logits)[:3]
    assert [text.get_text() for text in axes.texts[-3:]] == [f"{TOKENS[i]}  {logits[i]:.1f}" for i in best]


def test_a_tree_has_a_line_to_every_beginning_in_the_colour_of_its_name():
    axes = figures.decode.tree(PATHS, {"greedy": [("a",), ("a", "c")], "best": [("b",), ("b", "c")]}, "Ich").axes[0]
    assert {text.get_text() for text in axes.texts} == {
        "Ich",
        "a\n0.600",
        "b\n0.400",
        "c\n0.300",
        "d\n0.300",
        "c\n0.400",
    }
    assert [line.get_color() for line in axes.lines if len(line.get_xdata())] == [KEY, QUERY, KEY, FAINT, QUERY]


def test_slots_are_filled_where_a_hypothesis_sees_and_hatched_where_none_sees_a_word():
    axes = figures.cache.ancestors(SEES, ("x", "y"), tuple("abcd"), 2, *KEPT).axes[0]
    face = [patch.get_facecolor()[:3] != (1.0, 1.0, 1.0) for patch in axes.patches[8:]]
    assert face == SEES.flatten().tolist()
    sees = np.array([[0, 0, 1, 0], [0, 0, 1, 0]], dtype=bool)
    axes = figures.cache.ancestors(sees, ("x", "y"), ("dropped", "–", "a", ""), 2, *KEPT).axes[0]
    assert [bool(patch.get_hatch()) for patch in axes.patches[8:]] == [True, False, False, False] * 2
    assert labels(axes.texts) == ["0", "2", "0 1", "4 5"], "an empty slot has no key and no value"


def test_a_token_that_changed_in_a_step_has_the_sign_for_it_and_a_new_one_has_none():
    changed = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    (one, two) = figures.cache.changes((" a", "b", "c"), {"kept": np.zeros((3, 3)), "other": changed}).axes
    assert [labels(axes.texts) for axes in (one, two)] == [["="] * 3, ["≠", "=", "≠"]]
    assert places_of(two) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]


def test_doubts_that_are_right_lie_on_the_diagonal_and_those_given_too_little_are_marked():
    axes = FIGURES["doubts"]().axes[0]
    right, low = (marks.get_offsets() for marks in axes.collections)
    assert np.allclose(right, [[0.3, 0.33], [0.8, 0.8]])
    assert np.allclose(low, [[0.0005, 0.0001]])
    assert labels(axes.texts) == ["as often as given", "came 0.20 times as often"]
    assert np.array_equal(axes.lines[0].get_xdata(), axes.lines[0].get_ydata())


def test_ways_of_a_family_have_a_line_in_their_colour_and_those_of_none_stay_in_ink():
    ways = DRAWS | {"top-k 5": [(100, 0.9), (104, 0.9)], "top-k 50": [(200, 0.8)]}
    axes = figures.gpt.trade(ways, {"top-k": ("top-k 5", "top-k 50", "all")}).axes[0]
    assert np.allclose(axes.lines[0].get_xydata(), [[102, 0.9], [200, 0.8], [222, 0.41 / 0.6]], atol=0.01)
    colours = {text.get_text(): text.get_color() for text in axes.texts}
    assert colours == {"greedy": INK, "all": INK, "top-k 5": QUERY, "top-k 50": QUERY}


def test_a_line_of_probabilities_has_pieces_end_to_end_with_all_others_as_the_tail():
    (axes,) = FIGURES["lines"]().axes
    rows = np.geomspace(0.5, 1e-4, 30), np.full(30, 1 / 30)
    for y, p in enumerate(rows):
        bars = [bar for bar in axes.patches if abs(bar.get_y() + bar.get_height() / 2 - y) < 0.1]
        assert [bar.get_x() for bar in bars] == pytest.approx([p[:n].sum() for n in range(21)])
        assert [bar.get_width() for bar in bars] == pytest.approx([*p[:20], p[20:].sum()])
        assert to_rgb(bars[20].get_facecolor()[:3]) == to_rgb(KEY)


def test_a_step_with_a_cache_shows_in_full_what_it_makes_and_pale_what_was_kept():
    axes = FIGURES["kept"]().axes[0]
    numbers = [text for text in labels(axes.texts) if text.replace(".", "").isdigit()]
    assert numbers == ["1", "0", "0.25", "1", "2", "0", "1", "0.75", "3", "4", "1", "0", "2.50", "3.50"]
    strength = [patch.get_facecolor()[3] for patch in axes.patches if hasattr(patch, "get_x")]
    pale = [number for number, alpha in zip(numbers, [a for a in strength if a], strict=True) if alpha < 0.2]
    assert pale == ["1", "0", "1", "2"]  # the first word's key and value


def test_each_token_has_a_bar_as_long_as_its_surprise_and_another_one_is_named_in_it():
    right, wrong = (["weil", "er", "alt"], [2.0, 4.0, 0.0]), (["weil", "sie", "alt"], [0.0, 8.0, 0.0])
    axes = figures.loss.tokens({"right": right, "wrong": wrong}).axes[0]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    widths = [bar.get_width() for bar in bars]
    assert np.allclose(widths, np.array([2, 4, 0, 0, 8, 0]) * widths[0] / 2)
    assert [bar.get_facecolor()[:3] == to_rgb(KEY) for bar in bars] == [False] * 4 + [True, False]


def test_a_role_has_a_dot_for_each_word_on_its_side_and_rings_where_that_is_wrong():
    kinds = ["object"] * 3 + ["possessive"] * 3
    figure = figures.bert.roles({"one": [-1.0, -1.0, 0.1, 1.0, 1.0, -0.1]}, kinds, columns=5)
    groups = figure.axes[0].collections
    dots = [[group.get_offsets().tolist(), tuple(group.get_facecolor()[0][:3]) == (1, 1, 1)] for group in groups]
    assert dots == [[[[3, 1]], True], [[[0, 1], [0, 2]], False], [[[1, -1]], True], [[[4, -1], [4, -2]], False]]


def test_a_piece_is_full_where_it_was_found():
    (axes,) = drawn("pieces")[0].axes
    assert [tuple(bar.get_facecolor()) != (1, 1, 1, 1) for bar in axes.patches] == [True, False, True, False, True]
    assert labels(axes.texts)[-2:] == ["1 word: 2 of 3", "2 words: 1 of 2"]


def test_an_arc_is_as_wide_as_its_weight_and_the_gender_is_told_in_words():
    (axes,) = drawn("three")[0].axes
    chair, music = (patch for patch in axes.patches if isinstance(patch, PathPatch))
    assert words_of(axes, COLOURS["m"]) == ["0.900", "chair", "it", "Stuhl", "er", "der"]
    assert words_of(axes, COLOURS["f"]) == ["0.250", "music", "it", "Musik", "sie", "die"]
    for arc, weight, colour in ((chair, 0.9, COLOURS["m"]), (music, 0.2504, COLOURS["f"])):
        assert arc.get_linewidth() == pytest.approx(5 * weight)
        assert arc.get_edgecolor()[:3] == to_rgb(colour)


STREAM = pic.FORWARD, pic.ATTENTION, pic.FEED_FORWARD


def test_a_river_is_as_wide_as_the_row_is_long_and_what_is_added_as_wide_as_that():
    (axes,) = drawn("stream")[0].axes
    drawn_in = {c: [line.get_linewidth() for line in axes.lines if line.get_color() == c] for c in STREAM}
    river, (_, attended, *asked), (_, fed) = drawn_in.values()
    assert np.divide(river, river[0]) == pytest.approx([x / 2 for x in WAY[0]])
    assert np.divide([attended, fed], river[0]) == pytest.approx([1.5 / 2, 2.5 / 2])
    assert np.diff(asked) == pytest.approx([4.5, -6.75])


def test_each_token_stands_above_its_id_and_the_colours_of_its_row():
    (axes,) = drawn("rows")[0].axes
    assert words_of(axes) == ["I", "see", "it", "4", "5", "6", "I", "see", "them", "4", "5", "7"]
    tiles = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    faces = np.reshape([patch.get_facecolor()[:3] for patch in tiles], (2, 3, 2, 3))
    assert np.allclose(faces[:, 0], [SIGNED(0.75)[:3], SIGNED(0.0)[:3]])
    assert np.allclose(faces[:, 2, 0], [SIGNED(0.8)[:3], SIGNED(0.85)[:3]])


def test_nouns_have_their_place_and_the_colour_of_their_gender():
    (axes,) = drawn("nouns")[0].axes
    for points, gender in zip(axes.collections, "mfn", strict=False):
        own = IN_THE_PLANE[[g == gender for g in "mmfnn"]]
        assert np.allclose(points.get_offsets(), (0.35, 1.15) + 3.1 / 4 * own)
        assert to_rgb(points.get_facecolor()[0]) == to_rgb(COLOURS[gender])
        article = {"m": "der", "f": "die", "n": "das"}[gender]
        assert words_of(axes, COLOURS[gender]) == [article, ", ".join(SOME[gender])]


def test_tokens_of_one_word_touch_and_are_filled_and_words_stand_apart():
    (axes,) = FIGURES["tokens"]().axes
    assert labels(axes.texts)[:13] == ["It reads", *(part for text, i in CARPET for part in (text.strip(), str(i)))]
    tiles = axes.patches[:6]
    gaps = [b.get_x() - a.get_x() - a.get_width() for a, b in itertools.pairwise(tiles)]
    assert np.allclose(gaps, [figures.tokens.GAP, 0, 0, figures.tokens.GAP, 0])
    plain, part = (to_rgb(pic.WEIGHTS(x)) for x in (0.08, 0.4))
    assert [tile.get_facecolor()[:3] for tile in tiles] == [plain, part, part, part, plain, plain]


def test_what_broadcasting_repeats_is_dashed():
    (frame,) = FIGURES["broadcast"]().axes
    numbers = [text.get_text() for text in frame.texts if text.get_text()[-1].isdigit()]
    row, column = ["1", "2", "3"] * 2, ["4"] * 3 + ["5"] * 3
    eye, summed = ["1", "0", "0", "0", "1", "0"], ["2", "2", "3", "1", "3", "3"]
    assert numbers == eye + row + summed + eye + column + ["9"] * 6
    dashed = [patch.get_linestyle() == "--" for patch in frame.patches]
    none, below, right = [False] * 6, [False] * 3 + [True] * 3, [False, True, True] * 2
    assert dashed == none + below + none + none + right + none


@pytest.mark.parametrize(("name", "line", "slope", "at"), [("step", 1, -2, (0, 4)), ("turned", -1, 1, (0.5, 0.25))])
def test_a_line_at_a_point_touches_it_with_its_slope(name, line, slope, at):
    (axes,) = FIGURES[name]().axes
    (x0, y0), (x1, y1) = axes.lines[line].get_xydata()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(slope)
    assert y0 + slope * (at[0] - x0) == pytest.approx(at[1])


def test_orders_have_their_german_below_them_and_the_word_that_moves_is_marked():
    (axes,) = drawn("orders")[0].axes
    assert bold_of(axes) == ["old.", "alt.", "old.", "alt.", "alten."]


def test_what_is_hidden_is_hatched_and_each_answer_is_framed_and_written_beside_its_row():
    (axes,) = FIGURES["answers"]().axes
    assert places_of(axes, hatch="////") == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert places_of(axes, zorder=5) == [(0, 1), (1, 2), (2, 3)]
    assert [text.get_text() for text in axes.texts if text.get_visible()] == ["Ich", "bin", "alt", "."]
    for axes, mask in zip(FIGURES["kinds"]().axes, (ALL, BACK), strict=True):
        assert places_of(axes, hatch="//////") == [tuple(place) for place in np.argwhere(~mask)]


def test_a_clock_for_each_pair_of_each_row_has_its_sine_across_and_its_cosine_up():
    (axes,) = drawn("clocks")[0].axes
    hands = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == 2]
    assert np.allclose([(end - start) / 0.21 for start, end in hands], sinusoids(3, 8)[:, :6].reshape(-1, 2))


def test_where_a_decoder_looks_the_lines_are_as_wide_as_the_weights():
    over, behind = np.array([0.2, 0.7, 0.1]), np.array([0.5, 0.3, 0.2])
    (axes,) = figures.decoder.writes(WORDS, ("<bos>", "Ich", "weil"), {"across": over, "back": behind}, "er").axes
    widths = [line.get_linewidth() for line in axes.lines]
    assert np.allclose(widths, 6 * np.array([*over, *behind[:-1]])), "no line from the last word to itself"
    assert bold_of(axes) == ["love", "<bos>", "weil", "er"]


def test_the_arcs_of_two_heads_are_as_wide_as_their_weights():
    (axes,) = figures.heads.fetched(WORDS, 1, {"one": np.array([0.2, 0.1, 0.7]), "two": np.array([0.6, 0.3, 0.1])}).axes
    assert [line.get_linewidth() for line in axes.lines] == pytest.approx([1.0, 3.5, 3.0, 0.5])


def test_the_words_that_change_the_pronoun_are_filled():
    (frame,) = FIGURES["traced"]().axes
    assert filled(frame) == ["love", "love", "AI"]
    assert [text for text in labels(frame.texts) if "→" in text] == ["er → sie"] * 3
    assert filled(FIGURES["exchanged"]().axes[0]) == ["it", "it"]


def test_every_arrow_of_a_fan_has_its_angle_to_the_first_by_turns_left_and_right():
    for axes, angles in zip(FIGURES["fan"]().axes, ([80, 90, 100], [5, 8, 10]), strict=True):
        *others, _ = (arrow.get_xy() for arrow in axes.patches)
        tips = [corners[np.argmax(np.linalg.norm(corners, axis=1))] for corners in others]
        turned = np.degrees([np.arctan2(*tip) for tip in tips])
        assert turned == pytest.approx(np.multiply(angles, [-1, 1, -1]), abs=0.5)


def test_the_row_that_is_followed_is_framed_in_every_box_of_the_target():
    y, words = normal(4, 3), ("<bos>", "ich", "liebe", "KI")
    steps = {"y": y, "self": np.eye(4), "normed 1": y, "memory": X, "cross": np.eye(4, 3), "normed 2": y}
    steps |= {"hidden": normal(4, 4), "out": y}
    frame, *boxes = figures.decoder.layer(steps, words, WORDS, row=1, word="liebe").axes
    framed = [[p.get_y() for p in box.patches if to_rgb(p.get_edgecolor()[:3]) == to_rgb(OUT)] for box in boxes]
    assert framed == [[] if box.get_title() == "memory $M$" else [0.5] for box in boxes]
    assert bold_of(frame) == ["liebe"]


def test_the_lengths_of_all_gradients_are_written_on_the_way_back():
    written = labels(FIGURES["way"]().axes[0].texts)
    lengths = *("1.0", "2.0", "0.5", "0.5", "3.0", "0"), *["0.2"] * 8, *["0"] * 7, "1.5"
    assert [text for text in written if re.fullmatch(r"[\d.]+", text)] == list(lengths)
    assert {"er +1.0", "sie −1.0"} <= set(written)


def test_a_look_that_helps_lies_above_the_sentence_and_the_right_word_has_the_arrow_up():
    (frame,) = figures.backward.blame(**BLAMED | {"p": {"er": 0.25, "sie": 0.7, "es": 0.05}}, right="es").axes
    arcs = [line for line in frame.lines if len(line.get_xdata()) > 2]
    above = [line.get_ydata().mean() > figures.backward.LINE for line in arcs]
    assert above == [False, True]  # what "it" gives itself has no arc
    assert arcs[0].get_linewidth() / arcs[1].get_linewidth() == pytest.approx(0.8 / 1.6)
    assert {"+0.80", "−1.60", "+0.25", "+0.70", "−0.95"} <= set(labels(frame.texts))
    ways = [np.diff(line.get_ydata())[0] for line in frame.lines if len(line.get_xdata()) == 2]
    assert np.sign(ways).tolist() == [-1, -1, 1]


def test_slopes_stand_below_their_numbers():
    (frame,) = figures.backward.there_and_back(FORWARD, {name: -2 * y for name, y in FORWARD.items()}, "love").axes
    heights = {text: [t.get_position()[1] for t in frame.texts if t.get_text() == text] for text in ("1", "−2")}
    assert len(heights["1"]) == len(heights["−2"]) == 30
    assert np.mean(heights["1"]) > np.mean(heights["−2"])


def test_a_gradient_climbs_as_wide_as_it_is_and_not_at_all_where_nothing_is_handed_back():
    (frame,) = FIGURES["climb"]().axes
    bands = [line for line in frame.lines if to_rgb(line.get_color()) == to_rgb(pic.GRADIENT)]
    widths = sorted(round(line.get_linewidth() / figures.backward_layer.WIDE, 3) for line in bands)
    # on the road below the norm, behind it (with the way into the box), above the fork, and out of the box
    below, added, above, back = [40, 79, 1, 84], [27, 51, 38, 79], [36, 53, 40, 79], [20, 12, 8]
    assert widths == sorted([*below, 84, 1, *added, *added, *above, *back, 11, 15, 11])


@pytest.mark.parametrize("back", [False, True])
def test_the_states_that_a_word_passes_on_its_way_to_the_translation_are_coloured(back):
    words = ["I", "need", "the", "chair", "because", "it", "is", "old."]
    (frame,) = figures.recurrence.carried(words, 3, ["weil", "er", "alt", "ist."], "er", back=back).axes
    tiles = [patch for patch in frame.patches if isinstance(patch, Rectangle)]
    white = [to_rgb(tile.get_facecolor()[:3]) == (1, 1, 1) for tile in tiles[::5]]
    assert white == [True] * 3 + [False] + [back] * 4
    assert bold_of(frame) == ["chair", "er"]


def test_more_runs_of_one_name_are_thin_and_a_curve_may_end_early():
    two = {"one": [5, 1], "three": [[9, 8, 2], [9, 7, 1], [9, 6, 0]]}
    (axes,) = figures.recurrence.exact(range(1, 4), two, out_of=9, trained=2).axes
    one, first, *thin, end = axes.lines
    assert [line.get_xydata().tolist() for line in (one, thin[1])] == [[[1, 5], [2, 1]], [[1, 9], [2, 6], [3, 0]]]
    assert max(line.get_linewidth() for line in thin) < first.get_linewidth()
    assert end.get_xdata()[0] == 2.5


def test_each_link_is_a_line_at_its_weight_and_those_that_do_much_are_thick():
    left, _ = FIGURES["each link"]().axes
    lines = [np.array(group.get_segments()) for group in left.collections]
    assert [len(found) for found in lines] == [7, 1, 56, 8]
    assert [group.get_linewidth()[0] for group in left.collections] == [0.8, 4, 0.8, 4]
    assert np.allclose(lines[0][:, 0, 0], np.linspace(0, 1, 8)[:7])


def test_a_bar_is_as_long_as_a_word_is_probable_and_hatched_if_the_word_is_another():
    (axes,) = FIGURES["cuts"]().axes
    bars = [bar for group in axes.containers for bar in group]
    assert np.allclose([bar.get_width() / 0.92 for bar in bars], [1, 0.9, 0.8, 0.6])
    assert [bool(bar.get_hatch()) for bar in bars] == [False, False, True, False]
    assert labels(axes.texts) == ["dem 1", "der 0.90", "den 0.80", "der 0.60"]


def test_masks_of_the_three_models_have_a_square_for_each_pair_of_words():
    (axes,) = FIGURES["three models"]().axes
    squares = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_width() == p.get_height()]
    assert len(squares) == 16 + 16 + 16 + 9 + 12
    assert sum(p.get_hatch() is not None for p in squares) == 6 + 3


def test_what_has_changed_in_a_layer_has_a_number_where_it_is_and_beside_its_name():
    (frame,) = FIGURES["two layers"]().axes
    numbers = [text for text in frame.texts if text.get_text().isdigit() and len(text.get_text()) == 1]
    legend = {t.get_text(): t.get_position() for t in numbers if t.get_position()[1] < 0.6}
    for n, name in enumerate(CHANGES, start=1):
        (word,) = (t for t in frame.texts if t.get_text() == name and t.get_position()[1] < 0.6)
        across, up = legend[str(n)]
        assert word.get_position()[1] == up
        assert 0 < word.get_position()[0] - across < 0.2
        assert sum(t.get_text() == str(n) for t in numbers) == (3 if n < 3 else 2)  # norms are there twice
    assert all(t.get_position()[0] > 2.8 for t in numbers if t.get_position()[1] > 0.6)  # in the layer of today


def test_units_of_a_gate_have_their_numbers_below_each_other_with_the_signs_between():
    (frame,) = FIGURES["gate"]().axes
    columns = {}
    for text in frame.texts[:]:
        columns.setdefault(round(text.get_position()[0], 2), []).append((-text.get_position()[1], text.get_text()))
    found = [[word for _, word in sorted(each)] for _, each in sorted(columns.items())]
    assert found == [["a", "b", "a times b"], ["1.50", "×", "2.00", "=", "3.00"], ["−2.00", "×", "3.00", "=", "−6.00"]]


def test_each_head_of_queries_is_joined_to_the_keys_of_its_group():
    (frame,) = FIGURES["groups"]().axes
    middle = {t.get_text(): t.get_position()[0] for t in frame.texts if t.get_position()[0] > WIDE / 2}
    ends = {tuple(np.round(line.get_xdata(), 6)) for line in frame.get_lines() if line.get_xdata()[0] > WIDE / 2}
    pairs = {"q1": "k1", "q2": "k1", "q3": "k2", "q4": "k2"}
    assert ends == {tuple(np.round([middle[q], middle[k]], 6)) for q, k in pairs.items()}
    assert middle["k1"] == middle["v1"]
    assert len([t for t in frame.texts if t.get_text() == "k4"]) == 1  # on the left, four


def test_a_comparison_has_its_mean_its_interval_and_its_runs_and_is_full_for_a_verdict():
    first, *others = FIGURES["forest"]().axes
    for axes in (first, *others):
        _, *lines = axes.get_lines()
        for n, (name, (mean, low, high, full, runs)) in enumerate(FOUND.items()):
            interval, dot, small = lines[3 * n : 3 * n + 3]
            assert list(interval.get_xdata()) == [low, high]
            assert list(dot.get_xdata()) == [mean]
            assert list(small.get_xdata()) == runs
            assert (dot.get_markerfacecolor() != "white") == full
            assert axes is not first or labels(axes.get_yticklabels())[n] == name
        assert axes.get_xlim()[1] == pytest.approx(1.35 * 0.25)


def test_no_window_and_no_global_state_is_left_behind():
    before = dict(matplotlib.rcParams)
    FIGURES["weights"]()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("seed", range(2))
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


def test_names_of_the_wrong_axis_cannot_be_drawn():
    with pytest.raises(ValueError, match="does not match the number of labels"):
        figures.attention.weights(np.full((3, 2), 0.5), queries=["a", "b"], keys=["a", "b", "c"])


def test_a_ladder_has_a_bar_for_each_layer_and_a_line_where_the_written_token_takes_over():
    step = layered(30)["prompts"][0]["steps"][0]
    (axes,) = figures.layers.ladder(step).axes
    assert [bar.get_width() for bar in axes.patches] == [row[0][1] for row in step["layers"]]
    dots, line = axes.lines
    assert dots.get_xdata().tolist() == step["written"]
    assert line.get_ydata()[0] == takes_over(step) - 0.5
    own = [to_rgb(bar.get_facecolor()[:3]) == to_rgb(OUT) for bar in axes.patches]
    assert own == [rank == 0 for rank in step["ranks"]]


def test_a_size_that_no_line_was_fitted_to_has_open_points():
    left, right = FIGURES["scaling"]().axes
    points = left.lines[len(THROUGH) :]
    assert [line.get_markerfacecolor() for line in points] == [QUERY, QUERY, "none"]
    assert [line.get_ydata().tolist() for line in points] == SCALED["enough"]
    assert [line.get_ydata().tolist() for line in right.lines[1:4]] == SCALED["enough"]
    for n, (x, y) in enumerate(THROUGH.values()):
        assert [*map(list, left.lines[n].get_data())] == [x, y]
    with pytest.raises(ValueError, match="3 sizes need a row of losses each"):
        figures.scaling.lines([1e3, 1e4, 1e5], {"few": [[1.0], [2.0]]}, {}, 2)
