"""Interactive figures on the built pages: each page gets the scripts of its own, and the first page its number."""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tested_transformer.book.draw.interactive import Interactive
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, X
from tested_transformer.byhand.attention import attention

# How much "love" takes from "AI"; the first number of "AI" can be dragged.
QUERY, KEY, COMPONENT = 1, 2, 0


def weight():
    """One weight of the walk-through, with the number that moves it."""
    weights = attention(X @ W_Q, X @ W_K, X @ W_V)[1]
    data = {"words": WORDS, "x": X, "w_q": W_Q, "w_k": W_K, "w_v": W_V,
            "query": QUERY, "key": KEY, "component": COMPONENT, "limits": [-2, 4]}  # fmt: skip
    title = "How much each word gives to the others"
    row = weights[QUERY : QUERY + 1]
    return Interactive("weight", data, {title: ([WORDS[QUERY]], WORDS, row)})


class LiveWeight(SphinxDirective):
    """The directive `live-weight`: the number on the first page."""

    def run(self):
        """The element as a raw node."""
        return [nodes.raw("", weight()._repr_html_(), format="html")]


def to_pages(html):
    """The links of an interactive figure lead to notebooks, as a notebook must have it; on a page, to pages."""
    return re.sub(
        r"<(\w+)-figure>.*?</\1-figure>",
        lambda m: re.sub(r'(<a href="\w+)\.ipynb', r"\1.html", m[0]),
        html,
        flags=re.S,
    )


def bring_scripts(app, page, template, context, doctree):
    """Give a page the scripts of the interactive figures on it; other pages load nothing."""
    body = context.get("body", "")
    names = sorted(set(re.findall(r"<(\w+)-figure>", body)))
    for name in ["common", *names] if names else []:
        app.add_js_file(f"figures/{name}.js", defer="defer")
    if names:
        context["body"] = to_pages(body)
        app.add_css_file("figures/figures.css")
