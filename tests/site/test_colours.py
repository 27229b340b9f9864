"""The dictionary of colours: each can be read on its ground and told from the others."""

import itertools
import re

import pytest
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
    light, dark = colours.style().split("html")
    assert light.startswith(":root{--book-query:#0072b2;")
    assert re.findall(r"--([\w-]+):", light) == re.findall(r"--([\w-]+):", dark)
    assert "--gender-die:#ff9db8;" in dark
