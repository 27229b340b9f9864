"""How pictures are written as SVG, and how two of them are compared."""

import re

import numpy as np
import pictures
import pytest
from helpers import normal
from matplotlib import rc_context
from matplotlib.patches import Circle, Ellipse, Rectangle

from tested_transformer.book import figures
from tested_transformer.book.figures import picture as pic
from tested_transformer.byhand.softmax import softmax


def drawn(draw, **look):
    """The drawing of one set of axes without a frame, 2 inches wide and high, from 0 to 1."""
    with rc_context(pic.STYLE):
        figure = pic.Picture(figsize=(2, 2))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 1), ylim=(0, 1))
        axes.set_axis_off()
        draw(axes, **look)
        return figure.svg()


def only(svg, tag):
    """The attributes of the last element of a kind."""
    return dict(re.findall(r'([\w-]+)="(.*?)"', re.findall(rf"<{tag} .*?>", svg)[-1]))


def test_a_page_of_96_pixels_an_inch_runs_down_from_the_top():
    svg = drawn(lambda axes: axes.plot([0.25, 0.75], [0.5, 1], color="#123456", linewidth=1.5))
    line = only(svg, "path")
    assert (line["d"], line["stroke"], line["stroke-width"]) == ("M48 96L144 0", "#123456", "2")
    assert line["fill"] == "none"


@pytest.mark.parametrize(
    ("shape", "tag", "look"),
    [
        (Rectangle((0.25, 0.25), 0.5, 0.25), "rect", {"x": "48", "y": "96", "width": "96", "height": "48"}),
        (Circle((0.5, 0.25), 0.25), "circle", {"cx": "96", "cy": "144", "r": "48"}),
        (Ellipse((0.5, 0.5), 1, 0.5), "ellipse", {"cx": "96", "cy": "96", "rx": "96", "ry": "48"}),
    ],
)
def test_a_simple_shape_is_a_simple_element(shape, tag, look):
    written = only(drawn(lambda axes: axes.add_patch(shape)), tag)
    assert {name: written[name] for name in look} == look


def test_a_turned_square_is_no_rectangle():
    svg = drawn(lambda axes: axes.add_patch(Rectangle((0.5, 0.2), 0.3, 0.3, angle=45)))
    assert only(svg, "path")["d"].startswith("M96 ")


def test_words_are_text_as_long_as_they_are_in_the_face_of_the_book():
    svg = drawn(lambda axes: axes.text(0.5, 0.5, "a < b & c", ha="center", weight="bold", style="italic", size=12))
    assert ">a &lt; b &amp; c</text>" in svg
    words = only(svg, "text")
    left, length = float(words["x"]), float(words["textLength"])
    assert left + length / 2 == pytest.approx(96, abs=0.02)
    assert 50 < length < 75
    assert (words["font-size"], words["font-weight"], words["font-style"]) == ("16", "600", "italic")


def test_more_than_a_thousand_dots_are_one_element():
    few, many = (np.linspace(0.1, 0.9, n) for n in (900, 1100))
    assert drawn(lambda axes: axes.scatter(few, few, s=9, color="#123456")).count("<circle") == 900
    svg = drawn(lambda axes: axes.scatter(many, many, s=9, color="#123456"))
    assert svg.count("<circle") == 0
    assert svg.count('fill="#123456"') == 1
    assert only(svg, "path")["d"].count("M") == 1100


def test_a_number_has_a_true_minus_and_a_word_keeps_its_hyphen():
    svg = drawn(lambda axes: axes.text(0.5, 0.5, "norm-2 (-0.5, -3): a-b"))
    assert ">norm-2 (−0.5, −3): a-b</text>" in svg


def test_words_that_are_turned_are_turned_about_where_they_begin():
    words = only(drawn(lambda axes: axes.text(0.5, 0.5, "up", rotation=90)), "text")
    assert words["transform"] == f"rotate(-90 {words['x']} {words['y']})"


def test_a_formula_is_text_but_for_the_signs_that_the_face_lacks():
    svg = drawn(lambda axes: axes.text(0.1, 0.5, r"$QK^T/\sqrt{d_k}$"))
    assert "".join(re.findall(r"<tspan[^>]*>(.*?)</tspan>", svg)) == "QKT/dk"
    assert 'font-style="italic">QK<' in svg
    assert len(re.findall("<path", svg)) >= 1, "the root"


def test_tiles_of_one_colour_are_one_element_and_none_is_made_of_pixels():
    svg = drawn(lambda axes: axes.imshow([[0, 1], [1, 0]], extent=(0, 1, 0, 1), cmap=pic.WEIGHTS))
    white, dark = re.findall(r'<path d="(.*?)" fill="(.*?)"', svg)
    assert white == ("M0 0h96v96h-96zM96 96h96v96h-96z", "#ffffff")
    assert dark == ("M96 0h96v96h-96zM0 96h96v96h-96z", "#00456e")
    assert "<image" not in svg
    tall = drawn(lambda axes: axes.imshow([[0, 1]], extent=(0, 1, 0, 1), aspect="auto", cmap=pic.WEIGHTS))
    assert re.findall(r'd="(.*?)"', tall) == ["M0 0h96v192h-96z", "M96 0h96v192h-96z"]
    with pytest.raises(ValueError, match="tiles only"):
        drawn(lambda axes: axes.imshow([[0, 1]], interpolation="bilinear"))


def test_only_what_reaches_out_of_its_frame_is_cut_off():
    def lines(axes):
        inner = axes.inset_axes((0.25, 0.25, 0.5, 0.5), xlim=(0, 1), ylim=(0, 1))
        inner.set_axis_off()
        inner.plot([0, 1], [0, 1 + 1e-9])
        inner.plot([0, 1], [0, 2])

    svg = drawn(lines)
    assert svg.count('<svg x="48" y="48" width="96" height="96" viewBox="48 48 96 96">') == 1
    assert svg.count("<svg") == svg.count("</svg>") == 2
    inside = svg.partition('<svg x="48"')[2]
    assert "L144 -48" in inside
    assert "L144 48" not in inside


def test_a_hatch_is_a_pattern_that_is_written_once():
    def two(axes):
        for x in (0, 0.5):
            axes.add_patch(Rectangle((x, 0), 0.4, 1, facecolor="#ffffff", edgecolor="#98a2ad", hatch="//"))

    svg = drawn(two)
    (name,) = re.findall('<pattern id="(.*?)"', svg)
    assert svg.count(f'fill="url(#{name})"') == 2


def test_lines_of_a_collection_that_look_the_same_are_one_element():
    svg = drawn(lambda axes: axes.vlines([0.25, 0.5, 0.75], 0, 1, colors=["#111111", "#111111", "#222222"]))
    assert re.findall(r'd="(.*?)"', svg) == ["M48 192L48 0M96 192L96 0", "M144 192L144 0"]


def test_a_curve_of_more_points_than_pixels_keeps_four_in_each_pixel_and_every_peak():
    x = np.linspace(0, 1, 50_000)
    y = 0.5 + 0.4 * np.sin(9 * x)

    def curve(y):
        places = only(drawn(lambda axes: axes.plot(x[: len(y)], y)), "path")["d"][1:]
        return np.array(places.replace("L", " ").split(), float).reshape(-1, 2)

    across, down = curve(y).T
    assert len(across) == pytest.approx(4 * 192, abs=8)
    assert down == pytest.approx(192 * (0.5 - 0.4 * np.sin(9 * across / 192)), abs=2)
    assert curve(y)[-1] == pytest.approx([192, 192 * (1 - y[-1])], abs=0.01), "the last point of a curve is drawn"
    late = np.where(np.arange(len(y)) == len(y) - 1, 0, y)
    assert curve(late)[-1] == pytest.approx([192, 192]), "and no other in its place"
    with_peak = np.where(np.arange(len(y)) == 30_000, 0, y)
    assert curve(with_peak).shape == curve(y).shape
    assert curve(with_peak)[:, 1].max() == 192
    assert len(curve(y[:1000])) == 1000, "a thousand points are let be"


# Two pictures, compared

WORDS = "I", "love", "AI"
A = softmax(normal(3, 3))
CURVES = {"one": np.linspace(3, 1, 30), "two": np.linspace(3, 2, 30)}


def tiled(a=A, words=WORDS):
    return figures.attention.weights(a, words, words)._repr_svg_()


def charted(curves=CURVES, **look):
    with rc_context(pic.STYLE):
        figure, axes = figures.kit.chart(3.0)
        figures.kit.curves(axes, None, curves, **look)
        axes.set(xlim=(1, 30), ylim=(0, 4))
    return figure._repr_svg_()


def with_one(a, place, value):
    changed = np.array(a)
    changed[place] = value
    return changed


def test_a_drawing_is_its_own_equal_and_the_last_bits_of_its_numbers_are_let_be():
    assert pictures.distance(tiled(), tiled()) == (0, "")
    assert pictures.picture_difference([tiled(A + 1e-7), charted()], [tiled(), charted()]) == ""
    moved = {name: y + 1e-7 for name, y in CURVES.items()}
    assert pictures.picture_difference([charted(moved)], [charted()]) == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda: tiled(with_one(A, (1, 2), A[1, 2] + 0.02)), "the (words|fill)"),
        (lambda: tiled(words=("I", "love", "KI")), "the words of <text> AI: 'AI' in the notebook, 'KI' now"),
        (lambda: tiled(A[:, ::-1]), "the (words|fill)"),
    ],
)
def test_a_changed_matrix_is_seen(change, told):
    far, where = pictures.distance(change(), tiled())
    assert far > pictures.LIMIT
    assert re.match(told, where)


@pytest.mark.parametrize(
    "change",
    [
        lambda: charted({**CURVES, "two": CURVES["two"] + 0.002}),
        lambda: charted({**CURVES, "two": with_one(CURVES["two"], 7, 2.5)}),
        lambda: charted({**CURVES, "two": CURVES["two"][:-1]}),
        lambda: charted({"two": CURVES["two"], "one": CURVES["one"]}),
        lambda: charted(colours=pic.SERIES[1:]),
        lambda: charted(linewidth=2.2),
        lambda: charted(marks=("o",)),
    ],
    ids=range(7),
)
def test_a_changed_chart_is_seen(change):
    assert pictures.distance(change(), charted())[0] > pictures.LIMIT


def test_a_number_that_is_words_is_no_place_and_must_be_the_same():
    assert pictures.distance("<text>0.01</text>", "<text>0.02</text>")[0] == np.inf


def test_a_colour_may_move_by_a_few_of_255_and_no_more():
    one, near, far = (f'<rect fill="#10{green}20"/>' for green in ("40", "43", "45"))
    assert pictures.picture_difference([near], [one]) == ""
    assert "fill" in pictures.picture_difference([far], [one])


def test_a_tile_may_take_the_next_shade_and_change_the_element_that_it_is_written_in():
    look = 'shape-rendering="crispEdges"/>'
    one = f'<g><path d="M0 0h5v5h-5zM5 0h5v5h-5z" fill="#102030" {look}</g>'
    two = f'<g><path d="M5 0h5v5h-5z" fill="#112131" {look}<path d="M0 0h5v5h-5z" fill="#102030" {look}</g>'
    assert pictures.picture_difference([two], [one]) == ""
    assert pictures.picture_difference([two.replace("#112131", "#182131")], [one])
    assert pictures.picture_difference([two.replace("M5 0", "M6 0")], [one])


def test_what_is_missing_is_said():
    assert pictures.picture_difference([], [tiled()]) == "1 stored pictures, 0 new ones"
    assert "nothing now" in pictures.picture_difference(["<g></g>"], ["<g><rect/></g>"])


def test_a_name_of_one_letter_stands_where_others_are_turned():
    _, axes = figures.kit.chart(2)
    axes.imshow(np.zeros((1, 3)))
    figures.kit.named(axes, ["row"], ["I", " .", "need"], rotation=90)
    assert [name.get_rotation() for name in axes.get_xticklabels()] == [0, 0, 90]


def ended(curves):
    """What `at_ends` makes of curves, axes four inches high: each name, where its curve ends and how far up it is."""
    _, axes = figures.kit.chart(4)
    figures.kit.curves(axes, None, curves)
    axes.set_ylim(0, 1)
    figures.kit.at_ends(axes)
    return axes, {text.get_text(): (text.xy[1], text.xyann[1], text.get_color()) for text in axes.texts}


def test_names_are_at_the_ends_of_their_curves_and_do_not_meet():
    axes, told = ended({"a": [0, 0.9], "b": [0, 0.52], "two words that are long": [0, 0.5], "c": [1, 0]})
    assert axes.get_legend() is None
    assert list(told) == ["a", "b", "two words that\nare long", "c"]
    for line, (end, _, colour) in zip(axes.lines, told.values(), strict=True):
        assert (end, colour) == (line.get_ydata()[-1], line.get_color())
    (_, a, _), (_, b, _), (_, long, _), (_, c, _) = told.values()
    assert a == pytest.approx(0)
    assert 0.02 * 216 + b - long == pytest.approx(14 / 2 + 28 / 2), "a line is 14 points high"
    assert b == pytest.approx(-long)
    assert c == pytest.approx(7), "none hangs into the numbers below"


def test_where_too_many_curves_end_together_there_is_a_legend():
    axes, told = ended({name: [0, 0.5] for name in "abcdefg"})
    assert not told
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list("abcdefg")
