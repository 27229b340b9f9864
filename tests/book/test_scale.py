"""What is counted: multiplications and kept tensors, against formulas and small cases; and the pictures of it."""

import functools
import pathlib
import warnings

import matplotlib.colors
import numpy as np
import pytest
import torch
from helpers import legible
from hypothesis import given, settings
from hypothesis import strategies as st

from tested_transformer.book import figures
from tested_transformer.book.cost import (
    benchmarks,
    bills,
    counted,
    decoder_keeps,
    layer_cost,
    layer_keeps,
    multiplications,
    n_bytes,
    n_parameters,
    price,
    running,
    saved_tensors,
    step_seconds,
    with_cache,
    without_cache,
    writing,
)
from tested_transformer.book.figures.picture import OURS, SERIES, THEIRS
from tested_transformer.config import TINY, Config
from tested_transformer.decoding.cache import Cache
from tested_transformer.model.attention import attention, fused_attention
from tested_transformer.model.decoder import DecoderLayer
from tested_transformer.model.encoder import Encoder, EncoderLayer
from tested_transformer.model.transformer import Transformer

small = st.integers(1, 9)


def wants(*shape, dtype=torch.float32):
    return torch.ones(*shape, dtype=dtype, requires_grad=True)


# Multiplications


@given(n=small, d=small, m=small, batch=st.integers(1, 3))
def test_a_product_takes_a_multiplication_for_each_term_of_each_sum(n, d, m, batch):
    assert multiplications(torch.matmul, torch.ones(n, d), torch.ones(d, m)) == n * d * m
    assert multiplications(torch.bmm, torch.ones(batch, n, d), torch.ones(batch, d, m)) == batch * n * d * m


def test_what_is_no_product_is_not_counted():
    x = torch.ones(3, 4)
    assert multiplications(lambda: (x + x).softmax(-1).relu() * x) == 0
    assert multiplications(torch.nn.Embedding(5, 4), torch.tensor([1, 2])) == 0


def test_a_bias_takes_no_multiplication_and_a_convolution_one_for_each_term():
    linear, x = torch.nn.Linear(4, 5), torch.ones(3, 4)
    assert multiplications(linear, x) == 3 * 4 * 5
    assert multiplications(torch.nn.Conv1d(2, 7, 3), torch.ones(1, 2, 10)) == 8 * 2 * 7 * 3


@pytest.mark.parametrize("device", ["cpu", "meta"])
@given(n=small, heads=st.integers(1, 3), width=small, d_ff=small)
@settings(max_examples=10)
def test_a_layer_takes_what_the_formula_says_fused_or_not_with_content_or_without(device, n, heads, width, d_ff):
    d = heads * width
    for fused in (False, True):
        with torch.device(device):
            layer = EncoderLayer(Config(9, d_model=d, d_ff=d_ff, n_heads=heads, n_layers=1, fused=fused))
            x = torch.ones(1, n, d)
        assert multiplications(layer, x) == 4 * n * d**2 + 2 * n * d * d_ff + 2 * n**2 * d


def test_forward_and_back_are_three_times_forward():
    model, ids = Transformer(TINY), torch.tensor([[5, 6, 7, 2]])
    forward = multiplications(model, ids, ids)
    assert multiplications(lambda: model(ids, ids).sum().backward()) == 3 * forward > 0


# What is kept


def test_what_the_gradient_needs_is_kept_once():
    x, y = wants(3, 4), wants(3, 4)
    assert {t.data_ptr() for t in saved_tensors(torch.mul, x, y)} == {x.data_ptr(), y.data_ptr()}
    assert [t.data_ptr() for t in saved_tensors(torch.mul, x, x)] == [x.data_ptr()]
    assert saved_tensors(torch.add, x, y) == []
    (output,) = saved_tensors(torch.exp, x)
    assert torch.equal(output, x.exp())


def test_nothing_is_kept_where_no_gradient_is_wanted():
    assert saved_tensors(torch.mul, torch.ones(3), torch.ones(3)) == []
    with torch.no_grad():
        assert saved_tensors(torch.mul, wants(3), wants(3)) == []


def test_parameters_of_a_module_are_left_out_and_those_of_others_are_not():
    linear, x = torch.nn.Linear(4, 4, bias=False), wants(2, 4)
    assert [t.data_ptr() for t in saved_tensors(linear, x)] == [x.data_ptr()]
    assert n_bytes(saved_tensors(lambda x: linear(x), x)) == 4 * (2 * 4 + 4 * 4)


def test_tensors_without_content_are_refused():
    with pytest.raises(ValueError, match="saved_tensors needs tensors with content, not those on meta"):
        saved_tensors(torch.exp, wants(3).to("meta"))


def test_bytes_are_those_of_the_memory_behind_a_tensor():
    assert n_bytes([]) == 0
    assert n_bytes([torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(5, dtype=torch.bool)]) == 12 + 16 + 5
    assert n_bytes([torch.ones(10)[:3]]) == 40


@given(n=small, heads=st.integers(1, 3), width=small, d_ff=small, layers=st.integers(1, 3))
@settings(max_examples=15)
def test_a_stack_keeps_what_the_formula_says_for_each_layer(n, heads, width, d_ff, layers):
    d = heads * width
    c = Config(9, d_model=d, d_ff=d_ff, n_heads=heads, n_layers=layers, dropout=0.0)
    assert n_bytes(saved_tensors(Encoder(c), wants(1, n, d))) == 4 * layers * n * (8 * d + d_ff + heads + 4)


@given(n=st.integers(2, 40), heads=st.integers(1, 3), width=small)
@settings(max_examples=15)
def test_only_attention_as_a_formula_keeps_its_weights(n, heads, width):
    rows = [x.clone() for x in wants(3, 1, heads, n, width)]
    whole = n_bytes(saved_tensors(attention, *rows))
    fused = n_bytes(saved_tensors(fused_attention, *rows))
    assert whole - 4 * heads * n**2 == 4 * 3 * heads * n * width
    assert fused == 4 * heads * n * (4 * width + 1)


@given(n=st.integers(1, 12), heads=st.integers(1, 3), width=small, d_ff=st.integers(1, 9))
@settings(max_examples=10)
def test_the_formulas_of_a_layer_count_what_it_does_and_keeps(n, heads, width, d_ff):
    c = Config(9, d_model=heads * width, d_ff=d_ff, n_heads=heads, n_layers=1, dropout=0.0)
    assert counted(n, c) == layer_cost(n, c.d_model, d_ff)
    x, memory = (torch.zeros(1, n, c.d_model, requires_grad=True) for _ in range(2))
    assert n_bytes(saved_tensors(EncoderLayer(c), x)) == 4 * layer_keeps(n, c)
    assert n_bytes(saved_tensors(DecoderLayer(c), x, memory)) == 4 * decoder_keeps(n, c)


def test_writing_costs_what_the_formulas_say_and_takes_time():
    c = Config(9, d_model=8, d_ff=12, n_heads=2, n_layers=2, dropout=0.0)
    model = Transformer(c).eval()
    for n in (1, 4):
        assert writing(model, n, 5, cached=True) == with_cache(n, c, 5)
        assert writing(model, n, 5, cached=False) == without_cache(n, c, 5)
    assert with_cache(4, c, 5) < without_cache(4, c, 5)
    assert step_seconds(model) > 0


@given(sentences=st.integers(1, 3), n=st.integers(1, 6), heads=st.integers(1, 3), width=small, layers=st.integers(1, 3))
@settings(max_examples=10)
def test_the_price_of_a_step_and_of_writing_is_what_a_model_does_and_keeps(sentences, n, heads, width, layers):
    d = heads * width
    c = Config(7, d_model=d, d_ff=2 * d + 1, n_heads=heads, n_layers=layers, dropout=0.0)
    model, ids = Transformer(c), torch.full((sentences, n), 5)
    told = price(c, n, sentences)
    assert told["parameters"] == n_parameters(c) == sum(p.numel() for p in model.parameters())
    step = multiplications(lambda: model(ids, ids).sum().backward())
    assert told["FLOPs of a step"] == 2 * step
    assert 3 * sentences * n * (told["read"] + told["written"]) == step
    assert told["6ND"] == 6 * told["parameters"] * sentences * n
    assert told["weights"] + told["gradients"] + told["Adam"] == 16 * told["parameters"]
    x, y = (torch.zeros(sentences, n, d, requires_grad=True) for _ in range(2))
    model.forward = lambda x, y: model.embedding.logits(model.decoder(y, model.encoder(x)))
    assert told["kept by layers"] == n_bytes(saved_tensors(model, x, y))
    del model.forward
    assert told["kept by the loss"] == 4 * sentences * n * c.vocab_size
    cache = Cache(model.eval(), model.encode(ids), ids, n)
    cache.step(ids[:, :1])
    parts = ("keys", "values", "memory_keys", "memory_values")
    assert told["cache"] == n_bytes([getattr(layer, part) for layer in cache.layers for part in parts])


def test_a_bill_is_what_the_rule_says_for_each_training_at_one_pace():
    names, small, large = zip(*bills([(50e6, 2e9), (2e9, 4e13)], pace=6 * 50e6 * 2e9 / 7200), strict=True)
    assert len(names) == 5
    assert small == ("50 million", "0.20", "2.0e+09", "6.0e+17", "2 hours")
    assert large == ("2 billion", "8", "4.0e+13", "4.8e+23", "200 years")  # 1.6 million hours, in hundreds of years


def test_a_running_sum_of_ones_stands_still_where_no_number_is_between():
    assert running(3, torch.float32) == [1, 2, 3]
    assert running(300, torch.bfloat16)[-2:] == [256, 256]


# Pictures

X = [1, 10, 100]
TWO = {"one": [1, 2, 3], "two": [2, 4, 8]}
FIGURES = {
    "curves": lambda: figures.scale.curves(X, TWO, ("n", "cost"), {"80 GB": 5}),
    "bills": lambda: figures.scale.bills({"a": {"w": 1.0, "g": 2.0}, "b": {"w": 1.0, "k": 0.5}}, "GB"),
    "sums": lambda: figures.scale.sums(X, TWO, [1, 2, 9]),
    "ring": lambda: figures.scale.ring([np.ones((2, 2)), np.eye(2) + 1, np.full((2, 2), 2)], ["start", "add", "pass"]),
    "held": lambda: figures.scale.held({"DDP": {"w": np.ones((2, 2)) > 0}, "FSDP": {"w": np.eye(2) > 0}}),
    "areas": lambda: figures.scale.areas({"short": (1, 2), "long": (24, 4)}),
    "shares": lambda: figures.scale.shares({"a": [0.25, -0.5], "both": [1.0, -2.0]}, "number"),
    "measured": lambda: figures.scale.measured({"fast": {"a": 2.5, "b": 1.0}, "slow": {"a": 0.5}}, "times"),
}


@functools.cache
def drawn(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib|pyparsing")
        figure = FIGURES[name]()
        figure._repr_svg_()
    return figure


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_narrow_enough_and_its_letters_are_large_enough(name):
    legible(FIGURES[name])


def test_curves_lie_on_their_numbers_with_levels():
    (axes,) = drawn("curves").axes
    level, one, two = axes.lines
    assert list(level.get_ydata()) == [5, 5]
    assert [list(line.get_ydata()) for line in (one, two)] == [[1, 2, 3], [2, 4, 8]]
    assert two.get_color() != one.get_color()
    assert one.get_linestyle() != two.get_linestyle()
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("n", "cost")
    assert [text.get_text() for text in axes.texts] == ["80 GB"]


def test_parts_of_a_bill_lie_end_to_end_with_the_sum_beside_them():
    (axes,) = drawn("bills").axes
    bars = [bar for container in axes.containers for bar in container]
    ends = [(bar.get_x(), bar.get_width(), round(bar.get_y() + bar.get_height() / 2)) for bar in bars]
    assert ends == [(0, 1, 0), (1, 2, 0), (0, 1, 1), (1, 0.5, 1)]
    assert [text.get_text() for text in axes.texts] == ["w", "g", "3.00", "w", "k", "1.50"]
    assert axes.yaxis_inverted()
    assert axes.get_xlim()[1] > 3


def test_each_part_of_a_bill_has_its_name_in_its_colour_and_names_stay_apart():
    (axes,) = figures.scale.bills(
        {"a": {"first of all": 9.0, "tiny": 0.01, "tinier": 0.01, "the last": 0.01}}, "GB"
    ).axes
    names = axes.texts[:4]
    assert [name.get_color() for name in names] == list(SERIES[:4])
    assert [matplotlib.colors.to_hex(bar[0].get_facecolor()) for bar in axes.containers] == [
        c.lower() for c in SERIES[:4]
    ]
    width = 6.65 - 0.2 - figures.scale.LETTER
    halves = [len(name.get_text()) * figures.scale.LETTER / 2 * axes.get_xlim()[1] / width for name in names]
    places = [name.get_position()[0] for name in names]
    for i in range(3):
        assert places[i] + halves[i] < places[i + 1] - halves[i + 1]
    assert places[-1] + halves[-1] <= axes.get_xlim()[1] + 1e-9
    for line, name in zip(axes.lines, names, strict=True):
        assert line.get_xdata()[1] == name.get_position()[0]


def test_sums_are_drawn_over_the_true_one():
    (axes,) = drawn("sums").axes
    true, one, two = axes.lines
    assert [list(line.get_ydata()) for line in (true, one, two)] == [[1, 2, 9], [1, 2, 3], [2, 4, 8]]
    assert true.get_zorder() <= one.get_zorder()
    assert [line.get_label() for line in axes.lines] == ["true", "one", "two"]


def test_a_ring_has_a_panel_for_each_state_and_one_scale_for_all():
    panels = [axes for axes in drawn("ring").axes[1:] if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == ["start", "add", "pass"]
    assert [axes.get_images()[0].get_clim() for axes in panels] == [(0, 2)] * 3
    assert [[t.get_text() for t in axes.texts] for axes in panels] == [list("1111"), list("2112"), list("2222")]


def test_in_the_ring_what_has_just_arrived_is_framed():
    panels = [axes for axes in drawn("ring").axes[1:] if axes.get_visible()]
    framed = [[np.round(np.add(p.get_xy(), 0.46)).tolist() for p in axes.patches] for axes in panels]
    assert framed == [[], [[0, 0], [1, 1]], [[1, 0], [0, 1]]]


def test_what_is_held_is_filled():
    filled = [
        [matplotlib.colors.to_hex(tile.get_facecolor()) == SERIES[0].lower() for tile in axes.patches]
        for axes in drawn("held").axes
    ]
    assert filled == [[True] * 4, [True, False, False, True]]
    places = [(round(t.get_x(), 2), t.get_y()) for t in drawn("held").axes[1].patches]
    assert places == [(0, 0.1), (0.5, 0.1), (0, 1.1), (0.5, 1.1)]


def test_areas_are_as_large_as_the_terms_of_a_layer_in_squares_of_the_narrowest():
    (axes,) = drawn("areas").axes
    areas = [patch.get_width() * patch.get_height() for patch in axes.patches]
    assert areas == [1] * 12 + [0.5] * 2 + [4] * 12 + [24] * 2  # n d: 1 times 2, 24 times 4, by 2 times 2
    assert max(patch.get_x() + patch.get_width() for patch in axes.patches[:14]) == 6
    assert min(patch.get_x() for patch in axes.patches[14:]) == 7
    assert [text.get_text() for text in axes.texts] == ["short", "long"]
    assert len({patch.get_hatch() for patch in axes.patches}) == 3


def test_shares_are_signed_tiles_with_a_row_for_each_name():
    (axes,) = drawn("shares").axes
    assert [text.get_text() for text in axes.texts] == ["0.25", "-0.50", "1", "-2"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "both"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]
    assert axes.get_xlabel() == "number"
    assert axes.get_images()[0].get_clim() == (-2, 2)


def test_measured_bars_are_as_long_as_the_numbers_on_one_scale():
    fast, slow = drawn("measured").axes
    assert [bar.get_width() for bar in fast.patches] == [2.5, 1.0]
    assert [text.get_text() for text in fast.texts] == ["2.50", "1.00"]
    assert [bar.get_width() for bar in slow.patches] == [0.5]
    assert [axes.get_title(loc="left") for axes in (fast, slow)] == ["fast", "slow"]
    assert fast.get_xlim() == slow.get_xlim()
    assert fast.lines[0].get_xdata() == [1, 1]
    assert fast.yaxis_inverted()
    two = figures.scale.measured({"fast": {"ours": 2.5, "Marian": 1.0}}, "times").axes[0]
    assert [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in two.patches] == [OURS, THEIRS]


def test_the_benchmarks_have_a_row_for_each_case_and_side_and_name_their_machine():
    machine, rows = benchmarks(pathlib.Path(__file__).parents[2] / "benchmarks" / "results")
    assert {line.count(" | ") for line in machine.splitlines()} == {4}
    for title in ("One training step", "Decoding", "Three changes of a program"):
        assert machine.count(title) == 1
    jobs = ("training: batches by length", "writing: a cache", "writing: 64 sentences at once")
    assert {case for case, side in rows if case.startswith(("training:", "writing:"))} == set(jobs)
    assert {"nn.Transformer", "ours"} <= {side for case, side in rows if case == "greedy"}


def test_in_the_ring_an_arrow_leads_from_each_process_to_the_next():
    first = figures.scale.ring([np.ones((3, 3))], ["start"]).axes[0]
    circles = {text.get_text(): text.get_position() for text in first.texts if text.get_text()}
    ways = [(text.xyann, text.xy) for text in first.texts if not text.get_text()]
    assert list(circles) == ["0", "1", "2"]
    for (start, end), (process, following) in zip(ways, ("01", "12", "20"), strict=True):
        assert np.allclose(start, circles[process])
        assert np.allclose(end, circles[following])


def test_the_parts_of_a_bill_have_no_borders_that_would_cover_a_thin_one():
    assert {bar.get_linewidth() for bar in drawn("bills").axes[0].patches} == {0}
