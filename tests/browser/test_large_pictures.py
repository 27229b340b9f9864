"""Pictures that a narrow page shows smaller than they were drawn: a tap opens them at their own size."""

import pytest
from test_pages import axe

PAGE = "book/attention.html"
SMALL = ".drawn + .enlarge:visible"


@pytest.fixture
def phone(visit):
    return lambda name="book/bleu.html", **settings: visit(
        name, width=390, height=844, reduced_motion="reduce", **settings
    )


def width(element):
    return element.evaluate("e => e.getBoundingClientRect().width")


@pytest.mark.parametrize("way", ["tap", "click", "Enter"])
def test_a_picture_opens_at_its_own_size(phone, way):
    page = phone(has_touch=True)
    button, large = page.locator(SMALL).first, page.locator("dialog[open]")
    picture = page.locator(".drawn:has(+ .enlarge:not([hidden])) > svg").first
    natural = float(picture.get_attribute("width"))
    assert width(picture) < 0.7 * natural
    button.press("Enter") if way == "Enter" else getattr(button if way == "click" else picture, way)()
    assert large.get_attribute("aria-label") == picture.get_attribute("aria-label")
    assert width(large.locator("svg").first) == pytest.approx(natural, abs=0.1)
    page.keyboard.press("ArrowRight")  # the picture has the focus, and arrow keys move it
    page.wait_for_function("document.querySelector('dialog[open] > div').scrollLeft > 0")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


@pytest.mark.parametrize("way", ["Escape", "tap", "Close"])
def test_it_closes_and_the_focus_is_back(phone, way):
    page = phone(has_touch=True)
    button = page.locator(SMALL).first
    button.press("Enter")
    if way == "Escape":
        page.keyboard.press("Escape")
    elif way == "tap":
        page.locator("dialog[open] svg").first.tap()
    else:
        page.keyboard.press("Shift+Tab")
        page.get_by_role("button", name="Close").press("Enter")
    page.locator("dialog[open]").wait_for(state="detached")
    assert button.evaluate("e => e === document.activeElement")


def test_a_picture_that_can_be_read_as_it_is_does_not_open(phone):
    page = phone("book/addnorm.html")
    assert page.locator(".drawn > svg[role]").count() > 3
    assert page.locator(SMALL).count() == 0
    page = phone()
    page.locator(SMALL).first.wait_for()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator(SMALL).first.wait_for(state="detached")
    page.locator(".drawn > svg[role]").first.click()
    assert page.locator("dialog[open]").count() == 0


def test_a_drawing_of_the_page_itself_opens_and_its_links_still_lead(phone):
    page = phone("book/index.html")
    drawing, button = page.locator("article svg.architecture"), page.get_by_role("button", name="Enlarge the picture")
    button.click()
    large = page.locator("dialog[open]")
    assert large.get_attribute("aria-label") == drawing.get_attribute("aria-label")
    assert width(large.locator("svg")) > width(drawing) + 100
    large.locator("a", has_text="Feed forward").first.click()
    page.wait_for_url("**/feedforward.html")
    page.go_back()
    button.wait_for()
    page.set_viewport_size({"width": 1280, "height": 900})
    button.wait_for(state="hidden")
    assert drawing.is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_large_picture_can_be_used_by_everybody(phone, theme):
    page = phone(color_scheme=theme)
    page.locator(SMALL).first.click()
    assert axe(page) == []
    ground = page.locator("dialog[open]").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")


def test_without_scripts_a_picture_stands_in_the_page(phone):
    picture = phone(java_script_enabled=False).locator(".drawn > svg[role]").first
    assert picture.get_attribute("aria-label")
    assert width(picture) > 300
