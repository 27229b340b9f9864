"""What a model looks at, as laws: one pass is as good as watching it write, and company changes nothing."""

import numpy as np
import pytest
import torch
from helpers import filled

from tested_transformer.book.figures import looking as draw
from tested_transformer.config import Config
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.model.transformer import Transformer

SOURCE, TARGET = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[1, 7, 8, 9, 5]])


@pytest.fixture(scope="module")
def model():
    return filled(Transformer(Config(12, d_model=8, d_ff=16, n_heads=2, n_layers=2)))[0]


def same(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("written", [1, 2, 4])
def test_the_rows_of_a_beginning_are_those_of_the_whole(model, written):
    whole, begun = (attention_weights(model, SOURCE, t) for t in (TARGET, TARGET[:, :written]))
    same(begun["cross"], whole["cross"][..., :written, :])
    same(begun["decoder"], whole["decoder"][..., :written, :written])
    same(begun["encoder"], whole["encoder"])


def test_a_sentence_in_a_batch_looks_where_it_looks_alone(model):
    sources = torch.tensor([[4, 5, 6, 2], [9, 2, 0, 0]])
    both = attention_weights(model, sources, TARGET.repeat(2, 1))
    alone = attention_weights(model, sources[1:, :2], TARGET)
    same(both["encoder"][:, 1:, :, :2, :2], alone["encoder"])
    same(both["cross"][:, 1:, ..., :2], alone["cross"])
    assert both["encoder"][:, 1, ..., 2:].eq(0).all()
    assert both["cross"][:, 1, ..., 2:].eq(0).all()


def test_rows_add_up_to_one_and_the_future_is_exactly_hidden(model):
    weights = attention_weights(model, SOURCE, TARGET)
    for kind in weights.values():
        same(kind.sum(-1), torch.ones(kind.shape[:-1], dtype=kind.dtype))
    assert weights["decoder"].triu(1).eq(0).all()
    assert weights["encoder"].triu(1).gt(0).any()


def test_looking_leaves_the_output_and_the_mode_of_the_model_as_they_were(model):
    model.train()
    attention_weights(model, SOURCE, TARGET)
    assert model.training
    model.eval()
    before = model(SOURCE, TARGET)
    attention_weights(model, SOURCE, TARGET)
    assert torch.equal(model(SOURCE, TARGET), before)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


# Pictures


def test_the_widest_line_of_a_token_leads_to_its_largest_weight():
    figure = draw.links(["a", "b", "c"], ["x", "y"], np.array([[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]]))
    lines = [(tuple(line.get_xdata()), line.get_linewidth()) for line in figure.axes[0].lines]
    assert len(lines) == 4  # weights up to a tenth are left out
    assert {ends for ends, width in lines if width > 2} == {(0.0, 0.0), (1.0, 1.0)}
    heights = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    assert min(heights[word] for word in "abc") > 1 > 0 > max(heights[word] for word in "xy")
    faint = figure.axes[0].lines[1]  # from b above, in the middle, to x below, on the left
    assert list(zip(faint.get_xdata(), faint.get_ydata(), strict=True)) == [(0.5, 1), (0.0, 0)]


def test_each_head_has_its_place_in_the_grid():
    weights = np.zeros((2, 3, 2, 2))
    for layer, head in np.ndindex(2, 3):
        weights[layer, head] = layer * 3 + head
    figure = draw.heads(weights, ["a", "b"], ["c", "d"])
    assert [axes.images[0].get_array()[0, 0] for axes in figure.axes] == [0, 1, 2, 3, 4, 5]
    assert [axes.get_title() for axes in figure.axes][3] == "layer 2, head 1"
