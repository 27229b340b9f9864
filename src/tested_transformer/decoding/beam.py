"""Beam search: several unfinished sentences side by side, the best of them go on."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tested_transformer.checks import at_least, integer
from tested_transformer.decoding._checks import check_model
from tested_transformer.decoding.cache import stepper
from tested_transformer.decoding.hypothesis import Hypothesis, length_penalty
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.limits import max_lengths, suppressed
from tested_transformer.model.transformer import Transformer


def beam(
    model: Transformer,
    source: Int[Tensor, "B S"],
    width: int = 4,
    alpha: float = 0.6,
    max_len: int | None = None,
) -> list[list[Hypothesis]]:
    """For each sentence the best hypotheses that were found, width at most, best first.

    The defaults are the paper's (Section 6.1); for max_len see `max_lengths`, and for
    what a model of your own needs, `greedy`.
    """
    check_model(model)
    integer(width=width)
    at_least(1, width=width)
    with inference(model):
        search = Search(model, source, width, alpha, max_len)
        while search.sentences:
            search.step()
    return search.finished


class Search:
    """A beam search at work on a batch.

    A hypothesis without a chance has the log-probability -inf: at the start all but
    one, later those that have ended.
    """

    _stepper: Callable[..., Any] = staticmethod(stepper)

    def __init__(
        self,
        model: Any,
        source: Int[Tensor, "B S"],
        width: int,
        alpha: float,
        max_len: int | None,
    ) -> None:
        self.config, self.width, self.alpha = model.config, width, alpha
        memory = model.encode(source)
        self.limits = max_lengths(source, max_len, self.config)
        batch, most = len(source), int(self.limits.max())
        self.cache = self._stepper(model, memory, source, most, width)
        self.sentences = list(range(batch))  # those still being written
        self.finished: list[list[Hypothesis]] = [[] for _ in range(batch)]
        start = self.config.bos_id
        self.ids = source.new_full((batch, width, 1 + most), start)
        self.sees = self.ids.new_zeros(batch, width, most * width, dtype=torch.bool)
        dtype = torch.promote_types(memory.dtype, torch.float32)
        self.log_p = source.new_full((batch, width), -torch.inf, dtype=dtype)
        self.log_p[:, 0] = 0.0

    def step(self) -> None:
        """Extend every hypothesis by every token, and go on with the width best."""
        n, width = self.cache.length, self.width
        own = torch.arange(width, device=self.ids.device)
        self.sees[:, own, n * width + own] = True
        mask = self.sees[:, None, :, : (n + 1) * width]
        logits = self.cache.step(self.ids[:, :, n], mask)
        parents, tokens = self.choose(logits)
        rows = torch.arange(len(parents), device=parents.device)[:, None]
        self.ids, self.sees = self.ids[rows, parents], self.sees[rows, parents]
        self.ids[:, :, n + 1] = tokens
        self.finish()
        self.prune()

    def choose(
        self, logits: Float[Tensor, "B W V"]
    ) -> tuple[Int[Tensor, "B W"], Int[Tensor, "B W"]]:
        """The width best extensions: which hypothesis each extends, and by which token.

        Their log-probabilities are kept. Of equal ones the earlier hypothesis wins.
        """
        log_p = logits.log_softmax(-1, dtype=self.log_p.dtype)
        log_p[..., suppressed(self.config)] = -torch.inf
        each = min(self.width, log_p.size(-1))  # no more of one hypothesis can win
        best, tokens = log_p.topk(each)  # (B, W, V) -> (B, W, each)
        totals = (self.log_p[..., None] + best).flatten(1)
        totals, order = totals.sort(descending=True, stable=True)
        order = order[:, : self.width]
        self.log_p = totals[:, : self.width]
        return order // each, tokens.flatten(1).gather(1, order)

    def finish(self) -> None:
        """Hypotheses that end here are finished: kept, and extended no more."""
        length = self.cache.length
        ends = self.ids[:, :, length] == self.config.eos_id
        ends |= (self.limits == length)[:, None]
        for row, place in (ends & self.log_p.isfinite()).nonzero().tolist():
            ids = self.ids[row, place, 1 : length + 1].tolist()
            log_p = self.log_p[row, place].item()
            finished = self.finished[self.sentences[row]]
            finished.append(Hypothesis.of(ids, log_p, self.alpha))
            finished.sort(key=lambda hypothesis: -hypothesis.score)
            del finished[self.width :]
        self.log_p = self.log_p.masked_fill(ends, -torch.inf)

    def prune(self) -> None:
        """Drop sentences whose unfinished hypotheses can no longer change the result.

        A further token never raises a log-probability, and the penalty is largest at
        the limit. So log_p / penalty(limit) is the most that can still be reached.
        """
        most, hopes = self.limits.tolist(), self.log_p.amax(1).tolist()
        stay = []
        for row, sentence in enumerate(self.sentences):
            if math.isnan(hopes[row]):
                raise FloatingPointError("the logits of the model hold NaN or infinity")
            reachable = hopes[row] / length_penalty(most[row], self.alpha)
            finished = self.finished[sentence]
            worst = finished[-1].score if len(finished) == self.width else -math.inf
            if reachable > worst:
                stay.append(row)
        if len(stay) < len(self.sentences):
            self.sentences = [self.sentences[row] for row in stay]
            rows = torch.tensor(stay, dtype=torch.int64, device=self.ids.device)
            for name in ("ids", "sees", "log_p", "limits"):
                setattr(self, name, getattr(self, name)[rows])
            self.cache.keep(rows)
