"""The whole machine on one sheet of A4, at the top of the built book: a reader downloads it and prints it."""

import pathlib

from tested_transformer.book import figures, pretrained, worksheet

NAMES = {"pdf": "whole-machine.pdf", "svg": "whole-machine.svg"}


def write_sheet(app, error):
    """Put the sheet where pages offer it, drawn anew from the package's model."""
    if not error and app.builder.format == "html":
        picture = figures.sheet.sheet(*worksheet.numbers(pretrained.load()))
        for form, name in NAMES.items():
            pathlib.Path(app.outdir, name).write_bytes(picture.paper(form))
