"""A small GPT learns to answer: four tasks on the phrasebook, a judge who knows the grammar, and what is measured."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tested_transformer.book.small import language_model, training
from tested_transformer.config import Config
from tested_transformer.decoding.sampling import sample
from tested_transformer.model.gpt import Gpt
from tested_transformer.phrasebook import english, german
from tested_transformer.phrasebook.clauses import Speaker
from tested_transformer.phrasebook.corpus import held_out
from tested_transformer.phrasebook.sentences import plain, purpose, quality
from tested_transformer.phrasebook.tags import combinations
from tested_transformer.phrasebook.words import Clause, Meaning, Phrase
from tested_transformer.text.tokens import BOS, EOS, PAD, UNK, WORDS, Vocabulary
from tested_transformer.training.objective import Answers, LanguageModel
from tested_transformer.training.preference import answer_log_probabilities

PRONOUNS = ("er", "sie", "es", "ihn")
EXTRAS = ("time", "frequency", "manner", "in", "mit", "für")
LONGEST = 11  # words of an English sentence
ARROW = "→"
"""Where the question ends and the answer begins."""


class Example(NamedTuple):
    """A question in words, the answer that somebody wrote, and all answers that are right."""

    task: str
    question: list[str]
    answer: list[str]
    right: frozenset[str]


def words(text: str) -> list[str]:
    """The words of a text in lower case, each full stop and comma one of them."""
    return WORDS.findall(text.lower())


# The judge


def translations(meaning: Meaning) -> frozenset[str]:
    """All that the grammar accepts as German for it: the subject may come first, or the time, or the place."""
    found = {german.sentence(meaning)}
    if meaning[0][0] or meaning[0][1].question:
        return frozenset(found)
    (_, main), *others = meaning
    free = {"time", "in"} & (main.parts.keys() - main.verb.objects.keys())
    for front in ("subject", *free):
        found.add(german.sentence([("", main._replace(front=front)), *others]))
    return frozenset(found)


def has_it(meaning: Meaning) -> bool:
    """Does "it" stand for a noun in the last clause?"""
    return len(meaning) > 1 and any(map(_is_it, _phrases(meaning[-1][1])))


def carelessly(meaning: Meaning) -> str:
    """The German of somebody who writes *es* for every "it"."""

    def neuter(p: object) -> object:
        return p._replace(pronoun="n") if isinstance(p, Phrase) and _is_it(p) else p

    changed = [
        (
            word,
            c._replace(
                subject=neuter(c.subject),
                parts={k: neuter(p) for k, p in c.parts.items()},
            ),
        )
        for word, c in meaning
    ]
    return german.sentence(changed)


def _phrases(c: Clause) -> list[Phrase]:
    return [p for p in (c.subject, *c.parts.values()) if isinstance(p, Phrase)]


def _is_it(p: Phrase) -> bool:
    return p.noun is not None and p.pronoun in ("m", "f", "n")


# The tasks


def translate(meaning: Meaning) -> Example:
    """An English sentence; its German."""
    right = frozenset(" ".join(words(g)) for g in translations(meaning))
    told = words(english.sentence(meaning))
    return Example(
        "translate",
        ["translate", ":", *told, ARROW],
        words(german.sentence(meaning)),
        right,
    )


def past(meaning: Meaning) -> Example | None:
    """A sentence in the present; the same in the past."""
    if any(c.tense not in ("now", "habit") or "time" in c.parts for _, c in meaning):
        return None
    then = [(word, c._replace(tense="past")) for word, c in meaning]
    told, answer = (words(english.sentence(m)) for m in (meaning, then))
    return _english("past", ["past", "tense", ":", *told, ARROW], answer, told)


def shorter(meaning: Meaning) -> Example | None:
    """A sentence; who does what in it, without adjectives and all that can be left out."""
    (_, main), *_ = meaning
    parts = {
        slot: _bare(p)
        for slot, p in main.parts.items()
        if slot in main.verb.objects or slot not in EXTRAS
    }
    short = main._replace(subject=_bare(main.subject), parts=parts, front="subject")
    told, answer = (words(english.sentence(m)) for m in (meaning, [("", short)]))
    return _english("shorter", ["shorter", ":", *told, ARROW], answer, told)


def who(meaning: Meaning) -> Example | None:
    """A sentence, and a question about who does it; the subject of the sentence."""
    (_, main), *_ = meaning
    if main.front != "subject" or english.phrase(main.subject, 0) in ("I", "you", "we"):
        return None
    asked = main._replace(subject=Phrase(pronoun="who"), question=True)
    told = [*words(english.sentence(meaning)), *words(english.clause(asked)), "?"]
    answer = [*words(english.phrase(main.subject, 0)), "."]
    return _english("who", [*told, ARROW], answer, told)


def _bare(p: object) -> object:
    return p._replace(adjective=None) if isinstance(p, Phrase) else p


def _english(
    task: str, question: list[str], answer: list[str], told: list[str]
) -> Example | None:
    if answer == told:
        return None
    return Example(task, question, answer, frozenset([" ".join(answer)]))


TASKS: dict[str, Callable[[Meaning], Example | None]] = {
    "translate": translate,
    "past": past,
    "shorter": shorter,
    "who": who,
}


# The sentences


def meanings(seed: int, it: bool) -> Iterator[Meaning]:
    """Different statements of few words, all of them with "it" or none."""
    speaker, seen = Speaker(seed), set()
    while True:
        if it:
            conjunction = speaker.pick(["because", "although"])
            way = speaker.pick([quality, quality, purpose])
            meaning = way(speaker, conjunction)
        else:
            meaning = plain(speaker)
        if not meaning or has_it(meaning) != it:
            continue
        said = english.sentence(meaning)
        if said not in seen and len(words(said)) <= LONGEST:
            seen.add(said)
            yield meaning


def is_held_out(meaning: Meaning) -> bool:
    """Has it a pair of words that no sentence to learn from has?"""
    return any(map(held_out, combinations(meaning)))


class Lessons(NamedTuple):
    """What a model learns from, and what it is tested with."""

    vocabulary: Vocabulary
    written: list[Example]  # all four tasks, as a careless person wrote the answers
    it: list[Example]  # translations with "it" alone, as the same person wrote them
    tested: dict[str, list[Example]]


def lessons(n: int = 8000, careless: int = 2, n_test: int = 200) -> Lessons:
    """Sentences with "it" and as many without; all examples of the tasks that they allow.

    Of three translations with "it", so many (careless) have *es*, whatever "it" stands for. A test sentence has a
    pair of words that no other sentence has.
    """
    learned, tested = zip(
        *(_split(meanings(0, it), n, n_test) for it in (True, False)), strict=True
    )
    wrote = [
        e._replace(answer=words(carelessly(m))) if i % 3 < careless else e
        for i, m in enumerate(learned[0])
        for e in [translate(m)]
    ]
    everything = wrote + [translate(m) for m in learned[1]]
    half = [*learned[0][::2], *learned[1][::2]]
    everything += [e for t in list(TASKS)[1:] for m in half if (e := TASKS[t](m))]
    tests = {"it": [*map(translate, tested[0])], "no it": [*map(translate, tested[1])]}
    for task in list(TASKS)[1:]:
        asked = [e for m in [*tested[0], *tested[1]] if (e := TASKS[task](m))]
        tests[task] = asked[:n_test]
    spoken = (w for e in everything for w in (*e.question, *e.answer))
    return Lessons(Vocabulary.train(spoken), everything, wrote, tests)


def _split(
    stream: Iterator[Meaning], n: int, n_test: int
) -> tuple[list[Meaning], list[Meaning]]:
    learned: list[Meaning] = []
    tested: list[Meaning] = []
    for meaning in stream:
        part, most = (tested, n_test) if is_held_out(meaning) else (learned, n)
        if len(part) < most:
            part.append(meaning)
        if len(learned) == n and len(tested) == n_test:
            break
    return learned, tested


# The model


def create(vocab_size: int) -> Gpt:
    """A GPT of two layers, 64 wide, without dropout; PyTorch's seed decides its start."""
    sizes = {"d_model": 64, "d_ff": 256, "n_heads": 4, "n_layers": 2}
    more = {"max_len": 48, "dropout": 0.0, "activation": "gelu", "norm_first": True}
    return Gpt(Config(vocab_size, **sizes, **more))


def pairs(
    examples: Sequence[Example], vocabulary: Vocabulary
) -> list[tuple[list[int], list[int]]]:
    """Questions and answers as ids."""
    return [
        (vocabulary.encode(e.question), vocabulary.encode(e.answer)) for e in examples
    ]


def learn(
    model: Gpt,
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    steps: int,
    seed: int = 0,
    answers_only: bool = True,
) -> list[float]:
    """Train on questions and answers of about the same length, 32 of them a step; returns the losses."""
    ids = pairs(examples, vocabulary)
    objective: Any = (Answers if answers_only else LanguageModel)(model)
    by_length = sorted(range(len(ids)), key=lambda i: (sum(map(len, ids[i])), i))
    groups = [by_length[i : i + 32] for i in range(0, len(ids), 32)]
    draws = np.random.default_rng(seed)
    rounds = [draws.permutation(len(groups)) for _ in range(1 + steps // len(groups))]
    order = np.concatenate(rounds)

    def loss_at(step: int) -> Tensor:
        part = [ids[i] for i in groups[order[step - 1]]]
        texts: Any = part if answers_only else [[BOS, *q, *a, EOS] for q, a in part]
        batch = objective.tensors(texts, ())
        return objective(*batch)[0] / objective.count(batch)

    rate_at = training.triangle(steps, peak=0.004, warmup=100)
    return training.train(model, loss_at, rate_at, steps)


def answer(
    model: Gpt,
    questions: Sequence[Sequence[str]],
    vocabulary: Vocabulary,
    generator: torch.Generator | None = None,
) -> list[list[str]]:
    """The likeliest answer to each question, word by word, or with a generator one that is drawn."""
    found = []
    how: dict[str, Any] = {"generator": generator} if generator else {"top_k": 1}
    for start in range(0, len(questions), 128):
        asked = [[BOS, *vocabulary.encode(q)] for q in questions[start : start + 128]]
        rows = sample(
            model, asked, model.config.max_len, suppress_tokens=(PAD, BOS, UNK), **how
        )
        for ids, row in zip(asked, rows.tolist(), strict=True):
            found.append(vocabulary.decode(i for i in row[len(ids) :] if i > UNK))
    return found


# What is measured


def is_right(example: Example, said: Sequence[str]) -> bool:
    """The exact judge: is this one of the right answers, word for word?"""
    return " ".join(said) in example.right


def pronouns(text: str) -> list[str]:
    """The German pronouns of the second clause, in their order."""
    return [word for word in text.partition(",")[2].split() if word in PRONOUNS]


def has_right_pronoun(example: Example, said: Sequence[str]) -> bool:
    """Has the second clause the pronouns of a right answer, and no other?"""
    return any(pronouns(" ".join(said)) == pronouns(r) for r in example.right)


def mentions_it(example: Example, said: Sequence[str]) -> bool:
    """A careless judge: are the right pronouns anywhere in the answer?"""
    return any({*pronouns(r)} <= {*said} for r in example.right)


def share_right(
    model: Gpt,
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    judge: Callable[[Example, Sequence[str]], bool] = is_right,
) -> float:
    """In which part of the examples the judge accepts the likeliest answer."""
    said = answer(model, [e.question for e in examples], vocabulary)
    return float(np.mean([judge(e, s) for e, s in zip(examples, said, strict=True)]))


@torch.no_grad()
def chances(
    model: Gpt, text: Sequence[str], vocabulary: Vocabulary, asked: Sequence[str]
) -> list[float]:
    """How likely each of the asked words is to come next, after a question and the beginning of its answer."""
    logits = model(torch.tensor([[BOS, *vocabulary.encode(text)]]))[0, -1]
    p = logits.double().softmax(-1)
    return [float(p[i]) for i in vocabulary.encode(asked)]


@torch.no_grad()
def log_probability(
    model: Gpt, question: Sequence[str], said: Sequence[str], vocabulary: Vocabulary
) -> float:
    """The logarithm of the probability of a whole answer, in nats."""
    pair = vocabulary.encode(question), vocabulary.encode(said)
    return float(answer_log_probabilities(model, *Answers(model).tensors([pair], ())))


def smallest_lead(
    model: Gpt, question: Sequence[str], said: Sequence[str], vocabulary: Vocabulary
) -> float:
    """By how much the word that was written led the second, where that was least; the end counts as a word."""
    asked = [BOS, *vocabulary.encode(question)]
    ids = [*asked, *vocabulary.encode(said), EOS]
    return language_model.smallest_lead(model, ids, len(asked))
