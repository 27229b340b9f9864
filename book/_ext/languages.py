"""German words on the pages: named as German, so that a screen reader speaks them as such."""

import functools
import html
import re

from tested_transformer.phrasebook import corpus

# Beside the words of the phrasebook: those of the chapters' own examples.
EXAMPLES = "KI liebe mag verehre gefällt mir Musik sehr anrufen will"
# Words that an English sentence may stress or quote as well.
ENGLISH_TOO = "also am an arm fast hand hat hut in man name so still war warm was will"

# Code, drawings, and the data of the interactive figures.
LEFT_ALONE = re.compile(r"(<(script|pre|svg)\b.*?</\2>)", re.DOTALL | re.IGNORECASE)
PLACES = re.compile(
    r"<(?P<tag>em|td|th)(?P<rest>[^>]*)>(?P<inside>[^<]+)(?=</(?P=tag)>)"
    r"|(?<=“)(?P<quoted>[^”<]+)(?=”)"
)
WORD = re.compile(r"[^\W\d_]+")
NAMES = re.compile(r"<\w+>")  # <bos>, <eos>


@functools.cache
def vocabulary():
    """German words, and those of them that are English words too, in small letters."""
    pairs = corpus.sentences(5000)
    german = {w for pair in pairs for w in WORD.findall(pair.german)}
    english = {w.lower() for pair in pairs for w in WORD.findall(pair.english)}
    return german | set(EXAMPLES.split()), english | set(ENGLISH_TOO.split())


def is_german(text):
    """Are these German words, one of them at least that is no English word?"""
    german, english = vocabulary()
    words = WORD.findall(NAMES.sub("", html.unescape(text)))
    return all(w in german for w in words) and any(
        w.lower() not in english for w in words
    )


def marked(body):
    """The page with the language on what is stressed, quoted or alone in a cell and German."""
    parts = LEFT_ALONE.split(body)  # text, what is left alone, its tag, text …
    return "".join(
        PLACES.sub(mark, part) if n % 3 == 0 else part
        for n, part in enumerate(parts)
        if n % 3 < 2
    )


def mark(place):
    """One place, as it was or with its language."""
    if not is_german(place["inside"] or place["quoted"]):
        return place[0]
    if place["quoted"]:
        return f'<span lang="de">{place[0]}</span>'
    return f'<{place["tag"]} lang="de"{place["rest"]}>{place["inside"]}'


def mark_languages(app, page, template, context, doctree):
    """Mark what is German on a page."""
    if app.builder.format == "html" and "body" in context:
        context["body"] = marked(context["body"])
