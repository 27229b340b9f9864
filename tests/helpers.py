"""What the tests need: random arrays and models, plain searches, and how near is near enough.

Guards of the chapters are in guards.py; how strictly signatures are taken in tests stands in typechecker.py.
"""

import contextlib
import math
import re
import warnings
from collections import Counter

import jaxtyping
import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import nn
from torch.nn import functional as F

from tested_transformer.byhand import transformer as byhand
from tested_transformer.byhand.gradient import numerical_gradient
from tested_transformer.byhand.softmax import softmax
from tested_transformer.config import TINY, Config, SpecialIds
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.merges import PairCounts
from tested_transformer.text.tokens import split

# Arrays and gradients


def normal(*shape, seed=0):
    """Random numbers of that shape, float64, the same for the same seed and shape."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def arrays(*shape, size=10.0):
    """A hypothesis strategy: arrays of that shape, of numbers no larger than `size`."""
    return hnp.arrays(float, shape, elements=st.floats(-size, size))


def lengths(most=4):
    """A hypothesis strategy: a small length."""
    return st.integers(1, most)


def tensors(*xs, dtype=torch.float64):
    """Arrays as tensors that collect gradients."""
    return [torch.tensor(x, dtype=dtype, requires_grad=True) for x in xs]


def assert_near(actual, expected, relative):
    """The same shape, and no entry further off than that share of the largest entry."""
    actual, expected = (np.asarray(x.detach() if torch.is_tensor(x) else x) for x in (actual, expected))
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    error, largest = np.max(np.abs(actual - expected), initial=0), np.max(np.abs(expected), initial=0)
    assert error <= relative * largest, f"off by {error:.3g}, where {relative:g} of {largest:.3g} is allowed"


def assert_gradients(loss, inputs, gradients, relative=1e-6):
    """Each gradient is what central differences of `loss(*inputs)` say about its input."""
    for i, (x, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        numeric = numerical_gradient(lambda y, i=i: loss(*inputs[:i], y, *inputs[i + 1 :]), x)
        assert_near(gradient, numeric, relative)


@contextlib.contextmanager
def unchecked():
    """Without the shape checks of the tests, as users run the package: to reach its own refusals."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


class Letters:
    """Somebody's own tokeniser, without files."""

    vocab_size, special_ids = 30, SpecialIds()

    def encode(self, text):
        return [ord(letter) - 93 for letter in text]

    def decode(self, ids):
        return "".join(chr(93 + i) for i in ids)


# Whole models: weights all at work, ragged sentences, gradients side by side

PAD, BOS, EOS = 0, 1, 2


def randomised(module, seed=0):
    """Every parameter drawn anew, in float64: no bias is 0 and no norm is 1, so that a forgotten one is seen."""
    rng = np.random.default_rng(seed)
    module = module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            drawn = rng.normal(size=parameter.shape)
            if parameter.dim() == 2:
                drawn *= parameter.shape[1] ** -0.5
            else:
                drawn = 0.3 * drawn + float(name.endswith("weight"))
            parameter.copy_(torch.tensor(drawn))
    return module


def filled(module, seed=0):
    """A randomised module, and its parameters as arrays."""
    module = randomised(module, seed)
    return module, {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def ragged(batch, length, vocab_size, seed=0):
    """Ids of sentences of different lengths, filled up; the first is the longest, the last has one token."""
    ids = np.random.default_rng([seed, batch, length]).integers(3, vocab_size, size=(batch, length))
    for i, row in enumerate(ids):
        row[length - i * (length - 1) // max(batch - 1, 1) :] = PAD
    return ids


def sentences(config, batch=3, source=5, target=4, seed=0):
    """Ragged source and target ids as tensors, each target behind bos_id."""
    sources, targets = (ragged(batch, n, config.vocab_size, seed + n) for n in (source, target))
    targets[:, 0] = BOS
    return torch.tensor(sources), torch.tensor(targets)


def gradients(model, source, target, seed=0):
    """Logits, and the gradient of every parameter for a random gradient of the logits."""
    model.zero_grad()
    logits = model(source, target)
    logits.backward(torch.tensor(normal(*logits.shape, seed=seed)).to(logits.dtype))
    return logits, {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def assert_same_gradients(found, expected, near):
    """Every gradient, whole; that of a key bias is zero, so what noise there is of it is held against the others."""
    assert found.keys() == expected.keys()
    largest = max(np.abs(np.asarray(value)).max() for value in expected.values())
    for name, value in expected.items():
        mine, other = np.asarray(found[name]), np.asarray(value)
        assert mine.shape == other.shape, name
        allowed = near * (largest if name.endswith("w_k.bias") else np.abs(other).max())
        off = np.abs(mine - other).max()
        assert off <= allowed, f"{name}: off by {off:.3g}, where {allowed:.3g} is allowed"


# Decoding: models whose next token is no foregone conclusion, and searches to compare with


class Restless(Embedding):
    """With logits that go up and down quickly with x. Those of a random model hardly move: it repeats one token."""

    cacheable = True

    def __init__(self, vocab_size, d_model, seed, sharp):
        super().__init__(vocab_size, d_model)
        drawn = np.random.default_rng([seed, 7]).normal(size=(vocab_size, d_model))
        self.out, self.sharp = nn.Parameter(torch.tensor(4 * drawn * d_model**-0.5)), sharp

    def logits(self, x):
        return self.sharp * F.linear(x, self.out).sin()


def lively(seed=0, sharp=2.0, vocab_size=12, **changes):
    """A real Transformer with random weights that writes different tokens, and ends its sentences now and then."""
    config = TINY.replace(vocab_size=vocab_size, n_layers=1, **changes)
    model = randomised(Transformer(config), seed)
    table = Restless(config.vocab_size, config.d_model, seed, sharp)
    table.weight = model.embedding.weight
    model.embedding = table
    return model.eval()


class Script(nn.Module):
    """An embedding that lets tokens and places through, and logits that are read off a table (place, last token)."""

    cacheable = True

    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, ids):
        places, words = self.table.shape[:2]
        return F.one_hot(ids.long(), places + words).to(self.table.dtype)

    def logits(self, x):
        words = self.table.size(1)
        return self.table[x[..., words:].argmax(-1), x[..., :words].argmax(-1)]


def scripted(probabilities):
    """A Transformer that says what it is told: probabilities[place, last token, next token].

    The encoder is real; the decoder has no layers, and a token's place comes from the table of positions.
    """
    p = torch.as_tensor(probabilities, dtype=torch.float64)
    places, words = p.shape[:2]
    model = Transformer(Config(words, places + words, 4, 1, 1, dropout=0.0, max_len=places)).double()
    model.embedding = Script(p.log())
    model.positions.table = torch.eye(places + words, dtype=p.dtype)[words:]
    model.decoder.layers = nn.ModuleList()
    return model.eval()


def log_probabilities(model, source, ids):
    """What the model gives to each token of one sentence, calculated without a cache."""
    target = torch.tensor([[BOS, *ids[:-1]]])
    log_p = model(source, target).log_softmax(-1)[0]
    return [log_p[place, token].item() for place, token in enumerate(ids)]


def plain_greedy(model, source, max_len):
    """Greedy decoding of one sentence as it stands in books."""
    ids = []
    while len(ids) < max_len and ids[-1:] != [EOS]:
        logits = model(source, torch.tensor([[BOS, *ids]]))[0, -1].tolist()
        logits[PAD] = logits[BOS] = -math.inf
        ids.append(max(range(len(logits)), key=logits.__getitem__))
    return ids


def plain_beam(model, source, width, alpha, max_len):
    """Beam search of one sentence without a cache, a batch or a rule for stopping early: (ids, score, log p)."""
    alive, finished = [([], 0.0)], []
    for length in range(1, max_len + 1):
        extended = []
        if alive:
            seen = torch.tensor([[BOS, *ids] for ids, _ in alive])
            log_p = model(source.expand(len(alive), -1), seen)[:, -1].log_softmax(-1).tolist()
            pairs = zip(alive, log_p, strict=True)
            words = [i for i in range(len(log_p[0])) if i not in (PAD, BOS)]
            extended = [([*ids, i], total + p[i]) for (ids, total), p in pairs for i in words]
        best = sorted((e for e in extended if e[1] > -math.inf), key=lambda e: -e[1])[:width]
        ends = [e for e in best if e[0][-1] == EOS or length == max_len]
        alive = [e for e in best if e not in ends]
        finished += [(tuple(ids), total / ((5 + length) / 6) ** alpha, total) for ids, total in ends]
    return sorted(finished, key=lambda f: -f[1])[:width]


# Runs of a small model with all their tensors, and the map of them

TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>", "I", "love", "AI", "ich", "liebe", "KI")
SOURCE, TARGET, WANTED = (4, 5, 6), (1, 7, 8, 9), (7, 8, 9, 2)


def walked(seed=0, layers=1):
    """Every tensor of a run on "I love AI"; the weights are larger than at a start, so that no two are alike."""
    config = Config(10, d_model=6, d_ff=8, n_heads=2, n_layers=layers, dropout=0.0)
    params = byhand.create_params(config, np.random.default_rng(seed), gain=2.0)
    logits, saved = byhand.transformer(np.array([SOURCE]), np.array([TARGET]), params, config)
    p = softmax(logits)[0, range(len(WANTED)), WANTED]
    return dict(byhand.tensors(saved)) | {"answers": np.stack([p, -np.log(p)], axis=1)}


def walk(runs, tokens=TOKENS):
    """The map of these runs."""
    from tested_transformer.book.figures import transformer  # it loads matplotlib

    source, target = ([tokens[i] for i in ids] for ids in (SOURCE, TARGET))
    return transformer.walk(transformer.Runs(runs, source, target, tokens, WANTED), languages=("en", "de"))


WIDE_SOURCE, WIDE_TARGET, WIDE_WANTED = (4, 5), (1, 30, 31), (30, 31, 2)


def walked_wide():
    """Every tensor of a run of a model of two layers whose tables do not fit the page."""
    config = Config(40, d_model=32, d_ff=16, n_heads=2, n_layers=2, dropout=0.0)
    params = byhand.create_params(config, np.random.default_rng(0), gain=2.0)
    logits, saved = byhand.transformer(np.array([WIDE_SOURCE]), np.array([WIDE_TARGET]), params, config)
    p = softmax(logits)[0, range(3), WIDE_WANTED]
    return dict(byhand.tensors(saved)) | {"answers": np.stack([p, -np.log(p)], axis=1)}


def walk_of_two():
    """The map of two models, the second deeper and wider; its tokens are t0, t1 and so on."""
    from tested_transformer.book.figures import transformer  # it loads matplotlib

    source, target = ([TOKENS[i] for i in ids] for ids in (SOURCE, TARGET))
    small = transformer.Runs({"small": walked(0), "other": walked(1)}, source, target, TOKENS, WANTED)
    names = [f"t{i}" for i in range(40)]
    source, target = ([names[i] for i in ids] for ids in (WIDE_SOURCE, WIDE_TARGET))
    large = transformer.Runs({"large": walked_wide()}, source, target, names, WIDE_WANTED)
    return transformer.walk(small, large)


def bench(texts=("I love AI", "I love AI", "I loved a glove", "she loves tea", "AAAA and 🙂 too")):
    """Byte-pair encoding on these texts, to be played merge by merge; its merges are found by counting all pairs."""
    from tested_transformer.book.figures import tokens  # it loads matplotlib

    pieces = Counter(piece.replace(" ", "␣") for text in texts for piece in split(text))
    pairs, learned = PairCounts({tuple(piece): n for piece, n in pieces.items()}), {}
    while best := [(n, pair) for pair, n in pairs.counts.most_common(1) if n]:
        ((n, pair),) = best
        learned[pair] = n
        pairs.merge(pair, "".join(pair))
    return tokens.bench(pieces, learned, tokens.merges([["a", "b"], ["ab"]], ["", ""]))


PAIRS = (("I love tea", "Ich liebe Tee"), ("We often swam.", "Wir sind oft geschwommen."), ("a b", "A B C"))
WRITTEN = {
    0: ("Ich Ich Ich", "x" * 90, ""),
    20: ("Tee Ich Tee mag", "Wir sind geschwommen.", "B A C"),
    45: ("Ich liebe Tee", "Wir oft sind oft geschwommen.", "A B C D"),
    60: ("Ich liebe Tee", "Wir sind oft geschwommen.", "A C"),
}


def reel(pairs=PAIRS, written=WRITTEN, layers=2, heads=3):
    """A training that never was: what was written at four stops, and random weights that get sharper."""
    from tested_transformer.book.snapshots import Reel, Stop

    draws = np.random.default_rng(0)
    tokens = [([*source.split(), "<eos>"], [f" {word}" for word in target.split()]) for source, target in pairs]
    stops = {}
    for step, texts in written.items():
        sharp = 1 / (1 + step / 5)
        cross = [draws.dirichlet(np.full(len(r), sharp), size=(layers, heads, len(w))) for r, w in tokens]
        stops[step] = Stop(list(texts), cross)
    return Reel([*pairs], tokens, stops)


def film(seen=None, **more):
    """The figure of that training, with a loss for each of its sixty steps."""
    from tested_transformer.book import figures  # it loads matplotlib

    seen = seen or reel()
    losses = 8 * np.exp(-np.arange(60) / 20) + 0.3 * np.sin(np.arange(60))
    return figures.film.learning(seen, losses, {step: 8 * np.exp(-step / 20) for step in seen.stops}, **more)


def luminance(colour):
    """The light of a colour, from 0 to 1, as WCAG has it."""
    from matplotlib.colors import to_rgb  # it takes a second

    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """How far two colours are apart in light: 4.5 is enough for small letters."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def smallest_letter(svg):
    """How many pixels high the smallest letters of a drawing are on a phone of 390; those of indices are let be."""
    width = float(re.search(r'width="([\d.]+)"', svg)[1])
    plain = re.sub(r"<tspan.*?</tspan>", "", svg)
    return min(map(float, re.findall(r'font-size="([\d.]+)"', plain)), default=99) * min(1, 358 / width)


def legible(draw):
    """The drawing of a figure, which is drawn without a warning, narrow enough, and can be read on a phone."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib|pyparsing")  # theirs
        figure = draw()
        svg = figure._repr_svg_()
    assert figure.get_size_inches()[0] <= 5.9
    assert svg.count("\n") > 5, "the picture is empty"
    assert smallest_letter(svg) >= 10
    return svg


def layered(layers=4, texts=("One?", "Two <b>?")):
    """A record as `tools/logit_lens.py` writes it, of a model that never was: random likeliest words in each layer."""
    draws, prompts = np.random.default_rng(0), []
    words = ["of", " Paris", "\n", " <b>", "</script>", " a", ",", " it"]
    for n, text in enumerate(texts):
        steps = []
        for _ in range(2 + n):
            likeliest = []
            for _ in range(layers + 1):
                p = np.sort(draws.dirichlet(np.full(5, 0.7)))[::-1].round(3)
                likeliest.append([[words[i], float(x)] for i, x in zip(draws.permutation(8)[:5], p, strict=True)])
            written = likeliest[-1][0][0]
            own = [row[0][1] if row[0][0] == written else 0.001 * at for at, row in enumerate(likeliest)]
            ranks = [0 if row[0][0] == written else 40_000 // (1 + at) for at, row in enumerate(likeliest)]
            step = {"token": written, "output": likeliest[-1], "layers": [row[:3] for row in likeliest]}
            steps.append(step | {"written": [round(p, 3) for p in own], "ranks": ranks})
        read = ["<|im_start|>", "user", "\n", *text.split(), "<|im_end|>"]
        prompts.append({"text": text, "prompt": read, "ended": n == 0, "steps": steps})
    return {"layers": layers, "tokens": 50_000, "prompts": prompts}
