"""One dictionary of colours: what a thing is drawn in, in every picture, formula and figure, on light pages and dark.

Within a group all colours can be told apart by colour-blind readers, and names, dashes or marks tell them apart too.
"""

from typing import NamedTuple


class Colour(NamedTuple):
    """The ink on a light page, and on a dark one."""

    light: str
    dark: str


TENSORS = {
    "query": Colour("#0072b2", "#6db9ee"),
    "key": Colour("#c04f00", "#f2a063"),
    "value": Colour("#00825f", "#4fc9a4"),
    "weight": Colour("#00456e", "#a9d5f2"),
    "out": Colour("#a0488a", "#e29ccb"),
}
"""Queries, keys, values, the weights made of them, and what comes out of a layer."""

PARTS = {
    "embedding": Colour("#7a3db8", "#c9a6f2"),
    "attention": Colour("#8c4a2f", "#e3a98f"),
    "feed-forward": Colour("#00757f", "#5fc8d2"),
    "norm": Colour("#5b6570", "#a9b4bf"),
}
"""The parts of the machine: its boxes, their parameters and what they cost."""

GENDERS = {
    "der": Colour("#4a4fb0", "#b3b7ff"),
    "die": Colour("#b01048", "#ff9db8"),
    "das": Colour("#666000", "#d3cb55"),
}
"""Masculine, feminine, neuter: the nouns and their pronouns."""

PASSES = {
    "forward": Colour("#34607f", "#9cc3df"),
    "gradient": Colour("#b3261e", "#ff9a90"),
}
"""What goes forward through the machine, and what comes back."""

SIDES = {"ours": Colour("#1f4fa3", "#84a4ff"), "theirs": Colour("#7a6a5c", "#b8a99a")}
"""This book's code, and what it is measured against."""

OTHERS = {"gold": Colour("#8a6d00", "#e0b23c"), "grey": Colour("#444444", "#d2cdc4")}
"""For things that have no role: a fifth curve, a sixth."""

MARKS = {"changed": Colour("#8f1fc7", "#cf6bff")}
"""What a reader has changed, and what comes of it."""

GROUPS = {
    "book": TENSORS,
    "part": PARTS,
    "gender": GENDERS,
    "pass": PASSES,
    "side": SIDES,
    "mark": MARKS,
    "plain": OTHERS,
}
"""All colours; in a style the key of "book" is --book-key."""


PAPER, INK, FAINT = (
    Colour("#ffffff", "#12161b"),
    Colour("#1d2530", "#dfe5ea"),
    Colour("#98a2ad", "#56616c"),
)
"""The ground of a page; letters and lines; grids and guides."""
