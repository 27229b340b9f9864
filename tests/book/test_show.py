"""What chapters display with: the LaTeX is exact, the terms add up, and the source is the real one."""

import operator
import pathlib
import re

import numpy as np
import pytest
import torch
from helpers import normal
from hypothesis import given
from hypothesis import strategies as st

import tested_transformer
from tested_transformer.book import exercises
from tested_transformer.book.example import W_Q, WORDS, X
from tested_transformer.book.figures.attention import weights as styled_function
from tested_transformer.book.show import (
    Shown,
    _plain,
    beside,
    compared,
    differing,
    matrix,
    product,
    show,
    softmax_terms,
    table,
)
from tested_transformer.byhand.attention import attention
from tested_transformer.byhand.linear import linear
from tested_transformer.byhand.softmax import softmax
from tested_transformer.config import Config

NUMBER = r"\(?(-?\d+\.?\d*|-?\\infty)(?: \\cdot 10\^\{(-?\d+)\})?\)?"


def number(text):
    """The value of one number as it is written in LaTeX."""
    digits, power = re.fullmatch(NUMBER, text.strip()).groups()
    return float(digits.replace(r"\infty", "inf")) * 10.0 ** int(power or 0)


def grids(latex):
    """The entries of all matrices in a piece of LaTeX, as text."""
    found = re.findall(r"\\begin\{bmatrix\} (.*?) \\end\{bmatrix\}", latex)
    return [[row.split(" & ") for row in grid.split(r" \\ ")] for grid in found]


def values(grid):
    return np.array([[number(entry) for entry in row] for row in grid])


# Real source


def test_the_source_is_headed_by_the_full_name_and_ends_without_blank_lines():
    shown, begins = show(linear), "@checked(rules.linear)\ndef linear(\n"
    assert shown.markdown.startswith(f"**`tested_transformer.byhand.linear.linear`**\n\n```python\n{begins}")
    assert shown.markdown.endswith("    return y if b is None else y + b\n```")
    assert repr(shown).startswith(f"# tested_transformer.byhand.linear.linear\n{begins}")
    assert repr(shown).endswith("return y if b is None else y + b")


def test_the_source_is_what_stands_in_the_file():
    package = pathlib.Path(tested_transformer.__file__).parent
    for obj, file in ((softmax, "byhand/softmax.py"), (show, "book/show.py"), (Config, "config.py")):
        assert show(obj).text.partition("\n")[2] in (package / file).read_text(encoding="utf-8")


def test_methods_and_classes_have_source_too():
    method = show(Config.replace)
    assert method.text.startswith("# tested_transformer.config.Config.replace\ndef replace(self")
    assert show(Config(vocab_size=4).replace).text == method.text
    assert show(Config).text.startswith("# tested_transformer.config.Config\n@dataclass(frozen=True)\nclass Config:\n")
    assert "def replace" in show(Config).text


def test_a_wrapped_function_shows_itself_and_not_its_wrapper():
    shown = show(styled_function)
    assert shown.text.startswith("# tested_transformer.book.figures.attention.weights\n@pic.styled\ndef weights(")
    assert "rc_context" not in shown.text


@pytest.mark.parametrize(
    "thing", [len, np.sin, np.exp, operator.itemgetter(0), 3, "softmax", X, np, exercises], ids=lambda x: repr(x)[:20]
)
def test_what_has_no_source_of_its_own_is_refused(thing):
    with pytest.raises(TypeError, match="show needs a function, method or class written in Python, not"):
        show(thing)


def test_what_nobody_can_import_is_refused():
    def local():
        pass

    for thing in (local, lambda x: x):
        with pytest.raises(TypeError, match=r"show needs something that others can import by its name, not .*<l"):
            show(thing)


# Forms


def test_each_form_is_given_to_who_asks_for_it():
    shown = Shown("text", "latex", "markdown")
    assert (repr(shown), shown._repr_latex_(), shown._repr_markdown_()) == ("text", "latex", "markdown")
    assert (Shown("text")._repr_latex_(), Shown("text")._repr_markdown_()) == (None, None)
    assert matrix("X", X)._repr_markdown_() is None
    assert show(linear)._repr_latex_() is None


# Numbers


def test_whole_numbers_are_written_whole():
    assert matrix("X", X).latex == (
        "$$\nX = \\begin{bmatrix} 1 & 0 & 1 \\\\ 0 & 1 & 0 \\\\ 1 & 1 & 0 \\end{bmatrix}\n$$"
    )
    assert matrix("n", 1e6).latex == r"$\displaystyle n = 1000000$"
    assert grids(matrix("X", [[2.0, -3.0]], decimals=2).latex) == [[["2", "-3"]]]


def test_other_numbers_get_as_few_decimals_as_do_no_harm_but_four_at_most():
    assert matrix("x", [0.5, 2]).latex == "$$\nx = \\begin{bmatrix} 0.5 & 2.0 \\end{bmatrix}\n$$"
    assert matrix("x", [0.5, -1.25]).text == "x = 0.50  -1.25"
    assert matrix("x", [0.5, 0.125]).text == "x = 0.500  0.125"
    assert matrix("x", [0.5, 0.0625]).text == "x = 0.5000  0.0625"
    assert matrix("x", [0.5, 1e4 / 3]).text == "x ≈ 0.5000  3333.3333"


def test_other_numbers_get_as_many_decimals_as_asked_for():
    assert matrix("x", 0.456, decimals=2).latex == r"$\displaystyle x \approx 0.46$"
    assert matrix("x", 0.456, decimals=0).latex == r"$\displaystyle x \approx 0$"
    assert matrix("x", [0.5], decimals=3).text == "x = 0.500"


def test_what_is_cut_off_is_called_about_equal():
    assert matrix("x", 0.1234).latex == r"$\displaystyle x = 0.1234$"
    assert matrix("x", 0.12341).latex == r"$\displaystyle x \approx 0.1234$"
    assert matrix("x", [0.1234, 0.12341]).text.startswith("x ≈ ")
    assert matrix("x", [0.1234, 0.12341], decimals=5).text.startswith("x = ")


def test_the_last_bits_of_a_float_decide_nothing():
    assert matrix("x", [0.1 + 0.2, 1 - 1e-16]).latex == matrix("x", [0.3, 1]).latex
    assert matrix("x", [3 * 0.1 / 0.3, 2 + 1e-15]).latex == matrix("x", [1, 2]).latex


@given(st.floats(-1, 1), st.sampled_from([None, 0, 2, 4]))
def test_minus_zero_is_never_shown(x, decimals):
    for shown in (matrix("x", [x, 0.5], decimals=decimals), matrix("x", -abs(x) * 1e-12), matrix("x", -0.0)):
        assert not re.search(r"-0(\.0+)?( |$|\$)", shown.latex)
        assert not re.search(r"-0(\.0+)?( |$)", shown.text)


def test_what_is_small_but_not_zero_does_not_look_like_zero():
    assert grids(matrix("x", [0.00004, 0.5, 0.0]).latex) == [[[r"4.0 \cdot 10^{-5}", "0.5000", "0"]]]
    assert grids(matrix("x", [-0.000012, 0.00005]).latex) == [[[r"-1.2 \cdot 10^{-5}", "0.0001"]]]
    assert grids(matrix("x", [3e-9]).latex) == [[[r"3.0 \cdot 10^{-9}"]]]
    assert matrix("x", [-0.000012, 0.5]).text == "x ≈ -1.2e-5  0.5000"
    assert grids(matrix("x", [0.00004, 0.5], decimals=2).latex) == [[["0.00", "0.50"]]]  # the caller chose
    assert grids(matrix("x", [1e-17, 0.5]).latex) == [[["0", "0.5"]]]  # noise


def test_infinity_and_not_a_number_are_shown_as_what_they_are():
    shown = matrix("x", [[1, -np.inf], [np.inf, np.nan]])
    assert shown.latex == "$$\nx = \\begin{bmatrix} 1 & -\\infty \\\\ \\infty & \\text{NaN} \\end{bmatrix}\n$$"
    assert shown.text == "x =   1  -inf\n    inf   NaN"


def test_yes_and_no_are_one_and_zero():
    assert matrix("M", np.array([[True, False]])).text == "M = 1  0"


def test_tensors_are_numbers_too():
    for dtype in (torch.float64, torch.bfloat16):
        tensor = torch.tensor([[0.5, 2.0]], dtype=dtype, requires_grad=True)
        assert matrix("x", tensor).latex == matrix("x", [[0.5, 2.0]]).latex
        assert product("x", tensor, tensor.T).latex == product("x", [[0.5, 2.0]], [[0.5], [2.0]]).latex
    assert softmax_terms("x", torch.ones(2)).latex == softmax_terms("x", [1, 1]).latex


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_numbers_shown_are_those_of_the_array(rows):
    (grid,) = grids(matrix("x", rows).latex)
    assert np.allclose(values(grid), rows, rtol=0, atol=0.50001e-4)


# Names and labels


def test_rows_have_their_words_before_the_bracket():
    assert matrix("X", X[:2], rows=WORDS[:2]).latex == (
        "$$\nX = \\begin{array}{r} \\text{I} \\\\ \\text{love} \\end{array}\\; "
        "\\begin{bmatrix} 1 & 0 & 1 \\\\ 0 & 1 & 0 \\end{bmatrix}\n$$"
    )
    assert repr(matrix("X", X[:2], rows=WORDS[:2])) == "X =    I  1  0  1\n    love  0  1  0"


def test_columns_make_a_table_with_the_name_in_the_corner():
    assert matrix("A", [[0.25, 0.75]], rows=["I"], columns=["love", "AI"]).latex == (
        "$$\n\\begin{array}{r|rr} A & \\text{love} & \\text{AI} \\\\ \\hline \\text{I} & 0.25 & 0.75 \\end{array}\n$$"
    )
    assert r"} A \approx & " in matrix("A", [[1 / 3, 2 / 3]], columns=["a", "b"]).latex
    assert matrix("A", [[1, 2], [3, 4]], columns=["a", "b"]).latex == (
        "$$\n\\begin{array}{r|rr} A & \\text{a} & \\text{b} \\\\ \\hline  & 1 & 2 \\\\  & 3 & 4 \\end{array}\n$$"
    )
    assert matrix("A", [[0.25, 0.75]], rows=["I"], columns=["love", "AI"]).text == (
        "A =    love    AI\n    I  0.25  0.75"
    )
    assert matrix("A", [[1, 2]], columns=["a", "b"]).text == "A = a  b\n    1  2"


def test_special_characters_in_words_are_shown_and_not_obeyed():
    latex = matrix("x", [[1], [2], [3]], rows=["##ing", r"50% of a_b & {$5}", r"\^~"]).latex
    assert r"\#\#\text{ing} \\" in latex
    assert r"\text{50}\%\text{ of a}\_\text{b }\&\text{ }\{\$\text{5}\} \\" in latex
    assert r"\backslash \wedge \sim  \end{array}\; \begin{bmatrix}" in latex
    assert "##ing" in matrix("x", [[1]], rows=["##ing"]).text


@given(st.text("ab \\{}$&#%_^~", max_size=6))
def test_no_word_can_break_the_formula(word):
    (grid,) = re.findall(r"\\begin\{array\}\{r\} (.*) \\end\{array\}", matrix("x", [[1.0]], rows=[word]).latex)
    bare = re.sub(r"\\(backslash|wedge|sim) |\\[{}$&#%_]", "", grid)  # what is left is \text{…}, with letters only
    assert re.fullmatch(r"(\\text\{[ab ]+\})*", bare)


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"Q K^{\mathsf T} / \sqrt{d_k}", "Q Kᵀ / √d_k"),
        (r"QK^\top", "QKᵀ"),
        (r"\operatorname{softmax}(s_{\text{I}})", "softmax(s_I)"),
        (r"\mathrm{d}A = \mathrm{d}\text{out}\; V^{\mathsf T}", "dA = dout Vᵀ"),
        (r"\frac{\partial L}{\partial x_{i+1}}", "∂L / (∂x_(i+1))"),
        (r"\frac{a_{ij} + b}{\sqrt{\frac{c}{2}}}", "(a_ij + b) / (√(c / 2))"),
        (r"\frac{1}{n}", "1 / n"),
        (r"\left( q \cdot k \right)", "( q · k )"),
        (r"\hat{y}^{(2)} \times \alpha", "hat(y)^(2) × alpha"),
        (r"e^{-x}", "e^(-x)"),
        (r"x \approx 2\,\lVert v\rVert", "x ≈ 2 ‖ v‖"),
        (r"\cdots", "cdots"),
    ],
)
def test_a_latex_name_reads_well_in_a_terminal(latex, plain):
    assert _plain(latex) == plain


# Products


def test_a_product_by_hand_with_every_term():
    shown = product("AB", [[1, -2]], [[3, 0.5], [-1, 0.25]])
    assert shown.latex == "\n".join(
        [
            "$$",
            r"\begin{aligned}",
            r"AB &= \begin{bmatrix} 1 & -2 \end{bmatrix} "
            r"\begin{bmatrix} 3.00 & 0.50 \\ -1.00 & 0.25 \end{bmatrix} \\[0.6em]",
            r"&= \begin{bmatrix} 1 \cdot 3.00 + (-2) \cdot (-1.00) & "
            r"1 \cdot 0.50 + (-2) \cdot 0.25 \end{bmatrix} \\[0.6em]",
            r"&= \begin{bmatrix} 5 & 0 \end{bmatrix}",
            r"\end{aligned}",
            "$$",
        ]
    )
    assert shown.text.splitlines() == [
        "AB, row by row:",
        "  row 1, column 1: 1·3.00 + (-2)·(-1.00) = 5",
        "  row 1, column 2: 1·0.50 + (-2)·0.25 = 0",
    ]


def test_negative_and_tiny_factors_stand_in_brackets():
    shown = product("AB", [[0.00004, -1]], [[-2], [1]])
    assert r"(4.0 \cdot 10^{-5}) \cdot (-2) + (-1.0000) \cdot 1" in shown.latex
    assert "(4.0e-5)·(-2) + (-1.0000)·1 ≈ -1.0001" in shown.text


def test_a_wide_product_is_written_entry_by_entry():
    a, b = np.full((1, 4), 0.0625), np.full((4, 2), 2.0)
    terms = " + ".join([r"0.0625 \cdot 2"] * 4)
    for name, whole, last in (("C = A B", "C", "C"), ("AB", "(AB)", "AB")):
        left = r"\begin{bmatrix} 0.0625 & 0.0625 & 0.0625 & 0.0625 \end{bmatrix}"
        right = r"\begin{bmatrix} 2 & 2 \\ 2 & 2 \\ 2 & 2 \\ 2 & 2 \end{bmatrix}"
        lines = [
            f"{name} &= {left} {right}",
            f"{{{whole}}}_{{1}} &= {terms} = 0.5",  # one row: a place in it is enough
            f"{{{whole}}}_{{2}} &= {terms} = 0.5",
            rf"{last} &= \begin{{bmatrix}} 0.5 & 0.5 \end{{bmatrix}}",
        ]
        inside = " \\\\[0.6em]\n".join(lines)
        assert product(name, a, b).latex == f"$$\n\\begin{{aligned}}\n{inside}\n\\end{{aligned}}\n$$"


def written_out(latex):
    """The sums and the results of a product by their places, whichever way it is written."""
    entries = re.findall(r"_\{(\d+),(\d+)\} &(?:=|\\approx) (.*?) (?:=|\\approx) (.*?) \\\\", latex)
    if entries:
        return {(int(i) - 1, int(j) - 1): (terms, result) for i, j, terms, result in entries}
    sums, result = map(np.array, grids(latex)[2:])
    return {place: (sums[place], result[place]) for place in np.ndindex(sums.shape)}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (X, W_Q),
        (normal(2, 3), normal(3, 4)),
        (1e-5 * normal(2, 2), 100 * normal(2, 1)),
        (attention(X, X, X)[1], X - 2),
    ],
    ids=["whole", "random", "tiny and large", "weights"],
)
def test_the_terms_of_a_product_give_the_result(a, b):
    latex = product("AB", a, b).latex
    left, right, *_, result = grids(latex)
    assert np.allclose(values(left), a, rtol=0.05, atol=0.50001e-4)
    assert np.allclose(values(right), b, rtol=0.05, atol=0.50001e-4)
    assert np.allclose(values(result), a @ b, rtol=0.05, atol=0.50001e-4)
    places = written_out(latex)
    assert sorted(places) == list(np.ndindex(result_shape := (len(a), b.shape[1])))
    assert values(result).shape == result_shape
    for (i, j), (terms, total) in places.items():
        factors = re.findall(rf"{NUMBER} \\cdot {NUMBER}", terms)
        pairs = [(float(p) * 10.0 ** int(s or 0), float(q) * 10.0 ** int(t or 0)) for p, s, q, t in factors]
        assert pairs == [(number(left[i][k]), number(right[k][j])) for k in range(len(b))]
        rounding = sum(0.5e-4 * (abs(p) + abs(q) + 1e-4) for p, q in pairs) + 0.5e-4
        assert abs(sum(p * q for p, q in pairs) - (a @ b)[i, j]) <= rounding
        assert total == result[i][j]
        assert abs(sum(p * q for p, q in pairs) - number(total)) <= rounding + 0.5e-4


def test_the_text_of_a_product_has_the_same_terms():
    a, b = normal(2, 3), normal(3, 2)
    lines = product("AB", a, b).text.splitlines()[1:]
    assert len(lines) == 4
    for line, exact in zip(lines, (a @ b).ravel(), strict=True):
        terms, result = line.partition(": ")[2].split(" ≈ ")
        pairs = re.findall(r"\(?(-?[\d.]+)\)?·\(?(-?[\d.]+)\)?", terms)
        assert len(pairs) == 3
        assert abs(sum(float(p) * float(q) for p, q in pairs) - exact) < 5e-4
        assert abs(float(result) - exact) <= 0.50001e-4


def test_a_product_says_where_it_is_only_about_equal():
    signs = lambda shown: re.findall(r"&(=|\\approx)", shown.latex)  # noqa: E731
    assert signs(product("AB", X, W_Q)) == ["=", "=", "="]
    assert signs(product("AB", [[0.25]], [[0.5]])) == ["=", "=", "="]
    assert signs(product("AB", [[0.1234]], [[0.1234]])) == ["=", "=", r"\approx"]  # 0.0152 and more
    assert signs(product("AB", [[1 / 3, 2 / 3]], [[1], [1]])) == [r"\approx", "=", r"\approx"]  # 0.3333 + 0.6667
    wide = product("C = A B", np.full((1, 6), 1 / 3), np.full((6, 1), 2.0))
    assert signs(wide) == [r"\approx"] * 3
    assert r" + 0.3333 \cdot 2 \approx 4 \\" in wide.latex


def test_factors_that_do_not_fit_are_refused_with_their_shapes():
    for a, b in ((X, X[:2]), (X[0], X), (X, X[0]), (X[None], X)):
        words = re.escape(f"AB: shapes {a.shape} and {b.shape} do not multiply; the inner sizes must agree")
        with pytest.raises(ValueError, match=words):
            product("AB", a, b)


# Softmax


def test_a_softmax_by_hand_with_every_term():
    shown = softmax_terms(r"\operatorname{softmax}(s)", np.log([1.0, 3.0]))
    assert shown.latex == "\n".join(
        [
            "$$",
            r"\begin{aligned}",
            r"\operatorname{softmax}(s) &\approx \frac{(e^{0}, e^{1.0986})}{e^{0} + e^{1.0986}} \\[0.6em]",
            r"&\approx \frac{(1, 3)}{1 + 3} \\[0.6em]",
            r"&= \frac{(1, 3)}{4} \\[0.6em]",
            r"&= (0.25, 0.75)",
            r"\end{aligned}",
            "$$",
        ]
    )
    assert shown.text.splitlines() == [
        "softmax(s):",
        "  exp(0) ≈ 1, divided by 4: 0.25",
        "  exp(1.0986) ≈ 3, divided by 4: 0.75",
    ]


@pytest.mark.parametrize("x", [[6.0, 2.0, 4.0], normal(5), [-11.0, 0.0, 1.0], 3 * normal(2)], ids=str)
def test_the_terms_of_a_softmax_give_its_shares(x):
    first, second, third, fourth = re.findall(
        r"&(?:=|\\approx) (.*?)(?: \\\\\[0.6em\])?\n", softmax_terms("s", x).latex
    )
    powers, summed = re.fullmatch(r"\\frac\{\((.*)\)\}\{(.*)\}", first).groups()
    assert powers.split(", ") == summed.split(" + ")
    scores = [number(power[3:-1]) for power in powers.split(", ")]
    assert np.allclose(scores, x, rtol=0, atol=0.50001e-4)
    tops, summed = re.fullmatch(r"\\frac\{\((.*)\)\}\{(.*)\}", second).groups()
    assert tops.split(", ") == summed.split(" + ")
    exps = [number(top) for top in tops.split(", ")]
    assert np.allclose(exps, np.exp(x), rtol=0.05, atol=0.50001e-4)
    tops, total = re.fullmatch(r"\\frac\{\((.*)\)\}\{(.*)\}", third).groups()
    assert [number(top) for top in tops.split(", ")] == exps
    assert abs(sum(exps) - number(total)) <= 0.5e-4 * (len(exps) + 1)
    shares = [number(share) for share in fourth[1:-1].split(", ")]
    assert np.allclose(shares, softmax(np.array(x)), rtol=0.05, atol=0.50001e-4)
    assert np.allclose(shares, np.array(exps) / number(total), rtol=0.05, atol=2e-4)


def test_a_hidden_score_is_minus_infinity_and_its_share_nothing():
    shown = softmax_terms("s", [0, -np.inf])
    assert r"\frac{(e^{0}, e^{-\infty})}{e^{0} + e^{-\infty}}" in shown.latex
    assert "&= (1, 0)" in shown.latex
    assert "  exp(-inf) = 0, divided by 1: 0" in shown.text


@pytest.mark.parametrize("decimals", [None, 1])
def test_the_number_of_decimals_is_the_callers(decimals):
    assert ("0.7311" in softmax_terms("s", [1, 0], decimals).text) == (decimals is None)
    assert ("0.3333·" in product("s", [[1 / 3]], [[2]], decimals).text) == (decimals is None)


@pytest.mark.parametrize("x", [[1000.0], [-np.inf, -np.inf], [np.nan, 1.0], [np.inf, 0.0], []], ids=str)
def test_scores_without_a_quotient_to_write_are_refused(x):
    with pytest.raises(ValueError, match=r"s: the exponentials of .* add up to (inf|0.0|nan); that divides nothing"):
        softmax_terms("s", x)


# Refusals


def test_more_than_one_row_of_scores_is_refused():
    with pytest.raises(ValueError, match=r"s: softmax_terms takes one row of scores, not an array of shape \(3, 3\)"):
        softmax_terms("s", X)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"X has 3 rows but 2 labels: \['a', 'b'\]"):
        matrix("X", X, rows=["a", "b"])
    with pytest.raises(ValueError, match=r"X has 2 columns but 3 labels: \['I', 'love', 'AI'\]"):
        matrix("X", X[:, :2], columns=WORDS)


@pytest.mark.parametrize("shape", [(2, 2, 2), (0,), (3, 0)])
def test_what_is_no_matrix_is_refused(shape):
    with pytest.raises(ValueError, match=re.escape(f"T: shape {shape} cannot be written out")):
        matrix("T", np.zeros(shape))


def test_a_dot_product_is_a_number_and_no_matrix():
    steps = product("q", [[1, 2]], [[3], [4]]).latex.splitlines()
    assert steps[3:5] == [r"&= 1 \cdot 3 + 2 \cdot 4 \\[0.6em]", "&= 11"]


def test_matrices_beside_each_other_are_those_alone_in_one_row():
    first, second = matrix("X", X, rows=WORDS), matrix("W^Q", W_Q)
    both = beside(first, second)
    inner = [one.latex.strip("$\n") for one in (first, second)]
    assert both.latex == "$$\n" + " \\qquad ".join(inner) + "\n$$"
    assert both.text == f"{first.text}\n\n{second.text}"


def test_a_table_has_numbers_to_the_right_words_to_the_left_and_marked_rows_in_bold():
    rows = [(1, "it", 0.98765, "er"), (10, "", 1.0, "a|b*")]
    shown = table(("n", "word", "weight", "German"), rows, decimals=3, marked=[1])
    assert shown.text.splitlines() == [" n  word  weight  German", " 1  it     0.988  er", "10         1.000  a|b*"]
    assert shown.markdown.splitlines() == [
        "| n | word | weight | German |",
        "| --: | :-- | --: | :-- |",
        "| 1 | it | 0.988 | er |",
        r"| **10** |  | **1.000** | **a\|b\*** |",
    ]
    spaced = table(("token", "then"), [(" it", " is"), (" two words", ".")], marked=[0, 1]).markdown.splitlines()
    assert re.findall(r"[*]+[^|]+[*]+", "".join(spaced[2:])) == ["**it**", "**is**", "**two words**", "**.**"]


def test_numbers_that_come_as_text_stand_at_the_right_too():
    given = [("1,024", "83%", "–", "2.1e-05", "v2"), ("36,858,880", "7 %", "−0.5", "1.0", "10")]
    shown = table(("a", "b", "c", "d", "a name"), given)
    assert shown.markdown.splitlines()[1] == "| --: | --: | --: | --: | :-- |"
    assert shown.text.splitlines()[1] == "     1,024  83%     –  2.1e-05  v2"


def test_each_column_of_a_table_has_as_few_decimals_as_do_no_harm():
    assert table(("a", "b"), [(0.5, 2.0), (0.25, 3.0)]).text.splitlines()[1:] == ["0.50  2", "0.25  3"]


def test_a_row_that_does_not_fit_the_head_of_a_table_is_refused():
    with pytest.raises(ValueError, match=r"needs rows of 2 cells, as many as columns, not \[2, 1\]"):
        table(("a", "b"), [(1, 2), (1,)])
    with pytest.raises(ValueError, match=r"not \[\]"):
        table(("a", "b"), [])
    with pytest.raises(ValueError, match=r"a name for each column, not \['', 'b'\]"):
        table(("", "b"), [(1, 2)])


@pytest.mark.parametrize(
    ("right", "written", "told"),
    [
        ("a b c d", "a x c d", ("a [b] c", "a [x] c")),
        ("a b c d", "a c d", ("a [b] c", "a [] c")),
        ("a b", "a b b", ("b []", "b [b]")),
        ("a b", "c b", ("[a] b", "[c] b")),
        ("a b c", "a b", ("b [c]", "b []")),
        ("a", "b c", ("[a]", "[b c]")),
        ("a b", "a b", ("b []", "b []")),
    ],
)
def test_what_differs_stands_in_brackets_between_its_neighbours(right, written, told):
    assert differing(right, written) == told


@pytest.mark.parametrize(
    ("right", "written", "told", "page"),
    [
        ("a b c d", "a x c d", ("a [b] c d", "a [x] c d"), ("a **b** c d", "a **x** c d")),
        ("a b c d", "a c d", ("a [b] c d", "a [] c d"), ("a **b** c d", r"a **\[ \]** c d")),
        ("a b", "c d b", ("[a] b", "[c d] b"), ("**a** b", "**c d** b")),
        ("a_b *c*", "a_b d", ("a_b [*c*]", "a_b [d]"), (r"a\_b **\*c\***", r"a\_b **d**")),
    ],
)
def test_in_whole_lines_what_differs_is_bold_on_a_page_and_in_brackets_elsewhere(right, written, told, page):
    lines = compared(right, written)
    assert lines == told
    assert tuple(line.markdown for line in lines) == page
    both = table(("n", "line"), [(1, lines[0]), (2, lines[1])])
    assert both.text.splitlines()[1:] == [f"1  {told[0]}", f"2  {told[1]}"]
    assert both.markdown.splitlines()[2:] == [f"| 1 | {page[0]} |", f"| 2 | {page[1]} |"]
