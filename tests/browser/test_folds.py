"""Folds on the pages: by mouse, keyboard and link, with scripts and without, on screen and on paper."""

import build
import pytest
from keyboard import keys

PAGE = "book/attention.html"
LINK = "#in-pytorch"
FOLDS = "details:is(.mark, .deeper)"
SEEN = "e => e.checkVisibility()"
HEADING = """() => {
  const place = document.querySelector('#in-pytorch'), heading = place.closest('details').querySelector('summary h3');
  const bar = document.querySelector('.bd-header-article').getBoundingClientRect().bottom;
  return [place.checkVisibility(), heading.getBoundingClientRect().top - bar];
}"""


def shut(page):
    return page.locator(f"{FOLDS}:not([open])").count()


@pytest.fixture
def follow(visit):
    """Opens the page at an address on it."""

    def followed(address, **settings):
        page = visit(PAGE, reduced_motion="reduce", **settings)
        page.goto("about:blank")
        page.goto((build.HTML / PAGE).as_uri() + address, wait_until="load")
        return page

    return followed


@pytest.mark.parametrize("scripts", [True, False])
def test_a_link_into_a_fold_opens_it_and_shows_its_heading(follow, scripts):
    page = follow(LINK, java_script_enabled=scripts)
    if scripts:
        opened, below = page.evaluate(HEADING)
        assert opened
        assert 0 <= below < 200
    box = page.locator(f"details:has({LINK}) > summary h3").bounding_box()
    assert page.locator(f"details:has({LINK}) > section p").first.is_visible()
    assert 40 <= box["y"] < 200
    assert page.locator("details.deeper:not([open])").count() > 3, "the others stay shut"


def test_a_link_in_the_contents_opens_its_fold(visit):
    page = visit(PAGE, reduced_motion="reduce")
    assert page.evaluate(HEADING)[0] is False
    for _ in range(2):
        page.locator(f'nav a[href="{LINK}"]:visible').click()
        page.wait_for_function(f"document.querySelector('{LINK}').checkVisibility()")
        page.evaluate("document.querySelector('#in-pytorch').closest('details').open = false")


def test_a_link_to_an_equation_opens_the_fold_that_it_is_in(follow):
    page = follow("#equation-score-variance")
    assert page.locator("#equation-score-variance").evaluate(SEEN)


def test_what_is_looked_for_is_found_in_folds(follow):
    page = follow("#:~:text=Making%20up%20the%20weights")
    page.wait_for_function("document.querySelector('#where-people-go-wrong').checkVisibility()", timeout=5000)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_mark_opens_with_a_click_and_with_a_key(visit, scripts):
    page = visit(PAGE, java_script_enabled=scripts)
    mark, other = page.locator(".claimed:has(> p) > details.checked").all()[:2]
    assert not mark.locator("pre").first.is_visible()
    mark.locator("summary").click()
    assert mark.locator("pre").first.is_visible()
    other.locator("summary").focus()
    page.keyboard.press("Enter")
    assert other.locator("pre").first.is_visible()


def test_a_mark_is_quiet_and_can_be_hit_and_has_a_ring_when_it_has_the_focus(visit):
    for theme in ("light", "dark"):
        page = visit(PAGE, color_scheme=theme)
        page.evaluate("() => { for (const fold of document.querySelectorAll('details.deeper')) fold.open = true; }")
        seen = [mark for mark in page.locator("details.mark > summary").all()[:20] if mark.evaluate(SEEN)]
        assert len(seen) > 10
        for mark in seen:
            box = mark.bounding_box()
            assert box["height"] >= 24
            assert box["width"] >= 24
        first = page.locator("details.mark > summary").first
        first.focus()
        keys(page, "Shift+Tab Tab")
        assert first.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        assert first.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"


LAST = """() => [...document.querySelectorAll('section:not(.deeper *) > .claimed:has(> details.behind)')].map(e => {
  const seen = e.firstElementChild, mark = e.querySelector(':scope > .behind > summary').getBoundingClientRect();
  const lines = (seen.matches('p') ? seen : seen.querySelector('figcaption p') ?? seen).getClientRects();
  const line = [...lines].at(-1), text = document.querySelector('.bd-article').getBoundingClientRect();
  return { paragraph: seen.matches('p'), after: mark.left - line.right, below: mark.top - line.bottom,
           margin: mark.left - text.right, middle: (mark.top + mark.bottom) / 2 - line.bottom };
})"""


def test_on_a_wide_page_each_block_has_one_mark_in_the_margin_beside_its_last_line(visit):
    page = visit(PAGE)
    found = page.evaluate(LAST)
    assert len(found) > 8
    assert all(-40 < mark["margin"] < 20 for mark in found), found
    assert all(-32 < mark["middle"] < 16 for mark in found), found
    assert page.locator(".claimed > .behind ~ .behind").count() == 0
    text = page.locator(".claimed:has(> p):has(> .behind) > p").first
    text.scroll_into_view_if_needed()
    before = text.bounding_box()
    mark = page.locator(".claimed:has(> p) > details.behind").first
    mark.locator("summary").click()
    code = mark.locator(".cell").first.bounding_box()
    assert text.bounding_box() == before
    assert code["y"] >= before["y"] + before["height"]
    assert code["width"] > 500


def test_on_a_phone_a_mark_ends_its_paragraph_or_is_nearer_to_what_it_serves_than_to_what_follows(visit):
    page = visit(PAGE, width=390)
    found = page.evaluate(LAST)
    lines = [mark for mark in found if mark["paragraph"] and mark["middle"] < 0]
    assert all(0 <= mark["after"] < 20 for mark in lines)
    assert len(lines) > len([mark for mark in found if mark["paragraph"]]) / 2, (
        "the others had no room on the last line"
    )
    gaps = page.evaluate("""() => [...document.querySelectorAll('section > .claimed:has(> .behind:last-child)')]
      .filter(e => e.checkVisibility() && e.nextElementSibling && e.querySelector('figcaption')).map(e => {
        const mark = e.querySelector(':scope > .behind > summary').getBoundingClientRect();
        const caption = e.querySelector('figcaption p').getBoundingClientRect();
        return [mark.top - caption.bottom, e.nextElementSibling.getBoundingClientRect().top - mark.bottom];
      })""")
    assert gaps
    assert all(0 <= before < after for before, after in gaps), gaps


# Questions to guess


def guessed(page, n):
    """The question after a choice, and where it is before and after."""
    guess = page.locator(".guess").first
    guess.scroll_into_view_if_needed()
    before = guess.locator("button").first.bounding_box()
    guess.locator("button").nth(n).click()
    assert guess.locator("button").first.bounding_box() == before, "nothing above the answer moves"
    return guess


def test_nothing_that_answers_a_question_is_seen_before_a_choice_or_a_wish_to_be_shown(visit):
    page = visit(PAGE)
    answer = page.locator(".guess + details.answer").first
    inside = answer.locator("p, math").first
    assert not inside.is_visible()
    answer.get_by_text("Show me").click()
    assert inside.is_visible()
    assert page.locator(".guess").first.get_by_role("button", name="(right)").count() == 1
    assert page.locator(".guess [role=status]").first.text_content() == ""


@pytest.mark.parametrize(("n", "said"), [(0, "Not this one: the right answer has the ✓."), (2, "That’s right.")])
def test_a_choice_says_whether_it_is_right_and_opens_the_answer(visit, n, said):
    page = visit(PAGE)
    guess = guessed(page, n)
    assert page.locator(".guess + details.answer p").first.is_visible()
    assert guess.get_by_role("status").text_content() == said
    assert guess.locator("button[aria-pressed=true]").count() == 1
    assert [b.get_attribute("aria-disabled") for b in guess.locator("button").all()] == ["true"] * 3
    assert "stay above zero" in guess.get_by_role("button", name="(right)").text_content()
    guess.locator("button").nth(1).click(force=True)
    assert guess.get_by_role("status").text_content() == said, "one guess is enough"


def test_a_choice_is_made_with_keys_too_and_can_be_hit_with_a_finger(visit):
    page = visit(PAGE, width=390)
    guess = page.locator(".guess").first
    assert all(button.bounding_box()["height"] >= 44 for button in guess.locator("button").all())
    guess.locator("button").first.focus()
    keys(page, "Tab Enter")
    assert guess.locator("button[aria-pressed=true]").text_content() == guess.locator("button").nth(1).text_content()
    assert page.locator(".guess + details.answer").first.get_attribute("open") is not None


def test_every_chapter_asks_before_it_answers(visit):
    page = visit("book/notation.html")
    for guess in page.locator(".guess").all():
        assert 2 <= guess.locator("button").count() <= 4
        assert guess.locator("button[data-right]").count() == 1


def test_one_switch_opens_all_folds_but_no_solution_and_closes_them(visit):
    page = visit(PAGE)
    folds, solutions = page.locator(FOLDS).count(), page.locator("details.above-input:not([open])").count()
    assert shut(page) == folds > 40
    switch = page.get_by_label("Open everything on this page")
    switch.focus()
    page.keyboard.press("Space")
    assert shut(page) == 0
    assert page.locator("details.above-input:not([open])").count() == solutions > 0
    page.locator("label:has(#unfold)").click()
    assert shut(page) == folds


def test_the_switch_is_remembered_on_the_next_page(visit, stored):
    page = visit(PAGE)
    page.locator("#unfold").check()
    stored(page, unfold="yes")
    page.goto((build.HTML / "book" / "masks.html").as_uri())
    page.wait_for_function("localStorage.getItem('unfold') === 'yes'")  # Chromium may carry it over a moment later
    page.reload()
    assert page.locator("#unfold").is_checked()
    assert shut(page) == 0
    page.locator("#unfold").uncheck()
    stored(page, unfold="no")
    page.reload()
    assert not page.locator("#unfold").is_checked()
    assert shut(page) > 10


def test_a_reader_who_opened_everything_still_arrives_where_a_link_leads(visit):
    page = visit(PAGE, reduced_motion="reduce")
    page.locator("#unfold").check()
    page.goto("about:blank")
    page.goto((build.HTML / PAGE).as_uri() + LINK, wait_until="load")
    assert 0 <= page.evaluate(HEADING)[1] < 200


@pytest.mark.usefixtures("own_tab")
def test_where_nothing_can_be_stored_the_switch_still_works(visit):
    page = visit(PAGE)
    page.add_init_script("""for (const how of ['getItem', 'setItem']) {
      const done = Storage.prototype[how];
      Storage.prototype[how] = function (key, ...rest) {
        if (key === 'unfold') throw new DOMException('nothing is stored here');
        return done.call(this, key, ...rest);
      };
    }""")
    page.reload()
    page.evaluate("unfold.click()")
    assert shut(page) == 0


def test_without_scripts_the_switch_opens_everything_too(visit):
    page = visit(PAGE, java_script_enabled=False)
    inside = [page.locator("details.deeper > section > p").first, page.locator("details.checked pre").first]
    assert [part.is_visible() for part in inside] == [False, False]
    page.locator("#unfold").check()
    assert [part.is_visible() for part in inside] == [True, True]
    assert not page.locator("details.above-input pre").first.is_visible()
    page.locator("#unfold").uncheck()
    assert [part.is_visible() for part in inside] == [False, False]


def test_what_lies_in_a_shut_fold_is_measured_when_it_opens(visit):
    """Or a browser would lay out every fold before the page is there."""
    page = visit(PAGE, width=390, reduced_motion="reduce")
    folded = page.locator("details:is(.mark, .deeper):not([open]) :is(pre, div.math)")
    assert folded.count() > 40
    assert folded.evaluate_all("all => all.filter(e => e.hasAttribute('tabindex')).length") == 0
    wide = """() => [...document.querySelectorAll('.bd-article :is(pre, div.math)')]
        .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)"""
    page.evaluate("() => { for (const fold of document.querySelectorAll('details')) fold.open = true; }")
    page.wait_for_function(f"({wide})().length > 10 && ({wide})().every(e => e.tabIndex === 0)")


@pytest.mark.parametrize("scripts", [True, False])
def test_on_paper_all_is_open_and_nothing_asks_to_be_clicked(visit, scripts):
    page = visit(PAGE, java_script_enabled=scripts)
    page.emulate_media(media="print")
    for part in (
        "details.deeper > section > p",
        "details.checked pre",
        "details.behind pre",
        "details.answer p",
        "details.deeper h3",
    ):
        assert page.locator(part).first.is_visible(), part
    for part in (".unfold", "details.mark > summary", "details.deeper > summary > small"):
        assert not page.locator(part).first.is_visible(), part


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_after_printing_the_page_is_as_the_reader_had_left_it(visit, theme):
    """A browser without a window does not print: what it tells the page before and after is told here."""
    page = visit(PAGE, color_scheme=theme)
    opened = page.locator("details.deeper, details.above-input").all()[1::3]
    for fold in opened:
        fold.evaluate("e => { e.open = true; }")
    seen = (
        "() => [document.documentElement.dataset.theme, ...[...document.querySelectorAll('details')].map(e => e.open)]"
    )
    before = page.evaluate(seen)
    assert before[0] == theme
    assert before.count(True) == len(opened) > 3
    for _ in range(2):
        page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
        assert page.evaluate(seen) == ["light", *[True] * (len(before) - 1)]
        page.evaluate("() => { dispatchEvent(new Event('afterprint')); }")
        assert page.evaluate(seen) == before
