"""Kinds of characters for which `re` has no name, to stand between its brackets [ ]."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

SEARCHED = [*range(0x20000), *range(0xE0100, 0xE01F0)]
"""All marks and all punctuation of Unicode are here; to look further takes time."""


def ranges(codes: Iterable[int], kinds: str) -> dict[str, str]:
    """The characters of each kind: the first letter of their category in Unicode."""
    found = dict.fromkeys(kinds, "")
    for kind, run in groupby(codes, lambda code: unicodedata.category(chr(code))[0]):
        if kind in found:
            first, *_, last = [*run] * 2  # may be one and the same
            found[kind] += f"{re.escape(chr(first))}-{re.escape(chr(last))}"
    return found


MARKS, PUNCTUATION = ranges(SEARCHED, "MP").values()
"""Marks are accents, vowel signs and the like, which belong to the letter before."""
PUNCTUATION += re.escape("$+<=>^`|~")
"""As BERT has it: the symbols of ASCII count as well."""
JOINERS = "\u180e\u200c\u200d"
"""They stand in a word, and say whether its letters join."""
