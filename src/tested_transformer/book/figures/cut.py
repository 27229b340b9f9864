"""The translator laid open in the page, to be cut: `<cut-figure>`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tested_transformer.book.coreference import FRAMES, PRONOUNS, SENTENCES, THINGS, before_pronoun, pronoun
from tested_transformer.book.experiments import pronouns
from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import beside, chart
from tested_transformer.book.figures.running import GENDERS
from tested_transformer.book.pretrained import probabilities
from tested_transformer.decoding.translator import Translator
from tested_transformer.phrasebook.corpus import Sentence

WHOLE, FAINTEST = 10_000, 0.005
"""Weights below are not brought along: a line so thin is not drawn."""


def open_model(
    translator: Translator,
    first: Sequence[str],
    models: Mapping[str, str],
    donor: str = "lamp",
    trainings: Sequence[Translator] = (),
) -> Interactive:
    """The rows and looks of a sentence, and of what is written, with everything in it to be cut.

    It starts with the first of the things named, whose weights the page brings along, as it
    does those of the others; `models` has the name of each training, and the script of its
    weights. The `trainings` are the same models, from which the figure has their answers
    before anything is cut.
    """
    runs = [_run(translator, FRAMES[0].say(thing)) for thing in first]
    data = sizes(translator, models, donor) | {
        "frames": [frame.say("chair").english.replace("the chair", "…") for frame in FRAMES],
        "things": {t: (n.german, n.gender) for t, n in THINGS.items()},
        "genders": GENDERS,
        "sentences": [
            {"frame": n, "thing": thing} | dict(zip(("english", "german"), frame.say(thing)[:2], strict=True))
            for n, frame in enumerate(FRAMES)
            for thing in THINGS
        ],
        "first": runs,
    }
    for training, opened in zip(trainings, data["models"], strict=False):
        answers = zip(SENTENCES, pronouns(training), strict=True)
        opened["wrong"] = {n: word for n, (s, word) in enumerate(answers) if word != pronoun(s.german)}
    rows = [(run["english"], run["text"]) for run in runs]
    return Interactive("cut", data, {}, words={"What the model writes": (("English", "German"), rows)})


def sizes(translator: Translator, models: Mapping[str, str], donor: str = "lamp") -> dict[str, Any]:
    """How many layers and heads there are, the trainings to choose from, and whose vector is offered first."""
    c = translator.model.config
    scripts = [{"name": name.replace("'", "’"), "file": file} for name, file in models.items()]
    return {"layers": c.n_layers, "heads": c.n_heads, "models": scripts, "donor": donor, "first": []}


def _run(translator: Translator, sentence: Sentence) -> dict[str, Any]:
    """A sentence, what is written, the probabilities of three pronouns, and the weights that can be seen.

    Those are (column, ten-thousandths), for each row.
    """
    english, right, *_ = sentence
    (german,) = translator.translate([english])
    p = probabilities(translator, english, before_pronoun(right))
    chances = {word: float(p[translator.tokens.encode(f" {word}")[0]]) for word in PRONOUNS}
    masculine = max(("er", "ihn"), key=chances.__getitem__)
    pronouns = [(word, round(chances[word], 7)) for word in (masculine, "sie", "es")]
    reads, fed, weights = translator.look(english, german)
    links = {kind: [[_sparse(rows) for rows in layer] for layer in w.numpy()] for kind, w in weights.items()}
    writes = [*fed[1:], translator.name(translator.model.config.eos_id)]
    written = {"text": german, "pronouns": pronouns, "reads": reads, "writes": writes}
    return {"english": english, "links": links} | written


def _sparse(rows: np.ndarray) -> list[list[tuple[int, int]]]:
    """No weight below one becomes one."""
    return [
        [(j, min(round(WHOLE * w), WHOLE - (w < 1))) for j, w in enumerate(row) if w >= FAINTEST]
        for row in rows.tolist()
    ]


@pic.styled
def turned_down(gains: ArrayLike, right: ArrayLike, whole: int, guess: int) -> pic.Picture:
    """How many of the whole stay right over the gain of a head, with a dashed line at what a guess gets."""
    figure, axes = chart(2.5)
    axes.axhline(guess, color=pic.INK, linewidth=1, linestyle="--")
    beside(axes, "always the same guess", (1, guess), (0, 5), ha="right", color=pic.INK)
    axes.plot(gains, right, color=pic.QUERY, marker="o")
    axes.set(xlim=(-0.03, 1.03), ylim=(0, 1.08 * whole), xlabel="gain of the head (0 is off)")
    axes.set_ylabel(f"right pronouns of {whole}")
    return figure
