"""Drawing the next word: what temperature, top-k and top-p leave is what the package leaves, and so are the draws."""

from itertools import product

import numpy as np
import pytest
import torch
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.decoding.sampling import next_probabilities
from tested_transformer.shares import as_share

LIVE = "sampler-figure .live"
TEMPERATURES, COUNTS, SHARES = (0.05, 0.5, 1.0, 2.0, 100.0), (1, 5, 50, None), (0.05, 0.5, 0.9, 1.0)
WORDS = [f"word{n}" for n in range(58)] + ["<img src=x>", "</script>"]
BEGINNINGS = ("if it rains", "i need the lamp because", "we <b>love</b> the")


def falling(spread, seed):
    """Probabilities of 60 words, the likeliest first, and the words in an order of their own."""
    draws = np.random.default_rng(seed)
    p = np.sort(torch.tensor(draws.normal(0, spread, 60)).softmax(-1).numpy())[::-1]
    return p, [WORDS[n] for n in draws.permutation(60)]


PANELS = {text: falling(spread, n) for n, (text, spread) in enumerate(zip(BEGINNINGS, (8, 2, 0.3), strict=True))}


def figure():
    return figures.gpt.sampler(PANELS, 5)


@pytest.fixture
def page(show):
    return show(figure())


def choose(page, n):
    page.get_by_role("radio").nth(n).check()


def slide(page, **to):
    """Move the sliders of temperature and k to these values, as their own lists have them, from stop to stop."""
    script = """(sliders, to) => sliders.every((slider, n) => {
        for (let stop = 0; to[n] !== null && stop <= Number(slider.max); stop += 1) {
            slider.value = stop;
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            if (slider.ariaValueText === to[n]) return true;
        }
        return to[n] === null;
    })"""
    wanted = [str(to[name]) if name in to else None for name in ("temperature", "k", "p")]
    assert page.locator(f"{LIVE} input[type=range]").evaluate_all(script, wanted), to


def rows(page):
    """The words of the table with what they had before and have now, as they are written."""
    script = "rows => rows.map(r => [...r.cells].filter(c => c.className !== 'rail').map(c => c.textContent))"
    return page.locator(f"{LIVE} tbody tr").evaluate_all(script)


def said(p):
    if p in (0, 1):
        return f"{p:g}"
    return as_share(p, 3, signs=True)


def drawn(page):
    return page.locator(f"{LIVE} .hits > span").all_text_contents()


# What is calculated


@pytest.mark.parametrize("text", BEGINNINGS)
def test_the_probabilities_are_those_of_the_package_at_every_setting(page, text):
    p = PANELS[text][0]
    z = next(t["z"] for t in figure().data["texts"] if t["text"] == text)
    logits = torch.tensor(z, dtype=torch.float64)
    assert np.allclose(logits, np.log(p), rtol=0, atol=5.1e-7)
    settings = list(product(TEMPERATURES, COUNTS, SHARES))
    script = """([z, settings]) => settings.map(([temperature, k, p]) =>
        figures.nextProbabilities(z, {temperature, k: k ?? Infinity, p}))"""
    for found, (t, k, p) in zip(page.evaluate(script, [z, settings]), settings, strict=True):
        wanted = next_probabilities(logits, t, k, p).numpy()
        assert np.allclose(found, wanted, rtol=0, atol=1e-6), (t, k, p)
        assert [x == 0 for x in found] == (wanted == 0).tolist(), (t, k, p)


def test_points_hit_words_as_often_as_these_are_likely(page):
    p = PANELS[BEGINNINGS[1]][0]
    script = "p => Array.from({length: 20000}, figures.points(5)).map(x => [x, figures.hit(p, x)])"
    points, hits = np.array(page.evaluate(script, p.tolist())).T
    assert 0 <= points.min() < points.max() < 1
    assert np.array_equal(hits, (p.cumsum() <= points[:, None]).sum(1))
    shares = np.bincount(hits.astype(int), minlength=60) / 20000
    assert (abs(shares - p) <= 4 * np.sqrt(p * (1 - p) / 20000) + 1e-9).all()


def test_a_point_beyond_the_last_end_hits_the_last_word_that_is_kept(page):
    assert page.evaluate("figures.hit([0.5, 0.4999, 0, 0], 0.99999)") == 1


# What is seen


def test_it_opens_with_the_likeliest_of_the_first_beginning(page):
    p, words = PANELS[BEGINNINGS[0]]
    now = next_probabilities(torch.tensor(p.copy()).log(), top_k=5).numpy()
    found = rows(page)
    assert found[:10] == [[words[n], said(p[n]), said(now[n])] for n in range(10)]
    assert found[10] == ["50 others", said(p[10:].sum()), "0"]
    assert page.locator(".kept").text_content() == f"Kept: 5 of 60 words, which had {said(p[:5].sum())} before."
    assert [s.get_attribute("aria-valuetext") for s in page.get_by_role("slider").all()] == ["1", "5", "all"]
    assert drawn(page) == []


@pytest.mark.parametrize("n", range(3))
def test_table_bars_and_line_show_every_setting(page, n):
    choose(page, n)
    p, words = PANELS[BEGINNINGS[n]]
    logits = torch.tensor(p.copy()).log()
    for t, k, share in (
        (1, "all", "0.90"),
        (2, "20", "all"),
        (0.5, "all", "0.50"),
        (100, "all", "all"),
        (0.1, "2", "0.90"),
    ):
        slide(page, temperature=t, k=k)
        page.get_by_role("slider").nth(2).fill("1" if share == "all" else share)
        how = None if k == "all" else int(k), 1.0 if share == "all" else float(share)
        now = next_probabilities(logits, t, *how).numpy()
        short = [*zip(p[:10], now[:10], strict=True), (p[10:].sum(), now[10:].sum())]
        assert rows(page) == [
            [name, said(a), said(b)] for name, (a, b) in zip([*words[:10], "50 others"], short, strict=True)
        ]
        kept = int((now > 0).sum())
        assert page.locator(".kept").text_content().startswith("All 60" if kept == 60 else f"Kept: {kept} of 60 words")
        wide = page.locator(".pieces > span").evaluate_all("ps => ps.map(e => e.getBoundingClientRect().width)")
        assert np.allclose(np.array(wide) / sum(wide), [b for _, b in short], atol=2e-3)
        end = float(page.locator(".scale span").last.text_content())
        bars = page.locator(f"{LIVE} tbody .rail").evaluate_all(
            "rs => rs.map(r => [...r.children].map(e => parseFloat(e.style.width)))"
        )
        assert np.allclose(bars, [[100 * min(1, x / end) for x in two] for two in short], atol=1e-3)
        assert max(x for two in short[:10] for x in two) <= end + 1e-9


def test_it_says_when_the_bars_have_another_scale(page):
    choose(page, 2)  # the flattest
    k, said = page.get_by_role("slider").nth(1), page.locator(".kept")
    ends, before = page.locator(".scale span").last, page.locator(".scale span").last.text_content()
    k.fill(k.get_attribute("max"))
    assert float(ends.text_content()) < float(before)
    assert said.text_content() == f"All 60 words are kept. The bars' scale now ends at {ends.text_content()}."
    page.get_by_role("slider").first.fill("9")
    assert "scale" not in said.text_content(), "it is the same as before"


def test_ten_points_stay_when_the_line_changes_and_are_new_at_each_press(page):
    button = page.get_by_role("button", name="Draw ten")
    choose(page, 2)
    slide(page, k="all")
    p, words = PANELS[BEGINNINGS[2]]
    places = []
    for _ in range(2):
        button.click()
        marks = page.locator(".points span").evaluate_all("ms => ms.map(m => parseFloat(m.style.left) / 100)")
        places.append(marks)
        for t, k in ((1, "all"), (2, "5"), (1, "all")):
            slide(page, temperature=t, k=k)
            now = next_probabilities(torch.tensor(p.copy()).log(), t, None if k == "all" else int(k)).numpy()
            assert drawn(page) == [words[int((now.cumsum() <= x).sum())] for x in marks]
            rest = page.locator(".hits > .rest").all_text_contents()
            assert rest == [word for word in drawn(page) if words.index(word) >= 10]
            assert page.locator(".points .rest").count() == len(rest)
    assert places[0] != places[1]


def test_it_draws_alike_on_every_visit(show):
    found = []
    for _ in range(2):
        page = show(figure())
        page.get_by_role("button", name="Draw ten").click()
        found.append(drawn(page))
    assert found[0] == found[1]


def test_a_word_and_its_piece_are_marked_together(page):
    choose(page, 1)
    page.locator(f"{LIVE} tbody tr").nth(1).hover()
    assert page.locator(".lit").evaluate_all("es => es.map(e => [e.tagName, e.dataset.n])") == [
        ["TR", "1"],
        ["SPAN", "1"],
    ]


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(page):
    focused = "document.activeElement"
    keys(page, "Tab ArrowRight")
    assert page.get_by_role("radio").nth(1).is_checked()
    assert rows(page)[0][0] == PANELS[BEGINNINGS[1]][1][0]
    for said_then, key in (("1.25", "ArrowRight"), ("4", "ArrowLeft"), ("0.95", "ArrowLeft")):
        page.keyboard.press("Tab")
        page.keyboard.press(key)
        assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')") == said_then
    keys(page, "Tab Enter")
    assert len(drawn(page)) == 10
    assert page.evaluate(f"{focused}.textContent") == "Draw ten"


def test_what_changed_is_told_in_words(page):
    page.get_by_role("button", name="Draw ten").click()
    told = f"before. Drawn: {', '.join(drawn(page))}."
    page.get_by_role("status").get_by_text(told).wait_for(state="attached")


def test_on_its_page_it_keeps_what_the_chapter_says(visit):
    page = visit("book/gpt.html")
    page.evaluate("() => { for (const fold of document.querySelectorAll('details')) fold.open = true; }")
    slide(page, k="all")
    page.get_by_role("slider").nth(2).fill("0.9")
    fallback = "body => [...body.rows].map(row => Number(row.cells[3].textContent))"
    sizes = page.locator("sampler-figure .fallback tbody").evaluate(fallback)
    for n, size in enumerate(sizes):
        choose(page, n)
        assert page.locator(".kept").text_content().startswith(f"Kept: {size} of ")
    slide(page, temperature=2)
    choose(page, 2)  # after "if it rains"
    assert int(page.locator(".kept").text_content().split()[1]) > 200
