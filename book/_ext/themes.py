"""The dictionary of colours on a page, in both themes, and what any other colour becomes in the dark."""

import numpy as np

from tested_transformer.book import colours

_NAMES = {
    colour.light: f"--{group}-{name}"
    for group, own in colours.GROUPS.items()
    for name, colour in own.items()
}
_NAMES |= {
    colours.PAPER.light: "--pst-color-background",
    colours.INK.light: "--pst-color-text-base",
    colours.FAINT.light: "--faint",
}

ON_TILES = {
    "light": "--white-on-tile:#fff;--black-on-tile:#000;",
    "dark": "--white-on-tile:#000;--black-on-tile:#fff;",
}


def named(colour):
    """The custom property of a light colour of the dictionary; None for any other colour."""
    return _NAMES.get(colour)


def dark(colour):
    """What a colour of a light page becomes on a dark one: its hue stays, and its lightness turns round.

    The lightness is that of Oklab (Ottosson 2020), in which equal steps look equal.
    """
    lightness, *hue = _oklab(colour)
    ground, *shade = _oklab(colours.PAPER.dark)
    # white becomes the ground of the page; black and white read equally well on the same tile as before
    turned = ground + (0.94 - ground) * max(1 - lightness, 0) ** 0.85
    turned = np.array([turned, *(np.array(hue) + lightness * np.array(shade))])
    linear = np.linalg.solve(_TO_CONES, np.linalg.solve(_FROM_CONES, turned) ** 3).clip(
        0, 1
    )
    share = np.where(
        linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return "#" + "".join(f"{round(255 * part):02x}" for part in share)


def _oklab(colour):
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return _FROM_CONES @ np.cbrt(_TO_CONES @ linear)


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


def style():
    """The dictionary as custom properties of a page."""

    def inside(theme):
        return f"--faint:{getattr(colours.FAINT, theme)};{ON_TILES[theme]}" + "".join(
            f"--{group}-{name}:{getattr(colour, theme)};"
            for group, own in colours.GROUPS.items()
            for name, colour in own.items()
        )

    return f':root{{{inside("light")}}}html[data-theme="dark"]{{{inside("dark")}}}\n'
