"""Pictures that a narrow page shows smaller than they were drawn: a tap opens them at their own size."""

import build
import pytest
from test_pages import axe

PAGE = "book/attention.html"
LINKS = "a.image-reference"
SMALL = f"{LINKS}[aria-haspopup=dialog]:visible"


@pytest.fixture
def phone(visit):
    return lambda name=PAGE, **settings: visit(name, width=390, height=844, reduced_motion="reduce", **settings)


def width(element):
    return element.evaluate("e => e.getBoundingClientRect().width")


@pytest.mark.parametrize("way", ["tap", "click", "Enter"])
def test_a_picture_opens_at_its_own_size(phone, way):
    page = phone(has_touch=True)
    link, address = page.locator(SMALL).first, page.url
    picture, large = link.locator("img"), page.locator("dialog[open]")
    natural = int(picture.get_attribute("width"))
    assert width(picture) < natural
    link.press("Enter") if way == "Enter" else getattr(link, way)()
    assert large.get_attribute("aria-label") == picture.get_attribute("alt")
    assert width(large.locator("img")) == pytest.approx(natural)
    assert page.url == address
    page.keyboard.press("ArrowRight")  # the picture has the focus, and arrow keys move it
    page.wait_for_function("document.querySelector('dialog[open] > div').scrollLeft > 0")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


@pytest.mark.parametrize("way", ["Escape", "tap", "Close"])
def test_it_closes_and_the_focus_is_back(phone, way):
    page = phone(has_touch=True)
    link = page.locator(SMALL).nth(1)
    link.press("Enter") if way != "tap" else link.evaluate("e => e.click()")  # as in browsers that give it no focus
    if way == "Escape":
        page.keyboard.press("Escape")
    elif way == "tap":
        page.locator("dialog[open] img").tap()
    else:
        page.keyboard.press("Shift+Tab")
        page.get_by_role("button", name="Close").press("Enter")
    page.locator("dialog[open]").wait_for(state="detached")
    assert link.evaluate("e => e === document.activeElement")


@pytest.mark.parametrize("name", ["heads", "patches"])
def test_the_sign_that_a_picture_opens_covers_nothing_of_it(phone, name):
    below = """e => {
      const {height} = getComputedStyle(e, '::after'), foot = x => x.getBoundingClientRect().bottom;
      return [parseFloat(height), foot(e) - foot(e.querySelector('img'))];
    }"""
    links = phone(f"book/{name}.html").locator(SMALL).all()
    assert links
    for height, room in (link.evaluate(below) for link in links):
        assert 10 < height <= room


def test_a_picture_that_is_shown_whole_does_not_open(phone):
    page = phone()
    assert page.locator(SMALL).count() > 0
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function(f"!document.querySelector('{LINKS}[aria-haspopup]')")
    page.locator(LINKS).first.evaluate("e => e.addEventListener('click', event => event.preventDefault())")
    page.locator(LINKS).first.click()
    assert page.locator("dialog[open]").count() == 0
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(SMALL).first.wait_for()


def test_a_picture_in_a_fold_opens_too(phone):
    page = phone("book/addnorm.html")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    wide = page.locator(LINKS).evaluate_all(
        "all => all.filter(a => a.querySelector('img').width < a.querySelector('img').getAttribute('width')).length"
    )
    page.wait_for_function(f"document.querySelectorAll('{LINKS}[aria-haspopup]').length === {wide}")
    assert wide > 3


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
    turned = page.locator("dialog[open] img").evaluate("e => getComputedStyle(e).filter")
    assert turned == ("none" if theme == "light" else "invert(1) hue-rotate(180deg)")


def test_without_scripts_a_picture_is_a_link_to_its_file(phone):
    page = phone(java_script_enabled=False)
    href = page.locator(LINKS).first.get_attribute("href")
    assert (build.HTML / "book" / href).is_file()
