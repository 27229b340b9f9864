"""What is cut out of the theme's styles, and what must not be."""

import pytest
import styles


def cut(css):
    return styles.cut(styles.parsed(css), {"here", "there"})


@pytest.mark.parametrize(
    "css",
    [
        "p{a:b}",
        ".here{a:b}",
        ".here>p .there:hover{a:b}",
        ".here:not(.gone){a:b}",
        ".bs-tooltip-auto{a:b}",
        "@media print{.here{a:b}}",
        '@font-face{font-family:"x";src:url(x.woff)}',
        ":root{--x:.gone}",
    ],
)
def test_what_can_be_met_stays(css):
    assert cut(css) == css


@pytest.mark.parametrize(
    "css", [".gone{a:b}", ".here.gone{a:b}", "#gone p{a:b}", "@media print{.gone{a:b}}", r".gone\:x{a:b}"]
)
def test_what_nothing_can_meet_goes(css):
    assert cut(css) == ""


def test_of_several_selectors_those_stay_that_can_be_met():
    assert cut(".gone, .here, a:is(.gone, .here){a:b}") == ".here,a:is(.gone, .here){a:b}"
