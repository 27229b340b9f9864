"""One dictionary of colours: what a thing is drawn in, in every picture, formula and figure, on light pages and dark.

Within a group all colours can be told apart by colour-blind readers, and names, dashes or marks tell them apart too.
"""

from typing import NamedTuple

import numpy as np


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

OTHERS = {"gold": Colour("#8a6d00", "#e0b23c"), "grey": Colour("#444444", "#b4bcc4")}
"""For things that have no role: a fifth curve, a sixth."""

GROUPS = {
    "book": TENSORS,
    "part": PARTS,
    "gender": GENDERS,
    "pass": PASSES,
    "side": SIDES,
    "plain": OTHERS,
}
"""All colours; in a style the key of "book" is --book-key."""


def style() -> str:
    """The dictionary as custom properties of a page."""

    def inside(theme: str) -> str:
        return f"--faint:{getattr(FAINT, theme)};" + "".join(
            f"--{group}-{name}:{getattr(colour, theme)};"
            for group, colours in GROUPS.items()
            for name, colour in colours.items()
        )

    return f':root{{{inside("light")}}}html[data-theme="dark"]{{{inside("dark")}}}\n'


PAPER, INK, FAINT = (
    Colour("#ffffff", "#12161b"),
    Colour("#1d2530", "#dfe5ea"),
    Colour("#98a2ad", "#56616c"),
)
"""The ground of a page; letters and lines; grids and guides."""

_NAMES = {
    colour.light: f"--{group}-{name}"
    for group, colours in GROUPS.items()
    for name, colour in colours.items()
}
_NAMES |= {
    PAPER.light: "--pst-color-background",
    INK.light: "--pst-color-text-base",
    FAINT.light: "--faint",
}


def named(colour: str) -> str | None:
    """The custom property of a light colour of the dictionary; None for any other colour."""
    return _NAMES.get(colour)


def dark(colour: str) -> str:
    """What a colour of a light page becomes on a dark one: its hue stays, and its lightness turns round.

    The lightness is that of Oklab (Ottosson 2020), in which equal steps look equal.
    """
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    lightness, *hue = _FROM_CONES @ np.cbrt(_TO_CONES @ linear)
    turned = np.array([0.2 + 0.74 * (1 - lightness), *hue])
    linear = np.linalg.solve(_TO_CONES, np.linalg.solve(_FROM_CONES, turned) ** 3).clip(
        0, 1
    )
    share = np.where(
        linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return "#" + "".join(f"{round(255 * part):02x}" for part in share)


_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_FROM_CONES = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
