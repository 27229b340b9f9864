"""The embedding: the lookup, its gradient, where it starts, and the one table at both ends."""

import copy
import math

import numpy as np
import pytest
import torch
from helpers import assert_gradients, assert_near, normal, tensors, unchecked
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from tested_transformer.book.example import X
from tested_transformer.byhand.embedding import embedding, embedding_backward
from tested_transformer.model.embedding import Embedding, create_embedding_layer

seeds = st.integers(0, 2**32 - 1)
shapes = st.sampled_from([(1,), (6,), (2, 3), (1, 4), (2, 1, 3)])


def draw(seed, shape, vocab_size=5, d_model=3):
    """Ids, a table, and a gradient for the rows that they take; vocabulary, width and lengths all differ."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(vocab_size, size=shape)
    return ids, rng.normal(size=(vocab_size, d_model)), rng.normal(size=(*shape, d_model))


# By hand


def test_a_sentence_takes_the_rows_that_its_ids_name():
    love_i_love_ai = np.array([1, 0, 1, 2])
    assert embedding(love_i_love_ai, X).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0]]


def test_the_gradient_of_a_repeated_word_is_the_sum_over_its_places():
    d_y = np.array([[1.0, 0, 0], [0, 1, 0], [2, 0, 1], [0, 0, 1]])
    assert embedding_backward(d_y, np.array([1, 0, 1, 2]), 3).tolist() == [[0, 1, 0], [3, 0, 1], [0, 0, 1]]


def test_the_module_multiplies_rows_by_the_root_of_the_width_and_logits_by_nothing():
    module = Embedding(2, 4).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]]))
    assert module(torch.tensor([1, 0])).tolist() == [[10, 12, 14, 16], [2, 4, 6, 8]]
    assert module.logits(torch.tensor([[1.0, 0, 0, 1]]).double()).tolist() == [[5, 13]]


# Properties


@given(seeds, shapes)
def test_a_lookup_is_one_hot_times_the_table(seed, shape):
    ids, table, _ = draw(seed, shape)
    assert np.array_equal(embedding(ids, table), np.eye(len(table))[ids] @ table)


@given(seeds, shapes)
def test_renaming_the_words_changes_no_vector(seed, shape):
    ids, table, _ = draw(seed, shape)
    new_id = np.random.default_rng(seed).permutation(len(table))
    renamed = np.empty_like(table)
    renamed[new_id] = table
    assert np.array_equal(embedding(new_id[ids], renamed), embedding(ids, table))


@given(seeds, shapes)
def test_the_gradient_loses_nothing_and_leaves_absent_words_alone(seed, shape):
    ids, table, d_y = draw(seed, shape)
    d_table = embedding_backward(d_y, ids, len(table))
    assert np.allclose(d_table.sum(axis=0), d_y.reshape(-1, 3).sum(axis=0))
    absent = np.setdiff1d(np.arange(len(table)), ids)
    assert np.all(d_table[absent] == 0)


@given(seeds, shapes)
def test_the_same_token_is_the_same_row_wherever_it_stands(seed, shape):
    ids, table, _ = draw(seed, shape)
    rows = embedding(ids, table).reshape(-1, 3)
    for i, a in enumerate(ids.ravel()):
        for j, b in enumerate(ids.ravel()):
            assert np.array_equal(rows[i], rows[j]) == (a == b)


# Gradients


@given(seeds, shapes)
def test_the_gradient_is_that_of_central_differences(seed, shape):
    ids, table, d_y = draw(seed, shape)
    assert_gradients(lambda t: (embedding(ids, t) * d_y).sum(), [table], [embedding_backward(d_y, ids, len(table))])


@given(seeds, shapes)
def test_the_gradient_is_that_of_autograd(seed, shape):
    ids, table, d_y = draw(seed, shape)
    (weight,) = tensors(table)
    F.embedding(torch.tensor(ids), weight).backward(torch.tensor(d_y))
    assert_near(embedding_backward(d_y, ids, len(table)), weight.grad, 1e-9)


def test_a_tied_table_learns_from_both_ends():
    ids, table, _ = draw(3, (2, 3))
    module = Embedding(5, 3).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor(table))
    d_logits = normal(2, 3, 5)
    module.logits(module(torch.tensor(ids))).backward(torch.tensor(d_logits))
    at_input = embedding_backward(math.sqrt(3) * d_logits @ table, ids, 5)
    at_output = d_logits.reshape(-1, 5).T @ (math.sqrt(3) * embedding(ids, table)).reshape(-1, 3)
    assert_near(at_input + at_output, module.weight.grad, 1e-9)


# Agreement


@given(seeds, shapes)
def test_numpy_ours_and_pytorchs_own_agree(seed, shape):
    ids, table, _ = draw(seed, shape)
    module, own = Embedding(5, 3).double(), torch.nn.Embedding.from_pretrained(torch.tensor(table))
    with torch.no_grad():
        module.weight.copy_(own.weight)
    by_hand = math.sqrt(3) * embedding(ids, table)
    assert_near(module(torch.tensor(ids)), by_hand, 1e-12)
    assert_near(math.sqrt(3) * own(torch.tensor(ids)), by_hand, 1e-12)
    assert torch.equal(module(torch.tensor(ids, dtype=torch.int32)), module(torch.tensor(ids)))


def test_two_sentences_of_three_tokens_become_two_by_three_by_sixty_four():
    ids = torch.tensor([[1, 2, 3], [4, 5, 1]])
    assert create_embedding_layer(vocab_size=10, d_model=64)(ids).shape == (2, 3, 64)
    assert Embedding(vocab_size=10, d_model=64)(ids).shape == (2, 3, 64)
    assert create_embedding_layer(10, 64)(ids[0]).shape == (3, 64)


def test_logits_have_one_score_for_each_token_of_the_vocabulary():
    module = Embedding(10, 4)
    assert module.logits(torch.zeros(2, 3, 4)).shape == (2, 3, 10)
    assert module.logits(torch.zeros(2, 4)).shape == (2, 10)


# Where the table starts


@pytest.mark.parametrize("d_model", [16, 64, 512])
def test_rows_start_around_zero_and_about_one_long_whatever_the_width(d_model):
    torch.manual_seed(0)
    for weight in (create_embedding_layer(4000, d_model).weight, Embedding(4000, d_model).weight):
        assert weight.std().item() == pytest.approx(1 / math.sqrt(d_model), rel=0.02)
        assert abs(weight.mean().item()) < 0.02 / math.sqrt(d_model)
        assert weight.norm(dim=1).mean().item() == pytest.approx(1, rel=0.03)


def test_numbers_enter_the_model_with_a_typical_size_of_one():
    torch.manual_seed(0)
    assert Embedding(4000, 512)(torch.arange(4000)).std().item() == pytest.approx(1, rel=0.02)


def test_the_layer_is_pytorchs_own_and_learns():
    layer = create_embedding_layer(7, 3)
    assert type(layer) is torch.nn.Embedding
    assert (layer.num_embeddings, layer.embedding_dim) == (7, 3)
    assert layer.weight.requires_grad
    assert layer.padding_idx is None


# One table


def test_there_is_one_table_under_one_key_and_it_stays_one_through_saving_loading_and_copying(tmp_path):
    module, other = Embedding(6, 4), Embedding(6, 4)
    assert list(module.state_dict()) == ["weight"]
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    torch.save(module.state_dict(), tmp_path / "table.pt")
    other.load_state_dict(torch.load(tmp_path / "table.pt", weights_only=True))
    ids = torch.tensor([[0, 5, 3]])
    for loaded in (other, copy.deepcopy(module), copy.deepcopy(module).double().float()):
        assert torch.equal(loaded(ids), module(ids))
        with torch.no_grad():
            loaded.weight[5] *= 3  # seen at both ends
        assert torch.allclose(loaded(ids)[0, 1], 3 * module(ids)[0, 1])
        assert torch.allclose(loaded.logits(module(ids))[..., 5], 3 * module.logits(module(ids))[..., 5])


def test_without_layers_in_between_a_token_is_its_own_best_successor():
    torch.manual_seed(0)
    module, ids = Embedding(50, 64), torch.arange(50)
    assert torch.equal(module.logits(module(ids)).argmax(-1), ids)


def test_a_table_may_have_a_single_row_and_column():
    assert create_embedding_layer(1, 1).weight.shape == (1, 1)


def test_printing_a_model_shows_both_sizes():
    assert repr(Embedding(37_000, 512)) == "Embedding(37000, 512)"


def test_the_module_can_be_exported():
    module, ids = Embedding(6, 4), torch.tensor([[1, 2, 5]])
    exported = torch.export.export(module, (ids,)).module()
    assert torch.equal(exported(ids), module(ids))


# Refusal


@pytest.mark.parametrize("bad", [6, -1, 2**40])
def test_an_id_outside_the_table_is_refused_by_name(bad):
    with pytest.raises(IndexError, match=rf"id \({bad}\) must be at least 0 and below vocab_size \(6\)"):
        Embedding(6, 4)(torch.tensor([[0, 5], [bad, 1]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.uint8])
def test_ids_of_another_type_are_refused(dtype):
    with unchecked(), pytest.raises(TypeError, match=rf"ids must be int64 or int32, not {dtype}"):
        Embedding(6, 4)(torch.zeros(2, 3, dtype=dtype))


@pytest.mark.parametrize("ids", [[[0, 1]], np.array([[0, 1]])], ids=["a list", "an array"])
def test_ids_that_are_no_tensor_are_refused(ids):
    with unchecked(), pytest.raises(TypeError, match=rf"ids must be a torch.Tensor, not {type(ids).__name__}"):
        Embedding(6, 4)(ids)


@pytest.mark.parametrize(("sizes", "message"), [((0, 4), r"vocab_size \(0\)"), ((6, -2), r"d_model \(-2\)")])
def test_a_table_without_rows_or_columns_is_refused(sizes, message):
    for make in (create_embedding_layer, Embedding):
        with pytest.raises(ValueError, match=message + " must be at least 1"):
            make(*sizes)
