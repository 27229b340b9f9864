"""Queries, keys, values and outputs in the colours of the figures, in formulas and in code."""

import re

from docutils import nodes

ROLE = {"q": "query", "k": "key", "v": "value", "o": "out"}

# On a page without W^Q in a formula, or W_Q in code, these letters may mean something else (V the vocabulary, v Adam's
# second moment), and they stay black. On these pages they mean queries, keys and values without it.
ALSO = {"glossary", "masks"}

SYMBOL = re.compile(
    r"(?<![A-Za-z\\])(?:[QK]|V(?!\\rvert))(?![A-Za-z])"  # Q, W^K, but not |V|
    r"|(?<![A-Za-z\\_])[qkv](?= ?_)"  # q_i, but not d_k, and k alone is an offset
    r"|(?<!\\text\{in\} \+ )\\text\{out\}"
)
NAME = re.compile(
    r'<span class="n">((?:[wW]_)?[qkvQKV]|query|key|value|queries|keys|values|out)</span>'
    r'(?!<span class="o">=|<span class="p">\(\))'  # neither the name of an argument nor the method of a dictionary
)
# Beside p, a small q is the target and no query.
TARGET = re.compile(r'(?<![A-Za-z\\])p ?_|<span class="n">p</span>')


def colour_formula(latex):
    """The formula, its symbols marked with the names of their roles."""
    target = TARGET.search(latex)
    return SYMBOL.sub(
        lambda m: (
            m[0] if target and m[0] == "q" else rf"\class{{{role(m[0])}}}{{{m[0]}}}"
        ),
        latex,
    )


def colour_code(html):
    """A block of code, its names marked. Small k and v are keys and values only beside a query."""
    names = set(NAME.findall(html)) - ({"q"} if TARGET.search(html) else set())
    beside = names & {"q", "query", "queries"} or {"keys", "values"} <= names

    def mark(m):
        known = m[1] in names and (m[1][-1].isupper() or "_" in m[1] or beside)
        return m[0].replace('"n"', f'"n {role(m[1])}"') if known else m[0]

    return NAME.sub(mark, html)


def role(symbol):
    """What a symbol stands for."""
    letters = re.sub(r"\\text|[wW]_|[{}]", "", symbol)
    return ROLE[letters[0].lower()]


def colour_formulas(app, doctree, page):
    """Mark the symbols of all formulas of a page that is about queries, keys and values."""
    formulas = [
        *doctree.findall(lambda n: isinstance(n, nodes.math | nodes.math_block))
    ]
    known = page.rpartition("/")[2] in ALSO or any(
        "W^Q" in node.astext() for node in formulas
    )
    if app.builder.format == "html" and known:
        for node in formulas:
            node["coloured"] = colour_formula(node.astext())


def colour_codes(app, page, template, context, doctree):
    """Mark the names in all code of a page that has the matrix of the queries."""
    if '<span class="n">W_Q</span>' in context.get("body", ""):
        blocks = re.compile(r"<pre>.*?</pre>", re.S)
        context["body"] = blocks.sub(lambda m: colour_code(m[0]), context["body"])
