"""The dictionary of colours: each can be read on its ground and told from the others."""

import itertools
import re

import pytest
import themes
from helpers import contrast

from tested_transformer.book import colours

GROUNDS = {"light": "#ffffff", "dark": "#12161b"}


@pytest.mark.parametrize("theme", GROUNDS)
def test_every_colour_can_be_read_on_its_ground(theme):
    for group in colours.GROUPS.values():
        for name, colour in group.items():
            assert contrast(getattr(colour, theme), GROUNDS[theme]) >= 4.5, name


@pytest.mark.parametrize("theme", GROUNDS)
def test_no_two_things_have_one_colour(theme):
    every = [getattr(colour, theme) for group in colours.GROUPS.values() for colour in group.values()]
    for one, other in itertools.combinations(every, 2):
        far = sum(abs(int(one[i : i + 2], 16) - int(other[i : i + 2], 16)) for i in (1, 3, 5))
        assert far >= 40, (one, other)


def test_a_page_gets_both_themes():
    light, dark = themes.style().split("html")
    assert light.startswith(":root{--faint:#98a2ad;")
    assert re.findall(r"--([\w-]+):", light) == re.findall(r"--([\w-]+):", dark)
    assert "--gender-die:#ff9db8;" in dark


@pytest.mark.parametrize(("light", "dark"), [("#ffffff", "#12161b"), ("#000000", "#ebebeb"), ("#2f86bd", "#0f76b0")])
def test_in_the_dark_the_lightness_turns_round(light, dark):
    assert themes.dark(light) == dark


def test_a_colour_in_the_dark_keeps_its_hue_and_its_place_in_a_scale():
    scale = ["#ffffff", "#b9d7ea", "#2f86bd", "#00456e"]
    seen = [contrast(themes.dark(colour), "#12161b") for colour in scale]
    assert seen == sorted(seen), "what stands out on white stands out on black"
    for colour in scale[1:]:
        red, green, blue = (int(themes.dark(colour)[i : i + 2], 16) for i in (1, 3, 5))
        assert red < green < blue
