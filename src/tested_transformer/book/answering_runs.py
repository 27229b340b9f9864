"""Ways to go on with a model that learned from a careless person: more of the same, corrected, preferences, rewards."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tested_transformer.book.answering import (
    Example,
    Lessons,
    answer,
    create,
    has_right_pronoun,
    is_right,
    learn,
    lessons,
    mentions_it,
    share_right,
)
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.lowrank import add_low_rank, merge_low_rank
from tested_transformer.training import checkpoint
from tested_transformer.training.loop import train
from tested_transformer.training.objective import NOT_ASKED, Answers
from tested_transformer.training.preference import (
    answer_log_probabilities,
    group_advantages,
    penalised,
    policy_loss,
    preference_loss,
)

Judge = Callable[[Example, Sequence[str]], bool]
QUESTIONS, DRAWN = 16, 8  # of each step, and answers to each
STEPS = 200
LOOKED_AT = (0, 10, 25, 50, 100, 150, 200)


class Start(NamedTuple):
    """What a model has learned before it goes on."""

    careless: int = 2  # of three translations with "it", how many have es
    answers_only: bool = True
    steps: int = 2400


STARTS = {
    "careless person": Start(),
    "never right": Start(careless=3),
    "questions as well": Start(answers_only=False),
}
"""Each start by its name."""


class Way(NamedTuple):
    """How a model goes on learning."""

    kind: str  # "imitate", "prefer" or "reinforce"
    judge: Judge = is_right
    corrected: bool = False  # imitate right answers, not those of the careless person
    beta: float = 0.0  # the price of leaving the start
    rank: int = 0  # of thin matrices, 0 for all parameters
    rate: float = 5e-4


class Run(NamedTuple):
    """A way from a start; without one, the start itself is measured."""

    start: str = "careless person"
    way: Way | None = None


RUNS = {
    "start": Run(),
    "more of the same": Run(way=Way("imitate")),
    "exact judge": Run(way=Way("reinforce")),
    "careless judge": Run(way=Way("reinforce", mentions_it)),
    "careless judge, held": Run(way=Way("reinforce", mentions_it, beta=0.1)),
    "preferences": Run(way=Way("prefer", beta=1.0)),
    "corrected answers": Run(way=Way("imitate", corrected=True)),
    "exact judge, thin": Run(way=Way("reinforce", rank=4, rate=5e-3)),
    "start, never right": Run("never right"),
    "never right, exact judge": Run("never right", Way("reinforce")),
    "start, questions as well": Run("questions as well"),
    "preferences, loosely held": Run(way=Way("prefer", beta=0.1)),
}
"""Each run by its name; all ways take equally many steps."""


class Going:
    """A model on one of the ways, and what is needed on it."""

    def __init__(
        self, start: Gpt, lessons: Lessons, way: Way, seed: int, steps: int = STEPS
    ) -> None:
        self.start = copy.deepcopy(start).eval().requires_grad_(False)
        self.model, self.lessons, self.way = copy.deepcopy(start), lessons, way
        self.steps, self.rewards = steps, list[float]()
        self.objective = Answers(self.model)
        self.lots = torch.Generator().manual_seed(seed)
        self.draws = np.random.default_rng(seed)
        if way.rank:
            torch.manual_seed(seed)
            add_low_rank(self.model, way.rank, ("w_q", "w_v"))

    def go(self, after: Callable[[int], object] | None = None) -> None:
        """All the steps, at a rate that rises for the first ten and then stays."""
        losses = {"imitate": self.imitate, "prefer": self.prefer}
        loss_at = losses.get(self.way.kind, self.reinforce)
        if self.way.kind == "prefer":
            self.pairs = self.judged_pairs()
        rate = self.way.rate
        train(self.model, loss_at, lambda n: rate * min(1, n / 10), self.steps, after)
        if self.way.rank:
            merge_low_rank(self.model)

    def some(self, n: int) -> list[Example]:
        """So many of the translations with "it", drawn by lot."""
        it = self.lessons.it
        return [it[i] for i in self.draws.choice(len(it), n, replace=False)]

    def batch(
        self, examples: Sequence[Example], said: Sequence[Sequence[str]]
    ) -> tuple[Tensor, ...]:
        """Questions with these answers, as `Answers` makes tensors of them."""
        encode = self.lessons.vocabulary.encode
        both = zip(examples, said, strict=True)
        texts = [(encode(e.question), encode(a)) for e, a in both]
        ids, wanted = self.objective.tensors(texts, ())
        wanted[:, self.model.config.max_len - 1 :] = NOT_ASKED  # cut off, not ended
        return ids, wanted

    def imitate(self, step: int) -> Tensor:
        """The loss of as many written answers as a step of reinforcement draws."""
        examples = self.some(QUESTIONS * DRAWN)
        answers = [
            min(e.right).split() if self.way.corrected else e.answer for e in examples
        ]
        batch = self.batch(examples, answers)
        return self.objective(*batch)[0] / self.objective.count(batch)

    def judged_pairs(self, n: int = 1600) -> list[tuple[Example, list[str], list[str]]]:
        """Of drawn answers to a question, one that the judge accepts and one that it does not."""
        found = []
        for _ in range(n // QUESTIONS):
            asked = self.some(QUESTIONS)
            for example, said in zip(asked, self.drawn(asked), strict=True):
                verdicts = [self.way.judge(example, one) for one in said]
                if len({*verdicts}) == 2:
                    good, bad = verdicts.index(True), verdicts.index(False)
                    found.append((example, said[good], said[bad]))
        return found

    def drawn(self, examples: Sequence[Example]) -> list[list[list[str]]]:
        """Answers to each of the questions, drawn by lot from the model as it is."""
        questions = [e.question for e in examples for _ in range(DRAWN)]
        said = answer(self.model, questions, self.lessons.vocabulary, self.lots)
        return [said[i : i + DRAWN] for i in range(0, len(said), DRAWN)]

    def prefer(self, step: int) -> Tensor:
        """The loss of DPO on pairs that were drawn before the first step."""
        part = [
            self.pairs[i] for i in self.draws.choice(len(self.pairs), 64, replace=False)
        ]
        examples = [e for e, _, _ in part] * 2
        ids, wanted = self.batch(
            examples, [x for _, x, _ in part] + [y for _, _, y in part]
        )
        now = answer_log_probabilities(self.model, ids, wanted).chunk(2)
        with torch.no_grad():
            before = answer_log_probabilities(self.start, ids, wanted).chunk(2)
        return preference_loss(*now, *before, self.way.beta)

    def reinforce(self, step: int) -> Tensor:
        """Draw answers, let the judge decide, and make those likelier that are better than their group."""
        asked = self.some(QUESTIONS)
        groups = self.drawn(asked)
        rewards = torch.tensor(
            [
                [float(self.way.judge(e, one)) for one in said]
                for e, said in zip(asked, groups, strict=True)
            ]
        )
        self.rewards.append(rewards.mean().item())
        self.model.train()
        examples = [e for e in asked for _ in range(DRAWN)]
        ids, wanted = self.batch(examples, [one for said in groups for one in said])
        log_p = answer_log_probabilities(self.model, ids, wanted)
        if self.way.beta:
            with torch.no_grad():
                before = answer_log_probabilities(self.start, ids, wanted)
            rewards = penalised(rewards.flatten(), log_p, before, self.way.beta)
            rewards = rewards.view(QUESTIONS, DRAWN)
        return policy_loss(log_p, group_advantages(rewards).flatten().to(log_p))


def started(name: str, seed: int) -> tuple[Gpt, Lessons]:
    """A model that has learned all four tasks, from one of STARTS, and its lessons."""
    start = STARTS[name]
    given = lessons(careless=start.careless)
    torch.manual_seed(seed)
    model = create(given.vocabulary.vocab_size)
    only = start.answers_only
    examples, vocabulary = given.written, given.vocabulary
    learn(model, examples, vocabulary, start.steps, seed=seed, answers_only=only)
    return model, given


def kept_start(path: Path) -> tuple[Gpt, Lessons]:
    """The start that was kept, in float64, and its lessons."""
    given = lessons()
    model = create(given.vocabulary.vocab_size).double()
    model.load_state_dict(checkpoint.read_tensors(path)[0])
    return model.eval(), given


def run(name: str, start: Gpt, given: Lessons, seed: int) -> tuple[Gpt, dict[str, Any]]:
    """Go one way from the start: the model, and what was measured on the way."""
    way = RUNS[name].way
    if way is None:
        return start, measure(start, given)
    going = Going(start, given, way, seed)
    looked = [look(start, given)]

    def after(step: int) -> None:
        if step in LOOKED_AT:
            looked.append(look(going.model, given))

    going.go(after)
    path = {key: [one[key] for one in looked] for key in looked[0]}
    rewards = [round(r, 4) for r in going.rewards]
    return going.model, measure(going.model, given) | {"path": path, "rewards": rewards}


def look(model: Gpt, given: Lessons) -> dict[str, Any]:
    """Of the test sentences with "it": whose translation is right, whose pronouns are, whom the careless judge accepts.

    `said` is what the model answers to the first two of them.
    """
    examples = given.tested["it"]
    said = answer(model, [e.question for e in examples], given.vocabulary)
    judges = {"right": is_right, "pronoun": has_right_pronoun, "pleases": mentions_it}
    found: dict[str, Any] = {
        name: round(
            float(np.mean([j(e, s) for e, s in zip(examples, said, strict=True)])), 4
        )
        for name, j in judges.items()
    }
    return found | {"said": [" ".join(s) for s in said[:2]]}


def measure(model: Gpt, given: Lessons) -> dict[str, Any]:
    """What `look` sees, and the part of the other tasks' answers that is right."""
    others = [task for task in given.tested if task != "it"]
    return look(model, given) | {
        task: round(share_right(model, given.tested[task], given.vocabulary), 4)
        for task in others
    }
