"""Words of many scripts, texts that look the same, and characters of which every Unicode since 2002 says the same.

Python, Node and the library of tokenisers know different versions of Unicode: what they are compared by is old.
"""

import unicodedata

ONE_WORD = {
    "Hindi": "हिन्दी",
    "Bengali": "বাংলা",
    "Tamil": "தமிழ்",
    "Telugu": "తెలుగు",
    "Malayalam, with a joiner at the end": "അവന്\u200d",
    "Sinhala, with a joiner": "ශ්\u200dරී",
    "Thai": "ที่นี่",
    "Lao": "ຂ້ອຍ",
    "Tibetan": "བོད",
    "Burmese": "မြန်မာ",
    "Khmer": "ខ្មែរ",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ\u180eᠠ",
    "Arabic with vowels": "مَرْحَبًا",
    "Persian with a non-joiner": "می\u200cخواهم",
    "Hebrew with vowels": "שָׁלוֹם",
    "Syriac": "ܫܠܳܡܳܐ",
    "Maldivian": "ދިވެހި",
    "Latin, decomposed": unicodedata.normalize("NFD", "Größe"),
    "Vietnamese, decomposed": unicodedata.normalize("NFD", "Tiếng"),
    "Cyrillic, decomposed": unicodedata.normalize("NFD", "йогурт"),
    "Korean, decomposed": unicodedata.normalize("NFD", "한국어"),
    "Japanese, decomposed": unicodedata.normalize("NFD", "がぎぐ"),
    "a key of a telephone": "1\ufe0f\u20e3",
    "two marks on one letter": "e\u0301\u0323",
    "Chakma, beyond the first 65,536 characters": "\U00011103\U00011127\U00011133",
}
ONE_EMOJI = {
    "joined": "👩\u200d👩\u200d👧",
    "joined, with a variant": "🏃\u200d♀\ufe0f",
    "a variant": "☺\ufe0f",
    "a colour of skin": "👍🏽",
    "a flag": "🇩🇪",
    "a flag of tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
}
LOOK_ALIKE = {  # all look like the same sentence, or have no more than space that is not in it
    "as it is": "I need the lamp.",
    "a tab": "I need\tthe lamp.",
    "a space that does not break": "I need\xa0the lamp.",
    "a thin space": "I need the\u2009lamp.",
    "a space as wide as a letter": "I\u3000need the lamp.",
    "two spaces": "I need  the lamp.",
    "a filler": "I need the\u3164lamp.",
    "a soft hyphen": "I need the la\xadmp.",
    "a word joiner": "I need the\u2060 lamp.",
    "a mark of direction": "I need the lamp\u200e.",
    "an embedding": "\u202aI need the lamp.\u202c",
    "an isolate": "I need \u2066the\u2069 lamp.",
    "a mark of the byte order": "\ufeffI need the lamp.",
    "the same in the middle": "I need\ufeff the lamp.",
    "a space of no width": "I need the lamp\u200b.",
    "a joiner between Latin letters": "I need the l\u200damp.",
    "a non-joiner at the end of a word": "I need\u200c the lamp.",
    "a variant of a letter that has none": "I need\ufe0f the lamp.",
    "tags that are no flag": "I need the lamp\U000e0068\U000e0069.",
    "a control character": "I need the\x00 lamp.\x7f",
    "full-width letters": "Ｉ ｎｅｅｄ the lamp.",
    "ends of lines around it": "\r\nI need the lamp.\n",
    "an end of a line in it": "I need\r\nthe lamp.",
    "a line separator": "I need\u2028the lamp.",
}  # fmt: skip
UNSEEN = (
    "", " ", "\u200b", "\ufeff", "\u2060\u200e", "\u200d", "\ufe0f", "\x00", "\xad \u3164\n", "\U000e0041", "\u180e",
)  # fmt: skip
KEPT = (
    *ONE_EMOJI.values(), "½ ² …", "「こんにちは！」、はい。", "“quoted” — and so on", "C'est l'été !",
    "1\ufe0f\u20e3", "©\ufe0f", "раз", "کتاب\u200cها", "क्\u200dष",
)  # fmt: skip
ODD_CHARACTERS = [
    *"aé1©# \t\n\0\xad\u0301\u0323\u0338\u034f\u05d0\u0627\u0915\u094d\u1100\u1161\u180b\u180e\u1eb9\u200b\u200c",
    *"\u200d\u2010\u2190\u212a\u2800\u3000\u3099\u30ab\ufb01\ufe0f\ufeff\uff21\U0001f3f4\U0001f469\U000e0001\U000e0067\U000e0100",
]  # fmt: skip
"""Characters that change each other's meaning."""


def known(code):
    """Whether Unicode said the same of a character in 2002 as it does today; control characters aside."""
    then, now = (source.category(chr(code)) for source in (unicodedata.ucd_3_2_0, unicodedata))
    return then == now and now not in ("Cn", "Cc", "Cs")


KNOWN = [chr(code) for code in range(0x20000) if known(code)]
