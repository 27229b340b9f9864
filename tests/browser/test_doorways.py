"""Numbers that lead to their cells: by mouse, keyboard and finger, with scripts and without, and back."""

import json

import build
import pytest

PAGE = "book/adam.html"
# The first door of the idea to a cell that is folded, and the cell.
FOLDED = """() => [...document.querySelectorAll('a.door')].filter(a => a.checkVisibility() && a.hash && !a.title)
    .map(a => [a, document.getElementById(a.hash.slice(1))])
    .filter(([a, cell]) => cell?.id.startsWith('code-') && cell.closest('.mark:not([open])'))
    .map(([a]) => a.hash)"""
LINES = (
    """a => parseFloat(getComputedStyle(a).borderBottomWidth) ? "underline" : getComputedStyle(a).textDecorationLine"""
)
QUIET = """() => [...document.querySelectorAll('.bd-article a.door')].every(a => {
  const own = getComputedStyle(a), around = getComputedStyle(a.parentElement);
  return own.color === around.color && own.textDecorationLine === 'none'
      && own.borderBottomWidth === '0px';
})"""


@pytest.fixture
def folded(visit):
    """Opens a page, and gives it with the first door to a cell that is folded."""

    def found(**settings):
        page = visit(PAGE, reduced_motion="reduce", **settings)
        address = page.evaluate(FOLDED)[0]
        return page, page.locator(f'a.door[href="{address}"]').first, page.locator(address)

    return found


def test_a_door_says_what_was_printed_while_it_is_pointed_at_or_has_the_focus(folded):
    page, door, _ = folded()
    meaning, said = page.locator("#meaning"), door.get_attribute("data-meaning")
    assert said.partition(":")[0] in ("printed", "checked", "in the code")
    door.hover()
    assert meaning.inner_text() == " ".join(said.split())
    page.keyboard.press("Escape")
    assert not meaning.is_visible()
    page.mouse.move(0, 0)
    door.focus()
    assert meaning.is_visible()
    assert door.evaluate("a => getComputedStyle(a).outlineStyle") == "solid"


@pytest.mark.parametrize("how", ["mouse", "keys", "finger"])
def test_a_door_opens_its_cell_and_the_cell_leads_back_to_the_sentence(folded, how):
    page, door, cell = folded(width=390 if how == "finger" else 1280, has_touch=how == "finger")

    def press(link):
        if how == "keys":
            link.focus()
            page.keyboard.press("Enter")
        else:
            link.tap() if how == "finger" else link.click()

    for _ in range(2):  # the second time the address stays as it is
        assert not cell.is_visible()
        press(door)
        cell.locator("pre").first.wait_for(state="visible")
        page.wait_for_function("e => e.getBoundingClientRect().top < innerHeight", arg=cell.element_handle())
        back = page.locator("a.way-back")
        assert back.inner_text() == "← the sentence"
        press(back)
        assert door.evaluate("a => a === document.activeElement")
        box = door.bounding_box()
        assert 0 < box["y"] < 900
        assert back.count() == 0
        page.evaluate("id => document.getElementById(id).closest('details').open = false", cell.get_attribute("id"))


def test_below_its_code_a_cell_has_the_numbers_that_the_text_has_from_there(folded):
    page, door, cell = folded()
    assert not cell.is_visible()
    door.click()
    link = page.locator(f".in-text a[href='#{door.get_attribute('id')}']")
    assert link.text_content() == "a formula"
    link.click()
    assert door.evaluate("a => a === document.activeElement")
    assert page.locator("a.way-back").count() == 0
    number = page.locator(f".claimed > p a.door[href='{door.get_attribute('href')}']").first
    link = page.locator(".in-text a", has_text=number.text_content()).first
    link.hover()
    said = page.locator("#meaning").text_content()
    assert number.text_content() in said
    assert said in " ".join(number.evaluate("a => a.closest('p').textContent").split())


def test_each_door_to_a_cell_has_its_way_back_but_solutions_say_nothing(visit):
    page = visit(PAGE)
    page.evaluate("() => { for (const fold of document.querySelectorAll('details')) fold.open = true; }")
    page.wait_for_timeout(200)
    links = page.evaluate("[...document.querySelectorAll('.in-text a')].map(a => a.hash)")
    to_cells = page.evaluate("""[...document.querySelectorAll('a.door')].filter(a => /^#(code|out)-/.test(a.hash)
        && !document.getElementById(a.hash.slice(1)).closest('#exercises')).length""")
    assert len(links) == len({*links}) == to_cells > 20
    assert page.locator("#exercises .in-text").count() == 0


def test_without_scripts_a_door_is_a_link_with_a_title_that_opens_its_cell(visit):
    page = visit(PAGE, java_script_enabled=False)
    address = page.locator(".claimed:has(> details.checked) > p a.door.asserted").first.get_attribute("href")
    door = page.locator(f"a.door[href='{address}']").first
    assert door.get_attribute("title").startswith(("checked: ", "in the code: "))
    cell = page.locator(door.get_attribute("href"))
    assert not cell.is_visible()
    door.click()
    assert cell.locator("pre").first.is_visible()
    page.locator("#doors").check()
    assert door.evaluate(LINES) == "underline"


def test_doors_are_quiet_until_all_are_lit_and_the_next_page_remembers_it(visit):
    page = visit(PAGE)
    assert page.locator("a.door").count() > 5
    assert page.evaluate(QUIET)
    page.locator("label:has(#doors)").click()
    assert {door.evaluate(LINES) for door in page.locator("a.door").all()} == {"underline"}
    page.reload()
    assert page.locator("#doors").is_checked()
    page.locator("#doors").uncheck()
    assert page.evaluate(QUIET)


def test_on_paper_no_number_is_underlined(visit):
    page = visit(PAGE)
    page.locator("#doors").check()
    page.emulate_media(media="print")
    assert {door.evaluate(LINES) for door in page.locator("a.door").all()} == {"none"}


def test_what_an_exercise_gives_is_no_door(visit):
    page = visit(PAGE)
    assert page.locator("#exercises").count() == 1
    assert page.locator("#exercises a.door").count() == 0


def test_claims_lists_each_number_with_its_proof():
    claims = json.loads((build.HTML / "claims.json").read_text(encoding="utf-8"))
    assert len(claims) > 500
    for claim in claims:
        assert {"page", "section", "place", "sentence", "number", "value", "kind", "line", "assertion", "url"} < {
            *claim
        }
        assert (build.HTML / f"{claim['page']}.html").is_file()
