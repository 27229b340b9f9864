"""Words of the glossary: where a chapter first uses one that another chapter explains, its meaning is at hand."""

import html
import re
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes

GLOSSARY = "book/glossary"

# Words with a meaning of every day too: a machine cannot tell which is meant. And one that every reader knows by then.
EVERYDAY = re.compile(
    "alignment|bottleneck|decoding|frequency|head|hook|hypothesis|id|key|layer|leak|length|loss|"
    "mask|memory|merge|offset|pair|parameter|position|reference|sampling|schedule|shift|"
    "signature|source|state|surprise|target|token|training|transformer|value|variance|"
    "weights|window",
    re.I,
)


class Term(NamedTuple):
    """A word, where it stands in the glossary, what it means, and the pages that explain it."""

    name: str
    place: str
    meaning: str
    pages: frozenset[str]


def called(title):
    """What a title of the glossary may be called: "byte-pair encoding (BPE)" has two names."""
    return [part for part in re.split(r", | \((?=\w+\)$)|\)$", title) if part]


def names(title):
    """What a title may be called in a sentence, where a machine can tell that it is meant."""
    return [name for name in called(title) if not EVERYDAY.fullmatch(name)]


def glossary(doctree):
    """The terms of the glossary, the longest first, so that "padding mask" is found before "mask"."""
    found = []
    for item in doctree.findall(nodes.definition_list_item):
        (term,), meaning = item.findall(nodes.term), item.next_node(nodes.definition)
        text = re.sub(r"\s*See .*$", "", " ".join(meaning.astext().split()))
        if "\\" in text or "^" in text:  # formulas stay in the glossary
            continue
        pages = frozenset(
            ref["reftarget"] for ref in meaning.findall(addnodes.pending_xref)
        )
        found += [
            Term(name, term["ids"][0], text, pages) for name in names(term.astext())
        ]
    return sorted(found, key=lambda t: -len(t.name))


def listed(app):
    """The terms of the book's glossary, read once."""
    if not hasattr(app, "terms"):
        app.terms = glossary(app.env.get_doctree(GLOSSARY))
    return app.terms


def occurrence(term, text):
    """Where a text uses the term, or None."""
    name = re.escape(term.name)
    if term.name[:1].islower():
        name = f"[{term.name[0]}{term.name[0].upper()}]{re.escape(term.name[1:])}"
    if term.name[1:] not in text:  # sooner told than where it is, and mostly it is not
        return None
    return re.search(rf"(?<![\w-]){name}(?![\w-])", text)


def link_terms(app, doctree, page):
    """Link the first use of each term in the sentences of a chapter."""
    if (
        app.builder.format != "html"
        or page not in app.env.found_docs
        or not app.env.doc2path(page).endswith(".ipynb")
    ):
        return
    leads_to = app.builder.get_relative_uri(page, GLOSSARY)
    waiting = [t for t in listed(app) if page not in t.pages]
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section | nodes.list_item):
            continue
        paragraph[:] = [
            new
            for child in paragraph
            for new in (
                linked(child.astext(), waiting, leads_to)
                if isinstance(child, nodes.Text)
                else [child]
            )
        ]


def linked(text, waiting, leads_to):
    """The text as nodes, with a link for each term that is still waiting for its first use."""
    for term in waiting:
        if m := occurrence(term, text):
            waiting.remove(term)
            link = nodes.reference(
                "",
                m[0],
                internal=True,
                refuri=f"{leads_to}#{term.place}",
                classes=["term"],
            )
            before, after = text[: m.start()], text[m.end() :]
            return [
                *linked(before, waiting, leads_to),
                link,
                *linked(after, waiting, leads_to),
            ]
    return [nodes.Text(text)] if text else []


def explain_terms(app, page, template, context, doctree):
    """Give each link the meaning of its word, which the page shows while the link is pointed at."""
    if '"term reference internal"' in context.get("body", ""):
        meanings = {t.place: html.escape(t.meaning) for t in listed(app)}
        link = re.compile(r'<a class="term reference internal" href="[^"#]*#([^"]+)"')
        context["body"] = link.sub(
            lambda m: f'{m[0]} data-meaning="{meanings[m[1]]}"', context["body"]
        )
