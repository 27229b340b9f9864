"""What each layer of a chat model would say, where each token of an answer is written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tested_transformer.book.figures import picture as pic
from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.figures.kit import beside, chart
from tested_transformer.book.logit_lens import takes_over
from tested_transformer.shares import as_share, counted

Told = Mapping[str, Any]
"""The record of `tools/logit_lens.py`, a question in it, or one step of an answer."""


def said(record: Told, first: tuple[int, int] = (0, 0), guess: bool = True) -> Interactive:
    """A question to choose, a token of its answer to walk to, and a row for each layer with what it would say.

    `first` is the question and the token that are shown at first, counted from 0. With `guess` the rows are covered
    until a layer is guessed. Probabilities have three decimals.
    """
    prompts = record["prompts"]
    _check(prompts, first, record["layers"])
    often = Counter(word for prompt in prompts for word in _words(prompt))  # those get the short numbers
    words = {word: i for i, (word, _) in enumerate(often.most_common())}
    data = {
        "guess": guess,
        "first": first,
        "vocabulary": record["tokens"],
        "words": [*words],
        "prompts": [_prompt(p, words) for p in prompts],
    }
    prompt, step = prompts[first[0]], prompts[first[0]]["steps"][first[1]]
    lines = [(shown(s["token"]), _p(s["output"][0][1]), layer_name(takes_over(s))) for s in prompt["steps"]]
    rows = [
        (layer_name(n), shown(best[0][0]), _p(best[0][1]), _p(own), counted(rank + 1))
        for n, (best, own, rank) in enumerate(zip(step["layers"], step["written"], step["ranks"], strict=True))
    ]
    token = shown(step["token"])
    tables = {
        f"The answer to: {prompt['text']}": (("token", "probability", "the likeliest from"), lines),
        f"Before “{token}”": (("after", "the likeliest", "probability", f"that of “{token}”", "its place"), rows),
    }
    return Interactive("layers", data, {}, ladder(step), words=tables)


@pic.styled
def ladder(step: Told) -> pic.Picture:
    """A bar for each layer, the start on top: its likeliest token; a dot for the one that was written in the end.

    Bars of that token have its colour, and a dashed line is where it takes over.
    """
    layers = range(len(step["layers"]))
    figure, axes = chart(0.9 + 0.2 * len(layers))
    for layer, ((word, p), *_) in zip(layers, step["layers"], strict=True):
        own = word == step["token"]
        axes.barh(layer, p, 0.7, color=pic.OUT if own else pic.WEIGHTS(0.3))
        beside(axes, shown(word), (p, layer), (5, 0), va="center", color=pic.OUT if own else pic.INK, fontsize=10.5)
    axes.plot(step["written"], layers, "o", color=pic.OUT, markersize=4, clip_on=False)
    axes.axhline(takes_over(step) - 0.5, color=pic.INK, linestyle="--", linewidth=1)
    axes.set_yticks(layers, [layer_name(n) if n in (0, *layers[-1:]) or n % 5 == 0 else "" for n in layers])
    axes.set(xlim=(0, 1), ylim=(len(layers) - 0.4, -0.6), xlabel="probability")
    axes.tick_params(left=False)
    axes.spines.left.set_visible(False)
    return figure


def layer_name(n: int) -> str:
    """Where something was read: after so many layers."""
    return f"layer {n}" if n else "the start"


def shown(word: str) -> str:
    """A token for people: without spaces around it, and with the end of a line as a sign."""
    return word.replace("\n", "⏎").strip() or "␣"


def _p(p: float) -> str:
    return as_share(p, 3) if p else "< 0.001"


def _check(prompts: Sequence[Told], first: tuple[int, int], layers: int) -> None:
    if not (0 <= first[0] < len(prompts) and 0 <= first[1] < len(prompts[first[0]]["steps"])):
        raise ValueError(f"first {first} must be one of {len(prompts)} questions and a token of its answer, from 0")
    for prompt in prompts:
        for step in prompt["steps"]:
            if {len(step[name]) for name in ("layers", "written", "ranks")} != {layers + 1}:
                raise ValueError(f"{prompt['text']!r}, {step['token']!r}: {layers} layers and the start, a row each")
            if step["layers"][-1] != step["output"][:3] or step["output"][0][0] != step["token"]:
                raise ValueError(f"{prompt['text']!r}: the last layer must say what is written, {step['token']!r}")


def _words(prompt: Told) -> list[str]:
    likeliest = [word for step in prompt["steps"] for row in (step["output"], *step["layers"]) for word, _ in row]
    return [*prompt["prompt"], *likeliest]


def _prompt(prompt: Told, words: Mapping[str, int]) -> dict[str, Any]:
    """A question with the numbers of its words, and its steps as short text: zeros are left out."""
    steps = [
        {
            "token": words[step["token"]],
            "output": [[words[word], p] for word, p in step["output"]],
            "words": ",".join(str(words[word]) for row in step["layers"] for word, _ in row),
            "p": ",".join(_thousandths(p) for row in step["layers"] for _, p in row),
            "written": ",".join(map(_thousandths, step["written"])),
            "ranks": ",".join(map(str, step["ranks"])),
        }
        for step in prompt["steps"]
    ]
    read = [words[word] for word in prompt["prompt"]]
    return {"text": prompt["text"], "read": read, "ended": prompt["ended"], "steps": steps}


def _thousandths(p: float) -> str:
    return f"{np.round(1000 * p, 1):g}" if p else ""
