"""The frame of the pages: what comes next, the cards of the first page; `test_a_page_is_sound` measures the machine."""

import json

import front
import pytest
import routes

STORY = [name for name in routes.pages() if routes.route(name) == "story"]
FIRST = "book/index.html"
STRAIGHT = str.maketrans("“”‘’", "\"\"''")
# The room that each picture takes, and its own shape; one that is lazy has no shape before it is near.
PICTURES = """async () => {
  const images = [...document.querySelectorAll('.cards img')];
  for (const image of images) image.loading = 'eager';
  await Promise.all(images.map(image => image.decode()));
  return images.map(i => [i.getBoundingClientRect().width, i.getBoundingClientRect().height,
      i.naturalWidth / i.naturalHeight]);
}"""

# Scrolls there, and waits a little longer than a chapter waits before it is remembered.
SCROLLED = """section => new Promise(done => {
  let still;
  document.addEventListener('scroll', () => { clearTimeout(still); still = setTimeout(done, 1200); });
  section.scrollIntoView();
})"""


@pytest.mark.parametrize("width", [1280, 390])
def test_without_scripts_the_story_is_read_from_page_to_page(visit, width):
    page = visit(FIRST, width=width, java_script_enabled=False)
    page.get_by_role("link", name="Start the story").click()
    for name in STORY[:4]:
        page.wait_for_url(f"**/{name}.html")
        page.locator(".story-on a").first.click()
    page.wait_for_url(f"**/{STORY[4]}.html")
    page.locator(".prev-next-footer a", has_text="Before in the story").click()
    page.wait_for_url(f"**/{STORY[3]}.html")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_next_question_stands_below_the_next_title(visit, width):
    page = visit(f"book/{STORY[3]}.html", width=width, java_script_enabled=False)
    line, asked = page.locator(".story-on"), page.locator(".story-on .asked").first
    assert asked.inner_text().translate(STRAIGHT) == front.routes.headline(f"book/{STORY[4]}")[1]
    link, below, frame = (part.bounding_box() for part in (line.locator("a").first, asked, line))
    assert link["y"] + link["height"] <= below["y"] + 4
    assert frame["x"] <= below["x"] < below["x"] + below["width"] <= frame["x"] + frame["width"]


def test_the_end_of_the_story_says_so(visit):
    page = visit(f"book/{STORY[-1]}.html", java_script_enabled=False)
    for where in (".story-on", ".right-next"):
        assert "The story ends here" in page.locator(where).inner_text()


@pytest.mark.parametrize(("width", "columns"), [(1280, (2, 3)), (390, (1, 1)), (320, (1, 1))])
def test_the_cards_stand_in_columns_with_their_pictures(visit, width, columns):
    page = visit(FIRST, width=width)
    for part in page.locator("details:has(> .cards) > summary").all():
        assert not part.locator("xpath=../ul").is_visible()
        part.click()
    cards = page.locator("details .cards > li")
    assert cards.count() == len([name for name in routes.pages() if "/" not in name])
    lefts = set(cards.evaluate_all("all => all.map(card => Math.round(card.getBoundingClientRect().x))"))
    assert columns[0] <= len(lefts) <= columns[1]
    for width, height, natural in page.evaluate(PICTURES):
        assert width / height == pytest.approx(natural, rel=0.03), "not squeezed"
    card = page.locator("details .cards > li", has_text="Masks").first
    card.click(position={"x": 20, "y": card.bounding_box()["height"] - 5})  # the whole card leads to its chapter
    page.wait_for_url("**/masks.html")


def test_one_line_opens_the_machine(visit):
    page = visit("book/attention.html", width=390, has_touch=True, is_mobile=True)
    line, parts = page.get_by_text("Part 5 of 12: attention"), page.locator(".machine a")
    assert line.bounding_box()["height"] >= 44
    assert not parts.first.is_visible()
    line.tap()
    assert all(part.bounding_box()["height"] >= 44 for part in parts.all())
    parts.filter(has_text="heads").tap()
    page.wait_for_url("**/heads.html")


def test_on_paper_there_is_no_strip(visit):
    page = visit("book/heads.html")
    page.emulate_media(media="print")
    assert not page.locator(".machine").is_visible()


def test_the_first_page_leads_back_to_where_the_book_was_last_read(visit, stored):
    page = visit("book/adam.html")
    section = page.locator("section:has(> h2)").nth(1)
    title = section.locator("h2").evaluate("h2 => h2.firstChild.textContent")
    section.evaluate("section => section.scrollIntoView()")
    page.wait_for_function("localStorage.getItem('last read')")
    place = f"{page.url}#{section.get_attribute('id')}"
    stored(page, **{"last read": json.dumps([place, f"Adam: {title}"], ensure_ascii=False, separators=(",", ":"))})
    page.goto(page.url.replace("adam", "index"))
    page.get_by_role("link", name=f"Adam: {title}").click()
    page.wait_for_url(place)


def test_what_is_only_looked_up_is_no_place_to_go_on_reading(visit):
    page = visit("book/glossary.html")
    page.locator("section:has(> h2)").nth(2).evaluate(SCROLLED)
    assert page.evaluate("localStorage.getItem('last read')") is None
    assert "Go on reading" not in visit(FIRST).locator(".bd-article").inner_text()
