"""Beam search: the page's searches are the package's, step by step, and every reader can take the steps."""

import math
import re

import numpy as np
import pytest
import torch
from helpers import BOS, EOS, PAD, lively, plain_beam, scripted
from keyboard import keys

from tested_transformer.book import figures
from tested_transformer.book.figures.picture import Picture
from tested_transformer.decoding.beam import Search, beam
from tested_transformer.decoding.exhaustive import exhaustive
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.hypothesis import Hypothesis
from tested_transformer.decoding.inference import inference

FIGURE = "beam-figure"
WIDTHS, ALPHAS = (1, 2, 3, 4, 5), (0.0, 0.35, 0.6, 1.0, 1.5)
SOURCE = torch.tensor([[3, 4, EOS]])
MOST = 4


def table_of(model, most=MOST):
    """Every beginning, with what the model gives to each token after it."""
    words = [i for i in range(model.config.vocab_size) if i not in (PAD, BOS)]
    rows, begun = {}, [()]
    for _ in range(most):
        seen = torch.tensor([[BOS, *ids] for ids in begun])
        with torch.no_grad():
            log_p = model(SOURCE.expand(len(begun), -1), seen)[:, -1].log_softmax(-1).tolist()
        for ids, p in zip(begun, log_p, strict=True):
            rows[" ".join(map(str, ids))] = [[i, p[i]] for i in words if p[i] > -math.inf]
        begun = [(*ids, i) for ids in begun for i in words if i != EOS]
    return {"rows": rows, "end": EOS, "most": most}


def tied(seed):
    """Probabilities with many ties: each is one of four, and different words share them."""
    p = np.random.default_rng(seed).choice([1.0, 2.0, 4.0], size=(MOST + 1, 6, 6))
    p[..., [PAD, BOS]] = 1e-9
    return scripted(p / p.sum(-1, keepdims=True))


def twins(seed):
    """Words 3 and 4 are alike in all that follows them, so hypotheses tie; no row has a tie in itself."""
    p = np.random.default_rng(seed).dirichlet(np.ones(6), size=(MOST + 1, 6))
    p[:, 4] = p[:, 3]
    p[0, BOS, 3:5] = 0.4, 0.4 * (1 + 1e-12)
    return scripted(p / p.sum(-1, keepdims=True))


@pytest.fixture(scope="module")
def models():
    """Some models that write, with their tables."""
    made = [lively(seed, vocab_size=6) for seed in (0, 1)]
    made += [scripted(np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=(MOST + 1, 6))) for seed in range(3)]
    return [(model.double(), table_of(model.double())) for model in made]


def call(page, name, *arguments):
    return page.evaluate(f"arguments => figures.{name}(...arguments)", list(arguments))


def beams(page, table, widths=WIDTHS, alphas=ALPHAS):
    """What the page's beam search finds with every width and alpha, in one call."""
    script = "([t, widths, alphas]) => widths.flatMap(w => alphas.map(a => [w, a, figures.beam(t, w, a).finished]))"
    return page.evaluate(script, [table, list(widths), list(alphas)])


def near(found, hypotheses, ids=True):
    """The same hypotheses, in the same order, with the same numbers."""
    assert len(found) == len(hypotheses)
    for a, b in zip(found, hypotheses, strict=True):
        assert a["score"] == pytest.approx(b.score, abs=1e-12)
        assert a["logP"] == pytest.approx(b.log_probability, abs=1e-12)
        assert not ids or tuple(a["ids"]) == b.ids


def steps(model, width, alpha):
    """What the package's search has at each step: what is finished, and the log-probabilities of what goes on."""
    with inference(model):
        search = Search(model, SOURCE, width, alpha, MOST)
        while search.sentences:
            search.step()
            yield list(search.finished[0]), sorted(p for p in search.log_p.flatten().tolist() if p > -math.inf)


# The searches are the package's


def test_beam_search_is_the_packages_with_every_width_and_penalty(page, models):
    for model, table in models:
        for width, alpha, found in beams(page, table):
            near(found, beam(model, SOURCE, width, alpha, MOST)[0])


def test_every_step_is_the_packages_and_it_stops_where_the_package_stops(page, models):
    stopped = set()
    for model, table in models[1:]:
        for width in (1, 2, 4):
            for alpha in (0.0, 1.0):
                shown, own = call(page, "beam", table, width, alpha)["steps"], list(steps(model, width, alpha))
                assert len(shown) == len(own)
                stopped.add((len(own) < MOST, len(shown[-1]["going"]) > 0))
                for n, (a, (finished, going)) in enumerate(zip(shown, own, strict=True)):
                    near(a["finished"], finished)
                    if n < len(own) - 1:  # the package lets a sentence go that has stopped
                        assert sorted(h["logP"] for h in a["going"]) == pytest.approx(going, abs=1e-12)
                    assert len(a["kept"]) == min(width, len(a["longer"]))
    assert stopped >= {(True, True), (False, False)}, "some stopped early, some at the limit"


def test_greedy_and_exhaustive_search_are_the_packages(page, models):
    for model, table in models:
        row = greedy(model, SOURCE, MOST)[0].tolist()
        found = call(page, "greedy", table, 0.6)
        assert found["ids"] == [i for i in row if i != PAD]
        near([found], beam(model, SOURCE, 1, 0.6, MOST)[0])
        for alpha in (0.0, 0.6, 1.5):
            answer = call(page, "exhaustive", table, alpha)
            every = exhaustive(model, SOURCE, alpha, MOST)[0]
            near(answer["found"], every, ids=False)  # two sentences may be made of the same factors, and tie
            assert {tuple(h["ids"]) for h in answer["found"]} == {h.ids for h in every}
            assert answer["outside"] is None or answer["outside"] == -math.inf


def test_of_equal_hypotheses_the_earlier_one_wins_as_in_the_package(page):
    for model in map(twins, range(3)):
        for width, alpha, found in beams(page, table_of(model), alphas=(0.0, 0.6)):
            near(found, beam(model, SOURCE, width, alpha, MOST)[0])


def test_with_many_ties_the_search_is_still_the_one_in_books(page):
    """Which of equal tokens PyTorch's topk takes is open; the plain search takes them in order, as the page does."""
    for model in map(tied, range(3)):
        table = table_of(model)
        for width, alpha, found in beams(page, table, alphas=(0.6,)):
            expected = [Hypothesis(*h) for h in plain_beam(model, SOURCE, width, alpha, MOST)]
            near(found, expected)
        near(call(page, "exhaustive", table, 0.6)["found"], exhaustive(model, SOURCE, 0.6, MOST)[0], ids=False)


def test_of_equal_tokens_the_earlier_one_wins(page):
    rows = {"": [[1, -1.0], [2, -1.0], [3, -1.0]], "1": [[0, -2.0]], "2": [[0, -2.0]], "3": [[0, -2.0]]}
    table = {"rows": rows, "end": 0, "most": 3}
    for width in (1, 2, 3):
        assert [h["ids"] for h in call(page, "beam", table, width, 0)["finished"]] == [[1, 0], [2, 0], [3, 0]][:width]
    assert call(page, "greedy", table, 0)["ids"] == [1, 0]
    assert [h["ids"] for h in call(page, "exhaustive", table, 0)["found"]] == [[1, 0], [2, 0], [3, 0]]


def test_no_sentence_outside_a_table_scores_above_the_bound(page, models):
    for model, table in models:
        shorter = {key: row for key, row in table["rows"].items() if "3" not in key}
        for alpha in (0.0, 1.5):
            answer = call(page, "exhaustive", table | {"rows": shorter}, alpha)
            inside = {tuple(h["ids"]) for h in answer["found"]}
            others = [h for h in exhaustive(model, SOURCE, alpha, MOST)[0] if h.ids not in inside]
            assert inside
            assert others
            assert max(h.score for h in others) <= answer["outside"] < 0


def test_a_search_stops_when_the_rest_can_only_draw_level(page):
    rows = {"": [[0, -1.0], [1, -1.0]], "1": [[0, -0.7], [2, -0.7]], "1 2": [[0, 0.0]]}
    search = call(page, "beam", {"rows": rows, "end": 0, "most": 4}, 2, 0)
    assert [h["ids"] for h in search["finished"]] == [[0], [1, 0]]
    assert len(search["steps"]) == 2


def test_a_table_that_does_not_know_what_a_beam_asks_is_an_error(page, models):
    table = models[0][1]
    assert "the table has no row for " in page.evaluate(
        "table => { try { figures.beam(table, 5, 0) } catch (error) { return error.message } }",
        table | {"rows": {"": table["rows"][""]}},
    )


# What is shown

FOLLOWING = {
    (): {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05},
    ("a",): {"a": 0.4, "b": 0.35, "<eos>": 0.25},
    ("b",): {"a": 0.9, "<eos>": 0.1},
    ("c",): {"<eos>": 1.0},
    ("d",): {"a": 0.5, "b": 0.5},
    **{
        (x, y): {"<eos>": 0.8, "c": 0.2} for x, y in [("a", "a"), ("a", "b"), ("b", "a"), ("d", "a"), ("d", "b")]
    },
    **{
        (x, y, "c"): {"<eos>": 1.0} for x, y in [("a", "a"), ("a", "b"), ("b", "a"), ("d", "a"), ("d", "b")]
    },
}  # fmt: skip
LOGS = {begun: {w: float(np.log(p)) for w, p in row.items()} for begun, row in FOLLOWING.items()}
SHORT = {(): {"yes": -0.1, "no": -2.4}, ("yes",): {"<eos>": 0.0}, ("no",): {"<eos>": 0.0}}


def figure(tables=None, first=(2, 0.6)):
    tables = tables or {"long": LOGS, "short": SHORT}
    found, plain = {"greedy": ("a", -1.0, -0.5)}, Picture(figsize=(1, 1))
    return figures.decode.searches(tables, 4, first, found, plain, {"long": "de"})


@pytest.fixture
def page(show):
    """The figure, with all its steps."""
    page = show(figure())
    press(page, "All steps")
    return page


def data(page):
    return page.locator(FIGURE).evaluate("f => JSON.parse(f.querySelector('script').textContent)")


def texts(page, name):
    """The rows of a table, as words."""
    script = "body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))"
    return page.get_by_role("region", name=name).locator("tbody").evaluate(script)


def press(page, name):
    page.get_by_role("button", name=name).click()


def slide(page, width=None, alpha=None):
    for slider, value in zip(page.locator(FIGURE).get_by_role("slider").all(), (width, alpha), strict=True):
        if value is not None:
            slider.fill(str(value))


def nodes(page):
    """The boxes of the tree: their kinds, their token and their probability."""
    script = "gs => gs.map(g => [g.getAttribute('class'), ...[...g.querySelectorAll('text')].map(t => t.textContent)])"
    return page.locator(f"{FIGURE} .node").evaluate_all(script)


def written(x):
    return "0" if abs(x) < 1e-10 else f"{x:.4f}".replace("-", "−")


def test_the_tables_show_the_searches_at_every_setting(page):
    for n, text in enumerate(("long", "short")):
        page.locator("select").select_option(label=text)
        table = data(page)["tables"][n]
        for width in WIDTHS:
            for alpha in (0.0, 0.6, 1.5):
                slide(page, width, alpha)
                finished = call(page, "beam", table, width, alpha)["finished"]

                def line(h, table=table):
                    return [" ".join(table["tokens"][i] for i in h["ids"]), written(h["logP"]), written(h["score"])]

                rows = texts(page, "Hypotheses")
                assert [[row[0], row[2], row[4]] for row in rows] == [line(h) for h in finished]
                assert [row[5] for row in rows] == ["best"] + ["finished"] * (len(finished) - 1)
                for row, h in zip(rows, finished, strict=True):
                    assert row[1] == str(len(h["ids"]))
                    assert float(row[3]) == pytest.approx(((5 + len(h["ids"])) / 6) ** alpha, abs=5.1e-5)
                assert texts(page, "Three searches") == [
                    ["greedy", *line(call(page, "greedy", table, alpha))],
                    [f"beam of {width}", *line(finished[0])],
                    ["exhaustive", *line(call(page, "exhaustive", table, alpha)["found"][0])],
                ]


def test_the_tree_shows_what_was_kept_dropped_and_finished_and_the_best(page):
    slide(page, 2, 0.0)
    columns = call(page, "beam", data(page)["tables"][0], 2, 0)["steps"]
    shown = nodes(page)
    assert shown[0] == ["node kept best", "start"]
    assert shown[1:5] == [
        ["node kept", "a", "0.500"],
        ["node kept best", "b", "0.300"],
        ["node dropped", "c", "0.150"],
        ["node dropped", "d", "0.050"],
    ]
    assert sum("dropped" not in kind for kind, *_ in shown) == 1 + sum(len(step["kept"]) for step in columns)
    assert sum("finished" in kind for kind, *_ in shown) == sum(len(step["ended"]) for step in columns)
    best = [token for kind, token, *_ in shown if "best" in kind]
    assert " ".join(best[1:]) == texts(page, "Hypotheses")[0][0] == "b a <eos>"
    assert page.locator(".edge").count() == len(shown) - 1
    assert page.locator(".edge.best").count() == len(best) - 1
    assert page.locator(".node.finished rect").count() == 2 * page.locator(".node.finished").count()


def test_a_small_probability_is_not_written_as_none_and_a_large_one_not_as_all(show):
    table = {(): {"a": math.log(0.9996), "b": math.log(0.0004)}, ("a",): {"<eos>": 0.0}, ("b",): {"<eos>": 0.0}}
    page = show(figure({"rare": table}))
    press(page, "All steps")
    assert [p for _, token, *p in nodes(page) if token == "b"] == [["0.0004"]]
    assert [p for _, token, *p in nodes(page) if token == "a"] == [["0.9996"]]


def test_the_newest_step_is_in_view_on_a_narrow_page(show):
    page = show(figure(), width=320, height=800)
    press(page, "Start again")
    for _ in range(3):
        press(page, "Next step")
    box, frame = page.locator(".node").last.bounding_box(), page.locator(".scrolls").first.bounding_box()
    assert box["x"] + box["width"] <= frame["x"] + frame["width"]


def test_an_edge_leads_from_a_beginning_to_its_extension(page):
    box = "rs => rs.map(r => ['x', 'y', 'width', 'height'].map(a => +r.getAttribute(a)))"
    boxes = page.locator(".node rect:first-child").evaluate_all(box)
    right = {(x + w, y + h / 2) for x, y, w, h in boxes}
    left = {(x, y + h / 2) for x, y, w, h in boxes}
    ends = page.locator(".edge").evaluate_all("es => es.map(e => e.getAttribute('d').match(/[-\\d.]+/g).map(Number))")
    assert {(e[0], e[1]) for e in ends} <= right
    assert len({(e[-2], e[-1]) for e in ends}) == len(ends)
    assert {(e[-2], e[-1]) for e in ends} <= left
    tokens = {(x, y + h / 2): n for n, (x, y, w, h) in enumerate(boxes)}
    probability = [float(p[2]) if len(p) > 2 else 1.0 for p in nodes(page)]
    parents = {}
    for e in ends:
        parent = next(n for n, (x, y, w, h) in enumerate(boxes) if (x + w, y + h / 2) == (e[0], e[1]))
        assert probability[tokens[(e[-2], e[-1])]] <= probability[parent]
        parents[probability[tokens[(e[-2], e[-1])]]] = probability[parent]
    assert (parents[0.27], parents[0.2], parents[0.175]) == (0.3, 0.5, 0.5), "b a, a a, a b"


def test_the_search_can_be_taken_step_by_step(page):
    slide(page, 4, 0.6)
    whole, total = nodes(page), len(call(page, "beam", data(page)["tables"][0], 4, 0.6)["steps"])
    press(page, "Start again")
    assert nodes(page) == [["node kept", "start"]]
    assert texts(page, "Hypotheses") == [["start", "0", "0", "", "", "goes on"]]
    press(page, "Next step")
    assert [row[5] for row in texts(page, "Hypotheses")] == ["goes on"] * 4
    assert not any("best" in kind for kind, *_ in nodes(page))
    press(page, "Next step")
    assert {row[5] for row in texts(page, "Hypotheses")} == {"finished", "goes on"}
    slide(page, alpha=1.2)  # stays at this step
    assert page.get_by_role("button", name="Next step").is_enabled()
    slide(page, alpha=0.6)
    for _ in range(total - 2):
        press(page, "Next step")
    assert page.get_by_role("button", name="Next step").is_disabled()
    assert nodes(page) == whole
    press(page, "Start again")
    press(page, "All steps")
    assert nodes(page) == whole


def test_the_figure_opens_at_its_first_step_and_nothing_below_the_tree_moves(show):
    page = show(figure())
    assert [kind for kind, *_ in nodes(page)] == ["node kept"] * 3 + ["node dropped"] * 2
    assert "Step 1: 0 of 2 kept hypotheses end here." in page.locator("[role=status]").inner_text()
    tall = page.locator("svg").bounding_box()["height"]
    for name in ("Next step", "All steps", "Start again"):
        press(page, name)
        assert page.locator(f"{FIGURE} svg").bounding_box()["height"] == tall


def test_a_search_that_was_seen_whole_is_seen_whole_again(page):
    for width in (1, 5, 2):
        slide(page, width)
        assert page.get_by_role("button", name="Next step").is_disabled()
        assert "best" in {row[5] for row in texts(page, "Hypotheses")}


def test_sentences_are_named_in_their_language(page):
    sentences = ".scrolls tbody span, svg text:not(.p)"
    told = "lang => document.querySelector('[role=status] span')?.getAttribute('lang') === lang"
    tags = "all => all.map(e => [e.textContent, e.getAttribute('lang')])"
    for table, tag in (("long", "de"), ("short", None)):
        page.locator("select").select_option(label=table)
        found = page.locator(sentences).evaluate_all(tags)
        assert len(found) > 8
        assert ["start", None] in found
        assert {lang for text, lang in found if text != "start"} == {tag}
        page.wait_for_function(told, arg=tag)


def test_what_happened_is_told_in_words(page):
    status = page.locator("[role=status]")
    status.get_by_text("The search stops: ").wait_for()
    press(page, "Start again")
    status.get_by_text("Nothing is written yet.").wait_for()
    press(page, "Next step")
    status.get_by_text("Step 1: 0 of 2 kept hypotheses end here.").wait_for()
    page.locator("select").select_option(label="short")
    press(page, "All steps")
    status.get_by_text("nothing is left to extend. Best: “yes <eos>”, score −0.").wait_for()
    slide(page, 1)
    page.locator("select").select_option(label="long")
    assert "There are no others, so its best is the best of all." in page.locator(".after-inputs").inner_text()


def test_a_table_with_gaps_says_what_may_stand_outside(show):
    gaps = {begun: row for begun, row in LOGS.items() if begun[:1] != ("d",)}
    page = show(figure({"gaps": gaps}, first=(2, 0.0)))
    outside = math.log(0.05)
    said = f"Others could not score above {written(outside)}, so its best is the best of all."
    assert said in page.locator(".after-inputs").inner_text()


# For every reader


def test_all_of_it_works_with_the_keyboard_alone(show):
    page = show(figure())
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.tagName") == "SELECT"
    page.keyboard.press("ArrowDown")
    assert texts(page, "Three searches")[0][1] == "yes <eos>"
    keys(page, "ArrowUp Tab ArrowRight")
    assert texts(page, "Three searches")[1][0] == "beam of 3"
    assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')") == "3"
    keys(page, "Tab ArrowLeft")
    assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')") == "0.55"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.textContent") == "Start again"
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.textContent") == "Next step", "the focus does not get lost"
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.textContent") == "Next step"
    keys(page, "Tab Enter")
    assert page.evaluate(f"{focused}.textContent") == "Start again"
    assert "best" in {row[5] for row in texts(page, "Hypotheses")}
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.getAttribute('aria-label')") == "The search as a tree"


def test_the_chapters_searches_find_what_the_package_found(visit):
    page = visit("book/decode.html")
    script = "body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))"
    rows = page.locator(f"{FIGURE} .fallback tbody").evaluate(script)
    assert len(rows) == 5
    for name, sentence, *numbers in rows:
        width = int(match[1]) if (match := re.search(r"(\d)$", name)) else 1
        slide(page, width, 0.6)
        line = texts(page, "Three searches")[1 if match else 0]
        assert line[1] == sentence
        for a, b in zip(line[2:], numbers, strict=True):
            assert float(a.replace("−", "-")) == pytest.approx(float(b.replace("−", "-")), abs=1.1e-4)


def test_no_setting_asks_for_what_the_chapters_tables_lack(visit):
    page = visit("book/decode.html")
    alphas = [n / 20 for n in range(31)]
    for table in data(page)["tables"]:
        script = "([t, alphas]) => alphas.map(a => figures.exhaustive(t, a)).map(e => [e.found[0].score, e.outside])"
        most = dict(zip(alphas, page.evaluate(script, [table, alphas]), strict=True))
        for width, alpha, found in beams(page, table, alphas=alphas):
            best, outside = most[alpha]
            assert found[0]["score"] <= best, (width, alpha)
            assert outside is None or outside < best
