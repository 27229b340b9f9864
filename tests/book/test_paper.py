"""The paper's figures: the rows of Table 3 against real models, how a figure is judged, and the ledger of all."""

import functools
import json
import re
from dataclasses import asdict

import numpy as np
import pytest
import torch
from guards import BOOK, cells, outputs
from helpers import legible, unchecked
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.book.figures.picture import KEY
from tested_transformer.book.paper import (
    GIVEN,
    PUBLISHED,
    SETTINGS,
    half_a_step,
    judged,
    ledger,
    printed,
    verdict,
    vocabulary_sizes,
)
from tested_transformer.byhand.transformer import shapes
from tested_transformer.config import BASE, BIG, TABLE_3
from tested_transformer.model.transformer import Transformer

CHAPTER = BOOK / "paper.ipynb"
FIELDS = {"h": "n_heads", "d_k": "d_k", "N": "n_layers", "d_model": "d_model", "d_ff": "d_ff", "dropout": "dropout"}
each_row = pytest.mark.parametrize("name", TABLE_3)


@functools.cache
def parameters(config):
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Transformer(config).parameters())


# Table 3


@each_row
def test_a_row_of_table_3_changes_what_its_name_says_and_nothing_else(name):
    config, wanted = asdict(TABLE_3[name]), asdict(BIG if name == "big" else BASE)
    if name not in ("base", "big"):
        field, value = name.split()[1].split("=")
        wanted[FIELDS[field]] = type(wanted[FIELDS[field]])(float(value))
        if field in ("h", "d_model"):  # heads share the width out among themselves
            wanted["d_k"] = wanted["d_v"] = wanted["d_model"] // wanted["n_heads"]
    assert config == wanted


def test_every_row_whose_size_is_printed_is_there():
    rows = {name.partition(": ")[0] for name, figure in PUBLISHED.items() if figure.where == "Table 3"}
    assert rows <= TABLE_3.keys()
    assert {name for name in TABLE_3 if f"{name}: million parameters" not in PUBLISHED} == {
        name for name in TABLE_3 if name.startswith(("(A)", "(D)"))
    }


@each_row
def test_real_modules_the_formula_and_the_numpy_model_have_equally_many_parameters(name):
    c = TABLE_3[name]
    heads, feed = 2 * c.d_model * c.n_heads * (c.d_k + c.d_v), 2 * c.d_model * c.d_ff + c.d_ff + c.d_model
    formula = c.vocab_size * c.d_model + c.n_layers * (3 * heads + 2 * feed + 10 * c.d_model)
    assert parameters(c) == formula == sum(np.prod(shape, dtype=int) for shape in shapes(c).values())


def test_the_counts_by_hand():
    assert parameters(BASE) == 63_045_632
    assert parameters(BIG) == 214_171_648
    assert parameters(BASE.replace(vocab_size=4)) - 4 * 512 == 6 * (3_150_336 + 4_199_936) == 44_101_632


def test_the_number_of_heads_changes_no_count():
    assert {parameters(TABLE_3[name]) for name in TABLE_3 if name.startswith(("(A)", "(D)"))} == {parameters(BASE)}


# How a figure is judged


@pytest.mark.parametrize(
    ("digits", "half"),
    [("65", 0.5), ("0.4", 0.05), ("1.0", 0.05), ("26.36", 0.005), ("3.3e18", 5e16), ("1e3", 500), ("10000", 0.5)],
)
def test_half_a_step_by_hand(digits, half):
    assert np.isclose(half_a_step(digits), half, rtol=1e-12)


def test_verdicts_by_hand():
    assert [verdict(x, "65") for x in (65, 64.51, 65.49, 64.49, 65.51, 63.05)] == [
        "equal", "rounds to", "rounds to", "differs", "differs", "differs",
    ]  # fmt: skip
    assert [verdict(x, "1.0") for x in (1, 1.04, 0.96, 1.06, 10)] == ["equal", *["rounds to"] * 2, *["differs"] * 2]
    assert [verdict(x, "3.3e18") for x in (3.2832e18, 3.2e18)] == ["rounds to", "differs"]
    assert verdict(0, "0") == "equal"
    assert verdict(-0.2, "0") == "rounds to"
    assert verdict(-65, "65") == "differs"


def test_the_noise_of_floats_is_no_difference_and_a_digit_is():
    assert verdict(25.8 - 24.9, "0.9") == "equal"
    assert verdict(0.9 + 1e-6, "0.9") == "rounds to"
    assert verdict(1e-12, "0") == "rounds to"


@given(st.floats(1e-3, 1e6), st.integers(0, 6))
def test_what_was_rounded_to_digits_never_differs_from_them(value, places):
    assert verdict(value, f"{value:.{places}f}") != "differs"
    assert verdict(value, f"{value:.{places}e}") != "differs"


@given(st.integers(1, 10**6), st.floats(0.501, 100), st.sampled_from([-1, 1]), st.integers(0, 3))
def test_what_lies_further_off_than_half_a_step_differs(steps, off, sign, places):
    digits = f"{steps / 10**places:.{places}f}"
    assert verdict(float(digits) + sign * off / 10**places, digits) == "differs"


def test_a_figure_is_found_by_name_wherever_it_stands():
    assert printed("base: BLEU") == 25.8
    assert printed("big: training FLOPs") == 2.3e19
    with pytest.raises(KeyError):
        printed("base: colour")


def test_a_setting_is_no_calculation():
    assert PUBLISHED.keys() >= SETTINGS
    assert judged("base: dropout", 0.1) == "set to it"
    assert judged("base: dropout", 0.2) == "differs"
    assert judged("base: width of a head", 64) == "equal"
    assert judged("base: hours", 11.11) == "differs"


# Which vocabulary fits


def test_the_vocabulary_sizes_of_the_base_model_by_hand():
    sizes = vocabulary_sizes("65", 512, 44_101_632)
    assert (sizes[0], sizes[-1]) == (39_841, 41_793)
    assert vocabulary_sizes("0.01", 1000, 5000) == range(0, 11)


@given(st.integers(1, 300), st.integers(1, 2048), st.integers(1, 10**8))
def test_exactly_these_sizes_round_to_the_published_figure(published, d_model, others):
    def rounds(size):
        return abs((size * d_model + others) / 1e6 - published) <= 0.5

    sizes = vocabulary_sizes(str(published), d_model, others)
    for size in {*sizes[:2], *sizes[-2:]}:
        assert rounds(size)
    assert not rounds(sizes.start - 1)
    assert not rounds(sizes.stop)


def test_sizes_of_nothing_are_refused():
    with unchecked():
        with pytest.raises(ValueError, match=r"d_model \(0\) must be at least 1"):
            vocabulary_sizes("65", 0, 10)
        with pytest.raises(ValueError, match=r"others \(-5\) must be at least 1"):
            vocabulary_sizes("65", 512, -5)


# The ledger

AS_PRINTED = {name: float(figure.digits) for name, figure in PUBLISHED.items()}


def rows(shown):
    head, rule, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.markdown.split("\n")]
    assert head == ["figure", "paper", "ours", "verdict", "where"]
    assert all(re.fullmatch(r":?-+:?", cell) for cell in rule)
    return {line[0]: line[1:] for line in lines}


def test_the_ledger_has_a_row_for_every_figure_in_the_order_of_the_list():
    table = rows(ledger(AS_PRINTED))
    assert list(table) == list(PUBLISHED)
    assert {name: row[2] for name, row in table.items()} == {
        name: "set to it" if name in SETTINGS else "equal" for name in PUBLISHED
    }
    assert [row[3] for row in table.values()] == [figure.where for figure in PUBLISHED.values()]


def test_a_row_of_the_ledger_shows_enough_digits_to_check_its_verdict():
    other = {
        "base: million parameters": 63.045632,
        "longest wavelength, over 2π": 9646.6162,
        "base: training FLOPs": 3.2832e18,
        "big: days": 3.4722222,
        "self-attention: operations, n doubled": 3.0,
    }
    table = rows(ledger(AS_PRINTED | other))
    assert table["base: million parameters"] == ["65", "63.05", "differs", "Table 3"]
    assert table["longest wavelength, over 2π"] == ["10,000", "9,646.62", "differs", "Section 3.5"]
    assert table["base: training FLOPs"] == ["3.3 · 10¹⁸", "3.283 · 10¹⁸", "rounds to", "Table 2"]
    assert table["Adam: ε"] == ["1 · 10⁻⁹", "1 · 10⁻⁹", "set to it", "Section 5.3"]
    assert table["big: days"] == ["3.5", "3.472", "rounds to", "Section 5.2"]
    assert table["self-attention: operations, n doubled"] == ["n² · d, so 4", "3.00", "differs", "Table 1"]
    assert table["big: seconds a step"][:2] == ["1.0", "1.0"]


def test_the_ledger_reads_the_same_in_a_terminal():
    shown = ledger(AS_PRINTED)
    lines = [re.split(r"  +", line) for line in repr(shown).split("\n")]
    assert {line[0]: line[1:] for line in lines[1:]} == rows(shown)


def test_the_ledger_of_a_part_of_the_paper_has_that_part():
    some = {name: x for name, x in AS_PRINTED.items() if PUBLISHED[name].where.startswith("Section 5")}
    table = rows(ledger(some, "Section 5"))
    assert list(table) == list(some)
    assert rows(ledger(AS_PRINTED, "Section 5")) == table


def test_a_ledger_with_gaps_or_inventions_is_refused():
    some = {name: x for name, x in AS_PRINTED.items() if name != "big: days"}
    with pytest.raises(ValueError, match=r"\['big: days'\] must be recalculated, too"):
        ledger(some)
    with pytest.raises(ValueError, match=r"\['small: days'\] must be among the published figures"):
        ledger(AS_PRINTED | {"small: days": 1.0})
    with pytest.raises(ValueError, match=r"place \('Table 9'\) must be where a published figure stands"):
        ledger(AS_PRINTED, "Table 9")


@pytest.mark.parametrize("name", GIVEN | PUBLISHED)
def test_every_published_figure_is_a_number_and_has_a_place_in_the_paper(name):
    figure = (GIVEN | PUBLISHED)[name]
    assert re.fullmatch(r"\d+(\.\d+)?(e-?\d+)?", figure.digits)
    assert re.fullmatch(r"(Section [3-6](\.\d)*|Table [123])(, footnote|, \([A-E]\))?", figure.where)
    assert bool(figure.formula) <= (figure.where[:7] in ("Table 1", "Section"))


# The chapter


def test_the_chapter_recalculates_every_figure_and_all_that_are_given_are_used():
    full = max(outputs(CHAPTER, "text/plain"), key=len)
    assert all(re.search(rf"^{re.escape(name)}  ", full, re.M) for name in PUBLISHED)
    chapters = (CHAPTER, BOOK / "loss.ipynb")
    code = "\n".join(cell["source"] for path in chapters for cell in cells(path) if cell["cell_type"] == "code")
    used = {name for name in GIVEN if f'"{name}"' in code}
    used |= {name for name in GIVEN if f'{{model}}: {name.partition(": ")[2]}"' in code}
    assert used == GIVEN.keys()


def test_no_published_figure_is_typed_in_the_chapters_code():
    code = "\n".join(cell["source"] for cell in cells(CHAPTER) if cell["cell_type"] == "code")
    typed = set(re.findall(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e\d+)?", code.replace("_", "")))
    telling = {f.digits for f in (GIVEN | PUBLISHED).values() if float(f.digits) % 1 or len(f.digits) > 4}
    assert typed & (telling - {"10000"}) == set()


def test_no_cell_of_the_ledger_was_written_by_hand():
    notebook = json.loads(CHAPTER.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            assert "| differs" not in "".join(cell["source"])


# The figures

N = [16, 64, 256]
LINES = {"one": np.array([1.0, 4, 16]), "two": np.array([2.0, 4, 8])}
FIGURES = {
    "operations": lambda: figures.paper.operations(N, LINES, 64, {k: 2 * v for k, v in LINES.items()}),
    "paths": lambda: figures.paper.paths(N, LINES),
    "shares": lambda: figures.paper.shares(N, {"a": [0.2, 0.3, 0.5], "b": [0.8, 0.7, 0.5]}, {"2d": 100}),
    "boxes": lambda: figures.paper.boxes({"table": 18.944, "encoder": 6.291, "norms": 0.012}),
    "intervals": lambda: figures.paper.intervals(
        {"base": range(39_841, 41_794), "big": range(35_368, 36_345)}, range(41_004, 41_209), 37_000
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_without_warnings_narrow_enough_and_large_enough(name):
    legible(FIGURES[name])


def test_operations_are_points_and_formulas_lines():
    (axes,) = FIGURES["operations"]().axes
    mark, *curves = axes.lines
    assert list(mark.get_xdata()) == [64, 64]
    for i, (name, counts) in enumerate(LINES.items()):
        line, points = curves[2 * i : 2 * i + 2]
        assert np.array_equal(points.get_ydata(), counts)
        assert np.array_equal(line.get_ydata(), 2 * counts)
        assert points.get_label() == name
        assert points.get_linestyle() == "None"
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_shares_are_stacked_to_one():
    (axes,) = FIGURES["shares"]().axes
    low, high = (area.get_paths()[0].vertices[:, 1] for area in axes.collections)
    assert (low.min(), low.max()) == (0, 0.5)
    assert (high.min(), high.max()) == (0.2, 1)
    assert list(axes.lines[0].get_xdata()) == [100, 100]
    assert "2d" in [text.get_text() for text in axes.texts]


def test_bars_are_as_long_as_the_boxes():
    (axes,) = FIGURES["boxes"]().axes
    assert [bar.get_width() for bar in axes.patches] == [18.944, 6.291, 0.012]
    assert [text.get_text() for text in axes.texts] == ["18.94", "6.29", "0.01"]
    assert axes.yaxis_inverted()


def test_intervals_reach_from_the_first_size_to_the_last():
    (axes,) = FIGURES["intervals"]().axes
    band, *bars = axes.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == (41_004, 41_208)
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(39_841, 1953), (35_368, 977)]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["base", "big"]
    (mark,) = axes.lines
    assert list(mark.get_xdata()) == [37_000, 37_000]
    assert mark.get_color() == KEY
    assert axes.get_xlim()[0] < 35_368
