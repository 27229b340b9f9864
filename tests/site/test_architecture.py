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


def test_every_arrow_ends_where_something_is_and_stays_beside_its_column():
    edges = [(x, y, x + architecture.BOX, y + height) for _, x, y, height, *_ in architecture.BOXES]
    frames = [
        (x - 16, *architecture.ENCODER, x + architecture.BOX + 16) for x in (architecture.LEFT, architecture.RIGHT)
    ]
    for path in architecture._paths():
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path)]
        x, y = (numbers[0], numbers[-1]) if path.rindex("V") > path.rfind("H") else (numbers[-1], numbers[-2])
        at_box = any(a - 2 <= x <= c + 2 and b - 2 <= y <= d + 2 for a, b, c, d in edges)
        at_plus = abs(y - architecture.PLUS) <= 14
        free = y in (22, 582, 450, 352, 254, 126, 82)  # a step below what it points to, or out at the top
        assert at_box or at_plus or free, path
        corridors = [float(n) for n in re.findall(r"H(-?[\d.]+)", path)]
        assert all(any(left <= n <= right for left, _, _, right in frames) or 234 <= n <= 246 for n in corridors), path
