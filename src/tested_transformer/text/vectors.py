"""Vectors of sentences and of words, from counts and by prediction."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int

from tested_transformer.checks import at_least, require_many


def count(
    texts: Iterable[Sequence[str]], words: Sequence[str]
) -> Int[np.ndarray, "N V"]:
    """How often each word occurs in each text: a row for each text.

    A text is a list of words. All of them must be in `words`.
    """
    place = {word: i for i, word in enumerate(words)}
    rows = []
    for text in texts:
        require_many(text, "a text")
        rows.append(np.zeros(len(words), dtype=int))
        for word, times in Counter(text).items():
            if word not in place:
                raise ValueError(f"{word!r} is not one of the {len(words)} words")
            rows[-1][place[word]] = times
    if not rows or not place:
        raise ValueError(
            f"{len(rows)} texts and {len(place)} words: there is nothing to count"
        )
    return np.array(rows)


def tf_idf(counts: Int[np.ndarray, "N V"]) -> Float[np.ndarray, "N V"]:
    """Counts times (ln((1 + N) / (1 + df)) + 1), each row brought to length 1.

    df is the number of texts that have the word. A text without words stays zero.
    """
    df = (counts > 0).sum(axis=0)
    return _unit(counts * (np.log((1 + len(counts)) / (1 + df)) + 1))


def cosine(rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N N"]:
    """The cosine of every row with every row; 0 for rows of zeros."""
    unit = _unit(rows)
    return unit @ unit.T


def nearest(
    table: Float[np.ndarray, "V D"], i: int, n: int = 5
) -> Int[np.ndarray, " n"]:
    """The n rows with the largest cosine with row i, best first, without i itself."""
    if not 0 <= i < len(table):
        raise IndexError(f"row ({i}) must be at least 0 and below {len(table)}")
    if not 1 <= n < len(table):
        rule = f"at least 1 and below the number of rows ({len(table)})"
        raise ValueError(f"n ({n}) must be {rule}")
    unit = _unit(table)
    order = np.argsort(-(unit @ unit[i]), kind="stable")
    return order[order != i][:n]


def neighbours(
    length: int, window: int
) -> tuple[Int[np.ndarray, " P"], Int[np.ndarray, " P"]]:
    """All pairs of different places in a text that are at most `window` apart.

    Each pair comes in both directions: centres, and their neighbours.
    """
    at_least(1, window=window)
    places = np.arange(length)
    distance = abs(places[:, None] - places)
    centres, others = np.nonzero((distance > 0) & (distance <= window))
    return centres, others


def cooccurrence(
    texts: Sequence[Int[np.ndarray, " _"]], vocab_size: int, window: int
) -> Int[np.ndarray, "V V"]:
    """How often two words (by id) are at most `window` words apart."""
    counts = np.zeros((vocab_size, vocab_size), dtype=int)
    for ids in texts:
        centre, near = neighbours(len(ids), window)
        np.add.at(counts, (ids[centre], ids[near]), 1)
    return counts


def noise(
    counts: Int[np.ndarray, " V"], power: float = 0.75
) -> Float[np.ndarray, " V"]:
    """The chance of each word to be drawn: its count to that power, as a share."""
    if counts.sum() == 0 or counts.min() < 0:
        raise ValueError("counts must not be negative, and not all of them zero")
    raised = np.where(counts > 0, counts.astype(float) ** power, 0)
    return raised / raised.sum()


def skip_gram(
    centre: Float[np.ndarray, "P D"], others: Float[np.ndarray, "P M D"]
) -> float:
    """The loss of skip-gram with negative sampling, summed over P pairs.

    others[:, 0] belong to the true neighbours, the rest to words that were drawn.
    """
    scores = np.einsum("pd,pmd->pm", centre, others)
    return float(np.logaddexp(0, -_signs(others) * scores).sum())


def skip_gram_backward(
    centre: Float[np.ndarray, "P D"], others: Float[np.ndarray, "P M D"]
) -> tuple[Float[np.ndarray, "P D"], Float[np.ndarray, "P M D"]]:
    """The gradients of `skip_gram` with respect to both."""
    signs = _signs(others)
    scores = np.einsum("pd,pmd->pm", centre, others)
    d_scores = -signs * np.exp(-np.logaddexp(0, signs * scores))  # -s σ(-s score)
    d_centre = np.einsum("pm,pmd->pd", d_scores, others)
    return d_centre, d_scores[:, :, None] * centre[:, None]


def skip_gram_step(
    table: Float[np.ndarray, "R D"],
    out: Float[np.ndarray, "V D"],
    pieces: Int[np.ndarray, "V M"],
    ids: Int[np.ndarray, " T"],
    drawn: Int[np.ndarray, "P K"],
    window: int,
    rate: float,
) -> None:
    """Take one step with all pairs of one text, in place.

    pieces[i] are the rows of `table` whose sum is the vector of word i.
    """
    centre, near = neighbours(len(ids), window)
    others = np.column_stack([ids[near], drawn])
    words = table[pieces[ids]].sum(axis=1)  # (T, M, D) -> (T, D)
    d_centre, d_others = skip_gram_backward(words[centre], out[others])
    d_words = np.zeros_like(words)
    np.add.at(d_words, centre, d_centre)
    np.subtract.at(table, pieces[ids], rate * d_words[:, None])
    np.subtract.at(out, others, rate * d_others)


def train_skip_gram(
    texts: Sequence[Int[np.ndarray, " _"]],
    vocab_size: int,
    d_model: int,
    pieces: Int[np.ndarray, "V M"] | None = None,
    window: int = 2,
    n_negative: int = 5,
    rate: float = 0.1,
    epochs: int = 5,
    seed: int = 0,
) -> tuple[Float[np.ndarray, "R D"], Float[np.ndarray, "V D"]]:
    """Learn two tables from texts of ids: one for the centre, one for neighbours.

    A step for each text; the rate falls to zero in a line. A word's vector is its row
    or, where `pieces` are given, the sum of the rows they name; -1 is no row.
    """
    pieces = np.arange(vocab_size)[:, None] if pieces is None else pieces
    least = {"d_model": (d_model, 1), "n_negative": (n_negative, 1)}
    _require(texts, vocab_size, pieces, **least, epochs=(epochs, 0))
    rng = np.random.default_rng(seed)
    table = rng.uniform(-0.5, 0.5, (pieces.max() + 2, d_model)) / d_model
    out = np.zeros((vocab_size, d_model))
    chances = noise(np.bincount(np.concatenate(texts), minlength=vocab_size))
    order = [k for _ in range(epochs) for k in rng.permutation(len(texts))]
    for step, k in enumerate(order):
        table[-1] = 0  # the row that is no row
        n_pairs = len(neighbours(len(texts[k]), window)[0])
        drawn = rng.choice(vocab_size, (n_pairs, n_negative), p=chances)
        now = rate * (1 - step / len(order))
        skip_gram_step(table, out, pieces, texts[k], drawn, window, now)
    return table[:-1], out


def ngrams(word: str, shortest: int = 3, longest: int = 6) -> list[str]:
    """The word between < and >, and all different pieces of it of these lengths."""
    if not word:
        raise ValueError("an empty word has no pieces")
    if not 1 <= shortest <= longest:
        rule = "at least 1 and not above"
        raise ValueError(f"shortest ({shortest}) must be {rule} longest ({longest})")
    whole = f"<{word}>"
    cuts = (
        whole[i : i + n]
        for n in range(shortest, longest + 1)
        for i in range(len(whole) - n + 1)
    )
    return list(dict.fromkeys([whole, *cuts]))


def _unit(rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def _signs(others: Float[np.ndarray, "P M D"]) -> Float[np.ndarray, " M"]:
    """1 for the true neighbour, -1 for what was drawn."""
    return np.where(np.arange(others.shape[1]) == 0, 1.0, -1.0)


def _require(
    texts: Sequence[Int[np.ndarray, " _"]],
    vocab_size: int,
    pieces: Int[np.ndarray, "R M"],
    **least: tuple[int, int],
) -> None:
    for name, (value, allowed) in least.items():
        at_least(allowed, **{name: value})
    if not len(texts) or min(map(len, texts)) == 0:
        raise ValueError(f"{len(texts)} texts, and none may be empty: nothing to learn")
    lowest, highest = min(map(min, texts)), max(map(max, texts))
    if lowest < 0 or highest >= vocab_size:
        rule = f"at least 0 and below vocab_size ({vocab_size})"
        raise IndexError(f"ids ({lowest} to {highest}) must be {rule}")
    if len(pieces) != vocab_size:
        rule = f"one for each of the {vocab_size} words"
        raise ValueError(f"pieces has {len(pieces)} rows; there must be {rule}")
