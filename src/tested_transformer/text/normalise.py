"""One spelling for texts that look the same."""

import re
import unicodedata

from tested_transformer.text._checks import checked

UNSEEN = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+"
)
"""Control characters, soft hyphens, marks of direction, spaces of no width, ..."""
BLANK = re.compile("[\u2800\u3164\uffa0]")
"""Blank, though Unicode does not call them white space."""
HYPHENS = re.compile("[\u2010\u2011]")
SAME_LETTERS = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\ufb00-\ufb04]+")
"""Full-width digits and letters, and letters that were printed as one, such as ﬁ."""
TAGS = re.compile(
    "(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"  # of a flag
)
MODIFIERS = re.compile(
    "(?<![#*0-9\xa9\xae\u0590-\u1cff\u2000-\U0010ffff])"
    "[\u034f\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
"""Joiners and selectors of variants after a letter that has no variant to choose."""


def normalise(text: str, name: str = "the text") -> str:
    """The text without what nobody sees, in one spelling of what looks the same.

    Training, translating and measuring read every text like this, so a character that
    nobody sees changes no translation and no score:

    - what nobody sees is left out: control characters, the mark of the byte order,
      spaces of no width, soft hyphens, marks of direction;
    - full-width letters and digits become ordinary ones, ﬁ becomes fi, and a hyphen
      that does not break becomes a hyphen;
    - é has one spelling of two (Unicode's form NFC);
    - joiners stay where they tell words of Persian or Hindi apart, or make one emoji
      of several; elsewhere, after a Latin letter for example, they do nothing, and go;
    - white space of any kind and length becomes one space, and none is at the ends.

    What a reader can see stays as it was: capital letters, ½, ², …, quotation marks,
    Japanese punctuation. Unicode's form NFKC would write 1⁄2, 2 and three full stops
    for three of these: a translator could not even copy them. Letters of two alphabets
    stay two, as in Latin and Cyrillic a. A text of nothing that is seen becomes empty.
    BytePairEncoding changes no text: its `encode` does not call this function. What is
    no string is a TypeError, and half of a surrogate pair a ValueError, with the name
    of the text.
    """
    text = checked(text, name)
    while (once := _once(text)) != text:  # what goes may leave two marks side by side
        text = once
    return text


def _once(text: str) -> str:
    text = HYPHENS.sub("-", BLANK.sub(" ", UNSEEN.sub("", text)))
    text = SAME_LETTERS.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    text = unicodedata.normalize("NFC", " ".join(text.split()))
    text = MODIFIERS.sub("", TAGS.sub("", text))
    return unicodedata.normalize("NFC", " ".join(text.split()))
