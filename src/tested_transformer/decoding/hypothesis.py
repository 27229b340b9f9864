"""What searches find, and what it is worth."""

from dataclasses import dataclass

from tested_transformer.checks import at_least


@dataclass(frozen=True)
class Hypothesis:
    """A sentence that a search has written, and what speaks for it.

    ids are without bos_id. They end with eos_id, unless the sentence reached its limit.
    log_probability is the sum over all ids, eos_id too. score is that sum divided by
    the length penalty of their number.
    """

    ids: tuple[int, ...]
    score: float
    log_probability: float

    @classmethod
    def of(cls, ids: list[int], log_probability: float, alpha: float) -> "Hypothesis":
        """A hypothesis with its score."""
        score = log_probability / length_penalty(len(ids), alpha)
        return cls(tuple(ids), score, log_probability)


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha (Wu et al., 2016): it divides a log-probability.

    length counts the tokens written, eos_id among them, bos_id not. With alpha 0 the
    penalty is 1.
    """
    at_least(1, length=length)
    if not 0 <= alpha <= 50:  # with more, the penalty of a long sentence overflows
        raise ValueError(f"alpha ({alpha}) must be at least 0 and at most 50")
    return ((5 + length) / 6) ** alpha
