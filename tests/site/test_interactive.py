"""Interactive figures without a browser: what a cell puts out, what a page loads, what the scripts may not do."""

import gzip
import json
import re

import guards
import live
import numpy as np
import pytest
import torch
from guards import BOOK, SCRIPTS
from helpers import TOKENS, film, reel, walk, walk_of_two, walked, walked_wide

from tested_transformer.book import data_flow as words
from tested_transformer.book import figures
from tested_transformer.book.coreference import FRAMES, RUNNING, THINGS
from tested_transformer.book.example import W_K, W_Q, W_V, WORDS, P, X
from tested_transformer.book.experiments import Answer
from tested_transformer.book.figures.interactive import Interactive, places_of
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.masks import causal_mask, padding_mask
from tested_transformer.byhand.positions import sinusoids
from tested_transformer.byhand.softmax import softmax
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import Config
from tested_transformer.decoding.translator import Translator
from tested_transformer.shares import THIN, as_share, written
from tested_transformer.text.tokens import BytePairEncoding

CSS = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
FILES = sorted(SCRIPTS.glob("*"))
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
OUT, WEIGHTS = attention(Q, K, V)


def by_hand(words=WORDS):
    return figures.attention.by_hand({"X": X, "weights": WEIGHTS, "out": OUT}, (W_Q, W_K, W_V), P, words)


def geometry(**changed):
    steps = {name: x[:, :2] for name, x in {"Q": Q, "K": K, "V": V, "out": OUT}.items()}
    return figures.attention.geometry(steps | {"weights": WEIGHTS} | changed, WORDS, 1, np.sqrt(3))


def hands():
    table = sinusoids(23, 6)
    return figures.positions.hands(table, 1, 3, [6.25, 100.0, 2000.0], table[1:] @ table[1])


WEIGHTS_OF_HEADS = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2, 2))


def heads(words=("a", " b", "</script>")):
    panel = (WEIGHTS_OF_HEADS, (" x", "y → z"), words)
    return figures.looking.choices({"a sentence": {"cross": panel}}, {"cross": "x reads a"}, ("cross", 1, 0))


def sentence(german="Ich brauche den Stuhl, weil er alt ist."):
    said = FRAMES[0].say("chair")
    weights = (0.0, 0.0004, 0.0119, 0.9877, 0.0, 0.0, 0.0, 0.0)
    return figures.running.sentence(1, 2, [Answer(0, "chair", said, weights, german, "Ich, sie.")], ("chair",))


TREE = {(): {"a": -0.25, "b": -1.5}, ("a",): {"<eos>": 0.0}, ("b",): {"<eos>": -1 / 3, "a": -1.2599209}}


def searches(found=None):
    found = found or {"greedy": ("a <eos>", -0.25, -0.21234)}
    return figures.decode.searches(
        {"one": TREE}, 3, (2, 0.6), found, figures.decode.tree({("a",): 0.8}, {"greedy": [("a",)]})
    )


def data(html):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1])


def cells(html, title):
    """The words and numbers of one table, row by row."""
    (table,) = (t for t in re.findall(r"<table.*?</table>", html, re.S) if f"<caption>{title}</caption>" in t)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]


# What a cell puts out


def test_the_data_are_the_numbers_that_were_given():
    found = data(by_hand()._repr_html_())
    for name, x in {"x": X, "w_q": W_Q, "w_k": W_K, "w_v": W_V, "positions": P}.items():
        assert np.array_equal(found[name], x)
    assert found["words"] == list(WORDS)


def test_a_float_arrives_to_the_last_bit():
    x = np.random.default_rng(0).normal(size=(5, 5)) / 3
    assert np.array_equal(data(Interactive("attention", {"x": x}, {})._repr_html_())["x"], x)


def test_the_tables_hold_the_results():
    html = by_hand()._repr_html_()
    assert cells(html, "Attention weights") == [
        ["", "I", "love", "AI"],
        ["I", "0.7070", "0.0702", "0.2228"],
        ["love", "0.2645", "0.2645", "0.4711"],
        ["AI", "0.4319", "0.1361", "0.4319"],
    ]
    assert cells(html, "Output")[1] == ["I", "0.9298", "0.2930", "1.6368"]


def test_the_geometry_has_two_numbers_of_each_word_and_the_weights_of_all_three():
    html = geometry()._repr_html_()
    found = data(html)
    assert found == {"words": list(WORDS), "q": Q[:, :2].tolist(), "k": K[:, :2].tolist(), "v": V[:, :2].tolist(),
                     "start": 1, "divisor": float(np.sqrt(3))}  # fmt: skip
    assert cells(html, "Attention weights")[2] == ["love", "0.2645", "0.2645", "0.4711"]
    assert cells(html, "Output")[:3] == [["", "1", "2"], ["I", "0.9298", "0.2930"], ["love", "0.7355", "0.7355"]]
    assert geometry()._repr_svg_()


@pytest.mark.parametrize("name", ["Q", "K", "V"])
def test_the_geometry_takes_three_words_with_two_numbers_each(name):
    with pytest.raises(ValueError, match=rf"{name} must have three rows of two numbers, not shape \(3, 3\)"):
        geometry(**{name: X})
    with pytest.raises(ValueError, match=rf"{name} must have three rows of two numbers, not shape \(2, 2\)"):
        geometry(**{name: X[:2, :2]})


def test_the_hands_are_those_of_the_two_positions():
    html, table = hands()._repr_html_(), sinusoids(5, 6)
    assert data(html) == {"position": 1, "offset": 3, "width": 6, "reach": 21, "widest": 32}
    _, *rows = cells(html, "The pairs at position 1 and at 4, where k is 3")
    assert [row[0] for row in rows] == ["pair 0", "pair 1", "pair 2"]
    numbers = np.array([[float(cell.replace("−", "-").replace(THIN, "")) for cell in row[1:]] for row in rows])
    assert numbers[:, 0].tolist() == [6.25, 100, 2000]
    assert np.allclose(numbers[:, 1:3], table[1].reshape(3, 2), atol=5e-5)
    assert np.allclose(numbers[:, 3:5], table[4].reshape(3, 2), atol=5e-5)
    _, (_, *products) = cells(html, "Dot products")
    assert float(products[3]) == pytest.approx(table[1] @ table[4], abs=5e-5)


def test_the_heads_have_their_weights_with_three_decimals_and_the_strongest_links():
    html = heads()._repr_html_()
    found = data(html)
    panel = found["sentences"][0]["panels"]["cross"]
    assert np.array_equal(panel["weights"], WEIGHTS_OF_HEADS.round(3))
    assert (panel["rows"], panel["columns"]) == (["x", "y → z"], ["a", "b", "</script>"])
    assert (found["kind"], found["layer"], found["head"]) == ("cross", 1, 0)
    assert found["kinds"] == {"cross": "x reads a"}
    words = ["a", "b", "&lt;/script&gt;"]
    strongest = [[words[row.argmax()], f"{row.max():.3f}"] for row in WEIGHTS_OF_HEADS[1, 0]]
    title = "cross, layer 2, head 1: the strongest link of each word"
    expected = [["word", "reads most", "with the weight"], ["x", *strongest[0]], ["y → z", *strongest[1]]]
    assert cells(html, title) == expected
    assert f"x | {' | '.join(strongest[0])}".replace("&lt;", "<").replace("&gt;", ">") in repr(heads())
    assert heads()._repr_svg_()


def test_the_searches_have_their_tables_by_number_with_six_decimals():
    html = searches()._repr_html_()
    found = data(html)
    rows = {"": [[0, -0.25], [1, -1.5]], "0": [[2, 0.0]], "1": [[2, -0.333333], [0, -1.259921]]}
    table = {"text": "one", "tokens": ["a", "b", "<eos>"], "end": 2, "most": 3, "rows": rows, "language": None}
    assert found == {"tables": [table], "width": 2, "alpha": 0.6, "widest": 5}
    title = "one: what each search finds, with α = 0.6"
    head, row = cells(html, title)
    assert head == ["search", "best sentence", "log-probability", "score"]
    assert row == ["greedy", "a &lt;eos&gt;", "−0.2500", "−0.2123"]
    assert "greedy | a <eos> | −0.2500 | −0.2123" in repr(searches())


def sampler(p=(0.5, 0.3, 0.2, 0.0), words=("b", "a", "<c>", "<pad>")):
    return figures.gpt.sampler({"x": (list(p), words), "y": ([0.9, 0.1], ["a", "b"])}, 2)


def test_the_sampler_has_the_words_that_may_be_drawn_and_the_table_what_the_likeliest_have():
    html = sampler()._repr_html_()
    texts = [
        {"text": "x", "z": [-0.693147, -1.203973, -1.609438], "words": [3, 2, 0]},
        {"text": "y", "z": [-0.105361, -2.302585], "words": [2, 3]},
    ]
    assert data(html) == {"words": ["<c>", "<pad>", "a", "b"], "texts": texts, "k": 2}
    assert cells(html, "Next words") == [
        ["beginning", "the 2 likeliest", "together", "words to fill 0.9"],
        ["x", "b, a", "0.800", "3"],
        ["y", "a, b", "1", "1"],
    ]
    fallback = html.partition('<div class="fallback">')[2]
    assert fallback.index("</svg>") < fallback.index("<table")


@pytest.mark.parametrize("p", [(0.3, 0.5, 0.2, 0.0), (0.5, 0.3, 0.1, 0.0), (0.9, 0.3, 0.0, -0.2)])
def test_the_sampler_takes_probabilities_the_likeliest_first(p):
    with pytest.raises(ValueError, match="after 'x' must fall from the likeliest word on and add up to 1"):
        sampler(p)
    with pytest.raises(ValueError, match="'x' has 4 probabilities, but 1 words"):
        sampler(words=("a",))


def test_the_sentence_has_what_the_model_writes_and_its_picture_before_the_table():
    html = sentence()._repr_html_()
    found = data(html)
    english, german = "I need the chair because it is old.", "Ich brauche den Stuhl, weil er alt ist."
    weights = [0, 0, 0.012, 0.988, 0, 0, 0, 0]
    assert found["answers"] == [[0, "chair", english, german, german, "Ich, sie.", weights]]
    assert (found["layer"], found["head"], found["first"]) == (1, 2, "chair")
    assert found["things"] == {english: [n.german, n.gender] for english, n in THINGS.items()}
    assert found["frames"][1] == "The woman loves … because it is new."
    assert len(found["frames"]) == len(set(found["frames"])) == 6
    fallback = html.partition('<div class="fallback">')[2]
    assert fallback.strip().startswith("<svg ")
    assert fallback.index("</svg>") < fallback.index("<table")
    assert re.findall(">([^<>\n]+)</text>", fallback)[:4] == ["I", "need", "the", "chair"]
    head = ["English", "German", "without head 3 of layer 2"]
    assert cells(html, "What the model writes") == [head, [english, german, "Ich, sie."]]
    assert "<svg" not in by_hand()._repr_html_(), "elsewhere the tables are enough"


def test_the_bench_has_the_pieces_as_letters_and_its_first_merges_as_a_table():
    learned = {("t", "e"): 3, ("te", "a"): 2, **{(str(n), "x"): 1 for n in range(8)}}
    html = figures.tokens.bench({"tea": 2, "␣ten": 1}, learned, figures.tokens.merges([["a"]], [""]))._repr_html_()
    found = data(html)
    assert found["pieces"] == [["t", "e", "a"], ["␣", "t", "e", "n"]]
    assert found["times"] == [2, 1]
    assert found["merges"] == [list(pair) for pair in learned]
    head, *rows = cells(html, "The first merges")
    assert head == ["pair", "times", "token"]
    assert rows[:2] == [["t + e", "3", "te"], ["te + a", "2", "tea"]]
    assert len(rows) == 8
    assert "<svg" in html


def painter(**changed):
    masks = {"causal": np.tri(3, dtype=bool), "padding": np.tile([True, True, False], (3, 1))}
    weights = {name: attention(Q, K, V, mask)[1] for name, mask in masks.items()}
    given = {"scores": Q @ K.T / np.sqrt(3), "words": WORDS, "real": [True, True, False], "masks": masks}
    return figures.masks.painter(**given | {"weights": weights} | changed, marked=1)


def test_the_painter_has_the_scores_and_the_first_mask_and_tables_of_the_weights_under_each():
    html = painter()._repr_html_()
    scores, causal = (Q @ K.T / np.sqrt(3)).tolist(), np.tri(3, dtype=bool).tolist()
    assert data(html) == {"words": list(WORDS), "scores": scores, "real": [True, True, False], "mask": causal}
    assert cells(html, "Weights, causal")[2] == ["love", "0.5000", "0.5000", "0"]
    assert cells(html, "Weights, padding")[3][-1] == "0"
    fallback = html.partition('<div class="fallback">')[2]
    assert fallback.index("</svg>") < fallback.index("<table")
    assert "<image" not in fallback, "no pixels, whose bytes depend on the machine"
    html = painter(words=("<b>", "</script>", "&amp;"))._repr_html_()
    assert ("<b>" in html, html.count("</script>"), html.count("&amp;amp;") > 0) == (False, 1, True)


def test_the_painter_takes_a_score_for_each_pair_and_weights_for_each_mask():
    with pytest.raises(ValueError, match=r"3 words need 3 by 3 scores and 3 flags: scores \(2, 3\), real \(3,\)"):
        painter(scores=X[:2])
    with pytest.raises(ValueError, match=r"3 words need 3 by 3 scores and 3 flags: scores \(3, 3\), real \(2,\)"):
        painter(real=[True, True])
    with pytest.raises(ValueError, match=r"masks \['causal', 'padding'\], weights \['causal'\]"):
        painter(weights={"causal": WEIGHTS})


def encoding(texts=("ab", " ä")):
    bpe = BytePairEncoding.train(["ab ab abc"], 3)
    return figures.tokens.encoding(bpe.merges, bpe.tokens, {t: bpe.encode(t) for t in texts}, figures.tokens.read([]))


def test_the_encoding_has_the_merges_and_a_table_of_texts_with_their_ids():
    bpe = BytePairEncoding.train(["ab ab abc"], 3)
    html = encoding()._repr_html_()
    assert data(html) == {"merges": [list(pair) for pair in bpe.merges], "texts": ["ab", " ä"]}
    ids = [", ".join(map(str, bpe.encode(text))) for text in ("ab", " ä")]
    rows = [["text", "tokens", "ids"], ["ab", "ab", ids[0]], [" ä", "␣ · \\xc3 · \\xa4", ids[1]]]
    assert cells(html, "Texts and their tokens") == rows
    with pytest.raises(ValueError, match=r"texts \(none\) must be one text at least"):
        encoding(())


def test_the_merges_of_the_figure_are_those_of_the_translator():
    """The page keeps them twice, here and in the script with the weights: they must be one thing."""
    found, translator = stored("tokens", "encoding"), Translator.load()
    assert [tuple(pair) for pair in found["merges"]] == translator.tokens.merges


def test_the_scores_of_the_chapter_give_the_weights_of_the_package():
    found = stored("masks", "masks")
    ids = np.where(found["real"], [4, 5, 6, 7], 0)[None]
    x = np.vstack([X, np.zeros(3)])
    for mask in (causal_mask(4), padding_mask(ids, 0)[0, 0]):
        wanted = attention(x @ W_Q, x @ W_K, x @ W_V, mask)[1]
        assert np.allclose(softmax(np.where(mask, found["scores"], -np.inf)), wanted)
    assert found["mask"] == causal_mask(4).tolist()
    assert found["words"] == [*WORDS, "–"]


def moving(words=("a", "it", "b"), choices=("b", "c"), **changed):
    strips = {"word, word: one": [1.0, 0.25, -1.25], "position, position: two": [0.5, 0.0, -0.5]}
    others = {"word, word: one": [-1.25, 2.0]}
    given = {"strips": strips, "weights": softmax(np.sum([*strips.values()], axis=0)), "others": others}
    return figures.positions.moving(words=words, pair=(1, 2), choices=choices, **given | changed)


def test_the_moving_word_has_numbers_for_each_choice_where_words_are_asked_for():
    html = moving()._repr_html_()
    first = {"name": "word, word: one", "strip": [1.0, 0.25, -1.25], "words": [-1.25, 2.0]}
    second = {"name": "position, position: two", "strip": [0.5, 0.0, -0.5]}
    given = {"words": ["a", "it", "b"], "asks": 1, "moves": 2, "choices": ["b", "c"], "genders": {}}
    assert data(html) == given | {"parts": [first, second]}
    rows = cells(html, "What &quot;it&quot; gives each word")
    assert rows[0][-4:] == ["word, word", "position, position", "score", "weight"]
    assert rows[3] == ["2 b", "−1.25", "−0.50", "−1.75", "0.03"]
    with pytest.raises(ValueError, match=r"choices \['c'\] must include 'b'"):
        moving(choices=["c"])
    with pytest.raises(ValueError, match=r"word, word: one: \(3,\) numbers do not fit \['b', 'c'\]"):
        moving(others={"word, word: one": [0.0, 1.0, 2.0]})


def test_the_parts_of_the_chapter_add_up_to_what_the_translator_looks_at():
    """Ten words at the chair's position as the translator reads them; the chair at ten positions, by its rows."""
    found, translator = stored("order", "parts"), Translator.load()
    translator.model.double()
    asks, moves, text = found["asks"], found["moves"], RUNNING[0].english
    ids = translator.encode(text, 1)
    assert [translator.name(i).strip() for i in ids] == found["words"]

    def weights(word, position):
        scores = np.sum([part["strip"] for part in found["parts"]], axis=0)
        new = [part["words"][word] if "words" in part else part["strip"][position] for part in found["parts"]]
        return softmax(np.where(np.arange(len(scores)) == moves, sum(new), scores))

    for n, word in enumerate(found["choices"]):
        seen = translator.look(text.replace("chair", word), "")[2]["encoder"][0, 0, asks]
        assert np.allclose(weights(n, moves), seen, atol=1e-5), word
    x, p = translator.model.embedding(torch.tensor([ids])), translator.model.positions.table[: len(ids)]
    attend = translator.model.encoder.layers[0].self_attention
    for position in range(len(ids)):
        rows = x + p
        rows[0, moves] = x[0, moves] + p[position]
        scores = attend.queries(x + p)[0, 0, asks] @ attend.keys(rows)[0, 0].T / np.sqrt(32)
        found_there = weights(found["choices"].index("chair"), position)
        assert np.allclose(found_there, softmax(scores.detach().numpy()), atol=1e-5), position


def stored(chapter, figure):
    """The data of an interactive figure of a chapter."""
    shown = guards.outputs(BOOK / f"{chapter}.ipynb", "text/html")
    (html,) = (html for html in shown if f"<{figure}-figure" in html)
    return data(html)


def test_the_heads_of_the_chapter_are_whole_and_rounded_where_every_machine_rounds_alike():
    translator = Translator.load()
    translator.model.double()
    found = stored("looking", "heads")
    for sentence in found["sentences"]:
        _, _, weights = translator.look(*sentence["text"].split(" → "))
        assert set(weights) == set(sentence["panels"]) == set(found["kinds"])
        for kind, w in weights.items():
            thousandths = 1000 * w.numpy()
            shown = [float(as_share(x, 3)) for x in w.numpy().flat]
            assert np.array_equal(shown, np.ravel(sentence["panels"][kind]["weights"]))
            edges = np.abs(thousandths - np.floor(thousandths) - 0.5)
            assert edges.min() > 1e-8, "a weight lies so near the edge that another machine could round it otherwise"


def test_the_tables_of_the_chapter_on_decoding_are_probabilities():
    tables = stored("decode", "beam")["tables"]
    assert len(tables) == 3
    for table in tables:
        for key, row in table["rows"].items():
            ids = [i for i, _ in row]
            assert len(ids) == len(set(ids))
            assert 0.99 < sum(np.exp(p) for _, p in row) < 1 + 1e-5
            assert not key or " ".join(key.split()[:-1]) in table["rows"], "each beginning's own beginning is there"
    assert len(json.dumps(tables)) < 60_000


def test_words_cannot_become_elements():
    evil = ("<img src=x onerror=alert(1)>", "</script><b>", "&amp;\u2028")
    found = {word: (word, 0.0, 0.0) for word in evil}
    played = film(reel([(" ".join(evil), " ".join(evil))], {0: evil[:1], 60: evil[1:2]}))
    for figure in (by_hand(evil), heads(evil), searches(found), sentence(f"{' '.join(evil)} Stuhl, weil er"), played,
                   encoding([" ".join(evil)]), moving(evil, (*evil[2:], "c"))):  # fmt: skip
        html = figure._repr_html_()
        assert not re.search(r"<(img|b)\b", html)
        assert html.count("</script>") == html.count("<script") == 1
        if figure.name != "heads":  # its tables name the strongest words alone
            assert "&lt;img src=x onerror=alert(1)&gt;" in html
            assert "&amp;amp;" in html
    assert data(by_hand(evil)._repr_html_())["words"] == list(evil)


def test_a_cell_puts_out_the_same_each_time_and_a_picture_and_words():
    assert by_hand()._repr_html_() == by_hand()._repr_html_()
    assert by_hand()._repr_svg_() == figures.attention.weights(WEIGHTS, WORDS, WORDS)._repr_svg_()
    assert "0.4711" in repr(by_hand())
    assert Interactive("attention", {}, {})._repr_svg_() is None


def plain(x):
    """Numbers as the map writes them, in nested lists."""
    return [plain(row) for row in x] if np.ndim(x) else f"{x:z.2f}".replace("-", "−").replace("inf", "∞")


@pytest.mark.parametrize("layers", [1, 2])
def test_the_map_has_every_tensor_of_every_run_once(layers):
    runs = {"one": walked(0, layers), "other": walked(1, layers)}
    (model,) = walk(runs).data["models"]
    tables = [table for step in model["steps"] for table in step["tables"]]
    names = [table["name"] for table in tables]
    left_out = {name for name in runs["one"] if name.endswith(".inner")}  # its positive part is there
    assert names == [name for name in runs["one"] if name not in left_out]
    for table in tables:
        tensors = [np.asarray(run[table["name"]]) for run in runs.values()]
        assert tuple(table["shape"]) == tensors[0].shape
        assert len(table["axes"]) == tensors[0].ndim
        assert table["shown"] == "", "so small a table is whole"
        for tensor, texts in zip(tensors, table["values"], strict=True):
            if tensor.dtype == int:
                assert texts == [str(number) for number in tensor]
            else:
                flat = zip(np.ravel(plain(tensor)), np.ravel(texts), tensor.flat, strict=True)
                exact = {"0": lambda x: abs(x) < 1e-10}
                if table["kind"] == "share":
                    exact = {"0": lambda x: x == 0, "1": lambda x: x == 1} | {
                        as_share(x, 2): lambda x: x > 0.995 for x in tensor.flat if 0.995 < x < 1
                    }
                assert all(a == b or exact[b](number) for a, b, number in flat)


def test_the_stages_of_a_run_have_its_shapes():
    assert words.stages(walked(layers=2)) == {
        "source": "3 × 6", "self-attention": "2 × 3 × 3", "inner width": "3 × 8", "memory": "3 × 6",
        "target": "4 × 6", "masked self-attention": "2 × 4 × 4", "cross-attention": "2 × 4 × 3",
        "decoder's rows": "4 × 6", "logits": "4 × 10",
    }  # fmt: skip
    assert words.stages(walked_wide())["cross-attention"] == "2 × 3 × 2"
    assert [words.n_layers(run) for run in (walked(), walked_wide())] == [1, 2]


def test_small_steps_make_the_wanted_tokens_more_probable_and_hand_back_the_loss_of_a_run():
    config = Config(vocab_size=10, d_model=6, d_ff=8, n_heads=2, n_layers=1, dropout=0.0)
    params, losses = create_params(config, np.random.default_rng(0)), []
    texts = np.array([[4, 5, 6]]), np.array([[1, 7, 8, 9]]), np.array([[7, 8, 9, 2]])
    begun, rate = params, 1e-4
    moved, before = words.small_step(begun, *texts, config, rate)
    slope = sum(((begun[name] - moved[name]) ** 2).sum() for name in begun) / rate
    after = words.run(moved, *texts, config)["answers"]
    assert np.isclose(before - after[:, 1].mean(), slope, rtol=0.01)  # downhill, as steeply as the gradient says
    assert np.allclose(after[:, 1], -np.log(after[:, 0]))
    for _ in range(20):
        answers = words.run(params, *texts, config)["answers"]
        params, loss = words.small_step(params, *texts, config)
        assert np.isclose(loss, answers[:, 1].mean())
        losses.append(loss)
    assert losses[-1] < losses[0] / 2


def test_of_a_wide_table_the_first_columns_are_shown_and_of_a_vocabulary_the_most_probable():
    run, names = walked_wide(), [f"t{i}" for i in range(40)]
    first, second = walk_of_two().data["models"]
    assert first["words"]["V"] == list(TOKENS)
    assert len(second["steps"]) > len(first["steps"])
    likely = run["probabilities"].max(axis=0)
    shown = [names.index(word) for word in second["words"]["V"]]
    assert len(shown) == 10
    assert [shown[i] for i in second["wanted"]] == [30, 31, 2]
    assert [shown[i] for i in second["best"][0]] == run["probabilities"].argmax(axis=1).tolist()
    sure = {2, 30, 31, *run["probabilities"].argmax(axis=1).tolist()}
    assert min(likely[list(set(shown) - sure)]) >= max(likely[list(set(range(40)) - set(shown))])
    for table in (table for step in second["steps"] for table in step["tables"]):
        x, (texts,) = run[table["name"]], table["values"]
        assert tuple(table["shape"]) == x.shape, "the shape is that of the whole"
        if table["axes"][-1] == "V":
            assert table["shown"] == "the 10 likeliest"
            assert np.shape(texts) == (3, 10)
        elif x.shape[-1] in (16, 32) and table["axes"][-1] != "S":
            assert table["shown"] == "the first 6"
            assert np.shape(texts) == (*x.shape[:-1], 6)
        else:
            assert (table["shown"], np.shape(texts)) == ("", x.shape)


def test_the_languages_of_the_words_go_to_the_page():
    assert heads().data["languages"] == {}
    panel = (WEIGHTS_OF_HEADS, (" x", "y → z"), ("a", " b", "c"))
    choices = figures.looking.choices(
        {"a": {"cross": panel}}, {"cross": "x reads a"}, ("cross", 1, 0), {"cross": ("de", "en")}
    )
    assert choices.data["languages"] == {"cross": ("de", "en")}
    assert walk({"one": walked()}).data["languages"] == {"S": "en", "T": "de"}
    found, plain = {"greedy": ("a <eos>", -0.25, -0.2)}, figures.decode.tree({("a",): 0.8}, {"greedy": [("a",)]})
    figure = figures.decode.searches({"one": TREE, "two": TREE}, 3, (2, 0.6), found, plain, {"two": "de"})
    assert [table["language"] for table in figure.data["tables"]] == [None, "de"]
    assert figures.decode.searches({"one": TREE}, 3, (2, 0.6), found, plain).data["tables"][0]["language"] is None


def test_the_letters_of_a_shape_count_what_they_say():
    data = walk({"one": walked(0, 2)}).data
    counted = {"S": 3, "T": 4, "D": 6, "H": 2, "d_k": 3, "d_v": 3, "H·d_v": 6, "F": 8, "V": 10, "2": 2}
    assert counted.keys() - {"2"} == data["axes"].keys()
    (model,) = data["models"]
    for table in (table for step in model["steps"] for table in step["tables"]):
        assert [counted[letter] for letter in table["axes"]] == list(table["shape"])


def test_a_step_leads_to_a_chapter_by_its_name():
    for name, title in words.CHAPTERS.items():
        assert guards.cells(BOOK / f"{name}.ipynb")[0]["source"].startswith(f"# {title}\n")
    html = walk({"one": walked()})._repr_html_()
    steps = list(words.steps(1))
    found = re.findall(r'<a href="(\w+)\.ipynb#([\w-]+)">([^<]*)</a>', html)
    assert [f"{page}#{anchor}" for page, anchor, _ in found] == [step.place for step in steps]
    for page, anchor, title in found:
        assert title.replace("&amp;", "&") == words.CHAPTERS[page]
        slugs = {re.sub("-+", "-", slug) for slug in guards.slugs(BOOK / f"{page}.ipynb")}
        assert anchor in slugs


def test_the_list_of_steps_says_where_what_and_which_shape():
    html = walk({"one": walked(0, 2)})._repr_html_()
    rows = re.findall(r'<tr><th scope="row">(\d+)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>', html)
    assert [int(row[0]) for row in rows] == list(range(1, 42))
    assert rows[0][1:] == ("encoder, Tokens", words.ABOUT["source"], "ids (S) = (3)")
    assert rows[17][1] == "decoder, Positions"
    assert rows[23][1:] == (
        "decoder layer 1, Cross-attention: weights",
        words.ABOUT["cross weights"],
        "scores Q K^T / √d_k (H, T, S) = (2, 4, 3); weights A (H, T, S) = (2, 4, 3)",
    )
    memory = [row[1] for row in rows if "This is the memory" in row[2]]
    assert memory == ["encoder layer 2, Add &amp; norm"], "the last layer's, and no other"


def test_words_and_addresses_of_a_list_cannot_become_elements():
    cells = [["<b>", ("<i>", '"><img src=x>')]]
    html = Interactive("walk", {}, {}, words={"<u>": (("<s>",), cells)})._repr_html_()
    assert re.findall(r"<[a-z]+", html.partition("</script>")[2]) == [
        "<div", "<table", "<caption", "<thead", "<tr", "<th", "<tbody", "<tr", "<th", "<td", "<a"
    ]  # fmt: skip
    assert "<b> | <i>" in repr(Interactive("walk", {}, {}, words={"<u>": (("<s>",), cells)}))


def test_links_of_a_figure_lead_to_pages_and_others_stay():
    body = '<a href="a.ipynb">x</a><walk-figure><a href="b.ipynb#c">x</a> d.ipynb</walk-figure><a href="e.ipynb">x</a>'
    assert live.to_pages(body) == body.replace("b.ipynb", "b.html")
    context = {"body": body}
    live.bring_scripts(App(), "page", "page.html", context, None)
    assert context["body"] == live.to_pages(body)


def test_numbers_in_a_table_are_written_alike():
    assert places_of(np.array([[1.0, 2.0]]), 4) == 0
    assert places_of(np.array([[0.5, 0.25]]), 4) == 2
    assert places_of(np.array([[1 / 3, 1.0]]), 4) == 4
    assert [written(value, 2) for value in (0.0, -1e-12, -0.5, 2)] == ["0", "0", "−0.50", "2.00"]


def test_a_name_a_shape_and_a_number_that_cannot_be_are_refused():
    for name in ("", "Attention", "a b", "../x"):
        with pytest.raises(ValueError, match="one word in small letters"):
            Interactive(name, {}, {})
    with pytest.raises(ValueError, match=r"T has shape \(1, 2\), but 1 rows and 1 columns are named"):
        Interactive("attention", {}, {"T": (["a"], ["b"], [[1, 2]])})
    with pytest.raises(ValueError, match="x must be finite"):
        Interactive("attention", {"x": np.array([np.nan])}, {})


# What a page loads


class App:
    """What Sphinx offers, as far as it is used here."""

    def __init__(self):
        self.files = []

    def add_js_file(self, name, defer):
        self.files.append(name)

    def add_css_file(self, name):
        self.files.append(name)


def test_a_page_loads_the_scripts_of_its_own_figures():
    for body, files in (
        ("<p>Nothing</p>", []),
        (film()._repr_html_(), ["figures/common.js", "figures/figures.css", "figures/film.js", "figures/film.css"]),
        ("&lt;attention-figure&gt;", []),
        (by_hand()._repr_html_(), ["figures/common.js", "figures/figures.css", "figures/attention.js"]),
    ):
        app = App()
        live.bring_scripts(app, "page", "page.html", {"body": body}, None)
        assert app.files == files
        assert all((BOOK / "_static" / name).is_file() for name in files)


def test_a_page_without_a_body_loads_nothing():
    app = App()
    live.bring_scripts(app, "search", "search.html", {}, None)
    assert app.files == []


# What the scripts may not do


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_script_asks_nobody_and_makes_no_html_of_words(path):
    text = path.read_text(encoding="utf-8").replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//\w+\.\w|\bimport\b|fetch\(|XMLHttpRequest|WebSocket|sendBeacon", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


def test_every_script_belongs_to_a_figure():
    used = {"common", "model"}
    for path in BOOK.glob("*.ipynb"):
        used |= {name for html in guards.outputs(path, "text/html") for name, _ in guards.FIGURE.findall(html)}
    assert {path.stem for path in FILES if path.suffix == ".js"} == used


def test_scripts_and_styles_of_a_figure_are_small():
    """All as they lie on the disk; those that calculate with the model and open it, as they travel too."""
    sizes = {path.name: path.stat().st_size for path in FILES}
    packed = {path.name: len(gzip.compress(path.read_bytes(), 6)) for path in FILES}
    for path in FILES:
        if path.suffix == ".js" and path.stem not in ("common", "model", "cut"):
            loaded = live.files([path.stem])
            assert sum(map(sizes.get, loaded)) < 62_000 + (sizes["model.js"] if "model.js" in loaded else 0), path.name
    assert sum(map(packed.get, live.files(["cut"]))) < 50_000
    assert packed["cut.js"] < 24_000
    assert packed["model.js"] < 8_000
