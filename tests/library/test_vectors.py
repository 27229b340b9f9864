"""Vectors of texts and of words: counts, TF-IDF, skip-gram with its gradient, and words made of pieces."""

import itertools
from collections import Counter

import matplotlib.image
import matplotlib.patches
import numpy as np
import pytest
import torch
from helpers import arrays, assert_gradients, assert_near, legible, lengths, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from torch.nn import functional as F

from tested_transformer.book import figures
from tested_transformer.text.vectors import (
    cooccurrence,
    cosine,
    count,
    nearest,
    neighbours,
    ngrams,
    noise,
    skip_gram,
    skip_gram_backward,
    skip_gram_step,
    tf_idf,
    train_skip_gram,
)

TEXTS = ["the dog sees the cat", "the cat drinks the milk", "the woman drinks tea", "a lady sips coffee tea tea"]
WORDS = sorted({word for text in TEXTS for word in text.split()})
COUNTS = count([text.split() for text in TEXTS], WORDS)
PATTERN = r"(?u)\b\w+\b"  # words of one letter, too
counted = hnp.arrays(int, st.tuples(lengths(5), lengths(5)), elements=st.integers(0, 4))
codes = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7).map(np.array), min_size=1, max_size=4)


def pair(p=4, m=3, d=5, seed=0):
    """Centres (P, D) and others (P, M, D)."""
    return normal(p, d, seed=seed), normal(p, m, d, seed=seed + 1)


def language(n=60, seed=0):
    """Texts of a language in which word i of three groups of four stands before any word of the next group."""
    rng = np.random.default_rng(seed)
    return [rng.integers(4, size=3) + np.array([0, 4, 8]) for _ in range(n)]


# By hand


def test_counts_are_those_of_each_text():
    assert count([["b", "a", "b"], [], ["c"]], ["a", "b", "c"]).tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 1]]


def test_tf_idf_of_two_small_texts_is_what_paper_and_pencil_give():
    vectors = tf_idf(np.array([[2, 1], [0, 1]]))
    heavy, light = 2 * (np.log(3 / 2) + 1), np.log(3 / 3) + 1
    assert_near(vectors, np.array([[heavy, light] / np.hypot(heavy, light), [0, 1]]), 1e-15)


def test_neighbours_of_four_words_with_a_window_of_one():
    centre, near = neighbours(4, 1)
    assert list(zip(centre.tolist(), near.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]


def test_a_window_of_two_reaches_two_words_to_each_side():
    centre, near = neighbours(6, 2)
    assert near[centre == 3].tolist() == [1, 2, 4, 5]
    assert near[centre == 0].tolist() == [1, 2]


def test_co_occurrence_counts_each_meeting_in_both_directions_and_does_not_cross_texts():
    assert cooccurrence([np.array([0, 1, 2, 1, 0])], 4, 1).tolist() == [
        [0, 2, 0, 0],
        [2, 0, 2, 0],
        [0, 2, 0, 0],
        [0, 0, 0, 0],
    ]
    assert cooccurrence([np.array([0, 0])], 2, 1).tolist() == [[2, 0], [0, 0]]
    assert cooccurrence([np.array([0]), np.array([1])], 2, 5).sum() == 0


def test_noise_is_the_share_of_the_counts_to_the_power_of_three_quarters():
    assert_near(noise(np.array([16, 81, 0])), np.array([8, 27, 0]) / 35, 1e-14)
    assert_near(noise(np.array([1, 3, 0]), power=1), np.array([0.25, 0.75, 0]), 1e-15)
    assert_near(noise(np.array([1, 3, 0]), power=0), np.array([0.5, 0.5, 0]), 1e-15)


def test_the_loss_of_one_pair_is_the_sum_of_three_surprises():
    yes = 1 / (1 + np.exp(-np.array([1, -0.5, 0.5])))
    loss = skip_gram(np.array([[1, 0.5]]), np.array([[[0.5, 1], [-1, 1], [1, -1]]]))
    assert np.isclose(loss, -np.log(yes[0] * (1 - yes[1]) * (1 - yes[2])), rtol=1e-14)


def test_the_pieces_of_love():
    assert ngrams("love") == ["<love>", "<lo", "lov", "ove", "ve>", "<lov", "love", "ove>", "<love", "love>"]
    assert ngrams("a") == ["<a>"]
    assert ngrams("ab", 2, 2) == ["<ab>", "<a", "ab", "b>"]


def test_no_piece_comes_twice():
    assert ngrams("aaaa", 2, 2) == ["<aaaa>", "<a", "aa", "a>"]


# Laws


@given(counted)
def test_rows_of_tf_idf_have_length_one_or_no_words(counts):
    lengths_ = np.linalg.norm(tf_idf(counts), axis=1)
    assert np.allclose(lengths_, counts.any(axis=1), rtol=0, atol=1e-12)


@given(st.integers(2, 8), st.data())
def test_the_more_texts_have_a_word_the_less_it_weighs(n, data):
    often, seldom = data.draw(st.lists(st.integers(1, n), min_size=2, max_size=2, unique=True).map(sorted))[::-1]
    counts = np.zeros((n, 2), dtype=int)
    counts[:often, 0] = counts[:seldom, 1] = 1
    first = tf_idf(counts)[0]
    assert 0 < first[0] < first[1]


@given(st.integers(1, 20))
def test_how_often_a_text_repeats_itself_changes_nothing_in_its_row(times):
    again = COUNTS.copy()
    again[0] *= times
    assert_near(tf_idf(again), tf_idf(COUNTS), 1e-14)


@given(counted)
def test_the_order_of_the_texts_only_orders_the_rows(counts):
    assert_near(tf_idf(counts[::-1]), tf_idf(counts)[::-1], 1e-14)


@given(arrays(4, 3))
def test_cosines_are_symmetric_at_most_one_and_blind_to_length(rows):
    rows[abs(rows) < 1e-3] = 0
    found = cosine(rows)
    assert np.allclose(found, found.T)
    assert abs(found).max() <= 1 + 1e-12
    assert np.allclose(np.diag(found), rows.any(axis=1))
    assert np.allclose(cosine(7 * rows), found)


@given(st.integers(0, 9), st.integers(1, 9))
def test_neighbours_are_near_never_the_same_place_and_mutual(length, window):
    centre, near = neighbours(length, window)
    pairs = set(zip(centre.tolist(), near.tolist(), strict=True))
    assert len(pairs) == len(centre) == sum(0 < abs(i - j) <= window for i in range(length) for j in range(length))
    assert all(0 < abs(i - j) <= window and (j, i) in pairs for i, j in pairs)


@given(codes, st.integers(1, 4))
def test_co_occurrence_is_symmetric_and_has_all_pairs(texts, window):
    counts = cooccurrence(texts, 6, window)
    assert np.array_equal(counts, counts.T)
    assert counts.sum() == sum(len(neighbours(len(text), window)[0]) for text in texts)


@given(hnp.arrays(int, lengths(6), elements=st.integers(0, 1000)).filter(lambda x: x.sum() > 0))
def test_noise_adds_up_to_one_keeps_the_order_and_lifts_what_is_rare(counts):
    chances = noise(counts)
    assert np.isclose(chances.sum(), 1)
    assert np.all((chances == 0) == (counts == 0))
    assert np.all(np.argsort(chances, kind="stable") == np.argsort(counts, kind="stable"))
    if len(present := counts[counts > 0]) > 1:
        low, high = present.min(), present.max()
        assert chances[counts == low][0] / chances.max() >= low / high - 1e-12


def test_the_nearest_rows_come_best_first_and_without_the_row_itself():
    table = np.array([[1, 0], [0, 3], [2, 1], [-1, 0], [5, 0]])
    assert nearest(table.astype(float), 0, 4).tolist() == [4, 2, 1, 3]
    assert nearest(table.astype(float), 4, 1).tolist() == [0]
    assert len(nearest(np.eye(9), 0)) == 5


@given(st.text("ab", min_size=1, max_size=8), st.integers(1, 3), st.integers(0, 3))
def test_pieces_are_in_the_word_have_their_lengths_and_leave_nothing_out(word, shortest, more):
    whole, pieces = f"<{word}>", ngrams(word, shortest, shortest + more)
    cuts = {
        whole[i:j] for i in range(len(whole)) for j in range(len(whole) + 1) if shortest <= j - i <= shortest + more
    }
    assert set(pieces) == cuts | {whole}
    assert len(pieces) == len(set(pieces))


# The loss and its gradient


def test_the_gradient_is_that_of_central_differences():
    centre, others = pair()
    assert_gradients(skip_gram, (centre, others), skip_gram_backward(centre, others))


def test_loss_and_gradient_are_those_of_pytorch():
    centre, others = pair(seed=3)
    c, o = tensors(centre, others)
    scores = torch.einsum("pd,pmd->pm", c, o)
    loss = -F.logsigmoid(scores[:, 0]).sum() - F.logsigmoid(-scores[:, 1:]).sum()
    loss.backward()
    assert np.isclose(skip_gram(centre, others), loss.item(), rtol=1e-12)
    for ours, theirs in zip(skip_gram_backward(centre, others), (c.grad, o.grad), strict=True):
        assert_near(ours, theirs, 1e-9)


@pytest.mark.parametrize("size", [1e3, -1e3])
def test_scores_of_thousands_overflow_nothing(size):
    centre, others = np.array([[size]]), np.array([[[1.0], [1.0]]])
    assert skip_gram(centre, others) == abs(size)  # one of the two answers is sure and wrong
    d_centre, d_others = skip_gram_backward(centre, others)
    assert np.all(np.isfinite(d_centre))
    assert d_others.ravel().tolist() == ([0, size] if size > 0 else [-size, 0])


def test_a_step_moves_both_tables_against_the_gradient_of_the_whole_text():
    table, out, ids = normal(6, 4), normal(6, 4, seed=1), np.array([2, 5, 2, 0])
    drawn = np.random.default_rng(0).integers(6, size=(len(neighbours(4, 2)[0]), 3))
    pieces = np.arange(6)[:, None]
    t, o = tensors(table, out)
    centre, near = neighbours(4, 2)
    others = np.column_stack([ids[near], drawn])
    scores = torch.einsum("pd,pmd->pm", t[torch.tensor(ids[centre])], o[torch.tensor(others)])
    (-F.logsigmoid(scores[:, 0]).sum() - F.logsigmoid(-scores[:, 1:]).sum()).backward()
    new, new_out = table.copy(), out.copy()
    skip_gram_step(new, new_out, pieces, ids, drawn, 2, 0.3)
    assert_near(table - new, 0.3 * t.grad, 1e-9)
    assert_near(out - new_out, 0.3 * o.grad, 1e-9)


def test_each_piece_of_a_word_gets_the_gradient_of_the_whole():
    table, out, ids = normal(5, 4), normal(3, 4, seed=1), np.array([0, 1, 2])
    pieces = np.array([[0, 1, 4], [1, 2, 3], [3, 4, 0]])
    drawn = np.zeros((4, 1), dtype=int)
    t, o = tensors(table, out)
    centre, near = neighbours(3, 1)
    words = t[torch.tensor(pieces)].sum(1)[torch.tensor(ids[centre])]
    scores = torch.einsum("pd,pmd->pm", words, o[torch.tensor(np.column_stack([ids[near], drawn]))])
    (-F.logsigmoid(scores[:, 0]).sum() - F.logsigmoid(-scores[:, 1:]).sum()).backward()
    new = table.copy()
    skip_gram_step(new, out.copy(), pieces, ids, drawn, 1, 0.1)
    assert_near(table - new, 0.1 * t.grad, 1e-9)


# Training


def test_words_with_the_same_neighbours_come_together():
    start, _ = train_skip_gram(language(), 12, 8, epochs=0)
    table, _ = train_skip_gram(language(), 12, 8, epochs=30, rate=0.3)
    group = np.arange(12) // 4
    own = [np.mean([np.mean(group[nearest(x, i, 3)] == group[i]) for i in range(12)]) for x in (start, table)]
    assert own[0] < 0.6
    assert own[1] == 1


def test_the_same_seed_gives_the_same_tables_and_another_seed_others():
    first, again, other = (train_skip_gram(language(50), 12, 4, epochs=2, seed=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.allclose(first[0], other[0])


def test_without_a_step_the_tables_are_the_start():
    table, out = train_skip_gram(language(5), 12, 4, epochs=0)
    assert abs(table).max() <= 0.5 / 4
    assert table.shape == out.shape == (12, 4)
    assert not out.any()
    assert abs(table).min() > 0


def test_no_step_leaves_a_word_that_was_in_no_text_where_it_was():
    start, _ = train_skip_gram(language(50), 14, 4, epochs=0)
    table, out = train_skip_gram(language(50), 14, 4, epochs=2)
    assert np.array_equal(table[12:], start[12:])
    assert not out[12:].any()  # and it was never drawn


def test_what_is_drawn_follows_the_chances(monkeypatch):
    drawn = Counter()
    real = skip_gram_step

    def noticed(table, out, pieces, ids, words, window, rate):
        drawn.update(words.ravel().tolist())
        real(table, out, pieces, ids, words, window, rate)

    monkeypatch.setattr("tested_transformer.text.vectors.skip_gram_step", noticed)
    texts = [np.array([0] * 7 + [1, 2, 2])] * 300
    train_skip_gram(texts, 3, 2, window=1, n_negative=4, epochs=1)
    shares = np.array([drawn[i] for i in range(3)]) / drawn.total()
    assert drawn.total() == 300 * 18 * 4
    assert np.allclose(shares, noise(np.array([7, 1, 2])), rtol=0, atol=0.015)


def test_the_rate_falls_to_zero_and_each_epoch_takes_every_text_once_in_an_order_of_its_own(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "tested_transformer.text.vectors.skip_gram_step",
        lambda table, out, pieces, ids, drawn, window, rate: seen.append((int(ids[0]), rate)),
    )
    train_skip_gram([np.array([i, i]) for i in range(9)], 9, 2, rate=1.8, epochs=2)
    assert np.allclose([rate for _, rate in seen], 0.1 * np.arange(18, 0, -1))
    first, second = [i for i, _ in seen[:9]], [i for i, _ in seen[9:]]
    assert sorted(first) == sorted(second) == list(range(9))
    assert len({*map(tuple, [first, second, range(9)])}) == 3, "in a new order each time"


def test_minus_one_is_no_piece():
    texts, whole = language(40), np.arange(12)[:, None]
    filled = np.hstack([whole, np.full((12, 2), -1)])
    plain, padded = (train_skip_gram(texts, 12, 4, pieces=p, epochs=2) for p in (None, filled))
    for a, b in zip(plain, padded, strict=True):
        assert_near(a, b, 1e-12)


def test_words_made_of_the_same_pieces_have_the_same_vector():
    pieces = np.arange(12)[:, None] // 4
    table, _ = train_skip_gram(language(50), 12, 4, pieces=pieces, epochs=2)
    assert table.shape == (3, 4)


def test_texts_of_one_word_teach_nothing():
    start, trained = (train_skip_gram([np.array([1])], 3, 2, epochs=n) for n in (0, 3))
    assert np.array_equal(start[0], trained[0])


# Agreement


def test_counts_and_tf_idf_are_those_of_scikit_learn():
    theirs = CountVectorizer(token_pattern=PATTERN).fit(TEXTS)
    assert theirs.get_feature_names_out().tolist() == WORDS
    assert np.array_equal(theirs.transform(TEXTS).toarray(), COUNTS)
    assert_near(tf_idf(COUNTS), TfidfVectorizer(token_pattern=PATTERN).fit_transform(TEXTS).toarray(), 1e-12)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6), min_size=1, max_size=6))
def test_tf_idf_of_any_texts_is_that_of_scikit_learn(texts):
    words = ["a", "b", "c", "d", "e"]
    theirs = TfidfVectorizer(analyzer=lambda text: text, vocabulary=words).fit_transform(texts)
    assert np.allclose(tf_idf(count(texts, words)), theirs.toarray(), rtol=0, atol=1e-12)


# Refusals


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="'unicorn' is not one of the 2 words"):
        count([["a", "unicorn"]], ["a", "b"])
    with pytest.raises(ValueError, match="0 texts and 1 words: there is nothing to count"):
        count([], ["a"])
    with pytest.raises(ValueError, match="1 texts and 0 words: there is nothing to count"):
        count([[]], [])
    with unchecked(), pytest.raises(TypeError, match=r"a text must be several strings, .* not one: 'the dog'"):
        count(["the dog"], ["the", "dog"])


@pytest.mark.parametrize("window", [0, -2])
def test_a_window_without_neighbours_is_refused(window):
    with pytest.raises(ValueError, match=rf"window \({window}\) must be at least 1"):
        neighbours(3, window)


def test_a_row_that_is_not_there_has_no_nearest():
    for i in (3, -1):
        with pytest.raises(IndexError, match=rf"row \({i}\) must be at least 0 and below 3"):
            nearest(np.eye(3), i, 1)
    for n in (0, 3):
        with pytest.raises(ValueError, match=rf"n \({n}\) must be at least 1 and below the number of rows \(3\)"):
            nearest(np.eye(3), 0, n)


def test_counts_that_give_no_chances_are_refused():
    for counts in ([0, 0], [2, -1]):
        with pytest.raises(ValueError, match="counts must not be negative, and not all of them zero"):
            noise(np.array(counts))


def test_pieces_of_nothing_and_impossible_lengths_are_refused():
    with pytest.raises(ValueError, match="an empty word has no pieces"):
        ngrams("")
    for shortest, longest in [(0, 2), (3, 2)]:
        with pytest.raises(ValueError, match=rf"shortest \({shortest}\) must .* not above longest \({longest}\)"):
            ngrams("word", shortest, longest)


@pytest.mark.parametrize(
    ("texts", "change", "error", "message"),
    [
        ([], {}, ValueError, "0 texts, and none may be empty"),
        ([[0, 1], []], {}, ValueError, "2 texts, and none may be empty"),
        ([[0, 3]], {}, IndexError, r"ids \(0 to 3\) must be at least 0 and below vocab_size \(3\)"),
        ([[-1, 2]], {}, IndexError, r"ids \(-1 to 2\) must be at least 0"),
        ([[0, 1]], {"n_negative": 0}, ValueError, r"n_negative \(0\) must be at least 1"),
        ([[0, 1]], {"d_model": 0}, ValueError, r"d_model \(0\) must be at least 1"),
        ([[0, 1]], {"epochs": -1}, ValueError, r"epochs \(-1\) must be at least 0"),
        ([[0, 1]], {"window": 0}, ValueError, r"window \(0\) must be at least 1"),
    ],
)
def test_training_refuses_what_cannot_be_meant(texts, change, error, message):
    arguments = {"vocab_size": 3, "d_model": 2} | change
    with pytest.raises(error, match=message):
        train_skip_gram([np.array(text, dtype=int) for text in texts], **arguments)


def test_pieces_must_be_given_for_every_word():
    with unchecked(), pytest.raises(ValueError, match="pieces has 2 rows; there must be one for each of the 3 words"):
        train_skip_gram([np.array([0, 1])], 3, 2, pieces=np.zeros((2, 1), dtype=int))


# Figures

POINTS = {"before": normal(4, 2), "after": normal(4, 2, seed=1)}
FIGURES = {
    "cosines": lambda: figures.vectors.cosines({"counts": np.eye(3), "TF-IDF": np.eye(3) / 2}, TEXTS[:3]),
    "kinds": lambda: figures.vectors.kinds(POINTS, {"a": [0, 1], "b": [2, 3]}, {0: "dog", 3: "tea"}),
    "matched": lambda: figures.vectors.matched([0, 1, 2], [0.1, 0.9, 2.2], ["counted", "learned"]),
    "company": lambda: figures.vectors.company(
        ["dog", "cat", "tea", "jam"], [[2, 1], [2, 1], [0, 1], [0, 0]], ("sees", "drinks")
    ),
    "read": lambda: figures.vectors.read(
        ["a … it", "b … it"], {"table": [[1, -1]] * 2, "after": [[1, 2], [0, -2]]}, ["er", "es"], "G"
    ),
    "step": lambda: figures.vectors.step(["one", "two"], [[1, 0.5], [-1, 0]], [[0.5, 1], [-1.2, -0.2]]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_wide_enough_for_a_page_and_the_same_each_time(name):
    assert legible(FIGURES[name]) == FIGURES[name]()._repr_svg_()


def test_the_figures_show_what_they_were_given():
    cosines, kinds, matched, company, _, step = (FIGURES[name]() for name in FIGURES)
    assert [text.get_text() for text in cosines.axes[1].texts][:2] == ["0.50", "0"]
    assert cosines.axes[0].get_yticklabels()[2].get_text() == f"{TEXTS[2]}  3"
    for axes, points in zip(kinds.axes, POINTS.values(), strict=True):
        assert np.allclose(np.vstack([group.get_offsets() for group in axes.collections]), points)
        assert [(text.get_text(), text.xy) for text in axes.texts][1][0] == "tea"
        assert np.allclose(axes.texts[1].xy, points[3])
    assert np.allclose(matched.axes[0].collections[0].get_offsets(), [(0, 0.1), (1, 0.9), (2, 2.2)])
    assert [text.get_text() for text in step.axes[0].texts] == ["", "one", "", "two"]
    arrows = [(text.xyann, text.xy) for text in step.axes[0].texts[::2]]
    assert np.allclose(arrows, [[[1, 0.5], [0.5, 1]], [[-1, 0], [-1.2, -0.2]]])
    assert [list(line.get_xdata()) for line in step.axes[0].lines[1:]] == [[0, 1], [0, -1]]
    told = {text.get_text(): text for text in company.axes[0].texts}
    assert [name for name in told if name] == ["dog, cat", "tea", "jam", "cosine 0.45"]
    assert [told[name].xy for name in ("dog, cat", "tea", "jam")] == [(2, 1), (0, 1), (0, 0)]
    assert [text.xy for text in company.axes[0].texts if text.get_text() == ""] == [(2, 1), (0, 1)]
    assert company.axes[0].get_ylabel() == 'times near "drinks"'


def test_a_word_is_a_row_of_tiles_at_each_stage_and_its_translation_stands_at_its_end():
    (frame,) = FIGURES["read"]().axes
    tiles = [patch for patch in frame.patches if isinstance(patch, matplotlib.patches.Rectangle)]
    faces = [tile.get_facecolor() for tile in tiles]
    assert len(tiles) == 8
    assert faces[0] == faces[2] == faces[4] != faces[1] == faces[3]
    assert len(set(faces[4:])) == 4
    places = {text.get_text(): text.get_position() for text in frame.texts}
    assert places["a … it"][1] == places["er"][1] > places["b … it"][1] == places["es"][1]
    assert places["table"][0] < places["after"][0] < places["G"][0] == places["er"][0]


def test_names_stand_beside_their_points_and_on_no_other():
    """They have the colour of their group; a line leads to those that found no room nearby."""
    places = np.array([[x, y] for x in range(8) for y in range(8)], dtype=float)
    groups = {"left": range(32), "right": range(32, 64)}
    names = {9: "chair", 27: "lamp", 36: "picture", 54: "doctor"}
    figure = figures.vectors.kinds({"": places}, groups, names)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert len({text.get_color() for text in axes.texts[:2]}) == 1
    assert len({text.get_color() for text in axes.texts}) == 2
    near = [np.linalg.norm(text.xyann) for text in axes.texts]
    assert all((far > 10) == (text.arrow_patch is not None) for far, text in zip(near, axes.texts, strict=True))
    alone = figures.vectors.kinds({"": places[[0, 63]]}, {"left": [0, 1]}, {0: "chair"})
    assert alone.axes[0].texts[0].arrow_patch is None
