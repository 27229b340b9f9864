"""The whole machine in one file, at the top of the built book: a reader downloads it and runs it."""

import pathlib

from tested_transformer.book import onefile

NAME = "transformer.py"


def write_file(app, error):
    """Put the file where pages offer it."""
    if not error and app.builder.format == "html":
        pathlib.Path(app.outdir, NAME).write_text(onefile.source(), encoding="utf-8")
