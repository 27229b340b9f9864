"""The colours of symbols in formulas and code."""

import re

import pytest
import symbols
from guards import BOOK

from tested_transformer.book.draw.picture import KEY, OUT, QUERY, VALUE


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
    "latex", [r"\lvert V\rvert", r"\sqrt{d_k}", r"d_v", r"p + k", r"\operatorname{Var}", r"\hat v"]
)
def test_other_meanings_of_the_letters_stay_black(latex):
    assert symbols.colour_formula(latex) == latex


def span(*names):
    return " ".join(f'<span class="n">{name}</span>' for name in names)


def test_names_in_code_get_the_same_roles():
    roles = re.findall(r'"n (\w+)"', symbols.colour_code(span("Q", "k", "v", "W_V", "w_q", "q", "out", "weights")))
    assert roles == ["query", "key", "value", "value", "query", "query", "out"]


def test_a_small_k_without_a_query_is_no_key():
    assert symbols.colour_code(span("k", "v")) == span("k", "v")


def test_the_name_of_an_argument_is_not_coloured():
    argument = '<span class="n">key</span><span class="o">=</span>'
    assert symbols.colour_code(span("query") + argument).endswith(argument)


def test_the_colours_of_the_pages_are_those_of_the_figures():
    css = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--book-(\w+): (#\w+);", css.partition('html[data-theme="dark"]')[0]))
    drawn = {"query": QUERY, "key": KEY, "value": VALUE, "out": OUT}
    assert light == {role: colour.lower() for role, colour in drawn.items()}
