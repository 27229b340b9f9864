"""What the translator in the pages shows before its weights are there: the same translator, asked beforehand."""

from collections.abc import Sequence
from typing import NamedTuple

from tested_transformer.decoding.translator import Translator


class Answer(NamedTuple):
    """A sentence, its tokens, and the tokens of its translation, of which the last is `<eos>`."""

    english: str
    reads: list[str]
    german: str
    writes: list[str]


def answers(translator: Translator, texts: Sequence[str]) -> list[Answer]:
    """What the model writes for each text, always with the most probable token."""
    tokens = translator.tokens
    greedy = Translator(translator.model, tokens, width=1)

    def named(text: str) -> list[str]:
        return [greedy.name(i) for i in tokens.encode(text)]

    return [
        Answer(text, named(text), german, [*named(german), "<eos>"])
        for text, german in zip(texts, greedy.translate(texts), strict=True)
    ]
