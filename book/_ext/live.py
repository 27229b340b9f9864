"""Interactive figures on the built pages: each page gets the scripts and styles of its own."""

import pathlib
import re

FIGURES = pathlib.Path(__file__).parents[1] / "_static" / "figures"


def to_pages(html):
    """The links of an interactive figure lead to notebooks, as a notebook must have it; on a page, to pages."""
    return re.sub(
        r"<(\w+)-figure>.*?</\1-figure>",
        lambda m: re.sub(r'(<a href="\w+)\.ipynb', r"\1.html", m[0]),
        html,
        flags=re.S,
    )


def files(names):
    """What pages with these figures load: what all share, the translator for those that ask it, and their own."""
    scripts = {name: (FIGURES / f"{name}.js").read_text("utf-8") for name in names}
    shared = ["common.js", "figures.css"] if names else []
    if any("window.translator" in script for script in scripts.values()):
        shared.append("model.js")
    own = [f"{name}.{kind}" for name in names for kind in ("js", "css")]
    return shared + [name for name in own if (FIGURES / name).is_file()]


def bring_scripts(app, page, template, context, doctree):
    """Give a page the scripts of the interactive figures on it; other pages load nothing."""
    body = context.get("body", "")
    names = sorted(set(re.findall(r"<(\w+)-figure>", body)))
    for name in files(names):
        if name.endswith(".js"):
            app.add_js_file(f"figures/{name}", defer="defer")
        else:
            app.add_css_file(f"figures/{name}")
    if names:
        context["body"] = to_pages(body)
