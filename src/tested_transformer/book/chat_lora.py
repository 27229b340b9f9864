"""A chat model learns to translate the phrasebook through thin matrices, and what it loses by that."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch

from tested_transformer.book.answering import (
    is_held_out,
    meanings,
    translations,
    words,
)
from tested_transformer.book.chat_model import chatml, surprise, write
from tested_transformer.decoding.conversation import END
from tested_transformer.model.llama import Llama
from tested_transformer.phrasebook import english, german
from tested_transformer.phrasebook.words import Meaning
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.training.loop import train
from tested_transformer.training.objective import Answers

SYSTEM = "Answer in one sentence."
TASK = "Translate into German: "
QUESTIONS = (
    "What is the capital of France?",
    "What is the capital of Italy?",
    "What do bees make?",
    "Which animal barks?",
    "How many days does a week have?",
    "What colour is grass?",
    "What do we use a pen for?",
    "What comes after summer?",
    "Who wrote Hamlet?",
    "What is ice made of?",
)
"""Questions that have nothing to do with German."""

LINES = (
    "Before the rain began, the baker had carried all of her bread back into the shop.",
    "Nobody in the village could remember when the old bridge had been built.",
    "If you heat water long enough, it begins to boil, and steam rises from the pot.",
    "The teacher asked her class to write down three things that had surprised them.",
    "My grandfather keeps his tools in a wooden box under the stairs.",
    "A good map shows you not only where the roads are, but also where the hills are.",
    "She closed the book, looked out of the window, and thought about the last chapter.",
    "Most birds of this kind fly south in autumn and come back when the snow has melted.",
    "The two engineers could not agree on how long the new engine would last.",
    "We had planted the tree ten years ago, and now it was taller than the house.",
)
"""English lines of our own, to see whether it still expects English as it did."""


def asked(tokens: ByteLevelBPE, question: str) -> list[int]:
    """The ids of a chat up to where the assistant begins."""
    return chatml(tokens, [("system", SYSTEM), ("user", question)])


def chosen(n: int, held: bool, seed: int = 0) -> list[Meaning]:
    """Sentences with "it" and without it in turn, all with a pair of words that is held out, or none."""
    streams = [
        (m for m in meanings(seed, it) if is_held_out(m) == held)
        for it in (True, False)
    ]
    pairs = zip(*streams, strict=False)
    return [m for pair in islice(pairs, (n + 1) // 2) for m in pair][:n]


def lesson(tokens: ByteLevelBPE, meaning: Meaning) -> tuple[list[int], list[int]]:
    """A question and its right answer, as ids; without the first id, which `Answers` adds."""
    question = asked(tokens, TASK + english.sentence(meaning))
    return question[1:], tokens.encode(german.sentence(meaning))


def learn(
    model: Llama,
    tokens: ByteLevelBPE,
    lessons: Sequence[Meaning],
    lr: float,
    size: int = 4,
) -> list[float]:
    """One round of the lessons, size of them a step; returns the losses."""
    objective = Answers(model)
    steps = len(lessons) // size

    def loss_at(step: int) -> torch.Tensor:
        part = lessons[(step - 1) * size : step * size]
        batch = objective.tensors([lesson(tokens, m) for m in part], ())
        return objective(*batch)[0] / objective.count(batch)

    def rate_at(step: int) -> float:
        return lr * min(step / 10, (steps + 1 - step) / max(1, steps - 10))

    return train(model, loss_at, rate_at, steps)


def measure(
    model: Llama, tokens: ByteLevelBPE, tested: Sequence[Meaning]
) -> dict[str, Any]:
    """Translations, answers, and the mean surprise of a token of the lines, in nats."""
    model.eval()
    end = {tokens.special_tokens[END]}

    def answer(question: str, most: int = 30) -> str:
        ids = [step.id for step in write(model, asked(tokens, question), end, most)]
        return tokens.decode([i for i in ids if i not in end]).strip()

    german = [answer(TASK + english.sentence(m)) for m in tested]
    right = [
        " ".join(words(g)) in {" ".join(words(r)) for r in translations(m)}
        for g, m in zip(german, tested, strict=True)
    ]
    lines = [tokens.encode(line) for line in LINES]
    spent = sum(surprise(model, ids) for ids in lines)
    return {
        "translated": german,
        "right": sum(right),
        "answers": [answer(q) for q in QUESTIONS],
        "surprise": spent / sum(len(ids) - 1 for ids in lines),
    }
