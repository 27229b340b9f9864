"""Patches: pictures cut into rows of numbers, the Vision Transformer on them, and the pictures of the chapter."""

import re

import numpy as np
import pytest
import torch
from helpers import randomised, unchecked
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, Rectangle
from torch.nn import functional as F

from tested_transformer.book import figures
from tested_transformer.book.figures.picture import KEY, QUERY, WEIGHTS
from tested_transformer.config import Config
from tested_transformer.data import pictures
from tested_transformer.data.pictures import SIDE, marks, paint, scenes
from tested_transformer.model.encoder import Encoder
from tested_transformer.model.patches import VIT_BASE, VisionTransformer, patches

SETTINGS = {"activation": "gelu", "attention_bias": True, "norm_first": True, "norm_eps": 1e-6}
CONFIG = Config(4, 8, 16, 2, 2, dropout=0.0, max_len=7, **SETTINGS)
GRID = (2, 3)  # the patches of most pictures here: below each other, and side by side


def normal(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def vit(**changes):
    """For pictures of 4 × 6 pixels in 3 channels: 6 patches of 2 × 2, 5 classes."""
    return randomised(VisionTransformer(CONFIG.replace(**changes), 2, 5)).eval()


def square():
    """For pictures of 6 × 6 pixels in 3 channels: 9 patches of 2 × 2, 5 classes."""
    return vit(max_len=10)


# Patches


@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))
def test_each_pixel_lands_in_the_patch_and_at_the_place_that_the_formulas_name(batch, channels, down, across, size):
    images = normal(batch, channels, down * size, across * size)
    found = patches(images, size)
    assert found.shape == (batch, down * across, channels * size**2)
    for b, c, y, x in np.ndindex(*images.shape):
        patch = (y // size) * across + x // size
        place = (c * size + y % size) * size + x % size
        assert found[b, patch, place] == images[b, c, y, x]


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(1, 5))
def test_a_linear_map_of_the_patches_is_a_convolution_in_steps_of_a_patch(channels, down, across, size, width):
    images, kernel = normal(2, channels, down * size, across * size), normal(width, channels, size, size, seed=1)
    mapped = patches(images, size) @ kernel.flatten(1).T
    expected = F.conv2d(images, kernel, stride=size).flatten(2).transpose(1, 2)
    assert torch.allclose(mapped, expected, rtol=0, atol=1e-12)


def test_a_patch_of_the_whole_picture_is_its_numbers_in_order_and_of_one_pixel_its_channels():
    images = normal(2, 3, 4, 4)
    assert torch.equal(patches(images, 4), images.reshape(2, 1, 48))
    assert torch.equal(patches(images, 1), images.flatten(2).transpose(1, 2))


def test_cutting_keeps_precision_and_passes_gradients_back():
    images = normal(1, 1, 4, 4).float().requires_grad_()
    found = patches(images, 2)
    assert found.dtype == torch.float32
    found[0, 1].sum().backward()
    assert images.grad[0, 0].nonzero().tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]


# The model


def test_the_class_token_stands_in_front_and_positions_are_added_to_all():
    model, images = vit(), normal(2, 3, 4, 6)
    rows = patches(images, 2) @ model.embedding.weight.T + model.embedding.bias
    found = model.embed(images, GRID)
    assert torch.equal(found[:, 0], (model.class_token + model.positions.table[0]).expand(2, 8))
    assert torch.allclose(found[:, 1:], rows + model.positions.table[1:], rtol=0, atol=1e-12)


def test_the_answer_is_a_linear_map_of_the_class_tokens_vector_behind_the_encoder_of_the_book():
    model, images = vit(), normal(2, 3, 4, 6)
    assert type(model.encoder) is Encoder
    x = model.encoder(model.embed(images, GRID))[:, 0]
    assert torch.allclose(model(images, GRID), x @ model.head.weight.T + model.head.bias, rtol=0, atol=1e-12)


def test_the_order_of_patches_counts_through_their_positions_alone():
    model, images, order = vit(), normal(1, 3, 4, 6), torch.tensor([4, 0, 5, 2, 1, 3])
    pieces = images.unfold(2, 2, 2).unfold(3, 2, 2)  # (1, C, R, K, s, s)
    moved = pieces.flatten(2, 3)[:, :, order].unflatten(2, (2, 3))
    shuffled = moved.permute(0, 1, 2, 4, 3, 5).reshape(1, 3, 4, 6)
    assert torch.equal(patches(shuffled, 2), patches(images, 2)[:, order])
    assert not torch.allclose(model(images, GRID), model(shuffled, GRID), atol=1e-3)
    answer = model(images, GRID)
    with torch.no_grad():
        model.positions.table[1:] = model.positions.table[1:][order]
    assert torch.allclose(model(shuffled, GRID), answer, rtol=0, atol=1e-12)
    with torch.no_grad():
        model.positions.table.zero_()
    assert torch.allclose(model(images, GRID), model(shuffled, GRID), rtol=0, atol=1e-12)


def test_pictures_of_a_batch_do_not_see_each_other():
    model, images = vit(), normal(3, 3, 4, 6)
    assert torch.allclose(model(images, GRID)[1:2], model(images[1:2], GRID), rtol=0, atol=1e-12)


def test_every_parameter_learns():
    model = vit()
    model(normal(2, 3, 4, 6), GRID).square().sum().backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("w_k.bias"):  # a key bias moves all scores of a row alike
            assert parameter.grad.abs().max() > 1e-8, name


def test_dropout_stands_behind_the_positions_and_in_the_layers():
    model, images = randomised(VisionTransformer(CONFIG.replace(dropout=0.5), 2, 5)), normal(2, 3, 4, 6)
    assert not torch.equal(model.embed(images, GRID), model.embed(images, GRID))
    model.positions.dropout.p = 0.0
    assert torch.equal(model.embed(images, GRID), model.embed(images, GRID))
    assert not torch.equal(model(images, GRID), model(images, GRID))


@pytest.mark.parametrize("given", [(normal(2, 3, 6, 6),), (normal(2, 3, 4, 4), (2, 2))], ids=["square", "told"])
def test_it_exports_and_compiles_with_the_number_of_pictures_free(given):
    model, (images, *grid) = square(), given
    free = {"images": {0: torch.export.Dim("batch", max=64)}} | ({"grid": (None, None)} if grid else {})
    with unchecked():
        exported = torch.export.export(model, given, dynamic_shapes=free).module()
        compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
        for n in (1, 2, 5):
            more = normal(n, *images.shape[1:], seed=n)
            for made in (exported, compiled):
                assert torch.allclose(made(more, *grid), model(more, *grid), rtol=0, atol=1e-12)


def test_vit_base_has_as_many_parameters_as_published():
    with torch.device("meta"):
        model = VisionTransformer(VIT_BASE, 16, 1000)
        logits = model(torch.empty(1, 3, 224, 224))
    assert sum(p.numel() for p in model.parameters()) == 86_567_656
    assert logits.shape == (1, 1000)


# What is refused


@pytest.mark.parametrize("size", [0, 3, 4])
def test_patches_that_do_not_fill_the_picture_are_refused(size):
    with pytest.raises(ValueError, match=rf"size \({size}\) must .* divide height \(4\) and width \(6\)"):
        patches(normal(1, 1, 4, 6), size)


def test_a_picture_with_more_patches_than_positions_is_refused():
    with pytest.raises(ValueError, match=r"length \(9\) must not exceed max_len \(7\)"):
        vit()(normal(1, 3, 4, 8), (2, 4))


@pytest.mark.parametrize("shape", [(4, 4), (2, 18), (18, 2), (6, 4), (4, 6), (2, 2)], ids=str)
def test_a_picture_of_another_size_or_shape_is_refused_unless_it_is_meant(shape):
    model, images, grid = square(), normal(2, 3, *shape), (shape[0] // 2, shape[1] // 2)
    words = re.escape(f"images have {grid} patches; they must be a square of max_len - 1 (9), or give grid={grid}")
    with pytest.raises(ValueError, match=words):
        model(images)
    with pytest.raises(ValueError, match=words):
        model.embed(images)
    assert model(images, grid).shape == (2, 5)
    with unchecked():
        assert torch.equal(model(images, grid=list(grid)), model(images, grid))


@pytest.mark.parametrize("shape", [(8, 8), (6, 8), (2, 20)], ids=str)
def test_a_larger_picture_is_refused_without_a_hint_that_would_not_help(shape):
    with pytest.raises(ValueError, match=r"patches; they must be a square of max_len - 1 \(9\)$"):
        square()(normal(1, 3, *shape))


def test_the_picture_that_the_model_is_made_for_may_be_named_or_not():
    model, images = square(), normal(2, 3, 6, 6)
    assert torch.equal(model(images), model(images, (3, 3)))


@pytest.mark.parametrize("grid", [(2, 2), (9, 1), (3, 2), (3, 3, 1)], ids=str)
def test_a_grid_that_is_not_that_of_the_picture_is_refused(grid):
    with unchecked(), pytest.raises(ValueError, match=re.escape(f"grid {grid} must be the grid of the images, (3, 3)")):
        square()(normal(1, 3, 6, 6), grid)


def test_a_model_whose_patches_are_no_square_is_told_the_grid_each_time():
    images = normal(1, 3, 4, 6)
    with pytest.raises(ValueError, match=r"a square of max_len - 1 \(6\), or give grid=\(2, 3\)"):
        vit()(images)
    with pytest.raises(ValueError, match=r"a square of max_len - 1 \(6\), or give grid=\(3, 2\)"):
        vit()(images.transpose(2, 3))
    with pytest.raises(ValueError, match=r"grid \(2, 3\) must be the grid of the images, \(3, 2\)"):
        vit()(images.transpose(2, 3), GRID)


NOT_PICTURES = {
    "grey": (torch.zeros(1, 1, 6, 6), ValueError, r"the channels of images \(1\) must be as many as the model's \(3\)"),
    "channels behind": (torch.zeros(1, 6, 6, 3), ValueError, r"size \(2\) must .* divide height \(6\) and width \(3\)"),
    "bytes": (
        torch.zeros(1, 3, 6, 6, dtype=torch.uint8),
        TypeError,
        r"images must be of a floating-point type, with pixels of about 1, not torch\.uint8",
    ),
    "one picture alone": (torch.zeros(3, 6, 6), ValueError, r"images of shape \(3, 6, 6\) must have four axes"),
    "an array": (np.zeros((1, 3, 6, 6)), TypeError, r"images must be a torch\.Tensor, not ndarray"),
}


@pytest.mark.parametrize("case", NOT_PICTURES)
def test_what_is_no_batch_of_pictures_is_refused_by_name_and_value(case):
    images, error, words = NOT_PICTURES[case]
    with unchecked(), pytest.raises(error, match=words):
        square()(images)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"size \(0\) must be at least 1"):
        VisionTransformer(CONFIG, 0, 5)
    with pytest.raises(ValueError, match=r"channels \(0\) must be at least 1"):
        VisionTransformer(CONFIG, 2, 5, channels=0)
    with pytest.raises(ValueError, match=r"n_classes \(1\) must be at least 2"):
        VisionTransformer(CONFIG, 2, 1)


def test_a_picture_without_an_axis_for_channels_is_refused():
    with unchecked(), pytest.raises(ValueError, match=r"images of shape \(1, 4, 6\) must have four axes"):
        patches(normal(1, 4, 6), 2)


# The pictures of the chapter


def test_all_scenes_are_there_once_with_the_right_answers():
    cells, answers = scenes()
    assert len({tuple(row) for row in cells.tolist()}) == len(cells) == 4 * 6 * 12
    pointed = {3: 1, 4: 5, 5: 7, 6: 3}  # up, right, down, left
    for row, answer in zip(cells.tolist(), answers, strict=True):
        assert row[pointed[row[4]]] == 1 + answer
        assert sorted(row[i] for i in (1, 3, 5, 7)) == [1, 1, 2, 2]
        assert sorted(row[i] for i in (0, 2, 6, 8)) == [0, 0, 1, 2]


def test_no_single_cell_tells_the_answer():
    cells, answers = scenes()
    for cell in range(9):
        for kind in np.unique(cells[:, cell]):
            assert answers[cells[:, cell] == kind].mean() == 0.5


def test_arrows_point_up_right_down_and_left():
    empty, cross, ring, up, right, down, left = marks()
    assert empty.sum() == 0
    assert np.array_equal(cross, np.eye(4) + np.eye(4)[::-1])
    assert ring.sum() == 12
    assert ring[1:3, 1:3].sum() == 0
    assert up[:2].sum() > up[2:].sum()
    assert down[2:].sum() > down[:2].sum()
    assert right[:, 2:].sum() > right[:, :2].sum()
    assert left[:, :2].sum() > left[:, 2:].sum()


def test_marks_are_painted_where_they_belong():
    cells, _ = scenes()
    images = paint(cells, 0.0, np.random.default_rng(0))
    assert images.shape == (288, 1, pictures.GRID * SIDE, pictures.GRID * SIDE)
    pixels = marks()
    for n in range(0, 288, 17):
        for cell in range(9):
            top, left = SIDE * (cell // 3), SIDE * (cell % 3)
            assert np.array_equal(images[n, 0, top : top + SIDE, left : left + SIDE], pixels[cells[n, cell]])


def test_noise_is_added_to_every_pixel_by_the_generator():
    cells = scenes()[0][:50]
    clean, noisy, again = (paint(cells, noise, np.random.default_rng(1)) for noise in (0.0, 0.2, 0.2))
    assert np.array_equal(noisy, again)
    assert (noisy != clean).all()
    assert abs((noisy - clean).std() - 0.2) < 0.01
    with pytest.raises(ValueError, match=r"noise \(-0\.1\) must be at least 0"):
        paint(cells, -0.1, np.random.default_rng(0))


# Figures


def test_pictures_are_drawn_with_their_titles_and_their_patches_apart_and_their_sum_behind_them():
    images = np.arange(2 * 36.0).reshape(2, 6, 6)
    figure = figures.patches.pictures(images, ["one", "two"], 2, [1, 2], ["both"])
    assert [axes.get_title(loc="center") for axes in figure.axes] == ["one", "two", "sum"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["both", "", ""]
    assert ["".join(text.get_text() for text in axes.texts) for axes in figure.axes] == ["", "+", "="]
    for axes, image in zip(figure.axes, [*images, images.mean(axis=0)], strict=True):
        cells = patches(torch.tensor(image)[None, None], 2)[0].reshape(9, 2, 2)
        shown = axes.get_images()
        assert all(np.array_equal(a.get_array(), b) for a, b in zip(shown, cells, strict=True))
        assert [a.get_extent() for a in shown[:4]] == [[1, 3, 3, 1], [4, 6, 3, 1], [7, 9, 3, 1], [1, 3, 6, 4]]
        assert [frame.get_xy() for frame in axes.patches[:4]] == [(1, 1), (4, 1), (7, 1), (1, 4)]
    assert not any(isinstance(patch, FancyArrowPatch) for patch in figure.axes[2].patches)
    for axes, ahead in zip(figure.axes[:2], ((1, 0), (0, 1)), strict=True):
        (way,) = (patch for patch in axes.patches if isinstance(patch, FancyArrowPatch))
        tail, head = way._posA_posB
        assert np.array_equal(np.sign(np.round(np.subtract(head, tail), 9)), ahead)  # y goes down in a picture
        assert np.allclose(np.subtract(head, [5, 5]) @ ahead, 2.2)  # from its patch, 4 to 6, into the next


def test_a_picture_as_a_sentence_has_a_row_of_pixels_for_each_patch_behind_that_of_the_class_token():
    image = np.arange(16.0).reshape(4, 4) / 16
    frame, picture = figures.patches.sentence(image, 2, "a ring", 3).axes
    assert len(picture.get_images()) == 4
    assert [text.get_text() for text in picture.texts] == ["1", "2", "3", "4"]
    assert [text.get_position() for text in picture.texts] == [(1.1, 1.1), (4.1, 1.1), (1.1, 4.1), (4.1, 4.1)]
    first, *pixels, encoder = (patch for patch in frame.patches if isinstance(patch, Rectangle))
    rows = patches(torch.tensor(image)[None, None], 2)[0].numpy()
    assert [pixel.get_facecolor() for pixel in pixels] == [WEIGHTS(float(x) / 1.3) for x in rows.ravel()]
    lines = np.array([pixel.get_y() for pixel in pixels]).reshape(4, 4)
    assert (lines == lines[:, :1]).all()
    assert (np.diff([first.get_y(), *lines[:, 0], encoder.get_y()]) < 0).all(), "from top to bottom"
    words = [text.get_text() for text in frame.texts]
    assert [word for word in words if word.isdigit()] == ["1", "2", "3", "4"]
    assert {"class token", "encoder", "a ring"} <= set(words)


def test_learning_is_a_curve_beside_the_loss_of_a_coin():
    (axes,) = figures.patches.learning([3.0, 2.0]).axes
    curve, coin = axes.lines
    assert list(curve.get_ydata()) == [3.0, 2.0]
    assert list(curve.get_xdata()) == [1, 2]
    assert curve.get_color() == QUERY
    assert set(coin.get_ydata()) == {np.log(2)}


def test_where_it_looks_is_a_line_for_each_name_with_the_aims_framed_and_no_zeros():
    grids = np.arange(72.0).reshape(2, 4, 3, 3) / 72
    figure = figures.patches.looks({"run 1": grids[0], "run 2": grids[1]}, ["up", "right", "down", "left"])
    aims = ((0.5, -0.5), (1.5, 0.5), (0.5, 1.5), (-0.5, 0.5)) * 2
    for one, grid, aim in zip(figure.axes, grids.reshape(8, 3, 3), aims, strict=True):
        assert np.array_equal(one.get_images()[0].get_array(), grid)
        assert one.get_images()[0].get_clim() == (0, 2.2)
        assert one.patches[-1].get_xy() == aim
        assert one.patches[-1].get_edgecolor()[:3] == to_rgb(KEY)
        assert {text.get_color() for text in one.texts} == {"black"}
        assert [text.get_text() for text in one.texts] == ["" if x < 0.05 else f"{x:.1f}" for x in grid.ravel()]
    assert [one.get_ylabel() for one in figure.axes] == ["run 1", "", "", "", "run 2", "", "", ""]
    assert [one.get_title(loc="center") for one in figure.axes] == ["up", "right", "down", "left"] + [""] * 4
