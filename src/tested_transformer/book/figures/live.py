"""The translator at work in the page, on a sentence of the reader's own."""

from collections.abc import Sequence

from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.live_translator import Answer

PARTS = ("rivals", "beam")


def translator(
    examples: Sequence[Answer], failing: Sequence[tuple[Answer, str]] = (), parts: Sequence[str] = ()
) -> Interactive:
    """A field for English, and below it what the model reads and writes, greedily.

    The first of the examples stands there at first, and the fallback has all of them.
    `failing` has sentences that go wrong, each with the reason. `parts` adds "rivals",
    the likeliest tokens at each place, and "beam", a beam that grows.
    """
    if not examples:
        raise ValueError("examples (none) must be one sentence at least")
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"a part ({part!r}) must be one of {', '.join(PARTS)}")
    first, *others = examples
    data = {
        "first": {"english": first.english, "pieces": first.reads, "german": first.writes}
        | ((parts and first.opening) or {}),
        "examples": [answer.english for answer in (*others, first)],
        "failing": [(answer.english, why) for answer, why in failing],
        "parts": list(parts),
        "width": 4,
    }
    shown = [*examples, *(answer for answer, _ in failing)]
    words = {"What the model writes": (("English", "German"), [(answer.english, answer.german) for answer in shown])}
    return Interactive("live", data, {}, words=words)
