"""Gradients of several processes, and the ring in which they are added up."""

import numpy as np
import pytest
import torch

from tested_transformer.book.data_parallel import gradient, ring_move
from tested_transformer.config import TINY
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.objective import NextToken


def test_the_gradient_of_a_batch_is_the_sum_of_those_of_its_parts():
    objective = NextToken(Transformer(TINY.replace(dropout=0.0)).double(), 0.1)
    ids = torch.tensor([[5, 6, 7, 2], [6, 6, 5, 2], [8, 5, 2, 0]])
    parts = [gradient(objective, ids[share], ids[share]) for share in (slice(1), slice(1, None))]
    assert torch.allclose(sum(parts), gradient(objective, ids, ids), rtol=0, atol=1e-12)
    assert len(parts[0]) == sum(p.numel() for p in objective.parameters())


def test_a_move_sends_one_piece_of_each_process_to_the_next_which_adds_or_replaces():
    held = np.array([[1.0, 2], [3, 4]])
    assert ring_move(held, 0, add=True).tolist() == [[1, 6], [4, 4]]
    assert ring_move(held, 1, add=False).tolist() == [[3, 2], [3, 2]]
    assert held.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("k", [2, 3, 6])
def test_two_rounds_of_moves_give_all_processes_the_sum(k):
    held = first = np.random.default_rng(k).normal(size=(k, k, 3))
    for move in range(k - 1):
        held = ring_move(held, -move, add=True)
    for move in range(k - 1):
        held = ring_move(held, 1 - move, add=False)
    assert np.allclose(held, first.sum(axis=0))
