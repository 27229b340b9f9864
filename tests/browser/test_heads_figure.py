"""Heads: pictures, links, words and tables show the weights of the chosen head, and every reader can choose."""

import numpy as np
import parity
import pytest
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.shares import as_share

FIGURE = "heads-figure"
SAYS = {"encoder": "English reads English", "decoder": "German reads German", "cross": "German reads English"}
LANGUAGES = {"encoder": ("en", "en"), "decoder": ("de", "de"), "cross": ("de", "en")}
LAYERS, HEADS = 2, 3


def weights(seed, rows, columns, causal=False):
    """Weights of all heads: rows add up to one; some are nothing at all."""
    w = np.random.default_rng(seed).dirichlet(np.full(columns, 0.3), size=(LAYERS, HEADS, rows))
    w = np.tril(w + 1e-3) if causal else w
    return w / w.sum(-1, keepdims=True)


def panels(seed, read, written):
    """A sentence of random words: what each kind weighs, what reads, and what is read."""
    reads = [f" e{n}" for n in range(read)]
    writes = [f" g{n}" for n in range(written)]
    steps = [f"{word.strip()} → {n}" for n, word in enumerate(writes)]
    return {
        "encoder": (weights(seed, read, read), reads, reads),
        "decoder": (weights(seed + 1, written, written, causal=True), steps, writes),
        "cross": (weights(seed + 2, written, read), steps, reads),
    }


SENTENCES = {"first": panels(0, 4, 5), "second": panels(9, 7, 3)}


def figure(sentences=SENTENCES, first=("cross", 1, 0)):
    return figures.looking.choices(sentences, SAYS, first, LANGUAGES)


@pytest.fixture
def page(show):
    return show(figure())


def choose(page, text, kind, layer, head):
    """By mouse, as a reader does."""
    page.locator(f"{FIGURE} select").select_option(label=text)
    page.get_by_role("radio", name=f"{kind} {SAYS[kind]}").check()
    page.get_by_role("radio", name=f"layer {layer + 1}, head {head + 1}").check()


def links(page):
    """What the lines say: from where, to where, how strong, how wide, whether to be seen, and their course."""
    script = """paths => paths.map(p => [p.dataset.i, p.dataset.j, p.getAttribute('stroke-opacity'),
        parseFloat(p.getAttribute('stroke-width')), getComputedStyle(p).visibility === 'visible',
        p.getAttribute('d')])"""
    found = page.locator(f"{FIGURE} .between path").evaluate_all(script)
    return [(int(i), int(j), round((float(w) - 0.2) / 0.8, 3), *others) for i, j, w, *others in found]


def tiles(page):
    """The small pictures as matrices, in the order of the page."""
    script = """svgs => svgs.map(svg => [svg.getAttribute('viewBox').split(' ').map(Number), [...svg.children].map(t =>
        ['x', 'y', 'fill-opacity'].map(name => Number(t.getAttribute(name))))])"""
    found = []
    for (_, _, columns, rows), drawn in page.locator(f"{FIGURE} .tiles").evaluate_all(script):
        x = np.zeros((int(rows), int(columns)))
        for j, i, w in drawn:
            x[int(i), int(j)] = w
        found.append(x)
    return found


def words(page, side):
    """The words of a column, each with the weight beside it."""
    script = "ws => ws.map(w => [w.querySelector('.word').textContent, w.querySelector('.weight').textContent])"
    return page.locator(f"{FIGURE} .{side} li").evaluate_all(script)


def word(page, side, n):
    return page.locator(f"{FIGURE} .{side} li").nth(n)


def status(page):
    return page.locator(f"{FIGURE} .status")


# What is shown


@pytest.mark.parametrize("kind", SAYS)
def test_pictures_links_and_table_show_the_weights_of_every_head(page, kind):
    page.locator("details").evaluate("e => e.open = true")
    for text, kinds in SENTENCES.items():
        w, rows, columns = kinds[kind]
        choose(page, text, kind, 0, 0)
        shown = tiles(page)
        assert len(shown) == LAYERS * HEADS
        rounded = np.round(w, 3)
        for (layer, head), small in zip(np.ndindex(LAYERS, HEADS), shown, strict=True):
            assert np.array_equal(small, np.where(rounded[layer, head] < 0.02, 0, rounded[layer, head])), (layer, head)
        for layer, head in np.ndindex(LAYERS, HEADS):
            choose(page, text, kind, layer, head)
            lines = links(page)
            assert {(i, j): x for i, j, x, *_ in lines} == {
                (i, j): x for (i, j), x in np.ndenumerate(rounded[layer, head]) if x >= 0.02
            }
            assert all(seen for *_, seen, _ in lines)
            for i, j, _, _, _, path in lines:
                assert path.startswith(f"M0 {i + 0.5}C") and path.endswith(f" 100 {j + 0.5}")  # noqa: PT018
            strengths = sorted((x, width) for _, _, x, width, *_ in lines)
            assert [width for _, width in strengths] == sorted(width for _, width in strengths)
            script = "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"
            head_row, *body = page.locator("details table").evaluate(script)
            assert head_row == ["", *(c.strip() for c in columns)]
            assert [row[0] for row in body] == [r.strip() for r in rows]
            assert np.array_equal(np.array([row[1:] for row in body], dtype=float), rounded[layer, head])


def test_the_columns_are_named_and_hold_the_words_of_the_kind(page):
    for text, kinds in SENTENCES.items():
        for kind, (_, rows, columns) in kinds.items():
            choose(page, text, kind, 1, 2)
            for side, title, expected in (("reads", "reads", rows), ("is-read", "is read", columns)):
                assert page.locator(f".{side} p").inner_text() == title
                assert [w for w, _ in words(page, side)] == [e.strip() for e in expected]
            assert page.locator(".name").last.inner_text() == f"{kind}, layer 2, head 3"


@pytest.mark.parametrize(("kind", "languages"), LANGUAGES.items())
def test_words_are_named_in_their_language(page, kind, languages):
    choose(page, "first", kind, 0, 0)
    page.locator("details summary").click()
    places = (".reads ul", ".is-read ul"), ("table.numbers th[scope=row]", "table.numbers th[scope=col]")
    for place in places:
        assert [page.locator(p).last.get_attribute("lang") for p in place] == [*languages]
    told = "langs => `${[...document.querySelectorAll('.status span')].map(e => e.lang)}` === langs"
    page.wait_for_function(told, arg=",".join(languages))
    word(page, "is-read", 0).click()
    page.wait_for_function(told, arg=",".join([languages[1], *[languages[0]] * 3]))


def test_the_figure_starts_with_what_it_was_told_and_with_what_the_fallback_says(show):
    page = show(figure(first=("decoder", 0, 2)))
    assert page.locator(".name").last.inner_text() == "decoder, layer 1, head 3"
    assert page.get_by_role("radio", name="layer 1, head 3").is_checked()
    assert page.get_by_role("radio", name="decoder").is_checked()
    script = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
    rows = page.locator(".fallback table", has_text="decoder, layer 1, head 3").evaluate(script)
    for n, (name, most, weight) in enumerate(rows):
        word(page, "reads", n).hover()
        beside = dict(words(page, "is-read"))
        assert words(page, "reads")[n][0] == name
        assert beside[most] == weight == max(beside.values())


# A word and its links


@pytest.mark.parametrize("how", ["hover", "focus", "click"])
def test_a_word_shows_its_own_links_and_their_weights(page, how):
    choose(page, "second", "cross", 1, 1)
    for side in ("reads", "is-read"):
        shows_its_links(page, side, how)


def shows_its_links(page, side, how):
    w = np.round(SENTENCES["second"]["cross"][0][1, 1], 3)
    n, axis = 1, ("reads", "is-read").index(side)
    getattr(word(page, side, n), how)()
    expected = w[n] if side == "reads" else w[:, n]
    other = "is-read" if side == "reads" else "reads"
    assert [x for _, x in words(page, other)] == [as_share(x, 3) for x in expected]
    assert {x for _, x in words(page, side)} == {""}
    assert {line[:2][axis] for line in links(page) if line[4]} == {n}
    assert sum(line[4] for line in links(page)) == (expected >= 0.02).sum()
    assert [e.get_attribute("aria-selected") for e in page.locator(f".{side} li").all()].count("true") == 1
    assert word(page, side, n).get_attribute("aria-selected") == "true"


def test_all_links_come_back_by_button_by_escape_and_with_other_words(page):
    button = page.get_by_role("button", name="All links")
    everything = len(links(page))
    assert button.is_disabled()
    ways = (button.click, lambda: page.keyboard.press("Escape"), lambda: choose(page, "first", "encoder", 1, 0))
    for back in ways:
        word(page, "reads", 0).click()
        assert sum(line[4] for line in links(page)) < everything
        back()
        assert all(line[4] for line in links(page))
        assert {x for side in ("reads", "is-read") for _, x in words(page, side)} == {""}


def test_a_chosen_word_stays_when_the_head_changes(page):
    word(page, "reads", 2).click()
    page.get_by_role("radio", name="layer 1, head 2").check()
    w = np.round(SENTENCES["first"]["cross"][0][0, 1], 3)
    assert [x for _, x in words(page, "is-read")] == [as_share(x, 3) for x in w[2]]


def test_words_that_scroll_under_a_pointer_at_rest_are_not_chosen(show):
    page = show(figure(), height=300)
    word(page, "reads", 3).click()
    before = page.evaluate("scrollY")
    up = word(page, "reads", 3).bounding_box()["y"] - word(page, "reads", 1).bounding_box()["y"]
    page.mouse.wheel(0, -up)
    page.wait_for_function("y => scrollY === y", arg=before - up)
    page.wait_for_timeout(200)  # the browser looks again at what lies under the pointer
    assert word(page, "reads", 1).evaluate("e => e.matches(':hover')")
    assert word(page, "reads", 3).get_attribute("aria-selected") == "true"


def test_the_links_of_a_word_are_told_largest_first(page):
    choose(page, "second", "encoder", 0, 1)
    w = np.round(SENTENCES["second"]["encoder"][0][0, 1], 3)
    word(page, "reads", 4).click()
    status(page).get_by_text("“e4” reads").wait_for()
    largest = ", ".join(f"“e{j}” {as_share(w[4, j], 3)}" for j in np.argsort(-w[4], kind="stable")[:3])
    assert status(page).inner_text() == f"“e4” reads {largest} …"
    word(page, "is-read", 4).click()
    status(page).get_by_text("“e4” is read by").wait_for()
    largest = ", ".join(f"“e{i}” {as_share(w[i, 4], 3)}" for i in np.argsort(-w[:, 4], kind="stable")[:3] if w[i, 4])
    assert status(page).inner_text().startswith(f"“e4” is read by {largest}")
    page.keyboard.press("Escape")
    status(page).get_by_text("Strongest link").wait_for()
    i, j = np.unravel_index(w.argmax(), w.shape)
    assert f"“e{i}” reads “e{j}”, {as_share(w[i, j], 3)}." in status(page).inner_text()


def test_a_word_that_nobody_reads_says_so(show):
    w = np.zeros((1, 1, 2, 2))
    w[..., 0] = 1
    page = show(figures.looking.choices({"a": {"cross": (w, "xy", "ab")}}, {"cross": ""}, ("cross", 0, 0)))
    word(page, "is-read", 1).click()
    status(page).get_by_text("“b” is read by nobody.").wait_for()


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.tagName") == "SELECT"
    page.keyboard.press("ArrowDown")
    assert len(words(page, "is-read")) == 7, "the second sentence"
    for kind in ("text", "submit", "radio"):  # an own sentence, the kinds
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.type") == kind
    page.keyboard.press("ArrowUp")
    assert page.evaluate(f"{focused}.value") == "decoder"
    keys(page, "Tab ArrowRight")
    assert page.locator(".name").last.inner_text() == "decoder, layer 2, head 2"
    page.keyboard.press("Tab")
    side, place = f"{focused}.closest('div').className", f"[...{focused}.parentElement.children].indexOf({focused})"
    assert page.evaluate(side) == "reads"
    for key, n in (("ArrowDown", 1), ("End", 2), ("ArrowDown", 2), ("ArrowUp", 1), ("Home", 0), ("ArrowUp", 0)):
        page.keyboard.press(key)
        assert page.evaluate(place) == n
        assert word(page, "reads", n).get_attribute("aria-selected") == "true"
    keys(page, "ArrowDown Tab")
    assert page.evaluate(side) == "is-read"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(place) == 1, "back to the word that was chosen"
    keys(page, "Tab Tab")
    assert page.evaluate(f"{focused}.type") == "checkbox", "what is changed in the model"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.textContent") == "All links"
    page.keyboard.press("Enter")
    assert all(line[4] for line in links(page))


def test_touch_chooses_a_word(show):
    page = show(figure(), width=390, height=800, has_touch=True, is_mobile=True)
    word(page, "reads", 2).tap()
    assert {line[0] for line in links(page) if line[4]} == {2}
    word(page, "is-read", 1).tap()
    assert {line[1] for line in links(page) if line[4]} == {1}
    page.get_by_role("button", name="All links").tap()
    assert all(line[4] for line in links(page))
    page.locator(".heads .choice").nth(3).tap()
    assert page.locator(".name").last.inner_text() == "cross, layer 2, head 1"


def test_lines_end_at_their_words(page):
    for text in SENTENCES:
        choose(page, text, "cross", 0, 0)
        middle = "e => { const {y, height} = e.getBoundingClientRect(); return y + height / 2 }"
        box = page.locator(".between svg").bounding_box()
        rows = max(len(words(page, side)) for side in ("reads", "is-read"))
        for side in ("reads", "is-read"):
            for n, y in enumerate(page.locator(f".{side} li").evaluate_all(f"es => es.map({middle})")):
                assert abs(box["y"] + (n + 0.5) * box["height"] / rows - y) < 1.5


def test_two_figures_on_a_page_choose_for_themselves(show):
    one = figure()
    html = one._repr_html_()
    one._repr_html_ = lambda: html + html
    page = show(one)
    page.get_by_role("radio", name="encoder").first.check()
    assert page.locator("p.name").all_inner_texts()[1::2] == ["encoder, layer 2, head 1", "cross, layer 2, head 1"]


# A sentence of the reader's own, and experiments with it

OWN = "I need the chair because it is old."


@pytest.fixture
def own(show):
    """The translator's heads, four to a layer, with the sentence of the book asked for by hand."""
    names = ["a", "b"]
    w = np.full((2, 4, 2, 2), 0.5)
    plain = {"encoder": (w, names, names), "decoder": (w, names, names), "cross": (w, names, names)}
    page = show(figure({"a b → a b": plain}, ("encoder", 1, 2)))
    page.get_by_label("A sentence of your own, in English").fill(OWN)
    page.get_by_role("button", name="Look into it").click()
    said(page, "It writes: Ich brauche den Stuhl, weil er alt ist.")
    return page


def said(page, text):
    script = "text => document.querySelector('.result').textContent.startsWith(text)"
    page.wait_for_function(script, arg=text)


def seen(page):
    return page.evaluate(f"document.querySelector('{FIGURE}').panel")


def test_a_sentence_of_ones_own_has_the_weights_of_the_package(own):
    assert (
        own.locator(f"{FIGURE} select option").all_inner_texts()[1]
        == f"{OWN} → Ich brauche den Stuhl, weil er alt ist."
    )
    wanted = parity.answer(OWN)
    for kind in SAYS:
        own.get_by_role("radio", name=f"{kind} {SAYS[kind]}").check()
        panel = seen(own)
        assert np.allclose(panel["weights"], wanted[kind], rtol=0, atol=parity.NEAR), kind
        sides = {len(panel["rows"]), len(panel["columns"])}
        assert sides == {*wanted[kind].shape[2:]}
    own.get_by_role("radio", name=f"cross {SAYS['cross']}").check()
    assert seen(own)["rows"][0] == "<bos> → Ich"
    assert seen(own)["rows"][-1] == ". → <eos>"


def test_a_head_that_is_switched_off_changes_what_is_written_as_in_the_package(own):
    own.get_by_role("switch").check()
    said(own, "With 1 head off: ")
    wanted = parity.answer(OWN, gains=[("encoder", 1, 2, 0)])
    german = parity.translator().tokens.decode([i for i in wanted["ids"] if i != 2])
    said(own, f"With 1 head off: {german} Before: Ich brauche den Stuhl, weil er alt ist.")
    assert np.allclose(seen(own)["weights"], wanted["encoder"], rtol=0, atol=parity.NEAR)
    own.get_by_role("radio", name="layer 1, head 1").check()
    assert not own.get_by_role("switch").is_checked(), "the switch is that of the head that is shown"
    own.get_by_role("button", name="Undo").click()
    said(own, "It writes: Ich brauche den Stuhl, weil er alt ist.")


def test_a_head_that_is_switched_off_is_drawn_faint_and_says_why(own):
    undo = own.get_by_role("button", name="Undo")
    faint = "e => Number(getComputedStyle(e.firstElementChild).opacity) < 0.3"
    small, large = own.locator(".heads .choice svg"), own.locator(".between svg")
    assert undo.is_disabled(), "nothing is changed yet"
    assert not large.evaluate(faint)
    own.get_by_role("switch").check()
    said(own, "With 1 head off: ")
    assert [svg.evaluate(faint) for svg in small.all()] == [False] * 6 + [True, False], "layer 2, head 3 of two by four"
    assert large.evaluate(faint)
    status(own).get_by_text("This head is switched off").wait_for()
    own.get_by_role("radio", name="layer 2, head 4").check()
    assert not large.evaluate(faint), "another head is shown"
    own.get_by_role("radio", name=f"cross {SAYS['cross']}").check()
    assert not any(svg.evaluate(faint) for svg in small.all()), "it is a head of the encoder that is off"
    undo.click()
    said(own, "It writes: Ich brauche den Stuhl, weil er alt ist.")
    own.get_by_role("radio", name=f"encoder {SAYS['encoder']}").check()
    assert not any(svg.evaluate(faint) for svg in small.all())
    assert undo.is_disabled()


def test_a_look_that_is_forbidden_has_no_weight_and_the_row_shares_out_the_rest(own):
    forbid = own.get_by_role("button", name="Forbid its strongest look")
    assert forbid.is_disabled(), "no word is chosen yet"
    own.locator(".reads li", has_text="it").last.click()
    row, column = 5, 3
    assert seen(own)["rows"][row] == "it"
    assert seen(own)["columns"][column] == "chair"
    forbid.click()
    said(own, "With 1 look forbidden: ")
    wanted = parity.answer(OWN, hidden=[("encoder", 1, 2, row, column)])
    assert np.allclose(seen(own)["weights"], wanted["encoder"], rtol=0, atol=parity.NEAR)
    assert seen(own)["weights"][1][2][row][column] == 0
    assert abs(sum(seen(own)["weights"][1][2][row]) - 1) < 1e-9


def test_man_and_woman_change_places(own):
    swap = own.get_by_role("button", name="man ↔ woman")
    assert swap.is_disabled(), "there is neither"
    own.get_by_label("A sentence of your own, in English").fill("The woman sees him.")
    own.get_by_role("button", name="Look into it").click()
    said(own, "It writes: Die Frau sieht ihn.")
    swap.click()
    said(own, "It writes: Der Mann sieht sie.")
    assert own.locator(f"{FIGURE} select option").count() == 2, "one place for the reader's sentences"


def test_what_cannot_be_read_is_said(own):
    for text, why in (("", "a sentence has at least one word"), (parity.TOO_LONG, "reads 1024 at most: split it")):
        own.get_by_label("A sentence of your own, in English").fill(text)
        own.get_by_role("button", name="Look into it").click()
        own.wait_for_function("why => document.querySelector('.result').textContent.includes(why)", arg=why)
    assert seen(own)["rows"][0] == "I", "what was there stays"
