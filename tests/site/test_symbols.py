"""The colours of symbols in formulas and code."""

import re
import string
from types import SimpleNamespace

import pytest
import symbols
from docutils import nodes


@pytest.mark.parametrize(
    ("latex", "coloured"),
    [
        (r"Q K^{\mathsf T}", r"\class{query}{Q} \class{key}{K}^{\mathsf T}"),
        (r"X W_2^V", r"X W_2^\class{value}{V}"),
        (r"q_i \cdot k_{\text{AI}}", r"\class{query}{q}_i \cdot \class{key}{k}_{\text{AI}}"),
        (r"\text{out} = \sum_j A_{ij} v_j", r"\class{out}{\text{out}} = \sum_j A_{ij} \class{value}{v}_j"),
        (r"\mathrm{d}Q_1", r"\mathrm{d}\class{query}{Q}_1"),
    ],
)
def test_symbols_of_attention_get_their_roles(latex, coloured):
    assert symbols.colour_formula(latex) == coloured


@pytest.mark.parametrize(
    "latex",
    [r"\lvert V\rvert", r"\sqrt{d_k}", r"d_v", r"p + k", r"\operatorname{Var}", r"\hat v", r"\text{in} + \text{out}"],
)
def test_other_meanings_of_the_letters_stay_black(latex):
    assert symbols.colour_formula(latex) == latex


def test_no_other_letter_has_a_colour():
    for letter in {*string.ascii_letters} - {*"QKVqkv"}:
        for formula in (letter, f"{letter}_i", f"{letter} _1", f"x^{letter}", rf"\hat {letter}_t"):
            assert symbols.colour_formula(formula) == formula
        assert symbols.colour_code(span("Q", letter)) == span("Q", letter).replace('"n">Q', '"n query">Q')


def span(*names):
    return " ".join(f'<span class="n">{name}</span>' for name in names)


def test_names_in_code_get_the_same_roles():
    roles = re.findall(r'"n (\w+)"', symbols.colour_code(span("Q", "k", "v", "W_V", "w_q", "q", "out", "weights")))
    assert roles == ["query", "key", "value", "value", "query", "query", "out"]


def test_a_small_k_without_a_query_is_no_key():
    assert symbols.colour_code(span("k", "v")) == span("k", "v")


def test_cached_keys_and_values_need_no_query():
    assert symbols.colour_code(span("keys", "values")).count('"n key"') == 1
    assert symbols.colour_code(span("values")) == span("values")


def test_the_method_of_a_dictionary_is_no_value():
    method = '<span class="n">values</span><span class="p">())</span>'
    assert symbols.colour_code(span("q") + method).endswith(method)


def test_a_q_beside_a_p_is_the_target_and_no_query():
    assert symbols.colour_formula("p_j - q_j") == "p_j - q_j"
    assert symbols.colour_code(span("p", "q")) == span("p", "q")


def coloured(*formulas, page="book/one"):
    """What a page with these formulas marks in them."""
    tree = nodes.section("", *(nodes.math(text, text) for text in formulas))
    symbols.colour_formulas(SimpleNamespace(builder=SimpleNamespace(format="html")), tree, page)
    return [node.get("coloured") for node in tree.findall(nodes.math)]


def test_only_a_page_with_the_matrix_of_the_queries_has_colours():
    assert coloured("V", "K") == [None, None]
    assert coloured("V", "X W^Q") == [r"\class{value}{V}", r"X W^\class{query}{Q}"]
    assert coloured("V", page="book/masks") == [r"\class{value}{V}"]
    for names, marked in ((("V", "Q"), 0), (("V", "W_Q"), 2)):
        context = {"body": f"<pre>{span(*names)}</pre>"}
        symbols.colour_codes(None, "book/one", "", context, None)
        assert len(re.findall('"n (?:value|query)"', context["body"])) == marked


def test_the_name_of_an_argument_is_not_coloured():
    argument = '<span class="n">key</span><span class="o">=</span>'
    assert symbols.colour_code(span("query") + argument).endswith(argument)
