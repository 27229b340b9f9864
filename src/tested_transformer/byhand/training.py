"""Learning without a library for gradients: one step, writing, and words backwards."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.byhand.adam import create_state, update
from tested_transformer.byhand.gradient import numerical_gradient
from tested_transformer.byhand.loss import smoothed_loss, smoothed_loss_backward
from tested_transformer.byhand.transformer import (
    create_params,
    transformer,
    transformer_backward,
)
from tested_transformer.checks import at_least
from tested_transformer.config import Config
from tested_transformer.params import Params

SYMBOLS = "_<>?abcdefghijklmnopqrstuvwxyz"  # at their ids: pad, bos, eos, unk, letters
NOUNS = ("chair", "lamp", "picture")
SMALL = Config(len(SYMBOLS), d_model=8, d_ff=8, n_heads=2, n_layers=2)
SIZES = Config(len(SYMBOLS), d_model=32, d_ff=64, n_heads=2, n_layers=2)


def loss_of(
    source: Int[np.ndarray, "B S"],
    target: Int[np.ndarray, "B T"],
    params: Params,
    config: Config,
    smoothing: float = 0.0,
) -> tuple[float, Float[np.ndarray, "B T-1 V"], dict[str, Any]]:
    """The mean loss of target after its first token, the logits, and what was saved.

    The model reads target without its last token and is asked for the next ones.
    """
    logits, saved = transformer(source, target[:, :-1], params, config)
    return smoothed_loss(logits, target[:, 1:], config.pad_id, smoothing), logits, saved


def gradients(
    source: Int[np.ndarray, "B S"],
    target: Int[np.ndarray, "B T"],
    params: Params,
    config: Config,
    smoothing: float = 0.0,
) -> tuple[float, Params]:
    """The loss of `loss_of`, and its gradients."""
    loss, logits, saved = loss_of(source, target, params, config, smoothing)
    d_logits = smoothed_loss_backward(logits, target[:, 1:], config.pad_id, smoothing)
    return loss, transformer_backward(d_logits, saved)


def write(
    source: Int[np.ndarray, "B S"], params: Params, config: Config, max_len: int
) -> Int[np.ndarray, "B {max_len}"]:
    """Take the token with the largest logit each time; after the end comes padding."""
    at_least(1, max_len=max_len)
    written = np.full((len(source), 1), config.bos_id)
    ended = np.zeros(len(source), dtype=bool)
    for _ in range(max_len):
        logits = transformer(source, written, params, config)[0][:, -1]
        token = np.where(ended, config.pad_id, logits.argmax(axis=-1))
        written = np.column_stack([written, token])
        ended |= token == config.eos_id
    return written[:, 1:]


def random_words(n: int, rng: np.random.Generator) -> list[str]:
    """Up to n random words of three to seven letters, without the three nouns."""
    words = ["".join(rng.choice([*SYMBOLS[4:]], rng.integers(3, 8))) for _ in range(n)]
    return [word for word in words if word not in NOUNS]


def ids_of(words: Sequence[str]) -> Int[np.ndarray, "B T"]:
    """The id of each symbol, a row for each word; short words are padded."""
    longest = max(len(word) for word in words)
    return np.array([[SYMBOLS.index(s) for s in w.ljust(longest, "_")] for w in words])


def backwards(
    words: Sequence[str],
) -> tuple[Int[np.ndarray, "B S"], Int[np.ndarray, "B T"]]:
    """A batch: words, and the same words from the last letter to the first."""
    return ids_of(words), ids_of([f"<{word[::-1]}>" for word in words])


def answers(words: Sequence[str], params: Params) -> list[str]:
    """What a model writes for each word, up to the end."""
    rows = write(ids_of(words), params, SIZES, max_len=1 + max(map(len, words)))
    return ["".join(SYMBOLS[i] for i in row).partition(">")[0] for row in rows]


def largest_error(config: Config, rng: np.random.Generator) -> tuple[int, float]:
    """Nudge every number of a model: how many there are, the largest difference.

    They are moved from their start, where a missing factor of 1 would not show.
    """
    params = {
        name: w + 0.3 * rng.normal(size=w.shape)
        for name, w in create_params(config, rng, gain=1.0).items()
    }
    batch = backwards(random_words(4, rng))
    d_params, largest = gradients(*batch, params, config, 0.1)[1], 0.0
    for name, w in params.items():
        nudged = numerical_gradient(
            lambda w, name=name: loss_of(  # type: ignore[misc] # mypy: has a default
                *batch, params | {name: w}, config, 0.1
            )[0],
            w,
        )
        largest = max(largest, float(abs(nudged - d_params[name]).max()))
    return sum(w.size for w in params.values()), largest


def learn(steps: int = 600, every: int = 50, rate: float = 0.003) -> Params:
    """Train a model to write words backwards, and print its progress.

    The rate rises in the first tenth of the steps, and then falls to zero.
    """
    at_least(10, steps=steps)
    at_least(1, every=every)
    rng = np.random.default_rng(0)
    params = create_params(SIZES, rng, gain=1.0)
    state = create_state(params)
    for step in range(1, steps + 1):
        loss, d_params = gradients(*backwards(random_words(64, rng)), params, SIZES)
        share = min(step / (0.1 * steps), (steps + 1 - step) / (0.9 * steps))
        params, state = update(params, d_params, state, rate * share)
        if step % every == 0:
            told = map(" -> ".join, zip(NOUNS, answers(NOUNS, params), strict=True))
            print(f"step {step:4}", f"loss {loss:.3f}", *told, sep="   ")
    return params


def main() -> None:
    """Check every gradient of a small model; learn; ask for random words."""
    n, error = largest_error(SMALL, np.random.default_rng(1))
    print(f"{n} gradients, each checked by nudging: largest difference {error:.0e}")
    new = random_words(200, np.random.default_rng(2))
    right = sum(w[::-1] == a for w, a in zip(new, answers(new, learn()), strict=True))
    print(f"{right} of {len(new)} random words written backwards")


if __name__ == "__main__":
    main()
