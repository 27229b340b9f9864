"""The picture on the first page: a box leads to its chapter where that exists, and is dashed where it does not."""

import re
import xml.etree.ElementTree as ET

import architecture
import pytest
from guards import ORDER

SVG = "{http://www.w3.org/2000/svg}"


def picture(*chapters):
    return ET.fromstring(architecture.svg(chapters, lambda name: f"{name}.html"))


def words(element):
    return [" ".join(" ".join(text.itertext()).split()) for text in element.iter(f"{SVG}text")]


def test_without_chapters_every_box_is_still_to_come():
    assert not list(picture().iter(f"{SVG}a"))
    assert len(picture().findall(f"{SVG}g[@class='planned']")) == len(architecture.BOXES) + 4  # frames and positions


def test_a_box_leads_to_the_first_of_its_chapters_that_exists():
    links = {a.get("href"): words(a) for a in picture("attention", "embedding").iter(f"{SVG}a")}
    assert links.keys() == {"attention.html", "embedding.html"}
    assert picture("attention", "heads").find(f"{SVG}a[@href='heads.html']") is not None


def test_an_address_stays_one_attribute():
    drawn = ET.fromstring(architecture.svg(["embedding"], lambda name: f'{name}.html?a&b="c"'))
    assert {a.get("href") for a in drawn.iter(f"{SVG}a")} == {'embedding.html?a&b="c"'}


@pytest.mark.parametrize("name", ["embedding", "positions", "attention"])
def test_the_chapters_of_the_book_are_in_the_picture(name):
    assert any(a.get("href") == f"{name}.html" for a in picture(*ORDER).iter(f"{SVG}a"))


def test_what_a_screen_reader_hears_begins_with_what_is_seen():
    for a in picture(*{name for box in architecture.BOXES for name in box[5]}, "positions").iter(f"{SVG}a"):
        assert a.get("aria-label").startswith(words(a)[0].removesuffix(" N×"))


def test_nothing_lies_outside_the_picture_or_on_another_box():
    boxes = [(x, y, x + architecture.BOX, y + height) for _, x, y, height, *_ in architecture.BOXES]
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= 0
        assert right <= architecture.WIDTH
        assert bottom <= architecture.HEIGHT
        assert all(right <= a or c <= left or bottom <= b or d <= top for a, b, c, d in boxes[:i])
    for path in picture().iter(f"{SVG}path"):
        if path.get("class") == "flow":
            assert all(0 <= float(n) <= architecture.HEIGHT for n in re.findall(r"-?[\d.]+", path.get("d")))


def test_every_arrow_leads_down_and_ends_at_a_box_at_a_plus_or_at_the_words_below():
    edges = [(x, y, x + architecture.BOX, y + height) for _, x, y, height, *_ in architecture.BOXES]
    frames = [
        (x - 16, *architecture.ENCODER, x + architecture.BOX + 16) for x in (architecture.LEFT, architecture.RIGHT)
    ]
    pluses = [
        (float(plus.get("cx")), float(plus.get("cy")))
        for plus in picture().iter(f"{SVG}circle")
        if plus.get("class") == "plus"
    ]
    for path in architecture._paths():
        x, y, *rest = (float(n) for n in re.findall(r"-?[\d.]+", path))
        levels, corridors = [y], []
        for command, n in zip(re.findall("[VH]", path), rest, strict=True):
            (levels if command == "V" else corridors).append(n)
        assert levels == sorted(set(levels)), f"{path} leads upwards"
        x, y = [x, *corridors][-1], levels[-1]
        at_box = any(a - 3 <= x <= c + 3 and b - 3 <= y <= d + 3 for a, b, c, d in edges)
        at_plus = any(x == across and 11 <= down - y <= 14 for across, down in pluses)
        at_words = y == architecture.HEIGHT - 24
        assert at_box or at_plus or at_words, path
        assert all(any(left <= n <= right for left, _, _, right in frames) for n in corridors), path
