"""The last touches to the built pages: mathematics from our own folder, light pages, names for screen readers."""

import pathlib

from sphinx.util.fileutil import copy_asset

MATHJAX = ("tex-chtml.js", "a11y", "input/tex/extensions", "output/chtml/fonts/woff-v2")


def copy_mathjax(app, error):
    """Copy of MathJax what a page can ask for, from the installed package, so that no page asks another host."""
    if error or app.builder.format != "html":
        return
    import importlib.metadata

    package = importlib.metadata.distribution("sphinx-mathjax-offline")
    source = pathlib.Path(package.locate_file("sphinx-mathjax-offline/static/mathjax"))
    for part in MATHJAX:
        target = pathlib.Path(app.outdir, "_static", "mathjax", part)
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_asset(str(source / part), str(target if (source / part).is_dir() else target.parent))


def setup(app):
    """Register the touches with Sphinx."""
    app.connect("build-finished", copy_mathjax)
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
