"""Numbers that lead to their cells: by mouse, keyboard and finger, with scripts and without, and back."""

import json
import re

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
# What is marked, and whether its beginning is in sight: in the window, and in the box that scrolls sideways.
HELD = "[...document.querySelectorAll('mark.held')].map(mark => mark.textContent).join('')"
IN_SIGHT = """() => {
  const {top, bottom, left} = document.querySelector('mark.held').getBoundingClientRect();
  return {top: top > 48 && bottom <= innerHeight, left: left >= 0 && left < innerWidth};
}"""
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
        assert letters(page.evaluate(HELD)) == letters(door.get_attribute("data-meaning").partition(": ")[2])
        assert page.evaluate(IN_SIGHT) == {"top": True, "left": True}
        assert cell.evaluate("c => getComputedStyle(c).outlineStyle") == "none"  # its line is marked instead
        press(back)
        assert page.evaluate(HELD) == ""
        assert "#" not in page.url
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


def test_doors_are_quiet_until_all_are_lit_and_the_next_page_remembers_it(visit, stored):
    page = visit(PAGE)
    assert page.locator("a.door").count() > 5
    assert page.evaluate(QUIET)
    page.locator("label:has(#doors)").click()
    assert {door.evaluate(LINES) for door in page.locator("a.door").all()} == {"underline"}
    stored(page, doors="yes")
    page.reload()
    assert page.locator("#doors").is_checked()
    page.locator("#doors").uncheck()
    assert page.evaluate(QUIET)


def test_on_paper_no_number_is_underlined(visit):
    page = visit(PAGE)
    page.locator("#doors").check()
    page.emulate_media(media="print")
    assert {door.evaluate(LINES) for door in page.locator("a.door").all()} == {"none"}
    shapes = page.locator(".bd-article :not(div.math) > a.door").evaluate_all(
        "all => all.map(door => getComputedStyle(door).display)"
    )
    assert {*shapes} <= {"inline", "inline-block", "contents"}, "a number stays in its sentence"


def letters(text):
    """A text without what a page may write differently."""
    return re.sub(r"[\s|,…]", "", text.replace("−", "-"))


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_long_cell_the_line_is_scrolled_into_sight(visit, width):
    page = visit(PAGE, width=width, reduced_motion="reduce")
    door = page.locator("a.door:is(.printed, .asserted, .in-code)[href^='#']").last
    for fold in ("mark", "deeper"):
        page.evaluate("c => document.querySelectorAll(`details.${c}`).forEach(fold => fold.open = true)", fold)
    cell = page.locator(door.get_attribute("href"))
    cell.locator("pre").first.evaluate("pre => pre.prepend('\\n'.repeat(200))")
    door.click()
    page.locator("mark.held").first.wait_for()
    page.wait_for_function(IN_SIGHT.replace("return {", "return Object.values({").replace("};", "}).every(x => x);"))
    back = page.locator("a.way-back")  # it stays in sight beside a long cell
    assert 0 < back.bounding_box()["y"] < 900


@pytest.mark.parametrize("how", ["chip", "browser"])
def test_from_the_bibliography_there_is_a_way_back_to_the_number(visit, how):
    page = visit("book/heads.html", reduced_motion="reduce")
    door = page.locator("#exercises a.door.published").first
    door.click()
    page.wait_for_url("**/bibliography.html#*")
    back = page.locator(":target > a.way-back")
    assert back.inner_text() == "← the sentence"
    back.click() if how == "chip" else page.go_back()
    page.wait_for_url("**/heads.html")
    page.wait_for_function("document.activeElement.matches('#exercises a.door.published')")
    box = page.locator("#exercises a.door.published").first.bounding_box()
    assert 0 < box["y"] < 900
    page.reload()
    assert page.locator("a.way-back").count() == 0


def test_who_comes_to_the_bibliography_by_a_citation_sees_no_way_back(visit):
    page = visit("book/heads.html", reduced_motion="reduce")
    page.locator("a[href*='bibliography.html#']:not(.door)").first.click()
    page.wait_for_url("**/bibliography.html#*")
    assert page.locator("a.way-back").count() == 0


def test_from_a_section_of_the_page_there_is_a_way_back_too(visit):
    page = visit("book/errata.html", reduced_motion="reduce")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.locator("a.door:is(.printed, .asserted, .in-code)").first.click()
    page.locator("mark.held").first.wait_for()
    door = page.locator("a.door.linked[href='#a-vocabulary-of-512']")
    door.click()
    assert page.locator("mark.held").count() == 0  # what the first one marked
    back = page.locator(".bd-article :is(h2, h3) + a.way-back")
    back.wait_for()
    back.click()
    assert door.evaluate("a => a === document.activeElement")
    assert back.count() == 0


def test_a_door_does_not_answer_what_a_reader_is_still_asked(visit):
    page = visit("book/cut.html", reduced_motion="reduce")
    door, answer = page.locator("a.door.waits").first, page.locator(".guess + details").first
    door.click()
    assert not answer.evaluate("fold => fold.open")
    assert page.locator("#meaning").inner_text() == "What it shows waits for your answer."
    answer.locator("summary").first.click()
    door.click()
    cell = page.locator(door.get_attribute("href"))
    cell.wait_for()
    assert answer.evaluate("(fold, cell) => fold.contains(cell)", cell.element_handle())
    page.locator("mark.held").first.wait_for()
    door.focus()
    assert page.locator("#meaning").inner_text().startswith("printed: what is cut")


def test_what_lies_in_no_answer_does_not_wait_and_its_line_is_marked(visit):
    page = visit("book/bleu.html", reduced_motion="reduce")
    door = page.locator("a.door.waits[href='#code-bleu-025']").first
    door.click()
    page.locator("mark.held").first.wait_for()
    marked = "".join(page.locator("mark.held").all_inner_texts())
    assert marked == "assert all(96 < score < 97 for *_, score in rows)"


def test_a_line_is_marked_below_an_emoji_and_where_a_page_writes_powers(visit):
    page = visit("book/tokens.html", reduced_motion="reduce")
    page.locator("a.door[href='#code-tokens-053']").first.click()
    page.locator("mark.held").first.wait_for()
    marked = "".join(page.locator("mark.held").all_inner_texts())
    assert marked.startswith("assert")
    assert marked.endswith(("range(255 + 1)]", "24"))
    page = visit("book/schedule.html", reduced_motion="reduce")
    page.locator("a.door[href='#out-schedule-paper']", has_text="6.9877").first.click()
    page.locator("mark.held", has_text="6.9877").first.wait_for()


@pytest.mark.parametrize("name", ["adam", "chat", "encoder", "positions"])
def test_what_an_exercise_gives_is_no_door_and_no_question_leads_into_a_solution(visit, name):
    page = visit(f"book/{name}.html")
    claims = json.loads((build.HTML / "claims.json").read_text(encoding="utf-8"))
    mine = [claim for claim in claims if claim["page"] == f"book/{name}" and claim["section"] == "Exercises"]
    assert sum(claim["shown as"] == "given" for claim in mine) > 0
    assert page.locator("#exercises a.door").count() == sum(claim["shown as"] == "door" for claim in mine)
    assert page.locator("#exercises [id^=code-], #exercises [id^=out-]").count() == 0


def test_claims_lists_each_number_with_its_proof():
    claims = json.loads((build.HTML / "claims.json").read_text(encoding="utf-8"))
    assert len(claims) > 500
    for claim in claims:
        assert {"page", "section", "place", "sentence", "number", "value", "kind", "line", "assertion", "url"} < {
            *claim
        }
        assert (build.HTML / f"{claim['page']}.html").is_file()
