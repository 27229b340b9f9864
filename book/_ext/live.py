"""Interactive figures on the built pages: each page gets the scripts of its own."""

import re


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
