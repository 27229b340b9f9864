"""What the page's translator must answer: the package's own, in double precision, and how near is near enough.

A sentence is a line; `asked` has those that are tried, and `equal` says what is different, if anything is. What is
asked of the package for each of many sentences is asked without the check of shapes, which takes longer than that.
"""

from functools import cache

import numpy as np
import torch
from helpers import unchecked

from tested_transformer.book import data_flow, interventions, pretrained
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook import corpus
from tested_transformer.text.tokens import pad
from tested_transformer.training.int8 import rounded

NEAR = 1e-6
TIED = 1e-9
"""Where the two best tokens differ by less, either is right."""

ODD = (
    "", " \t\n\x1f\x85 ", "\ufeff", "Hello world!", "asdf qwer", "I love AI.", "  I love AI.\u3000", "I love AI",
    "🙂", "I love 🙂🙂.", "👩\u200d👧 sees the dog.", "<script>alert(1)</script>", "&lt;b&gt; \"'", "<bos> <pad> <eos>",
    "Der Hund schläft.", "ÄÖÜ äöü ß é ñ", "Ich liebe KI.", "日本語のテキスト", "مرحبا", "Здравствуйте", "e\u0301\u0301",
    "²³½ Ⅷ 一", "I I I I I I I I", "because because because", "?!?!?!", "....", "1234567890 " * 3, "x" * 60, "_" * 70,
    "a\u200bb\u00adc", "I need the chair\nbecause it is old.", "THE DOG SEES THE CAT.", "the dog sees the cat",
    "I love you and you love me.", "word " * 50, "\x00\x01\x7f\xa0", "\U0010ffff\ue000", "and", "The", "it",
)  # fmt: skip
TOO_LONG = "word " * 3000


@cache
@unchecked()
def asked(n):
    """That many different sentences: what is odd, and of the rest every second one with a pair of words held out."""
    _, valid, test = corpus.split(2000, n)
    said = [s.english for pair in zip(test, valid, strict=True) for s in pair]
    return [*ODD, *said][:n]


@cache
def translator(bits=8):
    """The package's model in double precision, with its matrices rounded to so many bits."""
    loaded = Translator.load()
    loaded.model.double().load_state_dict(rounded(loaded.model.state_dict(), bits))
    return loaded


def changed(gains=(), evens=(), hidden=(), swaps=(), placed=True):
    """A model with heads that give more or less, (kind, layer, head, gain), that look evenly, and that may not look.

    What is hidden is (kind, layer, head, row, column). A row of the encoder may be that of another text, after so many
    layers: (depth, row, text, its row). And the encoder may add no positions. `rows` are then those of its last text.
    """
    model = Translator.load().model.double()
    kinds = {"encoder": model.encoder.layers, "decoder": model.decoder.layers, "cross": model.decoder.layers}
    d_v = model.config.d_v
    with torch.no_grad():
        for kind, layer, head, gain in gains:
            part = getattr(kinds[kind][layer], "cross_attention" if kind == "cross" else "self_attention")
            part.w_o.weight[:, head * d_v : (head + 1) * d_v] *= gain
        for kind, layer, head in evens:
            part = getattr(kinds[kind][layer], "cross_attention" if kind == "cross" else "self_attention")
            part.w_q.weight[head * model.config.d_k : (head + 1) * model.config.d_k] = 0
    for kind, layer, *look in hidden:
        part = getattr(kinds[kind][layer], "cross_attention" if kind == "cross" else "self_attention")
        part.forward = hiding(part, look)
    others = {(depth, row): stream(text)[depth][0, there] for depth, row, text, there in swaps}

    def encode(source):
        x, model.rows = model._embed(source) if placed else model.embedding(source), []
        for depth, layer in enumerate([None, *model.encoder.layers]):
            x = layer(x, None) if layer else x.clone()
            for (at, row), vector in others.items():
                if at == depth:
                    x[0, row] = vector
            model.rows.append(x[0])
        return x

    model.encode = encode
    return model


@unchecked()
def rows(text, ids, **changes):
    """The vectors before, between and after all layers, of a text and its translation: (L + 1, S, D), (T, L + 1, D)."""
    model, found = changed(**changes), []
    with (
        torch.no_grad(),
        interventions.recorded(model, "positions", *(f"decoder.layers.{n}" for n in range(2))) as seen,
    ):
        model(torch.tensor([translator().encode(text, 1)]), torch.tensor([[1, *ids[:-1]]]))
    found = [calls[-1][1][0] for calls in seen.values()]
    return torch.stack(model.rows).numpy(), torch.stack(found, 1).numpy()


@cache
def stream(text):
    """The vectors of a text before, between and after the layers of the encoder."""
    return interventions.residual_stream(translator(), text)


def hiding(part, look):
    """An attention of which one head does not see one column from one row."""
    plain = part.forward

    def forward(query, key, value, mask=None, need_weights=False):
        head, row, column = look
        may_look = torch.ones(1, part.n_heads, query.size(1), key.size(1), dtype=torch.bool)
        may_look[0, head, row : row + 1, column : column + 1] = False  # nothing, where there are fewer rows yet
        return plain(query, key, value, may_look if mask is None else mask & may_look, need_weights)

    return forward


@unchecked()
def answer(text, begun=(), **changes):
    """What the package answers to a text: ids, log-probabilities of all next tokens, and all weights."""
    asked = translator()
    ids = asked.encode(text, 1)
    source = torch.tensor([ids])
    model = changed(**changes) if changes else asked.model
    if changes or begun:  # without a cache, which would go past the change
        written = list(begun)
        with torch.no_grad():
            while 2 not in written and len(written) < len(ids) + 50:
                logits = model(source, torch.tensor([[1, *written]]))[0, -1]
                logits[:2] = -torch.inf
                written.append(int(logits.argmax()))
    else:
        written = [i for i in greedy(model, source)[0].tolist() if i]
    target = torch.tensor([[1, *written[:-1]]])
    weights = attention_weights(model, source, target)
    with torch.no_grad():
        log_p = model(source, target)[0].log_softmax(-1).numpy()
    return {"ids": written, "next": log_p} | {kind: w[:, 0].numpy() for kind, w in weights.items()}


@unchecked()
def many(texts, bits=8, most=None, at_once=50):
    """For each text the ids of its translation and their log-probability, as the package finds them in batches."""
    asked, found = translator(bits), []
    for first in range(0, len(texts), at_once):
        read = [asked.encode(text, 1) for text in texts[first : first + at_once]]
        source = torch.from_numpy(pad(read, 0))
        written = greedy(asked.model, source, most)
        begun = torch.cat([torch.ones_like(written[:, :1]), written[:, :-1]], 1)
        with torch.no_grad():
            log_p = asked.model(source, begun).log_softmax(-1)
        each = log_p.gather(2, written[..., None])[..., 0].masked_fill(written == 0, 0)
        found += [([i for i in ids.tolist() if i], p.item()) for ids, p in zip(written, each.sum(1), strict=True)]
    return found


def runs(text):
    """The run of the translator on this sentence and on what it writes, as the map of the Transformer takes it."""
    from tested_transformer.book.figures import transformer  # it loads matplotlib

    asked, wrote = translator(), answer(text)["ids"]
    names = [asked.name(i) for i in range(asked.model.config.vocab_size)]
    source, target, wanted = (np.array([ids]) for ids in (asked.encode(text, 1), [1, *wrote[:-1]], wrote))
    run = data_flow.run(pretrained.params(asked), source, target, wanted, asked.model.config)
    said = [[names[i].strip() or "␣" for i in ids[0]] for ids in (source, target)]
    return transformer.Runs({"translator": run}, *said, names, wrote, text)


def walked(text):
    """The map for this sentence, as Python writes it, with its numbers before they are rounded."""
    from tested_transformer.book.figures import transformer

    asked = runs(text)
    (model,), (run,) = transformer.walk(asked).data["models"], asked.runs.values()
    tokens, exact = [asked.vocabulary.index(name) for name in model["words"]["V"]], {}
    for table in (table for step in model["steps"] for table in step["tables"]):
        x = np.asarray(run[table["name"]])
        exact[table["name"]] = (
            x[..., tokens] if table["axes"][-1] == "V" else x[..., : np.shape(table["values"][0])[-1]]
        )
    return model | {"exact": exact}


def half(x, places):
    """Whether a number lies so near to the middle of two that are written that either is right; or to nothing."""
    steps = abs(x) * 10**places
    return abs(steps % 1 - 0.5) < TIED or abs(abs(x) - 1e-10) < 1e-15


@unchecked()
def beams(text, width, alpha):
    """The hypotheses of the package: ids, score and log-probability."""
    asked = translator()
    return beam(asked.model, torch.tensor([asked.encode(text, 1)]), width, alpha)[0]


def equal(found, wanted):
    """Nothing, or what is different between an answer of the page and `answer`."""
    if found["ids"] != wanted["ids"]:
        n = next(n for n, pair in enumerate(zip(found["ids"], wanted["ids"], strict=False)) if len({*pair}) > 1)
        best, second = np.sort(wanted["next"][n][2:])[:-3:-1]
        return None if best - second < TIED else f"token {n}: {found['ids']} instead of {wanted['ids']}"
    if not np.allclose(found["next"], wanted["next"], rtol=0, atol=NEAR):
        return "log-probabilities"
    if abs(found["logP"] - sum(row[i] for row, i in zip(wanted["next"], wanted["ids"], strict=True))) > NEAR:
        return "the log-probability of the sentence"
    for kind in ("decoder", "cross"):  # one list for each step: layers, heads, columns so far
        for t, step in enumerate(found[kind]):
            row = wanted[kind][:, :, t, : len(step[0][0])]
            if not np.allclose(step, row, rtol=0, atol=NEAR):
                return f"{kind} weights of step {t}"
    encoder = np.moveaxis(np.array(found["encoder"]), 1, 2)  # layers, rows, heads, columns
    return None if np.allclose(encoder, wanted["encoder"], rtol=0, atol=NEAR) else "encoder weights"


def same_beam(found, wanted):
    """Nothing, or what is different between hypotheses of the page and those of the package."""
    for n, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        if abs(mine["score"] - theirs.score) > NEAR or abs(mine["logP"] - theirs.log_probability) > NEAR:
            return f"hypothesis {n}: {mine} instead of {theirs}"
        if mine["ids"] != list(theirs.ids):
            near = [h for h in wanted if abs(h.score - mine["score"]) < TIED]
            if mine["ids"] not in [list(h.ids) for h in near]:
                return f"hypothesis {n}: {mine['ids']} instead of {theirs.ids}"
    return None
