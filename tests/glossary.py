"""The glossary: each term has a definition of its own, in its place, and what it links to speaks of the term."""

import re
from itertools import pairwise

import guards
import tracing


def blocks(path):
    """The terms of each block of a glossary, with what stands below them."""
    text = path.read_text(encoding="utf-8")
    found = [block["body"] for block in guards.FENCE.finditer(text) if block["info"] == "{glossary}"]
    if len(found) != text.count("{glossary}"):
        raise ValueError(
            f"{path.name}: {text.count('{glossary}')} glossaries, {len(found)} of them in a fence of its own"
        )
    return [[match.groups() for match in re.finditer(r"^(\S.*)\n((?: .*\n|\n)*)", body, re.M)] for body in found]


def out_of_order(path):
    """Terms of a glossary that have no definition, or one that others have, too, or do not stand in alphabetical order.

    Two terms above one definition both get it, and nobody sees that the first one's is gone.
    """
    meanings = {}
    for terms in blocks(path):
        for term, meaning in terms:
            if not meaning.strip():
                yield f"{path.name}: {term} has no definition of its own"
            elif meaning.strip() in meanings:
                yield f"{path.name}: {term} has the definition of {meanings[meaning.strip()]}"
            meanings[meaning.strip()] = term
        for (one, _), (other, _) in pairwise(terms):
            if one.lower() >= other.lower():
                yield f"{path.name}: {other} stands behind {one}"


def plain(text):
    """Words in small letters, without hyphens and the signs of Markdown and LaTeX."""
    return re.sub(r"\\text|[{}_*$\\]", "", text).replace("-", " ").lower()


def misplaced(path):
    """Terms whose definition links to no section that speaks of them: it may be the definition of another term.

    A section speaks of a term if it has every word of one of its names, or a word that begins like it.
    """
    for term, meaning in (entry for terms in blocks(path) for entry in terms):
        text = ""
        for link in guards.LINK.findall(meaning):
            page, _, anchor = link.partition("#")
            sections = [s for s in tracing.sections(path.parent / page) if not anchor or anchor in s.anchors]
            text += plain(" ".join(cell["source"] for section in sections for cell in section.cells))
        names = [set(plain(name).split()) - {"and", "of"} for name in re.split(r", | \(|\)", term) if name]
        if not any(all(re.search(rf"\b{re.escape(word[:5])}", text) for word in name) for name in names):
            yield f"{path.name}: no section that {term} links to speaks of it"
